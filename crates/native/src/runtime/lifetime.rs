//! The beginning and the end of locks and the like.
#![allow(unsafe_code)]

use mazurka_program::{AccessKind, FailureKind};

use super::objects::{Class, ObjectId};
use super::operation::{Operation, Step};
use super::user::mark_used;
use super::world::{World, current};
use super::{arrive, object_at};

/// Makes an object a new one.
struct Initialise {
    object: ObjectId,
    value: u64,
    parameter: u64,
}

impl Operation for Initialise {
    fn perform(&mut self, step: &mut Step<'_>) {
        step.update(self.object);
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
        let held = match class {
            Class::Mutex | Class::ReadWriteLock | Class::Spinlock => step.value(self.object) != 0,
            _ => false,
        };
        let waited_for = step.world.waiters(self.object).next().is_some();
        self.wrong = match step.world.objects.is_destroyed(self.object) {
            true => Some("was destroyed before"),
            false => (held || waited_for).then_some("is destroyed while it is in use"),
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
pub(super) fn initialise(
    address: usize,
    class: Class,
    size: usize,
    value: u64,
    parameter: u64,
    place: usize,
) {
    // SAFETY: a thread of the world runs here; the references end before it is suspended.
    let object = unsafe {
        super::bounds::check_foreign(&mut *current(), address, place, AccessKind::Write);
        (*current()).object(address, class)
    };
    arrive::operate(&mut Initialise { object, value, parameter }, place);
    // SAFETY: the program passes memory for the object; a wild pointer faults, and the thread is thrown out.
    unsafe { std::ptr::with_exposed_provenance_mut::<u8>(address).write_bytes(0, size) };
    mark_used(address, class);
}

/// A program destroys an object.
pub(super) fn destroy(address: usize, class: Class, place: usize) {
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
pub(super) fn free(block: usize, place: usize) {
    // SAFETY: a thread of the world runs here; the reference ends before it is suspended.
    let objects = unsafe { &mut (*current()).objects };
    if objects.free(block) {
        arrive::operate(&mut Free { block }, place);
    }
}
