//! Executions as they were after some of their steps, so that not all of these have to be taken again.
//!
//! A snapshot has all that the world has of an execution: variables, stacks, thread-local variables and heaps, byte by byte, and
//! what is known of threads, locks, loops and synchronisation. It belongs to the script whose first steps led there, and is
//! forgotten when the search goes back behind it. What is saved is what [`World::begin_execution`] resets, and the two are to be
//! read together.
//!
//! Snapshots cost time in proportion to what they copy, steps in proportion to how many are taken again. So the place that the
//! search has gone back to is saved, since it will come back to places near it; where the way there was long, some places
//! on it are saved too; and nothing where there is much to copy for few steps.
#![allow(unsafe_code)]

use std::ops::Range;
use std::ptr;

use mazurka_program::{Access, Failure};

use super::objects::{ObjectId, SavedObjects};
use super::races::SavedWatch;
use super::spin::SavedSpins;
use super::thread::Thread;
use super::world::World;
use crate::runtime::memory::heap::Block;
use crate::runtime::sync::condition::Waiter;
use crate::runtime::system::exit::Handler;

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
    /// In the order of their creation; what follows `threads` keeps its memory for later.
    created: Vec<u32>,
    threads: Vec<Thread>,
    /// Of each thread its stack, its variables and its heap, and how much of the heap is allocated.
    memory: Vec<u8>,
    /// The blocks of each thread, and how many those are.
    blocks: Vec<Block>,
    many_blocks: Vec<usize>,
    variables: Vec<u8>,
    /// How many ranges of variables were saved.
    ranges: usize,
    objects: SavedObjects,
    spins: SavedSpins,
    watch: SavedWatch,
    readers: Vec<(ObjectId, u32)>,
    waiters: Vec<Waiter>,
    output: Vec<u8>,
    failures: Vec<Failure>,
    at_exit: Vec<Handler>,
    keys: Vec<Option<usize>>,
    touched: Vec<Access>,
    alone: bool,
    assumed: bool,
    over: bool,
}

/// The snapshots of the present script, in the order of their depths: the first `open`. The others keep their memory.
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
}

impl World {
    /// Begins an execution where the last snapshot was made, or from the start.
    #[inline]
    pub(crate) fn begin_where_saved(&mut self) {
        let snapshots = std::mem::take(&mut self.snapshots);
        match snapshots.open.checked_sub(1) {
            Some(last) => self.put_back(&snapshots.list[last]),
            None => self.begin_execution(),
        }
        self.snapshots = snapshots;
    }

    /// How far to go on with the script before the place is worth saving, on the way to its end.
    pub(crate) fn next_stop(&self, end: u32) -> u32 {
        let left = end - self.depth;
        if self.options.snapshots && left > LONG { self.depth + left / 2 } else { end }
    }

    /// Saves the present place, between two steps, if it is worth that.
    #[inline]
    pub(crate) fn save_if_worth(&mut self) {
        let before = self.snapshots.open.checked_sub(1).map(|last| self.snapshots.list[last].depth);
        let steps = match before {
            Some(depth) => self.depth - depth,
            None => self.depth + STEPS_TO_BEGIN,
        };
        if self.options.snapshots
            && steps >= FEWEST
            && self.size() <= (BYTES_A_STEP * steps as usize).min(MOST_BYTES / (self.snapshots.open + 1))
        {
            self.save();
        }
    }

    /// About how many bytes there are to save.
    fn size(&self) -> usize {
        let variables: usize = self.image.written().iter().map(Range::len).sum();
        let threads = self.created.iter().map(|&thread| {
            let ranges = self.memory_of(self.thread(thread));
            ranges.iter().map(Range::len).sum::<usize>() + size_of_val(self.blocks.of_thread(thread as usize))
        });
        variables + threads.sum::<usize>() + self.watch.size() + self.output.len()
    }

    /// Where a thread has its stack, its variables and its heap.
    fn memory_of(&self, thread: &Thread) -> [Range<usize>; 3] {
        [thread.stack_in_use(), self.locals_of(thread), thread.slot.heap..thread.heap]
    }

    fn save(&mut self) {
        let mut snapshots = std::mem::take(&mut self.snapshots);
        if snapshots.open == snapshots.list.len() {
            snapshots.list.push(Snapshot::default());
        }
        self.save_to(&mut snapshots.list[snapshots.open]);
        snapshots.open += 1;
        self.snapshots = snapshots;
    }

    fn save_to(&mut self, to: &mut Snapshot) {
        to.depth = self.depth;
        (to.alone, to.assumed, to.over) = (self.alone, self.assumed, self.over);
        to.created.clone_from(&self.created);
        self.save_threads(to);
        to.variables.clear();
        to.ranges = self.image.save(&mut to.variables);
        self.objects.save(&mut to.objects);
        if self.spins.any {
            self.spins.save(&mut to.spins);
        }
        if self.watch.enabled {
            self.watch.save(&mut to.watch);
        }
        to.readers.clone_from(&self.readers);
        to.waiters.clone_from(&self.waiters);
        to.output.clone_from(&self.output);
        to.failures.clone_from(&self.failures);
        to.at_exit.clone_from(&self.at_exit);
        to.keys.clone_from(&self.keys);
        to.touched.clone_from(&self.touched);
    }

    fn save_threads(&mut self, to: &mut Snapshot) {
        to.memory.clear();
        to.blocks.clear();
        to.many_blocks.clear();
        for at in 0..self.created.len() {
            let thread = &self.threads[self.created[at] as usize];
            if at == to.threads.len() {
                to.threads.push(Thread::new(thread.slot, [thread.end, thread.wake, thread.handle]));
            }
            to.threads[at].copy_from(thread);
            for range in self.memory_of(thread) {
                // SAFETY: these are parts of the slot of a thread that was created, which is open.
                to.memory.extend_from_slice(unsafe {
                    std::slice::from_raw_parts(ptr::with_exposed_provenance(range.start), range.len())
                });
            }
            let (heap, used) = (thread.slot.heap, thread.heap - thread.slot.heap);
            to.memory.extend_from_slice(self.granules.range(heap - self.heap_start, used));
            let blocks = self.blocks.of_thread(self.created[at] as usize);
            to.blocks.extend_from_slice(blocks);
            to.many_blocks.push(blocks.len());
        }
    }

    /// Begins an execution that is where another was when it was saved.
    fn put_back(&mut self, from: &Snapshot) {
        for at in 0..self.created.len() {
            let thread = self.created[at] as usize;
            self.clear_heap(thread);
            // What it had come to is not finished, but forgotten.
            self.threads[thread].reset();
        }
        self.starting.clear();
        (self.depth, self.alone) = (from.depth, from.alone);
        (self.assumed, self.over, self.changed) = (from.assumed, from.over, false);
        self.created.clone_from(&from.created);
        self.put_threads_back(from);
        self.image.put_back(from.ranges, &from.variables);
        self.objects.put_back(&from.objects);
        if self.spins.any {
            self.spins.put_back(&from.spins);
        }
        if self.watch.enabled {
            self.watch.put_back(&from.watch);
        }
        self.readers.clone_from(&from.readers);
        self.waiters.clone_from(&from.waiters);
        self.output.clone_from(&from.output);
        self.failures.clone_from(&from.failures);
        self.at_exit.clone_from(&from.at_exit);
        self.keys.clone_from(&from.keys);
        self.touched.clone_from(&from.touched);
        self.label.clear();
    }

    fn put_threads_back(&mut self, from: &Snapshot) {
        let (mut memory, mut blocks) = (&from.memory[..], &from.blocks[..]);
        let mut take = |len: usize| {
            let (part, rest) = memory.split_at(len);
            memory = rest;
            part
        };
        for (at, &thread) in from.created.iter().enumerate() {
            let saved = &from.threads[at];
            self.threads[thread as usize].copy_from(saved);
            for range in self.memory_of(saved) {
                let bytes = take(range.len());
                // SAFETY: as when it was saved; nobody runs on the stack.
                unsafe {
                    let to = ptr::with_exposed_provenance_mut::<u8>(range.start);
                    ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len());
                }
            }
            let (heap, used) = (saved.slot.heap, saved.heap - saved.slot.heap);
            let granules = self.granules.range(heap - self.heap_start, used);
            granules.copy_from_slice(take(granules.len()));
            if from.many_blocks[at] > 0 {
                let (own, rest) = blocks.split_at(from.many_blocks[at]);
                blocks = rest;
                self.blocks.put_back(thread as usize, own);
            }
        }
    }
}
