//! Barriers. What they do is in [`mazurka_threads::sync`]; here is what is C's.

use mazurka_program::{AccessKind, FailureKind, ProcessId};
use mazurka_threads::sync::{Round, StepEffects as _, come_to_barrier};
use mazurka_threads::values::Until;

use super::condition::WakeUp;
use super::lifetime;
use crate::runtime::system::stubs::{Passing, Stub, stubs};
use crate::runtime::system::user::{caller, object_at, operate_on};
use crate::runtime::threads::arrive;
use crate::runtime::threads::objects::{Class, Object};
use crate::runtime::threads::operation::{CurrentStep, Operation, Wait};
use crate::runtime::threads::runtime::Runtime;

/// Comes to the barrier, which holds how many did so.
struct ArriveAtBarrier {
    barrier: Object,
    /// None if it was not initialised.
    round: Option<Round>,
    static_footprints: bool,
}

impl Operation for ArriveAtBarrier {
    fn perform(&mut self, step: &mut CurrentStep<'_>) {
        self.static_footprints = step.runtime.search.static_footprints;
        match step.runtime.execution.parameter(self.barrier) {
            0 => step.update(self.barrier.location),
            threads => {
                let barrier = self.barrier.location;
                self.round = Some(come_to_barrier(step, barrier, threads, self.static_footprints).0);
            }
        }
    }

    fn describe(&self, runtime: &Runtime) -> String {
        format!("pthread_barrier_wait({})", runtime.object_name(self.barrier))
    }
}

/// Goes on when so many have come. With static footprints the step waits for the barrier itself, and is
/// guarded.
struct PassBarrier {
    barrier: Object,
    complete_at: u64,
}

impl Operation for PassBarrier {
    fn wait(&self) -> Wait {
        Wait::Until(self.barrier.location, Until::AtLeast(self.complete_at))
    }

    fn perform(&mut self, step: &mut CurrentStep<'_>) {
        step.touch(self.barrier.location, AccessKind::Read);
    }

    fn describe(&self, runtime: &Runtime) -> String {
        format!("pass {}", runtime.object_name(self.barrier))
    }

    fn waits_for(&self, runtime: &Runtime) -> (String, Vec<ProcessId>) {
        (format!("more threads to come to {}", runtime.object_name(self.barrier)), Vec::new())
    }
}

extern "C-unwind" fn barrier_wait(address: usize) -> i32 {
    let place = caller();
    let barrier = object_at(address, Class::Barrier, place, "pthread_barrier_wait");
    let mut comes = ArriveAtBarrier { barrier, round: None, static_footprints: false };
    operate_on(barrier, "pthread_barrier_wait", &mut comes, place);
    let Some(Round { complete_at, is_last }) = comes.round else {
        let message = "pthread_barrier_wait: the barrier was not initialised".to_owned();
        arrive::fail_here(FailureKind::InvalidSync, message, place)
    };
    if comes.static_footprints {
        arrive::operate(&mut PassBarrier { barrier, complete_at }, place);
    } else if !is_last {
        arrive::operate(&mut WakeUp::when_woken(barrier), place);
    }
    if is_last { libc::PTHREAD_BARRIER_SERIAL_THREAD } else { 0 }
}

extern "C-unwind" fn barrier_init(address: usize, _attributes: usize, threads: u32) -> i32 {
    let place = caller();
    if threads == 0 {
        return libc::EINVAL;
    }
    lifetime::initialise(address, Class::Barrier, 32, 0, u64::from(threads), place);
    0
}

extern "C-unwind" fn barrier_destroy(address: usize) -> i32 {
    lifetime::destroy(address, Class::Barrier, caller());
    0
}

/// What programs call.
pub(crate) fn interposed(list: &mut Vec<Stub>) {
    list.extend(stubs! { Passing::Plain;
        "pthread_barrier_wait" => barrier_wait, "pthread_barrier_init" => barrier_init,
        "pthread_barrier_destroy" => barrier_destroy,
    });
}
