//! As [`std::task`]: what is there is the standard library's. [`Waker`]s are made of a
//! [`sync::Arc`](crate::sync::Arc) of what implements [`Wake`], as of one of the standard library's; its
//! methods are given one of these. How tasks run within a check is in [`future`](crate::future).

pub use std::task::{Context, Poll, RawWaker, RawWakerVTable, Wake, Waker, ready};
