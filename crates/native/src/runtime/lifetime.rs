//! The beginning and the end of locks and the like.
#![allow(unsafe_code)]

use mazurka_program::FailureKind;

use super::objects::{Class, ObjectId};
use super::operation::{Operation, Step};
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

/// Destroys an object, unless it is in use.
struct Destroy {
    object: ObjectId,
    in_use: bool,
}

impl Operation for Destroy {
    fn perform(&mut self, step: &mut Step<'_>) {
        step.update(self.object);
        let held = match step.world.objects.class(self.object) {
            Class::Mutex | Class::ReadWriteLock | Class::Spinlock => step.value(self.object) != 0,
            _ => false,
        };
        self.in_use = held || step.world.waiters(self.object).next().is_some();
        if !self.in_use {
            step.world.objects.destroy(self.object);
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
    // SAFETY: a thread of the world runs here; the reference ends before it is suspended.
    let object = unsafe { (*current()).object(address, class) };
    arrive::operate(&mut Initialise { object, value, parameter }, place);
    // SAFETY: the program passes memory for the object; a wild pointer faults, and the thread is thrown out.
    unsafe { std::ptr::with_exposed_provenance_mut::<u8>(address).write_bytes(0, size) };
}

/// A program destroys an object.
pub(super) fn destroy(address: usize, class: Class, place: usize) {
    let object = object_at(address, class, place, "destroy");
    let mut destroy = Destroy { object, in_use: false };
    arrive::operate(&mut destroy, place);
    if destroy.in_use {
        let message = format!("a {} is destroyed while it is in use", class.name());
        arrive::fail_here(FailureKind::InvalidSync, message, place);
    }
}
