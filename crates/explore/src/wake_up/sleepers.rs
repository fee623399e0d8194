//! Who sleeps along an execution, and who wakes them.
//!
//! At a node where `t` is taken, every enabled event of smaller rank falls asleep; then those wake that
//! depend on `t`. Only where a schedule leads is anybody taken who is not the least, so only there somebody
//! falls asleep. What a sleeper would have touched is that event's label in the execution, unless the event
//! varies and something came before it, or never came: then the step is run where it fell asleep. Steps of
//! which that was found out once are run when they fall asleep, for the run is there then.

use std::collections::HashSet;

use mazurka_program::{Access, Label, ProcessId, Run, Stop};
use mazurka_trace::dependence::dependent;
use mazurka_trace::{HappensBefore, Trace};

use super::rank::{Rank, Ranks};
use super::stack::Step;

/// An event that sleeps, from the node at one position until the event at another is taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sleeper {
    pub process: ProcessId,
    pub choice: u32,
    /// The ordinal of the event among those of its process, from 0.
    pub index: u32,
    pub from: usize,
    /// The position of the event that wakes it; `usize::MAX` as long as it is not known.
    pub woken: usize,
    /// Its part of the accesses; none as long as they are not known.
    accesses: Option<(u32, u32)>,
}

/// The sleepers of the present execution, by the node at which they fell asleep.
#[derive(Default)]
pub(super) struct Sleepers {
    all: Vec<Sleeper>,
    /// Of the first so many it is known who wakes them.
    known: usize,
    accesses: Vec<Access>,
    /// The events, by process and index, that have to be run to know what they touch.
    to_run: HashSet<(ProcessId, u32)>,
    label: Label,
}

impl Sleepers {
    /// Those that are asleep at a node, before something is taken from it.
    pub fn at(&self, node: usize) -> impl Iterator<Item = (&Sleeper, &[Access])> {
        let is_asleep = move |sleeper: &&Sleeper| sleeper.from < node && node <= sleeper.woken;
        self.all.iter().filter(is_asleep).map(|sleeper| (sleeper, self.accesses_of(sleeper)))
    }

    /// Those that an event wakes.
    pub fn woken_by(&self, position: usize) -> impl Iterator<Item = &Sleeper> {
        self.all.iter().filter(move |sleeper| sleeper.woken == position)
    }

    fn accesses_of(&self, sleeper: &Sleeper) -> &[Access] {
        let (from, to) = sleeper.accesses.unwrap_or_default();
        &self.accesses[from as usize..to as usize]
    }

    /// The last event that wakes somebody; `usize::MAX` if somebody sleeps on.
    pub fn last_waker(&self) -> Option<usize> {
        self.all.iter().map(|sleeper| sleeper.woken).max()
    }

    /// Forgets what came after so many steps.
    pub fn back_to(&mut self, depth: usize) {
        let kept = self.all.partition_point(|sleeper| sleeper.from < depth);
        self.all.truncate(kept);
        let mut used = 0;
        self.known = self.known.min(kept);
        for (at, sleeper) in self.all.iter_mut().enumerate() {
            used = used.max(sleeper.accesses.map_or(0, |accesses| accesses.1));
            if sleeper.woken >= depth {
                sleeper.woken = usize::MAX;
                self.known = self.known.min(at);
            }
        }
        self.accesses.truncate(used as usize);
    }

    /// Puts to sleep what is enabled besides a step that is about to be taken, and has a smaller rank.
    ///
    /// # Errors
    /// If a step had to be run and could not.
    pub fn fall_asleep(
        &mut self,
        run: &mut dyn Run,
        enabled: &[ProcessId],
        trace: &Trace,
        ranks: &Ranks,
        step: Step,
    ) -> Result<(), Stop> {
        let index = |process| trace.positions(process).len() as u32;
        let rank = ranks.rank(step.0, index(step.0), step.1);
        for &process in enabled {
            let index = index(process);
            if ranks.is_behind(process, index, rank) {
                continue;
            }
            for choice in 0..run.alternatives(process) {
                if ranks.rank(process, index, choice) < rank {
                    self.put_to_sleep(run, trace, (process, choice), index)?;
                }
            }
        }
        Ok(())
    }

    fn put_to_sleep(
        &mut self,
        run: &mut dyn Run,
        trace: &Trace,
        (process, choice): Step,
        index: u32,
    ) -> Result<(), Stop> {
        let from = trace.len();
        let mut sleeper = Sleeper { process, choice, index, from, woken: usize::MAX, accesses: None };
        if self.to_run.contains(&(process, index)) {
            let same = |other: &&Sleeper| (other.process, other.choice) == (process, choice);
            let last = self.all.iter().rev().find(same);
            if last.is_some_and(|last| last.accesses.is_some() && self.waker(trace, last).is_none()) {
                return Ok(());
            }
            run.pending(process, choice, &mut self.label)?;
            sleeper.accesses = Some(self.note());
        }
        self.all.push(sleeper);
        Ok(())
    }

    /// Keeps the accesses of the label.
    fn note(&mut self) -> (u32, u32) {
        let start = self.accesses.len() as u32;
        self.accesses.extend_from_slice(&self.label.accesses);
        (start, self.accesses.len() as u32)
    }

    /// The event that wakes a sleeper.
    fn waker(&self, trace: &Trace, sleeper: &Sleeper) -> Option<usize> {
        let accesses = self.accesses_of(sleeper);
        let wakes =
            |&k: &usize| trace.process(k) == sleeper.process || dependent(trace.accesses(k), accesses);
        (sleeper.from..trace.len()).find(wakes)
    }

    /// Finds out what the sleepers of a finished execution would touch and who wakes them. Gives the nodes at
    /// which steps have to be run for that, if any.
    pub fn find_wakers(&mut self, trace: &Trace, order: &HappensBefore) -> Option<usize> {
        let mut kept = self.known;
        for at in self.known..self.all.len() {
            let mut sleeper = self.all[at];
            let asleep = |other: &Sleeper| {
                (other.process, other.choice) == (sleeper.process, sleeper.choice)
                    && other.from < sleeper.from
                    && sleeper.from <= other.woken
            };
            if self.all[..kept].iter().any(asleep) {
                continue;
            }
            if sleeper.accesses.is_none() {
                let Some(event) = as_taken(trace, order, &sleeper) else {
                    self.to_run.insert((sleeper.process, sleeper.index));
                    self.all.copy_within(at.., kept);
                    self.all.truncate(self.all.len() - (at - kept));
                    return Some(sleeper.from);
                };
                let start = self.accesses.len() as u32;
                self.accesses.extend_from_slice(trace.accesses(event));
                sleeper.accesses = Some((start, self.accesses.len() as u32));
            }
            if sleeper.woken == usize::MAX {
                sleeper.woken = self.waker(trace, &sleeper).unwrap_or(usize::MAX);
            }
            self.all[kept] = sleeper;
            kept += 1;
        }
        self.all.truncate(kept);
        self.known = kept;
        None
    }

    /// Runs the steps that fell asleep at a node, where the run is, and of which it is not known what they
    /// touch.
    ///
    /// # Errors
    /// If a step could not be run.
    pub fn run_at(&mut self, node: usize, run: &mut dyn Run) -> Result<(), Stop> {
        for at in 0..self.all.len() {
            let Sleeper { process, choice, from, accesses, index, .. } = self.all[at];
            if from == node && accesses.is_none() && self.to_run.contains(&(process, index)) {
                run.pending(process, choice, &mut self.label)?;
                self.all[at].accesses = Some(self.note());
            }
        }
        Ok(())
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        self.all.capacity() * size_of::<Sleeper>()
            + self.accesses.capacity() * size_of::<Access>()
            + self.to_run.capacity() * size_of::<(ProcessId, u32)>()
    }
}

/// The position at which a sleeper's event was taken later, if it touches there what it would have touched.
fn as_taken(trace: &Trace, order: &HappensBefore, sleeper: &Sleeper) -> Option<usize> {
    let &event = trace.positions(sleeper.process).get(sleeper.index as usize)?;
    let event = event as usize;
    let is_new = |k: &usize| order.happens_before(*k, event);
    (!trace.varies(event) || (sleeper.from..event).find(is_new).is_none()).then_some(event)
}

/// A sleeper at a node that an execution did not come to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asleep {
    pub process: ProcessId,
    pub choice: u32,
    pub rank: Rank,
    pub accesses: (u32, u32),
}
