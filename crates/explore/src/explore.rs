//! The way into every algorithm, and what they tell while they run.

use std::ops::ControlFlow;
use std::time::Instant;

use mazurka_program::{Footprints, Program, Run};
use mazurka_trace::Trace;

use crate::{Algorithm, Counts, NotExhaustive, Options, Summary};
use crate::{convergent, naive, observers, optimal, published, source, source_context};

/// How an execution ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ending {
    /// No process is enabled and no assumption was false: all are finished, or some wait forever.
    Complete {
        /// Whether some process waits.
        deadlock: bool,
    },
    /// All that could follow had been explored.
    Blocked,
    /// An assumption was false.
    Assumed,
    /// The limit of depth was reached.
    Cut,
}

/// Who wants to know of executions.
pub trait Monitor<R: Run> {
    /// Called at the end of each execution, with the run still there: its failures, its state, its waiting processes.
    ///
    /// Must leave the run as it is. To break ends the search.
    fn execution(&mut self, ending: Ending, trace: &Trace, run: &R, counts: &Counts) -> ControlFlow<()>;

    /// Called when the search begins again from the start ([`Program::begin_again`]): the executions told of so far are no
    /// part of it, though what failed in them did fail.
    fn begin_again(&mut self) {}

    /// Called now and then (not at each step), with the share of the search that is behind us, as far as it can be
    /// told: branches not found yet make it less. To break ends the search, also within a long execution.
    fn progress(&mut self, _counts: &Counts, _share: f64) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// A monitor that wants to know nothing.
pub struct NoMonitor;

impl<R: Run> Monitor<R> for NoMonitor {
    fn execution(&mut self, _: Ending, _: &Trace, _: &R, _: &Counts) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// Runs a program under an algorithm.
pub fn explore<P: Program>(
    program: &P,
    algorithm: Algorithm,
    options: &Options,
    monitor: &mut dyn Monitor<P::Run>,
) -> Summary {
    if algorithm.compares_states() && !program.start(Footprints::Dynamic).named_state(&mut Vec::new()) {
        let not_exhaustive = Some(NotExhaustive::NoStates(algorithm));
        return Summary { counts: Counts::default(), not_exhaustive, broken: None };
    }
    if algorithm == Algorithm::OptimalObservers && !program.start(Footprints::Dynamic).tells_observers() {
        let not_exhaustive = Some(NotExhaustive::NoObservers);
        return Summary { counts: Counts::default(), not_exhaustive, broken: None };
    }
    let (started, limit) = (Instant::now(), options.limits.time);
    let mut options = *options;
    loop {
        // The time is for all beginnings together.
        options.limits.time = limit.map(|most| most.saturating_sub(started.elapsed()));
        let options = &options;
        let mut summary = match algorithm {
            Algorithm::Naive => naive::explore(program, options, monitor),
            Algorithm::Source => source::explore(program, options, monitor),
            Algorithm::Optimal => optimal::explore(program, options, monitor),
            Algorithm::OptimalObservers => observers::explore(program, options, monitor),
            Algorithm::SourceContext => source_context::explore(program, options, monitor),
            Algorithm::Convergent => convergent::explore(program, options, monitor),
            Algorithm::Published(form) => published::explore(program, form, options, monitor),
        };
        if let (Some(NotExhaustive::Time(left)), Some(most)) = (&mut summary.not_exhaustive, limit) {
            *left = most;
        }
        if !program.begin_again() {
            return summary;
        }
        if let Some(most) = limit.filter(|most| started.elapsed() >= *most) {
            summary.not_exhaustive = Some(NotExhaustive::Time(most));
            return summary;
        }
        monitor.begin_again();
    }
}
