//! Random programs, and the laws that every algorithm obeys on each of them.
//!
//! A program is run by brute force and under every algorithm, in several orders; [`check`] says which law is broken, if
//! any. Programs come from [`generate`] (fresh) and [`mutate`] (mutants of a corpus of programs that broke something
//! once); what breaks a law is made small by [`shrink`]. [`abs_text`] is for texts of ABS, right ones and wrong ones. [`closures`] acts programs out in Rust, over the library.

pub mod abs_text;
mod abs_well_formed;
pub mod closures;
pub mod corpus;
pub mod diamonds;
pub mod fuzz;
pub mod generate;
mod laws;
pub mod mutate;
pub mod random;
pub mod repairs;
pub mod shrink;
mod visit;
mod writer;

pub use laws::{Broken, Checked, Subject, check};
