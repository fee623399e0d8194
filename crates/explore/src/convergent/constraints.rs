//! `convergent+constraints`: steps that commute need not be tried in both orders, though they touch the same.
//! Ours, with the independence constraints of paper 000 (CAV'18).
//!
//! That paper drops races on the strength of constraints, and loses behaviours (corpus/cx07.maz, cx08.maz). Here
//! they serve in one place: `T` need not grow by a `q` whose step below conflicts with that of `p`, if the two
//! commute in every state that can be reached from `s` without `p`. Then `p` can be moved to the front of
//! whatever others do, which is all that is asked of `T`. That they commute at `s` is not enough: `y = x`, `x +=
//! 2` and `r = y` lose a state. It is enough if they do so by a constraint over locations that nothing below
//! writes but that very step: what others do without `p` before `q`'s step they do below `p`, too, and there it
//! was recorded.
//!
//! * Sleep sets go by what steps touch, and that has to be the same in both orders: footprints are static. A
//!   step that commutes with a sleeper's may change what others do next, and these would have woken it.
//! * A process that waits for what `p` writes may come before `p` after all, if something that commutes with `p`
//!   writes it too. So where constraints are used for a step, who waited for it counts as well.
//! * Two steps may commute but for names: who comes last creates something. Then they are *partners*: whoever
//!   needs what one of them created needs the other one too, for without `p` the other one may have created it
//!   (`corpus/abs/partners.abs`). What is not there yet wakes every sleeper that it touches the same as.
//! * States have their names: a block is a piece of code with its arguments, and names a process or an object as
//!   the run does.
//!
//! docs/soundness.md has the proof.

use std::collections::HashMap;

use mazurka_program::{Alike, Commutes, Constraints, ProcessId, ProcessSet, Run};

use super::ConvergentSearch;
use super::records::{RecordId, Records, members};

/// Processes whose steps were taken to commute but for the names of what they create.
#[derive(Default)]
pub(crate) struct Partners {
    classes: Vec<Vec<ProcessId>>,
    class_of: HashMap<ProcessId, usize>,
}

impl Partners {
    fn join(&mut self, one: ProcessId, other: ProcessId) {
        let (into, from) = (self.class(one), self.class(other));
        if into != from {
            let moved = std::mem::take(&mut self.classes[from]);
            self.class_of.extend(moved.iter().map(|&process| (process, into)));
            self.classes[into].extend(moved);
        }
    }

    fn class(&mut self, process: ProcessId) -> usize {
        *self.class_of.entry(process).or_insert_with(|| {
            self.classes.push(vec![process]);
            self.classes.len() - 1
        })
    }

    /// Those that may have created what a process created, itself among them.
    pub fn of(&self, process: ProcessId) -> &[ProcessId] {
        self.class_of.get(&process).map_or(&[], |&class| &self.classes[class])
    }
}

/// A step, and the records of what lies behind it.
pub(crate) struct Edge<'a> {
    pub records: &'a Records,
    pub partners: &'a mut Partners,
    pub step: RecordId,
    pub below: &'a [u64],
    /// Taken out, steps commute if they do so in the present state.
    pub uniformly: bool,
}

impl Edge<'_> {
    /// Of the records below that conflict with the step, those that don't commute with it; none if all don't. The
    /// run is where the step is pending.
    pub fn not_commuting(&mut self, run: &mut dyn Run, conflicts: &[RecordId]) -> Option<Vec<RecordId>> {
        let p = self.records.get(self.step).process;
        let constraints = run.constraints()?;
        let first = constraints.block(p)?;
        let mut left = Vec::new();
        for &record in conflicts {
            let alike = self.commutes_below(constraints, first, record);
            if alike == Alike::Renamed {
                self.partners.join(p, self.records.get(record).process);
            }
            if alike == Alike::Unknown {
                left.push(record);
            }
        }
        (left.len() < conflicts.len()).then_some(left)
    }

    /// Whether the step, a block, commutes with the block of a record from below it, in all states that can be
    /// reached without its process.
    fn commutes_below(&self, constraints: &mut dyn Constraints, first: u32, record: RecordId) -> Alike {
        let records = self.records;
        let p = records.get(self.step).process;
        let Some(second) = records.get(record).block else { return Alike::Unknown };
        let here = |commutes: bool| if commutes { Alike::Same } else { Alike::Unknown };
        if !self.uniformly {
            return here(constraints.commute(first, second) != Commutes::Unknown);
        }
        let is_once = constraints.is_once(second);
        let mut changes = |location| {
            let others = members(self.below)
                .filter(|&other| records.get(other).process != p && !(is_once && other == record));
            let mut others = others.map(|other| records.get(other));
            others.any(|other| other.writes(location))
        };
        match constraints.commute_unless(first, second, &mut changes) {
            Alike::Unknown => here(constraints.commute_uniformly(first, second, p)),
            alike => alike,
        }
    }
}

impl ConvergentSearch<'_> {
    /// Whether states are compared up to renaming.
    pub(super) fn renames(&mut self) -> bool {
        !self.constrained && self.walk.run.renaming().is_some()
    }

    /// The block that a process has pending.
    pub(super) fn block(&mut self, process: ProcessId) -> Option<u32> {
        if !self.constrained {
            return None;
        }
        self.walk.run.constraints()?.block(process)
    }

    /// Whose steps below conflict with the step of an edge, and could come before it.
    pub(super) fn conflicts(&mut self, level: usize, step: RecordId, below: &[u64]) -> Vec<ProcessId> {
        if self.constrained
            && let Some(processes) = self.not_commuting(level, step, below)
        {
            return processes;
        }
        let conflicts = self.records.reversible(below, step);
        let processes = conflicts.into_iter().map(|record| self.records.get(record).process);
        processes.filter(|&process| !self.waits_for(level, process, step)).collect()
    }

    /// Of those whose steps below conflict with the step of an edge, those that don't commute with it. None if
    /// all conflicts are as they would be without constraints.
    fn not_commuting(&mut self, level: usize, step: RecordId, below: &[u64]) -> Option<Vec<ProcessId>> {
        let conflicts = self.records.dependents(below, step);
        if conflicts.is_empty() {
            return None;
        }
        let rules = self.walk.options.rules.convergent;
        self.walk.back_to(level);
        let (records, partners) = (&self.records, &mut self.partners);
        let mut edge = Edge { records, partners, step, below, uniformly: rules.uniformly };
        let left = edge.not_commuting(&mut *self.walk.run, &conflicts)?;
        let left = left.into_iter().filter(|&record| {
            let process = self.records.get(record).process;
            let waited = self.records.waited_for(record, step) || self.waits_for(level, process, step);
            rules.enabled_by_others || !waited
        });
        Some(left.map(|record| self.records.get(record).process).collect())
    }

    /// With the repair taken out: the sleepers of the last node whose steps commute with that of a process.
    pub(super) fn commuting_sleepers(&mut self, process: ProcessId) -> ProcessSet {
        let mut commuting = ProcessSet::new();
        if !self.constrained || self.walk.options.rules.convergent.wake_by_footprints {
            return commuting;
        }
        let Some(node) = self.nodes.last() else { return commuting };
        let Some(constraints) = self.walk.run.constraints() else { return commuting };
        let Some(first) = constraints.block(process) else { return commuting };
        for sleeper in node.explored.iter().chain(&node.asleep) {
            let second = self.records.get(sleeper.step).block;
            if second.is_some_and(|second| constraints.commute_uniformly(first, second, process)) {
                commuting.insert(sleeper.process);
            }
        }
        commuting
    }
}
