//! The memory that lives, while a check looks for leaks: what its thread of the operating system has
//! allocated since.
//!
//! One table for all checks, since memory may be freed by any thread. Memory that is freed is wiped from the
//! first such check on: what looks like a pointer there would hide leaks. As long as there was none, all this
//! costs each allocation and each freeing a look at a flag.
#![allow(unsafe_code)]

use std::alloc::Layout;
use std::cell::Cell;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use mazurka_program::ProcessId;
use rustc_hash::{FxBuildHasher, FxHashMap};

use super::region;

/// Whether there ever was a check that looks for leaks.
static EVER: AtomicBool = AtomicBool::new(false);

/// How many worlds look for leaks.
static WATCHERS: AtomicUsize = AtomicUsize::new(0);

static BLOCKS: Mutex<Table> = Mutex::new(Table { blocks: HashMap::with_hasher(FxBuildHasher), born: 0 });

thread_local! {
    /// How many worlds on this thread look for leaks.
    static HERE: Cell<u32> = const { Cell::new(0) };
    /// Whether this thread is at the table, which allocates for itself.
    static BUSY: Cell<bool> = const { Cell::new(false) };
    /// Its address tells the threads apart that live at one time.
    static THREAD: u8 = const { 0 };
    /// Where the frames of this thread begin that are not those of its checks.
    static BASE: Cell<usize> = const { Cell::new(0) };
}

/// From here on this thread runs checks: what is in the frames of what is called from here is the library's.
pub(crate) fn begin_thread() {
    let here = 0_u8;
    BASE.set(&raw const here as usize);
}

/// Where the frames begin that are not those of checks.
pub(super) fn base_of_stack() -> usize {
    BASE.get()
}

struct Table {
    /// By the complements of their addresses: who looks for pointers must not find them here.
    blocks: FxHashMap<usize, Record>,
    /// How many there ever were.
    born: u64,
}

struct Record {
    size: usize,
    thread: usize,
    birth: u64,
    maker: Option<Maker>,
}

/// The process that allocated something by its own code, and after how many of its steps.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Maker {
    pub(super) process: ProcessId,
    pub(super) step: u32,
}

/// Memory that lives.
#[derive(Clone, Copy)]
pub(super) struct Block {
    pub(super) start: usize,
    pub(super) size: usize,
    /// Blocks are numbered as they are allocated.
    pub(super) birth: u64,
    /// None if the library allocated it for itself.
    pub(super) maker: Option<Maker>,
}

fn this_thread() -> usize {
    THREAD.with(|thread| std::ptr::from_ref(thread) as usize)
}

/// Does something with the table; nothing if the table itself allocates.
fn with_table<T>(f: impl FnOnce(&mut Table) -> T) -> Option<T> {
    if BUSY.replace(true) {
        return None;
    }
    let result = f(&mut BLOCKS.lock().unwrap_or_else(PoisonError::into_inner));
    BUSY.set(false);
    Some(result)
}

/// As long as it lives, what this thread allocates is known.
pub(super) struct Watch {
    thread: usize,
}

impl Watch {
    pub(super) fn begin() -> Watch {
        region::prepare();
        EVER.store(true, Ordering::Relaxed);
        WATCHERS.fetch_add(1, Ordering::Relaxed);
        HERE.set(HERE.get() + 1);
        Watch { thread: this_thread() }
    }

    /// The number of the next block.
    pub(super) fn next_birth() -> u64 {
        with_table(|table| table.born).unwrap_or_default()
    }

    /// How many blocks of this thread live.
    pub(super) fn count(&self) -> usize {
        with_table(|table| table.blocks.values().filter(|record| record.thread == self.thread).count())
            .unwrap_or_default()
    }

    /// Whether something lives that processes allocated, from a number on.
    pub(super) fn any_since(&self, birth: u64) -> bool {
        let own =
            |record: &Record| record.birth >= birth && record.maker.is_some() && record.thread == self.thread;
        with_table(|table| table.blocks.values().any(own)).unwrap_or_default()
    }

    /// The blocks of this thread that live, in the order of addresses: as many as there is room for.
    pub(super) fn fill(&self, blocks: &mut Vec<Block>) {
        let room = blocks.capacity();
        with_table(|table| {
            let own = table.blocks.iter().filter(|(_, record)| record.thread == self.thread);
            let all = own.map(|(&hidden, record)| Block {
                start: !hidden,
                size: record.size,
                birth: record.birth,
                maker: record.maker,
            });
            blocks.extend(all.take(room));
        });
        blocks.sort_unstable_by_key(|block| block.start);
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // A runtime is dropped where it was made.
        let left = HERE.get().saturating_sub(1);
        HERE.set(left);
        if left == 0 {
            with_table(|table| table.blocks.retain(|_, record| record.thread != self.thread));
        }
        WATCHERS.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Whether anybody looks for leaks, or did.
#[inline]
pub(super) fn is_watched() -> bool {
    EVER.load(Ordering::Relaxed)
}

/// Memory for a process of a check that looks for leaks, which is zero; none if there is no room, or it is
/// not for one.
#[cold]
pub(super) fn allocate(layout: Layout, maker: Option<Maker>) -> Option<*mut u8> {
    if HERE.get() == 0 || maker.is_none() || BUSY.get() {
        return None;
    }
    let is_dead = |chunk: Range<usize>| {
        with_table(|table| !table.blocks.keys().any(|&hidden| chunk.contains(&!hidden))).unwrap_or(false)
    };
    let memory = region::allocate(layout, is_dead)?;
    born(memory, layout.size(), maker);
    Some(memory)
}

/// Memory has been allocated: by a process, or by the library for itself.
#[cold]
pub(super) fn born(memory: *mut u8, size: usize, maker: Option<Maker>) {
    if HERE.get() == 0 || memory.is_null() {
        return;
    }
    let thread = this_thread();
    with_table(|table| {
        let birth = table.born;
        table.born += 1;
        table.blocks.insert(!(memory as usize), Record { size, thread, birth, maker });
    });
}

/// Memory is about to be freed: it is wiped. Tells whether it is of the region, and so not to be freed.
///
/// # Safety
/// It must be the caller's, of this size, and not be read any more.
#[cold]
pub(super) unsafe fn dies(memory: *mut u8, size: usize) -> bool {
    if WATCHERS.load(Ordering::Relaxed) > 0 {
        with_table(|table| table.blocks.remove(&!(memory as usize)));
    }
    // SAFETY: the caller vouches for it.
    unsafe { std::ptr::write_bytes(memory, 0, size) };
    // Or the compiler may find that nobody reads it.
    std::hint::black_box(memory);
    region::range().contains(&(memory as usize))
}
