//! Threads that park, and wake up of themselves where the check says so.

use mazurka::sync::Arc;
use mazurka::sync::atomic::{AtomicBool, Ordering::SeqCst};
use mazurka::{Checker, Report, thread};

fn run_spurious(closure: impl Fn() + Send + Sync + 'static) -> Report {
    Checker::new().spurious_wakeups(true).run(closure)
}

/// Parks until a flag is set: by looking once, or again and again.
fn park_for_a_flag(again: bool) {
    let flag = Arc::new(AtomicBool::new(false));
    let (other, parked) = (flag.clone(), thread::current());
    let child = thread::spawn(move || {
        other.store(true, SeqCst);
        parked.unpark();
    });
    while !flag.load(SeqCst) {
        thread::park();
        assert!(again || flag.load(SeqCst), "woken too early");
    }
    child.join().unwrap();
}

#[test]
fn who_looks_again_is_not_misled() {
    // Once in an execution is often enough, and has an end.
    let report = run_spurious(|| park_for_a_flag(true));
    assert!(report.is_pass(), "{report}");
    assert!(Checker::new().run(|| park_for_a_flag(true)).is_pass());
}

#[test]
fn who_does_not_look_again_is() {
    let report = run_spurious(|| park_for_a_flag(false));
    assert!(report.text().contains("woken too early") && report.text().contains("of itself"), "{report}");
    assert!(Checker::new().run(|| park_for_a_flag(false)).is_pass());
}

#[test]
fn a_thread_wakes_up_of_itself_once() {
    let report = run_spurious(|| {
        thread::park();
        thread::park();
    });
    assert_eq!(report.failures().next().map(|failure| failure.kind()), Some("deadlock"), "{report}");
}
