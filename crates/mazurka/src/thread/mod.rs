//! As [`std::thread`].

mod local;
pub(crate) mod park;
mod scoped;
mod spawn;

pub use local::LocalKey;
pub use park::{park, park_timeout};
pub use scoped::{Scope, scope};
pub use spawn::{Builder, JoinHandle, Result, ScopedJoinHandle, Thread, ThreadId, current, spawn};
pub(crate) use spawn::{report_panic_of, run_main};
pub use std::thread::{AccessError, available_parallelism, panicking};

use std::time::Duration;

/// Lets others run. Within a check others may run anywhere, so it does nothing there but to tell that a loop
/// waits.
pub fn yield_now() {
    if !crate::runtime::in_check() {
        std::thread::yield_now();
    }
}

/// Sleeps. Time does not pass within a check: whatever others do in the meantime they may do anyway.
pub fn sleep(duration: Duration) {
    if !crate::runtime::in_check() {
        std::thread::sleep(duration);
    }
}
