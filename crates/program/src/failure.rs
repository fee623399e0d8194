//! What goes wrong in a program, and where.

use std::fmt;

use crate::ProcessId;

/// A place in a source file.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The file as the user named it.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
}

/// Copies are made into old ones, whose memory is kept: an execution may have many failures.
impl Clone for Place {
    fn clone(&self) -> Place {
        Place { file: self.file.clone(), ..*self }
    }

    fn clone_from(&mut self, other: &Place) {
        self.file.clone_from(&other.file);
        (self.line, self.column) = (other.line, other.column);
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// The kinds of failures, as the command's JSON names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum FailureKind {
    Assertion,
    Panic,
    Exception,
    Arithmetic,
    Deadlock,
    Livelock,
    Hang,
    DataRace,
    Memory,
    InvalidSync,
    StackOverflow,
    Nondeterminism,
    Constraint,
    ExitStatus,
}

impl FailureKind {
    /// The name in the JSON and in the schema.
    pub fn name(self) -> &'static str {
        match self {
            FailureKind::Assertion => "assertion",
            FailureKind::Panic => "panic",
            FailureKind::Exception => "exception",
            FailureKind::Arithmetic => "arithmetic",
            FailureKind::Deadlock => "deadlock",
            FailureKind::Livelock => "livelock",
            FailureKind::Hang => "hang",
            FailureKind::DataRace => "data-race",
            FailureKind::Memory => "memory",
            FailureKind::InvalidSync => "invalid-sync",
            FailureKind::StackOverflow => "stack-overflow",
            FailureKind::Nondeterminism => "nondeterminism",
            FailureKind::Constraint => "constraint",
            FailureKind::ExitStatus => "exit-status",
        }
    }
}

/// Something that went wrong.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Failure {
    /// What kind of thing.
    pub kind: FailureKind,
    /// In one sentence.
    pub message: String,
    /// Where in the source.
    pub place: Option<Place>,
    /// The process that did it, if one did.
    pub process: Option<ProcessId>,
}

/// As for [`Place`].
impl Clone for Failure {
    fn clone(&self) -> Failure {
        Failure { message: self.message.clone(), place: self.place.clone(), ..*self }
    }

    fn clone_from(&mut self, other: &Failure) {
        self.message.clone_from(&other.message);
        self.place.clone_from(&other.place);
        (self.kind, self.process) = (other.kind, other.process);
    }
}
