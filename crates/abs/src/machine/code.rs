//! Compiled programs: what the machine runs.
//!
//! A body (of a method, of a class's initialisation, of the main block) is a list of [`Instr`]; an expression
//! is a range of [`Op`] for a stack machine. So nothing at run time recurses over the program or over its
//! functions' calls.

use std::sync::Arc;

use mazurka_program::Place;
use num_bigint::BigInt;

use crate::model::{Binary, Builtin, Pattern, SourceFile, Span, Target};
use crate::value::Tag;

/// No number: of a slot, a location, a guard.
pub const NONE: u32 = u32::MAX;

/// An expression: operations from `start` up to `end`, the last of which is [`Op::Return`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code {
    pub start: u32,
    pub end: u32,
}

/// An operation of an expression.
#[derive(Clone, Copy, Debug)]
pub enum Op {
    Unit,
    Bool(bool),
    Int(i64),
    /// One of [`Image::bigs`].
    Big(u32),
    /// One of [`Image::texts`].
    Text(u32),
    Null,
    This,
    Slot(u32),
    Field(u32),
    Construct(u32, u32),
    /// A function, with so many things on the stack.
    Call(u32, u32),
    /// A function parameter in a slot, with so many arguments.
    CallSlot(u32, u32),
    Function(u32),
    /// One of [`Image::lambdas`].
    Lambda(u32),
    Not,
    Negate,
    Binary(Binary),
    Jump(u32),
    JumpUnless(u32),
    /// Goes there with the value on the stack if it is this, else drops it.
    JumpIf(bool, u32),
    Store(u32),
    /// Takes a value that matches, and binds; goes on elsewhere with the value in place if it does not.
    Match(u32, u32),
    NoMatch,
    Implements(u32),
    As(u32),
    Return,
}

/// An instruction of a body.
#[derive(Clone, Debug)]
pub enum Instr {
    Assign(Option<Target>, Code),
    New {
        target: Option<Target>,
        class: u32,
        arguments: Vec<Code>,
        local: bool,
    },
    Call {
        target: Option<Target>,
        callee: Code,
        method: u32,
        arguments: Vec<Code>,
    },
    SyncCall {
        target: Option<Target>,
        callee: Code,
        method: u32,
        arguments: Vec<Code>,
        on_this: bool,
    },
    /// `slot` is the variable that holds the future, or [`NONE`]; `resolved`: an await before it saw to that.
    Get {
        target: Option<Target>,
        future: Code,
        slot: u32,
        resolved: bool,
    },
    Random(Option<Target>, Code),
    Assert(Code),
    JumpUnless(Code, u32),
    Jump(u32),
    /// Keeps a list and a count in two slots of their own.
    Begin {
        list: Code,
        rest: u32,
        count: u32,
    },
    Next {
        rest: u32,
        count: u32,
        element: u32,
        index: u32,
        end: u32,
    },
    Switch(Code, Vec<(u32, u32)>),
    /// Whoever throws from now on goes on there.
    Enter {
        at: u32,
        finally: bool,
    },
    Leave,
    /// Takes the exception that led here to the handler that matches it.
    Catch(Vec<(u32, u32)>),
    /// The ordinary way into a `finally`.
    EnterFinally,
    /// Goes on with what the `finally` interrupted.
    EndFinally,
    Throw(Code),
    Return(Code),
    /// One of [`Image::awaits`].
    Await(u32),
    Suspend,
}

/// An await statement.
#[derive(Clone, Debug)]
pub struct AwaitCode {
    /// The futures, each with the variable that holds it, or [`NONE`].
    pub futures: Vec<(Code, u32)>,
    pub conditions: Vec<Code>,
    /// The fields that the conditions mention.
    pub fields: Vec<u32>,
    /// The number of the location of its own that it has in each object of its class, or [`NONE`].
    pub own: u32,
}

/// A body.
#[derive(Clone, Debug)]
pub struct Body {
    pub code: Vec<Instr>,
    pub spans: Vec<Span>,
    /// How many slots a frame has.
    pub slots: u32,
    pub class: u32,
    pub is_init: bool,
}

/// A function.
#[derive(Clone, Debug)]
pub struct FunctionCode {
    pub slots: u32,
    pub implementation: Implementation,
}

/// What a function does.
#[derive(Clone, Copy, Debug)]
pub enum Implementation {
    Code(Code),
    Builtin(Builtin),
}

/// An anonymous function.
#[derive(Clone, Debug)]
pub struct LambdaCode {
    pub parameters: Vec<u32>,
    pub start: u32,
}

/// A class.
#[derive(Clone, Debug)]
pub struct ClassCode {
    pub name: String,
    pub implements: Vec<u32>,
    pub fields: Vec<String>,
    pub init: u32,
    /// The method `run`, or [`NONE`].
    pub run: u32,
    /// By name, sorted.
    pub methods: Vec<(u32, u32)>,
}

/// A method.
#[derive(Clone, Debug)]
pub struct MethodCode {
    pub name: String,
    pub parameters: u32,
    pub body: u32,
}

/// A constructor.
#[derive(Clone, Debug)]
pub struct ConstructorCode {
    pub name: String,
    pub arity: u32,
    pub tag: Tag,
}

/// A compiled program.
#[derive(Clone, Debug, Default)]
pub struct Image {
    pub files: Vec<SourceFile>,
    pub known: crate::model::Known,
    pub constructors: Vec<ConstructorCode>,
    pub ops: Vec<Op>,
    pub op_spans: Vec<Span>,
    pub bigs: Vec<BigInt>,
    pub texts: Vec<String>,
    pub lambdas: Vec<LambdaCode>,
    pub patterns: Vec<Pattern>,
    pub functions: Vec<FunctionCode>,
    pub classes: Vec<ClassCode>,
    pub methods: Vec<MethodCode>,
    pub method_names: Vec<String>,
    pub bodies: Vec<Body>,
    /// The main block's body.
    pub main: u32,
    pub awaits: Vec<AwaitCode>,
    pub facts: super::facts::Facts,
}

impl Image {
    /// A constructor as values know it.
    pub fn tag(&self, id: crate::model::ConstructorId) -> Tag {
        self.constructors[id.index()].tag
    }

    /// The method of a class by that name.
    pub fn method_of(&self, class: u32, name: u32) -> Option<u32> {
        let methods = &self.classes[class as usize].methods;
        methods.binary_search_by_key(&name, |&(known, _)| known).ok().map(|at| methods[at].1)
    }

    /// The fields that an expression mentions, in order, each once.
    pub fn fields_of(&self, code: Code) -> Vec<u32> {
        let range = code.start as usize..code.end as usize;
        let mut fields: Vec<u32> = Vec::new();
        for op in &self.ops[range] {
            match *op {
                Op::Field(field) => fields.push(field),
                Op::Match(pattern, _) => fields.extend(self.patterns[pattern as usize].compared_fields()),
                _ => {}
            }
        }
        fields.sort_unstable();
        fields.dedup();
        fields
    }

    /// The line, from 1.
    pub fn line(&self, span: Span) -> u32 {
        self.place(span).map_or(0, |place| place.line)
    }

    /// Where something is, for people.
    pub fn place(&self, span: Span) -> Option<Place> {
        let file = self.files.get(span.file as usize)?;
        let before = file.text.get(..span.start as usize)?;
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        Some(Place {
            file: file.name.clone(),
            line: before.matches('\n').count() as u32 + 1,
            column: before[line_start..].chars().count() as u32 + 1,
        })
    }

    /// What the source says there, on one line.
    pub fn source(&self, span: Span) -> String {
        let text = self.files.get(span.file as usize);
        let text = text.and_then(|file| file.text.get(span.start as usize..span.end as usize)).unwrap_or("");
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

/// What a run and its program share.
pub type SharedImage = Arc<Image>;
