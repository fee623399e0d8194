//! A condition variable, as [`std::sync::Condvar`].
//!
//! A wait is three steps: the thread joins the queue and gives the lock back, it wakes up, it takes the lock again. Who
//! notifies takes threads from the queue and writes their wake locations; a wake-up reads the one of its thread, so that it
//! depends on nothing but the notification. Nobody else can undo a notification, so that a wake-up is no guarded step.
//!
//! A notification orders no accesses of cells: that is left to the lock, as in the standard library.
//!
//! A wait that may end of itself can always be taken: if the thread is in the queue still, the step takes it from there. Its
//! label differs from that of a wake-up by notification, so it varies.

use std::fmt;
use std::panic::Location as Caller;
use std::sync as real;
use std::sync::{LockResult, PoisonError};
use std::time::{Duration, Instant};

use mazurka_program::{Location, ProcessId, Stop};
use mazurka_threads::sync::{self, Woken};
use mazurka_threads::waiters::Spuriously;

use super::mutex::{Lock, MutexGuard};
use crate::runtime::identity::Object;
use crate::runtime::operation::{Operation, Step, Wait};
use crate::runtime::{Whole, World, operate, with_world};

/// As [`std::sync::Condvar`].
///
/// Within a check a wait with a timeout times out whenever it is not notified, however long the timeout is: that is one more
/// way for things to go. So a loop that waits with a timeout again and again never ends in some execution.
///
/// Threads do not wake up of themselves, unless the check was told that they do; then each does so at most once in an
/// execution, wherever it waits, so that loops around waits have an end.
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

/// Joins the queue and gives the lock back.
struct Join {
    queue: Location,
    lock: Location,
    /// Others wait here with another lock.
    two_locks: bool,
}

impl Operation for Join {
    fn perform(&mut self, step: &mut Step<'_>) {
        refuse_static_footprints(step);
        self.two_locks = !sync::join_queue(step, self.queue, self.lock);
        if !self.two_locks {
            step.release(self.lock);
        }
    }

    fn describe(&self, world: &World) -> String {
        format!("{}.wait({})", world.name_of_location(self.queue), world.name_of_location(self.lock))
    }
}

/// Wakes up.
struct WakeUp {
    process: ProcessId,
    wake_up: sync::WakeUp,
    woken: Woken,
}

impl WakeUp {
    fn new(world: &World, queue: Location, times_out: bool) -> WakeUp {
        let process = world.running();
        let before = world.execution.waiters.has(Spuriously::WakesUp, process);
        let spurious = world.search.spurious.wakeups && !before;
        let wake_up = sync::WakeUp { queue, times_out, spurious };
        WakeUp { process, wake_up, woken: Woken::Notified }
    }
}

impl Operation for WakeUp {
    fn wait(&self) -> Wait {
        if self.wake_up.depends_on_others() { Wait::Own } else { Wait::Nothing }
    }

    fn ready(&self, world: &World, process: ProcessId) -> bool {
        !world.execution.waiters.contains(process)
    }

    fn branches(&self) -> bool {
        self.wake_up.branches()
    }

    fn alternatives(&self, world: &World) -> u32 {
        self.wake_up.outcomes(&world.execution.waiters, self.process)
    }

    fn perform(&mut self, step: &mut Step<'_>) {
        self.woken = self.wake_up.perform(step);
    }

    fn describe(&self, world: &World) -> String {
        format!("wake up from {}", world.name_of_location(self.wake_up.queue))
    }

    fn waits_for(&self, world: &World) -> (String, Vec<ProcessId>) {
        (format!("a notification of `{}`", world.name_of_location(self.wake_up.queue)), Vec::new())
    }
}

/// Wakes one who waits, or all. To wake one has as many outcomes as there are threads that wait.
struct Notify {
    queue: Location,
    all: bool,
}

impl Operation for Notify {
    fn branches(&self) -> bool {
        !self.all
    }

    fn alternatives(&self, world: &World) -> u32 {
        sync::outcomes_of_notification(&world.execution.waiters, self.queue, self.all)
    }

    fn perform(&mut self, step: &mut Step<'_>) {
        refuse_static_footprints(step);
        sync::notify(step, self.queue, self.all);
    }

    fn describe(&self, world: &World) -> String {
        let name = if self.all { "notify_all" } else { "notify_one" };
        format!("{}.{name}()", world.name_of_location(self.queue))
    }
}

/// What a notification touches depends on who waits, and whom it wakes: there is no label that foresees it.
fn refuse_static_footprints(step: &mut Step<'_>) {
    if step.world.search.foresee {
        step.world.fail(Stop::Unsupported("Condvar is not supported by source; use optimal".to_owned()));
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
        with_world(|world| world.locate(&self.object, || Whole::of(self), "Condvar", || 0))
    }

    /// Gives the lock back and waits for a notification; then takes the lock again.
    ///
    /// # Errors
    /// If the lock is poisoned.
    ///
    /// # Panics
    /// If another thread waits here with another lock.
    #[track_caller]
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        let place = Caller::caller();
        if let (Some(lock), Some(queue)) = (guard.model(), self.location()) {
            return wait_model(guard, lock, queue, false, place).0;
        }
        self.object.use_outside();
        match guard.give_up() {
            (mutex, Some(real)) => {
                let real = self.real.wait(real).unwrap_or_else(PoisonError::into_inner);
                MutexGuard::again_outside(mutex, real, place)
            }
            // No guard of a check is found outside of it.
            (mutex, None) => mutex.lock(),
        }
    }

    /// Waits as long as a condition holds.
    ///
    /// # Errors
    /// If the lock is poisoned.
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

    /// Waits for a notification, but not forever.
    ///
    /// # Errors
    /// If the lock is poisoned.
    ///
    /// # Panics
    /// If another thread waits here with another lock.
    #[track_caller]
    pub fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        duration: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        let place = Caller::caller();
        let (guard, timed_out) = match (guard.model(), self.location()) {
            (Some(lock), Some(queue)) => {
                let (guard, woken) = wait_model(guard, lock, queue, true, place);
                (guard, woken == Woken::TimedOut)
            }
            _ => self.wait_timeout_outside(guard, duration, place),
        };
        let result = WaitTimeoutResult(timed_out);
        match guard {
            Ok(guard) => Ok((guard, result)),
            Err(poisoned) => Err(PoisonError::new((poisoned.into_inner(), result))),
        }
    }

    fn wait_timeout_outside<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        duration: Duration,
        place: &'static Caller<'static>,
    ) -> (LockResult<MutexGuard<'a, T>>, bool) {
        self.object.use_outside();
        match guard.give_up() {
            (mutex, Some(real)) => {
                let waited = self.real.wait_timeout(real, duration);
                let (real, result) = waited.unwrap_or_else(PoisonError::into_inner);
                (MutexGuard::again_outside(mutex, real, place), result.timed_out())
            }
            (mutex, None) => (mutex.lock(), false),
        }
    }

    /// As [`wait_timeout`](Condvar::wait_timeout), with milliseconds; gives whether it was notified.
    ///
    /// # Errors
    /// If the lock is poisoned.
    #[deprecated(note = "replaced by `wait_timeout`")]
    #[track_caller]
    pub fn wait_timeout_ms<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        ms: u32,
    ) -> LockResult<(MutexGuard<'a, T>, bool)> {
        match self.wait_timeout(guard, Duration::from_millis(u64::from(ms))) {
            Ok((guard, result)) => Ok((guard, !result.timed_out())),
            Err(poisoned) => {
                let (guard, result) = poisoned.into_inner();
                Err(PoisonError::new((guard, !result.timed_out())))
            }
        }
    }

    /// Waits as long as a condition holds, but not forever: it timed out if the condition holds in the end.
    ///
    /// # Errors
    /// If the lock is poisoned.
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
        let start = guard.model().is_none().then(Instant::now);
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

    /// Wakes one of the threads that wait.
    #[track_caller]
    pub fn notify_one(&self) {
        match self.location() {
            Some(queue) => operate(&mut Notify { queue, all: false }, Caller::caller()),
            None => {
                self.object.use_outside();
                self.real.notify_one();
            }
        }
    }

    /// Wakes all threads that wait.
    #[track_caller]
    pub fn notify_all(&self) {
        match self.location() {
            Some(queue) => operate(&mut Notify { queue, all: true }, Caller::caller()),
            None => {
                self.object.use_outside();
                self.real.notify_all();
            }
        }
    }
}

/// Waits, within a check.
#[track_caller]
fn wait_model<'a, T>(
    guard: MutexGuard<'a, T>,
    lock: Location,
    queue: Location,
    times_out: bool,
    place: &'static Caller<'static>,
) -> (LockResult<MutexGuard<'a, T>>, Woken) {
    let mut join = Join { queue, lock, two_locks: false };
    // The guard stays until the lock is given back, for the case that it never is: the execution may end here.
    operate(&mut join, place);
    assert!(!join.two_locks, "attempted to use a condition variable with two mutexes at the same time");
    let (mutex, _) = guard.give_up();
    let woken = with_world(|world| WakeUp::new(world, queue, times_out)).map(|mut wake_up| {
        operate(&mut wake_up, place);
        wake_up.woken
    });
    let mut lock = Lock::new(lock);
    operate(&mut lock, place);
    (MutexGuard::again(mutex, &lock, place), woken.unwrap_or(Woken::Notified))
}

impl fmt::Debug for Condvar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Condvar").finish_non_exhaustive()
    }
}

impl Default for Condvar {
    #[track_caller]
    fn default() -> Condvar {
        Condvar::new()
    }
}
