//! Programs that fail, as people write them. The reports beside this file name its lines.

use mazurka::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use mazurka::sync::{Arc, Condvar, Mutex, mpsc};
use mazurka::thread;

pub fn lost_update() {
    let counter = Arc::new(AtomicUsize::new(0));
    let threads: Vec<_> = (0..2)
        .map(|_| {
            let counter = counter.clone();
            thread::spawn(move || {
                let seen = counter.load(Ordering::SeqCst);
                counter.store(seen + 1, Ordering::SeqCst);
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(counter.load(Ordering::SeqCst), 2, "an increment was lost");
}

struct Account {
    balance: Mutex<i64>,
}

fn transfer(from: &Account, to: &Account, amount: i64) {
    let mut from = from.balance.lock().unwrap();
    let mut to = to.balance.lock().unwrap();
    *from -= amount;
    *to += amount;
}

pub fn opposite_transfers() {
    let alice = Arc::new(Account { balance: Mutex::new(100) });
    let bob = Arc::new(Account { balance: Mutex::new(100) });
    let (from, to) = (alice.clone(), bob.clone());
    let there = thread::spawn(move || transfer(&from, &to, 10));
    let back = thread::spawn(move || transfer(&bob, &alice, 20));
    there.join().unwrap();
    back.join().unwrap();
}

pub fn assertion_in_a_child() {
    let ready = Arc::new(AtomicBool::new(false));
    let data = Arc::new(AtomicUsize::new(0));
    let reader = {
        let (ready, data) = (ready.clone(), data.clone());
        thread::Builder::new().name("reader".to_owned()).spawn(move || {
            if ready.load(Ordering::SeqCst) {
                assert_ne!(data.load(Ordering::SeqCst), 0);
            }
        })
    };
    ready.store(true, Ordering::SeqCst);
    data.store(42, Ordering::SeqCst);
    reader.unwrap().join().unwrap();
}

pub fn unwrap_of_a_join() {
    let flag = Arc::new(AtomicBool::new(false));
    let other = flag.clone();
    let setter = thread::spawn(move || {
        if other.swap(true, Ordering::SeqCst) {
            panic!("the flag was set already");
        }
    });
    flag.store(true, Ordering::SeqCst);
    setter.join().unwrap();
}

pub fn poisoned_lock() {
    let total = Arc::new(Mutex::new(0_u32));
    let other = total.clone();
    let worker = thread::spawn(move || {
        let mut total = other.lock().unwrap();
        *total = total.checked_sub(1).expect("the total is never negative");
    });
    *total.lock().unwrap() += 1;
    let _ = worker.join();
    assert_eq!(*total.lock().unwrap(), 0);
}

pub fn left_behind() {
    let started = Arc::new(Mutex::new(false));
    let other = started.clone();
    let waiter = thread::spawn(move || {
        while !*other.lock().unwrap() {
            thread::park();
        }
    });
    *started.lock().unwrap() = true;
    drop(waiter);
}

pub fn philosophers() {
    let forks: Vec<_> = (0..3).map(|_| Arc::new(Mutex::new(()))).collect();
    let mut philosophers = Vec::new();
    for seat in 0..3 {
        let (left, right) = (forks[seat].clone(), forks[(seat + 1) % 3].clone());
        let philosopher = thread::Builder::new().name(format!("philosopher {seat}"));
        philosophers.push(philosopher.spawn(move || {
            let _left = left.lock().unwrap();
            let _right = right.lock().unwrap();
        }));
    }
    for philosopher in philosophers {
        philosopher.unwrap().join().unwrap();
    }
}

pub fn relaxed() {
    let x = AtomicUsize::new(0);
    x.fetch_add(1, Ordering::Relaxed);
    assert_eq!(x.load(Ordering::Relaxed), 1);
}

pub fn lock_of_std() {
    let lock = Arc::new(std::sync::Mutex::new(()));
    let step = Arc::new(AtomicUsize::new(0));
    let holder = {
        let (lock, step) = (lock.clone(), step.clone());
        thread::spawn(move || {
            let _held = lock.lock();
            step.store(1, Ordering::SeqCst);
        })
    };
    step.load(Ordering::SeqCst);
    drop(lock.lock());
    holder.join().unwrap();
}

pub fn check_in_a_check() {
    let worker = thread::spawn(|| mazurka::check(|| {}));
    worker.join().unwrap();
}

pub fn two_failures() {
    let turn = Arc::new(AtomicUsize::new(0));
    let other = turn.clone();
    let first =
        thread::spawn(move || assert_eq!(other.fetch_add(1, Ordering::SeqCst), 0, "the other was first"));
    assert_eq!(turn.fetch_add(1, Ordering::SeqCst), 1, "main was first");
    first.join().unwrap();
}

pub fn two_of_a_name() {
    struct Queue {
        head: AtomicUsize,
        slots: [Mutex<u32>; 2],
    }
    let queue = Queue { head: AtomicUsize::new(0), slots: [Mutex::new(7), Mutex::new(8)] };
    thread::scope(|scope| {
        for _ in 0..2 {
            let taker = scope.spawn(|| {
                let head = queue.head.load(Ordering::SeqCst);
                queue.head.store(head + 1, Ordering::SeqCst);
                std::mem::take(&mut *queue.slots[head].lock().unwrap())
            });
            drop(taker);
        }
    });
    assert_eq!(queue.slots.map(|slot| slot.into_inner().unwrap()), [0, 0]);
}

pub fn many_steps() {
    let x = Arc::new(AtomicUsize::new(0));
    let other = x.clone();
    let adder = thread::spawn(move || {
        for _ in 0..5 {
            other.fetch_add(1, Ordering::SeqCst);
        }
    });
    for _ in 0..60 {
        x.fetch_add(1, Ordering::SeqCst);
    }
    adder.join().unwrap();
    assert_eq!(x.load(Ordering::SeqCst), 66);
}

pub fn two_deposits() {
    let account = Arc::new(Account { balance: Mutex::new(100) });
    let other = account.clone();
    let adder = thread::spawn(move || *other.balance.lock().unwrap() += 1);
    *account.balance.lock().unwrap() += 1;
    adder.join().unwrap();
}

pub fn lost_wake_up() {
    let pair = Arc::new((Mutex::new(false), Condvar::new()));
    let other = pair.clone();
    let notifier = thread::spawn(move || {
        *other.0.lock().unwrap() = true;
        other.1.notify_one();
    });
    let seen = *pair.0.lock().unwrap();
    if !seen {
        drop(pair.1.wait(pair.0.lock().unwrap()));
    }
    notifier.join().unwrap();
}

pub fn spinning() {
    let flag = Arc::new(AtomicBool::new(false));
    let other = flag.clone();
    let spinner = thread::spawn(move || {
        while !other.load(Ordering::SeqCst) {
            std::hint::spin_loop();
        }
    });
    spinner.join().unwrap();
}

pub fn two_senders() {
    let (sender, receiver) = mpsc::channel();
    let second = sender.clone();
    let producer = thread::spawn(move || sender.send(1).is_ok());
    second.send(2).unwrap();
    assert_eq!(receiver.recv(), Ok(1));
    producer.join().unwrap();
}
