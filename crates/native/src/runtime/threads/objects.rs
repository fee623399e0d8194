//! Locks, condition variables and the like, by their addresses. What they hold is among the values of
//! locations.

use mazurka_program::Location;
use mazurka_threads::lifetime::Entry;
use rustc_hash::FxHashMap;

use super::runtime::{Execution, Runtime};
use crate::runtime::memory::shadow::Partition;

/// What an object is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub(crate) enum Class {
    Mutex,
    Condition,
    ReadWriteLock,
    Semaphore,
    Barrier,
    Once,
    Spinlock,
    /// A word of memory that threads wait for to change.
    Futex,
    /// Of a static variable of C++ that is initialised when it is come to.
    StaticGuard,
}

impl Class {
    /// All of them.
    pub(crate) const ALL: [Class; 9] = [
        Class::Mutex,
        Class::Condition,
        Class::ReadWriteLock,
        Class::Semaphore,
        Class::Barrier,
        Class::Once,
        Class::Spinlock,
        Class::Futex,
        Class::StaticGuard,
    ];

    /// As people call it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Class::Mutex => "mutex",
            Class::Condition => "condition variable",
            Class::ReadWriteLock => "read-write lock",
            Class::Semaphore => "semaphore",
            Class::Barrier => "barrier",
            Class::Once => "once flag",
            Class::Spinlock => "spin lock",
            Class::Futex => "variable",
            Class::StaticGuard => "static variable",
        }
    }
}

/// What a semaphore holds that nobody has initialised: something, so that nobody waits for it, and it is
/// found out.
pub(crate) const UNINITIALISED_SEMAPHORE: u64 = 1 << 63;

/// An object. It is the same in all executions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Object {
    /// What it holds is the value of this location.
    pub(crate) location: Location,
    pub(crate) address: usize,
    pub(crate) class: Class,
}

/// What is known of an object in an execution, besides what it holds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ObjectState {
    /// What it was initialised with: how many threads a barrier is for; 1 for what only functions initialise.
    pub(crate) parameter: u64,
    pub(crate) destroyed: bool,
}

impl Entry for ObjectState {
    fn renew(&mut self) {
        *self = ObjectState::default();
    }

    fn copy_from(&mut self, other: &ObjectState) {
        *self = *other;
    }
}

/// The objects that any execution has used.
#[derive(Default)]
pub(crate) struct Objects {
    locations: FxHashMap<(usize, Class), Location>,
    /// Those in blocks of the heap, by block. A block that was freed has an entry.
    in_blocks: FxHashMap<usize, ObjectsInBlock>,
    /// How many those are.
    pub(crate) many_in_blocks: u64,
    log: Option<Log>,
}

/// What was learned since somebody wanted to know it.
#[derive(Default)]
struct Log {
    many_in_blocks: u64,
    freed: Vec<usize>,
    met: Vec<(usize, Class)>,
}

#[derive(Default)]
struct ObjectsInBlock {
    objects: Vec<Object>,
    freed: bool,
}

impl Objects {
    /// The object at an address, and whether it is met for the first time.
    pub(crate) fn at(&mut self, address: usize, class: Class, partition: &mut Partition) -> (Object, bool) {
        let mut is_new = false;
        let location = *self.locations.entry((address, class)).or_insert_with(|| {
            is_new = true;
            partition.other()
        });
        if let Some(log) = self.log.as_mut().filter(|_| is_new) {
            log.met.push((address, class));
        }
        (Object { location, address, class }, is_new)
    }

    /// The location of an object, if it was met.
    pub(crate) fn known(&self, address: usize, class: Class) -> Option<Location> {
        self.locations.get(&(address, class)).copied()
    }

    /// Of which object a location is, if it is of one. Slow.
    pub(crate) fn find(&self, location: Location) -> Option<(usize, Class)> {
        self.locations.iter().find(|object| *object.1 == location).map(|object| *object.0)
    }

    /// Notes that an object is in a block of the heap. Says whether some execution has freed the block.
    pub(crate) fn note_in_block(&mut self, object: Object, block: usize) -> bool {
        let entry = self.in_blocks.entry(block).or_default();
        self.many_in_blocks += 1;
        entry.objects.push(object);
        entry.freed
    }

    pub(crate) fn in_block(&self, block: usize) -> &[Object] {
        self.in_blocks.get(&block).map_or(&[], |entry| &entry.objects)
    }

    /// Whether some execution has freed a block.
    pub(crate) fn was_freed(&self, block: usize) -> bool {
        self.in_blocks.get(&block).is_some_and(|entry| entry.freed)
    }

    /// Notes that a block is freed. Says whether there are objects in it.
    pub(crate) fn free(&mut self, block: usize) -> bool {
        let entry = self.in_blocks.entry(block).or_default();
        if let Some(log) = self.log.as_mut().filter(|_| !entry.freed) {
            log.freed.push(block);
        }
        entry.freed = true;
        !entry.objects.is_empty()
    }

    /// From now on it is noted what is learned.
    pub(crate) fn begin_log(&mut self) {
        self.log = Some(Log { many_in_blocks: self.many_in_blocks, ..Log::default() });
    }

    /// How many objects there were in blocks then, which blocks were freed since for the first time, and which
    /// objects were met.
    pub(crate) fn logged(&self) -> (u64, &[usize], &[(usize, Class)]) {
        self.log.as_ref().map_or((0, &[], &[]), |log| (log.many_in_blocks, &log.freed, &log.met))
    }
}

impl Execution {
    fn object_state(&self, object: Object) -> ObjectState {
        self.objects.get(object.location.0 as usize).copied().unwrap_or_default()
    }

    pub(crate) fn parameter(&self, object: Object) -> u64 {
        self.object_state(object).parameter
    }

    pub(crate) fn is_destroyed(&self, object: Object) -> bool {
        self.object_state(object).destroyed
    }

    /// An object is initialised.
    pub(crate) fn set_parameter(&mut self, object: Object, parameter: u64) {
        *self.objects.at(object.location.0 as usize) = ObjectState { parameter, destroyed: false };
    }

    pub(crate) fn destroy(&mut self, object: Object) {
        self.objects.at(object.location.0 as usize).destroyed = true;
    }

    /// What an object holds.
    pub(crate) fn value(&self, object: Object) -> u64 {
        self.values.get(object.location)
    }

    /// The program has initialised an object by writing its memory, as static initialisers do.
    pub(crate) fn make_new(&mut self, object: Object) {
        let Execution { schedule, values, readers, .. } = self;
        readers.retain(|reader| reader.0 != object.location);
        if values.get(object.location) != 0 {
            schedule.changed = true;
            values.set(object.location, 0, schedule.depth);
        }
        self.set_parameter(object, 0);
    }

    /// Whether some thread waits at an object.
    pub(crate) fn is_waited_at(&self, object: Object) -> bool {
        self.waiters.at(object.location).next().is_some()
    }
}

impl Runtime {
    /// The object at an address.
    pub(crate) fn object(&mut self, address: usize, class: Class) -> Object {
        let (object, is_new) = self.search.objects.at(address, class, &mut self.search.partition);
        if is_new && let Some(block) = self.execution.heap.block_around(address) {
            // Who freed the block before did not say that it touches the object.
            self.search.partition.news |= self.search.objects.note_in_block(object, block.address);
        }
        let values = &mut self.execution.values;
        if class == Class::Semaphore && !values.is_known(object.location) {
            values.init(object.location, UNINITIALISED_SEMAPHORE);
        }
        object
    }
}
