//! Who waits to be woken by another thread: at condition variables, at barriers, at futexes.
//!
//! A thread that is on the list no longer has been woken. Its wake location holds nothing and is there for
//! labels: who wakes a thread writes it, and the thread reads it when it goes on.

use mazurka_program::{Location, ProcessId};

use crate::lifetime::{ExecutionState, copy_list};

/// A thread that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiter {
    /// What it waits at.
    pub queue: Location,
    /// Who it is.
    pub process: ProcessId,
    /// The lock that it gave back, if any.
    pub lock: Option<Location>,
}

/// What may happen of itself, to each thread once in an execution, so that loops around it have an end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spuriously {
    /// It wakes up though nobody woke it.
    WakesUp,
    /// A future is polled though nobody woke its task.
    Polls,
    /// A compare-exchange fails though it need not.
    Fails,
}

/// The threads that wait, in the order in which they came.
#[derive(Clone, Debug, Default)]
pub struct Waiters {
    list: Vec<Waiter>,
    /// To whom something happened of itself in this execution.
    spurious: Vec<(Spuriously, ProcessId)>,
}

impl Waiters {
    /// Adds one.
    pub fn add(&mut self, waiter: Waiter) {
        self.list.push(waiter);
    }

    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = &Waiter> {
        self.list.iter()
    }

    /// Those who wait at one thing.
    pub fn at(&self, queue: Location) -> impl Iterator<Item = &Waiter> {
        self.list.iter().filter(move |waiter| waiter.queue == queue)
    }

    /// Whether a thread waits, and has not been woken.
    pub fn contains(&self, process: ProcessId) -> bool {
        self.list.iter().any(|waiter| waiter.process == process)
    }

    /// Takes a thread from the list; tells whether it was there.
    pub fn remove(&mut self, process: ProcessId) -> bool {
        let at = self.list.iter().position(|waiter| waiter.process == process);
        at.map(|at| self.list.remove(at)).is_some()
    }

    /// Whether something has happened to a thread of itself before.
    pub fn has(&self, what: Spuriously, process: ProcessId) -> bool {
        self.spurious.contains(&(what, process))
    }

    /// Notes that something happens to a thread of itself.
    pub fn note(&mut self, what: Spuriously, process: ProcessId) {
        self.spurious.push((what, process));
    }
}

impl ExecutionState for Waiters {
    type Saved = Waiters;

    fn begin(&mut self) {
        self.list.clear();
        self.spurious.clear();
    }

    fn save(&self, saved: &mut Waiters) {
        copy_list(&self.list, &mut saved.list);
        copy_list(&self.spurious, &mut saved.spurious);
    }

    fn restore(&mut self, saved: &Waiters) {
        saved.save(self);
    }
}
