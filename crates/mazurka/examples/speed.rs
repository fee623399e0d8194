//! How many executions of small programs a second are run: what the library itself costs, in whatever way it is
//! compiled.
//!
//! ```text
//! cargo run -p mazurka --example speed --release
//! cargo run -p mazurka --example speed --profile unoptimised
//! ```
//! The second is what a user's `cargo test` has who optimises nothing. An argument picks programs by name.

use std::time::Instant;

use mazurka::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use mazurka::sync::mpsc::channel;
use mazurka::sync::{Arc, Condvar, Mutex};
use mazurka::{Checker, thread};

/// Four threads that spin for a lock.
fn spin_lock() {
    let shared = Arc::new((AtomicBool::new(false), AtomicU64::new(0)));
    let threads = [0; 4].map(|_| {
        let shared = shared.clone();
        thread::spawn(move || {
            while shared.0.compare_exchange(false, true, SeqCst, SeqCst).is_err() {}
            shared.1.fetch_add(1, SeqCst);
            shared.0.store(false, SeqCst);
        })
    });
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

/// Two threads that add what the other has, four times each.
fn fib_bench() {
    let numbers = Arc::new([AtomicU64::new(1), AtomicU64::new(1)]);
    let threads = [0, 1].map(|own| {
        let numbers = numbers.clone();
        thread::spawn(move || {
            for _ in 0..4 {
                let sum = numbers[0].load(SeqCst) + numbers[1].load(SeqCst);
                numbers[own].store(sum, SeqCst);
            }
        })
    });
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

/// Three threads that lock two mutexes, twice each.
fn mutexes() {
    let shared = Arc::new((Mutex::new(0), Mutex::new(0)));
    let threads = [0; 3].map(|_| {
        let shared = shared.clone();
        thread::spawn(move || {
            for _ in 0..2 {
                let mut first = shared.0.lock().unwrap();
                *shared.1.lock().unwrap() += *first;
                *first += 1;
            }
        })
    });
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

/// Three threads that add to a counter, four times each: enough to be shared (`MAZURKA_JOBS=2`).
fn counter() {
    let counter = Arc::new(AtomicU64::new(0));
    let threads = [0; 3].map(|_| {
        let counter = counter.clone();
        thread::spawn(move || {
            for _ in 0..4 {
                counter.fetch_add(1, SeqCst);
            }
        })
    });
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

/// Eight threads that write a variable.
fn lastwrite() {
    let variable = Arc::new(AtomicU64::new(0));
    let threads = [1, 2, 3, 4, 5, 6, 7, 8].map(|value| {
        let variable = variable.clone();
        thread::spawn(move || variable.store(value, SeqCst))
    });
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

/// Two threads that wait for the turns that another one gives.
fn condvar() {
    let shared = Arc::new((Mutex::new(0), Condvar::new()));
    let threads = [0; 2].map(|_| {
        let shared = shared.clone();
        thread::spawn(move || {
            let turns = shared.0.lock().unwrap();
            *shared.1.wait_while(turns, |turns| *turns == 0).unwrap() -= 1;
        })
    });
    for _ in 0..2 {
        *shared.0.lock().unwrap() += 1;
        shared.1.notify_one();
    }
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

/// Three threads that send three messages each to one that receives them.
fn messages() {
    let (to, from) = channel();
    for _ in 0..3 {
        let to = to.clone();
        thread::spawn(move || (0..3).for_each(|message| to.send(message).unwrap()));
    }
    drop(to);
    assert_eq!(from.iter().sum::<i32>(), 9);
}

/// Three threads that have a look at who else has what they have.
fn handles() {
    let shared = Arc::new(1);
    let threads = [0; 3].map(|_| {
        let shared = shared.clone();
        thread::spawn(move || Arc::strong_count(&shared) + Arc::strong_count(&shared.clone()))
    });
    threads.into_iter().for_each(|thread| assert!(thread.join().unwrap() > 1));
}

fn main() {
    let asked = std::env::args().nth(1).unwrap_or_default();
    let programs: [(&str, fn()); 8] = [
        ("spin_lock", spin_lock),
        ("fib_bench", fib_bench),
        ("mutexes", mutexes),
        ("counter", counter),
        ("lastwrite", lastwrite),
        ("condvar", condvar),
        ("messages", messages),
        ("handles", handles),
    ];
    for (name, program) in programs.into_iter().filter(|program| program.0.contains(&asked)) {
        let begin = Instant::now();
        let report = Checker::new().run(program);
        let rate = (report.executions() + report.stopped()) as f64 / begin.elapsed().as_secs_f64();
        println!("{name:10} {:6} executions, {rate:8.0} a second", report.executions());
    }
}
