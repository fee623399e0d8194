//! A lock for many readers or one writer, in one word, in which who waits spins.
//!
//! A writer that waits says so, and new readers let it go first: else readers that come and go could keep it
//! out for ever.
#![allow(unsafe_code)]

use std::hint::spin_loop;

use mazurka::cell::UnsafeCell;
use mazurka::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use mazurka::thread;

use super::{fails, passes};

type Bug = u8;
const RIGHT: Bug = 0;
/// A reader looks for a writer, and then says that it reads, in two steps.
const TWO_STEPS: Bug = 1;
/// A writer that waited leaves behind that it waits.
const STILL_WAITS: Bug = 2;

/// How many read is counted in the bits above these.
const WRITER: usize = 1;
const WAITING: usize = 2;
const READER: usize = 4;

struct Lock<T, const BUG: Bug> {
    state: AtomicUsize,
    value: UnsafeCell<T>,
}

// SAFETY: who writes the value has it alone.
unsafe impl<T: Send + Sync, const BUG: Bug> Sync for Lock<T, BUG> {}

impl<T, const BUG: Bug> Lock<T, BUG> {
    fn new(value: T) -> Self {
        Lock { state: AtomicUsize::new(0), value: UnsafeCell::new(value) }
    }

    fn read<R>(&self, f: impl FnOnce(&T) -> R) -> R {
        while !self.try_read() {
            spin_loop();
        }
        // SAFETY: nobody writes as long as there are readers. With a bug this is told as a data race; the
        // function does no operations, so nobody else runs in the meantime.
        let result = self.value.with(|value| f(unsafe { &*value }));
        self.state.fetch_sub(READER, SeqCst);
        result
    }

    fn try_read(&self) -> bool {
        let state = self.state.load(SeqCst);
        if state & (WRITER | WAITING) != 0 {
            return false;
        }
        if BUG == TWO_STEPS {
            self.state.fetch_add(READER, SeqCst);
            return true;
        }
        self.state.compare_exchange(state, state + READER, SeqCst, SeqCst).is_ok()
    }

    fn write<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        while !self.try_write() {
            spin_loop();
        }
        // SAFETY: as above, there is nobody else.
        let result = self.value.with_mut(|value| f(unsafe { &mut *value }));
        self.state.fetch_sub(WRITER, SeqCst);
        result
    }

    fn try_write(&self) -> bool {
        let state = self.state.load(SeqCst);
        if state & !WAITING == 0 {
            // Others that wait will say so again.
            let waiting = if BUG == STILL_WAITS { state } else { 0 };
            return self.state.compare_exchange(state, waiting | WRITER, SeqCst, SeqCst).is_ok();
        }
        if state & WAITING == 0 {
            self.state.fetch_or(WAITING, SeqCst);
        }
        false
    }
}

/// One writes and another reads both halves of a value, which are always the same.
fn one_writes_and_one_reads<const BUG: Bug>() {
    let lock = Lock::<_, BUG>::new([0, 0]);
    thread::scope(|scope| {
        scope.spawn(|| lock.write(|halves| *halves = [1, 1]));
        scope.spawn(|| lock.read(|halves| assert_eq!(halves[0], halves[1])));
    });
    assert_eq!(lock.read(|halves| *halves), [1, 1]);
}

/// Two threads add to a value.
fn two_write<const BUG: Bug>() {
    let lock = Lock::<_, BUG>::new(0);
    thread::scope(|scope| {
        scope.spawn(|| lock.write(|value| *value += 1));
        scope.spawn(|| lock.write(|value| *value += 1));
    });
    assert_eq!(lock.read(|value| *value), 2);
}

/// The numbers depend on when a loop counts as waiting. A model of the two programs, apart from the library,
/// gives 17 and 22 if a loop waits at its third load for a value other than the last; were what was read part
/// of the state that is compared, it would be 18 and 22.
#[test]
fn readers_and_writers() {
    passes(17, one_writes_and_one_reads::<RIGHT>);
    passes(22, two_write::<RIGHT>);
}

#[test]
fn a_writer_gets_in_between_two_steps_of_a_reader() {
    fails("data-race", "nothing orders the two", one_writes_and_one_reads::<TWO_STEPS>);
}

#[test]
fn readers_wait_for_a_writer_that_has_gone() {
    fails("livelock", "state", one_writes_and_one_reads::<STILL_WAITS>);
}
