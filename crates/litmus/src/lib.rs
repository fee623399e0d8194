//! Concurrent programs as data: the `.maz` language.
//!
//! A file is read by [`parse`] into a syntax tree ([`ast`]), printed back by [`print()`], checked and
//! compiled by [`compile`], and run as a [`Litmus`] program of `mazurka-program`. Whatever is wrong with a
//! file is a list of [`Diagnostic`]s, each with its place and a remedy. The language is described in
//! `docs/language.md`.

mod arithmetic;
pub mod ast;
mod code;
mod compile;
mod constraints;
mod dead;
mod lexer;
mod litmus;
mod machine;
mod parser;
mod printer;

pub use compile::compile;
pub use litmus::{LabelRules, Litmus};
pub use machine::LitmusRun;
pub use mazurka_syntax::{Diagnostic, Source, place};
pub use parser::parse;
pub use printer::{print, print_expr, print_stmt_head};

/// The diagnostics as a user reads them: what is wrong, the place, the line with a label, the remedy.
pub fn render(diagnostics: &[Diagnostic], source: &Source, color: bool) -> String {
    mazurka_syntax::render(diagnostics, std::slice::from_ref(source), color)
}
