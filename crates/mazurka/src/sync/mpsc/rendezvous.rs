//! A channel without room, within a check: a message goes from hand to hand.
//!
//! Who comes first waits for the other. So a send is two steps, unless the receiver waits already: the
//! message is offered, and then it has been taken. A receive is two steps, unless a message is on offer: the
//! receiver requests one, and then it has been given a message. All first steps update one location, that of
//! the channel. What a second step waits for nobody else can undo; it has a location of its own, with one
//! writer. Which of these a first step writes depends on who waits, so this is nothing for static footprints.
//!
//! What goes from hand to hand is released to the location that a second step waits for, in both directions:
//! both are there at once.

use std::collections::VecDeque;

use mazurka_program::{AccessKind, Location, ProcessId, Stop};

use super::TryRecvError;
use super::channel::{
    BY_RECEIVER, BY_SENDERS, FIRST, Flavour, Received, Sent, WaitMode, lacks_message, new_location,
    nothing_received,
};
use crate::runtime::confined::{Confined, ConfinedGuard};
use crate::runtime::identity::OwnKind;
use crate::runtime::operation::{CurrentStep, Operation, Wait};
use crate::runtime::{Runtime, operate, with_runtime};
use crate::step::CallSite;

/// What the location of a second step holds when the message has gone from hand to hand,
const MET: u64 = 1;
/// and when the other side is gone.
const ALONE: u64 = 2;

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
    request: Option<Location>,
    /// The message that the receiver was given while it waited.
    delivered: Option<T>,
    /// Changed by clones, which are no steps: a sender lives then, and whether it is the only one nobody can
    /// tell.
    senders: usize,
    receiver_gone: bool,
}

impl<T> Channel<T> {
    /// A new channel in the execution that runs; none outside of a check.
    pub(super) fn new(created: CallSite) -> Option<Channel<T>> {
        let location = with_runtime(|runtime| {
            if runtime.search.foresee {
                let message = "sync_channel(0) is not supported by source; use optimal";
                runtime.fail(Stop::Unsupported(message.to_owned()));
            }
            new_location(runtime, created)
        })?;
        let state = State {
            offers: VecDeque::new(),
            refused: Vec::new(),
            request: None,
            delivered: None,
            senders: 1,
            receiver_gone: false,
        };
        Some(Channel { location, state: Confined::new(state) })
    }

    /// The state, for a first step: whom it lets go on depends on who waits.
    fn enter(&self, step: &mut CurrentStep<'_>) -> ConfinedGuard<'_, State<T>> {
        step.touch(self.location, AccessKind::Update);
        step.varies();
        self.state.lock()
    }

    /// A step lets a process go on that waits for a location.
    fn release(&self, location: Location, with: u64, step: &mut CurrentStep<'_>) {
        step.touch(location, AccessKind::Write);
        step.set(location, with);
        step.acquire(location);
        step.release(location);
    }

    /// A step that waited for a location goes on; gives what it holds.
    fn go_on(&self, location: Location, step: &mut CurrentStep<'_>) -> u64 {
        step.touch(location, AccessKind::Read);
        step.waited_for(location);
        step.acquire(location);
        step.peek(location)
    }
}

impl<T> Flavour<T> for Channel<T> {
    fn location(&self) -> Location {
        self.location
    }

    fn send(&self, message: &mut Option<T>, waits: bool, step: &mut CurrentStep<'_>) -> Sent {
        let mut state = self.enter(step);
        if state.receiver_gone {
            step.acquire_part(self.location, BY_RECEIVER);
            Sent::Disconnected
        } else if let Some(request) = state.request.take() {
            state.delivered = message.take();
            self.release(request, MET, step);
            Sent::Done
        } else if waits {
            let offer = step.runtime.make(step.process, OwnKind::Message);
            step.release(offer);
            state.offers.extend(message.take().map(|message| (offer, message)));
            step.note(|| "and wait for the receiver".to_owned());
            Sent::Offered(offer)
        } else {
            step.note(|| "the receiver does not wait".to_owned());
            Sent::Full
        }
    }

    fn end_send(&self, offer: Location, place: CallSite) -> Option<T> {
        let mut end = EndSend { channel: self, offer, refused: None };
        operate(&mut end, place);
        end.refused
    }

    fn supply(&self) -> Wait {
        Wait::Nothing
    }

    fn receive(&self, mode: WaitMode, step: &mut CurrentStep<'_>) -> Received<T> {
        let mut state = self.enter(step);
        if let Some((offer, message)) = state.offers.pop_front() {
            self.release(offer, MET, step);
            Received::Done(Ok(message))
        } else if state.senders == 0 {
            step.acquire_part(self.location, BY_SENDERS);
            Received::Done(Err(TryRecvError::Disconnected))
        } else if mode == WaitMode::Try {
            Received::Done(Err(TryRecvError::Empty))
        } else {
            let request = step.runtime.make(step.process, OwnKind::Message);
            state.request = Some(request);
            step.release(request);
            step.note(|| "and wait for a sender".to_owned());
            Received::Requested(request)
        }
    }

    fn end_receive(&self, request: Location, mode: WaitMode, place: CallSite) -> Result<T, TryRecvError> {
        let mut end = EndReceive { channel: self, request, mode, result: Err(TryRecvError::Disconnected) };
        operate(&mut end, place);
        end.result
    }

    fn senders(&self) -> usize {
        self.state.lock().senders
    }

    fn clone_sender(&self, _sender: usize) -> usize {
        self.state.lock().senders += 1;
        FIRST
    }

    fn drop_sender(&self, _sender: usize, step: &mut CurrentStep<'_>) {
        let mut state = self.enter(step);
        step.release_part(self.location, BY_SENDERS);
        state.senders -= 1;
        if state.senders == 0
            && let Some(request) = state.request.take()
        {
            // The receiver comes after the ends of all senders.
            step.acquire_part(self.location, BY_SENDERS);
            self.release(request, ALONE, step);
        }
    }

    fn drop_receiver(&self, step: &mut CurrentStep<'_>) -> Vec<T> {
        let mut state = self.enter(step);
        step.release_part(self.location, BY_RECEIVER);
        state.receiver_gone = true;
        while let Some((offer, message)) = state.offers.pop_front() {
            self.release(offer, ALONE, step);
            state.refused.push((offer, message));
        }
        Vec::new()
    }
}

/// The second step of a send.
struct EndSend<'a, T> {
    channel: &'a Channel<T>,
    offer: Location,
    refused: Option<T>,
}

impl<T> Operation for EndSend<'_, T> {
    fn wait(&self) -> Wait {
        Wait::Own
    }

    fn ready(&self, runtime: &Runtime, _process: ProcessId) -> bool {
        runtime.value(self.offer) != 0
    }

    fn perform(&mut self, step: &mut CurrentStep<'_>) {
        if self.channel.go_on(self.offer, step) == ALONE {
            let mut state = self.channel.state.lock();
            let at = state.refused.iter().position(|(offer, _)| *offer == self.offer);
            self.refused = at.map(|at| state.refused.swap_remove(at).1);
            step.note(|| "the receiver is gone".to_owned());
        }
    }

    fn describe(&self, runtime: &Runtime) -> String {
        format!("{}.send() ends", runtime.name_of_location(self.channel.location))
    }

    fn waits_for(&self, runtime: &Runtime) -> (String, Vec<ProcessId>) {
        let name = runtime.name_of_location(self.channel.location);
        (format!("`{name}` to be received from"), Vec::new())
    }
}

/// The second step of a receive.
struct EndReceive<'a, T> {
    channel: &'a Channel<T>,
    request: Location,
    mode: WaitMode,
    result: Result<T, TryRecvError>,
}

impl<T> EndReceive<'_, T> {
    fn may_time_out(&self) -> bool {
        self.mode == WaitMode::Timeout
    }
}

impl<T> Operation for EndReceive<'_, T> {
    fn wait(&self) -> Wait {
        if self.may_time_out() { Wait::Nothing } else { Wait::Own }
    }

    fn ready(&self, runtime: &Runtime, _process: ProcessId) -> bool {
        runtime.value(self.request) != 0
    }

    fn perform(&mut self, step: &mut CurrentStep<'_>) {
        let (mut state, found) = if self.may_time_out() {
            // Not to wait any longer is a change of the channel.
            let (state, found) = (self.channel.enter(step), step.peek(self.request));
            if found != 0 {
                step.acquire(self.request);
            }
            (state, found)
        } else {
            let found = self.channel.go_on(self.request, step);
            (self.channel.state.lock(), found)
        };
        self.result = match found {
            MET => state.delivered.take().ok_or(TryRecvError::Disconnected),
            ALONE => Err(TryRecvError::Disconnected),
            _ => {
                state.request = None;
                Err(TryRecvError::Empty)
            }
        };
        if let Err(error) = self.result {
            step.note(|| nothing_received(error).to_owned());
        }
    }

    fn describe(&self, runtime: &Runtime) -> String {
        format!("{}.{}() ends", runtime.name_of_location(self.channel.location), self.mode.call())
    }

    fn waits_for(&self, runtime: &Runtime) -> (String, Vec<ProcessId>) {
        (lacks_message(self.channel, runtime), Vec::new())
    }
}
