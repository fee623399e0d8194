//! Threads of the operating system that use what belongs to a check: told as that.

use mazurka::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use mazurka::sync::mpsc::channel;
use mazurka::sync::{Arc, Mutex};
use mazurka::{Checker, Report};

#[track_caller]
fn assert_told(report: &Report, what: &str) {
    let kind = report.failures().next().map(|failure| failure.kind());
    assert_eq!(kind, Some("invalid-sync"), "{report}");
    let text = report.text();
    assert!(text.contains(what) && text.contains("of mazurka::thread"), "{report}");
}

#[test]
fn a_thread_of_std_that_uses_what_the_check_has_used() {
    let report = Checker::new().run(|| {
        let shared = Arc::new(AtomicUsize::new(0));
        shared.store(1, SeqCst);
        let other = shared.clone();
        std::thread::spawn(move || other.fetch_add(1, SeqCst)).join().unwrap();
    });
    assert_told(
        &report,
        "belongs to a check and was used outside of it, at crates/mazurka/tests/strangers.rs:22",
    );
}

#[test]
fn a_thread_of_std_that_uses_it_before_the_check() {
    let report = Checker::new().run(|| {
        let shared = Arc::new(Mutex::new(0));
        let other = shared.clone();
        std::thread::spawn(move || *other.lock().unwrap() += 1).join().unwrap();
        assert_eq!(*shared.lock().unwrap(), 1);
    });
    assert_told(&report, "was used by a thread that is none of this check");
}

#[test]
fn a_thread_of_std_that_sends() {
    let report = Checker::new().run(|| {
        let (to, from) = channel();
        let _ = std::thread::spawn(move || to.send(1)).join();
        assert_eq!(from.recv(), Ok(1));
    });
    assert_told(&report, "the channel made at");
}

/// What is no object of the check is nobody's business.
#[test]
fn a_thread_of_std_that_keeps_to_itself() {
    let report = Checker::new().run(|| {
        let sum = std::thread::spawn(|| (1..=4).sum::<u32>()).join().unwrap();
        assert_eq!(sum, 10);
    });
    assert!(report.is_pass(), "{report}");
}
