use std::time::Duration;

use mazurka::Checker;
use mazurka::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use mazurka::sync::{Arc, Condvar, Mutex};
use mazurka::thread;

use super::support::{expect, fails, passes};

const SECOND: Duration = Duration::from_secs(1);

struct Shared<T> {
    lock: Mutex<T>,
    condvar: Condvar,
}

fn shared<T>(value: T) -> Arc<Shared<T>> {
    Arc::new(Shared { lock: Mutex::new(value), condvar: Condvar::new() })
}

#[test]
fn a_flag_under_a_lock_is_not_missed() {
    // Either the flag is seen at once, or the thread waits before it is set.
    passes(2, || {
        let shared = shared(false);
        let waiter = shared.clone();
        let handle = thread::spawn(move || {
            let mut ready = waiter.lock.lock().unwrap();
            while !*ready {
                ready = waiter.condvar.wait(ready).unwrap();
            }
        });
        *shared.lock.lock().unwrap() = true;
        shared.condvar.notify_one();
        handle.join().unwrap();
    });
}

/// Checks a closure in which threads may wake up of themselves.
fn run_spurious(body: impl Fn() + Send + Sync + 'static) -> mazurka::Report {
    Checker::new().spurious_wakeups(true).run(body)
}

#[test]
fn a_thread_wakes_up_of_itself_if_the_check_says_so() {
    let once = || {
        let shared = shared(false);
        let waiter = shared.clone();
        let handle = thread::spawn(move || {
            let ready = waiter.lock.lock().unwrap();
            assert!(*ready || *waiter.condvar.wait(ready).unwrap(), "woken too early");
        });
        *shared.lock.lock().unwrap() = true;
        shared.condvar.notify_one();
        handle.join().unwrap();
    };
    passes(2, once);
    assert!(run_spurious(once).text().contains("woken too early"));
    // In a loop: the flag is seen at once; the notification comes in time; or the thread wakes up of itself,
    // and the flag is set before it has the lock again, or after that, when it waits once more.
    let report = run_spurious(|| {
        let shared = shared(false);
        let waiter = shared.clone();
        let handle = thread::spawn(move || {
            drop(waiter.condvar.wait_while(waiter.lock.lock().unwrap(), |ready| !*ready).unwrap());
        });
        *shared.lock.lock().unwrap() = true;
        shared.condvar.notify_one();
        handle.join().unwrap();
    });
    assert!(report.is_pass(), "{}", report.text());
    assert_eq!((report.executions(), report.blocked()), (4, 0));
}

#[test]
fn to_wake_up_of_itself_is_no_timeout() {
    let seen = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let timeouts = seen.clone();
    let report = run_spurious(move || {
        let (lock, condvar) = (Mutex::new(()), Condvar::new());
        let (guard, first) = condvar.wait_timeout(lock.lock().unwrap(), SECOND).unwrap();
        let (_guard, second) = condvar.wait_timeout(guard, SECOND).unwrap();
        timeouts.lock().unwrap().push((first.timed_out(), second.timed_out()));
    });
    // Once in an execution.
    assert!(report.is_pass(), "{}", report.text());
    assert_eq!((report.executions(), report.blocked()), (3, 0));
    let mut seen = seen.lock().unwrap().clone();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen, [(false, true), (true, false), (true, true)]);
}

/// The flag is no part of what the lock guards: it can be set and notified between the look at it and the
/// wait.
fn lost_wake_up() {
    let shared = shared(());
    let flag = Arc::new(AtomicBool::new(false));
    let (waiter, set) = (shared.clone(), flag.clone());
    thread::spawn(move || {
        let guard = waiter.lock.lock().unwrap();
        if !set.load(SeqCst) {
            drop(waiter.condvar.wait(guard).unwrap());
        }
    });
    flag.store(true, SeqCst);
    shared.condvar.notify_one();
}

#[test]
fn a_lost_wake_up_is_a_deadlock() {
    fails(&["deadlock", "a notification of"], lost_wake_up);
}

#[test]
fn wait_while_looks_first() {
    passes(2, || {
        let shared = shared(0);
        let waiter = shared.clone();
        let handle = thread::spawn(move || {
            let value = waiter.condvar.wait_while(waiter.lock.lock().unwrap(), |value| *value == 0).unwrap();
            assert_eq!(*value, 7);
        });
        *shared.lock.lock().unwrap() = 7;
        shared.condvar.notify_all();
        handle.join().unwrap();
    });
}

#[test]
fn a_wait_with_a_timeout_alone_times_out() {
    expect(1, [true], || {
        let (lock, condvar) = (Mutex::new(()), Condvar::new());
        let (_guard, result) = condvar.wait_timeout(lock.lock().unwrap(), SECOND).unwrap();
        result.timed_out()
    });
    #[allow(deprecated)]
    expect(1, [false], || {
        let (lock, condvar) = (Mutex::new(()), Condvar::new());
        condvar.wait_timeout_ms(lock.lock().unwrap(), 1000).unwrap().1
    });
}

#[test]
fn a_notification_comes_before_the_wait_in_time_or_too_late() {
    expect(3, [false, true], || {
        let shared = shared(());
        let waiter = shared.clone();
        let handle = thread::spawn(move || {
            let (_guard, result) = waiter.condvar.wait_timeout(waiter.lock.lock().unwrap(), SECOND).unwrap();
            result.timed_out()
        });
        shared.condvar.notify_one();
        handle.join().unwrap()
    });
}

#[test]
fn a_condition_that_has_come_is_no_timeout() {
    // The value is set before the first look; or the notification comes in time; or the wait times out, and
    // the value is set before the second look, or after it.
    expect(4, [(false, 7), (true, 0)], || {
        let shared = shared(0);
        let waiter = shared.clone();
        let handle = thread::spawn(move || {
            let guard = waiter.lock.lock().unwrap();
            let (value, result) =
                waiter.condvar.wait_timeout_while(guard, SECOND, |value| *value == 0).unwrap();
            (result.timed_out(), *value)
        });
        *shared.lock.lock().unwrap() = 7;
        shared.condvar.notify_one();
        handle.join().unwrap()
    });
}

/// Two threads wait for a token each.
fn tokens(notify: impl Fn(&Condvar)) {
    let shared = shared(0);
    for _ in 0..2 {
        let shared = shared.clone();
        thread::spawn(move || {
            let guard = shared.lock.lock().unwrap();
            *shared.condvar.wait_while(guard, |tokens| *tokens == 0).unwrap() -= 1;
        });
    }
    *shared.lock.lock().unwrap() += 2;
    notify(&shared.condvar);
}

#[test]
fn notify_all_wakes_all_and_notify_one_does_not() {
    // Nobody, either, or both wait (in one of 2 orders), and in the end the two have the lock in one of 2
    // orders.
    passes(2 + 4 + 4, || tokens(Condvar::notify_all));
    // Of two who wait, either is woken first.
    passes(2 + 4 + 8, || {
        tokens(|condvar| {
            condvar.notify_one();
            condvar.notify_one();
        });
    });
    fails(&["deadlock", "a notification of"], || tokens(Condvar::notify_one));
}

#[test]
fn any_of_those_who_wait_may_be_woken() {
    // The three come to the lock in one of 6 orders; either may be woken first; they take the lock again in
    // one of 2 orders.
    expect(6 * 2 * 2, [[0, 1], [1, 0]], || {
        let shared = shared(Vec::new());
        let ready = Arc::new(Condvar::new());
        let waiting = Arc::new(AtomicUsize::new(0));
        let handles = [0, 1].map(|name| {
            let (shared, ready, waiting) = (shared.clone(), ready.clone(), waiting.clone());
            thread::spawn(move || {
                let guard = shared.lock.lock().unwrap();
                if waiting.fetch_add(1, SeqCst) == 1 {
                    ready.notify_one();
                }
                shared.condvar.wait(guard).unwrap().push(name);
            })
        });
        drop(ready.wait_while(shared.lock.lock().unwrap(), |_| waiting.load(SeqCst) < 2).unwrap());
        shared.condvar.notify_one();
        shared.condvar.notify_one();
        for handle in handles {
            handle.join().unwrap();
        }
        let order = shared.lock.lock().unwrap();
        [order[0], order[1]]
    });
}

#[test]
fn a_panic_of_another_holder_is_seen_when_the_lock_is_taken_again() {
    expect(2, [false, true], || {
        let shared = shared(());
        let waiter = shared.clone();
        let handle = thread::spawn(move || {
            let Ok(guard) = waiter.lock.lock() else { return false };
            waiter.condvar.wait(guard).is_err()
        });
        let panics = shared.clone();
        let panicking = thread::spawn(move || {
            let _guard = panics.lock.lock();
            panics.condvar.notify_one();
            panic!("on purpose");
        });
        assert!(panicking.join().is_err());
        shared.condvar.notify_all();
        handle.join().unwrap()
    });
}

#[test]
fn to_choose_whom_to_wake_while_unwinding_is_refused() {
    struct Notifies(Arc<Shared<()>>);
    impl Drop for Notifies {
        fn drop(&mut self) {
            self.0.condvar.notify_one();
        }
    }
    let report = Checker::new().run(|| {
        let shared = shared(());
        for _ in 0..2 {
            let shared = shared.clone();
            thread::spawn(move || drop(shared.condvar.wait_timeout(shared.lock.lock().unwrap(), SECOND)));
        }
        let panicking = thread::spawn(move || {
            let _notifies = Notifies(shared);
            panic!("on purpose");
        });
        let _ = panicking.join();
    });
    let text = report.text();
    assert!(!report.is_pass() && text.contains("several outcomes") && text.contains("unwinds"), "{text}");
}

#[test]
fn two_locks_at_once_are_a_panic() {
    fails(&["two mutexes"], || {
        let condvar = Arc::new(Condvar::new());
        for _ in 0..2 {
            let condvar = condvar.clone();
            thread::spawn(move || {
                let lock = Mutex::new(());
                let _guard = condvar.wait(lock.lock().unwrap());
            });
        }
    });
    // One after the other is fine.
    passes(1, || {
        let condvar = Condvar::new();
        for _ in 0..2 {
            let lock = Mutex::new(());
            drop(condvar.wait_timeout(lock.lock().unwrap(), SECOND));
        }
    });
}

#[test]
fn a_buffer_for_one_thing_passes_all_things_on_in_order() {
    // Before each thing is put, and before each but the last is taken, the other side may come first and
    // wait.
    passes(1 << 5, || {
        let buffer = shared(None);
        let producer = buffer.clone();
        let handle = thread::spawn(move || {
            for thing in 0..3 {
                let mut guard = producer.lock.lock().unwrap();
                while guard.is_some() {
                    guard = producer.condvar.wait(guard).unwrap();
                }
                *guard = Some(thing);
                producer.condvar.notify_one();
            }
        });
        for thing in 0..3 {
            let mut guard = buffer.lock.lock().unwrap();
            while guard.is_none() {
                guard = buffer.condvar.wait(guard).unwrap();
            }
            assert_eq!(guard.take(), Some(thing));
            buffer.condvar.notify_one();
        }
        handle.join().unwrap();
    });
}

#[test]
fn one_condition_variable_for_two_conditions_needs_notify_all() {
    fails(&["deadlock"], || buffer(Condvar::notify_one));
    let report = Checker::new().run(|| buffer(Condvar::notify_all));
    assert!(report.is_pass(), "{}", report.text());
}

/// Two producers and two consumers of one thing each, with one condition variable for "empty" and for "full".
fn buffer(notify: fn(&Condvar)) {
    let buffer = shared(None);
    for thing in 0..2 {
        let (producer, consumer) = (buffer.clone(), buffer.clone());
        thread::spawn(move || {
            let mut guard =
                producer.condvar.wait_while(producer.lock.lock().unwrap(), |b| b.is_some()).unwrap();
            *guard = Some(thing);
            notify(&producer.condvar);
        });
        thread::spawn(move || {
            let mut guard =
                consumer.condvar.wait_while(consumer.lock.lock().unwrap(), |b| b.is_none()).unwrap();
            *guard = None;
            notify(&consumer.condvar);
        });
    }
}
