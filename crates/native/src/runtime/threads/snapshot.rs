//! Executions as they were after some of their steps, so that not all of these have to be taken again.
//!
//! A snapshot has all that an execution has ([`Execution`]): variables, stacks, thread-local variables and
//! heaps, byte by byte, and what is known of threads, locks, loops and synchronisation. It belongs to the
//! script whose first steps led there, and is forgotten when the search goes back behind it.
//!
//! Snapshots cost time in proportion to what they copy, steps in proportion to how many are taken again. So
//! the place that the search has gone back to is saved, since it will come back to places near it; where the
//! way there was long, some places on it are saved too; and nothing where there is much to copy for few
//! steps. Variables are put back in any case, so they do not count against the first snapshot: what a program
//! does to them before its first step is not done again.

use std::ops::Range;

use mazurka_threads::lifetime::ExecutionState;

use super::runtime::{Execution, Runtime, SavedExecution};
use super::thread::Thread;

/// So many bytes are copied as fast as one step is taken again, about.
const BYTES_A_STEP: usize = 1024;
/// The beginning of an execution takes as long as so many steps, at least.
const STEPS_TO_BEGIN: u32 = 48;
/// Fewer steps are taken again.
const FEWEST: u32 = 5;
/// On a way that is longer than this, places are saved before its end.
const LONG: u32 = 24;
/// All snapshots together have no more bytes.
const MOST_BYTES: usize = 256 << 20;

/// An execution as it was after `depth` steps.
#[derive(Default)]
struct Snapshot {
    depth: u32,
    execution: SavedExecution,
}

/// The snapshots of the present script, in the order of their depths: the first `open`. The others keep their
/// memory.
#[derive(Default)]
pub(crate) struct Snapshots {
    list: Vec<Snapshot>,
    open: usize,
}

impl Snapshots {
    /// Forgets those behind a depth.
    #[inline]
    pub(crate) fn forget_behind(&mut self, depth: usize) {
        while self.open > 0 && self.list[self.open - 1].depth as usize > depth {
            self.open -= 1;
        }
    }

    /// Forgets all.
    pub(crate) fn clear(&mut self) {
        self.open = 0;
    }

    fn save(&mut self, depth: u32, execution: &Execution) {
        if self.open == self.list.len() {
            self.list.push(Snapshot::default());
        }
        let snapshot = &mut self.list[self.open];
        self.open += 1;
        snapshot.depth = depth;
        execution.save(&mut snapshot.execution);
    }
}

impl Execution {
    /// About how many bytes there are to save besides variables.
    fn size(&self) -> usize {
        let memory = |thread: &Thread| {
            thread.memory_in_use().iter().map(Range::len).sum::<usize>() + thread.buffers.rounds.size()
        };
        let threads = self.schedule.created.iter().map(|&process| memory(&self.threads[process]));
        threads.sum::<usize>() + self.heap.size() + self.races.size() + self.output.len()
    }
}

impl Runtime {
    /// Begins an execution where the last snapshot was made, or from the start.
    #[inline]
    pub(crate) fn begin_where_saved(&mut self) {
        let Snapshots { list, open } = &self.search.snapshots;
        match open.checked_sub(1) {
            Some(last) => {
                self.execution.restore(&list[last].execution);
                self.step.begin();
            }
            None => self.begin_execution(),
        }
    }

    /// How far to go on with the script before the place is worth saving, on the way to its end.
    pub(crate) fn next_stop(&self, end: u32) -> u32 {
        let depth = self.execution.schedule.depth;
        let left = end - depth;
        if self.search.options.snapshots && left > LONG { depth + left / 2 } else { end }
    }

    /// Saves the present place, between two steps, if it is worth that.
    #[inline]
    pub(crate) fn save_if_worth(&mut self) {
        let (depth, snapshots) = (self.execution.schedule.depth, &mut self.search.snapshots);
        let variables: usize = self.execution.image.written().iter().map(Range::len).sum();
        let (steps, in_any_case) = match snapshots.open.checked_sub(1) {
            Some(last) => (depth - snapshots.list[last].depth, 0),
            None => (depth + STEPS_TO_BEGIN, variables),
        };
        let worth = BYTES_A_STEP * steps as usize + in_any_case;
        let most = worth.min(MOST_BYTES / (snapshots.open + 1));
        if self.search.options.snapshots && steps >= FEWEST && variables + self.execution.size() <= most {
            debug_assert!(self.step.written.is_empty(), "a step is over when what it wrote has been noted");
            snapshots.save(depth, &self.execution);
        }
    }
}
