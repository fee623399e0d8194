//! ABS: programs of active objects.
//!
//! [`mod@model`] is what the two halves of this crate agree on: the language half (lexer, parser, resolver,
//! types) turns text into a [`model::Model`], and the machine runs one.

mod constraints;
pub mod language;
pub mod model;

mod machine;
pub mod value;

pub use constraints::{constraints, declared};
pub use language::{Diagnostic, Dialect, Options, Source, compile, files, place, render};

pub use machine::{
    Abs, AbsRun, AwaitTrue, CallMade, Dependence, ObjectOrder, SegmentEnd, SegmentRecord, SegmentStart,
    Settings, TaskOrder, Uncaught,
};
