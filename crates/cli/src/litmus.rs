//! The front end for `.maz` files: its options, and from a file to a program.

use std::path::Path;

use clap::Parser;
use mazurka_litmus::{Litmus, Source, ast::Ast, compile, parse};

use crate::input;
use crate::trouble::Trouble;

/// The options of the front end for `.maz` files, after `--`.
#[derive(Debug, Parser)]
#[command(name = "mazurka check FILE.maz --", no_binary_name = true, disable_help_flag = true)]
pub struct LitmusOptions {
    /// Sets a `param` of the program
    #[arg(long = "param", value_name = "NAME=VALUE", value_parser = parameter)]
    pub params: Vec<(String, i64)>,
}

/// A file, read.
pub fn read(path: &Path) -> Result<(Ast, Source), Trouble> {
    let source = Source { name: path.display().to_string(), text: input::read_program(path)? };
    match parse(&source) {
        Ok(ast) => Ok((ast, source)),
        Err(diagnostics) => Err(Trouble::of_file(diagnostics, source)),
    }
}

/// A file, ready to be run.
pub fn load(path: &Path, options: &[String]) -> Result<Litmus, Trouble> {
    let LitmusOptions { params } =
        LitmusOptions::try_parse_from(options).map_err(|error| Trouble::of_usage(&error))?;
    for (at, (name, _)) in params.iter().enumerate() {
        if params[..at].iter().any(|(other, _)| other == name) {
            return Err(Trouble::input(format!("--param {name} is given twice")));
        }
    }
    let (ast, source) = read(path)?;
    compile(&ast, &source, &params).map_err(|diagnostics| Trouble::of_file(diagnostics, source))
}

fn parameter(text: &str) -> Result<(String, i64), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE, such as n=3")?;
    let value = value.trim().parse().map_err(|_| format!("{value} is not a whole number of 64 bits"))?;
    Ok((name.trim().to_owned(), value))
}
