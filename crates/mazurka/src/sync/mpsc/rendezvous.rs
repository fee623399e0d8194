//! A channel without room, within a check: a message goes from hand to hand.
//!
//! Who comes first waits for the other. So a send is two steps, unless the receiver waits already: the message is
//! offered, and then it has been taken. A receive is two steps, unless a message is on offer: the receiver says that it
//! waits, and then it has been given a message. All first steps update one location, that of the channel. What a second
//! step waits for nobody else can undo; it has a location of its own, with one writer. Which of these a first step writes
//! depends on who waits, so this is nothing for static footprints.

use std::collections::VecDeque;
use std::panic::Location as Caller;

use mazurka_program::{AccessKind, Location, ProcessId, Stop};

use super::{RecvError, SendError, TryRecvError, TrySendError};
use crate::runtime::confined::{Confined, Taken};
use crate::runtime::identity::OwnKind;
use crate::runtime::operation::{Operation, Step, Wait};
use crate::runtime::{Described, World, operate, with_world};

/// What the location of a second step holds when the message has gone from hand to hand,
const MET: u64 = 1;
/// and when the other side is gone.
const ALONE: u64 = 2;

/// What is released by the end of a sender, to who finds that there are none left,
const BY_SENDERS: u32 = 0;
/// and by the end of the receiver, to who finds it gone. What goes from hand to hand is released to the location that a second
/// step waits for, in both directions: both are there at once.
const BY_RECEIVER: u32 = 1;

pub(super) struct Channel<T> {
    location: Location,
    state: Confined<State<T>>,
}

struct State<T> {
    /// Messages of senders that wait, each with the location that its sender waits for.
    offers: VecDeque<(Location, T)>,
    /// Offers that the receiver left behind when it went, for their senders to take back.
    refused: Vec<(Location, T)>,
    /// What the receiver waits for, if it does and has not been given a message.
    waiting: Option<Location>,
    /// The message that the receiver was given while it waited.
    gift: Option<T>,
    /// Changed by clones, which are no steps: a sender lives then, and whether it is the only one nobody can tell.
    senders: usize,
    receiver_gone: bool,
}

/// What became of a send or of a receive in its first step.
enum First<R> {
    Done(R),
    /// It waits for this location.
    Waits(Location),
}

impl<T> Channel<T> {
    /// A new channel in the execution that runs; none outside of a check.
    pub(super) fn new(created: &'static Caller<'static>) -> Option<Channel<T>> {
        with_world(|world| {
            if world.search.foresee {
                world.fail(Stop::Unsupported(
                    "sync_channel(0) is not supported by source; use optimal".to_owned(),
                ));
            }
            let location = world.make(world.execution.schedule.running, OwnKind::Handle);
            world.describe(location, Described { kind: "channel", created });
            let state = State {
                offers: VecDeque::new(),
                refused: Vec::new(),
                waiting: None,
                gift: None,
                senders: 1,
                receiver_gone: false,
            };
            Channel { location, state: Confined::new(state) }
        })
    }

    fn state(&self) -> Taken<'_, State<T>> {
        self.state.lock()
    }

    /// The state, for a first step: whom it lets go on depends on who waits.
    fn enter(&self, step: &mut Step<'_>) -> Taken<'_, State<T>> {
        step.touch(self.location, AccessKind::Update);
        step.varies();
        self.state()
    }

    pub(super) fn send(&self, message: T, place: &'static Caller<'static>) -> Result<(), SendError<T>> {
        let mut offer = Offer { channel: self, message: Some(message), waits: true, left: None };
        operate(&mut offer, place);
        match offer.left {
            Some(First::Done(true)) => Ok(()),
            Some(First::Waits(taken)) => {
                let mut meet = Offered { channel: self, taken, refused: None };
                operate(&mut meet, place);
                meet.refused.map_or(Ok(()), |message| Err(SendError(message)))
            }
            Some(First::Done(false)) | None => {
                offer.message.map_or(Ok(()), |message| Err(SendError(message)))
            }
        }
    }

    pub(super) fn try_send(
        &self,
        message: T,
        place: &'static Caller<'static>,
    ) -> Result<(), TrySendError<T>> {
        let mut offer = Offer { channel: self, message: Some(message), waits: false, left: None };
        operate(&mut offer, place);
        match (offer.message, offer.left) {
            (None, _) => Ok(()),
            (Some(message), Some(First::Waits(_))) => Err(TrySendError::Full(message)),
            (Some(message), _) => Err(TrySendError::Disconnected(message)),
        }
    }

    pub(super) fn recv(&self, place: &'static Caller<'static>) -> Result<T, RecvError> {
        self.receive("recv", false, place).map_err(|_| RecvError)
    }

    pub(super) fn recv_timeout(&self, place: &'static Caller<'static>) -> Result<T, TryRecvError> {
        self.receive("recv_timeout", true, place)
    }

    fn receive(
        &self,
        call: &'static str,
        timeout: bool,
        place: &'static Caller<'static>,
    ) -> Result<T, TryRecvError> {
        let mut ask = Ask { channel: self, call, waits: true, left: None };
        operate(&mut ask, place);
        match ask.left {
            Some(First::Done(result)) => result,
            Some(First::Waits(given)) => {
                let mut meet = Asked { channel: self, call, given, timeout, result: None };
                operate(&mut meet, place);
                meet.result.unwrap_or(Err(TryRecvError::Disconnected))
            }
            None => Err(TryRecvError::Disconnected),
        }
    }

    pub(super) fn try_recv(&self, place: &'static Caller<'static>) -> Result<T, TryRecvError> {
        let mut ask = Ask { channel: self, call: "try_recv", waits: false, left: None };
        operate(&mut ask, place);
        match ask.left {
            Some(First::Done(result)) => result,
            Some(First::Waits(_)) => Err(TryRecvError::Empty),
            None => Err(TryRecvError::Disconnected),
        }
    }

    pub(super) fn clone_sender(&self) {
        self.state().senders += 1;
    }

    pub(super) fn drop_sender(&self, place: &'static Caller<'static>) {
        operate(&mut DropSender { channel: self }, place);
    }

    pub(super) fn drop_receiver(&self, place: &'static Caller<'static>) {
        operate(&mut DropReceiver { channel: self }, place);
    }

    /// A step lets a process go on that waits for a location.
    fn release(&self, location: Location, with: u64, step: &mut Step<'_>) {
        step.touch(location, AccessKind::Write);
        step.set(location, with);
        step.acquire(location);
        step.release(location);
    }

    /// A step that waited for a location goes on; gives what it holds.
    fn go_on(&self, location: Location, step: &mut Step<'_>) -> u64 {
        step.touch(location, AccessKind::Read);
        step.waited_for(location);
        step.acquire(location);
        step.peek(location)
    }
}

/// The first step of a send.
struct Offer<'a, T> {
    channel: &'a Channel<T>,
    message: Option<T>,
    waits: bool,
    /// Whether it was given to the receiver; if not, the receiver is gone. None if the step was not taken.
    left: Option<First<bool>>,
}

impl<T> Operation for Offer<'_, T> {
    fn perform(&mut self, step: &mut Step<'_>) {
        let channel = self.channel;
        let mut state = channel.enter(step);
        if state.receiver_gone {
            step.acquire_part(channel.location, BY_RECEIVER);
            step.note(|| "the receiver is gone".to_owned());
            self.left = Some(First::Done(false));
        } else if let Some(given) = state.waiting.take() {
            state.gift = self.message.take();
            channel.release(given, MET, step);
            self.left = Some(First::Done(true));
        } else if self.waits {
            let taken = step.world.make(step.process, OwnKind::Message);
            step.release(taken);
            state.offers.extend(self.message.take().map(|message| (taken, message)));
            step.note(|| "and wait for the receiver".to_owned());
            self.left = Some(First::Waits(taken));
        } else {
            step.note(|| "the receiver does not wait".to_owned());
            self.left = Some(First::Waits(channel.location));
        }
    }

    fn describe(&self, world: &World) -> String {
        let call = if self.waits { "send" } else { "try_send" };
        format!("{}.{call}()", world.name_of_location(self.channel.location))
    }
}

/// The second step of a send.
struct Offered<'a, T> {
    channel: &'a Channel<T>,
    taken: Location,
    refused: Option<T>,
}

impl<T> Operation for Offered<'_, T> {
    fn wait(&self) -> Wait {
        Wait::Own
    }

    fn ready(&self, world: &World, _process: ProcessId) -> bool {
        world.execution.values.get(self.taken) != 0
    }

    fn perform(&mut self, step: &mut Step<'_>) {
        if self.channel.go_on(self.taken, step) == ALONE {
            let mut state = self.channel.state();
            let at = state.refused.iter().position(|(location, _)| *location == self.taken);
            self.refused = at.map(|at| state.refused.swap_remove(at).1);
            step.note(|| "the receiver is gone".to_owned());
        }
    }

    fn describe(&self, world: &World) -> String {
        format!("{}.send() ends", world.name_of_location(self.channel.location))
    }

    fn waits_for(&self, world: &World) -> (String, Vec<ProcessId>) {
        let name = world.name_of_location(self.channel.location);
        (format!("`{name}` to be received from"), Vec::new())
    }
}

/// The first step of a receive.
struct Ask<'a, T> {
    channel: &'a Channel<T>,
    call: &'static str,
    waits: bool,
    /// None if the step was not taken.
    left: Option<First<Result<T, TryRecvError>>>,
}

impl<T> Operation for Ask<'_, T> {
    fn perform(&mut self, step: &mut Step<'_>) {
        let channel = self.channel;
        let mut state = channel.enter(step);
        self.left = Some(if let Some((taken, message)) = state.offers.pop_front() {
            channel.release(taken, MET, step);
            First::Done(Ok(message))
        } else if state.senders == 0 {
            step.acquire_part(channel.location, BY_SENDERS);
            step.note(|| super::nothing_received(false));
            First::Done(Err(TryRecvError::Disconnected))
        } else if self.waits {
            let given = step.world.make(step.process, OwnKind::Message);
            state.waiting = Some(given);
            step.release(given);
            step.note(|| "and wait for a sender".to_owned());
            First::Waits(given)
        } else {
            step.note(|| super::nothing_received(true));
            First::Waits(channel.location)
        });
    }

    fn describe(&self, world: &World) -> String {
        format!("{}.{}()", world.name_of_location(self.channel.location), self.call)
    }
}

/// The second step of a receive.
struct Asked<'a, T> {
    channel: &'a Channel<T>,
    call: &'static str,
    given: Location,
    timeout: bool,
    result: Option<Result<T, TryRecvError>>,
}

impl<T> Operation for Asked<'_, T> {
    fn wait(&self) -> Wait {
        if self.timeout { Wait::Nothing } else { Wait::Own }
    }

    fn ready(&self, world: &World, _process: ProcessId) -> bool {
        world.execution.values.get(self.given) != 0
    }

    fn perform(&mut self, step: &mut Step<'_>) {
        let (mut state, found) = match self.timeout {
            // Not to wait any longer is a change of the channel.
            true => {
                let (state, found) = (self.channel.enter(step), step.peek(self.given));
                if found != 0 {
                    step.acquire(self.given);
                }
                (state, found)
            }
            false => {
                let found = self.channel.go_on(self.given, step);
                (self.channel.state(), found)
            }
        };
        self.result = Some(match found {
            MET => state.gift.take().ok_or(TryRecvError::Disconnected),
            ALONE => Err(TryRecvError::Disconnected),
            _ => {
                state.waiting = None;
                Err(TryRecvError::Empty)
            }
        });
        if found != MET {
            step.note(|| super::nothing_received(found != ALONE));
        }
    }

    fn describe(&self, world: &World) -> String {
        format!("{}.{}() ends", world.name_of_location(self.channel.location), self.call)
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
        let mut state = self.channel.enter(step);
        step.release_part(self.channel.location, BY_SENDERS);
        state.senders -= 1;
        if state.senders == 0
            && let Some(given) = state.waiting.take()
        {
            // The receiver comes after the ends of all senders.
            step.acquire_part(self.channel.location, BY_SENDERS);
            self.channel.release(given, ALONE, step);
        }
    }

    fn describe(&self, world: &World) -> String {
        super::drops_sender(&world.name_of_location(self.channel.location))
    }
}

struct DropReceiver<'a, T> {
    channel: &'a Channel<T>,
}

impl<T> Operation for DropReceiver<'_, T> {
    fn perform(&mut self, step: &mut Step<'_>) {
        let mut state = self.channel.enter(step);
        step.release_part(self.channel.location, BY_RECEIVER);
        state.receiver_gone = true;
        while let Some((taken, message)) = state.offers.pop_front() {
            self.channel.release(taken, ALONE, step);
            state.refused.push((taken, message));
        }
    }

    fn describe(&self, world: &World) -> String {
        super::drops_receiver(&world.name_of_location(self.channel.location))
    }
}
