//! As [`std::sync`].

mod arc;
pub mod atomic;
mod barrier;
mod condvar;
mod lazy;
pub mod mpsc;
mod mutex;
mod once;
mod poison;
mod rwlock;

pub use arc::{Arc, Weak};
pub use barrier::*;
pub use condvar::*;
pub use lazy::*;
pub use mutex::{Mutex, MutexGuard};
pub use once::*;
pub use rwlock::*;
pub use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};
