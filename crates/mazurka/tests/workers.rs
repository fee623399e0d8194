//! The thread of the operating system that checks run on: another than the one that calls, kept for the next
//! check, and given up if a check leaves something undone on it.

use std::cell::Cell;
use std::sync::{Arc, Mutex};
use std::thread::{ThreadId, current};

use mazurka::Checker;

/// Runs a check; gives the threads that it ran on.
fn threads_of(body: impl Fn() + Send + Sync + 'static) -> Vec<ThreadId> {
    let seen: Arc<Mutex<Vec<ThreadId>>> = Arc::default();
    let into = seen.clone();
    let _ = Checker::new().run(move || {
        into.lock().unwrap().push(current().id());
        body();
    });
    let mut seen = seen.lock().unwrap().clone();
    seen.dedup();
    seen
}

fn overflow() {
    #[allow(unconditional_recursion)]
    fn deeper(buffer: [u8; 512]) -> usize {
        deeper(std::hint::black_box(buffer)) + usize::from(buffer[0])
    }
    std::hint::black_box(deeper([0; 512]));
}

#[test]
fn checks_of_one_thread_have_one_worker() {
    let first = threads_of(|| ());
    assert_eq!(first.len(), 1);
    assert_ne!(first, [current().id()]);
    assert_eq!(threads_of(|| assert!(std::hint::black_box(false), "a failure is no harm")), first);
    assert_eq!(threads_of(|| ()), first);
    let elsewhere = std::thread::spawn(|| threads_of(|| ())).join().unwrap();
    assert_ne!(elsewhere, first);
}

#[test]
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn a_worker_that_was_spoiled_is_not_used_again() {
    let first = threads_of(|| ());
    assert_eq!(threads_of(overflow), first);
    let second = threads_of(|| ());
    assert_ne!(second, first);
    assert_eq!(threads_of(|| ()), second);
}

#[test]
fn a_worker_has_the_name_of_its_caller() {
    let report = Checker::new().run(|| {
        assert_eq!(current().name(), Some("workers::a_worker_has_the_name_of_its_caller"));
    });
    assert!(report.is_pass(), "{report}");
}

#[test]
fn variables_of_the_worker_last_as_those_of_one_thread() {
    std::thread_local! {
        static COUNT: Cell<u32> = const { Cell::new(0) };
    }
    let count = |expected: u32| {
        let report = Checker::new().run(move || {
            assert_eq!(COUNT.replace(COUNT.get() + 1), expected);
        });
        assert!(report.is_pass(), "{report}");
    };
    COUNT.set(7);
    count(0);
    count(1);
    assert_eq!(COUNT.get(), 7);
}
