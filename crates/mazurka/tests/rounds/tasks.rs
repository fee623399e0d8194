//! Futures that wake themselves, and what is built of wakers.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::pin;
use std::task::{Poll, Waker};

use mazurka::future::{block_on, spawn, yield_now};
use mazurka::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use mazurka::sync::{Arc, Mutex};
use mazurka::thread;

use super::{fails, passes};

#[test]
fn a_task_yields_until_a_flag_is_set() {
    passes((2, 1), || {
        let flag = Arc::new(AtomicBool::new(false));
        let other = flag.clone();
        let setter = thread::spawn(move || other.store(true, SeqCst));
        block_on(async {
            while !flag.load(SeqCst) {
                yield_now().await;
            }
        });
        setter.join().unwrap();
    });
}

#[test]
fn a_future_tries_a_lock_and_wakes_itself() {
    passes((3, 1), || {
        let lock = Arc::new(Mutex::new(0));
        let other = lock.clone();
        let holder = thread::spawn(move || *other.lock().unwrap() += 1);
        block_on(poll_fn(|context| match lock.try_lock() {
            Ok(mut held) => {
                *held += 1;
                Poll::Ready(())
            }
            Err(_) => {
                context.waker().wake_by_ref();
                Poll::Pending
            }
        }));
        holder.join().unwrap();
    });
}

#[test]
fn two_tasks_yield_to_each_other() {
    passes((8, 3), || {
        let turn = Arc::new(AtomicUsize::new(0));
        let other = turn.clone();
        let task = spawn(async move {
            while other.load(SeqCst) != 1 {
                yield_now().await;
            }
            other.store(0, SeqCst);
        });
        block_on(async {
            turn.store(1, SeqCst);
            while turn.load(SeqCst) != 0 {
                yield_now().await;
            }
            task.await.unwrap();
        });
    });
}

/// Lets one future go on for each notification, as that of tokio.
#[derive(Default)]
struct Notify {
    state: Mutex<(bool, Option<Waker>)>,
}

impl Notify {
    fn notify(&self) {
        let mut state = self.state.lock().unwrap();
        match state.1.take() {
            Some(waker) => {
                state.0 = true;
                drop(state);
                waker.wake();
            }
            None => state.0 = true,
        }
    }

    async fn notified(&self) {
        poll_fn(|context| {
            let mut state = self.state.lock().unwrap();
            if std::mem::take(&mut state.0) {
                return Poll::Ready(());
            }
            state.1 = Some(context.waker().clone());
            Poll::Pending
        })
        .await;
    }
}

#[test]
fn a_notification_is_awaited_in_a_loop() {
    passes((17, 0), || {
        let shared = Arc::new((Notify::default(), AtomicUsize::new(0)));
        let other = shared.clone();
        let notifier = thread::spawn(move || {
            for _ in 0..2 {
                other.1.fetch_add(1, SeqCst);
                other.0.notify();
            }
        });
        block_on(async {
            while shared.1.load(SeqCst) < 2 {
                shared.0.notified().await;
            }
        });
        notifier.join().unwrap();
    });
}

/// Permits, for which futures ask again and again.
struct Semaphore(AtomicUsize);

impl Semaphore {
    async fn acquire(&self) {
        poll_fn(|context| {
            let permits = self.0.load(SeqCst);
            if permits > 0 && self.0.compare_exchange(permits, permits - 1, SeqCst, SeqCst).is_ok() {
                return Poll::Ready(());
            }
            context.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    }

    fn release(&self) {
        self.0.fetch_add(1, SeqCst);
    }
}

#[test]
fn a_semaphore_lets_one_in() {
    passes((32, 6), || {
        let shared = Arc::new((Semaphore(AtomicUsize::new(1)), Mutex::new(0)));
        let tasks = [0, 1].map(|_| {
            let shared = shared.clone();
            spawn(async move {
                shared.0.acquire().await;
                *shared.1.try_lock().expect("nobody else is in") += 1;
                shared.0.release();
            })
        });
        block_on(async {
            for task in tasks {
                task.await.unwrap();
            }
        });
        assert_eq!(*shared.1.lock().unwrap(), 2);
    });
}

/// Permits, and those who wait for one in the order in which they came, each with whether it was given one.
#[derive(Default)]
struct Queue(Mutex<(usize, VecDeque<Waiting>)>);

type Waiting = (Arc<AtomicBool>, Waker);

impl Queue {
    async fn acquire(&self) {
        let given = Arc::new(AtomicBool::new(false));
        let mut waits = false;
        poll_fn(|context| {
            if given.load(SeqCst) {
                return Poll::Ready(());
            }
            let mut state = self.0.lock().unwrap();
            if !waits && state.0 > 0 {
                state.0 -= 1;
                return Poll::Ready(());
            }
            if !waits {
                state.1.push_back((given.clone(), context.waker().clone()));
            }
            waits = true;
            Poll::Pending
        })
        .await;
    }

    fn release(&self) {
        let mut state = self.0.lock().unwrap();
        match state.1.pop_front() {
            Some((given, waker)) => {
                drop(state);
                given.store(true, SeqCst);
                waker.wake();
            }
            None => state.0 += 1,
        }
    }
}

#[test]
fn a_semaphore_with_a_queue_lets_one_in_after_the_other() {
    passes((16, 0), || {
        let shared = Arc::new((Queue::default(), Mutex::new(0)));
        shared.0.release();
        let tasks = [0, 1].map(|_| {
            let shared = shared.clone();
            spawn(async move {
                shared.0.acquire().await;
                *shared.1.try_lock().expect("nobody else is in") += 1;
                shared.0.release();
            })
        });
        block_on(async {
            for task in tasks {
                task.await.unwrap();
            }
        });
        assert_eq!(*shared.1.lock().unwrap(), 2);
    });
}

/// Who waits for a notification stands in a queue; each of them gets one.
#[test]
fn all_in_a_queue_are_notified() {
    passes((48, 0), || {
        let shared = Arc::new(Queue::default());
        let tasks = [0, 1].map(|_| {
            let shared = shared.clone();
            spawn(async move { shared.acquire().await })
        });
        (0..2).for_each(|_| shared.release());
        block_on(async {
            for task in tasks {
                task.await.unwrap();
            }
        });
    });
}

#[test]
fn one_thread_polls_two_tasks_in_turn() {
    passes((4, 1), || {
        let flag = Arc::new(AtomicBool::new(false));
        let other = flag.clone();
        let setter = thread::spawn(move || other.store(true, SeqCst));
        let task = |flag: Arc<AtomicBool>| async move {
            while !flag.load(SeqCst) {
                yield_now().await;
            }
        };
        let (mut one, mut two) = (pin!(task(flag.clone())), pin!(task(flag)));
        let (mut is_one, mut is_two) = (false, false);
        block_on(poll_fn(|context| {
            is_one |= !is_one && one.as_mut().poll(context).is_ready();
            is_two |= !is_two && two.as_mut().poll(context).is_ready();
            if is_one && is_two { Poll::Ready(()) } else { Poll::Pending }
        }));
        setter.join().unwrap();
    });
}

#[test]
fn a_wake_up_that_is_lost_is_a_livelock() {
    fails("livelock", || {
        let flag = Arc::new(AtomicUsize::new(0));
        let other = flag.clone();
        let setter = thread::spawn(move || other.store(1, SeqCst));
        block_on(async {
            // It takes away what it waits for.
            while flag.swap(0, SeqCst) != 2 {
                yield_now().await;
            }
        });
        setter.join().unwrap();
    });
}
