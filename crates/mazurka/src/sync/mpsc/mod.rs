//! Channels with many senders and one receiver, as in [`std::sync::mpsc`].
//!
//! Within a check [`channel`] tells apart what matters and nothing else: sends to one channel are ordered,
//! but a message is received in the same execution however many others were sent in the meantime, and senders
//! are dropped in no particular order. `n` producers of `k` messages each give as many executions as there
//! are orders of the messages. Every operation on a [`sync_channel`] counts as an access of the whole
//! channel: that is more than need be told apart, and nothing is missed. `recv_timeout` may time out wherever
//! no message is there.

mod bounded;
mod channel;
mod iter;
pub(crate) mod queue;
mod rendezvous;
mod senders;
mod unbounded;

use std::panic::{Location as Caller, RefUnwindSafe, UnwindSafe};
use std::sync::{Arc, mpsc as real};
use std::time::Duration;

pub use std::sync::mpsc::{RecvError, RecvTimeoutError, SendError, TryRecvError, TrySendError};

use channel::{Channel, FIRST, WaitMode};
pub use iter::{IntoIter, Iter, TryIter};

use crate::origin::{Membership, Origin};
use crate::step::{CallSite, opaque_debug};
use crate::time::Instant;

/// A channel without a bound.
///
/// ```
/// use mazurka::sync::mpsc::channel;
/// use mazurka::thread;
///
/// let report = mazurka::Checker::new().run(|| {
///     let (to, from) = channel();
///     let also = to.clone();
///     thread::spawn(move || to.send(1));
///     thread::spawn(move || also.send(2));
///     assert_eq!(from.iter().sum::<i32>(), 3);
/// });
/// assert_eq!((report.is_pass(), report.executions()), (true, 2));
/// ```
#[track_caller]
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let (sender, receiver) = handles(None, Caller::caller(), real::channel);
    (Sender { handle: sender }, Receiver { handle: receiver })
}

/// A channel that holds no more than `bound` messages. With 0, a send is done when its message has been
/// received.
#[track_caller]
pub fn sync_channel<T>(bound: usize) -> (SyncSender<T>, Receiver<T>) {
    let (sender, receiver) = handles(Some(bound), Caller::caller(), || real::sync_channel(bound));
    (SyncSender { handle: sender }, Receiver { handle: receiver })
}

/// A handle of a channel.
struct Handle<R, T> {
    origin: Origin,
    end: End<R, T>,
}

/// What a handle is the handle of.
enum End<R, T> {
    /// A channel of the standard library's.
    Real(R),
    /// One of a check; with the number of the sender, if it is one.
    Model(Arc<Channel<T>>, usize),
}

/// Both handles of a new channel.
fn handles<S, T>(
    bound: Option<usize>,
    created: CallSite,
    outside: impl FnOnce() -> (S, real::Receiver<T>),
) -> (Handle<S, T>, Handle<real::Receiver<T>, T>) {
    let origin = Origin::now("channel", created);
    let (sender, receiver) = match Channel::new(bound, created) {
        Some(channel) => (End::Model(channel.clone(), FIRST), End::Model(channel, FIRST)),
        None => {
            let (sender, receiver) = outside();
            (End::Real(sender), End::Real(receiver))
        }
    };
    (Handle { origin, end: sender }, Handle { origin, end: receiver })
}

impl<R, T> Handle<R, T> {
    /// The channel, where it can be used; if it was made elsewhere the execution ends.
    fn enter(&self, place: CallSite) -> Option<&End<R, T>> {
        (self.origin.enter(place) != Membership::Foreign).then_some(&self.end)
    }

    /// The channel of the check that runs, for a handle that is dropped.
    fn dropped(&self) -> Option<(&Channel<T>, usize, CallSite)> {
        match &self.end {
            End::Model(channel, number) if self.origin.membership() == Membership::Inside => {
                Some((channel, *number, self.origin.created))
            }
            _ => None,
        }
    }
}

/// The sending half of a [`channel`], as [`std::sync::mpsc::Sender`].
pub struct Sender<T> {
    handle: Handle<real::Sender<T>, T>,
}

/// The sending half of a [`sync_channel`], as [`std::sync::mpsc::SyncSender`].
pub struct SyncSender<T> {
    handle: Handle<real::SyncSender<T>, T>,
}

/// The receiving half of a [`channel`] or a [`sync_channel`], as [`std::sync::mpsc::Receiver`].
pub struct Receiver<T> {
    handle: Handle<real::Receiver<T>, T>,
}

macro_rules! handles {
    ($($name:ident),*) => {$(
        impl<T> UnwindSafe for $name<T> {}
        impl<T> RefUnwindSafe for $name<T> {}
        opaque_debug!($name<T>;);
    )*};
}
handles!(Sender, SyncSender, Receiver);

/// The error of a send that waits for room.
fn message_of<T>(error: TrySendError<T>) -> SendError<T> {
    match error {
        TrySendError::Full(message) | TrySendError::Disconnected(message) => SendError(message),
    }
}

macro_rules! senders {
    ($($name:ident),*) => {$(
        impl<T> $name<T> {
            /// Sends a message, and waits for room if the channel has a bound; gives it back as an error if
            /// the receiver is gone.
            #[track_caller]
            pub fn send(&self, message: T) -> Result<(), SendError<T>> {
                let place = Caller::caller();
                match self.handle.enter(place) {
                    Some(End::Real(sender)) => sender.send(message),
                    Some(End::Model(channel, _)) => channel.send(message, true, place).map_err(message_of),
                    None => Err(SendError(message)),
                }
            }
        }

        impl<T> Clone for $name<T> {
            #[track_caller]
            fn clone(&self) -> $name<T> {
                let end = match &self.handle.end {
                    End::Real(sender) => End::Real(sender.clone()),
                    End::Model(channel, number) => {
                        let inside = self.handle.enter(Caller::caller()).is_some();
                        let number = if inside { channel.clone_sender(*number) } else { *number };
                        End::Model(channel.clone(), number)
                    }
                };
                $name { handle: Handle { origin: self.handle.origin, end } }
            }
        }

        impl<T> Drop for $name<T> {
            fn drop(&mut self) {
                if let Some((channel, number, place)) = self.handle.dropped() {
                    channel.drop_sender(number, place);
                }
            }
        }
    )*};
}
senders!(Sender, SyncSender);

impl<T> SyncSender<T> {
    /// Sends a message if there is room; if the bound is 0, if the receiver waits. Gives it back as an error
    /// if it can't.
    #[track_caller]
    pub fn try_send(&self, message: T) -> Result<(), TrySendError<T>> {
        let place = Caller::caller();
        match self.handle.enter(place) {
            Some(End::Real(sender)) => sender.try_send(message),
            Some(End::Model(channel, _)) => channel.send(message, false, place),
            None => Err(TrySendError::Disconnected(message)),
        }
    }
}

impl<T> Receiver<T> {
    /// Receives the oldest message, and waits for one; an error if there is none and all senders are gone.
    #[track_caller]
    pub fn recv(&self) -> Result<T, RecvError> {
        let place = Caller::caller();
        match self.handle.enter(place) {
            Some(End::Real(receiver)) => receiver.recv(),
            Some(End::Model(channel, _)) => channel.receive(WaitMode::Block, place).map_err(|_| RecvError),
            None => Err(RecvError),
        }
    }

    /// Receives the oldest message; an error if there is none.
    #[track_caller]
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        let place = Caller::caller();
        match self.handle.enter(place) {
            Some(End::Real(receiver)) => receiver.try_recv(),
            Some(End::Model(channel, _)) => channel.receive(WaitMode::Try, place),
            None => Err(TryRecvError::Disconnected),
        }
    }

    /// Receives the oldest message, and waits for one, for a time: within a check it may time out wherever
    /// there is none.
    #[track_caller]
    pub fn recv_timeout(&self, timeout: Duration) -> Result<T, RecvTimeoutError> {
        let real = |receiver: &real::Receiver<T>| receiver.recv_timeout(timeout);
        self.receive_in_time(real, || crate::time::passes(timeout), Caller::caller())
    }

    /// As [`recv_timeout`](Receiver::recv_timeout), until a time. (The standard library is about to have it.)
    #[track_caller]
    pub fn recv_deadline(&self, deadline: Instant) -> Result<T, RecvTimeoutError> {
        let real = |receiver: &real::Receiver<T>| {
            receiver.recv_timeout(deadline.saturating_duration_since(Instant::now()))
        };
        self.receive_in_time(real, || deadline.has_come(), Caller::caller())
    }

    /// Receives the oldest message, and waits for one; it may time out.
    fn receive_in_time(
        &self,
        real: impl FnOnce(&real::Receiver<T>) -> Result<T, RecvTimeoutError>,
        late: impl FnOnce(),
        place: CallSite,
    ) -> Result<T, RecvTimeoutError> {
        let received = match self.handle.enter(place) {
            Some(End::Real(receiver)) => return real(receiver),
            Some(End::Model(channel, _)) => channel.receive(WaitMode::Timeout, place),
            None => Err(TryRecvError::Disconnected),
        };
        received.map_err(|error| match error {
            TryRecvError::Empty => {
                late();
                RecvTimeoutError::Timeout
            }
            TryRecvError::Disconnected => RecvTimeoutError::Disconnected,
        })
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        if let Some((channel, _, place)) = self.handle.dropped() {
            channel.drop_receiver(place);
        }
    }
}
