//! Locks of one's own, and who polls them.

use mazurka::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use mazurka::sync::{Arc, Mutex};
use mazurka::thread;

use super::{fails, passes, passes_alike};

/// Threads that each do the same.
pub fn threads(count: usize, body: impl Fn(usize) + Clone + Send + 'static) {
    let threads: Vec<_> = (0..count)
        .map(|me| {
            let body = body.clone();
            thread::spawn(move || body(me))
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

/// Threads that poll a lock until one has set what it guards.
fn pollers(count: usize) {
    let done = Arc::new(Mutex::new(false));
    threads(count + 1, move |me| match me {
        0 => *done.lock().unwrap() = true,
        _ => while !*done.lock().unwrap() {},
    });
}

#[test]
fn two_and_three_poll_a_mutex() {
    passes((10, 14), || pollers(2));
    passes((96, 312), || pollers(3));
}

#[test]
fn two_try_to_lock() {
    passes((6, 0), || {
        let lock = Arc::new(Mutex::new(0));
        threads(2, move |_| {
            loop {
                if let Ok(mut held) = lock.try_lock() {
                    *held += 1;
                    break;
                }
                thread::yield_now();
            }
        });
    });
}

#[test]
fn a_lock_is_tried_between_two_writes() {
    passes((20, 14), || {
        let lock = Arc::new((Mutex::new(0), AtomicUsize::new(0)));
        threads(2, move |_| {
            loop {
                lock.1.fetch_add(1, SeqCst);
                let held = lock.0.try_lock();
                lock.1.fetch_sub(1, SeqCst);
                if let Ok(mut held) = held {
                    *held += 1;
                    break;
                }
            }
        });
    });
}

#[test]
fn a_spin_lock_is_polled() {
    passes_alike(|| {
        let lock = Arc::new((AtomicBool::new(false), AtomicUsize::new(0)));
        threads(2, move |me| {
            loop {
                while lock.0.swap(true, SeqCst) {}
                let done = lock.1.load(SeqCst) == 1;
                if me == 0 {
                    lock.1.store(1, SeqCst);
                }
                lock.0.store(false, SeqCst);
                if done || me == 0 {
                    break;
                }
            }
        });
    });
}

#[test]
fn a_ticket_lock_serves_in_turn() {
    passes((6, 0), || {
        let (next, serving) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let lock = Arc::new((next, serving, Mutex::new(0)));
        threads(2, move |_| {
            let ticket = lock.0.fetch_add(1, SeqCst);
            while lock.1.load(SeqCst) != ticket {
                thread::yield_now();
            }
            *lock.2.try_lock().expect("nobody else has it") += 1;
            lock.1.store(ticket + 1, SeqCst);
        });
    });
}

/// A waiter of a queue lock.
struct Node {
    waits: AtomicBool,
    next: AtomicUsize,
}

/// The lock of Mellor-Crummey and Scott. Nodes are named by numbers; 0 is nobody.
struct QueueLock {
    tail: AtomicUsize,
    nodes: Vec<Node>,
}

impl QueueLock {
    fn new(threads: usize) -> QueueLock {
        let node = |_| Node { waits: AtomicBool::new(false), next: AtomicUsize::new(0) };
        QueueLock { tail: AtomicUsize::new(0), nodes: (0..=threads).map(node).collect() }
    }

    fn lock(&self, me: usize) {
        self.nodes[me].next.store(0, SeqCst);
        let before = self.tail.swap(me, SeqCst);
        if before != 0 {
            self.nodes[me].waits.store(true, SeqCst);
            self.nodes[before].next.store(me, SeqCst);
            while self.nodes[me].waits.load(SeqCst) {}
        }
    }

    fn unlock(&self, me: usize) {
        if self.nodes[me].next.load(SeqCst) == 0 {
            if self.tail.compare_exchange(me, 0, SeqCst, SeqCst).is_ok() {
                return;
            }
            while self.nodes[me].next.load(SeqCst) == 0 {}
        }
        self.nodes[self.nodes[me].next.load(SeqCst)].waits.store(false, SeqCst);
    }
}

#[test]
fn a_queue_lock_lets_one_after_the_other_in() {
    passes((26, 0), || {
        let lock = Arc::new((QueueLock::new(2), Mutex::new(0)));
        threads(2, move |me| {
            lock.0.lock(me + 1);
            *lock.1.try_lock().expect("nobody else has it") += 1;
            lock.0.unlock(me + 1);
        });
    });
}

/// Threads that poll what a queue lock guards, until the first has set it.
fn poll_queue_lock(count: usize) {
    let lock = Arc::new((QueueLock::new(count), AtomicBool::new(false)));
    threads(count, move |me| {
        loop {
            lock.0.lock(me + 1);
            let done = lock.1.load(SeqCst);
            if me == 0 {
                lock.1.store(true, SeqCst);
            }
            lock.0.unlock(me + 1);
            if done || me == 0 {
                break;
            }
        }
    });
}

#[test]
fn a_queue_lock_is_polled() {
    passes((351, 1), || poll_queue_lock(2));
}

/// The lock of Craig, Landin and Hagersten: everybody waits at the node of who came before, and takes it
/// over.
fn poll_clh(count: usize) {
    let nodes: Vec<AtomicBool> = (0..=count).map(|_| AtomicBool::new(false)).collect();
    let lock = Arc::new((AtomicUsize::new(0), nodes, AtomicBool::new(false)));
    threads(count, move |me| {
        let mut node = me + 1;
        loop {
            lock.1[node].store(true, SeqCst);
            let before = lock.0.swap(node, SeqCst);
            while lock.1[before].load(SeqCst) {}
            let done = lock.2.load(SeqCst);
            if me == 0 {
                lock.2.store(true, SeqCst);
            }
            lock.1[node].store(false, SeqCst);
            node = before;
            if done || me == 0 {
                break;
            }
        }
    });
}

#[test]
fn a_lock_whose_nodes_change_hands_lets_one_after_the_other_in() {
    passes((6, 0), || {
        let nodes: Vec<AtomicBool> = (0..=2).map(|_| AtomicBool::new(false)).collect();
        let lock = Arc::new((AtomicUsize::new(0), nodes, Mutex::new(0)));
        threads(2, move |me| {
            lock.1[me + 1].store(true, SeqCst);
            let before = lock.0.swap(me + 1, SeqCst);
            while lock.1[before].load(SeqCst) {}
            *lock.2.try_lock().expect("nobody else has it") += 1;
            lock.1[me + 1].store(false, SeqCst);
        });
    });
}

#[test]
fn a_lock_whose_nodes_change_hands_is_polled() {
    passes_alike(|| poll_clh(2));
}

#[test]
fn nobody_sets_what_is_polled() {
    let report = fails("livelock", || {
        let done = Arc::new(Mutex::new(false));
        let other = done.clone();
        let reader = thread::spawn(move || *other.lock().unwrap());
        while !*done.lock().unwrap() {}
        reader.join().unwrap();
    });
    let text = report.text();
    assert!(text.contains(" goes round and round at "), "{text}");
    assert!(text.contains("locks.rs:") && text.contains(", reading "), "{text}");
    assert!(text.contains("; nobody is left to change what it reads"), "{text}");
}

/// All of those who go round are named, and where: those who only read, and those who lock.
#[test]
fn all_that_go_round_for_ever_are_named() {
    let report = fails("livelock", || {
        let done = Arc::new(Mutex::new(false));
        let other = done.clone();
        let poller = thread::spawn(move || while !*other.lock().unwrap() {});
        while !*done.lock().unwrap() {}
        poller.join().unwrap();
    });
    let text = report.text();
    assert_eq!(text.matches("goes round and round at ").count(), 2, "{text}");
    assert!(text.contains("; nobody is left to change what they read, but they themselves"), "{text}");
    let report = fails("livelock", || {
        let (x, y) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let other = x.clone();
        let spinner = thread::spawn(move || while other.load(SeqCst) == 0 {});
        while y.load(SeqCst) == 0 {}
        spinner.join().unwrap();
    });
    let text = report.text();
    assert_eq!(text.matches("spins at ").count(), 2, "{text}");
    assert!(text.contains("forever: nobody is left to change what they read"), "{text}");
}
