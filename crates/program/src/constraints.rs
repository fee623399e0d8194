//! When steps commute: what a run may know of blocks that are pending, from a description of its code.

use crate::{Location, ProcessId};

/// How the pending steps of two enabled or waiting processes commute, as far as constraints tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Commutes {
    /// In every state: the pair may be taken out of the dependence relation.
    Always,
    /// In the present state, by a constraint that holds in it.
    Here,
    /// Nothing is known.
    Unknown,
}

/// How alike the ends of both orders of two steps are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Alike {
    /// Nothing is known.
    Unknown,
    /// They are the same but for names: what the one step creates in the one order, the other may create in the
    /// other.
    Renamed,
    /// They are the same.
    Same,
}

/// A run that knows conditions under which the steps of its processes commute.
pub trait Constraints {
    /// Names the code and the arguments of the step that a process has pending, so that equal names are equal
    /// blocks: constraints are about blocks, not processes. None if nothing is known of it.
    fn block(&mut self, process: ProcessId) -> Option<u32>;

    /// Whether two blocks, both pending, commute.
    fn commute(&mut self, first: u32, second: u32) -> Commutes;

    /// Whether two blocks commute in the present state and in all that can be reached from it by steps of
    /// others than `without` (the process of the first block): some constraint of theirs holds now whose
    /// variables are written by nothing that these others can still do, whatever they call, create or enable.
    fn commute_uniformly(&mut self, first: u32, second: u32, without: ProcessId) -> bool;

    /// How alike both orders of two blocks end in the present state, and in every other one that differs from it
    /// only in locations of which `changes` says yes. Neither enables nor disables the other then.
    fn commute_unless(
        &mut self,
        _first: u32,
        _second: u32,
        _changes: &mut dyn FnMut(Location) -> bool,
    ) -> Alike {
        Alike::Unknown
    }

    /// Whether no process runs a block twice.
    fn is_once(&self, _block: u32) -> bool {
        false
    }

    /// As [`Constraints::commute_uniformly`], up to renaming, of two blocks that are both pending, and without what
    /// either of the two processes does: what CAV'18 asks (definition 4). The default counts what the second one
    /// does too, and so says no more often than it has to.
    fn commute_beside(&mut self, first: u32, second: u32, processes: [ProcessId; 2]) -> bool {
        self.commute_uniformly(first, second, processes[0])
    }
}
