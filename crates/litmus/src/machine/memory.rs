//! Shared cells: variables, the holders of locks, the queues of condition variables.
//!
//! Every write is logged with what it overwrote and with the write before it of the same cell. The log undoes
//! writes, last first, and gives the value that a cell had after any number of steps.

use crate::code::NONE;

/// A write of a cell.
#[derive(Clone, Copy, Debug)]
pub(super) struct Written {
    pub cell: u32,
    /// The step that wrote.
    step: u32,
    /// The entry of the log before this one that is of the same cell, or [`NONE`].
    before: u32,
    pub old: i64,
    pub new: i64,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Memory {
    values: Vec<i64>,
    /// For each cell its last entry in the log, or [`NONE`].
    last: Vec<u32>,
    log: Vec<Written>,
}

impl Memory {
    pub fn new(initial: &[i64]) -> Memory {
        Memory { values: initial.to_vec(), last: vec![NONE; initial.len()], log: Vec::new() }
    }

    #[inline]
    pub fn get(&self, cell: u32) -> i64 {
        self.values[cell as usize]
    }

    pub fn values(&self) -> &[i64] {
        &self.values
    }

    /// Writes a cell as part of a step.
    #[inline]
    pub fn set(&mut self, cell: u32, value: i64, step: u32) {
        let at = cell as usize;
        self.log.push(Written { cell, step, before: self.last[at], old: self.values[at], new: value });
        self.last[at] = self.log.len() as u32 - 1;
        self.values[at] = value;
    }

    /// The number of writes so far.
    #[inline]
    pub fn written(&self) -> usize {
        self.log.len()
    }

    /// Writes, by their numbers.
    pub fn writes(&self, range: std::ops::Range<usize>) -> impl DoubleEndedIterator<Item = Written> + '_ {
        self.log[range].iter().copied()
    }

    /// Undoes all but the first `written` writes.
    #[inline]
    pub fn undo(&mut self, written: usize) {
        while self.log.len() > written {
            if let Some(entry) = self.log.pop() {
                self.values[entry.cell as usize] = entry.old;
                self.last[entry.cell as usize] = entry.before;
            }
        }
    }

    /// The value of a cell after the first `depth` steps, and the step that wrote it.
    #[inline]
    pub fn at(&self, cell: u32, depth: u32) -> (i64, Option<usize>) {
        let mut value = self.values[cell as usize];
        let mut entry = self.last[cell as usize];
        while entry != NONE {
            let written = self.log[entry as usize];
            if written.step < depth {
                return (value, Some(written.step as usize));
            }
            value = written.old;
            entry = written.before;
        }
        (value, None)
    }
}
