//! Parts of a search, and what came of them, as bytes: for a journal, for other machines, for other processes.
//!
//! [`encoding`] says how, on std alone, so that the library that programs are tested with can use it too.
//! [`Keeper`] keeps a search in a journal that way; processes that share one speak [`protocol`], in [`frames`].
//! [`build`] tells builds of one program apart.

pub mod build;
pub mod encoding;
pub mod frames;
mod keeper;
pub mod protocol;

pub use keeper::{DAMAGED, Keeper, LONG};
