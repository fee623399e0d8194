//! Channels with many senders and one receiver, as in [`std::sync::mpsc`].
//!
//! Within a check [`channel`] tells apart what matters and nothing else: sends to one channel are ordered, but a message
//! is received in the same execution however many others were sent in the meantime, and senders are dropped in no
//! particular order. `n` producers of `k` messages each give as many executions as there are orders of the messages.
//! Every operation on a [`sync_channel`] counts as an access of the whole channel: that is more than need be told apart,
//! and nothing is missed. `recv_timeout` may time out wherever no message is there.

mod bounded;
mod iter;
pub(crate) mod origin;
pub(crate) mod queue;
mod rendezvous;
mod senders;
mod unbounded;

use std::fmt;
use std::panic::{Location as Caller, RefUnwindSafe, UnwindSafe};
use std::sync::{Arc, mpsc as real};
use std::time::Duration;

pub use std::sync::mpsc::{RecvError, RecvTimeoutError, SendError, TryRecvError, TrySendError};

pub use iter::{IntoIter, Iter, TryIter};
use origin::{Origin, Scene};

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
    let origin = Origin::now("channel", Caller::caller());
    let (sender, receiver) = if let Some(channel) = unbounded::Channel::new(origin.created) {
        let channel = Arc::new(channel);
        let sender = SenderKind::Unbounded { channel: channel.clone(), number: unbounded::FIRST };
        (sender, ReceiverKind::Unbounded(channel))
    } else if let Some(channel) = bounded::Channel::new(None, origin.created) {
        let channel = Arc::new(channel);
        (SenderKind::Coarse(channel.clone()), ReceiverKind::Bounded(channel))
    } else {
        let (sender, receiver) = real::channel();
        (SenderKind::Real(sender), ReceiverKind::Real(receiver))
    };
    (Sender { origin, kind: sender }, Receiver { origin, kind: receiver })
}

/// A channel that holds no more than `bound` messages. With 0, a send is done when its message has been received.
#[track_caller]
pub fn sync_channel<T>(bound: usize) -> (SyncSender<T>, Receiver<T>) {
    let origin = Origin::now("channel", Caller::caller());
    let created = origin.created;
    let model = match bound {
        0 => rendezvous::Channel::new(created).map(|channel| {
            let channel = Arc::new(channel);
            (SyncSenderKind::Rendezvous(channel.clone()), ReceiverKind::Rendezvous(channel))
        }),
        bound => bounded::Channel::new(Some(bound), created).map(|channel| {
            let channel = Arc::new(channel);
            (SyncSenderKind::Bounded(channel.clone()), ReceiverKind::Bounded(channel))
        }),
    };
    let (sender, receiver) = model.unwrap_or_else(|| {
        let (sender, receiver) = real::sync_channel(bound);
        (SyncSenderKind::Real(sender), ReceiverKind::Real(receiver))
    });
    (SyncSender { origin, kind: sender }, Receiver { origin, kind: receiver })
}

/// The sending half of a [`channel`], as [`std::sync::mpsc::Sender`].
pub struct Sender<T> {
    origin: Origin,
    kind: SenderKind<T>,
}

enum SenderKind<T> {
    Real(real::Sender<T>),
    Unbounded {
        channel: Arc<unbounded::Channel<T>>,
        number: usize,
    },
    /// With static footprints.
    Coarse(Arc<bounded::Channel<T>>),
}

/// The sending half of a [`sync_channel`], as [`std::sync::mpsc::SyncSender`].
pub struct SyncSender<T> {
    origin: Origin,
    kind: SyncSenderKind<T>,
}

enum SyncSenderKind<T> {
    Real(real::SyncSender<T>),
    Bounded(Arc<bounded::Channel<T>>),
    Rendezvous(Arc<rendezvous::Channel<T>>),
}

/// The receiving half of a [`channel`] or a [`sync_channel`], as [`std::sync::mpsc::Receiver`].
pub struct Receiver<T> {
    origin: Origin,
    kind: ReceiverKind<T>,
}

enum ReceiverKind<T> {
    Real(real::Receiver<T>),
    Unbounded(Arc<unbounded::Channel<T>>),
    Bounded(Arc<bounded::Channel<T>>),
    Rendezvous(Arc<rendezvous::Channel<T>>),
}

impl<T> UnwindSafe for Sender<T> {}
impl<T> RefUnwindSafe for Sender<T> {}
impl<T> UnwindSafe for SyncSender<T> {}
impl<T> RefUnwindSafe for SyncSender<T> {}
impl<T> UnwindSafe for Receiver<T> {}
impl<T> RefUnwindSafe for Receiver<T> {}

impl<T> Sender<T> {
    /// Sends a message. It never waits.
    ///
    /// # Errors
    /// If the receiver is gone: the message.
    #[track_caller]
    pub fn send(&self, message: T) -> Result<(), SendError<T>> {
        let place = Caller::caller();
        if self.origin.enter(place) == Scene::Elsewhere {
            return Err(SendError(message));
        }
        match &self.kind {
            SenderKind::Real(sender) => sender.send(message),
            SenderKind::Unbounded { channel, .. } => channel.send(message, place),
            SenderKind::Coarse(channel) => channel.send(message, place),
        }
    }
}

impl<T> SyncSender<T> {
    /// Sends a message; waits for room.
    ///
    /// # Errors
    /// If the receiver is gone: the message.
    #[track_caller]
    pub fn send(&self, message: T) -> Result<(), SendError<T>> {
        let place = Caller::caller();
        if self.origin.enter(place) == Scene::Elsewhere {
            return Err(SendError(message));
        }
        match &self.kind {
            SyncSenderKind::Real(sender) => sender.send(message),
            SyncSenderKind::Bounded(channel) => channel.send(message, place),
            SyncSenderKind::Rendezvous(channel) => channel.send(message, place),
        }
    }

    /// Sends a message if there is room; if the bound is 0, if the receiver waits.
    ///
    /// # Errors
    /// If there is not, or if the receiver is gone: the message.
    #[track_caller]
    pub fn try_send(&self, message: T) -> Result<(), TrySendError<T>> {
        let place = Caller::caller();
        if self.origin.enter(place) == Scene::Elsewhere {
            return Err(TrySendError::Disconnected(message));
        }
        match &self.kind {
            SyncSenderKind::Real(sender) => sender.try_send(message),
            SyncSenderKind::Bounded(channel) => channel.try_send(message, place),
            SyncSenderKind::Rendezvous(channel) => channel.try_send(message, place),
        }
    }
}

impl<T> Receiver<T> {
    /// Receives the oldest message; waits for one.
    ///
    /// # Errors
    /// If there is none and all senders are gone.
    #[track_caller]
    pub fn recv(&self) -> Result<T, RecvError> {
        let place = Caller::caller();
        if self.origin.enter(place) == Scene::Elsewhere {
            return Err(RecvError);
        }
        match &self.kind {
            ReceiverKind::Real(receiver) => receiver.recv(),
            ReceiverKind::Unbounded(channel) => channel.recv(place),
            ReceiverKind::Bounded(channel) => channel.recv(place),
            ReceiverKind::Rendezvous(channel) => channel.recv(place),
        }
    }

    /// Receives the oldest message if there is one.
    ///
    /// # Errors
    /// If there is none, and whether all senders are gone.
    #[track_caller]
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        let place = Caller::caller();
        if self.origin.enter(place) == Scene::Elsewhere {
            return Err(TryRecvError::Disconnected);
        }
        match &self.kind {
            ReceiverKind::Real(receiver) => receiver.try_recv(),
            ReceiverKind::Unbounded(channel) => channel.try_recv("try_recv", place),
            ReceiverKind::Bounded(channel) => channel.try_recv("try_recv", place),
            ReceiverKind::Rendezvous(channel) => channel.try_recv(place),
        }
    }

    /// Receives the oldest message; waits for one, for a time: within a check it may time out wherever there is none.
    ///
    /// # Errors
    /// If there is none, and whether all senders are gone.
    #[track_caller]
    pub fn recv_timeout(&self, timeout: Duration) -> Result<T, RecvTimeoutError> {
        let place = Caller::caller();
        if self.origin.enter(place) == Scene::Elsewhere {
            return Err(RecvTimeoutError::Disconnected);
        }
        let received = match &self.kind {
            ReceiverKind::Real(receiver) => return receiver.recv_timeout(timeout),
            ReceiverKind::Unbounded(channel) => channel.try_recv("recv_timeout", place),
            ReceiverKind::Bounded(channel) => channel.try_recv("recv_timeout", place),
            ReceiverKind::Rendezvous(channel) => channel.recv_timeout(place),
        };
        received.map_err(|error| match error {
            TryRecvError::Empty => RecvTimeoutError::Timeout,
            TryRecvError::Disconnected => RecvTimeoutError::Disconnected,
        })
    }
}

impl<T> Clone for Sender<T> {
    #[track_caller]
    fn clone(&self) -> Sender<T> {
        let place = Caller::caller();
        let inside = || self.origin.enter(place) == Scene::Inside;
        let kind = match &self.kind {
            SenderKind::Real(sender) => SenderKind::Real(sender.clone()),
            SenderKind::Unbounded { channel, number } => {
                let number = if inside() { channel.clone_sender(*number) } else { *number };
                SenderKind::Unbounded { channel: channel.clone(), number }
            }
            SenderKind::Coarse(channel) => {
                if inside() {
                    channel.clone_sender();
                }
                SenderKind::Coarse(channel.clone())
            }
        };
        Sender { origin: self.origin, kind }
    }
}

impl<T> Clone for SyncSender<T> {
    #[track_caller]
    fn clone(&self) -> SyncSender<T> {
        let place = Caller::caller();
        let inside = || self.origin.enter(place) == Scene::Inside;
        let kind = match &self.kind {
            SyncSenderKind::Real(sender) => SyncSenderKind::Real(sender.clone()),
            SyncSenderKind::Bounded(channel) => {
                if inside() {
                    channel.clone_sender();
                }
                SyncSenderKind::Bounded(channel.clone())
            }
            SyncSenderKind::Rendezvous(channel) => {
                if inside() {
                    channel.clone_sender();
                }
                SyncSenderKind::Rendezvous(channel.clone())
            }
        };
        SyncSender { origin: self.origin, kind }
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        if self.origin.scene() != Scene::Inside {
            return;
        }
        match &self.kind {
            SenderKind::Real(_) => {}
            SenderKind::Unbounded { channel, number } => channel.drop_sender(*number, self.origin.created),
            SenderKind::Coarse(channel) => channel.drop_sender(self.origin.created),
        }
    }
}

impl<T> Drop for SyncSender<T> {
    fn drop(&mut self) {
        if self.origin.scene() != Scene::Inside {
            return;
        }
        match &self.kind {
            SyncSenderKind::Real(_) => {}
            SyncSenderKind::Bounded(channel) => channel.drop_sender(self.origin.created),
            SyncSenderKind::Rendezvous(channel) => channel.drop_sender(self.origin.created),
        }
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        if self.origin.scene() != Scene::Inside {
            return;
        }
        match &self.kind {
            ReceiverKind::Real(_) => {}
            ReceiverKind::Unbounded(channel) => channel.drop_receiver(self.origin.created),
            ReceiverKind::Bounded(channel) => channel.drop_receiver(self.origin.created),
            ReceiverKind::Rendezvous(channel) => channel.drop_receiver(self.origin.created),
        }
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for SyncSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SyncSender").finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").finish_non_exhaustive()
    }
}

// What people are told, whatever the channel.

fn lacks_message(channel: &str, senders: usize) -> String {
    format!("a message in `{channel}`, which is empty and has {senders} sender{}", plural(senders))
}

fn nothing_received(connected: bool) -> String {
    if connected { "empty".to_owned() } else { "empty, and all senders are gone".to_owned() }
}

fn drops_sender(channel: &str) -> String {
    format!("drop a sender of {channel}")
}

fn drops_receiver(channel: &str) -> String {
    format!("drop the receiver of {channel}")
}

fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}
