//! Verdicts for people and machines.
//!
//! [`check()`] runs a search and makes a [`Report`] of it: a verdict, counts, and for each failure the
//! schedule that leads to it, run once more so that it can be shown step by step. [`check_schedule`]
//! does the same for one schedule; [`comparison_row`] makes a row of a [`Comparison`] of several algorithms,
//! without replays. A report is written as text for people ([`text()`]) or as JSON for machines (`json()`, of
//! the feature of that name).
//!
//! Nothing below this crate formats for people, and nothing here knows an algorithm or a front end.
//! Invariants:
//! * a report that passes looked at everything: [`Verdict::Pass`] needs a search that says it was exhaustive;
//! * complete, blocked and assumed executions are never added up;
//! * a failure with a schedule was seen twice: in the search, and when that schedule was run again.

mod architecture;
mod check;
mod collect;
mod comparison;
mod cycle;
mod diagram;
mod executions;
mod interleaving;
#[cfg(feature = "json")]
pub mod json;
mod kept;
mod layout;
mod livelock;
#[cfg(feature = "progress")]
mod progress;
mod replay;
mod report;
mod stretch;
mod style;
#[cfg(test)]
mod tests;
mod text;
#[cfg(test)]
mod toy;
mod wording;

pub use architecture::{Architecture, NamedLink};
pub use check::{
    InternalError, check, check_ahead, check_jobs, check_kept, check_observed, check_schedule, confirm,
    explore_part,
};
pub use collect::{Collected, Collector, DistinctFailure, MAX_FAILURES, Watch, schedule_of};
pub use comparison::{Comparison, ComparisonRow, NotRun, Parameters, comparison_row};
pub use diagram::Diagram;
pub use executions::{Executions, FinalState, FinalStates, ListedExecution, Recorder, Recording};
#[cfg(feature = "json")]
pub use json::json;
pub use kept::{Kept, NOT_MET_AGAIN, Part};
#[cfg(feature = "progress")]
pub use progress::Progress;
pub use replay::{Misfit, Replay, ReplayEnd, ReplayFailure, ReplayStep, Waiting, replay};
pub use report::{Counterexample, Leak, Method, Report, Subject, Verdict};
pub use stretch::{check_stretch, together};
pub use style::clean;
pub use text::{TextOptions, brief_text, text};
pub use wording::Wording;
