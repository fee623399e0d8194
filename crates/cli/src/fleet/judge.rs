//! Who waits for a search of machine code, and decides what counts of what workers found.
//!
//! A worker that explores items knows less of the program than one machine would by then: it knows what was
//! known when the generation began. So what it found is taken up in the order of the search, if the process
//! that waits, which knows all that comes before, would have found the same; that process says so
//! ([`Native::take_up`](mazurka_native::runtime::Native::take_up)). Else it explores these items itself. If it
//! finds something out that changes what steps touch, or if workers know too little of the numbers of things,
//! the search begins again, and what was learned goes to all. docs/soundness.md ("Copies") has why the result
//! is that of one machine.

use mazurka_explore::OpenItem;
use mazurka_fleet::{Found, Outcome, SearchId, Store};
use mazurka_native::runtime::TakenUp;
use mazurka_program::Program;
use mazurka_report::{Part, together};

use super::evidence::{Account, Code, DIVERGED, Evidence, Here, Step, hash_of};
use super::explorer::{cut, place, whole};
use super::wrong;
use crate::error::CommandError;
use mazurka_ledger::encoding;

/// Results are put together when there are more than so many.
const MANY_RESULTS: usize = 20;
/// When so much had to be explored here, workers are told what was learned in it.
const MANY_REFUSED: u32 = 3;
/// So often a search begins again for that alone. What is left then is explored here if need be.
const MOST_TOLD: u32 = 8;
/// An item that was to end the search, and does not, leaves so many.
const PIECES: usize = 4;

/// The process that waits for a search, and knows of the program what one machine would know.
pub struct Judge<'a> {
    code: Code<'a>,
    generation: i32,
    /// What it did since the generation began, as far as it learned something by that.
    steps: Vec<Step>,
    /// What was found so far, before the first item that is not done.
    total: Option<Part>,
    /// The place of the last result that was judged.
    judged: Option<Vec<u8>>,
    /// Whose results they are, all of them; none if somebody else has put some together.
    rows: Option<Vec<i64>>,
    /// How many results had to be found again here.
    refused: u32,
    /// How often the search has begun again for that.
    told: u32,
}

/// Whether the search goes on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Goes {
    On,
    Again,
}

impl<'a> Judge<'a> {
    /// One that knows what everybody knows at first.
    pub fn new(code: Code<'a>) -> Judge<'a> {
        code.settle();
        Judge::of_generation(code, 0, 0)
    }

    fn of_generation(code: Code<'a>, generation: i32, told: u32) -> Judge<'a> {
        let (steps, rows) = (Vec::new(), Some(Vec::new()));
        Judge { code, generation, steps, total: None, judged: None, rows, refused: 0, told }
    }

    /// What was found, before the first item that is not done.
    pub fn total(&self) -> Option<Part> {
        self.total.clone()
    }

    /// Judges what there is to judge.
    pub fn look(&mut self, store: &mut Store, search: SearchId, generation: i32) -> Result<(), CommandError> {
        self.catch_up(store, search, generation)?;
        loop {
            let found = store.results(search, generation, self.judged.as_deref()).map_err(wrong)?;
            if found.is_empty() {
                return Ok(());
            }
            for found in found {
                if self.take(found)? == Goes::Again {
                    return self.begin_again(store, search);
                }
            }
            self.put_together(store, search)?;
        }
    }

    /// Nothing is left to do before the item that ends the search, if one does. Says whether the search is over.
    pub fn is_over(
        &mut self,
        store: &mut Store,
        search: SearchId,
        generation: i32,
    ) -> Result<bool, CommandError> {
        let Some(bytes) = store.remains(search).map_err(wrong)?.end else { return Ok(true) };
        let item =
            encoding::read_open_items(&bytes).and_then(|mut items| items.pop()).ok_or_else(diverged)?;
        let Here { part, left, is_over } = self.code.explore(vec![item.clone()], 1);
        if self.code.program.has_news() {
            self.steps.push(Step::Explored { items: bytes, done: 1 });
            self.begin_again(store, search)?;
            return Ok(false);
        }
        if is_over {
            return Ok(true);
        }
        // Whoever was at it first took it for an end, which it is not for one who knows more.
        let steps = vec![Step::Explored { items: bytes, done: 1 }];
        let outcome = outcome_of(&item, part, steps, &left).ok_or_else(diverged)?;
        store.go_on_behind(search, generation, &outcome).map_err(wrong)?;
        Ok(false)
    }

    /// Comes to know what was found out before a generation.
    fn catch_up(&mut self, store: &mut Store, search: SearchId, generation: i32) -> Result<(), CommandError> {
        if generation == self.generation {
            return Ok(());
        }
        let found_out = store.found_out(search, generation).map_err(wrong)?;
        // If another waits too, this process may know some of it; all that it needs is to know no less.
        for evidence in found_out.iter().skip(self.generation as usize) {
            let _ = self.code.find_out(evidence).map_err(CommandError::input)?;
        }
        *self = Judge::of_generation(self.code, generation, self.told);
        Ok(())
    }

    /// Takes up a result, or finds it here.
    fn take(&mut self, found: Found) -> Result<Goes, CommandError> {
        let Account { parts, steps } = Account::decoded(&found.part).ok_or_else(diverged)?;
        let mut parts = encoding::read_parts(&parts).ok_or_else(diverged)?;
        for step in steps {
            match step {
                Step::TakenUp { learned, items, done, left } => match self.code.program.take_up(&learned) {
                    TakenUp::Known => {}
                    TakenUp::Learned => {
                        self.steps.push(Step::TakenUp { learned, items: Vec::new(), done, left });
                    }
                    TakenUp::Refused => {
                        let (here, goes) = self.find_here(items, done)?;
                        if goes == Goes::Again {
                            return Ok(goes);
                        }
                        if hash_of(&here.left).as_ref() != Some(&left) {
                            return Err(diverged());
                        }
                        parts = here.part.into_iter().collect();
                        self.refused += 1;
                    }
                },
                Step::Explored { items, done } => {
                    if self.find_here(items, done)?.1 == Goes::Again {
                        return Err(diverged());
                    }
                }
            }
        }
        self.total = together(self.total.take().into_iter().chain(parts));
        self.judged = Some(found.place);
        self.rows.iter_mut().for_each(|rows| rows.push(found.item));
        // What comes now would most likely have to be found here, too.
        let is_told = self.refused >= MANY_REFUSED && self.told < MOST_TOLD;
        Ok(if is_told { Goes::Again } else { Goes::On })
    }

    /// Explores items that somebody else has explored.
    fn find_here(&mut self, items: Vec<u8>, done: u64) -> Result<(Here, Goes), CommandError> {
        let open: Vec<OpenItem> =
            encoding::read_open_items(&items).filter(|items| !items.is_empty()).ok_or_else(diverged)?;
        let here = self.code.explore(open, done);
        self.steps.push(Step::Explored { items, done });
        let has_news = self.code.program.has_news();
        match here.is_over && !has_news {
            true => Err(diverged()),
            false => Ok((here, if has_news { Goes::Again } else { Goes::On })),
        }
    }

    /// Makes one of all results, so that they don't become too many.
    fn put_together(&mut self, store: &mut Store, search: SearchId) -> Result<(), CommandError> {
        let Some(rows) = self.rows.as_mut().filter(|rows| rows.len() > MANY_RESULTS) else {
            return Ok(());
        };
        let parts = encoding::parts(self.total.iter()).map_err(CommandError::internal)?;
        let account = Account { parts, steps: self.steps.clone() };
        if store.replace(search, rows, &account.encoded()).map_err(wrong)? {
            rows.truncate(1);
        } else {
            self.rows = None;
        }
        Ok(())
    }

    /// Begins the search again, with what was learned.
    fn begin_again(&mut self, store: &mut Store, search: SearchId) -> Result<(), CommandError> {
        let has_news = self.code.program.has_news();
        let evidence = Evidence { steps: std::mem::take(&mut self.steps), has_news }.encoded();
        let whole = whole().ok_or_else(diverged)?;
        let is_first = store.begin_again(search, self.generation, &evidence, &whole).map_err(wrong)?;
        self.code.program.begin_again();
        self.code.settle();
        // If another waits too, and was faster, its evidence is what counts.
        let generation = self.generation + i32::from(is_first);
        let told = self.told + u32::from(!has_news);
        *self = Judge::of_generation(self.code, generation, told);
        Ok(())
    }
}

/// What came of an item that was to end the search.
fn outcome_of(item: &OpenItem, part: Option<Part>, steps: Vec<Step>, left: &[OpenItem]) -> Option<Outcome> {
    let account = Account { parts: encoding::parts(part.iter()).ok()?, steps };
    Some(Outcome {
        place: place(&item.place),
        part: Some(account.encoded()),
        share: part.as_ref().map_or(0.0, |part| part.share),
        executions: part.as_ref().map_or(0, |part| part.summary.counts.executions()) as i64,
        failures: part.as_ref().map_or(0, |part| part.monitor.found.len()) as i32,
        left: cut(left, PIECES)?,
        ..Outcome::default()
    })
}

fn diverged() -> CommandError {
    CommandError::input(DIVERGED)
}
