//! Condition variables. What they do is in [`mazurka_threads::sync`]; here is what is C's.
//!
//! A wait that may end of itself does so once for each thread in an execution, if at all: so that loops
//! around waits end.

use mazurka_program::{FailureKind, ProcessId};
use mazurka_threads::sync::{self, Woken};
use mazurka_threads::waiters::Spuriously;

use super::mutex::{self, Lock};
use crate::runtime::system::stubs::{Passing, Stub, stubs};
use crate::runtime::system::time;
use crate::runtime::system::user::{caller, object_at, operate_on, with_runtime};
use crate::runtime::threads::arrive;
use crate::runtime::threads::objects::{Class, Object};
use crate::runtime::threads::operation::{CurrentStep, InRound, Operation, Wait};
use crate::runtime::threads::runtime::Runtime;

/// Joins the queue and gives the mutex back.
struct JoinQueue {
    queue: Object,
    mutex: Object,
    /// Until when it waits, if it does not for ever.
    until: Option<usize>,
    two_mutexes: bool,
}

impl Operation for JoinQueue {
    // Who wakes up has left the queue, and nobody cares who came to it first: what counts is who is in it.
    fn in_round(&self) -> InRound {
        let objects = u64::from(self.queue.location.0) << 32 | u64::from(self.mutex.location.0);
        InRound::At(objects ^ self.until.map_or(0, |until| (until as u64 + 1).rotate_left(17)))
    }

    fn perform(&mut self, step: &mut CurrentStep<'_>) {
        step.refuse_static_footprints("condition variables");
        step.runtime.search.has_waits = true;
        self.two_mutexes = !sync::join_queue(step, self.queue.location, self.mutex.location);
        step.holds_more(-1);
    }

    fn describe(&self, runtime: &Runtime) -> String {
        let (queue, mutex) = (runtime.object_name(self.queue), runtime.object_name(self.mutex));
        format!("pthread_cond_wait({queue}, {mutex})")
    }
}

/// Wakes up.
pub(crate) struct WakeUp {
    queue: Object,
    wake_up: sync::WakeUp,
    woken: Woken,
}

impl WakeUp {
    /// When somebody says so.
    pub(crate) fn when_woken(queue: Object) -> WakeUp {
        WakeUp { queue, wake_up: sync::WakeUp::when_woken(queue.location), woken: Woken::Notified }
    }

    /// Of the running thread, from a condition variable.
    fn from_condition(runtime: &Runtime, queue: Object, times_out: bool) -> WakeUp {
        let woke_up = runtime.execution.waiters.has(Spuriously::WakesUp, runtime.running());
        let spurious = runtime.search.options.spurious_wakeups && !woke_up;
        let wake_up = sync::WakeUp { queue: queue.location, times_out, spurious };
        WakeUp { queue, wake_up, woken: Woken::Notified }
    }
}

impl Operation for WakeUp {
    fn in_round(&self) -> InRound {
        InRound::After(0)
    }

    fn wait(&self) -> Wait {
        if self.wake_up.depends_on_others() { Wait::Own } else { Wait::Nothing }
    }

    fn branches(&self) -> bool {
        self.wake_up.branches()
    }

    fn outcomes(&self, runtime: &Runtime, process: ProcessId) -> u32 {
        self.wake_up.outcomes(&runtime.execution.waiters, process)
    }

    fn ready(&self, runtime: &Runtime, process: ProcessId) -> bool {
        !runtime.execution.waiters.contains(process)
    }

    fn perform(&mut self, step: &mut CurrentStep<'_>) {
        self.woken = self.wake_up.perform(step);
    }

    fn describe(&self, runtime: &Runtime) -> String {
        format!("wake up from {}", runtime.object_name(self.queue))
    }

    fn waits_for(&self, runtime: &Runtime) -> (String, Vec<ProcessId>) {
        let what = match self.queue.class {
            Class::Barrier => "more threads to come to",
            Class::Futex => "a notification of",
            _ => "a signal of",
        };
        (format!("{what} {}", runtime.object_name(self.queue)), Vec::new())
    }
}

/// Wakes one who waits, or all.
pub(crate) struct Signal {
    pub(crate) queue: Object,
    pub(crate) all: bool,
}

impl Operation for Signal {
    fn in_round(&self) -> InRound {
        InRound::At(u64::from(self.queue.location.0) << 1 | u64::from(self.all))
    }

    fn branches(&self) -> bool {
        !self.all
    }

    fn outcomes(&self, runtime: &Runtime, _process: ProcessId) -> u32 {
        sync::outcomes_of_notification(&runtime.execution.waiters, self.queue.location, self.all)
    }

    fn perform(&mut self, step: &mut CurrentStep<'_>) {
        step.refuse_static_footprints(match self.queue.class {
            Class::Futex => "waits for atomic variables",
            _ => "condition variables",
        });
        sync::notify(step, self.queue.location, self.all);
    }

    fn describe(&self, runtime: &Runtime) -> String {
        let name = runtime.object_name(self.queue);
        match (self.queue.class, self.all) {
            (Class::Futex, true) => format!("notify all of {name}"),
            (Class::Futex, false) => format!("notify one of {name}"),
            (_, true) => format!("pthread_cond_broadcast({name})"),
            (_, false) => format!("pthread_cond_signal({name})"),
        }
    }
}

fn condition_at(address: usize, place: usize, name: &str) -> Object {
    object_at(address, Class::Condition, place, name)
}

/// Waits; gives whether it timed out.
fn wait(condition: usize, mutex: usize, times_out: bool, until: usize) -> bool {
    let place = caller();
    let queue = condition_at(condition, place, "pthread_cond_wait");
    let mutex = object_at(mutex, Class::Mutex, place, "pthread_cond_wait");
    let wrong =
        |what: &str| arrive::fail_here(FailureKind::InvalidSync, format!("pthread_cond_wait: {what}"), place);
    if !mutex::is_mine(mutex) {
        wrong("the thread has not locked the mutex");
    }
    let until_when = times_out.then_some(until);
    let mut join = JoinQueue { queue, mutex, until: until_when, two_mutexes: false };
    operate_on(queue, "pthread_cond_wait", &mut join, place);
    if join.two_mutexes {
        wrong("others wait there with another mutex");
    }
    let mut wake_up = with_runtime(|runtime| WakeUp::from_condition(runtime, queue, times_out));
    arrive::operate(&mut wake_up, place);
    operate_on(mutex, "pthread_cond_wait", &mut Lock::again(mutex, 1 + wake_up.woken as u64), place);
    let timed_out = wake_up.woken == Woken::TimedOut;
    if timed_out {
        time::timed_out(until);
    }
    timed_out
}

extern "C-unwind" fn pthread_cond_wait(condition: usize, mutex: usize) -> i32 {
    wait(condition, mutex, false, 0);
    0
}

extern "C-unwind" fn pthread_cond_timedwait(condition: usize, mutex: usize, until: usize) -> i32 {
    if wait(condition, mutex, true, until) { libc::ETIMEDOUT } else { 0 }
}

extern "C-unwind" fn pthread_cond_clockwait(
    condition: usize,
    mutex: usize,
    _clock: i32,
    until: usize,
) -> i32 {
    if wait(condition, mutex, true, until) { libc::ETIMEDOUT } else { 0 }
}

extern "C-unwind" fn cnd_timedwait(condition: usize, mutex: usize, until: usize) -> i32 {
    /// What `threads.h` calls timed out.
    const THRD_TIMEDOUT: i32 = 4;
    if wait(condition, mutex, true, until) { THRD_TIMEDOUT } else { 0 }
}

extern "C-unwind" fn pthread_cond_signal(condition: usize) -> i32 {
    let place = caller();
    let queue = condition_at(condition, place, "pthread_cond_signal");
    operate_on(queue, "pthread_cond_signal", &mut Signal { queue, all: false }, place);
    0
}

extern "C-unwind" fn pthread_cond_broadcast(condition: usize) -> i32 {
    let place = caller();
    let queue = condition_at(condition, place, "pthread_cond_broadcast");
    operate_on(queue, "pthread_cond_broadcast", &mut Signal { queue, all: true }, place);
    0
}

extern "C-unwind" fn pthread_cond_init(condition: usize, _attributes: usize) -> i32 {
    super::lifetime::initialise(condition, Class::Condition, 48, 0, 0, caller());
    0
}

extern "C-unwind" fn pthread_cond_destroy(condition: usize) -> i32 {
    super::lifetime::destroy(condition, Class::Condition, caller());
    0
}

/// What programs call.
pub(crate) fn interposed(list: &mut Vec<Stub>) {
    list.extend(stubs! { Passing::Plain;
        "pthread_cond_wait" => pthread_cond_wait, "pthread_cond_timedwait" => pthread_cond_timedwait,
        "pthread_cond_clockwait" => pthread_cond_clockwait, "pthread_cond_signal" => pthread_cond_signal,
        "pthread_cond_broadcast" => pthread_cond_broadcast, "pthread_cond_init" => pthread_cond_init,
        "pthread_cond_destroy" => pthread_cond_destroy, "cnd_init" => pthread_cond_init,
        "cnd_destroy" => pthread_cond_destroy, "cnd_wait" => pthread_cond_wait,
        "cnd_timedwait" => cnd_timedwait, "cnd_signal" => pthread_cond_signal,
        "cnd_broadcast" => pthread_cond_broadcast,
    });
}
