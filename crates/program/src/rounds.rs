//! Rounds: that a process has come back to where it was.

use std::ops::ControlFlow;

use crate::{Location, Place, ProcessId};

/// A process is in the local state in which it was so many of its own steps before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Round {
    /// How many of its last steps lie between; never 0.
    pub steps: usize,
    /// Whether every location that these steps wrote holds, by their own writes alone, what the first of them
    /// to write it found there. What others have written since does not count.
    pub restored: bool,
}

/// A run that can tell where a process has come back to where it was.
///
/// All answers depend on the process's own steps and on what these read, and on nothing that others have done
/// besides: so they are the same in every order of independent steps.
pub trait Rounds {
    /// Of a process that has just taken a step which says so ([`crate::Label::returns`]): calls `with` for
    /// each round that it may have gone, the shortest first, until `with` breaks. `own` are the positions of
    /// its steps. A round is left out where the process has held fewer locks on the way than it holds now.
    fn rounds(&self, process: ProcessId, own: &[u32], with: &mut dyn FnMut(Round) -> ControlFlow<()>);

    /// How many times the process has been where it stands now, this time included, whatever its local state.
    fn arrivals(&self, process: ProcessId, own: &[u32]) -> usize;

    /// Where the process stands and what has changed since it was there last, for a loop that goes on and on;
    /// for people: `the loop at queue.c:12:5, in which i changes`.
    fn describe(&self, process: ProcessId, own: &[u32]) -> String;

    /// Where the process stands, if that is known.
    fn place(&self, _process: ProcessId) -> Option<Place> {
        None
    }

    /// What people call a location that steps read and write; none if they have no name for it.
    fn location_name(&self, _location: Location) -> Option<String> {
        None
    }
}
