//! `source+constraints`: Constrained DPOR, Algorithm 1 of paper 000 (Albert, Gomez-Zamalloa, Isabel, Rubio, CAV
//! 2018), as far as it is sound. The paper is Source-DPOR with *independence constraints*: conditions on the state
//! under which two blocks of code commute. As printed it drops a race if a constraint holds and nothing to come
//! can change that (line 9), puts to sleep what commutes for the moment (lines 11-12), and lets sleepers sleep on
//! (line 17). Each of these loses behaviours: corpus/cx07.maz and cx08.maz as printed, and corpus/cx19.maz with
//! line 17 alone, even if the races of everybody enabled are reversed at every node. There a step sleeps on since
//! it commutes with one that it touches the same as; so the two orders lead to one state, but they are two traces,
//! and the race of the *next* step of the sleeper, in the one that is cut, is never met.
//!
//! What is left is Source-DPOR over a smaller dependence: pairs of blocks that commute in *every* state are taken
//! out of it, in races and in sleep sets alike. That is an independence as any other, and the paper's theorem for
//! Source-DPOR holds. Constraints that hold in some states only are for `convergent+constraints`.
//!
//! Where a guard waits for a location, its writers are dependent whatever constraints say: what the guard would
//! read without one of them must be what it read before. A guard that is met after a pair was taken out has the
//! search begin again.

use std::ops::ControlFlow;

use mazurka_program::{Access, Commutes, Guard, Location, ProcessId, ProcessSet};
use mazurka_trace::dependence::Awaited;

use crate::frame::{ContextNode, ContextSearch, Search};
use crate::pair_order::PairOrder;
use crate::source_context::sequence::Sleeping;
use crate::walk::Walk;
use crate::{Ending, Summary};

crate::rules::switches! {
    /// The switches of the repairs.
    Repairs {
        /// `source+constraints` lets a sleeper sleep on only if it commutes with a step in every state; taken
        /// out, if it does so in all states to come (line 17, CX19).
        sleep_always,
        /// `source+constraints` takes the writers of a guard's location to be dependent; taken out, not those
        /// that commute.
        keep_guards,
    }
}

pub(crate) fn search(walk: Walk<'_>) -> Summary {
    let (nodes, order, blocks, awaited) = Default::default();
    let (has_omitted, begins_again) = (false, false);
    SourceConstraints { walk, nodes, order, blocks, awaited, has_omitted, begins_again }.summary()
}

struct SourceConstraints<'a> {
    walk: Walk<'a>,
    nodes: Vec<ContextNode<ProcessSet>>,
    order: PairOrder,
    /// The blocks that the events of the trace were.
    blocks: Vec<Option<u32>>,
    /// What guards wait for.
    awaited: Awaited,
    /// Whether some pair was taken out of the dependence.
    has_omitted: bool,
    begins_again: bool,
}

impl<'a> Search<'a> for SourceConstraints<'a> {
    fn walk(&mut self) -> &mut Walk<'a> {
        &mut self.walk
    }

    fn run(&mut self) -> ControlFlow<()> {
        loop {
            let explored = self.explore();
            if !self.begins_again {
                return explored;
            }
            self.walk.begin_again();
            self.nodes.clear();
            self.order.truncate(0);
            self.blocks.clear();
            (self.has_omitted, self.begins_again) = (false, false);
        }
    }

    fn memory(&mut self) -> usize {
        self.nodes_memory() + self.order.memory() + self.blocks.capacity() * size_of::<Option<u32>>()
    }
}

impl<'a> ContextSearch<'a> for SourceConstraints<'a> {
    type Backtrack = ProcessSet;

    fn parts(&mut self) -> (&mut Walk<'a>, &mut Vec<ContextNode<ProcessSet>>) {
        (&mut self.walk, &mut self.nodes)
    }

    fn size(backtrack: &ProcessSet) -> usize {
        backtrack.len()
    }

    fn back_to(&mut self, level: usize) {
        self.walk.back_to(level);
        self.order.truncate(level);
        self.blocks.truncate(level);
    }

    fn enter(&mut self, level: usize) -> ControlFlow<()> {
        let ending = if let Some(ending) = self.walk.ending_here() {
            ending
        } else {
            let (node, walk) = (&self.nodes[level], &self.walk);
            let awake = |p: &ProcessId| !node.sleep.sleeps_altogether(*p, walk.run.alternatives(*p));
            let awake: ProcessSet = walk.enabled().iter().filter(awake).collect();
            if let Some(process) = self.walk.pick(|p| awake.contains(p)) {
                self.nodes[level].backtrack.insert(process);
                return ControlFlow::Continue(());
            }
            Ending::Blocked
        };
        self.walk.end(ending)?;
        self.race_those_who_wait()
    }

    fn next(&mut self) -> Option<(ProcessId, u32)> {
        let ContextNode { backtrack, sleep, outcomes } = self.nodes.last_mut()?;
        let walk = &self.walk;
        let awake = |p: &ProcessId| !sleep.sleeps_altogether(*p, walk.run.alternatives(*p));
        outcomes.advance(walk, || backtrack.iter().find(awake), |p, c| sleep.sleeps(p, c))
    }

    /// Takes a step, reverses its races, and enters the node behind it.
    fn take(&mut self, process: ProcessId, choice: u32) -> ControlFlow<()> {
        let level = self.nodes.len() - 1;
        let block = self.block(process);
        let asleep = self.independent_sleepers(level, process, block);
        self.walk.step(process, choice)?;
        self.race(level, block)?;
        let (trace, awaited) = (&self.walk.trace, &self.awaited);
        let keep_guards = self.walk.options.rules.source_constraints.keep_guards;
        let accesses = trace.accesses(level);
        let sleeping = self.nodes[level].sleep.0.iter().enumerate().filter_map(|(at, sequence)| {
            let independent = asleep.contains(&at)
                && !(keep_guards && share_awaited(&sequence.rest()[0].accesses, accesses, awaited));
            sequence.behind(process, choice, accesses).or_else(|| independent.then(|| sequence.clone()))
        });
        let sleep = Sleeping(sleeping.collect());
        if self.walk.progress_due {
            let nodes = self.nodes.iter();
            let branches = nodes.map(|node| (node.outcomes.begun - 1, node.backtrack.len()));
            self.walk.report_progress(branches)?;
            self.note_memory()?;
        }
        self.visit(sleep)
    }

    fn taken(&mut self, _: usize) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn reverse(&mut self, e: usize, q: ProcessId, second: Option<usize>) {
        let initials = self.order.initials(&self.walk.trace, e, q, second);
        let node = &mut self.nodes[e];
        if !initials.iter().any(|&p| node.backtrack.contains(p)) {
            // Any initial will do; one that sleeps costs nothing.
            let asleep = initials.iter().find(|&&p| node.sleep.sleeps_altogether(p, 1));
            node.backtrack.insert(*asleep.unwrap_or(&initials[0]));
        }
    }
}

impl SourceConstraints<'_> {
    fn block(&mut self, process: ProcessId) -> Option<u32> {
        self.walk.run.constraints()?.block(process)
    }

    /// Enters the last event of the trace into the order, and gives its races.
    fn enter_event(&mut self, block: Option<u32>) -> Vec<usize> {
        let SourceConstraints { walk, order, blocks, awaited, has_omitted, .. } = self;
        let (trace, second) = (&walk.trace, blocks.len());
        let keep_guards = walk.options.rules.source_constraints.keep_guards;
        let mut constraints = walk.run.constraints();
        let races = order.push(trace, |first| {
            let omitted = match (&mut constraints, blocks[first], block) {
                (Some(constraints), Some(one), Some(other)) => {
                    let (a, b) = (trace.accesses(first), trace.accesses(second));
                    !(keep_guards && share_awaited(a, b, awaited))
                        && constraints.commute(one, other) == Commutes::Always
                }
                _ => false,
            };
            *has_omitted |= omitted;
            !omitted
        });
        blocks.push(block);
        races
    }

    /// Notes what a guard waits for.
    fn note_guard(&mut self, guard: Guard) -> ControlFlow<()> {
        let is_new = self.awaited.insert(guard.location);
        if is_new && self.has_omitted && self.walk.options.rules.source_constraints.keep_guards {
            self.begins_again = true;
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    /// Reverses the races of the last step.
    fn race(&mut self, last: usize, block: Option<u32>) -> ControlFlow<()> {
        let process = self.walk.trace.process(last);
        for e in self.enter_event(block) {
            self.reverse(e, process, Some(last));
        }
        if let Some(guard) = self.walk.trace.guard(last) {
            self.note_guard(guard)?;
            let previous = self.walk.trace.before(last);
            for e in self.order.writers(&self.walk.trace, process, previous, guard) {
                if e < last && self.walk.run.guard_holds_at(guard.id, e) {
                    self.reverse(e, process, Some(last));
                }
            }
        }
        ControlFlow::Continue(())
    }

    /// Those who wait race with every writer of their guard.
    fn race_those_who_wait(&mut self) -> ControlFlow<()> {
        let mut waiting = Vec::new();
        self.walk.run.waiting(&mut |process, guard| waiting.extend(guard.map(|guard| (process, guard))));
        for (process, guard) in waiting {
            self.note_guard(guard)?;
            let previous = self.walk.trace.previous(process);
            for e in self.order.writers(&self.walk.trace, process, previous, guard) {
                if self.walk.run.guard_holds_at(guard.id, e) {
                    self.reverse(e, process, None);
                }
            }
        }
        ControlFlow::Continue(())
    }

    /// The places of the sleeping events that commute with the step of a process in every state.
    fn independent_sleepers(&mut self, level: usize, process: ProcessId, block: Option<u32>) -> Vec<usize> {
        let always = self.walk.options.rules.source_constraints.sleep_always;
        let Some((first, constraints)) = block.zip(self.walk.run.constraints()) else { return Vec::new() };
        let sleepers = self.nodes[level].sleep.0.iter().map(|sequence| sequence.rest()[0].process);
        let mut independent = |sleeper: ProcessId| {
            sleeper != process
                && constraints.block(sleeper).is_some_and(|second| match always {
                    true => constraints.commute(first, second) == Commutes::Always,
                    false => constraints.commute_uniformly(first, second, process),
                })
        };
        sleepers.enumerate().filter(|&(_, sleeper)| independent(sleeper)).map(|(at, _)| at).collect()
    }
}

/// Whether two steps both touch a location that some guard waits for.
fn share_awaited(first: &[Access], second: &[Access], awaited: &Awaited) -> bool {
    let waits = |location: Location| awaited.contains(location);
    let touches =
        |location: Location| second.iter().any(|access| access.locations().any(|at| at == location));
    first.iter().flat_map(|access| access.locations()).any(|location| waits(location) && touches(location))
}
