//! Random programs, and the laws that every algorithm obeys on each of them.
//!
//! A program is run by brute force and under every algorithm, in several orders; [`check`] says which law is
//! broken, if any. Programs come from [`generate`] (fresh; some by `conditional`, of steps that read and
//! write conditionally) and [`mutate`] (mutants of a corpus of programs that broke something once); what
//! breaks a law is made small by [`shrink`]. A [`campaign`] draws and checks many, of each [`FuzzTarget`]:
//! [`maz`] has the programs themselves, [`closures`] acts them out in Rust, over the library, [`native`]
//! turns them into C ([`native_loops`]: those with loops), [`loops`] has programs that may run for ever (`cyclic`), [`abs`] is about ABS programs, and [`abs_text`] about texts that may be none.
//! [`diamonds`] looks at labels themselves, [`commuting`] at constraints.

pub mod abs;
pub mod abs_text;
mod abs_well_formed;
mod behaviour;
pub mod campaign;
pub mod closures;
pub mod commuting;
mod conditional;
pub mod corpus;
mod cyclic;
mod data_centric;
pub mod diamonds;
pub mod generate;
mod laws;
pub mod loops;
pub mod maz;
pub mod mutate;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub mod native;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub mod native_loops;
mod observers;
pub mod random;
mod reads_from;
pub mod repairs;
mod replay;
mod sharing;
pub mod shrink;
pub mod trees;
mod visit;
mod writer;

pub use campaign::{Broken, Campaign, Checked, FuzzTarget};
pub use laws::{Build, OneAlgorithm, check, check_one};
