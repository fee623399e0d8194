//! Searches that several threads of the operating system share: the report is the same for any number of them, and
//! in every run.

use std::cell::Cell;
use std::sync::Mutex as StdMutex;
use std::sync::atomic::{AtomicUsize as Counter, Ordering::Relaxed as Plain};
use std::time::Duration;

use mazurka::cell::UnsafeCell;
use mazurka::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use mazurka::sync::atomic::{AtomicBool, AtomicUsize};
use mazurka::sync::{Arc, Mutex};
use mazurka::{Algorithm, Checker, Report, thread};

use crate::counting::{add, add_in_two_steps, adders, timeless};

/// How a search is cut into parts: as usual, and so that there are many of them.
const PARTS: [(u64, u64); 3] = [(256, 2048), (1, 1), (3, 20)];

/// The same, without the number of events: at the beginning of a part those of its schedule are taken anew.
fn eventless(report: &Report) -> String {
    let cut = |line: &str| line.split_once("; ").map_or(String::new(), |parts| parts.0.to_owned());
    let line = |line: &str| if line.starts_with("executions: ") { cut(line) } else { line.to_owned() };
    timeless(report).lines().map(|text| line(text) + "\n").collect()
}

/// The report of a closure, which is the same for any number of workers and in every run; but for the number of
/// events it does not depend on how the search is cut into parts either.
#[track_caller]
fn same_for_all(checker: Checker, closure: impl Fn() + Send + Sync + Clone + 'static) -> Report {
    let mut reports = Vec::new();
    for (first, later) in PARTS {
        let with = |jobs| checker.clone().parts(first, later).jobs(jobs).run(closure.clone());
        let expected = with(1);
        for jobs in [2, 4, 2, 4] {
            let found = with(jobs);
            assert_eq!(timeless(&found), timeless(&expected), "{jobs} jobs, parts of {first} and {later}");
        }
        reports.push(expected);
    }
    let texts: Vec<String> = reports.iter().map(eventless).collect();
    assert!(texts.iter().all(|text| *text == texts[0]), "{texts:#?}");
    reports.swap_remove(0)
}

fn kinds(report: &Report) -> Vec<&'static str> {
    report.failures().map(|failure| failure.kind()).collect()
}

#[test]
fn a_pass() {
    let report = same_for_all(Checker::new(), || {
        assert_eq!(adders(3, 3, add).load(SeqCst), 9);
    });
    assert!(report.is_pass() && report.executions() == 1680, "{report}");
    assert!(report.verdict().contains("(wake-up; "), "{report}");
    let optimal = Checker::new().run(|| assert_eq!(adders(3, 3, add).load(SeqCst), 9));
    assert_eq!((optimal.executions(), optimal.events() > 0), (report.executions(), true));
}

#[test]
fn a_failure_that_comes_late() {
    let closure = || {
        let found = adders(3, 2, add_in_two_steps).load(SeqCst);
        assert_ne!(found, 2, "most of it was lost");
        assert_ne!(found, 3, "half of it was lost");
    };
    let first = same_for_all(Checker::new(), closure);
    assert_eq!(kinds(&first), ["assertion"], "{first}");
    assert!(first.executions() > 1, "{first}");
    let all = same_for_all(Checker::new().keep_going(true), closure);
    assert_eq!(kinds(&all), ["assertion", "assertion"], "{all}");
    assert!(all.is_exhaustive() && all.executions() > first.executions(), "{all}");
}

#[test]
fn a_deadlock() {
    let closure = || {
        let forks: Vec<_> = (0..4).map(|_| Arc::new(Mutex::new(0))).collect();
        let dine = |k: usize| {
            let (left, right) = (forks[k].clone(), forks[(k + 1) % 4].clone());
            thread::spawn(move || {
                let mut left = left.lock().unwrap();
                *left += 1;
                *right.lock().unwrap() += *left;
            })
        };
        let threads: Vec<_> = (0..4).map(dine).collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    };
    assert_eq!(kinds(&same_for_all(Checker::new(), closure)), ["deadlock"]);
    let all = same_for_all(Checker::new().keep_going(true), closure);
    assert!(kinds(&all) == ["deadlock"] && all.deadlocks() == 1 && all.is_exhaustive(), "{all}");
}

#[test]
fn a_data_race() {
    struct Shared(UnsafeCell<u32>, AtomicUsize);
    // SAFETY: none; it is the point.
    #[allow(unsafe_code)]
    unsafe impl Sync for Shared {}
    let report = same_for_all(Checker::new(), || {
        let shared = Arc::new(Shared(UnsafeCell::new(0), AtomicUsize::new(0)));
        let writers = [0, 1].map(|_| {
            let shared = shared.clone();
            thread::spawn(move || {
                let turn = shared.1.fetch_add(1, SeqCst);
                shared.1.fetch_add(2, SeqCst);
                // The one that comes last of all has seen the other, but only a `Relaxed` look tells it so.
                if turn == 0 && shared.1.load(Relaxed) == 6 {
                    shared.0.with(|_| ());
                } else if turn == 1 {
                    shared.0.with_mut(|_| ());
                    shared.1.store(6, Relaxed);
                }
            })
        });
        writers.into_iter().for_each(|writer| writer.join().unwrap());
    });
    assert_eq!(kinds(&report), ["data-race"], "{report}");
}

#[test]
fn threads_that_spin() {
    let lock_and_add = |wrong: bool| {
        move || {
            let shared = Arc::new((AtomicBool::new(false), AtomicUsize::new(0)));
            let threads = [0, 1, 2].map(|k| {
                let shared = shared.clone();
                thread::spawn(move || {
                    while shared.0.compare_exchange(false, true, Acquire, Relaxed).is_err() {}
                    shared.1.fetch_add(1, SeqCst);
                    // One forgets to unlock, if it comes last but one.
                    if !(wrong && k == 2 && shared.1.load(SeqCst) == 2) {
                        shared.0.store(false, Release);
                    }
                })
            });
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        }
    };
    let report = same_for_all(Checker::new(), lock_and_add(false));
    assert!(report.is_pass() && report.text().contains("uses an ordering weaker than SeqCst"), "{report}");
    assert_eq!(kinds(&same_for_all(Checker::new(), lock_and_add(true))), ["livelock"]);
}

/// What is found out late voids what was done before; where a failure comes first it is not found out at all.
#[test]
fn what_is_found_out_on_the_way() {
    let closure = |fails_at: usize| {
        move || {
            let owner = Arc::new(0);
            let counter = Arc::new(AtomicUsize::new(0));
            let threads = [0, 1, 2].map(|_| {
                let (counter, other) = (counter.clone(), owner.clone());
                thread::spawn(move || {
                    counter.store(counter.load(SeqCst) + 1, SeqCst);
                    drop(other);
                    counter.store(counter.load(SeqCst) + 1, SeqCst);
                })
            });
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            let found = counter.load(SeqCst);
            // Who looks at the count makes clones and drops steps; who looks at the end of a thread makes ends steps.
            if found == 2 {
                let child = thread::spawn(|| ());
                assert!(Arc::strong_count(&owner) == 1 && !(child.is_finished() && fails_at == 9));
                child.join().unwrap();
            }
            assert_ne!(found, fails_at, "it is what it must not be");
        }
    };
    for (fails_at, expected) in [(7, &[][..]), (3, &["assertion"]), (2, &["assertion"]), (9, &["assertion"])]
    {
        let report = same_for_all(Checker::new(), closure(fails_at));
        assert_eq!(kinds(&report), expected, "{report}");
    }
}

/// Goes off when it is dropped before its time.
struct Bomb(Cell<bool>);

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(self.0.get(), "the bomb went off");
    }
}

#[test]
fn threads_that_are_given_up() {
    let report = same_for_all(Checker::new().keep_going(true), || {
        let (a, b) = (Arc::new(Mutex::new(())), Arc::new(Mutex::new(())));
        let (c, d) = (a.clone(), b.clone());
        let child = thread::spawn(move || {
            let bomb = Bomb(Cell::new(false));
            let _both = (c.lock(), d.lock());
            bomb.0.set(true);
        });
        drop((b.lock(), a.lock()));
        child.join().unwrap();
        adders(2, 3, add);
    });
    assert_eq!(kinds(&report), ["deadlock"], "{report}");
    let report = same_for_all(Checker::new().keep_going(true), || {
        let counter = adders(3, 1, add_in_two_steps);
        thread::spawn(move || {
            while counter.load(SeqCst) == 2 {
                // It catches its end again and again.
                let _ = std::panic::catch_unwind(|| mazurka::assume(false));
            }
        });
    });
    assert!(report.is_exhaustive() && report.assumed() > 0, "{report}");
}

#[test]
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn threads_that_are_lost() {
    fn overflow() {
        #[allow(unconditional_recursion)]
        fn deeper(buffer: [u8; 512]) -> usize {
            deeper(std::hint::black_box(buffer)) + usize::from(buffer[0])
        }
        std::hint::black_box(deeper([0; 512]));
    }
    fn crash() {
        #[allow(unsafe_code)]
        // SAFETY: none; it is the point.
        unsafe {
            std::ptr::without_provenance_mut::<u32>(8).write_volatile(1);
        }
    }
    fn hang() {
        loop {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    for (goes_wrong, kind) in
        [(overflow as fn(), "stack-overflow"), (crash as fn(), "memory"), (hang as fn(), "hang")]
    {
        let with = |jobs: usize, fails: bool| {
            let checker = Checker::new().hang_timeout(Duration::from_millis(300)).parts(2, 2).jobs(jobs);
            checker.run(move || {
                let found = adders(3, 1, add_in_two_steps).load(SeqCst);
                assert!(found != 2 || !fails, "before it goes wrong");
                if found == 1 {
                    goes_wrong();
                }
            })
        };
        let schedules = |report: &Report| report.failures().map(|one| one.schedule()).collect::<Vec<_>>();
        let expected = with(1, false);
        assert_eq!(kinds(&expected), [kind], "{expected}");
        for jobs in [2, 4] {
            let found = with(jobs, false);
            assert_eq!((kinds(&found), schedules(&found)), (vec![kind], schedules(&expected)), "{found}");
        }
        // Where a failure comes before it in the order of the search, that is what is told.
        let expected = timeless(&with(1, true));
        for jobs in [2, 4, 2, 4] {
            assert_eq!(timeless(&with(jobs, true)), expected);
        }
    }
}

/// What executions share that is not modelled, those of all workers share.
#[test]
fn what_other_executions_do_is_noticed() {
    static INSIDE: Counter = Counter::new(0);
    struct Leaves;
    impl Drop for Leaves {
        fn drop(&mut self) {
            INSIDE.fetch_sub(1, Plain);
        }
    }
    let closure = || {
        let alone = INSIDE.fetch_add(1, Plain) == 0;
        let _leaves = Leaves;
        // A step that is there only if nobody else is at it.
        if alone {
            AtomicUsize::new(0).load(SeqCst);
        }
        adders(3, 2, add);
        std::thread::sleep(Duration::from_micros(50));
    };
    let with = |jobs| Checker::new().parts(1, 8).jobs(jobs).run(closure);
    let one = with(1);
    assert!(one.is_pass(), "{one}");
    let several = with(4);
    assert!(!several.is_pass(), "{several}");
    assert!(several.text().contains("what other executions do"), "{several}");
}

#[test]
fn what_outcomes_there_are_can_be_collected() {
    let outcomes = |jobs| {
        let seen = std::sync::Arc::new(StdMutex::new(std::collections::BTreeMap::new()));
        let into = seen.clone();
        let report = Checker::new().parts(1, 16).jobs(jobs).run(move || {
            let found = adders(3, 1, add_in_two_steps).load(SeqCst);
            *into.lock().unwrap().entry(found).or_insert(0) += 1;
        });
        assert!(report.is_pass(), "{report}");
        let seen = seen.lock().unwrap();
        seen.keys().copied().collect::<Vec<usize>>()
    };
    assert_eq!(outcomes(1), [1, 2, 3]);
    assert_eq!(outcomes(3), [1, 2, 3]);
}

#[test]
fn where_it_can_t_be_shared_one_core_is_used() {
    let closure = || {
        adders(2, 2, add);
    };
    for algorithm in [Algorithm::Optimal, Algorithm::Source] {
        let report = Checker::new().algorithm(algorithm).jobs(3).run(closure);
        let note = format!(
            "one core was used, and not 3: a search by {algorithm} can't be shared, but one by wake-up can"
        );
        assert!(report.is_pass() && report.text().contains(&note), "{report}");
        let one = Checker::new().algorithm(algorithm).jobs(1).run(closure);
        assert!(one.is_pass() && !one.text().contains("one core"), "{one}");
    }
    let report = Checker::new().algorithm(Algorithm::WakeUp).run(closure);
    assert!(report.is_pass() && !report.text().contains("one core"), "{report}");
}

#[test]
fn other_algorithms_can_be_shared() {
    let fails = || {
        let found = adders(3, 1, add_in_two_steps).load(SeqCst);
        assert_ne!(found, 1, "most of it was lost");
        assert_ne!(found, 2, "half of it was lost");
    };
    let finds_out = || {
        let owner = Arc::new(0);
        let (counter, other) = (Arc::new(AtomicUsize::new(0)), owner.clone());
        let child = thread::spawn({
            let counter = counter.clone();
            move || {
                counter.store(1, SeqCst);
                drop(other);
            }
        });
        // Who looks at the count makes clones and drops steps.
        assert!(counter.load(SeqCst) == 0 || Arc::strong_count(&owner) > 0);
        child.join().unwrap();
    };
    for algorithm in [Algorithm::ReadsFrom, Algorithm::Naive, Algorithm::Random] {
        for (first, later) in PARTS {
            let with = |jobs: usize, keep_going: bool| {
                let checker = Checker::new().algorithm(algorithm).keep_going(keep_going);
                let checker = checker.parts(first, later).jobs(jobs);
                // A limit leaves a search in one part, but for walks.
                let checker = match algorithm {
                    Algorithm::Random => checker.max_executions(300),
                    _ => checker,
                };
                let reports = [checker.run(fails), checker.run(finds_out)];
                assert!(reports.iter().all(|report| !report.text().contains("one core")), "{reports:?}");
                assert!(!reports[0].is_pass() && reports[1].failures().count() == 0, "{reports:?}");
                reports.map(|report| timeless(&report))
            };
            for keep_going in [false, true] {
                let expected = with(1, keep_going);
                assert!(expected[0].contains("of it was lost"), "{expected:?}");
                for jobs in [2, 4] {
                    assert_eq!(with(jobs, keep_going), expected, "{algorithm} {jobs} {first} {later}");
                }
            }
        }
    }
}

/// The attribute has the option too.
#[mazurka::test(jobs = 2, algorithm = "wake-up")]
fn a_test_that_is_shared() {
    assert_eq!(adders(3, 2, add).load(SeqCst), 6);
}

#[test]
fn limits_hold() {
    let closure = || drop(adders(3, 3, add));
    let few = same_for_all(Checker::new().max_executions(100), closure);
    assert_eq!((few.executions(), few.is_exhaustive()), (100, false), "{few}");
    let deep = same_for_all(Checker::new().max_depth(10), closure);
    assert!(deep.reason().is_some_and(|reason| reason.contains("after 10 steps")), "{deep}");
    let report = Checker::new().jobs(2).max_time(Duration::from_millis(200)).run(|| drop(adders(4, 6, add)));
    assert!(report.reason().is_some_and(|reason| reason.contains("time limit of 0.2 s")), "{report}");
    assert!(report.seconds() < 2.0, "{report}");
}
