//! Atomics whose memory is reached by pointers, and memory that is used as an atomic.
#![allow(unsafe_code)]

use crate::brute::verify;
use mazurka::sync::Arc;
use mazurka::sync::atomic::{AtomicPtr, AtomicU8, AtomicU32, Ordering::SeqCst};
use mazurka::{Checker, thread};

/// A pointer that is sent to another thread.
#[derive(Clone, Copy)]
struct Sent<T>(*mut T);

// SAFETY: what it points to is used as an atomic.
unsafe impl<T> Send for Sent<T> {}

impl<T> Sent<T> {
    fn get(self) -> *mut T {
        self.0
    }
}

#[test]
fn what_is_stored_is_read_through_the_pointer() {
    let report = Checker::new().run(|| {
        let atomic = Arc::new(AtomicU32::new(1));
        let (pointer, other) = (atomic.as_ptr(), atomic.clone());
        // SAFETY: nobody writes it otherwise, and the only thread has ended where it is read.
        unsafe {
            assert_eq!(*pointer, 1);
            atomic.store(2, SeqCst);
            assert_eq!(*pointer, 2);
            thread::spawn(move || other.fetch_add(1, SeqCst)).join().unwrap();
            assert_eq!(*pointer, 3);
            *pointer = 7;
        }
        assert_eq!(atomic.swap(8, SeqCst), 7);
        let other = atomic.clone();
        let adding = thread::spawn(move || other.fetch_add(1, SeqCst));
        atomic.fetch_add(1, SeqCst);
        adding.join().unwrap();
        let mut atomic = Arc::try_unwrap(atomic).unwrap();
        assert_eq!((*atomic.get_mut(), atomic.into_inner()), (10, 10));
    });
    assert!(report.is_pass(), "{report}");
}

/// As with an atomic of its own: the two reads and writes in each of their orders that matter.
#[test]
fn memory_as_an_atomic() {
    let program = || {
        let memory = Sent(Box::into_raw(Box::new(0_u32)));
        let threads = [0, 1].map(|_| {
            thread::spawn(move || {
                // SAFETY: it lives until the threads have ended.
                let atomic = unsafe { AtomicU32::from_ptr(memory.get()) };
                let value = atomic.load(SeqCst);
                atomic.store(value + 1, SeqCst);
            })
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        // SAFETY: nobody else has it any more.
        unsafe { Box::from_raw(memory.get()) }.to_string()
    };
    verify(program, 4, &["1", "2"]);
}

/// What comes to be at an address where something else was is something else.
#[test]
fn memory_that_is_used_again() {
    let report = Checker::new().run(|| {
        for first in [3, 5, 5] {
            let mut memory = Box::new(first);
            // SAFETY: it lives as long as it is used.
            let atomic = unsafe { AtomicU8::from_ptr(&raw mut *memory) };
            assert_eq!(atomic.fetch_add(1, SeqCst), first);
            assert_eq!(*memory, first + 1);
            *memory = 9;
            // SAFETY: as above.
            let again = unsafe { AtomicU8::from_ptr(&raw mut *memory) };
            assert_eq!(again.load(SeqCst), 9);
        }
        let mut on_stack = 1_u32;
        let pointer = Sent(&raw mut on_stack);
        // SAFETY: it lives until the thread has ended.
        let adding =
            thread::spawn(move || unsafe { AtomicU32::from_ptr(pointer.get()) }.fetch_add(1, SeqCst));
        // SAFETY: as above.
        unsafe { AtomicU32::from_ptr(pointer.get()) }.fetch_add(1, SeqCst);
        adding.join().unwrap();
        assert_eq!(on_stack, 3);
    });
    assert!(report.is_pass(), "{report}");
}

#[test]
fn outside_of_a_check_it_is_the_memory() {
    let mut number = 1_u32;
    // SAFETY: nobody else has it.
    unsafe {
        let atomic = AtomicU32::from_ptr(&raw mut number);
        assert_eq!(atomic.fetch_add(1, SeqCst), 1);
        assert_eq!(*atomic.as_ptr(), 2);
    }
    assert_eq!(number, 2);
    let mut pointer = &raw mut number;
    // SAFETY: as above.
    let atomic = unsafe { AtomicPtr::from_ptr(&raw mut pointer) };
    atomic.store(std::ptr::null_mut(), SeqCst);
    assert!(pointer.is_null());
}

static SHARED: AtomicU32 = AtomicU32::new(0);

#[test]
fn statics_give_no_pointers() {
    let report = Checker::new().run(|| {
        SHARED.as_ptr();
    });
    assert!(!report.is_exhaustive() && !report.is_pass(), "{report}");
    assert!(report.text().contains("as_ptr of an atomic in a static, at"), "{report}");
}
