//! Loops that wait are recognised, and loops that only look like it are not.

use std::collections::BTreeSet;
use std::sync::Mutex as StdMutex;

use mazurka::sync::Arc;
use mazurka::sync::Mutex;
use mazurka::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use mazurka::{Checker, Report, hint, thread};

fn passes(expected: u64, closure: impl Fn() + Send + Sync + 'static) {
    let report = Checker::new().run(closure);
    assert!(report.is_pass(), "{}", report.text());
    assert_eq!((report.executions(), report.blocked()), (expected, 0));
}

/// A thread that sets a flag, while the closure does something with it.
fn with_flag<T>(body: impl FnOnce(&AtomicBool) -> T) -> T {
    let flag = Arc::new(AtomicBool::new(false));
    let other = flag.clone();
    let setter = thread::spawn(move || other.store(true, SeqCst));
    let result = body(&flag);
    setter.join().unwrap();
    result
}

/// Whether a store finds what it writes is no part of what its thread has read, so it must not matter to when a
/// loop behind it is known for what it is.
#[test]
fn a_loop_behind_stores_of_equal_values_waits() {
    // Three orders of the stores to one variable, with each of which the loop looks in vain not at all, once or
    // twice.
    passes(9, || {
        let shared = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
        let other = shared.clone();
        let thread = thread::spawn(move || [0, 1].map(|at: usize| other[at].store(2, SeqCst)));
        (0..2).for_each(|_| shared[0].store(2, SeqCst));
        while shared[1].load(SeqCst) == 0 {}
        thread.join().unwrap();
    });
}

#[test]
fn a_loop_without_annotation_waits() {
    // The flag is seen at once, after one vain look, or after two, by which the loop is known for what it is.
    passes(3, || with_flag(|flag| while !flag.load(SeqCst) {}));
    passes(3, || {
        with_flag(|flag| {
            while !flag.load(SeqCst) {
                hint::spin_loop()
            }
        })
    });
    passes(3, || {
        with_flag(|flag| {
            while !flag.load(SeqCst) {
                thread::yield_now()
            }
        })
    });
}

#[test]
fn a_loop_with_a_counter_does_not_wait() {
    let seen = std::sync::Arc::new(StdMutex::new(BTreeSet::new()));
    let into = seen.clone();
    passes(6, move || {
        let tries = with_flag(|flag| (0..5).find(|_| flag.load(SeqCst)));
        into.lock().unwrap().insert(tries);
    });
    let all = [None, Some(0), Some(1), Some(2), Some(3), Some(4)];
    assert_eq!(seen.lock().unwrap().iter().copied().collect::<Vec<_>>(), all);
}

#[test]
fn a_loop_with_a_counter_in_an_atomic_does_not_wait() {
    let seen = std::sync::Arc::new(StdMutex::new(BTreeSet::new()));
    let into = seen.clone();
    let report = Checker::new().run(move || {
        let tries = AtomicUsize::new(0);
        with_flag(|flag| while !flag.load(SeqCst) && tries.fetch_add(1, SeqCst) < 4 {});
        into.lock().unwrap().insert(tries.load(SeqCst));
    });
    assert!(report.is_pass(), "{}", report.text());
    assert_eq!(seen.lock().unwrap().iter().copied().collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5]);
}

fn critical_section(
    enter: impl Fn(usize) + Send + Sync + 'static,
    leave: impl Fn(usize) + Send + Sync + 'static,
) {
    let inside = Arc::new(AtomicUsize::new(0));
    let protocol = std::sync::Arc::new((enter, leave));
    let threads: Vec<_> = (0..2)
        .map(|me| {
            let (inside, protocol) = (inside.clone(), protocol.clone());
            thread::spawn(move || {
                (protocol.0)(me);
                let before = inside.load(SeqCst);
                inside.store(before + 1, SeqCst);
                (protocol.1)(me);
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(inside.load(SeqCst), 2);
}

#[test]
fn a_spin_lock() {
    passes(6, || {
        let lock = Arc::new(AtomicBool::new(false));
        let held = lock.clone();
        critical_section(
            move |_| {
                while lock.swap(true, SeqCst) {
                    thread::yield_now()
                }
            },
            move |_| held.store(false, SeqCst),
        );
    });
}

#[test]
fn a_loop_on_several_locations_waits_for_any() {
    let report = Checker::new().run(|| {
        let state = Arc::new(([AtomicBool::new(false), AtomicBool::new(false)], AtomicUsize::new(0)));
        let other = state.clone();
        critical_section(
            move |me| {
                let (wants, turn) = &*state;
                wants[me].store(true, SeqCst);
                turn.store(1 - me, SeqCst);
                while wants[1 - me].load(SeqCst) && turn.load(SeqCst) == 1 - me {}
            },
            move |me| other.0[me].store(false, SeqCst),
        );
    });
    assert!(report.is_pass(), "{}", report.text());
    assert_eq!(report.blocked(), 0);
}

#[test]
fn attempts_to_lock_wait() {
    let report = Checker::new().run(|| {
        let lock = Arc::new(Mutex::new(0));
        let other = lock.clone();
        let thread = thread::spawn(move || *other.lock().unwrap() += 1);
        loop {
            if let Ok(mut guard) = lock.try_lock() {
                *guard += 1;
                break;
            }
        }
        thread.join().unwrap();
        assert_eq!(*lock.lock().unwrap(), 2);
    });
    assert!(report.is_pass(), "{}", report.text());
}

fn fails(closure: impl Fn() + Send + Sync + 'static) -> Report {
    let report = Checker::new().run(closure);
    assert!(!report.is_pass());
    report
}

#[test]
fn who_waits_for_ever_is_in_a_livelock() {
    let report = fails(|| {
        let flag = AtomicBool::new(false);
        while !flag.load(SeqCst) {}
    });
    assert!(report.text().starts_with("failure: livelock"), "{}", report.text());
}

#[test]
fn a_loop_that_is_not_recognised_is_no_pass() {
    // It writes, so it is no loop that waits; and it never ends.
    let report = Checker::new().max_depth(200).run(|| {
        let count = AtomicUsize::new(0);
        while count.fetch_add(1, SeqCst) < usize::MAX {}
    });
    assert!(!report.is_pass());
    assert!(report.text().starts_with("not exhaustive"), "{}", report.text());
}

fn waits() {
    let state = AtomicUsize::new(0);
    thread::scope(|scope| {
        scope.spawn(|| state.store(1, SeqCst));
        scope.spawn(|| while state.load(SeqCst) != 1 {});
    });
}

#[test]
fn a_loop_is_recognised_after_the_same_steps_in_every_order() {
    for seed in 0..100 {
        let report = Checker::new().seed(seed).run(waits);
        assert!(report.is_pass(), "seed {seed}: {}", report.text());
        assert_eq!(report.executions(), 3, "seed {seed}");
    }
}

/// An operation that is some calls below the loop, and not always as many.
#[inline(never)]
fn deep(cells: &[AtomicUsize; 2], which: usize) -> Option<usize> {
    match which {
        0 => Some(deeper(cells, which)?),
        1 => Some(deeper(cells, which)? + 1),
        _ => None,
    }
}

#[inline(never)]
fn deeper(cells: &[AtomicUsize; 2], which: usize) -> Option<usize> {
    match which {
        0 => Some(cells[1].load(SeqCst)),
        1 => Some(cells[0].swap(0, SeqCst)),
        _ => None,
    }
}

#[test]
fn a_loop_with_calls_is_recognised_in_the_same_iteration_in_every_execution() {
    let check = |seed: Option<u64>| {
        let checker = seed.map_or_else(Checker::new, |seed| Checker::new().seed(seed)).keep_going(true);
        let report = checker.run(|| {
            let cells: Arc<[AtomicUsize; 2]> = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
            let other = cells.clone();
            thread::spawn(move || while other[0].load(SeqCst) == 0 && other[1].load(SeqCst) == 0 {});
            loop {
                for which in 0..2 {
                    std::hint::black_box(deep(&cells, which));
                }
            }
        });
        assert!(!report.text().contains("nondeterminism"), "{}", report.text());
        report.executions()
    };
    let expected = check(None);
    (0..100).for_each(|seed| assert_eq!(check(Some(seed)), expected, "seed {seed}"));
}

#[test]
fn what_others_do_to_objects_on_the_stack_of_a_loop_does_not_matter() {
    // The flag is seen at once, after one vain look, or after two, whenever the thread gets to the other
    // objects.
    let check = |seed: u64| {
        let report = Checker::new().seed(seed).run(|| {
            let (flag, other, lock) = (AtomicBool::new(false), AtomicUsize::new(0), Mutex::new(0));
            thread::scope(|scope| {
                scope.spawn(|| {
                    other.store(1, SeqCst);
                    *lock.lock().unwrap() += 1;
                    flag.store(true, SeqCst);
                });
                while !flag.load(SeqCst) {}
            });
        });
        assert!(report.is_pass(), "{}", report.text());
        assert_eq!((report.executions(), report.blocked()), (3, 0), "seed {seed}");
    };
    (0..30).for_each(check);
}

#[test]
fn a_retry_counter_behind_a_lock_that_the_loop_holds_is_seen() {
    let seen: std::sync::Arc<StdMutex<BTreeSet<usize>>> = std::sync::Arc::default();
    let into = seen.clone();
    let report = Checker::new().run(move || {
        let (flag, lock) = (AtomicBool::new(false), Mutex::new(0));
        thread::scope(|scope| {
            scope.spawn(|| flag.store(true, SeqCst));
            let mut tries = lock.lock().unwrap();
            while !flag.load(SeqCst) && *tries < 4 {
                *tries += 1;
            }
            into.lock().unwrap().insert(*tries);
        });
    });
    assert!(report.is_pass(), "{}", report.text());
    assert_eq!(seen.lock().unwrap().iter().copied().collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
}
