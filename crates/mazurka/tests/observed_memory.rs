//! `reads-from` without and with what memory holds in the end.

use mazurka::sync::Arc;
use mazurka::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use mazurka::{Algorithm, Checker, thread};

/// Three threads that write a variable which nobody reads.
fn write_unread() {
    let x = Arc::new(AtomicUsize::new(0));
    let writers = [1, 2, 3].map(|value| {
        let x = x.clone();
        thread::spawn(move || x.store(value, SeqCst))
    });
    for writer in writers {
        writer.join().unwrap();
    }
}

#[test]
fn who_wrote_last_counts_if_memory_is_observed() {
    let reads_from = || Checker::new().algorithm(Algorithm::ReadsFrom);
    let report = reads_from().run(write_unread);
    assert_eq!((report.is_pass(), report.executions()), (true, 1), "{report}");
    let note = "whatever memory holds at the end (Checker::observe_memory: that too)";
    assert!(report.text().contains(note), "{report}");
    let report = reads_from().observe_memory(true).run(write_unread);
    assert_eq!((report.is_pass(), report.executions()), (true, 3), "{report}");
    assert!(report.text().contains("memory was left by the same writes"), "{report}");
    for on in [false, true] {
        assert_eq!(Checker::new().observe_memory(on).run(write_unread).executions(), 6);
    }
}

#[mazurka::test(algorithm = "reads-from", observe_memory)]
fn a_test_can_observe_memory() {
    write_unread();
}
