//! The process of a Rust test whose search is waited for.
//!
//! What workers say of items counts as it is: they explore each as one machine would, with what was found out before.
//! What this process decides is what an item means for which they ended the search: if something is found out in
//! it, the search begins again, once all before that is done. In the end it makes the report.

use std::time::Duration;

use mazurka_explore::{Beginning, FoundOut, NotExhaustive};
use mazurka_fleet::{Remains, SearchId, Store};
use mazurka_ledger::encoding;
use mazurka_ledger::protocol::{Answer, Ask, Missed, Remainder};
use mazurka_report::{Collected, Part, together};

use super::child::Child;
use super::explorer::whole;
use super::wait::DAMAGED;
use super::wrong;
use crate::error::CommandError;

/// What is said of a process that does not answer.
const DIED: &str = "the process of the test ended, or says what nobody understands";

/// A search by its header, and how long it may be waited for.
pub type ToSearch = (Vec<u8>, Option<Duration>);

/// Such a process.
pub struct TestJudge(pub Child);

impl TestJudge {
    fn ask(&mut self, ask: &Ask) -> Result<Answer, CommandError> {
        match self.0.ask(ask, &|| true) {
            Some(Answer::Refused(why)) => Err(CommandError::unsupported(why)),
            answer => answer.ok_or_else(|| CommandError::input(DIED)),
        }
    }

    /// Which search it is, and how long it may be waited for; none if there is nothing to search.
    pub fn search(&mut self) -> Result<Option<ToSearch>, CommandError> {
        match self.ask(&Ask::Tell)? {
            Answer::Search { header, milliseconds } => {
                Ok(Some((header, milliseconds.map(Duration::from_millis))))
            }
            Answer::Over => Ok(None),
            _ => Err(CommandError::input(DIED)),
        }
    }

    /// Nothing is left to do before the item that ends the search, if one does. Says whether the search is over.
    pub fn is_over(
        &mut self,
        store: &mut Store,
        search: SearchId,
        generation: i32,
    ) -> Result<bool, CommandError> {
        let remains = store.remains(search).map_err(wrong)?;
        let Some(end) = &remains.end else { return Ok(true) };
        self.know(store, search, generation)?;
        match self.ask(&Ask::Judge(end.clone()))? {
            Answer::Over => Ok(true),
            Answer::FoundOut => {
                let evidence = evidence(&remains).ok_or_else(|| CommandError::input(DAMAGED))?;
                let whole = whole().ok_or_else(|| CommandError::input(DAMAGED))?;
                store.begin_again(search, generation, &evidence, &whole).map_err(wrong)?;
                self.know(store, search, generation + 1)?;
                Ok(false)
            }
            _ => Err(CommandError::input(DIED)),
        }
    }

    /// Comes to know what was found out before a generation. If that is that the search can't be shared, it is over.
    fn know(&mut self, store: &mut Store, search: SearchId, generation: i32) -> Result<(), CommandError> {
        let found_out = store.found_out(search, generation).map_err(wrong)?;
        match self.0.ask(&Ask::Know(found_out), &|| true) {
            Some(Answer::Ready) => Ok(()),
            Some(Answer::Refused(why)) => {
                store.cancel(search).map_err(wrong)?;
                Err(CommandError::unsupported(why))
            }
            _ => Err(CommandError::input(DIED)),
        }
    }

    /// Has it report what came of the search, and gives the exit status of that.
    pub fn conclude(
        &mut self,
        found_out: Vec<Vec<u8>>,
        before: Beginning<Collected>,
        time: Duration,
    ) -> Result<u8, CommandError> {
        let Beginning { open, done, .. } = before;
        let (missed, done): (Vec<Part>, Vec<Part>) = done.into_iter().partition(|part| why(part).is_some());
        let missed = missed.into_iter();
        let missed = missed.filter_map(|part| why(&part).map(|why| Missed { place: part.place, why }));
        let remainder = Remainder {
            found_out,
            parts: encoding::parts(&done).map_err(CommandError::internal)?,
            missed: missed.collect(),
            open: encoding::open_items(&open).map_err(CommandError::internal)?,
            milliseconds: time.as_millis() as u64,
        };
        let told = self.ask(&Ask::Conclude(remainder))?;
        self.end(told)
    }

    /// There is nothing to search: it reports what it has found by itself.
    pub fn conclude_here(&mut self) -> Result<u8, CommandError> {
        let told = self.0.hear(&|| true).ok_or_else(|| CommandError::input(DIED))?;
        self.end(told)
    }

    /// Lets the test come to its end. Whether it passes is what counts; how a check failed is told by its verdict.
    fn end(&mut self, told: Answer) -> Result<u8, CommandError> {
        let Answer::Told(verdict) = told else { return Err(CommandError::input(DIED)) };
        let status = self.0.ended().map_err(CommandError::internal)?;
        Ok(match (status.success(), verdict) {
            (true, _) => 0,
            (false, 0) => 1,
            (false, verdict) => verdict,
        })
    }
}

/// What is missing of a search for a reason that only whoever waits for it knows.
fn why(part: &Part) -> Option<Result<Duration, String>> {
    match &part.summary.not_exhaustive {
        Some(NotExhaustive::Time(most)) => Some(Ok(*most)),
        Some(NotExhaustive::Program(why)) => Some(Err(why.clone())),
        _ => None,
    }
}

/// What lets others find out what was found out in the item that ended the search, with what had been learned by
/// then.
fn evidence(remains: &Remains) -> Option<Vec<u8>> {
    let mut parts: Vec<Part> = Vec::new();
    for bytes in &remains.parts {
        parts.extend(encoding::read_parts(bytes)?);
    }
    let learned = together(parts).map_or_else(Vec::new, |part| part.learned);
    let item = encoding::read_open_items(remains.end.as_ref()?)?.pop()?;
    encoding::found_out(&[FoundOut { learned, item }]).ok()
}
