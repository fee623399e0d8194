//! What a state is made of: objects, cogs, tasks.

use std::rc::Rc;

use crate::model::Target;
use crate::value::{Reference, Value};

use super::code::NONE;
use super::eval::Thrown;

/// An object.
#[derive(Clone, Debug)]
pub struct Object {
    pub class: u32,
    pub cog: u32,
    /// Whether an exception that a task of it did not catch has killed it.
    pub dead: bool,
    pub fields: Vec<Value>,
    /// The step that wrote each field last, plus 1; 0 for its initial value.
    pub writers: Vec<u32>,
}

/// A group of objects of which one task at a time runs. The cog of the main block is number 0; any other has
/// the number of the object that it was made with, plus 1.
#[derive(Clone, Debug)]
pub struct Cog {
    /// The task that is blocked in it, or [`NONE`].
    pub holder: u32,
    /// Its objects, if there can be others than the first.
    pub members: Option<Rc<Vec<u32>>>,
}

impl Default for Cog {
    fn default() -> Cog {
        Cog { holder: NONE, members: None }
    }
}

/// A task, and its future.
#[derive(Clone, Debug)]
pub struct Task {
    /// Which method, or [`NONE`] for the main block.
    pub method: u32,
    pub object: Option<Rc<Reference>>,
    pub cog: u32,
    pub frames: Vec<Frame>,
    pub wait: Wait,
    /// How many tasks it has created.
    pub children: u32,
    /// How many objects it has created.
    pub created: u32,
    /// The number of the guard that it waits at, or [`NONE`].
    pub guard: u32,
    /// When it joined the queue of its cog.
    pub queued: u64,
    /// Whether some get has thrown again what this task ended with.
    pub rethrown: bool,
}

/// Where a task stands between its steps. The instruction at which it waits is the one that its last frame is
/// at.
#[derive(Clone, Debug)]
pub enum Wait {
    /// Has not begun.
    Start,
    /// Has released its cog.
    Suspended,
    /// Has released its cog until a guard holds. `noticed`: a step of its own has seen that the futures are
    /// resolved.
    Await { futures: Rc<[u32]>, noticed: bool },
    /// Holds its cog until a future is resolved.
    Blocked(u32),
    /// Holds its cog and is about to draw one of so many numbers.
    Choosing(u32),
    /// Holds its cog and has drawn.
    Chosen(u32),
    /// Has ended.
    Done(Result<Value, Rc<Thrown>>),
}

impl Task {
    /// A task that has not begun.
    pub fn new(method: u32, object: Option<Rc<Reference>>, cog: u32, frame: Frame, queued: u64) -> Task {
        Task {
            method,
            object,
            cog,
            frames: vec![frame],
            wait: Wait::Start,
            children: 0,
            created: 0,
            guard: NONE,
            queued,
            rethrown: false,
        }
    }

    pub fn is_done(&self) -> bool {
        matches!(self.wait, Wait::Done(_))
    }

    /// Whether it holds its cog while it waits.
    pub fn holds_cog(&self) -> bool {
        matches!(self.wait, Wait::Blocked(_) | Wait::Choosing(_) | Wait::Chosen(_))
    }
}

/// A body that is being run.
#[derive(Clone, Debug)]
pub struct Frame {
    pub body: u32,
    pub pc: u32,
    pub slots: Vec<Value>,
    pub this: Option<Rc<Reference>>,
    pub handlers: Vec<Handler>,
    /// What each `finally` that is being run has interrupted.
    pub pending: Vec<Pending>,
    /// The exception that led to a handler.
    pub exception: Option<Rc<Thrown>>,
    /// Where the caller wants the result.
    pub returns: Option<Target>,
}

/// Where whoever throws goes on.
#[derive(Clone, Copy, Debug)]
pub struct Handler {
    pub at: u32,
    pub finally: bool,
}

/// What goes on after a `finally`.
#[derive(Clone, Debug)]
pub enum Pending {
    Nothing,
    Throw(Rc<Thrown>),
    Return(Value),
}
