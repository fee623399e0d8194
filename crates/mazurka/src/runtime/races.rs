//! Data races: accesses of one cell, one of them a write, that nothing orders.
//!
//! What orders them is synchronisation: who reads what another wrote to an atomic, takes a lock that another gave back,
//! joins, receives, goes on after all that the other had done by then. That is less than the order of dependent steps, in
//! which a read also comes before the write that follows it. Each process has a vector clock, and each location
//! the clock that was released to it. Accesses of cells are no steps: if they race in one execution, they race in
//! all that are equivalent to it, and if they race in none, their order is given. Clocks are kept only in searches of
//! programs that are known to use cells.

use std::panic::Location as Caller;

use mazurka_program::{AccessKind, Failure, FailureKind, Label, Location, ProcessId};
use rustc_hash::FxHashMap;

use super::{World, place_of};

/// How many steps of each process happened before.
type Clock = Vec<u32>;

/// What is known of synchronisation and of cells in an execution.
#[derive(Default)]
pub(crate) struct Races {
    pub(super) enabled: bool,
    /// By process.
    clocks: Vec<Clock>,
    /// By location: what was released there.
    released: FxHashMap<Location, Clock>,
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
    /// How many steps the process had taken.
    events: u32,
    place: &'static Caller<'static>,
}

fn join(into: &mut Clock, other: &[u32]) {
    if into.len() < other.len() {
        into.resize(other.len(), 0);
    }
    into.iter_mut().zip(other).for_each(|(a, b)| *a = (*a).max(*b));
}

impl Races {
    pub(super) fn clear(&mut self) {
        self.clocks.clear();
        self.released.clear();
        self.cells.clear();
    }

    fn clock(&mut self, process: ProcessId) -> &mut Clock {
        let index = process.0 as usize;
        if self.clocks.len() <= index {
            self.clocks.resize(index + 1, Clock::new());
        }
        let clock = &mut self.clocks[index];
        if clock.len() <= index {
            clock.resize(index + 1, 0);
        }
        clock
    }

    /// Takes over what a step synchronised. `events` counts the process's steps, this one included.
    #[inline(never)]
    pub(super) fn step(&mut self, process: ProcessId, events: u32, label: &Label) {
        let mut clock = std::mem::take(self.clock(process));
        clock[process.0 as usize] = events;
        let touched =
            || label.accesses.iter().flat_map(|access| access.locations().map(|at| (at, access.kind)));
        for (location, kind) in touched() {
            if matches!(kind, AccessKind::Read | AccessKind::Update)
                && let Some(released) = self.released.get(&location)
            {
                join(&mut clock, released);
            }
        }
        for (location, kind) in touched() {
            let released = match kind {
                AccessKind::Read => continue,
                _ => self.released.entry(location).or_default(),
            };
            if kind == AccessKind::Write {
                released.clear();
            }
            join(released, &clock);
        }
        for &child in &label.spawned {
            self.clock(child);
            join(&mut self.clocks[child.0 as usize], &clock);
        }
        *self.clock(process) = clock;
    }

    /// The end of a process is a release, whoever's step it was in.
    #[inline(never)]
    pub(super) fn end(&mut self, process: ProcessId, events: u32, end: Location) {
        let clock = self.clock(process);
        let own = &mut clock[process.0 as usize];
        *own = (*own).max(events + 1);
        let clock = clock.clone();
        join(self.released.entry(end).or_default(), &clock);
    }

    fn happened_before(&self, seen: Seen, process: ProcessId) -> bool {
        let clock = self.clocks.get(process.0 as usize).and_then(|clock| clock.get(seen.process.0 as usize));
        seen.process == process || clock.is_some_and(|&events| events > seen.events)
    }
}

impl World {
    /// Whether accesses of cells are watched.
    pub(crate) fn watches_cells(&self) -> bool {
        self.races.enabled
    }

    /// The running process accesses a cell.
    pub(crate) fn access_cell(&mut self, cell: Location, write: bool, place: &'static Caller<'static>) {
        let process = self.running;
        let events = self.process(process).events;
        // As an operation: if it is done by whoever drops an `Arc` last, it matters who that is.
        self.operations += 1;
        if write {
            // It may count there how often it has tried.
            self.process_mut(process).quiet.clear();
        }
        let now = Seen { process, events, place };
        let history = self.races.cells.entry(cell).or_default();
        let (last, reads) =
            (history.write, if write { std::mem::take(&mut history.reads) } else { Vec::new() });
        if write {
            history.write = Some(now);
        } else if !history.reads.iter().any(|seen| seen.process == process && seen.events == events) {
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

    fn label(accesses: &[(u32, AccessKind)]) -> Label {
        let mut label = Label::default();
        accesses.iter().for_each(|&(location, kind)| label.touch(Location(location), kind));
        label
    }

    #[test]
    fn a_read_orders_after_the_write_and_not_the_other_way() {
        let (a, b) = (ProcessId(0), ProcessId(1));
        let mut races = Races::default();
        let seen = |process, events| Seen { process, events, place: Caller::caller() };
        races.step(b, 1, &label(&[(7, AccessKind::Read)]));
        races.step(a, 1, &label(&[(7, AccessKind::Write)]));
        assert!(!races.happened_before(seen(b, 0), a), "a read releases nothing");
        races.step(b, 2, &label(&[(7, AccessKind::Read)]));
        assert!(races.happened_before(seen(a, 0), b));
        assert!(!races.happened_before(seen(a, 1), b), "what came after the write");
    }

    #[test]
    fn locks_pass_on_what_came_before() {
        let mut races = Races::default();
        for p in 0..3 {
            races.step(ProcessId(p), 1, &label(&[(1, AccessKind::Update)]));
        }
        let seen = Seen { process: ProcessId(0), events: 0, place: Caller::caller() };
        assert!(races.happened_before(seen, ProcessId(2)));
    }
}
