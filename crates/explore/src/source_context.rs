//! `source+context`: Context-Sensitive DPOR, Algorithm 1 of paper 004 (Albert, Arenas, Garcia de la Banda, Gomez-Zamalloa, Stuckey, CAV
//! 2017), repaired. The paper is Source-DPOR with sleep sets of *sequences*: where reversing a race leads to the same state, the
//! reversed sequence is put to sleep. As printed it is wrong: races that would be met only behind the cut are never
//! reversed (corpus/cx01.maz, 3 steps); its optimisation 1 loses behaviours by itself (corpus/cx02.maz) and is not here; race detection
//! where everybody sleeps does not mend it (corpus/cx03.maz), nor does race detection for everybody enabled at every node
//! ("rule c") alone (corpus/cx16.maz). Repair ("c1"): rule c, and only where `u`, what happens after `e`, is `e` alone may the
//! sequence be put to sleep. Believed because only `e`'s process is put to sleep, so every other process goes on and meets
//! its races without `e`; races of `e` itself are met by rule c; and what comes after `e` in its process needs `e` first. That
//! is no proof: the laws compare it with brute force, on mutants of the programs above too.
//!
//! Where we differ besides, as `source` does: static footprints, guarded steps, several outcomes. And states are compared with their
//! names, and with what failed on the way: a failure is no part of the state, so it would be lost with the cut.

mod comparisons;
pub(crate) mod sequence;

use std::ops::ControlFlow;

use mazurka_program::{Access, AccessKind, ProcessId, ProcessSet};

use crate::frame::Outcomes;
use crate::sleep::SleepSets;
use crate::source::collect_initials;
use crate::walk::Walk;
use crate::{Ending, Summary};
use comparisons::Comparisons;
use sequence::Sleeping;

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
    let mut search = Search {
        walk,
        nodes: Vec::new(),
        raced: SleepSets::default(),
        comparisons: Comparisons::default(),
        initials: Vec::new(),
    };
    // The answer is in the summary: a search that ends early has noted why.
    let _ = search.run();
    let _ = search.note_memory();
    search.walk.summary()
}

/// A node of the stack: `backtrack(E)`, `sleep(E)`, and what is being explored from it.
#[derive(Default)]
struct Node {
    backtrack: ProcessSet,
    sleep: Sleeping,
    outcomes: Outcomes,
}

struct Search<'a> {
    walk: Walk<'a>,
    nodes: Vec<Node>,
    /// The events that could have been taken at a node above, and that nothing since depends on, the guards included: they
    /// have no races but those that were reversed there. For such an event `q`, and a step `s` since, the `v` of a race `(e, q)`
    /// has `s` besides, or has not: every initial of `v` stays one. And where `v.u` led elsewhere than `E.q`, it does so behind `s`.
    raced: SleepSets,
    comparisons: Comparisons,
    initials: Vec<(ProcessId, usize)>,
}

impl Search<'_> {
    fn run(&mut self) -> ControlFlow<()> {
        self.raced.push_root();
        self.visit(Sleeping::default())?;
        while let Some(level) = self.nodes.len().checked_sub(1) {
            self.walk.back_to(level);
            self.raced.back_to(level);
            if !self.advance()? {
                self.nodes.pop();
                if let Some(node) = self.nodes.last_mut() {
                    node.sleep.add_last(&self.walk.trace);
                }
            }
        }
        ControlFlow::Continue(())
    }

    /// Enters the node of the present state: reverses the races of everybody (rule c), and ends the execution, or chooses a
    /// first process (lines 3-4).
    fn visit(&mut self, sleep: Sleeping) -> ControlFlow<()> {
        let level = self.nodes.len();
        self.nodes.push(Node { sleep, ..Node::default() });
        let ending = if self.walk.run.enabled().is_empty() {
            self.walk.maximal_ending()
        } else if self.walk.too_deep() {
            Ending::Cut
        } else {
            if self.walk.options.rules.source_context.race_everybody {
                self.race_enabled(level)?;
                self.race_waiting();
            }
            let (node, run) = (&self.nodes[level], &self.walk.run);
            let awake: ProcessSet = run
                .enabled()
                .iter()
                .filter(|&p| !node.sleep.sleeps_altogether(p, run.alternatives(p)))
                .collect();
            match self.walk.pick(|p| awake.contains(p)) {
                Some(process) => {
                    self.nodes[level].backtrack.insert(process);
                    return ControlFlow::Continue(());
                }
                None => return self.walk.end(Ending::Blocked),
            }
        };
        self.walk.end(ending)?;
        self.race_waiting();
        ControlFlow::Continue(())
    }

    /// Lines 6-14 for every enabled process, asleep or not, with each of its outcomes.
    fn race_enabled(&mut self, level: usize) -> ControlFlow<()> {
        let enabled = self.walk.run.enabled().clone();
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

    /// The processes that wait here race with what made them wait.
    fn race_waiting(&mut self) {
        let mut found = Vec::new();
        self.walk.waiting_races(|e, process| found.push((e, process)));
        found.into_iter().for_each(|(e, process)| self.reverse(e, process, None));
    }

    /// Lines 7-10: makes sure that some initial of `v = notdep(e, E).q` is in the backtrack set before `e`.
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

    /// Whether nothing between `e` and the step at `last` happens after `e`, so that `u = dep(e, E)` is `e` alone; and whether
    /// none of these steps had several outcomes, for there may be another number of them in another order.
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

    /// Explores the next process of the last node's backtrack set that does not sleep (line 5), or the next outcome
    /// of the present one. Says whether there was any.
    fn advance(&mut self) -> ControlFlow<(), bool> {
        let Some(Node { backtrack, sleep, outcomes }) = self.nodes.last_mut() else {
            return ControlFlow::Continue(false);
        };
        let walk = &self.walk;
        let awake = |p: &ProcessId| !sleep.sleeps_altogether(*p, walk.run.alternatives(*p));
        let next = outcomes.advance(walk, || backtrack.iter().find(awake), |p, c| sleep.sleeps(p, c));
        match next {
            Some((process, choice)) => self.take(process, choice).map_continue(|()| true),
            None => ControlFlow::Continue(false),
        }
    }

    /// Takes a step (lines 15-17). Its races were reversed when the node was entered.
    fn take(&mut self, process: ProcessId, choice: u32) -> ControlFlow<()> {
        self.walk.step(process, choice)?;
        let level = self.nodes.len() - 1;
        if !self.walk.options.rules.source_context.race_everybody {
            self.race(level);
            self.compare()?;
        }
        let step = self.walk.trace.accesses(level);
        self.raced.push(process, step, true);
        let sleep = self.nodes[level].sleep.behind(process, choice, step);
        if self.walk.progress_due {
            let nodes = self.nodes.iter();
            self.walk.report_progress(nodes.map(|node| (node.outcomes.begun - 1, node.backtrack.len())))?;
            self.note_memory()?;
        }
        self.visit(sleep)
    }

    fn note_memory(&mut self) -> ControlFlow<()> {
        let bytes = self.nodes.capacity() * size_of::<Node>()
            + self.nodes.iter().map(|node| node.sleep.memory()).sum::<usize>()
            + self.raced.memory();
        self.walk.note_memory(bytes)
    }
}
