//! ABS: programs of active objects.
//!
//! [`mod@model`] is what the two halves of this crate agree on: the language half (lexer, parser, resolver, types) turns
//! text into a [`model::Model`], and the machine runs one.

pub mod model;
