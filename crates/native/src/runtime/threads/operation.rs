//! Operations: what a modelled thread stops at, besides plain accesses of memory, and what its step does then.

use mazurka_program::{AccessKind, Guard, GuardId, Location, ProcessId};

use rustc_hash::FxHashMap;

use super::objects::ObjectId;
use super::thread::Order;
use super::world::World;

/// What an object must hold for a step to be taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub(crate) enum Until {
    /// Nothing: a lock is free.
    Free,
    /// No writer.
    Readable,
    /// Anything but this.
    IsNot(u64),
    /// This or more.
    AtLeast(u64),
}

/// The value of a lock that is written is this plus the number of the writer; one that is read holds the number of readers.
pub(crate) const WRITTEN: u64 = 1 << 32;

impl Until {
    #[inline]
    pub(crate) fn holds(self, value: u64) -> bool {
        match self {
            Until::Free => value == 0,
            Until::Readable => value < WRITTEN,
            Until::IsNot(unwanted) => value != unwanted,
            Until::AtLeast(least) => value >= least,
        }
    }
}

/// What must hold before a step can be taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wait {
    /// Nothing: the step can be taken at once.
    Nothing,
    /// What another thread can undo. Its races are those of a guard.
    Guard { object: ObjectId, until: Until },
    /// That something which a loop read is another.
    Spin { spin: u32 },
    /// What nobody else can undo: [`Operation::ready`] tells, and the label says what the step waited for.
    Own,
}

/// The guards that were met, by number. A number means the same in all executions of a world.
#[derive(Default)]
pub(crate) struct Guards {
    list: Vec<(ObjectId, Until)>,
    numbers: FxHashMap<(ObjectId, Until), GuardId>,
}

impl Guards {
    pub(crate) fn get(&self, id: GuardId) -> Option<(ObjectId, Until)> {
        self.list.get(id.0 as usize).copied()
    }

    fn number(&mut self, object: ObjectId, until: Until) -> GuardId {
        *self.numbers.entry((object, until)).or_insert_with(|| {
            self.list.push((object, until));
            GuardId(self.list.len() as u32 - 1)
        })
    }
}

impl World {
    /// What a step waits for, as the engine knows it.
    #[inline]
    pub(crate) fn guard(&mut self, wait: Wait) -> Option<Guard> {
        match wait {
            Wait::Guard { object, until } => {
                let id = self.guards.number(object, until);
                Some(Guard { location: self.objects.location(object), id })
            }
            Wait::Spin { spin } => Some(self.spin_guard(spin)),
            _ => None,
        }
    }
}

/// An operation that a thread has come to. It lives on the stack of the thread until its step has been taken.
pub(crate) trait Operation {
    /// What it waits for. Asked once, when the thread arrives.
    fn wait(&self, _world: &World) -> Wait {
        Wait::Nothing
    }

    /// For [`Wait::Own`]: whether the step can be taken now.
    fn ready(&self, _world: &World, _thread: u32) -> bool {
        true
    }

    /// How many outcomes the step has.
    fn alternatives(&self, _world: &World, _thread: u32) -> u32 {
        1
    }

    /// Whether [`Operation::alternatives`] can be more than 1.
    fn branches(&self) -> bool {
        false
    }

    /// Whether the step creates a thread.
    fn spawns(&self) -> bool {
        false
    }

    /// How what it does to memory synchronises.
    fn order(&self) -> Order {
        Order::Plain
    }

    /// Whether it has only read memory, whatever its label foresees.
    fn only_reads(&self) -> bool {
        false
    }

    /// Takes the step.
    fn perform(&mut self, step: &mut Step<'_>);

    /// What the step does, as a person would write it: `pthread_mutex_lock(&m)`.
    fn describe(&self, world: &World) -> String;

    /// For a thread that waits: what for, and who could end the wait.
    fn waits_for(&self, _world: &World) -> (String, Vec<ProcessId>) {
        (String::new(), Vec::new())
    }
}

/// A step while it is taken.
pub(crate) struct Step<'w> {
    pub(crate) world: &'w mut World,
    pub(crate) thread: u32,
    pub(crate) choice: u32,
    /// Where the operation is.
    pub(crate) place: usize,
}

impl Step<'_> {
    /// What an object holds.
    #[inline]
    pub(crate) fn value(&self, object: ObjectId) -> u64 {
        self.world.objects.value(object)
    }

    /// Sets what an object holds; the label must tell it by [`Step::update`].
    #[inline]
    pub(crate) fn set(&mut self, object: ObjectId, value: u64) {
        let depth = self.world.depth.wrapping_add(1);
        self.world.objects.set(object, value, depth);
        self.world.changed = true;
    }

    /// Says that the step reads and writes an object.
    #[inline]
    pub(crate) fn update(&mut self, object: ObjectId) {
        let location = self.world.objects.location(object);
        self.touch(location, AccessKind::Update);
    }

    /// Adds an access to the label.
    #[inline]
    pub(crate) fn touch(&mut self, location: Location, kind: AccessKind) {
        self.world.label.touch(location, kind);
    }

    /// Says that the step would touch other locations, or touch them otherwise, had it read other values.
    pub(crate) fn varies(&mut self) {
        self.world.label.varies = true;
    }

    /// Says that the step had to wait for the writer of a location.
    pub(crate) fn waited_for(&mut self, location: Location) {
        self.world.label.waited_for.push(location);
    }

    /// Tells people something about the step: "timed out".
    pub(crate) fn note(&mut self, note: impl FnOnce() -> String) {
        if let Some(story) = &mut self.world.story {
            story.note = Some(note());
        }
    }
}
