//! States up to renaming, for searches that merge them, and what it takes to rename.
//!
//! Unlike [`State`](mazurka_program::State), which is canonical, the order of nodes here is quick to find,
//! and where nodes look alike it goes by names. So two states that are equal up to renaming may be told
//! apart, never the other way around.

use mazurka_program::{Location, Origin, ProcessId, Renamed, Renaming, Thing as Renameable};

use super::super::code::Image;
use super::super::run::{AbsRun, MAIN_DATA, Machine};
use super::Thing;

impl Renaming for AbsRun {
    fn renamed(&self, state: &mut Renamed) {
        self.machine.renamed(&self.image, state);
    }

    fn origin(&self, thing: Renameable) -> Option<Origin> {
        let machine = &self.machine;
        let (path, kind) = match thing {
            Renameable::Process(process) => (&machine.futures.get(process.index())?.path, 0),
            Renameable::Object(id) => {
                let reference = machine.references.get(id as usize)?;
                (&reference.path, reference.class)
            }
        };
        let (&ordinal, maker) = path.split_last()?;
        Some(Origin { maker: machine.names.find(maker)?, ordinal, kind })
    }

    fn process_of(&mut self, origin: Origin) -> ProcessId {
        let machine = &mut self.machine;
        let mut process = origin.maker;
        // Children are named in the order of their creation.
        for ordinal in 0..=origin.ordinal {
            process = machine.names.child(Some(origin.maker), ordinal);
            machine.meet_process(process.0);
        }
        process
    }

    fn object_of(&mut self, origin: Origin) -> u32 {
        self.machine.meet_object(&self.image, origin.maker.0, origin.ordinal, origin.kind).id
    }

    fn owner(&self, location: Location) -> Option<(Renameable, u32)> {
        let machine = &self.machine;
        if location.0 <= MAIN_DATA {
            return None;
        }
        // Both lists grow, since locations are given once.
        let last = |bases: &[u32]| bases.partition_point(|&base| base <= location.0).checked_sub(1);
        let task = last(&machine.future_locations).map(|p| (machine.future_locations[p], p));
        let object = last(&machine.bases).map(|id| (machine.bases[id], id));
        let (thing, base) = match (task, object) {
            (Some((base, p)), other) if other.is_none_or(|(other, _)| other < base) => {
                (Renameable::Process(ProcessId(p as u32)), base)
            }
            (_, Some((base, id))) => (Renameable::Object(id as u32), base),
            _ => return None,
        };
        Some((thing, location.0 - base))
    }

    fn location_of(&self, thing: Renameable, place: u32) -> Location {
        let base = match thing {
            Renameable::Process(process) => self.machine.future_locations[process.index()],
            Renameable::Object(id) => self.machine.bases[id as usize],
        };
        Location(base + place)
    }
}

impl Machine {
    fn renamed(&self, image: &Image, state: &mut Renamed) {
        let builder = self.graph(image, true);
        let order = builder.graph.quick_order();
        let things = builder.things();
        state.list.clear();
        builder.graph.encode_into(&order, &mut state.list);
        state.things.clear();
        state.made.clear();
        for &node in &order {
            let (thing, made) = match things[node] {
                Thing::Object(id) => (Renameable::Object(id), (0, 0)),
                Thing::Task(p) => {
                    let made = self.task(p).map_or((0, 0), |task| (task.children, task.created));
                    (Renameable::Process(ProcessId(p)), made)
                }
            };
            state.things.push(thing);
            state.made.push(made);
        }
    }
}
