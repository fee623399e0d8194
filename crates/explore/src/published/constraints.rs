//! Constrained DPOR as printed in CAV 2018 (Albert, Gomez-Zamalloa, Isabel, Rubio), algorithm 1: context-sensitive
//! Source-DPOR with independence constraints. Three prunings: a race is dropped if a constraint of its events holds
//! and nothing to come can change that (line 9, `U=>`), and so are the two taken to be independent from then on;
//! where one holds for the moment, `u.p.e` is put to sleep (lines 11-12); a sleeper sleeps on if it is independent
//! of a step by `U=>` (line 17). The first is wrong: `corpus/cx07.maz` (four steps) loses a final state, for what
//! is dropped orders two others. So is line 14, that of CAV 2017 (`corpus/cx08.maz`). The sound forms are
//! [`source_constraints`](crate::source_constraints) and `convergent+constraints`.
//!
//! `U=>` is asked of the run ([`Constraints::commute_uniformly`](mazurka_program::Constraints)), without `e`'s
//! process.

use std::ops::ControlFlow;

use mazurka_program::{Alike, Commutes, ProcessId};

use super::Chance;
use super::sequence::{Event, Reached, Sequence, elsewhere};
use crate::frame::{ContextNode, ContextSearch, Search};
use crate::pair_order::{Pair, PairOrder};
use crate::source_context::sequence::Sleeping;
use crate::walk::Walk;
use crate::{Ending, Summary};

pub(super) fn search(walk: Walk<'_>) -> Summary {
    let chance = Chance::new(walk.options.order);
    let (nodes, order, full, blocks) = Default::default();
    PublishedConstraints { walk, nodes, order, full, blocks, chance }.summary()
}

/// `back(E)` is in the order of its growth.
type Node = ContextNode<Vec<ProcessId>>;

struct PublishedConstraints<'a> {
    walk: Walk<'a>,
    nodes: Vec<Node>,
    /// Happens-before, without what was inferred to be independent.
    order: PairOrder,
    /// Happens-before by what steps touch. `dep(E, e, n)` is by this one where it can't be run as it was inferred: what
    /// creates the process of `n` may do so only behind steps that were taken to be independent of it.
    full: PairOrder,
    blocks: Vec<Option<u32>>,
    chance: Chance,
}

/// A race: `e`, `u = dep(E, e, n)`, and whether a constraint holds behind `u`.
struct Race {
    e: usize,
    u: Vec<usize>,
    commutes: bool,
}

impl<'a> Search<'a> for PublishedConstraints<'a> {
    fn walk(&mut self) -> &mut Walk<'a> {
        &mut self.walk
    }

    fn run(&mut self) -> ControlFlow<()> {
        self.explore()
    }

    fn memory(&mut self) -> usize {
        self.nodes_memory() + self.order.memory() + self.full.memory()
    }
}

impl<'a> ContextSearch<'a> for PublishedConstraints<'a> {
    type Backtrack = Vec<ProcessId>;

    fn parts(&mut self) -> (&mut Walk<'a>, &mut Vec<Node>) {
        (&mut self.walk, &mut self.nodes)
    }

    fn size(backtrack: &Vec<ProcessId>) -> usize {
        backtrack.len()
    }

    fn back_to(&mut self, level: usize) {
        self.walk.back_to(level);
        self.order.truncate(level);
        self.full.truncate(level);
        self.blocks.truncate(level);
    }

    fn enter(&mut self, level: usize) -> ControlFlow<()> {
        let ending = if let Some(ending) = self.walk.ending_here() {
            ending
        } else {
            let (node, walk) = (&self.nodes[level], &self.walk);
            let awake = |&p: &ProcessId| !node.sleep.sleeps_altogether(p, walk.run.alternatives(p));
            let awake: Vec<ProcessId> = walk.enabled().iter().filter(awake).collect();
            if let Some(process) = self.chance.pick(self.walk.run.names(), &awake) {
                self.nodes[level].backtrack.push(process);
                return ControlFlow::Continue(());
            }
            Ending::Blocked
        };
        self.walk.end(ending)?;
        self.race_waiting();
        ControlFlow::Continue(())
    }

    fn next(&mut self) -> Option<(ProcessId, u32)> {
        let ContextNode { backtrack, sleep, outcomes } = self.nodes.last_mut()?;
        let (walk, chance) = (&self.walk, &mut self.chance);
        let awake = |p: &&ProcessId| !sleep.sleeps_altogether(**p, walk.run.alternatives(**p));
        let next = || {
            let awake: Vec<ProcessId> = backtrack.iter().filter(awake).copied().collect();
            chance.pick(walk.run.names(), &awake)
        };
        outcomes.advance(walk, next, |p, c| sleep.sleeps(p, c))
    }

    /// Lines 5-18.
    fn take(&mut self, process: ProcessId, choice: u32) -> ControlFlow<()> {
        let level = self.nodes.len() - 1;
        let block = self.walk.run.constraints().and_then(|constraints| constraints.block(process));
        let commuting = self.commuting_sleepers(level, process, block);
        self.walk.step(process, choice)?;
        let races = self.races(level, block);
        self.blocks.push(block);
        for race in races {
            self.reverse(race.e, process, Some(level));
            self.put_to_sleep(race, level);
        }
        let (accesses, mut asleep) = (self.walk.trace.accesses(level), Vec::new());
        for (at, sequence) in self.nodes[level].sleep.0.iter().enumerate() {
            let behind = sequence.behind(process, choice, accesses);
            asleep.extend(behind.or_else(|| commuting.contains(&at).then(|| sequence.clone())));
        }
        if self.walk.progress_due {
            let branches = self.nodes.iter().map(|node| (node.outcomes.begun - 1, node.backtrack.len()));
            self.walk.report_progress(branches)?;
            self.note_memory()?;
        }
        self.visit(Sleeping(asleep))
    }

    fn taken(&mut self, _: usize) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn reverse(&mut self, e: usize, q: ProcessId, second: Option<usize>) {
        let initials = self.order.initials(&self.walk.trace, e, q, second);
        if !initials.iter().any(|process| self.nodes[e].backtrack.contains(process)) {
            let picked = self.chance.pick(self.walk.run.names(), &initials);
            self.nodes[e].backtrack.extend(picked);
        }
    }
}

impl PublishedConstraints<'_> {
    /// Lines 6-9 for the last step: its races, but for those that are dropped.
    fn races(&mut self, last: usize, block: Option<u32>) -> Vec<Race> {
        self.full.push(&self.walk.trace, |_| true);
        let (mut past, mut races) = (self.order.start(), Vec::new());
        for e in (0..last).rev() {
            if past.has(e) {
                continue;
            }
            match Pair::of(&self.walk.trace, e, last) {
                Pair::Apart => {}
                Pair::InOrder => self.order.add(&mut past, e),
                Pair::Conflict { awaited } => {
                    let inferred: Vec<usize> = (e + 1..last).filter(|&k| past.has(k)).collect();
                    let touched: Vec<usize> = (e + 1..last).filter(|&k| self.full.before(k, last)).collect();
                    let (u, (commutes, uniformly)) = match self.ask(e, &inferred, last, block) {
                        Some(answer) => (inferred, answer),
                        None if inferred == touched => (touched, (false, false)),
                        None => {
                            let answer = self.ask(e, &touched, last, block).unwrap_or_default();
                            (touched, answer)
                        }
                    };
                    if !uniformly {
                        self.order.add(&mut past, e);
                        races.extend((!awaited).then_some(Race { e, u, commutes }));
                    }
                }
            }
        }
        self.order.finish(past);
        if let Some(guard) = self.walk.trace.guard(last) {
            let (trace, process) = (&self.walk.trace, self.walk.trace.process(last));
            let writers = self.order.writers(trace, process, trace.before(last), guard);
            let holds = |e: &usize| *e < last && self.walk.run.guard_holds_at(guard.id, *e);
            let known = |e: &usize| races.iter().any(|race| race.e == *e);
            let new: Vec<usize> = writers.into_iter().filter(|e| holds(e) && !known(e)).collect();
            races.extend(new.into_iter().map(|e| Race { e, u: Vec::new(), commutes: false }));
        }
        races
    }

    /// Whether `e` and the last step commute behind `u`, and whether they do so from then on; none if `u` does not lead
    /// to where both are pending. The run is on the trace again afterwards.
    fn ask(&mut self, e: usize, u: &[usize], last: usize, block: Option<u32>) -> Option<(bool, bool)> {
        let Walk { trace, run, .. } = &mut self.walk;
        let constraints = run.constraints()?;
        let (first, second) = self.blocks[e].zip(block)?;
        if constraints.commute(first, second) == Commutes::Always {
            return Some((true, true));
        }
        let processes = [trace.process(e), trace.process(last)];
        let steps: Vec<(ProcessId, u32)> = u.iter().map(|&k| (trace.process(k), trace.choice(k))).collect();
        let reached = self.walk.probe(e, steps.into_iter()).is_some();
        let asked = self.walk.run.constraints().filter(|_| reached).and_then(|constraints| {
            if processes.map(|process| constraints.block(process)) != [Some(first), Some(second)] {
                return None;
            }
            // Whoever creates what is created: definition 6.
            let alike = constraints.commute_unless(first, second, &mut |_| false);
            let commutes = alike != Alike::Unknown || constraints.commute(first, second) != Commutes::Unknown;
            Some((commutes, commutes && constraints.commute_beside(first, second, processes)))
        });
        self.walk.back_to(last + 1);
        asked
    }

    /// Lines 11-14: puts `u.p.e` to sleep before `e` if a constraint holds, else what leads to the same state.
    fn put_to_sleep(&mut self, Race { e, u, commutes }: Race, last: usize) {
        let trace = &self.walk.trace;
        if (e..=last).any(|k| trace.alternatives(k) > 1) {
            // In another order there may be another number of outcomes: the paper has no such steps.
            return;
        }
        let positions: Vec<usize> = if commutes {
            u.into_iter().chain([last, e]).collect()
        } else {
            let after = |k: &usize| *k < last && self.order.before(e, *k);
            let v = (e + 1..=last).filter(|k| !after(k));
            v.chain([e]).chain((e + 1..last).filter(after)).collect()
        };
        let events: Vec<Event> = positions.iter().map(|&k| Event::at(trace, k)).collect();
        let is_prefix = |sequence: &Sequence| {
            let (rest, mut events) = (sequence.rest(), events.iter());
            rest.iter().all(|event| events.next().is_some_and(|other| other.is(event.process, event.choice)))
        };
        if self.nodes[e].sleep.0.iter().any(is_prefix) {
            return;
        }
        let steps: Vec<(ProcessId, u32)> = events.iter().map(|event| (event.process, event.choice)).collect();
        let leads_there = commutes || {
            let here = Reached::by(&*self.walk.run);
            elsewhere(&mut self.walk, e, &steps, |run, _| Reached::by(run)).is_some_and(|there| there == here)
        };
        if leads_there {
            self.nodes[e].sleep.0.push(Sequence::new(events.into()));
        }
    }

    /// Line 17: the places of the sleeping events that are independent of a step from now on.
    fn commuting_sleepers(&mut self, level: usize, process: ProcessId, block: Option<u32>) -> Vec<usize> {
        let Some((first, constraints)) = block.zip(self.walk.run.constraints()) else { return Vec::new() };
        let single = |(at, sequence): (usize, &Sequence)| match sequence.rest() {
            [event] if event.process != process => Some((at, event.process)),
            _ => None,
        };
        let singles = self.nodes[level].sleep.0.iter().enumerate().filter_map(single);
        let commutes = |&(_, sleeper): &(usize, ProcessId)| {
            let second = constraints.block(sleeper);
            second.is_some_and(|second| constraints.commute_beside(first, second, [process, sleeper]))
        };
        singles.filter(commutes).map(|(at, _)| at).collect()
    }
}
