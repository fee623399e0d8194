//! The syntax tree: what a file says, with every name as it is written and every place.

use num_bigint::BigInt;

use crate::model::{Binary, Span};

/// A name at a place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Name<'a> {
    pub(crate) text: &'a str,
    pub(crate) span: Span,
}

/// A name that may be qualified by that of a module.
#[derive(Clone, Debug)]
pub(crate) struct Path<'a> {
    pub(crate) qualifier: Option<String>,
    pub(crate) name: Name<'a>,
    /// Of the whole.
    pub(crate) span: Span,
}

impl Path<'_> {
    /// As it is written, without layout.
    pub(crate) fn full(&self) -> String {
        match &self.qualifier {
            Some(qualifier) => format!("{qualifier}.{}", self.name.text),
            None => self.name.text.to_string(),
        }
    }
}

/// A module.
#[derive(Debug)]
pub(crate) struct Module<'a> {
    pub(crate) name: Path<'a>,
    pub(crate) exports: Vec<Clause<'a>>,
    pub(crate) imports: Vec<Clause<'a>>,
    pub(crate) declarations: Vec<Declaration<'a>>,
    pub(crate) main: Option<Block<'a>>,
}

/// An import or an export.
#[derive(Debug)]
pub(crate) struct Clause<'a> {
    /// None: `*`.
    pub(crate) names: Option<Vec<Path<'a>>>,
    pub(crate) from: Option<Path<'a>>,
}

#[derive(Debug)]
pub(crate) enum Declaration<'a> {
    Data(DataDecl<'a>),
    Synonym(Name<'a>, TypeUse<'a>),
    Exception(ConstructorDecl<'a>),
    Function(FunctionDecl<'a>),
    Interface(InterfaceDecl<'a>),
    Class(ClassDecl<'a>),
    Trait(Name<'a>, TraitExpr<'a>),
}

#[derive(Debug)]
pub(crate) struct DataDecl<'a> {
    pub(crate) name: Name<'a>,
    pub(crate) parameters: Vec<Name<'a>>,
    pub(crate) constructors: Vec<ConstructorDecl<'a>>,
}

#[derive(Debug)]
pub(crate) struct ConstructorDecl<'a> {
    pub(crate) name: Name<'a>,
    /// The type of each argument, and the accessor's name.
    pub(crate) arguments: Vec<(TypeUse<'a>, Option<Name<'a>>)>,
}

#[derive(Clone, Debug)]
pub(crate) struct TypeUse<'a> {
    pub(crate) path: Path<'a>,
    pub(crate) arguments: Vec<TypeUse<'a>>,
    pub(crate) span: Span,
}

#[derive(Clone, Debug)]
pub(crate) struct Parameter<'a> {
    pub(crate) ty: TypeUse<'a>,
    pub(crate) name: Name<'a>,
}

#[derive(Debug)]
pub(crate) struct FunctionDecl<'a> {
    pub(crate) result: TypeUse<'a>,
    pub(crate) name: Name<'a>,
    pub(crate) type_parameters: Vec<Name<'a>>,
    /// The names of function parameters; none: a function of first order.
    pub(crate) functions: Option<Vec<Name<'a>>>,
    pub(crate) parameters: Vec<Parameter<'a>>,
    /// None: `builtin`.
    pub(crate) body: Option<Expr<'a>>,
    pub(crate) span: Span,
}

/// `[..]` before a declaration, as far as it means something.
#[derive(Debug, Default)]
pub(crate) struct Annotations<'a> {
    /// Whether `Atomic` is among them.
    pub(crate) atomic: bool,
    pub(crate) commutes: Vec<Commutes<'a>>,
}

/// `[Commutes: m, When: e]`: what a method commutes with, and where.
#[derive(Debug)]
pub(crate) struct Commutes<'a> {
    pub(crate) with: Name<'a>,
    /// None: everywhere.
    pub(crate) condition: Option<Expr<'a>>,
}

#[derive(Debug)]
pub(crate) struct Signature<'a> {
    pub(crate) annotations: Annotations<'a>,
    pub(crate) result: TypeUse<'a>,
    pub(crate) name: Name<'a>,
    pub(crate) parameters: Vec<Parameter<'a>>,
}

#[derive(Debug)]
pub(crate) struct InterfaceDecl<'a> {
    pub(crate) name: Name<'a>,
    pub(crate) extends: Vec<Path<'a>>,
    pub(crate) methods: Vec<Signature<'a>>,
}

#[derive(Debug)]
pub(crate) struct ClassDecl<'a> {
    pub(crate) name: Name<'a>,
    pub(crate) parameters: Vec<Parameter<'a>>,
    pub(crate) implements: Vec<Path<'a>>,
    pub(crate) fields: Vec<FieldDecl<'a>>,
    pub(crate) init: Option<Block<'a>>,
    pub(crate) uses: Vec<TraitExpr<'a>>,
    pub(crate) methods: Vec<MethodDecl<'a>>,
    pub(crate) span: Span,
}

#[derive(Debug)]
pub(crate) struct FieldDecl<'a> {
    pub(crate) ty: TypeUse<'a>,
    pub(crate) name: Name<'a>,
    pub(crate) value: Option<Expr<'a>>,
    pub(crate) span: Span,
}

#[derive(Debug)]
pub(crate) struct MethodDecl<'a> {
    pub(crate) signature: Signature<'a>,
    pub(crate) body: Block<'a>,
    pub(crate) span: Span,
}

/// Methods by name or in place, and what is done to them in turn.
#[derive(Debug)]
pub(crate) struct TraitExpr<'a> {
    pub(crate) base: MethodSet<'a>,
    pub(crate) operations: Vec<TraitOperation<'a>>,
}

#[derive(Debug)]
pub(crate) enum MethodSet<'a> {
    Named(Path<'a>),
    Methods(Vec<MethodDecl<'a>>),
}

#[derive(Debug)]
pub(crate) enum TraitOperation<'a> {
    Adds(MethodSet<'a>),
    Modifies(MethodSet<'a>),
    Removes(Vec<Signature<'a>>),
}

#[derive(Debug)]
pub(crate) struct Block<'a> {
    pub(crate) statements: Vec<Statement<'a>>,
    pub(crate) span: Span,
}

/// A statement. The span of one that has parts is that of its head: `while (x > 0)`.
#[derive(Debug)]
pub(crate) struct Statement<'a> {
    pub(crate) kind: StatementKind<'a>,
    pub(crate) span: Span,
}

#[derive(Debug)]
pub(crate) enum StatementKind<'a> {
    /// Also what was not understood, and has been reported.
    Skip,
    Declare(TypeUse<'a>, Name<'a>, Option<Expr<'a>>),
    Assign(Assignee<'a>, Expr<'a>),
    Return(Expr<'a>),
    Assert(Expr<'a>),
    Block(Block<'a>),
    If(Expr<'a>, Box<Statement<'a>>, Option<Box<Statement<'a>>>),
    While(Expr<'a>, Box<Statement<'a>>),
    ForEach {
        element: Name<'a>,
        index: Option<Name<'a>>,
        list: Expr<'a>,
        body: Box<Statement<'a>>,
    },
    Switch(Expr<'a>, Vec<(Pattern<'a>, Statement<'a>)>),
    Try {
        body: Box<Statement<'a>>,
        handlers: Vec<(Pattern<'a>, Statement<'a>)>,
        finally: Option<Box<Statement<'a>>>,
    },
    Throw(Expr<'a>),
    Await(Guard<'a>),
    Suspend,
    Expr(Expr<'a>),
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Assignee<'a> {
    Name(Name<'a>),
    /// `this.f`
    Field(Name<'a>),
}

#[derive(Debug)]
pub(crate) enum Guard<'a> {
    Future(Expr<'a>),
    Condition(Expr<'a>),
    And(Box<Guard<'a>>, Box<Guard<'a>>),
}

/// An expression, with or without effects.
#[derive(Clone, Debug)]
pub(crate) struct Expr<'a> {
    pub(crate) kind: ExprKind<'a>,
    pub(crate) span: Span,
    /// How deep the tree is, counted as deep as it will be after lists and templates are spelled out.
    pub(crate) height: u32,
}

#[derive(Clone, Debug)]
pub(crate) enum ExprKind<'a> {
    Int(BigInt),
    Text(String),
    Template(Vec<Expr<'a>>),
    This,
    Null,
    Name(Path<'a>),
    /// `this.f`
    Field(Name<'a>),
    /// `e.f`, which nothing is.
    Dot(Box<Expr<'a>>, Name<'a>),
    Construct(Path<'a>, Vec<Expr<'a>>),
    Apply(Path<'a>, Vec<Expr<'a>>),
    /// `f(g, (Int x) => e)(a)`
    ApplyFunctions(Path<'a>, Vec<FunctionArgument<'a>>, Vec<Expr<'a>>),
    /// `list[a, b]`
    Variadic(Path<'a>, Vec<Expr<'a>>),
    Not(Box<Expr<'a>>),
    Negate(Box<Expr<'a>>),
    Binary(Binary, Box<Expr<'a>>, Box<Expr<'a>>),
    If(Box<Expr<'a>>, Box<Expr<'a>>, Box<Expr<'a>>),
    Let(Box<Parameter<'a>>, Box<Expr<'a>>, Box<Expr<'a>>),
    Case(Box<Expr<'a>>, Vec<(Pattern<'a>, Expr<'a>)>),
    Implements(Box<Expr<'a>>, Path<'a>),
    As(Box<Expr<'a>>, Path<'a>),

    New(Path<'a>, Vec<Expr<'a>>, Where),
    Call {
        awaited: bool,
        callee: Box<Expr<'a>>,
        method: Name<'a>,
        arguments: Vec<Expr<'a>>,
    },
    SyncCall {
        callee: Box<Expr<'a>>,
        method: Name<'a>,
        arguments: Vec<Expr<'a>>,
    },
    Get(Box<Expr<'a>>),
    Original(Vec<Expr<'a>>),
}

/// The cog of a new object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Where {
    /// `new C()`: what it means depends on the dialect.
    Plain,
    /// `new local C()`
    Local,
    /// `new cog C()`
    Cog,
}

#[derive(Clone, Debug)]
pub(crate) enum FunctionArgument<'a> {
    Named(Path<'a>),
    Lambda(Vec<Parameter<'a>>, Expr<'a>),
}

#[derive(Clone, Debug)]
pub(crate) struct Pattern<'a> {
    pub(crate) kind: PatternKind<'a>,
    pub(crate) span: Span,
}

#[derive(Clone, Debug)]
pub(crate) enum PatternKind<'a> {
    Wildcard,
    Name(&'a str),
    Int(BigInt),
    Text(String),
    Null,
    Construct(Path<'a>, Vec<Pattern<'a>>),
}
