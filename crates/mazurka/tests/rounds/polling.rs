//! Loops that ask again and again.

use std::time::Duration;

use mazurka::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use mazurka::sync::{Arc, Mutex, RwLock, mpsc};
use mazurka::thread;
use mazurka::time::Instant;

use super::{fails, passes};

#[test]
fn a_mutex_is_polled() {
    passes((2, 1), || {
        let done = Arc::new(Mutex::new(false));
        let other = done.clone();
        let setter = thread::spawn(move || *other.lock().unwrap() = true);
        while !*done.lock().unwrap() {}
        setter.join().unwrap();
    });
}

#[test]
fn a_read_lock_is_polled() {
    passes((2, 1), || {
        let done = Arc::new(RwLock::new(false));
        let other = done.clone();
        let setter = thread::spawn(move || *other.write().unwrap() = true);
        while !*done.read().unwrap() {
            thread::yield_now();
        }
        setter.join().unwrap();
    });
}

#[test]
fn a_token_goes_up_and_down() {
    passes((2, 1), || {
        let (token, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let other = done.clone();
        let setter = thread::spawn(move || other.store(true, SeqCst));
        while !done.load(SeqCst) {
            token.store(true, SeqCst);
            token.store(false, SeqCst);
        }
        setter.join().unwrap();
    });
}

#[test]
fn a_thread_is_asked_whether_it_is_finished() {
    passes((3, 3), || {
        let x = Arc::new(Mutex::new(0));
        let other = x.clone();
        let setter = thread::spawn(move || *other.lock().unwrap() += 1);
        while !setter.is_finished() {
            drop(x.lock().unwrap());
        }
        setter.join().unwrap();
    });
}

#[test]
fn a_channel_is_asked_for_messages() {
    passes((2, 1), || {
        let (sender, receiver) = mpsc::channel();
        let count = AtomicUsize::new(0);
        let other = thread::spawn(move || sender.send(1).unwrap());
        while receiver.try_recv().is_err() {
            count.store(1, SeqCst);
            count.store(0, SeqCst);
        }
        other.join().unwrap();
    });
}

#[test]
fn a_read_lock_is_tried() {
    passes((9, 1), || {
        let done = Arc::new(RwLock::new(false));
        let other = done.clone();
        let setter = thread::spawn(move || *other.write().unwrap() = true);
        while !done.try_read().is_ok_and(|done| *done) {}
        setter.join().unwrap();
    });
}

#[test]
fn a_write_lock_is_tried() {
    passes((4, 0), || {
        let done = Arc::new(RwLock::new(0));
        let other = done.clone();
        let reader = thread::spawn(move || *other.read().unwrap());
        loop {
            if let Ok(mut done) = done.try_write() {
                *done = 1;
                break;
            }
            thread::yield_now();
        }
        assert!(reader.join().unwrap() < 2);
    });
}

#[test]
fn what_was_read_is_kept_beside() {
    passes((4, 3), || {
        let (x, cache) = (Arc::new(AtomicUsize::new(0)), AtomicUsize::new(0));
        let other = x.clone();
        let setter = thread::spawn(move || {
            other.store(1, SeqCst);
            other.store(2, SeqCst);
        });
        while cache.load(SeqCst) != 2 {
            cache.store(x.load(SeqCst), SeqCst);
        }
        setter.join().unwrap();
    });
}

#[test]
fn who_sleeps_between_two_looks_may_have_asked_a_clock() {
    passes((2, 1), || {
        let start = Instant::now();
        let done = Arc::new(Mutex::new(false));
        let other = done.clone();
        let setter = thread::spawn(move || *other.lock().unwrap() = true);
        while !*done.lock().unwrap() {
            thread::sleep(Duration::from_millis(10));
        }
        setter.join().unwrap();
        assert!(start.elapsed() > Duration::ZERO);
    });
}

/// In a round in which its clock was put forward a thread has not come back to where it was: it comes to know
/// there that three seconds have passed.
#[test]
fn who_learns_how_late_it_is_has_gone_no_round() {
    fails("assertion", || {
        let start = Instant::now();
        let shared = Arc::new((Mutex::new(()), AtomicUsize::new(0), AtomicBool::new(false)));
        let (late, sets) = (shared.clone(), shared.clone());
        let late = thread::spawn(move || {
            thread::sleep(Duration::from_secs(3));
            late.1.store(0, SeqCst);
        });
        let sets = thread::spawn(move || sets.2.store(true, SeqCst));
        loop {
            drop(shared.0.lock().unwrap());
            if shared.2.load(SeqCst) {
                break;
            }
            shared.1.load(SeqCst);
        }
        assert!(start.elapsed() < Duration::from_secs(2));
        late.join().unwrap();
        sets.join().unwrap();
    });
}
