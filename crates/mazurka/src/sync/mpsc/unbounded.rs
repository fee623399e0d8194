//! A channel without a bound, within a check.
//!
//! Beside the locations of its [queue](super::queue) and of its [senders](super::senders) it has one that the end of
//! the receiver writes and every send reads. A send that finds the receiver gone touches nothing else.
//!
//! What an operation touches depends on what it finds, so this is nothing for static footprints.

use std::panic::Location as Caller;

use mazurka_program::{AccessKind, Location, ProcessId};

use super::queue::Queue;
use super::senders::{NewHandle, Senders};
use super::{RecvError, SendError, TryRecvError};
use crate::runtime::confined::{Confined, Taken};
use crate::runtime::identity::OwnKind;
use crate::runtime::operation::{Operation, Step, Wait};
use crate::runtime::{Described, World, operate, with_world};

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

/// The number of the first sender.
pub(super) const FIRST: usize = 0;

impl<T> Channel<T> {
    /// A new channel in the execution that runs; none outside of a check, and none with static footprints.
    pub(super) fn new(created: &'static Caller<'static>) -> Option<Channel<T>> {
        let (order, receiver, sender) = with_world(|world| {
            if world.search.foresee {
                return None;
            }
            let order = world.make(world.execution.schedule.running, OwnKind::Handle);
            let receiver = world.make(world.execution.schedule.running, OwnKind::Handle);
            world.describe(order, Described { kind: "channel", created });
            Some((order, receiver, NewHandle::new(world)))
        })??;
        let state = State { queue: Queue::new(order), senders: Senders::new(sender) };
        Some(Channel { order, receiver, state: Confined::new(state) })
    }

    fn state(&self) -> Taken<'_, State<T>> {
        self.state.lock()
    }

    pub(super) fn send(&self, message: T, place: &'static Caller<'static>) -> Result<(), SendError<T>> {
        let mut send = Send { channel: self, message: Some(message) };
        operate(&mut send, place);
        send.message.map_or(Ok(()), |message| Err(SendError(message)))
    }

    /// A clone of a sender; gives its number.
    pub(super) fn clone_sender(&self, sender: usize) -> usize {
        match with_world(NewHandle::new) {
            Some(clone) => self.state().senders.clone_of(sender, clone),
            None => sender,
        }
    }

    pub(super) fn drop_sender(&self, sender: usize, place: &'static Caller<'static>) {
        operate(&mut DropSender { channel: self, sender }, place);
    }

    pub(super) fn recv(&self, place: &'static Caller<'static>) -> Result<T, RecvError> {
        let mut receive = Receive { channel: self, message: None };
        operate(&mut receive, place);
        receive.message.ok_or(RecvError)
    }

    /// Receives without waiting. `call` is what the user calls it.
    pub(super) fn try_recv(
        &self,
        call: &'static str,
        place: &'static Caller<'static>,
    ) -> Result<T, TryRecvError> {
        let mut receive = TryReceive { channel: self, call, result: Err(TryRecvError::Disconnected) };
        operate(&mut receive, place);
        receive.result
    }

    /// What is left is dropped by the receiver's thread, after the step: destructors may do anything.
    pub(super) fn drop_receiver(&self, place: &'static Caller<'static>) {
        let mut end = DropReceiver { channel: self, left: Vec::new() };
        operate(&mut end, place);
        drop(end.left);
    }
}

struct Send<'a, T> {
    channel: &'a Channel<T>,
    /// None once it is sent.
    message: Option<T>,
}

impl<T> Operation for Send<'_, T> {
    fn perform(&mut self, step: &mut Step<'_>) {
        let channel = self.channel;
        step.touch(channel.receiver, AccessKind::Read);
        if step.peek(channel.receiver) == 1 {
            // Only here: a step that reverses a race is taken with fewer steps before it, so who found the receiver
            // alive does so again.
            step.varies();
            step.acquire(channel.receiver);
            step.note(|| "the receiver is gone".to_owned());
        } else if let Some(message) = self.message.take() {
            channel.state().queue.send(message, step);
        }
    }

    fn describe(&self, world: &World) -> String {
        format!("{}.send()", world.name_of_location(self.channel.order))
    }
}

struct Receive<'a, T> {
    channel: &'a Channel<T>,
    message: Option<T>,
}

impl<T> Operation for Receive<'_, T> {
    fn wait(&self) -> Wait {
        Wait::Own
    }

    fn ready(&self, _world: &World, _process: ProcessId) -> bool {
        let state = self.channel.state();
        !state.queue.is_empty() || state.senders.living() == 0
    }

    fn perform(&mut self, step: &mut Step<'_>) {
        let mut state = self.channel.state();
        self.message = state.queue.take(0, true, step);
        if self.message.is_some() {
            return;
        }
        state.senders.find_all_gone(step);
        step.note(|| super::nothing_received(false));
    }

    fn describe(&self, world: &World) -> String {
        format!("{}.recv()", world.name_of_location(self.channel.order))
    }

    fn waits_for(&self, world: &World) -> (String, Vec<ProcessId>) {
        let name = world.name_of_location(self.channel.order);
        (super::lacks_message(&name, self.channel.state().senders.living()), Vec::new())
    }
}

struct TryReceive<'a, T> {
    channel: &'a Channel<T>,
    call: &'static str,
    result: Result<T, TryRecvError>,
}

impl<T> Operation for TryReceive<'_, T> {
    fn perform(&mut self, step: &mut Step<'_>) {
        let mut state = self.channel.state();
        if let Some(message) = state.queue.take(0, false, step) {
            step.varies();
            self.result = Ok(message);
            return;
        }
        // With fewer messages it would find nothing either; with fewer ends it would not have to look so long.
        state.queue.find_nothing(step);
        let look = state.senders.look(step);
        if look.varies {
            step.varies();
        }
        self.result = Err(if look.found { TryRecvError::Empty } else { TryRecvError::Disconnected });
        step.note(|| super::nothing_received(look.found));
    }

    fn describe(&self, world: &World) -> String {
        format!("{}.{}()", world.name_of_location(self.channel.order), self.call)
    }
}

struct DropSender<'a, T> {
    channel: &'a Channel<T>,
    sender: usize,
}

impl<T> Operation for DropSender<'_, T> {
    fn perform(&mut self, step: &mut Step<'_>) {
        let mut state = self.channel.state();
        let end = state.senders.end_of(self.sender);
        step.touch(end, AccessKind::Write);
        step.set(end, 1);
        step.release(end);
        state.senders.remove();
    }

    fn describe(&self, world: &World) -> String {
        super::drops_sender(&world.name_of_location(self.channel.order))
    }
}

struct DropReceiver<'a, T> {
    channel: &'a Channel<T>,
    left: Vec<T>,
}

impl<T> Operation for DropReceiver<'_, T> {
    fn perform(&mut self, step: &mut Step<'_>) {
        // Every send reads this, so what is left in the queue is known.
        step.touch(self.channel.receiver, AccessKind::Write);
        step.set(self.channel.receiver, 1);
        step.release(self.channel.receiver);
        self.left = self.channel.state().queue.take_all(step);
    }

    fn describe(&self, world: &World) -> String {
        super::drops_receiver(&world.name_of_location(self.channel.order))
    }
}
