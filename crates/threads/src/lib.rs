//! The runtime of compiled threads, as far as it does not depend on their language.
//!
//! The front ends for Rust and for C run a program's threads as coroutines on one thread of the operating
//! system. A thread runs until it comes to an operation that others can notice, parks there and is resumed
//! when the search takes its step. What both need for that is here, a module a part:
//!
//! * [`lifetime`]: state by lifetime. What an execution has begins anew with each execution, and is saved and
//!   restored as one value, so that no list of its fields is kept by hand;
//! * [`schedule`]: who is there, who can take a step, who waits, how far the execution has come;
//! * [`replay`]: what is noted of the steps taken, so that they can be taken again and compared;
//! * [`values`] and [`guards`]: what locations hold, now and after each earlier step, and what steps wait
//!   for;
//! * [`spin`]: loops that read the same over and over wait for a change;
//! * [`rounds`]: what steps changed, to see that a thread is where it was before;
//! * [`races`]: vector clocks, release and acquire, and accesses that nothing orders; [`race_log`] compares what
//!   is known of them after parts of an execution;
//! * [`waiters`] and [`sync`]: queues of those who wait to be woken, and what condition variables and
//!   barriers do.
//!
//! The front ends have what is theirs: coroutines on stacks of their own kind, memory and its names, what an
//! operation is, snapshots of memory. This crate knows nothing of the search, and nothing here is worded for
//! people.

pub mod guards;
pub mod lifetime;
pub mod race_log;
pub mod races;
pub mod replay;
pub mod rounds;
pub mod schedule;
pub mod spin;
pub mod sync;
pub mod values;
pub mod waiters;
