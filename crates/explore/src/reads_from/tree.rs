//! The tree of configurations: its nodes, and the children that are still to be explored.
//!
//! A node is on the stack as long as executions below it are run. It knows by their identities all events that were
//! found to lead from it, so that no child is explored twice; a child knows how to come to its configuration.

use std::collections::HashSet;
use std::rc::Rc;
use std::sync::Arc;

use mazurka_program::{Location, ProcessId};
use smallvec::SmallVec;

use super::count;
use super::parts::Common;
use super::past::{AsItIs, Identity};

/// A process that takes no further step, and what it waits for.
#[derive(Clone, Copy)]
pub(super) struct Frozen {
    pub process: ProcessId,
    pub location: Location,
}

/// A configuration from which the step of a process leads to several others.
pub(super) struct Node {
    pub cut: Vec<u32>,
    pub process: ProcessId,
    pub kind: NodeKind,
    pub frozen: SmallVec<[Frozen; 2]>,
    /// The events that lead from here, found so far.
    pub seen: Seen,
    /// Children that are still to be explored.
    pub children: Vec<Child>,
    /// How many children there were.
    pub known: usize,
    /// Whether executions have been examined for it.
    pub is_examined: bool,
    /// The node that it is to all parts of the search, if it is outside of the present part.
    pub common: Option<Arc<Common>>,
}

impl Node {
    /// Notes that an event leads from here; whether it was not known.
    pub fn is_new(&mut self, event: Identity) -> bool {
        !self.common.as_ref().is_some_and(|common| common.before.contains(event)) && self.seen.insert(event)
    }

    /// Takes a child down.
    pub fn add(&mut self, child: Child) {
        self.children.push(child);
        self.known += 1;
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum NodeKind {
    /// The process reads.
    Reads,
    /// The process is about to update a location that is only ever updated; who did so last.
    Acquires(Location, Option<(ProcessId, u32)>),
    /// The process may wait for a location.
    Waits(Location),
}

/// Processes with the outcomes of their steps.
pub(super) type Steps = [(ProcessId, u32)];

/// How to come to a configuration.
pub(super) enum Way {
    /// By these steps.
    Told(Vec<(ProcessId, u32)>),
    /// By those steps of an execution that are in the configuration, and its last event after so many of them. Many
    /// children are found at the end of one execution.
    Within(Rc<Steps>, usize),
}

/// A configuration that is still to be explored.
pub(super) struct Child {
    pub way: Way,
    pub cut: Vec<u32>,
    /// The event that leads to it, its identity, and its outcome.
    pub event: Option<(ProcessId, u32, Identity)>,
    pub choice: u32,
    pub freezes: Option<Frozen>,
}

impl Child {
    /// The steps that lead there.
    pub fn schedule(&self) -> Vec<(ProcessId, u32)> {
        let (execution, at) = match &self.way {
            Way::Told(schedule) => return schedule.clone(),
            Way::Within(execution, at) => (execution, *at),
        };
        let mut left = self.cut.clone();
        let mut schedule = Vec::new();
        // Its last event is none of the execution.
        let last = self.event.map(|(process, ..)| process);
        last.into_iter().for_each(|process| left[process.index()] -= 1);
        for &(process, choice) in execution.iter() {
            if count(&left, process) > 0 {
                left[process.index()] -= 1;
                schedule.push((process, choice));
            }
        }
        last.into_iter().for_each(|process| schedule.insert(at, (process, self.choice)));
        schedule
    }
}

/// A set of identities.
#[derive(Default)]
pub(super) struct Seen {
    few: SmallVec<[Identity; 8]>,
    many: HashSet<Identity, AsItIs>,
}

impl Seen {
    /// Adds an identity; whether it is new.
    pub fn insert(&mut self, identity: Identity) -> bool {
        if !self.many.is_empty() {
            return self.many.insert(identity);
        }
        let is_new = !self.few.contains(&identity);
        if is_new {
            self.few.push(identity);
            if self.few.len() > 32 {
                self.many.extend(self.few.drain(..));
            }
        }
        is_new
    }

    pub fn contains(&self, identity: Identity) -> bool {
        if self.many.is_empty() { self.few.contains(&identity) } else { self.many.contains(&identity) }
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        (self.few.len() + self.many.capacity()) * size_of::<Identity>()
    }
}
