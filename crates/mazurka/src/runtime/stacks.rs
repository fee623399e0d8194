//! The stacks of modelled processes, which are used again and again.

use std::io;
use std::sync::{Mutex, PoisonError};

use corosensei::stack::DefaultStack;

/// Stacks that are not in use.
pub(crate) struct Stacks {
    free: Vec<DefaultStack>,
    size: usize,
}

/// Stacks that earlier checks have left, with their sizes: to map memory anew would cost more than a small check.
static LEFT: Mutex<Vec<(usize, DefaultStack)>> = Mutex::new(Vec::new());

/// No more stacks than this are kept for later checks.
const MAX_LEFT: usize = 32;

/// No stack is larger than this.
const MAX_SIZE: usize = isize::MAX as usize / 2;

impl Drop for Stacks {
    fn drop(&mut self) {
        let mut left = LEFT.lock().unwrap_or_else(PoisonError::into_inner);
        let room = MAX_LEFT.saturating_sub(left.len());
        left.extend(self.free.drain(..).take(room).map(|stack| (self.size, stack)));
    }
}

impl Stacks {
    pub(crate) fn new(size: usize) -> Stacks {
        Stacks { free: Vec::new(), size }
    }

    /// The stacks, which are this one's no longer.
    pub(super) fn hand_over(&mut self) -> Stacks {
        Stacks { free: std::mem::take(&mut self.free), size: self.size }
    }

    /// The size of each.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// A stack for a process.
    pub(super) fn take(&mut self) -> io::Result<DefaultStack> {
        match self.free.pop().or_else(|| self.take_left()) {
            Some(stack) => Ok(stack),
            // Where there can't be room, `DefaultStack` would panic.
            None if self.size > MAX_SIZE => Err(io::ErrorKind::OutOfMemory.into()),
            None => DefaultStack::new(self.size),
        }
    }

    /// Takes the stack back of a process that has ended.
    pub(super) fn put_back(&mut self, stack: Option<DefaultStack>) {
        self.free.extend(stack);
    }

    #[cold]
    fn take_left(&self) -> Option<DefaultStack> {
        let mut left = LEFT.lock().unwrap_or_else(PoisonError::into_inner);
        let at = left.iter().rposition(|&(size, _)| size == self.size)?;
        Some(left.swap_remove(at).1)
    }
}
