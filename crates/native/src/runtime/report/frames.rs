//! Who called whom: from an operation in a library's code to the line of the program that led to it.
//!
//! Stubs note the stack pointer and the frame pointer of who calls them, and a thread that is suspended keeps
//! them. The frames are found from there, when somebody asks, by the tables that exceptions use, so that
//! functions without frame pointers are no obstacle. When memory is allocated nobody may have asked yet: then
//! frame pointers are followed, which all that the driver compiles has.
#![allow(unsafe_code)]

use mazurka_program::{Place, ProcessId};

use crate::runtime::memory::layout::{PAGE, peek};
use crate::runtime::threads::runtime::Runtime;
use crate::runtime::threads::thread::Status;
use crate::symbols::Frame;

/// No more frames are looked at.
const MOST: usize = 40;
/// So many return addresses are kept of an allocation, relative to where the object is.
pub(crate) type Trail = [u32; 10];

/// Where the stub leaves registers, in words from the word for the caller: `rbp` and `rsp`.
const BASE: usize = 2;
const STACK: usize = 7;

impl Runtime {
    /// The registers of who called a stub last: the stack pointer at the stub's entry, and the frame pointer.
    #[inline]
    pub(crate) fn registers(&self) -> (usize, usize) {
        // SAFETY: the page is the stub's, and has room for these.
        unsafe { (*self.execution.image.caller.add(STACK), *self.execution.image.caller.add(BASE)) }
    }

    /// The same of a thread that is parked, or runs and has called a stub.
    #[inline]
    fn registers_of(&self, process: ProcessId) -> Option<(usize, usize)> {
        let state = &self.thread(process).state;
        match state.status {
            Status::Parked => Some(state.registers),
            Status::Running if process == self.running() => Some(self.registers()),
            _ => None,
        }
    }

    /// The lowest address of a frame of the program on a thread's stack, or one below it, if that is known.
    pub(crate) fn frame_of(&self, process: ProcessId) -> Option<usize> {
        self.registers_of(process).map(|(stack, _)| stack)
    }

    /// The thread that is resumed is where it called the stub at which it was suspended.
    #[inline]
    pub(crate) fn put_registers_back(&mut self, (stack, base): (usize, usize)) {
        // SAFETY: the page is the stub's, and has room for these.
        unsafe {
            *self.execution.image.caller.add(STACK) = stack;
            *self.execution.image.caller.add(BASE) = base;
        }
    }

    /// Reads 8 bytes of a thread's stack.
    pub(crate) fn read_stack(&self, process: ProcessId, address: usize) -> Option<usize> {
        let slot = self.thread(process).slot;
        let inside = address >= slot.stack_limit + PAGE
            && address.checked_add(8).is_some_and(|end| end <= slot.stack_base);
        // SAFETY: the address is on the stack of a slot that is open.
        (inside && address.is_multiple_of(8)).then(|| unsafe { peek(address, 8) } as usize)
    }

    /// The frames of a thread that is parked, or runs and has called a stub; the innermost first.
    pub(crate) fn frames(&self, process: ProcessId) -> Vec<Frame> {
        self.registers_of(process).map_or_else(Vec::new, |registers| self.frames_of_call(process, registers))
    }

    /// The frames of a thread whose registers were these when it called a stub.
    fn frames_of_call(&self, process: ProcessId, (stack, base): (usize, usize)) -> Vec<Frame> {
        // A call leaves there where it returns to.
        let at = self.read_stack(process, stack).and_then(|place| self.code(place));
        at.map_or_else(Vec::new, |place| {
            self.frames_from(process, Frame { place, stack: stack as u64 + 8, base: base as u64 })
        })
    }

    /// A frame of a thread, and those of its callers.
    fn frames_from(&self, process: ProcessId, innermost: Frame) -> Vec<Frame> {
        let mut frames = vec![innermost];
        let read = |address: u64| self.read_stack(process, address as usize).map(|word| word as u64);
        while let (Some(symbols), Some(&last)) = (&self.search.options.symbols, frames.last()) {
            let Some(caller) = symbols.caller(last, &read).filter(|_| frames.len() < MOST) else { break };
            let Some(place) = self.code(caller.place as usize) else { break };
            frames.push(Frame { place, ..caller });
        }
        frames
    }

    /// An address of the program's code, relative to where it is.
    fn code(&self, address: usize) -> Option<u64> {
        self.execution.image.extent.contains(&address).then(|| (address - self.execution.image.base) as u64)
    }

    /// The return addresses above where the running thread is, by frame pointers.
    pub(crate) fn trail(&self) -> Trail {
        let mut trail = Trail::default();
        let Some((_, mut base)) = self.registers_of(self.running()) else { return trail };
        for entry in &mut trail {
            let (Some(next), Some(place)) = (
                self.read_stack(self.running(), base),
                self.read_stack(self.running(), base.wrapping_add(8)),
            ) else {
                break;
            };
            let Some(place) = self.code(place) else { break };
            *entry = place as u32;
            if next <= base {
                break;
            }
            base = next;
        }
        trail
    }

    /// Of an allocation, the place of the program itself, rather than of a library that it calls.
    pub(crate) fn own_place(&self, place: usize, trail: &Trail) -> usize {
        let own = |&address: &usize| self.place(address).is_some_and(|place| !is_of_library(&place));
        let above = trail
            .iter()
            .take_while(|&&place| place != 0)
            .map(|&place| self.execution.image.base + place as usize);
        std::iter::once(place).chain(above).find(own).unwrap_or(place)
    }

    /// Where a thread is, in the program itself: the line that called the library, if the thread is in one.
    pub(crate) fn place_of(&self, process: ProcessId, place: usize) -> Option<Place> {
        let innermost = self.place(place).filter(|place| !is_of_library(place));
        innermost.or_else(|| self.first_own(&self.frames(process)))
    }

    /// The same of a thread that an instruction threw out, with the registers then.
    pub(crate) fn fault_place(
        &self,
        process: ProcessId,
        instruction: usize,
        (stack, base): (usize, usize),
    ) -> Option<Place> {
        // Places of calls are after them; that of a fault is the instruction.
        let frames = match self.code(instruction) {
            Some(at) => {
                self.frames_from(process, Frame { place: at + 1, stack: stack as u64, base: base as u64 })
            }
            // It is in a function of ours, or of a library, which the program called by a stub.
            None => self.frames_of_call(process, self.registers()),
        };
        self.first_own(&frames).or_else(|| self.place(instruction + 1))
    }

    /// The place of the innermost frame that is of the program itself.
    fn first_own(&self, frames: &[Frame]) -> Option<Place> {
        let symbols = self.search.options.symbols.as_ref()?;
        frames.iter().filter_map(|frame| symbols.place(frame.place)).find(|at| !is_of_library(at))
    }

    /// Whether a place is in a library.
    pub(crate) fn is_in_library(&self, place: usize) -> bool {
        self.place(place).is_some_and(|place| is_of_library(&place))
    }
}

/// Whether a place is in a file that came with the compiler or the system.
fn is_of_library(place: &Place) -> bool {
    let file = &place.file;
    file.starts_with("/usr/") || file.contains("/include/c++/") || file.contains("/mazurka-build-")
}
