//! How failures are told: names of objects, calls and places in the source.

pub(crate) mod explain;
pub(crate) mod frames;
pub(crate) mod naming;
