//! Functions without a meaning: which are the same, and what they are called.
//!
//! Two are the same only if they are the same thing of the program. A name does not tell: a program may have a `max`
//! of its own, which is not that of the standard library, or a `plus`, which is no operator.

use std::collections::BTreeMap;

use crate::model::{FunctionId, Model};

use super::line;

/// Functions of the standard library that have a value whatever they are given.
const TOTAL: [&str; 22] = [
    "length",
    "isEmpty",
    "appendright",
    "concatenate",
    "reverse",
    "copy",
    "without",
    "max",
    "min",
    "abs",
    "contains",
    "insertElement",
    "remove",
    "union",
    "intersection",
    "difference",
    "size",
    "put",
    "lookupDefault",
    "removeKey",
    "toString",
    "keys",
];

/// The place of the standard library among the files of a program.
const LIBRARY: u32 = 0;

/// Whether a function has a value whatever it is given.
pub(super) fn is_total(model: &Model, function: FunctionId) -> bool {
    let function = &model.functions[function.index()];
    function.span.file == LIBRARY && TOTAL.contains(&function.name.as_str())
}

/// A function without a meaning.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Function {
    /// Of the language: an operator, `this`.
    Word(&'static str),
    Null,
    Text(String),
    Constructor(u32),
    /// What a function of the program gives, and whether it does: 1 then.
    Value(FunctionId),
    Defined(FunctionId),
    /// A part of a loop, which begins at a place of a file.
    Loop(Part, u32, u32),
}

/// What a loop does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    /// What it tells others.
    Calls,
    /// Whether it comes to its end: 1 then.
    Ends,
    /// What it leaves in a field or a variable, by number.
    Field(u32),
    Slot(u32),
}

/// A loop of a method: where it is, and what it mentions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Loop {
    /// The method, by number.
    pub method: u32,
    /// Where the loop begins.
    pub file: u32,
    pub start: u32,
    /// The variables that are set before it, and the fields.
    pub slots: Vec<u32>,
    pub fields: Vec<u32>,
}

/// What a function stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// No object.
    Null,
    /// Whether a loop comes to its end: 1 if it does. Its arguments are variables, then fields.
    Ends(Loop),
}

/// The functions without a meaning of a program.
#[derive(Debug, Default)]
pub(super) struct Functions {
    /// What they are called, by number.
    pub names: Vec<String>,
    numbers: BTreeMap<Function, u32>,
    /// By number: what those are that somebody can find out.
    pub meanings: BTreeMap<u32, Meaning>,
}

impl Functions {
    /// The number of a function of a method.
    pub fn number(&mut self, model: &Model, method: u32, function: Function) -> u32 {
        if let Some(&known) = self.numbers.get(&function) {
            return known;
        }
        let number = self.names.len() as u32;
        self.names.push(name(model, method, &function));
        self.numbers.insert(function, number);
        number
    }
}

/// What a function is called. It is followed by what it is given.
fn name(model: &Model, method: u32, function: &Function) -> String {
    let named = |function: &FunctionId| model.functions[function.index()].name.clone();
    match function {
        Function::Word(word) => (*word).to_owned(),
        Function::Null => "null".to_owned(),
        Function::Text(text) => format!("{text:?}"),
        Function::Constructor(at) => model.constructors[*at as usize].name.clone(),
        Function::Value(function) => named(function),
        Function::Defined(function) => format!("defined {}", named(function)),
        Function::Loop(part, file, start) => {
            let method = &model.methods[method as usize];
            let fields = &model.classes[method.class.index()].fields;
            let at = format!("the loop of line {}", line(model, *file, *start));
            match part {
                Part::Calls => format!("the calls of {at}"),
                Part::Ends => format!("the end of {at}"),
                Part::Field(field) => format!("{} after {at}", fields[*field as usize].name),
                Part::Slot(slot) => format!("{} after {at}", method.body.slots[*slot as usize]),
            }
        }
    }
}
