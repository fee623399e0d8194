//! Closures that do not repeat themselves: whatever the search makes of it, that is what the report says.

use std::sync::atomic::{AtomicUsize as Counter, Ordering::Relaxed};

use mazurka::sync::Arc;
use mazurka::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use mazurka::{Checker, Report, thread};

/// How often a closure has asked, in all executions.
#[derive(Default)]
struct Asked(Counter);

impl Asked {
    fn next(&self) -> usize {
        self.0.fetch_add(1, Relaxed)
    }
}

/// Checks a closure that is told how often it was run before.
fn run(closure: impl Fn(usize) + Send + Sync + 'static) -> Report {
    let asked = Asked::default();
    Checker::new().run(move || closure(asked.next()))
}

#[track_caller]
fn assert_noticed(report: &Report) {
    let failure = report.failures().next().unwrap_or_else(|| panic!("nothing was noticed: {report}"));
    assert_eq!(failure.kind(), "nondeterminism", "{report}");
    assert!(failure.place().is_some_and(|place| place.contains("nondeterminism.rs")), "{report}");
}

#[test]
fn a_choice_from_more_or_fewer_numbers() {
    // Whether an order of steps is reversed before or after the choice, each number that is tried is one that
    // there is.
    for counts in [[1, 3], [3, 1], [3, 2], [2, 3]] {
        let report = run(move |before| {
            let shared = Arc::new(AtomicUsize::new(0));
            let other = shared.clone();
            let child = thread::spawn(move || {
                let count = counts[before.min(1)];
                let chosen = mazurka::choose(0..count);
                assert!(chosen < count, "a number that there is not");
                other.store(chosen, SeqCst);
            });
            shared.load(SeqCst);
            child.join().unwrap();
        });
        assert_noticed(&report);
    }
}

#[test]
fn what_was_planned_for_and_does_not_come_is_no_bug_of_ours() {
    // The load of one of the two is reversed with a store; but then it is of the other one.
    for period in 1..6 {
        let report = run(move |before| {
            let shared = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
            let other = shared.clone();
            let child = thread::spawn(move || other.iter().for_each(|atomic| atomic.store(1, SeqCst)));
            shared[before / period % 2].load(SeqCst);
            child.join().unwrap();
        });
        assert!(!report.text().contains("internal"), "{report}");
        if period == 1 {
            assert_noticed(&report);
        }
    }
}
