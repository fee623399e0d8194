//! Channels: what comes of small programs, how many executions they have, and no others.
//!
//! In the comments `s`, `r` and `t` are sends, receives and attempts to receive, `d` is the end of a sender
//! and `R` that of the receiver; `a < b` says that `a` comes first.

use std::fmt::Debug;
use std::time::Duration;

use crate::brute::{count, verify};
use mazurka::sync::Arc;
use mazurka::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use mazurka::sync::mpsc::{Receiver, Sender, TrySendError, channel, sync_channel};
use mazurka::thread;

fn told(what: impl Debug) -> String {
    format!("{what:?}")
}

fn sent<T>(result: Result<(), TrySendError<T>>) -> &'static str {
    match result {
        Ok(()) => "sent",
        Err(TrySendError::Full(_)) => "full",
        Err(TrySendError::Disconnected(_)) => "gone",
    }
}

/// Threads that send numbers; the messages of each in order.
fn producers(producers: usize, each: usize) -> Receiver<usize> {
    let (to, from) = channel();
    for number in 0..producers {
        let to = to.clone();
        thread::spawn(move || (0..each).for_each(|k| to.send(number * each + k).unwrap()));
    }
    from
}

/// The orders of the messages, and nothing else.
#[test]
fn one_execution_an_order_of_messages() {
    count(
        || {
            let from = producers(3, 2);
            (0..6).for_each(|_| assert!(from.recv().is_ok()));
        },
        90,
    );
    count(|| assert_eq!(producers(3, 2).iter().count(), 6), 90);
    count(|| assert_eq!(producers(4, 1).into_iter().sum::<usize>(), 6), 24);
}

#[test]
fn the_report_counts_them_too() {
    let report = mazurka::Checker::new().run(|| {
        let from = producers(3, 2);
        let received: Vec<usize> = from.iter().collect();
        assert!(received.iter().position(|&k| k == 0) < received.iter().position(|&k| k == 1));
    });
    assert_eq!((report.is_pass(), report.executions(), report.blocked()), (true, 90, 0));
}

#[test]
fn try_recv_against_send() {
    verify(
        || {
            let (to, from) = channel();
            let sender = thread::spawn(move || to.send(1).unwrap());
            let received = from.try_recv();
            sender.join().unwrap();
            told(received)
        },
        2,
        &["Ok(1)", "Err(Empty)"],
    );
}

#[test]
fn recv_timeout_against_send() {
    verify(
        || {
            let (to, from) = channel();
            let sender = thread::spawn(move || to.send(1).unwrap());
            let received = from.recv_timeout(Duration::from_millis(1));
            sender.join().unwrap();
            told(received)
        },
        2,
        &["Ok(1)", "Err(Timeout)"],
    );
}

/// `t1 t2 < s`; `t1 < s < t2`; `s < t1` with `t2 < d` or `d < t2`.
#[test]
fn two_attempts_against_send() {
    verify(
        || {
            let (to, from) = channel();
            let sender = thread::spawn(move || to.send(1).unwrap());
            let received = [from.try_recv(), from.try_recv()];
            sender.join().unwrap();
            told(received)
        },
        4,
        &[
            "[Err(Empty), Err(Empty)]",
            "[Err(Empty), Ok(1)]",
            "[Ok(1), Err(Empty)]",
            "[Ok(1), Err(Disconnected)]",
        ],
    );
}

/// An attempt takes what is there, in the order in which it was sent: 2 orders, with `t` before, between and
/// after.
#[test]
fn try_recv_against_two_senders() {
    verify(
        || {
            let (to, from) = channel();
            let also = to.clone();
            let senders =
                [thread::spawn(move || to.send(1).unwrap()), thread::spawn(move || also.send(2).unwrap())];
            let received = from.try_recv();
            senders.into_iter().for_each(|sender| sender.join().unwrap());
            told((received, from.try_iter().collect::<Vec<_>>()))
        },
        // An attempt that takes the first message can't tell whether the second was sent. One that finds
        // nothing reads that the first sender lives, and so it does.
        4,
        &["(Err(Empty), [1, 2])", "(Err(Empty), [2, 1])", "(Ok(1), [2])", "(Ok(2), [1])"],
    );
}

/// A receive depends on the send of its message only.
#[test]
fn recv_against_two_senders() {
    verify(
        || {
            let (to, from) = channel();
            let also = to.clone();
            let senders =
                [thread::spawn(move || to.send(1).unwrap()), thread::spawn(move || also.send(2).unwrap())];
            let received = (from.recv(), from.recv());
            senders.into_iter().for_each(|sender| sender.join().unwrap());
            told(received)
        },
        2,
        &["(Ok(1), Ok(2))", "(Ok(2), Ok(1))"],
    );
}

#[test]
fn all_senders_gone() {
    verify(
        || {
            let (to, from) = channel::<i32>();
            drop(to);
            told((from.recv(), from.try_recv()))
        },
        1,
        &["(Err(RecvError), Err(Disconnected))"],
    );
    // Senders end in any order: it is one execution.
    verify(
        || {
            let (to, from) = channel::<i32>();
            for _ in 0..2 {
                let also = to.clone();
                thread::spawn(move || drop(also));
            }
            drop(to);
            told(from.recv())
        },
        1,
        &["Err(RecvError)"],
    );
    // The last message comes before the end.
    verify(
        || {
            let (to, from) = channel();
            let also = to.clone();
            thread::spawn(move || to.send(1).unwrap());
            thread::spawn(move || drop(also));
            told((from.recv(), from.recv(), from.recv()))
        },
        1,
        &["(Ok(1), Err(RecvError), Err(RecvError))"],
    );
}

/// `t < d1`: the first sender lives. `d1 < t < d2`: the second does. `d1 d2 < t`.
#[test]
fn try_recv_against_the_ends_of_two_senders() {
    verify(
        || {
            let (to, from) = channel::<i32>();
            let also = to.clone();
            let senders = [thread::spawn(move || drop(to)), thread::spawn(move || drop(also))];
            let received = from.try_recv();
            senders.into_iter().for_each(|sender| sender.join().unwrap());
            told(received)
        },
        3,
        &["Err(Empty)", "Err(Disconnected)"],
    );
}

/// Clones of clones: whoever is asked first lives, or is gone and known to be with all its clones.
#[test]
fn try_recv_against_clones_of_clones() {
    verify(
        || {
            let (to, from) = channel::<i32>();
            let child = to.clone();
            let first = thread::spawn(move || drop(to));
            let second = thread::spawn(move || {
                let grandchild = child.clone();
                drop(child);
                drop(grandchild);
            });
            let received = from.try_recv();
            first.join().unwrap();
            second.join().unwrap();
            told(received)
        },
        // t < d1; d1 < t < d2; d1 d2 < t < d3; all < t.
        4,
        &["Err(Empty)", "Err(Disconnected)"],
    );
}

/// Clones that two threads make of a sender that they share: in whatever order they do.
#[test]
fn try_recv_against_clones_of_a_shared_sender() {
    verify(
        || {
            let (to, from) = channel::<i32>();
            let received = thread::scope(|scope| {
                let attempt = scope.spawn(move || {
                    let first = from.try_recv();
                    (first, from)
                });
                for _ in 0..2 {
                    scope.spawn(|| drop(to.clone()));
                }
                let (received, from) = attempt.join().unwrap();
                drop(from);
                received
            });
            drop(to);
            told(received)
        },
        1,
        &["Err(Empty)"],
    );
}

#[test]
fn send_against_the_end_of_the_receiver() {
    verify(
        || {
            let (to, from) = channel();
            let sender = thread::spawn(move || to.send(1));
            drop(from);
            told(sender.join().unwrap())
        },
        2,
        &["Ok(())", "Err(SendError { .. })"],
    );
    // So many send in time, in any order; the order of those who come too late does not matter. 1 + 2 + 2 of
    // two, 1 + 3 + 6 + 6 of three.
    let program = |senders: usize| {
        move || {
            let (to, from) = channel();
            let sender = |number| {
                let to = to.clone();
                thread::spawn(move || to.send(number).is_ok())
            };
            let senders: Vec<_> = (0..senders).map(sender).collect();
            drop(from);
            let sent: usize = senders.into_iter().map(|sender| usize::from(sender.join().unwrap())).sum();
            told(sent)
        }
    };
    verify(program(2), 5, &["0", "1", "2"]);
    count(move || drop(program(3)()), 16);
}

/// What is left in a channel is dropped by the receiver's thread, step by step.
#[test]
fn messages_with_destructors() {
    struct Count(Arc<AtomicUsize>);
    impl Drop for Count {
        fn drop(&mut self) {
            self.0.fetch_add(1, SeqCst);
        }
    }
    verify(
        || {
            let dropped = Arc::new(AtomicUsize::new(0));
            let (to, from) = channel();
            let message = Count(dropped.clone());
            let sender = thread::spawn(move || to.send(message).is_ok());
            drop(from);
            let seen = dropped.load(SeqCst);
            told((sender.join().unwrap(), seen, dropped.load(SeqCst)))
        },
        // Sent: it was dropped with the channel. Not sent: the sender drops it, before or after the look.
        3,
        &["(true, 1, 1)", "(false, 0, 1)", "(false, 1, 1)"],
    );
}

/// A message that holds the way back.
#[test]
fn requests_and_replies() {
    verify(
        || {
            let (to, requests) = channel::<(u32, Sender<u32>)>();
            thread::spawn(move || {
                for (number, reply) in requests {
                    reply.send(number * 10).unwrap();
                }
            });
            let ask = |number| {
                let to = to.clone();
                thread::spawn(move || {
                    let (reply, answer) = channel();
                    to.send((number, reply)).unwrap();
                    answer.recv().unwrap()
                })
            };
            let clients = [ask(1), ask(2)];
            told(clients.map(|client| client.join().unwrap()))
        },
        2,
        &["[10, 20]"],
    );
}

#[test]
fn a_receiver_that_moves() {
    verify(
        || {
            let (to, from) = channel();
            let also = to.clone();
            thread::spawn(move || to.send(1).unwrap());
            thread::spawn(move || also.send(2).unwrap());
            let first = from.recv().unwrap();
            let second = thread::spawn(move || from.recv().unwrap()).join().unwrap();
            told((first, second))
        },
        2,
        &["(1, 2)", "(2, 1)"],
    );
}

#[test]
fn nobody_will_send() {
    verify(
        || {
            let (_to, from) = channel::<i32>();
            told(from.recv())
        },
        1,
        &["deadlock"],
    );
    let report = mazurka::Checker::new().run(|| {
        let (_to, from) = channel::<i32>();
        from.recv().unwrap();
    });
    assert!(report.text().contains("which is empty and has 1 sender"), "{}", report.text());
}

/// The room of 2: `s1 s2 d` and `r1 r2` in all orders with `s1 < r1` and `s2 < r2`. The room of 1: also `r1 <
/// s2`.
#[test]
fn bounded_channels() {
    let program = |bound| {
        move || {
            let (to, from) = sync_channel(bound);
            let sender = thread::spawn(move || [1, 2].map(|k| to.send(k).is_ok()));
            let received = [from.recv(), from.recv()];
            told((sender.join().unwrap(), received))
        }
    };
    let outcomes = &["([true, true], [Ok(1), Ok(2)])"];
    verify(program(2), 5, outcomes);
    verify(program(1), 2, outcomes);
    // The first message is offered or asked for, and then the second is.
    verify(program(0), 4, outcomes);
}

/// Two senders for one place: who comes first, and when its message is taken.
#[test]
fn competition_for_room() {
    verify(
        || {
            let (to, from) = sync_channel(1);
            let also = to.clone();
            let senders = [thread::spawn(move || to.send(1)), thread::spawn(move || also.send(2))];
            let received = [from.recv().unwrap(), from.recv().unwrap()];
            senders.into_iter().for_each(|sender| sender.join().unwrap().unwrap());
            told(received)
        },
        // Sender 1 first: s1 r1 s2 and then r2 d2 in 2 orders, with d1 in any of 5 places after s1. Or sender
        // 2 first.
        20,
        &["[1, 2]", "[2, 1]"],
    );
}

#[test]
fn try_send_and_room() {
    verify(
        || {
            let (to, from) = sync_channel(1);
            let sender = thread::spawn(move || [1, 2].map(|k| to.try_send(k).is_ok()));
            let received = from.recv();
            told((sender.join().unwrap(), received, from.try_recv()))
        },
        // t1 r t2 d; t1 t2 r d; t1 t2 d r.
        3,
        &["([true, false], Ok(1), Err(Disconnected))", "([true, true], Ok(1), Ok(2))"],
    );
}

/// `try_send` of a rendezvous succeeds only if the receiver waits already.
#[test]
fn try_send_and_a_receiver_that_waits() {
    verify(
        || {
            let (to, from) = sync_channel(0);
            let sender = thread::spawn(move || sent(to.try_send(1)));
            let received = from.recv();
            told((sender.join().unwrap(), received))
        },
        // r < s, which is a success; s < r with d before or after r.
        3,
        &[r#"("sent", Ok(1))"#, r#"("full", Err(RecvError))"#],
    );
}

#[test]
fn rendezvous() {
    // Who comes first.
    verify(
        || {
            let (to, from) = sync_channel(0);
            let sender = thread::spawn(move || to.send(1));
            let received = from.recv();
            told((sender.join().unwrap(), received))
        },
        2,
        &["(Ok(()), Ok(1))"],
    );
    // A send is done when its message has been taken.
    verify(
        || {
            let (to, from) = sync_channel(0);
            let taken = Arc::new(AtomicUsize::new(0));
            let seen = taken.clone();
            let sender = thread::spawn(move || {
                to.send(1).unwrap();
                seen.load(SeqCst)
            });
            taken.store(1, SeqCst);
            from.recv().unwrap();
            told(sender.join().unwrap())
        },
        2,
        &["1"],
    );
    // The receiver ends before or after the offer; the sender gets its message back.
    verify(
        || {
            let (to, from) = sync_channel::<i32>(0);
            let sender = thread::spawn(move || to.send(1).unwrap_err().0);
            drop(from);
            told(sender.join().unwrap())
        },
        2,
        &["1"],
    );
    // The sender ends before or after it is waited for.
    verify(
        || {
            let (to, from) = sync_channel::<i32>(0);
            thread::spawn(move || drop(to));
            told(from.recv())
        },
        2,
        &["Err(RecvError)"],
    );
}
