//! What waits: locks for readers and writers, condition variables, barriers, and what is initialised once.
//!
//! A test states the exact set of outcomes of a small program and the exact number of its Mazurkiewicz classes, worked out
//! by hand; `truth` compares what is found with brute force.

#[path = "sync/barrier.rs"]
mod barrier;
#[path = "sync/condvar.rs"]
mod condvar;
#[path = "sync/lazy.rs"]
mod lazy;
#[path = "sync/once.rs"]
mod once;
#[path = "sync/outside.rs"]
mod outside;
#[path = "sync/philosophers.rs"]
mod philosophers;
#[path = "sync/random.rs"]
mod random;
#[path = "sync/rwlock.rs"]
mod rwlock;
#[path = "sync/statics.rs"]
mod statics;
#[path = "sync/support.rs"]
mod support;
#[path = "sync/truth.rs"]
mod truth;
