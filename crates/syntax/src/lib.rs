//! What the front ends that read a language of their own share: source files and places in them, diagnostics
//! with excerpts, and the cursor over tokens that a parser by recursive descent moves.
//!
//! A language brings its tokens ([`Token`], derived by `logos`), its grammar ([`RecursiveDescent`] over a
//! [`Cursor`]) and its own words; nothing here knows of a language.

mod cursor;
mod diagnostic;
mod lexer;
mod source;
mod suggest;

pub use cursor::{Cursor, MOST_HEIGHT, Parsed, RecursiveDescent, Reported, abbreviated};
pub use diagnostic::{Diagnostic, MOST_ERRORS, render};
pub use lexer::{Fault, Lexeme, Malformed, Token, TokenWords, comment, digits, quoted, scan, unescape};
pub use source::{Source, Span, place};
pub use suggest::distance;
