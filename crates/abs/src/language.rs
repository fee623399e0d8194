//! The language: from text to a [`Model`].
//!
//! Files are cut into tokens and parsed into syntax trees; what is wrong there is reported, and nothing else.
//! Then all modules together are given their meaning: names are found, types checked, and everything is
//! lowered on the way. What is wrong there is reported too, as much as can be told apart, without going on
//! about what follows from it.

mod accessor;
mod apply;
mod ast;
mod body;
mod class;
mod compiler;
mod declare;
mod effect;
mod expr;
mod lexer;
mod library;
mod parameters;
mod parser;
mod pattern;
mod refuse;
mod signature;
mod stmt;
mod suggest;
mod traits;
mod types;
mod world;

use compiler::Compiler;
use mazurka_syntax::MOST_ERRORS;
pub use mazurka_syntax::{Diagnostic, Source, place, render};

use crate::model::{Model, Span};

/// A dialect of the language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// As the manual describes it: `new C()` makes a cog, `new local C()` does not, `Int / Int` is a `Rat`.
    Current,
    /// As it was: `new cog C()` makes a cog, `new C()` does not, `Int / Int` is an `Int`.
    Legacy,
}

/// How a program is read.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// None: found out. A program that has `new cog` is of the legacy dialect. Other old forms (`~` for `!`,
    /// `case` as a statement, `if c then a else b`) say nothing about what `new` means, and are of both.
    pub dialect: Option<Dialect>,
    /// Other initial values for variables that are declared at the top level of the main block: name and
    /// expression.
    pub parameters: Vec<(String, String)>,
}

/// The files that places of [`Diagnostic`]s and of the model are in: the standard library, the sources, the
/// parameters.
pub fn files(sources: &[Source], options: &Options) -> Vec<Source> {
    let library = Source { name: "ABS.StdLib".to_string(), text: library::TEXT.to_string() };
    let parameters = options
        .parameters
        .iter()
        .map(|(name, text)| Source { name: format!("--param {name}"), text: text.clone() });
    std::iter::once(library).chain(sources.iter().cloned()).chain(parameters).collect()
}

/// Checks a program and lowers it.
///
/// # Errors
///
/// Whatever is wrong with it, in the order of the files and the places; never empty. Places are in [`files`].
pub fn compile(sources: &[Source], options: &Options) -> Result<Model, Vec<Diagnostic>> {
    let mut modules = Vec::new();
    let mut diagnostics = Vec::new();
    let mut legacy = false;
    for (number, source) in (1..).zip(sources) {
        let mut parsed = parser::parse(number, &source.text);
        modules.append(&mut parsed.modules);
        diagnostics.append(&mut parsed.diagnostics);
        legacy |= parsed.legacy;
    }
    let parameters = parameters::parse(sources.len() as u32 + 1, &options.parameters, &mut diagnostics);
    if sources.is_empty() {
        diagnostics.push(Diagnostic::new(Span::default(), "there is no program: no file is given"));
    }
    if !diagnostics.is_empty() {
        return Err(sorted(diagnostics));
    }
    let dialect = options.dialect.unwrap_or(if legacy { Dialect::Legacy } else { Dialect::Current });
    let (base, known) = library::library();
    let mut compiler = Compiler::new(base.clone(), &modules, dialect);
    compiler.program();
    parameters::check(&mut compiler, &parameters);
    let main = compiler.main(&parameters.iter().map(|given| (given.name, given.value.clone())).collect());
    let Some(main) = main.filter(|_| compiler.diagnostics.is_empty()) else {
        return Err(sorted(compiler.diagnostics));
    };
    let interface = |info: &world::InterfaceInfo| crate::model::Interface { name: info.name.clone() };
    Ok(Model {
        files: files(sources, options),
        constructors: compiler.constructors,
        known: *known,
        functions: compiler.lowered.into_iter().flatten().collect(),
        interfaces: compiler.world.interfaces.iter().map(interface).collect(),
        classes: compiler.model_classes,
        methods: compiler.methods,
        method_names: compiler.world.method_names,
        main,
    })
}

fn sorted(mut diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
    diagnostics.sort_by_key(|diagnostic| (diagnostic.span.file, diagnostic.span.start));
    diagnostics.truncate(MOST_ERRORS);
    diagnostics
}
