//! An allocator that remembers what a check allocates, so that objects on the heap have names.
//!
//! It adds a look at a thread-local variable to each allocation, and within a check an entry in a log; where
//! memory comes from and when it is given back is the affair of the allocator that it wraps. The log notes
//! nothing when memory is freed: the last entry that contains the address of a living object is that of the
//! object's allocation. Where a check looks for leaks, what lives is kept apart from it, in [`heap`], and the
//! memory of its processes is from elsewhere.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::ops::Range;
use std::ptr;

use mazurka_program::ProcessId;
use mazurka_threads::lifetime::Reset;

use super::arena::{self, Arenas};
use super::heap::{self, Maker};
use super::identity::Base;
use super::region;
use super::spin::leave_nothing;

/// A global allocator that wraps another and remembers what checks allocate.
///
/// With the feature `allocator` (a default one) it is installed around [`System`]. If your tests need an
/// allocator of their own, turn the feature off and wrap it:
/// ```ignore
/// #[global_allocator]
/// static ALLOCATOR: mazurka::Allocator<MyAllocator> = mazurka::Allocator::new(MyAllocator);
/// ```
pub struct Allocator<A = System> {
    inner: A,
}

impl<A> Allocator<A> {
    /// Wraps an allocator.
    pub const fn new(inner: A) -> Allocator<A> {
        Allocator { inner }
    }
}

#[cfg(feature = "allocator")]
#[global_allocator]
static ALLOCATOR: Allocator = Allocator::new(System);

// SAFETY: all memory is from and to the wrapped allocator, unchanged; or from the region of `heap`, which
// knows it by its address.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Allocator<A> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract, which is the same.
        noted(layout, || unsafe { self.inner.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        noted(layout, || unsafe { self.inner.alloc_zeroed(layout) })
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        if arena::is_used() && arena::contains(memory) {
            // SAFETY: as above.
            return unsafe { give_back(memory, layout) };
        }
        // SAFETY: the caller gives the memory away.
        if heap::is_watched() && unsafe { heap::dies(memory, layout.size()) } {
            return;
        }
        // SAFETY: as above.
        unsafe { self.inner.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if heap::is_watched() || (arena::is_used() && arena::contains(memory)) {
            // SAFETY: as above.
            return unsafe { self.move_to_new(memory, layout, size) };
        }
        // SAFETY: as above.
        let memory = unsafe { self.inner.realloc(memory, layout, size) };
        note(super::log(), memory, size);
        memory
    }
}

impl<A: GlobalAlloc> Allocator<A> {
    /// Moves what is in memory to other memory of another size, so that nothing is left behind where it was.
    ///
    /// # Safety
    /// As for [`GlobalAlloc::realloc`].
    #[cold]
    unsafe fn move_to_new(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller vouches for the size; the new memory is another, and has room for what is
        // copied.
        unsafe {
            let new = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
            if !new.is_null() {
                ptr::copy_nonoverlapping(memory, new, layout.size().min(size));
                self.dealloc(memory, layout);
            }
            new
        }
    }
}

/// Allocates, by the function given or for who looks for rounds or for leaks, and notes it.
#[inline]
fn noted(layout: Layout, allocate: impl FnOnce() -> *mut u8) -> *mut u8 {
    let log = super::log();
    // Who looks for leaks looks for no rounds; but others may, beside it or after.
    let memory = from_arena(log, layout).unwrap_or_else(|| match heap::is_watched() {
        true => watched(log, layout, allocate),
        false => allocate(),
    });
    note(log, memory, layout.size());
    memory
}

/// Memory from where that of the process is which runs here, if its search looks for rounds.
#[inline]
fn from_arena(log: Option<*mut Log>, layout: Layout) -> Option<*mut u8> {
    let log = match log {
        // SAFETY: as in `note`.
        Some(log) if unsafe { !(*log).arenas.is_null() && !(*log).paused } => log,
        _ => return None,
    };
    // SAFETY: as in `note`; what is allocated meanwhile is the library's, so this is not entered again. The
    // arenas are there as long as the log says so.
    let memory = unsafe {
        (*log).paused = true;
        let memory = (*(*log).arenas).allocate(layout);
        (*log).paused = false;
        memory
    };
    leave_nothing();
    memory
}

/// Takes memory back that is of an arena.
///
/// # Safety
/// As for [`arena::free`].
#[cold]
unsafe fn give_back(memory: *mut u8, layout: Layout) {
    let Some(log) = super::log() else {
        // SAFETY: the caller vouches for it.
        return unsafe { arena::free(memory, layout) };
    };
    // SAFETY: as in `from_arena`; the caller vouches for the memory.
    unsafe {
        let before = (*log).pause(true);
        arena::free(memory, layout);
        (*log).pause(before);
    }
    leave_nothing();
}

#[cold]
fn watched(log: Option<*mut Log>, layout: Layout, allocate: impl FnOnce() -> *mut u8) -> *mut u8 {
    // SAFETY: as in `note`.
    let maker = log.and_then(|log| unsafe { (*log).maker() });
    heap::allocate(layout, maker).unwrap_or_else(|| {
        let memory = allocate();
        heap::born(memory, layout.size(), None);
        memory
    })
}

#[inline]
fn note(log: Option<*mut Log>, memory: *mut u8, size: usize) {
    if let Some(log) = log {
        // SAFETY: a modelled process runs on this thread, and nobody else has a reference to the log then: it
        // is used by the scheduler, which is not running, and here. `push` does not allocate through the
        // global allocator, so that it is not entered again.
        unsafe { (*log).push(memory as usize, size) };
    }
}

#[derive(Clone, Copy)]
struct Entry {
    /// The complement of its address: who looks for pointers to leaked memory must not find them here.
    hidden: usize,
    size: usize,
    process: ProcessId,
    step: u32,
}

/// What was allocated by the processes of an execution, in order.
pub(crate) struct Log {
    /// Grown by hand from the system's allocator.
    entries: *mut Entry,
    len: usize,
    capacity: usize,
    process: ProcessId,
    step: u32,
    paused: bool,
    /// Where the memory of processes is, if its search looks for rounds.
    pub(super) arenas: *mut Arenas,
}

/// Forgets everything.
impl Reset for Log {
    fn reset(&mut self) {
        self.len = 0;
    }
}

impl Log {
    pub(crate) const fn new() -> Log {
        Log {
            entries: ptr::null_mut(),
            len: 0,
            capacity: 0,
            process: ProcessId(0),
            step: 0,
            paused: false,
            arenas: ptr::null_mut(),
        }
    }

    /// Who allocates from now on.
    #[inline]
    pub(crate) fn set_process(&mut self, process: ProcessId, step: u32) {
        self.process = process;
        self.step = step;
        // SAFETY: the arenas are there as long as the log says so, and nobody uses them now.
        if let Some(arenas) = unsafe { self.arenas.as_mut() } {
            arenas.set_current(process);
        }
    }

    /// Whether nothing is noted from now on. Gives whether it was so before.
    #[inline(always)]
    pub(super) fn pause(&mut self, paused: bool) -> bool {
        let before = self.paused;
        self.paused = paused;
        before
    }

    /// Who allocates now, unless nothing is noted.
    fn maker(&self) -> Option<Maker> {
        (!self.paused).then_some(Maker { process: self.process, step: self.step })
    }

    fn push(&mut self, start: usize, size: usize) {
        if self.paused {
            return;
        }
        if self.len == self.capacity && !self.grow() {
            return;
        }
        let entry = Entry { hidden: !start, size, process: self.process, step: self.step };
        // SAFETY: `len < capacity`, and `entries` has room for `capacity` entries.
        unsafe { self.entries.add(self.len).write(entry) };
        self.len += 1;
    }

    fn grow(&mut self) -> bool {
        let capacity = (self.capacity * 2).max(256);
        let Ok(layout) = Layout::array::<Entry>(capacity) else { return false };
        // SAFETY: the layout has a size; the entries come from the same allocator with the layout of
        // `capacity`.
        let entries = unsafe {
            match self.layout() {
                None => System.alloc(layout),
                Some(old) => System.realloc(self.entries.cast(), old, layout.size()),
            }
        };
        if entries.is_null() {
            return false;
        }
        (self.entries, self.capacity) = (entries.cast(), capacity);
        true
    }

    /// The layout of the entries, if there are any.
    fn layout(&self) -> Option<Layout> {
        Layout::array::<Entry>(self.capacity).ok().filter(|_| self.capacity > 0)
    }

    fn entries(&self) -> &[Entry] {
        if self.entries.is_null() {
            return &[];
        }
        // SAFETY: the first `len` entries were written.
        unsafe { std::slice::from_raw_parts(self.entries, self.len) }
    }

    /// What was allocated in the region of those who look for leaks: it stays there, also when it is freed.
    pub(super) fn blocks_of_region(&self) -> impl Iterator<Item = Range<usize>> {
        let region = region::range();
        // Most often there is none.
        let entries = if region.is_empty() { &[] } else { self.entries() };
        let is_there = move |entry: &&Entry| region.contains(&!entry.hidden);
        entries.iter().filter(is_there).map(|entry| !entry.hidden..!entry.hidden + entry.size)
    }

    /// What an object at an address is named by, if it is in memory that was allocated in this execution.
    pub(crate) fn name(&self, address: usize) -> Option<Base> {
        let entries = self.entries();
        let at = entries.iter().rposition(|entry| address.wrapping_sub(!entry.hidden) < entry.size)?;
        let Entry { hidden, size, process, step } = entries[at];
        let alike = |entry: &&Entry| entry.process == process && entry.step == step && entry.size == size;
        let ordinal = entries[..at].iter().rev().filter(alike).count() as u32;
        Some(Base::Heap { process, step, size, ordinal, offset: address - !hidden })
    }
}

impl Default for Log {
    fn default() -> Log {
        Log::new()
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        if let Some(layout) = self.layout() {
            // SAFETY: the entries came from this allocator with this layout.
            unsafe { System.dealloc(self.entries.cast(), layout) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_allocation_at_an_address_names_it() {
        let mut log = Log::new();
        let heap = |process, step, size, ordinal, offset| {
            Some(Base::Heap { process: ProcessId(process), step, size, ordinal, offset })
        };
        log.set_process(ProcessId(1), 4);
        (0..1000).for_each(|i| log.push(1000 + i * 16, 16));
        log.set_process(ProcessId(2), 0);
        log.push(1016, 8);
        log.push(1024, 8);
        assert_eq!(log.name(999), None);
        assert_eq!(log.name(1000), heap(1, 4, 16, 0, 0));
        assert_eq!(log.name(1023), heap(2, 0, 8, 0, 7));
        assert_eq!(log.name(1031), heap(2, 0, 8, 1, 7));
        assert_eq!(log.name(1000 + 999 * 16 + 15), heap(1, 4, 16, 999, 15));
        assert_eq!(log.name(1000 + 1000 * 16), None);
        log.reset();
        assert_eq!(log.name(1000), None);
    }
}
