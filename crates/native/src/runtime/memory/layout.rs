//! The memory of modelled threads, and what is known of each byte of it.
//!
//! One range of addresses is reserved for all threads. Each thread has a slot of it, by its number: guard
//! page, stack, guard page, thread-local variables, heap. So an address depends on the thread and on what the
//! thread did, never on the interleaving. A second range, the shadow, has a word for each byte of the slots
//! and of the program's variables: see [`super::shadow`].
//!
//! Invariants: a range is mapped as long as its [`Mapping`] lives; a slot is readable and writable, but for
//! its guard pages, from the time it was [opened](Slots::open) on; [`Shadow::word`] gives a pointer that is
//! valid for as many words as there are bytes to the end of the range that the address is in.
#![allow(unsafe_code)]

use std::io;
use std::ptr;

use mazurka_program::ProcessId;

/// No execution has more threads.
pub(crate) const MAX_THREADS: usize = 128;
/// The size of a slot.
pub(crate) const SLOT: usize = 256 << 20;
pub(crate) const PAGE: usize = 4096;
/// Room for thread-local variables.
pub(crate) const TLS_ROOM: usize = 1 << 20;
/// How memory is mapped that may be written.
pub(crate) const WRITABLE: libc::c_int = libc::PROT_READ | libc::PROT_WRITE;

/// A range of addresses of our own.
pub(crate) struct Mapping {
    start: usize,
    len: usize,
}

impl Mapping {
    /// Reserves a range, at an address if it is free. Memory is used when it is touched.
    fn new(wanted: usize, len: usize, protection: libc::c_int) -> io::Result<Mapping> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let place = ptr::without_provenance_mut(wanted);
        // SAFETY: a new mapping touches nothing that exists: without MAP_FIXED the address is a hint.
        let start = unsafe { libc::mmap(place, len, protection, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Mapping { start: start.expose_provenance(), len })
    }

    pub(crate) fn start(&self) -> usize {
        self.start
    }

    #[inline]
    pub(crate) fn contains(&self, address: usize) -> bool {
        address.wrapping_sub(self.start) < self.len
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the range is ours, and whoever had pointers into it is gone with the owner of this.
        unsafe { libc::munmap(ptr::with_exposed_provenance_mut(self.start), self.len) };
    }
}

/// The slots of all threads.
pub(crate) struct Slots {
    range: Mapping,
    stack_size: usize,
    opened: usize,
}

/// Where the parts of a slot are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    /// The lowest address of the stack, which can't be touched.
    pub(crate) stack_limit: usize,
    /// The end of the stack, where it begins.
    pub(crate) stack_base: usize,
    pub(crate) tls: usize,
    pub(crate) heap: usize,
    pub(crate) end: usize,
}

impl Slots {
    pub(crate) fn new(stack_size: usize) -> io::Result<Slots> {
        let stack_size = stack_size.clamp(16 * PAGE, SLOT / 4).next_multiple_of(PAGE);
        // Far from programs, libraries and stacks, so that it is free in every process and addresses repeat.
        let range = Mapping::new(0x5100_0000_0000, MAX_THREADS * SLOT, libc::PROT_NONE)?;
        Ok(Slots { range, stack_size, opened: 0 })
    }

    pub(crate) fn stack_size(&self) -> usize {
        self.stack_size
    }

    #[inline]
    pub(crate) fn contains(&self, address: usize) -> bool {
        self.range.contains(address)
    }

    pub(crate) fn start(&self) -> usize {
        self.range.start()
    }

    /// The thread that an address belongs to.
    pub(crate) fn owner(&self, address: usize) -> Option<ProcessId> {
        self.contains(address).then(|| ProcessId(((address - self.range.start()) / SLOT) as u32))
    }

    pub(crate) fn slot(&self, process: ProcessId) -> Slot {
        let start = self.range.start() + process.index() * SLOT;
        let stack_limit = start;
        let stack_base = start + PAGE + self.stack_size;
        let tls = stack_base + PAGE;
        Slot { stack_limit, stack_base, tls, heap: tls + TLS_ROOM, end: start + SLOT - PAGE }
    }

    /// Makes the slots up to that of a thread usable.
    pub(crate) fn open(&mut self, process: ProcessId) -> io::Result<Slot> {
        while self.opened <= process.index() {
            let slot = self.slot(ProcessId(self.opened as u32));
            for (from, to) in [(slot.stack_limit + PAGE, slot.stack_base), (slot.tls, slot.end)] {
                // SAFETY: both ranges are within the slot, which is ours.
                let result =
                    unsafe { libc::mprotect(ptr::with_exposed_provenance_mut(from), to - from, WRITABLE) };
                if result != 0 {
                    return Err(io::Error::last_os_error());
                }
            }
            self.opened += 1;
        }
        Ok(self.slot(process))
    }
}

/// A word for each byte of two ranges: the slots, and the variables of the program.
pub(crate) struct Shadow {
    slots_start: usize,
    slots: Mapping,
    image_start: usize,
    image_len: usize,
    image: Mapping,
}

impl Shadow {
    pub(crate) fn new(slots: &Slots, image_start: usize, image_len: usize) -> io::Result<Shadow> {
        let words = size_of::<u32>();
        Ok(Shadow {
            slots_start: slots.start(),
            slots: Mapping::new(0x5800_0000_0000, MAX_THREADS * SLOT * words, WRITABLE)?,
            image_start,
            image_len,
            image: Mapping::new(
                0x5700_0000_0000,
                (image_len.max(1) * words).next_multiple_of(PAGE),
                WRITABLE,
            )?,
        })
    }

    /// Where the word of an address is, and how many follow it; none for memory of others.
    #[inline]
    pub(crate) fn word(&self, address: usize) -> Option<(*mut u32, usize)> {
        let at = address.wrapping_sub(self.slots_start);
        if at < MAX_THREADS * SLOT {
            let word = ptr::with_exposed_provenance_mut::<u32>(self.slots.start() + at * 4);
            return Some((word, MAX_THREADS * SLOT - at));
        }
        let at = address.wrapping_sub(self.image_start);
        (at < self.image_len).then(|| {
            (ptr::with_exposed_provenance_mut::<u32>(self.image.start() + at * 4), self.image_len - at)
        })
    }

    /// The words of a range of addresses, cut off where the memory of others begins.
    #[inline]
    pub(crate) fn words(&mut self, address: usize, len: usize) -> &mut [u32] {
        match self.word(address) {
            // SAFETY: `word` gives so many words of memory of ours, initialised with zeros by the system.
            Some((word, rest)) => unsafe { std::slice::from_raw_parts_mut(word, len.min(rest)) },
            None => &mut [],
        }
    }
}

/// How many bytes of each 16 of the slots are allocated.
pub(crate) struct Granules(Mapping);

impl Granules {
    pub(crate) fn new() -> io::Result<Granules> {
        Ok(Granules(Mapping::new(0x5680_0000_0000, MAX_THREADS * SLOT / 16, WRITABLE)?))
    }

    /// How many bytes are allocated of the 16 that a byte of the slots is in.
    #[inline]
    pub(crate) fn get(&self, at: usize) -> u8 {
        debug_assert!(at < MAX_THREADS * SLOT);
        // SAFETY: callers ask for bytes of the slots only; there is a byte for each 16 of them.
        unsafe { ptr::with_exposed_provenance::<u8>(self.0.start() + at / 16).read() }
    }

    /// Where those of so many bytes of the slots are, and how many there are.
    fn bounds(&self, at: usize, size: usize) -> (usize, usize) {
        let len = size.div_ceil(16).min((MAX_THREADS * SLOT).saturating_sub(at) / 16);
        (self.0.start() + at / 16, len)
    }

    /// Those of so many bytes of the slots.
    pub(crate) fn range(&self, at: usize, size: usize) -> &[u8] {
        let (start, len) = self.bounds(at, size);
        // SAFETY: within the mapping.
        unsafe { std::slice::from_raw_parts(ptr::with_exposed_provenance(start), len) }
    }

    /// The same, to be changed.
    pub(crate) fn range_mut(&mut self, at: usize, size: usize) -> &mut [u8] {
        let (start, len) = self.bounds(at, size);
        // SAFETY: within the mapping.
        unsafe { std::slice::from_raw_parts_mut(ptr::with_exposed_provenance_mut(start), len) }
    }

    /// A block that begins at a multiple of 16 is allocated.
    pub(crate) fn allocate(&mut self, at: usize, size: usize) {
        let granules = self.range_mut(at, size);
        granules.fill(16);
        if let Some(last) = granules.last_mut().filter(|_| !size.is_multiple_of(16)) {
            *last = (size % 16) as u8;
        }
    }

    /// So much is freed, or was never allocated.
    pub(crate) fn clear(&mut self, at: usize, size: usize) {
        self.range_mut(at, size).fill(0);
    }
}

/// The value of `size` bytes (at most 8) at an address, as a number.
///
/// # Safety
/// The bytes must be readable.
#[inline]
pub(crate) unsafe fn peek(address: usize, size: usize) -> u64 {
    let mut bytes = [0u8; 8];
    let from = ptr::with_exposed_provenance::<u8>(address);
    // SAFETY: by the contract of this function; nobody else runs.
    unsafe { ptr::copy_nonoverlapping(from, bytes.as_mut_ptr(), size.min(8)) };
    u64::from_le_bytes(bytes)
}

/// What a range holds of the program's memory.
pub(crate) fn bytes(from: usize, to: usize) -> Vec<u8> {
    // SAFETY: callers ask for variables of the program, and for heaps in slots that are open.
    unsafe { std::slice::from_raw_parts(ptr::with_exposed_provenance(from), to.saturating_sub(from)) }
        .to_vec()
}
