//! Data races: accesses of one cell, one of them a write, that nothing orders.
//!
//! What orders them is synchronisation: an atomic write with release that is read with acquire, a lock that is given back and
//! taken, a thread that is created or joined, a message. That is less than the order of dependent steps, in which every read
//! comes after the write that it reads. Each process has a vector clock. An operation that promises an order says so when it is
//! performed: it *releases* the clock of its process to a part of a location, and another *acquires* what was released
//! there. What is released by several is joined, but for stores of atomics, which begin anew. Whatever does not say so orders
//! nothing: a `try_lock` that fails, a notification, a look at a count.
//!
//! Atomics follow C++20, as Rust does. A location has what its last store released, joined by what read-modify-writes released
//! since: they continue its release sequence, whatever their ordering, and a store ends it, also one of the same thread. What is
//! read without acquire waits for an acquire fence; what a release fence left is released by writes that release nothing.
//!
//! Accesses of cells are no steps. Who acquires from whom follows from who reads from whom, so if they race in one execution,
//! they race in all that are equivalent to it; where steps that release to one part are independent, joins commute. Clocks are kept
//! only in searches of programs that are known to use cells.

use std::panic::Location as Caller;
use std::sync::atomic::Ordering;

use mazurka_program::{Failure, FailureKind, Location, ProcessId};
use rustc_hash::FxHashMap;

use super::operation::Step;
use super::{World, place_of};

/// How far each process had come. The own one counts on when something is released: what is done later was not.
type Clock = Vec<u32>;

/// Some locations are released to in several ways, of which not everybody acquires all: a number for each.
type Part = u32;

#[derive(Clone, Default)]
struct Clocks {
    now: Clock,
    /// What an acquire fence would take over.
    fetched: Clock,
    /// What a release fence has left for atomic writes that release nothing.
    fenced: Clock,
}

/// What is known of synchronisation and of cells in an execution.
#[derive(Default)]
pub(crate) struct Races {
    pub(super) enabled: bool,
    /// By process.
    clocks: Vec<Clocks>,
    released: FxHashMap<(Location, Part), Clock>,
    cells: FxHashMap<Location, History>,
}

#[derive(Default)]
struct History {
    write: Option<Seen>,
    reads: Vec<Seen>,
}

/// An access of a cell.
#[derive(Clone, Copy)]
struct Seen {
    process: ProcessId,
    /// How far the process had come.
    at: u32,
    place: &'static Caller<'static>,
}

/// What an atomic operation did to its location.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Atomic {
    Read,
    Write,
    /// Both at once.
    Update,
}

fn join(into: &mut Clock, other: &[u32]) {
    if into.len() < other.len() {
        into.resize(other.len(), 0);
    }
    into.iter_mut().zip(other).for_each(|(a, b)| *a = (*a).max(*b));
}

fn acquires(order: Ordering) -> bool {
    matches!(order, Ordering::Acquire | Ordering::AcqRel | Ordering::SeqCst)
}

fn releases(order: Ordering) -> bool {
    matches!(order, Ordering::Release | Ordering::AcqRel | Ordering::SeqCst)
}

impl Clocks {
    /// What was done so far has been released by a process.
    fn tick(&mut self, process: ProcessId) {
        self.now[process.0 as usize] += 1;
    }
}

impl Races {
    pub(super) fn clear(&mut self) {
        self.clocks.clear();
        self.released.clear();
        self.cells.clear();
    }

    fn clocks(&mut self, process: ProcessId) -> &mut Clocks {
        let index = process.0 as usize;
        if self.clocks.len() <= index {
            self.clocks.resize(index + 1, Clocks::default());
        }
        let now = &mut self.clocks[index].now;
        if now.len() <= index {
            now.resize(index + 1, 0);
        }
        // Nobody else knows of the process before it has released something.
        now[index] = now[index].max(1);
        &mut self.clocks[index]
    }

    /// A process takes over what was released to a part of a location.
    fn acquire(&mut self, process: ProcessId, location: Location, part: Part) {
        self.clocks(process);
        if let Some(released) = self.released.get(&(location, part)) {
            join(&mut self.clocks[process.0 as usize].now, released);
        }
    }

    /// A process releases what it has done to a part of a location.
    pub(super) fn release(&mut self, process: ProcessId, location: Location, part: Part) {
        self.clocks(process);
        let clocks = &mut self.clocks[process.0 as usize];
        join(self.released.entry((location, part)).or_default(), &clocks.now);
        clocks.tick(process);
    }

    /// A process is created by another, all of whose doings come before.
    fn inherit(&mut self, child: ProcessId, parent: ProcessId) {
        let clock = self.clocks(parent).now.clone();
        self.clocks(parent).tick(parent);
        join(&mut self.clocks(child).now, &clock);
    }

    /// A process does an atomic operation.
    fn atomic(&mut self, process: ProcessId, location: Location, did: Atomic, order: Ordering) {
        self.clocks(process);
        let clocks = &mut self.clocks[process.0 as usize];
        let released = self.released.entry((location, WHOLE)).or_default();
        if did != Atomic::Write {
            join(if acquires(order) { &mut clocks.now } else { &mut clocks.fetched }, released);
        }
        if did == Atomic::Write {
            // What was released before is read by nobody from now on.
            released.clear();
        }
        if did != Atomic::Read {
            join(released, if releases(order) { &clocks.now } else { &clocks.fenced });
            clocks.tick(process);
        }
    }

    fn fence(&mut self, process: ProcessId, order: Ordering) {
        let clocks = self.clocks(process);
        if acquires(order) {
            let fetched = std::mem::take(&mut clocks.fetched);
            join(&mut clocks.now, &fetched);
        }
        if releases(order) {
            clocks.fenced.clone_from(&clocks.now);
            clocks.tick(process);
        }
    }

    fn happened_before(&self, seen: Seen, process: ProcessId) -> bool {
        let now = self.clocks.get(process.0 as usize).map(|clocks| &clocks.now);
        let known = now.and_then(|now| now.get(seen.process.0 as usize));
        seen.process == process || known.is_some_and(|&at| at >= seen.at)
    }
}

/// The only part of most locations.
const WHOLE: Part = 0;

/// What the order of accesses follows from. All of it costs a look at a flag where no cells are watched.
impl Step<'_> {
    /// The step comes after all that was released to a location.
    #[inline]
    pub(crate) fn acquire(&mut self, location: Location) {
        self.acquire_part(location, WHOLE);
    }

    /// What its process has done comes before whoever acquires from the location.
    #[inline]
    pub(crate) fn release(&mut self, location: Location) {
        self.release_part(location, WHOLE);
    }

    /// As [`Step::acquire`], from a part of the location.
    #[inline]
    pub(crate) fn acquire_part(&mut self, location: Location, part: Part) {
        if self.world.races.enabled {
            self.world.races.acquire(self.process, location, part);
        }
    }

    /// As [`Step::release`], to a part of the location.
    #[inline]
    pub(crate) fn release_part(&mut self, location: Location, part: Part) {
        if self.world.races.enabled {
            self.world.races.release(self.process, location, part);
        }
    }

    /// The step creates a process.
    pub(crate) fn inherits(&mut self, child: ProcessId) {
        if self.world.races.enabled {
            self.world.races.inherit(child, self.process);
        }
    }

    /// The step is an operation of an atomic, with this ordering.
    #[inline]
    pub(crate) fn atomic(&mut self, location: Location, did: Atomic, order: Ordering) {
        if self.world.races.enabled {
            self.world.races.atomic(self.process, location, did, order);
        }
    }
}

impl World {
    /// Whether accesses of cells are watched.
    pub(crate) fn watches_cells(&self) -> bool {
        self.races.enabled
    }

    /// The running process comes to a fence.
    pub(crate) fn fence(&mut self, order: Ordering) {
        if self.races.enabled {
            self.races.fence(self.running, order);
        }
    }

    /// The running process accesses a cell.
    pub(crate) fn access_cell(&mut self, cell: Location, write: bool, place: &'static Caller<'static>) {
        let process = self.running;
        // As an operation: if it is done by whoever drops an `Arc` last, it matters who that is.
        self.operations += 1;
        if write {
            // It may count there how often it has tried.
            self.process_mut(process).quiet.clear();
        }
        let at = self.races.clocks(process).now[process.0 as usize];
        let now = Seen { process, at, place };
        let history = self.races.cells.entry(cell).or_default();
        let (last, reads) =
            (history.write, if write { std::mem::take(&mut history.reads) } else { Vec::new() });
        if write {
            history.write = Some(now);
        } else if !history.reads.iter().any(|seen| seen.process == process && seen.at == at) {
            history.reads.push(now);
        }
        let racing =
            last.into_iter().map(|seen| (seen, true)).chain(reads.into_iter().map(|seen| (seen, false)));
        for (seen, wrote) in racing.collect::<Vec<_>>() {
            if !self.races.happened_before(seen, process) {
                self.report_race(cell, (seen, wrote), (now, write));
            }
        }
    }

    #[cold]
    fn report_race(&mut self, cell: Location, first: (Seen, bool), second: (Seen, bool)) {
        let told = |(seen, write): (Seen, bool), world: &World| {
            let what = if write { "writes" } else { "reads" };
            format!(
                "{} {what} it at {}:{}",
                world.name_of(seen.process),
                seen.place.file(),
                seen.place.line()
            )
        };
        let message = format!(
            "{}: {}, {}, and nothing orders the two",
            self.name_of_location(cell),
            told(first, self),
            told(second, self)
        );
        let place = Some(place_of(second.0.place));
        let failure =
            Failure { kind: FailureKind::DataRace, message, place, process: Some(second.0.process) };
        if !self.failures.contains(&failure) {
            self.failures.push(failure);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: ProcessId = ProcessId(0);
    const B: ProcessId = ProcessId(1);
    const FLAG: Location = Location(7);

    /// What a process does now, as an access of a cell.
    fn now(races: &mut Races, process: ProcessId) -> Seen {
        let at = races.clocks(process).now[process.index()];
        Seen { process, at, place: Caller::caller() }
    }

    #[test]
    fn a_read_orders_after_the_write_and_not_the_other_way() {
        let mut races = Races::default();
        let first = now(&mut races, B);
        races.atomic(B, FLAG, Atomic::Read, Ordering::SeqCst);
        let before = now(&mut races, A);
        races.atomic(A, FLAG, Atomic::Write, Ordering::SeqCst);
        let after = now(&mut races, A);
        assert!(!races.happened_before(first, A), "a read releases nothing");
        races.atomic(B, FLAG, Atomic::Read, Ordering::SeqCst);
        assert!(races.happened_before(before, B));
        assert!(!races.happened_before(after, B), "what came after the write");
    }

    #[test]
    fn locks_pass_on_what_came_before() {
        let mut races = Races::default();
        let first = now(&mut races, A);
        for p in [0, 1, 2].map(ProcessId) {
            races.acquire(p, FLAG, WHOLE);
            races.release(p, FLAG, WHOLE);
        }
        assert!(races.happened_before(first, ProcessId(2)));
    }

    #[test]
    fn a_fence_releases_what_came_before_it_and_no_more() {
        let mut races = Races::default();
        let before = now(&mut races, A);
        races.fence(A, Ordering::Release);
        let after = now(&mut races, A);
        races.atomic(A, FLAG, Atomic::Write, Ordering::Relaxed);
        races.atomic(B, FLAG, Atomic::Read, Ordering::Relaxed);
        assert!(!races.happened_before(before, B), "nothing was acquired yet");
        races.fence(B, Ordering::Acquire);
        assert!(races.happened_before(before, B));
        assert!(!races.happened_before(after, B));
    }
}
