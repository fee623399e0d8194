//! Runs of compiled programs.

mod behaviour;
mod errors;
mod labels;
mod laws;
mod programs;
mod random;
mod support;
