//! A rewritten program as what a closure acts out: names are resolved, so that acting allocates nothing.

use mazurka_litmus::ast::*;

use super::encoded::EncodedOp;
use super::rust_ops::{Needs, RustOp};

/// A number of a local variable, or of a variable that holds a handle.
pub(super) type Slot = usize;

/// The most local variables of a body, and the most parts of a message.
pub(super) const MAX_LOCALS: usize = 64;
pub(super) const MAX_PARTS: usize = 4;

/// What a closure acts out.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan {
    /// The first values of shared variables, members of arrays one by one.
    pub vars: Vec<i64>,
    pub locks: usize,
    pub condvars: usize,
    /// Reader-writer locks: the variables that stand for them.
    pub rwlocks: Vec<usize>,
    /// Whether a variable is one, and does not stand for something else.
    pub plain: Vec<bool>,
    pub roots: Vec<Root>,
    pub bodies: Vec<Body>,
    pub mailboxes: bool,
    /// Whether it does something that only Rust has.
    pub only_rust: bool,
    pub needs: Needs,
}

/// A process that runs from the start.
#[derive(Clone, Debug)]
pub(super) struct Root {
    pub body: usize,
    /// Its index, in a family.
    pub index: Option<i64>,
    /// The one that joins it, by its number.
    pub joined_by: Option<usize>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Body {
    pub handles: usize,
    pub code: Vec<Op>,
}

/// One of several things in a row: a variable, a lock, a condition variable, a process.
#[derive(Clone, Debug)]
pub(super) struct Member {
    pub first: usize,
    pub len: usize,
    /// The index of the first.
    pub from: i64,
    pub index: Value,
}

/// An expression over local variables.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Number(i64),
    Local(Slot),
    Unary(UnaryOp, Box<Value>),
    Binary(BinaryOp, Box<Value>, Box<Value>),
}

#[derive(Clone, Debug)]
pub(super) enum Peer {
    Handle(Slot),
    Root(Member),
}

#[derive(Clone, Debug)]
pub(super) enum Component {
    Equal(Value),
    Bind(Slot),
    Any,
}

#[derive(Clone, Debug)]
pub(super) struct ReceiveArm {
    /// None takes every message.
    pub parts: Option<Vec<Component>>,
    pub code: Vec<Op>,
}

/// What is done with a shared variable.
#[derive(Clone, Debug)]
pub(super) enum AccessKind {
    Load,
    Store,
    FetchAdd,
    FetchSub,
    Swap,
    /// If it holds this.
    CompareExchange(Value),
}

#[derive(Clone, Debug)]
pub(super) enum Op {
    Local(Slot, Value),
    /// With the value that is stored, added or the like.
    Access(AccessKind, Member, Value, Option<Slot>),
    Lock(Member),
    Unlock(Member),
    TryLock(Member, Option<Slot>),
    /// The condition variable and the lock.
    Wait(Member, Member),
    /// An operation on a reader-writer lock, and where it says whether a guard was had.
    RwLock(EncodedOp, usize, Option<Slot>),
    /// With the variable that stands for the token.
    Park(usize),
    /// The root; none if it is the thread itself.
    Unpark {
        root: Option<usize>,
        token: usize,
    },
    Notify {
        condvar: Member,
        all: bool,
    },
    Spawn {
        body: usize,
        args: Vec<Value>,
        handle: Option<Slot>,
    },
    Join(Peer),
    Send {
        to: Peer,
        message: Vec<Value>,
    },
    Receive {
        arms: Vec<ReceiveArm>,
        timeout: Option<Vec<Op>>,
    },
    Choose(Option<Slot>, Value),
    Assert(Value, i64),
    Assume(Value),
    /// One step.
    Atomic(Vec<Op>),
    If {
        condition: Value,
        then: Vec<Op>,
        otherwise: Vec<Op>,
    },
    While {
        condition: Value,
        code: Vec<Op>,
    },
    For {
        slot: Slot,
        from: Value,
        to: Value,
        inclusive: bool,
        code: Vec<Op>,
    },
    Break,
    Continue,
    /// With the numbers of the objects that it is about.
    Rust(&'static RustOp, [usize; 2]),
}

/// Why a closure can't act a program out.
pub(super) type Unfit = &'static str;
