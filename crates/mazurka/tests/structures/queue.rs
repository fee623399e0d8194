//! A bounded queue from a lock and two condition variables.

use std::collections::VecDeque;

use mazurka::sync::{Arc, Condvar, Mutex, MutexGuard};
use mazurka::thread;

use super::{fails, passes, passes_as_by_brute_force};

type Bug = u8;
const RIGHT: Bug = 0;
/// Who waits for an item and who waits for room wait on the same condition variable, and only one is woken:
/// the wrong one.
const ONE_CONDVAR: Bug = 1;
/// Who is woken does not look whether there is what it waited for.
const IF: Bug = 2;

struct Queue<T, const BUG: Bug> {
    items: Mutex<VecDeque<T>>,
    capacity: usize,
    not_empty: Condvar,
    not_full: Condvar,
}

impl<T, const BUG: Bug> Queue<T, BUG> {
    fn new(capacity: usize) -> Self {
        Queue { items: Mutex::default(), capacity, not_empty: Condvar::new(), not_full: Condvar::new() }
    }

    fn not_full(&self) -> &Condvar {
        if BUG == ONE_CONDVAR { &self.not_empty } else { &self.not_full }
    }

    fn put(&self, item: T) {
        let items = self.items.lock().unwrap();
        let mut items = Self::wait(items, self.not_full(), |items| items.len() == self.capacity);
        assert_ne!(items.len(), self.capacity);
        items.push_back(item);
        self.not_empty.notify_one();
    }

    fn take(&self) -> T {
        let items = self.items.lock().unwrap();
        let mut items = Self::wait(items, &self.not_empty, VecDeque::is_empty);
        assert_ne!(items.len(), 0);
        let item = items.pop_front();
        self.not_full().notify_one();
        item.expect("there was one")
    }

    /// Waits as long as a condition holds.
    fn wait<'a>(
        mut items: MutexGuard<'a, VecDeque<T>>,
        condvar: &Condvar,
        condition: impl Fn(&VecDeque<T>) -> bool,
    ) -> MutexGuard<'a, VecDeque<T>> {
        while condition(&items) {
            items = condvar.wait(items).unwrap();
            if BUG == IF {
                break;
            }
        }
        items
    }
}

/// Two threads take what a third puts, one item each.
fn one_puts_and_two_take<const BUG: Bug>() {
    let queue = Arc::new(Queue::<u32, BUG>::new(1));
    let takers = [(); 2].map(|()| {
        let queue = queue.clone();
        thread::spawn(move || queue.take())
    });
    queue.put(1);
    queue.put(2);
    let mut taken = takers.map(|taker| taker.join().unwrap());
    taken.sort_unstable();
    assert_eq!(taken, [1, 2]);
}

/// One thread takes what another puts, in the same order.
fn one_puts_and_one_takes<const BUG: Bug>() {
    let queue = Queue::<u32, BUG>::new(1);
    thread::scope(|scope| {
        scope.spawn(|| (1..=3).for_each(|item| queue.put(item)));
        assert_eq!([(); 3].map(|()| queue.take()), [1, 2, 3]);
    });
}

#[test]
fn every_item_arrives() {
    passes(32, one_puts_and_one_takes::<RIGHT>);
    passes_as_by_brute_force(32, one_puts_and_two_take::<RIGHT>);
}

/// Two threads are too few for either bug: the only one that can be woken is the right one.
#[test]
fn with_two_threads_the_bugs_do_not_show() {
    passes(32, one_puts_and_one_takes::<ONE_CONDVAR>);
    passes(32, one_puts_and_one_takes::<IF>);
}

#[test]
fn on_one_condvar_the_wrong_thread_is_woken() {
    fails("deadlock", "not_empty", one_puts_and_two_take::<ONE_CONDVAR>);
}

#[test]
fn who_does_not_look_again_finds_nothing() {
    fails(
        "assertion",
        "assertion `left != right` failed\n    left: 0\n   right: 0",
        one_puts_and_two_take::<IF>,
    );
}
