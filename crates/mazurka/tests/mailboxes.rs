//! Mailboxes and choices: what comes of small programs, how many executions they have, and no others.

use std::fmt::Debug;
use std::sync::atomic::{AtomicUsize as Plain, Ordering::SeqCst};
use std::time::Duration;

use crate::brute::{count, verify};
use mazurka::mailbox::{Address, Mailbox, mailbox};
use mazurka::sync::atomic::AtomicUsize;
use mazurka::sync::{Arc, Mutex};
use mazurka::{Checker, assume, choose, thread};

fn told(what: impl Debug) -> String {
    format!("{what:?}")
}

/// A mailbox to which each of several threads sends its numbers.
fn posted<const N: usize>(numbers: [&'static [u32]; N]) -> Mailbox<u32> {
    let (address, mailbox) = mailbox();
    for numbers in numbers {
        let address = address.clone();
        thread::spawn(move || numbers.iter().for_each(|&number| address.send(number)));
    }
    mailbox
}

#[test]
fn messages_come_in_every_order() {
    verify(
        || {
            let mailbox = posted([&[1], &[2]]);
            told([mailbox.receive(), mailbox.receive()])
        },
        2,
        &["[1, 2]", "[2, 1]"],
    );
    count(
        || {
            let mailbox = posted([&[1, 2], &[3, 4], &[5, 6]]);
            assert_eq!((0..6).map(|_| mailbox.receive()).sum::<u32>(), 21);
        },
        90,
    );
}

/// What is not asked for stays, in order.
#[test]
fn selective_receive() {
    verify(
        || {
            let mailbox = posted([&[1, 2], &[3]]);
            let first = mailbox.receive_match(|&number| number != 1);
            told([first, mailbox.receive(), mailbox.receive()])
        },
        // 1 2 3, 1 3 2 and 3 1 2.
        3,
        &["[2, 1, 3]", "[3, 1, 2]"],
    );
}

#[test]
fn try_receive_against_send() {
    verify(|| told(posted([&[1]]).try_receive()), 2, &["None", "Some(1)"]);
    verify(|| told(posted([&[1]]).receive_timeout(Duration::ZERO)), 2, &["None", "Some(1)"]);
    // Before both, between, and after both: who finds nothing depends on every send.
    verify(|| told(posted([&[1, 2]]).try_receive_match(|&number| number == 2)), 3, &["None", "Some(2)"]);
    verify(
        || told(posted([&[1, 2]]).receive_match_timeout(|&number| number == 1, Duration::ZERO)),
        2,
        &["None", "Some(1)"],
    );
}

/// Nothing found, and then the messages in 2 orders; or the first message, whoever it is of.
#[test]
fn try_receive_against_two_senders() {
    verify(
        || {
            let mailbox = posted([&[1], &[2]]);
            let found = mailbox.try_receive();
            let left = if found.is_some() { 1 } else { 2 };
            told((found, (0..left).map(|_| mailbox.receive()).collect::<Vec<_>>()))
        },
        4,
        &["(None, [1, 2])", "(None, [2, 1])", "(Some(1), [2])", "(Some(2), [1])"],
    );
}

#[test]
fn nobody_sends_what_is_asked_for() {
    verify(
        || {
            let mailbox = posted([&[1], &[2]]);
            told(mailbox.receive_match(|&number| number == 3))
        },
        2,
        &["deadlock"],
    );
    let report = Checker::new().run(|| {
        let mailbox = posted([&[1], &[2]]);
        mailbox.receive_match(|&number| number == 3);
    });
    assert!(report.text().contains("that matches; the 2 that are there do not"), "{}", report.text());
}

/// Messages with destructors are dropped by the receiver; what comes too late is dropped by who sends it.
#[test]
fn messages_that_nobody_receives() {
    struct Note(Arc<AtomicUsize>);
    impl Drop for Note {
        fn drop(&mut self) {
            self.0.fetch_add(1, SeqCst);
        }
    }
    verify(
        || {
            let drops = Arc::new(AtomicUsize::new(0));
            let (address, mailbox) = mailbox();
            let note = Note(drops.clone());
            let sender = thread::spawn(move || address.send(note));
            drop(mailbox);
            let seen = drops.load(SeqCst);
            sender.join().unwrap();
            told((seen, drops.load(SeqCst)))
        },
        3,
        &["(1, 1)", "(0, 1)"],
    );
}

#[test]
fn a_function_that_panics_does_so_in_the_receiver() {
    let report = Checker::new().run(|| {
        let mailbox = posted([&[1]]);
        mailbox.receive_match(|_| panic!("what is this?"));
    });
    assert!(!report.is_pass());
    assert!(report.text().contains("what is this?"), "{}", report.text());
}

#[test]
fn an_address_goes_anywhere() {
    fn anywhere<T: Send + Sync>() {}
    fn sent<T: Send>() {}
    anywhere::<Address<std::cell::Cell<u8>>>();
    sent::<Mailbox<std::cell::Cell<u8>>>();
}

#[test]
fn a_mailbox_outside_of_a_check() {
    let (address, mailbox) = mailbox();
    let also = address.clone();
    let senders = [
        std::thread::spawn(move || (0..50).for_each(|k| also.send(2 * k))),
        std::thread::spawn(move || (0..50).for_each(|k| address.send(2 * k + 1))),
    ];
    let odd: Vec<u32> = (0..50).map(|_| mailbox.receive_match(|k| k % 2 == 1)).collect();
    assert!(odd.is_sorted());
    senders.into_iter().for_each(|sender| sender.join().unwrap());
    assert_eq!(
        (0..50).map(|_| mailbox.receive()).collect::<Vec<_>>(),
        (0..50).map(|k| 2 * k).collect::<Vec<_>>()
    );
    assert_eq!(mailbox.try_receive(), None);
    assert_eq!(mailbox.receive_timeout(Duration::from_millis(1)), None);
}

#[test]
fn every_number_is_chosen() {
    verify(|| told(choose(0..3)), 3, &["0", "1", "2"]);
    verify(|| told(choose(4..=5)), 2, &["4", "5"]);
    verify(|| told(choose(..2)), 2, &["0", "1"]);
    verify(|| told(choose(7..8)), 1, &["7"]);
    verify(
        || told((choose(0..2), choose(0..3))),
        6,
        &["(0, 0)", "(0, 1)", "(0, 2)", "(1, 0)", "(1, 1)", "(1, 2)"],
    );
}

#[test]
fn threads_choose_independently() {
    verify(
        || {
            let threads = [2, 3].map(|n| thread::spawn(move || choose(0..n)));
            told(threads.map(|thread| thread.join().unwrap()))
        },
        6,
        &["[0, 0]", "[0, 1]", "[0, 2]", "[1, 0]", "[1, 1]", "[1, 2]"],
    );
    // What is chosen decides what is done: only where both send does an order matter.
    verify(
        || {
            let (address, mailbox) = mailbox();
            let threads = [1, 2].map(|number| {
                let address = address.clone();
                thread::spawn(move || {
                    if choose(0..2) == 1 {
                        address.send(number)
                    }
                })
            });
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            told((mailbox.try_receive(), mailbox.try_receive()))
        },
        5,
        &["(None, None)", "(Some(1), None)", "(Some(2), None)", "(Some(1), Some(2))", "(Some(2), Some(1))"],
    );
}

fn panic_of(f: impl Fn() + Send + Sync + 'static) -> String {
    let payload = std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).expect_err("no panic");
    match payload.downcast::<String>() {
        Ok(text) => *text,
        Err(payload) => (*payload.downcast::<&str>().expect("no text")).to_owned(),
    }
}

#[test]
fn what_can_not_be_chosen() {
    let inside = |f: fn() -> usize| {
        let report = Checker::new().run(move || assert_eq!(f(), 0));
        report.text()
    };
    assert!(inside(|| choose(3..3)).contains("mazurka: choose from an empty range"));
    #[allow(clippy::reversed_empty_ranges)]
    let reversed = || choose(5..=4);
    assert!(inside(reversed).contains("mazurka: choose from an empty range"));
    assert!(inside(|| choose(3..)).contains("mazurka: choose from a range without an end"));
    assert!(panic_of(|| assume(choose(0..2) == 0)).contains("choose is for checks"));
    assert!(panic_of(|| assume(true)).contains("assume is for checks"));
}

/// While a thread unwinds only one outcome could be tried, so that is refused.
#[test]
fn a_choice_while_unwinding() {
    struct Chooses;
    impl Drop for Chooses {
        fn drop(&mut self) {
            let _ = choose(0..2);
        }
    }
    let report = Checker::new().run(|| {
        let _ = thread::spawn(|| {
            let _chooses = Chooses;
            panic!("oh");
        })
        .join();
    });
    assert!(!report.is_pass());
    assert!(report.text().contains("several outcomes"), "{}", report.text());
}

#[test]
fn assumptions() {
    verify(
        || {
            let x = choose(0..4);
            assume(x % 2 == 1);
            told(x)
        },
        2,
        &["1", "3"],
    );
    // The other thread goes on, but whoever waits for the one that stopped is in no deadlock.
    verify(
        || {
            let shared = Arc::new(AtomicUsize::new(0));
            let other = shared.clone();
            let thread = thread::spawn(move || {
                let seen = other.load(SeqCst);
                assume(seen == 1);
                seen
            });
            shared.store(1, SeqCst);
            told(thread.join().unwrap())
        },
        1,
        &["1"],
    );
}

/// What a stopped thread holds is dropped when its execution is over.
#[test]
fn a_stopped_thread_is_dropped() {
    static MADE: Plain = Plain::new(0);
    static DROPPED: Plain = Plain::new(0);
    struct Held;
    impl Drop for Held {
        fn drop(&mut self) {
            DROPPED.fetch_add(1, SeqCst);
        }
    }
    let report = Checker::new().run(|| {
        let lock = Arc::new(Mutex::new(0));
        let other = lock.clone();
        let thread = thread::spawn(move || {
            MADE.fetch_add(1, SeqCst);
            let _held = Held;
            let _guard = other.lock().unwrap();
            assume(choose(0..2) == 0);
        });
        *lock.lock().unwrap() += 1;
        thread.join().unwrap();
    });
    assert!(report.is_pass(), "{}", report.text());
    // Who locks first, and what is chosen then: the stopped thread keeps its lock, if it has it.
    assert!(report.text().contains("2 complete, 0 blocked, 2 assumed"), "{}", report.text());
    assert_eq!(MADE.load(SeqCst), DROPPED.load(SeqCst));
}
