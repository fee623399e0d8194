//! Data races of the program's memory: what a step accesses is told to [`mazurka_threads::races`], and what
//! comes back is told to people.

use mazurka_program::{Access, AccessKind, FailureKind, Label, Location};
use mazurka_threads::races::{Atomic, Order, Seen};

use super::operation::Operation;
use super::runtime::Runtime;
use crate::runtime::report::frames::Trail;

/// Where an access was made.
#[derive(Clone, Copy)]
pub(crate) struct Site {
    place: usize,
    /// Who called it there, in C++, where most happens in functions of the library.
    trail: Trail,
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
        let trail = if self.execution.image.unwinds { self.trail() } else { Trail::default() };
        let running = self.running();
        self.execution.races.now(running, Site { place, trail }, false)
    }

    fn look_at_cells(&mut self, accesses: &[Access], order: Order, mut now: Seen<Site>) {
        let mut racing = Vec::new();
        for access in accesses {
            now.write = !access.kind.is_read();
            for location in access.locations() {
                if self.search.partition.memory(location).is_none() {
                    continue;
                }
                let races = &mut self.execution.races;
                if order != Order::Plain {
                    races.atomic(now.process, location, atomic(access.kind), order);
                }
                races.meet(location, now, order != Order::Plain, &mut racing);
                for other in racing.drain(..) {
                    self.report_race(location, other, now);
                }
            }
        }
    }

    /// A step does an operation, with this label.
    pub(crate) fn look_for_races_of(&mut self, label: &Label, operation: &dyn Operation, place: usize) {
        let now = self.race_clock(place);
        let Runtime { search, execution, .. } = self;
        for access in &label.accesses {
            // What stands for several mutexes orders nothing of itself.
            let orders = |at: &Location| {
                search.partition.memory(*at).is_none() && search.lock_groups.members(*at).is_none()
            };
            for location in access.locations().filter(orders) {
                execution.races.synchronise(now.process, location, atomic(access.kind), Order::Both);
            }
        }
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
        }
    }

    #[cold]
    fn report_race(&mut self, location: Location, first: Seen<Site>, second: Seen<Site>) {
        let Some(cell) = self.search.partition.memory(location) else { return };
        let text = |seen: Seen<Site>| {
            let what = if seen.write { "writes" } else { "reads" };
            let place = self.own_place(seen.place.place, &seen.place.trail);
            format!("{} {what} it{}", self.name_of(seen.process), self.at_place(place))
        };
        let message = format!(
            "{}: {}, {}, and nothing orders the two",
            self.memory_name(cell.address, cell.size),
            text(first),
            text(second)
        );
        self.report(FailureKind::DataRace, message, second.place.place);
    }
}
