//! Parameters: other initial values for variables of the main block, given from outside.

use mazurka_syntax::Diagnostic;

use super::ast::{Block, Expr, StatementKind};
use super::compiler::Compiler;
use super::effect::is_effect;
use super::parser::parse_expr;
use crate::model::Span;

/// A parameter that is given.
pub(crate) struct GivenParameter<'a> {
    pub(crate) name: &'a str,
    pub(crate) value: Expr<'a>,
    span: Span,
}

/// Reads the values; each is a file of its own.
pub(crate) fn parse<'a>(
    first_file: u32,
    parameters: &'a [(String, String)],
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<GivenParameter<'a>> {
    let mut given: Vec<GivenParameter<'a>> = Vec::new();
    for (file, (name, text)) in (first_file..).zip(parameters) {
        let span = Span { file, start: 0, end: text.len() as u32 };
        if given.iter().any(|other| other.name == name) {
            diagnostics.push(Diagnostic::new(span, format!("the parameter `{name}` is given twice")));
            continue;
        }
        match parse_expr(file, text) {
            Ok(value) if is_effect(&value) => {
                let diagnostic = Diagnostic::new(span, format!("the parameter `{name}` has an effect"));
                diagnostics.push(diagnostic.label("expected an expression without effects"));
            }
            Ok(value) => given.push(GivenParameter { name, value, span }),
            Err(mut wrong) => diagnostics.append(&mut wrong),
        }
    }
    given
}

/// Reports parameters that no variable of the main block has, and says which could be given.
pub(crate) fn check(compiler: &mut Compiler, given: &[GivenParameter]) {
    let mains: Vec<&Block> = compiler.modules.iter().filter_map(|module| module.main.as_ref()).collect();
    let [main] = mains[..] else { return };
    let variables = main.statements.iter().filter_map(|statement| match &statement.kind {
        StatementKind::Declare(_, name, Some(value)) if !is_effect(value) => Some(name.text),
        _ => None,
    });
    let variables: Vec<&str> = variables.collect();
    for unknown in given.iter().filter(|given| !variables.contains(&given.name)) {
        let message = format!("the program has no parameter `{}`", unknown.name);
        let there_are = match variables.as_slice() {
            [] => "it has none; `Int n = 3;` at the top of the main block declares one".to_string(),
            [one] => format!("it has one: {one}"),
            several => format!("it has: {}", several.join(", ")),
        };
        compiler.report(Diagnostic::new(unknown.span, message).label("unknown parameter").help(there_are));
    }
}
