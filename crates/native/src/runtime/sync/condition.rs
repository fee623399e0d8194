//! Condition variables.
//!
//! A wait is three steps: the thread joins the queue and gives the mutex back, it wakes up, it takes the mutex again. Who
//! signals takes threads from the queue and writes their wake locations; a wake-up reads the one of its thread, so that it
//! depends on nothing but the signal. Nobody else can undo a signal, so that a wake-up is no guarded step.
//!
//! A wait with a timeout can always be ended: if the thread is in the queue still, the step takes it from there. Its
//! label differs from that of a wake-up by a signal, so it varies. The same holds of a wait that may end of itself, which
//! each thread does once in an execution, if at all: so that loops around waits end.
#![allow(unsafe_code)]

use mazurka_program::{AccessKind, FailureKind, ProcessId};

use super::mutex::{self, Lock};
use crate::runtime::system::stubs::{Passing, Stub, stubs};
use crate::runtime::system::time;
use crate::runtime::system::user::{caller, object_at, operate_on};
use crate::runtime::threads::arrive;
use crate::runtime::threads::objects::{Class, ObjectId};
use crate::runtime::threads::operation::{Operation, Step, Wait};
use crate::runtime::threads::world::{World, current};

/// A thread that waits to be woken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiter {
    /// What it waits at.
    pub(crate) queue: ObjectId,
    pub(crate) thread: u32,
    /// The mutex that it gave back, if any.
    pub(crate) mutex: Option<ObjectId>,
}

impl World {
    /// Those who wait at something.
    pub(crate) fn waiters(&self, queue: ObjectId) -> impl Iterator<Item = &Waiter> {
        self.waiters.iter().filter(move |waiter| waiter.queue == queue)
    }

    /// Whether a thread has not been woken.
    pub(crate) fn still_waits(&self, thread: u32) -> bool {
        self.waiters.iter().any(|waiter| waiter.thread == thread)
    }

    /// What is touched depends on who waits: there is no label that foresees it.
    pub(crate) fn refuse_static_footprints(&mut self, what: &str) {
        if self.foresee {
            self.refuse(format!("{what} are not supported by source; use optimal"));
        }
    }
}

impl Step<'_> {
    /// Wakes a thread that waits.
    pub(crate) fn wake(&mut self, thread: u32) {
        self.world.waiters.retain(|waiter| waiter.thread != thread);
        let wake = self.world.thread(thread).wake;
        self.touch(wake, AccessKind::Write);
        self.world.changed = true;
    }
}

/// Joins the queue and gives the mutex back.
struct Join {
    queue: ObjectId,
    mutex: ObjectId,
    two_mutexes: bool,
}

impl Operation for Join {
    fn perform(&mut self, step: &mut Step<'_>) {
        step.world.refuse_static_footprints("condition variables");
        step.world.has_waits = true;
        // The label of a failure is that of a success.
        step.update(self.queue);
        step.update(self.mutex);
        self.two_mutexes = step.world.waiters(self.queue).any(|waiter| waiter.mutex != Some(self.mutex));
        if !self.two_mutexes {
            let waiter = Waiter { queue: self.queue, thread: step.thread, mutex: Some(self.mutex) };
            step.world.waiters.push(waiter);
            step.set(self.mutex, 0);
        }
    }

    fn describe(&self, world: &World) -> String {
        let (queue, mutex) = (world.object_name(self.queue), world.object_name(self.mutex));
        format!("pthread_cond_wait({queue}, {mutex})")
    }
}

/// Wakes up.
pub(crate) struct WakeUp {
    queue: ObjectId,
    times_out: bool,
    /// Whether it may wake up of itself.
    spurious: bool,
    timed_out: bool,
}

impl WakeUp {
    /// When somebody says so.
    pub(crate) fn when_woken(queue: ObjectId) -> WakeUp {
        WakeUp { queue, times_out: false, spurious: false, timed_out: false }
    }

    /// Of the running thread, from a condition variable.
    fn from_condition(world: &mut World, queue: ObjectId, times_out: bool) -> WakeUp {
        let spurious = world.options.spurious_wakeups && !world.me().woke_of_itself;
        WakeUp { queue, times_out, spurious, timed_out: false }
    }

    /// Whether somebody must wake it.
    fn depends_on_others(&self) -> bool {
        !self.times_out && !self.spurious
    }
}

impl Operation for WakeUp {
    fn wait(&self, _world: &World) -> Wait {
        if self.depends_on_others() { Wait::Own } else { Wait::Nothing }
    }

    fn branches(&self) -> bool {
        self.times_out && self.spurious
    }

    fn alternatives(&self, world: &World, thread: u32) -> u32 {
        if self.branches() && world.still_waits(thread) { 2 } else { 1 }
    }

    fn ready(&self, world: &World, thread: u32) -> bool {
        !world.still_waits(thread)
    }

    fn perform(&mut self, step: &mut Step<'_>) {
        if step.world.still_waits(step.thread) {
            step.world.waiters.retain(|waiter| waiter.thread != step.thread);
            step.update(self.queue);
            self.timed_out = self.times_out && !(self.spurious && step.choice == 1);
            if !self.timed_out {
                step.world.thread_mut(step.thread).woke_of_itself = true;
            }
            let note = if self.timed_out { "timed out" } else { "of itself" };
            step.note(|| note.to_owned());
        } else {
            let wake = step.world.thread(step.thread).wake;
            step.touch(wake, AccessKind::Read);
            if self.depends_on_others() {
                step.waited_for(wake);
            }
        }
        if !self.depends_on_others() {
            step.varies();
        }
    }

    fn describe(&self, world: &World) -> String {
        format!("wake up from {}", world.object_name(self.queue))
    }

    fn waits_for(&self, world: &World) -> (String, Vec<ProcessId>) {
        let what = match world.objects.class(self.queue) {
            Class::Barrier => "more threads to come to",
            Class::Futex => "a notification of",
            _ => "a signal of",
        };
        (format!("{what} {}", world.object_name(self.queue)), Vec::new())
    }
}

/// Wakes one who waits, or all. To wake one has as many outcomes as there are threads that wait.
pub(crate) struct Signal {
    pub(crate) queue: ObjectId,
    pub(crate) all: bool,
}

impl Operation for Signal {
    fn branches(&self) -> bool {
        !self.all
    }

    fn alternatives(&self, world: &World, _thread: u32) -> u32 {
        if self.all { 1 } else { (world.waiters(self.queue).count() as u32).max(1) }
    }

    fn perform(&mut self, step: &mut Step<'_>) {
        step.world.refuse_static_footprints(match step.world.objects.class(self.queue) {
            Class::Futex => "waits for atomic variables",
            _ => "condition variables",
        });
        let mut woken: Vec<u32> = step.world.waiters(self.queue).map(|waiter| waiter.thread).collect();
        if !self.all && woken.len() > 1 {
            // By their names, which don't depend on the order in which they came.
            woken.sort_by(|&a, &b| step.world.names.compare(ProcessId(a), ProcessId(b)));
            woken = vec![woken[(step.choice as usize).min(woken.len() - 1)]];
        }
        let location = step.world.objects.location(self.queue);
        step.touch(location, if woken.is_empty() { AccessKind::Read } else { AccessKind::Update });
        woken.iter().for_each(|&thread| step.wake(thread));
        step.varies();
        if step.world.story.is_some() {
            let names: Vec<String> = woken.iter().map(|&thread| step.world.name_of(thread)).collect();
            step.note(|| match names.is_empty() {
                true => "nobody waits".to_owned(),
                false => format!("wakes {}", names.join(", ")),
            });
        }
    }

    fn describe(&self, world: &World) -> String {
        let name = world.object_name(self.queue);
        match (world.objects.class(self.queue), self.all) {
            (Class::Futex, true) => format!("notify all of {name}"),
            (Class::Futex, false) => format!("notify one of {name}"),
            (_, true) => format!("pthread_cond_broadcast({name})"),
            (_, false) => format!("pthread_cond_signal({name})"),
        }
    }
}

fn condition_at(address: usize, place: usize, name: &str) -> ObjectId {
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
    let mut join = Join { queue, mutex, two_mutexes: false };
    operate_on(queue, "pthread_cond_wait", &mut join, place);
    if join.two_mutexes {
        wrong("others wait there with another mutex");
    }
    // SAFETY: a thread of the world runs here; the reference ends before it is suspended.
    let mut wake_up = WakeUp::from_condition(unsafe { &mut *current() }, queue, times_out);
    arrive::operate(&mut wake_up, place);
    operate_on(mutex, "pthread_cond_wait", &mut Lock::new(mutex), place);
    if wake_up.timed_out {
        time::timed_out(until);
    }
    wake_up.timed_out
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
        "cnd_destroy" => pthread_cond_destroy, "cnd_wait" => pthread_cond_wait, "cnd_timedwait" => cnd_timedwait,
        "cnd_signal" => pthread_cond_signal, "cnd_broadcast" => pthread_cond_broadcast,
    });
}
