//! What runs compiled programs: threads as coroutines on one thread of the operating system, over the
//! program's own memory.
//!
//! The compiler announces accesses of memory (`-fsanitize=thread`), and calls of the C library that matter
//! are bound to functions of ours (`system::stubs`). A thread runs until it comes to something that others
//! can notice, leaves word of it and suspends itself (`threads::arrive`). The scheduler (`threads::run`)
//! takes the step when the search says so and resumes the thread, which runs on to its next operation. What
//! is unsafe is in the modules that say so, each with its invariants.

mod memory;
mod options;
mod report;
mod sync;
mod system;
mod threads;

pub use memory::leaks::Leak;
pub use options::{Built, MainExits, Native, Options, Races, Statuses, load};
pub use system::stubs::stub_assembly;
pub use threads::knowledge::TakenUp;
pub use threads::run::NativeRun;

/// All functions of ours, in the order of the table.
fn interposed() -> Vec<system::stubs::Stub> {
    let mut list = Vec::new();
    memory::access::interposed(&mut list);
    sync::atomic::interposed(&mut list);
    sync::assembly::interposed(&mut list);
    sync::wide::interposed(&mut list);
    memory::heap::interposed(&mut list);
    system::exit::interposed(&mut list);
    memory::tls::interposed(&mut list);
    sync::threads::interposed(&mut list);
    sync::mutex::interposed(&mut list);
    sync::several::interposed(&mut list);
    sync::condition::interposed(&mut list);
    sync::locks::interposed(&mut list);
    sync::semaphore::interposed(&mut list);
    sync::futex::interposed(&mut list);
    sync::barrier::interposed(&mut list);
    sync::once::interposed(&mut list);
    sync::attributes::interposed(&mut list);
    system::choice::interposed(&mut list);
    memory::copies::interposed(&mut list);
    memory::indices::interposed(&mut list);
    system::stdio::interposed(&mut list);
    system::time::interposed(&mut list);
    list
}
