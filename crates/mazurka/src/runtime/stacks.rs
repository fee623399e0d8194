//! The stacks of modelled processes, which are used again and again.

use std::io;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use corosensei::stack::{DefaultStack, Stack};

/// Stacks that are not in use.
pub(crate) struct Stacks {
    free: Vec<DefaultStack>,
    size: usize,
    /// Larger ones, for threads that ask for that, with their sizes.
    large: Vec<(usize, DefaultStack)>,
}

/// Stacks that earlier checks have left, with their sizes: to map memory anew would cost more than a small
/// check.
static LEFT: Mutex<Vec<(usize, DefaultStack)>> = Mutex::new(Vec::new());

/// No more stacks than this are kept for later checks.
const MAX_LEFT: usize = 32;

/// No stack is larger than this.
const MAX_SIZE: usize = isize::MAX as usize / 2;

impl Drop for Stacks {
    fn drop(&mut self) {
        let mut left = LEFT.lock().unwrap_or_else(PoisonError::into_inner);
        let room = MAX_LEFT.saturating_sub(left.len());
        let usual = self.free.drain(..).map(|stack| (self.size, stack));
        left.extend(usual.chain(self.large.drain(..)).take(room));
    }
}

impl Stacks {
    pub(crate) fn new(size: usize) -> Stacks {
        Stacks { free: Vec::new(), size, large: Vec::new() }
    }

    /// The stacks, which are this one's no longer.
    pub(super) fn hand_over(&mut self) -> Stacks {
        let (free, large) = (std::mem::take(&mut self.free), std::mem::take(&mut self.large));
        Stacks { free, size: self.size, large }
    }

    /// The size of each, but for those of threads that ask for more.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// Where stacks are that nobody uses.
    pub(super) fn unused(&self) -> Vec<Range<usize>> {
        let left = LEFT.lock().unwrap_or_else(PoisonError::into_inner);
        let sized = self.large.iter().chain(left.iter()).map(|(_, stack)| stack);
        self.free.iter().chain(sized).map(|stack| stack.limit().get()..stack.base().get()).collect()
    }

    /// A stack of this size for a process.
    pub(super) fn take(&mut self, size: usize) -> io::Result<DefaultStack> {
        let free = if size == self.size { self.free.pop() } else { take_sized(&mut self.large, size) };
        match free.or_else(|| take_left(size)) {
            Some(stack) => Ok(stack),
            // Where there can't be room, `DefaultStack` would panic.
            None if size > MAX_SIZE => Err(io::ErrorKind::OutOfMemory.into()),
            None => DefaultStack::new(size),
        }
    }

    /// Takes the stack back, of this size, of a process that has ended.
    pub(super) fn put_back(&mut self, stack: Option<DefaultStack>, size: usize) {
        match stack {
            Some(stack) if size == self.size => self.free.push(stack),
            Some(stack) => self.large.push((size, stack)),
            None => {}
        }
    }
}

fn take_sized(stacks: &mut Vec<(usize, DefaultStack)>, size: usize) -> Option<DefaultStack> {
    let at = stacks.iter().rposition(|stack| stack.0 == size)?;
    Some(stacks.swap_remove(at).1)
}

#[cold]
fn take_left(size: usize) -> Option<DefaultStack> {
    take_sized(&mut LEFT.lock().unwrap_or_else(PoisonError::into_inner), size)
}
