//! Running a program along a schedule. Whoever follows a schedule does it by [`follow`].
//!
//! A schedule comes from a search or from a person, so each step is looked at before it is taken: one of
//! another program, or of another version of this one, ends in a [`Divergence`] with the step that does not
//! fit.

use std::fmt;

use crate::{Footprints, ProcessId, Program, Run, Step, Stop};

/// Where a run could not go on along a schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Divergence {
    /// The position of the step, from 0.
    pub position: usize,
    /// Why it could not be taken.
    pub reason: DivergenceReason,
}

/// Why a step of a schedule could not be taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DivergenceReason {
    /// There is no such process.
    NoProcess,
    /// The process is not enabled.
    NotEnabled(ProcessId),
    /// The step of the process has no such outcome, only so many.
    NoOutcome(ProcessId, u32),
    /// The run stopped in the step.
    Stopped(Stop),
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "step {} of the schedule is not possible: ", self.position + 1)?;
        match &self.reason {
            DivergenceReason::NoProcess => f.write_str("there is no such process"),
            DivergenceReason::NotEnabled(_) => f.write_str("its process is not enabled"),
            DivergenceReason::NoOutcome(_, outcomes) => write!(f, "it has {outcomes} outcomes"),
            DivergenceReason::Stopped(stop) => f.write_str(stop.reason()),
        }
    }
}

impl std::error::Error for Divergence {}

/// Takes the steps of a schedule, each by `take`, which is given a process that is enabled and an outcome
/// that its step has.
///
/// # Errors
/// If a step is not possible. Those before it have been taken.
pub fn follow<R: Run>(
    run: &mut R,
    steps: &[Step],
    mut take: impl FnMut(&mut R, ProcessId, u32) -> Result<(), Stop>,
) -> Result<(), Divergence> {
    for (position, step) in steps.iter().enumerate() {
        let taken = possible(run, step)
            .and_then(|process| take(run, process, step.choice).map_err(DivergenceReason::Stopped));
        taken.map_err(|reason| Divergence { position, reason })?;
    }
    Ok(())
}

/// The process of a step, if it can take that step now.
fn possible(run: &impl Run, step: &Step) -> Result<ProcessId, DivergenceReason> {
    let process = run.names().find(&step.process).ok_or(DivergenceReason::NoProcess)?;
    if !run.enabled().contains(process) {
        return Err(DivergenceReason::NotEnabled(process));
    }
    match run.alternatives(process) {
        outcomes if step.choice >= outcomes => Err(DivergenceReason::NoOutcome(process, outcomes)),
        _ => Ok(process),
    }
}

/// Starts a program and does something with the run, again for as long as that shows what changes the labels
/// of steps ([`Program::begin_again`]). Gives what the last run gave.
pub fn settled<P: Program, T>(program: &P, mut work: impl FnMut(&mut P::Run) -> T) -> T {
    loop {
        // The run is gone before the program is asked: how it ends may show something too.
        let result = work(&mut program.start(Footprints::Dynamic));
        if !program.begin_again() {
            return result;
        }
    }
}
