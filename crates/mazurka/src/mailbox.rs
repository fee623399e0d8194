//! Mailboxes, as actors have them: many senders, one receiver, which may take messages out of turn.
//!
//! A receive takes the oldest message, or the oldest that it is asked for, and the others stay. A mailbox is never closed: to
//! send always succeeds, and a receive that nobody serves is a deadlock. Sends to one mailbox are ordered; a receive
//! depends on the send of the message that it takes and on nothing else, unless it finds none.
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
use std::fmt;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, Location as Caller, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mazurka_program::{AccessKind, Location, ProcessId, Stop};

use crate::runtime::identity::OwnKind;
use crate::runtime::operation::{Operation, Step, Wait};
use crate::runtime::{Described, World, operate, stop_without, with_world, without_world};
use crate::sync::mpsc::origin::{Origin, Scene};
use crate::sync::mpsc::queue::Queue;

/// A new mailbox and its address.
#[track_caller]
pub fn mailbox<T>() -> (Address<T>, Mailbox<T>) {
    let origin = Origin::now("mailbox", Caller::caller());
    let order = with_world(|world| {
        if world.search.foresee {
            // What a receive touches depends on what it finds.
            world.fail(Stop::Unsupported("a mailbox is not supported by source; use optimal".to_owned()));
        }
        let order = world.make(world.execution.schedule.running, OwnKind::Handle);
        world.describe(order, Described { kind: "mailbox", created: origin.created });
        order
    });
    let post = match order {
        Some(order) => Post::Model(Arc::new(Model {
            order,
            state: Mutex::new(State { queue: Queue::new(order), closed: false }),
        })),
        None => Post::Real(Arc::new(Real { messages: Mutex::new(VecDeque::new()), sent: Condvar::new() })),
    };
    (Address { origin, post: post.clone() }, Mailbox { origin, post, not_sync: PhantomData })
}

/// Where messages are sent to a [`Mailbox`].
pub struct Address<T> {
    origin: Origin,
    post: Post<T>,
}

/// Where messages are received.
pub struct Mailbox<T> {
    origin: Origin,
    post: Post<T>,
    not_sync: PhantomData<std::cell::Cell<()>>,
}

enum Post<T> {
    Model(Arc<Model<T>>),
    Real(Arc<Real<T>>),
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
        if self.origin.enter(place) == Scene::Elsewhere {
            return;
        }
        match &self.post {
            Post::Model(model) => {
                let mut send = Send { model, message: Some(message) };
                operate(&mut send, place);
            }
            Post::Real(real) => {
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
    /// The function may be called any number of times. It must look at nothing but the message, and do no operation
    /// that threads are scheduled at.
    #[track_caller]
    pub fn receive_match(&self, matches: impl Fn(&T) -> bool) -> T {
        let place = Caller::caller();
        self.take(&matches, Patience::Endless, "receive", place).unwrap_or_else(|| stop_without(place))
    }

    /// Takes the oldest message if there is one.
    #[track_caller]
    pub fn try_receive(&self) -> Option<T> {
        self.take(&|_| true, Patience::None, "try_receive", Caller::caller())
    }

    /// Takes the oldest message that matches, if there is one; see [`Mailbox::receive_match`].
    #[track_caller]
    pub fn try_receive_match(&self, matches: impl Fn(&T) -> bool) -> Option<T> {
        self.take(&matches, Patience::None, "try_receive", Caller::caller())
    }

    /// Takes the oldest message; waits for one, for a time: within a check it may time out wherever there is none.
    #[track_caller]
    pub fn receive_timeout(&self, timeout: Duration) -> Option<T> {
        self.take(&|_| true, Patience::For(timeout), "receive_timeout", Caller::caller())
    }

    /// Takes the oldest message that matches; waits for one, for a time, as [`Mailbox::receive_timeout`] does.
    #[track_caller]
    pub fn receive_match_timeout(&self, matches: impl Fn(&T) -> bool, timeout: Duration) -> Option<T> {
        self.take(&matches, Patience::For(timeout), "receive_timeout", Caller::caller())
    }

    fn take(
        &self,
        matches: &dyn Fn(&T) -> bool,
        patience: Patience,
        call: &'static str,
        place: &'static Caller<'static>,
    ) -> Option<T> {
        if self.origin.enter(place) == Scene::Elsewhere {
            return None;
        }
        match &self.post {
            Post::Model(model) => {
                let waits = patience == Patience::Endless;
                let mut receive = Receive { model, matches, waits, call, found: None };
                operate(&mut receive, place);
                receive.found.map(|found| found.judged(matches))
            }
            Post::Real(real) => real.take(matches, patience),
        }
    }
}

/// How long a receive waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Patience {
    None,
    For(Duration),
    Endless,
}

impl<T> Real<T> {
    fn take(&self, matches: &dyn Fn(&T) -> bool, patience: Patience) -> Option<T> {
        let until = match patience {
            Patience::For(timeout) => Instant::now().checked_add(timeout),
            Patience::None | Patience::Endless => None,
        };
        let mut messages = locked(&self.messages);
        loop {
            let found = messages.iter().position(matches);
            if found.is_some() || patience == Patience::None {
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

struct Send<'a, T> {
    model: &'a Model<T>,
    /// None once it is sent.
    message: Option<T>,
}

impl<T> Operation for Send<'_, T> {
    fn perform(&mut self, step: &mut Step<'_>) {
        let mut state = locked(&self.model.state);
        if state.closed {
            // As if it were sent: the label does not vary.
            state.queue.send_nothing(step);
        } else if let Some(message) = self.message.take() {
            state.queue.send(message, step);
        }
    }

    fn describe(&self, world: &World) -> String {
        format!("{}.send()", world.name_of_location(self.model.order))
    }
}

struct Receive<'a, T> {
    model: &'a Model<T>,
    matches: &'a dyn Fn(&T) -> bool,
    waits: bool,
    call: &'static str,
    found: Option<Found<T>>,
}

/// A message that was taken.
struct Found<T> {
    message: T,
    /// Whether the function that says what matches panicked on it.
    panicked: bool,
}

impl<T> Found<T> {
    /// The message, for the process that took it; a panic is brought to where it belongs.
    fn judged(self, matches: &dyn Fn(&T) -> bool) -> T {
        if self.panicked {
            matches(&self.message);
            panic!("a function that says which message to receive must look at nothing but the message");
        }
        self.message
    }
}

impl<T> Receive<'_, T> {
    /// The oldest message that matches. The function runs within a step, where it must not panic: a message on which it
    /// does is taken, and the receiver panics.
    fn find(&self, queue: &Queue<T>) -> Option<(usize, bool)> {
        queue.iter().enumerate().find_map(|(at, message)| {
            match catch_unwind(AssertUnwindSafe(|| without_world(|| (self.matches)(message)))) {
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

    fn ready(&self, _world: &World, _process: ProcessId) -> bool {
        self.find(&locked(&self.model.state).queue).is_some()
    }

    fn perform(&mut self, step: &mut Step<'_>) {
        let mut state = locked(&self.model.state);
        let Some((at, panicked)) = self.find(&state.queue) else {
            // Does not vary: with fewer messages it would find nothing either.
            state.queue.find_nothing(step);
            step.note(|| "nothing to receive".to_owned());
            return;
        };
        self.found = state.queue.take(at, self.waits, step).map(|message| Found { message, panicked });
        if !self.waits {
            step.varies();
        }
    }

    fn describe(&self, world: &World) -> String {
        format!("{}.{}()", world.name_of_location(self.model.order), self.call)
    }

    fn waits_for(&self, world: &World) -> (String, Vec<ProcessId>) {
        let name = world.name_of_location(self.model.order);
        let what = match locked(&self.model.state).queue.iter().count() {
            0 => format!("a message in `{name}`, which is empty"),
            1 => format!("a message in `{name}` that matches; the one that is there does not"),
            count => format!("a message in `{name}` that matches; the {count} that are there do not"),
        };
        (what, Vec::new())
    }
}

/// Ends a mailbox whose messages have destructors: these must run in a thread and at a time that do not depend on who
/// drops the last address.
struct Close<'a, T> {
    model: &'a Model<T>,
    left: Vec<T>,
}

impl<T> Operation for Close<'_, T> {
    fn perform(&mut self, step: &mut Step<'_>) {
        step.touch(self.model.order, AccessKind::Update);
        let mut state = locked(&self.model.state);
        state.closed = true;
        self.left = state.queue.take_all(step);
    }

    fn describe(&self, world: &World) -> String {
        format!("drop {}", world.name_of_location(self.model.order))
    }
}

impl<T> Drop for Mailbox<T> {
    fn drop(&mut self) {
        if let Post::Model(model) = &self.post
            && std::mem::needs_drop::<T>()
            && self.origin.scene() == Scene::Inside
        {
            let mut close = Close { model, left: Vec::new() };
            operate(&mut close, self.origin.created);
            drop(close.left);
        }
    }
}

impl<T> Clone for Post<T> {
    fn clone(&self) -> Post<T> {
        match self {
            Post::Model(model) => Post::Model(model.clone()),
            Post::Real(real) => Post::Real(real.clone()),
        }
    }
}

impl<T> Clone for Address<T> {
    fn clone(&self) -> Address<T> {
        Address { origin: self.origin, post: self.post.clone() }
    }
}

impl<T> fmt::Debug for Address<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Address").finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for Mailbox<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mailbox").finish_non_exhaustive()
    }
}
