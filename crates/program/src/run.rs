//! Programs and their runs.

use std::any::Any;
use std::fmt;
use std::hash::Hash;

use crate::{Access, GuardId, Label, Names, ProcessId, ProcessSet};

/// Which locations a label names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Footprints {
    /// Those that the step touched.
    Dynamic,
    /// All that it might have touched in any state in which its process is where it is: no label
    /// [varies](Label::varies). The source family needs these.
    Static,
}

/// Something that can be run under a scheduler, again and again.
pub trait Program {
    /// A run of it.
    type Run: Run;

    /// Starts it.
    fn start(&self, footprints: Footprints) -> Self::Run;

    /// Whether the search has to be begun again, since this was asked last: something was found out about the program
    /// that changes the labels of its steps. The run has [stopped](Stop) then. Answers "yes" finitely often.
    fn begin_again(&self) -> bool {
        false
    }
}

/// The state of a run in a canonical form: equal exactly if the states are equal up to renaming of processes.
///
/// It covers shared memory, locks, mailboxes and, of every process, where it is and its local variables. The part
/// `local` leaves out shared memory that no process will hold as its own: it is what the processes know.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct State {
    /// Shared memory: variables.
    pub shared: Vec<i64>,
    /// What the processes know: program counters, local variables, locks held, mailboxes.
    pub local: Vec<i64>,
}

/// A program that has been started.
///
/// A *process* takes *steps*; the number of steps taken so far is the *depth*. The outcomes of one step (see
/// [`Run::alternatives`]) may differ only in locations that no step enabled beside it touches.
pub trait Run: Any {
    /// The creation tree as far as it was met.
    fn names(&self) -> &Names;

    /// How many steps have been taken.
    fn depth(&self) -> usize;

    /// The processes that can take a step.
    fn enabled(&self) -> &ProcessSet;

    /// How many outcomes the next step of an enabled process has; 1 unless the environment has a say in it.
    fn alternatives(&self, process: ProcessId) -> u32;

    /// Calls `with` for each process that is neither finished nor enabled, with the guard it waits for. It
    /// may wait for something else besides, or instead ([`Label::waited_for`]): then there may be no guard.
    ///
    /// A process that was stopped by a false assumption does not wait: see [`Run::assumed`].
    fn waiting(&self, with: &mut dyn FnMut(ProcessId, Option<crate::Guard>));

    /// Takes the step of an enabled process, with one of its outcomes, and says what it did.
    ///
    /// # Errors
    /// If the run can't go on: see [`Stop`].
    fn step(&mut self, process: ProcessId, choice: u32, label: &mut Label) -> Result<(), Stop>;

    /// How much has been done so far besides one thing a step: what steps and guards did within, in what takes about as long
    /// as a step that does nothing else. It never becomes less, and tells a search that steps last long before they do.
    fn effort(&self) -> u64 {
        0
    }

    /// About how many bytes the run keeps. Asked now and then.
    fn memory(&self) -> usize {
        0
    }

    /// Goes back to where the run was after its first `depth` steps.
    fn rewind(&mut self, depth: usize);

    /// Whether the guard would have held on what its location stood for after the first `depth` steps.
    ///
    /// The guard must be that of a step taken and not rewound, or of a process that waits now.
    fn guard_holds_at(&self, guard: GuardId, depth: usize) -> bool;

    /// Whether the receive at one position would have taken the message sent at another, had that message been the
    /// only one in the mailbox. Asked for classes modulo observers.
    fn would_take(&self, receive: usize, send: usize) -> bool;

    /// Whether the run knows what [`Run::would_take`] is asked. Algorithms that ask refuse a run that does not.
    fn tells_observers(&self) -> bool {
        false
    }

    /// What has gone wrong so far, in the order in which it happened. A failure does not end the run.
    fn failures(&self) -> &[Failure];

    /// Whether an assumption was false: the process that made it takes no further step.
    fn assumed(&self) -> bool;

    /// Whether the program has ended, whatever its processes do: those that wait then are in no deadlock. Their guards
    /// count as ever.
    fn ended_early(&self) -> bool {
        false
    }

    /// The state, if the front end has exact state equality.
    fn state(&self) -> Option<State>;

    /// Writes the state with its names, as a list of numbers: processes and locations are told by their numbers, and so is
    /// whatever decides the names of processes and locations to come. Where two lists are equal, every continuation of the
    /// one run is a continuation of the other, with the same processes, labels and outcomes. Says whether the front end has
    /// such lists; if so, it has [`Run::state`] too, and equal lists have equal states.
    fn named_state(&self, _list: &mut Vec<i64>) -> bool {
        false
    }

    /// States up to renaming, if the front end has them besides [`Run::named_state`]. It is one and the same answer for the
    /// whole life of a run: once this was asked, a step that makes names matter [stops](Stop) the run.
    fn renaming(&mut self) -> Option<&mut dyn crate::Renaming> {
        None
    }

    /// Writes what the last step of a process left behind, as a list of numbers: what the process knows now, and the values of
    /// the locations that these accesses write. Says whether the front end can tell. Only algorithms as published ask.
    fn effect(&self, _process: ProcessId, _accesses: &[Access], _list: &mut Vec<i64>) -> bool {
        false
    }
}

/// Why a run can't go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// A bound of the front end was reached; the verdict can only be "not exhaustive", for this reason.
    Bound(String),
    /// The search itself is broken: the program did not repeat what it did before.
    Failure(Failure),
}

/// A place in a source file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The file as the user named it.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
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
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
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

/// A value that a step read or wrote, as a person would name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observed {
    /// The name of what holds it: `x`, `a[2]`.
    pub name: String,
    /// The value.
    pub value: String,
    /// For a read: the position (from 0) of the step that wrote it; none if it is the initial value.
    pub source: Option<usize>,
}

/// A step, told to a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// Who took it.
    pub process: ProcessId,
    /// What it did, as in the source: `x = r + 1`.
    pub operation: String,
    /// What it read and where that came from.
    pub reads: Vec<Observed>,
    /// What it wrote.
    pub writes: Vec<Observed>,
    /// Anything else worth telling: "timed out", "chose 2 of 3".
    pub note: Option<String>,
    /// Where in the source.
    pub place: Option<Place>,
}

/// A process that waits, told to a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitExplanation {
    /// Who waits.
    pub process: ProcessId,
    /// At what operation: `lock(m)`.
    pub operation: String,
    /// For what: `lock m, held by writer[1] since line 12`.
    pub waits_for: String,
    /// The processes that could end the wait, where known (the holder of a lock, the process to be joined).
    pub waits_on: Vec<ProcessId>,
    /// Where in the source.
    pub place: Option<Place>,
}

/// A run that can tell people what it does. Off the hot path: a failing schedule is run again for its report.
pub trait Explain: Run {
    /// The name of a process for people: `writer[2]`.
    fn process_name(&self, process: ProcessId) -> String;

    /// Takes a step as [`Run::step`] does, and tells it.
    ///
    /// # Errors
    /// As [`Run::step`].
    fn step_explained(&mut self, process: ProcessId, choice: u32) -> Result<Explanation, Stop>;

    /// Tells each process that waits now what it waits for.
    fn explain_waiting(&self) -> Vec<WaitExplanation>;

    /// What a deadlock is called in which these wait, where the front end has words of its own for it.
    fn deadlock_message(&self, _waiting: &[WaitExplanation]) -> Option<String> {
        None
    }
}
