//! `source+constraints`: what paper 000 aims at (CAV 2018, Albert, Gomez-Zamalloa, Isabel, Rubio), sound and without
//! stored states: Source-DPOR's search with sleep sets, in which *independence constraints*, conditions under which
//! two blocks of code commute, save executions.
//!
//! The paper drops a race if a constraint holds and nothing to come can change that (line 9), puts to sleep what
//! commutes for the moment (lines 11-12), and lets sleepers sleep on (line 17). Each of these loses behaviours:
//! corpus/cx07.maz and cx08.maz as printed, corpus/cx19.maz with line 17 alone, even if the races of everybody
//! enabled are reversed at every node. The last two hide races: what is cut would have led to the same *state* as
//! what was explored, not to the same trace, and races of steps behind the cut are met by nobody. Where we differ:
//!
//! * There are no races. Each node knows the records of all steps below it, as in `convergent`, and its set of
//!   processes to explore grows until it is persistent with respect to them. A process that commutes with a step
//!   wherever it could come before it need not be in it (line 9, as it is sound: [`Edge`]).
//! * **Who sleeps carries the records of what was found behind its step.** To take the step would lead to a state
//!   that was explored elsewhere; so what could come behind it is known without taking it, and conflicts with what
//!   was done since. With that, a sleeper may sleep on behind any step that it commutes with in the present state
//!   (lines 11-12 and 17), and what is below a cut is known to all nodes above it.
//! * Where those who sleep need nobody who is awake, the execution is cut at once.
//!
//! Names are kept: steps that commute but for names of what they create are treated as `convergent+constraints`
//! does, in the growth of persistent sets, and wake each other as sleepers. Where a loop closes a round, the search
//! begins again without constraints, for who is stopped depends on the order of steps that touch the same.
//! docs/soundness.md has the proof.

use std::ops::ControlFlow;
use std::rc::Rc;

use mazurka_program::{Commutes, Location, ProcessId, ProcessSet};

use crate::convergent::Enabling;
use crate::convergent::constraints::{Edge, Partners};
use crate::convergent::guess::{Guesses, Here};
use crate::convergent::records::{Record, RecordId, RecordSet, Records};
use crate::frame::Search;
use crate::walk::Walk;
use crate::{Ending, Order, Summary};

/// How many steps are run ahead of the search.
const SCOUTED: usize = 10_000;

crate::rules::switches! {
    /// The switches of the repairs.
    Repairs {
        /// Who sleeps in `source+constraints` carries the records of what was found behind its step; taken out, its
        /// step alone is known (CX19).
        carry_records,
        /// A process that is needed and sleeps needs those who conflict with it; taken out, nobody.
        need_for_sleepers,
        /// Steps commute if they do so in all states to come; taken out, if they do so in the present one.
        uniformly,
        /// Who waited for a step may come before it, if others that commute with it may enable that; taken out, not.
        enabled_by_others,
        /// The partners of who created what is needed are needed; taken out, not.
        need_partners,
        /// A sleeper sleeps on only behind steps that it commutes with; taken out, behind all that constraints are
        /// asked about.
        commute_asleep,
    }
}

pub(crate) fn search(walk: Walk<'_>) -> Summary {
    let (partners, records, guesses, nodes) = Default::default();
    SourceConstraints { walk, constrained: true, closed_round: false, partners, records, guesses, nodes }
        .summary()
}

/// An outcome of a process's step that sleeps: where it leads was explored elsewhere.
#[derive(Clone)]
struct Sleeper {
    process: ProcessId,
    choice: u32,
    step: RecordId,
    /// The records of what was found behind the step.
    below: Rc<RecordSet>,
}

/// A node of the stack.
#[derive(Default)]
struct Node {
    enabled: ProcessSet,
    /// Who waits, with the location of the guard if it has one.
    waiting: Vec<(ProcessId, Option<Location>)>,
    /// `Z`.
    asleep: Vec<Sleeper>,
    /// `T`: the persistent set, in the order in which it is explored. Those of it who sleep are not.
    persistent: Vec<ProcessId>,
    /// How many of `T` are behind us.
    done: usize,
    /// The outcomes of the step of the process at hand: how many, the one that was begun with, and how many have been
    /// begun.
    alternatives: u32,
    choice: u32,
    tried: u32,
    /// What has been explored from here.
    explored: Vec<Sleeper>,
    /// The step that is being explored.
    step: Option<(ProcessId, u32, RecordId)>,
    /// `R`: the records of what can come from here.
    records: RecordSet,
}

impl Node {
    fn sleeper(&self, process: ProcessId, choice: u32) -> Option<&Sleeper> {
        self.asleep.iter().find(|sleeper| (sleeper.process, sleeper.choice) == (process, choice))
    }

    /// Whether a process waits for a guard that a record writes.
    fn waits_for(&self, process: ProcessId, record: &Record) -> bool {
        let guard =
            self.waiting.iter().find(|(waiting, _)| *waiting == process).and_then(|(_, guard)| *guard);
        guard.is_some_and(|guard| record.writes(guard))
    }
}

struct SourceConstraints<'a> {
    walk: Walk<'a>,
    /// Whether constraints are asked.
    constrained: bool,
    /// Whether somebody has closed a round though they are.
    closed_round: bool,
    partners: Partners,
    records: Records,
    guesses: Guesses,
    nodes: Vec<Node>,
}

impl<'a> Search<'a> for SourceConstraints<'a> {
    fn walk(&mut self) -> &mut Walk<'a> {
        &mut self.walk
    }

    fn run(&mut self) -> ControlFlow<()> {
        let explored = self.explore();
        if !self.closed_round {
            return explored;
        }
        self.walk.begin_again();
        self.nodes.clear();
        (self.constrained, self.closed_round) = (false, false);
        self.explore()
    }

    fn memory(&mut self) -> usize {
        let set = |set: &RecordSet| set.words().len() * 8;
        let below = |sleepers: &[Sleeper]| {
            sleepers.iter().map(|sleeper| size_of::<Sleeper>() + set(&sleeper.below)).sum::<usize>()
        };
        let node = |node: &Node| size_of::<Node>() + set(&node.records) + below(&node.explored);
        self.records.memory() + self.nodes.iter().map(node).sum::<usize>()
    }
}

impl SourceConstraints<'_> {
    fn explore(&mut self) -> ControlFlow<()> {
        self.scout()?;
        self.enter(Vec::new())?;
        while let Some(level) = self.nodes.len().checked_sub(1) {
            self.walk.back_to(level);
            match self.next(level) {
                Some((process, choice)) => self.take(level, process, choice)?,
                None => self.leave()?,
            }
        }
        ControlFlow::Continue(())
    }

    /// Runs the program once, to guess what processes do. It is no part of the search.
    fn scout(&mut self) -> ControlFlow<()> {
        while !self.walk.too_deep()
            && self.walk.trace.len() < SCOUTED
            && let Some(process) = self.walk.pick(|_| true)
        {
            self.try_step(process, 0)?;
        }
        self.walk.back_to(0);
        ControlFlow::Continue(())
    }

    /// Takes a step to see what it does.
    fn try_step(&mut self, process: ProcessId, choice: u32) -> ControlFlow<(), RecordId> {
        let block = self.block(process);
        self.walk.try_step(process, choice)?;
        if self.constrained && self.walk.stops_at_rounds {
            self.closed_round = true;
            return ControlFlow::Break(());
        }
        let record = self.records.number(Record::of(process, block, self.walk.label()));
        self.guesses.learn(&self.walk.trace, record);
        ControlFlow::Continue(record)
    }

    /// The block that a process has pending.
    fn block(&mut self, process: ProcessId) -> Option<u32> {
        if !self.constrained {
            return None;
        }
        self.walk.run.constraints()?.block(process)
    }

    /// The next outcome to be explored from the last node. Those that sleep have been, elsewhere.
    fn next(&mut self, level: usize) -> Option<(ProcessId, u32)> {
        loop {
            let node = &mut self.nodes[level];
            let &process = node.persistent.get(node.done)?;
            if node.tried == 0 {
                node.alternatives = self.walk.run.alternatives(process);
                node.choice = self.walk.choice_at(0, node.alternatives);
            }
            if node.tried == node.alternatives {
                (node.done, node.tried) = (node.done + 1, 0);
                continue;
            }
            let choice = (node.choice + node.tried) % node.alternatives;
            node.tried += 1;
            let Some(sleeper) = node.sleeper(process, choice).cloned() else {
                return Some((process, choice));
            };
            self.close_edge(level, sleeper.step, sleeper.below.words());
        }
    }

    /// Takes a step, and enters the node behind it.
    fn take(&mut self, level: usize, process: ProcessId, choice: u32) -> ControlFlow<()> {
        let step = self.try_step(process, choice)?;
        let asleep = self.asleep_behind(level, process, step);
        if self.walk.trace.len() == level {
            self.walk.try_step(process, choice)?;
        }
        self.walk.counts.events += 1;
        self.nodes[level].step = Some((process, choice, step));
        if self.walk.progress_due {
            let branches = self.nodes.iter().map(|node| (node.done, node.persistent.len()));
            self.walk.report_progress(branches)?;
            self.note_memory()?;
        }
        self.enter(asleep)
    }

    /// `Z'`: of those that sleep or have been explored, those that the step does not wake.
    fn asleep_behind(&mut self, level: usize, process: ProcessId, step: RecordId) -> Vec<Sleeper> {
        let node = &self.nodes[level];
        let others = node.asleep.iter().chain(&node.explored).filter(|sleeper| sleeper.process != process);
        let others: Vec<Sleeper> = others.cloned().collect();
        others.into_iter().filter(|sleeper| !self.wakes(level, process, step, sleeper)).collect()
    }

    /// Whether a step wakes a sleeper: it depends on its step, and does not commute with it here. The run may be left
    /// where the step is pending.
    fn wakes(&mut self, level: usize, process: ProcessId, step: RecordId, sleeper: &Sleeper) -> bool {
        let rules = self.walk.options.rules;
        if !rules.shared.wake || !self.records.dependent(sleeper.step, step) {
            return false;
        }
        if !self.constrained {
            return true;
        }
        self.walk.back_to(level);
        let Some(constraints) = self.walk.run.constraints() else { return true };
        let (Some(first), Some(second)) = (constraints.block(process), constraints.block(sleeper.process))
        else {
            return true;
        };
        rules.source_constraints.commute_asleep && constraints.commute(first, second) == Commutes::Unknown
    }

    /// Enters the present state: ends the execution, or begins to explore what follows.
    fn enter(&mut self, asleep: Vec<Sleeper>) -> ControlFlow<()> {
        let (mut node, stopped) = (Node { asleep, ..Node::default() }, self.walk.stops.all());
        node.enabled = self.walk.enabled().clone();
        self.walk.run.waiting(&mut |process, guard| {
            if !stopped.iter().any(|stopped| stopped.process == process) {
                node.waiting.push((process, guard.map(|guard| guard.location)));
            }
        });
        let level = self.nodes.len();
        let ending = self.walk.ending_here();
        if ending.is_some() && self.walk.options.rules.shared.waiting_races {
            self.note_waiting(&mut node);
        }
        self.nodes.push(node);
        let ending = match ending {
            Some(ending) => ending,
            None if self.sleepers_suffice(level) => Ending::Blocked,
            None => {
                let first = self.first(level);
                self.nodes[level].persistent.extend(first);
                return ControlFlow::Continue(());
            }
        };
        self.walk.end(ending)
    }

    /// What is pending at the end may conflict with what was done above.
    fn note_waiting(&mut self, node: &mut Node) {
        for &(process, guard) in &node.waiting {
            if let Some(guard) = guard {
                let block = self.block(process);
                node.records.insert(self.records.number(Record::waiting(process, block, guard)));
            }
        }
    }

    /// Whether some processes that sleep need nobody who is awake: then nothing is left to be explored.
    fn sleepers_suffice(&mut self, level: usize) -> bool {
        let node = &self.nodes[level];
        let asleep: Vec<ProcessId> =
            node.enabled.iter().filter(|&process| self.is_asleep(level, process)).collect();
        asleep.into_iter().any(|first| {
            let node = &mut self.nodes[level];
            node.persistent = vec![first];
            node.records.clear();
            let mut done = 0;
            while let Some(&process) = self.nodes[level].persistent.get(done)
                && self.is_asleep(level, process)
            {
                let sleeping = self.nodes[level].asleep.iter().filter(|sleeper| sleeper.process == process);
                for sleeper in sleeping.cloned().collect::<Vec<_>>() {
                    self.close_edge(level, sleeper.step, sleeper.below.words());
                }
                done += 1;
            }
            let node = &mut self.nodes[level];
            node.done = done;
            let suffice = done == node.persistent.len();
            if !suffice {
                (node.persistent, node.records, node.done) = Default::default();
            }
            suffice
        })
    }

    /// Whether each outcome of a process's step sleeps.
    fn is_asleep(&self, level: usize, process: ProcessId) -> bool {
        let node = &self.nodes[level];
        let mut sleeping = node.asleep.iter().filter(|sleeper| sleeper.process == process).peekable();
        sleeping.peek().is_some() && sleeping.count() as u32 == self.walk.run.alternatives(process)
    }

    /// What could come from the last node is known.
    fn leave(&mut self) -> ControlFlow<()> {
        let Some(node) = self.nodes.pop() else { return ControlFlow::Continue(()) };
        let below = Rc::new(node.records);
        if let Some(level) = self.nodes.len().checked_sub(1)
            && let Some((process, choice, step)) = self.nodes[level].step.take()
        {
            self.close_edge(level, step, below.words());
            let carries = self.walk.options.rules.source_constraints.carry_records;
            let known = if carries { below.clone() } else { Rc::default() };
            self.nodes[level].explored.push(Sleeper { process, choice, step, below: known });
        }
        // To note what is known may take longer than many steps.
        self.walk.worked(below.words().len());
        if self.walk.look_is_due() { self.walk.look_between() } else { ControlFlow::Continue(()) }
    }

    /// What can come behind a step from a node is known: `T` grows by those whose steps there conflict with it.
    fn close_edge(&mut self, level: usize, step: RecordId, below: &[u64]) {
        let mut asked = ProcessSet::new();
        for process in self.conflicts(level, step, below) {
            self.need(level, process, (step, below), &mut asked);
        }
        let records = &mut self.nodes[level].records;
        records.add_all(below);
        records.insert(step);
    }

    /// Whose steps below conflict with a step, and could come before it.
    fn conflicts(&mut self, level: usize, step: RecordId, below: &[u64]) -> Vec<ProcessId> {
        let rules = self.walk.options.rules.source_constraints;
        let dependents = self.records.dependents(below, step);
        if dependents.is_empty() {
            return Vec::new();
        }
        let mut left = None;
        if self.constrained {
            self.walk.back_to(level);
            let (records, partners) = (&self.records, &mut self.partners);
            let mut edge = Edge { records, partners, step, below, uniformly: rules.uniformly };
            left = edge.not_commuting(&mut *self.walk.run, &dependents);
        }
        let (records, node) = (&self.records, &self.nodes[level]);
        let waits = |record: &RecordId| {
            records.waited_for(*record, step)
                || node.waits_for(records.get(*record).process, records.get(step))
        };
        // Where some were left out, others may enable who waits.
        let whoever_waits = left.is_some() && rules.enabled_by_others;
        let left = left.unwrap_or(dependents).into_iter().filter(|record| whoever_waits || !waits(record));
        left.map(|record| records.get(record).process).collect()
    }

    /// `need(q, R)`: a step of `q` may come before those of `T`. If `q` is enabled, `T` must have it, asleep or not;
    /// else some process that can create or enable it.
    fn need(&mut self, level: usize, process: ProcessId, edge: (RecordId, &[u64]), asked: &mut ProcessSet) {
        let rules = self.walk.options.rules;
        let mut rest = vec![process];
        while let Some(q) = rest.pop() {
            if asked.contains(q) || self.nodes[level].persistent.contains(&q) {
                continue;
            }
            asked.insert(q);
            if !self.nodes[level].enabled.contains(q) {
                let partners = rules.source_constraints.need_partners.then_some(&self.partners);
                let waiting = &self.nodes[level].waiting;
                let created = self.constrained.then_some(edge.0);
                let enabling = Enabling { records: &self.records, partners, waiting, edge: created };
                enabling.of(q, edge.1, &mut rest);
            } else if rules.source_constraints.need_for_sleepers || !self.is_asleep(level, q) {
                self.nodes[level].persistent.push(q);
            }
        }
    }

    /// The first process of `T`: one that is awake.
    fn first(&mut self, level: usize) -> Option<ProcessId> {
        let enabled = self.nodes[level].enabled.iter();
        let mut awake: ProcessSet = enabled.filter(|&process| !self.is_asleep(level, process)).collect();
        if self.walk.options.order == Order::Natural {
            let node = &self.nodes[level];
            let here = Here { trace: &self.walk.trace, enabled: &node.enabled, waiting: &node.waiting };
            awake = self.guesses.best(&awake, here, &mut self.records);
        }
        self.walk.pick(|process| awake.contains(process))
    }
}
