//! `done`: what has been explored from the nodes of the stack, and the test of redundancy (definition 3).
//!
//! The paper keeps `done(E)` for each node and asks of each prefix `w` of `E = w.w'` whether some `p` of
//! `done(w)` is a weak initial of `w'.v`. Here a level inherits from the one below what its step does not
//! overtake for good, as sleep sets do, so that a level has all that can still be a weak initial. What was
//! overtaken by something that nobody has observed so far is kept with a mark, also when its own process has
//! gone on, and is judged with the whole of `w'.v`.

use mazurka_program::{Access, ProcessId};
use mazurka_trace::{Dependence, Trace};
use smallvec::SmallVec;

use super::sequence::{Conflicts, Mail, Observed};
use crate::Rules;
use crate::wakeup::{ExploredOutcome, Planned};

/// No position.
const NONE: u32 = u32::MAX;

/// An event that was explored.
#[derive(Clone, Copy, Debug)]
struct Explored {
    process: ProcessId,
    choice: u32,
    alternatives: u32,
    accesses: (u32, u32),
    /// How many events came before it.
    depth: u32,
    /// Where the present execution has taken it since.
    taken: u32,
    /// Whether something since is dependent on it if observed.
    unobserved: bool,
}

#[derive(Debug)]
struct Level {
    explored: u32,
    accesses: u32,
}

#[derive(Debug, Default)]
pub(super) struct DoneSets {
    levels: Vec<Level>,
    explored: Vec<Explored>,
    accesses: Vec<Access>,
}

impl DoneSets {
    /// Forgets everything but the root.
    pub fn reset(&mut self) {
        self.levels.clear();
        self.explored.clear();
        self.accesses.clear();
        self.levels.push(Level { explored: 0, accesses: 0 });
    }

    /// Adds the level of the node that the last step of a trace leads to.
    pub fn push(&mut self, trace: &Trace, conflicts: &Conflicts, rules: Rules) {
        let at = trace.len() - 1;
        let parent = self.range(self.levels.len() - 1);
        let level = Level { explored: self.explored.len() as u32, accesses: self.accesses.len() as u32 };
        self.levels.push(level);
        for i in parent {
            let mut explored = self.explored[i];
            if self.stays(&mut explored, trace, at, conflicts, rules) {
                self.explored.push(explored);
            }
        }
    }

    /// Whether an explored event can still be a weak initial behind the event at a position.
    fn stays(
        &self,
        explored: &mut Explored,
        trace: &Trace,
        at: usize,
        conflicts: &Conflicts,
        rules: Rules,
    ) -> bool {
        if explored.taken != NONE {
            return true;
        }
        if explored.process == trace.process(at) {
            // Nothing but what nobody observed may have come before it, or it would not be explored again.
            explored.taken = at as u32;
            return explored.unobserved && explored.choice == trace.choice(at);
        }
        match conflicts.between(self.accesses_of(explored), trace.accesses(at)) {
            Dependence::Independent => true,
            Dependence::Dependent => !rules.shared.wake,
            Dependence::IfObserved => {
                explored.unobserved = true;
                rules.observers.keep_unobserved
            }
        }
    }

    /// Removes the last level.
    pub fn pop(&mut self) {
        let level = self.levels.pop().expect("a level to remove");
        self.explored.truncate(level.explored as usize);
        self.accesses.truncate(level.accesses as usize);
    }

    /// Adds an event to the last level: all that begins with it has been explored (line 24).
    pub fn add(&mut self, process: ProcessId, choice: u32, alternatives: u32, accesses: &[Access]) {
        let start = self.accesses.len() as u32;
        self.accesses.extend_from_slice(accesses);
        let accesses = (start, self.accesses.len() as u32);
        let depth = self.levels.len() as u32 - 1;
        let explored =
            Explored { process, choice, alternatives, accesses, depth, taken: NONE, unobserved: false };
        self.explored.push(explored);
    }

    /// Forgets, at the last level, what was overtaken by something that has been observed since: to be asked
    /// where no sequence leads on. Gives whether there was nothing else that is marked.
    pub fn settle(&mut self, trace: &Trace, order: &mut Observed<'_, impl Mail>) -> bool {
        let range = self.range(self.levels.len() - 1);
        if !self.explored[range.clone()].iter().any(|explored| explored.unobserved) {
            return true;
        }
        let start = range.start;
        let marked: Vec<Explored> =
            self.explored[range].iter().filter(|explored| explored.unobserved).copied().collect();
        let settled = !marked
            .iter()
            .any(|explored| self.is_weak_initial_since(explored, trace, trace.len(), &[], order));
        let mut kept = start;
        for i in start..self.explored.len() {
            if !self.explored[i].unobserved {
                self.explored[kept] = self.explored[i];
                kept += 1;
            }
        }
        self.explored.truncate(kept);
        settled
    }

    /// `v ∈ redundant(E, done)` (line 11, definition 3): some explored event could be taken first, so all
    /// that begins with `v` has been explored. An outcome that `v` does not have makes `v` redundant only if
    /// all outcomes were explored.
    pub fn redundant(
        &self,
        level: usize,
        trace: &Trace,
        v: &[Planned<'_>],
        order: &mut Observed<'_, impl Mail>,
    ) -> bool {
        self.explored[self.range(level)].iter().any(|explored| {
            if explored.unobserved {
                return self.is_weak_initial_since(explored, trace, level, v, order);
            }
            match v.iter().position(|step| step.process == explored.process) {
                Some(k) => v[k].choice == explored.choice && !order.overtaken_since(v, 0, k),
                None => {
                    (explored.alternatives == 1 || self.all_explored(level, explored.process))
                        && !order.overtaken_in_the_end(v, 0, &[], self.step(explored))
                }
            }
        })
    }

    /// Whether an explored event is a weak initial of what comes after it among the first events of a trace,
    /// and of `v`.
    fn is_weak_initial_since(
        &self,
        explored: &Explored,
        trace: &Trace,
        len: usize,
        v: &[Planned<'_>],
        order: &mut Observed<'_, impl Mail>,
    ) -> bool {
        let mut sequence: SmallVec<[Planned<'_>; 64]> =
            (explored.depth as usize..len).map(|k| step_at(trace, k, k)).collect();
        let before = sequence.len();
        sequence.extend(v.iter().copied());
        let own = match explored.taken {
            NONE => v.iter().position(|step| step.process == explored.process).map(|k| before + k),
            taken => Some((taken - explored.depth) as usize),
        };
        match own {
            Some(k) => sequence[k].choice == explored.choice && !order.overtaken_since(&sequence, 0, k),
            None => {
                (explored.alternatives == 1 || self.all_explored(len, explored.process))
                    && !order.overtaken_in_the_end(&sequence, 0, &[], self.step(explored))
            }
        }
    }

    fn step<'a>(&'a self, explored: &Explored) -> Planned<'a> {
        Planned {
            process: explored.process,
            choice: explored.choice,
            alternatives: explored.alternatives,
            accesses: self.accesses_of(explored),
            at: 0,
        }
    }

    /// Those of several outcomes that were explored, for [`crate::wakeup::WakeupTrees::insert`].
    pub fn outcomes(&self, level: usize) -> Vec<ExploredOutcome> {
        let several = self.explored[self.range(level)].iter().filter(|explored| explored.alternatives > 1);
        several
            .map(|explored| ExploredOutcome {
                process: explored.process,
                choice: explored.choice,
                accesses: self.accesses_of(explored).to_vec(),
            })
            .collect()
    }

    fn range(&self, level: usize) -> std::ops::Range<usize> {
        let end = self.levels.get(level + 1).map_or(self.explored.len(), |next| next.explored as usize);
        self.levels[level].explored as usize..end
    }

    fn accesses_of(&self, explored: &Explored) -> &[Access] {
        &self.accesses[explored.accesses.0 as usize..explored.accesses.1 as usize]
    }

    /// Whether an event was explored from a level, or from below and not overtaken since.
    pub fn is_explored(&self, level: usize, process: ProcessId, choice: u32) -> bool {
        let untaken = |explored: &&Explored| explored.taken == NONE;
        let mut here = self.explored[self.range(level)].iter().filter(untaken);
        here.any(|explored| explored.process == process && explored.choice == choice)
    }

    /// The same of every outcome of a process's step.
    pub fn all_explored(&self, level: usize, process: ProcessId) -> bool {
        let own = |explored: &&Explored| explored.process == process && explored.taken == NONE;
        let mut here = self.explored[self.range(level)].iter().filter(own);
        here.next().is_some_and(|first| 1 + here.count() as u32 == first.alternatives)
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        self.levels.capacity() * size_of::<Level>()
            + self.explored.capacity() * size_of::<Explored>()
            + self.accesses.capacity() * size_of::<Access>()
    }
}

/// An event of a trace as a step of a sequence in which it has some position.
pub(super) fn step_at(trace: &Trace, position: usize, at: usize) -> Planned<'_> {
    Planned {
        process: trace.process(position),
        choice: trace.choice(position),
        alternatives: trace.alternatives(position),
        accesses: trace.accesses(position),
        at: at as u32,
    }
}
