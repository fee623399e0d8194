//! Threads that abort: a failure of their check, and not the end of all others. A binary of its own, since
//! the panic hook belongs to the whole process.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use mazurka::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use mazurka::sync::{Arc, Mutex};
use mazurka::{Checker, Report, thread};

/// Panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("the bomb went off");
    }
}

#[track_caller]
fn assert_aborted(report: &Report) {
    assert_eq!(report.failures().next().map(|failure| failure.kind()), Some("panic"), "{report}");
    assert!(report.text().contains("aborted: by std::process::abort"), "{report}");
    let next = Checker::new().run(|| {
        let shared = Arc::new(AtomicUsize::new(0));
        let other = shared.clone();
        let child = thread::spawn(move || other.store(1, SeqCst));
        shared.load(SeqCst);
        child.join().unwrap();
    });
    assert!(next.is_pass() && next.executions() == 2, "{next}");
}

/// One after the other, since the second part changes the hook.
#[test]
fn an_abort_is_a_failure() {
    assert_aborted(&Checker::new().run(|| std::process::abort()));
    let report = Checker::new().run(|| {
        let lock = Arc::new(Mutex::new(0));
        let other = lock.clone();
        let child = thread::spawn(move || {
            let guard = other.lock().unwrap();
            if *guard == 1 {
                std::process::abort();
            }
        });
        *lock.lock().unwrap() += 1;
        child.join().unwrap();
    });
    assert_aborted(&report);

    // Whoever sets a hook takes away what the library hears of panics; what ends the process ends the check
    // alone still.
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| ()));
    let report = Checker::new().run(|| {
        let _bomb = Bomb;
        panic!("with a bomb");
    });
    assert_aborted(&report);
    let report = Checker::new().run(|| {
        let _bomb = Bomb;
        thread::park();
    });
    assert_eq!(report.failures().next().map(|failure| failure.kind()), Some("deadlock"), "{report}");
    std::panic::set_hook(before);
}
