//! As [`std::sync`].

mod arc;
pub mod atomic;
mod barrier;
mod condvar;
mod guard;
mod lazy;
mod lock;
pub mod mpsc;
mod mutex;
mod once;
mod rwlock;

pub use arc::{Arc, Weak};
pub use barrier::*;
pub use condvar::*;
pub use guard::{MutexGuard, RwLockReadGuard, RwLockWriteGuard};
pub use lazy::*;
pub use mutex::Mutex;
pub use once::*;
pub use rwlock::RwLock;
pub use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};
