//! Barriers.
//!
//! The thread that comes last wakes the others, as a signal of a condition variable does: it writes their wake
//! locations, so that to go on depends on that thread only and not on those who come to the barrier for the next time.

use mazurka_program::{AccessKind, FailureKind, ProcessId};

use super::condition::{Waiter, WakeUp};
use super::lifetime;
use crate::runtime::system::stubs::{Passing, Stub, stubs};
use crate::runtime::system::user::{caller, object_at, operate_on};
use crate::runtime::threads::arrive;
use crate::runtime::threads::objects::{Class, ObjectId};
use crate::runtime::threads::operation::{Operation, Step, Until, Wait};
use crate::runtime::threads::world::World;

/// Comes to the barrier, which holds how many did so.
struct Arrive {
    barrier: ObjectId,
    threads: u64,
    /// How many must have come before it can go on.
    round: u64,
    last: bool,
    foreseen: bool,
}

impl Operation for Arrive {
    fn perform(&mut self, step: &mut Step<'_>) {
        step.update(self.barrier);
        self.threads = step.world.objects.parameter(self.barrier);
        if self.threads == 0 {
            return;
        }
        let arrived = step.value(self.barrier) + 1;
        step.set(self.barrier, arrived);
        self.round = arrived.next_multiple_of(self.threads);
        self.last = arrived == self.round;
        self.foreseen = step.world.foresee;
        if self.foreseen {
            return;
        }
        if self.last {
            let woken: Vec<u32> = step.world.waiters(self.barrier).map(|waiter| waiter.thread).collect();
            woken.into_iter().for_each(|thread| step.wake(thread));
            step.note(|| "the last one".to_owned());
        } else {
            step.world.waiters.push(Waiter { queue: self.barrier, thread: step.thread, mutex: None });
        }
        step.varies();
    }

    fn describe(&self, world: &World) -> String {
        format!("pthread_barrier_wait({})", world.object_name(self.barrier))
    }
}

/// Goes on when so many have come. With static footprints the step waits for the barrier itself, and is guarded.
struct GoOn {
    barrier: ObjectId,
    round: u64,
}

impl Operation for GoOn {
    fn wait(&self, _world: &World) -> Wait {
        Wait::Guard { object: self.barrier, until: Until::AtLeast(self.round) }
    }

    fn perform(&mut self, step: &mut Step<'_>) {
        let location = step.world.objects.location(self.barrier);
        step.touch(location, AccessKind::Read);
    }

    fn describe(&self, world: &World) -> String {
        format!("pass {}", world.object_name(self.barrier))
    }

    fn waits_for(&self, world: &World) -> (String, Vec<ProcessId>) {
        (format!("more threads to come to {}", world.object_name(self.barrier)), Vec::new())
    }
}

extern "C-unwind" fn barrier_wait(address: usize) -> i32 {
    let place = caller();
    let barrier = object_at(address, Class::Barrier, place, "pthread_barrier_wait");
    let mut comes = Arrive { barrier, threads: 0, round: 0, last: false, foreseen: false };
    operate_on(barrier, "pthread_barrier_wait", &mut comes, place);
    if comes.threads == 0 {
        let message = "pthread_barrier_wait: the barrier was not initialised".to_owned();
        arrive::fail_here(FailureKind::InvalidSync, message, place);
    }
    if comes.foreseen {
        arrive::operate(&mut GoOn { barrier, round: comes.round }, place);
    } else if !comes.last {
        arrive::operate(&mut WakeUp::when_woken(barrier), place);
    }
    if comes.last { libc::PTHREAD_BARRIER_SERIAL_THREAD } else { 0 }
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
