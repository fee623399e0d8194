//! What people are told: of steps, of values and where they came from, of who waits for what.

use std::ptr;

use mazurka_program::{
    Explain, Explanation, Label, Location, Observed, Place, ProcessId, Run, Stop, WaitExplanation,
};

use super::operation::{Operation, StepAccount};
use super::process::Status;
use super::run::{ClosureRun, MAIN};
use super::{Described, Runtime, place_of};
use crate::checker::heartbeat::ThreadEntry;

/// What is told of a step, before its process goes on and its operation is gone.
#[derive(Default)]
pub(crate) struct StepText {
    operation: String,
    reads: Vec<Observed>,
    writes: Vec<Observed>,
    note: Option<String>,
    /// What was done in its atomic block.
    within: Vec<String>,
    /// What was done in the course of an unwinding.
    unwinding: Vec<String>,
}

/// So many characters of a panic's message are told beside its step.
const LONGEST_MESSAGE: usize = 64;

impl Runtime {
    /// Tells who watches of a process. Costs next to nothing if it is known.
    pub(super) fn announce(&mut self, process: ProcessId) {
        let (name, created) = (self.process(process).name.as_deref(), self.process(process).created);
        let known = match self.search.announced.get(process.index()) {
            None => false,
            Some(&announced) => announced.map(ptr::from_ref) == created.map(ptr::from_ref),
        };
        if known && (name.is_none() || process == MAIN) {
            return;
        }
        self.search.heartbeat.member(&self.search.names, process, name, created);
        let announced = &mut self.search.announced;
        if announced.len() <= process.index() {
            announced.resize(process.index() + 1, None);
        }
        announced[process.index()] = created;
    }

    #[cold]
    pub(super) fn tell_read(&mut self, location: Location, value: u64) {
        let writer = self.execution.values.writer(location);
        if let Some(story) = &mut self.step.story {
            story.reads.push((location, value, writer));
        }
    }

    #[cold]
    pub(super) fn tell_write(&mut self, location: Location, value: u64) {
        if let Some(story) = &mut self.step.story {
            story.writes.push((location, value));
        }
    }

    /// Puts what a step did into words.
    #[cold]
    pub(super) fn tell(&mut self, operation: &dyn Operation) {
        let Some(story) = self.step.story.replace(StepAccount::default()) else { return };
        let (reads, writes) =
            story.observed(|location| self.name_of_location(location), |value| operation.show(value));
        let operation = operation.describe(self);
        self.step.told = StepText { operation, reads, writes, note: story.note, ..StepText::default() };
    }

    /// Puts into words what a process does while it unwinds: all of that is one step.
    #[cold]
    pub(super) fn tell_unwinding(&mut self, operation: &dyn Operation) {
        let Some(story) = self.step.story.replace(StepAccount::default()) else { return };
        let mut what = operation.describe(self);
        if let Some(note) = story.note {
            what += &format!(" {note}");
        }
        self.step.told.unwinding.push(what);
    }

    /// Puts into words what a process does in an atomic block.
    #[cold]
    pub(super) fn tell_within(&mut self, operation: &dyn Operation) {
        let Some(story) = self.step.story.replace(StepAccount::default()) else { return };
        let (reads, writes) =
            story.observed(|location| self.name_of_location(location), |value| operation.show(value));
        let mut what = operation.describe(self);
        if let Some(note) = story.note {
            what += &format!(" {note}");
        }
        let told = &mut self.step.told;
        told.within.push(what);
        told.reads.extend(reads);
        told.writes.extend(writes);
    }

    /// The message of the panic from which a process unwound, and its place. At the end of an execution it is
    /// a failure.
    pub(super) fn panic_of(&self, process: ProcessId) -> Option<(&str, Option<&Place>)> {
        let panics = self.execution.panics.iter().rev().filter(|panic| panic.process == process);
        let failures =
            self.execution.findings.failures.iter().rev().filter(|failure| failure.process == Some(process));
        let panics = panics.map(|panic| (panic.message.as_str(), panic.place.as_ref()));
        panics.chain(failures.map(|failure| (failure.message.as_str(), failure.place.as_ref()))).next()
    }

    /// Who holds a lock, and since when.
    pub(crate) fn held_since(&self, location: Location, holder: ProcessId) -> String {
        let name = self.name_of(holder);
        match self.execution.acquired.iter().rev().find(|taken| taken.0 == location && taken.1 == holder) {
            Some((_, _, place)) => format!("held by {name} since {}:{}", place.file(), place.line()),
            None => format!("held by {name}"),
        }
    }

    /// The name of a location for people. Of several with one name, the second that the execution met is
    /// `name#2`.
    pub(crate) fn name_of_location(&self, location: Location) -> String {
        let name = |location: Location| {
            let what = self.search.described.get(location.0 as usize).copied().flatten()?;
            Some(crate::source::name(what.kind, what.created))
        };
        let Some(own) = name(location) else { return "something".to_owned() };
        let earlier = self.execution.met.iter().take_while(|&&met| met != location);
        match earlier.filter(|&&met| name(met).as_ref() == Some(&own)).count() {
            0 => own,
            others => format!("{own}#{}", others + 1),
        }
    }

    /// What a location holds, for people.
    pub(super) fn show_value(&self, location: Location, value: u64) -> String {
        match self.search.described.get(location.0 as usize).copied().flatten() {
            Some(Described { kind: "AtomicBool", .. }) => (value != 0).to_string(),
            _ => (value as i64).to_string(),
        }
    }

    /// The name of a process for people.
    pub(crate) fn name_of(&self, process: ProcessId) -> String {
        let member = |process: ProcessId| {
            let state = self.process(process);
            let name = state.name.as_deref().map(str::to_owned);
            ThreadEntry { path: self.search.names.path(process), name, created: state.created }
        };
        let others = self.execution.schedule.created.iter().copied().map(member);
        process_name(&member(process), others)
    }
}

/// The first line of a message, as much as can be told beside a step.
fn shortened(message: &str) -> String {
    let line = message.lines().next().unwrap_or_default();
    match line.char_indices().nth(LONGEST_MESSAGE) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line.to_owned(),
    }
}

/// The name of a thread for people: its own, that of the variable that its handle is put into, or a number.
pub(crate) fn process_name(member: &ThreadEntry, others: impl Iterator<Item = ThreadEntry>) -> String {
    if let Some(name) = &member.name {
        return name.clone();
    }
    let Some(variable) = member.created.and_then(crate::source::variable_for) else {
        let numbers: Vec<String> =
            member.path.iter().skip(1).map(|ordinal| (ordinal + 1).to_string()).collect();
        return format!("thread {}", numbers.join("."));
    };
    // A loop creates several at one place.
    let family = |other: &ThreadEntry| {
        other.created == member.created && other.name.is_none() && other.path.len() == member.path.len()
    };
    match others.filter(|other| family(other) && other.path < member.path).count() {
        0 => variable,
        elder => format!("{variable}#{}", elder + 1),
    }
}

impl ClosureRun {
    /// What a process does next, and where.
    pub(crate) fn comes_to(&self, process: ProcessId) -> Option<(String, Place)> {
        let pending = self.runtime.process(process).pending?;
        Some((pending.operation().describe(&self.runtime), place_of(pending.place)))
    }
}

impl Explain for ClosureRun {
    fn process_name(&self, process: ProcessId) -> String {
        self.runtime.name_of(process)
    }

    fn step_explained(&mut self, process: ProcessId, choice: u32) -> Result<Explanation, Stop> {
        self.catch_up_if_behind()?;
        let held = self.runtime.process(process).status == Status::Held;
        let mut place = self.runtime.process(process).pending.map(|pending| place_of(pending.place));
        self.runtime.step.story = Some(StepAccount::default());
        self.runtime.step.told = StepText::default();
        let mut label = Label::default();
        let result = self.step(process, choice, &mut label);
        self.runtime.step.story = None;
        result?;
        let StepText { mut operation, reads, writes, mut note, within, unwinding } =
            std::mem::take(&mut self.runtime.step.told);
        if held {
            let (message, at) = self.runtime.panic_of(process).unwrap_or_default();
            operation = "panic".to_owned();
            place = at.cloned();
            note = Some([within, vec![shortened(message)], unwinding].concat().join("; "));
        } else if !within.is_empty() {
            operation += &format!(" {{ {} }}", within.join("; "));
        }
        Ok(Explanation { process, operation, reads, writes, note, place })
    }

    fn explain_waiting(&self) -> Vec<WaitExplanation> {
        let mut waiting = Vec::new();
        self.waiting(&mut |process, _| {
            let Some(pending) = self.runtime.process(process).pending else { return };
            let (mut waits_for, waits_on) = pending.operation().waits_for(&self.runtime);
            if pending.spins {
                waits_for = "a change of what it reads, in a loop".to_owned();
            }
            // A place in the same file is a line of it.
            let waits_for = waits_for.replace(&format!("{}:", pending.place.file()), "line ");
            waiting.push(WaitExplanation {
                process,
                operation: pending.operation().describe(&self.runtime),
                waits_for,
                waits_on,
                place: Some(place_of(pending.place)),
            });
        });
        waiting
    }

    fn deadlock_message(&self, waiting: &[WaitExplanation]) -> Option<String> {
        let finished = |process: ProcessId| self.runtime.process(process).status == Status::Finished;
        if !finished(MAIN) {
            return None;
        }
        let first = waiting.first()?;
        let place =
            first.place.as_ref().map_or(String::new(), |place| format!(" ({}:{})", place.file, place.line));
        let more = match waiting.len() - 1 {
            0 => String::new(),
            1 => ", and so does another".to_owned(),
            more => format!(", and so do {more} others"),
        };
        let name = self.process_name(first.process);
        Some(format!(
            "thread `{name}` still waits at {}{place} when the test has ended{more}",
            first.operation
        ))
    }
}
