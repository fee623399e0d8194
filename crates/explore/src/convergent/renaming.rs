//! Carries what is known of a state over to one that is equal up to renaming.
//!
//! A state speaks of what is *there*: the things of its canonical order ([`Renamed::things`]). What steps below
//! it do to things that are made below it nobody above can notice, and who is made below comes only after the
//! process that is there and has made it, itself or through others. So records are kept as they are *seen* from
//! the state: with what they do to things that are there, and of a process that is there
//! ([`Record::of_descendant`]). They have the names of the run, and the things of the state are kept with them,
//! in order; read back at an equal state, a thing is what that state has in its place. Most have the same name
//! there, and so have most records.
//!
//! Something that is neither there nor made below can't be in a record; if it is all the same, the record stays
//! as it is, the state is not stored, and nothing is lost but time.

use std::collections::HashMap;

use mazurka_program::{Access, AccessKind, Location, ProcessId, Renamed, Renaming, Run, Thing};

use super::intern::{Interned, push_number, pushed_numbers};
use super::records::{Record, RecordId, RecordSet, Records};
use crate::quick_hash::QuickHash;

/// What is there in a state.
#[derive(Debug, Default)]
pub(super) struct StateNames {
    things: Vec<Thing>,
    made: Vec<(u32, u32)>,
    numbers: HashMap<Thing, u32, QuickHash>,
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

    fn has(&self, thing: Thing) -> bool {
        self.numbers.contains_key(&thing)
    }

    /// What is there that is not there in another state.
    pub fn beyond(&self, other: &StateNames) -> Vec<Thing> {
        self.things.iter().copied().filter(|&thing| !other.has(thing)).collect()
    }

    /// The process that is there and from which something is still to come, itself or through others.
    fn ancestor(
        &self,
        run: &dyn Renaming,
        thing: Thing,
        lives: &impl Fn(ProcessId) -> bool,
    ) -> Option<ProcessId> {
        let mut at = thing;
        loop {
            let origin = run.origin(at)?;
            let Some(&number) = self.numbers.get(&Thing::Process(origin.maker)) else {
                at = Thing::Process(origin.maker);
                continue;
            };
            let (processes, objects) = self.made[number as usize];
            let made = if matches!(at, Thing::Process(_)) { processes } else { objects };
            return (origin.ordinal >= made && lives(origin.maker)).then_some(origin.maker);
        }
    }
}

/// A state as a list of numbers, up to renaming where the front end can, else with its names. Says whether
/// there is one.
pub(crate) fn comparable_state(run: &mut dyn Run, state: &mut Renamed) -> bool {
    if let Some(renaming) = run.renaming() {
        renaming.renamed(state);
        return true;
    }
    named_state(run, &mut state.list)
}

/// A state with its names as a list of numbers. Says whether there is one.
pub(crate) fn named_state(run: &dyn Run, list: &mut Vec<i64>) -> bool {
    let named = run.states().and_then(|states| states.named());
    named.map(|states| states.named_state(list)).is_some()
}

/// A location, as one that is the same in every state, or as one that a thing has.
#[derive(Clone, Copy, Debug)]
enum Spot {
    Fixed(Location),
    Of(Thing, u32),
}

/// A record of a run, taken apart. Ranges of locations need not stay together.
#[derive(Clone, Debug)]
struct Parts {
    /// What it speaks of.
    things: Vec<Thing>,
    accesses: Vec<(Spot, AccessKind)>,
    waited_for: Vec<Spot>,
}

impl Parts {
    fn of(run: &dyn Renaming, record: &Record) -> Parts {
        let spot = |location: Location| {
            run.owner(location).map_or(Spot::Fixed(location), |(thing, place)| Spot::Of(thing, place))
        };
        let each = |access: &Access| {
            let kind = access.kind;
            access.locations().map(move |at| (at, kind)).collect::<Vec<_>>()
        };
        let accesses: Vec<_> =
            record.accesses.iter().flat_map(each).map(|(at, kind)| (spot(at), kind)).collect();
        let waited_for: Vec<_> = record.waited_for.iter().map(|&at| spot(at)).collect();
        let mut things = vec![Thing::Process(record.process)];
        for &at in accesses.iter().map(|(at, _)| at).chain(&waited_for) {
            if let Spot::Of(thing, _) = at
                && !things.contains(&thing)
            {
                things.push(thing);
            }
        }
        Parts { things, accesses, waited_for }
    }
}

/// The number of a list of things that is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ThingsId(u32);

/// Turns records of one state into those of another.
#[derive(Debug, Default)]
pub(super) struct Renamer {
    /// The records of the run, taken apart when they are first asked for.
    parts: Vec<Option<Box<Parts>>>,
    /// The things of states, in order.
    things: Interned,
    bytes: Vec<u8>,
    /// Bytes of what was taken apart.
    memory: usize,
}

impl Renamer {
    fn parts(&mut self, run: &dyn Renaming, records: &Records, record: RecordId) -> &Parts {
        let at = record.0 as usize;
        if at >= self.parts.len() {
            self.parts.resize(at + 1, None);
        }
        self.parts[at].get_or_insert_with(|| {
            let parts = Parts::of(run, records.get(record));
            self.memory += size_of::<Parts>() + parts.things.capacity() * size_of::<Thing>();
            self.memory += (parts.accesses.capacity() + parts.waited_for.capacity()) * size_of::<Spot>();
            Box::new(parts)
        })
    }

    /// Whether a record speaks of one of these things.
    pub fn speaks_of(
        &mut self,
        run: &dyn Renaming,
        records: &Records,
        record: RecordId,
        things: &[Thing],
    ) -> bool {
        self.parts(run, records, record).things.iter().any(|thing| things.contains(thing))
    }

    /// A record as it is seen from a state; `lives` says who is enabled there, or waits. None if it speaks of
    /// something that is neither there nor to come.
    pub fn seen(
        &mut self,
        run: &dyn Renaming,
        (names, lives): (&StateNames, impl Fn(ProcessId) -> bool),
        records: &mut Records,
        id: RecordId,
    ) -> Option<RecordId> {
        let parts = self.parts(run, records, id);
        let record = records.get(id);
        if record.spawned.is_empty() && parts.things.iter().all(|&thing| names.has(thing)) {
            return Some(id);
        }
        let is_to_come = |&thing: &Thing| names.ancestor(run, thing, &lives).is_some();
        if !parts.things.iter().filter(|&&thing| !names.has(thing)).all(is_to_come) {
            return None;
        }
        let there = |spot: &Spot| match *spot {
            Spot::Fixed(location) => Some(location),
            Spot::Of(thing, place) => names.has(thing).then(|| run.location_of(thing, place)),
        };
        let accesses = parts.accesses.iter();
        let accesses = accesses.filter_map(|(spot, kind)| Some(Access::one(there(spot)?, *kind))).collect();
        let waited_for = parts.waited_for.iter().filter_map(there).collect();
        let thing = Thing::Process(record.process);
        let ancestor = if names.has(thing) { None } else { names.ancestor(run, thing, &lives) };
        let (process, of_descendant) =
            ancestor.map_or((record.process, record.of_descendant), |ancestor| (ancestor, true));
        Some(records.number(Record {
            process,
            block: None,
            of_descendant,
            accesses,
            waited_for,
            spawned: Vec::new(),
        }))
    }

    /// Keeps the things of a state.
    pub fn keep(&mut self, names: &StateNames) -> ThingsId {
        self.bytes.clear();
        for thing in &names.things {
            let (number, sort) = match *thing {
                Thing::Process(process) => (process.0, 0),
                Thing::Object(number) => (number, 1),
            };
            push_number(u64::from(number) << 1 | sort, &mut self.bytes);
        }
        ThingsId(self.things.number(&self.bytes))
    }

    /// Records of a state whose things were kept, at one that is equal to it.
    pub fn read(
        &mut self,
        run: &dyn Renaming,
        (things, names): (ThingsId, &StateNames),
        records: &mut Records,
        set: impl Iterator<Item = RecordId>,
    ) -> RecordSet {
        let mut others: HashMap<Thing, Thing, QuickHash> = HashMap::default();
        for (kept, &thing) in pushed_numbers(self.things.get(things.0)).zip(&names.things) {
            let number = (kept >> 1) as u32;
            let kept = if kept & 1 == 0 { Thing::Process(ProcessId(number)) } else { Thing::Object(number) };
            if kept != thing {
                others.insert(kept, thing);
            }
        }
        let mut read = RecordSet::default();
        for id in set {
            let is_other = |thing: &Thing| others.contains_key(thing);
            let same = others.is_empty() || !self.parts(run, records, id).things.iter().any(is_other);
            read.insert(if same { id } else { self.renamed(run, &others, records, id) });
        }
        read
    }

    /// A record with other things in the places of some.
    fn renamed(
        &mut self,
        run: &dyn Renaming,
        others: &HashMap<Thing, Thing, QuickHash>,
        records: &mut Records,
        id: RecordId,
    ) -> RecordId {
        let parts = self.parts(run, records, id);
        let other = |thing: Thing| others.get(&thing).copied().unwrap_or(thing);
        let location = |spot: &Spot| match *spot {
            Spot::Fixed(location) => location,
            Spot::Of(thing, place) => run.location_of(other(thing), place),
        };
        let accesses = parts.accesses.iter();
        let mut accesses: Vec<_> = accesses.map(|(spot, kind)| Access::one(location(spot), *kind)).collect();
        accesses.sort_unstable();
        let waited_for = parts.waited_for.iter().map(location).collect();
        let record = records.get(id);
        let process = match other(Thing::Process(record.process)) {
            Thing::Process(process) => process,
            Thing::Object(_) => record.process,
        };
        let of_descendant = record.of_descendant;
        records.number(Record {
            process,
            block: None,
            of_descendant,
            accesses,
            waited_for,
            spawned: Vec::new(),
        })
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        self.things.memory() + self.memory + self.parts.capacity() * size_of::<Option<Box<Parts>>>()
    }
}
