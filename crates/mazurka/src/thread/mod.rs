//! As [`std::thread`].

mod local;
pub(crate) mod park;
mod scoped;
mod spawn;

pub use local::LocalKey;
#[allow(deprecated)]
pub use park::park_timeout_ms;
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

/// Sleeps. Within a check it is no step: whatever others do in the meantime they may do anyway. But
/// [clocks](crate::time) show that time has passed.
pub fn sleep(duration: Duration) {
    match crate::runtime::in_check() {
        true => crate::time::passes(duration),
        false => std::thread::sleep(duration),
    }
}

/// As [`sleep`], with milliseconds.
#[deprecated(note = "replaced by `sleep`")]
pub fn sleep_ms(ms: u32) {
    sleep(Duration::from_millis(u64::from(ms)));
}
