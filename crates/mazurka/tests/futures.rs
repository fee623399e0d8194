//! Futures and tasks: what comes of small programs, how many executions they have, and no others.
//!
//! In the comments `P` is a poll of a task's handle and `F` the end of the task; `W` is a wake-up and `Z`
//! what uses it up.

use std::fmt::Debug;
use std::future::{Future, pending, poll_fn, ready};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use crate::brute::verify;
use mazurka::future::{JoinError, JoinHandle, block_on, spawn, yield_now};
use mazurka::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use mazurka::sync::{Arc, Mutex};
use mazurka::{Checker, thread};

fn told(what: impl Debug) -> String {
    format!("{what:?}")
}

#[test]
fn a_future_that_is_ready() {
    verify(|| told(block_on(async { ready(1).await + 1 })), 1, &["2"]);
}

/// `P < F`: the task is awaited and wakes who waits. `F < P`: it is done already.
#[test]
fn the_result_of_a_task() {
    verify(|| told(block_on(async { spawn(async { 1 }).await.unwrap() })), 2, &["1"]);
}

/// Each of them done before it is asked for, or not.
#[test]
fn the_results_of_two_tasks() {
    verify(
        || {
            let tasks = [1, 2].map(|k| spawn(async move { k }));
            told(block_on(async {
                let mut results = Vec::new();
                for task in tasks {
                    results.push(task.await.unwrap());
                }
                results
            }))
        },
        4,
        &["[1, 2]"],
    );
}

#[test]
fn the_panic_of_a_task() {
    verify(
        || {
            let panic = block_on(spawn(fails())).unwrap_err();
            assert_eq!(panic.to_string(), "the task panicked: oh");
            told(panic.into_panic().downcast_ref::<&str>())
        },
        2,
        &[r#"Some("oh")"#],
    );
    // Nobody was told of it.
    let report = Checker::new().run(|| drop(spawn(fails())));
    assert!(!report.is_pass());
    assert!(report.text().contains("panic: oh"), "{}", report.text());
}

async fn fails() {
    panic!("oh");
}

/// A channel for one message, as in a textbook: the waker is left under the lock under which the message is
/// looked for.
struct Oneshot<T> {
    state: Mutex<(Option<T>, Option<Waker>)>,
}

impl<T> Oneshot<T> {
    fn new() -> Arc<Oneshot<T>> {
        Arc::new(Oneshot { state: Mutex::new((None, None)) })
    }

    fn send(&self, message: T) {
        let waker = {
            let mut state = self.state.lock().unwrap();
            state.0 = Some(message);
            state.1.take()
        };
        waker.into_iter().for_each(Waker::wake);
    }
}

struct Receive<T>(Arc<Oneshot<T>>);

impl<T> Future for Receive<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let mut state = self.0.state.lock().unwrap();
        match state.0.take() {
            Some(message) => Poll::Ready(message),
            None => {
                state.1 = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

/// The message is there at the first look, or it comes with a wake-up.
#[test]
fn a_oneshot_channel() {
    verify(
        || {
            let oneshot = Oneshot::new();
            let sender = oneshot.clone();
            thread::spawn(move || sender.send(7));
            told(block_on(Receive(oneshot)))
        },
        2,
        &["7"],
    );
}

#[test]
fn a_oneshot_channel_between_tasks() {
    verify(
        || {
            let oneshot = Oneshot::new();
            let sender = oneshot.clone();
            spawn(async move { sender.send(7) });
            told(block_on(async move { spawn(Receive(oneshot)).await.unwrap() }))
        },
        // The receiving task waits or not, and it is done before it is asked for or not.
        4,
        &["7"],
    );
}

/// A flag and a waker, looked at one after the other.
struct Signal {
    set: AtomicBool,
    waker: Mutex<Option<Waker>>,
    /// Whether the flag is looked at again once the waker is there.
    careful: bool,
}

impl Signal {
    fn new(careful: bool) -> Arc<Signal> {
        Arc::new(Signal { set: AtomicBool::new(false), waker: Mutex::new(None), careful })
    }

    fn set(&self) {
        self.set.store(true, SeqCst);
        let waker = self.waker.lock().unwrap().take();
        waker.into_iter().for_each(Waker::wake);
    }

    async fn wait(&self) {
        poll_fn(|context| {
            if self.set.load(SeqCst) {
                return Poll::Ready(());
            }
            *self.waker.lock().unwrap() = Some(context.waker().clone());
            match self.careful && self.set.load(SeqCst) {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        })
        .await;
    }
}

fn signalled(careful: bool) -> String {
    let signal = Signal::new(careful);
    let other = signal.clone();
    thread::spawn(move || other.set());
    block_on(signal.wait());
    "signalled".to_owned()
}

/// `store < load`: set at the first look. `load < store`, and the waker is left before it is looked for; or
/// after, and then nobody wakes.
#[test]
fn a_lost_wake_up_is_found() {
    verify(|| signalled(false), 3, &["signalled", "deadlock"]);
    let report = Checker::new().run(|| drop(signalled(false)));
    let text = report.text();
    assert!(!report.is_pass());
    assert!(text.contains("deadlock"), "{text}");
    assert!(
        text.contains("a wake-up: its future is pending, and nobody has woken it since it was polled"),
        "{text}"
    );
}

/// `store < load`: set at the first look. Else the waker is looked for before it is left, and the second look
/// finds the flag; or after, and then the flag is set before the second look, so that the wake-up comes too
/// late, or after it.
#[test]
fn no_wake_up_is_lost_with_a_second_look() {
    verify(|| signalled(true), 4, &["signalled"]);
}

#[test]
fn nobody_wakes() {
    verify(|| told(block_on(pending::<u32>())), 1, &["deadlock"]);
}

/// A waker that outlives its call wakes nobody: the second future is polled as often as it wants to be.
#[test]
fn a_stale_waker_does_no_harm() {
    verify(
        || {
            let stale = block_on(poll_fn(|context| Poll::Ready(context.waker().clone())));
            let waker = thread::spawn(move || stale.wake());
            let mut polls = 0;
            block_on(poll_fn(|context| {
                polls += 1;
                if polls == 2 {
                    return Poll::Ready(());
                }
                context.waker().wake_by_ref();
                Poll::Pending
            }));
            waker.join().unwrap();
            told(polls)
        },
        1,
        &["2"],
    );
}

/// `W1` and `W2` in 2 orders, with `Z` after the first or after both.
#[test]
fn two_wake_ups_for_one_wait() {
    verify(
        || {
            let mut polls = 0;
            let mut threads = Vec::new();
            block_on(poll_fn(|context| {
                polls += 1;
                if polls == 2 {
                    return Poll::Ready(());
                }
                for _ in 0..2 {
                    let waker = context.waker().clone();
                    threads.push(thread::spawn(move || waker.wake()));
                }
                Poll::Pending
            }));
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            told(polls)
        },
        4,
        &["2"],
    );
}

/// Two futures of one task take turns.
#[test]
fn futures_of_one_task() {
    verify(
        || {
            let log = std::cell::RefCell::new(Vec::new());
            let part = |name: &'static str| {
                let log = &log;
                async move {
                    log.borrow_mut().push(name);
                    yield_now().await;
                    log.borrow_mut().push(name);
                }
            };
            let (mut a, mut b) = (Box::pin(part("a")), Box::pin(part("b")));
            let (mut done_a, mut done_b) = (false, false);
            block_on(poll_fn(|context| {
                done_a = done_a || a.as_mut().poll(context).is_ready();
                done_b = done_b || b.as_mut().poll(context).is_ready();
                if done_a && done_b { Poll::Ready(()) } else { Poll::Pending }
            }));
            drop((a, b));
            told(log.into_inner())
        },
        1,
        &[r#"["a", "b", "a", "b"]"#],
    );
}

/// The result that nobody wants is dropped by the task if the handle is gone, else with the handle.
#[test]
fn a_result_that_nobody_wants() {
    struct Log(Arc<AtomicUsize>);
    impl Drop for Log {
        fn drop(&mut self) {
            self.0.fetch_add(1, SeqCst);
        }
    }
    verify(
        || {
            let drops = Arc::new(AtomicUsize::new(0));
            let result = Log(drops.clone());
            drop(spawn(async move { result }));
            told(drops.load(SeqCst))
        },
        // The end of the task first: dropped with the handle. The handle first: dropped before or after the
        // look.
        3,
        &["0", "1"],
    );
}

#[test]
fn handles_and_errors_go_anywhere() {
    fn anywhere<T: Send + Sync + 'static>() {}
    anywhere::<JoinError>();
    anywhere::<JoinHandle<u32>>();
    fn sent<T: Send>(_: T) {}
    sent(yield_now());
}

#[test]
fn outside_of_a_check() {
    let task = spawn(async {
        yield_now().await;
        2
    });
    assert_eq!(block_on(async { task.await.unwrap() + 1 }), 3);
    let (to, from) = std::sync::mpsc::channel();
    let late = spawn(async move { from.recv().unwrap() });
    let waits = std::thread::spawn(move || block_on(late).unwrap());
    to.send(5).unwrap();
    assert_eq!(waits.join().unwrap(), 5);
    let panic = block_on(spawn(fails())).unwrap_err();
    assert_eq!(panic.to_string(), "the task panicked: oh");
}
