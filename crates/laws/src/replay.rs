//! Executions taken again by a run of its own, in the order they had or in another.

use mazurka_program::{Footprints, Label, Program, Run, Step};
use mazurka_trace::Trace;

use crate::random::Random;

/// A run with dynamic footprints on which executions are repeated.
pub(crate) struct Replay<R> {
    pub run: R,
    random: Random,
}

impl<R: Run> Replay<R> {
    pub fn new<P: Program<Run = R>>(program: &P, seed: u64) -> Replay<R> {
        Replay { run: program.start(Footprints::Dynamic), random: Random::new(seed) }
    }

    /// Runs steps again from the start, and tells of each; the trace that they give, or why they can't be
    /// taken.
    pub fn repeat(&mut self, steps: &[Step], note: impl FnMut(&R, &Label)) -> Result<Trace, String> {
        self.run.rewind(0);
        Trace::along(&mut self.run, steps, note).map_err(|divergence| divergence.to_string())
    }

    /// So many events in some order that extends theirs.
    pub fn linearisation(&mut self, events: usize, before: impl Fn(usize, usize) -> bool) -> Vec<usize> {
        let mut left: Vec<usize> = (0..events).collect();
        let mut order = Vec::new();
        while !left.is_empty() {
            let is_free = |&k: &usize| left.iter().all(|&i| i == k || !before(i, k));
            let free: Vec<usize> = left.iter().copied().filter(is_free).collect();
            let next = free[self.random.below(free.len())];
            left.retain(|&k| k != next);
            order.push(next);
        }
        order
    }
}

/// Events of a trace as steps of a schedule.
pub(crate) fn steps(trace: &Trace, run: &impl Run, order: impl IntoIterator<Item = usize>) -> Vec<Step> {
    let step = |k| Step { process: run.names().path(trace.process(k)), choice: trace.choice(k) };
    order.into_iter().map(step).collect()
}
