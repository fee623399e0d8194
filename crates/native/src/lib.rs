//! C and C++ programs, compiled and run under every interleaving that matters.
//!
//! [`driver`] compiles a program, with its accesses of memory announced, and links it with a stub that binds
//! the calls which matter to the runtime. [`runtime`] loads the object and runs it: its threads are
//! coroutines on one thread of the operating system, over its own memory, which is put back before each
//! execution. [`symbols`] tells names and places.
//!
//! Memory is sequentially consistent, and a data race is a failure unless one asks otherwise. Time is a
//! modelled clock, and a wait that may time out does so whenever it can. A choice of the environment is tried
//! in all its outcomes (`mazurka_choose`, `__VERIFIER_nondet_bool`).
//!
//! What is not there: weak memory; cancellation, the sending of signals, processes, files and sockets, which
//! are refused by name where they are called, as are read-write locks that prefer writers and `pthread_exit`
//! in C++; spurious wake-ups of condition variables. What `printf` reads through `%s` is not announced. A spin
//! loop is recognised if it changes nothing but its own stack, and comes to be as it was there; one with a
//! counter goes on until the limit of depth.

pub mod driver;
pub mod isolation;
mod libraries;
pub mod runtime;
pub mod symbols;

pub use libraries::libraries;
