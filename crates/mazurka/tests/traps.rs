//! What is easy to get wrong when threads are coroutines: panics, statics, thread-local variables, stacks
//! that are left behind, and wrong use. After each of them the next check is as good as before.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex as StdMutex;

use mazurka::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use mazurka::sync::{Arc, Mutex};
use mazurka::{Checker, Report, thread};

fn run(closure: impl Fn() + Send + Sync + 'static) -> Report {
    Checker::new().run(closure)
}

/// A set of outcomes that a closure fills.
type Outcomes<T> = std::sync::Arc<StdMutex<BTreeSet<T>>>;

fn outcomes<T: Ord + Clone + Send + 'static>(
    closure: impl Fn() -> T + Send + Sync + 'static,
) -> (Report, Vec<T>) {
    let seen: Outcomes<T> = Outcomes::default();
    let into = seen.clone();
    let report = run(move || {
        let outcome = closure();
        into.lock().unwrap().insert(outcome);
    });
    let seen = seen.lock().unwrap().iter().cloned().collect();
    (report, seen)
}

#[test]
fn a_panic_is_an_error_of_join() {
    let (report, seen) = outcomes(|| {
        let x = Arc::new(AtomicUsize::new(0));
        let y = x.clone();
        let child = thread::spawn(move || {
            assert_eq!(y.load(SeqCst), 0, "too late");
        });
        x.store(1, SeqCst);
        child.join().is_err()
    });
    assert!(report.is_pass(), "{}", report.text());
    assert_eq!(report.executions(), 2);
    assert_eq!(seen, [false, true]);
}

#[test]
fn a_panic_that_nobody_is_told_of_is_a_failure() {
    let report = run(|| {
        thread::spawn(|| panic!("nobody listens"));
    });
    assert!(!report.is_pass());
    assert!(report.text().contains("nobody listens"), "{}", report.text());
}

#[test]
fn a_lock_is_poisoned_by_who_panics_while_holding_it() {
    let (report, seen) = outcomes(|| {
        let lock = Arc::new(Mutex::new(0));
        let other = lock.clone();
        let child = thread::spawn(move || {
            let _guard = other.lock().unwrap();
            panic!("while holding the lock");
        });
        let poisoned = lock.lock().is_err();
        assert!(child.join().is_err());
        assert!(lock.is_poisoned());
        poisoned
    });
    assert!(report.is_pass(), "{}", report.text());
    assert_eq!((report.executions(), report.blocked()), (2, 0));
    assert_eq!(seen, [false, true]);
}

#[test]
fn others_do_not_panic_while_one_unwinds() {
    // The destructor of what unwinds does operations; nobody else may see `panicking`.
    struct Bump(Arc<AtomicUsize>);
    impl Drop for Bump {
        fn drop(&mut self) {
            self.0.fetch_add(1, SeqCst);
            self.0.fetch_add(1, SeqCst);
        }
    }
    let (report, seen) = outcomes(|| {
        let x = Arc::new(AtomicUsize::new(0));
        let y = x.clone();
        let child = thread::spawn(move || {
            let _bump = Bump(y.clone());
            y.load(SeqCst);
            panic!("on purpose");
        });
        let seen = x.load(SeqCst);
        assert!(!std::thread::panicking());
        assert!(child.join().is_err());
        assert_eq!(x.load(SeqCst), 2);
        seen
    });
    assert!(report.is_pass(), "{}", report.text());
    // The unwinding is one step: nobody sees 1.
    assert_eq!(seen, [0, 2]);
    assert_eq!((report.executions(), report.blocked()), (2, 0));
}

#[test]
fn what_panics_may_be_caught() {
    let (report, seen) = outcomes(|| {
        let lock = Arc::new(Mutex::new(0));
        let other = lock.clone();
        let child = thread::spawn(move || {
            let caught = catch_unwind(AssertUnwindSafe(|| {
                let mut guard = other.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                *guard += 1;
                panic!("caught below");
            }));
            assert!(caught.is_err());
            other.clear_poison();
            *other.lock().unwrap() += 1;
        });
        let seen = *lock.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        child.join().unwrap();
        seen
    });
    assert!(report.is_pass(), "{}", report.text());
    assert_eq!(seen, [0, 1, 2]);
}

#[test]
fn statics_begin_anew_in_each_execution() {
    static COUNT: AtomicUsize = AtomicUsize::new(40);
    static NAMES: Mutex<Vec<String>> = Mutex::new(Vec::new());
    let report = run(|| {
        assert_eq!(COUNT.load(SeqCst), 40);
        assert!(NAMES.lock().unwrap().is_empty());
        let child = thread::spawn(|| {
            COUNT.fetch_add(1, SeqCst);
            NAMES.lock().unwrap().push("child".to_owned());
        });
        COUNT.fetch_add(1, SeqCst);
        NAMES.lock().unwrap().push("main".to_owned());
        child.join().unwrap();
        assert_eq!(COUNT.load(SeqCst), 42);
        assert_eq!(NAMES.lock().unwrap().len(), 2);
    });
    assert!(report.is_pass(), "{}", report.text());
    assert_eq!(report.executions(), 4);
    assert_eq!(COUNT.load(SeqCst), 40);
}

#[test]
fn thread_local_variables_belong_to_modelled_threads() {
    static DROPPED: AtomicUsize = AtomicUsize::new(0);
    struct Noisy;
    impl Drop for Noisy {
        fn drop(&mut self) {
            DROPPED.fetch_add(1, SeqCst);
        }
    }
    mazurka::thread_local! {
        static MINE: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
        static NOISY: Noisy = Noisy;
    }
    let (report, seen) = outcomes(|| {
        let children: Vec<_> = (0..2)
            .map(|_| {
                thread::spawn(|| {
                    MINE.set(MINE.get() + 1);
                    NOISY.with(|_| ());
                    MINE.get()
                })
            })
            .collect();
        // The destructors are steps of the threads.
        let early = DROPPED.load(SeqCst);
        for child in children {
            assert_eq!(child.join().unwrap(), 1);
        }
        assert_eq!(MINE.get(), 0);
        assert_eq!(DROPPED.load(SeqCst), 2);
        early
    });
    assert!(report.is_pass(), "{}", report.text());
    assert_eq!(seen, [0, 1, 2]);
}

#[test]
fn the_end_of_an_execution_can_not_be_swallowed() {
    let report = Checker::new().run(|| {
        let x = Arc::new(AtomicUsize::new(0));
        let y = x.clone();
        let stubborn = thread::spawn(move || {
            let held = Arc::new(Mutex::new(()));
            let _guard = held.lock().unwrap();
            // Deadlocks with itself, and catches whatever comes.
            loop {
                let _ = catch_unwind(AssertUnwindSafe(|| drop(held.lock())));
                y.load(SeqCst);
            }
        });
        x.store(1, SeqCst);
        let _ = stubborn.join();
    });
    assert!(!report.is_pass());
    assert!(report.text().contains("deadlock"), "{}", report.text());
}

#[test]
fn what_lives_on_abandoned_stacks_is_dropped() {
    static ALIVE: std::sync::atomic::AtomicIsize = std::sync::atomic::AtomicIsize::new(0);
    struct Alive;
    impl Alive {
        fn new() -> Alive {
            ALIVE.fetch_add(1, SeqCst);
            Alive
        }
    }
    impl Drop for Alive {
        fn drop(&mut self) {
            ALIVE.fetch_sub(1, SeqCst);
        }
    }
    let report = run(|| {
        let (a, b) = (Arc::new(Mutex::new(Alive::new())), Arc::new(Mutex::new(Alive::new())));
        let (c, d) = (a.clone(), b.clone());
        let child = thread::spawn(move || {
            let _here = Alive::new();
            let _d = d.lock().unwrap();
            let _c = c.lock().unwrap();
        });
        let _here = Alive::new();
        let _a = a.lock().unwrap();
        let _b = b.lock().unwrap();
        drop((_a, _b));
        child.join().unwrap();
    });
    assert!(report.text().contains("deadlock"), "{}", report.text());
    assert_eq!(ALIVE.load(SeqCst), 0);
}

#[test]
fn scoped_threads_borrow() {
    let (report, seen) = outcomes(|| {
        let x = AtomicUsize::new(0);
        let mut local = 0;
        thread::scope(|scope| {
            let first = scope.spawn(|| x.fetch_add(1, SeqCst));
            scope.spawn(|| {
                x.fetch_add(10, SeqCst);
                scope.spawn(|| x.fetch_add(100, SeqCst));
            });
            local += first.join().unwrap();
        });
        assert_eq!(x.load(SeqCst), 111);
        local
    });
    assert!(report.is_pass(), "{}", report.text());
    assert_eq!(seen, [0, 10, 110]);
}

#[test]
fn a_scope_waits_and_then_panics() {
    let report = run(|| {
        let x = AtomicUsize::new(0);
        let caught = catch_unwind(AssertUnwindSafe(|| {
            thread::scope(|scope| {
                scope.spawn(|| {
                    x.fetch_add(1, SeqCst);
                    panic!("in the scope");
                });
                x.load(SeqCst);
            });
        }));
        assert!(caught.is_err());
        assert_eq!(x.load(SeqCst), 1);
    });
    assert!(report.is_pass(), "{}", report.text());
    assert_eq!(report.executions(), 2);
}

#[test]
fn a_stack_overflow_is_reported_and_the_next_check_is_unaffected() {
    #[allow(unconditional_recursion)]
    fn deeper(buffer: [u8; 512]) -> usize {
        let more = std::hint::black_box(buffer);
        deeper(more) + usize::from(more[0])
    }
    let report = run(|| {
        let child = thread::Builder::new().name("deep".into()).spawn(move || deeper([0; 512])).unwrap();
        let _ = child.join();
    });
    assert!(!report.is_pass());
    assert!(report.text().contains("deep overflowed its stack of 256 KiB"), "{}", report.text());
    assert!(run(|| ()).is_pass());
}

#[test]
fn a_panic_in_a_destructor_while_unwinding_is_reported() {
    struct Bad;
    impl Drop for Bad {
        fn drop(&mut self) {
            panic!("in the destructor");
        }
    }
    let report = run(|| {
        let _bad = Bad;
        panic!("first");
    });
    assert!(!report.is_pass());
    assert!(report.text().contains("in a destructor while it unwound"), "{}", report.text());
    assert!(run(|| ()).is_pass());
    // One that comes alone is an ordinary panic.
    let report = run(|| drop(Bad));
    assert!(report.text().contains("in the destructor"), "{}", report.text());
    assert!(!std::thread::panicking());
}

#[test]
fn objects_made_outside_are_refused() {
    let outside = std::sync::Arc::new(Mutex::new(0));
    let inside = outside.clone();
    let report = run(move || *inside.lock().unwrap() += 1);
    assert!(report.text().contains("is not known to this check"), "{}", report.text());
    *outside.lock().unwrap() += 1;
    assert!(run(|| ()).is_pass());
}

#[test]
fn objects_of_a_check_are_refused_outside() {
    let leaked: std::sync::Arc<StdMutex<Option<std::sync::Arc<Mutex<u32>>>>> = Default::default();
    let into = leaked.clone();
    let report = run(move || {
        let lock = std::sync::Arc::new(Mutex::new(1));
        *lock.lock().unwrap() += 1;
        *into.lock().unwrap() = Some(lock);
    });
    assert!(report.is_pass());
    let lock = leaked.lock().unwrap().take().unwrap();
    let refused = catch_unwind(AssertUnwindSafe(|| drop(lock.lock()))).unwrap_err();
    let message = refused.downcast_ref::<String>().unwrap();
    assert!(message.contains("belongs to a check and was used outside of it"), "{message}");
}

#[test]
fn nondeterminism_is_reported_with_both_places() {
    static TIMES: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    let report = run(|| {
        let x = Arc::new(AtomicUsize::new(0));
        let y = x.clone();
        let child = thread::spawn(move || y.store(1, SeqCst));
        if TIMES.fetch_add(1, SeqCst) == 0 {
            x.load(SeqCst);
        } else {
            x.store(2, SeqCst);
        }
        child.join().unwrap();
    });
    let text = report.text();
    assert!(text.contains("nondeterminism"), "{text}");
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("after the same 1 steps, main comes to the operation at"), "{text}");
    assert!(words.matches("tests/traps.rs:").count() >= 2, "{text}");
}

#[test]
fn the_drop_of_an_arc_matters_if_the_drop_of_its_value_does() {
    // Who comes last runs the destructor, which does an operation.
    struct Last(Arc<AtomicUsize>);
    impl Drop for Last {
        fn drop(&mut self) {
            let me = thread::current().name().map_or(0, |name| name.len());
            self.0.store(me, SeqCst);
        }
    }
    let (report, seen) = outcomes(|| {
        let who = Arc::new(AtomicUsize::new(0));
        let shared = Arc::new(Last(who.clone()));
        let children: Vec<_> = ["a", "bb"]
            .into_iter()
            .map(|name| {
                let shared = shared.clone();
                thread::Builder::new().name(name.into()).spawn(move || drop(shared)).unwrap()
            })
            .collect();
        drop(shared);
        for child in children {
            child.join().unwrap();
        }
        who.load(SeqCst)
    });
    assert!(report.is_pass(), "{}", report.text());
    assert_eq!(seen, [1, 2, 4]);
}

#[test]
fn counts_of_an_arc() {
    let (report, seen) = outcomes(|| {
        let shared = Arc::new(7);
        let other = shared.clone();
        let child = thread::spawn(move || drop(other));
        let count = Arc::strong_count(&shared);
        child.join().unwrap();
        assert_eq!(Arc::try_unwrap(shared), Ok(7));
        count
    });
    assert!(report.is_pass(), "{}", report.text());
    assert_eq!((report.executions(), report.blocked()), (2, 0));
    assert_eq!(seen, [1, 2]);
}

#[test]
fn many_threads() {
    let report = run(|| {
        let x = Arc::new(AtomicUsize::new(0));
        let children: Vec<_> = (0..200)
            .map(|i| {
                let x = x.clone();
                thread::spawn(move || {
                    if i < 2 {
                        x.store(i, SeqCst)
                    }
                })
            })
            .collect();
        for child in children {
            child.join().unwrap();
        }
    });
    assert!(report.is_pass(), "{}", report.text());
    assert_eq!(report.executions(), 2);
}

#[test]
fn what_the_runtime_allocates_has_no_part_in_names() {
    for n in 1..40 {
        let report = run(move || {
            let _mailbox = mazurka::mailbox::mailbox::<i64>();
            let cells: std::sync::Arc<Vec<AtomicUsize>> =
                std::sync::Arc::new((0..n).map(|_| AtomicUsize::new(0)).collect());
            let other = cells.clone();
            thread::spawn(move || other[0].store(0, SeqCst));
            cells[0].load(SeqCst);
            cells[0].store(1, SeqCst);
        });
        assert!(report.is_pass(), "{n}: {}", report.text());
        assert_eq!(report.executions(), 3, "{n}");
    }
}

#[test]
fn is_finished_races_with_the_end_whichever_step_is_the_last() {
    for stop in [0, 1] {
        let (report, seen) = outcomes(move || {
            let cells = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
            let (a, b) = (cells.clone(), cells.clone());
            thread::spawn(move || b[0].store(1, SeqCst));
            let handle = thread::spawn(move || {
                if a[0].load(SeqCst) == stop {
                    a[1].store(1, SeqCst);
                }
            });
            let finished = handle.is_finished();
            (finished, cells[0].load(SeqCst), cells[1].load(SeqCst))
        });
        assert!(report.is_pass(), "{}", report.text());
        let expected = match stop {
            0 => vec![
                (false, 0, 0),
                (false, 0, 1),
                (false, 1, 0),
                (false, 1, 1),
                (true, 0, 1),
                (true, 1, 0),
                (true, 1, 1),
            ],
            _ => vec![
                (false, 0, 0),
                (false, 0, 1),
                (false, 1, 0),
                (false, 1, 1),
                (true, 0, 0),
                (true, 1, 0),
                (true, 1, 1),
            ],
        };
        assert_eq!(seen, expected, "{stop}");
    }
}

#[test]
fn the_end_of_the_process_is_told() {
    // The test runs itself, and calls `exit` within a check there.
    if std::env::var_os("MAZURKA_TEST_EXIT").is_some() {
        let _ = run(|| std::process::exit(0));
        unreachable!("the process has ended");
    }
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "traps::the_end_of_the_process_is_told", "--nocapture"])
        .env("MAZURKA_TEST_EXIT", "1")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(101));
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("std::process::exit was called within a check"), "{told}");
}

#[test]
fn the_first_panic_is_the_failure() {
    let report = run(|| {
        thread::scope(|scope| {
            scope.spawn(|| assert_eq!(1, 2));
        });
    });
    assert!(report.text().starts_with("failure: assertion"), "{}", report.text());
    let report = run(|| {
        let lock = Mutex::new(0);
        thread::scope(|scope| {
            scope.spawn(|| {
                let held = lock.lock().unwrap();
                assert_eq!(*held, 2);
            });
            drop(lock.lock().unwrap());
        });
    });
    assert!(report.text().starts_with("failure: assertion"), "{}", report.text());
}

#[test]
fn a_child_that_begins_otherwise_is_noticed() {
    static TIMES: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    let report = run(|| {
        let x = Arc::new(AtomicUsize::new(0));
        let y = x.clone();
        let odd = TIMES.fetch_add(1, SeqCst) % 2 == 1;
        let child =
            thread::spawn(move || if odd { y.store(1, SeqCst) } else { assert!(y.swap(1, SeqCst) != 1) });
        x.store(2, SeqCst);
        child.join().unwrap();
    });
    assert!(report.text().contains("nondeterminism"), "{}", report.text());
}

#[test]
fn a_thread_that_ends_too_early_is_noticed() {
    let runs = std::sync::atomic::AtomicUsize::new(0);
    let report = run(move || {
        let first = runs.fetch_add(1, SeqCst) == 0;
        let (x, y) = (Arc::new(AtomicUsize::new(0)), AtomicUsize::new(0));
        let z = x.clone();
        let child = thread::spawn(move || {
            y.store(1, SeqCst);
            if first {
                z.store(1, SeqCst);
            }
        });
        // The second execution repeats the store to `y`, after which this comes before the other store.
        thread::spawn(move || x.load(SeqCst)).join().unwrap();
        child.join().unwrap();
    });
    assert_eq!(report.failures().next().unwrap().kind(), "nondeterminism", "{}", report.text());
    assert!(report.text().contains("does not repeat itself"), "{}", report.text());
}

#[test]
fn captures_of_a_thread_that_never_started_are_dropped_quietly() {
    struct Counts(AtomicUsize);
    impl Drop for Counts {
        fn drop(&mut self) {
            self.0.fetch_add(1, SeqCst);
        }
    }
    // `is_finished` has the search begin again right after the spawn, before the thread was started.
    let report = run(|| {
        let value = Box::new(Counts(AtomicUsize::new(0)));
        let child = thread::spawn(move || drop(value));
        child.is_finished();
    });
    assert!(report.is_pass(), "{}", report.text());
    let panic = catch_unwind(|| panic!("outside of a check")).unwrap_err();
    assert_eq!(*panic.downcast::<&str>().unwrap(), "outside of a check");
    assert_eq!(run(|| ()).executions(), 1);
}
