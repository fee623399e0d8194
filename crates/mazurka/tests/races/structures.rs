//! Structures as they are written for real machines, with orderings that are as weak as can be; and weaker.

use std::ptr;

use mazurka::sync::Arc;
use mazurka::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};
use mazurka::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, fence};
use mazurka::{hint, thread};

use super::{Number, ordered, races};

/// A counted handle as in the standard library: who drops the last one may write.
fn counted(drop_order: Ordering, fenced: bool) -> impl Fn() + Send + Sync + 'static {
    move || {
        let shared = Arc::new((Number::default(), AtomicUsize::new(2)));
        let release = move |(value, count): &(Number, AtomicUsize)| {
            value.get();
            if count.fetch_sub(1, drop_order) == 1 {
                if fenced {
                    fence(Acquire);
                }
                value.set(7);
            }
        };
        let other = shared.clone();
        let thread = thread::spawn(move || release(&other));
        release(&shared);
        thread.join().unwrap();
    }
}

#[test]
fn a_count_of_handles() {
    ordered("a release and a fence", counted(Release, true));
    ordered("both at once", counted(AcqRel, false));
    races("no fence", counted(Release, false));
    races("no release", counted(Relaxed, true));
}

struct Node {
    value: Number,
    next: *mut Node,
}

/// Treiber's stack; nodes are not freed, which is not what this is about.
struct Stack {
    top: AtomicPtr<Node>,
    push: Ordering,
    pop: Ordering,
}

impl Stack {
    fn push(&self, number: u32) {
        let node = Box::into_raw(Box::new(Node { value: Number::default(), next: ptr::null_mut() }));
        // SAFETY: nobody else knows of the node yet.
        let new = unsafe { &mut *node };
        new.value.set(number);
        new.next = self.top.load(Relaxed);
        while let Err(other) = self.top.compare_exchange_weak(new.next, node, self.push, Relaxed) {
            new.next = other;
        }
    }

    fn pop(&self) -> Option<u32> {
        let mut top = self.top.load(self.pop);
        // SAFETY: nodes live for ever.
        while let Some(node) = unsafe { top.as_ref() } {
            match self.top.compare_exchange_weak(top, node.next, Relaxed, self.pop) {
                Ok(_) => {
                    let number = node.value.get();
                    node.value.set(0);
                    return Some(number);
                }
                Err(other) => top = other,
            }
        }
        None
    }
}

fn stack(push: Ordering, pop: Ordering) -> impl Fn() + Send + Sync + 'static {
    move || {
        let stack = Arc::new(Stack { top: AtomicPtr::new(ptr::null_mut()), push, pop });
        let other = stack.clone();
        let thread = thread::spawn(move || {
            other.push(1);
            other.pop()
        });
        stack.push(2);
        let popped = [stack.pop(), thread.join().unwrap()];
        assert_eq!(popped.into_iter().flatten().sum::<u32>(), 3);
    }
}

#[test]
fn a_stack_of_nodes() {
    ordered("release and acquire", stack(Release, Acquire));
    races("relaxed pushes", stack(Relaxed, Acquire));
    races("relaxed pops", stack(Release, Relaxed));
}

/// A ring for one producer and one consumer.
#[derive(Default)]
struct Ring {
    slots: [Number; 2],
    head: AtomicUsize,
    tail: AtomicUsize,
}

impl Ring {
    fn push(&self, number: u32, publish: Ordering) -> bool {
        let tail = self.tail.load(Relaxed);
        if tail - self.head.load(Acquire) == self.slots.len() {
            return false;
        }
        self.slots[tail % self.slots.len()].set(number);
        self.tail.store(tail + 1, publish);
        true
    }

    fn pop(&self, free: Ordering) -> Option<u32> {
        let head = self.head.load(Relaxed);
        if head == self.tail.load(Acquire) {
            return None;
        }
        let number = self.slots[head % self.slots.len()].get();
        self.head.store(head + 1, free);
        Some(number)
    }
}

fn ring(publish: Ordering, free: Ordering) -> impl Fn() + Send + Sync + 'static {
    move || {
        let ring = Arc::new(Ring::default());
        let other = ring.clone();
        let producer = thread::spawn(move || {
            for number in 0..3 {
                if !other.push(number, publish) {
                    return;
                }
            }
        });
        let popped: Vec<u32> = (0..3).map_while(|_| ring.pop(free)).collect();
        assert!(popped.iter().copied().eq(0..popped.len() as u32));
        producer.join().unwrap();
    }
}

#[test]
fn a_ring_for_one_producer_and_one_consumer() {
    ordered("release and acquire", ring(Release, Release));
    races("a relaxed tail", ring(Relaxed, Release));
    races("a relaxed head", ring(Release, Relaxed));
}

/// A sequence lock over atomics: what is read while it is written is thrown away.
#[test]
fn a_sequence_lock() {
    ordered("atomics do not race", || {
        let lock = Arc::new((AtomicU32::new(0), AtomicU32::new(0), AtomicU32::new(0)));
        let other = lock.clone();
        let writer = thread::spawn(move || {
            let (sequence, a, b) = &*other;
            sequence.store(1, Relaxed);
            fence(Release);
            a.store(1, Relaxed);
            b.store(1, Relaxed);
            sequence.store(2, Release);
        });
        let (sequence, a, b) = &*lock;
        let before = sequence.load(Acquire);
        let read = (a.load(Relaxed), b.load(Relaxed));
        fence(Acquire);
        if before % 2 == 0 && sequence.load(Relaxed) == before {
            assert_eq!(read.0, read.1);
        }
        writer.join().unwrap();
    });
}

/// What is made once, with a look before the lock.
fn double_checked(first_look: Ordering, publish: Ordering) -> impl Fn() + Send + Sync + 'static {
    move || {
        let shared = Arc::new((AtomicBool::new(false), mazurka::sync::Mutex::new(()), Number::default()));
        let get = move |(made, lock, value): &(AtomicBool, mazurka::sync::Mutex<()>, Number)| {
            if !made.load(first_look) {
                let _held = lock.lock().unwrap();
                if !made.load(Relaxed) {
                    value.set(1);
                    made.store(true, publish);
                }
            }
            assert_eq!(value.get(), 1);
        };
        let other = shared.clone();
        let thread = thread::spawn(move || get(&other));
        get(&shared);
        thread.join().unwrap();
    }
}

#[test]
fn what_is_made_once_with_a_look_before_the_lock() {
    ordered("release and acquire", double_checked(Acquire, Release));
    races("a relaxed look", double_checked(Relaxed, Release));
    races("a relaxed store", double_checked(Acquire, Relaxed));
}

fn spin_lock(take: Ordering, give: Ordering) -> impl Fn() + Send + Sync + 'static {
    move || {
        let shared = Arc::new((AtomicBool::new(false), Number::default()));
        let add = move |(lock, number): &(AtomicBool, Number)| {
            while lock.compare_exchange_weak(false, true, take, Relaxed).is_err() {
                hint::spin_loop();
            }
            number.set(number.get() + 1);
            lock.store(false, give);
        };
        let other = shared.clone();
        let thread = thread::spawn(move || add(&other));
        add(&shared);
        thread.join().unwrap();
        assert_eq!(shared.1.get(), 2);
    }
}

#[test]
fn a_lock_that_spins() {
    ordered("acquire and release", spin_lock(Acquire, Release));
    races("taken relaxed", spin_lock(Relaxed, Release));
    races("given back relaxed", spin_lock(Acquire, Relaxed));
}

/// Peterson's lock needs sequential consistency of its flags; what it guards is ordered by them.
#[test]
fn a_lock_of_flags() {
    ordered("sequentially consistent flags", || {
        let shared = Arc::new((
            [AtomicBool::new(false), AtomicBool::new(false)],
            AtomicUsize::new(0),
            Number::default(),
        ));
        let add = |me: usize, (wants, turn, number): &([AtomicBool; 2], AtomicUsize, Number)| {
            wants[me].store(true, SeqCst);
            turn.store(1 - me, SeqCst);
            while wants[1 - me].load(SeqCst) && turn.load(SeqCst) == 1 - me {
                hint::spin_loop();
            }
            number.set(number.get() + 1);
            wants[me].store(false, SeqCst);
        };
        let other = shared.clone();
        let thread = thread::spawn(move || add(1, &other));
        add(0, &shared);
        thread.join().unwrap();
    });
}

/// A pointer that is published once, and never again: what it points to is read by whoever finds it.
#[test]
fn a_pointer_that_is_published() {
    let publish = |order: Ordering| {
        move || {
            let place = Arc::new(AtomicPtr::<Number>::new(ptr::null_mut()));
            let other = place.clone();
            let thread = thread::spawn(move || {
                let number = Box::new(Number::default());
                number.set(3);
                other.store(Box::into_raw(number), order);
            });
            // SAFETY: what is published is not freed before the thread is joined.
            if let Some(number) = unsafe { place.load(Acquire).as_ref() } {
                assert_eq!(number.get(), 3);
            }
            thread.join().unwrap();
            // SAFETY: it came from a box, and nobody else has it now.
            drop(unsafe { Box::from_raw(place.load(Relaxed)) });
        }
    };
    ordered("release", publish(Release));
    races("relaxed", publish(Relaxed));
}
