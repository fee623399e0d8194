//! The order by which data races are judged, of any part of an execution: two such orders are compared.
//!
//! A loop has come back to where it was only if that order has too: who has accessed a cell last, and who knows
//! of that. Of an access it matters to nobody but who makes the next one whether that thread knows of it, and
//! knowledge travels by releases and acquires from thread to location to thread. So the state is this: of the
//! last accesses of each cell, one of each kind and thread, which threads know of them, and at which locations
//! it is found out ([`Races::knowledge`]). What comes next changes that by itself: to join a clock is to learn
//! all that it knows of, to clear one is to forget, and nobody else knows of an access when it is made. Two
//! executions with the same knowledge race alike from then on, whatever their clocks.

use mazurka_program::{Location, ProcessId};

use crate::lifetime::{ExecutionState, copy_list};
use crate::races::{Atomic, Order, Part, Races, Seen};

/// Something that a thread does, of which races are judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Did {
    /// It takes over what was released to a part of a location.
    Acquire(Location, Part),
    /// It releases to a part of a location.
    Release(Location, Part),
    /// It creates another thread.
    Create(ProcessId),
    /// It does an atomic operation.
    Atomic(Location, Atomic, Order),
    /// It comes to a fence.
    Fence(Order),
    /// It accesses a cell; whether that is a write.
    Access(Location, bool),
    /// It takes over what was released to a location, and releases to it, as far as it does so.
    Synchronise(Location, Atomic, Order),
    /// It begins a step, all of whose accesses are of one time.
    Begin,
    /// An access at the time when its step began: whether it is a write, and whether it is atomic.
    AccessThen(Location, bool, bool),
}

impl Did {
    /// What it is about.
    fn location(self) -> Option<Location> {
        match self {
            Did::Acquire(at, _) | Did::Release(at, _) | Did::Access(at, _) | Did::AccessThen(at, ..) => {
                Some(at)
            }
            Did::Atomic(at, ..) | Did::Synchronise(at, ..) => Some(at),
            Did::Create(_) | Did::Fence(_) | Did::Begin => None,
        }
    }
}

/// All that threads did in an execution of which races are judged.
#[derive(Clone, Debug, Default)]
pub struct RaceLog {
    /// Each with the step that it was part of, counted from 1; 0 is before the first.
    done: Vec<(u32, ProcessId, Did)>,
    /// As of [`Races::own_stores_continue`].
    pub own_stores_continue: bool,
}

impl ExecutionState for RaceLog {
    type Saved = RaceLog;

    fn begin(&mut self) {
        self.done.clear();
    }

    fn save(&self, saved: &mut RaceLog) {
        copy_list(&self.done, &mut saved.done);
    }

    fn restore(&mut self, saved: &RaceLog) {
        saved.save(self);
    }
}

impl RaceLog {
    /// A thread does something, after so many steps were begun.
    pub fn note(&mut self, steps: usize, process: ProcessId, did: Did) {
        self.done.push((steps as u32, process, did));
    }

    /// What is known of accesses after some steps, of which these are the positions, in order.
    pub fn knowledge_after(&self, steps: &[u32]) -> Vec<u32> {
        let mut races = Races::<()>::default();
        races.own_stores_continue = self.own_stores_continue;
        let (mut locations, mut began) = (Vec::new(), None);
        let mut left = steps.iter().peekable();
        for &(begun, process, did) in &self.done {
            while left.next_if(|&&step| step + 1 < begun).is_some() {}
            if begun > 0 && left.peek().is_none_or(|&&step| step + 1 != begun) {
                continue;
            }
            match did {
                Did::Acquire(location, part) => races.acquire(process, location, part),
                Did::Release(location, part) => races.release(process, location, part),
                Did::Create(child) => races.inherit(child, process),
                Did::Atomic(location, did, order) => races.atomic(process, location, did, order),
                Did::Fence(order) => races.fence(process, order),
                Did::Access(cell, write) => {
                    let now = races.now(process, (), write);
                    races.meet(cell, now, false, &mut Vec::new());
                }
                Did::Synchronise(location, did, order) => races.synchronise(process, location, did, order),
                Did::Begin => began = Some(races.now(process, (), false)),
                Did::AccessThen(cell, write, atomic) => {
                    let mut now: Seen<()> = began.unwrap_or_else(|| races.now(process, (), write));
                    now.write = write;
                    races.meet(cell, now, atomic, &mut Vec::new());
                }
            }
            locations.extend(did.location());
        }
        locations.sort_unstable();
        locations.dedup();
        races.knowledge(&locations)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: ProcessId = ProcessId(0);
    const B: ProcessId = ProcessId(1);
    const FLAG: Location = Location(7);
    const CELL: Location = Location(9);

    #[test]
    fn what_is_known_comes_back_when_it_is_told_again() {
        let mut log = RaceLog::default();
        let store = |order| Did::Atomic(FLAG, Atomic::Write, order);
        log.note(0, A, Did::Create(B));
        let round = [Did::Access(CELL, true), store(Order::Release), store(Order::Relaxed)];
        for (at, did) in round.into_iter().chain(round).enumerate() {
            log.note(at + 1, A, did);
        }
        let after = |steps: &[u32]| log.knowledge_after(steps);
        assert_eq!(after(&[0, 1, 2]), after(&[0, 1, 2, 3, 4, 5]), "a round later nobody knows more");
        assert_ne!(after(&[0, 1]), after(&[0, 1, 2]), "the flag tells no longer");
        assert_eq!(after(&[]), after(&[1]), "there was no access");
    }

    #[test]
    fn who_knows_of_the_first_access_does_not_know_of_the_second() {
        let mut log = RaceLog::default();
        let order = Order::Both;
        log.note(0, A, Did::Create(B));
        log.note(1, A, Did::Access(CELL, true));
        log.note(1, A, Did::Atomic(FLAG, Atomic::Update, order));
        log.note(2, B, Did::Atomic(FLAG, Atomic::Update, order));
        log.note(3, A, Did::Access(CELL, true));
        log.note(4, A, Did::Fence(order));
        let after = |steps: &[u32]| log.knowledge_after(steps);
        assert_ne!(after(&[0]), after(&[0, 1]), "another knows of the first");
        assert_ne!(after(&[0, 1]), after(&[0, 1, 2]), "and not of the second");
        assert_ne!(after(&[0, 1, 2]), after(&[0, 1, 2, 3]), "a fence has it told");
    }
}
