//! Declared constraints (`[Commutes: m, When: e]`): whether they are proved, a state refutes them, or neither can be
//! told from the text.
//!
//! One says of two methods of an object that both orders of them agree, whatever their arguments, in every state of
//! the object in which its condition holds: up to where each waits first, and up to who creates what. Searches
//! know more than that by themselves, so nothing relies on it.

use mazurka_constraints::{Creation, DeclaredRow, Settings, Standing, compose, refute};
use mazurka_smt::{Formula, Work};

use super::extract::{condition, extract, own};
use super::functions::Functions;
use super::line;
use crate::model::{Class, Commutes, Method, MethodId, Model, Sort, Span};

/// How much may be done for one.
const WORK: u64 = 1_000_000;

/// A constraint that is declared: the method that it stands before, and what it says.
pub(crate) type Declaration<'a> = (MethodId, &'a Commutes);

/// What is declared in a program, in the order of the source, with its places.
pub fn declared(model: &Model) -> Vec<(DeclaredRow, Span)> {
    judged(model).into_iter().map(|(row, (_, commutes))| (row, commutes.span)).collect()
}

/// The same, with what it was made from.
pub(crate) fn judged(model: &Model) -> Vec<(DeclaredRow, Declaration<'_>)> {
    let mut rows = Vec::new();
    for (at, class) in model.classes.iter().enumerate() {
        for &(_, method) in &class.methods {
            for commutes in &model.methods[method.index()].commutes {
                let standing = judge(model, at, method, commutes).unwrap_or_else(Standing::Open);
                let text = text(model, class, method, commutes);
                let line = line(model, commutes.span.file, commutes.span.start);
                rows.push((DeclaredRow { text, line, standing }, (method, commutes)));
            }
        }
    }
    rows.sort_by_key(|(_, (_, commutes))| (commutes.span.file, commutes.span.start));
    rows
}

fn text(model: &Model, class: &Class, method: MethodId, commutes: &Commutes) -> String {
    let name = |method: MethodId| &model.methods[method.index()].name;
    let source =
        |span: Span| model.files.get(span.file as usize)?.text.get(span.start as usize..span.end as usize);
    let condition = commutes.condition.as_ref().and_then(|condition| source(condition.span));
    let condition = condition.map_or(String::new(), |condition| format!(", When: {condition}"));
    format!("[Commutes: {}{condition}] {}.{}", name(commutes.with), class.name, name(method))
}

fn judge(model: &Model, class: usize, method: MethodId, commutes: &Commutes) -> Result<Standing, String> {
    let mut functions = Functions::default();
    let holds = match &commutes.condition {
        Some(expr) => {
            condition(model, class, expr, &mut functions).map_err(|why| format!("its condition {why}"))?
        }
        None => Formula::True,
    };
    let mut block = |method: MethodId| {
        let block = extract(model, class, method, &mut functions).0;
        block.map_err(|why| format!("{} {why}", model.methods[method.index()].name))
    };
    let (first, second) = (block(method)?, block(commutes.with)?);
    let settings = Settings { work: WORK, ..Settings::default() };
    let pair = compose(&first, &second, Creation::Anyone, &mut Work(settings.work))?;
    let Some(state) = refute(&pair, &holds, &settings)? else { return Ok(Standing::Proved) };
    let methods = [method, commutes.with].map(|method| &model.methods[method.index()]);
    let known = variables(&model.classes[class], methods);
    let mut told = Vec::new();
    for var in pair.differ.vars() {
        let is_it = |known: &&(u32, String, Sort)| known.0 == var.0;
        let Some((_, name, sort)) = known.iter().find(is_it).filter(|(_, _, sort)| *sort != Sort::Other)
        else {
            return Err("it depends on values, or functions, of which nothing is known".to_owned());
        };
        told.push(match (sort, state.value(var)) {
            (Sort::Bool, value) => format!("{name} = {}", if value == 1 { "True" } else { "False" }),
            (_, value) => format!("{name} = {value}"),
        });
    }
    let state =
        if told.is_empty() { "in every state".to_owned() } else { format!("where {}", told.join(", ")) };
    let [one, other] = methods.map(|method| &method.name);
    Ok(Standing::Refuted(format!("{state}: {one} before {other} and {other} before {one} end differently")))
}

/// The variables of a pair that a state has: fields, and the arguments of both methods. The second method's names
/// are told from the first's by a 1, as papers do.
fn variables(class: &Class, methods: [&Method; 2]) -> Vec<(u32, String, Sort)> {
    let fields = class.fields.iter().map(|field| (field.name.clone(), field.sort));
    let mut known: Vec<(u32, String, Sort)> =
        fields.enumerate().map(|(at, (name, sort))| (at as u32, name, sort)).collect();
    let mut first = known.len() as u32;
    for method in methods {
        for (at, (name, &sort)) in method.body.slots.iter().zip(&method.sorts).enumerate() {
            let taken = known.iter().any(|(_, other, _)| other == name);
            let name = if taken { format!("{name}1") } else { name.clone() };
            known.push((first + at as u32, name, sort));
        }
        first += own(method);
    }
    known
}
