//! Operations: what a modelled thread stops at, besides plain accesses of memory, and what its step does
//! then.

use mazurka_program::{AccessKind, Guard, Location, Names, ProcessId};
use mazurka_threads::races::Order;
use mazurka_threads::sync;
use mazurka_threads::values::Until;
use mazurka_threads::waiters::Waiters;

use super::runtime::Runtime;

/// The value of a lock that is written is this plus the number of the writer; one that is read holds the
/// number of readers.
pub(crate) const WRITTEN: u64 = 1 << 32;

/// What a lock holds that nobody has.
pub(crate) const FREE: Until = Until::Is(0);

/// What must hold before a step can be taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wait {
    /// Nothing: the step can be taken at once.
    Nothing,
    /// That a location holds something, which another thread can undo. Its races are those of a guard.
    Until(Location, Until),
    /// That something which a spin loop read is another.
    Change(Guard),
    /// What nobody else can undo: [`Operation::ready`] tells, and the label says what the step waited for.
    Own,
}

/// An operation that a thread has come to. It lives on the stack of the thread until its step has been taken.
pub(crate) trait Operation {
    /// What it waits for. Asked once, when the thread arrives.
    fn wait(&self) -> Wait {
        Wait::Nothing
    }

    /// For [`Wait::Own`]: whether the step can be taken now.
    fn ready(&self, _runtime: &Runtime, _process: ProcessId) -> bool {
        true
    }

    /// How many outcomes the step has.
    fn outcomes(&self, _runtime: &Runtime, _process: ProcessId) -> u32 {
        1
    }

    /// Whether [`Operation::outcomes`] can be more than 1.
    fn branches(&self) -> bool {
        false
    }

    /// Whether the step creates a thread.
    fn spawns(&self) -> bool {
        false
    }

    /// How what it does to memory synchronises.
    fn order(&self) -> Order {
        Order::Plain
    }

    /// Whether it has only read memory, whatever its label foresees.
    fn only_reads(&self) -> bool {
        false
    }

    /// Takes the step.
    fn perform(&mut self, step: &mut CurrentStep<'_>);

    /// What the step does, as a person would write it: `pthread_mutex_lock(&m)`.
    fn describe(&self, runtime: &Runtime) -> String;

    /// For a thread that waits: what for, and who could end the wait.
    fn waits_for(&self, _runtime: &Runtime) -> (String, Vec<ProcessId>) {
        (String::new(), Vec::new())
    }
}

/// A step while it is taken.
pub(crate) struct CurrentStep<'r> {
    pub(crate) runtime: &'r mut Runtime,
    pub(crate) process: ProcessId,
    pub(crate) choice: u32,
    /// Where the operation is.
    pub(crate) place: usize,
}

impl CurrentStep<'_> {
    /// Says that the step reads and writes a location.
    #[inline]
    pub(crate) fn update(&mut self, location: Location) {
        sync::StepEffects::touch(self, location, AccessKind::Update);
    }

    /// What is touched depends on who waits: there is no label that foresees it.
    pub(crate) fn refuse_static_footprints(&mut self, what: &str) {
        if self.runtime.search.static_footprints {
            self.runtime.refuse(format!("{what} are not supported by source; use optimal"));
        }
    }
}

impl sync::StepEffects for CurrentStep<'_> {
    fn process(&self) -> ProcessId {
        self.process
    }

    fn choice(&self) -> u32 {
        self.choice
    }

    #[inline]
    fn value(&self, location: Location) -> u64 {
        self.runtime.execution.values.get(location)
    }

    /// What others may wait for changes.
    #[inline]
    fn set(&mut self, location: Location, value: u64) {
        let execution = &mut self.runtime.execution;
        let depth = execution.schedule.depth.wrapping_add(1);
        execution.values.set(location, value, depth);
        execution.schedule.changed = true;
        if let Some((group, bit)) = self.runtime.search.lock_groups.of(location) {
            let held = execution.values.get(group) & !bit | if value == 0 { 0 } else { bit };
            execution.values.set(group, held, depth);
        }
    }

    #[inline]
    fn touch(&mut self, location: Location, kind: AccessKind) {
        self.runtime.step.label.touch(location, kind);
        // Who uses a mutex that is locked together with others uses what stands for all of them.
        if let Some((group, _)) = self.runtime.search.lock_groups.of(location) {
            self.runtime.step.label.touch(group, kind);
        }
    }

    fn varies(&mut self) {
        self.runtime.step.label.varies = true;
    }

    fn waited_for(&mut self, location: Location) {
        self.runtime.step.label.waited_for.push(location);
    }

    fn waiters(&mut self) -> &mut Waiters {
        &mut self.runtime.execution.waiters
    }

    fn names(&self) -> &Names {
        &self.runtime.search.names
    }

    fn wake_location(&mut self, process: ProcessId) -> Location {
        self.runtime.thread(process).wake
    }

    fn wakes_somebody(&mut self) {
        self.runtime.execution.schedule.changed = true;
    }

    fn note(&mut self, note: impl FnOnce(&Self) -> String) {
        if self.runtime.step.explanation.is_some() {
            let note = note(self);
            self.runtime.step.explanation.as_mut().map(|explanation| explanation.note.insert(note));
        }
    }

    fn name(&self, process: ProcessId) -> String {
        self.runtime.name_of(process)
    }
}
