//! Mazurka checks concurrent Rust by running it under every interleaving that matters, once.
//!
//! Write an ordinary test with `mazurka::sync` and `mazurka::thread` in place of `std`'s, and mark it
//! `#[mazurka::test]`:
//!
//! ```
//! use mazurka::sync::Arc;
//! use mazurka::sync::atomic::{AtomicUsize, Ordering};
//! use mazurka::thread;
//!
//! let report = mazurka::Checker::new().run(|| {
//!     let counter = Arc::new(AtomicUsize::new(0));
//!     let other = counter.clone();
//!     let worker = thread::spawn(move || {
//!         let value = other.load(Ordering::SeqCst);
//!         other.store(value + 1, Ordering::SeqCst);
//!     });
//!     let value = counter.load(Ordering::SeqCst);
//!     counter.store(value + 1, Ordering::SeqCst);
//!     worker.join().unwrap();
//!     assert_eq!(counter.load(Ordering::SeqCst), 2, "an increment was lost");
//! });
//! // It can be lost, and the report shows how:
//! assert!(!report.is_pass());
//! assert!(report.text().contains("an increment was lost"));
//! ```
//! ```text
//! assertion `left == right` failed: an increment was lost
//!     left: 1
//!    right: 2
//!   step  line  main              worker
//!      1     8  spawn worker
//!      2    12  counter.load()                      reads counter=0 (initial)
//!      3     9                    counter.load()    reads counter=0 (initial)
//!      4    10                    counter.store(1)  writes counter=1
//!      5    13  counter.store(1)                    writes counter=1
//!      6    14  join worker
//! >    7    15  counter.load()                      reads counter=1 from step 5
//! ```
//!
//! # What is checked
//! Every execution, up to equivalence: two executions are one if they differ only in the order of steps that
//! do not touch the same thing. A check passes if none fails and all were looked at. A failure is a panic
//! that nobody is told of, a deadlock, a livelock, a data race on a [`cell::UnsafeCell`], and what else the
//! reference lists. Memory is sequentially consistent, whatever [`Ordering`](sync::atomic::Ordering)s are
//! named; these count for data races. The report says so.
//!
//! Outside of a check all types behave as `std`'s do, so there is nothing to switch by `--cfg`.
//!
//! # What a closure must keep to
//! * It does the same each time it is started, but for scheduling: no time but that of [`time::Instant`], no
//!   random numbers, nothing left behind by an earlier execution. [`choose`] gives numbers that are tried one
//!   and all. What is not repeated is reported.
//! * Modelled objects are made within it, or are statics: these begin anew in each execution.
//! * Threads wait for each other by modelled operations only. A lock of `std` that is held over a modelled
//!   operation, and wanted by another modelled thread, hangs; that is reported. Thread-local variables of
//!   `std` are shared by all modelled threads, which run on one thread of the operating system: use
//!   [`thread_local!`].
//!
//! # Loops that wait
//! A thread that comes to an operation in the very state in which it was there before, having read the same
//! and changed nothing, waits until something that it read changes. No annotation is needed, and a loop with
//! a counter is none of these. The state is the thread's stack and registers: a loop that counts on the heap
//! must do so with an atomic. Where nobody is left to make the change, it is a livelock.

mod atomic;
pub mod cell;
mod choose;
pub mod future;
pub mod hint;
pub mod mailbox;
pub mod sync;
pub mod task;
pub mod thread;
pub mod time;

mod checker;
mod origin;
mod runtime;
mod source;
mod step;

pub use atomic::{Block, atomic};
pub use checker::*;
pub use choose::*;
pub use runtime::allocator::Allocator;

/// The engine's view of closures, for those who test the library with brute force.
#[doc(hidden)]
pub mod engine {
    use mazurka_program::{Explain, Program};
    use std::sync::Arc;

    /// A closure as a program.
    pub fn program(
        settings: &crate::Checker,
        body: impl Fn() + Send + Sync + 'static,
    ) -> impl Program<Run = impl Explain> {
        crate::runtime::install_hook();
        crate::runtime::run::Closure::new(Arc::new(body), settings.settings())
    }
}
