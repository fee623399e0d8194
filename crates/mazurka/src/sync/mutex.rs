//! A lock, as [`std::sync::Mutex`].
#![allow(unsafe_code)]

use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync as real;
use std::sync::{LockResult, TryLockResult};

use super::guard::MutexGuard;
use super::lock::{Lock, RealLock, debug_lock, lock_type};

/// As [`std::sync::Mutex`]: poisoned by a panic of its holder.
pub struct Mutex<T: ?Sized> {
    lock: Lock<real::Mutex<()>, T>,
}

// SAFETY: the data is reached by one thread at a time: the holder of the lock.
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}

lock_type!(Mutex);

impl<T: ?Sized> Mutex<T> {
    /// Takes the lock, and waits until it is free; an error if a holder panicked.
    #[track_caller]
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        self.lock.acquire(real::Mutex::lock)
    }

    /// Takes the lock; an error if it is not free, or if a holder panicked.
    #[track_caller]
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        self.lock.try_acquire(real::Mutex::try_lock)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Mutex<T> {
    #[track_caller]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        debug_lock(&mut f.debug_struct("Mutex"), &self.try_lock(), || self.is_poisoned())
    }
}
