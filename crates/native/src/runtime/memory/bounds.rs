//! Bounds of memory: whether an access is of variables, the heap, stacks or thread-local variables.
//!
//! What is judged here is certain: an access that is told is wrong in the execution that is told. An address
//! that lies in some object of the program is taken to be meant, since a pointer does not say of what it was
//! made. See [`super::redzones`] for what is between variables, [`super::indices`] for indices of arrays.
#![allow(unsafe_code)]

use std::ffi::CStr;
use std::ptr;

use mazurka_program::{AccessKind, FailureKind};

use super::heap;
use super::layout::PAGE;
use crate::runtime::threads::arrive;
use crate::runtime::threads::thread::Status;
use crate::runtime::threads::world::{MAIN, World};

/// Addresses of programs are below this.
const END_OF_ADDRESSES: usize = 1 << 47;

/// Variables of the C library that a program may know of.
const VARIABLES_OF_LIBRARIES: [&CStr; 3] = [c"stdin", c"stdout", c"stderr"];

/// Ends the running thread if an access that is about to be made is of memory that is not the program's.
pub(crate) fn check(world: &mut World, address: usize, size: usize, place: usize, kind: AccessKind) {
    match world.slots.owner(address) {
        Some(owner) if address >= world.slots.slot(owner).heap => {
            heap::check(world, owner, address, size, place, kind);
        }
        Some(owner) => check_own(world, owner as u32, address, place, kind),
        None if world.image.variables.contains(&address) => {}
        None => check_foreign(world, address, place, kind),
    }
}

/// Ends the running thread if an access is of a stack or of thread-local variables, and what was there is
/// gone for certain: its thread has ended, or the frame was left. A frame that was left and whose place
/// another one has taken is not told apart.
fn check_own(world: &mut World, owner: u32, address: usize, place: usize, kind: AccessKind) {
    if let Some(gone) = world.gone(owner, address) {
        world.fail_access(&gone, place, kind);
    }
}

/// Ends the running thread if so many bytes are more than there can be from an address on, whatever others
/// do: nothing is to be noted of what is behind.
pub(crate) fn check_extent(world: &mut World, address: usize, size: usize, place: usize, kind: AccessKind) {
    let room = world.room(address);
    if size <= room {
        return world.check_variable(address, size, place, kind);
    }
    let from = world.memory_name(address, 1);
    world.fail_access(&format!("{size} bytes from {from} on, where there are at most {room}"), place, kind)
}

/// Ends the running thread if it writes memory that is neither a thread's nor a variable. To read such memory
/// is harmless (texts of libraries, constants), or a fault that the system tells.
pub(crate) fn check_foreign(world: &mut World, address: usize, place: usize, kind: AccessKind) {
    let own = world.slots.contains(address) || world.image.variables.contains(&address);
    let is_errno = ptr::without_provenance(address) == world.errno.cast_const();
    // Who uses a null pointer is told so by the system.
    if kind.is_read() || own || is_errno || address < PAGE {
        return;
    }
    if let Some(variable) = VARIABLES_OF_LIBRARIES.into_iter().find(|name| is_variable(name, address)) {
        let name = variable.to_string_lossy();
        let told =
            |at| format!("the program assigns to `{name}`{at}: variables of libraries are not supported");
        world.refuse_at(place, told);
    }
    let fault = match world.image.extent.contains(&address) {
        true => format!("{}, which can't be written", world.constant_name(address)),
        false => format!("to {address:#x}, where it has no memory"),
    };
    world.fail_access(&fault, place, kind)
}

/// Whether a variable of the C library is at an address.
fn is_variable(name: &CStr, address: usize) -> bool {
    // SAFETY: the name is a C string; nothing is done with what is found.
    unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) }.addr() == address
}

impl World {
    /// Ends the running thread, which is about to access what it may not.
    #[cold]
    pub(crate) fn fail_access(&self, what: &str, place: usize, kind: AccessKind) -> ! {
        let verb = if kind.is_read() { "reads" } else { "writes" };
        let message = format!("{} {verb} {what}", self.name_of(self.running));
        arrive::fail_here(FailureKind::Memory, message, place)
    }

    /// How many bytes there can be from an address on: to the end of the variables, or of that part of a
    /// slot.
    fn room(&self, address: usize) -> usize {
        if let Some(owner) = self.slots.owner(address) {
            let slot = self.slots.slot(owner);
            let ends = [slot.stack_base, slot.heap, slot.end];
            return ends.into_iter().find(|&end| address < end).map_or(0, |end| end - address);
        }
        let variables = &self.image.variables;
        let end = if variables.contains(&address) { variables.end } else { END_OF_ADDRESSES };
        end.saturating_sub(address)
    }

    /// What was at an address of a thread's own memory, and why it is there no more; none if it may be.
    fn gone(&self, owner: u32, address: usize) -> Option<String> {
        let slot = self.slots.slot(owner as usize);
        // What `main` was given is there until the program ends.
        let arguments = slot.stack_base - self.arguments.size..slot.stack_base;
        if owner == MAIN && arguments.contains(&address) {
            return None;
        }
        let state = self.threads.get(owner as usize)?;
        match (state.status, self.frame_of(owner)) {
            (Status::Absent, _) => Some("the memory of a thread that was not created".to_owned()),
            // When the program ends, nobody knows how long its last frames are there.
            _ if state.exits => None,
            (Status::Finished, _) => {
                let on_stack = address < slot.stack_base;
                let what = if on_stack { "a variable on the stack" } else { "a thread-local variable" };
                Some(format!("{what} of {}, which has ended", self.name_of(owner)))
            }
            (_, Some(frame)) if (slot.stack_limit..frame).contains(&address) => {
                Some(format!("a variable of a function of {} that has returned", self.name_of(owner)))
            }
            _ => None,
        }
    }

    /// A part of the object that is no variable.
    fn constant_name(&self, address: usize) -> String {
        let symbols = self.options.symbols.as_ref();
        let name = symbols.and_then(|symbols| symbols.symbol((address - self.image.base) as u64));
        name.map_or("a constant or code of the program".to_owned(), |name| crate::driver::readable(&name))
    }
}
