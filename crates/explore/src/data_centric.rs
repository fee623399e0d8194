//! `data-centric`: Data-Centric DPOR, algorithm 2 of "Data-centric Dynamic Partial Order Reduction" (Chalupa,
//! Chatterjee, Pavlogiannis, Sinha, Vaidya, POPL 2018), with its burst mutations and its cycle detection.
//!
//! Two executions are equivalent if they have the same events and every read observes the same write. Each
//! class is completed once where every cycle of the communication architecture has at most two free edges
//! ([`architecture`]): with two processes, and in trees and stars of processes. Elsewhere the order of some
//! events counts too, by either of the paper's reductions, and no Mazurkiewicz trace is completed twice. A call of
//! `DC-DPOR(t, A)` is an entry of a stack; `A+` and `A-` are in [`annotation`], `Realize` is in [`realize`].
//! Where we differ from the paper, and why:
//! * an entry of `A-` has the reads that were pinned with it, and forbids nothing where one of them observes
//!   something else; with bursts and `A-` as printed, `corpus/cx14.maz` loses a class;
//! * a call explores the class of its own maximal execution `t`, so only other writes than the observed ones
//!   are mutated to. `t` may be of a class that `A-` leaves to others: then it only shows what there is, and
//!   counts as blocked. Extensions of `t'` (line 6) avoid that where they can;
//! * programs may deadlock: a process that waits at the end is mutated as a step that was taken
//!   (`corpus/cx15.maz`);
//! * acquires, read-modify-writes and all else that reads and writes at once are updates: nothing comes
//!   between them and what they observe;
//! * steps may read several locations, and may be found out to write something else than expected where they
//!   are put; then `Realize` is asked again.
//!
//! What is not covered is refused when it is met: awaits, messages, steps with several outcomes that others
//! can notice, and steps that read several locations of which some depend on others.

pub(crate) mod annotation;
pub(crate) mod architecture;
mod blocks;
pub(crate) mod cones;
pub(crate) mod ground;
pub(crate) mod mutations;
pub(crate) mod present;
pub(crate) mod realize;
mod two_sat;

use std::ops::ControlFlow;

use mazurka_program::ProcessId;

use crate::frame::Search;
use crate::walk::Walk;
use crate::{Ending, NotExhaustive, Summary};

use cones::ConeId;
use ground::Ground;

crate::rules::switches! {
    /// The switches of the repairs.
    Repairs {
        /// An entry of `A-` forbids only where all reads that were pinned with it observe the same; taken
        /// out, wherever the two events meet.
        tags,
        /// A process that waits at the end is mutated.
        pending,
        /// A step is mutated only to writes after which its guard holds.
        guard_must_hold,
        /// What a step writes in another place is found out; taken out, it is what it wrote before.
        varying,
        /// The graph of `Realize` is closed under what memory demands.
        saturation,
        /// 2SAT knows that order is transitive across pairs of processes.
        transitivity,
        /// Cycles of the architecture with more than two free edges are reduced.
        reduction,
    }
}

pub(crate) fn search(walk: Walk<'_>) -> Summary {
    let reduction = walk.options.reduction;
    DataCentric { ground: Ground::new(walk, reduction), calls: Vec::new(), redundant: false }.summary()
}

/// A call of `DC-DPOR(t, A)`.
struct Call {
    /// The cones of `t`, in its order.
    trace: Vec<ConeId>,
    /// What is still to be mutated to, the next last; how many there were.
    mutations: Vec<ConeId>,
    known: usize,
    /// What `A+` had before the call, and how many cones there were.
    pinned: usize,
    cones: usize,
    /// The mutation that led to it; and the entries of `A-` made in it.
    by: Option<ConeId>,
    forbidden: Vec<ConeId>,
}

struct DataCentric<'a> {
    ground: Ground<'a>,
    calls: Vec<Call>,
    /// Whether the present execution has something that `A-` forbids.
    redundant: bool,
}

impl<'a> Search<'a> for DataCentric<'a> {
    fn walk(&mut self) -> &mut Walk<'a> {
        &mut self.ground.walk
    }

    fn run(&mut self) -> ControlFlow<()> {
        self.extend()?;
        self.call(None, 0, 0)?;
        while let Some(call) = self.calls.last_mut() {
            match call.mutations.pop() {
                Some(mutation) => self.mutate(mutation)?,
                None => self.leave(),
            }
        }
        ControlFlow::Continue(())
    }

    fn memory(&mut self) -> usize {
        let lists =
            |call: &Call| 4 * (call.trace.capacity() + call.mutations.capacity() + call.forbidden.capacity());
        self.ground.memory() + self.calls.iter().map(lists).sum::<usize>()
    }
}

impl DataCentric<'_> {
    /// Line 6: a maximal extension of the present execution. Where it can, it takes nothing that `A-`
    /// forbids.
    fn extend(&mut self) -> ControlFlow<()> {
        self.redundant = false;
        while self.ground.walk.ending_here().is_none() {
            self.extend_by_one()?;
        }
        ControlFlow::Continue(())
    }

    fn extend_by_one(&mut self) -> ControlFlow<()> {
        let ground = &mut self.ground;
        let depth = ground.walk.trace.len();
        let mut tried: Vec<ProcessId> = Vec::new();
        let mut first = None;
        while let Some(process) = ground.walk.pick(|p| !tried.contains(&p)) {
            let outcomes = ground.walk.run.alternatives(process);
            for k in 0..outcomes {
                let choice = ground.walk.choice_at(k, outcomes);
                let (cone, _) = ground.step(process, choice)?;
                if self.redundant || !ground.annotation.is_forbidden(cone) {
                    return ControlFlow::Continue(());
                }
                ground.back_to(depth);
                first.get_or_insert((process, choice));
            }
            tried.push(process);
        }
        let Some((process, choice)) = first else {
            return ground.walk.stop(NotExhaustive::Internal("an execution neither ends nor goes on"));
        };
        self.redundant = true;
        ground.step(process, choice)?;
        ControlFlow::Continue(())
    }

    /// `DC-DPOR(t, A)` is called on the present execution, which is maximal: it is explored, if no other call
    /// is to, and its mutations are listed.
    fn call(&mut self, by: Option<ConeId>, pinned: usize, cones: usize) -> ControlFlow<()> {
        let ground = &mut self.ground;
        let repairs = *ground.repairs();
        if repairs.reduction && !ground.is_settled() {
            self.calls.clear();
            self.extend()?;
            return self.call(None, 0, 0);
        }
        // Refusals come before anything is said of the execution.
        let mut mutations = ground.mutations(&repairs)?;
        let ending = ground.walk.ending_here().unwrap_or(Ending::Cut);
        ground.walk.end(if self.redundant { Ending::Blocked } else { ending })?;
        mutations.retain(|&cone| !ground.annotation.is_forbidden(cone));
        mutations.reverse();
        let known = mutations.len();
        let trace = ground.present.cones.clone();
        self.calls.push(Call { trace, mutations, known, pinned, cones, by, forbidden: Vec::new() });
        if ground.walk.progress_due {
            let branches = self.calls.iter().map(|call| (call.known - call.mutations.len(), call.known + 1));
            ground.walk.report_progress(branches)?;
            self.note_memory()?;
        }
        ControlFlow::Continue(())
    }

    /// Lines 3-9: adds a mutation to `A+`, and if that can be realized calls itself on a maximal extension.
    fn mutate(&mut self, mutation: ConeId) -> ControlFlow<()> {
        let (ground, Some(call)) = (&mut self.ground, self.calls.last()) else {
            return ControlFlow::Continue(());
        };
        let (pinned, cones) = (ground.annotation.pinned().len(), ground.cones.len());
        if !ground.repairs().tags && ground.annotation.is_forbidden_untagged(&ground.cones, mutation) {
            return ControlFlow::Continue(());
        }
        if !ground.annotation.pin(&ground.cones, mutation) {
            return ControlFlow::Continue(());
        }
        if !ground.execute(&call.trace)? {
            ground.annotation.unpin(pinned);
            return ControlFlow::Continue(());
        }
        self.extend()?;
        self.call(Some(mutation), pinned, cones)
    }

    /// A call is over: line 7 for the calls after it.
    fn leave(&mut self) {
        let (Some(call), ground) = (self.calls.pop(), &mut self.ground) else { return };
        ground.annotation.unpin(call.pinned);
        call.forbidden.into_iter().rev().for_each(|cone| ground.annotation.allow(cone));
        ground.forget(call.cones);
        if let (Some(by), Some(caller)) = (call.by, self.calls.last_mut()) {
            ground.annotation.forbid(&ground.cones, by);
            caller.forbidden.push(by);
        }
    }
}
