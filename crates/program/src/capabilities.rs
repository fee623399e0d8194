//! What a run may be able to do besides: an algorithm that needs one of these is refused a run that has it
//! not.

use crate::{Access, Location, ProcessId};

/// The state of a run in a canonical form: equal exactly if the states are equal up to renaming of processes.
///
/// It covers shared memory, locks, mailboxes and, of every process, where it is and its local variables. The
/// part `local` leaves out shared memory that no process will hold as its own: it is what the processes know.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct State {
    /// Shared memory: variables.
    pub shared: Vec<i64>,
    /// What the processes know: program counters, local variables, locks held, mailboxes.
    pub local: Vec<i64>,
}

/// A run whose states can be compared up to renaming of processes.
pub trait States {
    /// The present state.
    fn state(&self) -> State;

    /// States with their names, if the front end has them.
    fn named(&self) -> Option<&dyn NamedStates> {
        None
    }
}

/// A run whose states can be compared with their names, in the midst of an execution.
pub trait NamedStates {
    /// Makes the list that of the present state: processes and locations are told by their numbers, and so is
    /// whatever decides the names of processes and locations to come. Where two lists are equal, every
    /// continuation of the one run is a continuation of the other, with the same processes, labels and
    /// outcomes; and the [states](States::state) are equal.
    fn named_state(&self, list: &mut Vec<i64>);

    /// Writes what the last step of a process left behind, as a list of numbers: what the process knows now,
    /// and the values of the locations that these accesses write. Says whether the front end can tell. Only
    /// algorithms as published ask.
    fn effect(&self, _process: ProcessId, _accesses: &[Access], _list: &mut Vec<i64>) -> bool {
        false
    }
}

/// A run that can tell which messages its receives would take, which classes modulo observers depend on.
pub trait Receives {
    /// Whether the receive at one position would have taken the message sent at another, had that message
    /// been the only one in the mailbox.
    fn would_take(&self, receive: usize, send: usize) -> bool;
}

/// A run that knows what its locations held: the values of accesses. Off the hot path.
pub trait Values {
    /// What a location held after the first `depth` steps, which is what the step at that position reads of
    /// it and what the step before has written; none if it holds no number (a mailbox, the end of a process).
    fn value_at(&self, location: Location, depth: usize) -> Option<i64>;
}
