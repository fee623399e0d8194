//! A condition variable, as [`std::sync::Condvar`].
//!
//! A wait is three steps: the thread joins the queue and gives the lock back, it wakes up, it takes the lock
//! again. Who notifies takes threads from the queue and writes their wake locations; a wake-up reads the one
//! of its thread, so that it depends on nothing but the notification. Nobody else can undo a notification, so
//! that a wake-up is no guarded step.
//!
//! A notification orders no accesses of cells: that is left to the lock, as in the standard library.
//!
//! A wait that may end of itself can always be taken: if the thread is in the queue still, the step takes it
//! from there. Its label differs from that of a wake-up by notification, so it varies.

use std::panic::Location as Caller;
use std::sync as real;
use std::sync::{LockResult, PoisonError};
use std::time::{Duration, Instant};

use mazurka_program::{Location, ProcessId, Stop};
use mazurka_threads::sync::{self, Woken};
use mazurka_threads::waiters::Spuriously;

use super::guard::{MutexGuard, Right};
use super::lock::{Acquire, poisoned_if};
use crate::runtime::identity::Object;
use crate::runtime::operation::{CurrentStep, Operation, Wait};
use crate::runtime::{Runtime, Whole, operate, with_runtime};
use crate::step::{CallSite, opaque_debug, take_told_step};

/// As [`std::sync::Condvar`].
///
/// Within a check a wait with a timeout times out whenever it is not notified, however long the timeout is:
/// that is one more way for things to go. So a loop that waits with a timeout again and again never ends in
/// some execution.
///
/// Threads do not wake up of themselves, unless the check was told that they do; then each does so at most
/// once in an execution, wherever it waits, so that loops around waits have an end.
pub struct Condvar {
    object: Object,
    real: real::Condvar,
}

/// Whether a wait timed out, as [`std::sync::WaitTimeoutResult`].
#[derive(Debug, PartialEq, Eq, Copy, Clone)]
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    /// Whether the wait timed out.
    #[must_use]
    pub fn timed_out(&self) -> bool {
        self.0
    }
}

/// Joins the queue and gives the lock back. Tells whether others wait there with another lock: then nothing
/// is done.
fn enqueue(queue: Location, lock: Location, place: CallSite) -> bool {
    let describe = |runtime: &Runtime| {
        format!("{}.wait({})", runtime.name_of_location(queue), runtime.name_of_location(lock))
    };
    let two_locks = take_told_step(place, describe, |step| {
        refuse_static_footprints(step);
        let one_lock = sync::join_queue(step, queue, lock);
        if one_lock {
            step.released();
            step.release(lock);
        }
        !one_lock
    });
    two_locks.unwrap_or(false)
}

/// Wakes up.
struct WakeUp {
    process: ProcessId,
    wake_up: sync::WakeUp,
    woken: Woken,
}

impl WakeUp {
    fn new(runtime: &Runtime, queue: Location, times_out: bool) -> WakeUp {
        let process = runtime.running();
        let before = runtime.execution.waiters.has(Spuriously::WakesUp, process);
        let spurious = runtime.search.spurious.wakeups && !before;
        let wake_up = sync::WakeUp { queue, times_out, spurious };
        WakeUp { process, wake_up, woken: Woken::Notified }
    }
}

impl Operation for WakeUp {
    fn is_told(&self) -> bool {
        // What happens of itself happens once.
        self.woken != Woken::Spuriously
    }

    fn wait(&self) -> Wait {
        if self.wake_up.depends_on_others() { Wait::Own } else { Wait::Nothing }
    }

    fn ready(&self, runtime: &Runtime, process: ProcessId) -> bool {
        !runtime.execution.waiters.contains(process)
    }

    fn branches(&self) -> bool {
        self.wake_up.branches()
    }

    fn alternatives(&self, runtime: &Runtime) -> u32 {
        self.wake_up.outcomes(&runtime.execution.waiters, self.process)
    }

    fn perform(&mut self, step: &mut CurrentStep<'_>) {
        self.woken = self.wake_up.perform(step);
    }

    fn describe(&self, runtime: &Runtime) -> String {
        format!("wake up from {}", runtime.name_of_location(self.wake_up.queue))
    }

    fn waits_for(&self, runtime: &Runtime) -> (String, Vec<ProcessId>) {
        (format!("a notification of `{}`", runtime.name_of_location(self.wake_up.queue)), Vec::new())
    }
}

/// Wakes one who waits, or all. To wake one has as many outcomes as there are threads that wait.
struct Notify {
    queue: Location,
    all: bool,
}

impl Operation for Notify {
    fn is_told(&self) -> bool {
        true
    }

    fn branches(&self) -> bool {
        !self.all
    }

    fn alternatives(&self, runtime: &Runtime) -> u32 {
        sync::outcomes_of_notification(&runtime.execution.waiters, self.queue, self.all)
    }

    fn perform(&mut self, step: &mut CurrentStep<'_>) {
        refuse_static_footprints(step);
        sync::notify(step, self.queue, self.all);
    }

    fn describe(&self, runtime: &Runtime) -> String {
        let name = if self.all { "notify_all" } else { "notify_one" };
        format!("{}.{name}()", runtime.name_of_location(self.queue))
    }
}

/// What a notification touches depends on who waits, and whom it wakes: there is no label that foresees it.
fn refuse_static_footprints(step: &mut CurrentStep<'_>) {
    if step.runtime.search.foresee {
        step.runtime.fail(Stop::Unsupported("Condvar is not supported by source; use optimal".to_owned()));
    }
}

impl Condvar {
    /// A new condition variable.
    #[inline]
    #[must_use]
    #[track_caller]
    pub const fn new() -> Condvar {
        Condvar { object: Object::new(), real: real::Condvar::new() }
    }

    fn location(&self) -> Option<Location> {
        with_runtime(|runtime| runtime.locate(&self.object, || Whole::of(self), "Condvar", || 0))
    }

    /// Gives the lock back and waits for a notification; then takes the lock again. An error if it is
    /// poisoned.
    ///
    /// # Panics
    /// If another thread waits here with another lock.
    #[track_caller]
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        self.wait_for(guard, None).0
    }

    /// Waits as long as a condition holds; an error if the lock is poisoned.
    #[track_caller]
    pub fn wait_while<'a, T, F>(
        &self,
        mut guard: MutexGuard<'a, T>,
        mut condition: F,
    ) -> LockResult<MutexGuard<'a, T>>
    where
        F: FnMut(&mut T) -> bool,
    {
        while condition(&mut *guard) {
            guard = self.wait(guard)?;
        }
        Ok(guard)
    }

    /// Waits for a notification, but not forever; an error if the lock is poisoned.
    ///
    /// # Panics
    /// If another thread waits here with another lock.
    #[track_caller]
    pub fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        duration: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        let (guard, timed_out) = self.wait_for(guard, Some(duration));
        with_result(guard, WaitTimeoutResult(timed_out))
    }

    /// As [`wait_timeout`](Condvar::wait_timeout), with milliseconds; gives whether it was notified.
    #[deprecated(note = "replaced by `wait_timeout`")]
    #[track_caller]
    pub fn wait_timeout_ms<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        ms: u32,
    ) -> LockResult<(MutexGuard<'a, T>, bool)> {
        let (guard, timed_out) = self.wait_for(guard, Some(Duration::from_millis(u64::from(ms))));
        with_result(guard, !timed_out)
    }

    /// Waits as long as a condition holds, but not forever: it timed out if the condition holds in the end.
    /// An error if the lock is poisoned.
    #[track_caller]
    pub fn wait_timeout_while<'a, T, F>(
        &self,
        mut guard: MutexGuard<'a, T>,
        duration: Duration,
        mut condition: F,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)>
    where
        F: FnMut(&mut T) -> bool,
    {
        let start = guard.held.model().is_none().then(Instant::now);
        let mut timed_out = false;
        loop {
            if !condition(&mut *guard) {
                return Ok((guard, WaitTimeoutResult(false)));
            }
            let left = match start {
                Some(start) => duration.checked_sub(start.elapsed()),
                // Within a check no time passes but in waits.
                None => (!timed_out).then_some(duration),
            };
            let Some(left) = left else { return Ok((guard, WaitTimeoutResult(true))) };
            let (again, result) = self.wait_timeout(guard, left)?;
            (guard, timed_out) = (again, result.timed_out());
        }
    }

    /// Waits, for a time if one is given; tells whether it timed out.
    #[track_caller]
    fn wait_for<'a, T>(
        &self,
        mut guard: MutexGuard<'a, T>,
        timeout: Option<Duration>,
    ) -> (LockResult<MutexGuard<'a, T>>, bool) {
        let place = Caller::caller();
        if let (Some(lock), Some(queue)) = (guard.held.model(), self.location()) {
            let (guard, timed_out) = wait_model(guard, lock, queue, timeout.is_some(), place);
            if let Some(duration) = timeout.filter(|_| timed_out) {
                crate::time::passes(duration);
            }
            return (guard, timed_out);
        }
        self.object.use_outside();
        // No guard of a check is found outside of it.
        let Right::Real(real) = guard.held.take_right() else { return (Ok(guard), false) };
        let (real, timed_out) = match timeout {
            None => (self.real.wait(real).unwrap_or_else(PoisonError::into_inner), false),
            Some(duration) => {
                let waited = self.real.wait_timeout(real, duration);
                let (real, result) = waited.unwrap_or_else(PoisonError::into_inner);
                (real, result.timed_out())
            }
        };
        guard.held.regain(Right::Real(real), place);
        (poisoned_if(guard.held.has_poison_outside(), guard), timed_out)
    }

    /// Wakes one of the threads that wait.
    #[track_caller]
    pub fn notify_one(&self) {
        self.notify(false, real::Condvar::notify_one);
    }

    /// Wakes all threads that wait.
    #[track_caller]
    pub fn notify_all(&self) {
        self.notify(true, real::Condvar::notify_all);
    }

    #[track_caller]
    fn notify(&self, all: bool, outside: fn(&real::Condvar)) {
        match self.location() {
            Some(queue) => operate(&mut Notify { queue, all }, Caller::caller()),
            None => {
                self.object.use_outside();
                outside(&self.real);
            }
        }
    }
}

/// A guard with what else a wait gives.
fn with_result<'a, T, R>(
    guard: LockResult<MutexGuard<'a, T>>,
    result: R,
) -> LockResult<(MutexGuard<'a, T>, R)> {
    match guard {
        Ok(guard) => Ok((guard, result)),
        Err(poisoned) => Err(PoisonError::new((poisoned.into_inner(), result))),
    }
}

/// Waits, within a check; tells whether it timed out.
#[track_caller]
fn wait_model<'a, T>(
    mut guard: MutexGuard<'a, T>,
    lock: Location,
    queue: Location,
    times_out: bool,
    place: CallSite,
) -> (LockResult<MutexGuard<'a, T>>, bool) {
    // The guard keeps its right until the lock is given back, for the case that it never is: the execution
    // may end here.
    let two_locks = enqueue(queue, lock, place);
    assert!(!two_locks, "attempted to use a condition variable with two mutexes at the same time");
    guard.held.take_right();
    let mut timed_out = false;
    if let Some(mut wake_up) = with_runtime(|runtime| WakeUp::new(runtime, queue, times_out)) {
        operate(&mut wake_up, place);
        timed_out = wake_up.woken == Woken::TimedOut;
    }
    let mut acquire = Acquire::<real::MutexGuard<'_, ()>>::new(lock);
    operate(&mut acquire, place);
    guard.held.regain(Right::Model(lock), place);
    (poisoned_if(acquire.poisoned, guard), timed_out)
}

opaque_debug!(Condvar;);

impl Default for Condvar {
    #[track_caller]
    fn default() -> Condvar {
        Condvar::new()
    }
}
