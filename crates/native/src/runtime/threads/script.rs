//! The steps of an execution, so that they can be taken again.

use mazurka_program::{Failure, FailureKind, ProcessId, Stop};

use super::runtime::Runtime;
use crate::runtime::system::limits;

/// A step that was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TakenStep {
    pub(crate) process: ProcessId,
    pub(crate) choice: u32,
    /// Tells what it did from what else it might have done.
    pub(crate) mark: u64,
    /// The same of the operation that the thread came to then.
    pub(crate) next: u64,
}

/// A script that is being replayed.
#[derive(Default)]
pub(crate) struct Replay {
    pub(crate) script: Vec<TakenStep>,
    /// So many of its steps are taken again: a thread takes its own without being asked.
    pub(crate) until: u32,
}

impl Replay {
    /// The step of the script that comes after so many, if it is one of those that are taken again.
    #[inline]
    pub(crate) fn next(&self, depth: u32) -> Option<TakenStep> {
        if depth < self.until { Some(self.script[depth as usize]) } else { None }
    }
}

impl Runtime {
    /// Says that the program did not do what it did before, after the same steps.
    #[cold]
    pub(crate) fn not_repeated(&mut self, position: usize, process: ProcessId) {
        self.replay.until = 0;
        if let Some(limit) = limits::reached() {
            // Who is stopped at a limit does not repeat itself.
            return self.fail(limit.stop());
        }
        let message = format!(
            "the program does not repeat itself: after the same {position} steps, {} does something else than before. \
             Something in it depends on time, on random numbers, on memory that was never written, or on what an \
             earlier execution left behind",
            self.name_of(process)
        );
        let kind = FailureKind::Nondeterminism;
        self.fail(Stop::Broken(Failure { kind, message, place: None, process: Some(process) }));
    }
}
