//! Memory for the processes of checks that look for leaks, at addresses that are never used again.
//!
//! A word that looks like a pointer to a block is one then: nothing that is left of earlier times can be
//! taken for it, and neither can the notes of another allocator. There is room for so much that it need not
//! be used twice; what is dead is given back to the operating system, without its addresses.
#![allow(unsafe_code)]

use std::alloc::Layout;
use std::cell::Cell;
use std::ops::Range;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The size of the region, of which little is ever used.
const SIZE: usize = 1 << (if usize::BITS == 64 { 38 } else { 24 });

/// Each thread takes so much at once. Addresses of blocks are a multiple of [`ALIGN`].
const CHUNK: usize = 1 << 20;
const ALIGN: usize = 16;

/// Where it begins; 0 if the operating system has no room for it.
static START: OnceLock<usize> = OnceLock::new();

/// How much of it has been taken.
static TAKEN: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// What is left of the chunk of this thread.
    static FREE: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
    /// Where that chunk begins.
    static FIRST: Cell<usize> = const { Cell::new(0) };
}

/// Makes sure that there is a region.
pub(super) fn prepare() {
    START.get_or_init(reserve);
}

#[cfg(target_os = "linux")]
fn reserve() -> usize {
    let (rights, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a new mapping, wherever there is room.
    let start = unsafe { libc::mmap(ptr::null_mut(), SIZE, rights, kind | libc::MAP_NORESERVE, -1, 0) };
    if start == libc::MAP_FAILED { 0 } else { start.expose_provenance() }
}

#[cfg(not(target_os = "linux"))]
fn reserve() -> usize {
    0
}

/// Where it is; empty if there is none.
pub(super) fn range() -> Range<usize> {
    match START.get() {
        Some(&start) if start != 0 => start..start + SIZE,
        _ => 0..0,
    }
}

/// New memory, which is zero; none if there is no room.
pub(super) fn allocate(layout: Layout, is_dead: impl FnOnce(Range<usize>) -> bool) -> Option<*mut u8> {
    let align = layout.align().max(ALIGN);
    // A byte behind each, so that a pointer to the end of one is not one to the next.
    let size = layout.size() + 1;
    let (start, end) = FREE.get();
    let mut block = start.next_multiple_of(align);
    if start == 0 || block + size > end {
        let room = size.checked_add(align)?.checked_next_multiple_of(CHUNK)?;
        let range = range();
        let taken = TAKEN.fetch_add(room, Ordering::Relaxed);
        let chunk = range.start.checked_add(taken).filter(|chunk| chunk + room <= range.end)?;
        let old = FIRST.replace(chunk)..end;
        if old.start != 0 && is_dead(old.clone()) {
            give_back(old);
        }
        // Where chunks begin is known here: no block is there, or it would be found to be pointed to.
        block = (chunk + 1).next_multiple_of(align);
        FREE.set((chunk, chunk + room));
    }
    FREE.set((block + size, FREE.get().1));
    Some(ptr::with_exposed_provenance_mut(block))
}

#[cfg(target_os = "linux")]
fn give_back(chunk: Range<usize>) {
    // SAFETY: a chunk of the region, in which nothing lives.
    unsafe {
        libc::madvise(ptr::with_exposed_provenance_mut(chunk.start), chunk.len(), libc::MADV_DONTNEED);
    }
}

#[cfg(not(target_os = "linux"))]
fn give_back(_chunk: Range<usize>) {}
