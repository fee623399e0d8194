//! The heap: `malloc` and its kin, and whether accesses stay within what was allocated.
//!
//! Each thread allocates from its own slot, upwards, and nothing is used again within an execution: so an
//! address depends on what its thread did alone, and what was freed is known to be. A byte for every 16 bytes
//! of heap says how many of them are allocated, so that a good access costs one look. To free a block writes
//! it: both orders of a free and of an access are looked at.
#![allow(unsafe_code)]

use std::ptr;

use mazurka_program::{AccessKind, FailureKind, Stop};

use super::access;
use super::layout::SLOT;
use crate::runtime::report::frames::Trail;
use crate::runtime::sync::lifetime;
use crate::runtime::system::stubs::{Passing, Stub, stubs};
use crate::runtime::system::user::{caller, my_name, store, with_world};
use crate::runtime::threads::arrive;
use crate::runtime::threads::thread::Order;
use crate::runtime::threads::world::World;

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
    pub(crate) fn of_thread(&self, thread: usize) -> &[Block] {
        self.of.get(thread).map_or(&[], Vec::as_slice)
    }

    /// Those that a thread had allocated when that was saved.
    pub(crate) fn put_back(&mut self, thread: usize, saved: &[Block]) {
        let blocks = self.of(thread);
        blocks.clear();
        blocks.extend_from_slice(saved);
        self.live += saved.iter().filter(|block| block.freed.is_none()).count();
    }

    fn of(&mut self, thread: usize) -> &mut Vec<Block> {
        if self.of.len() <= thread {
            self.of.resize_with(thread + 1, Vec::new);
        }
        &mut self.of[thread]
    }

    /// The number of the last block of a thread that begins at an address or before it.
    pub(crate) fn before(&self, thread: usize, address: usize) -> Option<usize> {
        self.of_thread(thread).partition_point(|block| block.address <= address).checked_sub(1)
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
/// A thread of the world must run here.
#[inline(always)]
pub(crate) unsafe fn is_fine(world: *const World, address: usize, size: usize) -> bool {
    // SAFETY: by the contract of this function nobody else uses the world.
    unsafe {
        let at = address.wrapping_sub((*world).heap_start);
        if at >= (*world).heap_len {
            return true;
        }
        if at & (SLOT - 1) < (*world).heap_offset {
            // In the slot of the running thread, and not below the frame that calls.
            let frame = (*world).registers().0.wrapping_sub((*world).heap_start);
            return at >= frame && at ^ frame < SLOT;
        }
        let allocated = (*world).granules.get(at);
        (at & 15) + size <= usize::from(allocated)
    }
}

/// The same for who has a reference to the world.
pub(crate) fn is_allocated(world: &World, address: usize, size: usize) -> bool {
    // SAFETY: the reference says that nobody else uses the world.
    unsafe { is_fine(world, address, size) }
}

/// Ends the running thread if an access is of memory of a thread's heap that is not allocated.
pub(crate) fn check(
    world: &mut World,
    thread: usize,
    address: usize,
    size: usize,
    place: usize,
    kind: AccessKind,
) {
    let known = world.blocks.before(thread, address);
    let fault = match known.map(|at| world.blocks.of_thread(thread)[at]) {
        Some(block) if address + size <= block.address + block.size => match block.freed {
            None => return,
            Some(freed) => {
                format!("{}, which was freed{}", world.block_name(&block), world.at_place(freed))
            }
        },
        Some(block) => {
            let past = (address + size).saturating_sub(block.address + block.size);
            format!("{past} byte(s) past the end of {}", world.block_name(&block))
        }
        None => "heap memory that was never allocated".to_owned(),
    };
    world.fail_access(&fault, place, kind)
}

impl World {
    /// A block as people know it.
    pub(crate) fn block_name(&self, block: &Block) -> String {
        format!("a block of {} bytes that was allocated{}", block.size, self.allocated_at(block))
    }

    /// Forgets what a thread allocated.
    pub(crate) fn clear_heap(&mut self, thread: usize) {
        let slot = self.threads[thread].slot;
        let used = self.threads[thread].heap - slot.heap;
        if used > 0 {
            self.granules.clear(slot.heap - self.heap_start, used);
            // An execution is over: nobody has any.
            self.blocks.live = 0;
            self.blocks.of(thread).clear();
        }
    }

    /// Allocates for the running thread. None if its heap is full.
    pub(crate) fn allocate(&mut self, size: usize, align: usize, place: usize) -> Option<usize> {
        let thread = self.running as usize;
        let start = self.threads[thread].heap.checked_next_multiple_of(align.max(ALIGN))?;
        let end = start.checked_add(size)?.checked_add(GAP)?.checked_next_multiple_of(ALIGN)?;
        if end > self.threads[thread].slot.end {
            let message = format!("a thread allocates more than {} MiB in an execution", SLOT >> 20);
            self.fail(Stop::Bound(message));
            arrive::stop_here();
        }
        self.threads[thread].heap = end;
        self.threads[thread].quiet.clear();
        let trail = self.trail();
        self.blocks.live += 1;
        self.blocks.of(thread).push(Block { address: start, size, place, trail, freed: None });
        self.granules.allocate(start - self.heap_start, size);
        Some(start)
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
        let owner = self.slots.owner(address)?;
        self.blocks.before(owner, address).map(|at| self.blocks.of_thread(owner)[at])
    }

    /// Notes that a block was freed.
    fn note_freed(&mut self, block: &Block, place: usize) {
        self.granules.clear(block.address - self.heap_start, block.size);
        if let Some(thread) = self.slots.owner(block.address)
            && let Some(at) = self.blocks.before(thread, block.address)
        {
            self.blocks.of(thread)[at].freed = Some(place);
            self.blocks.live -= 1;
        }
    }
}

/// Allocates and fills.
fn allocate(size: usize, align: usize, fill: u8, place: usize) -> usize {
    let address = with_world(|world| world.allocate(size, align, place));
    if let Some(address) = address {
        // SAFETY: the block is within the slot of the thread, which is open.
        unsafe { ptr::with_exposed_provenance_mut::<u8>(address).write_bytes(fill, size) };
    }
    address.unwrap_or(0)
}

/// Frees a block, after it was announced as a write of all of it. Gives its size.
fn release(address: usize, place: usize, name: &str) -> usize {
    let Some(block) = with_world(|world| world.block_at(address)) else {
        wrong_block(format!("{address:#x}, which is no block of the heap"), place, name)
    };
    if block.size > 0 && block.freed.is_none() {
        // Who frees it in the meantime is met there.
        access::announce_any(address, block.size, place, AccessKind::Update, Order::Plain);
        lifetime::free(address, place);
    }
    let freed_before = with_world(|world| {
        let Some(freed) = world.block_at(address).and_then(|block| block.freed) else {
            world.note_freed(&block, place);
            return None;
        };
        Some(format!("{}, which was freed{} already", world.block_name(&block), world.at_place(freed)))
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
    with_world(|world| world.block_at(address)).map_or(0, |block| block.size)
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
