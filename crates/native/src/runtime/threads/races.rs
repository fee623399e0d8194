//! Data races: accesses of one cell, one of them a write and one of them not atomic, that nothing orders.
//!
//! What orders them is synchronisation: a lock that is given back and taken, a thread that is created or joined, an atomic
//! write with release that is read with acquire. That is less than the order of dependent steps, in which every read comes
//! after the write that it reads. Each thread has a vector clock, each location the clock that was released to it, and
//! each cell knows who accessed it last. If accesses race in one execution, they race in all that are equivalent to it.

use mazurka_program::{Access, AccessKind, FailureKind, Label, Location};

use super::operation::Operation;
use super::thread::Order;
use super::world::World;
use crate::runtime::report::frames::Trail;

/// How many steps of each thread happened before.
type Clock = Vec<u32>;

/// An access of a cell.
#[derive(Clone, Copy)]
struct Seen {
    thread: u32,
    /// The step of the thread.
    at: u32,
    place: usize,
    /// Who called it there, in C++, where most happens in functions of the library.
    trail: Trail,
}

/// The last accesses of a cell, one of each thread.
#[derive(Default)]
struct History {
    plain_writes: Vec<Seen>,
    plain_reads: Vec<Seen>,
    atomic_writes: Vec<Seen>,
    atomic_reads: Vec<Seen>,
}

#[derive(Default)]
struct Place {
    /// The execution that the rest is about.
    stamp: u64,
    released: Clock,
    /// What each thread has released to it that its own stores continue; nothing where others have stored since.
    heads: Vec<(u32, Clock)>,
    history: History,
}

#[derive(Default)]
struct Clocks {
    now: Clock,
    /// What an acquire fence would take over.
    fetched: Clock,
    /// What a release fence has left for atomic writes that release nothing.
    fenced: Clock,
}

/// What is known of synchronisation in an execution.
#[derive(Default)]
pub(crate) struct Watch {
    pub(crate) enabled: bool,
    /// Whether a store of the thread that released continues the release sequence, whatever its order.
    pub(crate) own_stores_continue: bool,
    /// Whether a store was met for which that makes a difference.
    pub(crate) stored_after_release: bool,
    stamp: u64,
    threads: Vec<Clocks>,
    /// By location.
    places: Vec<Place>,
}

/// What was known of an execution's synchronisation when it was saved: of so many threads and places, each with its number.
#[derive(Default)]
pub(crate) struct SavedWatch {
    threads: Vec<Clocks>,
    places: Vec<(usize, Place)>,
    len: (usize, usize),
}

impl Clocks {
    fn copy_from(&mut self, other: &Clocks) {
        let Clocks { now, fetched, fenced } = other;
        self.now.clone_from(now);
        self.fetched.clone_from(fetched);
        self.fenced.clone_from(fenced);
    }
}

impl Place {
    fn copy_from(&mut self, other: &Place) {
        let Place { stamp, released, heads, history } = other;
        self.stamp = *stamp;
        self.released.clone_from(released);
        self.heads.clone_from(heads);
        let History { plain_writes, plain_reads, atomic_writes, atomic_reads } = history;
        self.history.plain_writes.clone_from(plain_writes);
        self.history.plain_reads.clone_from(plain_reads);
        self.history.atomic_writes.clone_from(atomic_writes);
        self.history.atomic_reads.clone_from(atomic_reads);
    }
}

fn join(into: &mut Clock, other: &[u32]) {
    if into.len() < other.len() {
        into.resize(other.len(), 0);
    }
    into.iter_mut().zip(other).for_each(|(a, b)| *a = (*a).max(*b));
}

fn copy(into: &mut Clock, other: &[u32]) {
    into.clear();
    into.extend_from_slice(other);
}

/// Notes an access as the last one of its thread.
fn note(list: &mut Vec<Seen>, seen: Seen) {
    match list.iter_mut().find(|other| other.thread == seen.thread) {
        Some(other) => *other = seen,
        None => list.push(seen),
    }
}

impl Order {
    fn acquires(self) -> bool {
        matches!(self, Order::Acquire | Order::Both)
    }

    fn releases(self) -> bool {
        matches!(self, Order::Release | Order::Both)
    }
}

impl Watch {
    pub(crate) fn new(enabled: bool) -> Watch {
        Watch { enabled, ..Watch::default() }
    }

    pub(crate) fn begin(&mut self) {
        self.stamp += 1;
        for clocks in &mut self.threads {
            clocks.now.clear();
            clocks.fetched.clear();
            clocks.fenced.clear();
        }
    }

    /// Saves what is known of this execution.
    pub(crate) fn save(&self, saved: &mut SavedWatch) {
        let (threads, mut places) = (self.threads.len(), 0);
        if saved.threads.len() < threads {
            saved.threads.resize_with(threads, Clocks::default);
        }
        saved.threads.iter_mut().zip(&self.threads).for_each(|(saved, clocks)| saved.copy_from(clocks));
        for (at, place) in self.used() {
            if saved.places.len() == places {
                saved.places.push((at, Place::default()));
            }
            saved.places[places].0 = at;
            saved.places[places].1.copy_from(place);
            places += 1;
        }
        saved.len = (threads, places);
    }

    /// The places that this execution has come to, each with its number.
    fn used(&self) -> impl Iterator<Item = (usize, &Place)> {
        self.places.iter().enumerate().filter(|(_, place)| place.stamp == self.stamp)
    }

    /// A new execution, which is where another was when it was saved.
    pub(crate) fn put_back(&mut self, saved: &SavedWatch) {
        self.begin();
        for (clocks, saved) in self.threads.iter_mut().zip(&saved.threads[..saved.len.0]) {
            clocks.copy_from(saved);
        }
        for (at, saved) in &saved.places[..saved.len.1] {
            let place = &mut self.places[*at];
            place.copy_from(saved);
            place.stamp = self.stamp;
        }
    }

    /// About how many bytes there are to save.
    pub(crate) fn size(&self) -> usize {
        let used = if self.enabled { self.used().count() } else { 0 };
        used * (size_of::<Place>() + 2 * size_of::<Seen>())
    }

    fn clocks(&mut self, thread: u32) -> &mut Clocks {
        let index = thread as usize;
        if self.threads.len() <= index {
            self.threads.resize_with(index + 1, Clocks::default);
        }
        let clocks = &mut self.threads[index];
        if clocks.now.len() <= index {
            clocks.now.resize(index + 1, 0);
        }
        clocks
    }

    fn place(&mut self, location: Location) -> usize {
        let index = location.0 as usize;
        if self.places.len() <= index {
            self.places.resize_with(index + 1, Place::default);
        }
        let (stamp, place) = (self.stamp, &mut self.places[index]);
        if place.stamp != stamp {
            place.stamp = stamp;
            place.released.clear();
            place.heads.iter_mut().for_each(|head| head.1.clear());
            let history = &mut place.history;
            for list in [
                &mut history.plain_writes,
                &mut history.plain_reads,
                &mut history.atomic_writes,
                &mut history.atomic_reads,
            ] {
                list.clear();
            }
        }
        index
    }

    /// A thread takes a step.
    fn tick(&mut self, thread: u32) -> u32 {
        let own = &mut self.clocks(thread).now[thread as usize];
        *own += 1;
        *own
    }

    /// A step takes over what was released to a location, and releases to it.
    fn synchronise(&mut self, thread: u32, location: Location, kind: AccessKind, order: Order) {
        let index = self.place(location);
        self.clocks(thread);
        let Watch { threads, places, .. } = self;
        let (clocks, released) = (&mut threads[thread as usize], &mut places[index].released);
        if kind != AccessKind::Write {
            join(if order.acquires() { &mut clocks.now } else { &mut clocks.fetched }, released);
        }
        match kind {
            AccessKind::Read => {}
            // What was released before is read by nobody from now on.
            AccessKind::Write if order.releases() => copy(released, &clocks.now),
            AccessKind::Write => copy(released, &clocks.fenced),
            _ if order.releases() => join(released, &clocks.now),
            _ => join(released, &clocks.fenced),
        }
    }

    /// The same of an atomic access of memory, with the release sequences that stores of the same thread continue.
    fn synchronise_cell(&mut self, thread: u32, location: Location, kind: AccessKind, order: Order) {
        let index = self.place(location);
        let relaxed_store = kind == AccessKind::Write && !order.releases();
        self.stored_after_release |= relaxed_store && !self.places[index].released.is_empty();
        self.synchronise(thread, location, kind, order);
        if self.own_stores_continue && kind != AccessKind::Read {
            self.continue_own(thread, index, kind == AccessKind::Write, order);
        }
    }

    fn continue_own(&mut self, thread: u32, index: usize, store: bool, order: Order) {
        let Watch { threads, places, .. } = self;
        let (clocks, Place { released, heads, .. }) = (&threads[thread as usize], &mut places[index]);
        if store {
            heads.iter_mut().filter(|head| head.0 != thread).for_each(|head| head.1.clear());
        }
        let at = heads.iter().position(|head| head.0 == thread).unwrap_or_else(|| {
            heads.push((thread, Clock::new()));
            heads.len() - 1
        });
        join(&mut heads[at].1, if order.releases() { &clocks.now } else { &clocks.fenced });
        if store {
            join(released, &heads[at].1);
        }
    }

    /// The accesses of a cell that race with one of a thread, and notes that one.
    fn meet(
        &mut self,
        location: Location,
        kind: AccessKind,
        atomic: bool,
        seen: Seen,
        racing: &mut Vec<(Seen, bool)>,
    ) {
        let index = self.place(location);
        self.clocks(seen.thread);
        let Watch { threads, places, .. } = self;
        let (now, history) = (&threads[seen.thread as usize].now, &mut places[index].history);
        let unordered = |other: &&Seen| {
            other.thread != seen.thread && now.get(other.thread as usize).is_none_or(|&at| at < other.at)
        };
        let write = !kind.is_read();
        racing.extend(history.plain_writes.iter().filter(unordered).map(|seen| (*seen, true)));
        if !atomic {
            racing.extend(history.atomic_writes.iter().filter(unordered).map(|seen| (*seen, true)));
        }
        if write {
            racing.extend(history.plain_reads.iter().filter(unordered).map(|seen| (*seen, false)));
            if !atomic {
                racing.extend(history.atomic_reads.iter().filter(unordered).map(|seen| (*seen, false)));
            }
        }
        let list = match (write, atomic) {
            (true, false) => &mut history.plain_writes,
            (false, false) => &mut history.plain_reads,
            (true, true) => &mut history.atomic_writes,
            (false, true) => &mut history.atomic_reads,
        };
        note(list, seen);
    }

    /// A thread comes to its end, which is released to a location.
    pub(crate) fn end(&mut self, thread: u32, end: Location) {
        self.tick(thread);
        self.synchronise(thread, end, AccessKind::Write, Order::Both);
    }

    /// What another thread had done by now happens before a thread.
    fn inherit(&mut self, child: u32, parent: u32) {
        let clock = self.clocks(parent).now.clone();
        join(&mut self.clocks(child).now, &clock);
    }
}

impl World {
    /// A step accesses one cell of memory.
    pub(crate) fn watch_access(&mut self, access: Access, order: Order, place: usize) {
        let thread = self.running;
        let at = self.watch.tick(thread);
        let trail = self.trail_in_cxx();
        self.watch_cells(&[access], order, Seen { thread, at, place, trail });
    }

    fn trail_in_cxx(&self) -> Trail {
        if self.image.unwinds { self.trail() } else { Trail::default() }
    }

    fn watch_cells(&mut self, accesses: &[Access], order: Order, seen: Seen) {
        let mut racing = Vec::new();
        for access in accesses {
            for location in access.locations() {
                if self.partition.memory(location).is_none() {
                    continue;
                }
                let atomic = order != Order::Plain;
                if atomic {
                    self.watch.synchronise_cell(seen.thread, location, access.kind, order);
                }
                self.watch.meet(location, access.kind, atomic, seen, &mut racing);
                for (other, wrote) in racing.drain(..) {
                    self.report_race(location, (other, wrote), (seen, !access.kind.is_read()));
                }
            }
        }
    }

    /// A step does an operation, with this label.
    pub(crate) fn watch_operation(&mut self, label: &Label, operation: &dyn Operation, place: usize) {
        let thread = self.running;
        let at = self.watch.tick(thread);
        for access in &label.accesses {
            for location in access.locations().filter(|&at| self.partition.memory(at).is_none()) {
                self.watch.synchronise(thread, location, access.kind, Order::Both);
            }
        }
        let seen = Seen { thread, at, place, trail: self.trail_in_cxx() };
        match operation.only_reads() {
            true => {
                let read = |access: &Access| Access { kind: AccessKind::Read, ..*access };
                let accesses: Vec<Access> = label.accesses.iter().map(read).collect();
                self.watch_cells(&accesses, operation.order(), seen);
            }
            false => self.watch_cells(&label.accesses, operation.order(), seen),
        }
        for child in &label.spawned {
            self.watch.inherit(child.0, thread);
        }
    }

    /// A fence of the running thread.
    pub(crate) fn watch_fence(&mut self, order: Order) {
        let clocks = self.watch.clocks(self.running);
        if order.acquires() {
            let fetched = std::mem::take(&mut clocks.fetched);
            join(&mut clocks.now, &fetched);
        }
        if order.releases() {
            copy(&mut clocks.fenced, &clocks.now);
        }
    }

    #[cold]
    fn report_race(&mut self, location: Location, first: (Seen, bool), second: (Seen, bool)) {
        let Some(cell) = self.partition.memory(location) else { return };
        let told = |(seen, write): (Seen, bool)| {
            let what = if write { "writes" } else { "reads" };
            let place = self.own_place(seen.place, &seen.trail);
            format!("{} {what} it{}", self.name_of(seen.thread), self.at_place(place))
        };
        let message = format!(
            "{}: {}, {}, and nothing orders the two",
            self.memory_name(cell.address, cell.size),
            told(first),
            told(second)
        );
        self.report(FailureKind::DataRace, message, second.0.place);
    }
}
