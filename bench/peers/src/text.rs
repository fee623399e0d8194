// The programs, over the `sync` and `thread` of a crate that is called `tool` where this is included. It is a
// file and no macro, so that each operation has a line of its own, as in programs that people write.

use std::sync::Arc;

use super::tool::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use super::tool::sync::{Mutex, mpsc};
use super::tool::thread;

use crate::programs::Program;

pub fn run(program: Program) {
    match program {
        Program::StoreBuffering => store_buffering(),
        Program::LastWrite { writers } => lastwrite(writers),
        Program::FloatingRead { writers } => floating_read(writers),
        Program::FibBench { rounds } => fib_bench(rounds),
        Program::MutexCounter { threads, rounds } => mutex_counter(threads, rounds),
        Program::Mpsc { producers, messages } => channel(producers, messages),
    }
}

/// Nothing is asserted: loom reports both threads reading 0, which can't happen, and would stop there.
fn store_buffering() {
    let x = Arc::new(AtomicUsize::new(0));
    let y = Arc::new(AtomicUsize::new(0));
    let spawn = |mine: &Arc<AtomicUsize>, other: &Arc<AtomicUsize>| {
        let (mine, other) = (mine.clone(), other.clone());
        thread::spawn(move || {
            mine.store(1, SeqCst);
            other.load(SeqCst)
        })
    };
    let threads = [spawn(&x, &y), spawn(&y, &x)];
    for thread in threads {
        thread.join().unwrap();
    }
}

fn spawn_writers(x: &Arc<AtomicUsize>, writers: usize) -> Vec<thread::JoinHandle<()>> {
    let spawn = |value| {
        let x = x.clone();
        thread::spawn(move || x.store(value, SeqCst))
    };
    (1..=writers).map(spawn).collect()
}

fn lastwrite(writers: usize) {
    let x = Arc::new(AtomicUsize::new(0));
    for writer in spawn_writers(&x, writers) {
        writer.join().unwrap();
    }
    assert!(x.load(SeqCst) > 0);
}

fn floating_read(writers: usize) {
    let x = Arc::new(AtomicUsize::new(0));
    let writers = spawn_writers(&x, writers);
    let reader = thread::spawn(move || x.load(SeqCst));
    for writer in writers {
        writer.join().unwrap();
    }
    reader.join().unwrap();
}

/// The greatest value that either variable can have is the Fibonacci number of 2 + 2 * rounds.
fn fib_bench(rounds: usize) {
    let i = Arc::new(AtomicUsize::new(1));
    let j = Arc::new(AtomicUsize::new(1));
    let spawn = |sum: &Arc<AtomicUsize>, term: &Arc<AtomicUsize>| {
        let (sum, term) = (sum.clone(), term.clone());
        thread::spawn(move || {
            for _ in 0..rounds {
                let a = sum.load(SeqCst);
                let b = term.load(SeqCst);
                sum.store(a + b, SeqCst);
            }
        })
    };
    let threads = [spawn(&i, &j), spawn(&j, &i)];
    for thread in threads {
        thread.join().unwrap();
    }
    let (_, greatest) = (0..2 + 2 * rounds).fold((1, 0), |(next, this), _| (next + this, next));
    assert!(i.load(SeqCst) <= greatest && j.load(SeqCst) <= greatest);
}

fn mutex_counter(threads: usize, rounds: usize) {
    let counter = Arc::new(Mutex::new(0));
    let spawn = |_| {
        let counter = counter.clone();
        thread::spawn(move || {
            for _ in 0..rounds {
                *counter.lock().unwrap() += 1;
            }
        })
    };
    let handles: Vec<_> = (0..threads).map(spawn).collect();
    for handle in handles {
        handle.join().unwrap();
    }
    assert_eq!(*counter.lock().unwrap(), threads * rounds);
}

/// `main` counts the messages instead of waiting for the end: in loom a receiver without senders is a
/// deadlock.
fn channel(producers: usize, messages: usize) {
    let (sender, receiver) = mpsc::channel();
    let spawn = |producer| {
        let sender = sender.clone();
        thread::spawn(move || {
            for message in 0..messages {
                sender.send((producer, message)).unwrap();
            }
        })
    };
    let handles: Vec<_> = (0..producers).map(spawn).collect();
    for _ in 0..producers * messages {
        receiver.recv().unwrap();
    }
    for handle in handles {
        handle.join().unwrap();
    }
}
