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
    /// The constructors of lists and maps, which are shown as `list[..]` and `map[..]`.
    fn sequences(&self) -> Sequences;
}

/// The constructors of what is shown as a sequence: of nothing, and of a first part and the rest.
#[derive(Clone, Copy, Debug)]
pub struct Sequences {
    /// `Nil` and `Cons`
    pub list: (u32, u32),
    /// `EmptyMap` and `InsertAssoc`
    pub map: (u32, u32),
}

/// What is left to be shown.
enum Piece<'a> {
    Value(&'a Value),
    Text(&'static str),
}

/// A value as a term, for people: on one line, whatever its texts are.
pub fn show(value: &Value, names: &dyn Names) -> String {
    show_with(value, names, |text| format!("{text:?}"))
}

/// What `toString` gives, as the Erlang back end has it: a text is itself; one within data is quoted, and of
/// its signs only quotes are escaped.
pub fn to_text(value: &Value, names: &dyn Names) -> String {
    match value {
        Value::Text(text) => text.to_string(),
        _ => show_with(value, names, |text| format!("\"{}\"", text.replace('"', "\\\""))),
    }
}

fn show_with(value: &Value, names: &dyn Names, quoted: impl Fn(&str) -> String) -> String {
    let mut out = String::new();
    let mut rest = vec![Piece::Value(value)];
    while let Some(piece) = rest.pop() {
        match piece {
            Piece::Text(text) => out.push_str(text),
            Piece::Value(Value::Text(text)) => out.push_str(&quoted(text)),
            Piece::Value(value) => show_one(value, names, &mut out, &mut rest),
        }
    }
    out
}

/// Shows anything but a text.
fn show_one<'a>(value: &'a Value, names: &dyn Names, out: &mut String, rest: &mut Vec<Piece<'a>>) {
    // Writing to a text can't fail.
    let _ = match value {
        Value::Unit => write!(out, "Unit"),
        Value::Bool(true) => write!(out, "True"),
        Value::Bool(false) => write!(out, "False"),
        Value::Int(n) => write!(out, "{n}"),
        Value::Big(n) => write!(out, "{n}"),
        Value::Rat(rat) => write!(out, "{}/{}", rat.0, rat.1),
        Value::Text(text) => write!(out, "{text}"),
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
        Value::Set(set) if set.is_empty() => write!(out, "EmptySet"),
        Value::Set(set) => {
            out.push_str("set[");
            enclose(set.iter(), "]", rest);
            Ok(())
        }
    };
}

fn show_data<'a>(value: &'a Value, names: &dyn Names, out: &mut String, rest: &mut Vec<Piece<'a>>) {
    let Some((tag, arguments)) = value.as_data() else { return };
    let Sequences { list, map } = names.sequences();
    let sequence = match tag.id {
        id if id == list.0 || id == list.1 => Some(("list[", list)),
        // The empty map is its constructor, as the empty set is.
        id if id == map.1 => Some(("map[", map)),
        _ => None,
    };
    if let Some((open, (empty, first))) = sequence
        && let Some(elements) = elements(value, empty, first)
    {
        out.push_str(open);
        enclose(elements.into_iter(), "]", rest);
        return;
    }
    out.push_str(names.constructor(tag.id));
    if !arguments.is_empty() {
        out.push('(');
        enclose(arguments.iter(), ")", rest);
    }
}

/// The elements of a list, or the entries of a map.
fn elements(mut value: &Value, empty: u32, first: u32) -> Option<Vec<&Value>> {
    let mut elements = Vec::new();
    loop {
        match value.as_data()? {
            (tag, [head, tail]) if tag.id == first => {
                elements.push(head);
                value = tail;
            }
            (tag, []) if tag.id == empty => return Some(elements),
            _ => return None,
        }
    }
}

/// Plans the parts, with commas between them, and what closes them.
fn enclose<'a>(
    parts: impl DoubleEndedIterator<Item = &'a Value>,
    close: &'static str,
    rest: &mut Vec<Piece<'a>>,
) {
    rest.push(Piece::Text(close));
    let mut parts = parts.rev().peekable();
    while let Some(part) = parts.next() {
        rest.push(Piece::Value(part));
        if parts.peek().is_some() {
            rest.push(Piece::Text(","));
        }
    }
}
