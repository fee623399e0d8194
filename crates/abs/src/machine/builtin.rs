//! Functions that the machine does itself.

use std::collections::BTreeSet;
use std::rc::Rc;

use mazurka_program::FailureKind;

use crate::model::{Builtin, Span};
use crate::value::{self, NumberFault, Value};

use super::code::Image;
use super::eval::{Env, Fault, exception, no_match, number_fault};

/// Calls one.
pub fn call(
    image: &Image,
    builtin: Builtin,
    arguments: Vec<Value>,
    span: Span,
    env: &mut impl Env,
) -> Result<Value, Fault> {
    let mut arguments = arguments.into_iter();
    let [a, b, c] = std::array::from_fn(|_| arguments.next().unwrap_or_default());
    let number =
        |result: Result<Value, NumberFault>| result.map_err(|fault| number_fault(image, fault, span));
    match builtin {
        Builtin::ToString => Ok(Value::text(&value::to_text(&a, image))),
        Builtin::Substr => substring(image, &a, &b, &c, span),
        Builtin::Strlen => match &a {
            Value::Text(text) => Ok(Value::Int(text.chars().count() as i64)),
            _ => Err(no_match(image, &a, span)),
        },
        Builtin::Truncate => number(value::truncate(&a)),
        Builtin::Numerator => number(value::part(&a, true)),
        Builtin::Denominator => number(value::part(&a, false)),
        Builtin::Pow => number(value::power(&a, &b)),
        Builtin::Print => {
            env.print(&value::to_text(&a, image));
            Ok(Value::Unit)
        }
        Builtin::SetEmpty => Ok(Value::Set(Rc::default())),
        // The others are functions of a set.
        _ => on_set(image, builtin, a, b, span),
    }
}

/// What a call takes besides one operation for what it is given, or gives: sets may have to be copied, texts
/// and numbers may be long.
pub fn surcharge(values: &[Value]) -> u64 {
    let of = |value: &Value| match value {
        Value::Set(set) => set.len() as u64 / 16,
        Value::Text(text) => text.len() as u64 / 32,
        Value::Big(_) | Value::Rat(_) => value::words(value).pow(2) / 64,
        _ => 0,
    };
    values.iter().map(of).sum()
}

/// Whether a function makes names matter: it puts references in order, or makes a text of them. Sets have
/// their references from these.
pub fn tells_names(builtin: Builtin, arguments: &[Value]) -> bool {
    let at = match builtin {
        Builtin::ToString => 0,
        Builtin::SetInsert => 1,
        _ => return false,
    };
    arguments.get(at).is_some_and(Value::refers)
}

fn substring(image: &Image, text: &Value, from: &Value, length: &Value, span: Span) -> Result<Value, Fault> {
    if let (Value::Text(text), Value::Int(from), Value::Int(length)) = (text, from, length)
        && let (Ok(from), Ok(length)) = (usize::try_from(*from), usize::try_from(*length))
    {
        let part: String = text.chars().skip(from).take(length).collect();
        if part.chars().count() == length {
            return Ok(Value::text(&part));
        }
    }
    let about = "substr: the part is not within the text";
    Err(exception(image, image.known.error, FailureKind::Exception, about, span))
}

fn on_set(image: &Image, builtin: Builtin, a: Value, b: Value, span: Span) -> Result<Value, Fault> {
    let Value::Set(mut set) = a else { return Err(no_match(image, &a, span)) };
    let other = |b: &Value| match b {
        Value::Set(other) => Ok(other.clone()),
        _ => Err(no_match(image, b, span)),
    };
    Ok(match builtin {
        Builtin::SetInsert => {
            Rc::make_mut(&mut set).insert(b);
            Value::Set(set)
        }
        Builtin::SetRemove => {
            Rc::make_mut(&mut set).remove(&b);
            Value::Set(set)
        }
        Builtin::SetContains => Value::Bool(set.contains(&b)),
        Builtin::SetUnion => {
            Rc::make_mut(&mut set).extend(other(&b)?.iter().cloned());
            Value::Set(set)
        }
        Builtin::SetIntersection => {
            let other = other(&b)?;
            Value::Set(Rc::new(set.intersection(&other).cloned().collect::<BTreeSet<Value>>()))
        }
        Builtin::SetDifference => {
            let other = other(&b)?;
            Value::Set(Rc::new(set.difference(&other).cloned().collect::<BTreeSet<Value>>()))
        }
        Builtin::SetSize => Value::Int(set.len() as i64),
        Builtin::SetElements => list(image, set.iter().cloned()),
        _ => match set.first() {
            Some(least) => least.clone(),
            None => {
                let about = "take: the set is empty";
                return Err(exception(image, image.known.error, FailureKind::Exception, about, span));
            }
        },
    })
}

/// A list.
fn list(image: &Image, values: impl DoubleEndedIterator<Item = Value>) -> Value {
    let (nil, cons) = (image.tag(image.known.nil), image.tag(image.known.cons));
    values.rev().fold(Value::Atom(nil), |tail, head| Value::data(cons, vec![head, tail]))
}
