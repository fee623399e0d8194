//! A report as JSON for machines: one object, of the schema `docs/schema/check.schema.json`.
//!
//! Within schema 1 fields and kinds of failures are only added. Steps are numbered from 1, as in the text. A
//! function makes the text of one kind of object, its fields in the order of the schema.

use std::collections::BTreeMap;

use mazurka_explore::{Algorithm, Counts, Published};
use mazurka_program::{Failure, Observed, Place};
use serde::Serialize;

use crate::comparison::{Comparison, ComparisonRow, NotRun, Parameters};
use crate::executions::{Executions, FinalState, FinalStates, ListedExecution};
use crate::replay::{Replay, ReplayStep, Waiting};
use crate::report::{Counterexample, Leak, Method, Report, Verdict};

/// The version of the schema.
pub const SCHEMA: u32 = 1;

/// The report as one JSON object.
pub fn json(report: &Report) -> String {
    let published = report.method.published();
    let replayed = match &report.method {
        Method::Search(_) => None,
        Method::Replay(schedule) => Some(schedule.to_string()),
    };
    let mut fields = vec![
        ("schema", text(SCHEMA)),
        ("program", text(&report.subject.program)),
        ("options", text(&report.subject.options)),
        ("verdict", text(report.verdict().name())),
        ("algorithm", text(report.method.name())),
        ("replay", text(replayed)),
        ("as_published", text(published.is_some())),
    ];
    fields.extend(published.map(|form| ("version", text(form.version()))));
    fields.push(("exhaustive", text(report.reason.is_none())));
    fields.push(("reason", text(&report.reason)));
    fields.extend(counts(&report.counts));
    fields.push(("seconds", text(report.seconds)));
    fields.push(("failures", list(&report.failures, failure)));
    fields.push(("more_failures", text(report.more_failures)));
    if !report.leaks.is_empty() {
        fields.push(("leaks", list(&report.leaks, leak)));
    }
    fields.extend(report.replay.as_ref().map(|replay| ("trace", trace(replay))));
    fields.extend(report.final_states.as_ref().map(|states| ("final_states", final_states(states))));
    fields.extend(report.executions.as_ref().map(|executions| ("traces", traces(executions))));
    object(&fields)
}

/// The comparison as one JSON object, of the schema `docs/schema/compare.schema.json`. There is no verdict
/// where an algorithm is wrong.
pub fn comparison_json(comparison: &Comparison) -> String {
    let mut fields = vec![
        ("schema", text(SCHEMA)),
        ("program", text(&comparison.subject.program)),
        ("options", text(&comparison.subject.options)),
        ("verdict", text(comparison.verdict().map(Verdict::name))),
        ("runs", list(&comparison.rows, comparison_run)),
        ("disagreement", text(comparison.disagreement())),
    ];
    if !comparison.not_run.is_empty() {
        fields.push(("not_run", list(&comparison.not_run, not_run)));
    }
    object(&fields)
}

/// What kind of thing stopped the command before there was a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The command was called in a wrong way.
    Usage,
    /// A file, an option of the front end or a schedule is wrong.
    Input,
    /// What was asked for is not supported.
    Unsupported,
    /// A bug of this program.
    Internal,
}

impl ErrorKind {
    /// The name that the schema has for it.
    pub fn name(self) -> &'static str {
        match self {
            ErrorKind::Usage => "usage",
            ErrorKind::Input => "input",
            ErrorKind::Unsupported => "unsupported",
            ErrorKind::Internal => "internal",
        }
    }
}

/// What stopped the command before there was a verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorReport {
    /// What kind of thing.
    pub kind: ErrorKind,
    /// In one sentence.
    pub message: String,
    /// Where: `file:line:column`, or a file.
    pub location: Option<String>,
    /// All that is wrong with a file; empty if the error is of another kind.
    pub diagnostics: Vec<FileError>,
}

/// One thing that is wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileError {
    /// What, in one line.
    pub message: String,
    /// Where: `file:line:column`.
    pub location: Option<String>,
    /// What to do about it.
    pub help: Option<String>,
}

/// The error as one JSON object.
pub fn error_json(error: &ErrorReport) -> String {
    let ErrorReport { kind, message, location, diagnostics } = error;
    let diagnostic = |FileError { message, location, help }: &FileError| {
        object(&[("message", text(message)), ("location", text(location)), ("help", text(help))])
    };
    let error = object(&[
        ("kind", text(kind.name())),
        ("message", text(message)),
        ("location", text(location)),
        ("diagnostics", list(diagnostics, diagnostic)),
    ]);
    object(&[("schema", text(SCHEMA)), ("error", error)])
}

/// A field of an object: its name, and its value as JSON.
type Field = (&'static str, String);

/// The counts, under the names of the contract: `executions` are the complete ones.
fn counts(counts: &Counts) -> [Field; 13] {
    [
        ("executions", text(counts.complete)),
        ("blocked", text(counts.blocked)),
        ("assumed", text(counts.assumed)),
        ("stopped", text(counts.stopped)),
        ("cut", text(counts.cut)),
        ("events", text(counts.events)),
        ("deadlocks", text(counts.deadlocks)),
        ("longest", text(counts.longest)),
        ("wakeup_nodes", text(counts.wakeup_nodes)),
        ("memory", text(counts.memory)),
        ("states", text(counts.states)),
        ("merges", text(counts.merges)),
        ("state_memory", text(counts.state_memory)),
    ]
}

fn leak(Leak { location, blocks, bytes }: &Leak) -> String {
    object(&[("location", text(location)), ("blocks", text(blocks)), ("bytes", text(bytes))])
}

fn bare_failure(failure: &Failure) -> [Field; 3] {
    [
        ("kind", text(failure.kind.name())),
        ("message", text(&failure.message)),
        ("location", location(&failure.place)),
    ]
}

fn failure(failure: &Counterexample) -> String {
    let replay = failure.replay.as_ref();
    let mut fields = bare_failure(&failure.failure).to_vec();
    fields.extend([
        ("process", text(&failure.process)),
        ("executions", text(failure.executions)),
        ("schedule", text(failure.schedule.as_ref().map(ToString::to_string))),
        ("trace", replay.map_or("[]".to_owned(), trace)),
        ("trace_omitted", text(replay.is_none())),
    ]);
    let deadlocked = replay.filter(|_| failure.is_deadlock());
    fields.extend(deadlocked.map(|replay| ("waiting", list(&replay.waiting, waiting))));
    object(&fields)
}

/// What an algorithm was to be run on, and in which form.
fn searched(algorithm: Algorithm, parameters: &Parameters) -> Vec<Field> {
    let published = algorithm.published();
    let values: BTreeMap<&str, &str> =
        parameters.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let mut fields = vec![
        ("parameters", text(values)),
        ("algorithm", text(algorithm.name())),
        ("as_published", text(published.is_some())),
    ];
    fields.extend(published.map(Published::version).map(|version| ("version", text(version))));
    fields
}

fn not_run(NotRun { algorithm, parameters }: &NotRun) -> String {
    object(&searched(*algorithm, parameters))
}

fn comparison_run(row: &ComparisonRow) -> String {
    let mut fields = searched(row.algorithm, &row.parameters);
    fields.push(("exhaustive", text(row.reason.is_none())));
    fields.push(("reason", text(&row.reason)));
    fields.extend(counts(&row.counts));
    fields.push(("seconds", text(row.seconds)));
    fields.push(("failures", list(&row.failures, |found| object(&bare_failure(&found.failure)))));
    fields.push(("more_failures", text(row.more_failures)));
    object(&fields)
}

fn final_states(states: &FinalStates) -> String {
    object(&[
        ("count", text(states.count())),
        ("more", text(states.more)),
        ("states", list(&states.listed, final_state)),
    ])
}

fn final_state(FinalState { terms, deadlock, executions }: &FinalState) -> String {
    object(&[("terms", text(terms)), ("deadlock", text(deadlock)), ("executions", text(executions))])
}

fn traces(Executions { listed, left_out }: &Executions) -> String {
    object(&[("left_out", text(left_out)), ("executions", list(listed, execution))])
}

fn execution(execution: &ListedExecution) -> String {
    object(&[
        ("schedule", text(execution.schedule.to_string())),
        ("deadlock", text(execution.is_deadlock())),
        ("trace", trace(&execution.replay)),
    ])
}

fn trace(replay: &Replay) -> String {
    list(replay.steps.iter().enumerate(), |(at, told)| step(at + 1, told))
}

fn step(number: usize, step: &ReplayStep) -> String {
    // The initial value has no step as its source.
    let read = |Observed { name, value, source }: &Observed| {
        object(&[("name", text(name)), ("value", text(value)), ("source", text(source.map(|at| at + 1)))])
    };
    let write =
        |Observed { name, value, .. }: &Observed| object(&[("name", text(name)), ("value", text(value))]);
    object(&[
        ("step", text(number)),
        ("process", text(&step.process)),
        ("name", text(&step.name)),
        ("operation", text(&step.operation)),
        ("reads", list(&step.reads, read)),
        ("writes", list(&step.writes, write)),
        ("note", text(&step.note)),
        ("location", location(&step.place)),
    ])
}

fn waiting(wait: &Waiting) -> String {
    object(&[
        ("process", text(&wait.process)),
        ("name", text(&wait.name)),
        ("operation", text(&wait.operation)),
        ("waits_for", text(&wait.waits_for)),
        ("waits_on", text(&wait.waits_on)),
        ("location", location(&wait.place)),
    ])
}

fn location(place: &Option<Place>) -> String {
    text(place.as_ref().map(Place::to_string))
}

/// Plain data as JSON.
fn text(value: impl Serialize) -> String {
    // Numbers, strings and lists of them can't fail to be written to memory.
    serde_json::to_string(&value).expect("plain data has a form in JSON")
}

fn list<T>(items: impl IntoIterator<Item = T>, write: impl Fn(T) -> String) -> String {
    let items: Vec<String> = items.into_iter().map(write).collect();
    format!("[{}]", items.join(","))
}

/// No name of a field needs to be escaped.
fn object(fields: &[Field]) -> String {
    let fields: Vec<String> = fields.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
    format!("{{{}}}", fields.join(","))
}
