//! `convergent+constraints`: steps that commute need not be tried in both orders, though they touch the same.
//! Ours, with the independence constraints of paper 000 (CAV'18).
//!
//! That paper drops races on the strength of constraints, and loses behaviours (corpus/cx07.maz, cx08.maz). Here
//! they serve in one place: `T` need not grow by a `q` whose step below conflicts with that of `p`, if the two
//! commute in every state that can be reached from `s` without `p`. Then `p` can be moved to the front of
//! whatever others do, which is all that is asked of `T`. That they commute at `s` is not enough: `y = x`, `x +=
//! 2` and `r = y` lose a state.
//!
//! * Sleep sets go by what steps touch, and that has to be the same in both orders: footprints are static. A
//!   step that commutes with a sleeper's may change what others do next, and these would have woken it.
//! * A process that waits for what `p` writes may come before `p` after all, if something that commutes with `p`
//!   writes it too. So where constraints are used for a step, who waited for it counts as well.
//! * States have their names: a block is a piece of code with its arguments, and names a process or an object as
//!   the run does.
//!
//! docs/soundness.md has the proof.

use mazurka_program::{Commutes, ProcessId, ProcessSet};

use super::ConvergentSearch;
use super::records::RecordId;

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
        let p = self.records.get(step).process;
        self.walk.back_to(level);
        let constraints = self.walk.run.constraints()?;
        let first = constraints.block(p)?;
        let mut known: Vec<(u32, bool)> = Vec::new();
        let mut commute = |second: u32| {
            if let Some(&(_, commute)) = known.iter().find(|(block, _)| *block == second) {
                return commute;
            }
            let commute = match rules.uniformly {
                true => constraints.commute_uniformly(first, second, p),
                false => constraints.commute(first, second) != Commutes::Unknown,
            };
            known.push((second, commute));
            commute
        };
        let left: Vec<RecordId> = conflicts
            .iter()
            .copied()
            .filter(|&record| !self.records.get(record).block.is_some_and(&mut commute))
            .collect();
        if left.len() == conflicts.len() {
            return None;
        }
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
