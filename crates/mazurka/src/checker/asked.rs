//! Checks whose searches others do, or parts of which are done here for others: the command `mazurka` has started this
//! process, and asks over a socket.
//!
//! `mazurka worker` has items of a search explored here, one after the other ([`Explorer::work`]), and never has
//! enough: the process ends when the socket is closed. `mazurka check --on` asks which search it is, has
//! workers do it, and gives what came of it back ([`Explorer::wait`]); then the test goes on with that as if it
//! had searched itself. What is asked and answered is in [`protocol`](mazurka_ledger::protocol).
//!
//! The first check of a process is the one that is meant.

use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use mazurka_explore::{Beginning, Counts, Summary};
use mazurka_journal::Header;
use mazurka_ledger::protocol::{Answer, Ask, Remainder};
use mazurka_ledger::{encoding, frames};
use mazurka_report::{Collected, Part};

use super::elsewhere::Explorer;
use super::journal::{Search, what_is_other};

#[cfg(unix)]
type Socket = std::os::unix::net::UnixStream;
/// Nobody is connected there.
#[cfg(not(unix))]
type Socket = std::net::TcpStream;

#[cfg(unix)]
fn connect(path: &Path) -> io::Result<Socket> {
    Socket::connect(path)
}

#[cfg(not(unix))]
fn connect(_: &Path) -> io::Result<Socket> {
    Err(io::Error::other("searches are shared on Unix only"))
}

/// The exit status of a process for which nobody asks any more.
const GONE: i32 = 1;

/// Who asks.
pub(super) struct Asked {
    socket: Socket,
    /// The search that is worked at, if it is a worker that asks.
    theirs: Option<Header>,
    /// The search that is handed over.
    ours: Option<Header>,
}

/// A search that others have done.
pub(super) struct Done {
    pub(super) before: Beginning<Collected>,
    pub(super) time: Duration,
}

/// Who asks for parts of the search of this check, if somebody does.
pub(super) fn first(path: Option<&Path>, check: &str) -> Result<Option<Asked>, String> {
    static IS_TAKEN: AtomicBool = AtomicBool::new(false);
    let Some(path) = path else { return Ok(None) };
    if IS_TAKEN.swap(true, Relaxed) {
        eprintln!(
            "mazurka: {check} has another check; others do the first one only, and this one is searched here"
        );
        return Ok(None);
    }
    let wrong = |error| format!("nobody can be asked over MAZURKA_WORKER={}: {error}", path.display());
    let mut asked = Asked { socket: connect(path).map_err(wrong)?, theirs: None, ours: None };
    asked.theirs = match asked.next() {
        Ask::Load(header) => Some(Header::decoded(&header).ok_or("what is searched can't be read")?),
        Ask::Tell => None,
        _ => asked.end(),
    };
    Ok(Some(asked))
}

impl Asked {
    /// The search that is worked at, if it is a worker that asks.
    pub(super) fn theirs(&self) -> Option<&Header> {
        self.theirs.as_ref()
    }

    /// Compares the search that is asked for with that of this check, and complains of what others can't do. A
    /// worker is told, and that is all.
    pub(super) fn compare(&mut self, search: &Search<'_>, beside: Option<&str>) -> Result<(), String> {
        let beside = match beside {
            Some(option) => Err(format!("{option} can't be had beside --on; leave one of them out")),
            None => Ok(()),
        };
        let ours = beside.and_then(|()| search.refuse_elsewhere()).and_then(|()| search.header());
        match (&self.theirs, ours) {
            (Some(theirs), Ok(ours)) => match what_is_other(theirs, &ours) {
                Some(why) => self.refuse(why),
                None => self.answer(&Answer::Ready),
            },
            (Some(_), Err(why)) => self.refuse(why),
            (None, Ok(ours)) => self.ours = Some(ours),
            (None, Err(why)) => {
                self.answer(&Answer::Refused(why.clone()));
                return Err(why);
            }
        }
        Ok(())
    }

    fn refuse(&mut self, why: String) -> ! {
        self.answer(&Answer::Refused(why));
        self.end()
    }

    /// Tells which search it is, and has it done.
    pub(super) fn hand_over(&mut self, explorer: &mut Explorer, most: Option<Duration>) -> Done {
        let header = self.ours.as_ref().map_or_else(Vec::new, Header::encoded);
        self.answer(&Answer::Search { header, milliseconds: most.map(|most| most.as_millis() as u64) });
        let remainder = explorer.wait(self);
        let time = Duration::from_millis(remainder.milliseconds);
        // Who sent what can't be read gets no answer.
        let before = beginning(&remainder).unwrap_or_else(|| self.end());
        Done { before, time }
    }

    /// What is asked next. If nobody asks any more, the process ends.
    pub(super) fn next(&mut self) -> Ask {
        let asked = frames::read(&mut self.socket).ok().flatten();
        asked.and_then(|bytes| Ask::decoded(&bytes)).unwrap_or_else(|| self.end())
    }

    pub(super) fn answer(&mut self, answer: &Answer) {
        if frames::write(&mut self.socket, &answer.encoded()).is_err() {
            self.end();
        }
    }

    /// Nobody asks any more, so nobody needs this process. Who started it may have been killed.
    pub(super) fn end(&self) -> ! {
        let _ = io::stdout().flush();
        std::process::exit(GONE)
    }
}

/// What a search begins with of which others have done all but what ends it.
fn beginning(remainder: &Remainder) -> Option<Beginning<Collected>> {
    let found_out: Option<Vec<_>> =
        remainder.found_out.iter().map(|bytes| encoding::read_found_out(bytes)).collect();
    let mut done = encoding::read_parts(&remainder.parts)?;
    for missed in &remainder.missed {
        let (counts, not_exhaustive) = (Counts::default(), Some(missed.reason()));
        let summary = Summary { counts, not_exhaustive, broken: None, note: None };
        let (place, monitor) = (missed.place.clone(), Collected::default());
        done.push(Part { place, share: 0.0, summary, monitor, learned: Vec::new() });
    }
    let open = encoding::read_open_items(&remainder.open)?;
    Some(Beginning { found_out: found_out?.concat(), open, done })
}
