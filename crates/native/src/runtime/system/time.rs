//! Time, as far as waits of C++ have to know it.
//!
//! A wait with a timeout may time out whenever what it waits for is not there: that is a step with an outcome
//! of its own, and no clock decides it. But the C++ library tells from the clock whether a wait has timed
//! out. So each thread has a clock, which stands still until a wait of that thread times out, and then shows
//! the time until which it waited. The driver sees to it that nobody asks but functions that wait: a program
//! can't tell these clocks from real ones.
#![allow(unsafe_code)]

use super::stubs::{Passing, Stub, stubs};
use super::user::with_runtime;
use crate::runtime::memory::layout::peek;

/// What clocks show at first, in nanoseconds.
pub(crate) const BEGINNING: i64 = 1_000_000_000;

/// A wait of the running thread timed out that was until the time at an address (a `timespec`; 0 for none).
pub(crate) fn timed_out(until: usize) {
    if until == 0 {
        return;
    }
    // SAFETY: the program passed it to be read; a wild pointer faults, and the thread is thrown out.
    let (seconds, rest) = unsafe { (peek(until, 8).cast_signed(), peek(until + 8, 8).cast_signed()) };
    let time = seconds.saturating_mul(1_000_000_000).saturating_add(rest);
    with_runtime(|runtime| runtime.me().state.clock = runtime.me().state.clock.max(time));
}

/// `std::chrono::steady_clock::now()`.
extern "C-unwind" fn steady_now() -> i64 {
    with_runtime(|runtime| runtime.me().state.clock)
}

/// What programs call.
pub(crate) fn interposed(list: &mut Vec<Stub>) {
    list.extend(stubs! { Passing::Plain; "_ZNSt6chrono3_V212steady_clock3nowEv" => steady_now });
}
