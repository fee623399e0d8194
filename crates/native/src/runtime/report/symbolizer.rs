//! What the runtime asks of the debugging information of a program.
//!
//! Addresses of code and of variables are relative to where the object is loaded; those on stacks are as they are.

use mazurka_program::Place;

/// A function that is being run: where it goes on, and its registers there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The address that the call returns to.
    pub place: u64,
    /// The stack pointer after that.
    pub stack: u64,
    /// The register that mostly points to the frame (`rbp`).
    pub base: u64,
}

/// Memory of the program, by what it is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spot {
    /// A variable with a fixed address.
    Variable {
        /// The address.
        address: u64,
    },
    /// A variable of a function that is being run.
    Local {
        /// The function.
        frame: Frame,
        /// The address, on a stack.
        address: u64,
    },
    /// A part of a block of the heap.
    Block {
        /// Where the call that allocated it returned to.
        place: u64,
        /// The size of the block.
        size: u64,
        /// Where in the block.
        offset: u64,
    },
}

/// Tells places and names of addresses, from the debugging information of a program.
pub trait Symbolizer {
    /// Where in the source the instruction before an address is.
    fn place(&self, address: u64) -> Option<Place>;

    /// The name of the variable, field or element of so many bytes.
    fn name(&self, spot: &Spot, size: u64) -> Option<String>;

    /// Bytes as a value of what is there.
    fn value(&self, _spot: &Spot, _bytes: &[u8]) -> Option<String> {
        None
    }

    /// The name of the function at an address.
    fn function(&self, address: u64) -> Option<String>;

    /// The name of what begins at an address or has it, as the linker knows it.
    fn symbol(&self, _address: u64) -> Option<String> {
        None
    }

    /// The function that called one; `read` gives 8 bytes of the stack.
    fn caller(&self, _frame: Frame, _read: &dyn Fn(u64) -> Option<u64>) -> Option<Frame> {
        None
    }
}
