//! One schedule, run and told.
//!
//! A schedule comes from a search or from a person. It is run on a fresh run of the program, step by step,
//! and each step is checked before it is taken, so that a schedule of another program (or of another version
//! of this one) is refused with the step that does not fit. What comes out is a [`Replay`]: names instead of
//! numbers of processes, and nothing that refers to the run.

use std::fmt;

use mazurka_program::{
    Divergence, DivergenceReason, Explain, Explanation, Failure, Observed, Place, ProcessId, Program,
    Schedule, Step, Stop, WaitExplanation, follow, settled,
};

use mazurka_trace::Trace;

use crate::collect;
use crate::livelock::livelock_of;

/// A run of one schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replay {
    /// What was done, in order.
    pub steps: Vec<ReplayStep>,
    /// Who waits at the end, and for what.
    pub waiting: Vec<Waiting>,
    /// What went wrong, in the order in which it did.
    pub failures: Vec<ReplayFailure>,
    /// How it ended.
    pub end: ReplayEnd,
}

impl Replay {
    /// Of the first so many steps the one that failed: the last one of the process that did; or of all, where
    /// that took none. And whether it is one of the process.
    pub(crate) fn failing_step(&self, process: Option<&str>, steps: usize) -> Option<(usize, bool)> {
        let own = self.steps[..steps].iter().rposition(|step| Some(step.name.as_str()) == process);
        own.map(|step| (step, true)).or(steps.checked_sub(1).map(|last| (last, false)))
    }
}

/// Something that went wrong in a replay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayFailure {
    /// The number of steps that had been taken when it had.
    pub steps: usize,
    /// What it is.
    pub failure: Failure,
    /// The name of the process that did it, if one did.
    pub process: Option<String>,
}

/// A step that was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayStep {
    /// The process as a path in the creation tree: `0.1`.
    pub process: String,
    /// The process as people call it: `worker[1]`.
    pub name: String,
    /// What it did.
    pub operation: String,
    /// What it read; the sources are positions from 0.
    pub reads: Vec<Observed>,
    /// What it wrote.
    pub writes: Vec<Observed>,
    /// Anything else.
    pub note: Option<String>,
    /// Where in the source.
    pub place: Option<Place>,
    /// Whether it is of the insides of a library.
    pub internal: bool,
}

impl ReplayStep {
    /// A step that a run has taken and told.
    pub fn new<R: Explain>(run: &R, told: Explanation) -> ReplayStep {
        let Explanation { process, operation, reads, writes, note, place } = told;
        let path = run.names().display(process).to_string();
        let (name, internal) = (run.process_name(process), run.told_internal());
        ReplayStep { process: path, name, operation, reads, writes, note, place, internal }
    }
}

/// A process that waits at the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The process as a path in the creation tree.
    pub process: String,
    /// The process as people call it.
    pub name: String,
    /// At what operation.
    pub operation: String,
    /// For what.
    pub waits_for: String,
    /// The paths of those who could end the wait, where known.
    pub waits_on: Vec<String>,
    /// Where in the source.
    pub place: Option<Place>,
}

/// How the run of a schedule ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplayEnd {
    /// All processes finished.
    Finished,
    /// Nobody can go on, and some wait.
    Deadlock,
    /// Nobody can come to an end: some go round and round, and the others wait.
    Livelock,
    /// An assumption was false, and nobody can go on.
    Assumed,
    /// The schedule ended while these could go on.
    Early(Vec<String>),
    /// The program reached a bound of its front end.
    Bound(String),
    /// The run itself broke; the failure is the last of the replay.
    Broken,
}

/// Why a schedule does not fit a program. Steps count from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    /// The step that does not fit.
    pub step: usize,
    /// Why.
    pub why: String,
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the schedule does not fit the program: step {}: {}", self.step, self.why)
    }
}

impl std::error::Error for Misfit {}

/// Runs a schedule.
///
/// # Errors
/// If a step of the schedule is not possible where it stands.
pub fn replay<P: Program<Run: Explain>>(program: &P, schedule: &Schedule) -> Result<Replay, Misfit> {
    settled(program, |run| replay_once(run, schedule))
}

fn replay_once<R: Explain>(run: &mut R, schedule: &Schedule) -> Result<Replay, Misfit> {
    let mut steps = Vec::new();
    let mut failures = Vec::new();
    note_failures(run, 0, &mut failures);
    let stop = follow_explained(run, schedule, |run, process, choice| {
        let told = run.step_explained(process, choice)?;
        steps.push(ReplayStep::new(run, told));
        note_failures(run, steps.len(), &mut failures);
        Ok(())
    })?;
    let waiting = waiting(run);
    let livelock = if stop.is_none() { livelock(run, schedule) } else { None };
    let end = end(run, &waiting, stop, livelock, &mut failures);
    Ok(Replay { steps, waiting, failures, end })
}

/// Follows a schedule. Gives why the run stopped in a step, if it did.
///
/// # Errors
/// If a step of the schedule is not possible where it stands.
pub(crate) fn follow_explained<R: Explain>(
    run: &mut R,
    schedule: &Schedule,
    take: impl FnMut(&mut R, ProcessId, u32) -> Result<(), Stop>,
) -> Result<Option<Stop>, Misfit> {
    match follow(run, &schedule.steps, take) {
        Ok(()) => Ok(None),
        Err(Divergence { reason: DivergenceReason::Stopped(stop), .. }) => Ok(Some(stop)),
        Err(Divergence { position, reason }) => {
            Err(Misfit { step: position + 1, why: why_not(run, &schedule.steps[position], &reason) })
        }
    }
}

fn why_not<R: Explain>(run: &R, step: &Step, reason: &DivergenceReason) -> String {
    let path = step.process.iter().map(u32::to_string).collect::<Vec<_>>().join(".");
    let who = |process: ProcessId| format!("{} ({path})", run.process_name(process));
    match *reason {
        DivergenceReason::NotEnabled(process) => {
            format!("{} can't go on: {}", who(process), why_not_enabled(run, process))
        }
        DivergenceReason::NoOutcome(process, outcomes) => {
            let has = if outcomes == 1 { "one outcome".to_owned() } else { format!("{outcomes} outcomes") };
            let who = who(process);
            format!("the step of {who} has {has}, counted from 0; there is no #{}", step.choice)
        }
        DivergenceReason::NoProcess | DivergenceReason::Stopped(_) => {
            format!("there is no process {path} at this point")
        }
    }
}

fn why_not_enabled<R: Explain>(run: &R, process: ProcessId) -> String {
    if let Some(wait) = run.explain_waiting().into_iter().find(|wait| wait.process == process) {
        return format!("it waits at {} for {}", wait.operation, wait.waits_for);
    }
    if run.assumed() { "it has finished, or its assumption was false" } else { "it has finished" }.to_owned()
}

fn note_failures<R: Explain>(run: &R, steps: usize, failures: &mut Vec<ReplayFailure>) {
    for failure in run.failures().iter().skip(failures.len()) {
        failures.push(replay_failure(run, steps, failure.clone()));
    }
}

fn replay_failure<R: Explain>(run: &R, steps: usize, failure: Failure) -> ReplayFailure {
    let process = failure.process.map(|p| run.process_name(p));
    ReplayFailure { steps, failure, process }
}

fn waiting<R: Explain>(run: &R) -> Vec<Waiting> {
    let waiting = collect::in_order(run, run.explain_waiting());
    let told = |wait: WaitExplanation| Waiting {
        process: run.names().display(wait.process).to_string(),
        name: run.process_name(wait.process),
        operation: wait.operation,
        waits_for: wait.waits_for,
        waits_on: wait.waits_on.iter().map(|&p| run.names().display(p).to_string()).collect(),
        place: wait.place,
    };
    waiting.into_iter().map(told).collect()
}

/// The livelock that a schedule ends in, if it does.
fn livelock<R: Explain>(run: &mut R, schedule: &Schedule) -> Option<Failure> {
    run.rounds()?;
    if run.enabled().is_empty() {
        let mut goes_round = false;
        run.waiting(&mut |process, _| goes_round |= run.goes_round(process));
        goes_round.then_some(())?;
    }
    run.rewind(0);
    let trace = Trace::along(run, &schedule.steps, |_, _| {}).ok()?;
    mazurka_explore::livelock(run, &trace).then(|| livelock_of(run, &trace))
}

fn end<R: Explain>(
    run: &R,
    waiting: &[Waiting],
    stop: Option<Stop>,
    livelock: Option<Failure>,
    failures: &mut Vec<ReplayFailure>,
) -> ReplayEnd {
    let steps = run.depth();
    match stop {
        Some(Stop::Broken(failure)) => {
            failures.push(replay_failure(run, steps, failure));
            return ReplayEnd::Broken;
        }
        Some(stop) => return ReplayEnd::Bound(stop.reason().to_owned()),
        None => {}
    }
    if let Some(livelock) = livelock {
        failures.push(replay_failure(run, steps, livelock));
        return ReplayEnd::Livelock;
    }
    if !run.enabled().is_empty() {
        let mut enabled: Vec<ProcessId> = run.enabled().iter().collect();
        enabled.sort_by(|&a, &b| run.names().compare(a, b));
        return ReplayEnd::Early(enabled.into_iter().map(|p| run.process_name(p)).collect());
    }
    if run.assumed() {
        return ReplayEnd::Assumed;
    }
    if waiting.is_empty() || run.ended_early() {
        return ReplayEnd::Finished;
    }
    let deadlock = collect::deadlock_of(run, run.explain_waiting());
    failures.push(replay_failure(run, steps, deadlock));
    ReplayEnd::Deadlock
}
