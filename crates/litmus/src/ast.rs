//! The syntax tree of a `.maz` file.
//!
//! Trees compare equal regardless of where they stand in a file, so that a printed program can be compared
//! with what it was printed from, and programs can be made without a file.

pub use mazurka_syntax::Span;

/// A name, with its place.
#[derive(Clone, Debug, Eq)]
pub struct Name {
    /// The name.
    pub text: String,
    /// Where it stands.
    pub span: Span,
}

impl PartialEq for Name {
    fn eq(&self, other: &Name) -> bool {
        self.text == other.text
    }
}

impl Name {
    /// A name that stands nowhere.
    pub fn new(text: impl Into<String>) -> Name {
        Name { text: text.into(), span: Span::default() }
    }
}

/// A whole file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ast {
    /// The declarations, in order.
    pub items: Vec<Item>,
}

/// A declaration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// `param n = 3;`
    Param(Name, Expr),
    /// `const A = 1;`
    Const(Name, Expr),
    /// `var x = 0, a[3];`
    Var(Vec<VarDecl>),
    /// `lock m, l[3];`
    Lock(Vec<ObjectDecl>),
    /// `condvar c;`
    Condvar(Vec<ObjectDecl>),
    /// `process p[i in 0..n] { ... }`
    Process(ProcessDecl),
    /// `task t(a) { ... }`
    Task(TaskDecl),
    /// `commute a, b if x > 0;`
    Commute(CommuteDecl),
}

/// A shared variable or array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VarDecl {
    /// Its name.
    pub name: Name,
    /// The number of cells, for an array.
    pub size: Option<Expr>,
    /// The initial value.
    pub init: Init,
}

/// An initial value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Init {
    /// None is given: 0.
    Zero,
    /// The value, of every cell if there are several.
    All(Expr),
    /// A value for each cell.
    Each(Vec<Expr>),
}

/// A lock or a condition variable, or an array of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectDecl {
    /// Its name.
    pub name: Name,
    /// The number of them, for an array.
    pub size: Option<Expr>,
}

/// A process of the start, or a family of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessDecl {
    /// Its name.
    pub name: Name,
    /// The index of a family and its range.
    pub family: Option<(Name, Range)>,
    /// What it does.
    pub body: Block,
}

/// A body for spawned processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskDecl {
    /// Its name.
    pub name: Name,
    /// Its parameters.
    pub params: Vec<Name>,
    /// What it does.
    pub body: Block,
}

/// A constraint that is declared: two atomic blocks commute where a condition holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommuteDecl {
    /// The names of the blocks.
    pub blocks: [Name; 2],
    /// Where they commute; everywhere, if none is given.
    pub condition: Option<Expr>,
}

/// `a..b` or `a..=b`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    /// The first number.
    pub from: Expr,
    /// The bound.
    pub to: Expr,
    /// Whether the bound is included.
    pub inclusive: bool,
}

/// Statements in braces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// The statements.
    pub statements: Vec<Stmt>,
}

/// A statement, with its place.
#[derive(Clone, Debug, Eq)]
pub struct Stmt {
    /// What it is.
    pub kind: StmtKind,
    /// Where it stands.
    pub span: Span,
}

impl PartialEq for Stmt {
    fn eq(&self, other: &Stmt) -> bool {
        self.kind == other.kind
    }
}

/// A shared or local variable that is assigned, or an object that is named: `x`, `a[e]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The name.
    pub name: Name,
    /// The index.
    pub index: Option<Expr>,
}

/// How an assignment changes its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AssignOp {
    /// `=`
    Set,
    /// `+=`
    Add,
    /// `-=`
    Sub,
}

/// Where the value of an operation goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dest {
    /// Nowhere.
    None,
    /// `let r = ...`
    Let(Name),
    /// `r = ...`, a local variable declared before.
    Local(Name),
}

/// What a statement is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum StmtKind {
    /// `let r = e;`
    Let {
        name: Name,
        value: Expr,
    },
    /// `x = e;`, of a shared or a local variable.
    Assign {
        target: Target,
        op: AssignOp,
        value: Expr,
    },
    FetchAdd {
        dest: Dest,
        target: Target,
        value: Expr,
    },
    Swap {
        dest: Dest,
        target: Target,
        value: Expr,
    },
    Cas {
        dest: Dest,
        target: Target,
        old: Expr,
        new: Expr,
    },
    Lock(Target),
    Unlock(Target),
    TryLock {
        dest: Dest,
        lock: Target,
    },
    Wait {
        condvar: Target,
        lock: Target,
    },
    NotifyOne(Target),
    NotifyAll(Target),
    Await(Expr),
    Spawn {
        dest: Dest,
        task: Name,
        args: Vec<Expr>,
    },
    /// `join(h)`, `join(p)`, `join(p[e])`.
    Join(Target),
    Send {
        to: Target,
        message: Vec<Expr>,
    },
    Receive {
        arms: Vec<Arm>,
        timeout: Option<Block>,
    },
    Choose {
        dest: Dest,
        count: Expr,
    },
    Assert {
        condition: Expr,
        message: Option<String>,
    },
    Assume(Expr),
    Skip,
    /// The conditions with their blocks, and the last `else`.
    If {
        arms: Vec<(Expr, Block)>,
        otherwise: Option<Block>,
    },
    While {
        condition: Expr,
        body: Block,
    },
    For {
        index: Name,
        range: Range,
        body: Block,
    },
    Break,
    Continue,
    Atomic {
        /// What declared constraints call it.
        name: Option<Name>,
        body: Block,
    },
}

/// One pattern of a receive, and what follows. `receive p;` is one arm with an empty block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arm {
    /// What it takes.
    pub pattern: Pattern,
    /// What follows.
    pub body: Block,
}

/// A pattern of messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// `_`: every message.
    Any,
    /// `(e, ?r, _)`: messages with as many components.
    Tuple(Vec<Component>),
}

/// A component of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Component {
    /// Equal to this.
    Equal(Expr),
    /// Anything, bound to a local variable.
    Bind(Name),
    /// Anything.
    Any,
}

/// An expression, with its place.
#[derive(Clone, Debug, Eq)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Where it stands.
    pub span: Span,
}

impl PartialEq for Expr {
    fn eq(&self, other: &Expr) -> bool {
        self.kind == other.kind
    }
}

/// What an expression is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExprKind {
    /// A number; `true` and `false` are read as 1 and 0.
    Number(i64),
    /// A variable, parameter or constant.
    Name(Name),
    /// A cell of a shared array.
    Cell(Name, Box<Expr>),
    /// An operator before its operand.
    Unary(UnaryOp, Box<Expr>),
    /// An operator between two.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
}

impl Expr {
    /// An expression that stands nowhere.
    pub fn new(kind: ExprKind) -> Expr {
        Expr { kind, span: Span::default() }
    }

    /// A number.
    pub fn number(value: i64) -> Expr {
        Expr::new(ExprKind::Number(value))
    }

    /// A variable.
    pub fn name(text: impl Into<String>) -> Expr {
        Expr::new(ExprKind::Name(Name::new(text)))
    }

    /// Two operands and what joins them.
    pub fn binary(op: BinaryOp, left: Expr, right: Expr) -> Expr {
        Expr::new(ExprKind::Binary(op, Box::new(left), Box::new(right)))
    }
}

/// Operators with one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    /// `-`
    Neg,
    /// `!`
    Not,
}

/// Operators with two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum BinaryOp {
    Or,
    And,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Add,
    Sub,
    Mul,
    Div,
    Rem,
}
