//! C and C++: what the driver makes of programs, and what they do.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

mod driver;
mod runtime;
mod runtime_joint;
mod runtime_lifetimes;
mod runtime_orders;
mod runtime_primitives;
mod runtime_rounds;
mod runtime_snapshots;
mod runtime_speed;
mod runtime_steps;
mod runtime_support;
mod runtime_traps;
mod runtime_words;
