//! Messages in the order in which they were sent, and what it means for a step to send or to take one.
//!
//! A queue has one location for the order of its messages, and each message has a location of its own. A send
//! touches both, so sends to one queue are ordered; who takes a message touches nothing but the location of
//! that message, so it commutes with later sends. Who finds nothing to take reads the order: every send
//! matters to it.

use std::collections::VecDeque;

use mazurka_program::{AccessKind, Location};

use crate::runtime::identity::OwnKind;
use crate::runtime::operation::CurrentStep;

/// What was sent and not yet taken. Only steps may look at it or change it.
pub(crate) struct Queue<T> {
    order: Location,
    messages: VecDeque<(Location, T)>,
}

impl<T> Queue<T> {
    pub(crate) fn new(order: Location) -> Queue<T> {
        Queue { order, messages: VecDeque::new() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.messages.iter().map(|(_, message)| message)
    }

    /// A step sends a message.
    pub(crate) fn send(&mut self, message: T, step: &mut CurrentStep<'_>) {
        let location = self.send_nothing(step);
        step.release(location);
        self.messages.push_back((location, message));
    }

    /// A step does as if it sent a message; gives the location that the message would have.
    pub(crate) fn send_nothing(&self, step: &mut CurrentStep<'_>) -> Location {
        step.touch(self.order, AccessKind::Send);
        let location = step.runtime.make(step.process, OwnKind::Message);
        step.touch(location, AccessKind::Write);
        step.set(location, 1);
        location
    }

    /// A step takes the message at a position, and would have waited for it if `waits`.
    pub(crate) fn take(&mut self, at: usize, waits: bool, step: &mut CurrentStep<'_>) -> Option<T> {
        let (location, message) = self.messages.remove(at)?;
        step.touch(location, AccessKind::Update);
        step.acquire(location);
        if waits {
            step.waited_for(location);
        }
        if let Some(send) = step.runtime.execution.values.writer(location) {
            step.note(|| format!("the message of step {}", send + 1));
        }
        Some(message)
    }

    /// A step finds nothing to take.
    pub(crate) fn find_nothing(&self, step: &mut CurrentStep<'_>) {
        step.touch(self.order, AccessKind::Read);
    }

    /// All messages, for the step that ends the queue.
    pub(crate) fn take_all(&mut self, step: &mut CurrentStep<'_>) -> Vec<T> {
        let taken = self.messages.drain(..);
        taken.inspect(|&(location, _)| step.acquire(location)).map(|(_, message)| message).collect()
    }
}
