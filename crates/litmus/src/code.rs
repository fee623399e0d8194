//! Compiled programs.
//!
//! A body (of a process or a task) is a stretch of [`Line`]s that ends with `Exit` or `Finish`. A process
//! stands at a line, its program counter; lines that touch nothing shared are not steps and are run through
//! on the way to the next one that is. Expressions are trees of [`Node`]s in one table. The body of an atomic
//! block is a [`Tree`], because it is run by one step as a whole and because [static
//! footprints](crate::machine) follow both sides of its branches.
//!
//! Invariants: every index is in range of the table it is for; a tree of nodes or statements is at most
//! [`MAX_NESTING`] deep, so that walking it never exhausts the stack; all numbers that a program's text fixes
//! (parameters, constants) have become constants.

use mazurka_program::Place;

use crate::ast::{BinaryOp, Span};

/// An index into [`Image::nodes`].
pub(crate) type NodeId = u32;
/// An index into [`Image::lines`].
pub(crate) type Pc = u32;
/// The absence of an index.
pub(crate) const NONE: u32 = u32::MAX;
/// How deeply expressions and statements may be nested.
pub(crate) const MAX_NESTING: usize = 200;

/// A part of an expression.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Node {
    Const(i64),
    /// A local variable, by its slot.
    Local(u32),
    /// A shared variable, by its cell.
    Var(u32),
    /// A cell of a shared array.
    Cell {
        var: u32,
        index: NodeId,
    },
    Neg(NodeId),
    Not(NodeId),
    And(NodeId, NodeId),
    Or(NodeId, NodeId),
    /// Any operator but the two that may leave out their right side.
    Binary(BinaryOp, NodeId, NodeId),
}

/// A shared variable (then `index` is [`NONE`]) or a cell of an array.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lvalue {
    pub var: u32,
    pub index: NodeId,
    /// The cell as an expression, for telling what failed; [`NONE`] for a variable.
    pub node: NodeId,
}

/// A lock or condition variable, by the first cell of its declaration; `index` is [`NONE`] unless it is an
/// array.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Object {
    pub decl: u32,
    pub index: NodeId,
}

/// The process that a join or a send names.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Peer {
    /// The one whose handle a local variable holds.
    Handle(u32),
    /// A process of the start.
    Root(u32),
    /// A member of a family.
    Member { decl: u32, index: NodeId },
}

/// An operation without control flow, the same inside and outside of atomic blocks.
///
/// `dest` is the slot of the local variable that takes the result, or [`NONE`].
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    Local {
        slot: u32,
        value: NodeId,
    },
    Store {
        to: Lvalue,
        value: NodeId,
    },
    /// `+=`, `-=` and `fetch_add`: adds or subtracts; the result is what was there before.
    Change {
        dest: u32,
        to: Lvalue,
        op: BinaryOp,
        by: NodeId,
    },
    Swap {
        dest: u32,
        to: Lvalue,
        value: NodeId,
    },
    Cas {
        dest: u32,
        to: Lvalue,
        old: NodeId,
        new: NodeId,
    },
    /// An index into [`Image::sends`].
    Send(u32),
    /// An index into [`Image::conditions`].
    Assert(u32),
    Assume(NodeId),
    Skip,
}

impl Op {
    /// The shared variable or cell that it may assign.
    pub fn target(self) -> Option<Lvalue> {
        match self {
            Op::Store { to, .. } | Op::Change { to, .. } | Op::Swap { to, .. } | Op::Cas { to, .. } => {
                Some(to)
            }
            _ => None,
        }
    }

    /// The slot of the local variable that it may assign, or [`NONE`].
    pub fn dest(self) -> u32 {
        match self {
            Op::Local { slot: dest, .. }
            | Op::Change { dest, .. }
            | Op::Swap { dest, .. }
            | Op::Cas { dest, .. } => dest,
            _ => NONE,
        }
    }
}

/// What a line does.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Instr {
    Op(Op),
    /// Goes on with the next line if the condition holds.
    Branch {
        condition: NodeId,
        otherwise: Pc,
    },
    Jump(Pc),
    /// Evaluates the bounds of a loop. These are indices into [`Image::fors`].
    ForStart(u32),
    /// Goes on with the next round, or jumps.
    ForNext {
        code: u32,
        exit: Pc,
    },
    /// Clears what the loop kept, so that equal states are equal.
    ForEnd(u32),
    Lock(Object),
    Unlock(Object),
    TryLock {
        dest: u32,
        lock: Object,
    },
    /// The first step of `wait`; a `Wake` and a `Lock` follow it.
    WaitStart {
        condvar: Object,
        lock: Object,
    },
    Wake(Object),
    NotifyOne(Object),
    NotifyAll(Object),
    /// An index into [`Image::guards`].
    Await(u32),
    /// An index into [`Image::atomics`].
    Atomic(u32),
    /// An index into [`Image::spawns`].
    Spawn(u32),
    Join(Peer),
    /// An index into [`Image::receives`].
    Receive(u32),
    Choose {
        dest: u32,
        count: NodeId,
    },
    /// The end of a process that may be joined: a step.
    Exit,
    /// The end of any other.
    Finish,
}

/// A line of a body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    pub instr: Instr,
    /// Whether it is a step.
    pub step: bool,
    /// Whether what it touches depends on shared values that it reads.
    pub varies: bool,
    /// Whether it is in a `while`, so that its process may come back to it in the same local state.
    pub in_while: bool,
    /// If it may be a poll, its number in [`Image::polls`], else [`NONE`].
    pub polls: u32,
    pub span: Span,
}

/// A statement of an atomic block.
#[derive(Clone, Debug)]
pub(crate) enum Tree {
    Op(Op),
    If { arms: Vec<(NodeId, Vec<Tree>)>, otherwise: Vec<Tree> },
    For { slot: u32, from: NodeId, to: NodeId, inclusive: bool, body: Vec<Tree> },
    Break,
    Continue,
}

impl Tree {
    /// Calls `with` for each statement of a block, those within others too.
    pub fn each(body: &[Tree], with: &mut impl FnMut(&Tree)) {
        for tree in body {
            with(tree);
            match tree {
                Tree::If { arms, otherwise } => {
                    arms.iter().for_each(|(_, block)| Tree::each(block, with));
                    Tree::each(otherwise, with);
                }
                Tree::For { body, .. } => Tree::each(body, with),
                Tree::Op(_) | Tree::Break | Tree::Continue => {}
            }
        }
    }
}

/// An atomic block.
#[derive(Clone, Debug)]
pub(crate) struct AtomicCode {
    /// An index into [`Image::guards`], or [`NONE`].
    pub guard: u32,
    pub body: Vec<Tree>,
    /// Where a `break` goes that leaves the block.
    pub on_break: Pc,
    /// Where a `continue` goes that leaves the block.
    pub on_continue: Pc,
}

/// A loop outside of atomic blocks. The count is kept in locals without a name, so that assigning the index
/// in the body does not change how often the loop runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ForCode {
    pub slot: u32,
    pub from: NodeId,
    pub to: NodeId,
    pub inclusive: bool,
    /// The slot of the index of the next round.
    pub next: u32,
    /// The slot of the number of rounds left.
    pub left: u32,
}

/// A condition that is told to people: the text, and the names in it with how to find their values.
#[derive(Clone, Debug)]
pub(crate) struct Condition {
    pub node: NodeId,
    pub text: String,
    pub leaves: Vec<(String, NodeId)>,
    /// The user's own words for an assertion.
    pub message: Option<String>,
    pub span: Span,
}

/// A declared constraint: two atomic blocks commute where a condition holds.
#[derive(Clone, Debug)]
pub(crate) struct DeclaredCode {
    /// The lines of the blocks.
    pub lines: [Pc; 2],
    /// What they are called.
    pub names: [String; 2],
    /// None if they commute everywhere.
    pub condition: Option<Condition>,
    pub text: String,
    pub span: Span,
}

/// What an await reads of shared memory.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Mention {
    /// A variable, by its cell.
    Cell(u32),
    /// A cell of an array, with an index that reads nothing shared.
    Indexed(Lvalue),
    /// Some cell of an array.
    Whole(u32),
}

/// The one cell that a poll reads.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Watched {
    Cell(Mention),
    Lock(Object),
}

/// The guard of an await.
#[derive(Clone, Debug)]
pub(crate) struct GuardCode {
    pub condition: Condition,
    pub mentions: Vec<Mention>,
    /// The location that stands for all it mentions; [`NONE`] if there is just one.
    pub group: u32,
    pub uses_locals: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct SendCode {
    pub to: Peer,
    pub message: Vec<NodeId>,
}

#[derive(Clone, Debug)]
pub(crate) struct SpawnCode {
    pub dest: u32,
    pub body: u32,
    pub args: Vec<NodeId>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum ComponentCode {
    Equal(NodeId),
    Bind(u32),
    Any,
}

/// A pattern and where its block begins.
#[derive(Clone, Debug)]
pub(crate) struct ArmCode {
    /// None takes every message.
    pub components: Option<Vec<ComponentCode>>,
    pub to: Pc,
    pub text: String,
}

#[derive(Clone, Debug)]
pub(crate) struct ReceiveCode {
    pub arms: Vec<ArmCode>,
    /// Where to go if nothing matches; [`NONE`] waits.
    pub timeout: Pc,
}

/// A shared variable or array.
#[derive(Clone, Debug)]
pub(crate) struct VarInfo {
    pub name: String,
    pub base: u32,
    pub len: u32,
    pub array: bool,
    /// The guard groups whose awaits mention it: a write touches these too.
    pub groups: Vec<u32>,
}

/// A declaration of locks or of condition variables. A condition variable has two cells.
#[derive(Clone, Debug)]
pub(crate) struct ObjectInfo {
    pub name: String,
    pub base: u32,
    pub len: u32,
    pub array: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct LocalInfo {
    /// Empty for those that the compiler made.
    pub name: String,
    pub handle: bool,
}

/// A process declaration or a task.
#[derive(Clone, Debug)]
pub(crate) struct Body {
    pub name: String,
    pub entry: Pc,
    /// The line at which it ends.
    pub end: Pc,
    pub locals: Vec<LocalInfo>,
    /// Whether a handle may be among the locals.
    pub handles: bool,
}

/// The processes of one declaration.
#[derive(Clone, Debug)]
pub(crate) struct FamilyInfo {
    pub name: String,
    pub body: u32,
    /// The first process of the start that belongs to it.
    pub first: u32,
    /// The index of that one.
    pub from: i64,
    pub len: u32,
    pub family: bool,
}

/// A compiled program.
#[derive(Clone, Debug, Default)]
pub(crate) struct Image {
    pub file: String,
    pub text: String,
    /// Where each line of the text begins.
    pub line_starts: Vec<u32>,
    pub nodes: Vec<Node>,
    pub node_spans: Vec<Span>,
    pub lines: Vec<Line>,
    /// What each line is for people; empty for those that are not steps.
    pub texts: Vec<String>,
    pub atomics: Vec<AtomicCode>,
    pub fors: Vec<ForCode>,
    pub conditions: Vec<Condition>,
    pub guards: Vec<GuardCode>,
    pub polls: Vec<Watched>,
    pub sends: Vec<SendCode>,
    pub spawns: Vec<SpawnCode>,
    pub receives: Vec<ReceiveCode>,
    pub declared: Vec<DeclaredCode>,
    pub vars: Vec<VarInfo>,
    pub locks: Vec<ObjectInfo>,
    pub condvars: Vec<ObjectInfo>,
    pub bodies: Vec<Body>,
    pub families: Vec<FamilyInfo>,
    /// For each process of the start, its declaration.
    pub roots: Vec<u32>,
    /// The initial value of every cell: variables, then locks, then condition variables.
    pub initial: Vec<i64>,
    /// The number of variables' cells.
    pub var_cells: u32,
    /// The first cell of the locks, of the condition variables, and the number of all locations fixed by the
    /// text.
    pub lock_base: u32,
    pub condvar_base: u32,
    pub fixed_locations: u32,
}

impl Image {
    /// Calls `with` for each part of an expression, the smaller ones first.
    pub fn each_node(&self, id: NodeId, with: &mut impl FnMut(NodeId, Node)) {
        let node = self.nodes[id as usize];
        match node {
            Node::Const(_) | Node::Local(_) | Node::Var(_) => {}
            Node::Cell { index: a, .. } | Node::Neg(a) | Node::Not(a) => self.each_node(a, with),
            Node::And(a, b) | Node::Or(a, b) | Node::Binary(_, a, b) => {
                self.each_node(a, with);
                self.each_node(b, with);
            }
        }
        with(id, node);
    }

    /// Calls `with` for each expression of an operation; the index of what it assigns is the first. Whom it
    /// sends to is left to the caller.
    pub fn each_expr(&self, op: Op, with: &mut impl FnMut(NodeId)) {
        if let Some(to) = op.target().filter(|to| to.index != NONE) {
            with(to.index);
        }
        match op {
            Op::Local { value, .. }
            | Op::Store { value, .. }
            | Op::Change { by: value, .. }
            | Op::Swap { value, .. }
            | Op::Assume(value) => with(value),
            Op::Cas { old, new, .. } => {
                with(old);
                with(new);
            }
            Op::Send(send) => self.sends[send as usize].message.iter().for_each(|&part| with(part)),
            Op::Assert(condition) => with(self.conditions[condition as usize].node),
            Op::Skip => {}
        }
    }

    /// The variable that a cell is of.
    pub fn var_of(&self, cell: u32) -> u32 {
        self.vars.partition_point(|var| var.base + var.len <= cell) as u32
    }

    /// Where a span stands; none for what was made without a file.
    pub fn place(&self, span: Span) -> Option<Place> {
        if self.text.is_empty() || span.end == 0 {
            return None;
        }
        let line = self.line_starts.partition_point(|&start| start <= span.start);
        let start = self.line_starts[line - 1] as usize;
        let before = self.text.get(start..span.start as usize).unwrap_or("");
        let column = before.chars().count() as u32 + 1;
        Some(Place { file: self.file.clone(), line: line as u32, column })
    }

    /// The line of a span, as a person counts; none for what was made without a file.
    pub fn line_number(&self, span: Span) -> Option<u32> {
        self.place(span).map(|place| place.line)
    }

    /// The name of a cell of a variable, a lock or a condition variable.
    pub fn cell_name(&self, cell: u32) -> Option<String> {
        let named =
            |name: &str, array: bool, at: u32| if array { format!("{name}[{at}]") } else { name.to_owned() };
        if cell < self.var_cells {
            let var = &self.vars[self.var_of(cell) as usize];
            return Some(named(&var.name, var.array, cell - var.base));
        }
        if cell >= self.initial.len() as u32 {
            return None;
        }
        let (objects, width) = if cell < self.condvar_base { (&self.locks, 1) } else { (&self.condvars, 2) };
        let object = objects.get(objects.partition_point(|o| o.base + o.len * width <= cell))?;
        Some(named(&object.name, object.array, (cell - object.base) / width))
    }
}
