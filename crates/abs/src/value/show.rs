//! Values as terms of ABS.

use std::fmt::Write;

use super::{Closure, Reference, Value};

/// Who knows what things are called.
pub trait Names {
    /// The name of a constructor.
    fn constructor(&self, id: u32) -> &str;
    /// The name of an object: `NodeImp_3`.
    fn object(&self, object: &Reference) -> String;
    /// The name of a future: that of its task.
    fn future(&self, future: &Reference) -> String;
    /// The constructors of lists, `Nil` and `Cons`: lists are shown as `list[..]`.
    fn list(&self) -> (u32, u32);
}

/// What is left to be shown.
enum Piece<'a> {
    Value(&'a Value),
    Text(&'static str),
}

/// A value as a term.
pub fn show(value: &Value, names: &dyn Names) -> String {
    let mut out = String::new();
    let mut rest = vec![Piece::Value(value)];
    while let Some(piece) = rest.pop() {
        match piece {
            Piece::Text(text) => out.push_str(text),
            Piece::Value(value) => show_one(value, names, &mut out, &mut rest),
        }
    }
    out
}

fn show_one<'a>(value: &'a Value, names: &dyn Names, out: &mut String, rest: &mut Vec<Piece<'a>>) {
    // Writing to a text can't fail.
    let _ = match value {
        Value::Unit => write!(out, "Unit"),
        Value::Bool(true) => write!(out, "True"),
        Value::Bool(false) => write!(out, "False"),
        Value::Int(n) => write!(out, "{n}"),
        Value::Big(n) => write!(out, "{n}"),
        Value::Rat(rat) => write!(out, "{}/{}", rat.0, rat.1),
        Value::Text(text) => write!(out, "{text:?}"),
        Value::Null => write!(out, "null"),
        Value::Object(object) => write!(out, "{}", names.object(object)),
        Value::Future(future) => write!(out, "{}", names.future(future)),
        Value::Closure(closure) => match **closure {
            Closure::Function(id) => write!(out, "function {id}"),
            Closure::Lambda { index, .. } => write!(out, "lambda {index}"),
        },
        Value::Atom(_) | Value::Data(_) => {
            show_data(value, names, out, rest);
            Ok(())
        }
        Value::Set(set) => {
            out.push_str("set[");
            enclose(set.iter().map(|value| vec![Piece::Value(value)]), "]", rest);
            Ok(())
        }
        Value::Map(map) => {
            out.push_str("map[");
            let pairs = map.iter().map(|(key, value)| {
                vec![
                    Piece::Text("Pair("),
                    Piece::Value(key),
                    Piece::Text(", "),
                    Piece::Value(value),
                    Piece::Text(")"),
                ]
            });
            enclose(pairs, "]", rest);
            Ok(())
        }
    };
}

fn show_data<'a>(value: &'a Value, names: &dyn Names, out: &mut String, rest: &mut Vec<Piece<'a>>) {
    let Some((tag, arguments)) = value.as_data() else { return };
    let (nil, cons) = names.list();
    if tag.id == nil {
        out.push_str("Nil");
        return;
    }
    if let Some(elements) = list_elements(value, nil, cons) {
        out.push_str("list[");
        enclose(elements.into_iter().map(|value| vec![Piece::Value(value)]), "]", rest);
        return;
    }
    out.push_str(names.constructor(tag.id));
    if !arguments.is_empty() {
        out.push('(');
        enclose(arguments.iter().map(|value| vec![Piece::Value(value)]), ")", rest);
    }
}

/// The elements of a list.
fn list_elements(mut value: &Value, nil: u32, cons: u32) -> Option<Vec<&Value>> {
    let mut elements = Vec::new();
    loop {
        match value.as_data()? {
            (tag, [head, tail]) if tag.id == cons => {
                elements.push(head);
                value = tail;
            }
            (tag, []) if tag.id == nil => return Some(elements),
            _ => return None,
        }
    }
}

/// Plans the parts, with commas between them, and what closes them.
fn enclose<'a>(
    parts: impl DoubleEndedIterator<Item = Vec<Piece<'a>>>,
    close: &'static str,
    rest: &mut Vec<Piece<'a>>,
) {
    rest.push(Piece::Text(close));
    let mut parts = parts.rev().peekable();
    while let Some(part) = parts.next() {
        rest.extend(part.into_iter().rev());
        if parts.peek().is_some() {
            rest.push(Piece::Text(", "));
        }
    }
}
