//! Small programs under brute force and under `optimal`, in many orders: the same classes, deadlocks and
//! failures; and the executions of one class, as the labels have it, end alike.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Mutex as StdMutex;
use std::time::Duration;

use mazurka::Checker;
use mazurka::engine::program;
use mazurka::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use mazurka::sync::{Arc, Barrier, Condvar, LazyLock, Mutex, Once, OnceLock, RwLock, RwLockWriteGuard};
use mazurka::thread;
use mazurka_explore::{Algorithm, Counts, Ending, Monitor, NotExhaustive, Options, Order, explore};
use mazurka_oracle::{Budget, Deadlock, Failed, TooMuch, deadlock, truth};
use mazurka_program::{Footprints, Label, Program, Run};
use mazurka_trace::Trace;
use mazurka_trace::equivalence::{Key, mazurkiewicz};

/// What an execution came to, as its closure notes it.
static NOTED: StdMutex<Vec<u64>> = StdMutex::new(Vec::new());
/// One program at a time notes something.
static TURN: StdMutex<()> = StdMutex::new(());

pub fn note(value: impl Into<u64>) {
    NOTED.lock().unwrap().push(value.into());
}

#[derive(Default)]
struct Seen {
    failures: BTreeSet<Failed>,
    deadlocks: BTreeSet<Deadlock>,
}

impl<R: Run> Monitor<R> for Seen {
    fn execution(&mut self, ending: Ending, _: &Trace, run: &R, _: &Counts) -> ControlFlow<()> {
        self.failures.extend(run.failures().iter().map(|failure| (failure.kind, failure.message.clone())));
        if matches!(ending, Ending::Complete { .. }) {
            self.deadlocks.extend(deadlock(run));
        }
        ControlFlow::Continue(())
    }
}

/// Runs everything that can follow, and notes for each class how its executions end.
fn ends<R: Run>(run: &mut R, trace: &mut Trace, ends: &mut BTreeMap<Key, BTreeSet<Vec<u64>>>) {
    let enabled: Vec<_> = run.enabled().iter().collect();
    if enabled.is_empty() {
        // The order in which independent threads note something is none of the class.
        let mut noted = NOTED.lock().unwrap().clone();
        noted.sort_unstable();
        ends.entry(mazurkiewicz(trace, run.names())).or_default().insert(noted);
    }
    let depth = trace.len();
    for process in enabled {
        let outcomes = run.alternatives(process);
        for choice in 0..outcomes {
            let mut label = Label::default();
            run.step(process, choice, &mut label).unwrap();
            trace.push(process, choice, outcomes, &label);
            self::ends(run, trace, ends);
            trace.truncate(depth);
            run.rewind(depth);
        }
    }
}

/// Compares; gives the number of classes and of deadlocked ones.
#[track_caller]
fn agree(name: &str, body: fn()) -> (u64, u64) {
    agree_within(100_000, &Checker::new(), name, body)
        .unwrap_or_else(|| panic!("{name}: too much for brute force"))
}

/// The same, where threads may wake up of themselves.
fn agree_spurious(name: &str, body: fn()) -> (u64, u64) {
    agree_within(100_000, &Checker::new().spurious_wakeups(true), name, body)
        .unwrap_or_else(|| panic!("{name}: too much for brute force"))
}

/// Compares, unless there are more interleavings than this.
pub fn agree_within(
    executions: u64,
    checker: &Checker,
    name: &str,
    body: impl Fn() + Send + Sync + 'static,
) -> Option<(u64, u64)> {
    let _turn = TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let program = program(checker, move || {
        NOTED.lock().unwrap().clear();
        body();
    });
    let truth = match truth(&program, Budget { executions, steps: 200 }) {
        Ok(truth) => truth,
        Err(TooMuch::Executions) => return None,
        Err(much) => panic!("{name}: {much:?}"),
    };
    assert!(truth.inconsistent.is_empty(), "{name}");
    let mut classes = BTreeMap::new();
    ends(&mut program.start(Footprints::Dynamic), &mut Trace::new(), &mut classes);
    assert!(classes.keys().eq(truth.mazurkiewicz.keys()), "{name}");
    let unlike: Vec<_> = classes.values().filter(|ends| ends.len() > 1).collect();
    assert!(unlike.is_empty(), "{name}: one class ends in {unlike:?}");
    let mut deadlocks = 0;
    for order in [Order::Natural].into_iter().chain((1..8).map(Order::Shuffled)) {
        let mut seen = Seen::default();
        let summary =
            explore(&program, Algorithm::Optimal, &Options { order, ..Options::default() }, &mut seen);
        assert_eq!((summary.not_exhaustive, summary.broken), (None, None), "{name} {order:?}");
        let counts = summary.counts;
        assert_eq!((counts.complete, counts.blocked), (classes.len() as u64, 0), "{name} {order:?}");
        assert_eq!(seen.failures, truth.failures, "{name} {order:?}");
        assert_eq!(seen.deadlocks, truth.deadlocks, "{name} {order:?}");
        deadlocks = counts.deadlocks;
    }
    // Its classes may be finer, and it refuses what has no static footprint.
    let mut seen = Seen::default();
    let summary = explore(&program, Algorithm::Source, &Options::default(), &mut seen);
    match summary.not_exhaustive {
        Some(NotExhaustive::Unsupported(reason)) => {
            assert!(reason.contains("not supported by source"), "{name}: {reason}")
        }
        reason => {
            assert_eq!((reason, summary.broken), (None, None), "{name}");
            assert!(summary.counts.complete >= classes.len() as u64, "{name}");
            assert_eq!((seen.failures, seen.deadlocks), (truth.failures, truth.deadlocks), "{name}");
        }
    }
    println!(
        "{name}: {} interleavings, {} classes, {deadlocks} deadlocked",
        truth.interleavings,
        classes.len()
    );
    Some((classes.len() as u64, deadlocks))
}

type Shared<T> = Arc<(Mutex<T>, Condvar)>;

fn shared<T>(value: T) -> Shared<T> {
    Arc::new((Mutex::new(value), Condvar::new()))
}

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn a_lost_wake_up() {
    let body = || {
        let (shared, flag) = (shared(()), Arc::new(AtomicUsize::new(0)));
        let (waiter, set) = (shared.clone(), flag.clone());
        thread::spawn(move || {
            let guard = waiter.0.lock().unwrap();
            if set.load(SeqCst) == 0 {
                drop(waiter.1.wait(guard).unwrap());
                note(1_u8);
            }
        });
        flag.store(1, SeqCst);
        shared.1.notify_one();
    };
    assert_eq!(agree("a lost wake-up", body), (3, 1));
}

/// Two threads wait for a token each, of which there are two.
fn tokens(notify: fn(&Condvar)) {
    let shared = shared(0_u8);
    for name in 1..3_u8 {
        let shared = shared.clone();
        thread::spawn(move || {
            let guard = shared.0.lock().unwrap();
            *shared.1.wait_while(guard, |tokens| *tokens == 0).unwrap() -= 1;
            note(name);
        });
    }
    *shared.0.lock().unwrap() += 2;
    notify(&shared.1);
}

#[test]
fn one_is_notified_of_two() {
    assert_eq!(agree("one of two", || tokens(Condvar::notify_one)), (10, 4));
}

#[test]
fn threads_wake_up_of_themselves() {
    agree_spurious("one of two, or of themselves", || tokens(Condvar::notify_one));
    agree_spurious("both, or of themselves", || tokens(Condvar::notify_all));
    let body = || {
        let shared = shared(());
        waits(&shared, 10, true);
        waits(&shared, 20, false);
        shared.1.notify_one();
    };
    agree_spurious("a timeout beside none, or of themselves", body);
}

#[test]
fn both_are_notified() {
    assert_eq!(agree("both at once", || tokens(Condvar::notify_all)), (10, 0));
    fn one_by_one(condvar: &Condvar) {
        condvar.notify_one();
        condvar.notify_one();
    }
    assert_eq!(agree("both, one by one", || tokens(one_by_one)), (14, 0));
}

fn waits(shared: &Shared<()>, name: u8, times_out: bool) {
    let shared = shared.clone();
    thread::spawn(move || {
        let guard = shared.0.lock().unwrap();
        if times_out {
            let timed_out = shared.1.wait_timeout(guard, SECOND).unwrap().1.timed_out();
            note(name + u8::from(timed_out));
        } else {
            drop(shared.1.wait(guard).unwrap());
            note(name);
        }
    });
}

#[test]
fn one_waits_with_a_timeout() {
    let body = || {
        let shared = shared(());
        waits(&shared, 10, true);
        shared.1.notify_one();
    };
    assert_eq!(agree("a timeout", body), (3, 0));
}

#[test]
fn two_wait_with_a_timeout() {
    let body = || {
        let shared = shared(());
        waits(&shared, 10, true);
        waits(&shared, 20, true);
        shared.1.notify_one();
    };
    agree("two timeouts", body);
}

#[test]
fn one_waits_with_a_timeout_and_one_without() {
    let body = || {
        let shared = shared(());
        waits(&shared, 10, true);
        waits(&shared, 20, false);
        shared.1.notify_one();
    };
    agree("a timeout beside none", body);
}

#[test]
fn one_waits_twice() {
    let body = || {
        let shared = shared(());
        let other = shared.clone();
        thread::spawn(move || {
            let (guard, first) = other.1.wait_timeout(other.0.lock().unwrap(), SECOND).unwrap();
            note(first.timed_out());
            let (_guard, second) = other.1.wait_timeout(guard, SECOND).unwrap();
            note(second.timed_out());
        });
        shared.1.notify_one();
        shared.1.notify_all();
    };
    agree("two waits", body);
}

#[test]
fn a_condition_comes_or_a_timeout() {
    let body = || {
        let shared = shared(0_u8);
        let other = shared.clone();
        thread::spawn(move || {
            let guard = other.0.lock().unwrap();
            let (value, result) = other.1.wait_timeout_while(guard, SECOND, |value| *value < 2).unwrap();
            note(*value + 10 * u8::from(result.timed_out()));
        });
        for _ in 0..2 {
            *shared.0.lock().unwrap() += 1;
            shared.1.notify_one();
        }
    };
    agree("a condition or a timeout", body);
}

#[test]
fn a_buffer() {
    let body = || {
        let buffer = shared(None);
        let producer = buffer.clone();
        thread::spawn(move || {
            for thing in 0..2_u8 {
                let guard = producer.0.lock().unwrap();
                *producer.1.wait_while(guard, |buffer| buffer.is_some()).unwrap() = Some(thing);
                producer.1.notify_one();
            }
        });
        for _ in 0..2 {
            let guard = buffer.0.lock().unwrap();
            note(buffer.1.wait_while(guard, |buffer| buffer.is_none()).unwrap().take().unwrap());
            buffer.1.notify_one();
        }
    };
    agree("a buffer", body);
}

#[test]
fn two_locks() {
    let body = || {
        let condvar = Arc::new(Condvar::new());
        for name in 1..3_u8 {
            let condvar = condvar.clone();
            thread::spawn(move || {
                let lock = Mutex::new(());
                let _ = condvar.wait(lock.lock().unwrap());
                note(name);
            });
        }
        condvar.notify_one();
    };
    agree("two locks", body);
}

#[test]
fn a_panic_beside_a_wait() {
    let body = || {
        let shared = shared(());
        let (waiter, panics) = (shared.clone(), shared.clone());
        thread::spawn(move || match waiter.0.lock() {
            Ok(guard) => note(waiter.1.wait(guard).is_err()),
            Err(_) => note(2_u8),
        });
        let handle = thread::spawn(move || {
            let _guard = panics.0.lock();
            panics.1.notify_one();
            panic!("on purpose");
        });
        let _ = handle.join();
    };
    assert_eq!(agree("a panic beside a wait", body), (2, 0));
}

#[test]
fn a_destructor_notifies_while_its_thread_unwinds() {
    struct Notifies(Shared<u8>);
    impl Drop for Notifies {
        fn drop(&mut self) {
            self.0.1.notify_one();
        }
    }
    let body = || {
        let shared = shared(0_u8);
        let (waiter, notifies) = (shared.clone(), shared.clone());
        thread::spawn(move || {
            let guard = waiter.0.lock().unwrap();
            note(*waiter.1.wait_while(guard, |value| *value == 0).unwrap());
        });
        let handle = thread::spawn(move || {
            let notifies = Notifies(notifies);
            *notifies.0.0.lock().unwrap() = 1;
            panic!("on purpose");
        });
        let _ = handle.join();
    };
    assert_eq!(agree("a destructor that notifies", body), (2, 0));
}

fn reads(lock: &Arc<RwLock<u8>>, name: u8) {
    let lock = lock.clone();
    thread::spawn(move || note(name + *lock.read().unwrap()));
}

#[test]
fn readers_and_a_writer() {
    let body = || {
        let lock = Arc::new(RwLock::new(0));
        reads(&lock, 10);
        reads(&lock, 20);
        *lock.write().unwrap() = 1;
    };
    assert_eq!(agree("readers and a writer", body), (14, 0));
}

#[test]
fn readers_that_want_to_write() {
    let body = || {
        let lock = Arc::new(RwLock::new(0_u8));
        for _ in 0..2 {
            let lock = lock.clone();
            thread::spawn(move || {
                let seen = *lock.read().unwrap();
                let guard = lock.read().unwrap();
                match lock.try_write() {
                    Ok(_) => unreachable!(),
                    Err(_) => drop(guard),
                }
                *lock.write().unwrap() += 1 + seen;
            });
        }
    };
    agree("readers that want to write", body);
    let body = || {
        let lock = Arc::new(RwLock::new(0_u8));
        for _ in 0..2 {
            let lock = lock.clone();
            thread::spawn(move || {
                let _reader = lock.read().unwrap();
                *lock.write().unwrap() += 1;
            });
        }
        note(lock.try_write().is_ok());
    };
    agree("readers that wait for themselves", body);
}

#[test]
fn a_writer_that_becomes_a_reader() {
    let body = || {
        let lock = Arc::new(RwLock::new(0));
        reads(&lock, 10);
        let other = lock.clone();
        thread::spawn(move || *other.write().unwrap() += 1);
        let mut guard = lock.write().unwrap();
        *guard += 5;
        note(*RwLockWriteGuard::downgrade(guard));
    };
    agree("a writer that becomes a reader", body);
}

#[test]
fn three_calls_once() {
    let body = || {
        let once = Arc::new(Once::new());
        for name in 1..3_u8 {
            let once = once.clone();
            thread::spawn(move || once.call_once(|| note(name)));
        }
        note(10 + u8::from(once.is_completed()));
    };
    agree("calls once", body);
}

#[test]
fn a_call_that_panics() {
    let body = || {
        let once = Arc::new(Once::new());
        let (panics, forced, waits) = (once.clone(), once.clone(), once.clone());
        let panics = thread::spawn(move || panics.call_once(|| panic!("on purpose")));
        thread::spawn(move || forced.call_once_force(|state| note(state.is_poisoned())));
        let waits = thread::spawn(move || waits.wait());
        note(10 + u8::from(panics.join().is_err()));
        note(20 + u8::from(waits.join().is_err()));
    };
    assert_eq!(agree("a call that panics", body), (3, 0));
}

#[test]
fn a_value_is_set_made_and_looked_at() {
    let body = || {
        let lock = Arc::new(OnceLock::new());
        let (sets, panics) = (lock.clone(), lock.clone());
        let sets = thread::spawn(move || sets.set(1_u8).is_ok());
        let panics = thread::spawn(move || *panics.get_or_init(|| panic!("on purpose")));
        note(10 + lock.get().copied().unwrap_or(0));
        note(20 + *lock.get_or_init(|| 2));
        note(30 + u8::from(sets.join().unwrap()));
        note(40 + u8::from(panics.join().is_err()));
    };
    agree("set, make and look", body);
}

#[test]
fn a_lazy_static() {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    static LAZY: LazyLock<RwLock<usize>> = LazyLock::new(|| RwLock::new(CALLS.fetch_add(1, SeqCst)));
    let body = || {
        let add = || thread::spawn(|| *LAZY.write().unwrap() += 1);
        let (one, other) = (add(), add());
        note(10 + CALLS.load(SeqCst) as u64);
        one.join().unwrap();
        other.join().unwrap();
        note(*LAZY.read().unwrap() as u64);
    };
    agree("a lazy static", body);
}

#[test]
fn barriers() {
    let body = || {
        let barrier = Arc::new(Barrier::new(3));
        let handles = [(); 2].map(|()| {
            let barrier = barrier.clone();
            thread::spawn(move || barrier.wait().is_leader())
        });
        note(barrier.wait().is_leader());
        for handle in handles {
            note(handle.join().unwrap());
        }
    };
    assert_eq!(agree("three at a barrier", body), (6, 0));
    let body = || {
        let barrier = Arc::new(Barrier::new(2));
        let other = barrier.clone();
        let handle = thread::spawn(move || [(); 3].map(|()| other.wait().is_leader()));
        for _ in 0..3 {
            note(barrier.wait().is_leader());
        }
        handle.join().unwrap().into_iter().for_each(note);
    };
    assert_eq!(agree("two at a barrier, three times", body), (8, 0));
    let body = || {
        let barrier = Arc::new(Barrier::new(2));
        for name in 1..4_u8 {
            let barrier = barrier.clone();
            thread::spawn(move || {
                barrier.wait();
                note(name);
            });
        }
    };
    // In one of 6 orders; the third waits forever.
    assert_eq!(agree("three at a barrier for two", body), (6, 6));
}

#[test]
fn three_philosophers() {
    let body = || {
        let forks = [(); 3].map(|()| Arc::new(Mutex::new(())));
        for seat in 0..3 {
            let pair = [forks[seat].clone(), forks[(seat + 1) % 3].clone()];
            thread::spawn(move || {
                let _first = pair[0].lock().unwrap();
                let _second = pair[1].lock().unwrap();
            });
        }
    };
    assert_eq!(agree("three philosophers", body), (7, 1));
}
