//! What is done once: `pthread_once`, and the initialisation of static variables in C++.
#![allow(unsafe_code)]

use mazurka_program::{AccessKind, ProcessId};
use mazurka_threads::races::Order;
use mazurka_threads::sync::StepEffects as _;
use mazurka_threads::values::Until;

use crate::runtime::memory::access;
use crate::runtime::system::exit;
use crate::runtime::system::stubs::{Passing, Stub, stubs};
use crate::runtime::system::user::{caller, object_at, operate_on};
use crate::runtime::threads::objects::{Class, Object};
use crate::runtime::threads::operation::{CurrentStep, InRound, Operation, Wait};
use crate::runtime::threads::runtime::{Runtime, current};

/// What a flag holds.
const NEW: u64 = 0;
const RUNNING: u64 = 1;
const DONE: u64 = 2;

/// Waits until nobody is at it; then it is done, or the thread is to do it.
struct BeginOnce {
    flag: Object,
    first: bool,
}

impl Operation for BeginOnce {
    fn in_round(&self) -> InRound {
        InRound::Within
    }

    fn wait(&self) -> Wait {
        Wait::Until(self.flag.location, Until::IsNot(RUNNING))
    }

    fn perform(&mut self, step: &mut CurrentStep<'_>) {
        self.first = step.value(self.flag.location) == NEW;
        let kind = if self.first || step.runtime.search.static_footprints {
            AccessKind::Update
        } else {
            AccessKind::Read
        };
        step.touch(self.flag.location, kind);
        if self.first {
            step.set(self.flag.location, RUNNING);
        } else {
            step.note(|_| "it was done before".to_owned());
        }
        if !step.runtime.search.static_footprints {
            step.varies();
        }
    }

    fn describe(&self, runtime: &Runtime) -> String {
        format!("begin once {}", runtime.object_name(self.flag))
    }

    fn waits_for(&self, runtime: &Runtime) -> (String, Vec<ProcessId>) {
        (format!("{} to be done by another thread", runtime.object_name(self.flag)), Vec::new())
    }
}

/// It is done, or given up.
struct EndOnce {
    flag: Object,
    value: u64,
}

impl Operation for EndOnce {
    fn in_round(&self) -> InRound {
        InRound::Within
    }

    fn perform(&mut self, step: &mut CurrentStep<'_>) {
        step.update(self.flag.location);
        step.set(self.flag.location, self.value);
    }

    fn describe(&self, runtime: &Runtime) -> String {
        format!("end once {}", runtime.object_name(self.flag))
    }
}

fn begin(address: usize, class: Class, place: usize) -> (Object, bool) {
    let flag = object_at(address, class, place, "once");
    let mut begin = BeginOnce { flag, first: false };
    operate_on(flag, "once", &mut begin, place);
    (flag, begin.first)
}

/// Whether the thread is to do what is done once. In C++ it says itself how that ended: it may have thrown.
extern "C-unwind" fn once_begin(address: usize) -> i32 {
    i32::from(begin(address, Class::Once, caller()).1)
}

extern "C-unwind" fn once_end(address: usize, done: i32) {
    let place = caller();
    let flag = object_at(address, Class::Once, place, "once");
    operate_on(flag, "once", &mut EndOnce { flag, value: if done != 0 { DONE } else { NEW } }, place);
}

extern "C-unwind" fn pthread_once(address: usize, function: usize) -> i32 {
    let place = caller();
    let (flag, first) = begin(address, Class::Once, place);
    if first {
        // SAFETY: the program passes a function without arguments.
        unsafe { exit::call(function, [0; 3]) };
        operate_on(flag, "once", &mut EndOnce { flag, value: DONE }, place);
    }
    0
}

/// Of the variable that a flag is for: whether the thread is to initialise it.
extern "C-unwind" fn guard_acquire(address: usize) -> i32 {
    i32::from(begin(address, Class::StaticGuard, caller()).1)
}

/// Compiled code looks at the first byte before it asks.
extern "C-unwind" fn guard_release(address: usize) {
    let place = caller();
    let flag = object_at(address, Class::StaticGuard, place, "once");
    // SAFETY: a thread of the program runs here; the flag is memory of the program.
    unsafe {
        access::announce::<1>(current(), address, place, AccessKind::Write, (Order::Release, 0));
        std::ptr::with_exposed_provenance_mut::<u8>(address).write(1);
    }
    operate_on(flag, "once", &mut EndOnce { flag, value: DONE }, place);
}

extern "C-unwind" fn guard_abort(address: usize) {
    let place = caller();
    let flag = object_at(address, Class::StaticGuard, place, "once");
    operate_on(flag, "once", &mut EndOnce { flag, value: NEW }, place);
}

/// What programs call.
pub(crate) fn interposed(list: &mut Vec<Stub>) {
    list.extend(stubs! { Passing::Plain;
        "mazurka_once_begin" => once_begin, "mazurka_once_end" => once_end, "pthread_once" => pthread_once,
        "call_once" => pthread_once, "__cxa_guard_acquire" => guard_acquire,
        "__cxa_guard_release" => guard_release, "__cxa_guard_abort" => guard_abort,
    });
}
