//! How many executions a search will have, without running them all: stochastic enumeration.
//!
//! The executions of `wake-up` are the nodes of a tree that the program and the [rank](super::rank) fix alone. A
//! *sample* goes down that tree level by level and keeps so many nodes of each level, drawn from all children of
//! those kept above: its *width*. If `n` nodes were kept of a level that has about `N`, and these have `c` children,
//! the next level has about `N c / n`; the sum over all levels is an estimate of the number of nodes whose mean
//! over all draws is that number, whatever the width. Drawing one node a level (Knuth) is right in the mean, too,
//! and useless: most chains are short, and the few that are not are hardly ever drawn.
//!
//! What holds: the same program, order and budget have the same estimate on every machine, for work is counted in
//! executions and never in time. A sample of which no level had more nodes than its width has run all executions:
//! it is the number itself.
//!
//! What does not hold: that the number lies between the least and the largest sample. Draws that miss a part that is
//! rare and large are all too small, and there is no bound on how large that part is. So nothing is told where samples
//! lie far apart, which is where that was seen most.

use std::ops::ControlFlow;

use mazurka_program::{Footprints, Program, Run};

use super::accept::Child;
use super::stack::Step;
use super::{WakeUpSearch, begin};
use crate::explore::Typed;
use crate::random::Chance;
use crate::walk::Walk;
use crate::{Item, NoMonitor, NotExhaustive, Options};

/// So many samples of each width are drawn, to see how far they lie apart. Drawn anew from the samples of programs of
/// `bench/litmus`, five that did not lie too far apart had the number between them 80 times of 100, ten 96 times.
const SAMPLES: usize = 10;
/// The first width; each further one is `WIDER` times the one before.
const NARROW: usize = 16;
const WIDER: usize = 4;
/// Samples that lie further apart than this, the largest over the least, tell nothing.
const APART: f64 = 4.0;

/// What was found out of the number of executions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Estimate {
    /// What each sample gave. None at all if the budget was used up before the narrowest were drawn.
    pub samples: Vec<f64>,
    /// At most so many executions of each level were run in each sample.
    pub width: usize,
    /// Whether all executions were run: then there is one sample, and it is their number.
    pub is_exact: bool,
    /// How many executions were run in all.
    pub executions: u64,
    /// Why it ended before the budget did, if so.
    pub stopped: Option<NotExhaustive>,
}

impl Estimate {
    /// The mean of the samples; none if there are none or they lie too far apart.
    pub fn total(&self) -> Option<f64> {
        let (least, most) = self.range()?;
        let mean = self.samples.iter().sum::<f64>() / self.samples.len() as f64;
        (mean.is_finite() && most <= least * APART).then_some(mean)
    }

    /// The least and the largest sample, which mostly have the number between them: see above.
    pub fn range(&self) -> Option<(f64, f64)> {
        let samples = || self.samples.iter().copied();
        samples().reduce(f64::min).zip(samples().reduce(f64::max))
    }
}

/// Estimates how many executions `wake-up` has, which are the Mazurkiewicz traces of the program, by running no
/// more than so many.
pub fn estimate<P: Program>(program: &P, budget: u64, options: &Options) -> Estimate {
    loop {
        let run: Box<dyn Run> = Box::new(program.start(Footprints::Dynamic));
        let (mut nobody, mut found) = (NoMonitor, Estimate::default());
        let mut monitor = Typed::<P::Run>::new(&mut nobody);
        let mut search = begin(Walk::new(run, true, options, &mut monitor), Item::default(), budget);
        // A search that ends early has noted why.
        let _ = search.draw(&mut found);
        let summary = search.walk.summary();
        found.executions = summary.counts.executions();
        found.stopped = summary.not_exhaustive;
        if !program.begin_again() {
            return found;
        }
    }
}

impl WakeUpSearch<'_> {
    fn steps_to(&self, child: &Child) -> Vec<Step> {
        let (same, rest) = self.schedule_of(child);
        same.iter().copied().chain(rest).collect()
    }

    /// Draws samples, wider and wider, and keeps those of the last width of which there are all.
    fn draw(&mut self, found: &mut Estimate) -> ControlFlow<()> {
        let mut chance = Chance::new(self.walk.options.order);
        let mut width = NARROW;
        loop {
            let mut samples = Vec::new();
            for _ in 0..SAMPLES {
                let Some(Sample { total, is_exact }) = self.sample(width, &mut chance)? else {
                    return ControlFlow::Continue(());
                };
                samples.push(total);
                if is_exact {
                    (found.samples, found.width, found.is_exact) = (vec![total], width, true);
                    return ControlFlow::Continue(());
                }
            }
            (found.samples, found.width) = (samples, width);
            width *= WIDER;
        }
    }

    /// One sample; none if the budget was used up.
    fn sample(&mut self, width: usize, chance: &mut Chance) -> ControlFlow<(), Option<Sample>> {
        let mut level: Vec<Vec<Step>> = vec![Vec::new()];
        let (mut nodes, mut sample) = (1.0, Sample { total: 1.0, is_exact: true });
        while !level.is_empty() {
            let (mut below, mut children): (Vec<Vec<Step>>, usize) = (Vec::new(), 0);
            for schedule in &level {
                if self.walk.counts.executions() >= self.most {
                    return ControlFlow::Continue(None);
                }
                self.schedule.clone_from(schedule);
                self.visit()?;
                for child in &self.children {
                    children += 1;
                    // Each child so far is kept with the same probability.
                    if below.len() < width {
                        below.push(self.steps_to(child));
                        continue;
                    }
                    sample.is_exact = false;
                    let place = chance.below(children);
                    if let Some(kept) = below.get_mut(place) {
                        *kept = self.steps_to(child);
                    }
                }
            }
            nodes *= children as f64 / level.len() as f64;
            sample.total += nodes;
            // Neighbours have most in common, so that little is run again.
            below.sort_unstable();
            level = below;
        }
        ControlFlow::Continue(Some(sample))
    }
}

struct Sample {
    total: f64,
    is_exact: bool,
}
