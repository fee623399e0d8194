//! Data races of the program's memory: what a step accesses is told to [`mazurka_threads::races`], and what
//! comes back is told to people.

use mazurka_program::{Access, AccessKind, Failure, FailureKind, Label, Location, ProcessId};
use mazurka_threads::race_log::Did;
use mazurka_threads::races::{Atomic, Order, Seen};
use rustc_hash::FxHashMap;

use super::operation::Operation;
use super::runtime::Runtime;
use crate::runtime::report::frames::Trail;

/// Where an access was made.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Site {
    place: usize,
    /// Who called it there, in C++, where most happens in functions of the library; in C once there was a race
    /// in such a function.
    trail: Trail,
}

/// An access that races: who made it, where, and whether it wrote.
type Racing = (ProcessId, Site, bool);

/// The races that were met, in whatever execution. One that is met again and again has a number, by which an
/// execution knows whether it has told it, and its text is made once.
#[derive(Default)]
pub(crate) struct MetRaces {
    numbers: FxHashMap<(Location, Racing, Racing), u32>,
    /// By number, of races of static variables.
    texts: Vec<Option<RaceText>>,
    /// By message and column: the number of the first race with that text.
    alike: FxHashMap<(String, u32), usize>,
    /// Whether it is noted in C who called the function that an access is in.
    callers: bool,
}

/// What people are told of a race.
#[derive(Clone)]
struct RaceText {
    /// What the names of threads depended on.
    names: u64,
    failure: Failure,
    /// The first race that is told in the same words: accesses of one line are told alike.
    number: usize,
}

impl MetRaces {
    /// The number of a race.
    fn number(&mut self, location: Location, first: Seen<Site>, second: Seen<Site>) -> usize {
        let racing = |seen: Seen<Site>| (seen.process, seen.place, seen.write);
        let next = self.texts.len() as u32;
        let number = *self.numbers.entry((location, racing(first), racing(second))).or_insert(next);
        if number == next {
            self.texts.push(None);
        }
        number as usize
    }

    /// Keeps the text of a race. Gives the number of the first one that is told so.
    fn keep(&mut self, number: usize, names: u64, failure: Failure) -> usize {
        let column = failure.place.as_ref().map_or(0, |place| place.column);
        let first = *self.alike.entry((failure.message.clone(), column)).or_insert(number);
        self.texts[number] = Some(RaceText { names, failure, number: first });
        first
    }
}

fn atomic(kind: AccessKind) -> Atomic {
    match kind {
        AccessKind::Read => Atomic::Read,
        AccessKind::Write => Atomic::Write,
        _ => Atomic::Update,
    }
}

impl Runtime {
    /// A step accesses one cell of memory.
    pub(crate) fn look_for_races(&mut self, access: Access, order: Order, place: usize) {
        let now = self.race_clock(place);
        self.look_at_cells(&[access], order, now);
    }

    /// What the running thread does now, as an access. All that a step does is of one time, that before it
    /// releases.
    fn race_clock(&mut self, place: usize) -> Seen<Site> {
        let noted = self.execution.image.unwinds || self.search.met_races.callers;
        let trail = if noted { self.trail() } else { Trail::default() };
        let running = self.running();
        self.note_race(running, Did::Begin);
        self.execution.races.now(running, Site { place, trail }, false)
    }

    /// A thread does something that races are judged by.
    #[inline]
    pub(crate) fn note_race(&mut self, process: ProcessId, did: Did) {
        if self.search.rounds {
            let steps = self.execution.schedule.depth as usize;
            self.execution.race_log.note(steps, process, did);
        }
    }

    fn look_at_cells(&mut self, accesses: &[Access], order: Order, mut now: Seen<Site>) {
        let mut racing = Vec::new();
        for access in accesses {
            now.write = !access.kind.is_read();
            for location in access.locations() {
                if self.search.partition.memory(location).is_none() {
                    continue;
                }
                let is_atomic = order != Order::Plain;
                if is_atomic {
                    self.note_synchronised(location, access.kind, order);
                    self.note_race(now.process, Did::Atomic(location, atomic(access.kind), order));
                    self.execution.races.atomic(now.process, location, atomic(access.kind), order);
                }
                self.note_race(now.process, Did::AccessThen(location, now.write, is_atomic));
                let races = &mut self.execution.races;
                races.meet(location, now, order != Order::Plain, &mut racing);
                for other in racing.drain(..) {
                    self.report_race(location, other, now);
                }
            }
        }
    }

    /// The running thread does an atomic access: whether what was there is acquired before it is overwritten
    /// decides what a round leaves behind, and whether all accesses acquire and release whether rounds count
    /// the first time.
    #[inline]
    fn note_synchronised(&mut self, location: Location, kind: AccessKind, order: Order) {
        let is_strong = match kind {
            AccessKind::Read => order.acquires(),
            AccessKind::Write => order.releases(),
            _ => order.acquires() && order.releases(),
        };
        if !(is_strong || self.search.has_weak_order) {
            self.search.has_weak_order = true;
            self.search.partition.news |= self.search.rounds;
        }
        if self.search.rounds && !kind.is_read() {
            let blind = kind == AccessKind::Write;
            self.me().buffers.rounds.note_synchronised(location.0, blind);
        }
    }

    /// A step does an operation, with this label.
    pub(crate) fn look_for_races_of(&mut self, label: &Label, operation: &dyn Operation, place: usize) {
        let now = self.race_clock(place);
        let mut synchronised = Vec::new();
        let Runtime { search, execution, .. } = self;
        for access in &label.accesses {
            // What stands for several mutexes orders nothing of itself.
            let orders = |at: &Location| {
                search.partition.memory(*at).is_none() && search.lock_groups.members(*at).is_none()
            };
            for location in access.locations().filter(orders) {
                execution.races.synchronise(now.process, location, atomic(access.kind), Order::Both);
                synchronised.push(Did::Synchronise(location, atomic(access.kind), Order::Both));
            }
        }
        synchronised.into_iter().for_each(|did| self.note_race(now.process, did));
        match operation.only_reads() {
            true => {
                let read = |access: &Access| Access { kind: AccessKind::Read, ..*access };
                let accesses: Vec<Access> = label.accesses.iter().map(read).collect();
                self.look_at_cells(&accesses, operation.order(), now);
            }
            false => self.look_at_cells(&label.accesses, operation.order(), now),
        }
        for &child in &label.spawned {
            self.execution.races.inherit(child, now.process);
            self.note_race(now.process, Did::Create(child));
        }
    }

    /// Notes a race, once in an execution.
    #[cold]
    fn report_race(&mut self, location: Location, first: Seen<Site>, second: Seen<Site>) {
        let number = self.search.met_races.number(location, first, second);
        if !self.execution.races_told.is_first_use(number) {
            return;
        }
        let names = self.execution.names;
        let Runtime { search, execution, .. } = self;
        if let Some(text) = search.met_races.texts[number].as_ref().filter(|text| text.names == names) {
            if text.number == number || execution.races_told.is_first_use(text.number) {
                execution.findings.failures.push_copy(&text.failure);
            }
            return;
        }
        let Some(cell) = search.partition.memory(location) else { return };
        if !self.execution.image.unwinds
            && !self.search.met_races.callers
            && self.is_in_library(first.place.place)
        {
            // The line that called it is not known any more: the search begins again, and notes it.
            (self.search.met_races.callers, self.search.partition.news) = (true, true);
            return;
        }
        let failure = self.race_failure((cell.address, cell.size), first, second);
        // What other memory is called depends on more.
        if self.execution.image.variables.contains(&cell.address) {
            let first = self.search.met_races.keep(number, names, failure.clone());
            self.execution.races_told.is_first_use(first);
        }
        self.execution.findings.report(failure);
    }

    /// A race of some memory, for people.
    fn race_failure(
        &self,
        (address, size): (usize, usize),
        first: Seen<Site>,
        second: Seen<Site>,
    ) -> Failure {
        let text = |seen: Seen<Site>| {
            let what = if seen.write { "writes" } else { "reads" };
            let place = self.own_place(seen.place.place, &seen.place.trail);
            format!("{} {what} it{}", self.name_of(seen.process), self.at_place(place))
        };
        let message = format!(
            "{}: {}, {}, and nothing orders the two",
            self.memory_name(address, size),
            text(first),
            text(second)
        );
        let (process, place) = (second.process, second.place.place);
        let place = self.place_of(process, place).or_else(|| self.place(place));
        Failure { kind: FailureKind::DataRace, message, place, process: Some(process) }
    }
}
