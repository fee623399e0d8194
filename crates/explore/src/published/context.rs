//! Context-Sensitive DPOR as printed in CAV 2017, algorithm 1, in the versions of its experiments. It is Source-DPOR with sleep
//! sets of *sequences*: where reversing a race leads to the same state, the reversed sequence `v.u` is put to sleep (lines
//! 11-14). That is wrong: `v.u` reaches a known state by another trace, whose races with what follows nobody ever sees, since
//! the node behind it is cut. `corpus/cx01.maz` (three steps) loses a final state; version 2, "anticipating cuts", cuts a node
//! as soon as only one step of a sequence is left that nothing to come depends on, and loses more (`corpus/cx02.maz`);
//! version 3 chooses along the shortest sleeping sequences too. The sound form is [`source_context`](crate::source_context), a
//! sound one that reaches each final state once [`convergent`](crate::convergent).
//!
//! *The set O of optimisation 1* is to have all steps that can arise in the future. The paper gets it from the flow graph of an
//! actor program; here the future is tried, state by state and without the step that sleeps, so O is exact. Where there are
//! more states than [`FUTURE`], O is taken to have a step that depends on it, and nothing is cut: an over-approximation too.

use std::collections::HashSet;
use std::ops::ControlFlow;

use mazurka_program::{Label, ProcessId, Run};
use mazurka_trace::dependence::dependent;

use super::Chance;
use super::sequence::{Event, Reached, Sequence, elsewhere};
use crate::source::collect_initials;
use crate::walk::Walk;
use crate::{Ending, Summary};

/// At most so many states are looked at to find out what the future may bring.
const FUTURE: usize = 400;

pub(super) fn search(walk: Walk<'_>, version: u8) -> Summary {
    let mut search = Search {
        nodes: Vec::new(),
        anticipates: version >= 2,
        guides: version >= 3,
        chance: Chance::new(walk.options.order),
        walk,
    };
    // The answer is in the summary: a search that ends early has noted why.
    let _ = search.run();
    let _ = search.note_memory();
    search.walk.summary()
}

/// A node of the stack: `backtrack(E)` in the order of its growth, `sleep(E)`, and what is being explored from it.
#[derive(Default)]
struct Node {
    backtrack: Vec<ProcessId>,
    sleep: Vec<Sequence>,
    begun: usize,
    process: Option<ProcessId>,
    /// The outcomes of the process's step: how many, and how many have been begun.
    alternatives: u32,
    tried: u32,
}

impl Node {
    /// Whether an event sleeps: it is all that is left of a sequence.
    fn sleeps(&self, process: ProcessId, choice: u32) -> bool {
        self.sleep.iter().any(|sequence| matches!(sequence.rest(), [event] if event.is(process, choice)))
    }

    fn sleeps_altogether(&self, process: ProcessId, alternatives: u32) -> bool {
        (0..alternatives).all(|choice| self.sleeps(process, choice))
    }

    /// Of some processes, the one that begins the shortest sleeping sequence (optimisation 2).
    fn guided(&self, among: &[ProcessId]) -> Option<ProcessId> {
        let begun = self.sleep.iter().filter(|sequence| among.contains(&sequence.rest()[0].process));
        begun.min_by_key(|sequence| sequence.rest().len()).map(|sequence| sequence.rest()[0].process)
    }
}

struct Search<'a> {
    walk: Walk<'a>,
    nodes: Vec<Node>,
    anticipates: bool,
    guides: bool,
    chance: Chance,
}

impl Search<'_> {
    fn run(&mut self) -> ControlFlow<()> {
        self.visit(Vec::new())?;
        while let Some(level) = self.nodes.len().checked_sub(1) {
            self.walk.back_to(level);
            if !self.advance()? {
                self.nodes.pop();
                self.put_to_sleep();
            }
        }
        ControlFlow::Continue(())
    }

    /// Lines 2-4: enters the node of the present state, and ends the execution or chooses a first process.
    fn visit(&mut self, sleep: Vec<Sequence>) -> ControlFlow<()> {
        let level = self.nodes.len();
        self.nodes.push(Node { sleep, ..Node::default() });
        let ending = if self.walk.run.enabled().is_empty() {
            self.walk.maximal_ending()
        } else if self.walk.too_deep() {
            Ending::Cut
        } else if self.anticipates && self.nothing_new_ahead(level) {
            Ending::Blocked
        } else {
            let (node, run) = (&self.nodes[level], &self.walk.run);
            let awake = |&p: &ProcessId| !node.sleeps_altogether(p, run.alternatives(p));
            let awake: Vec<ProcessId> = run.enabled().iter().filter(awake).collect();
            let guided = self.guides.then(|| node.guided(&awake)).flatten();
            match guided.or_else(|| self.chance.pick(run.names(), &awake)) {
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

    /// Line 5, or the next outcome of the present process's step. Says whether there was any.
    fn advance(&mut self) -> ControlFlow<(), bool> {
        let level = self.nodes.len() - 1;
        loop {
            let node = &mut self.nodes[level];
            let Some(process) = node.process else {
                let run = &self.walk.run;
                let awake = |p: &&ProcessId| !node.sleeps_altogether(**p, run.alternatives(**p));
                let awake: Vec<ProcessId> = node.backtrack.iter().filter(awake).copied().collect();
                let guided = self.guides.then(|| node.guided(&awake)).flatten();
                let Some(next) = guided.or_else(|| self.chance.pick(run.names(), &awake)) else {
                    return ControlFlow::Continue(false);
                };
                node.alternatives = run.alternatives(next);
                (node.process, node.tried) = (Some(next), 0);
                node.begun += 1;
                continue;
            };
            if node.tried == node.alternatives {
                node.process = None;
                continue;
            }
            let (tried, alternatives) = (node.tried, node.alternatives);
            node.tried += 1;
            let choice = self.walk.choice_at(tried, alternatives);
            if !self.nodes[level].sleeps(process, choice) {
                self.take(process, choice)?;
                return ControlFlow::Continue(true);
            }
        }
    }

    /// Lines 6-17: takes a step, reverses its races, and explores what is behind it.
    fn take(&mut self, process: ProcessId, choice: u32) -> ControlFlow<()> {
        self.walk.step(process, choice)?;
        let level = self.nodes.len() - 1;
        for i in 0..self.walk.trace.races(level).len() {
            let race = self.walk.trace.races(level)[i];
            self.reverse(race.first as usize, process, Some(level));
            self.compare(race.first as usize, level);
        }
        let step = self.walk.trace.accesses(level);
        let sleep = self.nodes[level].sleep.iter();
        let sleep = sleep.filter_map(|sequence| sequence.behind(process, choice, step)).collect();
        if self.walk.progress_due {
            let nodes = self.nodes.iter();
            self.walk.report_progress(nodes.map(|node| (node.begun - 1, node.backtrack.len())))?;
            self.note_memory()?;
        }
        self.visit(sleep)
    }

    /// Line 18: the step that led to the node just left will only be repeated from now on.
    fn put_to_sleep(&mut self) {
        let trace = &self.walk.trace;
        let (Some(last), Some(node)) = (trace.len().checked_sub(1), self.nodes.last_mut()) else { return };
        node.sleep.push(Sequence::single(Event::at(trace, last)));
    }

    /// The processes that wait here race with what made them wait.
    fn race_waiting(&mut self) {
        let mut found = Vec::new();
        let (run, trace) = (&self.walk.run, &self.walk.trace);
        run.waiting(&mut |process, guard| {
            if let Some(guard) = guard {
                let holds = |id, depth| run.guard_holds_at(id, depth);
                trace.waiting_races(process, guard, holds, |first| found.push((first, process)));
            }
        });
        for (first, process) in found {
            self.reverse(first, process, None);
        }
    }

    /// Lines 7-10: makes sure that some initial of `v = notdep(e, E).q` is in the backtrack set before `e`.
    fn reverse(&mut self, e: usize, q: ProcessId, second: Option<usize>) {
        let mut initials = Vec::new();
        collect_initials(&self.walk.trace, e, q, second, &mut initials);
        let initials: Vec<ProcessId> = initials.into_iter().map(|(process, _)| process).collect();
        let node = &mut self.nodes[e];
        if !initials.iter().any(|process| node.backtrack.contains(process)) {
            let guided = self.guides.then(|| node.guided(&initials)).flatten();
            let picked = guided.or_else(|| self.chance.pick(self.walk.run.names(), &initials));
            node.backtrack.extend(picked);
        }
    }

    /// Lines 11-14: puts `v.u` to sleep before `e` if it leads to where `E.p` leads, unless a part of it sleeps.
    fn compare(&mut self, e: usize, last: usize) {
        let trace = &self.walk.trace;
        if (e..=last).any(|k| trace.alternatives(k) > 1) {
            // In another order there may be another number of outcomes: the paper has no such steps.
            return;
        }
        let after = |k: &usize| *k < last && trace.happens_before(e, *k);
        let v = (e + 1..=last).filter(|k| !after(k));
        let order = v.chain([e]).chain((e + 1..last).filter(after));
        let events: Vec<Event> = order.map(|k| Event::at(trace, k)).collect();
        let is_prefix = |sequence: &Sequence| {
            let (rest, mut events) = (sequence.rest(), events.iter());
            rest.iter().all(|event| events.next().is_some_and(|other| other.is(event.process, event.choice)))
        };
        if self.nodes[e].sleep.iter().any(is_prefix) {
            return;
        }
        let here = Reached::by(&*self.walk.run);
        let steps: Vec<(ProcessId, u32)> = events.iter().map(|event| (event.process, event.choice)).collect();
        let there = elsewhere(&mut self.walk, e, &steps, |run, _| Reached::by(run));
        if there.is_some_and(|there| there == here) {
            self.nodes[e].sleep.push(Sequence::new(events.into()));
        }
    }

    /// Optimisation 1: whether a sequence is consumed but for its last step, and nothing to come depends on that.
    fn nothing_new_ahead(&mut self, level: usize) -> bool {
        let left: Vec<Event> =
            self.nodes[level].sleep.iter().filter_map(Sequence::last_left).cloned().collect();
        left.iter().any(|last| !self.wakes_in_the_future(last))
    }

    /// Whether the set O has a step that depends on an event: some step that can be taken sooner or later without it.
    fn wakes_in_the_future(&mut self, sleeper: &Event) -> bool {
        let depth = self.walk.trace.len();
        let _ = self.walk.probe(depth, std::iter::empty());
        let mut seen = HashSet::new();
        let wakes = wakes(&mut *self.walk.run, sleeper, &mut seen);
        self.walk.back_to(depth);
        wakes
    }

    fn note_memory(&mut self) -> ControlFlow<()> {
        let sequences = self.nodes.iter().flat_map(|node| &node.sleep);
        let bytes =
            self.nodes.capacity() * size_of::<Node>() + sequences.map(Sequence::memory).sum::<usize>();
        self.walk.note_memory(bytes)
    }
}

/// Whether a step that depends on an event can be taken from here on, its own process's apart; also if that is too much to
/// find out. The run comes back to where it is. At most [`FUTURE`] states are looked at, which bounds the recursion too.
fn wakes(run: &mut dyn Run, sleeper: &Event, seen: &mut HashSet<Vec<i64>>) -> bool {
    let mut state = Vec::new();
    run.named_state(&mut state);
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
            label.clear();
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
