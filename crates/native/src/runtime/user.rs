//! What functions that programs call have in common.
//!
//! Each runs on the stack of a modelled thread. The program's memory is written here, by the thread that runs, and never by the
//! scheduler.
#![allow(unsafe_code)]

use mazurka_program::{AccessKind, FailureKind};

use super::access::{announce, range};
use super::arrive;
use super::objects::{Class, ObjectId};
use super::thread::Order;
use super::world::{World, current};

/// Where the function was called that runs now: to be asked before anything else.
#[inline]
pub(super) fn caller() -> usize {
    // SAFETY: a thread of the world runs here; the word is the stub's.
    unsafe { *(*current()).image.caller }
}

/// Writes to the program's memory, as the program itself would.
pub(super) fn store<T>(to: *mut T, value: T, place: usize) {
    let address = to.expose_provenance();
    match size_of::<T>() {
        // SAFETY: a thread of the world runs here.
        4 => unsafe { announce::<4>(current(), address, place, AccessKind::Write, Order::Plain) },
        // SAFETY: as above.
        8 => unsafe { announce::<8>(current(), address, place, AccessKind::Write, Order::Plain) },
        size => range(address, size, place, AccessKind::Write),
    }
    // SAFETY: the program passes a valid pointer; a wild one faults, and the thread is thrown out.
    unsafe { to.write_unaligned(value) };
}

/// The object at an address; the thread fails if it was destroyed.
pub(super) fn object_at(address: usize, class: Class, place: usize, name: &str) -> ObjectId {
    // SAFETY: a thread of the world runs here; the reference ends before it can be suspended.
    let (object, destroyed) = unsafe {
        let world = &mut *current();
        let object = world.object(address, class);
        (object, world.objects.is_destroyed(object))
    };
    if destroyed {
        let message = format!("{name}: the {} was destroyed before", class.name());
        arrive::fail_here(FailureKind::InvalidSync, message, place);
    }
    object
}

impl World {
    pub(super) fn object(&mut self, address: usize, class: Class) -> ObjectId {
        self.objects.at(address, class, &mut self.partition)
    }
}
