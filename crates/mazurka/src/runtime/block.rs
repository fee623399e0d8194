//! Atomic blocks: what a process does in one is done at once, as part of the step that the block is.
//!
//! The step is taken with a label that touches nothing, and the process goes on; each operation that it comes to is
//! performed where it stands, and adds to the label. So the label is complete when the process leaves the block, which
//! it does before it comes to the next step, or when it is suspended for good.

use std::panic::Location as Caller;

use mazurka_program::{AccessKind, Failure, FailureKind, Stop};
use mazurka_threads::replay::digest;

use super::arrive::Arrival;
use super::operation::{CurrentStep, Operation, Wait};
use super::{Runtime, place_of};
use crate::atomic::Block;

type Place = &'static Caller<'static>;

impl Runtime {
    /// Whether a block that the running process comes to is a step of its own. Within a block, and while the process
    /// unwinds, it is part of one.
    pub(crate) fn is_step_for_block(&mut self, block: Option<&Block<'_>>) -> bool {
        for (.., place) in block.into_iter().flat_map(Block::claims) {
            self.know_claim(place, false);
        }
        self.execution.within.is_none() && !std::thread::panicking()
    }

    /// The step of a block is taken.
    pub(crate) fn begins_block(&mut self) {
        if self.search.foresee {
            let message = "an atomic block is not supported by source; use optimal";
            self.fail(Stop::Unsupported(message.to_owned()));
        }
    }

    /// The step of a block has been taken: what the running process does is part of it from now on.
    pub(crate) fn enter_block(&mut self, place: Place) {
        self.execution.within = Some(place);
        self.begin_trial();
    }

    /// The running process leaves its block, or will never go on.
    #[inline]
    pub(crate) fn leave_block(&mut self) {
        if self.execution.within.is_some() {
            self.complete_block();
        }
    }

    #[cold]
    fn complete_block(&mut self) {
        let Some(place) = self.execution.within.take() else { return };
        if self.is_trying() {
            self.note_touched();
        }
        if self.execution.leaving || self.execution.ending {
            return;
        }
        if !self.search.groups.is_empty() {
            self.search.groups.touch(&mut self.step.label);
        }
        // What it touches may follow from what it has read.
        self.step.label.varies = true;
        let did = digest(0, &self.step.label);
        let position = (self.execution.schedule.depth as usize).saturating_sub(1);
        match self.search.script.get(position) {
            None => self.step.within = did,
            Some(before) if before.within == did => {}
            Some(_) => {
                self.report_difference(position, self.running(), (Some(place), Some(place)));
            }
        }
    }

    /// The running process comes to an operation within a block: it is done at once.
    #[cold]
    pub(super) fn operate_within(&mut self, operation: &mut dyn Operation, place: Place) -> Arrival {
        if self.search.fatal.as_ref().is_some_and(|stop| *stop != Stop::BeginAgain) {
            return Arrival::Stuck;
        }
        let branches = operation.branches() && operation.alternatives(self) > 1;
        if operation.wait() != Wait::Nothing || branches {
            let why = if branches { "has several outcomes" } else { "may have to wait" };
            return self.refuse_within(operation, place, why);
        }
        self.execution.operations += 1;
        if self.is_trying() && !operation.is_about_values() {
            self.note_beyond(place);
        }
        let (me, spawned) = (self.running(), self.step.label.spawned.len());
        // The step that it is part of has been counted already.
        self.execution.schedule.depth -= 1;
        operation.perform(&mut CurrentStep { runtime: self, process: me, choice: 0, place });
        self.execution.schedule.depth += 1;
        if self.step.label.spawned.len() > spawned {
            return self.refuse_within(operation, place, "starts a thread");
        }
        if self.looks_for_rounds() {
            self.note_done(operation);
        } else if self.process(me).is_sighted() {
            self.note_on_the_way(me, operation);
        }
        if self.step.story.is_some() {
            self.tell_within(operation);
        }
        Arrival::Done
    }

    #[cold]
    fn refuse_within(&mut self, operation: &dyn Operation, place: Place, why: &str) -> Arrival {
        // Of an execution that nobody looks at nothing is told.
        if let Some(block) = self.execution.within.filter(|_| !self.execution.leaving) {
            let what = operation.describe(self);
            let message = format!("{what} {why}, which can't be in the atomic block at {block}");
            self.misuse(message, place);
        }
        Arrival::Stuck
    }

    /// The library is used as it must not be: the execution can't go on.
    fn misuse(&mut self, message: String, place: Place) {
        let (kind, place) = (FailureKind::InvalidSync, Some(place_of(place)));
        let process = Some(self.running());
        self.fail(Stop::Broken(Failure { kind, message, place, process }));
    }

    /// A condition of a claim was looked at. Gives whether the process can go on.
    pub(crate) fn note_condition(&mut self, holds: bool, place: Place) -> bool {
        let only_reads = self.step.label.accesses.iter().all(|access| access.kind == AccessKind::Read);
        if !only_reads && !self.execution.leaving {
            self.misuse("the condition of a claim may only read".to_owned(), place);
        }
        self.note_claim(holds);
        only_reads
    }
}
