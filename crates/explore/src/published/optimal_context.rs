//! Optimal Context-Sensitive DPOR as printed in ISSTA 2019: algorithm 1 (ODPOR_cs) and algorithm 2 (with
//! observers). Both are Optimal-DPOR with *don't-do* sequences: where reversing a race leads to the same
//! state, or under algorithm 2 to one that the race's observers can't tell apart, the reversed sequence goes
//! into `dnd(E')`, and what is left of it is cut when it is met. Both are wrong. A sequence that is to be
//! explored is left out because a leaf of the wakeup tree covers it, and then that leaf is cut
//! (`corpus/cx10.maz`); line 39 forbids `v.e` although equality was seen after `v.suc(e)`
//! (`corpus/cx11.maz`); and algorithm 2 compares what observers saw, though somebody else may read the
//! variable later (`corpus/cx12.maz`). No sound form with wakeup trees is known: what they aim at, one
//! execution a final state, is what [`convergent`](crate::convergent) does.
//!
//! Line numbers are the paper's: 11 to 42 of algorithm 1, in brackets those of algorithm 2, which differs in
//! lines 62 and 69-74 only. [`races`](super::races) has the race detection. Algorithm 1 has static labels,
//! "the usual syntactic approximation"; algorithm 2 has to know what a step really overwrote, so it has
//! dynamic ones and runs sequences to learn them.
//!
//! Where the paper can be read in several ways: `I_fut(E', v, E)` has no predecessors in all of `w`, and not
//! `e` (the paper's own example leaves it out); lines 32 and 42 stand outside of the branches before them;
//! `suc(e, E)` has not what `v` has.

use std::ops::ControlFlow;

use mazurka_program::ProcessId;
use mazurka_trace::dependence::Awaited;

use super::Chance;
use super::order::Relation;
use super::sequence::{Event, Reached};
use super::tree::{self, Branch};
use crate::frame::Search;
use crate::walk::Walk;
use crate::{Ending, NotExhaustive, Summary};

/// Executions of more steps end the search: orders are computed pair by pair, and trees are as deep as
/// sequences are long.
const LONGEST: usize = 300;

pub(super) fn search(walk: Walk<'_>, observers: bool) -> Summary {
    let (nodes, states, awaited) = Default::default();
    let chance = Chance::new(walk.options.order);
    PublishedOptimal { walk, nodes, states, observers, awaited, chance, peak: 0 }.summary()
}

/// A node of the stack: `wut(E)`, `dnd(E)` and `done(E)`. The branch that is being explored has been taken
/// out of the tree.
#[derive(Default)]
pub(super) struct Node {
    pub wut: Vec<Branch>,
    pub dnd: Vec<Vec<Event>>,
    pub done: Vec<Event>,
}

impl Node {
    /// Whether an event is all that is left of a don't-do sequence.
    fn forbids(&self, process: ProcessId, choice: u32) -> bool {
        self.dnd.iter().any(|sequence| matches!(sequence.as_slice(), [event] if event.is(process, choice)))
    }

    fn forbids_altogether(&self, process: ProcessId, alternatives: u32) -> bool {
        (0..alternatives).all(|choice| self.forbids(process, choice))
    }
}

pub(super) struct PublishedOptimal<'a> {
    pub walk: Walk<'a>,
    pub nodes: Vec<Node>,
    /// The states of the present execution, before and after each of its events.
    pub states: Vec<Reached>,
    pub observers: bool,
    pub awaited: Awaited,
    pub chance: Chance,
    peak: u64,
}

impl<'a> Search<'a> for PublishedOptimal<'a> {
    fn walk(&mut self) -> &mut Walk<'a> {
        &mut self.walk
    }

    fn run(&mut self) -> ControlFlow<()> {
        self.note_state();
        self.visit(Vec::new(), Vec::new())?;
        while let Some(depth) = self.nodes.len().checked_sub(1) {
            self.back_to(depth);
            let node = &mut self.nodes[depth];
            if node.wut.is_empty() {
                self.nodes.pop();
                self.add_to_done();
                continue;
            }
            // Lines 24 and 33 [56, 65]: the smallest branch, which is taken out.
            let Branch { event, children } = node.wut.remove(0);
            if node.forbids(event.process, event.choice) {
                // Lines 25-26 [57-58], and 32 [64].
                self.detect_behind(&event)?;
                self.nodes[depth].done.push(event);
                self.walk.end(Ending::Blocked)?;
            } else {
                self.take(&event, children)?;
            }
        }
        ControlFlow::Continue(())
    }

    fn memory(&mut self) -> usize {
        let planned = self.note_planned();
        self.walk.counts.wakeup_nodes = self.peak;
        let forbidden: usize = self.nodes.iter().flat_map(|node| &node.dnd).map(Vec::len).sum();
        let states: usize = self.states.iter().map(Reached::memory).sum();
        let events = (planned + forbidden) * size_of::<Event>();
        events + states + self.nodes.capacity() * size_of::<Node>()
    }
}

impl PublishedOptimal<'_> {
    fn back_to(&mut self, depth: usize) {
        self.walk.back_to(depth);
        self.states.truncate(depth + 1);
    }

    fn note_state(&mut self) {
        self.states.push(Reached::by(&*self.walk.run));
    }

    pub fn relation(&self) -> Relation<'_> {
        Relation { observers: self.observers.then_some(&self.awaited) }
    }

    /// Lines 12-22 [44-54]: enters the node of the present state.
    fn visit(&mut self, wut: Vec<Branch>, dnd: Vec<Vec<Event>>) -> ControlFlow<()> {
        let led = !wut.is_empty();
        self.nodes.push(Node { wut, dnd, done: Vec::new() });
        if self.walk.enabled().is_empty() {
            self.note_awaited();
            let ending = self.walk.maximal_ending();
            self.walk.end(ending)?;
            self.detect_races();
            return ControlFlow::Continue(());
        }
        if self.walk.too_deep() {
            return self.walk.end(Ending::Cut);
        }
        if self.walk.trace.len() >= LONGEST {
            let what = format!("the algorithm as published takes executions of at most {LONGEST} steps here");
            return self.walk.stop(NotExhaustive::Program(what));
        }
        if led { ControlFlow::Continue(()) } else { self.plan_freely() }
    }

    /// Lines 17-22 [49-54]: no sequence leads, so any process will do that is not forbidden.
    fn plan_freely(&mut self) -> ControlFlow<()> {
        let level = self.nodes.len() - 1;
        let (node, run) = (&self.nodes[level], &self.walk.run);
        let free = |&p: &ProcessId| !node.forbids_altogether(p, run.alternatives(p));
        let free: Vec<ProcessId> = self.walk.enabled().iter().filter(free).collect();
        let Some(process) = self.chance.pick(run.names(), &free) else {
            let single = |sequence: &&Vec<Event>| sequence.len() == 1;
            let singles: Vec<Event> =
                self.nodes[level].dnd.iter().filter(single).flatten().cloned().collect();
            for event in singles {
                self.detect_behind(&event)?;
            }
            return self.walk.end(Ending::Blocked);
        };
        let alternatives = self.walk.run.alternatives(process);
        for k in 0..alternatives {
            let choice = self.walk.choice_at(k, alternatives);
            if !self.nodes[level].forbids(process, choice) {
                let event = Event { process, choice, accesses: [].into() };
                self.nodes[level].wut.push(Branch::leaf(event));
            }
        }
        ControlFlow::Continue(())
    }

    /// `RaceDetection(E.p)` for a step that is not explored.
    fn detect_behind(&mut self, event: &Event) -> ControlFlow<()> {
        let depth = self.walk.trace.len();
        let there = self.walk.enabled().contains(event.process)
            && event.choice < self.walk.run.alternatives(event.process);
        if there {
            self.walk.try_step(event.process, event.choice)?;
            self.note_awaited();
            self.note_state();
            self.detect_races();
            self.back_to(depth);
        }
        ControlFlow::Continue(())
    }

    /// Lines 28-31 [60-63]: takes a step and explores the node behind it.
    fn take(&mut self, event: &Event, subtree: Vec<Branch>) -> ControlFlow<()> {
        let (process, choice) = (event.process, event.choice);
        let walk = &self.walk;
        if !walk.enabled().contains(process) || choice >= walk.run.alternatives(process) {
            // Guards are beyond the paper: what it plans may be impossible with them.
            return self.walk.end(Ending::Blocked);
        }
        self.walk.step(process, choice)?;
        self.note_awaited();
        self.note_state();
        let level = self.nodes.len() - 1;
        let step = Event::at(&self.walk.trace, level);
        let dnd = self.nodes[level].dnd.iter().filter_map(|sequence| self.inherited(sequence, &step));
        let dnd = dnd.collect();
        if self.walk.progress_due {
            let branches = |node: &Node| (node.done.len(), node.done.len() + 1 + node.wut.len());
            self.walk.report_progress(self.nodes.iter().map(branches))?;
            self.note_memory()?;
        }
        self.visit(subtree, dnd)
    }

    /// Lines 29-30 [61-62]: what is left of a don't-do sequence behind a step; none if it is void.
    fn inherited(&self, sequence: &[Event], step: &Event) -> Option<Vec<Event>> {
        let relation = self.relation();
        let Some(at) = sequence.iter().position(|event| event.process == step.process) else {
            return relation.independent(step, sequence).then(|| sequence.to_vec());
        };
        let (u, v) = (&sequence[..at], &sequence[at + 1..]);
        let same = sequence[at].choice == step.choice;
        let first = match self.observers {
            false => u.is_empty(),
            true => u.iter().all(|q| relation.commute_before(q, step, v)),
        };
        (same && first && sequence.len() > 1).then(|| [u, v].concat())
    }

    /// Line 32 [64]: the step that led to the node just left is done.
    fn add_to_done(&mut self) {
        let trace = &self.walk.trace;
        if let (Some(node), Some(last)) = (self.nodes.last_mut(), trace.len().checked_sub(1)) {
            node.done.push(Event::at(trace, last));
        }
    }

    /// Notes what guards wait for: the last step's, and those of all who wait.
    fn note_awaited(&mut self) {
        let (trace, awaited) = (&self.walk.trace, &mut self.awaited);
        if let Some(guard) = trace.len().checked_sub(1).and_then(|last| trace.guard(last)) {
            awaited.insert(guard.location);
        }
        self.walk.run.waiting(&mut |_, guard| {
            if let Some(guard) = guard {
                awaited.insert(guard.location);
            }
        });
    }

    /// Counts what is planned now.
    pub fn note_planned(&mut self) -> usize {
        let planned: usize = self.nodes.iter().map(|node| tree::size(&node.wut)).sum();
        self.peak = self.peak.max(planned as u64);
        planned
    }
}
