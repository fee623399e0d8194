//! Sleep sets along the stack of the search.
//!
//! A sleeping event is one that was explored from an ancestor and that nothing since depends on: to take it
//! now would repeat what was explored there. One level a node; a level inherits from the one below what the
//! step between them does not wake. All levels lie in one array, as a stack, so that no node allocates. An
//! event is a process with one outcome of its step; a process whose step has several sleeps altogether only
//! if each of them sleeps.

use mazurka_program::{Access, ProcessId};
use mazurka_trace::dependence::dependent;

/// A sleeping event and what it touches.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sleeper {
    pub process: ProcessId,
    pub choice: u32,
    pub alternatives: u32,
    accesses: (u32, u32),
}

#[derive(Debug)]
struct Level {
    sleepers: u32,
    accesses: u32,
    /// The [`bit`] of each process that has a sleeping event. Processes may share one.
    asleep: u64,
}

#[derive(Debug, Default)]
pub(crate) struct SleepSets {
    levels: Vec<Level>,
    sleepers: Vec<Sleeper>,
    accesses: Vec<Access>,
}

impl SleepSets {
    /// Adds the level of the root.
    pub fn push_root(&mut self) {
        debug_assert!(self.levels.is_empty());
        self.levels.push(Level { sleepers: 0, accesses: 0, asleep: 0 });
    }

    /// Adds the level of the node that a step leads to. `wake` is false only in builds that are broken on
    /// purpose.
    #[inline]
    pub fn push(&mut self, process: ProcessId, step: &[Access], wake: bool) {
        let mut level =
            Level { sleepers: self.sleepers.len() as u32, accesses: self.accesses.len() as u32, asleep: 0 };
        if self.levels.last().is_some_and(|parent| parent.asleep != 0) {
            level.asleep = self.inherit(process, step, wake);
        }
        self.levels.push(level);
    }

    /// Copies those who sleep on from the last level, and gives their bits.
    fn inherit(&mut self, process: ProcessId, step: &[Access], wake: bool) -> u64 {
        let mut asleep = 0;
        for i in self.range(self.levels.len() - 1) {
            let sleeper = self.sleepers[i];
            if sleeper.process != process && !(wake && dependent(self.accesses_of(&sleeper), step)) {
                asleep |= bit(sleeper.process);
                self.sleepers.push(sleeper);
            }
        }
        asleep
    }

    /// Removes the levels behind one.
    #[inline]
    pub fn back_to(&mut self, level: usize) {
        if let Some(next) = self.levels.get(level + 1) {
            self.sleepers.truncate(next.sleepers as usize);
            self.accesses.truncate(next.accesses as usize);
            self.levels.truncate(level + 1);
        }
    }

    /// Puts an event to sleep at the last level.
    #[inline]
    pub fn add(
        &mut self,
        process: ProcessId,
        choice: u32,
        alternatives: u32,
        accesses: impl Iterator<Item = Access>,
    ) {
        if let Some(level) = self.levels.last_mut() {
            level.asleep |= bit(process);
        }
        let start = self.accesses.len() as u32;
        self.accesses.extend(accesses);
        let accesses = (start, self.accesses.len() as u32);
        self.sleepers.push(Sleeper { process, choice, alternatives, accesses });
    }

    #[inline]
    fn range(&self, level: usize) -> std::ops::Range<usize> {
        let end = self.levels.get(level + 1).map_or(self.sleepers.len(), |next| next.sleepers as usize);
        self.levels[level].sleepers as usize..end
    }

    /// The events that sleep at a level.
    #[inline]
    pub fn level(&self, level: usize) -> &[Sleeper] {
        &self.sleepers[self.range(level)]
    }

    /// What a sleeping event touches.
    #[inline]
    pub fn accesses_of(&self, sleeper: &Sleeper) -> &[Access] {
        &self.accesses[sleeper.accesses.0 as usize..sleeper.accesses.1 as usize]
    }

    /// Whether an event sleeps at a level.
    #[inline]
    pub fn sleeps(&self, level: usize, process: ProcessId, choice: u32) -> bool {
        self.may_sleep(level, process)
            && self.level(level).iter().any(|s| s.process == process && s.choice == choice)
    }

    /// Whether every outcome of a process's step sleeps at a level.
    #[inline]
    pub fn sleeps_altogether(&self, level: usize, process: ProcessId) -> bool {
        if !self.may_sleep(level, process) {
            return false;
        }
        let mut sleeping = self.level(level).iter().filter(|s| s.process == process);
        sleeping.next().is_some_and(|first| 1 + sleeping.count() as u32 == first.alternatives)
    }

    /// Whether some event of a process, or of one that shares its bit, sleeps at a level.
    #[inline]
    fn may_sleep(&self, level: usize, process: ProcessId) -> bool {
        self.levels[level].asleep & bit(process) != 0
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        self.levels.capacity() * size_of::<Level>()
            + self.sleepers.capacity() * size_of::<Sleeper>()
            + self.accesses.capacity() * size_of::<Access>()
    }
}

#[inline]
fn bit(process: ProcessId) -> u64 {
    1 << (process.index() % 64)
}
