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

/// What an operation means to rounds: to loops that come back to where they were.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum InRound {
    /// No round goes over it: it may do what can't be undone by writing values.
    Never,
    /// All that it changes are values.
    Within,
    /// The same; and all that the call was given is this, and where it is.
    At(u64),
    /// The same, if it is an access that the program makes itself.
    AtAccess(u64),
    /// It is an access in a loop that only reads, and waits there.
    Spins(u64),
    /// All that it changes are values, and it comes right after another operation of the same call, which was
    /// compared: so the state of the thread is the same but for this, which tells how that one came out.
    After(u64),
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

    /// What it means to rounds. Asked when the thread arrives.
    fn in_round(&self) -> InRound {
        InRound::Never
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

    /// The thread has so many locks more.
    #[inline]
    pub(crate) fn holds_more(&mut self, locks: i64) {
        if self.runtime.search.rounds {
            self.runtime.execution.threads[self.process].buffers.rounds.note_held(locks);
        }
    }

    /// The step changes what is kept elsewhere, of which a location stands for.
    pub(crate) fn note_value(&mut self, location: Location, old: u64, new: u64) {
        if self.runtime.search.rounds {
            self.runtime.execution.threads[self.process].buffers.rounds.note_object(location.0, old, new);
        }
    }

    /// The thread reads a lock once more, or once less.
    pub(crate) fn note_reader(&mut self, lock: Location, change: i64) {
        if self.runtime.search.rounds {
            let reads = |reader: &&(Location, ProcessId)| **reader == (lock, self.process);
            let now = self.runtime.execution.readers.iter().filter(reads).count() as u64;
            let before = now.wrapping_sub(change.cast_unsigned());
            let process = self.process;
            self.runtime.execution.threads[process]
                .buffers
                .rounds
                .note_reader(lock.0, process.0, before, now);
        }
    }

    /// Says that the step reads a location, and writes it if it `changes` that: where labels name all that a
    /// step might touch, that it may do so.
    pub(crate) fn try_update(&mut self, location: Location, changes: bool) {
        let foresee = self.runtime.search.static_footprints;
        let kind = if changes || foresee { AccessKind::Update } else { AccessKind::Read };
        self.runtime.step.label.touch(location, kind);
        self.runtime.step.label.varies |= !foresee;
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
        if self.runtime.search.rounds {
            let old = execution.values.get(location);
            execution.threads[self.process].buffers.rounds.note_object(location.0, old, value);
        }
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
