//! Semaphores.
#![allow(unsafe_code)]

use mazurka_program::{AccessKind, ProcessId};
use mazurka_threads::sync::StepEffects as _;
use mazurka_threads::values::Until;

use super::lifetime;
use crate::runtime::system::stubs::{Passing, Stub, stubs};
use crate::runtime::system::time;
use crate::runtime::system::user::{caller, object_at, operate_on, store};
use crate::runtime::threads::objects::{Class, Object};
use crate::runtime::threads::operation::{CurrentStep, InRound, Operation, Wait};
use crate::runtime::threads::runtime::{Runtime, current};

/// Takes one: waits until it can, or tries.
struct Down {
    semaphore: Object,
    waits: bool,
    taken: bool,
}

impl Operation for Down {
    fn wait(&self) -> Wait {
        match self.waits {
            true => Wait::Until(self.semaphore.location, Until::AtLeast(1)),
            false => Wait::Nothing,
        }
    }

    fn in_round(&self) -> InRound {
        InRound::At(u64::from(self.semaphore.location.0))
    }

    fn perform(&mut self, step: &mut CurrentStep<'_>) {
        let value = step.value(self.semaphore.location);
        self.taken = value > 0;
        match self.waits {
            true => step.update(self.semaphore.location),
            false => step.try_update(self.semaphore.location, self.taken),
        }
        match self.taken {
            true => step.set(self.semaphore.location, value - 1),
            false => step.note(|_| "there is none".to_owned()),
        }
    }

    fn describe(&self, runtime: &Runtime) -> String {
        let name = if self.waits { "sem_wait" } else { "sem_trywait" };
        format!("{name}({})", runtime.object_name(self.semaphore))
    }

    fn waits_for(&self, runtime: &Runtime) -> (String, Vec<ProcessId>) {
        (format!("a post of {}", runtime.object_name(self.semaphore)), Vec::new())
    }
}

/// Adds one.
struct Up {
    semaphore: Object,
}

impl Operation for Up {
    fn in_round(&self) -> InRound {
        InRound::At(u64::from(self.semaphore.location.0))
    }

    fn perform(&mut self, step: &mut CurrentStep<'_>) {
        step.update(self.semaphore.location);
        let value = step.value(self.semaphore.location);
        step.set(self.semaphore.location, value + 1);
    }

    fn describe(&self, runtime: &Runtime) -> String {
        format!("sem_post({})", runtime.object_name(self.semaphore))
    }
}

/// Reads how many there are.
struct GetValue {
    semaphore: Object,
    value: u64,
}

impl Operation for GetValue {
    fn in_round(&self) -> InRound {
        InRound::Within
    }

    fn perform(&mut self, step: &mut CurrentStep<'_>) {
        step.touch(self.semaphore.location, AccessKind::Read);
        self.value = step.value(self.semaphore.location);
    }

    fn describe(&self, runtime: &Runtime) -> String {
        format!("sem_getvalue({})", runtime.object_name(self.semaphore))
    }
}

/// Sets the error number.
pub(crate) fn fail(error: i32) -> i32 {
    // SAFETY: a thread of the program runs here; the error number is that of this thread of the operating
    // system.
    unsafe { *(*current()).search.errno = error };
    -1
}

fn down(address: usize, waits: bool, error: i32) -> i32 {
    let place = caller();
    let name = if waits { "sem_wait" } else { "sem_trywait" };
    let semaphore = object_at(address, Class::Semaphore, place, name);
    let mut down = Down { semaphore, waits, taken: false };
    operate_on(semaphore, name, &mut down, place);
    if down.taken { 0 } else { fail(error) }
}

extern "C-unwind" fn sem_init(address: usize, _shared: i32, value: u32) -> i32 {
    lifetime::initialise(address, Class::Semaphore, 32, u64::from(value), 1, caller());
    0
}

extern "C-unwind" fn sem_destroy(address: usize) -> i32 {
    lifetime::destroy(address, Class::Semaphore, caller());
    0
}

extern "C-unwind" fn sem_wait(address: usize) -> i32 {
    down(address, true, 0)
}

extern "C-unwind" fn sem_trywait(address: usize) -> i32 {
    down(address, false, libc::EAGAIN)
}

/// It may time out whenever there is none when its turn comes.
extern "C-unwind" fn sem_timedwait(address: usize, until: usize) -> i32 {
    time::after_wait(down(address, false, libc::ETIMEDOUT), -1, until)
}

extern "C-unwind" fn sem_clockwait(address: usize, _clock: i32, until: usize) -> i32 {
    sem_timedwait(address, until)
}

extern "C-unwind" fn sem_post(address: usize) -> i32 {
    let place = caller();
    let semaphore = object_at(address, Class::Semaphore, place, "sem_post");
    operate_on(semaphore, "sem_post", &mut Up { semaphore }, place);
    0
}

extern "C-unwind" fn sem_getvalue(address: usize, result: *mut i32) -> i32 {
    let place = caller();
    let semaphore = object_at(address, Class::Semaphore, place, "sem_getvalue");
    let mut get = GetValue { semaphore, value: 0 };
    operate_on(semaphore, "sem_getvalue", &mut get, place);
    store(result, get.value as i32, place);
    0
}

/// What programs call.
pub(crate) fn interposed(list: &mut Vec<Stub>) {
    list.extend(stubs! { Passing::Plain;
        "sem_init" => sem_init, "sem_destroy" => sem_destroy, "sem_wait" => sem_wait,
        "sem_trywait" => sem_trywait, "sem_timedwait" => sem_timedwait, "sem_clockwait" => sem_clockwait,
        "sem_post" => sem_post, "sem_getvalue" => sem_getvalue,
    });
}
