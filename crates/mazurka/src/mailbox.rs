//! Mailboxes, as actors have them: many senders, one receiver, which may take messages out of turn.
//!
//! A receive takes the oldest message, or the oldest that it is asked for, and the others stay. A mailbox is
//! never closed: to send always succeeds, and a receive that nobody serves is a deadlock. Sends to one
//! mailbox are ordered; a receive depends on the send of the message that it takes and on nothing else,
//! unless it finds none.
//!
//! ```
//! use mazurka::{mailbox::mailbox, thread};
//!
//! let report = mazurka::Checker::new().run(|| {
//!     let (address, mailbox) = mailbox();
//!     for number in 1..=3 {
//!         let address = address.clone();
//!         thread::spawn(move || address.send(number));
//!     }
//!     assert_eq!(mailbox.receive_match(|&number| number == 2), 2);
//!     assert_eq!(mailbox.receive() + mailbox.receive(), 4);
//! });
//! // Three messages come in six orders.
//! assert_eq!((report.is_pass(), report.executions()), (true, 6));
//! ```

use std::collections::VecDeque;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, Location as Caller, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mazurka_program::{AccessKind, Location, ProcessId, Stop};

use crate::origin::{Membership, Origin};
use crate::runtime::identity::OwnKind;
use crate::runtime::operation::{CurrentStep, Operation, Wait};
use crate::runtime::{Described, Runtime, operate, outside_runtime, stop_without, with_runtime};
use crate::step::{CallSite, call, opaque_debug, take_step, verb};
use crate::sync::mpsc::queue::Queue;

/// A new mailbox and its address.
#[track_caller]
pub fn mailbox<T>() -> (Address<T>, Mailbox<T>) {
    let origin = Origin::now("mailbox", Caller::caller());
    let order = with_runtime(|runtime| {
        if runtime.search.foresee {
            // What a receive touches depends on what it finds.
            runtime.fail(Stop::Unsupported("a mailbox is not supported by source; use optimal".to_owned()));
        }
        let order = runtime.make(runtime.running(), OwnKind::Handle);
        runtime.describe(order, Described { kind: "mailbox", created: origin.created });
        order
    });
    let flavour = Arc::new(match order {
        Some(order) => {
            let state = State { queue: Queue::new(order), closed: false };
            Flavour::Model(Model { order, state: Mutex::new(state) })
        }
        None => Flavour::Real(Real { messages: Mutex::new(VecDeque::new()), sent: Condvar::new() }),
    });
    (Address { origin, flavour: flavour.clone() }, Mailbox { origin, flavour, not_sync: PhantomData })
}

/// Where messages are sent to a [`Mailbox`].
pub struct Address<T> {
    origin: Origin,
    flavour: Arc<Flavour<T>>,
}

/// Where messages are received.
pub struct Mailbox<T> {
    origin: Origin,
    flavour: Arc<Flavour<T>>,
    not_sync: PhantomData<std::cell::Cell<()>>,
}

enum Flavour<T> {
    Model(Model<T>),
    Real(Real<T>),
}

struct Model<T> {
    /// The location of the order of messages.
    order: Location,
    state: Mutex<State<T>>,
}

struct State<T> {
    queue: Queue<T>,
    /// Whether the receiver is gone, and what is sent goes nowhere.
    closed: bool,
}

struct Real<T> {
    messages: Mutex<VecDeque<T>>,
    sent: Condvar,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<T> Address<T> {
    /// Sends a message. It never waits and never fails; if the receiver is gone the message is dropped.
    #[track_caller]
    pub fn send(&self, message: T) {
        let place = Caller::caller();
        if self.origin.enter(place) == Membership::Foreign {
            return;
        }
        match &*self.flavour {
            Flavour::Model(model) => {
                let mut message = Some(message);
                take_step(place, call(model.order, "send"), |step| {
                    let mut state = locked(&model.state);
                    if state.closed {
                        // As if it were sent: the label does not vary.
                        state.queue.send_nothing(step);
                    } else if let Some(message) = message.take() {
                        state.queue.send(message, step);
                    }
                });
            }
            Flavour::Real(real) => {
                locked(&real.messages).push_back(message);
                real.sent.notify_one();
            }
        }
    }
}

impl<T> Mailbox<T> {
    /// Takes the oldest message; waits for one.
    #[track_caller]
    pub fn receive(&self) -> T {
        self.receive_match(|_| true)
    }

    /// Takes the oldest message that matches; waits for one. The others stay.
    ///
    /// The function may be called any number of times. It must look at nothing but the message, and do no
    /// operation that threads are scheduled at.
    #[track_caller]
    pub fn receive_match(&self, matches: impl Fn(&T) -> bool) -> T {
        let place = Caller::caller();
        self.take(&matches, WaitMode::Block, "receive", place).unwrap_or_else(|| stop_without(place))
    }

    /// Takes the oldest message if there is one.
    #[track_caller]
    pub fn try_receive(&self) -> Option<T> {
        self.take(&|_| true, WaitMode::Try, "try_receive", Caller::caller())
    }

    /// Takes the oldest message that matches, if there is one; see [`Mailbox::receive_match`].
    #[track_caller]
    pub fn try_receive_match(&self, matches: impl Fn(&T) -> bool) -> Option<T> {
        self.take(&matches, WaitMode::Try, "try_receive", Caller::caller())
    }

    /// Takes the oldest message; waits for one, for a time: within a check it may time out wherever there is
    /// none.
    #[track_caller]
    pub fn receive_timeout(&self, timeout: Duration) -> Option<T> {
        self.take(&|_| true, WaitMode::For(timeout), "receive_timeout", Caller::caller())
    }

    /// Takes the oldest message that matches; waits for one, for a time, as [`Mailbox::receive_timeout`]
    /// does.
    #[track_caller]
    pub fn receive_match_timeout(&self, matches: impl Fn(&T) -> bool, timeout: Duration) -> Option<T> {
        self.take(&matches, WaitMode::For(timeout), "receive_timeout", Caller::caller())
    }

    fn take(
        &self,
        matches: &dyn Fn(&T) -> bool,
        mode: WaitMode,
        call: &'static str,
        place: CallSite,
    ) -> Option<T> {
        if self.origin.enter(place) == Membership::Foreign {
            return None;
        }
        match &*self.flavour {
            Flavour::Model(model) => {
                let waits = mode == WaitMode::Block;
                let mut receive = Receive { model, matches, waits, call, taken: None };
                operate(&mut receive, place);
                receive.taken.map(|taken| taken.into_message(matches))
            }
            Flavour::Real(real) => real.take(matches, mode),
        }
    }
}

/// How long a receive waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum WaitMode {
    Try,
    For(Duration),
    Block,
}

impl<T> Real<T> {
    fn take(&self, matches: &dyn Fn(&T) -> bool, mode: WaitMode) -> Option<T> {
        let until = match mode {
            WaitMode::For(timeout) => Instant::now().checked_add(timeout),
            WaitMode::Try | WaitMode::Block => None,
        };
        let mut messages = locked(&self.messages);
        loop {
            let found = messages.iter().position(matches);
            if found.is_some() || mode == WaitMode::Try {
                return found.and_then(|at| messages.remove(at));
            }
            messages = match until {
                None => self.sent.wait(messages).unwrap_or_else(PoisonError::into_inner),
                Some(until) => {
                    let left = until.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return None;
                    }
                    self.sent.wait_timeout(messages, left).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }
}

struct Receive<'a, T> {
    model: &'a Model<T>,
    matches: &'a dyn Fn(&T) -> bool,
    waits: bool,
    call: &'static str,
    taken: Option<TakenMessage<T>>,
}

/// A message that was taken.
struct TakenMessage<T> {
    message: T,
    /// Whether the function that says what matches panicked on it.
    panicked: bool,
}

impl<T> TakenMessage<T> {
    /// The message, for the process that took it; a panic is brought to where it belongs.
    fn into_message(self, matches: &dyn Fn(&T) -> bool) -> T {
        if self.panicked {
            matches(&self.message);
            panic!("a function that says which message to receive must look at nothing but the message");
        }
        self.message
    }
}

impl<T> Receive<'_, T> {
    /// The oldest message that matches. The function runs within a step, where it must not panic: a message
    /// on which it does is taken, and the receiver panics.
    fn find(&self, queue: &Queue<T>) -> Option<(usize, bool)> {
        queue.iter().enumerate().find_map(|(at, message)| {
            match catch_unwind(AssertUnwindSafe(|| outside_runtime(|| (self.matches)(message)))) {
                Ok(true) => Some((at, false)),
                Ok(false) => None,
                Err(_) => Some((at, true)),
            }
        })
    }
}

impl<T> Operation for Receive<'_, T> {
    fn wait(&self) -> Wait {
        if self.waits { Wait::Own } else { Wait::Nothing }
    }

    fn ready(&self, _world: &Runtime, _process: ProcessId) -> bool {
        self.find(&locked(&self.model.state).queue).is_some()
    }

    fn perform(&mut self, step: &mut CurrentStep<'_>) {
        let mut state = locked(&self.model.state);
        let Some((at, panicked)) = self.find(&state.queue) else {
            // Does not vary: with fewer messages it would find nothing either. Searches that have it read from later
            // steps know of no messages.
            state.queue.find_nothing(step);
            step.note(|| "nothing to receive".to_owned());
            return;
        };
        self.taken = state.queue.take(at, self.waits, step).map(|message| TakenMessage { message, panicked });
        if !self.waits {
            step.varies();
        }
    }

    fn describe(&self, runtime: &Runtime) -> String {
        format!("{}.{}()", runtime.name_of_location(self.model.order), self.call)
    }

    fn waits_for(&self, runtime: &Runtime) -> (String, Vec<ProcessId>) {
        let name = runtime.name_of_location(self.model.order);
        let what = match locked(&self.model.state).queue.iter().count() {
            0 => format!("a message in `{name}`, which is empty"),
            1 => format!("a message in `{name}` that matches; the one that is there does not"),
            count => format!("a message in `{name}` that matches; the {count} that are there do not"),
        };
        (what, Vec::new())
    }
}

impl<T> Drop for Mailbox<T> {
    /// If messages have destructors, these must run in a thread and at a time that do not depend on who drops
    /// the last address.
    fn drop(&mut self) {
        if let Flavour::Model(model) = &*self.flavour
            && std::mem::needs_drop::<T>()
            && self.origin.membership() == Membership::Inside
        {
            let left = take_step(self.origin.created, verb("drop", model.order), |step| {
                step.touch(model.order, AccessKind::Update);
                let mut state = locked(&model.state);
                state.closed = true;
                state.queue.take_all(step)
            });
            drop(left);
        }
    }
}

impl<T> Clone for Address<T> {
    fn clone(&self) -> Address<T> {
        Address { origin: self.origin, flavour: self.flavour.clone() }
    }
}

opaque_debug! {
    Address<T>;
    Mailbox<T>;
}
