//! What other threads of the operating system do meanwhile changes nothing.

use std::hint::black_box;
use std::mem::MaybeUninit;
use std::panic::{catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use mazurka::Checker;
use mazurka::sync::{Arc, Mutex};

use super::locks::threads;

/// Looks at what a lock guards from a frame that is mostly uninitialised: what was there before is seen in it.
#[inline(never)]
fn is_set(lock: &Mutex<bool>) -> bool {
    let mut room = MaybeUninit::<[usize; 64]>::uninit();
    black_box(room.as_mut_ptr());
    *lock.lock().unwrap()
}

/// What a closure does besides: to give back a lock of the standard library is to ask whether this thread
/// panics, and how far that goes depends on whether any thread does.
#[inline(never)]
fn note(notes: &std::sync::Mutex<u32>) {
    black_box(&*notes.lock().unwrap());
}

/// Two threads that poll a lock until a third has set what it guards, and use another lock on the way.
fn pollers() {
    let notes = std::sync::Arc::new(std::sync::Mutex::new(0));
    let done = Arc::new(Mutex::new(false));
    threads(3, move |me| match me {
        0 => *done.lock().unwrap() = true,
        _ => {
            while !is_set(&done) {
                note(&notes);
            }
        }
    });
}

/// Stays for a moment, while its thread unwinds.
struct Unhurried;

impl Drop for Unhurried {
    fn drop(&mut self) {
        let until = Instant::now() + Duration::from_micros(20);
        while Instant::now() < until {
            std::hint::spin_loop();
        }
    }
}

/// Checks a closure again and again while another thread panics again and again.
fn is_the_same_beside_panics(closure: fn()) {
    let over = AtomicBool::new(false);
    let counts = || {
        let report = Checker::new().max_executions(1_000).run(closure);
        if report.is_pass() { Ok((report.executions(), report.stopped())) } else { Err(report.text()) }
    };
    let expected = counts();
    assert!(expected.is_ok(), "{expected:?}");
    let beside = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Relaxed) {
                let _ = catch_unwind(|| {
                    let _dropped_on_the_way = Unhurried;
                    resume_unwind(Box::new(()));
                });
                drop(Unhurried);
            }
        });
        let beside: Vec<_> = (0..8).map(|_| counts()).collect();
        over.store(true, Relaxed);
        beside
    });
    beside.iter().for_each(|counts| assert_eq!(*counts, expected));
}

#[test]
fn who_polls_a_lock_is_where_it_was_though_others_panic() {
    is_the_same_beside_panics(pollers);
}
