//! A channel with room for so many messages, within a check.
//!
//! It has one location, which every operation updates: who takes a message makes room, and several senders
//! compete for it, so nearly everything does depend on everything. The cell holds the number of messages,
//! made large when all senders are gone, so that the receiver need not wait, and 0 when the receiver is, so
//! that no sender does.
//!
//! With static footprints channels without a bound are of this kind too.

use std::collections::VecDeque;

use mazurka_program::{AccessKind, Location};

use super::TryRecvError;
use super::channel::{
    BY_RECEIVER, BY_SENDERS, FIRST, Flavour, Received, Sent, WaitMode, new_location, plural,
};
use crate::runtime::confined::Confined;
use crate::runtime::operation::{CurrentStep, Wait};
use crate::runtime::with_runtime;
use crate::step::CallSite;
use mazurka_threads::values::Until;

/// What is added to the number of messages when all senders are gone.
const NO_SENDER: u64 = 1 << 63;

pub(super) struct Channel<T> {
    location: Location,
    /// Not 0. None if there is none.
    bound: Option<usize>,
    state: Confined<State<T>>,
}

/// The first of the parts of the location that stand for places of messages: who takes a message comes after
/// who sent it, and who finds its place free comes after who made it so.
const PLACES: u32 = 2;

struct State<T> {
    messages: VecDeque<T>,
    /// How many were ever taken.
    taken: u32,
    /// Changed by clones, which are no steps: a sender lives then, and whether it is the only one nobody can
    /// tell.
    senders: usize,
    receiver_gone: bool,
}

impl<T> State<T> {
    /// The part of the channel's location that stands for the place of a message, the `ahead`th of those that
    /// are there.
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
    pub(super) fn new(bound: Option<usize>, created: CallSite) -> Option<Channel<T>> {
        let location = with_runtime(|runtime| new_location(runtime, created))?;
        let state = State { messages: VecDeque::new(), taken: 0, senders: 1, receiver_gone: false };
        Some(Channel { location, bound, state: Confined::new(state) })
    }

    /// A step changes the channel or looks at it.
    fn change<R>(
        &self,
        step: &mut CurrentStep<'_>,
        change: impl FnOnce(&mut State<T>, &mut CurrentStep<'_>) -> R,
    ) -> R {
        step.touch(self.location, AccessKind::Update);
        let mut state = self.state.lock();
        let result = change(&mut state, step);
        step.set(self.location, state.cell());
        result
    }
}

impl<T> Flavour<T> for Channel<T> {
    fn location(&self) -> Location {
        self.location
    }

    fn room(&self) -> Wait {
        match self.bound {
            Some(bound) => Wait::Guard { location: self.location, until: Until::Below(bound as u64) },
            None => Wait::Nothing,
        }
    }

    fn lacks_room(&self, name: &str) -> String {
        let bound = self.bound.unwrap_or(0);
        format!("room in `{name}`, which is full with {bound} message{}", plural(bound))
    }

    fn send(&self, message: &mut Option<T>, _waits: bool, step: &mut CurrentStep<'_>) -> Sent {
        self.change(step, |state, step| {
            if state.receiver_gone {
                step.acquire_part(self.location, BY_RECEIVER);
                return Sent::Disconnected;
            }
            if self.bound.is_some_and(|bound| state.messages.len() >= bound) {
                step.note(|| "full".to_owned());
                return Sent::Full;
            }
            let place = state.place(state.messages.len(), self.bound);
            step.acquire_part(self.location, place);
            step.release_part(self.location, place);
            state.messages.extend(message.take());
            Sent::Done
        })
    }

    fn supply(&self) -> Wait {
        Wait::Guard { location: self.location, until: Until::AtLeast(1) }
    }

    fn receive(&self, _mode: WaitMode, step: &mut CurrentStep<'_>) -> Received<T> {
        let received = self.change(step, |state, step| match state.messages.pop_front() {
            Some(message) => {
                let place = state.place(0, self.bound);
                step.acquire_part(self.location, place);
                step.release_part(self.location, place);
                state.taken = state.taken.wrapping_add(1);
                Ok(message)
            }
            None if state.senders == 0 => {
                step.acquire_part(self.location, BY_SENDERS);
                Err(TryRecvError::Disconnected)
            }
            None => Err(TryRecvError::Empty),
        });
        Received::Done(received)
    }

    fn senders(&self) -> usize {
        self.state.lock().senders
    }

    fn clone_sender(&self, _sender: usize) -> usize {
        self.state.lock().senders += 1;
        FIRST
    }

    fn drop_sender(&self, _sender: usize, step: &mut CurrentStep<'_>) {
        self.change(step, |state, step| {
            step.release_part(self.location, BY_SENDERS);
            state.senders -= 1;
        });
    }

    fn drop_receiver(&self, step: &mut CurrentStep<'_>) -> Vec<T> {
        self.change(step, |state, step| {
            step.release_part(self.location, BY_RECEIVER);
            (0..state.messages.len())
                .for_each(|ahead| step.acquire_part(self.location, state.place(ahead, self.bound)));
            state.receiver_gone = true;
            std::mem::take(&mut state.messages).into()
        })
    }
}
