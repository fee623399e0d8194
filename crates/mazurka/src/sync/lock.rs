//! What [`Mutex`](super::Mutex) and [`RwLock`](super::RwLock) are made of: a value, the lock around it, and
//! its poison.
//!
//! A lock is one location. Its cell holds 0 if the lock is free, the number of its readers, or [`EXCLUSIVE`]
//! plus the number of the process that has it to itself. Every step that takes or releases the lock updates
//! the cell, so that readers of different threads count as dependent: orders of theirs that differ in nothing
//! else are explored one by one. That is coarse, and sound.
//!
//! Poison is given by the step that releases the lock, so it is part of what the location stands for. A check
//! keeps its own, so that a static begins anew in each execution.
#![allow(unsafe_code)]

use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;
use std::panic::Location as Caller;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};

use mazurka_program::{AccessKind, Location, ProcessId};

use super::guard::{Guard, Held, RealGuard, Right};
use crate::runtime::identity::Object;
use crate::runtime::operation::{CurrentStep, Operation, Wait};
use crate::runtime::statics::Home;
use crate::runtime::{Runtime, Whole, operate, with_runtime};
use crate::step::{CallSite, call, take_step, take_told_step, verb};
use mazurka_threads::values::Until;

/// A lock around a value. `R` is the lock of the standard library that is taken outside of a check.
pub(super) struct Lock<R, T: ?Sized> {
    object: Object,
    real: R,
    /// The poison outside of a check.
    poison: AtomicBool,
    home: Home,
    data: UnsafeCell<T>,
}

/// A lock of the standard library's.
pub(super) trait RealLock {
    /// What people call it.
    const KIND: &'static str;
}

/// The cell of a lock that a process has to itself holds this plus the number of the process.
const EXCLUSIVE: u64 = 1 << 32;

/// Whether a process has a lock to itself, given what its cell holds.
fn is_held_by(held: u64, process: ProcessId) -> bool {
    held == EXCLUSIVE + u64::from(process.0)
}

/// How a lock is taken: a mutex, or a lock for readers and writers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Lock,
    Read,
    Write,
}

impl Mode {
    /// What the cell must hold.
    fn until(self) -> Until {
        match self {
            Mode::Read => Until::Below(EXCLUSIVE),
            Mode::Lock | Mode::Write => Until::Is(0),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Mode::Lock => "lock",
            Mode::Read => "read",
            Mode::Write => "write",
        }
    }
}

/// What readers release, to writers only: in [`release`](Step::release) of the location itself is what
/// writers do.
const BY_READERS: u32 = 1;

/// Takes the lock; waits until it can, or tries to.
pub(super) struct Acquire<R> {
    location: Location,
    tries: bool,
    acquired: bool,
    pub(super) poisoned: bool,
    real: PhantomData<R>,
}

impl<R: RealGuard> Acquire<R> {
    pub(super) fn new(location: Location) -> Acquire<R> {
        Acquire { location, tries: false, acquired: false, poisoned: false, real: PhantomData }
    }

    /// The step has the lock.
    fn take(&mut self, step: &mut CurrentStep<'_>) {
        self.acquired = true;
        let taken = match R::MODE {
            Mode::Read => step.peek(self.location) + 1,
            Mode::Lock | Mode::Write => EXCLUSIVE + u64::from(step.process.0),
        };
        step.set(self.location, taken);
        step.acquire(self.location);
        if R::MODE == Mode::Write {
            step.acquire_part(self.location, BY_READERS);
        }
        step.acquired(self.location);
        self.poisoned = step.runtime.is_poisoned(self.location);
    }
}

impl<R: RealGuard> Operation for Acquire<R> {
    fn wait(&self) -> Wait {
        match self.tries {
            true => Wait::Nothing,
            false => Wait::Guard { location: self.location, until: R::MODE.until() },
        }
    }

    fn is_plain(&self) -> bool {
        self.tries
    }

    fn is_told(&self) -> bool {
        true
    }

    fn perform(&mut self, step: &mut CurrentStep<'_>) {
        // A failed attempt counts as an access of the same kind, so that the label does not vary.
        step.touch(self.location, AccessKind::Update);
        if !self.tries || R::MODE.until().holds(step.peek(self.location)) {
            self.take(step);
        } else {
            step.note(|| "would block".to_owned());
        }
    }

    fn describe(&self, runtime: &Runtime) -> String {
        let attempt = if self.tries { "try_" } else { "" };
        format!("{}.{attempt}{}()", runtime.name_of_location(self.location), R::MODE.name())
    }

    fn waits_for(&self, runtime: &Runtime) -> (String, Vec<ProcessId>) {
        let name = runtime.name_of_location(self.location);
        let holders = holders(runtime, self.location);
        let held: Vec<String> = holders.iter().map(|&p| runtime.held_since(self.location, p)).collect();
        let comma = if held.is_empty() { "" } else { ", " };
        (format!("`{name}`{comma}{}", held.join(" and ")), holders)
    }
}

/// Who holds a lock, as far as it was noted for people.
fn holders(runtime: &Runtime, location: Location) -> Vec<ProcessId> {
    if let Some(writer) = runtime.value(location).checked_sub(EXCLUSIVE) {
        return vec![ProcessId(writer as u32)];
    }
    let mut holders = Vec::new();
    for &(_, process, _) in runtime.execution.acquired.iter().filter(|taken| taken.0 == location) {
        if !holders.contains(&process) {
            holders.push(process);
        }
    }
    holders
}

/// Releases the lock, and poisons it if its holder panics.
pub(super) struct Release<R> {
    location: Location,
    poisons: bool,
    real: PhantomData<R>,
}

impl<R: RealGuard> Release<R> {
    pub(super) fn new(location: Location, poisons: bool) -> Release<R> {
        Release { location, poisons, real: PhantomData }
    }
}

impl<R: RealGuard> Operation for Release<R> {
    fn is_told(&self) -> bool {
        !self.poisons
    }

    fn perform(&mut self, step: &mut CurrentStep<'_>) {
        let location = self.location;
        step.touch(location, AccessKind::Update);
        step.released();
        match R::MODE {
            Mode::Read => {
                // A destructor must not panic, whatever an abandoned execution left here.
                let left = step.peek(location).saturating_sub(1);
                step.set(location, left);
                step.release_part(location, BY_READERS);
            }
            Mode::Lock | Mode::Write => {
                step.set(location, 0);
                step.release(location);
            }
        }
        if self.poisons {
            step.runtime.set_poisoned(location, true);
            step.note(|| "and poison it".to_owned());
        }
        // Of who has a lock to himself the cell tells; readers are known by this list alone.
        if R::MODE != Mode::Lock {
            let acquired = &mut step.runtime.execution.acquired;
            let own =
                |taken: &(Location, ProcessId, CallSite)| (taken.0, taken.1) == (location, step.process);
            if let Some(at) = acquired.iter().rposition(own) {
                acquired.remove(at);
            }
        }
    }

    fn describe(&self, runtime: &Runtime) -> String {
        format!("unlock {}", runtime.name_of_location(self.location))
    }
}

/// Makes the writer a reader.
pub(super) fn downgrade(location: Location, place: CallSite) {
    take_told_step(place, verb("downgrade", location), |step| {
        step.touch(location, AccessKind::Update);
        step.set(location, 1);
        step.release(location);
    });
}

/// What a lock gives, as an error if it is poisoned.
pub(super) fn poisoned_if<G>(poisoned: bool, guard: G) -> LockResult<G> {
    if poisoned { Err(PoisonError::new(guard)) } else { Ok(guard) }
}

impl<R: RealLock, T> Lock<R, T> {
    #[inline]
    #[track_caller]
    pub(super) const fn new(real: R, value: T) -> Lock<R, T> {
        Lock {
            object: Object::new(),
            real,
            poison: AtomicBool::new(false),
            home: Home::new(),
            data: UnsafeCell::new(value),
        }
    }

    pub(super) fn into_inner(self) -> LockResult<T> {
        poisoned_if(self.has_poison(), self.data.into_inner())
    }
}

impl<R: RealLock, T: ?Sized> Lock<R, T> {
    #[inline(never)]
    fn location(&self) -> Option<Location> {
        with_runtime(|runtime| runtime.locate(&self.object, || Whole::lock(self, is_held_by), R::KIND, || 0))
    }

    /// Takes the lock; waits until it can, outside of a check by `real`.
    #[inline]
    #[track_caller]
    pub(super) fn acquire<'a, G: Guard<'a, T>>(
        &'a self,
        real: impl FnOnce(&'a R) -> LockResult<G::Real>,
    ) -> LockResult<G> {
        let place = Caller::caller();
        match self.location() {
            Some(location) => {
                let mut acquire = Acquire::<G::Real>::new(location);
                operate(&mut acquire, place);
                self.guard(Right::Model(location), acquire.poisoned, place)
            }
            None => {
                self.object.use_outside();
                let real = real(&self.real).unwrap_or_else(PoisonError::into_inner);
                self.guard(Right::Real(real), self.has_poison(), place)
            }
        }
    }

    /// Takes the lock if it can, outside of a check by `real`.
    #[inline]
    #[track_caller]
    pub(super) fn try_acquire<'a, G: Guard<'a, T>>(
        &'a self,
        real: impl FnOnce(&'a R) -> TryLockResult<G::Real>,
    ) -> TryLockResult<G> {
        let place = Caller::caller();
        let Some(location) = self.location() else {
            self.object.use_outside();
            let real = match real(&self.real) {
                Ok(real) => real,
                // The real lock guards no data; its poison means nothing.
                Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
                Err(TryLockError::WouldBlock) => return Err(TryLockError::WouldBlock),
            };
            return Ok(self.guard(Right::Real(real), self.has_poison(), place)?);
        };
        let mut attempt = Acquire::<G::Real> { tries: true, ..Acquire::new(location) };
        operate(&mut attempt, place);
        match attempt.acquired {
            true => Ok(self.guard(Right::Model(location), attempt.poisoned, place)?),
            false => Err(TryLockError::WouldBlock),
        }
    }

    fn guard<'a, G: Guard<'a, T>>(
        &'a self,
        right: Right<G::Real>,
        poisoned: bool,
        place: CallSite,
    ) -> LockResult<G> {
        let data = match right {
            Right::Model(location) => self.home.data(location, self.data.get()),
            Right::Real(_) | Right::None => self.home.outside(self.data.get()),
        };
        poisoned_if(poisoned, G::new(Held::new(data, right, &self.poison, place)))
    }

    #[track_caller]
    pub(super) fn is_poisoned(&self) -> bool {
        let Some(location) = self.location() else { return self.has_poison() };
        let poisoned = take_step(Caller::caller(), call(location, "is_poisoned"), |step| {
            step.touch(location, AccessKind::Read);
            step.runtime.is_poisoned(location)
        });
        poisoned.unwrap_or(false)
    }

    #[track_caller]
    pub(super) fn clear_poison(&self) {
        let Some(location) = self.location() else { return self.poison.store(false, Ordering::Relaxed) };
        take_step(Caller::caller(), call(location, "clear_poison"), |step| {
            step.touch(location, AccessKind::Update);
            step.runtime.set_poisoned(location, false);
        });
    }

    pub(super) fn get_mut(&mut self) -> LockResult<&mut T> {
        poisoned_if(self.has_poison(), self.data.get_mut())
    }

    /// Whether the lock is poisoned, for who has it to himself: no step.
    pub(super) fn has_poison(&self) -> bool {
        let location = |runtime: &Runtime| self.object.location(runtime.execution.stamp);
        with_runtime(|runtime| location(runtime).is_some_and(|location| runtime.is_poisoned(location)))
            .unwrap_or_else(|| self.poison.load(Ordering::Relaxed))
    }
}

/// Shows what an attempt to take a lock found. Who does not have it has to ask whether it is poisoned.
pub(super) fn debug_lock<G: std::ops::Deref<Target: fmt::Debug>>(
    debug: &mut fmt::DebugStruct<'_, '_>,
    attempt: &TryLockResult<G>,
    is_poisoned: impl FnOnce() -> bool,
) -> fmt::Result {
    let poisoned = match attempt {
        Ok(guard) => {
            debug.field("data", &&**guard);
            false
        }
        Err(TryLockError::Poisoned(poisoned)) => {
            debug.field("data", &&**poisoned.get_ref());
            true
        }
        Err(TryLockError::WouldBlock) => {
            debug.field("data", &format_args!("<locked>"));
            is_poisoned()
        }
    };
    debug.field("poisoned", &poisoned).finish_non_exhaustive()
}

/// What the types of locks have in common: their construction, their poison, and access for their owner.
macro_rules! lock_type {
    ($name:ident) => {
        impl RealLock for real::$name<()> {
            const KIND: &'static str = stringify!($name);
        }

        impl<T: ?Sized> UnwindSafe for $name<T> {}
        impl<T: ?Sized> RefUnwindSafe for $name<T> {}

        impl<T> $name<T> {
            /// A new lock around a value.
            #[inline]
            #[track_caller]
            pub const fn new(value: T) -> $name<T> {
                $name { lock: Lock::new(real::$name::new(()), value) }
            }

            /// The value, for its last owner; an error if the lock is poisoned.
            pub fn into_inner(self) -> LockResult<T> {
                self.lock.into_inner()
            }
        }

        impl<T: ?Sized> $name<T> {
            /// Whether a holder panicked.
            #[track_caller]
            pub fn is_poisoned(&self) -> bool {
                self.lock.is_poisoned()
            }

            /// Takes the poison away.
            #[track_caller]
            pub fn clear_poison(&self) {
                self.lock.clear_poison();
            }

            /// The value, for its only owner; an error if the lock is poisoned.
            pub fn get_mut(&mut self) -> LockResult<&mut T> {
                self.lock.get_mut()
            }
        }

        impl<T> From<T> for $name<T> {
            #[track_caller]
            fn from(value: T) -> $name<T> {
                $name::new(value)
            }
        }

        impl<T: Default> Default for $name<T> {
            #[track_caller]
            fn default() -> $name<T> {
                $name::new(T::default())
            }
        }
    };
}
pub(super) use lock_type;
