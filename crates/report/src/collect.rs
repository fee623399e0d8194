//! The monitor that remembers failures.
//!
//! It is called at the end of every execution of a search, so it does next to nothing unless something went wrong, and
//! makes text only of failures that are new to it.

use std::ops::ControlFlow;

use mazurka_explore::{Counts, Ending, Monitor};
use mazurka_program::{Explain, Failure, FailureKind, Run, Schedule, Step, WaitExplanation};
use mazurka_trace::Trace;

/// No more distinct failures than this are kept: who needs the rest fixes these first.
pub const MAX_FAILURES: usize = 100;

/// A failure that a search met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// What went wrong. Its process is a number of the search's run, of no use outside it.
    pub failure: Failure,
    /// The execution in which it did.
    pub schedule: Schedule,
}

/// Who wants to know how far a search is: called with the counts and with the share that is behind us.
pub type Watch<'a> = dyn FnMut(&Counts, f64) + 'a;

/// A monitor that keeps the first failure of a search and ends it, or all distinct ones to the end.
///
/// Two failures are the same if kind, message and place are.
pub struct Collector<'a> {
    keep_going: bool,
    found: Vec<Found>,
    more: bool,
    watch: Option<&'a mut Watch<'a>>,
}

impl<'a> Collector<'a> {
    /// A collector that ends the search at the first failure, unless it is to keep going.
    pub fn new(keep_going: bool, watch: Option<&'a mut Watch<'a>>) -> Collector<'a> {
        Collector { keep_going, found: Vec::new(), more: false, watch }
    }

    /// The failures met, in the order of meeting, and whether there were more than [`MAX_FAILURES`].
    pub fn into_found(self) -> (Vec<Found>, bool) {
        (self.found, self.more)
    }

    fn meet<R: Run>(&mut self, failure: &Failure, trace: &Trace, run: &R) {
        if self.found.iter().any(|known| same(&known.failure, failure)) {
            return;
        }
        if self.found.len() == MAX_FAILURES {
            self.more = true;
            return;
        }
        self.found.push(Found { failure: failure.clone(), schedule: schedule_of(trace, run) });
    }
}

impl<R: Explain> Monitor<R> for Collector<'_> {
    fn execution(&mut self, ending: Ending, trace: &Trace, run: &R, _: &Counts) -> ControlFlow<()> {
        // A failure is one however its execution ends: what a later assumption says can't undo it.
        for failure in run.failures() {
            self.meet(failure, trace, run);
        }
        if ending == (Ending::Complete { deadlock: true }) {
            self.meet(&deadlock(&waiting(run), |p| run.process_name(p)), trace, run);
        }
        if self.found.is_empty() || self.keep_going {
            return ControlFlow::Continue(());
        }
        self.found.truncate(1);
        ControlFlow::Break(())
    }

    fn progress(&mut self, counts: &Counts, share: f64) {
        if let Some(watch) = &mut self.watch {
            watch(counts, share);
        }
    }
}

/// Whether two failures count as one.
pub(crate) fn same(a: &Failure, b: &Failure) -> bool {
    a.kind == b.kind && a.place == b.place && a.message == b.message
}

/// The processes that wait, in the order of their names: numbers may differ from run to run.
pub(crate) fn waiting<R: Explain>(run: &R) -> Vec<WaitExplanation> {
    let mut waiting = run.explain_waiting();
    waiting.sort_by(|a, b| run.names().compare(a.process, b.process));
    waiting
}

/// So many processes are named in the message of a deadlock.
const NAMED: usize = 3;

/// The deadlock in which these processes wait.
pub(crate) fn deadlock(
    waiting: &[WaitExplanation],
    name: impl Fn(mazurka_program::ProcessId) -> String,
) -> Failure {
    let mut parts: Vec<String> = waiting
        .iter()
        .take(NAMED)
        .map(|wait| format!("{} waits at {}", name(wait.process), wait.operation))
        .collect();
    if waiting.len() > NAMED {
        parts.push(format!("{} more wait", waiting.len() - NAMED));
    }
    Failure { kind: FailureKind::Deadlock, message: parts.join(", "), place: None, process: None }
}

fn schedule_of<R: Run>(trace: &Trace, run: &R) -> Schedule {
    let steps = (0..trace.len())
        .map(|at| Step { process: run.names().path(trace.process(at)), choice: trace.choice(at) })
        .collect();
    Schedule { steps }
}
