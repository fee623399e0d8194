//! A program, resolved and checked: what the language half of this crate makes and the machine runs.
//!
//! Names are gone, numbers are in their place: a variable is a [`Slot`] of its body's frame, a field an index
//! into the fields of its class, a constructor, function, class or method an index into the [`Model`]. Types
//! are gone too, but for what a step at run time needs (`implements`, `as`). What was sugar in the source is
//! spelled out: traits are flattened, `x = await o!m()` is a call, an await and a get, template strings are
//! concatenations, `list[..]` is built of constructors, field initialisers and the init block are one body,
//! accessors are functions. Every statement and every expression that can fail has its [`Span`].

// Where a name says what a field is, no sentence repeats it.
#![allow(missing_docs)]

use num_bigint::BigInt;

pub use mazurka_syntax::{Source as SourceFile, Span};

macro_rules! index {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            /// The number as an index.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}

index! {
    /// A constructor of a data type, or an exception.
    ConstructorId;
    /// A function.
    FunctionId;
    /// A class.
    ClassId;
    /// An interface.
    InterfaceId;
    /// A method of some class.
    MethodId;
    /// A variable of a body: parameters come first.
    Slot;
    /// A field of a class: class parameters come first.
    FieldId;
    /// The name of a method, for calls: the class of the callee decides which method it is.
    MethodName;
}

/// A checked program.
#[derive(Clone, Debug)]
pub struct Model {
    /// What places are in: the standard library first.
    pub files: Vec<SourceFile>,
    /// The constructors that the machine itself makes are where [`Known`] says.
    pub constructors: Vec<Constructor>,
    pub known: Known,
    pub functions: Vec<Function>,
    pub interfaces: Vec<Interface>,
    pub classes: Vec<Class>,
    pub methods: Vec<Method>,
    /// What each [`MethodName`] is called.
    pub method_names: Vec<String>,
    /// The main block. There is exactly one.
    pub main: Body,
}

/// Constructors that the machine makes or looks for. `Unit`, `True` and `False` are no constructors: they are
/// values of their own.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known {
    pub nil: ConstructorId,
    pub cons: ConstructorId,
    pub empty_map: ConstructorId,
    pub insert_assoc: ConstructorId,
    pub division_by_zero: ConstructorId,
    pub assertion_failed: ConstructorId,
    pub pattern_match_failed: ConstructorId,
    pub null_pointer: ConstructorId,
    pub object_dead: ConstructorId,
    /// `ClassCastException`, of `as`.
    pub class_cast: ConstructorId,
    /// `lookupUnsafe`, `head` and the like fail with this: a pattern that matches nothing, as in the standard
    /// library.
    pub error: ConstructorId,
}

/// A constructor of a data type, or an exception.
#[derive(Clone, Debug)]
pub struct Constructor {
    pub name: String,
    pub arity: u32,
    pub is_exception: bool,
}

/// A function: `def`.
#[derive(Clone, Debug)]
pub struct Function {
    pub name: String,
    /// How many value parameters: slots `0..parameters` of the body's frame.
    pub parameters: u32,
    /// How many function parameters (second-order): slots `parameters..parameters + functions` hold closures.
    pub functions: u32,
    /// How many slots the frame has in all, pattern variables and lets included.
    pub slots: u32,
    pub body: FunctionBody,
    pub span: Span,
}

/// What a function does.
#[derive(Clone, Debug)]
pub enum FunctionBody {
    Expr(Expr),
    Builtin(Builtin),
}

/// What the machine does itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Builtin {
    /// `toString(a)`
    ToString,
    /// `substr(text, from, length)`
    Substr,
    /// `strlen(text)`
    Strlen,
    /// `truncate(rat)`
    Truncate,
    Numerator,
    Denominator,
    /// `pow(base, exponent)`, for a whole exponent.
    Pow,
    /// `println(text)` and `print(text)`: the text is part of the step's explanation, and of nothing else.
    Print,
    SetEmpty,
    /// `insertElement(set, a)`
    SetInsert,
    /// `remove(set, a)`
    SetRemove,
    /// `contains(set, a)`
    SetContains,
    /// `union(a, b)`
    SetUnion,
    SetIntersection,
    SetDifference,
    SetSize,
    /// `elements(set)`: a list in the order of values.
    SetElements,
    /// `take(set)`: the least element; fails on the empty set.
    SetTake,
}

/// An interface.
#[derive(Clone, Debug)]
pub struct Interface {
    pub name: String,
}

/// A class.
#[derive(Clone, Debug)]
pub struct Class {
    pub name: String,
    /// All interfaces that its objects implement, inherited ones too.
    pub implements: Vec<InterfaceId>,
    /// Class parameters first, then fields in the order of the source.
    pub fields: Vec<Field>,
    /// How many of the fields are class parameters.
    pub parameters: u32,
    /// Field initialisers in the order of the source, then the init block. Has no parameters. No statement of
    /// it releases, blocks, or can be told from one step of the creator.
    pub init: Body,
    /// `run`, if there is one: called asynchronously after init.
    pub run: Option<MethodId>,
    /// By name; sorted.
    pub methods: Vec<(MethodName, MethodId)>,
    pub span: Span,
}

/// What kind of values a variable has, as far as that matters to those who compute with unknown ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    Int,
    Rat,
    Bool,
    Other,
}

/// A field.
#[derive(Clone, Debug)]
pub struct Field {
    pub name: String,
    pub sort: Sort,
    pub span: Span,
}

/// A method of a class.
#[derive(Clone, Debug)]
pub struct Method {
    pub name: String,
    pub class: ClassId,
    pub parameters: u32,
    /// As many as there are parameters.
    pub sorts: Vec<Sort>,
    pub body: Body,
    /// What is declared to commute with it.
    pub commutes: Vec<Commutes>,
    pub span: Span,
}

/// `[Commutes: m, When: e]`.
#[derive(Clone, Debug)]
pub struct Commutes {
    pub with: MethodId,
    /// About fields; none if the methods commute everywhere.
    pub condition: Option<Expr>,
    /// How many variables the condition has of its own.
    pub slots: u32,
    /// Of the name of the other method.
    pub span: Span,
}

/// Code with its own variables.
#[derive(Clone, Debug)]
pub struct Body {
    /// The names of the variables, parameters first. A name may occur more than once (nested blocks, pattern
    /// variables).
    pub slots: Vec<String>,
    pub statements: Vec<Statement>,
    /// Of the whole, for "the end of".
    pub span: Span,
}

/// A statement, and where it is.
#[derive(Clone, Debug)]
pub struct Statement {
    pub kind: StatementKind,
    pub span: Span,
}

/// A statement.
#[derive(Clone, Debug)]
pub enum StatementKind {
    /// The value of an expression, assigned. A declaration is an assignment to its slot; one without an
    /// initial value assigns `null`, which the type checker allows for references and futures only.
    Assign(Target, Expr),
    /// Something with an effect, its result assigned if there is a target.
    Effect(Option<Target>, Effect),
    Assert(Expr),
    If(Expr, Vec<Statement>, Vec<Statement>),
    While(Expr, Vec<Statement>),
    /// `foreach (x, i in list) { .. }`: the element, the index if it has a name.
    ForEach {
        element: Slot,
        index: Option<Slot>,
        list: Expr,
        body: Vec<Statement>,
    },
    /// The first branch that matches; none: `PatternMatchFailException`.
    Switch(Expr, Vec<(Pattern, Vec<Statement>)>),
    /// Handlers match the exception; none matches: it goes on. `finally` runs in any case.
    Try {
        body: Vec<Statement>,
        handlers: Vec<(Pattern, Vec<Statement>)>,
        finally: Vec<Statement>,
    },
    Throw(Expr),
    /// The last statement of a body or of a branch that ends it.
    Return(Expr),
    /// Releases the cog and goes on when the guard holds.
    Await(Guard),
    /// Releases the cog and goes on at any time.
    Suspend,
}

/// A variable or a field: what is assigned to, or compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    Slot(Slot),
    /// Of `this`.
    Field(FieldId),
}

/// What an await waits for: a conjunction.
#[derive(Clone, Debug)]
pub enum Guard {
    /// `f?`
    Future(Expr),
    Condition(Expr),
    And(Box<Guard>, Box<Guard>),
}

/// An effect.
#[derive(Clone, Debug)]
pub enum Effect {
    /// `new C(..)`, or `new local C(..)`.
    New { class: ClassId, arguments: Vec<Expr>, local: bool },
    /// `o!m(..)`: gives a future.
    Call { callee: Expr, method: MethodName, arguments: Vec<Expr> },
    /// `o.m(..)`: within one cog a call, else the same as `!` and `get`.
    SyncCall { callee: Expr, method: MethodName, arguments: Vec<Expr> },
    /// `f.get`
    Get(Expr),
    /// `random(n)`: 0 to n-1, each of them.
    Random(Expr),
}

/// An expression without effects, and where it is.
#[derive(Clone, Debug)]
pub struct Expr {
    pub kind: ExprKind,
    pub span: Span,
}

/// An expression without effects.
#[derive(Clone, Debug)]
pub enum ExprKind {
    Unit,
    Bool(bool),
    Int(BigInt),
    Text(String),
    Null,
    This,
    Slot(Slot),
    /// Of `this`.
    Field(FieldId),
    Construct(ConstructorId, Vec<Expr>),
    /// Value arguments, then closures if the function is second-order.
    Apply {
        function: FunctionId,
        arguments: Vec<Expr>,
        closures: Vec<Closure>,
    },
    /// A function parameter, called: the slot holds a closure.
    ApplySlot {
        function: Slot,
        arguments: Vec<Expr>,
    },
    Not(Box<Expr>),
    Negate(Box<Expr>),
    Binary(Binary, Box<Expr>, Box<Expr>),
    If(Box<Expr>, Box<Expr>, Box<Expr>),
    Let(Slot, Box<Expr>, Box<Expr>),
    /// The first branch that matches; none: `PatternMatchFailException`.
    Case(Box<Expr>, Vec<(Pattern, Expr)>),
    /// `e implements I`: false of null.
    Implements(Box<Expr>, InterfaceId),
    /// `e as I`: null if it does not implement it.
    As(Box<Expr>, InterfaceId),
}

/// What is given for a function parameter.
#[derive(Clone, Debug)]
pub enum Closure {
    /// A function by its name.
    Function(FunctionId),
    /// A function parameter of this function, passed on.
    Slot(Slot),
    /// `(Int x) => e`. Its parameters are slots of the frame that it is in, as its free variables are; `this`
    /// and fields mean what they mean there.
    Lambda { parameters: Vec<Slot>, body: Box<Expr> },
}

/// An operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Binary {
    /// Short-circuits.
    Or,
    /// Short-circuits.
    And,
    Equal,
    NotEqual,
    /// `<`, `<=`, `>`, `>=` compare values of any type.
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Add,
    Subtract,
    Multiply,
    /// Gives a Rat.
    Divide,
    /// The truncating division of the legacy dialect.
    DivideInts,
    Modulo,
    /// `+` of texts.
    Concatenate,
}

/// A pattern.
#[derive(Clone, Debug)]
pub enum Pattern {
    Wildcard,
    /// Binds a variable.
    Bind(Slot),
    /// A variable or a field that has a value: compared.
    Equal(Target),
    Unit,
    Bool(bool),
    Int(BigInt),
    Text(String),
    Null,
    Construct(ConstructorId, Vec<Pattern>),
}

impl Pattern {
    /// Calls `with` for the pattern and all patterns within it.
    pub(crate) fn each(&self, with: &mut impl FnMut(&Pattern)) {
        with(self);
        if let Pattern::Construct(_, parts) = self {
            parts.iter().for_each(|part| part.each(with));
        }
    }

    /// The fields that it compares with.
    pub(crate) fn compared_fields(&self) -> Vec<u32> {
        let mut fields = Vec::new();
        self.each(&mut |part| {
            if let Pattern::Equal(Target::Field(field)) = part {
                fields.push(field.0);
            }
        });
        fields
    }
}
