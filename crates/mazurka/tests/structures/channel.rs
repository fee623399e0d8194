//! A bounded channel between tasks: a lock, and the wakers of who waits.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::task::{Context, Poll, Waker};

use mazurka::future::{block_on, spawn};
use mazurka::sync::{Arc, Mutex};

use super::{fails, passes, passes_as_by_brute_force};

type Bug = u8;
const RIGHT: Bug = 0;
/// The receiver looks, and then leaves its waker under the lock which it takes again, without another look.
const NO_SECOND_LOOK: Bug = 1;
/// The receiver is not told when the sender goes.
const SILENT_END: Bug = 2;

struct State<T> {
    items: VecDeque<T>,
    capacity: usize,
    /// Whether there is no sender any more.
    ended: bool,
    /// The sender's, if it waits for room.
    sender: Option<Waker>,
    /// The receiver's, if it waits for an item or for the end.
    receiver: Option<Waker>,
}

fn wake(waker: Option<Waker>) {
    waker.into_iter().for_each(Waker::wake);
}

struct Sender<T, const BUG: Bug>(Arc<Mutex<State<T>>>);

struct Receiver<T, const BUG: Bug>(Arc<Mutex<State<T>>>);

fn channel<T, const BUG: Bug>(capacity: usize) -> (Sender<T, BUG>, Receiver<T, BUG>) {
    let state = State { items: VecDeque::new(), capacity, ended: false, sender: None, receiver: None };
    let state = Arc::new(Mutex::new(state));
    (Sender(state.clone()), Receiver(state))
}

impl<T, const BUG: Bug> Sender<T, BUG> {
    async fn send(&mut self, item: T) {
        let mut item = Some(item);
        poll_fn(|context| self.poll_send(&mut item, context)).await;
    }

    fn poll_send(&self, item: &mut Option<T>, context: &Context<'_>) -> Poll<()> {
        let mut state = self.0.lock().unwrap();
        if state.items.len() == state.capacity {
            state.sender = Some(context.waker().clone());
            return Poll::Pending;
        }
        state.items.extend(item.take());
        let receiver = state.receiver.take();
        drop(state);
        wake(receiver);
        Poll::Ready(())
    }
}

impl<T, const BUG: Bug> Drop for Sender<T, BUG> {
    fn drop(&mut self) {
        let Ok(mut state) = self.0.lock() else { return };
        state.ended = true;
        let receiver = state.receiver.take();
        drop(state);
        if BUG != SILENT_END {
            wake(receiver);
        }
    }
}

impl<T, const BUG: Bug> Receiver<T, BUG> {
    /// The next item; none if the sender has gone.
    async fn receive(&mut self) -> Option<T> {
        poll_fn(|context| self.poll_receive(context)).await
    }

    fn poll_receive(&self, context: &Context<'_>) -> Poll<Option<T>> {
        let mut state = self.0.lock().unwrap();
        if let Some(item) = state.items.pop_front() {
            let sender = state.sender.take();
            drop(state);
            wake(sender);
            return Poll::Ready(Some(item));
        }
        if state.ended {
            return Poll::Ready(None);
        }
        if BUG == NO_SECOND_LOOK {
            drop(state);
            state = self.0.lock().unwrap();
        }
        state.receiver = Some(context.waker().clone());
        Poll::Pending
    }
}

/// A task sends so many items, and another receives them in their order until the end.
fn all_items_and_the_end<const ITEMS: u32, const BUG: Bug>() {
    let (mut sender, mut receiver) = channel::<u32, BUG>(1);
    spawn(async move {
        for item in 0..ITEMS {
            sender.send(item).await;
        }
    });
    block_on(async {
        for item in 0..ITEMS {
            assert_eq!(receiver.receive().await, Some(item));
        }
        assert_eq!(receiver.receive().await, None);
    });
}

#[test]
fn items_arrive_and_so_does_the_end() {
    passes_as_by_brute_force(6, all_items_and_the_end::<1, RIGHT>);
    passes_as_by_brute_force(24, all_items_and_the_end::<2, RIGHT>);
    passes(96, all_items_and_the_end::<3, RIGHT>);
}

#[test]
fn an_item_comes_between_the_look_and_the_waker() {
    fails("deadlock", "a wake-up: its future is pending", all_items_and_the_end::<1, NO_SECOND_LOOK>);
}

#[test]
fn nobody_tells_the_receiver_of_the_end() {
    fails("deadlock", "a wake-up: its future is pending", all_items_and_the_end::<1, SILENT_END>);
}
