//! Who waits to be woken by another process: at condition variables and at barriers.
//!
//! A process that is on the list no longer has been woken. Its wake location holds nothing and is there for labels: who
//! wakes a process writes it, and the process reads it when it goes on.

use mazurka_program::{AccessKind, Location, ProcessId};

use super::World;
use super::identity::OwnKind;
use super::operation::Step;

/// A process that waits.
pub(crate) struct Waiter {
    /// What it waits at.
    pub(crate) queue: Location,
    pub(crate) process: ProcessId,
    /// The lock that it gave back, if any.
    pub(crate) lock: Option<Location>,
}

/// The processes that wait, in the order in which they came.
#[derive(Default)]
pub(crate) struct Waiters {
    list: Vec<Waiter>,
    /// To whom something happened of itself in this execution.
    quirks: Vec<(Quirk, ProcessId)>,
}

/// What may happen of itself, to each process once in an execution, so that loops around it have an end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Quirk {
    /// It wakes up though nobody woke it.
    WakeUp,
    /// A future is polled though nobody woke its task.
    Poll,
    /// A compare-exchange fails though it need not.
    Failure,
}

impl Waiters {
    /// A new execution begins.
    pub(super) fn clear(&mut self) {
        self.list.clear();
        self.quirks.clear();
    }

    pub(crate) fn add(&mut self, waiter: Waiter) {
        self.list.push(waiter);
    }

    /// Those who wait at one thing.
    pub(crate) fn at(&self, queue: Location) -> impl Iterator<Item = &Waiter> {
        self.list.iter().filter(move |waiter| waiter.queue == queue)
    }

    pub(crate) fn contains(&self, process: ProcessId) -> bool {
        self.list.iter().any(|waiter| waiter.process == process)
    }

    /// Takes a process from the list; tells whether it was there.
    pub(crate) fn remove(&mut self, process: ProcessId) -> bool {
        let at = self.list.iter().position(|waiter| waiter.process == process);
        at.map(|at| self.list.remove(at)).is_some()
    }

    /// Whether a process has woken up of itself before.
    pub(crate) fn woke_of_itself(&self, process: ProcessId) -> bool {
        self.has(Quirk::WakeUp, process)
    }

    pub(crate) fn wakes_of_itself(&mut self, process: ProcessId) {
        self.note(Quirk::WakeUp, process);
    }

    /// Whether something has happened to a process of itself before.
    pub(crate) fn has(&self, quirk: Quirk, process: ProcessId) -> bool {
        self.quirks.contains(&(quirk, process))
    }

    pub(crate) fn note(&mut self, quirk: Quirk, process: ProcessId) {
        self.quirks.push((quirk, process));
    }
}

impl World {
    /// The location that stands for the wake-ups of a process.
    pub(crate) fn wake_of(&mut self, process: ProcessId) -> Location {
        self.own(process, OwnKind::Wake, 0)
    }
}

impl Step<'_> {
    /// Wakes a process that waits.
    pub(crate) fn wake(&mut self, process: ProcessId) {
        self.world.waiters.remove(process);
        let wake = self.world.wake_of(process);
        self.touch(wake, AccessKind::Write);
        self.world.changed = true;
    }
}
