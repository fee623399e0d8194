//! `source+context`: Context-Sensitive DPOR, Algorithm 1 of paper 004 (Albert, Arenas, Garcia de la Banda,
//! Gomez-Zamalloa, Stuckey, CAV 2017), repaired. The paper is Source-DPOR with sleep sets of *sequences*:
//! where reversing a race leads to the same state, the reversed sequence is put to sleep. As printed it is
//! wrong: races that would be met only behind the cut are never reversed (corpus/cx01.maz, 3 steps); its
//! optimisation 1 loses behaviours by itself (corpus/cx02.maz) and is not here; race detection where
//! everybody sleeps does not mend it (corpus/cx03.maz), nor does race detection for everybody enabled at
//! every node ("rule c") alone (corpus/cx16.maz). Repair ("c1"): rule c, and only where `u`, what happens
//! after `e`, is `e` alone may the sequence be put to sleep. Believed because only `e`'s process is put to
//! sleep, so every other process goes on and meets its races without `e`; races of `e` itself are met by rule
//! c; and what comes after `e` in its process needs `e` first. That is no proof: the laws compare it with
//! brute force, on mutants of the programs above too.
//!
//! Where we differ besides, as `source` does: static footprints, guarded steps, several outcomes. And states
//! are compared with their names, and with what failed on the way: a failure is no part of the state, so it
//! would be lost with the cut.

mod comparisons;
pub(crate) mod sequence;

use std::ops::ControlFlow;

use mazurka_program::{Access, AccessKind, ProcessId, ProcessSet};

use crate::frame::{ContextNode, ContextSearch, Search};
use crate::sleep::SleepSets;
use crate::source::collect_initials;
use crate::walk::Walk;
use crate::{Ending, Summary};
use comparisons::Comparisons;

crate::rules::switches! {
    /// The switches of the repairs.
    Repairs {
        /// `source+context` reverses the races of everybody at every node, asleep or not; taken out, of
        /// those who go on (CX1).
        race_everybody,
        /// `source+context` puts sequences to sleep only if nothing but `e` happens after `e`; taken out,
        /// all (CX16).
        single_event,
        /// `source+context` puts no sequence to sleep in which something fails that has not failed yet.
        compare_failures,
    }
}

pub(crate) fn search(walk: Walk<'_>) -> Summary {
    let (nodes, raced, comparisons, initials) = Default::default();
    SourceContextSearch { walk, nodes, raced, comparisons, initials }.summary()
}

struct SourceContextSearch<'a> {
    walk: Walk<'a>,
    nodes: Vec<ContextNode<ProcessSet>>,
    /// The events that could have been taken at a node above, and that nothing since depends on, the guards
    /// included: they have no races but those that were reversed there. For such an event `q`, and a step `s`
    /// since, the `v` of a race `(e, q)` has `s` besides, or has not: every initial of `v` stays one. And
    /// where `v.u` led elsewhere than `E.q`, it does so behind `s`.
    raced: SleepSets,
    comparisons: Comparisons,
    initials: Vec<(ProcessId, usize)>,
}

impl<'a> Search<'a> for SourceContextSearch<'a> {
    fn walk(&mut self) -> &mut Walk<'a> {
        &mut self.walk
    }

    fn run(&mut self) -> ControlFlow<()> {
        self.raced.push_root();
        self.explore()
    }

    fn memory(&mut self) -> usize {
        self.nodes_memory() + self.raced.memory()
    }
}

impl<'a> ContextSearch<'a> for SourceContextSearch<'a> {
    type Backtrack = ProcessSet;

    #[inline]
    fn parts(&mut self) -> (&mut Walk<'a>, &mut Vec<ContextNode<ProcessSet>>) {
        (&mut self.walk, &mut self.nodes)
    }

    fn size(backtrack: &ProcessSet) -> usize {
        backtrack.len()
    }

    fn back_to(&mut self, level: usize) {
        self.walk.back_to(level);
        self.raced.back_to(level);
    }

    /// Before a first process is chosen, the races of everybody are reversed (rule c).
    fn enter(&mut self, level: usize) -> ControlFlow<()> {
        if let Some(ending) = self.walk.ending_here() {
            self.walk.end(ending)?;
            self.race_waiting();
            return ControlFlow::Continue(());
        }
        if self.walk.options.rules.source_context.race_everybody {
            self.race_enabled(level)?;
            self.race_waiting();
        }
        let (node, walk) = (&self.nodes[level], &self.walk);
        let awake = |p: &ProcessId| !node.sleep.sleeps_altogether(*p, walk.run.alternatives(*p));
        let awake: ProcessSet = walk.enabled().iter().filter(awake).collect();
        let Some(process) = self.walk.pick(|p| awake.contains(p)) else {
            return self.walk.end(Ending::Blocked);
        };
        self.nodes[level].backtrack.insert(process);
        ControlFlow::Continue(())
    }

    fn next(&mut self) -> Option<(ProcessId, u32)> {
        let ContextNode { backtrack, sleep, outcomes } = self.nodes.last_mut()?;
        let walk = &self.walk;
        let awake = |p: &ProcessId| !sleep.sleeps_altogether(*p, walk.run.alternatives(*p));
        outcomes.advance(walk, || backtrack.iter().find(awake), |p, c| sleep.sleeps(p, c))
    }

    /// Its races were reversed when the node was entered.
    fn taken(&mut self, level: usize) -> ControlFlow<()> {
        if !self.walk.options.rules.source_context.race_everybody {
            self.race(level);
            self.compare()?;
        }
        let trace = &self.walk.trace;
        self.raced.push(trace.process(level), trace.accesses(level), true);
        ControlFlow::Continue(())
    }

    fn reverse(&mut self, e: usize, q: ProcessId, second: Option<usize>) {
        let mut initials = std::mem::take(&mut self.initials);
        collect_initials(&self.walk, e, q, second, &mut initials);
        let node = &mut self.nodes[e];
        if !initials.iter().any(|&(p, _)| node.backtrack.contains(p)) {
            // Any initial will do; one that sleeps costs nothing, for its traces have been explored.
            let asleep = initials.iter().find(|&&(p, k)| {
                node.sleep.sleeps_altogether(
                    p,
                    if k < self.walk.trace.len() { self.walk.trace.alternatives(k) } else { 1 },
                )
            });
            let &(process, _) = asleep.unwrap_or(&initials[0]);
            node.backtrack.insert(process);
        }
        self.initials = initials;
    }
}

impl SourceContextSearch<'_> {
    /// Lines 6-14 for every enabled process, asleep or not, with each of its outcomes.
    fn race_enabled(&mut self, level: usize) -> ControlFlow<()> {
        let enabled = self.walk.enabled().clone();
        for process in enabled.iter() {
            let alternatives = self.walk.run.alternatives(process);
            for choice in 0..alternatives {
                if self.raced.sleeps(level, process, choice) {
                    continue;
                }
                self.walk.try_step(process, choice)?;
                self.race(level);
                let trace = &self.walk.trace;
                let guard = trace.guard(level).map(|guard| Access::one(guard.location, AccessKind::Read));
                self.raced.add(
                    process,
                    choice,
                    alternatives,
                    trace.accesses(level).iter().copied().chain(guard),
                );
                self.walk.back_to(level);
            }
        }
        self.compare()
    }

    /// Lines 6-10 for the last step; what lines 11-14 compare is noted.
    fn race(&mut self, last: usize) {
        let process = self.walk.trace.process(last);
        for i in 0..self.walk.order.races(last).len() {
            let race = self.walk.order.races(last)[i];
            self.reverse(race.first as usize, process, Some(last));
            if race.immediate && self.may_compare(race.first as usize, last) {
                self.comparisons.note(
                    &mut self.walk,
                    &self.nodes[race.first as usize].sleep.0,
                    race.first as usize,
                );
            }
        }
    }

    /// Whether nothing between `e` and the step at `last` happens after `e`, so that `u = dep(e, E)` is `e`
    /// alone; and whether none of these steps had several outcomes, for there may be another number of them
    /// in another order.
    fn may_compare(&self, e: usize, last: usize) -> bool {
        let Walk { trace, order, options, .. } = &self.walk;
        let alone =
            !options.rules.source_context.single_event || (e + 1..last).all(|k| !order.happens_before(e, k));
        alone && (e..=last).all(|k| trace.alternatives(k) == 1)
    }

    /// Lines 11-14: puts `v.u` to sleep before `e` if it leads to where `E.p` leads.
    fn compare(&mut self) -> ControlFlow<()> {
        let (walk, nodes) = (&mut self.walk, &mut self.nodes);
        let compared = self.comparisons.make(walk, |e, sequence| nodes[e].sleep.0.push(sequence));
        let depth = self.walk.trace.len();
        self.walk.back_to(depth);
        compared
    }
}
