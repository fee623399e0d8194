//! A stack of boxed nodes (R. K. Treiber, "Systems Programming: Coping with Parallelism", 1986).
//!
//! Who loses a race for the top may still read a node that another has popped. Therefore popped nodes are
//! retired: they are freed with the stack, when nobody can look at them any longer.
#![allow(unsafe_code)]

use std::ptr;

use mazurka::cell::UnsafeCell;
use mazurka::sync::atomic::{AtomicPtr, Ordering::SeqCst};
use mazurka::thread;

use super::{fails, passes, passes_as_by_brute_force};

type Bug = u8;
const RIGHT: Bug = 0;
/// A push loads the top and stores a new one, whatever has happened in between.
const PLAIN_PUSH: Bug = 1;

struct Node<T> {
    /// Taken by who pops the node.
    value: UnsafeCell<Option<T>>,
    /// The node below. It does not change any more once the node can be seen.
    next: *mut Node<T>,
    /// The node that was retired before this one.
    retired: UnsafeCell<*mut Node<T>>,
}

struct Stack<T, const BUG: Bug> {
    top: AtomicPtr<Node<T>>,
    retired: AtomicPtr<Node<T>>,
}

// SAFETY: a value goes from who pushes it to who pops it, and nobody else gets to see it.
unsafe impl<T: Send, const BUG: Bug> Sync for Stack<T, BUG> {}

impl<T, const BUG: Bug> Stack<T, BUG> {
    fn new() -> Self {
        Stack { top: AtomicPtr::new(ptr::null_mut()), retired: AtomicPtr::new(ptr::null_mut()) }
    }

    fn push(&self, value: T) {
        let (value, retired) = (UnsafeCell::new(Some(value)), UnsafeCell::new(ptr::null_mut()));
        let node = Box::into_raw(Box::new(Node { value, next: ptr::null_mut(), retired }));
        let mut top = self.top.load(SeqCst);
        loop {
            // SAFETY: nobody else knows of the node yet.
            unsafe { (*node).next = top };
            if BUG == PLAIN_PUSH {
                return self.top.store(node, SeqCst);
            }
            match self.top.compare_exchange(top, node, SeqCst, SeqCst) {
                Ok(_) => return,
                Err(other) => top = other,
            }
        }
    }

    fn pop(&self) -> Option<T> {
        let mut top = self.top.load(SeqCst);
        while !top.is_null() {
            // SAFETY: nodes that were once in the stack live as long as the stack.
            let node = unsafe { &*top };
            match self.top.compare_exchange(top, node.next, SeqCst, SeqCst) {
                Ok(_) => {
                    // SAFETY: who takes the node off the stack has its value.
                    let value = node.value.with_mut(|value| unsafe { (*value).take() });
                    self.retire(top);
                    return value;
                }
                Err(other) => top = other,
            }
        }
        None
    }

    fn retire(&self, node: *mut Node<T>) {
        let before = self.retired.swap(node, SeqCst);
        // SAFETY: nobody looks at this list before the stack is dropped.
        unsafe { (*node).retired.with_mut(|retired| *retired = before) };
    }
}

impl<T, const BUG: Bug> Drop for Stack<T, BUG> {
    fn drop(&mut self) {
        let mut node = *self.top.get_mut();
        while !node.is_null() {
            // SAFETY: a node in the stack is not in the list of retired ones, and nobody else has the stack.
            node = unsafe { Box::from_raw(node) }.next;
        }
        let mut node = *self.retired.get_mut();
        while !node.is_null() {
            // SAFETY: as above.
            node = unsafe { Box::from_raw(node) }.retired.into_inner();
        }
    }
}

fn sorted(values: impl IntoIterator<Item = u32>) -> Vec<u32> {
    let mut values: Vec<u32> = values.into_iter().collect();
    values.sort_unstable();
    values
}

/// Two threads push; what they pushed is there afterwards.
fn two_pushes<const BUG: Bug>() {
    let stack = Stack::<u32, BUG>::new();
    thread::scope(|scope| {
        scope.spawn(|| stack.push(1));
        scope.spawn(|| stack.push(2));
    });
    assert_eq!(sorted(std::iter::from_fn(|| stack.pop())), [1, 2]);
}

/// Two threads pop at the same time; each gets a value of its own.
fn two_pops<const BUG: Bug>() {
    let stack = Stack::<u32, BUG>::new();
    stack.push(1);
    stack.push(2);
    let popped = thread::scope(|scope| {
        [(); 2].map(|()| scope.spawn(|| stack.pop())).map(|thread| thread.join().unwrap())
    });
    assert_eq!(sorted(popped.into_iter().flatten()), [1, 2]);
}

/// Two threads push and pop.
fn both<const BUG: Bug>() {
    let stack = Stack::<u32, BUG>::new();
    let popped = thread::scope(|scope| {
        let threads = [1, 2].map(|value| {
            let stack = &stack;
            scope.spawn(move || {
                stack.push(value);
                stack.pop()
            })
        });
        threads.map(|thread| thread.join().unwrap())
    });
    assert_eq!(sorted(popped.into_iter().flatten()), [1, 2]);
}

/// Of two pushes one is over before the other begins, or one finds at its exchange that the other was there
/// before: `2 * 2`. So it is with pops, which besides retire their nodes in either order: `2 * 2 * 2`.
#[test]
fn pushes_and_pops() {
    passes_as_by_brute_force(4, two_pushes::<RIGHT>);
    passes_as_by_brute_force(8, two_pops::<RIGHT>);
    passes(80, both::<RIGHT>);
}

#[test]
fn a_push_that_loads_and_stores_loses_another() {
    fails("assertion", "left: [1]\n   right: [1, 2]", two_pushes::<PLAIN_PUSH>);
}
