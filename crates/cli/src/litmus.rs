//! The front end for `.maz` files.

use std::path::Path;

use clap::{CommandFactory, Parser};
use mazurka_constraints::{DeclaredRow, Settings, Standing, Table};
use mazurka_explore::{Algorithm, Options};
use mazurka_litmus::ast::{Ast, Item};
use mazurka_litmus::{Diagnostic, Litmus, Source, compile, parse, place, print_expr, render};
use mazurka_report::json::FileError;
use mazurka_report::{InternalError, Kept, Report, Subject, Watch, check_jobs, check_kept};

use crate::error::CommandError;
use crate::front_end::{self, Loaded, Request, Target};
use crate::{input, output};

/// The options of the front end for `.maz` files, after `--`.
#[derive(Debug, Parser)]
#[command(
    name = "mazurka",
    no_binary_name = true,
    disable_help_flag = true,
    override_usage = "mazurka check FILE.maz -- [--param NAME=VALUE] [--dead-variables]"
)]
struct LitmusOptions {
    /// Sets a `param` of the program
    #[arg(long = "param", value_name = "NAME=VALUE", value_parser = parameter)]
    params: Vec<(String, i64)>,

    /// Tell states without variables that no code that is left to run can read
    #[arg(long)]
    dead_variables: bool,
}

/// The front end for `.maz` files.
pub struct FrontEnd;

impl front_end::FrontEnd for FrontEnd {
    fn extensions(&self) -> &'static [&'static str] {
        &["maz"]
    }

    fn takes_several_files(&self) -> bool {
        false
    }

    fn options(&self) -> clap::Command {
        LitmusOptions::command()
    }

    fn can_be_resumed(&self) -> bool {
        true
    }

    fn load(&self, request: &Request<'_>) -> Result<Loaded, CommandError> {
        let LitmusOptions { params, dead_variables } =
            LitmusOptions::try_parse_from(request.options).map_err(|error| CommandError::of_usage(&error))?;
        front_end::refuse_repeated(params.iter().map(|(name, _)| name))?;
        let path = &request.files[0];
        let (ast, source) = parsed(path, request.text_of(path)?)?;
        check_names(&params, &ast)
            .map_err(|why| CommandError::input(format!("{}: {why}", path.display())).at(path.display()))?;
        let program = compile(&ast, &source, &params).map_err(|wrong| refusal(&wrong, &source))?;
        let program = program.with_solver(request.solver.clone());
        if !dead_variables {
            return Ok(Loaded::Here(Box::new(LitmusTarget(program))));
        }
        suits_dead_variables(request.algorithms)?;
        Ok(Loaded::Here(Box::new(LitmusTarget(program.without_dead_variables()))))
    }

    fn print(&self, file: &Path) -> Result<String, CommandError> {
        let (ast, _) = parsed(file, input::read_program(file)?)?;
        Ok(mazurka_litmus::print(&ast))
    }
}

struct LitmusTarget(Litmus);

impl Target for LitmusTarget {
    type Program = Litmus;

    fn program(&self) -> &Litmus {
        &self.0
    }

    fn check_jobs(
        &self,
        subject: Subject,
        algorithm: Algorithm,
        options: &Options,
        workers: usize,
        watch: &mut Watch<'_>,
        kept: Option<Kept<'_>>,
    ) -> Option<Result<Report, InternalError>> {
        let program = self.program();
        match kept {
            Some(kept) => Some(check_kept(program, subject, options, workers, watch, kept)),
            None => check_jobs(program, subject, algorithm, options, workers, watch),
        }
    }

    fn add_to(&self, report: &mut Report) -> Result<(), CommandError> {
        report.notes.extend(self.0.solver_complaint());
        for DeclaredRow { text, line, standing } in self.0.open_constraints() {
            let Standing::Open(why) = standing else { continue };
            report.notes.push(format!(
                "`{text}` (line {line}) is not proved, since {why}: both orders were run where both blocks came to be next"
            ));
        }
        Ok(())
    }

    fn constraints(&self, settings: &Settings) -> Option<Table> {
        Some(self.0.constraints(settings))
    }
}

/// The text of a file, read.
fn parsed(path: &Path, text: String) -> Result<(Ast, Source), CommandError> {
    let source = Source { name: path.display().to_string(), text };
    match parse(&source) {
        Ok(ast) => Ok((ast, source)),
        Err(diagnostics) => Err(refusal(&diagnostics, &source)),
    }
}

/// What is wrong with a file. There is at least one thing.
fn refusal(diagnostics: &[Diagnostic], source: &Source) -> CommandError {
    let json = |diagnostic: &Diagnostic| {
        let (line, column) = place(source, diagnostic.span);
        FileError {
            message: diagnostic.message.clone(),
            location: Some(format!("{}:{line}:{column}", source.name)),
            help: diagnostic.help.clone(),
        }
    };
    let rendered = render(diagnostics, source, output::colour_on_stderr());
    CommandError::of_diagnostics(diagnostics.iter().map(json).collect(), rendered)
}

/// Only `convergent` is known to be right where states are equal but for dead variables.
pub fn suits_dead_variables(algorithms: &[Algorithm]) -> Result<(), CommandError> {
    match algorithms.iter().find(|&&algorithm| algorithm != Algorithm::Convergent) {
        None => Ok(()),
        Some(algorithm) => Err(CommandError::unsupported(format!(
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
    let listed: Vec<String> = declared.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    let there_are = match listed.len() {
        0 => "it has none; `param n = 3;` at the top of it declares one".to_owned(),
        1 => format!("it has one: {}", listed[0]),
        _ => format!("it has: {}", listed.join(", ")),
    };
    let what = if unknown.len() == 1 { "no such parameter" } else { "no such parameters" };
    Err(format!("{}: the program has {what}; {there_are}", unknown.join(" ")))
}

fn parameter(text: &str) -> Result<(String, i64), String> {
    let (name, value) = front_end::parameter(text)?;
    let value = value.parse().map_err(|_| format!("{value} is not a whole number of 64 bits"))?;
    Ok((name, value))
}
