//! Rounds that several threads go together.

use std::time::Duration;

use mazurka::Checker;
use mazurka::cell::UnsafeCell;
use mazurka::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use mazurka::sync::{Arc, Condvar, Mutex};

use super::locks::threads;
use super::{fails, passes, passes_alike};

/// Threads that add, look and take back until they were alone.
fn alone_at_a_counter(count: usize) {
    let counter = Arc::new(AtomicUsize::new(0));
    threads(count, move |_| {
        while counter.fetch_add(1, SeqCst) != 0 {
            counter.fetch_sub(1, SeqCst);
        }
        counter.fetch_sub(1, SeqCst);
    });
}

/// What was added to may be left in a frame, where nobody reads it, and is a part of the state then: builds have
/// been seen with 3,102 complete executions of three threads and with 24,114. The program alone has 180.
#[test]
fn two_and_three_add_look_and_take_back() {
    assert!(passes_alike(|| alone_at_a_counter(2)) >= 4);
    assert!(passes_alike(|| alone_at_a_counter(3)) >= 180);
}

const WRITER: usize = 1;
const READER: usize = 2;

/// A lock for readers and a writer, in one word: who can't have it takes back what it has added.
struct ReadWriteLock(AtomicUsize);

impl ReadWriteLock {
    fn read(&self) {
        while self.0.fetch_add(READER, SeqCst) & WRITER != 0 {
            self.0.fetch_sub(READER, SeqCst);
        }
    }

    fn write(&self) {
        while self.0.compare_exchange(0, WRITER, SeqCst, SeqCst).is_err() {}
    }
}

#[test]
fn two_readers_and_a_writer_share_a_lock() {
    passes_alike(|| {
        let lock = Arc::new((ReadWriteLock(AtomicUsize::new(0)), AtomicUsize::new(0)));
        threads(3, move |me| match me {
            0 => {
                lock.0.write();
                lock.1.store(1, SeqCst);
                lock.1.store(2, SeqCst);
                lock.0.0.fetch_sub(WRITER, SeqCst);
            }
            _ => {
                lock.0.read();
                assert_ne!(lock.1.load(SeqCst), 1);
                lock.0.0.fetch_sub(READER, SeqCst);
            }
        });
    });
}

#[test]
fn a_barrier_of_ones_own_lets_two_pass() {
    passes_alike(|| {
        let barrier = Arc::new((AtomicBool::new(false), AtomicUsize::new(0), AtomicUsize::new(0)));
        threads(2, move |_| {
            for round in 0..1 {
                // Who is not the last polls the round, under a lock.
                let lock = || while barrier.0.swap(true, SeqCst) {};
                let unlock = || barrier.0.store(false, SeqCst);
                lock();
                let came = barrier.1.load(SeqCst) + 1;
                barrier.1.store(came % 2, SeqCst);
                if came == 2 {
                    barrier.2.store(round + 1, SeqCst);
                    unlock();
                    continue;
                }
                unlock();
                loop {
                    lock();
                    let now = barrier.2.load(SeqCst);
                    unlock();
                    if now > round {
                        break;
                    }
                }
            }
        });
    });
}

/// Philosophers who take the fork to their left, try to take the other one, and else give the first back.
fn philosophers(count: usize) {
    let forks: Arc<Vec<Mutex<()>>> = Arc::new((0..count).map(|_| Mutex::new(())).collect());
    threads(count, move |me| {
        loop {
            let left = forks[me].lock().unwrap();
            if let Ok(_right) = forks[(me + 1) % count].try_lock() {
                break;
            }
            drop(left);
        }
    });
}

#[test]
fn philosophers_give_back() {
    passes_alike(|| philosophers(2));
    let report = Checker::new().run(|| philosophers(3));
    assert!(report.is_pass(), "{}", report.text());
}

#[test]
fn two_wait_with_a_timeout() {
    passes_alike(|| {
        let shared = Arc::new((Mutex::new(false), Condvar::new()));
        threads(3, move |me| {
            let mut done = shared.0.lock().unwrap();
            if me == 0 {
                *done = true;
                shared.1.notify_all();
                return;
            }
            while !*done {
                done = shared.1.wait_timeout(done, Duration::from_millis(1)).unwrap().0;
            }
        });
    });
}

#[test]
fn two_lost_pollers_of_a_mutex_are_a_livelock() {
    fails("livelock", || {
        let done = Arc::new(Mutex::new(false));
        threads(2, move |_| while !*done.lock().unwrap() {});
    });
}

/// In lockstep they give way for ever; whoever is quicker gets through.
#[test]
fn two_give_way_to_each_other() {
    passes_alike(|| {
        let wants = Arc::new([AtomicBool::new(false), AtomicBool::new(false)]);
        threads(2, move |me| {
            loop {
                wants[me].store(true, SeqCst);
                if !wants[1 - me].load(SeqCst) {
                    break;
                }
                wants[me].store(false, SeqCst);
            }
            wants[me].store(false, SeqCst);
        });
    });
}

/// Two that count up and down by turns, for ever; nobody else is there.
#[test]
fn a_token_goes_to_and_fro_for_ever() {
    fails("livelock", || {
        let token = Arc::new(AtomicUsize::new(0));
        threads(2, move |me| {
            loop {
                if token.load(SeqCst) == me {
                    token.store(1 - me, SeqCst);
                }
            }
        });
    });
}

/// Three variables and a cell.
type Shared = ([AtomicUsize; 3], Cell);

/// Writes the cell, tells whoever looks then, and passes the turn on.
#[inline(never)]
fn write_and_pass_on(([turn, flag, _], cell): &Shared, phase: usize) {
    cell.0.with_mut(|_| ());
    flag.store(phase, Release);
    flag.store(0, Relaxed);
    turn.store(1, Relaxed);
}

#[inline(never)]
fn is_turn_of(([turn, ..], _): &Shared, me: usize) -> bool {
    turn.load(Relaxed) == me
}

/// Writes and passes the turn on whenever it is its turn; in the first phase once, so that in the second nothing
/// is on the stack for the first time.
fn write_by_turns(shared: &Shared) {
    for phase in 0..2 {
        while shared.0[2].load(Relaxed) == 0 {
            // Once it is its turn again the round is closed, before the cell is written.
            if is_turn_of(shared, 0) && shared.0[2].load(Relaxed) == 0 {
                write_and_pass_on(shared, phase);
                if phase == 0 {
                    break;
                }
            }
        }
    }
}

fn pass_back_by_turns(shared: &Shared) {
    for phase in 0..2 {
        while shared.0[2].load(Relaxed) == 0 {
            if is_turn_of(shared, 1) {
                shared.0[0].store(0, Relaxed);
                if phase == 0 {
                    break;
                }
            }
        }
    }
}

/// What the first writes in the second round races with what the third reads, which knows of the first round
/// only.
#[test]
fn a_race_shows_in_the_second_joint_round() {
    fails("data-race", || {
        let shared = Arc::new(([0; 3].map(AtomicUsize::new), Cell(UnsafeCell::new(0))));
        threads(3, move |me| match me {
            0 => write_by_turns(&shared),
            1 => pass_back_by_turns(&shared),
            _ => {
                let ([_, flag, stop], cell) = &*shared;
                if flag.load(Acquire) == 1 {
                    cell.0.with(|_| ());
                }
                stop.store(1, Relaxed);
            }
        });
    });
}

/// That somebody was woken is a change, though it shows nowhere else.
#[test]
fn one_notifies_until_another_has_been_woken() {
    passes((2, 3), || {
        let shared = Arc::new((Mutex::new(()), Condvar::new(), AtomicBool::new(false)));
        threads(2, move |me| match me {
            0 => {
                while !shared.2.load(SeqCst) {
                    shared.1.notify_one();
                }
            }
            _ => {
                drop(shared.1.wait(shared.0.lock().unwrap()).unwrap());
                shared.2.store(true, SeqCst);
            }
        });
    });
}

struct Cell(UnsafeCell<usize>);

// SAFETY: it is the check's to find who accesses it together with another; what is in it is left alone.
#[allow(unsafe_code)]
unsafe impl Sync for Cell {}
