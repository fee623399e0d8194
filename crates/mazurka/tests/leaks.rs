//! `Arc`s that nobody drops, where the check says so.

use mazurka::sync::{Arc, Mutex, Weak};
use mazurka::{Checker, Report, thread};

fn run(program: impl Fn() + Send + Sync + 'static) -> Report {
    Checker::new().leaks(true).run(program)
}

#[track_caller]
fn assert_leaks(report: &Report, what: &str) {
    assert_eq!(report.failures().next().map(|failure| failure.kind()), Some("memory"), "{report}");
    assert!(report.text().contains(what), "{report}");
}

#[derive(Default)]
struct Node {
    next: Mutex<Option<Arc<Node>>>,
    back: Mutex<Weak<Node>>,
}

fn cycle() {
    let (a, b) = (Arc::new(Node::default()), Arc::new(Node::default()));
    *a.next.lock().unwrap() = Some(b.clone());
    *b.next.lock().unwrap() = Some(a.clone());
}

#[test]
fn a_cycle_is_never_dropped() {
    let report = run(cycle);
    assert_leaks(&report, "is never dropped, nor is another");
    assert!(Checker::new().run(cycle).is_pass(), "only where it is asked for");
}

#[test]
fn what_is_forgotten_is_never_dropped_in_some_order() {
    let report = run(|| {
        let shared = Arc::new(Mutex::new(0));
        let other = shared.clone();
        let child = thread::spawn(move || {
            if *other.lock().unwrap() == 1 {
                std::mem::forget(other);
            }
        });
        *shared.lock().unwrap() = 1;
        child.join().unwrap();
    });
    assert_leaks(&report, "leaks.rs:38");
}

/// Weak handles on the way back, clones, values that are taken out, handles that threads take with them: all of it goes.
#[test]
fn what_is_dropped_is_no_leak() {
    let report = run(|| {
        let (a, b) = (Arc::new(Node::default()), Arc::new(Node::default()));
        *a.next.lock().unwrap() = Some(b.clone());
        *b.back.lock().unwrap() = Arc::downgrade(&a);
        drop(b);
        thread::spawn(move || a.next.lock().unwrap().is_some());
        let cyclic: Arc<Weak<u32>> = Arc::new_cyclic(|_| Weak::new());
        let other = cyclic.clone();
        thread::spawn(move || drop(other)).join().unwrap();
        assert!(Arc::into_inner(cyclic).is_some());
        assert_eq!(Arc::try_unwrap(Arc::new(5)), Ok(5));
        let mut changed = Arc::new(1);
        let kept = changed.clone();
        *Arc::make_mut(&mut changed) += 1;
        assert_eq!((*kept, *changed), (1, 2));
    });
    assert!(report.is_pass(), "{report}");
}

/// A thread that waits for ever holds what it holds: that is a deadlock, and no leak.
#[test]
fn what_a_waiting_thread_holds_is_no_leak() {
    let report = run(|| {
        let _held = Arc::new(1);
        thread::park();
    });
    assert_eq!(report.failures().next().map(|failure| failure.kind()), Some("deadlock"), "{report}");
}
