//! A lock for one writer or many readers, as [`std::sync::RwLock`].
//!
//! A reader waits for nothing but a writer that holds the lock: one that merely waits does not keep readers
//! out. Where the operating system prefers writers, a thread that reads twice at once may wait for itself,
//! with a writer in between; that deadlock is not found here.
#![allow(unsafe_code)]

use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync as real;
use std::sync::{LockResult, TryLockResult};

use super::guard::{Guard, RwLockReadGuard, RwLockWriteGuard};
use super::lock::{Lock, RealLock, debug_lock, downgrade, lock_type};

/// As [`std::sync::RwLock`]: poisoned by a panic of its writer.
///
/// Waiting writers do not keep readers out.
pub struct RwLock<T: ?Sized> {
    lock: Lock<real::RwLock<()>, T>,
}

// SAFETY: the data is reached by one writer or by many readers at a time.
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLock<T> {}

lock_type!(RwLock);

impl<T: ?Sized> RwLock<T> {
    /// Takes the lock for reading, and waits while somebody writes; an error if a writer panicked.
    #[track_caller]
    pub fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        self.lock.acquire(real::RwLock::read)
    }

    /// Takes the lock for writing, and waits until it is free; an error if a writer panicked.
    #[track_caller]
    pub fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        self.lock.acquire(real::RwLock::write)
    }

    /// Takes the lock for reading; an error if somebody writes, or if a writer panicked.
    #[track_caller]
    pub fn try_read(&self) -> TryLockResult<RwLockReadGuard<'_, T>> {
        self.lock.try_acquire(real::RwLock::try_read)
    }

    /// Takes the lock for writing; an error if it is not free, or if a writer panicked.
    #[track_caller]
    pub fn try_write(&self) -> TryLockResult<RwLockWriteGuard<'_, T>> {
        self.lock.try_acquire(real::RwLock::try_write)
    }
}

impl<'a, T: ?Sized> RwLockWriteGuard<'a, T> {
    /// Goes on as a reader, without a moment in which nobody holds the lock.
    pub fn downgrade(guard: RwLockWriteGuard<'a, T>) -> RwLockReadGuard<'a, T> {
        if let Some(location) = guard.held.model() {
            // The guard stays until it is a reader, for the case that it never is: the execution may end
            // here.
            downgrade(location, guard.held.place());
        }
        RwLockReadGuard::new(guard.held.convert(real::RwLockWriteGuard::downgrade))
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLock<T> {
    #[track_caller]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        debug_lock(&mut f.debug_struct("RwLock"), &self.try_read(), || self.is_poisoned())
    }
}
