//! A ring of one producer and one consumer, a lock of sequence numbers, and who polls after he has received.

use std::cell::Cell;

use mazurka::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use mazurka::sync::mpsc::channel;
use mazurka::sync::{Arc, Mutex};
use mazurka::thread;

use super::{passes, passes_alike};

/// A ring with room for two. Each side remembers where it saw the other last.
struct Ring {
    slots: [AtomicUsize; 2],
    head: AtomicUsize,
    tail: AtomicUsize,
}

impl Ring {
    fn new() -> Ring {
        let slots = [AtomicUsize::new(0), AtomicUsize::new(0)];
        Ring { slots, head: AtomicUsize::new(0), tail: AtomicUsize::new(0) }
    }

    fn push(&self, value: usize, seen: &Cell<usize>) -> bool {
        let tail = self.tail.load(SeqCst);
        if tail - seen.get() == 2 {
            seen.set(self.head.load(SeqCst));
            if tail - seen.get() == 2 {
                return false;
            }
        }
        self.slots[tail % 2].store(value, SeqCst);
        self.tail.store(tail + 1, SeqCst);
        true
    }

    fn pop(&self, seen: &Cell<usize>) -> Option<usize> {
        let head = self.head.load(SeqCst);
        if head == seen.get() {
            seen.set(self.tail.load(SeqCst));
            if head == seen.get() {
                return None;
            }
        }
        let value = self.slots[head % 2].load(SeqCst);
        self.head.store(head + 1, SeqCst);
        Some(value)
    }
}

#[test]
fn three_items_go_through_a_ring() {
    passes((11, 10), || {
        let ring = Arc::new(Ring::new());
        let other = ring.clone();
        let producer = thread::spawn(move || {
            let seen = Cell::new(0);
            for value in 1..=3 {
                while !other.push(value, &seen) {}
            }
        });
        let (seen, mut got) = (Box::new(Cell::new(0)), Vec::new());
        while got.len() < 3 {
            got.extend(ring.pop(&seen));
        }
        assert_eq!(got, [1, 2, 3]);
        producer.join().unwrap();
    });
}

#[test]
fn a_reader_of_a_sequence_lock_tries_again() {
    passes((90, 0), || {
        let lock = Arc::new((AtomicUsize::new(0), [AtomicUsize::new(0), AtomicUsize::new(0)]));
        let other = lock.clone();
        let writer = thread::spawn(move || {
            other.0.fetch_add(1, SeqCst);
            other.1[0].store(1, SeqCst);
            other.1[1].store(1, SeqCst);
            other.0.fetch_add(1, SeqCst);
        });
        let (one, two) = loop {
            let before = lock.0.load(SeqCst);
            let read = (lock.1[0].load(SeqCst), lock.1[1].load(SeqCst));
            if before.is_multiple_of(2) && lock.0.load(SeqCst) == before {
                break read;
            }
        };
        assert_eq!(one, two);
        writer.join().unwrap();
    });
}

/// A loop that receives is in no round, though it comes back to one state; the one after it is.
#[test]
fn who_has_received_in_a_loop_and_polls_then_goes_rounds() {
    passes_alike(|| {
        let (to, from) = channel();
        let done = Arc::new(Mutex::new(false));
        let other = done.clone();
        let sender = thread::spawn(move || {
            (0..10).for_each(|at| to.send(at == 9).unwrap());
            *other.lock().unwrap() = true;
        });
        while !from.recv().unwrap() {}
        while !*done.lock().unwrap() {}
        sender.join().unwrap();
    });
}
