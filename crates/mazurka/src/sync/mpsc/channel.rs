//! A channel within a check: its operations, which are the same however it keeps its messages.

use std::sync::Arc;

use mazurka_program::{Location, ProcessId};

use super::{TryRecvError, TrySendError, bounded, rendezvous, unbounded};
use crate::runtime::identity::OwnKind;
use crate::runtime::operation::{CurrentStep, Operation, Wait};
use crate::runtime::{Described, Runtime, operate};
use crate::step::{CallSite, take_step, verb};

/// How a channel keeps its messages, and what it means for a step to send or to receive one.
pub(super) trait Flavour<T> {
    /// What the channel is named by.
    fn location(&self) -> Location;

    /// What a send waits for that may wait.
    fn room(&self) -> Wait {
        Wait::Nothing
    }

    /// What a send waits for, for people.
    fn lacks_room(&self, _name: &str) -> String {
        String::new()
    }

    /// A step sends a message, and takes it out of its place, if it can.
    fn send(&self, message: &mut Option<T>, waits: bool, step: &mut CurrentStep<'_>) -> Sent;

    /// The second step of a send: gives the message back if it was not received.
    fn end_send(&self, _offer: Location, _place: CallSite) -> Option<T> {
        None
    }

    /// What a receive waits for that may wait for ever.
    fn supply(&self) -> Wait;

    /// If that is [`Wait::Own`]: whether a receive need not wait.
    fn is_supplied(&self) -> bool {
        true
    }

    /// A step receives a message if it can.
    fn receive(&self, mode: WaitMode, step: &mut CurrentStep<'_>) -> Received<T>;

    /// The second step of a receive.
    fn end_receive(&self, _request: Location, _mode: WaitMode, _place: CallSite) -> Result<T, TryRecvError> {
        Err(TryRecvError::Disconnected)
    }

    /// How many senders live.
    fn senders(&self) -> usize;

    /// A sender is cloned, which is no step; gives the number of the clone.
    fn clone_sender(&self, sender: usize) -> usize;

    /// A step drops a sender.
    fn drop_sender(&self, sender: usize, step: &mut CurrentStep<'_>);

    /// A step drops the receiver; gives what was sent and not received.
    fn drop_receiver(&self, step: &mut CurrentStep<'_>) -> Vec<T>;
}

/// What a step that sends came to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sent {
    Done,
    Full,
    /// The receiver is gone.
    Disconnected,
    /// The message is on offer; a second step waits for this location.
    Offered(Location),
}

/// What a step that receives came to.
pub(super) enum Received<T> {
    Done(Result<T, TryRecvError>),
    /// The receiver has asked for a message; a second step waits for this location.
    Requested(Location),
}

/// How long a receive waits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum WaitMode {
    Block,
    Timeout,
    Try,
}

impl WaitMode {
    /// What the user calls it.
    pub(super) fn call(self) -> &'static str {
        match self {
            WaitMode::Block => "recv",
            WaitMode::Timeout => "recv_timeout",
            WaitMode::Try => "try_recv",
        }
    }
}

/// What is released by the end of a sender, to who finds that there are none left,
pub(super) const BY_SENDERS: u32 = 0;
/// and by the end of the receiver, to who finds it gone.
pub(super) const BY_RECEIVER: u32 = 1;

/// The location of a new channel, made by the running process.
pub(super) fn new_location(runtime: &mut Runtime, created: CallSite) -> Location {
    let location = runtime.make(runtime.running(), OwnKind::Handle);
    runtime.describe(location, Described { kind: "channel", created });
    location
}

/// The first sender.
pub(super) const FIRST: usize = 0;

/// A channel within a check.
pub(super) enum Channel<T> {
    Unbounded(unbounded::Channel<T>),
    Bounded(bounded::Channel<T>),
    Rendezvous(rendezvous::Channel<T>),
}

impl<T> Channel<T> {
    /// A new channel in the execution that runs; none outside of a check.
    pub(super) fn new(bound: Option<usize>, created: CallSite) -> Option<Arc<Channel<T>>> {
        let channel = match bound {
            Some(0) => Channel::Rendezvous(rendezvous::Channel::new(created)?),
            Some(bound) => Channel::Bounded(bounded::Channel::new(Some(bound), created)?),
            None => match unbounded::Channel::new(created) {
                Some(channel) => Channel::Unbounded(channel),
                // With static footprints.
                None => Channel::Bounded(bounded::Channel::new(None, created)?),
            },
        };
        Some(Arc::new(channel))
    }

    fn flavour(&self) -> &(dyn Flavour<T> + '_) {
        match self {
            Channel::Unbounded(channel) => channel,
            Channel::Bounded(channel) => channel,
            Channel::Rendezvous(channel) => channel,
        }
    }

    pub(super) fn send(&self, message: T, waits: bool, place: CallSite) -> Result<(), TrySendError<T>> {
        let channel = self.flavour();
        let mut send = Send { channel, message: Some(message), waits, sent: Sent::Disconnected };
        operate(&mut send, place);
        let back = match send.sent {
            Sent::Offered(offer) => channel.end_send(offer, place),
            _ => send.message,
        };
        match (back, send.sent) {
            (None, _) => Ok(()),
            (Some(message), Sent::Full) => Err(TrySendError::Full(message)),
            (Some(message), _) => Err(TrySendError::Disconnected(message)),
        }
    }

    pub(super) fn receive(&self, mode: WaitMode, place: CallSite) -> Result<T, TryRecvError> {
        let channel = self.flavour();
        let mut receive =
            Receive { channel, mode, received: Received::Done(Err(TryRecvError::Disconnected)) };
        operate(&mut receive, place);
        match receive.received {
            Received::Done(result) => result,
            Received::Requested(request) => channel.end_receive(request, mode, place),
        }
    }

    /// A clone of a sender; gives its number.
    pub(super) fn clone_sender(&self, sender: usize) -> usize {
        self.flavour().clone_sender(sender)
    }

    pub(super) fn drop_sender(&self, sender: usize, place: CallSite) {
        let channel = self.flavour();
        let describe = verb("drop a sender of", channel.location());
        take_step(place, describe, |step| channel.drop_sender(sender, step));
    }

    /// What is left is dropped by the receiver's thread, after the step: destructors may do anything.
    pub(super) fn drop_receiver(&self, place: CallSite) {
        let channel = self.flavour();
        let describe = verb("drop the receiver of", channel.location());
        drop(take_step(place, describe, |step| channel.drop_receiver(step)));
    }
}

struct Send<'a, T> {
    channel: &'a (dyn Flavour<T> + 'a),
    /// None once it is sent.
    message: Option<T>,
    waits: bool,
    sent: Sent,
}

impl<T> Operation for Send<'_, T> {
    fn wait(&self) -> Wait {
        if self.waits { self.channel.room() } else { Wait::Nothing }
    }

    fn perform(&mut self, step: &mut CurrentStep<'_>) {
        self.sent = self.channel.send(&mut self.message, self.waits, step);
        if self.sent == Sent::Disconnected {
            step.note(|| "the receiver is gone".to_owned());
        }
    }

    fn describe(&self, runtime: &Runtime) -> String {
        let call = if self.waits { "send" } else { "try_send" };
        format!("{}.{call}()", runtime.name_of_location(self.channel.location()))
    }

    fn waits_for(&self, runtime: &Runtime) -> (String, Vec<ProcessId>) {
        (self.channel.lacks_room(&runtime.name_of_location(self.channel.location())), Vec::new())
    }
}

struct Receive<'a, T> {
    channel: &'a (dyn Flavour<T> + 'a),
    mode: WaitMode,
    received: Received<T>,
}

impl<T> Operation for Receive<'_, T> {
    fn wait(&self) -> Wait {
        if self.mode == WaitMode::Block { self.channel.supply() } else { Wait::Nothing }
    }

    fn ready(&self, _world: &Runtime, _process: ProcessId) -> bool {
        self.channel.is_supplied()
    }

    fn perform(&mut self, step: &mut CurrentStep<'_>) {
        self.received = self.channel.receive(self.mode, step);
        if let Received::Done(Err(error)) = self.received {
            step.note(|| nothing_received(error).to_owned());
        }
    }

    fn describe(&self, runtime: &Runtime) -> String {
        format!("{}.{}()", runtime.name_of_location(self.channel.location()), self.mode.call())
    }

    fn waits_for(&self, runtime: &Runtime) -> (String, Vec<ProcessId>) {
        (lacks_message(self.channel, runtime), Vec::new())
    }
}

/// What a receive waits for, for people.
pub(super) fn lacks_message<T>(channel: &(dyn Flavour<T> + '_), runtime: &Runtime) -> String {
    let (name, senders) = (runtime.name_of_location(channel.location()), channel.senders());
    format!("a message in `{name}`, which is empty and has {senders} sender{}", plural(senders))
}

/// Why nothing was received, for people.
pub(super) fn nothing_received(error: TryRecvError) -> &'static str {
    match error {
        TryRecvError::Empty => "empty",
        TryRecvError::Disconnected => "empty, and all senders are gone",
    }
}

pub(super) fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}
