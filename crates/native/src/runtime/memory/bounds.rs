//! Bounds of memory: whether an access is of variables, the heap, stacks or thread-local variables.
//!
//! What is judged here is certain: an access that is told is wrong in the execution that is told. An address
//! that lies in some object of the program is taken to be meant, since a pointer does not say of what it was
//! made. See [`super::redzones`] for what is between variables, [`super::indices`] for indices of arrays.
#![allow(unsafe_code)]

use std::ffi::CStr;
use std::ptr;

use mazurka_program::{AccessKind, FailureKind, ProcessId};

use super::heap;
use super::layout::PAGE;
use crate::runtime::threads::arrive;
use crate::runtime::threads::runtime::{MAIN, Runtime};
use crate::runtime::threads::thread::Status;

/// Addresses of programs are below this.
const END_OF_ADDRESSES: usize = 1 << 47;

/// Variables of the C library that a program may know of.
const VARIABLES_OF_LIBRARIES: [&CStr; 3] = [c"stdin", c"stdout", c"stderr"];

/// Ends the running thread if an access that is about to be made is of memory that is not the program's.
pub(crate) fn check(runtime: &mut Runtime, address: usize, size: usize, place: usize, kind: AccessKind) {
    match runtime.search.slots.owner(address) {
        Some(owner) if address >= runtime.search.slots.slot(owner).heap => {
            heap::check(runtime, owner, address, size, place, kind);
        }
        Some(owner) => check_own(runtime, owner, address, place, kind),
        None if runtime.execution.image.variables.contains(&address) => {}
        None => check_foreign(runtime, address, place, kind),
    }
}

/// Ends the running thread if an access is of a stack or of thread-local variables, and what was there is
/// gone for certain: its thread has ended, or the frame was left. A frame that was left and whose place
/// another one has taken is not told apart.
fn check_own(runtime: &mut Runtime, owner: ProcessId, address: usize, place: usize, kind: AccessKind) {
    if let Some(gone) = runtime.gone(owner, address) {
        runtime.fail_access(&gone, place, kind);
    }
}

/// Ends the running thread if so many bytes are more than there can be from an address on, whatever others
/// do: nothing is to be noted of what is behind.
pub(crate) fn check_extent(
    runtime: &mut Runtime,
    address: usize,
    size: usize,
    place: usize,
    kind: AccessKind,
) {
    let room = runtime.room(address);
    if size <= room {
        return runtime.check_variable(address, size, place, kind);
    }
    let from = runtime.memory_name(address, 1);
    runtime.fail_access(&format!("{size} bytes from {from} on, where there are at most {room}"), place, kind)
}

/// Ends the running thread if it writes memory that is neither a thread's nor a variable. To read such memory
/// is harmless (texts of libraries, constants), or a fault that the system tells.
pub(crate) fn check_foreign(runtime: &mut Runtime, address: usize, place: usize, kind: AccessKind) {
    let own = runtime.search.slots.contains(address) || runtime.execution.image.variables.contains(&address);
    let is_errno = ptr::without_provenance(address) == runtime.search.errno.cast_const();
    // Who uses a null pointer is told so by the system.
    if kind.is_read() || own || is_errno || address < PAGE {
        return;
    }
    if let Some(variable) = VARIABLES_OF_LIBRARIES.into_iter().find(|name| is_variable(name, address)) {
        let name = variable.to_string_lossy();
        let told =
            |at| format!("the program assigns to `{name}`{at}: variables of libraries are not supported");
        runtime.refuse_at(place, told);
    }
    let fault = match runtime.execution.image.extent.contains(&address) {
        true => format!("{}, which can't be written", runtime.constant_name(address)),
        false => format!("to {address:#x}, where it has no memory"),
    };
    runtime.fail_access(&fault, place, kind)
}

/// Whether a variable of the C library is at an address.
fn is_variable(name: &CStr, address: usize) -> bool {
    // SAFETY: the name is a C string; nothing is done with what is found.
    unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) }.addr() == address
}

impl Runtime {
    /// Ends the running thread, which is about to access what it may not.
    #[cold]
    pub(crate) fn fail_access(&self, what: &str, place: usize, kind: AccessKind) -> ! {
        let verb = if kind.is_read() { "reads" } else { "writes" };
        let message = format!("{} {verb} {what}", self.name_of(self.running()));
        arrive::fail_here(FailureKind::Memory, message, place)
    }

    /// How many bytes there can be from an address on: to the end of the variables, or of that part of a
    /// slot.
    fn room(&self, address: usize) -> usize {
        if let Some(owner) = self.search.slots.owner(address) {
            let slot = self.search.slots.slot(owner);
            let ends = [slot.stack_base, slot.heap, slot.end];
            return ends.into_iter().find(|&end| address < end).map_or(0, |end| end - address);
        }
        let variables = &self.execution.image.variables;
        let end = if variables.contains(&address) { variables.end } else { END_OF_ADDRESSES };
        end.saturating_sub(address)
    }

    /// What was at an address of a thread's own memory, and why it is there no more; none if it may be.
    fn gone(&self, owner: ProcessId, address: usize) -> Option<String> {
        let slot = self.search.slots.slot(owner);
        // What `main` was given is there until the program ends.
        let arguments = slot.stack_base - self.search.arguments.size..slot.stack_base;
        if owner == MAIN && arguments.contains(&address) {
            return None;
        }
        let state = &self.execution.threads.list.get(owner.index())?.state;
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
        let symbols = self.search.options.symbols.as_ref();
        let name = symbols.and_then(|symbols| symbols.symbol((address - self.execution.image.base) as u64));
        name.map_or("a constant or code of the program".to_owned(), |name| crate::driver::readable(&name))
    }
}
