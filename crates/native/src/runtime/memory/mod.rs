//! The memory of the program: where it lies, who may access it, and what is announced of it.

pub(crate) mod access;
pub(crate) mod bounds;
pub(crate) mod copies;
pub(crate) mod heap;
pub(crate) mod image;
pub(crate) mod indices;
pub(crate) mod layout;
pub(crate) mod leaks;
pub(crate) mod redzones;
pub(crate) mod shadow;
pub(crate) mod tls;
