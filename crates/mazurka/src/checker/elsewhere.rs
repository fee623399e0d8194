//! Explores parts of the search of a closure, for others.
//!
//! Each part is explored as a search that is kept would do it: with what was found out before it, and on a thread of
//! its own, so that a modelled thread that is lost in it is noticed. Whatever ends the search in a part
//! (a failure, a thread that is lost, something that is found out) is only said to do so: who makes the report
//! meets it again.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use mazurka_explore::{FoundOut, OpenItem, Options, StretchEnd};
use mazurka_ledger::encoding;
use mazurka_ledger::protocol::{Answer, Ask, Came, Remainder};
use mazurka_program::Program;
use mazurka_report::{Part, check_stretch, together};

use super::asked::Asked;
use super::heartbeat::Heartbeat;
use super::watchdog::{JobFailure, Timeouts, on_own_thread};
use super::{Settings, journal};
use crate::runtime::run::Closure;

/// What is said of a closure that does other things here than in another process.
const DIVERGED: &str = "the closure did not do again what it had done in another process: it depends on something but the \
                        order of its steps";

/// A closure whose search is done in parts.
pub(super) struct Explorer {
    program: Arc<Closure>,
    settings: Settings,
    options: Options,
    hang: Option<Duration>,
    /// How much of what was found out is known.
    known: usize,
}

/// What came of one item.
enum Explored {
    /// It was done, and left these.
    Done(Vec<Part>, Vec<OpenItem>),
    /// The search ends in it.
    Ends,
    /// Something was found out in it, with which the search begins again.
    FoundOut,
    /// There is no thread for it.
    Failed(String),
}

impl Explorer {
    /// One that knows nothing of a closure.
    pub(super) fn new(
        program: Closure,
        settings: Settings,
        mut options: Options,
        hang: Option<Duration>,
    ) -> Explorer {
        // How long it takes is the affair of who waits for it.
        options.limits.time = None;
        Explorer { program: Arc::new(program), settings, options, hang, known: 0 }
    }

    /// Explores what a worker asks for, until it asks no more.
    pub(super) fn work(&mut self, asked: &mut Asked) -> ! {
        loop {
            let answer = match asked.next() {
                Ask::Know(evidence) => self.know(&evidence),
                Ask::Explore { items, milliseconds } => {
                    let budget = Duration::from_millis(milliseconds);
                    self.explore(&items, budget).map_or_else(Answer::Refused, Answer::Came)
                }
                _ => asked.end(),
            };
            asked.answer(&answer);
        }
    }

    /// Says what who waits for the search wants to know, until that is over.
    pub(super) fn wait(&mut self, asked: &mut Asked) -> Remainder {
        loop {
            let answer = match asked.next() {
                Ask::Know(evidence) => self.know(&evidence),
                Ask::Judge(item) => self.judge(&item),
                Ask::Conclude(remainder) => return remainder,
                _ => asked.end(),
            };
            asked.answer(&answer);
        }
    }

    /// Comes to know what was found out, of which some may be known.
    fn know(&mut self, evidence: &[Vec<u8>]) -> Answer {
        for evidence in evidence.iter().skip(self.known) {
            let found_out = encoding::read_found_out(evidence).unwrap_or_default();
            if found_out.is_empty() || !found_out.into_iter().all(|known| self.find_out(known)) {
                return Answer::Refused(DIVERGED.to_owned());
            }
            if self.program.is_alone() {
                return Answer::Refused(journal::ALONE_ELSEWHERE.to_owned());
            }
        }
        self.known = self.known.max(evidence.len());
        Answer::Ready
    }

    /// Finds out what was found out in an item; whether that was so.
    fn find_out(&self, FoundOut { item, .. }: FoundOut) -> bool {
        let is_found = self.in_part(item, |program, part, explored| {
            let is_found = matches!(explored, Explored::FoundOut);
            if is_found {
                program.take_up(part);
            }
            is_found
        });
        // The next part is on another thread anyway.
        is_found.unwrap_or(false) && (self.program.begin_elsewhere() || self.program.begin_again())
    }

    /// Explores items that follow each other, for some time.
    fn explore(&self, items: &[u8], budget: Duration) -> Result<Came, String> {
        let started = Instant::now();
        let mut left = VecDeque::from(encoding::read_open_items(items).ok_or("the items can't be read")?);
        let (mut count, mut done, mut end) = (0, Vec::new(), Vec::new());
        while let Some(open) = left.pop_front() {
            match self.explore_one(open.clone()) {
                Explored::Done(parts, rest) => {
                    done.extend(parts);
                    rest.into_iter().rev().for_each(|item| left.push_front(item));
                }
                Explored::Ends | Explored::FoundOut => {
                    end.push(open);
                    break;
                }
                Explored::Failed(why) => return Err(why),
            }
            count += 1;
            if started.elapsed() >= budget {
                break;
            }
        }
        Ok(Came {
            done: count,
            parts: encoding::parts(together(done).iter())?,
            end: encoding::open_items(&end)?,
            left: encoding::open_items(left.make_contiguous())?,
            learned: Vec::new(),
        })
    }

    /// Whether the search ends in an item, or has to begin again. Where it does not end here, that shows once it is
    /// over.
    fn judge(&self, item: &[u8]) -> Answer {
        let Some(item) = encoding::read_open_items(item).and_then(|mut items| items.pop()) else {
            return Answer::Refused("the item can't be read".to_owned());
        };
        match self.explore_one(item) {
            Explored::FoundOut => Answer::FoundOut,
            Explored::Failed(why) => Answer::Refused(why),
            Explored::Done(..) | Explored::Ends => Answer::Over,
        }
    }

    fn explore_one(&self, item: OpenItem) -> Explored {
        match self.in_part(item, |_, _, explored| explored) {
            Ok(explored) => explored,
            Err(JobFailure::NoThread(error)) => {
                Explored::Failed(format!("there is no thread for it: {error}"))
            }
            Err(JobFailure::Lost { .. } | JobFailure::Panicked(_)) => Explored::Ends,
        }
    }

    /// Explores an item as a part of the search, and does something with that.
    fn in_part<T: Send + 'static>(
        &self,
        item: OpenItem,
        then: impl FnOnce(&Closure, Closure, Explored) -> T + Send + 'static,
    ) -> Result<T, JobFailure> {
        let heartbeat: Arc<Heartbeat> = Arc::default();
        let program = self.program.again(Settings { heartbeat: heartbeat.clone(), ..self.settings.clone() });
        let options = self.options;
        on_own_thread(&heartbeat, Timeouts { hang: self.hang, until: None }, move || {
            let part = program.part().expect("a closure has parts");
            let (mut enough, halt) = (|| true, AtomicBool::new(false));
            let mut has_news = || part.begin_again();
            let stretch = check_stretch(&part, &options, vec![item], &mut has_news, &mut enough, &halt);
            let explored = match stretch.end {
                StretchEnd::Enough => Explored::Done(stretch.done, stretch.left),
                StretchEnd::Over(_) => Explored::Ends,
                StretchEnd::FoundOut(_) => Explored::FoundOut,
            };
            then(&program, part, explored)
        })
    }
}
