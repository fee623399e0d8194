//! A lock, as [`std::sync::Mutex`].
#![allow(unsafe_code)]

use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::panic::{Location as Caller, RefUnwindSafe, UnwindSafe};
use std::sync as real;
use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};

use mazurka_program::{AccessKind, Location, ProcessId};

use super::poison::Poison;
use crate::runtime::identity::Object;
use crate::runtime::operation::{Operation, Step, Wait};
use crate::runtime::statics::Home;
use crate::runtime::{Whole, World, operate, with_world};
use mazurka_threads::values::Until;

/// As [`std::sync::Mutex`]: poisoned by a panic of its holder.
pub struct Mutex<T: ?Sized> {
    object: Object,
    /// What is locked outside of a check.
    real: real::Mutex<()>,
    poison: Poison,
    home: Home,
    data: UnsafeCell<T>,
}

// SAFETY: the data is reached by one thread at a time: the holder of the lock.
unsafe impl<T: ?Sized + Send> Send for Mutex<T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}

impl<T: ?Sized> UnwindSafe for Mutex<T> {}
impl<T: ?Sized> RefUnwindSafe for Mutex<T> {}

/// Holds a [`Mutex`] until it is dropped.
#[must_use = "if unused the Mutex will immediately unlock"]
pub struct MutexGuard<'a, T: ?Sized> {
    mutex: &'a Mutex<T>,
    data: *mut T,
    held: Held<'a>,
    panicking: bool,
    place: &'static Caller<'static>,
    not_send: PhantomData<*const ()>,
}

enum Held<'a> {
    /// In a check: the lock's location.
    Model(Location),
    /// Outside: kept for its destructor.
    Real { _guard: real::MutexGuard<'a, ()> },
}

// SAFETY: a shared guard gives shared access to the data only.
unsafe impl<T: ?Sized + Sync> Sync for MutexGuard<'_, T> {}

/// The cell of a lock holds 0 if it is free, else the number of its holder plus 1.
pub(super) struct Lock {
    location: Location,
    pub(super) poisoned: bool,
}

impl Lock {
    pub(super) fn new(location: Location) -> Lock {
        Lock { location, poisoned: false }
    }

    /// The step has the lock.
    fn take(&mut self, step: &mut Step<'_>) {
        let holder = u64::from(step.process.0) + 1;
        step.set(self.location, holder);
        step.acquire(self.location);
        step.acquired(self.location);
        self.poisoned = step.world.is_poisoned(self.location);
    }
}

/// Whether a process has the lock, given what its location holds.
fn is_held_by(held: u64, process: ProcessId) -> bool {
    held == u64::from(process.0) + 1
}

impl Operation for Lock {
    fn wait(&self) -> Wait {
        Wait::Guard { location: self.location, until: Until::Is(0) }
    }

    fn perform(&mut self, step: &mut Step<'_>) {
        step.touch(self.location, AccessKind::Update);
        self.take(step);
    }

    fn describe(&self, world: &World) -> String {
        format!("{}.lock()", world.name_of_location(self.location))
    }

    fn waits_for(&self, world: &World) -> (String, Vec<ProcessId>) {
        let name = world.name_of_location(self.location);
        match world.execution.values.get(self.location).checked_sub(1) {
            Some(holder) => {
                let holder = ProcessId(holder as u32);
                (format!("`{name}`, {}", world.held_since(self.location, holder)), vec![holder])
            }
            None => (format!("`{name}`"), Vec::new()),
        }
    }
}

struct TryLock {
    lock: Lock,
    taken: bool,
}

impl Operation for TryLock {
    fn is_plain(&self) -> bool {
        true
    }

    fn perform(&mut self, step: &mut Step<'_>) {
        // A failed attempt counts as an access of the same kind, so that the label does not vary.
        step.touch(self.lock.location, AccessKind::Update);
        self.taken = step.peek(self.lock.location) == 0;
        if self.taken {
            self.lock.take(step);
        } else {
            step.note(|| "would block".to_owned());
        }
    }

    fn describe(&self, world: &World) -> String {
        format!("{}.try_lock()", world.name_of_location(self.lock.location))
    }
}

struct Unlock {
    location: Location,
    poisons: bool,
}

impl Operation for Unlock {
    fn perform(&mut self, step: &mut Step<'_>) {
        step.touch(self.location, AccessKind::Update);
        step.set(self.location, 0);
        step.release(self.location);
        if self.poisons {
            step.world.set_poisoned(self.location, true);
            step.note(|| "and poison it".to_owned());
        }
    }

    fn describe(&self, world: &World) -> String {
        format!("unlock {}", world.name_of_location(self.location))
    }
}

/// Poison is given by the step that unlocks, so it is part of what the lock's location stands for.
pub(super) struct IsPoisoned {
    pub(super) location: Location,
    pub(super) poisoned: bool,
}

impl Operation for IsPoisoned {
    fn perform(&mut self, step: &mut Step<'_>) {
        step.touch(self.location, AccessKind::Read);
        self.poisoned = step.world.is_poisoned(self.location);
    }

    fn describe(&self, world: &World) -> String {
        format!("{}.is_poisoned()", world.name_of_location(self.location))
    }
}

pub(super) struct ClearPoison {
    pub(super) location: Location,
}

impl Operation for ClearPoison {
    fn perform(&mut self, step: &mut Step<'_>) {
        step.touch(self.location, AccessKind::Update);
        step.world.set_poisoned(self.location, false);
    }

    fn describe(&self, world: &World) -> String {
        format!("{}.clear_poison()", world.name_of_location(self.location))
    }
}

impl<T> Mutex<T> {
    /// A new lock around a value.
    #[inline]
    #[track_caller]
    pub const fn new(value: T) -> Mutex<T> {
        Mutex {
            object: Object::new(),
            real: real::Mutex::new(()),
            poison: Poison::new(),
            home: Home::new(),
            data: UnsafeCell::new(value),
        }
    }

    /// The value, for its last owner.
    ///
    /// # Errors
    /// If the lock is poisoned.
    pub fn into_inner(self) -> LockResult<T> {
        let poisoned = self.poison.get(&self.object);
        let value = self.data.into_inner();
        if poisoned { Err(PoisonError::new(value)) } else { Ok(value) }
    }
}

impl<T: ?Sized> Mutex<T> {
    #[inline(never)]
    fn location(&self) -> Option<Location> {
        with_world(|world| world.locate(&self.object, || Whole::lock(self, is_held_by), "Mutex", || 0))
    }

    /// Takes the lock; waits until it is free.
    ///
    /// # Errors
    /// If a holder panicked.
    #[track_caller]
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        let place = Caller::caller();
        match self.location() {
            Some(location) => {
                let mut lock = Lock::new(location);
                operate(&mut lock, place);
                self.guard(Held::Model(location), lock.poisoned, place)
            }
            None => {
                self.object.use_outside();
                let guard = self.real.lock().unwrap_or_else(PoisonError::into_inner);
                self.guard(Held::Real { _guard: guard }, self.poison.get(&self.object), place)
            }
        }
    }

    /// Takes the lock if it is free.
    ///
    /// # Errors
    /// If it is not, or if a holder panicked.
    #[track_caller]
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        let place = Caller::caller();
        let Some(location) = self.location() else {
            self.object.use_outside();
            let guard = match self.real.try_lock() {
                Ok(guard) => guard,
                Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
                Err(TryLockError::WouldBlock) => return Err(TryLockError::WouldBlock),
            };
            return Ok(self.guard(Held::Real { _guard: guard }, self.poison.get(&self.object), place)?);
        };
        let mut attempt = TryLock { lock: Lock::new(location), taken: false };
        operate(&mut attempt, place);
        match attempt.taken {
            true => Ok(self.guard(Held::Model(location), attempt.lock.poisoned, place)?),
            false => Err(TryLockError::WouldBlock),
        }
    }

    fn guard<'a>(
        &'a self,
        held: Held<'a>,
        poisoned: bool,
        place: &'static Caller<'static>,
    ) -> LockResult<MutexGuard<'a, T>> {
        let data = match held {
            Held::Model(location) => self.home.data(location, self.data.get()),
            Held::Real { .. } => self.home.outside(self.data.get()),
        };
        let panicking = std::thread::panicking();
        let guard = MutexGuard { mutex: self, data, held, panicking, place, not_send: PhantomData };
        if poisoned { Err(PoisonError::new(guard)) } else { Ok(guard) }
    }

    /// Whether a holder panicked.
    #[track_caller]
    pub fn is_poisoned(&self) -> bool {
        let Some(location) = self.location() else { return self.poison.get(&self.object) };
        let mut look = IsPoisoned { location, poisoned: false };
        operate(&mut look, Caller::caller());
        look.poisoned
    }

    /// Takes the poison away.
    #[track_caller]
    pub fn clear_poison(&self) {
        match self.location() {
            Some(location) => operate(&mut ClearPoison { location }, Caller::caller()),
            None => self.poison.set_outside(false),
        }
    }

    /// The value, for its only owner.
    ///
    /// # Errors
    /// If the lock is poisoned.
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        let poisoned = self.poison.get(&self.object);
        let value = self.data.get_mut();
        if poisoned { Err(PoisonError::new(value)) } else { Ok(value) }
    }
}

impl<'a, T: ?Sized> MutexGuard<'a, T> {
    /// For condition variables: the location of the lock, in a check.
    pub(super) fn model(&self) -> Option<Location> {
        match self.held {
            Held::Model(location) => Some(location),
            Held::Real { .. } => None,
        }
    }

    /// For condition variables: gives the guard up without giving the lock back; with the guard of the real lock, if it is
    /// one of those.
    pub(super) fn give_up(self) -> (&'a Mutex<T>, Option<real::MutexGuard<'a, ()>>) {
        let guard = std::mem::ManuallyDrop::new(self);
        // SAFETY: `guard` is not used again and not dropped, so the part is moved out once.
        match unsafe { std::ptr::read(&guard.held) } {
            Held::Real { _guard } => (guard.mutex, Some(_guard)),
            Held::Model(_) => (guard.mutex, None),
        }
    }

    /// For condition variables: the lock has been taken again, in a check.
    pub(super) fn again(
        mutex: &'a Mutex<T>,
        lock: &Lock,
        place: &'static Caller<'static>,
    ) -> LockResult<MutexGuard<'a, T>> {
        mutex.guard(Held::Model(lock.location), lock.poisoned, place)
    }

    /// For condition variables: the lock has been taken again, outside of a check.
    pub(super) fn again_outside(
        mutex: &'a Mutex<T>,
        guard: real::MutexGuard<'a, ()>,
        place: &'static Caller<'static>,
    ) -> LockResult<MutexGuard<'a, T>> {
        mutex.guard(Held::Real { _guard: guard }, mutex.poison.get(&mutex.object), place)
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the lock is held, and the data lives as long as the lock, or in this execution.
        unsafe { &*self.data }
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above; the guard is borrowed alone.
        unsafe { &mut *self.data }
    }
}

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        let poisons = !self.panicking && std::thread::panicking();
        match self.held {
            Held::Model(location) => operate(&mut Unlock { location, poisons }, self.place),
            Held::Real { .. } if poisons => self.mutex.poison.set_outside(true),
            Held::Real { .. } => {}
        }
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T> From<T> for Mutex<T> {
    #[track_caller]
    fn from(value: T) -> Mutex<T> {
        Mutex::new(value)
    }
}

impl<T: Default> Default for Mutex<T> {
    #[track_caller]
    fn default() -> Mutex<T> {
        Mutex::new(T::default())
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Mutex<T> {
    #[track_caller]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Mutex");
        match self.try_lock() {
            Ok(guard) => debug.field("data", &&*guard),
            Err(TryLockError::Poisoned(poisoned)) => debug.field("data", &&**poisoned.get_ref()),
            Err(TryLockError::WouldBlock) => debug.field("data", &format_args!("<locked>")),
        };
        debug.finish_non_exhaustive()
    }
}
