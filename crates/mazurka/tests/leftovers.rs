//! What one execution leaves behind means nothing to the next.

use std::time::Duration;

use mazurka::sync::Arc;
use mazurka::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use mazurka::{Checker, thread};

#[test]
fn a_thread_that_has_not_begun_has_no_stack() {
    // The closure ends first, so its stack goes to another thread in the next execution, and that of the
    // child to it. What it makes while the child is about to begin is its own nevertheless.
    let report = Checker::new().run(|| {
        let shared = Arc::new(AtomicUsize::new(0));
        let other = shared.clone();
        thread::spawn(move || (1..4).for_each(|value| other.store(value, SeqCst)));
        let own = AtomicUsize::new(0);
        own.store(5, SeqCst);
        own.store(shared.load(SeqCst) + shared.load(SeqCst), SeqCst);
    });
    assert!(report.is_pass(), "{report}");
    // 0 to 3 stores before the first load, and as many or more before the second one.
    assert_eq!(report.executions(), 4 + 3 + 2 + 1);
}

#[test]
fn steps_that_are_taken_again_in_a_row_are_no_hang() {
    let report = Checker::new().hang_timeout(Duration::from_millis(400)).run(|| {
        let shared = Arc::new(AtomicUsize::new(0));
        let other = shared.clone();
        let child = thread::spawn(move || other.store(1, SeqCst));
        let own = AtomicUsize::new(0);
        for _ in 0..10 {
            std::thread::sleep(Duration::from_millis(80));
            own.fetch_add(1, SeqCst);
        }
        shared.load(SeqCst);
        child.join().unwrap();
    });
    assert!(report.is_pass(), "{report}");
    assert_eq!(report.executions(), 2);
}

/// An object on the heap, beside so many bytes.
struct Padded<const N: usize>(AtomicUsize, [u8; N]);

trait Touch {
    fn touch(&self);
}

impl<const N: usize> Touch for Padded<N> {
    fn touch(&self) {
        self.0.store(self.1.len(), SeqCst);
    }
}

fn padded<const N: usize>() -> Box<dyn Touch> {
    Box::new(Padded(AtomicUsize::new(0), [0; N]))
}

/// Finds another variable gone when it is dropped, and then makes objects of all sizes.
struct DroppedLast;

impl Drop for DroppedLast {
    fn drop(&mut self) {
        assert!(DROPPED_FIRST.try_with(|_| ()).is_err());
        let small = [padded::<0>(), padded::<8>(), padded::<16>(), padded::<24>(), padded::<32>()];
        let larger = [padded::<40>(), padded::<48>(), padded::<56>(), padded::<64>(), padded::<72>()];
        let large = [padded::<80>(), padded::<88>(), padded::<96>(), padded::<104>(), padded::<112>()];
        small.iter().chain(&larger).chain(&large).for_each(|padded| padded.touch());
    }
}

mazurka::thread_local! {
    static DROPPED_LAST: DroppedLast = const { DroppedLast };
    static DROPPED_FIRST: u32 = const { 1 };
}

#[test]
fn what_is_made_once_in_a_process_has_no_part_in_names() {
    // The error of a variable that is gone is made by the first execution of all; later ones find it.
    let report = Checker::new().run(|| {
        let child = thread::spawn(|| {
            DROPPED_LAST.with(|_| ());
            DROPPED_FIRST.with(|_| ());
        });
        child.join().unwrap();
        let shared = Arc::new(AtomicUsize::new(0));
        let other = shared.clone();
        let child = thread::spawn(move || other.store(1, SeqCst));
        shared.load(SeqCst);
        child.join().unwrap();
    });
    assert!(report.is_pass(), "{report}");
    assert_eq!(report.executions(), 2);
}
