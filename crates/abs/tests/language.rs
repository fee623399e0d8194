//! The language: which programs are accepted, what they become, and what is said about wrong ones.

mod accepted;
mod limits;
mod lowering;
mod wrong;

use mazurka_abs::language::{Options, Source, compile, files, render};
use mazurka_abs::model::Model;

/// A program of one file, or what is wrong with it as a user reads it.
fn try_compile(text: &str, options: &Options) -> Result<Model, String> {
    let sources = [Source { name: "t.abs".to_string(), text: text.to_string() }];
    compile(&sources, options).map_err(|diagnostics| render(&diagnostics, &files(&sources, options), false))
}

/// A program of one file that is right.
fn model(text: &str) -> Model {
    try_compile(text, &Options::default()).unwrap_or_else(|wrong| panic!("{text}\n{wrong}"))
}
