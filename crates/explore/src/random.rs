//! `random`: random walks, for programs that are too large to be searched. Each step is one of those that can
//! be taken, all equally likely, with an outcome drawn likewise. What fails is a failure; that nothing fails
//! says nothing.
//!
//! The seed is that of [`Order::Shuffled`], 0 if the order is natural. The number of walks and the time are
//! the limits of executions and time; without either there are [`WALKS`].

use std::ops::ControlFlow;

use crate::walk::Walk;
use crate::{Ending, Order, Summary};

/// How many walks there are if nothing else says when to stop.
const WALKS: u64 = 10_000;

pub(crate) fn search(mut walk: Walk<'_>) -> Summary {
    // The answer is in the summary: a search that ends early has noted why.
    let _ = run(&mut walk);
    let _ = walk.note_memory(0);
    walk.summary()
}

fn run(walk: &mut Walk<'_>) -> ControlFlow<()> {
    let limits = &walk.options.limits;
    let is_limited = limits.executions.is_some() || limits.time.is_some();
    let walks = if is_limited { u64::MAX } else { WALKS };
    let mut chance = Chance::new(walk.options.order);
    for _ in 0..walks {
        let ending = to_the_end(walk, &mut chance)?;
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
fn to_the_end(walk: &mut Walk<'_>, chance: &mut Chance) -> ControlFlow<(), Ending> {
    loop {
        let enabled = walk.enabled();
        let Some(process) = enabled.iter().nth(chance.below(enabled.len())) else {
            return ControlFlow::Continue(walk.maximal_ending());
        };
        if walk.too_deep() {
            return ControlFlow::Continue(Ending::Cut);
        }
        let choice = chance.below(walk.run.alternatives(process) as usize);
        walk.step(process, choice as u32)?;
    }
}

/// Numbers from a seed (splitmix64).
struct Chance(u64);

impl Chance {
    fn new(order: Order) -> Chance {
        Chance(match order {
            Order::Natural => 0,
            Order::Shuffled(seed) => seed,
        })
    }

    /// One of so many, from 0; 0 of none.
    fn below(&mut self, many: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut number = self.0;
        number = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((number ^ (number >> 31)) % many.max(1) as u64) as usize
    }
}
