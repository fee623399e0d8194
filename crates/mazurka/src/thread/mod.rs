//! As [`std::thread`].

mod local;
mod scoped;
mod spawn;

pub use local::LocalKey;
pub use scoped::{Scope, ScopedJoinHandle, scope};
pub(crate) use spawn::run_main;
pub use spawn::{Builder, JoinHandle, Result, Thread, ThreadId, current, park, park_timeout, spawn};
pub use std::thread::{AccessError, available_parallelism, panicking};

use std::time::Duration;

/// Lets others run. Within a check others may run anywhere, so it does nothing there but to tell that a loop waits.
pub fn yield_now() {
    if crate::runtime::world().is_none() {
        std::thread::yield_now();
    }
}

/// Sleeps. Time does not pass within a check: whatever others do in the meantime they may do anyway.
pub fn sleep(duration: Duration) {
    if crate::runtime::world().is_none() {
        std::thread::sleep(duration);
    }
}
