//! What a run knows of its processes, and what it keeps to undo a step.

use crate::code::NONE;

/// What a process does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    /// It has not been created.
    Absent,
    /// It stands at a step.
    Live,
    /// It ran too long without a step: whoever steps it is told.
    Overrun,
    /// A false assumption stopped it.
    Halted,
    Finished,
}

/// What a process that stands at a step waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    /// Nothing: it is enabled.
    Free,
    /// A lock, by its cell.
    Lock(u32),
    /// An await, by its guard.
    Await(u32),
    /// A notification of a condition variable, by its cell.
    Wake(u32),
    /// The end of a process.
    Join(u32),
    /// A message, by the receive.
    Receive(u32),
    /// A cell to hold what lets it go on, at a step that only reads it.
    Change(u32),
}

/// A message that was sent; its parts are in a table of the run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message {
    pub sender: u32,
    /// How many messages the sender had sent before.
    pub ordinal: u32,
    /// The step that sent it.
    pub sent_at: u32,
    /// The step that took it, or [`NONE`].
    pub taken_at: u32,
    pub start: u32,
    pub len: u32,
}

/// The fields of a process that only its own steps change: saved before a step, put back when it is undone.
#[derive(Clone, Copy, Debug)]
pub(super) struct Core {
    pub pc: u32,
    pub status: Status,
    /// What it waits for; other than `Free` only while it is live.
    pub wait: Wait,
    /// The captured guard that it stands at, or [`NONE`].
    pub guard: u32,
    /// How many processes it has created.
    pub spawned: u32,
    /// How many messages it has sent.
    pub sent: u32,
    /// All messages of the inbox before this one have been taken.
    pub head: u32,
    /// Whether it has come to a line that is not behind the one it came from.
    pub loops: bool,
}

/// A process. The entry stays when the process is undone, with the locations it was given.
#[derive(Clone, Debug)]
pub(super) struct Proc {
    pub core: Core,
    pub body: u32,
    pub parent: u32,
    /// Whether it has been woken since it began to wait for a condition variable.
    pub notified: bool,
    pub locals: Vec<i64>,
    /// Every message ever sent to it, taken or not, in order.
    pub inbox: Vec<Message>,
    pub exit_location: u32,
    pub mailbox_location: u32,
    pub wake_location: u32,
    /// The locations of the messages it sends, in order.
    pub message_locations: Vec<u32>,
}

impl Proc {
    pub fn absent() -> Proc {
        let core = Core {
            pc: 0,
            status: Status::Absent,
            wait: Wait::Free,
            guard: NONE,
            spawned: 0,
            sent: 0,
            head: 0,
            loops: false,
        };
        Proc {
            core,
            body: 0,
            parent: NONE,
            notified: false,
            locals: Vec::new(),
            inbox: Vec::new(),
            exit_location: NONE,
            mailbox_location: NONE,
            wake_location: NONE,
            message_locations: Vec::new(),
        }
    }
}

/// How long everything was before a step, and the process that took it as it was.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    pub process: u32,
    pub core: Core,
    pub notified: bool,
    /// Where its locals are kept; they reach to those of the next mark.
    pub locals: u32,
    pub written: u32,
    pub flips: u32,
    pub undo: u32,
    pub guards: u32,
    pub guard_locals: u32,
    pub payload: u32,
    pub failures: u32,
    pub assumed: u32,
}

/// What a step did to other processes than the one that took it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Undo {
    Created(u32),
    Notified(u32),
    Sent(u32),
    /// A message of an inbox was taken.
    Taken(u32, u32),
}

/// A guard that was met, with what it needs to be evaluated later.
#[derive(Clone, Copy, Debug)]
pub(super) struct CapturedGuard {
    pub location: u32,
    pub kind: GuardKind,
    /// The values of the locals when it was met.
    pub locals: (u32, u32),
}

#[derive(Clone, Copy, Debug)]
pub(super) enum GuardKind {
    Lock(u32),
    Await(u32),
    /// A poll at a line, of a cell.
    Change {
        pc: u32,
        cell: u32,
    },
    /// A wake-up of a process that began to wait after so many steps.
    Wake {
        process: u32,
        met: u32,
    },
    /// A receive of a process, met after so many steps.
    Receive {
        process: u32,
        receive: u32,
        met: u32,
    },
}

/// Why a process can't go on as written.
#[derive(Clone, Copy, Debug)]
pub(super) enum Halt {
    /// This part of an expression failed.
    Arithmetic(u32),
    /// Adding a value to the one at a cell, or taking it away.
    Change(u32, crate::ast::BinaryOp, i64),
    /// An index of a lock, a condition variable or a family.
    Range(Indexed, i64),
    /// A variable that should hold a handle holds none yet.
    NoProcess(u32),
    /// The lock at a cell is not held by the process that gives it back.
    NotHeld(u32),
    /// A number of choices that is out of bounds.
    Choices(i64),
    Assumed,
    /// It came back to the same local state.
    Hang,
    /// It ran too long within one step.
    Overrun,
}

/// Something that is indexed, by its declaration.
#[derive(Clone, Copy, Debug)]
pub(super) enum Indexed {
    Lock(u32),
    Condvar(u32),
    Family(u32),
}
