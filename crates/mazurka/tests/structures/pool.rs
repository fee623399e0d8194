//! A pool of slots: the free ones are a stack of indices, as in allocators of fixed blocks.
//!
//! The top of the stack is an index, with a tag that is another after each change. Without the tag a slot
//! that was taken and given back looks as if nothing had happened, though the slot below it may be taken by
//! now: the ABA problem.

use mazurka::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use mazurka::thread;

use super::{fails, passes_as_by_brute_force};

type Bug = u8;
const RIGHT: Bug = 0;
/// The top has no tag.
const NO_TAG: Bug = 1;

/// The index that stands for the end of the list.
const NONE: usize = 0xff;
/// What a tag counts in.
const TAG: usize = NONE + 1;

struct Pool<const SLOTS: usize, const BUG: Bug> {
    top: AtomicUsize,
    /// By slot: the free slot below it.
    next: [AtomicUsize; SLOTS],
}

impl<const SLOTS: usize, const BUG: Bug> Pool<SLOTS, BUG> {
    /// All slots are free, and the first is on top.
    fn new() -> Self {
        let next =
            std::array::from_fn(|slot| AtomicUsize::new(if slot + 1 < SLOTS { slot + 1 } else { NONE }));
        Pool { top: AtomicUsize::new(0), next }
    }

    fn take(&self) -> Option<usize> {
        let mut top = self.top.load(SeqCst);
        loop {
            let slot = top % TAG;
            if slot == NONE {
                return None;
            }
            let next = self.next[slot].load(SeqCst);
            match self.replace(top, next) {
                Ok(_) => return Some(slot),
                Err(other) => top = other,
            }
        }
    }

    fn give_back(&self, slot: usize) {
        let mut top = self.top.load(SeqCst);
        loop {
            self.next[slot].store(top % TAG, SeqCst);
            match self.replace(top, slot) {
                Ok(_) => return,
                Err(other) => top = other,
            }
        }
    }

    fn replace(&self, top: usize, slot: usize) -> Result<usize, usize> {
        let tag = if BUG == NO_TAG { 0 } else { (top / TAG).wrapping_add(1) * TAG };
        self.top.compare_exchange(top, tag + slot, SeqCst, SeqCst)
    }
}

/// One thread takes a slot; another takes two and gives the first back. Nobody has a slot that is free, or
/// another's.
fn takes_and_gives_back<const BUG: Bug>() {
    let pool = Pool::<2, BUG>::new();
    let mut slots = thread::scope(|scope| {
        let one = scope.spawn(|| pool.take());
        let other = scope.spawn(|| {
            let (first, second) = (pool.take(), pool.take());
            first.into_iter().for_each(|slot| pool.give_back(slot));
            second
        });
        Vec::from_iter([one.join().unwrap(), other.join().unwrap()].into_iter().flatten())
    });
    slots.extend(std::iter::from_fn(|| pool.take()).take(2));
    slots.sort_unstable();
    assert_eq!(slots, [0, 1]);
}

#[test]
fn each_slot_has_one_owner() {
    passes_as_by_brute_force(16, takes_and_gives_back::<RIGHT>);
}

#[test]
fn without_a_tag_a_slot_has_two_owners() {
    fails("assertion", "left: [0, 1, 1]\n   right: [0, 1]", takes_and_gives_back::<NO_TAG>);
}
