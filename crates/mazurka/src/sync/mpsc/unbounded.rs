//! A channel without a bound, within a check.
//!
//! Beside the locations of its [queue](super::queue) and of its [senders](super::senders) it has one that the
//! end of the receiver writes and every send reads. A send that finds the receiver gone touches nothing else.
//!
//! What an operation touches depends on what it finds, so this is nothing for static footprints.

use mazurka_program::{AccessKind, Location};

use super::TryRecvError;
use super::channel::{Flavour, Received, Sent, WaitMode, new_location};
use super::queue::Queue;
use super::senders::{NewHandle, Senders};
use crate::runtime::confined::Confined;
use crate::runtime::identity::OwnKind;
use crate::runtime::operation::{CurrentStep, Wait};
use crate::runtime::with_runtime;
use crate::step::CallSite;

pub(super) struct Channel<T> {
    /// The location of the order of messages; the channel is named by it.
    order: Location,
    /// Holds 1 when the receiver is gone.
    receiver: Location,
    state: Confined<State<T>>,
}

struct State<T> {
    queue: Queue<T>,
    senders: Senders,
}

impl<T> Channel<T> {
    /// A new channel in the execution that runs; none outside of a check, and none with static footprints.
    pub(super) fn new(created: CallSite) -> Option<Channel<T>> {
        let (order, receiver, sender) = with_runtime(|runtime| {
            if runtime.search.foresee {
                return None;
            }
            let order = new_location(runtime, created);
            let receiver = runtime.make(runtime.running(), OwnKind::Handle);
            Some((order, receiver, NewHandle::new(runtime)))
        })??;
        let state = State { queue: Queue::new(order), senders: Senders::new(sender) };
        Some(Channel { order, receiver, state: Confined::new(state) })
    }
}

impl<T> Flavour<T> for Channel<T> {
    fn location(&self) -> Location {
        self.order
    }

    fn send(&self, message: &mut Option<T>, _waits: bool, step: &mut CurrentStep<'_>) -> Sent {
        step.touch(self.receiver, AccessKind::Read);
        if step.peek(self.receiver) == 1 {
            // Only here: a step that reverses a race is taken with fewer steps before it, so who found the
            // receiver alive does so again. Searches that have it read from later steps know of no messages.
            step.varies();
            step.acquire(self.receiver);
            return Sent::Disconnected;
        }
        if let Some(message) = message.take() {
            self.state.lock().queue.send(message, step);
        }
        Sent::Done
    }

    fn supply(&self) -> Wait {
        Wait::Own
    }

    fn is_supplied(&self) -> bool {
        let state = self.state.lock();
        !state.queue.is_empty() || state.senders.living() == 0
    }

    fn receive(&self, mode: WaitMode, step: &mut CurrentStep<'_>) -> Received<T> {
        let mut state = self.state.lock();
        let waits = mode == WaitMode::Block;
        let message = state.queue.take(0, waits, step);
        Received::Done(match message {
            Some(message) => {
                if !waits {
                    step.varies();
                }
                Ok(message)
            }
            None if waits => {
                state.senders.find_all_gone(step);
                Err(TryRecvError::Disconnected)
            }
            None => {
                state.queue.find_nothing(step);
                let found = state.senders.search(step);
                step.varies();
                Err(if found { TryRecvError::Empty } else { TryRecvError::Disconnected })
            }
        })
    }

    fn senders(&self) -> usize {
        self.state.lock().senders.living()
    }

    fn clone_sender(&self, sender: usize) -> usize {
        match with_runtime(NewHandle::new) {
            Some(clone) => self.state.lock().senders.clone_of(sender, clone),
            None => sender,
        }
    }

    fn drop_sender(&self, sender: usize, step: &mut CurrentStep<'_>) {
        let mut state = self.state.lock();
        let end = state.senders.end_of(sender);
        step.touch(end, AccessKind::Write);
        step.set(end, 1);
        step.release(end);
        state.senders.remove();
    }

    fn drop_receiver(&self, step: &mut CurrentStep<'_>) -> Vec<T> {
        // Every send reads this, so what is left in the queue is known.
        step.touch(self.receiver, AccessKind::Write);
        step.set(self.receiver, 1);
        step.release(self.receiver);
        self.state.lock().queue.take_all(step)
    }
}
