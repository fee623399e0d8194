//! Data races between accesses of cells.
//!
//! What orders accesses is in [`mazurka_threads::races`]. An operation that promises an order says so when it
//! is performed; whatever does not say so orders nothing: a `try_lock` that fails, a notification, a look at
//! a count. Accesses of cells are no steps. Clocks are kept only in searches of programs that are known to
//! use cells.

use std::panic::Location as Caller;
use std::sync::atomic::Ordering;

use mazurka_program::{Failure, FailureKind, Location, ProcessId};
use mazurka_threads::race_log::Did;
use mazurka_threads::races::{Atomic, Part, Seen, WHOLE};

use super::operation::CurrentStep;
use super::{Runtime, place_of};

/// What the order of accesses follows from. All of it costs a look at a flag where no cells are watched.
impl CurrentStep<'_> {
    /// The step comes after all that was released to a location.
    #[inline]
    pub(crate) fn acquire(&mut self, location: Location) {
        self.acquire_part(location, WHOLE);
    }

    /// What its process has done comes before whoever acquires from the location.
    #[inline]
    pub(crate) fn release(&mut self, location: Location) {
        self.release_part(location, WHOLE);
    }

    /// As [`CurrentStep::acquire`], from a part of the location.
    #[inline]
    pub(crate) fn acquire_part(&mut self, location: Location, part: Part) {
        if self.runtime.watches_cells() {
            self.runtime.execution.races.acquire(self.process, location, part);
            self.runtime.note_race(self.process, Did::Acquire(location, part));
        }
    }

    /// As [`CurrentStep::release`], to a part of the location.
    #[inline]
    pub(crate) fn release_part(&mut self, location: Location, part: Part) {
        if self.runtime.watches_cells() {
            self.runtime.execution.races.release(self.process, location, part);
            self.runtime.note_race(self.process, Did::Release(location, part));
        }
    }

    /// The step creates a process.
    pub(crate) fn inherits(&mut self, child: ProcessId) {
        self.bequeath_time(child);
        if self.runtime.watches_cells() {
            self.runtime.execution.races.inherit(child, self.process);
            self.runtime.note_race(self.process, Did::Create(child));
        }
    }

    /// The step is an operation of an atomic, with this ordering.
    #[inline]
    pub(crate) fn atomic(&mut self, location: Location, did: Atomic, order: Ordering) {
        if self.runtime.watches_cells() {
            self.runtime.execution.races.atomic(self.process, location, did, order.into());
            self.runtime.note_race(self.process, Did::Atomic(location, did, order.into()));
        }
    }
}

impl Runtime {
    /// Whether accesses of cells are watched.
    #[inline]
    pub(crate) fn watches_cells(&self) -> bool {
        self.execution.races.enabled
    }

    /// The running process comes to a fence.
    pub(crate) fn fence(&mut self, order: Ordering) {
        if self.watches_cells() {
            let running = self.running();
            self.execution.rounds.tell(order as u64);
            self.execution.races.fence(running, order.into());
            self.note_race(running, Did::Fence(order.into()));
        }
    }

    /// The running process accesses a cell.
    pub(crate) fn access_cell(&mut self, cell: Location, write: bool, place: &'static Caller<'static>) {
        let process = self.running();
        if self.execution.within.is_some() && self.is_trying() {
            self.note_beyond(place);
        }
        // As an operation: if it is done by whoever drops an `Arc` last, it matters who that is.
        self.execution.operations += 1;
        if write {
            // It may count there how often it has tried.
            self.process_mut(process).spin_state.clear();
        }
        self.execution.rounds.tell(u64::from(cell.0) << 1 | u64::from(write));
        let mut racing = Vec::new();
        let now = self.execution.races.now(process, place, write);
        self.execution.races.meet(cell, now, false, &mut racing);
        self.note_race(process, Did::Access(cell, write));
        racing.into_iter().for_each(|seen| self.report_race(cell, seen, now));
    }

    #[cold]
    fn report_race(
        &mut self,
        cell: Location,
        first: Seen<&'static Caller<'static>>,
        second: Seen<&'static Caller<'static>>,
    ) {
        let told = |seen: Seen<&'static Caller<'static>>| {
            let what = if seen.write { "writes" } else { "reads" };
            let (name, place) = (self.name_of(seen.process), seen.place);
            format!("{name} {what} it at {}:{}", place.file(), place.line())
        };
        let name = self.name_of_location(cell);
        let message = format!("{name}: {}, {}, and nothing orders the two", told(first), told(second));
        let (kind, place) = (FailureKind::DataRace, Some(place_of(second.place)));
        self.execution.findings.report(Failure { kind, message, place, process: Some(second.process) });
    }
}
