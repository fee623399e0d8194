//! What functions that programs call have in common.
//!
//! Each runs on the stack of a modelled thread. The program's memory is written here, by the thread that runs, and never by the
//! scheduler.
#![allow(unsafe_code)]

use mazurka_program::{AccessKind, FailureKind};

use super::access::{announce, range};
use super::memory::PAGE;
use super::objects::{Class, ObjectId};
use super::operation::Operation;
use super::thread::Order;
use super::world::{World, current};
use super::{arrive, bounds, heap};

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

/// The object at an address, for the function of that name.
pub(super) fn object_at(address: usize, class: Class, place: usize, name: &str) -> ObjectId {
    if address < PAGE {
        let message = format!("{name}: there is no {} at {address:#x}", class.name());
        arrive::fail_here(FailureKind::Memory, message, place);
    }
    // SAFETY: a thread of the world runs here; the reference ends with the statement.
    bounds::check_foreign(unsafe { &mut *current() }, address, place, AccessKind::Write);
    let is_new = mark_used(address, class);
    // SAFETY: a thread of the world runs here; the reference ends before it can be suspended.
    let world = unsafe { &mut *current() };
    let object = world.object(address, class);
    if is_new {
        world.make_new(object);
    }
    object
}

/// The running thread comes to an operation on an object, and fails if the object is gone when its step is taken: to destroy it, or
/// to free its memory, is a step that touches it too, so that both orders are looked at.
pub(super) fn operate_on(object: ObjectId, name: &str, operation: &mut dyn Operation, place: usize) {
    arrive::operate(operation, place);
    // SAFETY: a thread of the world runs here, and is not suspended again.
    let world = unsafe { &mut *current() };
    if world.objects.is_destroyed(object) {
        let message = format!("{name}: the {} was destroyed before", world.objects.class(object).name());
        arrive::fail_here(FailureKind::InvalidSync, message, place);
    }
    let address = world.objects.address(object);
    if !heap::is_allocated(world, address, 1) {
        bounds::check(world, address, 1, place, AccessKind::Write);
    }
}

/// What the memory of an object holds once it has been used. Static initialisers have 0 there: so an object that was put where
/// another has been, on a stack say, is known to be a new one.
const USED: u32 = 0x7a75_6d61;

/// Notes in the memory of an object that it has been used. Says whether it had not, since it was initialised. Objects that only
/// functions initialise have no such word.
pub(super) fn mark_used(address: usize, class: Class) -> bool {
    let offset = match class {
        Class::Mutex | Class::Condition | Class::ReadWriteLock => 8,
        Class::Once => 0,
        Class::Semaphore | Class::Barrier | Class::Spinlock | Class::Futex | Class::StaticGuard => {
            return false;
        }
    };
    let word = std::ptr::with_exposed_provenance_mut::<u32>(address + offset);
    // SAFETY: the program passes memory of an object; a wild pointer faults, and the thread is thrown out.
    unsafe {
        let is_new = word.read_unaligned() != USED;
        if is_new {
            word.write_unaligned(USED);
        }
        is_new
    }
}

impl World {
    /// An object is as static initialisers make it.
    fn make_new(&mut self, object: ObjectId) {
        self.readers.retain(|reader| reader.0 != object);
        self.changed |= self.objects.value(object) != 0;
        self.objects.make_new(object, self.depth);
    }

    pub(super) fn object(&mut self, address: usize, class: Class) -> ObjectId {
        let known = self.objects.len();
        let object = self.objects.at(address, class, &mut self.partition);
        if self.objects.len() > known
            && let Some(block) = self.block_around(address)
        {
            // Who freed the block before did not say that it touches the object.
            self.partition.news |= self.objects.note_in_block(object, block.address);
        }
        object
    }
}
