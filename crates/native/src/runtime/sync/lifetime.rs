//! The beginning and the end of locks and the like.
#![allow(unsafe_code)]

use mazurka_program::{AccessKind, FailureKind};
use mazurka_threads::sync::StepEffects as _;

use crate::runtime::memory::bounds;
use crate::runtime::system::user::{Memory, is_never_initialised, mark_used, object_at, with_runtime};
use crate::runtime::threads::arrive;
use crate::runtime::threads::objects::{Class, Object};
use crate::runtime::threads::operation::{CurrentStep, Operation, WRITTEN};
use crate::runtime::threads::runtime::{Execution, Runtime};

/// Makes an object a new one, unless it is in use.
struct Initialise {
    object: Object,
    value: u64,
    parameter: u64,
    in_use: bool,
}

impl Execution {
    /// Whether a thread has an object, or waits at it.
    fn is_in_use(&self, object: Object) -> bool {
        let held = match object.class {
            Class::Mutex | Class::ReadWriteLock | Class::Spinlock => self.value(object) != 0,
            // Some have come, and wait for the rest.
            Class::Barrier => !self.value(object).is_multiple_of(self.parameter(object).max(1)),
            _ => false,
        };
        held || self.is_waited_at(object)
    }

    /// Whether what the running thread initialises may be another object than the one that was there: its
    /// memory says so, or it is on the stack of the thread, which has left the function that had the other
    /// one.
    fn may_be_another(&self, object: Object) -> bool {
        let slot = self.threads[self.schedule.running].slot;
        let on_own_stack = (slot.stack_limit..slot.stack_base).contains(&object.address);
        on_own_stack && !self.is_held_by_another(object)
            || Memory::of(object.address, object.class) != Memory::Used
    }

    /// Whether a thread but the running one has an object, or waits at it.
    fn is_held_by_another(&self, object: Object) -> bool {
        let (value, running) = (self.value(object), self.schedule.running);
        let me = u64::from(running.0);
        let mine = match object.class {
            Class::Mutex => value & u64::from(u32::MAX) == me + 1,
            _ if value >= WRITTEN => value == WRITTEN + me,
            _ => self.readers.iter().all(|reader| reader.0 != object.location || reader.1 == running),
        };
        !mine || self.is_waited_at(object)
    }
}

impl Operation for Initialise {
    fn perform(&mut self, step: &mut CurrentStep<'_>) {
        step.update(self.object.location);
        let execution = &mut step.runtime.execution;
        self.in_use = execution.is_in_use(self.object) && !execution.may_be_another(self.object);
        if self.in_use {
            return;
        }
        execution.readers.retain(|reader| reader.0 != self.object.location);
        execution.set_parameter(self.object, self.parameter);
        step.set(self.object.location, self.value);
    }

    fn describe(&self, runtime: &Runtime) -> String {
        format!("initialise {}", runtime.object_name(self.object))
    }
}

/// Destroys an object, unless it is in use or was destroyed before.
struct Destroy {
    object: Object,
    wrong: Option<&'static str>,
}

impl Operation for Destroy {
    fn perform(&mut self, step: &mut CurrentStep<'_>) {
        step.update(self.object.location);
        self.wrong = if step.runtime.execution.is_destroyed(self.object) {
            Some("was destroyed before")
        } else if is_never_initialised(step.runtime, self.object) {
            Some("is destroyed that was never initialised")
        } else {
            step.runtime.execution.is_in_use(self.object).then_some("is destroyed while it is in use")
        };
        if self.wrong.is_none() {
            step.runtime.execution.destroy(self.object);
            if self.object.class == Class::Semaphore {
                // So that who waits for it comes to know.
                step.set(self.object.location, 1);
            }
        }
    }

    fn describe(&self, runtime: &Runtime) -> String {
        format!("destroy {}", runtime.object_name(self.object))
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
    let object = with_runtime(|runtime| {
        bounds::check_foreign(runtime, address, place, AccessKind::Write);
        runtime.object(address, class)
    });
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
struct FreeBlock {
    block: usize,
}

impl Operation for FreeBlock {
    fn perform(&mut self, step: &mut CurrentStep<'_>) {
        let Runtime { search, step, .. } = &mut *step.runtime;
        for object in search.objects.in_block(self.block) {
            step.label.touch(object.location, AccessKind::Update);
        }
    }

    fn describe(&self, runtime: &Runtime) -> String {
        let names =
            runtime.search.objects.in_block(self.block).iter().map(|&object| runtime.object_name(object));
        format!("free {}", names.collect::<Vec<_>>().join(", "))
    }
}

/// A program is about to free a block. That is a step if it had locks and the like in it.
pub(crate) fn free(block: usize, place: usize) {
    if with_runtime(|runtime| runtime.search.objects.free(block)) {
        arrive::operate(&mut FreeBlock { block }, place);
    }
}
