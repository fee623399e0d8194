//! The front end for `.maz` files: its options, and from a file to a program.

use std::path::Path;

use clap::Parser;
use mazurka_explore::Algorithm;
use mazurka_litmus::ast::{Ast, Item};
use mazurka_litmus::{Litmus, Source, compile, parse, print_expr};

use crate::input;
use crate::trouble::Trouble;

/// The options of the front end for `.maz` files, after `--`.
#[derive(Debug, Parser)]
#[command(
    name = "mazurka",
    no_binary_name = true,
    disable_help_flag = true,
    override_usage = "mazurka check FILE.maz -- [--param NAME=VALUE] [--dead-variables]"
)]
pub struct LitmusOptions {
    /// Sets a `param` of the program
    #[arg(long = "param", value_name = "NAME=VALUE", value_parser = parameter)]
    pub params: Vec<(String, i64)>,

    /// Tell states without variables that no code that is left to run can read
    #[arg(long)]
    pub dead_variables: bool,
}

/// A file, read.
pub fn read(path: &Path) -> Result<(Ast, Source), Trouble> {
    let source = Source { name: path.display().to_string(), text: input::read_program(path)? };
    match parse(&source) {
        Ok(ast) => Ok((ast, source)),
        Err(diagnostics) => Err(Trouble::of_file(&diagnostics, &source)),
    }
}

/// A file, ready to be run.
pub fn load(path: &Path, options: &[String]) -> Result<Litmus, Trouble> {
    let LitmusOptions { params, dead_variables } =
        LitmusOptions::try_parse_from(options).map_err(|error| Trouble::of_usage(&error))?;
    for (at, (name, _)) in params.iter().enumerate() {
        if params[..at].iter().any(|(other, _)| other == name) {
            return Err(Trouble::input(format!("--param {name} is given twice")));
        }
    }
    let (ast, source) = read(path)?;
    check_names(&params, &ast)
        .map_err(|why| Trouble::input(format!("{}: {why}", path.display())).at(path.display()))?;
    let program =
        compile(&ast, &source, &params).map_err(|diagnostics| Trouble::of_file(&diagnostics, &source))?;
    Ok(if dead_variables { program.without_dead_variables() } else { program })
}

/// Complains of an algorithm for which states without dead variables were asked.
pub fn suit(program: &Litmus, algorithm: Algorithm) -> Result<(), Trouble> {
    if program.forgets_dead_variables() { suits_dead_variables(algorithm) } else { Ok(()) }
}

/// Only `convergent` is known to be right where states are equal but for dead variables.
pub fn suits_dead_variables(algorithm: Algorithm) -> Result<(), Trouble> {
    match algorithm {
        Algorithm::Convergent => Ok(()),
        _ => Err(Trouble::unsupported(format!(
            "--dead-variables is for convergent, which merges states; {algorithm} can't have it"
        ))),
    }
}

/// Complains of names that are no parameter's, and says which there are.
fn check_names(params: &[(String, i64)], ast: &Ast) -> Result<(), String> {
    let declared: Vec<(&str, String)> = ast
        .items
        .iter()
        .filter_map(|item| match item {
            Item::Param(name, value) => Some((name.text.as_str(), print_expr(value))),
            _ => None,
        })
        .collect();
    let unknown: Vec<String> = params
        .iter()
        .filter(|(name, _)| !declared.iter().any(|(known, _)| known == name))
        .map(|(name, value)| format!("--param {name}={value}"))
        .collect();
    if unknown.is_empty() {
        return Ok(());
    }
    let told: Vec<String> = declared.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    let there_are = match told.len() {
        0 => "it has none; `param n = 3;` at the top of it declares one".to_owned(),
        1 => format!("it has one: {}", told[0]),
        _ => format!("it has: {}", told.join(", ")),
    };
    let what = if unknown.len() == 1 { "no such parameter" } else { "no such parameters" };
    Err(format!("{}: the program has {what}; {there_are}", unknown.join(" ")))
}

fn parameter(text: &str) -> Result<(String, i64), String> {
    let wrong = "expected NAME=VALUE, such as n=3";
    let (name, value) = text.split_once('=').ok_or(wrong)?;
    let (name, value) = (name.trim(), value.trim());
    if name.is_empty() || value.is_empty() {
        return Err(wrong.to_owned());
    }
    let value = value.parse().map_err(|_| format!("{value} is not a whole number of 64 bits"))?;
    Ok((name.to_owned(), value))
}
