//! Memory of a program as its debugging information knows it: by what the memory is part of.

/// A function that is being run: where it goes on, and its registers there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The address that the call returns to, relative to where the object is loaded.
    pub place: u64,
    /// The stack pointer after that.
    pub stack: u64,
    /// The register that mostly points to the frame (`rbp`).
    pub base: u64,
}

/// Some memory, by how long it is there, as the standards of C and C++ have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    /// Part of a variable with a fixed address.
    Static {
        /// The address, relative to where the object is loaded.
        address: u64,
    },
    /// Part of a variable of a function that is being run.
    Automatic {
        /// The function.
        frame: Frame,
        /// The address, on a stack.
        address: u64,
    },
    /// Part of a block of the heap.
    Allocated {
        /// Where the call that allocated it, or of a function that did, returned to, relative to where the
        /// object is loaded.
        place: u64,
        /// The same within the function that was called there; as `place` if that is none of the program's.
        callee: u64,
        /// The size of the block.
        size: u64,
        /// Where in the block.
        offset: u64,
    },
}
