//! Parts of a search, and what came of them, as bytes: for a journal, for other machines, for other processes.
//!
//! [`encoding`] says how, on std alone, so that the library that programs are tested with can use it too.
//! [`Keeper`] keeps a search in a journal that way.

pub mod encoding;
mod keeper;

pub use keeper::{DAMAGED, Keeper, LONG};
