//! The core: threads as coroutines, their operations, and the executions that a search asks for.

pub(crate) mod arrive;
mod joint;
pub(super) mod knowledge;
pub(crate) mod objects;
pub(crate) mod operation;
mod portable;
pub(crate) mod private_loop;
pub(crate) mod races;
pub(crate) mod returns;
pub(crate) mod rounds;
pub(crate) mod run;
pub(crate) mod runtime;
pub(crate) mod script;
pub(crate) mod selfcheck;
pub(crate) mod snapshot;
pub(crate) mod spin;
pub(crate) mod steps;
pub(crate) mod stops;
pub(crate) mod thread;
pub(crate) mod written;
