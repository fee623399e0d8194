//! Locks, channels, threads and the rest: what the standard library promises to order, and nothing else.

use std::task::Poll;
use std::time::Duration;

use mazurka::future::{block_on, spawn};
use mazurka::mailbox::mailbox;
use mazurka::sync::atomic::{AtomicU32, Ordering::Relaxed};
use mazurka::sync::mpsc::{channel, sync_channel};
use mazurka::sync::{Arc, Barrier, Condvar, Mutex, Once, OnceLock, RwLock, Weak};
use mazurka::thread;

use super::{Number, ordered, races};

#[derive(Default)]
struct Shared {
    data: Number,
    more: Number,
    /// A word from one thread to another that orders nothing.
    seen: AtomicU32,
    lock: Mutex<u32>,
    rw: RwLock<u32>,
    condvar: Condvar,
}

/// Runs two threads on what they share.
fn two(a: fn(&Shared), b: fn(&Shared)) -> impl Fn() + Send + Sync + 'static {
    move || {
        let shared = Arc::new(Shared::default());
        let other = shared.clone();
        let thread = thread::spawn(move || a(&other));
        b(&shared);
        thread.join().unwrap();
    }
}

#[test]
fn a_mutex_orders_who_has_it_and_nobody_else() {
    let write: fn(&Shared) = |shared| {
        let _held = shared.lock.lock().unwrap();
        shared.data.set(1);
    };
    ordered("both hold it", two(write, write));
    races("one has no part in it", two(write, |shared| shared.data.set(2)));
    races(
        "a failed attempt",
        two(
            |shared| {
                shared.data.set(1);
                let _held = shared.lock.lock().unwrap();
                shared.seen.store(1, Relaxed);
            },
            |shared| {
                if shared.lock.try_lock().is_err() {
                    shared.data.get();
                }
            },
        ),
    );
}

#[test]
fn a_lock_that_is_given_back_by_a_panic_orders() {
    ordered("a poisoned lock", || {
        let shared = Arc::new(Shared::default());
        let other = shared.clone();
        let thread = thread::spawn(move || {
            let _held = other.lock.lock().unwrap();
            other.data.set(1);
            panic!("with the lock held");
        });
        let _held = shared.lock.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        shared.data.get();
        drop(_held);
        assert!(thread.join().is_err());
    });
}

#[test]
fn readers_are_ordered_with_writers_and_not_among_each_other() {
    let read: fn(&Shared) = |shared| {
        let _held = shared.rw.read().unwrap();
        shared.data.get();
    };
    let write: fn(&Shared) = |shared| {
        let _held = shared.rw.write().unwrap();
        shared.data.set(1);
    };
    ordered("a reader and a writer", two(read, write));
    ordered("two writers", two(write, write));
    ordered(
        "a writer that becomes a reader",
        two(
            |shared| {
                let held = shared.rw.write().unwrap();
                shared.data.set(1);
                let _held = mazurka::sync::RwLockWriteGuard::downgrade(held);
            },
            |shared| {
                let _held = shared.rw.read().unwrap();
                shared.data.get();
            },
        ),
    );
    races(
        "one reader after another",
        two(
            |shared| {
                shared.data.set(1);
                drop(shared.rw.read().unwrap());
                shared.seen.store(1, Relaxed);
            },
            |shared| {
                if shared.seen.load(Relaxed) == 1 {
                    drop(shared.rw.read().unwrap());
                    shared.data.get();
                }
            },
        ),
    );
}

#[test]
fn a_notification_orders_nothing_by_itself() {
    races(
        "what is written between the lock and the notification",
        two(
            |shared| {
                drop(shared.lock.lock().unwrap());
                shared.data.set(1);
                shared.condvar.notify_one();
            },
            |shared| {
                let held = shared.lock.lock().unwrap();
                let (_held, result) = shared.condvar.wait_timeout(held, Duration::from_secs(1)).unwrap();
                if !result.timed_out() {
                    shared.data.get();
                }
            },
        ),
    );
    ordered(
        "what is written with the lock",
        two(
            |shared| {
                let mut held = shared.lock.lock().unwrap();
                shared.data.set(1);
                *held = 1;
                shared.condvar.notify_one();
            },
            |shared| {
                let held = shared.lock.lock().unwrap();
                let _held = shared.condvar.wait_while(held, |ready| *ready == 0).unwrap();
                shared.data.get();
            },
        ),
    );
}

#[test]
fn a_barrier_orders_what_comes_before_it_with_what_comes_after() {
    ordered("both ways", || {
        let shared = Arc::new((Barrier::new(2), Number::default(), Number::default()));
        let other = shared.clone();
        let thread = thread::spawn(move || {
            other.1.set(1);
            other.0.wait();
            other.2.get();
        });
        shared.2.set(1);
        shared.0.wait();
        shared.1.get();
        thread.join().unwrap();
    });
}

#[test]
fn what_is_done_once_comes_before_who_finds_it_done() {
    ordered("call_once", || {
        let shared = Arc::new((Once::new(), Number::default()));
        let other = shared.clone();
        let thread = thread::spawn(move || other.0.call_once(|| other.1.set(1)));
        shared.0.call_once(|| shared.1.set(2));
        shared.1.get();
        thread.join().unwrap();
    });
    ordered("is_completed", || {
        let shared = Arc::new((Once::new(), Number::default()));
        let other = shared.clone();
        let thread = thread::spawn(move || other.0.call_once(|| other.1.set(1)));
        if shared.0.is_completed() {
            shared.1.get();
        }
        thread.join().unwrap();
    });
    ordered("OnceLock", || {
        let shared = Arc::new((OnceLock::new(), Number::default()));
        let other = shared.clone();
        let thread = thread::spawn(move || {
            other.1.set(1);
            assert!(other.0.set(1).is_ok());
        });
        if shared.0.get().is_some() {
            shared.1.get();
        }
        thread.join().unwrap();
    });
}

#[test]
fn threads_are_ordered_by_their_beginning_and_by_who_joins_them() {
    ordered("spawn and join", || {
        let data = Arc::new(Number::default());
        data.set(1);
        let other = data.clone();
        thread::spawn(move || other.set(2)).join().unwrap();
        assert_eq!(data.get(), 2);
    });
    ordered("a scope", || {
        let data = Number::default();
        data.set(1);
        thread::scope(|scope| {
            scope.spawn(|| data.set(2));
        });
        data.get();
    });
    races("to see that a thread has ended", || {
        let data = Arc::new(Number::default());
        let other = data.clone();
        let thread = thread::spawn(move || other.set(1));
        if thread.is_finished() {
            data.get();
        }
        thread.join().unwrap();
    });
}

#[test]
fn every_unpark_before_a_park_is_ordered_with_it() {
    ordered("two of them", || {
        let shared = Arc::new(Shared::default());
        let main = thread::current();
        let threads = [0, 1].map(|which| {
            let (shared, main) = (shared.clone(), main.clone());
            thread::spawn(move || {
                if which == 0 {
                    shared.data.set(1)
                } else {
                    shared.more.set(1)
                }
                main.unpark();
                shared.seen.fetch_add(1, Relaxed);
            })
        });
        if shared.seen.load(Relaxed) == 2 {
            thread::park();
            shared.data.get();
            shared.more.get();
        }
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
    races("a look at what orders nothing", || {
        let shared = Arc::new(Shared::default());
        let (other, main) = (shared.clone(), thread::current());
        let thread = thread::spawn(move || {
            main.unpark();
            other.data.set(1);
            other.seen.store(1, Relaxed);
        });
        thread::park();
        if shared.seen.load(Relaxed) == 1 {
            shared.data.get();
        }
        thread.join().unwrap();
    });
}

/// Writes a number when it is dropped.
struct Message(Arc<Number>);

impl Drop for Message {
    fn drop(&mut self) {
        self.0.set(9);
    }
}

#[test]
fn a_message_comes_before_who_gets_it() {
    ordered("channel", || {
        let (to, from) = channel();
        let thread = thread::spawn(move || {
            let data = Arc::new(Number::default());
            data.set(1);
            to.send(data).unwrap();
        });
        assert_eq!(from.recv().unwrap().get(), 1);
        thread.join().unwrap();
    });
    ordered("messages that nobody received", || {
        let (to, from) = channel();
        let thread = thread::spawn(move || {
            let data = Arc::new(Number::default());
            data.set(1);
            let _ = to.send(Message(data));
        });
        drop(from);
        thread.join().unwrap();
    });
    ordered("the end of all senders", || {
        let data = Arc::new(Number::default());
        let (to, from) = channel();
        let other = data.clone();
        let thread = thread::spawn(move || {
            to.send(1).unwrap();
            other.set(1);
        });
        assert_eq!(from.iter().count(), 1);
        // Senders are dropped when their thread ends, after all else that it did.
        data.get();
        thread.join().unwrap();
    });
    races("what is written after the message", || {
        let data = Arc::new(Number::default());
        let (to, from) = channel();
        let other = data.clone();
        let thread = thread::spawn(move || {
            to.send(1).unwrap();
            other.set(1);
        });
        from.recv().unwrap();
        data.get();
        thread.join().unwrap();
    });
}

#[test]
fn a_place_in_a_channel_is_ordered_from_hand_to_hand() {
    for bound in [0, 1] {
        ordered("the message", move || {
            let data = Arc::new(Number::default());
            let (to, from) = sync_channel(bound);
            let other = data.clone();
            let thread = thread::spawn(move || {
                other.set(1);
                to.send(1).unwrap();
            });
            from.recv().unwrap();
            data.get();
            thread.join().unwrap();
        });
        ordered("the room for the next", move || {
            let data = Arc::new(Number::default());
            let (to, from) = sync_channel(bound);
            let other = data.clone();
            let thread = thread::spawn(move || {
                other.set(1);
                from.recv().unwrap();
                if bound > 0 {
                    from.recv().unwrap();
                }
            });
            to.send(1).unwrap();
            if bound > 0 {
                to.send(2).unwrap();
            }
            data.get();
            thread.join().unwrap();
        });
    }
    races("two senders that both find room", || {
        let data = Arc::new(Shared::default());
        let (to, from) = sync_channel(2);
        let (other, also) = (data.clone(), to.clone());
        let thread = thread::spawn(move || {
            other.data.set(1);
            also.send(1).unwrap();
            other.seen.store(1, Relaxed);
        });
        if data.seen.load(Relaxed) == 1 {
            to.send(2).unwrap();
            data.data.get();
        }
        thread.join().unwrap();
        drop(from);
    });
}

#[test]
fn a_letter_comes_before_who_takes_it_and_not_before_who_leaves_it() {
    ordered("taken", || {
        let (address, letters) = mailbox();
        let data = Arc::new(Number::default());
        let other = data.clone();
        let thread = thread::spawn(move || {
            other.set(1);
            address.send(7);
        });
        letters.receive_match(|&letter| letter == 7);
        data.get();
        thread.join().unwrap();
    });
    races("left", || {
        let (address, letters) = mailbox();
        let shared = Arc::new(Shared::default());
        let other = shared.clone();
        let thread = thread::spawn(move || {
            other.data.set(1);
            address.send(7);
            other.seen.store(1, Relaxed);
        });
        if shared.seen.load(Relaxed) == 1 {
            letters.try_receive_match(|&letter| letter == 8);
            shared.data.get();
        }
        thread.join().unwrap();
    });
}

#[test]
fn the_last_handle_comes_after_all_others() {
    struct Watched(Number);
    impl Drop for Watched {
        fn drop(&mut self) {
            self.0.set(9);
        }
    }
    ordered("the last drop", || {
        let data = Arc::new(Watched(Number::default()));
        let other = data.clone();
        let thread = thread::spawn(move || {
            other.0.get();
        });
        data.0.get();
        drop(data);
        thread.join().unwrap();
    });
    ordered("get_mut", || {
        let mut data = Arc::new(Number::default());
        let other = data.clone();
        let thread = thread::spawn(move || {
            other.get();
        });
        if Arc::get_mut(&mut data).is_some() {
            data.set(1);
        }
        thread.join().unwrap();
    });
    races("to know the count", || {
        let data = Arc::new(Number::default());
        let other = data.clone();
        let thread = thread::spawn(move || {
            other.get();
        });
        if Arc::strong_count(&data) == 1 {
            data.set(1);
        }
        thread.join().unwrap();
    });
    ordered("what is found by a weak handle", || {
        let place: Arc<Mutex<Weak<Number>>> = Arc::new(Mutex::new(Weak::new()));
        let other = place.clone();
        let data = Arc::new(Number::default());
        data.set(1);
        let thread = thread::spawn(move || {
            let found = other.lock().unwrap().upgrade();
            found.map(|data| data.get())
        });
        *place.lock().unwrap() = Arc::downgrade(&data);
        thread.join().unwrap();
    });
}

#[test]
fn a_task_comes_before_who_awaits_it() {
    ordered("the result", || {
        let data = Arc::new(Number::default());
        let other = data.clone();
        let task = spawn(async move { other.set(1) });
        block_on(async {
            task.await.unwrap();
            data.get();
        });
    });
    ordered("a wake-up", || {
        let data = Arc::new(Number::default());
        // Who wakes the task, and whether that is not needed any more.
        let waiting: Arc<Mutex<(Option<std::task::Waker>, bool)>> = Arc::default();
        let (other, also) = (data.clone(), waiting.clone());
        let thread = thread::spawn(move || {
            let mut found = also.lock().unwrap();
            found.1 = true;
            let waker = found.0.take();
            drop(found);
            if let Some(waker) = waker {
                other.set(1);
                waker.wake();
            }
        });
        let mut polled = false;
        block_on(std::future::poll_fn(|context| {
            if std::mem::replace(&mut polled, true) {
                data.get();
                return Poll::Ready(());
            }
            let mut waiting = waiting.lock().unwrap();
            waiting.0 = Some(context.waker().clone());
            if waiting.1 { Poll::Ready(()) } else { Poll::Pending }
        }));
        thread.join().unwrap();
    });
}
