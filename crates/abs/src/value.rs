//! Values of ABS programs: numbers of any size, texts, data, references to objects and futures, sets.
//!
//! Values are shared, never changed: a copy costs a count. Nothing here recurses over the depth of a value,
//! so a list may be as long as memory allows. Equality and order are structural; data are ordered by the name
//! of the constructor, then by arguments; objects and futures by their names in the creation tree, so that
//! the order is the same in every interleaving and in every run.

mod number;
mod show;

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::rc::Rc;

use num_bigint::BigInt;

pub use number::{
    NumberFault, add, divide, divide_ints, from_big, modulo, multiply, negate, part, power, subtract, to_big,
    truncate, words,
};
pub use show::{Names, Sequences, show, to_text};

/// What an object or a future is called, whatever the interleaving.
#[derive(Debug)]
pub struct Reference {
    /// Its number in the run. Says nothing of the order of creation.
    pub id: u32,
    /// For an object: which class it is of.
    pub class: u32,
    /// For an object: the path of the task that created it, and how many objects that task had created
    /// before. For a future: the path of its task.
    pub path: Box<[u32]>,
}

/// A constructor as a value knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag {
    /// Its place among all constructors in the order of names.
    pub rank: u32,
    /// Which of the model's constructors.
    pub id: u32,
}

/// A constructor with its arguments.
#[derive(Debug)]
pub struct Data {
    /// Which constructor.
    pub tag: Tag,
    /// Its arguments.
    pub arguments: Vec<Value>,
}

/// A function as a value: what a function parameter holds.
#[derive(Debug)]
pub enum Closure {
    /// One with a name.
    Function(u32),
    /// An anonymous one, with the variables around it as they were.
    Lambda {
        /// Which of the program's.
        index: u32,
        /// The frame it was made in.
        captured: Box<[Value]>,
    },
}

/// A value.
#[derive(Clone, Debug, Default)]
pub enum Value {
    /// `Unit`
    #[default]
    Unit,
    /// `True` or `False`
    Bool(bool),
    /// A whole number that fits.
    Int(i64),
    /// A whole number that does not.
    Big(Rc<BigInt>),
    /// A number that is not whole: numerator and denominator, in lowest terms, the denominator above 1.
    Rat(Rc<(BigInt, BigInt)>),
    /// A text.
    Text(Rc<str>),
    /// No object.
    Null,
    /// A reference to an object.
    Object(Rc<Reference>),
    /// A future. Its number is that of its task.
    Future(Rc<Reference>),
    /// A constructor without arguments.
    Atom(Tag),
    /// A constructor with arguments.
    Data(Rc<Data>),
    /// A set.
    Set(Rc<BTreeSet<Value>>),
    /// A function: in function parameters only.
    Closure(Rc<Closure>),
}

impl Value {
    /// A text.
    pub fn text(text: &str) -> Value {
        Value::Text(Rc::from(text))
    }

    /// A constructor with its arguments.
    pub fn data(tag: Tag, arguments: Vec<Value>) -> Value {
        if arguments.is_empty() { Value::Atom(tag) } else { Value::Data(Rc::new(Data { tag, arguments })) }
    }

    /// The constructor and the arguments, of data.
    pub fn as_data(&self) -> Option<(Tag, &[Value])> {
        match self {
            Value::Atom(tag) => Some((*tag, &[])),
            Value::Data(data) => Some((data.tag, &data.arguments)),
            _ => None,
        }
    }

    /// Kinds of values in the order in which values of different kinds come.
    fn kind(&self) -> u32 {
        match self {
            Value::Unit => 0,
            Value::Bool(_) => 1,
            Value::Int(_) | Value::Big(_) | Value::Rat(_) => 2,
            Value::Text(_) => 3,
            Value::Null => 4,
            Value::Object(_) => 5,
            Value::Future(_) => 6,
            Value::Atom(_) | Value::Data(_) => 7,
            Value::Set(_) => 8,
            Value::Closure(_) => 9,
        }
    }

    /// Whether the value holds other values that may hold further ones.
    fn is_nested(&self) -> bool {
        matches!(self, Value::Data(_) | Value::Set(_))
    }

    /// Whether there is a reference to an object or a future in it.
    pub fn refers(&self) -> bool {
        let is_reference = |value: &Value| matches!(value, Value::Object(_) | Value::Future(_));
        let mut found = is_reference(self);
        if self.is_nested() {
            self.visit(&mut |value, _| found |= is_reference(value));
        }
        found
    }

    /// Calls `with` for every value within this one, itself included. What is within a set is told apart.
    pub fn visit(&self, with: &mut dyn FnMut(&Value, bool)) {
        let mut rest: Vec<(&Value, bool)> = vec![(self, false)];
        while let Some((value, in_key)) = rest.pop() {
            with(value, in_key);
            match value {
                Value::Data(data) => rest.extend(data.arguments.iter().map(|value| (value, in_key))),
                Value::Set(set) => rest.extend(set.iter().map(|value| (value, true))),
                _ => {}
            }
        }
    }
}

/// Takes values apart without recursion: a list dropped by the compiler's own code would use the stack for
/// each cell.
impl Drop for Data {
    fn drop(&mut self) {
        if !self.arguments.iter().any(Value::is_nested) {
            return;
        }
        let mut rest = std::mem::take(&mut self.arguments);
        while let Some(value) = rest.pop() {
            match value {
                Value::Data(data) => {
                    if let Ok(mut data) = Rc::try_unwrap(data) {
                        rest.append(&mut data.arguments);
                    }
                }
                Value::Set(set) => {
                    if let Ok(set) = Rc::try_unwrap(set) {
                        rest.extend(set);
                    }
                }
                _ => {}
            }
        }
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Value) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Value {}

impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Value) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Value {
    fn cmp(&self, other: &Value) -> Ordering {
        self.compare(other).0
    }
}

impl Value {
    /// The order of two values, and how many pairs of values within them were looked at.
    pub fn compare(&self, other: &Value) -> (Ordering, u64) {
        if !self.is_nested() || !other.is_nested() {
            return (shallow(self, other), 1);
        }
        let mut rest: Vec<(&Value, &Value)> = vec![(self, other)];
        let mut pairs = 0;
        while let Some((a, b)) = rest.pop() {
            pairs += 1;
            let order = match (a, b) {
                (Value::Data(x), Value::Data(y)) if !Rc::ptr_eq(x, y) => {
                    rest.extend(x.arguments.iter().zip(&y.arguments).rev());
                    x.tag.rank.cmp(&y.tag.rank)
                }
                (Value::Set(x), Value::Set(y)) if !Rc::ptr_eq(x, y) => {
                    rest.extend(x.iter().zip(y.iter()).rev());
                    x.len().cmp(&y.len())
                }
                _ => shallow(a, b),
            };
            if order != Ordering::Equal {
                return (order, pairs);
            }
        }
        (Ordering::Equal, pairs)
    }
}

/// The order of two values of which not both hold others; data that are the same cell are equal.
fn shallow(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Bool(x), Value::Bool(y)) => x.cmp(y),
        (Value::Int(x), Value::Int(y)) => x.cmp(y),
        (Value::Text(x), Value::Text(y)) => x.cmp(y),
        (Value::Object(x), Value::Object(y)) | (Value::Future(x), Value::Future(y)) => {
            if x.id == y.id {
                Ordering::Equal
            } else {
                (&x.path, x.class).cmp(&(&y.path, y.class))
            }
        }
        (Value::Atom(x), Value::Atom(y)) => x.rank.cmp(&y.rank),
        (Value::Atom(x), Value::Data(y)) => x.rank.cmp(&y.tag.rank),
        (Value::Data(x), Value::Atom(y)) => x.tag.rank.cmp(&y.rank),
        _ if a.kind() == 2 && b.kind() == 2 => number::compare(a, b),
        _ => a.kind().cmp(&b.kind()),
    }
}

#[cfg(test)]
mod tests;
