//! Channels at the edges: the ends of bounded ones, panics, threads and objects that are not of the check,
//! bounds of types.

use std::cell::Cell;
use std::fmt::Debug;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Mutex as Plain;
use std::time::Duration;

use crate::brute::verify;
use mazurka::sync::mpsc::{
    IntoIter, Iter, Receiver, RecvError, RecvTimeoutError, Sender, SyncSender, TryIter, TryRecvError,
    TrySendError, channel, sync_channel,
};
use mazurka::{Algorithm, Checker, thread};

fn told(what: impl Debug) -> String {
    format!("{what:?}")
}

/// A sender that waits for room is let go by the end of the receiver.
#[test]
fn the_end_of_the_receiver_of_a_full_channel() {
    verify(
        || {
            let (to, from) = sync_channel(1);
            let sender = thread::spawn(move || [1, 2].map(|k| to.send(k).is_ok()));
            drop(from);
            told(sender.join().unwrap())
        },
        // R first; between the sends; or while the second waits.
        2,
        &["[false, false]", "[true, false]"],
    );
}

/// `r < d` waits, `d < r` does not; either way all senders are gone.
#[test]
fn the_end_of_the_sender_of_a_bounded_channel() {
    for bound in [1, 2] {
        verify(
            move || {
                let (to, from) = sync_channel::<u32>(bound);
                let sender = thread::spawn(move || drop(to));
                let received = from.recv();
                sender.join().unwrap();
                told((received, from.try_recv(), from.recv_timeout(Duration::ZERO)))
            },
            // There is no step at which the receiver could be seen to wait.
            1,
            &["(Err(RecvError), Err(Disconnected), Err(Disconnected))"],
        );
    }
}

#[test]
fn nobody_makes_room() {
    verify(
        || {
            let (to, _from) = sync_channel(1);
            told([to.send(1), to.send(2)])
        },
        1,
        &["deadlock"],
    );
    verify(
        || {
            let (to, _from) = sync_channel(0);
            told(to.send(1))
        },
        1,
        &["deadlock"],
    );
    let text = |bound: usize| {
        let report = Checker::new().run(move || {
            let (to, _from) = sync_channel(bound);
            (0..2).for_each(|k| to.send(k).unwrap());
        });
        report.text()
    };
    assert!(text(1).contains("which is full with 1 message\n"), "{}", text(1));
    assert!(text(0).contains("to be received from"), "{}", text(0));
}

/// A receive with a timeout from a rendezvous: it finds the offer; it is given the message while it waits,
/// and goes on before or after the end of the sender; it gives up before the offer, and the sender waits in
/// vain.
#[test]
fn a_rendezvous_with_a_timeout() {
    verify(
        || {
            let (to, from) = sync_channel(0);
            thread::spawn(move || to.send(1).unwrap());
            let received = from.recv_timeout(Duration::ZERO);
            std::mem::forget(from);
            told(received)
        },
        4,
        &["Ok(1)", "deadlock"],
    );
    // An attempt does not wait, so a sender that does not wait either never meets it.
    verify(
        || {
            let (to, from) = sync_channel(0);
            let sender = thread::spawn(move || to.try_send(1).is_ok());
            let received = from.try_recv();
            told((sender.join().unwrap(), received))
        },
        // t before the attempt to send, before the end of the sender, after it.
        3,
        &["(false, Err(Empty))", "(false, Err(Disconnected))"],
    );
}

/// A sender whose thread panics is gone all the same.
#[test]
fn the_panic_of_a_sender() {
    verify(
        || {
            let (to, from) = channel();
            let sender = thread::spawn(move || {
                to.send(1).unwrap();
                panic!("oh");
            });
            let received = (from.recv(), from.recv());
            told((received, sender.join().is_err()))
        },
        1,
        &["((Ok(1), Err(RecvError)), true)"],
    );
}

/// A message that is sent on the way of a panic arrives.
#[test]
fn a_message_of_a_thread_that_unwinds() {
    struct LastWill(Sender<u32>);
    impl Drop for LastWill {
        fn drop(&mut self) {
            let _ = self.0.send(7);
        }
    }
    verify(
        || {
            let (to, from) = channel();
            let thread = thread::spawn(move || {
                let _will = LastWill(to);
                panic!("oh");
            });
            let received: Vec<u32> = from.iter().collect();
            told((received, thread.join().is_err()))
        },
        1,
        &["([7], true)"],
    );
}

/// A destructor that waits is no obstacle where an execution ends in a deadlock.
#[test]
fn a_destructor_that_waits() {
    struct Worker(Option<thread::JoinHandle<()>>, Receiver<u32>);
    impl Drop for Worker {
        fn drop(&mut self) {
            self.0.take().unwrap().join().unwrap_or_default();
            let _ = self.1.recv();
        }
    }
    verify(
        || {
            let (to, from) = channel();
            let (back, answer) = channel();
            let worker = thread::spawn(move || {
                for number in from {
                    back.send(number).unwrap();
                }
            });
            let worker = Worker(Some(worker), answer);
            to.send(1).unwrap();
            let answers = (worker.1.recv(), worker.1.recv());
            told(answers)
        },
        1,
        &["deadlock"],
    );
    let report = Checker::new().run(|| {
        let (to, from) = channel::<u32>();
        let (_back, answer) = channel();
        let worker = thread::spawn(move || assert!(from.recv().is_err()));
        let worker = Worker(Some(worker), answer);
        worker.1.recv().unwrap_err();
        drop(to);
    });
    assert!(report.text().starts_with("failure: deadlock"), "{}", report.text());
}

/// What is nothing for `source` says so; the rest is checked by it.
#[test]
fn channels_under_source() {
    let check = |body: fn()| Checker::new().algorithm(Algorithm::Source).run(body).text();
    let unbounded = check(|| {
        let (to, from) = channel();
        thread::spawn(move || to.send(1));
        assert_eq!(from.recv(), Ok(1));
    });
    assert!(unbounded.starts_with("pass"), "{unbounded}");
    let rendezvous = check(|| drop(sync_channel::<u32>(0)));
    assert!(rendezvous.contains("sync_channel(0) is not supported by source; use optimal"), "{rendezvous}");
    let mailbox = check(|| drop(mazurka::mailbox::mailbox::<u32>()));
    assert!(mailbox.contains("a mailbox is not supported by source; use optimal"), "{mailbox}");
}

#[test]
fn a_channel_that_is_not_of_the_check() {
    let (to, _from) = channel();
    let to = Plain::new(to);
    let report = Checker::new().run(move || {
        let _ = to.lock().unwrap().send(1);
    });
    let text = report.text();
    assert!(text.contains("is not known to this check; make it within the closure"), "{text}");

    let leaked: &'static Plain<Option<Sender<u32>>> = Box::leak(Box::new(Plain::new(None)));
    let report = Checker::new().run(move || {
        let (to, _from) = channel();
        *leaked.lock().unwrap() = Some(to);
    });
    assert!(report.is_pass(), "{}", report.text());
    let to = leaked.lock().unwrap().take().unwrap();
    let panic = std::panic::catch_unwind(|| to.send(1)).unwrap_err();
    assert!(
        panic.downcast_ref::<String>().unwrap().contains("belongs to a check and was used outside of it")
    );
}

#[test]
fn bounds_of_types() {
    fn anywhere<T: Send + Sync + UnwindSafe + RefUnwindSafe>() {}
    fn sent<T: Send + UnwindSafe + RefUnwindSafe>() {}
    fn shown<T: Debug>() {}
    anywhere::<Sender<Cell<u8>>>();
    anywhere::<SyncSender<Cell<u8>>>();
    sent::<Receiver<Cell<u8>>>();
    shown::<Sender<Cell<u8>>>();
    shown::<SyncSender<Cell<u8>>>();
    shown::<Receiver<u8>>();
    shown::<(Iter<'_, u8>, TryIter<'_, u8>, IntoIter<u8>)>();
    // Messages need not be `'static`, nor `Send` where they stay in one thread.
    let text = String::from("text");
    let (to, from) = channel::<&str>();
    to.send(&text).unwrap();
    assert_eq!(from.recv(), Ok("text"));
    let (to, from) = channel::<std::rc::Rc<u8>>();
    to.clone().send(std::rc::Rc::new(1)).unwrap();
    assert_eq!(*from.recv().unwrap(), 1);
}

#[test]
fn outside_of_a_check() {
    let (to, from) = channel();
    let also = to.clone();
    let sender = std::thread::spawn(move || (0..3).for_each(|k| also.send(k).unwrap()));
    assert_eq!((&from).into_iter().take(3).collect::<Vec<_>>(), [0, 1, 2]);
    sender.join().unwrap();
    assert_eq!(from.try_recv(), Err(TryRecvError::Empty));
    assert_eq!(from.recv_timeout(Duration::from_millis(1)), Err(RecvTimeoutError::Timeout));
    drop(to);
    assert_eq!(from.recv(), Err(RecvError));
    let (to, from) = sync_channel(1);
    to.send(1).unwrap();
    assert_eq!(to.try_send(2), Err(TrySendError::Full(2)));
    assert_eq!(from.try_iter().collect::<Vec<_>>(), [1]);
    drop(from);
    assert_eq!(to.clone().try_send(3), Err(TrySendError::Disconnected(3)));
}
