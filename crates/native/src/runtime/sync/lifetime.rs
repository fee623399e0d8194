//! The beginning and the end of locks and the like.
#![allow(unsafe_code)]

use mazurka_program::{AccessKind, FailureKind};

use crate::runtime::memory::bounds;
use crate::runtime::system::user::object_at;
use crate::runtime::system::user::{Memory, is_never_initialised, mark_used};
use crate::runtime::threads::arrive;
use crate::runtime::threads::objects::{Class, ObjectId};
use crate::runtime::threads::operation::{Operation, Step, WRITTEN};
use crate::runtime::threads::world::{World, current};

/// Makes an object a new one, unless it is in use.
struct Initialise {
    object: ObjectId,
    value: u64,
    parameter: u64,
    in_use: bool,
}

impl Step<'_> {
    /// Whether a thread has an object, or waits at it.
    fn is_in_use(&self, object: ObjectId) -> bool {
        let held = match self.world.objects.class(object) {
            Class::Mutex | Class::ReadWriteLock | Class::Spinlock => self.value(object) != 0,
            // Some have come, and wait for the rest.
            Class::Barrier => !self.value(object).is_multiple_of(self.world.objects.parameter(object).max(1)),
            _ => false,
        };
        held || self.world.waiters(object).next().is_some()
    }

    /// Whether what is initialised may be another object than the one that was there: its memory says so, or it is on the
    /// stack of the thread, which has left the function that had the other one.
    fn may_be_another(&self, object: ObjectId) -> bool {
        let (objects, slot) = (&self.world.objects, self.world.thread(self.thread).slot);
        let address = objects.address(object);
        (slot.stack_limit..slot.stack_base).contains(&address) && !self.world.is_held_by_another(object)
            || Memory::of(address, objects.class(object)) != Memory::Used
    }
}

impl World {
    /// Whether a thread but the running one has an object, or waits at it.
    fn is_held_by_another(&self, object: ObjectId) -> bool {
        let (value, me) = (self.objects.value(object), u64::from(self.running));
        let mine = match self.objects.class(object) {
            Class::Mutex => value & u64::from(u32::MAX) == me + 1,
            _ if value >= WRITTEN => value == WRITTEN + me,
            _ => self.readers.iter().all(|reader| reader.0 != object || reader.1 == self.running),
        };
        !mine || self.waiters(object).next().is_some()
    }
}

impl Operation for Initialise {
    fn perform(&mut self, step: &mut Step<'_>) {
        step.update(self.object);
        self.in_use = step.is_in_use(self.object) && !step.may_be_another(self.object);
        if self.in_use {
            return;
        }
        step.world.readers.retain(|reader| reader.0 != self.object);
        step.set(self.object, self.value);
        step.world.objects.set_parameter(self.object, self.parameter);
    }

    fn describe(&self, world: &World) -> String {
        format!("initialise {}", world.object_name(self.object))
    }
}

/// Destroys an object, unless it is in use or was destroyed before.
struct Destroy {
    object: ObjectId,
    wrong: Option<&'static str>,
}

impl Operation for Destroy {
    fn perform(&mut self, step: &mut Step<'_>) {
        step.update(self.object);
        let class = step.world.objects.class(self.object);
        self.wrong = if step.world.objects.is_destroyed(self.object) {
            Some("was destroyed before")
        } else if is_never_initialised(step.world, self.object) {
            Some("is destroyed that was never initialised")
        } else {
            step.is_in_use(self.object).then_some("is destroyed while it is in use")
        };
        if self.wrong.is_none() {
            step.world.objects.destroy(self.object);
            if class == Class::Semaphore {
                // So that who waits for it comes to know.
                step.set(self.object, 1);
            }
        }
    }

    fn describe(&self, world: &World) -> String {
        format!("destroy {}", world.object_name(self.object))
    }
}

/// A program initialises an object of so many bytes.
pub(crate) fn initialise(
    address: usize,
    class: Class,
    size: usize,
    value: u64,
    parameter: u64,
    place: usize,
) {
    // SAFETY: a thread of the world runs here; the references end before it is suspended.
    let object = unsafe {
        bounds::check_foreign(&mut *current(), address, place, AccessKind::Write);
        (*current()).object(address, class)
    };
    let mut initialise = Initialise { object, value, parameter, in_use: false };
    arrive::operate(&mut initialise, place);
    if initialise.in_use {
        let message = format!("a {} is initialised while it is in use", class.name());
        arrive::fail_here(FailureKind::InvalidSync, message, place);
    }
    // SAFETY: the program passes memory for the object; a wild pointer faults, and the thread is thrown out.
    unsafe { std::ptr::with_exposed_provenance_mut::<u8>(address).write_bytes(0, size) };
    mark_used(address, class);
}

/// A program destroys an object.
pub(crate) fn destroy(address: usize, class: Class, place: usize) {
    let object = object_at(address, class, place, "destroy");
    let mut destroy = Destroy { object, wrong: None };
    arrive::operate(&mut destroy, place);
    if let Some(wrong) = destroy.wrong {
        let message = format!("a {} {wrong}", class.name());
        arrive::fail_here(FailureKind::InvalidSync, message, place);
    }
}

/// Frees memory that objects are in.
struct Free {
    block: usize,
}

impl Operation for Free {
    fn perform(&mut self, step: &mut Step<'_>) {
        let World { objects, label, .. } = &mut *step.world;
        for &object in objects.in_block(self.block) {
            label.touch(objects.location(object), AccessKind::Update);
        }
    }

    fn describe(&self, world: &World) -> String {
        let names = world.objects.in_block(self.block).iter().map(|&object| world.object_name(object));
        format!("free {}", names.collect::<Vec<_>>().join(", "))
    }
}

/// A program is about to free a block. That is a step if it had locks and the like in it.
pub(crate) fn free(block: usize, place: usize) {
    // SAFETY: a thread of the world runs here; the reference ends before it is suspended.
    let objects = unsafe { &mut (*current()).objects };
    if objects.free(block) {
        arrive::operate(&mut Free { block }, place);
    }
}
