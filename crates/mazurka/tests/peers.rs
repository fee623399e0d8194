//! What other checkers of Rust get wrong, with the true sets of outcomes; and the exact numbers of executions
//! on the programs by which they are compared.

use std::collections::BTreeSet;
use std::sync::Mutex as StdMutex;
use std::time::{Duration, Instant};

use mazurka::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use mazurka::sync::mpsc::{TryRecvError, channel};
use mazurka::sync::{Arc, Condvar, Mutex};
use mazurka::{Checker, Report, thread};

/// Checks a closure; gives the report and all that the closure ever gave.
fn outcomes<T: Ord + Clone + Send + 'static>(
    closure: impl Fn() -> T + Send + Sync + 'static,
) -> (Report, Vec<T>) {
    let seen = std::sync::Arc::new(StdMutex::new(BTreeSet::new()));
    let into = seen.clone();
    let report = Checker::new().run(move || {
        let outcome = closure();
        into.lock().unwrap().insert(outcome);
    });
    assert_eq!(report.blocked(), 0);
    let seen = seen.lock().unwrap().iter().cloned().collect();
    (report, seen)
}

#[test]
fn all_sums_are_seen() {
    // t1: b = j; a = i; i = a + b  ||  t2: a = i; b = j; j = a + b
    let (report, seen) = outcomes(|| {
        let (i, j) = (Arc::new(AtomicUsize::new(1)), Arc::new(AtomicUsize::new(1)));
        let (i1, j1) = (i.clone(), j.clone());
        let first = thread::spawn(move || {
            let b = j1.load(SeqCst);
            let a = i1.load(SeqCst);
            i1.store(a + b, SeqCst);
        });
        let (i2, j2) = (i.clone(), j.clone());
        let second = thread::spawn(move || {
            let a = i2.load(SeqCst);
            let b = j2.load(SeqCst);
            j2.store(a + b, SeqCst);
        });
        first.join().unwrap();
        second.join().unwrap();
        (i.load(SeqCst), j.load(SeqCst))
    });
    assert!(report.is_pass());
    assert_eq!(seen, [(2, 2), (2, 3), (3, 2)]);
}

#[test]
fn a_load_sees_the_store_after_a_load() {
    let (report, seen) = outcomes(|| {
        let a = Arc::new(AtomicBool::new(false));
        let b = a.clone();
        let other = thread::spawn(move || {
            b.load(SeqCst);
            b.store(true, SeqCst);
        });
        let seen = a.load(SeqCst);
        other.join().unwrap();
        seen
    });
    assert!(report.is_pass());
    assert_eq!(report.executions(), 2);
    assert_eq!(seen, [false, true]);
}

fn store_buffering() -> (usize, usize) {
    let (x, y) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (x1, y1) = (x.clone(), y.clone());
    let other = thread::spawn(move || {
        x1.store(1, SeqCst);
        y1.load(SeqCst)
    });
    y.store(1, SeqCst);
    let mine = x.load(SeqCst);
    (other.join().unwrap(), mine)
}

#[test]
fn store_buffering_never_gives_zeros() {
    let (report, seen) = outcomes(store_buffering);
    assert!(report.is_pass());
    assert_eq!(report.executions(), 3);
    assert_eq!(seen, [(0, 1), (1, 0), (1, 1)]);
}

#[test]
fn swap_against_store() {
    let (report, seen) = outcomes(|| {
        let a = Arc::new(AtomicBool::new(false));
        let b = a.clone();
        let other = thread::spawn(move || b.store(true, SeqCst));
        let swapped = a.swap(false, SeqCst);
        other.join().unwrap();
        (swapped, a.load(SeqCst))
    });
    assert!(report.is_pass());
    assert_eq!(seen, [(false, true), (true, false)]);
}

#[test]
fn try_recv_against_send() {
    let (report, seen) = outcomes(|| {
        let (sender, receiver) = channel();
        let keep = sender.clone();
        let other = thread::spawn(move || sender.send(7).unwrap());
        let seen = match receiver.try_recv() {
            Ok(value) => Some(value),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => unreachable!("a sender is kept"),
        };
        other.join().unwrap();
        drop(keep);
        seen
    });
    assert!(report.is_pass(), "{}", report.text());
    assert_eq!(seen, [None, Some(7)]);
}

#[test]
fn recv_after_all_senders_are_dropped() {
    let (report, seen) = outcomes(|| {
        let (sender, receiver) = channel::<u32>();
        let other = thread::spawn(move || drop(sender));
        let seen = receiver.recv().is_err();
        other.join().unwrap();
        seen
    });
    assert!(report.is_pass(), "{}", report.text());
    assert_eq!(seen, [true]);
}

#[test]
fn a_wait_with_a_timeout_alone_times_out() {
    let (report, seen) = outcomes(|| {
        let (lock, condvar) = (Mutex::new(()), Condvar::new());
        let (_guard, result) = condvar.wait_timeout(lock.lock().unwrap(), Duration::from_secs(3600)).unwrap();
        result.timed_out()
    });
    assert!(report.is_pass(), "{}", report.text());
    assert_eq!(seen, [true]);
}

#[test]
fn join_of_a_child_that_panics() {
    let (report, seen) = outcomes(|| {
        let child = thread::spawn(|| panic!("in the child"));
        let payload = child.join().unwrap_err();
        payload.downcast_ref::<&str>().map(|text| (*text).to_owned())
    });
    assert!(report.is_pass(), "{}", report.text());
    assert_eq!(seen, [Some("in the child".to_owned())]);
}

#[test]
fn a_spin_loop_without_yield_ends() {
    let report = Checker::new().run(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let other = flag.clone();
        thread::spawn(move || other.store(true, SeqCst));
        while !flag.load(SeqCst) {}
    });
    assert!(report.is_pass(), "{}", report.text());
}

#[test]
fn locks_in_opposite_orders_deadlock() {
    let report = Checker::new().run(|| {
        let (a, b) = (Arc::new(Mutex::new(())), Arc::new(Mutex::new(())));
        let (c, d) = (a.clone(), b.clone());
        let other = thread::spawn(move || {
            let _d = d.lock().unwrap();
            let _c = c.lock().unwrap();
        });
        let (first, second) = (a.lock().unwrap(), b.lock().unwrap());
        drop((first, second));
        other.join().unwrap();
    });
    assert!(!report.is_pass());
    assert!(report.text().starts_with("failure: deadlock"), "{}", report.text());
}

/// Threads that each do something, joined.
fn all(threads: usize, body: impl Fn(usize) + Send + Sync + 'static) {
    let body = std::sync::Arc::new(body);
    let handles: Vec<_> = (0..threads)
        .map(|i| {
            let body = body.clone();
            thread::spawn(move || body(i))
        })
        .collect();
    handles.into_iter().for_each(|handle| handle.join().unwrap());
}

fn lastwrite(n: usize) {
    let x = Arc::new(AtomicUsize::new(0));
    let y = x.clone();
    all(n, move |i| y.store(i, SeqCst));
    x.load(SeqCst);
}

fn floating_read(n: usize) {
    let x = Arc::new(AtomicUsize::new(0));
    all(n + 1, move |i| match i {
        0 => assert!(x.load(SeqCst) <= n),
        _ => x.store(i, SeqCst),
    });
}

fn fib_bench(n: usize) {
    let cells = Arc::new([AtomicUsize::new(1), AtomicUsize::new(1)]);
    let shared = cells.clone();
    all(2, move |me| {
        for _ in 0..n {
            let sum = shared[me].load(SeqCst) + shared[1 - me].load(SeqCst);
            shared[me].store(sum, SeqCst);
        }
    });
}

fn mutex_counter(threads: usize, times: usize) {
    let count = Arc::new(Mutex::new(0));
    let shared = count.clone();
    all(threads, move |_| (0..times).for_each(|_| *shared.lock().unwrap() += 1));
    assert_eq!(*count.lock().unwrap(), threads * times);
}

fn producers(threads: usize, times: usize) {
    let (sender, receiver) = channel();
    let handles: Vec<_> = (0..threads)
        .map(|i| {
            let sender = sender.clone();
            thread::spawn(move || (0..times).for_each(|k| sender.send((i, k)).unwrap()))
        })
        .collect();
    for _ in 0..threads * times {
        receiver.recv().unwrap();
    }
    handles.into_iter().for_each(|handle| handle.join().unwrap());
}

/// The number of executions, which must all be complete.
fn count(closure: impl Fn() + Send + Sync + 'static) -> u64 {
    let report = Checker::new().run(closure);
    assert!(report.is_pass(), "{}", report.text());
    assert_eq!(report.blocked(), 0);
    report.executions()
}

#[test]
fn one_execution_a_class() {
    assert_eq!(count(|| assert_ne!(store_buffering(), (0, 0))), 3);
    assert_eq!(count(|| lastwrite(4)), 24);
    assert_eq!(count(|| lastwrite(5)), 120);
    assert_eq!(count(|| floating_read(3)), 24);
    assert_eq!(count(|| fib_bench(3)), 141);
    assert_eq!(count(|| fib_bench(4)), 1107);
    assert_eq!(count(|| mutex_counter(3, 3)), 1680);
    assert_eq!(count(|| mutex_counter(4, 1)), 24);
    assert_eq!(count(|| producers(3, 2)), 90);
}

/// Takes less than a second in a release build on a machine that does nothing else; here it must end within a
/// bound that a busy machine meets without optimisation of the last degree.
fn count_quickly(expected: u64, closure: impl Fn() + Send + Sync + 'static) {
    let begin = Instant::now();
    assert_eq!(count(closure), expected);
    assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
}

#[test]
fn large_ones_are_quick() {
    count_quickly(40_320, || lastwrite(8));
    count_quickly(2_520, || mutex_counter(4, 2));
    count_quickly(8_953, || fib_bench(5));
}
