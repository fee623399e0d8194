//! What a checker needs of a program.
//!
//! A front end turns what it checks into a [`Program`]: something that can be started again and again and is
//! deterministic but for scheduling and for the outcomes of a step that the search enumerates. A started
//! program is a
//! [`Run`]: it says which processes are enabled, takes one step at a time, tells what the step touched as a
//! [`Label`], and goes back to any earlier point of itself ([`Run::rewind`]).
//!
//! This crate knows nothing of algorithms, traces or reports. Invariants:
//! * a [`ProcessId`] names the same process (the same place in the creation tree) in every execution of one
//!   run;
//! * a [`Location`] is the same thing in every execution of one run;
//! * the same steps with the same choices, from the start, give the same labels.

mod activation;
mod capabilities;
mod constraints;
mod explain;
mod failure;
mod follow;
mod label;
mod names;
mod portable;
mod renaming;
mod rounds;
mod run;
mod schedule;

pub use activation::{Activation, ActivationEnd, Activations, DiagramWords, Message};
pub use capabilities::{NamedStates, Receives, State, States, Values};
pub use constraints::{Alike, Commutes, Constraints};
pub use explain::{Explain, Explanation, Observed, WaitExplanation};
pub use failure::{Failure, FailureKind, Place};
pub use follow::{Divergence, DivergenceReason, follow, settled};
pub use label::{Access, AccessKind, Guard, GuardId, Label, Location};
pub use names::{Names, ProcessId, ProcessSet};
pub use portable::{LocationName, NotALocationName, PortableNames};
pub use renaming::{Origin, Renamed, Renaming, Thing};
pub use rounds::{Round, Rounds};
pub use run::{Footprints, Program, Run, Stop};
pub use schedule::{Schedule, ScheduleError, Step};
