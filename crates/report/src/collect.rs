//! The monitor that remembers failures.
//!
//! It is called at the end of every execution of a search, so it does next to nothing unless something went
//! wrong, and makes text only of failures that are new to it.

use std::ops::ControlFlow;

use mazurka_explore::{Counts, Ending, Monitor};
use mazurka_program::{Explain, Failure, FailureKind, Place, Run, Schedule, Step, WaitExplanation};
use mazurka_trace::Trace;

use crate::cycle::to_blame;
use crate::livelock::livelock_of;

/// No more distinct failures than this are kept: who needs the rest fixes these first.
pub const MAX_FAILURES: usize = 100;

/// A failure that a search met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DistinctFailure {
    /// What went wrong. Its process is a number of the search's run, of no use outside it.
    pub failure: Failure,
    /// For a deadlock: where the processes wait that are to blame for it, each place once, in order. Those
    /// that wait merely because of these are no part of it.
    pub waits: Vec<Place>,
    /// The execution in which it was met first.
    pub schedule: Schedule,
    /// In how many executions it was met, of all kinds.
    pub executions: u64,
    /// Whether its message was another in some of them: values that differ.
    pub varies: bool,
}

impl DistinctFailure {
    /// A failure that was met in one execution.
    pub(crate) fn once(failure: Failure, waits: Vec<Place>, schedule: Schedule) -> DistinctFailure {
        DistinctFailure { failure, waits, schedule, executions: 1, varies: false }
    }

    /// Whether two count as one failure: those of one kind at one place (deadlocks: at the same places),
    /// whatever the values and whichever process of a family it is. Where no place is known, the message
    /// decides.
    pub(crate) fn is_like(&self, other: &DistinctFailure) -> bool {
        self.covers(&other.failure, &other.waits)
    }

    fn covers(&self, failure: &Failure, waits: &[Place]) -> bool {
        let placed = failure.place.is_some() || !waits.is_empty();
        self.failure.kind == failure.kind
            && self.failure.place == failure.place
            && self.waits == waits
            && (placed || self.failure.message == failure.message)
    }
}

/// Who wants to know how far a search is: called now and then with the counts and with the share that is
/// behind us. To break asks for an end of the search.
pub type Watch<'a> = dyn FnMut(&Counts, f64) -> ControlFlow<()> + 'a;

/// A monitor that keeps the first failure of a search and ends it, or all distinct ones to the end.
pub struct Collector<'a> {
    part: PartCollector,
    watch: Option<&'a mut Watch<'a>>,
}

/// A collector of a part of a search, which may be in another thread than who watches.
#[derive(Clone, Default)]
pub(crate) struct PartCollector {
    keep_going: bool,
    collected: Collected,
    /// For each failure found, the last execution that showed it.
    seen_in: Vec<u64>,
}

/// What a collector has in the end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Collected {
    /// The failures met, in the order of meeting.
    pub found: Vec<DistinctFailure>,
    /// Whether there were more than [`MAX_FAILURES`].
    pub more: bool,
    /// Whether who watched asked for an end.
    pub interrupted: bool,
}

impl Collected {
    /// Adds what was met in a part of the search that comes after this one.
    pub fn add(&mut self, later: Collected) {
        for new in later.found {
            if let Some(known) = self.found.iter_mut().find(|known| known.is_like(&new)) {
                known.varies |= new.varies || known.failure.message != new.failure.message;
                known.executions += new.executions;
            } else if self.found.len() == MAX_FAILURES {
                self.more = true;
            } else {
                self.found.push(new);
            }
        }
        self.more |= later.more;
        self.interrupted |= later.interrupted;
    }
}

impl<'a> Collector<'a> {
    /// A collector that ends the search at the first failure, unless it is to keep going.
    pub fn new(keep_going: bool, watch: Option<&'a mut Watch<'a>>) -> Collector<'a> {
        Collector { part: PartCollector::new(keep_going), watch }
    }

    /// What was collected.
    pub fn collected(self) -> Collected {
        self.part.collected
    }
}

impl PartCollector {
    /// A collector that ends the search at the first failure, unless it is to keep going.
    pub fn new(keep_going: bool) -> PartCollector {
        PartCollector { keep_going, ..PartCollector::default() }
    }

    /// One that is done.
    pub fn of(collected: Collected) -> PartCollector {
        PartCollector { collected, ..PartCollector::default() }
    }

    /// What was collected.
    pub fn collected(self) -> Collected {
        self.collected
    }

    /// Counts a failure that is known. Gives whether it is.
    fn known(&mut self, failure: &Failure, waits: &[Place], execution: u64) -> bool {
        let found = &mut self.collected.found;
        let Some(at) = found.iter().position(|known| known.covers(failure, waits)) else { return false };
        found[at].varies |= found[at].failure.message != failure.message;
        self.count(at, execution);
        true
    }

    /// One execution may show a failure again and again.
    fn count(&mut self, at: usize, execution: u64) {
        if self.seen_in[at] != execution {
            self.seen_in[at] = execution;
            self.collected.found[at].executions += 1;
        }
    }

    fn keep<R: Run>(&mut self, failure: Failure, waits: Vec<Place>, trace: &Trace, run: &R, execution: u64) {
        if self.collected.found.len() == MAX_FAILURES {
            self.collected.more = true;
            return;
        }
        self.collected.found.push(DistinctFailure::once(failure, waits, schedule_of(trace, run)));
        self.seen_in.push(execution);
    }

    fn meet_deadlock<R: Explain>(&mut self, trace: &Trace, run: &R, execution: u64) {
        let waiting = run.explain_waiting();
        let places = places(&waiting);
        // The message of a deadlock is made for the first at its places only.
        let known =
            |known: &DistinctFailure| !places.is_empty() && known.waits.iter().eq(places.iter().copied());
        if let Some(at) = self.collected.found.iter().position(known) {
            return self.count(at, execution);
        }
        let waits: Vec<Place> = places.into_iter().cloned().collect();
        let failure = deadlock_of(run, waiting);
        if !self.known(&failure, &waits, execution) {
            self.keep(failure, waits, trace, run, execution);
        }
    }

    fn meet_livelock<R: Explain>(&mut self, trace: &Trace, run: &R, execution: u64) {
        let failure = livelock_of(run, trace);
        if !self.known(&failure, &[], execution) {
            self.keep(failure, Vec::new(), trace, run, execution);
        }
    }
}

impl<R: Explain> Monitor<R> for Collector<'_> {
    fn execution(&mut self, ending: Ending, trace: &Trace, run: &R, counts: &Counts) -> ControlFlow<()> {
        self.part.execution(ending, trace, run, counts)
    }

    fn begin_again(&mut self) {
        Monitor::<R>::begin_again(&mut self.part);
    }

    fn progress(&mut self, counts: &Counts, share: f64) -> ControlFlow<()> {
        let interrupted = &mut self.part.collected.interrupted;
        if let Some(watch) = &mut self.watch {
            *interrupted |= watch(counts, share).is_break();
        }
        if *interrupted { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

impl<R: Explain> Monitor<R> for PartCollector {
    fn execution(&mut self, ending: Ending, trace: &Trace, run: &R, counts: &Counts) -> ControlFlow<()> {
        let execution = counts.executions();
        // A failure is one however its execution ends: what a later assumption says can't undo it.
        for failure in run.failures() {
            if !self.known(failure, &[], execution) {
                self.keep(failure.clone(), Vec::new(), trace, run, execution);
            }
        }
        match ending {
            Ending::Complete { deadlock: true } => self.meet_deadlock(trace, run, execution),
            Ending::Stopped { livelock: true } => self.meet_livelock(trace, run, execution),
            _ => {}
        }
        let Collected { found, interrupted, .. } = &mut self.collected;
        if !found.is_empty() && !self.keep_going {
            found.truncate(1);
            *interrupted = false;
            return ControlFlow::Break(());
        }
        if *interrupted { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn begin_again(&mut self) {
        // The schedules of failures met so far are not those of the new search, which will meet them again.
        self.collected.found.clear();
        self.seen_in.clear();
        self.collected.more = false;
    }
}

/// Two monitors of one search. Each of them may end it.
pub(crate) struct Both<'a, R> {
    pub first: &'a mut dyn Monitor<R>,
    pub second: &'a mut dyn Monitor<R>,
}

impl<R: Run> Monitor<R> for Both<'_, R> {
    fn execution(&mut self, ending: Ending, trace: &Trace, run: &R, counts: &Counts) -> ControlFlow<()> {
        let first = self.first.execution(ending, trace, run, counts);
        let second = self.second.execution(ending, trace, run, counts);
        if first.is_break() { first } else { second }
    }

    fn begin_again(&mut self) {
        self.first.begin_again();
        self.second.begin_again();
    }

    fn progress(&mut self, counts: &Counts, share: f64) -> ControlFlow<()> {
        let first = self.first.progress(counts, share);
        let second = self.second.progress(counts, share);
        if first.is_break() { first } else { second }
    }
}

/// Whether a failure is the other again, in every word.
pub(crate) fn same(a: &Failure, b: &Failure) -> bool {
    a.kind == b.kind && a.place == b.place && a.message == b.message
}

/// Where the processes wait that are to blame for a deadlock, each place once, in order.
fn places(waiting: &[WaitExplanation]) -> Vec<&Place> {
    let to_blame = waiting.iter().zip(to_blame(waiting)).filter(|(_, to_blame)| *to_blame);
    let mut places: Vec<&Place> = to_blame.filter_map(|(wait, _)| wait.place.as_ref()).collect();
    places.sort_unstable();
    places.dedup();
    places
}

/// So many processes are named in the message of a deadlock.
const NAMED: usize = 3;

/// The deadlock in which these processes wait.
pub(crate) fn deadlock_of<R: Explain>(run: &R, waiting: Vec<WaitExplanation>) -> Failure {
    let waiting = in_order(run, waiting);
    if let Some(message) = run.deadlock_message(&waiting) {
        return Failure { kind: FailureKind::Deadlock, message, place: None, process: None };
    }
    let mut parts: Vec<String> = waiting
        .iter()
        .take(NAMED)
        .map(|wait| format!("{} waits at {}", run.process_name(wait.process), wait.operation))
        .collect();
    match waiting.len().saturating_sub(NAMED) {
        0 => {}
        1 => parts.push("1 more waits".to_owned()),
        more => parts.push(format!("{more} more wait")),
    }
    Failure { kind: FailureKind::Deadlock, message: parts.join(", "), place: None, process: None }
}

/// Those to blame first, and then in the order of their names: numbers may differ from run to run.
pub(crate) fn in_order<R: Run>(run: &R, waiting: Vec<WaitExplanation>) -> Vec<WaitExplanation> {
    let to_blame = to_blame(&waiting);
    let mut waiting: Vec<(bool, WaitExplanation)> = to_blame.into_iter().zip(waiting).collect();
    waiting.sort_by(|(a_is, a), (b_is, b)| {
        b_is.cmp(a_is).then_with(|| run.names().compare(a.process, b.process))
    });
    waiting.into_iter().map(|(_, wait)| wait).collect()
}

/// The schedule of an execution.
pub fn schedule_of<R: Run>(trace: &Trace, run: &R) -> Schedule {
    let steps = (0..trace.len())
        .map(|at| Step { process: run.names().path(trace.process(at)), choice: trace.choice(at) })
        .collect();
    Schedule { steps }
}
