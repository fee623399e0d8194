//! What runs compiled programs: threads as coroutines on one thread of the operating system, over the program's own memory.
//!
//! The compiler announces accesses of memory (`-fsanitize=thread`), and calls of the C library that matter are bound to
//! functions of ours ([`stubs`]). A thread runs until it comes to something that others can notice, leaves word of it and
//! suspends itself ([`arrive`]). The scheduler ([`run`]) takes the step when the search says so and resumes the thread,
//! which runs on to its next operation. What is unsafe is in the modules that say so, each with its invariants.

mod access;
mod arrive;
mod atomic;
mod attributes;
mod barrier;
mod blocks;
mod bounds;
mod choice;
mod condition;
mod exit;
mod explain;
mod frames;
mod futex;
mod hang;
mod heap;
mod image;
mod indices;
mod leaks;
mod lifetime;
mod limits;
mod locks;
mod memory;
mod mutex;
mod naming;
mod objects;
mod once;
mod operation;
mod options;
mod races;
mod registry;
mod run;
mod script;
mod selfcheck;
mod semaphore;
mod shadow;
mod signals;
mod snapshot;
mod spin;
mod stdio;
mod stops;
mod stubs;
mod symbolizer;
mod thread;
mod threads;
mod time;
mod tls;
mod user;
mod world;
mod zones;

pub use leaks::Leak;
pub use options::{Built, MainExits, Native, Options, Races, Statuses, load};
pub use run::NativeRun;
pub use stubs::{names, stub_assembly};
pub use symbolizer::{Frame, Spot, Symbolizer};

use user::{caller, object_at, operate_on, store};

/// All functions of ours, in the order of the table.
fn interposed() -> Vec<stubs::Stub> {
    let mut list = Vec::new();
    access::interposed(&mut list);
    atomic::interposed(&mut list);
    heap::interposed(&mut list);
    exit::interposed(&mut list);
    tls::interposed(&mut list);
    threads::interposed(&mut list);
    mutex::interposed(&mut list);
    condition::interposed(&mut list);
    locks::interposed(&mut list);
    semaphore::interposed(&mut list);
    futex::interposed(&mut list);
    barrier::interposed(&mut list);
    once::interposed(&mut list);
    attributes::interposed(&mut list);
    choice::interposed(&mut list);
    blocks::interposed(&mut list);
    indices::interposed(&mut list);
    stdio::interposed(&mut list);
    time::interposed(&mut list);
    list
}
