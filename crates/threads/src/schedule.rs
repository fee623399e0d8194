//! Who is there, who can take a step, who waits, and how far the execution has come.
//!
//! A thread that has come to an operation is *enabled*, or, if the operation can wait, *guarded*: whether it
//! is enabled is then asked again after each step that changed something which others may wait for.

use mazurka_program::{Failure, ProcessId, ProcessSet};

use crate::lifetime::{ExecutionState, Journal};

/// The threads of an execution, and the turn that they are in.
#[derive(Debug)]
pub struct Schedule {
    /// The thread that runs now.
    pub running: ProcessId,
    /// How many steps have been taken.
    pub depth: u32,
    /// The threads of this execution, in the order of their creation.
    pub created: Vec<ProcessId>,
    /// Those that are to be started before the step ends.
    pub starting: Vec<ProcessId>,
    /// Those that can take a step.
    pub enabled: ProcessSet,
    /// Those that are at an operation which can wait.
    guarded: ProcessSet,
    /// How many are at an operation that may have several outcomes.
    branching: u32,
    /// Whether the step changed something that others may wait for.
    pub changed: bool,
}

impl Default for Schedule {
    fn default() -> Schedule {
        Schedule {
            running: ProcessId(0),
            depth: 0,
            created: Vec::new(),
            starting: Vec::new(),
            enabled: ProcessSet::new(),
            guarded: ProcessSet::new(),
            branching: 0,
            changed: false,
        }
    }
}

impl Schedule {
    /// A thread has come to an operation, which can wait, and may have several outcomes.
    #[inline]
    pub fn arrive(&mut self, process: ProcessId, waits: bool, branches: bool) {
        self.branching += u32::from(branches);
        if waits {
            self.guarded.insert(process);
            self.changed = true;
        } else {
            self.enabled.insert(process);
        }
    }

    /// A thread takes the step of the operation that it has come to.
    #[inline]
    pub fn leave(&mut self, process: ProcessId, waits: bool, branches: bool) {
        self.enabled.remove(process);
        if waits {
            self.guarded.remove(process);
        }
        self.branching -= u32::from(branches);
    }

    /// Nobody is known to be at an operation: it is found out anew.
    pub fn forget_arrivals(&mut self) {
        self.enabled.clear();
        self.guarded.clear();
        self.branching = 0;
    }

    /// Whether some thread is at an operation that may have several outcomes.
    #[inline]
    pub fn is_branching(&self) -> bool {
        self.branching > 0
    }

    /// Those of whom it has to be asked again whether they can take a step. They are put back with
    /// [`Schedule::asked`]; in between, the answers are noted with [`Schedule::set_enabled`].
    #[inline]
    pub fn to_be_asked(&mut self) -> ProcessSet {
        self.changed = false;
        std::mem::take(&mut self.guarded)
    }

    /// Ends what [`Schedule::to_be_asked`] began.
    #[inline]
    pub fn asked(&mut self, guarded: ProcessSet) {
        self.guarded = guarded;
    }

    /// Notes whether a thread can take a step.
    #[inline]
    pub fn set_enabled(&mut self, process: ProcessId, enabled: bool) {
        match enabled {
            true => self.enabled.insert(process),
            false => self.enabled.remove(process),
        }
    }
}

/// What is saved lies between two steps, and who is at which operation is found out anew when it is restored.
impl ExecutionState for Schedule {
    type Saved = (u32, Vec<ProcessId>);

    fn begin(&mut self) {
        (self.running, self.depth, self.changed) = (ProcessId(0), 0, false);
        self.created.clear();
        self.starting.clear();
        self.forget_arrivals();
    }

    fn save(&self, (depth, created): &mut (u32, Vec<ProcessId>)) {
        debug_assert!(self.starting.is_empty(), "a step is over when all whom it created have started");
        *depth = self.depth;
        created.clone_from(&self.created);
    }

    fn restore(&mut self, (depth, created): &(u32, Vec<ProcessId>)) {
        self.begin();
        self.depth = *depth;
        self.created.clone_from(created);
    }
}

/// What an execution has shown so far.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// What went wrong.
    pub failures: Journal<Failure>,
    /// Whether an assumption was false.
    pub assumed: bool,
}

impl Findings {
    /// Notes what went wrong, once.
    pub fn report(&mut self, failure: Failure) {
        if !self.failures.contains(&failure) {
            self.failures.push(failure);
        }
    }
}

impl ExecutionState for Findings {
    type Saved = Findings;

    fn begin(&mut self) {
        self.failures.begin();
        self.assumed = false;
    }

    fn save(&self, saved: &mut Findings) {
        self.failures.save(&mut saved.failures);
        saved.assumed = self.assumed;
    }

    fn restore(&mut self, saved: &Findings) {
        self.failures.restore(&saved.failures);
        self.assumed = saved.assumed;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_is_asked_again_when_something_changed() {
        let mut schedule = Schedule::default();
        let [a, b] = [ProcessId(0), ProcessId(1)];
        schedule.arrive(a, false, true);
        schedule.arrive(b, true, false);
        assert!(schedule.changed && schedule.is_branching());
        let guarded = schedule.to_be_asked();
        assert_eq!(guarded.iter().collect::<Vec<_>>(), [b]);
        schedule.set_enabled(b, true);
        schedule.asked(guarded);
        schedule.leave(a, false, true);
        schedule.leave(b, true, false);
        assert!(schedule.enabled.is_empty() && !schedule.is_branching());
        assert!(schedule.to_be_asked().is_empty());
    }
}
