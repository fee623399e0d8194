//! Carries what is known of a state over to one that is equal up to renaming.
//!
//! Records and sleep sets are stored in *canonical names*: of what is there in the state, its number in the
//! canonical order ([`Renamed::things`]); of what is made below, its maker's canonical name and how many the
//! maker had made since. Read back at an equal state, a canonical name is what the bijection between the two
//! states makes of it. A record that has no canonical name can't be; if there is one all the same, the state
//! is not stored, or not merged, and nothing is lost but time.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::rc::Rc;

use mazurka_program::{Access, Location, Origin, ProcessId, Renamed, Renaming, Run, Thing};

use super::records::{Record, RecordSet, Records, members};

/// A state's own names.
#[derive(Debug, Default)]
pub(super) struct StateNames {
    things: Vec<Thing>,
    made: Vec<(u32, u32)>,
    numbers: HashMap<Thing, u32>,
}

impl StateNames {
    pub fn new(renamed: &mut Renamed) -> StateNames {
        let (things, made) = (std::mem::take(&mut renamed.things), std::mem::take(&mut renamed.made));
        let numbers = things.iter().enumerate().map(|(number, &thing)| (thing, number as u32)).collect();
        StateNames { things, made, numbers }
    }

    /// The number of a process in the canonical order.
    pub fn number(&self, process: ProcessId) -> Option<ProcessId> {
        self.numbers.get(&Thing::Process(process)).map(|&number| ProcessId(number))
    }
}

/// A state as a list of numbers, up to renaming where the front end can, else with its names. Says whether
/// there is one.
pub(crate) fn comparable_state(run: &mut dyn Run, state: &mut Renamed) -> bool {
    if let Some(renaming) = run.renaming() {
        renaming.renamed(state);
        return true;
    }
    let named = run.states().and_then(|states| states.named());
    named.map(|states| states.named_state(&mut state.list)).is_some()
}

/// A canonical name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Name {
    There(u32),
    Process { maker: u32, ordinal: u32 },
    Object { maker: u32, ordinal: u32, kind: u32 },
}

/// A canonical location.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Spot {
    Fixed(Location),
    Of(u32, u32),
}

/// Each once, with a number.
#[derive(Debug)]
struct Table<T> {
    numbers: HashMap<T, u32>,
    list: Vec<T>,
}

impl<T> Default for Table<T> {
    fn default() -> Table<T> {
        Table { numbers: HashMap::new(), list: Vec::new() }
    }
}

impl<T: Copy + Eq + std::hash::Hash> Table<T> {
    fn number(&mut self, of: T) -> u32 {
        *self.numbers.entry(of).or_insert_with(|| {
            self.list.push(of);
            self.list.len() as u32 - 1
        })
    }
}

/// All canonical names, and records in them.
#[derive(Debug, Default)]
pub(super) struct Canon {
    names: Table<Name>,
    spots: Table<Spot>,
    records: Records,
}

/// What has been translated at one state.
#[derive(Default)]
struct Known {
    things: HashMap<Thing, u32>,
    names: HashMap<u32, Thing>,
    locations: HashMap<Location, Location>,
}

impl Canon {
    /// Records of a run, in canonical names.
    pub fn store(
        &mut self,
        run: &dyn Renaming,
        names: &StateNames,
        records: &Records,
        set: &[u64],
    ) -> Option<Rc<[u64]>> {
        let mut inward = Inward { canon: self, run, names, known: Known::default() };
        let mut stored = RecordSet::default();
        for record in members(set) {
            let record = inward.record(records.get(record))?;
            stored.insert(inward.canon.records.number(record));
        }
        Some(self.records.keep(&stored))
    }

    /// Stored records, in the names of a run.
    pub fn read(
        &self,
        run: &mut dyn Renaming,
        names: &StateNames,
        records: &mut Records,
        set: &[u64],
    ) -> Option<RecordSet> {
        let mut outward = Outward { canon: self, run, names, known: Known::default() };
        let mut read = RecordSet::default();
        for record in members(set) {
            let record = outward.record(self.records.get(record))?;
            read.insert(records.number(record));
        }
        Some(read)
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        let tables = self.names.list.capacity() * 2 * size_of::<(Name, u32)>()
            + self.spots.list.capacity() * 2 * size_of::<(Spot, u32)>();
        self.records.memory() + tables
    }
}

/// A record with its names changed. Ranges of locations need not stay together.
fn renamed_record(
    record: &Record,
    mut process: impl FnMut(ProcessId) -> Option<ProcessId>,
    mut location: impl FnMut(Location) -> Option<Location>,
) -> Option<Record> {
    let mut accesses = Vec::with_capacity(record.accesses.len());
    for access in &record.accesses {
        for at in access.locations() {
            accesses.push(Access::one(location(at)?, access.kind));
        }
    }
    accesses.sort_unstable();
    let waited_for = record.waited_for.iter().map(|&at| location(at)).collect::<Option<_>>()?;
    let spawned = record.spawned.iter().map(|&child| process(child)).collect::<Option<_>>()?;
    Some(Record { process: process(record.process)?, accesses, waited_for, spawned })
}

/// From the names of a run to canonical ones.
struct Inward<'a> {
    canon: &'a mut Canon,
    run: &'a dyn Renaming,
    names: &'a StateNames,
    known: Known,
}

impl Inward<'_> {
    fn record(&mut self, record: &Record) -> Option<Record> {
        // Two closures can't borrow this at once: the locations first.
        let mut locations = std::mem::take(&mut self.known.locations);
        for at in record
            .accesses
            .iter()
            .flat_map(|access| access.locations())
            .chain(record.waited_for.iter().copied())
        {
            if let Entry::Vacant(unknown) = locations.entry(at) {
                unknown.insert(self.location(at)?);
            }
        }
        let changed = renamed_record(
            record,
            |process| self.thing(Thing::Process(process)).map(ProcessId),
            |location| locations.get(&location).copied(),
        );
        self.known.locations = locations;
        changed
    }

    fn location(&mut self, location: Location) -> Option<Location> {
        let spot = match self.run.owner(location) {
            None => Spot::Fixed(location),
            Some((thing, place)) => Spot::Of(self.thing(thing)?, place),
        };
        Some(Location(self.canon.spots.number(spot)))
    }

    /// The way up to what is there, and down again.
    fn thing(&mut self, thing: Thing) -> Option<u32> {
        let mut way: Vec<(Thing, Origin)> = Vec::new();
        let mut at = thing;
        let mut name = loop {
            if let Some(&known) = self.known.things.get(&at) {
                break known;
            }
            if let Some(&number) = self.names.numbers.get(&at) {
                break self.canon.names.number(Name::There(number));
            }
            let origin = self.run.origin(at)?;
            way.push((at, origin));
            at = Thing::Process(origin.maker);
        };
        self.known.things.insert(at, name);
        while let Some((thing, origin)) = way.pop() {
            let (processes, objects) = self.made(origin.maker);
            name = self.canon.names.number(match thing {
                Thing::Process(_) => {
                    Name::Process { maker: name, ordinal: origin.ordinal.checked_sub(processes)? }
                }
                Thing::Object(_) => Name::Object {
                    maker: name,
                    ordinal: origin.ordinal.checked_sub(objects)?,
                    kind: origin.kind,
                },
            });
            self.known.things.insert(thing, name);
        }
        Some(name)
    }

    fn made(&self, maker: ProcessId) -> (u32, u32) {
        let number = self.names.numbers.get(&Thing::Process(maker));
        number.map_or((0, 0), |&number| self.names.made[number as usize])
    }
}

/// From canonical names to those of a run.
struct Outward<'a> {
    canon: &'a Canon,
    run: &'a mut dyn Renaming,
    names: &'a StateNames,
    known: Known,
}

impl Outward<'_> {
    fn record(&mut self, record: &Record) -> Option<Record> {
        let mut locations = std::mem::take(&mut self.known.locations);
        for at in record.accesses.iter().map(|access| access.first).chain(record.waited_for.iter().copied()) {
            if let Entry::Vacant(unknown) = locations.entry(at) {
                unknown.insert(self.location(at)?);
            }
        }
        let changed = renamed_record(
            record,
            |process| match self.thing(process.0)? {
                Thing::Process(process) => Some(process),
                Thing::Object(_) => None,
            },
            |location| locations.get(&location).copied(),
        );
        self.known.locations = locations;
        changed
    }

    fn location(&mut self, location: Location) -> Option<Location> {
        match self.canon.spots.list[location.0 as usize] {
            Spot::Fixed(location) => Some(location),
            Spot::Of(name, place) => {
                let thing = self.thing(name)?;
                Some(self.run.location_of(thing, place))
            }
        }
    }

    fn thing(&mut self, name: u32) -> Option<Thing> {
        let mut way = Vec::new();
        let mut at = name;
        let mut thing = loop {
            if let Some(&known) = self.known.names.get(&at) {
                break known;
            }
            match self.canon.names.list[at as usize] {
                Name::There(number) => break *self.names.things.get(number as usize)?,
                Name::Process { maker, .. } | Name::Object { maker, .. } => {
                    way.push(at);
                    at = maker;
                }
            }
        };
        self.known.names.insert(at, thing);
        while let Some(name) = way.pop() {
            let Thing::Process(maker) = thing else { return None };
            let number = self.names.numbers.get(&thing);
            let (processes, objects) = number.map_or((0, 0), |&number| self.names.made[number as usize]);
            thing = match self.canon.names.list[name as usize] {
                Name::There(_) => return None,
                Name::Process { ordinal, .. } => {
                    let origin = Origin { maker, ordinal: ordinal + processes, kind: 0 };
                    Thing::Process(self.run.process_of(origin))
                }
                Name::Object { ordinal, kind, .. } => {
                    let origin = Origin { maker, ordinal: ordinal + objects, kind };
                    Thing::Object(self.run.object_of(origin))
                }
            };
            self.known.names.insert(name, thing);
        }
        Some(thing)
    }
}
