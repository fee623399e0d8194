//! The sending handles of a channel: who of them lives.
//!
//! Each handle has a location of its own, which its end writes, so that the ends of different handles are
//! independent. To clone a handle is no step, though others might look for the clone: nobody does before the
//! end of the handle that it was made from. A look at the senders begins with the first handle and goes on to
//! the clones of a handle only if it has found that handle gone. What is gone was cloned before it went, and
//! whoever reads of the end knows of the clones. So what is found, and in which order, depends on the
//! locations that are read and on nothing else.

use std::cmp::Ordering;

use mazurka_program::{AccessKind, Location, Names, ProcessId};

use crate::runtime::Runtime;
use crate::runtime::identity::OwnKind;
use crate::runtime::operation::CurrentStep;

/// The handles of a channel that were ever made.
pub(super) struct Senders {
    handles: Vec<Handle>,
    living: usize,
}

struct Handle {
    /// Holds 1 when the handle is gone.
    location: Location,
    maker: ProcessId,
    /// Those that one process made are in the order in which it did.
    clones: Vec<usize>,
}

/// A handle that the running process makes.
pub(super) struct NewHandle {
    location: Location,
    maker: ProcessId,
}

impl NewHandle {
    pub(super) fn new(runtime: &mut Runtime) -> NewHandle {
        let maker = runtime.running();
        NewHandle { location: runtime.make(maker, OwnKind::Handle), maker }
    }
}

impl Senders {
    /// The first handle, with number 0.
    pub(super) fn new(handle: NewHandle) -> Senders {
        let mut senders = Senders { handles: Vec::new(), living: 0 };
        senders.add(handle);
        senders
    }

    /// A clone of a handle; gives its number.
    pub(super) fn clone_of(&mut self, original: usize, handle: NewHandle) -> usize {
        let clone = self.add(handle);
        self.handles[original].clones.push(clone);
        clone
    }

    fn add(&mut self, NewHandle { location, maker }: NewHandle) -> usize {
        self.handles.push(Handle { location, maker, clones: Vec::new() });
        self.living += 1;
        self.handles.len() - 1
    }

    /// How many live. Only whether there are any can be told in all interleavings alike.
    pub(super) fn living(&self) -> usize {
        self.living
    }

    /// The location of a handle's end.
    pub(super) fn end_of(&self, handle: usize) -> Location {
        self.handles[handle].location
    }

    /// A handle is gone.
    pub(super) fn remove(&mut self) {
        self.living -= 1;
    }

    /// A step searches for a sender that lives; whether it found one. What it reads depends on what it finds.
    pub(super) fn search(&self, step: &mut CurrentStep<'_>) -> bool {
        let mut left = vec![0];
        let found = loop {
            let Some(at) = left.pop() else { break false };
            let handle = &self.handles[at];
            step.touch(handle.location, AccessKind::Read);
            if step.peek(handle.location) == 0 {
                break true;
            }
            let start = left.len();
            left.extend(handle.clones.iter().rev());
            left[start..].sort_by(|&a, &b| self.compare(b, a, &step.runtime.search.names));
        };
        if !found {
            self.handles.iter().for_each(|handle| step.acquire(handle.location));
        }
        found
    }

    /// By who made them: that depends on no interleaving, nor do the clones that one process made.
    fn compare(&self, a: usize, b: usize, names: &Names) -> Ordering {
        names.compare(self.handles[a].maker, self.handles[b].maker)
    }

    /// A step finds all senders gone, for which it waited.
    pub(super) fn find_all_gone(&self, step: &mut CurrentStep<'_>) {
        for handle in &self.handles {
            step.touch(handle.location, AccessKind::Read);
            step.waited_for(handle.location);
            step.acquire(handle.location);
        }
    }
}
