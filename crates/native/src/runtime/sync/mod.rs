//! What threads synchronise with: the functions of pthreads, C11 and compilers.

pub(crate) mod assembly;
pub(crate) mod atomic;
pub(crate) mod attributes;
pub(crate) mod barrier;
pub(crate) mod condition;
pub(crate) mod futex;
pub(crate) mod lifetime;
pub(crate) mod locks;
pub(crate) mod mutex;
pub(crate) mod once;
pub(crate) mod semaphore;
pub(crate) mod several;
pub(crate) mod threads;
pub(crate) mod wide;
