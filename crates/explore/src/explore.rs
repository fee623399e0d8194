//! The way into every algorithm, and what they tell while they run.

use std::any::Any;
use std::ops::ControlFlow;
use std::time::Instant;

use mazurka_program::{Footprints, Program, Run};
use mazurka_trace::Trace;

use crate::furthest::Furthest;
use crate::walk::Walk;
use crate::{Algorithm, Counts, Need, NotExhaustive, Options, Stopped, Summary};

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
    /// Nobody goes on but processes that were stopped: they had come back to where they were.
    Stopped {
        /// Whether the program can't come to an end any more.
        livelock: bool,
    },
    /// The limit of depth was reached.
    Cut,
}

/// Who wants to know of executions.
pub trait Monitor<R: Run> {
    /// Called at the end of each execution, with the run still there: its failures, its state, its waiting
    /// processes.
    ///
    /// Must leave the run as it is. To break ends the search.
    fn execution(&mut self, ending: Ending, trace: &Trace, run: &R, counts: &Counts) -> ControlFlow<()>;

    /// Called before [`Monitor::execution`] where an execution ended with processes that were stopped.
    fn stopped(&mut self, _stopped: &[Stopped]) {}

    /// Called when the search begins again from the start ([`Program::begin_again`]): the executions told of
    /// so far are no part of it, though what failed in them did fail.
    fn begin_again(&mut self) {}

    /// Called now and then (not at each step), with the share of the search that is behind us, as far as it
    /// can be told: branches not found yet make it less. To break ends the search, also within a long
    /// execution.
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

/// A monitor of runs whose type a search does not know: so all searches are compiled once, and not for each
/// front end.
pub(crate) trait AnyMonitor {
    fn execution(&mut self, ending: Ending, trace: &Trace, run: &dyn Run, counts: &Counts)
    -> ControlFlow<()>;
    fn stopped(&mut self, stopped: &[Stopped]);
    fn begin_again(&mut self);
    fn progress(&mut self, counts: &Counts, share: f64) -> ControlFlow<()>;
}

pub(crate) struct Typed<'a, R> {
    monitor: &'a mut dyn Monitor<R>,
    furthest: Furthest,
}

impl<'a, R> Typed<'a, R> {
    pub fn new(monitor: &'a mut dyn Monitor<R>) -> Typed<'a, R> {
        Typed { monitor, furthest: Furthest::default() }
    }
}

impl<R: Run> AnyMonitor for Typed<'_, R> {
    fn execution(
        &mut self,
        ending: Ending,
        trace: &Trace,
        run: &dyn Run,
        counts: &Counts,
    ) -> ControlFlow<()> {
        let run: &dyn Any = run;
        self.monitor.execution(ending, trace, run.downcast_ref().expect("a run of this program"), counts)
    }

    fn stopped(&mut self, stopped: &[Stopped]) {
        self.monitor.stopped(stopped);
    }

    fn begin_again(&mut self) {
        self.monitor.begin_again();
    }

    fn progress(&mut self, counts: &Counts, share: f64) -> ControlFlow<()> {
        let share = self.furthest.at(share);
        self.monitor.progress(counts, share)
    }
}

/// Runs a program under an algorithm.
pub fn explore<P: Program>(
    program: &P,
    algorithm: Algorithm,
    options: &Options,
    monitor: &mut dyn Monitor<P::Run>,
) -> Summary {
    let start = |footprints: Footprints| -> Box<dyn Run> { Box::new(program.start(footprints)) };
    explore_any(&start, &|| program.begin_again(), algorithm, options, &mut Typed::new(monitor))
}

/// The same, of any program: how it is started, and whether the search has to be begun again.
fn explore_any(
    start: &dyn Fn(Footprints) -> Box<dyn Run>,
    has_to_begin_again: &dyn Fn() -> bool,
    algorithm: Algorithm,
    options: &Options,
    monitor: &mut dyn AnyMonitor,
) -> Summary {
    if let Some(need) = lacking(start, algorithm) {
        let not_exhaustive = Some(NotExhaustive::Lacks(algorithm, need));
        return Summary { counts: Counts::default(), not_exhaustive, broken: None, note: None };
    }
    let (started, limit) = (Instant::now(), options.limits.time);
    let mut options = *options;
    loop {
        // The time is for all beginnings together.
        options.limits.time = limit.map(|most| most.saturating_sub(started.elapsed()));
        let walk =
            Walk::new(start(algorithm.footprints(&options.rules)), algorithm.is_ordered(), &options, monitor);
        let mut summary = algorithm.search(walk);
        if algorithm.misses().is_some() {
            summary.not_exhaustive.get_or_insert(NotExhaustive::ByDesign(algorithm));
        }
        if let (Some(NotExhaustive::Time(left)), Some(most)) = (&mut summary.not_exhaustive, limit) {
            *left = most;
        }
        if !has_to_begin_again() {
            return summary;
        }
        if let Some(most) = limit.filter(|most| started.elapsed() >= *most) {
            summary.not_exhaustive = Some(NotExhaustive::Time(most));
            return summary;
        }
        monitor.begin_again();
    }
}

/// What an algorithm needs and a program can't do.
fn lacking(start: &dyn Fn(Footprints) -> Box<dyn Run>, algorithm: Algorithm) -> Option<Need> {
    let needs = algorithm.needs();
    // To start a program costs, and most algorithms need nothing.
    let mut run = (!needs.is_empty()).then(|| start(Footprints::Dynamic))?;
    needs.iter().copied().find(|need| !need.is_met_by(&mut *run))
}
