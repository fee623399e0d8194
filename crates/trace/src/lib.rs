//! Traces: sequences of events with their happens-before order.
//!
//! * [`dependence`]: the one relation over labels from which everything else is derived;
//! * [`Trace`]: an execution that grows and shrinks at its end, with vector clocks and races kept along;
//! * [`equivalence`]: keys by which two executions can be compared.
//!
//! This crate knows nothing of algorithms. Invariant: the clocks of a [`Trace`] and the order that
//! [`equivalence::Order`] computes anew from [`dependence::between`] are the same relation; tests compare them.

pub mod dependence;
pub mod equivalence;
mod trace;

pub use dependence::Dependence;
pub use trace::{Race, Trace};
