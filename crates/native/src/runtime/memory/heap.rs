//! The heap: `malloc` and its kin, and whether accesses stay within what was allocated.
//!
//! Each thread allocates from its own slot, upwards, and nothing is used again within an execution: so an
//! address depends on what its thread did alone, and what was freed is known to be. A byte for every 16 bytes
//! of heap says how many of them are allocated, so that a good access costs one look. To free a block writes
//! it: both orders of a free and of an access are looked at.
#![allow(unsafe_code)]

use std::io;
use std::ops::Range;
use std::ptr;

use mazurka_program::{AccessKind, FailureKind, ProcessId, Stop};
use mazurka_threads::lifetime::ExecutionState;
use mazurka_threads::races::Order;

use super::access;
use super::layout::{Granules, MAX_THREADS, SLOT, Slots};
use crate::runtime::report::frames::Trail;
use crate::runtime::sync::lifetime;
use crate::runtime::system::stubs::{Passing, Stub, stubs};
use crate::runtime::system::user::{caller, my_name, store, with_runtime};
use crate::runtime::threads::arrive;
use crate::runtime::threads::runtime::Runtime;

/// What was allocated.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block {
    pub(crate) address: usize,
    pub(crate) size: usize,
    /// Where in the program.
    pub(crate) place: usize,
    /// Who called it there.
    pub(crate) trail: Trail,
    /// Where it was freed.
    pub(crate) freed: Option<usize>,
}

impl Block {
    /// Where the next block may begin.
    fn end(&self) -> usize {
        (self.address + self.size + GAP).next_multiple_of(ALIGN)
    }
}

/// The blocks of all threads.
#[derive(Default)]
pub(crate) struct Blocks {
    /// By thread, in the order of their addresses.
    of: Vec<Vec<Block>>,
    /// How many are allocated.
    pub(crate) live: usize,
}

impl Blocks {
    /// Those that a thread has allocated.
    pub(crate) fn of_thread(&self, thread: ProcessId) -> &[Block] {
        self.of.get(thread.index()).map_or(&[], Vec::as_slice)
    }

    fn of(&mut self, thread: ProcessId) -> &mut Vec<Block> {
        if self.of.len() <= thread.index() {
            self.of.resize_with(thread.index() + 1, Vec::new);
        }
        &mut self.of[thread.index()]
    }

    /// The number of the last block of a thread that begins at an address or before it.
    pub(crate) fn before(&self, thread: ProcessId, address: usize) -> Option<usize> {
        self.of_thread(thread).partition_point(|block| block.address <= address).checked_sub(1)
    }
}

/// The memory that threads allocate: which of it is allocated, and where it was.
pub(crate) struct Heap {
    granules: Granules,
    pub(crate) blocks: Blocks,
    /// Where the slots are, and where in each of them the heap begins.
    pub(crate) start: usize,
    len: usize,
    offset: usize,
}

/// The heap of an execution that was put aside.
#[derive(Default)]
pub(crate) struct SavedHeap {
    /// Of each thread that has allocated: its number, and how many blocks and bytes it has used.
    threads: Vec<(ProcessId, usize, usize)>,
    blocks: Vec<Block>,
    /// Of each of them what the blocks hold, and how much of them is allocated.
    memory: Vec<u8>,
}

impl Heap {
    pub(crate) fn new(slots: &Slots) -> io::Result<Heap> {
        let (start, offset) = (slots.start(), slots.slot(ProcessId(0)).heap - slots.start());
        let (granules, blocks) = (Granules::new()?, Blocks::default());
        Ok(Heap { granules, blocks, start, len: MAX_THREADS * SLOT, offset })
    }

    /// Those who have ever allocated, and maybe others.
    fn threads(&self) -> impl Iterator<Item = ProcessId> + use<> {
        (0..self.blocks.of.len() as u32).map(ProcessId)
    }

    /// The part of its heap that a thread has used.
    pub(crate) fn in_use(&self, thread: ProcessId) -> Range<usize> {
        let start = self.start + thread.index() * SLOT + self.offset;
        start..self.blocks.of_thread(thread).last().map_or(start, Block::end)
    }

    /// The block that begins at an address.
    fn block_at(&self, address: usize) -> Option<Block> {
        self.block_before(address).filter(|block| block.address == address)
    }

    /// The block that an address is in.
    pub(crate) fn block_around(&self, address: usize) -> Option<Block> {
        self.block_before(address).filter(|block| address < block.address + block.size)
    }

    fn block_before(&self, address: usize) -> Option<Block> {
        let owner = self.owner(address)?;
        self.blocks.before(owner, address).map(|at| self.blocks.of_thread(owner)[at])
    }

    /// The thread whose slot an address is in.
    fn owner(&self, address: usize) -> Option<ProcessId> {
        let owner = address.checked_sub(self.start)? / SLOT;
        (owner < MAX_THREADS).then_some(ProcessId(owner as u32))
    }

    /// Notes that a thread has allocated a block.
    fn note_allocated(&mut self, thread: ProcessId, block: Block) {
        self.granules.allocate(block.address - self.start, block.size);
        self.blocks.live += 1;
        self.blocks.of(thread).push(block);
    }

    /// Notes that a block was freed.
    fn note_freed(&mut self, block: &Block, place: usize) {
        self.granules.clear(block.address - self.start, block.size);
        if let Some(thread) = self.owner(block.address)
            && let Some(at) = self.blocks.before(thread, block.address)
        {
            self.blocks.of(thread)[at].freed = Some(place);
            self.blocks.live -= 1;
        }
    }

    /// About how many bytes there are to save.
    pub(crate) fn size(&self) -> usize {
        let size = |thread| self.in_use(thread).len() + size_of_val(self.blocks.of_thread(thread));
        self.threads().map(size).sum()
    }
}

/// Nothing of it costs anything where nothing was allocated.
impl ExecutionState for Heap {
    type Saved = SavedHeap;

    fn begin(&mut self) {
        for thread in self.threads() {
            let used = self.in_use(thread);
            if !used.is_empty() {
                self.granules.clear(used.start - self.start, used.len());
                self.blocks.of(thread).clear();
            }
        }
        self.blocks.live = 0;
    }

    fn save(&self, saved: &mut SavedHeap) {
        saved.threads.clear();
        saved.blocks.clear();
        saved.memory.clear();
        for thread in self.threads() {
            let (blocks, used) = (self.blocks.of_thread(thread), self.in_use(thread));
            if blocks.is_empty() {
                continue;
            }
            saved.threads.push((thread, blocks.len(), used.len()));
            saved.blocks.extend_from_slice(blocks);
            // SAFETY: the range is part of the slot of a thread that was created, which is open.
            saved.memory.extend_from_slice(unsafe {
                std::slice::from_raw_parts(ptr::with_exposed_provenance(used.start), used.len())
            });
            saved.memory.extend_from_slice(self.granules.range(used.start - self.start, used.len()));
        }
    }

    fn restore(&mut self, saved: &SavedHeap) {
        self.begin();
        let (mut memory, mut blocks) = (&saved.memory[..], &saved.blocks[..]);
        for &(thread, many, used) in &saved.threads {
            let (own, rest) = blocks.split_at(many);
            self.blocks.of(thread).extend_from_slice(own);
            self.blocks.live += own.iter().filter(|block| block.freed.is_none()).count();
            let (bytes, after) = memory.split_at(used);
            let start = self.in_use(thread).start;
            // SAFETY: as when it was saved.
            unsafe {
                let to = ptr::with_exposed_provenance_mut::<u8>(start);
                to.copy_from_nonoverlapping(bytes.as_ptr(), used);
            }
            let granules = self.granules.range_mut(start - self.start, used);
            let (allocated, after) = after.split_at(granules.len());
            granules.copy_from_slice(allocated);
            (memory, blocks) = (after, rest);
        }
    }
}

/// What fresh memory holds: nothing that looks like a pointer or a small number.
const POISON: u8 = 0xA5;
const ALIGN: usize = 16;
/// Between two blocks.
const GAP: usize = 16;

/// Whether an access of `size` bytes is known to be of allocated memory, if it is of the heap; and of a frame
/// or a variable that the running thread has to itself, if it is of a stack or of thread-local variables.
///
/// # Safety
/// A thread of the program must run here.
#[inline(always)]
pub(crate) unsafe fn is_fine(runtime: *const Runtime, address: usize, size: usize) -> bool {
    // SAFETY: by the contract of this function nobody else uses the runtime.
    unsafe {
        let at = address.wrapping_sub((*runtime).execution.heap.start);
        if at >= (*runtime).execution.heap.len {
            return true;
        }
        if at & (SLOT - 1) < (*runtime).execution.heap.offset {
            // In the slot of the running thread, and not below the frame that calls.
            let frame = (*runtime).registers().0.wrapping_sub((*runtime).execution.heap.start);
            return at >= frame && at ^ frame < SLOT;
        }
        let allocated = (*runtime).execution.heap.granules.get(at);
        (at & 15) + size <= usize::from(allocated)
    }
}

/// The same for who has a reference to the runtime.
pub(crate) fn is_allocated(runtime: &Runtime, address: usize, size: usize) -> bool {
    // SAFETY: the reference says that nobody else uses the runtime.
    unsafe { is_fine(runtime, address, size) }
}

/// Ends the running thread if an access is of memory of a thread's heap that is not allocated.
pub(crate) fn check(
    runtime: &mut Runtime,
    thread: ProcessId,
    address: usize,
    size: usize,
    place: usize,
    kind: AccessKind,
) {
    let known = runtime.execution.heap.blocks.before(thread, address);
    let fault = match known.map(|at| runtime.execution.heap.blocks.of_thread(thread)[at]) {
        Some(block) if address + size <= block.address + block.size => match block.freed {
            None => return,
            Some(freed) => {
                format!("{}, which was freed{}", runtime.block_name(&block), runtime.at_place(freed))
            }
        },
        Some(block) => {
            let past = (address + size).saturating_sub(block.address + block.size);
            format!("{past} byte(s) past the end of {}", runtime.block_name(&block))
        }
        None => "heap memory that was never allocated".to_owned(),
    };
    runtime.fail_access(&fault, place, kind)
}

impl Runtime {
    /// A block as people know it.
    pub(crate) fn block_name(&self, block: &Block) -> String {
        format!("a block of {} bytes that was allocated{}", block.size, self.allocated_at(block))
    }

    /// Allocates for the running thread. None if its heap is full.
    fn allocate(&mut self, size: usize, align: usize, place: usize) -> Option<usize> {
        let thread = self.running();
        let start = self.execution.heap.in_use(thread).end.checked_next_multiple_of(align.max(ALIGN))?;
        let end = start.checked_add(size)?.checked_add(GAP)?.checked_next_multiple_of(ALIGN)?;
        if end > self.me().slot.end {
            let message = format!("a thread allocates more than {} MiB in an execution", SLOT >> 20);
            self.fail(Stop::Bound(message));
            arrive::stop_here();
        }
        self.me().buffers.detector.clear();
        self.log_lasting();
        let block = Block { address: start, size, place, trail: self.trail(), freed: None };
        self.execution.heap.note_allocated(thread, block);
        Some(start)
    }
}

/// Allocates and fills.
fn allocate(size: usize, align: usize, fill: u8, place: usize) -> usize {
    let address = with_runtime(|runtime| runtime.allocate(size, align, place));
    if let Some(address) = address {
        // SAFETY: the block is within the slot of the thread, which is open.
        unsafe { ptr::with_exposed_provenance_mut::<u8>(address).write_bytes(fill, size) };
    }
    address.unwrap_or(0)
}

/// Frees a block, after it was announced as a write of all of it. Gives its size.
fn release(address: usize, place: usize, name: &str) -> usize {
    let Some(block) = with_runtime(|runtime| runtime.execution.heap.block_at(address)) else {
        wrong_block(format!("{address:#x}, which is no block of the heap"), place, name)
    };
    if block.size > 0 && block.freed.is_none() {
        // Who frees it in the meantime is met there.
        access::announce_any(address, block.size, place, AccessKind::Update, (Order::Plain, 0));
        lifetime::free(address, place);
    }
    let freed_before = with_runtime(|runtime| {
        let Some(freed) = runtime.execution.heap.block_at(address).and_then(|block| block.freed) else {
            runtime.execution.heap.note_freed(&block, place);
            runtime.log_lasting();
            return None;
        };
        Some(format!("{}, which was freed{} already", runtime.block_name(&block), runtime.at_place(freed)))
    });
    if let Some(what) = freed_before {
        wrong_block(what, place, name);
    }
    block.size
}

#[cold]
fn wrong_block(what: String, place: usize, name: &str) -> ! {
    arrive::fail_here(FailureKind::Memory, format!("{} calls {name} with {what}", my_name()), place)
}

extern "C-unwind" fn malloc(size: usize) -> usize {
    allocate(size, ALIGN, POISON, caller())
}

extern "C-unwind" fn calloc(count: usize, size: usize) -> usize {
    count.checked_mul(size).map_or(0, |size| allocate(size, ALIGN, 0, caller()))
}

extern "C-unwind" fn free(address: usize) {
    if address != 0 {
        release(address, caller(), "free");
    }
}

/// `operator new`. There is always memory, so that it never throws.
extern "C-unwind" fn new_aligned(size: usize, align: usize) -> usize {
    allocate(size, if align.is_power_of_two() { align } else { ALIGN }, POISON, caller())
}

/// `operator delete`.
extern "C-unwind" fn delete(address: usize) {
    if address != 0 {
        release(address, caller(), "delete");
    }
}

extern "C-unwind" fn realloc(address: usize, size: usize) -> usize {
    let place = caller();
    let new = allocate(size, ALIGN, POISON, place);
    if address != 0 {
        let old = release(address, place, "realloc");
        // SAFETY: both blocks are in open slots and as large as they say; they do not overlap.
        unsafe {
            let from = ptr::with_exposed_provenance::<u8>(address);
            ptr::with_exposed_provenance_mut::<u8>(new).copy_from_nonoverlapping(from, old.min(size));
        }
    }
    new
}

extern "C-unwind" fn reallocarray(address: usize, count: usize, size: usize) -> usize {
    count.checked_mul(size).map_or(0, |size| realloc(address, size))
}

extern "C-unwind" fn aligned_alloc(align: usize, size: usize) -> usize {
    if align.is_power_of_two() { allocate(size, align, POISON, caller()) } else { 0 }
}

extern "C-unwind" fn posix_memalign(result: *mut usize, align: usize, size: usize) -> i32 {
    let place = caller();
    if !align.is_power_of_two() || align < size_of::<usize>() {
        return libc::EINVAL;
    }
    let address = allocate(size, align, POISON, place);
    store(result, address, place);
    0
}

extern "C-unwind" fn malloc_usable_size(address: usize) -> usize {
    with_runtime(|runtime| runtime.execution.heap.block_at(address)).map_or(0, |block| block.size)
}

/// What programs call.
pub(crate) fn interposed(list: &mut Vec<Stub>) {
    list.extend(stubs! { Passing::Plain;
        "malloc" => malloc, "calloc" => calloc, "free" => free, "cfree" => free, "realloc" => realloc,
        "reallocarray" => reallocarray, "aligned_alloc" => aligned_alloc, "memalign" => aligned_alloc,
        "_Znwm" => malloc, "_ZnwmSt11align_val_t" => new_aligned, "_ZdlPv" => delete,
        "_ZdlPvSt11align_val_t" => delete, "posix_memalign" => posix_memalign,
        "malloc_usable_size" => malloc_usable_size,
    });
}
