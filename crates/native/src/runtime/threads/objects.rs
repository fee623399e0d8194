//! Locks, condition variables and the like: what they hold, now and after each earlier step.

use mazurka_program::Location;
use rustc_hash::FxHashMap;

use crate::runtime::memory::shadow::Partition;

/// The number of an object. It stays from execution to execution.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
pub(crate) struct ObjectId(pub(crate) u32);

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

/// What a semaphore holds that nobody has initialised: something, so that nobody waits for it, and it is found out.
const NOTHING_YET: u64 = 1 << 63;

impl Class {
    /// What an object holds at first.
    fn at_first(self) -> u64 {
        if self == Class::Semaphore { NOTHING_YET } else { 0 }
    }
}

struct Object {
    location: Location,
    address: usize,
    class: Class,
    /// The execution that the rest is about; in any other the object is as its memory was initialised.
    stamp: u64,
    value: u64,
    /// `(depth, value)`: after so many steps, until the next entry. Before the first it held `initial`.
    history: Vec<(u32, u64)>,
    initial: u64,
    /// What it was initialised with: how many threads a barrier is for; 1 for what only functions initialise.
    parameter: u64,
    destroyed: bool,
}

/// What objects held when they were saved: those that had been used.
#[derive(Default)]
pub(crate) struct SavedObjects {
    list: Vec<SavedObject>,
    len: usize,
}

#[derive(Default)]
struct SavedObject {
    object: usize,
    value: u64,
    history: Vec<(u32, u64)>,
    initial: u64,
    parameter: u64,
    destroyed: bool,
}

/// All objects.
#[derive(Default)]
pub(crate) struct Objects {
    list: Vec<Object>,
    by_address: FxHashMap<(usize, Class), ObjectId>,
    stamp: u64,
    /// Those in blocks of the heap, by block. A block that was freed has an entry.
    in_blocks: FxHashMap<usize, InBlock>,
}

#[derive(Default)]
struct InBlock {
    objects: Vec<ObjectId>,
    freed: bool,
}

impl Objects {
    /// A new execution: every object is as if it had not been used.
    pub(crate) fn begin(&mut self) {
        self.stamp += 1;
    }

    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    /// Notes that an object is in a block of the heap. Says whether some execution has freed the block.
    pub(crate) fn note_in_block(&mut self, object: ObjectId, block: usize) -> bool {
        let entry = self.in_blocks.entry(block).or_default();
        entry.objects.push(object);
        entry.freed
    }

    pub(crate) fn in_block(&self, block: usize) -> &[ObjectId] {
        self.in_blocks.get(&block).map_or(&[], |entry| &entry.objects)
    }

    /// Notes that a block is freed. Says whether there are objects in it.
    pub(crate) fn free(&mut self, block: usize) -> bool {
        let entry = self.in_blocks.entry(block).or_default();
        entry.freed = true;
        !entry.objects.is_empty()
    }

    /// Saves what the objects hold in this execution.
    pub(crate) fn save(&self, saved: &mut SavedObjects) {
        saved.len = 0;
        for (object, now) in self.list.iter().enumerate().filter(|(_, now)| now.stamp == self.stamp) {
            if saved.len == saved.list.len() {
                saved.list.push(SavedObject::default());
            }
            let entry = &mut saved.list[saved.len];
            saved.len += 1;
            (entry.object, entry.value, entry.initial) = (object, now.value, now.initial);
            (entry.parameter, entry.destroyed) = (now.parameter, now.destroyed);
            entry.history.clone_from(&now.history);
        }
    }

    /// A new execution, which is where another was when it was saved.
    pub(crate) fn put_back(&mut self, saved: &SavedObjects) {
        self.begin();
        for entry in &saved.list[..saved.len] {
            let object = &mut self.list[entry.object];
            (object.stamp, object.value, object.initial) = (self.stamp, entry.value, entry.initial);
            (object.parameter, object.destroyed) = (entry.parameter, entry.destroyed);
            object.history.clone_from(&entry.history);
        }
    }

    /// The object at an address.
    pub(crate) fn at(&mut self, address: usize, class: Class, partition: &mut Partition) -> ObjectId {
        if let Some(&object) = self.by_address.get(&(address, class)) {
            if self.list[object.0 as usize].stamp != self.stamp {
                self.renew(object, class.at_first());
            }
            return object;
        }
        let object = ObjectId(self.list.len() as u32);
        let (history, stamp) = (Vec::new(), self.stamp);
        let location = partition.other();
        self.list.push(Object {
            location,
            address,
            class,
            stamp,
            value: class.at_first(),
            history,
            initial: class.at_first(),
            parameter: 0,
            destroyed: false,
        });
        self.by_address.insert((address, class), object);
        object
    }

    fn renew(&mut self, object: ObjectId, initial: u64) {
        let stamp = self.stamp;
        let object = &mut self.list[object.0 as usize];
        (object.stamp, object.value, object.initial) = (stamp, initial, initial);
        (object.parameter, object.destroyed) = (0, false);
        object.history.clear();
    }

    /// The program has initialised an object by writing its memory.
    pub(crate) fn make_new(&mut self, object: ObjectId, depth: u32) {
        if self.value(object) != 0 {
            self.set(object, 0, depth);
        }
        self.set_parameter(object, 0);
    }

    #[inline]
    pub(crate) fn location(&self, object: ObjectId) -> Location {
        self.list[object.0 as usize].location
    }

    #[inline]
    pub(crate) fn value(&self, object: ObjectId) -> u64 {
        self.list[object.0 as usize].value
    }

    /// Sets an object; `depth` is the number of steps with the one that sets it.
    #[inline]
    pub(crate) fn set(&mut self, object: ObjectId, value: u64, depth: u32) {
        let object = &mut self.list[object.0 as usize];
        object.value = value;
        match object.history.last_mut() {
            Some(last) if last.0 == depth => last.1 = value,
            _ => object.history.push((depth, value)),
        }
    }

    pub(crate) fn parameter(&self, object: ObjectId) -> u64 {
        self.list[object.0 as usize].parameter
    }

    pub(crate) fn set_parameter(&mut self, object: ObjectId, parameter: u64) {
        let object = &mut self.list[object.0 as usize];
        (object.parameter, object.destroyed) = (parameter, false);
    }

    pub(crate) fn destroy(&mut self, object: ObjectId) {
        self.list[object.0 as usize].destroyed = true;
    }

    pub(crate) fn is_destroyed(&self, object: ObjectId) -> bool {
        self.list[object.0 as usize].destroyed
    }

    /// What an object held after so many steps.
    pub(crate) fn at_depth(&self, object: ObjectId, depth: u32) -> u64 {
        let object = &self.list[object.0 as usize];
        let after = object.history.partition_point(|&(since, _)| since <= depth);
        after.checked_sub(1).map_or(object.initial, |at| object.history[at].1)
    }

    pub(crate) fn address(&self, object: ObjectId) -> usize {
        self.list[object.0 as usize].address
    }

    pub(crate) fn class(&self, object: ObjectId) -> Class {
        self.list[object.0 as usize].class
    }
}
