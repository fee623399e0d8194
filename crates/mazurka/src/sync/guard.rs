//! Guards of locks: the right to the data of a lock, which ends when the guard is dropped.
#![allow(unsafe_code)]

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync as real;
use std::sync::atomic::{AtomicBool, Ordering};

use mazurka_program::Location;

use super::lock::{Mode, Release};
use crate::runtime::operate;
use crate::step::CallSite;

/// What gives the right to the data of a lock. `R` is a guard of the standard library's.
pub(super) enum Right<R> {
    /// In a check: the location of the lock.
    Model(Location),
    /// Outside of a check.
    Real(R),
    /// The lock has been given back.
    None,
}

/// What every guard is: the right to the data, given back when it is dropped.
pub(super) struct Held<'a, T: ?Sized, R: RealGuard> {
    data: *const T,
    right: Right<R>,
    /// The poison of the lock outside of a check.
    poison: &'a AtomicBool,
    /// Whether the thread panicked already when it took the lock.
    panicking: bool,
    place: CallSite,
}

impl<'a, T: ?Sized, R: RealGuard> Held<'a, T, R> {
    pub(super) fn new(
        data: *mut T,
        right: Right<R>,
        poison: &'a AtomicBool,
        place: CallSite,
    ) -> Held<'a, T, R> {
        Held { data, right, poison, panicking: std::thread::panicking(), place }
    }

    /// In a check: the location of the lock.
    pub(super) fn model(&self) -> Option<Location> {
        match self.right {
            Right::Model(location) => Some(location),
            Right::Real(_) | Right::None => None,
        }
    }

    /// Where the lock was taken.
    pub(super) fn place(&self) -> CallSite {
        self.place
    }

    /// Whether the lock is poisoned outside of a check.
    pub(super) fn has_poison_outside(&self) -> bool {
        self.poison.load(Ordering::Relaxed)
    }

    /// Takes the right away: to drop the guard does not give the lock back any more.
    pub(super) fn take_right(&mut self) -> Right<R> {
        std::mem::replace(&mut self.right, Right::None)
    }

    /// The lock has been taken again, there.
    pub(super) fn regain(&mut self, right: Right<R>, place: CallSite) {
        (self.right, self.panicking, self.place) = (right, std::thread::panicking(), place);
    }

    /// A guard of the same data by another right.
    pub(super) fn convert<S: RealGuard>(mut self, right: impl FnOnce(R) -> S) -> Held<'a, T, S> {
        let right = match self.take_right() {
            Right::Model(location) => Right::Model(location),
            Right::Real(real) => Right::Real(right(real)),
            Right::None => Right::None,
        };
        let Held { data, poison, panicking, place, .. } = self;
        Held { data, right, poison, panicking, place }
    }
}

impl<T: ?Sized, R: RealGuard> Drop for Held<'_, T, R> {
    fn drop(&mut self) {
        let poisons = R::MODE != Mode::Read && !self.panicking && std::thread::panicking();
        match self.right {
            Right::Model(location) => operate(&mut Release::<R>::new(location, poisons), self.place),
            Right::Real(_) if poisons => self.poison.store(true, Ordering::Relaxed),
            Right::Real(_) | Right::None => {}
        }
    }
}

/// A guard of the standard library's.
pub(super) trait RealGuard {
    /// How its lock is taken.
    const MODE: Mode;
}

/// A guard of the library's.
pub(super) trait Guard<'a, T: ?Sized> {
    /// That of the standard library.
    type Real: RealGuard;
    fn new(held: Held<'a, T, Self::Real>) -> Self;
}

macro_rules! guards {
    ($($(#[$attribute:meta])* $name:ident: $mode:ident, $variance:ty;)*) => {$(
        $(#[$attribute])*
        pub struct $name<'a, T: ?Sized + 'a> {
            pub(super) held: Held<'a, T, real::$name<'a, ()>>,
            variance: PhantomData<$variance>,
        }

        // SAFETY: a shared guard gives shared access to the data only.
        unsafe impl<T: ?Sized + Sync> Sync for $name<'_, T> {}

        impl RealGuard for real::$name<'_, ()> {
            const MODE: Mode = Mode::$mode;
        }

        impl<'a, T: ?Sized> Guard<'a, T> for $name<'a, T> {
            type Real = real::$name<'a, ()>;

            fn new(held: Held<'a, T, Self::Real>) -> Self {
                $name { held, variance: PhantomData }
            }
        }

        impl<T: ?Sized> Deref for $name<'_, T> {
            type Target = T;

            fn deref(&self) -> &T {
                // SAFETY: the lock is held, and the data lives as long as the lock, or in this execution.
                unsafe { &*self.held.data }
            }
        }

        impl<T: ?Sized + fmt::Debug> fmt::Debug for $name<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                (**self).fmt(f)
            }
        }

        impl<T: ?Sized + fmt::Display> fmt::Display for $name<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                (**self).fmt(f)
            }
        }
    )*};
}

guards! {
    /// Holds a [`Mutex`](super::Mutex) until it is dropped.
    #[must_use = "if unused the Mutex will immediately unlock"]
    MutexGuard: Lock, *mut T;

    /// Reads what a [`RwLock`](super::RwLock) holds until it is dropped.
    #[must_use = "if unused the RwLock will immediately unlock"]
    #[clippy::has_significant_drop]
    RwLockReadGuard: Read, *const T;

    /// Reads and writes what a [`RwLock`](super::RwLock) holds until it is dropped.
    #[must_use = "if unused the RwLock will immediately unlock"]
    #[clippy::has_significant_drop]
    RwLockWriteGuard: Write, *mut T;
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the lock is held by nobody else, and the guard is borrowed alone.
        unsafe { &mut *self.held.data.cast_mut() }
    }
}

impl<T: ?Sized> DerefMut for RwLockWriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above.
        unsafe { &mut *self.held.data.cast_mut() }
    }
}
