//! Data races: accesses of one location, one of them a write and one of them not atomic, that nothing orders.
//!
//! What orders them is synchronisation: an atomic write with release that is read with acquire, a lock that
//! is given back and taken, a thread that is created or joined, a message. That is less than the order of
//! dependent steps, in which every read comes after the write that it reads. Each thread has a vector clock.
//! Who promises an order *releases* the clock of its thread to a part of a location, and another *acquires*
//! what was released there. What is released by several is joined, but for stores of atomics, which begin
//! anew. Whatever says nothing orders nothing.
//!
//! Atomics follow C++20. A location has what its last store released, joined by what read-modify-writes
//! released since: they continue its release sequence, whatever their ordering, and a store ends it, also one
//! of the same thread, unless the program's standard is an older one ([`Races::own_stores_continue`]). What
//! is read without acquire waits for an acquire fence; what a release fence left is released by writes that
//! release nothing.
//!
//! Who acquires from whom follows from who reads from whom, so if accesses race in one execution, they race
//! in all that are equivalent to it; where steps that release to one part are independent, joins commute.

use mazurka_program::{Location, ProcessId};

use crate::lifetime::{Entry, ExecutionState, SavedSparse, Sparse};

/// How far each thread had come. The own one counts on when something is released: what is done later was
/// not.
type Clock = Vec<u32>;

/// Some locations are released to in several ways, of which not everybody acquires all: a number for each.
pub type Part = u32;

/// The only part of most locations.
pub const WHOLE: Part = 0;

/// How an access synchronises.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// It is no atomic access: it races.
    Plain,
    /// Atomic, and no more.
    Relaxed,
    /// It acquires what it reads.
    Acquire,
    /// It releases what it writes.
    Release,
    /// Both.
    Both,
}

impl Order {
    /// Whether a read takes over what was released.
    #[inline]
    pub fn acquires(self) -> bool {
        matches!(self, Order::Acquire | Order::Both)
    }

    /// Whether a write releases.
    #[inline]
    pub fn releases(self) -> bool {
        matches!(self, Order::Release | Order::Both)
    }
}

impl From<std::sync::atomic::Ordering> for Order {
    fn from(order: std::sync::atomic::Ordering) -> Order {
        use std::sync::atomic::Ordering;
        match order {
            Ordering::Relaxed => Order::Relaxed,
            Ordering::Acquire => Order::Acquire,
            Ordering::Release => Order::Release,
            _ => Order::Both,
        }
    }
}

/// What a synchronising operation did to its location.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Atomic {
    /// It read.
    Read,
    /// It wrote, whatever was there.
    Write,
    /// Both at once.
    Update,
}

/// An access of a location, at a place.
#[derive(Clone, Copy, Debug)]
pub struct Seen<P> {
    /// Who made it.
    pub process: ProcessId,
    /// How far the thread had come.
    at: u32,
    /// Where.
    pub place: P,
    /// Whether it wrote.
    pub write: bool,
}

#[derive(Debug, Default)]
struct Clocks {
    now: Clock,
    /// What an acquire fence would take over.
    fetched: Clock,
    /// What a release fence has left for atomic writes that release nothing.
    fenced: Clock,
}

impl Clocks {
    /// What was done so far has been released by a thread.
    #[inline]
    fn tick(&mut self, process: ProcessId) {
        self.now[process.index()] += 1;
    }

    fn copy_from(&mut self, other: &Clocks) {
        let Clocks { now, fetched, fenced } = other;
        self.now.clone_from(now);
        self.fetched.clone_from(fetched);
        self.fenced.clone_from(fenced);
    }
}

/// What is known of a location.
#[derive(Debug)]
struct Known<P> {
    released: Vec<(Part, Clock)>,
    /// What each thread has released to it that its own stores continue; nothing where others have stored
    /// since.
    heads: Vec<(ProcessId, Clock)>,
    /// The last accesses that are not atomic, one of each kind and thread.
    plain: Vec<Seen<P>>,
    /// The same of atomic ones.
    atomic: Vec<Seen<P>>,
}

impl<P> Default for Known<P> {
    fn default() -> Known<P> {
        Known { released: Vec::new(), heads: Vec::new(), plain: Vec::new(), atomic: Vec::new() }
    }
}

impl<P> Known<P> {
    #[inline]
    fn part(&mut self, part: Part) -> &mut Clock {
        let at = self.released.iter().position(|released| released.0 == part).unwrap_or_else(|| {
            self.released.push((part, Clock::new()));
            self.released.len() - 1
        });
        &mut self.released[at].1
    }
}

impl<P: Clone> Entry for Known<P> {
    fn renew(&mut self) {
        self.released.iter_mut().for_each(|released| released.1.clear());
        self.heads.iter_mut().for_each(|head| head.1.clear());
        self.plain.clear();
        self.atomic.clear();
    }

    fn copy_from(&mut self, other: &Known<P>) {
        let Known { released, heads, plain, atomic } = other;
        self.released.clone_from(released);
        self.heads.clone_from(heads);
        self.plain.clone_from(plain);
        self.atomic.clone_from(atomic);
    }
}

/// What is known of synchronisation and of accesses in an execution.
#[derive(Debug)]
pub struct Races<P> {
    /// Whether anything is to be known: the front end asks before it tells.
    pub enabled: bool,
    /// Whether a store of the thread that released continues the release sequence, whatever its order: as
    /// before C++20.
    pub own_stores_continue: bool,
    /// Whether a store was met, in whatever execution, for which that makes a difference.
    pub stored_after_release: bool,
    /// By process; of this execution the first so many.
    clocks: Vec<Clocks>,
    known: Sparse<Known<P>>,
}

impl<P> Default for Races<P> {
    fn default() -> Races<P> {
        Races {
            enabled: false,
            own_stores_continue: false,
            stored_after_release: false,
            clocks: Vec::new(),
            known: Sparse::default(),
        }
    }
}

/// What was known of an execution's synchronisation when it was put aside.
#[derive(Debug)]
pub struct SavedRaces<P> {
    clocks: Vec<Clocks>,
    /// So many of the clocks are meant; the others keep their memory.
    len: usize,
    known: SavedSparse<Known<P>>,
}

impl<P> Default for SavedRaces<P> {
    fn default() -> SavedRaces<P> {
        SavedRaces { clocks: Vec::new(), len: 0, known: SavedSparse::default() }
    }
}

fn join(into: &mut Clock, other: &[u32]) {
    if into.len() < other.len() {
        into.resize(other.len(), 0);
    }
    into.iter_mut().zip(other).for_each(|(a, b)| *a = (*a).max(*b));
}

impl<P: Clone> ExecutionState for Races<P> {
    type Saved = SavedRaces<P>;

    fn begin(&mut self) {
        if self.enabled {
            for Clocks { now, fetched, fenced } in &mut self.clocks {
                now.clear();
                fetched.clear();
                fenced.clear();
            }
            self.known.begin();
        }
    }

    fn save(&self, saved: &mut SavedRaces<P>) {
        if self.enabled {
            saved.len = self.clocks.len();
            if saved.clocks.len() < saved.len {
                saved.clocks.resize_with(saved.len, Clocks::default);
            }
            saved.clocks.iter_mut().zip(&self.clocks).for_each(|(to, from)| to.copy_from(from));
            self.known.save(&mut saved.known);
        }
    }

    fn restore(&mut self, saved: &SavedRaces<P>) {
        if self.enabled {
            self.begin();
            self.clocks.iter_mut().zip(&saved.clocks[..saved.len]).for_each(|(to, from)| to.copy_from(from));
            self.known.restore(&saved.known);
        }
    }
}

impl<P: Copy> Races<P> {
    /// About how many bytes there are to save.
    pub fn size(&self) -> usize {
        let used = if self.enabled { self.known.used() } else { 0 };
        used * (size_of::<Known<P>>() + 2 * size_of::<Seen<P>>())
    }

    fn clocks(&mut self, process: ProcessId) -> &mut Clocks {
        let index = process.index();
        if self.clocks.len() <= index {
            self.clocks.resize_with(index + 1, Clocks::default);
        }
        let clocks = &mut self.clocks[index];
        if clocks.now.len() <= index {
            clocks.now.resize(index + 1, 0);
        }
        // Nobody else knows of the thread before it has released something.
        clocks.now[index] = clocks.now[index].max(1);
        clocks
    }

    /// A thread takes over what was released to a part of a location.
    pub fn acquire(&mut self, process: ProcessId, location: Location, part: Part) {
        self.clocks(process);
        let released = self.known.at(location.0 as usize).part(part);
        join(&mut self.clocks[process.index()].now, released);
    }

    /// A thread releases what it has done to a part of a location.
    pub fn release(&mut self, process: ProcessId, location: Location, part: Part) {
        self.clocks(process);
        let clocks = &mut self.clocks[process.index()];
        join(self.known.at(location.0 as usize).part(part), &clocks.now);
        clocks.tick(process);
    }

    /// A thread is created by another, all of whose doings come before.
    pub fn inherit(&mut self, child: ProcessId, parent: ProcessId) {
        let clock = self.clocks(parent).now.clone();
        self.clocks(parent).tick(parent);
        join(&mut self.clocks(child).now, &clock);
    }

    /// A thread does an atomic operation on memory.
    pub fn atomic(&mut self, process: ProcessId, location: Location, did: Atomic, order: Order) {
        if did == Atomic::Write && !order.releases() {
            let released = self.known.at(location.0 as usize).part(WHOLE);
            self.stored_after_release |= !released.is_empty();
        }
        self.exchange(process, location, did, order);
        if self.own_stores_continue && did != Atomic::Read {
            self.continue_own(process, location, did == Atomic::Write, order);
        }
        self.tick_if(did != Atomic::Read, process);
    }

    /// A thread takes over what was released to a location, and releases to it, as far as the operation does
    /// so.
    pub fn synchronise(&mut self, process: ProcessId, location: Location, did: Atomic, order: Order) {
        self.exchange(process, location, did, order);
        self.tick_if(did != Atomic::Read, process);
    }

    fn tick_if(&mut self, released: bool, process: ProcessId) {
        if released {
            self.clocks[process.index()].tick(process);
        }
    }

    fn exchange(&mut self, process: ProcessId, location: Location, did: Atomic, order: Order) {
        self.clocks(process);
        let clocks = &mut self.clocks[process.index()];
        let released = self.known.at(location.0 as usize).part(WHOLE);
        if did != Atomic::Write {
            join(if order.acquires() { &mut clocks.now } else { &mut clocks.fetched }, released);
        } else {
            // What was released before is read by nobody from now on.
            released.clear();
        }
        if did != Atomic::Read {
            join(released, if order.releases() { &clocks.now } else { &clocks.fenced });
        }
    }

    /// A store of a thread ends the release sequences of the others, and continues its own.
    fn continue_own(&mut self, process: ProcessId, location: Location, store: bool, order: Order) {
        let clocks = &self.clocks[process.index()];
        let known = self.known.at(location.0 as usize);
        if store {
            known.heads.iter_mut().filter(|head| head.0 != process).for_each(|head| head.1.clear());
        }
        let at = known.heads.iter().position(|head| head.0 == process).unwrap_or_else(|| {
            known.heads.push((process, Clock::new()));
            known.heads.len() - 1
        });
        join(&mut known.heads[at].1, if order.releases() { &clocks.now } else { &clocks.fenced });
        if store {
            let own = std::mem::take(&mut known.heads[at].1);
            join(known.part(WHOLE), &own);
            known.heads[at].1 = own;
        }
    }

    /// A thread comes to a fence.
    pub fn fence(&mut self, process: ProcessId, order: Order) {
        let clocks = self.clocks(process);
        if order.acquires() {
            let fetched = std::mem::take(&mut clocks.fetched);
            join(&mut clocks.now, &fetched);
        }
        if order.releases() {
            clocks.fenced.clone_from(&clocks.now);
            clocks.tick(process);
        }
    }

    /// What is known of the last accesses of locations: of each access who knows of it, and where it is told.
    /// From equal knowledge the same races follow ([`crate::race_log`]).
    pub fn knowledge(&mut self, locations: &[Location]) -> Vec<u32> {
        let mut accesses = Vec::new();
        for &location in locations {
            let known = self.known.at(location.0 as usize);
            for (list, atomic) in [(&known.plain, false), (&known.atomic, true)] {
                let of = |seen: &Seen<P>| (location, atomic, seen.process, seen.write, seen.at);
                accesses.extend(list.iter().map(of));
            }
        }
        accesses.sort_unstable();
        let mut knowledge = Vec::new();
        for (location, atomic, process, write, at) in accesses {
            let knows = |clock: &Clock| clock.get(process.index()).is_some_and(|&known| known >= at);
            knowledge.extend([u32::MAX, location.0, u32::from(atomic), process.0, u32::from(write)]);
            for (thread, clocks) in self.clocks.iter().enumerate() {
                let Clocks { now, fetched, fenced } = clocks;
                let all = [now, fetched, fenced].map(|clock| u32::from(knows(clock)));
                if all != [0; 3] {
                    knowledge.extend([u32::MAX - 1, thread as u32, all[0] + 2 * all[1] + 4 * all[2]]);
                }
            }
            for told in locations {
                let known = self.known.at(told.0 as usize);
                let released = known.released.iter().filter(|released| knows(&released.1));
                let heads = known.heads.iter().filter(|head| knows(&head.1));
                let mut parts: Vec<u32> = released.map(|&(part, _)| part).collect();
                let mut threads: Vec<u32> = heads.map(|&(process, _)| process.0).collect();
                if parts.is_empty() && threads.is_empty() {
                    continue;
                }
                parts.sort_unstable();
                threads.sort_unstable();
                knowledge.extend([u32::MAX - 2, told.0, parts.len() as u32]);
                knowledge.append(&mut parts);
                knowledge.append(&mut threads);
            }
        }
        knowledge
    }

    /// What a thread does now, as an access.
    pub fn now(&mut self, process: ProcessId, place: P, write: bool) -> Seen<P> {
        let at = self.clocks(process).now[process.index()];
        Seen { process, at, place, write }
    }

    /// An access is made: those that race with it are added to a list, plain ones before atomic ones and
    /// writes before reads, and it is noted as the last of its kind and thread.
    pub fn meet(&mut self, location: Location, seen: Seen<P>, atomic: bool, racing: &mut Vec<Seen<P>>) {
        self.clocks(seen.process);
        let now = &self.clocks[seen.process.index()].now;
        let known = self.known.at(location.0 as usize);
        let unordered = |other: &&Seen<P>| {
            other.process != seen.process && now.get(other.process.index()).is_none_or(|&at| at < other.at)
        };
        for write in [true, false] {
            if write || seen.write {
                let others = |list: &[Seen<P>], racing: &mut Vec<Seen<P>>| {
                    racing.extend(list.iter().filter(|other| other.write == write).filter(unordered));
                };
                others(&known.plain, racing);
                if !atomic {
                    others(&known.atomic, racing);
                }
            }
        }
        let list = if atomic { &mut known.atomic } else { &mut known.plain };
        match list.iter_mut().find(|other| other.process == seen.process && other.write == seen.write) {
            Some(other) => *other = seen,
            None => list.push(seen),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: ProcessId = ProcessId(0);
    const B: ProcessId = ProcessId(1);
    const FLAG: Location = Location(7);
    const CELL: Location = Location(9);

    /// Whether a thread races if it writes the cell now.
    fn races(races: &mut Races<()>, process: ProcessId) -> bool {
        let (now, mut racing) = (races.now(process, (), true), Vec::new());
        races.meet(CELL, now, false, &mut racing);
        !racing.is_empty()
    }

    fn watched() -> Races<()> {
        Races { enabled: true, ..Races::default() }
    }

    #[test]
    fn a_read_orders_after_the_write_and_not_the_other_way() {
        let mut clocks = watched();
        clocks.atomic(B, FLAG, Atomic::Read, Order::Both);
        assert!(!races(&mut clocks, A));
        clocks.atomic(A, FLAG, Atomic::Write, Order::Both);
        clocks.atomic(B, FLAG, Atomic::Read, Order::Both);
        assert!(!races(&mut clocks, B));
        assert!(races(&mut clocks, A), "a read releases nothing");
    }

    #[test]
    fn what_comes_after_a_write_is_not_released_by_it() {
        let mut clocks = watched();
        clocks.atomic(A, FLAG, Atomic::Write, Order::Both);
        races(&mut clocks, A);
        clocks.atomic(B, FLAG, Atomic::Read, Order::Both);
        assert!(races(&mut clocks, B));
    }

    #[test]
    fn locks_pass_on_what_came_before() {
        let mut clocks = watched();
        races(&mut clocks, A);
        for p in [0, 1, 2].map(ProcessId) {
            clocks.acquire(p, FLAG, WHOLE);
            clocks.release(p, FLAG, WHOLE);
        }
        assert!(!races(&mut clocks, ProcessId(2)));
    }

    #[test]
    fn a_fence_releases_what_came_before_it_and_no_more() {
        for (fenced, after) in [(true, false), (true, true), (false, false)] {
            let mut clocks = watched();
            races(&mut clocks, A);
            clocks.fence(A, Order::Release);
            if after {
                races(&mut clocks, A);
            }
            clocks.atomic(A, FLAG, Atomic::Write, Order::Relaxed);
            clocks.atomic(B, FLAG, Atomic::Read, Order::Relaxed);
            if fenced {
                clocks.fence(B, Order::Acquire);
            }
            assert_eq!(races(&mut clocks, B), after || !fenced);
        }
    }

    #[test]
    fn own_stores_continue_a_release_sequence_where_the_standard_says_so() {
        for continues in [false, true] {
            let mut clocks = Races { own_stores_continue: continues, ..watched() };
            races(&mut clocks, A);
            clocks.atomic(A, FLAG, Atomic::Write, Order::Release);
            clocks.atomic(A, FLAG, Atomic::Write, Order::Relaxed);
            assert!(clocks.stored_after_release);
            clocks.atomic(B, FLAG, Atomic::Read, Order::Acquire);
            assert_eq!(races(&mut clocks, B), !continues);
        }
    }

    #[test]
    fn atomic_accesses_race_with_plain_ones_only() {
        let mut clocks = watched();
        let (now, mut racing) = (clocks.now(A, (), true), Vec::new());
        clocks.meet(CELL, now, true, &mut racing);
        let now = clocks.now(B, (), true);
        clocks.meet(CELL, now, true, &mut racing);
        assert!(racing.is_empty());
        assert!(races(&mut clocks, ProcessId(2)));
    }

    #[test]
    fn what_was_known_is_restored() {
        let mut clocks = watched();
        races(&mut clocks, A);
        clocks.release(A, FLAG, WHOLE);
        let mut saved = SavedRaces::default();
        clocks.save(&mut saved);
        clocks.acquire(B, FLAG, WHOLE);
        clocks.begin();
        assert!(!races(&mut clocks, B), "in another execution nobody wrote it");
        clocks.restore(&saved);
        assert!(races(&mut clocks, B), "nobody has acquired it");
        clocks.restore(&saved);
        clocks.acquire(B, FLAG, WHOLE);
        assert!(!races(&mut clocks, B));
    }
}
