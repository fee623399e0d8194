//! A channel with room for so many messages, within a check.
//!
//! It has one location, which every operation updates: who takes a message makes room, and several senders compete for
//! it, so nearly everything does depend on everything. The cell holds the number of messages, made large when all
//! senders are gone, so that the receiver need not wait, and 0 when the receiver is, so that no sender does.
//!
//! With static footprints channels without a bound are of this kind too.

use std::collections::VecDeque;
use std::panic::Location as Caller;

use mazurka_program::{AccessKind, Location, ProcessId};

use super::{RecvError, SendError, TryRecvError, TrySendError};
use crate::runtime::confined::{Confined, Taken};
use crate::runtime::identity::OwnKind;
use crate::runtime::operation::{Operation, Step, Wait};
use crate::runtime::{Described, World, operate, with_world};
use mazurka_threads::values::Until;

/// What is added to the number of messages when all senders are gone.
const NO_SENDER: u64 = 1 << 63;

pub(super) struct Channel<T> {
    location: Location,
    /// Not 0. None if there is none.
    bound: Option<usize>,
    state: Confined<State<T>>,
}

/// What is released by the end of a sender, to who finds that there are none left,
const BY_SENDERS: u32 = 0;
/// by the end of the receiver, to who finds it gone,
const BY_RECEIVER: u32 = 1;
/// and from here on through each place for a message: who takes one comes after who sent it, and who finds the place free
/// comes after who made it so.
const PLACES: u32 = 2;

struct State<T> {
    messages: VecDeque<T>,
    /// How many were ever taken.
    taken: u32,
    /// Changed by clones, which are no steps: a sender lives then, and whether it is the only one nobody can tell.
    senders: usize,
    receiver_gone: bool,
}

impl<T> State<T> {
    /// The part of the channel's location that stands for the place of a message, the `ahead`th of those that are there.
    fn place(&self, ahead: usize, bound: Option<usize>) -> u32 {
        let number = u64::from(self.taken) + ahead as u64;
        PLACES + bound.map_or(number, |bound| number % bound as u64) as u32
    }

    /// What the cell holds.
    fn cell(&self) -> u64 {
        match (self.receiver_gone, self.senders) {
            (true, _) => 0,
            (false, 0) => NO_SENDER + self.messages.len() as u64,
            (false, _) => self.messages.len() as u64,
        }
    }
}

impl<T> Channel<T> {
    /// A new channel in the execution that runs; none outside of a check.
    pub(super) fn new(bound: Option<usize>, created: &'static Caller<'static>) -> Option<Channel<T>> {
        with_world(|world| {
            let location = world.make(world.execution.schedule.running, OwnKind::Handle);
            world.describe(location, Described { kind: "channel", created });
            let state = State { messages: VecDeque::new(), taken: 0, senders: 1, receiver_gone: false };
            Channel { location, bound, state: Confined::new(state) }
        })
    }

    fn state(&self) -> Taken<'_, State<T>> {
        self.state.lock()
    }

    /// A step changes the channel or looks at it.
    fn change<R>(&self, step: &mut Step<'_>, change: impl FnOnce(&mut State<T>, &mut Step<'_>) -> R) -> R {
        step.touch(self.location, AccessKind::Update);
        let mut state = self.state();
        let result = change(&mut state, step);
        step.set(self.location, state.cell());
        result
    }

    pub(super) fn send(&self, message: T, place: &'static Caller<'static>) -> Result<(), SendError<T>> {
        let mut send = Send { channel: self, message: Some(message), waits: true, disconnected: true };
        operate(&mut send, place);
        send.message.map_or(Ok(()), |message| Err(SendError(message)))
    }

    pub(super) fn try_send(
        &self,
        message: T,
        place: &'static Caller<'static>,
    ) -> Result<(), TrySendError<T>> {
        let mut send = Send { channel: self, message: Some(message), waits: false, disconnected: true };
        operate(&mut send, place);
        match (send.message, send.disconnected) {
            (None, _) => Ok(()),
            (Some(message), true) => Err(TrySendError::Disconnected(message)),
            (Some(message), false) => Err(TrySendError::Full(message)),
        }
    }

    pub(super) fn recv(&self, place: &'static Caller<'static>) -> Result<T, RecvError> {
        let mut receive = Receive::new(self, None);
        operate(&mut receive, place);
        receive.result.map_err(|_| RecvError)
    }

    /// Receives without waiting. `call` is what the user calls it.
    pub(super) fn try_recv(
        &self,
        call: &'static str,
        place: &'static Caller<'static>,
    ) -> Result<T, TryRecvError> {
        let mut receive = Receive::new(self, Some(call));
        operate(&mut receive, place);
        receive.result
    }

    pub(super) fn clone_sender(&self) {
        self.state().senders += 1;
    }

    pub(super) fn drop_sender(&self, place: &'static Caller<'static>) {
        operate(&mut DropSender { channel: self }, place);
    }

    /// What is left is dropped by the receiver's thread, after the step: destructors may do anything.
    pub(super) fn drop_receiver(&self, place: &'static Caller<'static>) {
        let mut end = DropReceiver { channel: self, left: VecDeque::new() };
        operate(&mut end, place);
        drop(end.left);
    }
}

struct Send<'a, T> {
    channel: &'a Channel<T>,
    /// None once it is sent.
    message: Option<T>,
    waits: bool,
    disconnected: bool,
}

impl<T> Operation for Send<'_, T> {
    fn wait(&self) -> Wait {
        match self.channel.bound {
            Some(bound) if self.waits => {
                Wait::Guard { location: self.channel.location, until: Until::Below(bound as u64) }
            }
            _ => Wait::Nothing,
        }
    }

    fn perform(&mut self, step: &mut Step<'_>) {
        let Send { channel, message, disconnected, .. } = self;
        let sent = channel.change(step, |state, step| {
            *disconnected = state.receiver_gone;
            let sends =
                !state.receiver_gone && channel.bound.is_none_or(|bound| state.messages.len() < bound);
            if state.receiver_gone {
                step.acquire_part(channel.location, BY_RECEIVER);
            } else if sends {
                let place = state.place(state.messages.len(), channel.bound);
                step.acquire_part(channel.location, place);
                step.release_part(channel.location, place);
            }
            state.messages.extend(if sends { message.take() } else { None });
            sends
        });
        if !sent {
            let why = if self.disconnected { "the receiver is gone" } else { "full" };
            step.note(|| why.to_owned());
        }
    }

    fn describe(&self, world: &World) -> String {
        let call = if self.waits { "send" } else { "try_send" };
        format!("{}.{call}()", world.name_of_location(self.channel.location))
    }

    fn waits_for(&self, world: &World) -> (String, Vec<ProcessId>) {
        let name = world.name_of_location(self.channel.location);
        let bound = self.channel.bound.unwrap_or(0);
        (format!("room in `{name}`, which is full with {bound} message{}", super::plural(bound)), Vec::new())
    }
}

struct Receive<'a, T> {
    channel: &'a Channel<T>,
    /// What the user calls it, if it does not wait.
    call: Option<&'static str>,
    result: Result<T, TryRecvError>,
}

impl<'a, T> Receive<'a, T> {
    fn new(channel: &'a Channel<T>, call: Option<&'static str>) -> Receive<'a, T> {
        Receive { channel, call, result: Err(TryRecvError::Disconnected) }
    }
}

impl<T> Operation for Receive<'_, T> {
    fn wait(&self) -> Wait {
        match self.call {
            None => Wait::Guard { location: self.channel.location, until: Until::AtLeast(1) },
            Some(_) => Wait::Nothing,
        }
    }

    fn perform(&mut self, step: &mut Step<'_>) {
        let Channel { location, bound, .. } = *self.channel;
        self.result = self.channel.change(step, |state, step| match state.messages.pop_front() {
            Some(message) => {
                let place = state.place(0, bound);
                step.acquire_part(location, place);
                step.release_part(location, place);
                state.taken = state.taken.wrapping_add(1);
                Ok(message)
            }
            None if state.senders == 0 => {
                step.acquire_part(location, BY_SENDERS);
                Err(TryRecvError::Disconnected)
            }
            None => Err(TryRecvError::Empty),
        });
        if let Err(error) = &self.result {
            let connected = *error == TryRecvError::Empty;
            step.note(|| super::nothing_received(connected));
        }
    }

    fn describe(&self, world: &World) -> String {
        format!("{}.{}()", world.name_of_location(self.channel.location), self.call.unwrap_or("recv"))
    }

    fn waits_for(&self, world: &World) -> (String, Vec<ProcessId>) {
        let name = world.name_of_location(self.channel.location);
        (super::lacks_message(&name, self.channel.state().senders), Vec::new())
    }
}

struct DropSender<'a, T> {
    channel: &'a Channel<T>,
}

impl<T> Operation for DropSender<'_, T> {
    fn perform(&mut self, step: &mut Step<'_>) {
        let location = self.channel.location;
        self.channel.change(step, |state, step| {
            step.release_part(location, BY_SENDERS);
            state.senders -= 1;
        });
    }

    fn describe(&self, world: &World) -> String {
        super::drops_sender(&world.name_of_location(self.channel.location))
    }
}

struct DropReceiver<'a, T> {
    channel: &'a Channel<T>,
    left: VecDeque<T>,
}

impl<T> Operation for DropReceiver<'_, T> {
    fn perform(&mut self, step: &mut Step<'_>) {
        let Channel { location, bound, .. } = *self.channel;
        self.left = self.channel.change(step, |state, step| {
            step.release_part(location, BY_RECEIVER);
            (0..state.messages.len())
                .for_each(|ahead| step.acquire_part(location, state.place(ahead, bound)));
            state.receiver_gone = true;
            std::mem::take(&mut state.messages)
        });
    }

    fn describe(&self, world: &World) -> String {
        super::drops_receiver(&world.name_of_location(self.channel.location))
    }
}
