//! What surrounds the program: calls that are bound to functions of ours, exits, signals, time, limits.

pub(crate) mod choice;
pub(crate) mod exit;
pub(crate) mod hang;
pub(crate) mod limits;
pub(crate) mod registry;
pub(crate) mod signals;
pub(crate) mod stdio;
pub(crate) mod stubs;
pub(crate) mod time;
pub(crate) mod user;
