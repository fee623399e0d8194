//! Memory of processes in searches that look for rounds: an address follows from what its process did.
//!
//! Whether a process is where it was before is told by its memory, and pointers are a part of that. So a
//! block's address must not depend on what others allocate. Each process has memory of its own, by sizes; of
//! what is free it takes the lowest address first, so that it gets the same block again after it gave it
//! back, whatever it did in between. Who frees a block may use it again, whoever had allocated it. What is
//! free is zero.
//!
//! Memory is reserved by slabs. One in which something lives at the end of its execution is never used again:
//! somebody outside of the check may have it.
#![allow(unsafe_code)]

use std::alloc::Layout;
use std::cell::Cell;
use std::ops::Range;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use mazurka_program::ProcessId;

/// Blocks have 16 bytes, 32, and so on.
const SMALLEST: usize = 16;
const SIZES: usize = 14;

/// So much there is for the blocks of one size of one process.
const PART: usize = 1 << 18;

/// Processes of larger numbers have none.
const PROCESSES: usize = 64;
const SLAB: usize = PART * SIZES * PROCESSES;
const SLABS: usize = 128;

/// Where all slabs are; 0 if the operating system has no room for them.
static START: OnceLock<usize> = OnceLock::new();

/// Whether there ever was a slab in use.
static EVER: AtomicBool = AtomicBool::new(false);

/// The slabs that can be used.
static UNUSED: Mutex<Vec<usize>> = Mutex::new(Vec::new());

thread_local! {
    /// The arenas of the check that runs on this thread, if it has some.
    static HERE: Cell<*mut Arenas> = const { Cell::new(ptr::null_mut()) };
}

#[cfg(target_os = "linux")]
fn reserve() -> usize {
    let (rights, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a new mapping, wherever there is room.
    let start =
        unsafe { libc::mmap(ptr::null_mut(), SLAB * SLABS, rights, kind | libc::MAP_NORESERVE, -1, 0) };
    if start == libc::MAP_FAILED {
        return 0;
    }
    let start = start.expose_provenance();
    let mut unused = UNUSED.lock().unwrap_or_else(PoisonError::into_inner);
    unused.extend((0..SLABS).rev().map(|slab| start + slab * SLAB));
    start
}

#[cfg(not(target_os = "linux"))]
fn reserve() -> usize {
    0
}

/// The memory in which nothing lives, in order.
pub(super) fn unused() -> Vec<Range<usize>> {
    let slabs = UNUSED.lock().unwrap_or_else(PoisonError::into_inner);
    let mut unused: Vec<_> = slabs.iter().map(|&start| start..start + SLAB).collect();
    unused.sort_unstable_by_key(|slab| slab.start);
    unused
}

/// Whether memory may be of an arena.
#[inline]
pub(super) fn is_used() -> bool {
    EVER.load(Ordering::Relaxed)
}

/// Whether memory is of an arena.
#[inline]
pub(super) fn contains(memory: *mut u8) -> bool {
    let start = START.get().copied().unwrap_or_default();
    start != 0 && memory.addr().wrapping_sub(start) < SLAB * SLABS
}

/// What a process has.
#[derive(Default)]
struct Arena {
    /// By sizes: how much has been used, and what of that is free, the lowest address last.
    parts: [(usize, Vec<usize>); SIZES],
}

/// A block that came or went: its address, and its size before and after.
pub(super) type BlockChange = (usize, u64, u64);

/// The memory of the processes of a check.
pub(super) struct Arenas {
    slab: usize,
    arenas: Vec<Arena>,
    /// The parts that are not as they were when the execution began: process and size.
    touched: Vec<(usize, usize)>,
    /// Who allocates and frees now.
    current: usize,
    live: usize,
    /// Whether something was allocated that is not here.
    is_exceeded: bool,
    changes: Vec<BlockChange>,
}

impl Arenas {
    /// Memory for the check that runs on this thread; none if there is none.
    pub(super) fn new() -> Option<Box<Arenas>> {
        if *START.get_or_init(reserve) == 0 || !HERE.get().is_null() {
            return None;
        }
        let slab = take_slab()?;
        let mut arenas = Box::new(Arenas {
            slab,
            arenas: Vec::new(),
            touched: Vec::new(),
            current: 0,
            live: 0,
            is_exceeded: false,
            changes: Vec::new(),
        });
        EVER.store(true, Ordering::Relaxed);
        HERE.set(&raw mut *arenas);
        Some(arenas)
    }

    /// An execution begins. False if there is no memory for it.
    pub(super) fn begin(&mut self) -> bool {
        let slab = if self.live == 0 { Some(self.slab) } else { take_slab() };
        let Some(slab) = slab else { return false };
        if slab == self.slab {
            for range in self.ranges().collect::<Vec<_>>() {
                // SAFETY: memory of this slab, in which nothing lives.
                unsafe {
                    ptr::write_bytes(ptr::with_exposed_provenance_mut::<u8>(range.start), 0, range.len())
                };
            }
        }
        (self.slab, self.live, self.current, self.is_exceeded) = (slab, 0, 0, false);
        while let Some((process, size)) = self.touched.pop() {
            let (used, free) = &mut self.arenas[process].parts[size];
            *used = 0;
            free.clear();
        }
        self.changes.clear();
        true
    }

    /// Who allocates and frees from now on.
    pub(super) fn set_current(&mut self, process: ProcessId) {
        self.current = process.index();
    }

    /// Whether something was allocated that is elsewhere.
    pub(super) fn is_exceeded(&self) -> bool {
        self.is_exceeded
    }

    /// What came and went since this was asked last.
    pub(super) fn take_changes(&mut self, with: impl FnMut(BlockChange)) {
        self.changes.drain(..).for_each(with);
    }

    /// Where there is, or was, something.
    pub(super) fn ranges(&self) -> impl Iterator<Item = Range<usize>> {
        self.touched.iter().map(|&(process, size)| {
            let start = self.part(process, size);
            start..start + self.arenas[process].parts[size].0
        })
    }

    /// What the current process has of a size, which is about to change.
    fn touch(&mut self, size: usize) -> &mut (usize, Vec<usize>) {
        while self.arenas.len() <= self.current {
            self.arenas.push(Arena::default());
        }
        let part = &mut self.arenas[self.current].parts[size];
        if part.0 == 0 && part.1.is_empty() {
            self.touched.push((self.current, size));
        }
        part
    }

    fn part(&self, process: usize, size: usize) -> usize {
        self.slab + (process * SIZES + size) * PART
    }

    /// Memory for the current process, which is zero; none if there is no room.
    pub(super) fn allocate(&mut self, layout: Layout) -> Option<*mut u8> {
        let (size, bytes) = size_of_block(layout);
        if size >= SIZES || self.current >= PROCESSES {
            self.is_exceeded = true;
            return None;
        }
        let start = self.part(self.current, size);
        let (used, free) = self.touch(size);
        let block = match free.pop() {
            Some(block) => block,
            None if *used + bytes <= PART => {
                *used += bytes;
                start + *used - bytes
            }
            None => {
                self.is_exceeded = true;
                return None;
            }
        };
        self.live += 1;
        self.changes.push((block, 0, layout.size() as u64 + 1));
        Some(ptr::with_exposed_provenance_mut(block))
    }

    /// Takes a block back, if it is one of this slab.
    fn free(&mut self, block: usize, layout: Layout) {
        if block < self.slab || block >= self.slab + SLAB {
            return;
        }
        self.live -= 1;
        self.changes.push((block, layout.size() as u64 + 1, 0));
        let free = &mut self.touch(size_of_block(layout).0).1;
        match free.last() {
            Some(&lowest) if lowest < block => {
                let at = free.partition_point(|&other| other > block);
                free.insert(at, block);
            }
            _ => free.push(block),
        }
    }
}

impl Drop for Arenas {
    fn drop(&mut self) {
        HERE.set(ptr::null_mut());
        if self.begin() && self.live == 0 {
            UNUSED.lock().unwrap_or_else(PoisonError::into_inner).push(self.slab);
        }
    }
}

fn take_slab() -> Option<usize> {
    UNUSED.lock().unwrap_or_else(PoisonError::into_inner).pop()
}

/// The number of a size, and how many bytes that is.
fn size_of_block(layout: Layout) -> (usize, usize) {
    let least = layout.size() | layout.align();
    if least <= SMALLEST {
        return (0, SMALLEST);
    }
    // As often as not both are small. None is larger than half of all addresses, so there is such a power.
    let bytes = layout.size().max(layout.align()).next_power_of_two();
    (bytes.trailing_zeros() as usize - SMALLEST.trailing_zeros() as usize, bytes)
}

/// Takes memory back that is of an arena.
///
/// # Safety
/// It must be the caller's, of this layout, and not be read any more.
#[cold]
pub(super) unsafe fn free(memory: *mut u8, layout: Layout) {
    // SAFETY: the caller vouches for it.
    unsafe { ptr::write_bytes(memory, 0, layout.size()) };
    let here = HERE.try_with(Cell::get).unwrap_or(ptr::null_mut());
    // SAFETY: the arenas live as long as the pointer is there, and are used on this thread only. What they
    // allocate for themselves is the library's, and not from here, so that this is not entered again.
    if let Some(arenas) = unsafe { here.as_mut() } {
        arenas.free(memory.addr(), layout);
    }
}
