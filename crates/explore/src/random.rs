//! `random`: random walks, for programs that are too large to be searched. Each step is one of those that can be taken, all
//! equally likely, with an outcome drawn likewise. What fails is a failure; that nothing fails says nothing.
//!
//! The seed is that of [`Order::Shuffled`](crate::Order::Shuffled), 0 if the order is natural. The number of walks and the
//! time are the limits of executions and time; without either there are [`WALKS`].

use std::ops::ControlFlow;

use crate::walk::Walk;
use crate::{Ending, NotExhaustive, Summary};

/// How many walks there are if nothing else says when to stop.
const WALKS: u64 = 10_000;

pub(crate) fn search(mut walk: Walk<'_>) -> Summary {
    walk.shuffle();
    // The answer is in the summary: a search that ends early has noted why.
    let _ = run(&mut walk);
    walk.miss(NotExhaustive::ByDesign(
        "random walks are a sample of the executions; optimal looks at all of them",
    ));
    let _ = walk.note_memory(0);
    walk.summary()
}

fn run(walk: &mut Walk<'_>) -> ControlFlow<()> {
    let limits = &walk.options.limits;
    let is_limited = limits.executions.is_some() || limits.time.is_some();
    let walks = if is_limited { u64::MAX } else { WALKS };
    for _ in 0..walks {
        let ending = to_the_end(walk)?;
        walk.end(ending)?;
        walk.back_to(0);
        if walk.progress_due {
            let done = (walk.counts.executions() as usize, walks.min(WALKS) as usize);
            walk.report_progress([done].into_iter())?;
        }
    }
    ControlFlow::Continue(())
}

/// One walk, from the start.
fn to_the_end(walk: &mut Walk<'_>) -> ControlFlow<(), Ending> {
    while let Some(process) = walk.pick(|_| true) {
        if walk.too_deep() {
            return ControlFlow::Continue(Ending::Cut);
        }
        let choice = walk.choice_at(0, walk.run.alternatives(process));
        walk.step(process, choice)?;
    }
    ControlFlow::Continue(walk.maximal_ending())
}
