//! Clones, drops and counts of `Arc`, where they matter, against brute force.

use mazurka::sync::atomic::{AtomicI64, Ordering::SeqCst};
use mazurka::sync::{Arc, Mutex, Weak};
use mazurka::{Checker, thread};
use mazurka_explore::{Algorithm, NoMonitor, Options, Order, explore};
use mazurka_oracle::{Budget, truth};

/// The drop of the value does an operation, so it matters who is the last.
struct Value(std::sync::Arc<AtomicI64>);

impl Drop for Value {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

fn value() -> Arc<Value> {
    Arc::new(Value(std::sync::Arc::new(AtomicI64::new(0))))
}

/// The number of classes, which every order must find.
fn classes(closure: impl Fn() + Send + Sync + Clone + 'static) -> u64 {
    let checker = Checker::new();
    let program = mazurka::engine::program(&checker, closure);
    let truth = truth(&program, Budget { executions: 100_000, steps: 60 }).unwrap();
    assert!(truth.inconsistent.is_empty());
    let classes = truth.mazurkiewicz.len() as u64;
    for seed in 0..20 {
        let options = Options { order: Order::Shuffled(seed), ..Options::default() };
        let summary = explore(&program, Algorithm::Optimal, &options, &mut NoMonitor);
        assert_eq!((summary.broken, summary.not_exhaustive), (None, None));
        assert_eq!((summary.counts.complete, summary.counts.blocked), (classes, 0), "seed {seed}");
    }
    classes
}

#[test]
fn any_handle_may_be_the_last() {
    let count = classes(|| {
        let own = value();
        let (a, b) = (own.clone(), own.clone());
        thread::spawn(move || drop(a));
        thread::spawn(move || drop(b));
        drop(own);
    });
    // Of the six orders, the two in which the first handle is dropped last are one: both others find it
    // alive.
    assert_eq!(count, 5);
}

#[test]
fn drops_beside_one_that_stays_are_independent() {
    let count = classes(|| {
        let own = value();
        let threads: Vec<_> = (0..3)
            .map(|_| {
                let other = own.clone();
                thread::spawn(move || drop(other))
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
    assert_eq!(count, 1);
}

#[test]
fn an_upgrade_succeeds_or_not() {
    let count = classes(|| {
        let own = value();
        let weak: Weak<Value> = Arc::downgrade(&own);
        let thread = thread::spawn(move || weak.upgrade().is_some());
        drop(own);
        thread.join().unwrap();
    });
    // It fails; or it succeeds, and either of the two strong handles is the last.
    assert_eq!(count, 3);
}

#[test]
fn a_handle_is_unwrapped_or_not() {
    let count = classes(|| {
        let own = value();
        let other = own.clone();
        let thread = thread::spawn(move || Arc::try_unwrap(other).is_ok());
        drop(Arc::into_inner(own));
        thread.join().unwrap();
    });
    assert_eq!(count, 3);
}

#[test]
fn nothing_is_found_out_when_an_execution_is_abandoned() {
    let checker = Checker::new();
    let program = mazurka::engine::program(&checker, || {
        let value = value();
        let other = value.clone();
        thread::spawn(move || {
            thread::park();
            drop(other);
        });
        thread::park();
        drop(value);
    });
    for _ in 0..3 {
        let summary = explore(&program, Algorithm::Optimal, &Options::default(), &mut NoMonitor);
        // One step, the spawn: then both wait forever.
        assert_eq!((summary.counts.complete, summary.counts.longest), (1, 1));
    }
}

#[test]
fn the_last_drop_by_its_label_runs_the_destructor() {
    // The thread is held back between its drop and the panic, whose unwinding is a step of its own.
    let count = classes(|| {
        let own = value();
        let (lock, other) = (std::sync::Arc::new(Mutex::new(0)), own.clone());
        let thread = thread::spawn(move || {
            let _guard = lock.lock();
            drop(other);
            panic!("with a lock");
        });
        drop(own);
        assert!(thread.join().is_err());
    });
    assert_eq!(count, 2);
}
