//! Loops that ask again and again.

use mazurka::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use mazurka::sync::{Arc, Mutex, RwLock, mpsc};
use mazurka::thread;

use super::passes;

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
