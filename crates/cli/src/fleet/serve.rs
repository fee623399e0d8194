//! The process that runs a program of machine code for a worker: it does what the worker asks for over a
//! socket, which it has as its input, and ends when that is closed.
//!
//! What the process knows of the program is what everybody knows who has found out what was found out before
//! ([`Code::find_out`]), and it never learns more: items are explored by copies of it, which tell what they
//! have learned and end. So what a copy found can be judged by whoever puts results together, and a program
//! that overwrites what it should not takes nobody with it but a copy.

use std::cell::RefCell;
use std::ffi::OsString;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use mazurka_explore::{OpenItem, Options, StretchEnd};
use mazurka_journal::Header;
use mazurka_native::isolation::{ProcessCopy, take_input};
use mazurka_report::together;

use super::evidence::{Code, DIVERGED};
use super::job::Job;
use crate::attend::{ROOM, resident, used_time};
use crate::error::{CommandError, EXIT};
use crate::front_end::AnyTarget;
use crate::native::Worker;
use mazurka_ledger::encoding;
use mazurka_ledger::frames;
use mazurka_ledger::protocol::{Answer, Ask, Came};

/// The first argument of such a process.
pub const SERVER: &str = "native-server";

/// How often it is looked after a copy.
const LOOK: Duration = Duration::from_millis(100);
/// A copy that has used no time of a processor for so long hangs.
const HANGS: Duration = Duration::from_secs(60);

/// Serves, if this process is to do that, and gives the exit status.
pub fn serve(arguments: &[OsString]) -> Option<u8> {
    let [_, server, object, parent] = arguments else { return None };
    if server != SERVER {
        return None;
    }
    let worker = Worker::at(PathBuf::from(object), parent.to_str()?.parse().ok()?);
    Some(answer_all(&worker).map_or(EXIT, |()| 0))
}

fn answer_all(worker: &Worker) -> std::io::Result<()> {
    let mut socket = UnixStream::from(take_input()?);
    let (mut loaded, mut known) = (None, None);
    while let Some(ask) = frames::read(&mut socket)? {
        let answer = match (Ask::decoded(&ask), &loaded) {
            (Some(Ask::Load(header)), None) => {
                let (program, answer) = load(worker, &header).map_or_else(
                    |error| (None, Answer::Refused(error.message().to_owned())),
                    |program| (Some(program), Answer::Ready),
                );
                loaded = program;
                answer
            }
            (Some(Ask::Know(evidence)), Some(loaded)) => know(loaded, &evidence, &mut known),
            (Some(Ask::Explore { items, milliseconds }), Some(loaded)) => {
                let came = encoding::read_open_items(&items)
                    .and_then(|items| in_copy(worker, loaded, &items, Duration::from_millis(milliseconds)));
                let died = || Answer::Refused("the process that explored the items died".to_owned());
                came.map_or_else(died, Answer::Came)
            }
            _ => return Ok(()),
        };
        frames::write(&mut socket, &answer.encoded())?;
    }
    Ok(())
}

type Loaded = (Box<dyn AnyTarget>, Options);

fn load(worker: &Worker, header: &[u8]) -> Result<Loaded, CommandError> {
    let header = Header::decoded(header).ok_or_else(|| CommandError::internal("the header can't be read"))?;
    Job::with(header).load(Some(worker))
}

fn code((target, options): &Loaded) -> Option<Code<'_>> {
    let program = target.machine_code()?.program;
    Some(Code { target: &**target, program, options })
}

/// Comes to know what was found out. `known` is how much of that is known; none if nothing has been explored.
fn know(loaded: &Loaded, evidence: &[Vec<u8>], known: &mut Option<usize>) -> Answer {
    let Some(code) = code(loaded) else { return Answer::Refused("it is no machine code".to_owned()) };
    if known.is_none() {
        code.settle();
    }
    for evidence in evidence.iter().skip(known.replace(evidence.len()).unwrap_or(0)) {
        match code.find_out(evidence) {
            Ok(true) => {}
            Ok(false) => return Answer::Refused(DIVERGED.to_owned()),
            Err(why) => return Answer::Refused(why),
        }
    }
    Answer::Ready
}

/// Explores items in a copy of this process; none if it dies, hangs or takes too much memory.
fn in_copy(worker: &Worker, loaded: &Loaded, items: &[OpenItem], budget: Duration) -> Option<Came> {
    let code = code(loaded)?;
    let explore = || explored(code, items.to_vec(), budget).map(|came| came.encoded());
    let mut copies = vec![ProcessCopy::of_this_process(explore).ok()?];
    let most = code.options.limits.memory.map(|most| most.saturating_add(ROOM));
    let (mut used, mut since) = (0, Instant::now());
    loop {
        if let Some((_, message)) = ProcessCopy::hear(&mut copies, LOOK).pop() {
            return Came::decoded(&message?);
        }
        let copy = copies[0].id();
        let now = used_time(copy);
        if now != used {
            (used, since) = (now, Instant::now());
        }
        let is_large = most.is_some_and(|most| resident(copy) > most);
        if is_large || since.elapsed() >= HANGS || worker.is_orphan() {
            return None;
        }
    }
}

/// What a copy does.
fn explored(code: Code<'_>, items: Vec<OpenItem>, budget: Duration) -> Option<Came> {
    let started = Instant::now();
    code.program.note_what_is_learned();
    // What was learned in the item at which it ends is no part of what was learned in those that are done.
    let learned = RefCell::new((0, code.program.learned()));
    let mut enough = || {
        let done = learned.borrow().0 + 1;
        learned.replace((done, code.program.learned()));
        started.elapsed() >= budget
    };
    let stretch = code.target.check_stretch(code.options, items, &mut enough, &AtomicBool::new(false));
    let (done, learned) = learned.into_inner();
    let end = match stretch.end {
        StretchEnd::Enough => Vec::new(),
        StretchEnd::Over(item) | StretchEnd::FoundOut(item) => vec![item],
    };
    Some(Came {
        done,
        parts: encoding::parts(together(stretch.done).iter()).ok()?,
        end: encoding::open_items(&end).ok()?,
        left: encoding::open_items(&stretch.left).ok()?,
        learned,
    })
}
