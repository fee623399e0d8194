//! Operations: what a modelled process stops at, and what its step does then.

use mazurka_program::{AccessKind, Guard, Label, Location, Observed, ProcessId};
use mazurka_threads::values::Until;

use std::panic::Location as Caller;

use super::Runtime;
use crate::atomic::Block;

/// What must hold before a step can be taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wait {
    /// Nothing: the step can be taken at once.
    Nothing,
    /// What another process can undo: a lock is free. Its races are those of a guard.
    Guard { location: Location, until: Until },
    /// That something which a spin loop read is another.
    Change(Guard),
    /// What nobody else can undo: a process has ended, a message is there. [`Operation::ready`] tells; the
    /// step's label says which location it [waited for](Step::waited_for).
    Own,
}

impl Wait {
    /// Whether there is something to wait for.
    #[inline(always)]
    pub(super) fn is_some(self) -> bool {
        !matches!(self, Wait::Nothing)
    }
}

/// What the runtime has to know of an operation when a process comes to it.
#[derive(Clone, Copy)]
pub(crate) struct Nature {
    pub(super) wait: Wait,
    pub(super) plain: bool,
    pub(super) branches: bool,
}

/// An operation that a process has come to. It lives on the stack of the process until its step has been
/// taken.
pub(crate) trait Operation {
    /// What it waits for. Asked once, when the process arrives.
    fn wait(&self) -> Wait {
        Wait::Nothing
    }

    /// For [`Wait::Own`]: whether the step can be taken now.
    fn ready(&self, _world: &Runtime, _process: ProcessId) -> bool {
        true
    }

    /// How many outcomes the step has.
    fn alternatives(&self, _world: &Runtime) -> u32 {
        1
    }

    /// Whether [`Operation::alternatives`] can be more than 1.
    fn branches(&self) -> bool {
        false
    }

    /// Whether all that the step reads and writes are the values of its locations, so that a loop around it
    /// which changes none of them can be seen to spin.
    fn is_plain(&self) -> bool {
        false
    }

    /// Whether all that the step changes are values of locations and memory that processes have allocated, so
    /// that it can be part of a [round](super::rounds). One that only reads always can.
    fn is_told(&self) -> bool {
        false
    }

    /// Whether all that others can learn of the step is what its locations hold then, and all that its process learns is
    /// what they held.
    fn is_about_values(&self) -> bool {
        false
    }

    /// The atomic block that the step is, if it has a name.
    fn block(&self) -> Option<&Block<'_>> {
        None
    }

    /// All that is asked when a process comes to it, at once.
    fn nature(&self) -> Nature {
        Nature { wait: self.wait(), plain: self.is_plain(), branches: self.branches() }
    }

    /// Takes the step as the script has it, the short way, if there is one: see [`Runtime::may_repeat`].
    fn repeat(&mut self, _world: &mut Runtime, _place: &'static Caller<'static>, _top: usize) -> bool {
        false
    }

    /// Takes the step.
    fn perform(&mut self, step: &mut CurrentStep<'_>);

    /// What the step does, as a person would write it: `balance.load()`.
    fn describe(&self, runtime: &Runtime) -> String;

    /// For a process that waits: what for, and who could end the wait.
    fn waits_for(&self, _world: &Runtime) -> (String, Vec<ProcessId>) {
        (String::new(), Vec::new())
    }

    /// A value of what is read or written, as a person would write it.
    fn show(&self, value: u64) -> String {
        (value as i64).to_string()
    }
}

/// A step while it is taken.
pub(crate) struct CurrentStep<'w> {
    pub(crate) runtime: &'w mut Runtime,
    pub(crate) process: ProcessId,
    pub(crate) choice: u32,
    /// Where the operation is.
    pub(crate) place: &'static Caller<'static>,
}

impl Runtime {
    /// Writes a location, in the step that is being taken. Gives whether that leaves it as it was.
    #[inline]
    pub(crate) fn rewrite(&mut self, location: Location, value: u64) -> bool {
        let depth = self.execution.schedule.depth + 1;
        if self.looks_for_rounds() {
            self.note_value(location, self.value(location), value);
        }
        let written = self.execution.values.set(location, value, depth);
        self.execution.schedule.changed |= written.watched;
        !written.changed
    }
}

impl CurrentStep<'_> {
    /// The value of a location, without a trace of having looked.
    #[inline]
    pub(crate) fn peek(&self, location: Location) -> u64 {
        self.runtime.value(location)
    }

    /// Sets a location, without a trace of having done so: the label must tell it by [`CurrentStep::touch`].
    #[inline]
    pub(crate) fn set(&mut self, location: Location, value: u64) {
        self.runtime.step.silent &= self.runtime.rewrite(location, value);
        self.runtime.execution.schedule.changed = true;
    }

    /// Adds an access to the label.
    #[inline]
    pub(crate) fn touch(&mut self, location: Location, kind: AccessKind) {
        self.label().touch(location, kind);
        if self.runtime.keeps_clocks() {
            self.runtime.set_clock(self.process, location, kind);
        }
    }

    /// Reads a location, as one that people want to hear of.
    #[inline]
    pub(crate) fn read(&mut self, location: Location, kind: AccessKind) -> u64 {
        self.touch(location, kind);
        let value = self.peek(location);
        if self.runtime.step.story.is_some() {
            self.runtime.tell_read(location, value);
        }
        value
    }

    /// Writes a location that the label already has, or will have, as one that people want to hear of.
    #[inline]
    pub(crate) fn write(&mut self, location: Location, value: u64) {
        self.runtime.step.silent &= self.runtime.rewrite(location, value);
        if self.runtime.step.story.is_some() {
            self.runtime.tell_write(location, value);
        }
    }

    /// Says that the step would touch other locations, or touch them otherwise, had it read other values.
    #[inline]
    pub(crate) fn varies(&mut self) {
        self.label().varies = true;
    }

    /// Says that the step had to wait for the writer of a location.
    #[inline]
    pub(crate) fn waited_for(&mut self, location: Location) {
        self.label().waited_for.push(location);
    }

    /// Says that the process gives a lock back.
    #[inline]
    pub(crate) fn released(&mut self) {
        self.runtime.process_mut(self.process).held -= 1;
    }

    /// Says that the step does something that neither locations nor memory tell.
    pub(crate) fn does_more(&mut self) {
        self.runtime.execution.rounds.did_more();
    }

    /// Says that the process holds a lock from now on.
    #[inline]
    pub(crate) fn acquired(&mut self, location: Location) {
        self.runtime.process_mut(self.process).held += 1;
        if self.runtime.step.story.is_some() {
            self.runtime.execution.acquired.push((location, self.process, self.place));
        }
    }

    /// Tells people something about the step: "timed out".
    pub(crate) fn note(&mut self, note: impl FnOnce() -> String) {
        if let Some(story) = &mut self.runtime.step.story {
            story.note = Some(note());
        }
    }

    #[inline]
    pub(crate) fn label(&mut self) -> &mut Label {
        &mut self.runtime.step.label
    }
}

/// What is told of a step while it is taken.
#[derive(Default)]
pub(crate) struct StepAccount {
    pub(crate) reads: Vec<(Location, u64, Option<usize>)>,
    pub(crate) writes: Vec<(Location, u64)>,
    pub(crate) note: Option<String>,
}

impl StepAccount {
    /// The reads and writes as people see them.
    pub(crate) fn observed(
        &self,
        name: impl Fn(Location) -> String,
        show: impl Fn(u64) -> String,
    ) -> (Vec<Observed>, Vec<Observed>) {
        let reads = self.reads.iter();
        let reads = reads
            .map(|&(at, value, source)| Observed { name: name(at), value: show(value), source })
            .collect();
        let writes = self.writes.iter();
        let writes = writes
            .map(|&(at, value)| Observed { name: name(at), value: show(value), source: None })
            .collect();
        (reads, writes)
    }
}
