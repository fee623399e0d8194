//! What a check says in the end, as data.

use mazurka_explore::{Algorithm, Counts, Published};
use mazurka_program::{Failure, FailureKind, Schedule};

use crate::executions::{Executions, FinalStates};
use crate::replay::Replay;
use crate::wording::Wording;

/// What was checked, as the user named it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subject {
    /// The program: the name of its file.
    pub program: String,
    /// The options for its front end.
    pub options: Vec<String>,
    /// How who reads of it calls things.
    pub wording: Wording,
}

/// How it was checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Method {
    /// By a search.
    Search(Algorithm),
    /// By running one schedule.
    Replay(Schedule),
}

impl Method {
    /// The name of the algorithm, or `replay`.
    pub fn name(&self) -> &'static str {
        match self {
            Method::Search(algorithm) => algorithm.name(),
            Method::Replay(_) => "replay",
        }
    }

    /// The form of the algorithm, if it ran as its paper prints it.
    pub fn published(&self) -> Option<Published> {
        match self {
            Method::Search(algorithm) => algorithm.published(),
            Method::Replay(_) => None,
        }
    }
}

/// The answer, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Everything was looked at, and nothing failed.
    Pass,
    /// Something failed.
    Failure,
    /// Nothing failed, but not everything was looked at.
    NotExhaustive,
}

impl Verdict {
    /// The exit status of the command.
    pub fn exit_status(self) -> u8 {
        match self {
            Verdict::Pass => 0,
            Verdict::Failure => 1,
            Verdict::NotExhaustive => 3,
        }
    }

    /// The name, as text and JSON have it.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Pass => "pass",
            Verdict::Failure => "failure",
            Verdict::NotExhaustive => "not exhaustive",
        }
    }
}

/// Memory that was allocated at one place, never freed, and that nothing pointed to in the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leak {
    /// Where it was allocated: `file:line:column`; none if that is not known.
    pub location: Option<String>,
    /// How many blocks of it there were in one execution.
    pub blocks: u64,
    /// How many bytes, together.
    pub bytes: u64,
}

/// What a check says in the end.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// What was checked.
    pub subject: Subject,
    /// How.
    pub method: Method,
    /// The memory model under which it was checked, where a reader might have meant another one.
    pub memory_model: Option<&'static str>,
    /// The totals.
    pub counts: Counts,
    /// How long it took.
    pub seconds: f64,
    /// Why not everything was looked at; none if everything was.
    pub reason: Option<String>,
    /// Whether that is because the algorithm does not cover what the program does.
    pub refused: bool,
    /// What else is worth telling, each in a sentence.
    pub notes: Vec<String>,
    /// Memory that was never freed though nothing points to it any more: warnings, which change no verdict.
    pub leaks: Vec<Leak>,
    /// The failures, each with its replay.
    pub failures: Vec<Counterexample>,
    /// Whether there were more failures than are kept.
    pub more_failures: bool,
    /// What happened in a replay that met no failure.
    pub replay: Option<Replay>,
    /// The distinct final states, if somebody asked for them.
    pub final_states: Option<FinalStates>,
    /// The complete executions, if somebody asked for them.
    pub executions: Option<Executions>,
}

impl Report {
    /// A report of nothing yet.
    pub fn new(subject: Subject, method: Method) -> Report {
        Report {
            subject,
            method,
            memory_model: None,
            counts: Counts::default(),
            seconds: 0.0,
            reason: None,
            refused: false,
            notes: Vec::new(),
            leaks: Vec::new(),
            failures: Vec::new(),
            more_failures: false,
            replay: None,
            final_states: None,
            executions: None,
        }
    }

    /// The schedule of the execution that it tells: the one that leads to the first failure, or else the one
    /// that was run.
    pub fn schedule(&self) -> Option<&Schedule> {
        let replayed = match &self.method {
            Method::Replay(schedule) => Some(schedule),
            Method::Search(_) => None,
        };
        self.failures.iter().find_map(|failure| failure.schedule.as_ref()).or(replayed)
    }

    /// The answer.
    pub fn verdict(&self) -> Verdict {
        match (self.failures.is_empty(), &self.reason) {
            (false, _) => Verdict::Failure,
            (true, None) => Verdict::Pass,
            (true, Some(_)) => Verdict::NotExhaustive,
        }
    }
}

/// A failure, with the way to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counterexample {
    /// What went wrong.
    pub failure: Failure,
    /// The name of the process that did it, if one did.
    pub process: Option<String>,
    /// In how many executions it was met; none if nobody counted them: the search ended with this one, or one
    /// schedule was run.
    pub executions: Option<u64>,
    /// Whether its message was another in some of them: values that differ.
    pub varies: bool,
    /// The shortest part of the first of these executions that shows it. None if the search itself broke.
    pub schedule: Option<Schedule>,
    /// That schedule, told. None if there is no schedule, or if the report would have grown too large.
    pub replay: Option<Replay>,
}

impl Counterexample {
    /// Whether it is a deadlock, which is a matter of who waits rather than of the last step.
    pub fn is_deadlock(&self) -> bool {
        self.failure.kind == FailureKind::Deadlock
    }
}
