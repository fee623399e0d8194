//! Traces: sequences of events, and what is derived from them.
//!
//! * [`dependence`]: the one relation over labels from which everything else is derived;
//! * [`Trace`]: the events of an execution that grows and shrinks at its end;
//! * [`HappensBefore`]: an index over them, with vector clocks and races, for algorithms that ask for it;
//! * [`ReadsFrom`]: an index that says which write each read reads from;
//! * [`equivalence`]: keys by which two executions can be compared.
//!
//! This crate knows nothing of algorithms. Invariants, held by tests: the clocks of a [`HappensBefore`] that
//! grew and shrank with a trace and the order that [`equivalence::Order`] computes anew from
//! [`dependence::between`] are the same relation; so are a [`ReadsFrom`] and the last writes as they are
//! found by looking back.

pub mod dependence;
pub mod equivalence;
mod happens_before;
mod reads_from;
mod trace;

pub use dependence::Dependence;
pub use happens_before::{HappensBefore, Race};
pub use reads_from::{Read, ReadsFrom};
pub use trace::Trace;
