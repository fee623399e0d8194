//! Statics begin anew in each execution: a check works on copies.
//!
//! A static holds what its constant initialiser gave it, as long as nobody changed it outside of a check; and
//! the value of a constant expression can be had as often as one likes. So its bytes are copied when an
//! execution touches it first, and the copy is forgotten at its end. What the copy came to own is not
//! dropped, as statics never are.
#![allow(unsafe_code)]

use std::alloc::{Layout, alloc, dealloc};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use mazurka_program::{Failure, FailureKind, Location, Stop};
use mazurka_threads::lifetime::Reset;

use super::{Runtime, place_of, with_runtime};

/// The statics of an execution.
#[derive(Default)]
pub(super) struct Statics {
    met: Vec<Location>,
    copies: Vec<Copy>,
}

struct Copy {
    location: Location,
    /// The address of what was copied.
    origin: usize,
    memory: *mut u8,
    layout: Layout,
}

/// Where a copy is, and what it is a copy of.
pub(super) struct Copied {
    pub(super) memory: Range<usize>,
    pub(super) origin: Range<usize>,
}

impl Statics {
    pub(super) fn note(&mut self, location: Location) {
        if !self.met.contains(&location) {
            self.met.push(location);
        }
    }

    /// What an address within a copy is the copy of.
    pub(super) fn origin(&self, address: usize) -> Option<usize> {
        self.copies.iter().find_map(|copy| {
            let offset = address.wrapping_sub(copy.memory.addr());
            (offset < copy.layout.size()).then(|| copy.origin + offset)
        })
    }

    /// The copies, and what they are copies of.
    pub(super) fn copied(&self) -> impl Iterator<Item = Copied> {
        self.copies.iter().map(|copy| {
            let (memory, size) = (copy.memory.addr(), copy.layout.size());
            Copied { memory: memory..memory + size, origin: copy.origin..copy.origin + size }
        })
    }

    /// Where the copies are.
    pub(super) fn copies(&self) -> impl Iterator<Item = usize> {
        self.copies.iter().map(|copy| copy.memory.addr())
    }
}

impl Reset for Statics {
    fn reset(&mut self) {
        self.met.clear();
        for copy in self.copies.drain(..) {
            // SAFETY: it was allocated with this layout, and is referred to no longer.
            unsafe { dealloc(copy.memory, copy.layout) };
        }
    }
}

impl Drop for Statics {
    fn drop(&mut self) {
        self.reset();
    }
}

/// Where the data of a lock lives.
pub(crate) struct Home {
    /// Whether the data may have been changed outside of a check.
    used: AtomicBool,
}

impl Home {
    pub(crate) const fn new() -> Home {
        Home { used: AtomicBool::new(false) }
    }

    /// The data for a use outside of a check.
    pub(crate) fn outside<T: ?Sized>(&self, data: *mut T) -> *mut T {
        if !self.used.load(Ordering::Relaxed) {
            self.used.store(true, Ordering::Relaxed);
        }
        data
    }

    /// The data of the lock with this location, in a check.
    pub(crate) fn data<T: ?Sized>(&self, location: Location, data: *mut T) -> *mut T {
        // There are no statics of unsized types.
        if size_of::<*mut T>() != size_of::<*mut u8>() {
            return data;
        }
        with_runtime(|runtime| {
            if runtime.execution.statics.met.is_empty() || !runtime.execution.statics.met.contains(&location)
            {
                return data;
            }
            if self.used.load(Ordering::Relaxed) {
                runtime.used_static(location);
                return data;
            }
            // SAFETY: a static is alive, and the layout is that of its value.
            let copy = unsafe { runtime.copy_of(location, data.cast(), Layout::for_value(&*data)) };
            let mut data = data;
            // SAFETY: a pointer of this size is nothing but an address; so it is replaced as a whole,
            // provenance included.
            unsafe { (&raw mut data).cast::<*mut u8>().write(copy) };
            data
        })
        .unwrap_or(data)
    }
}

impl Runtime {
    /// # Safety
    /// The data must be readable and have the layout.
    unsafe fn copy_of(&mut self, location: Location, data: *const u8, layout: Layout) -> *mut u8 {
        if let Some(copy) = self.execution.statics.copies.iter().find(|copy| copy.location == location) {
            return copy.memory;
        }
        if layout.size() == 0 {
            return std::ptr::without_provenance_mut(layout.align());
        }
        // SAFETY: the layout has a size; source and copy have it and are different.
        let memory = unsafe {
            let memory = alloc(layout);
            if memory.is_null() {
                std::alloc::handle_alloc_error(layout);
            }
            std::ptr::copy_nonoverlapping(data, memory, layout.size());
            memory
        };
        self.execution.statics.copies.push(Copy { location, origin: data.addr(), memory, layout });
        memory
    }

    fn used_static(&mut self, location: Location) {
        let created =
            self.search.described.get(location.0 as usize).copied().flatten().map(|what| what.created);
        let at = created.map_or(String::new(), |created| format!(" at {created}"));
        self.fail(Stop::Broken(Failure {
            kind: FailureKind::InvalidSync,
            message: format!(
                "the static{at} was used outside of a check, so it can't begin anew in each execution; use it within \
                 checks only"
            ),
            place: created.map(place_of),
            process: None,
        }));
    }

    pub(crate) fn is_poisoned(&self, location: Location) -> bool {
        !self.execution.poisoned.is_empty() && self.execution.poisoned.contains(&location)
    }

    pub(crate) fn set_poisoned(&mut self, location: Location, poisoned: bool) {
        self.execution.poisoned.retain(|&other| other != location);
        if poisoned {
            self.execution.poisoned.push(location);
        }
    }
}
