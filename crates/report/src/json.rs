//! A report as JSON for machines: one object, of the schema `docs/schema/check.schema.json`.
//!
//! Within schema 1 fields and kinds of failures are only added. Steps are numbered from 1, as in the text.

use mazurka_explore::{Counts, Published};
use mazurka_program::{Failure, Observed, Place};
use serde::Serialize;

use crate::executions::{FinalState, FinalStates, ToldExecution, ToldExecutions};
use crate::replay::{Story, StoryStep, Waiting};
use crate::report::{Counterexample, Leak, Method, Report, Verdict};
use crate::survey::{Survey, SurveyRow};

/// The version of the schema.
pub const SCHEMA: u32 = 1;

/// The report as one JSON object.
pub fn json(report: &Report) -> String {
    to_text(&CheckJson {
        schema: SCHEMA,
        program: &report.subject.program,
        options: &report.subject.options,
        verdict: report.verdict().name(),
        algorithm: report.method.name(),
        replay: match &report.method {
            Method::Search(_) => None,
            Method::Replay(schedule) => Some(schedule.to_string()),
        },
        as_published: report.method.published().is_some(),
        version: report.method.published().map(Published::version),
        exhaustive: report.reason.is_none(),
        reason: report.reason.as_deref(),
        counts: CountsJson::from(&report.counts),
        seconds: report.seconds,
        failures: report.failures.iter().map(failure).collect(),
        more_failures: report.more_failures,
        leaks: report.leaks.iter().map(leak).collect(),
        trace: report.story.as_ref().map(trace),
        final_states: report.final_states.as_ref().map(final_states),
        traces: report.executions.as_ref().map(traces),
    })
}

/// The comparison as one JSON object, of the schema `docs/schema/compare.schema.json`.
pub fn survey_json(survey: &Survey) -> String {
    to_text(&SurveyJson {
        schema: SCHEMA,
        program: &survey.subject.program,
        options: &survey.subject.options,
        verdict: survey.verdict().map(Verdict::name),
        runs: survey.rows.iter().map(survey_run).collect(),
        disagreement: survey.disagreement(),
    })
}

/// What kind of thing stopped the command before there was a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
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

/// What stopped the command before there was a verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ErrorReport {
    /// What kind of thing.
    pub kind: ErrorKind,
    /// In one sentence.
    pub message: String,
    /// Where: `file:line:column`, or a file.
    pub location: Option<String>,
    /// All that is wrong with a file; empty if the error is of another kind.
    pub diagnostics: Vec<DiagnosticJson>,
}

/// One thing that is wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DiagnosticJson {
    /// What, in one line.
    pub message: String,
    /// Where: `file:line:column`.
    pub location: Option<String>,
    /// What to do about it.
    pub help: Option<String>,
}

/// The error as one JSON object.
pub fn error_json(error: &ErrorReport) -> String {
    #[derive(Serialize)]
    struct Wrapped<'a> {
        schema: u32,
        error: &'a ErrorReport,
    }
    to_text(&Wrapped { schema: SCHEMA, error })
}

#[derive(Serialize)]
struct CheckJson<'a> {
    schema: u32,
    program: &'a str,
    options: &'a [String],
    verdict: &'static str,
    algorithm: &'static str,
    replay: Option<String>,
    as_published: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<u8>,
    exhaustive: bool,
    reason: Option<&'a str>,
    #[serde(flatten)]
    counts: CountsJson,
    seconds: f64,
    failures: Vec<FailureJson<'a>>,
    more_failures: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    leaks: Vec<LeakJson<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace: Option<Vec<StepJson<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    final_states: Option<FinalStatesJson<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    traces: Option<TracesJson<'a>>,
}

/// Memory that is never freed: a warning.
#[derive(Serialize)]
struct LeakJson<'a> {
    location: Option<&'a str>,
    blocks: u64,
    bytes: u64,
}

fn leak(leak: &Leak) -> LeakJson<'_> {
    LeakJson { location: leak.location.as_deref(), blocks: leak.blocks, bytes: leak.bytes }
}

#[derive(Serialize)]
struct FinalStatesJson<'a> {
    count: usize,
    more: bool,
    states: Vec<FinalStateJson<'a>>,
}

#[derive(Serialize)]
struct FinalStateJson<'a> {
    terms: &'a [String],
    deadlock: bool,
    executions: u64,
}

#[derive(Serialize)]
struct TracesJson<'a> {
    left_out: u64,
    executions: Vec<ExecutionJson<'a>>,
}

#[derive(Serialize)]
struct ExecutionJson<'a> {
    schedule: String,
    deadlock: bool,
    trace: Vec<StepJson<'a>>,
}

#[derive(Serialize)]
struct SurveyJson<'a> {
    schema: u32,
    program: &'a str,
    options: &'a [String],
    /// None where an algorithm is wrong.
    verdict: Option<&'static str>,
    runs: Vec<RunJson<'a>>,
    disagreement: Option<String>,
}

#[derive(Serialize)]
struct RunJson<'a> {
    algorithm: &'static str,
    as_published: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<u8>,
    exhaustive: bool,
    reason: Option<&'a str>,
    #[serde(flatten)]
    counts: CountsJson,
    seconds: f64,
    failures: Vec<BareFailureJson<'a>>,
    more_failures: bool,
}

/// The counts, under the names of the contract: `executions` are the complete ones.
#[derive(Serialize)]
struct CountsJson {
    executions: u64,
    blocked: u64,
    assumed: u64,
    cut: u64,
    events: u64,
    deadlocks: u64,
    longest: usize,
    wakeup_nodes: u64,
    memory: u64,
    states: u64,
    merges: u64,
    state_memory: u64,
}

impl From<&Counts> for CountsJson {
    fn from(counts: &Counts) -> CountsJson {
        CountsJson {
            executions: counts.complete,
            blocked: counts.blocked,
            assumed: counts.assumed,
            cut: counts.cut,
            events: counts.events,
            deadlocks: counts.deadlocks,
            longest: counts.longest,
            wakeup_nodes: counts.wakeup_nodes,
            memory: counts.memory,
            states: counts.states,
            merges: counts.merges,
            state_memory: counts.state_memory,
        }
    }
}

#[derive(Serialize)]
struct BareFailureJson<'a> {
    kind: &'static str,
    message: &'a str,
    location: Option<String>,
}

#[derive(Serialize)]
struct FailureJson<'a> {
    #[serde(flatten)]
    failure: BareFailureJson<'a>,
    process: Option<&'a str>,
    executions: Option<u64>,
    schedule: Option<String>,
    trace: Vec<StepJson<'a>>,
    trace_omitted: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    waiting: Option<Vec<WaitingJson<'a>>>,
}

#[derive(Serialize)]
struct StepJson<'a> {
    step: usize,
    process: &'a str,
    name: &'a str,
    operation: &'a str,
    reads: Vec<ReadJson<'a>>,
    writes: Vec<WriteJson<'a>>,
    note: Option<&'a str>,
    location: Option<String>,
}

#[derive(Serialize)]
struct ReadJson<'a> {
    name: &'a str,
    value: &'a str,
    /// The number of the step that wrote it; none if it is the initial value.
    source: Option<usize>,
}

#[derive(Serialize)]
struct WriteJson<'a> {
    name: &'a str,
    value: &'a str,
}

#[derive(Serialize)]
struct WaitingJson<'a> {
    process: &'a str,
    name: &'a str,
    operation: &'a str,
    waits_for: &'a str,
    waits_on: &'a [String],
    location: Option<String>,
}

fn failure(failure: &Counterexample) -> FailureJson<'_> {
    let story = failure.story.as_ref();
    FailureJson {
        failure: bare(&failure.failure),
        process: failure.process.as_deref(),
        executions: failure.executions,
        schedule: failure.schedule.as_ref().map(ToString::to_string),
        trace: story.map(trace).unwrap_or_default(),
        trace_omitted: story.is_none(),
        waiting: story.filter(|_| failure.is_deadlock()).map(|story| waiting(&story.waiting)),
    }
}

fn bare(failure: &Failure) -> BareFailureJson<'_> {
    BareFailureJson {
        kind: failure.kind.name(),
        message: &failure.message,
        location: location(&failure.place),
    }
}

fn survey_run(row: &SurveyRow) -> RunJson<'_> {
    RunJson {
        algorithm: row.algorithm.name(),
        as_published: row.algorithm.published().is_some(),
        version: row.algorithm.published().map(Published::version),
        exhaustive: row.reason.is_none(),
        reason: row.reason.as_deref(),
        counts: CountsJson::from(&row.counts),
        seconds: row.seconds,
        failures: row.failures.iter().map(|found| bare(&found.failure)).collect(),
        more_failures: row.more_failures,
    }
}

fn final_states(states: &FinalStates) -> FinalStatesJson<'_> {
    let FinalStates { count, more, told } = states;
    FinalStatesJson { count: *count, more: *more, states: told.iter().map(final_state).collect() }
}

fn traces(executions: &ToldExecutions) -> TracesJson<'_> {
    TracesJson { left_out: executions.left_out, executions: executions.told.iter().map(execution).collect() }
}

fn final_state(state: &FinalState) -> FinalStateJson<'_> {
    let FinalState { terms, deadlock, executions } = state;
    FinalStateJson { terms, deadlock: *deadlock, executions: *executions }
}

fn execution(told: &ToldExecution) -> ExecutionJson<'_> {
    ExecutionJson {
        schedule: told.schedule.to_string(),
        deadlock: told.is_deadlock(),
        trace: trace(&told.story),
    }
}

fn trace(story: &Story) -> Vec<StepJson<'_>> {
    story.steps.iter().enumerate().map(|(at, told)| step(at + 1, told)).collect()
}

fn step(number: usize, step: &StoryStep) -> StepJson<'_> {
    StepJson {
        step: number,
        process: &step.process,
        name: &step.name,
        operation: &step.operation,
        reads: step.reads.iter().map(read).collect(),
        writes: step
            .writes
            .iter()
            .map(|write| WriteJson { name: &write.name, value: &write.value })
            .collect(),
        note: step.note.as_deref(),
        location: location(&step.place),
    }
}

fn read(read: &Observed) -> ReadJson<'_> {
    ReadJson { name: &read.name, value: &read.value, source: read.source.map(|source| source + 1) }
}

fn waiting(waiting: &[Waiting]) -> Vec<WaitingJson<'_>> {
    waiting.iter().map(one_waiting).collect()
}

fn one_waiting(wait: &Waiting) -> WaitingJson<'_> {
    let Waiting { process, name, operation, waits_for, waits_on, place } = wait;
    WaitingJson { process, name, operation, waits_for, waits_on, location: location(place) }
}

fn location(place: &Option<Place>) -> Option<String> {
    place.as_ref().map(Place::to_string)
}

fn to_text(value: &impl Serialize) -> String {
    // Numbers, strings and lists of them can't fail to be written to memory.
    serde_json::to_string(value).expect("plain data has a form in JSON")
}
