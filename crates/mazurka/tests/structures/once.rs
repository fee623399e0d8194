//! A cell that is set once, by whoever comes first; the others wait for the value.
#![allow(unsafe_code)]

use std::hint::spin_loop;

use mazurka::cell::UnsafeCell;
use mazurka::sync::Arc;
use mazurka::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use mazurka::thread;

use super::{fails, passes};

type Bug = u8;
const RIGHT: Bug = 0;
/// The cell is said to be set before the value is there.
const EARLY: Bug = 1;
/// To see that nobody sets the cell, and to say that one does it oneself, are two steps.
const TWO_STEPS: Bug = 2;

const EMPTY: usize = 0;
const RUNNING: usize = 1;
const SET: usize = 2;

struct Once<T, const BUG: Bug> {
    state: AtomicUsize,
    value: UnsafeCell<Option<T>>,
}

// SAFETY: the value is written by one thread, before the others look at it; then it is shared.
unsafe impl<T: Send + Sync, const BUG: Bug> Sync for Once<T, BUG> {}

impl<T: Clone, const BUG: Bug> Once<T, BUG> {
    fn new() -> Self {
        Once { state: AtomicUsize::new(EMPTY), value: UnsafeCell::new(None) }
    }

    /// The value, or what the function makes.
    fn get_or_init(&self, make: impl FnOnce() -> T) -> T {
        if self.is_mine() {
            let value = make();
            if BUG == EARLY {
                self.state.store(SET, SeqCst);
            }
            // SAFETY: only one thread comes here, and nobody reads the value before it is told to be set.
            // With a bug that is not so: this is told as a data race, and all that runs at a time is one of
            // the threads.
            self.value.with_mut(|cell| unsafe { *cell = Some(value) });
            if BUG != EARLY {
                self.state.store(SET, SeqCst);
            }
        }
        while self.state.load(SeqCst) != SET {
            spin_loop();
        }
        // SAFETY: nobody writes the value any more.
        self.value.with(|cell| unsafe { (*cell).clone() }).expect("it is set")
    }

    /// Whether the present thread is the one to set the cell.
    fn is_mine(&self) -> bool {
        if BUG == TWO_STEPS {
            let empty = self.state.load(SeqCst) == EMPTY;
            if empty {
                self.state.store(RUNNING, SeqCst);
            }
            return empty;
        }
        self.state.compare_exchange(EMPTY, RUNNING, SeqCst, SeqCst).is_ok()
    }
}

/// So many threads want the value, and say which they would make: all get the same.
fn all_get_the_same<const THREADS: usize, const BUG: Bug>() {
    let once = Once::<String, BUG>::new();
    let values = thread::scope(|scope| {
        let threads: [_; THREADS] = std::array::from_fn(|thread| {
            let once = &once;
            scope.spawn(move || once.get_or_init(|| thread.to_string()))
        });
        threads.map(|thread| thread.join().unwrap())
    });
    assert!(values.iter().all(|value| *value == values[0]));
}

/// Two threads want the value; it is made once.
fn it_is_made_once<const BUG: Bug>() {
    let shared = Arc::new((Once::<u32, BUG>::new(), AtomicUsize::new(0)));
    let threads = [(); 2].map(|()| {
        let shared = shared.clone();
        thread::spawn(move || {
            let (once, made) = &*shared;
            once.get_or_init(|| {
                assert_eq!(made.fetch_add(1, SeqCst), 0);
                7
            })
        })
    });
    assert_eq!(threads.map(|thread| thread.join().unwrap()), [7, 7]);
}

/// Each thread may be the first. Of each other the exchange finds the value set, or else the first, second or
/// third load does: who has read the same twice in a loop waits for another value. Four ways each, and those
/// of two threads are independent: `2 * 4`, and `3 * 4 * 4`.
#[test]
fn the_first_sets_it() {
    passes(8, it_is_made_once::<RIGHT>);
    passes(8, all_get_the_same::<2, RIGHT>);
    passes(48, all_get_the_same::<3, RIGHT>);
}

#[test]
fn said_to_be_set_too_early() {
    fails("data-race", "nothing orders the two", all_get_the_same::<2, EARLY>);
}

#[test]
fn two_set_it() {
    fails("assertion", "left: 1\n   right: 0", it_is_made_once::<TWO_STEPS>);
    fails("data-race", "nothing orders the two", all_get_the_same::<2, TWO_STEPS>);
}
