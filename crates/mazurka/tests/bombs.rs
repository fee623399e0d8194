//! Destructors that panic unless their thread has come to its goal. A thread that can't go on never does:
//! what is dropped then is none of the program's business, and no verdict depends on it.

use std::cell::Cell;
use std::time::Duration;

use mazurka::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use mazurka::sync::{Arc, Mutex};
use mazurka::{Checker, Report, thread};

/// Goes off when it is dropped, unless it was defused.
#[derive(Default)]
struct Bomb {
    defused: Cell<bool>,
}

impl Bomb {
    fn defuse(&self) {
        self.defused.set(true);
    }
}

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(self.defused.get(), "the bomb went off");
    }
}

fn run(closure: impl Fn() + Send + Sync + 'static) -> Report {
    Checker::new().keep_going(true).run(closure)
}

#[test]
fn who_is_in_a_deadlock() {
    let report = run(|| {
        let (a, b) = (Arc::new(Mutex::new(())), Arc::new(Mutex::new(())));
        let (c, d) = (a.clone(), b.clone());
        let child = thread::spawn(move || {
            let bomb = Bomb::default();
            let _both = (c.lock(), d.lock());
            bomb.defuse();
        });
        let bomb = Bomb::default();
        drop((b.lock(), a.lock()));
        bomb.defuse();
        child.join().unwrap();
    });
    assert_eq!(report.failures().map(|failure| failure.kind()).collect::<Vec<_>>(), ["deadlock"], "{report}");
    assert_eq!((report.executions(), report.deadlocks(), report.blocked()), (3, 1, 0), "{report}");
    assert!(report.text().contains("waits at"), "{report}");
}

#[test]
fn whose_assumption_is_false() {
    let report = run(|| {
        let shared = Arc::new(AtomicUsize::new(0));
        let other = shared.clone();
        let child = thread::spawn(move || other.store(1, SeqCst));
        let bomb = Bomb::default();
        mazurka::assume(shared.load(SeqCst) == 1);
        bomb.defuse();
        child.join().unwrap();
    });
    assert!(report.is_pass(), "{report}");
    assert_eq!((report.executions(), report.assumed()), (1, 1), "{report}");
}

#[test]
fn who_finds_out_what_the_search_has_to_know() {
    let counts = run(|| {
        let own = Arc::new(0);
        let other = own.clone();
        let child = thread::spawn(move || drop(other));
        let bomb = Bomb::default();
        Arc::strong_count(&own);
        bomb.defuse();
        child.join().unwrap();
    });
    assert!(counts.is_pass() && counts.executions() == 2, "{counts}");
    let spins = run(|| {
        let shared = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
        let other = shared.clone();
        let child = thread::spawn(move || other.iter().for_each(|atomic| atomic.store(1, SeqCst)));
        let bomb = Bomb::default();
        while shared[0].load(SeqCst) == 0 || shared[1].load(SeqCst) == 0 {}
        bomb.defuse();
        child.join().unwrap();
    });
    assert!(spins.is_pass(), "{spins}");
    let ends = run(|| {
        let child = thread::spawn(|| ());
        let bomb = Bomb::default();
        child.is_finished();
        bomb.defuse();
        child.join().unwrap();
    });
    assert!(ends.is_pass() && ends.executions() == 2, "{ends}");
}

#[test]
fn who_panics_with_a_bomb_aborts() {
    let report = run(|| {
        let _bomb = Bomb::default();
        panic!("before it was defused");
    });
    assert_eq!(report.failures().next().map(|failure| failure.kind()), Some("panic"), "{report}");
    assert!(report.text().contains("the bomb went off; outside of a check this aborts"), "{report}");
}

#[test]
fn too_many_that_were_left_behind_are_no_pass() {
    let report = run(|| {
        let (chosen, bomb) = (mazurka::choose(0..2_000), Bomb::default());
        mazurka::assume(chosen == 1_999);
        bomb.defuse();
    });
    assert!(!report.is_pass() && report.failures().len() == 0, "{report}");
    assert!(report.reason().is_some_and(|reason| reason.contains("a destructor panics")), "{report}");
}

/// Takes a lock of its own making when it is dropped.
struct TakesLock(Arc<AtomicBool>);

impl Drop for TakesLock {
    fn drop(&mut self) {
        while self.0.swap(true, SeqCst) {}
        self.0.store(false, SeqCst);
    }
}

/// That somebody looks at a count is found out while the lock is held, and the search begins again: the other
/// thread drops its guard in time.
#[test]
fn what_is_dropped_when_a_search_begins_again_is_in_the_middle_of_nothing() {
    let report = Checker::new().hang_timeout(Duration::from_secs(5)).run(|| {
        let lock = Arc::new(AtomicBool::new(false));
        let guard = TakesLock(lock.clone());
        let other = thread::spawn(move || {
            guard.0.load(SeqCst);
            drop(guard);
        });
        if !lock.swap(true, SeqCst) {
            assert!(Arc::strong_count(&lock) >= 1);
            lock.store(false, SeqCst);
        }
        other.join().unwrap();
    });
    assert!(report.is_pass(), "{}", report.text());
}
