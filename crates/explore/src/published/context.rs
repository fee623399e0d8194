//! Context-Sensitive DPOR as printed in CAV 2017, algorithm 1, in the versions of its experiments. It is
//! Source-DPOR with sleep sets of *sequences*: where reversing a race leads to the same state, the reversed
//! sequence `v.u` is put to sleep (lines 11-14). That is wrong: `v.u` reaches a known state by another trace,
//! whose races with what follows nobody ever sees, since the node behind it is cut. `corpus/cx01.maz` (three
//! steps) loses a final state; version 2, "anticipating cuts", cuts a node as soon as only one step of a
//! sequence is left that nothing to come depends on, and loses more (`corpus/cx02.maz`); version 3 chooses
//! along the shortest sleeping sequences too. The sound form is [`source_context`](crate::source_context), a
//! sound one that reaches each final state once [`convergent`](crate::convergent).
//!
//! *The set O of optimisation 1* is to have all steps that can arise in the future. The paper gets it from
//! the flow graph of an actor program; here the future is tried, state by state and without the step that
//! sleeps, so O is exact. Where there are more states than [`FUTURE`], O is taken to have a step that depends
//! on it, and nothing is cut: an over-approximation too.

use std::collections::HashSet;
use std::ops::ControlFlow;

use mazurka_program::{Label, ProcessId, Run};
use mazurka_trace::dependence::dependent;

use super::Chance;
use super::sequence::{Event, Reached, Sequence, elsewhere};
use crate::frame::{ContextNode, ContextSearch, Search};
use crate::source::collect_initials;
use crate::walk::Walk;
use crate::{Ending, Summary};

/// At most so many states are looked at to find out what the future may bring.
const FUTURE: usize = 400;

pub(super) fn search(walk: Walk<'_>, version: u8) -> Summary {
    let (anticipates, guides) = (version >= 2, version >= 3);
    let chance = Chance::new(walk.options.order);
    PublishedContext { walk, nodes: Vec::new(), anticipates, guides, chance }.summary()
}

/// `backtrack(E)` is in the order of its growth.
type Node = ContextNode<Vec<ProcessId>>;

/// Of some processes, the one that begins the shortest sequence that sleeps at a node (optimisation 2).
fn guided(node: &Node, among: &[ProcessId]) -> Option<ProcessId> {
    let begun = node.sleep.0.iter().filter(|sequence| among.contains(&sequence.rest()[0].process));
    begun.min_by_key(|sequence| sequence.rest().len()).map(|sequence| sequence.rest()[0].process)
}

struct PublishedContext<'a> {
    walk: Walk<'a>,
    nodes: Vec<Node>,
    anticipates: bool,
    guides: bool,
    chance: Chance,
}

impl<'a> Search<'a> for PublishedContext<'a> {
    fn walk(&mut self) -> &mut Walk<'a> {
        &mut self.walk
    }

    fn run(&mut self) -> ControlFlow<()> {
        self.explore()
    }

    fn memory(&mut self) -> usize {
        self.nodes_memory()
    }
}

impl<'a> ContextSearch<'a> for PublishedContext<'a> {
    type Backtrack = Vec<ProcessId>;

    fn parts(&mut self) -> (&mut Walk<'a>, &mut Vec<Node>) {
        (&mut self.walk, &mut self.nodes)
    }

    fn size(backtrack: &Vec<ProcessId>) -> usize {
        backtrack.len()
    }

    fn enter(&mut self, level: usize) -> ControlFlow<()> {
        let ending = if let Some(ending) = self.walk.ending_here() {
            ending
        } else if self.anticipates && self.nothing_new_ahead(level) {
            Ending::Blocked
        } else {
            let (node, walk) = (&self.nodes[level], &self.walk);
            let awake = |&p: &ProcessId| !node.sleep.sleeps_altogether(p, walk.run.alternatives(p));
            let awake: Vec<ProcessId> = walk.enabled().iter().filter(awake).collect();
            match self.choose(level, &awake) {
                Some(process) => {
                    self.nodes[level].backtrack.push(process);
                    return ControlFlow::Continue(());
                }
                None => Ending::Blocked,
            }
        };
        self.walk.end(ending)?;
        self.race_waiting();
        ControlFlow::Continue(())
    }

    fn next(&mut self) -> Option<(ProcessId, u32)> {
        let node = self.nodes.last_mut()?;
        let (walk, mut outcomes) = (&self.walk, std::mem::take(&mut node.outcomes));
        let awake = |p: &&ProcessId| !node.sleep.sleeps_altogether(**p, walk.run.alternatives(**p));
        let next = || {
            let awake: Vec<ProcessId> = node.backtrack.iter().filter(awake).copied().collect();
            let guided = self.guides.then(|| guided(node, &awake)).flatten();
            guided.or_else(|| self.chance.pick(walk.run.names(), &awake))
        };
        let next = outcomes.advance(walk, next, |p, c| node.sleep.sleeps(p, c));
        node.outcomes = outcomes;
        next
    }

    fn taken(&mut self, level: usize) -> ControlFlow<()> {
        for i in 0..self.walk.order.races(level).len() {
            let race = self.walk.order.races(level)[i];
            self.reverse(race.first as usize, self.walk.trace.process(level), Some(level));
            self.compare(race.first as usize, level);
        }
        ControlFlow::Continue(())
    }

    fn reverse(&mut self, e: usize, q: ProcessId, second: Option<usize>) {
        let mut initials = Vec::new();
        collect_initials(&self.walk, e, q, second, &mut initials);
        let initials: Vec<ProcessId> = initials.into_iter().map(|(process, _)| process).collect();
        if !initials.iter().any(|process| self.nodes[e].backtrack.contains(process)) {
            let picked = self.choose(e, &initials);
            self.nodes[e].backtrack.extend(picked);
        }
    }
}

impl PublishedContext<'_> {
    /// Where the paper takes any process: a guided one, or one by chance.
    fn choose(&mut self, level: usize, among: &[ProcessId]) -> Option<ProcessId> {
        let guided = self.guides.then(|| guided(&self.nodes[level], among)).flatten();
        guided.or_else(|| self.chance.pick(self.walk.run.names(), among))
    }

    /// Lines 11-14: puts `v.u` to sleep before `e` if it leads to where `E.p` leads, unless a part of it
    /// sleeps.
    fn compare(&mut self, e: usize, last: usize) {
        let trace = &self.walk.trace;
        if (e..=last).any(|k| trace.alternatives(k) > 1) {
            // In another order there may be another number of outcomes: the paper has no such steps.
            return;
        }
        let after = |k: &usize| *k < last && self.walk.order.happens_before(e, *k);
        let v = (e + 1..=last).filter(|k| !after(k));
        let order = v.chain([e]).chain((e + 1..last).filter(after));
        let events: Vec<Event> = order.map(|k| Event::at(trace, k)).collect();
        let is_prefix = |sequence: &Sequence| {
            let (rest, mut events) = (sequence.rest(), events.iter());
            rest.iter().all(|event| events.next().is_some_and(|other| other.is(event.process, event.choice)))
        };
        if self.nodes[e].sleep.0.iter().any(is_prefix) {
            return;
        }
        let here = Reached::by(&*self.walk.run);
        let steps: Vec<(ProcessId, u32)> = events.iter().map(|event| (event.process, event.choice)).collect();
        let there = elsewhere(&mut self.walk, e, &steps, |run, _| Reached::by(run));
        if there.is_some_and(|there| there == here) {
            self.nodes[e].sleep.0.push(Sequence::new(events.into()));
        }
    }

    /// Optimisation 1: whether a sequence is consumed but for its last step, and nothing to come depends on
    /// that.
    fn nothing_new_ahead(&mut self, level: usize) -> bool {
        let left: Vec<Event> =
            self.nodes[level].sleep.0.iter().filter_map(Sequence::last_left).cloned().collect();
        left.iter().any(|last| !self.wakes_in_the_future(last))
    }

    /// Whether the set O has a step that depends on an event: some step that can be taken sooner or later
    /// without it.
    fn wakes_in_the_future(&mut self, sleeper: &Event) -> bool {
        let depth = self.walk.trace.len();
        let _ = self.walk.probe(depth, std::iter::empty());
        let mut seen = HashSet::new();
        let wakes = wakes(&mut *self.walk.run, sleeper, &mut seen);
        self.walk.back_to(depth);
        wakes
    }
}

/// Whether a step that depends on an event can be taken from here on, its own process's apart; also if that
/// is too much to find out. The run comes back to where it is. At most [`FUTURE`] states are looked at, which
/// bounds the recursion too.
fn wakes(run: &mut dyn Run, sleeper: &Event, seen: &mut HashSet<Vec<i64>>) -> bool {
    let mut state = Vec::new();
    if let Some(states) = run.states().and_then(|states| states.named()) {
        states.named_state(&mut state);
    }
    if !seen.insert(state) {
        return false;
    }
    if seen.len() > FUTURE {
        return true;
    }
    let depth = run.depth();
    let others: Vec<ProcessId> = run.enabled().iter().filter(|&p| p != sleeper.process).collect();
    let mut label = Label::default();
    for process in others {
        for choice in 0..run.alternatives(process) {
            let taken = run.step(process, choice, &mut label).is_ok();
            let found = !taken || dependent(&label.accesses, &sleeper.accesses) || wakes(run, sleeper, seen);
            run.rewind(depth);
            if found {
                return true;
            }
        }
    }
    false
}
