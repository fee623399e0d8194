//! POPL 2018, algorithm 2: `DC-DPOR(t, A)`.
//!
//! In two versions. The first is the algorithm as printed, with the acyclic reduction of section 6: one read
//! is mutated at a time, to each write that the annotation allows, the one that it observes included; an
//! annotation is well-formed if all reads before its reads and writes are annotated. The second is what
//! section 7.1 says of the tool: burst mutations, and stars in place of cycles. The paper does not say what
//! bursts do to the negative annotation, so line 7 is as it is printed. Neither mutates who waits at the end:
//! the paper assumes that every acquire is followed by its release.
//!
//! A call runs one maximal execution; the count is that of the calls.

use std::ops::ControlFlow;

use crate::data_centric::Repairs;
use crate::data_centric::architecture::Reduction;
use crate::data_centric::cones::ConeId;
use crate::data_centric::ground::Ground;
use crate::frame::Search;
use crate::walk::Walk;
use crate::{Ending, Summary};

/// Searches by a version of the algorithm.
pub(super) fn search(walk: Walk<'_>, bursts: bool) -> Summary {
    let reduction = if bursts { Reduction::Star } else { Reduction::Locks };
    PublishedDataCentric { ground: Ground::new(walk, reduction), calls: Vec::new(), bursts }.summary()
}

/// A call of `DC-DPOR(t, A)`.
struct Call {
    /// `t`.
    trace: Vec<ConeId>,
    /// The pairs of lines 1 and 2, as cones; the next last.
    pairs: Vec<ConeId>,
    known: usize,
    /// `A+` and the cones before the call, and the entries of `A-` made in it.
    pinned: usize,
    cones: usize,
    forbidden: Vec<ConeId>,
}

struct PublishedDataCentric<'a> {
    ground: Ground<'a>,
    calls: Vec<Call>,
    bursts: bool,
}

impl<'a> Search<'a> for PublishedDataCentric<'a> {
    fn walk(&mut self) -> &mut Walk<'a> {
        &mut self.ground.walk
    }

    fn run(&mut self) -> ControlFlow<()> {
        self.extend()?;
        self.call(0, 0)?;
        while let Some(call) = self.calls.last_mut() {
            match call.pairs.pop() {
                Some(pair) => self.mutate(pair)?,
                None => self.leave(),
            }
        }
        ControlFlow::Continue(())
    }

    fn memory(&mut self) -> usize {
        let lists =
            |call: &Call| 4 * (call.trace.capacity() + call.pairs.capacity() + call.forbidden.capacity());
        self.ground.memory() + self.calls.iter().map(lists).sum::<usize>()
    }
}

impl PublishedDataCentric<'_> {
    /// Line 6.
    fn extend(&mut self) -> ControlFlow<()> {
        while self.ground.walk.ending_here().is_none() {
            let Some(process) = self.ground.walk.pick(|_| true) else { break };
            self.ground.step(process, 0)?;
        }
        ControlFlow::Continue(())
    }

    /// Lines 1-2: the pairs of reads that are not annotated and of the writes that they may be mutated to.
    fn call(&mut self, pinned: usize, cones: usize) -> ControlFlow<()> {
        if !self.ground.is_settled() {
            self.calls.clear();
            self.extend()?;
            return self.call(0, 0);
        }
        let ground = &mut self.ground;
        let mut pairs = ground.mutations(&Repairs { pending: false, ..Repairs::default() })?;
        let ending = ground.walk.ending_here().unwrap_or(Ending::Cut);
        ground.walk.end(ending)?;
        if !self.bursts {
            let reads = |cone: &ConeId| ground.cones.event(*cone).sources().next().is_some();
            let observed = ground.present.cones.iter().copied().filter(reads);
            pairs.extend(observed.filter(|&cone| !ground.annotation.is_pinned(cone)));
            // In increasing index in t.
            let events = |cone: ConeId| (ground.cones.event(cone).process, ground.cones.event(cone).index);
            let index = |cone: ConeId| ground.present.cones.iter().position(|&at| events(at) == events(cone));
            pairs.sort_by_key(|&pair| index(pair));
        }
        pairs.reverse();
        let known = pairs.len();
        let trace = ground.present.cones.clone();
        self.calls.push(Call { trace, pairs, known, pinned, cones, forbidden: Vec::new() });
        if ground.walk.progress_due {
            let branches = self.calls.iter().map(|call| (call.known - call.pairs.len(), call.known + 1));
            ground.walk.report_progress(branches)?;
            self.note_memory()?;
        }
        ControlFlow::Continue(())
    }

    /// Lines 3-9.
    fn mutate(&mut self, pair: ConeId) -> ControlFlow<()> {
        let (ground, Some(call)) = (&mut self.ground, self.calls.last_mut()) else {
            return ControlFlow::Continue(());
        };
        let (pinned, cones) = (ground.annotation.pinned().len(), ground.cones.len());
        if ground.annotation.is_forbidden_untagged(&ground.cones, pair) {
            return ControlFlow::Continue(());
        }
        ground.annotation.pin_all(&ground.cones, pair);
        let reads = |cone: &&ConeId| ground.cones.event(**cone).sources().next().is_some();
        let new = ground.annotation.pinned()[pinned..].iter().filter(reads).count();
        let well_formed = self.bursts || new == 1;
        if !well_formed || !ground.execute(&call.trace)? {
            ground.annotation.unpin(pinned);
            return ControlFlow::Continue(());
        }
        // Line 7.
        ground.annotation.forbid(&ground.cones, pair);
        call.forbidden.push(pair);
        self.extend()?;
        self.call(pinned, cones)
    }

    fn leave(&mut self) {
        let (Some(call), ground) = (self.calls.pop(), &mut self.ground) else { return };
        ground.annotation.unpin(call.pinned);
        call.forbidden.into_iter().rev().for_each(|cone| ground.annotation.allow(cone));
        ground.forget(call.cones);
    }
}
