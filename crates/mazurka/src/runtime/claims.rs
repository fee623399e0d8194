//! What is claimed of atomic blocks is tried: where two blocks are next of which one is said to commute with the other,
//! both orders are run, and what they come to is compared.
//!
//! It is done before one of the two steps is taken, from the present state, and the run is back there afterwards. What
//! is told is a failure of the step that comes next. It depends on nothing but the state before that step, so a schedule
//! that comes there shows it again.

use std::mem::take;
use std::ptr;

use mazurka_program::{Failure, FailureKind, Location, ProcessId, Run, Stop};

use super::process::Status;
use super::run::{ClosureRun, Halt};
use super::{Runtime, place_of};
use crate::step::CallSite;

/// What came of a block while it was tried.
#[derive(Clone)]
pub(super) struct Tried {
    process: ProcessId,
    /// Of each of its claims: whether the condition held.
    holds: Vec<bool>,
    /// What it touched.
    locations: Vec<Location>,
    /// What it gave; none if it did not come to its end.
    result: Option<String>,
}

/// A claim of one of two processes about their blocks.
struct Claimed {
    /// Which of the two makes it, and its number.
    by: usize,
    number: usize,
    /// The names of the block that it is made by, and of the other.
    names: [String; 2],
    place: CallSite,
}

/// Where an order of two blocks led.
struct End {
    /// Of the first of the two, which came to the state that both were in: whether the conditions of its claims held.
    holds: Vec<bool>,
    /// What each of the two processes came to, in the order in which they are named.
    results: [Option<String>; 2],
    touched: Vec<Touched>,
}

/// What a location held before both blocks, and after.
struct Touched {
    location: Location,
    name: String,
    before: String,
    after: String,
}

/// What processes say while their blocks are tried.
impl Runtime {
    /// Whether the running process takes a step that is tried.
    pub(crate) fn is_trying(&self) -> bool {
        self.search.trying.is_some_and(|after| self.execution.schedule.depth > after)
    }

    /// Something is claimed there, which has now been tried or not.
    pub(super) fn know_claim(&mut self, place: CallSite, tried: bool) {
        match self.search.claims.iter_mut().find(|claim| ptr::eq(claim.0, place)) {
            Some(claim) => claim.1 |= tried,
            None => self.search.claims.push((place, tried)),
        }
    }

    /// A block that may be tried begins.
    pub(super) fn begin_trial(&mut self) {
        if self.is_trying() {
            let process = self.running();
            self.execution.tried.push(Tried {
                process,
                holds: Vec::new(),
                locations: Vec::new(),
                result: None,
            });
        }
    }

    fn trial(&mut self) -> Option<&mut Tried> {
        let me = self.running();
        let tries = self.is_trying();
        self.execution.tried.iter_mut().rfind(|tried| tries && tried.process == me)
    }

    /// The condition of the next claim of the block was looked at.
    pub(super) fn note_claim(&mut self, holds: bool) {
        self.trial().into_iter().for_each(|tried| tried.holds.push(holds));
    }

    /// The block is left: the label tells what it touched.
    pub(super) fn note_touched(&mut self) {
        let accesses = self.step.label.accesses.iter();
        let locations: Vec<Location> = accesses.flat_map(|access| access.locations()).collect();
        self.trial().into_iter().for_each(|tried| tried.locations.clone_from(&locations));
    }

    /// The block has come to its end.
    pub(crate) fn note_result(&mut self, result: String) {
        self.trial().into_iter().for_each(|tried| tried.result = Some(result.clone()));
    }

    /// A block that is tried does what can't be compared.
    #[cold]
    pub(super) fn note_beyond(&mut self, place: CallSite) {
        self.fail(Stop::Unsupported(format!(
            "what is claimed of an atomic block can't be tried: at {place} it does what is no operation of an atomic"
        )));
    }
}

impl ClosureRun {
    /// What is claimed, of the block that a process is about to run and of one that another has come to, and is wrong
    /// here.
    #[cold]
    pub(super) fn refuted_by(&mut self, process: ProcessId) -> Result<Vec<Failure>, Halt> {
        self.catch_up()?;
        let others = self.runtime.execution.schedule.created.iter().filter(|&&other| other != process);
        // All of them first: to try one leaves the present state.
        let claimed: Vec<(ProcessId, Vec<Claimed>)> =
            others.map(|&other| (other, self.claimed([process, other]))).collect();
        let mut refuted = Vec::new();
        for (other, claimed) in claimed.into_iter().filter(|(_, claimed)| !claimed.is_empty()) {
            refuted.extend(self.differing([process, other], &claimed)?);
        }
        self.catch_up()?;
        Ok(refuted)
    }

    /// What two processes claim of the blocks that they have come to.
    fn claimed(&self, pair: [ProcessId; 2]) -> Vec<Claimed> {
        let block = |process: ProcessId| {
            let state = self.runtime.process(process);
            state.pending.as_ref().filter(|_| state.status == Status::Parked)?.operation().block()
        };
        let (Some(first), Some(second)) = (block(pair[0]), block(pair[1])) else { return Vec::new() };
        let mut claimed = Vec::new();
        for (by, mine, other) in [(0, first, second), (1, second, first)] {
            for (number, with, place) in mine.claims().filter(|claim| claim.1 == other.name()) {
                let names = [mine.name().to_owned(), with.to_owned()];
                claimed.push(Claimed { by, number, names, place });
            }
        }
        claimed
    }

    /// The claims that hold here by their conditions, and by nothing else.
    fn differing(&mut self, pair: [ProcessId; 2], claimed: &[Claimed]) -> Result<Vec<Failure>, Halt> {
        let depth = self.depth();
        self.runtime.search.trying = Some(depth as u32);
        let ends = self.both_orders(pair, depth);
        self.runtime.search.trying = None;
        let (ends, threads) = ends?;
        let held = claimed.iter().filter(|claim| ends[claim.by].holds.get(claim.number) == Some(&true));
        held.clone().for_each(|claim| self.runtime.know_claim(claim.place, true));
        let Some(how) = difference(&ends, &threads) else { return Ok(Vec::new()) };
        let here = state(&ends);
        Ok(held.map(|claim| refuted(claim, &here, &how)).collect())
    }

    fn both_orders(&mut self, [p, q]: [ProcessId; 2], depth: usize) -> Result<([End; 2], [String; 2]), Halt> {
        let first = self.end_of_order([p, q], [0, 1])?;
        let threads = [p, q].map(|process| self.runtime.name_of(process));
        self.rewind(depth);
        let second = self.end_of_order([q, p], [1, 0])?;
        self.rewind(depth);
        Ok(([first, second], threads))
    }

    /// Takes the steps of two processes, of which the numbers say which of the pair they are.
    fn end_of_order(&mut self, order: [ProcessId; 2], numbers: [usize; 2]) -> Result<End, Halt> {
        let before = self.depth() as u32;
        for process in order {
            self.advance(process, 0)?;
            // A block from which its process unwinds is a step of its own.
            if self.runtime.process(process).status == Status::Held {
                self.advance(process, 0)?;
            }
        }
        let tried = take(&mut self.runtime.execution.tried);
        // In the order in which they are touched: numbers of locations are those of a search.
        let mut locations: Vec<Location> = Vec::new();
        for &location in tried.iter().flat_map(|tried| &tried.locations) {
            if !locations.contains(&location) {
                locations.push(location);
            }
        }
        let touched = locations.into_iter().map(|location| self.runtime.touched(location, before)).collect();
        let mut end = End { holds: Vec::new(), results: [None, None], touched };
        for tried in tried {
            let Some(at) = order.iter().position(|&process| process == tried.process) else { continue };
            end.results[numbers[at]] = tried.result.or_else(|| self.runtime.last_words(tried.process));
            if at == 0 {
                end.holds = tried.holds;
            }
        }
        Ok(end)
    }
}

impl Runtime {
    fn touched(&self, location: Location, before: u32) -> Touched {
        let before = self.execution.values.at_depth(location, before);
        let shown = |value| self.show_value(location, value);
        Touched {
            location,
            name: self.name_of_location(location),
            before: shown(before),
            after: shown(self.value(location)),
        }
    }

    /// With what a process panicked.
    fn last_words(&self, process: ProcessId) -> Option<String> {
        self.panic_of(process).map(|(message, _)| format!("the panic `{message}`"))
    }
}

/// How the ends of both orders differ, if they do.
fn difference([first, second]: &[End; 2], [one, other]: &[String; 2]) -> Option<String> {
    let named = |location: Location| first.touched.iter().find(|touched| touched.location == location);
    for late in &second.touched {
        let (after, name) = match named(late.location) {
            Some(touched) => (&touched.after, &touched.name),
            None => (&late.before, &late.name),
        };
        if *after != late.after {
            let late = &late.after;
            return Some(format!(
                "{one} before {other} leaves {name} = {after}, {other} before {one} {name} = {late}"
            ));
        }
    }
    let missing = first.touched.iter().find(|touched| {
        touched.before != touched.after && second.touched.iter().all(|late| late.location != touched.location)
    });
    if let Some(Touched { name, before, after, .. }) = missing {
        return Some(format!(
            "{one} before {other} leaves {name} = {after}, {other} before {one} {name} = {before}"
        ));
    }
    let differing = (0..2).find(|&at| first.results[at] != second.results[at])?;
    let given = |end: &End| end.results[differing].clone().unwrap_or_else(|| "nothing".to_owned());
    let who = if differing == 0 { one } else { other };
    let (early, late) = (given(first), given(second));
    Some(format!(
        "the block of {who} gives {early} with {one} before {other}, {late} with {other} before {one}"
    ))
}

/// The state that both blocks are next in, as far as they touch it.
fn state([first, second]: &[End; 2]) -> String {
    let mut values: Vec<String> = Vec::new();
    for touched in first.touched.iter().chain(&second.touched) {
        let value = format!("{} = {}", touched.name, touched.before);
        if !values.contains(&value) {
            values.push(value);
        }
    }
    if values.is_empty() { "here".to_owned() } else { format!("here, where {}", values.join(", ")) }
}

fn refuted(claim: &Claimed, here: &str, how: &str) -> Failure {
    let [mine, other] = &claim.names;
    let message = format!("`{mine}` does not commute with `{other}` {here}: {how}");
    Failure { kind: FailureKind::Constraint, message, place: Some(place_of(claim.place)), process: None }
}
