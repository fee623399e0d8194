//! What waits: locks for readers and writers, condition variables, barriers, and what is initialised once.
//!
//! A test states the exact set of outcomes of a small program and the exact number of its Mazurkiewicz
//! classes, worked out by hand; `truth` compares what is found with brute force.

mod barrier;
mod condvar;
mod lazy;
mod once;
mod outside;
mod philosophers;
mod random;
mod rwlock;
mod statics;
mod support;
mod truth;
