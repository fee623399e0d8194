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
    /// Of how many of its last steps nobody else may have come between any two, for it to be a round of its
    /// own: `steps`, or more where what went before is a part of the reason (the order that a race is judged
    /// by).
    pub alone: usize,
    /// Whether it counts as a round of its own: not where only the second of two equal ones does, by that order,
    /// and this is the first.
    pub counts: bool,
}

/// A run that can tell where a process has come back to where it was.
///
/// All answers depend on the process's own steps and on what these read, and on nothing that others have done
/// besides: so they are the same in every order of independent steps.
pub trait Rounds {
    /// Of a process that has just taken a step which says so ([`crate::Label::returns`]): calls `with` for
    /// each round that it may have gone, the shortest first, until `with` breaks. `own` are the positions of
    /// its steps. A round is left out where the process has held fewer locks on the way than it holds now.
    ///
    /// Where [`Rounds::net_effect`] can be told, each round that is not restored is compared with what others
    /// did in it, which takes as long as the round: most of those that begin long ago should be left out, but
    /// at infinitely many arrivals none of those that were not left out at all.
    fn rounds(&self, process: ProcessId, own: &[u32], with: &mut dyn FnMut(Round) -> ControlFlow<()>);

    /// What steps of this execution have changed, taken together: which of their processes stand elsewhere than
    /// before the first of their steps, and where, and what holds something else, and by how much. Nothing is
    /// appended if all is as it was; and of steps that were all taken after the same ones, two sets that are
    /// told alike have led to the same state. `steps` are positions in ascending order; they are all the steps
    /// of some `[e]` that are not in a `[e']`, or all from a depth on. False if it can't be told, whatever was
    /// appended.
    ///
    /// That lets runs without [`crate::States`] have joint rounds, and have livelocks told exactly.
    fn net_effect(&self, _steps: &[u32], _effect: &mut Vec<i64>) -> bool {
        false
    }

    /// Whether what [`Rounds::net_effect`] leaves out of a state is the same after some steps as after others:
    /// the order by which data races are judged. Both are all the steps of a past, as positions in ascending
    /// order; the net effect of those that only one of them has is nothing.
    fn races_alike(&self, _earlier: &[u32], _later: &[u32]) -> bool {
        true
    }

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
