//! Several algorithms on one program, or on a program with several values of its parameters, side by side: the
//! table that papers print.
//!
//! Rows with the same parameters are of one program, and only such rows can agree or disagree.

mod csv;
mod latex;
mod text;

use std::time::Instant;

use mazurka_explore::{Algorithm, Counts, NotExhaustive, Options, explore};
use mazurka_program::{Explain, Program, Schedule};

use crate::check::{InternalError, internal_error, reason};
use crate::collect::{Collector, DistinctFailure, Watch};
use crate::report::{Subject, Verdict};
use crate::style::clean;
use crate::wording::Wording;

/// The parameters that a program was given: names and values, in order.
pub type Parameters = Vec<(String, String)>;

/// A comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// What was checked.
    pub subject: Subject,
    /// Each algorithm's row; the rows of one program follow each other. All have the same parameters, with
    /// values of their own.
    pub rows: Vec<ComparisonRow>,
    /// What was to be run too, but was not, because of an interruption.
    pub not_run: Vec<NotRun>,
}

/// A search of a comparison that never began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotRun {
    /// The parameters of the program.
    pub parameters: Parameters,
    /// The algorithm.
    pub algorithm: Algorithm,
}

/// What one algorithm did.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparisonRow {
    /// The parameters of the program.
    pub parameters: Parameters,
    /// The algorithm.
    pub algorithm: Algorithm,
    /// The totals.
    pub counts: Counts,
    /// How long it took.
    pub seconds: f64,
    /// Why it did not look at everything; none if it did.
    pub reason: Option<String>,
    /// Whether that is since it does not cover the program: then the counts say nothing.
    pub is_refused: bool,
    /// The distinct failures it met.
    pub failures: Vec<DistinctFailure>,
    /// Whether there were more than are kept.
    pub more_failures: bool,
    /// A bug of ours that the search noticed.
    pub internal: Option<InternalError>,
}

/// Runs one algorithm to its end, whatever fails on the way. The row has no parameters: who knows them adds
/// them.
///
/// What [`Options::keep_going`] says of executions that are too long is left to the caller: with it, a
/// program that never ends would be explored forever.
pub fn comparison_row<'a, P: Program<Run: Explain>>(
    program: &P,
    algorithm: Algorithm,
    options: &Options,
    watch: Option<&'a mut Watch<'a>>,
) -> ComparisonRow {
    let begin = Instant::now();
    let mut collector = Collector::new(true, watch);
    let summary = explore(program, algorithm, options, &mut collector);
    let seconds = begin.elapsed().as_secs_f64();
    let collected = collector.collected();
    let reason = reason(&summary, &collected, options.keep_going, &Wording::default());
    let is_refused = matches!(summary.not_exhaustive, Some(NotExhaustive::Unsupported(_)));
    let internal = internal_error(&summary).map(|what| InternalError { algorithm, what });
    let broken =
        summary.broken.map(|failure| DistinctFailure::once(failure, Vec::new(), Schedule::default()));
    let failures = collected.found.into_iter().chain(broken).collect();
    let (counts, more_failures) = (summary.counts, collected.more);
    let parameters = Parameters::new();
    ComparisonRow {
        parameters,
        algorithm,
        counts,
        seconds,
        reason,
        is_refused,
        failures,
        more_failures,
        internal,
    }
}

impl ComparisonRow {
    /// The row of an algorithm that does not cover the program, whatever that does.
    pub fn refused(algorithm: Algorithm, why: &str) -> ComparisonRow {
        ComparisonRow {
            parameters: Parameters::new(),
            algorithm,
            counts: Counts::default(),
            seconds: 0.0,
            reason: Some(why.to_owned()),
            is_refused: true,
            failures: Vec::new(),
            more_failures: false,
            internal: None,
        }
    }
}

impl Comparison {
    /// The answer: a failure that any algorithm met is one; one exhaustive search of each program, and no
    /// failure, is a pass. None if an algorithm is wrong: two don't agree, or one that met no failure noticed
    /// a bug of its own.
    pub fn verdict(&self) -> Option<Verdict> {
        if self.disagreement().is_some() {
            None
        } else if self.rows.iter().any(|row| !row.failures.is_empty()) {
            Some(Verdict::Failure)
        } else if self.internal_error().is_some() {
            None
        } else if self.looked_at_everything() {
            Some(Verdict::Pass)
        } else {
            Some(Verdict::NotExhaustive)
        }
    }

    fn looked_at_everything(&self) -> bool {
        let whole = |row: &ComparisonRow| row.reason.is_none();
        let never_begun = |not_run: &NotRun| {
            !self.rows.iter().any(|row| whole(row) && row.parameters == not_run.parameters)
        };
        !self.rows.is_empty()
            && self.programs().all(|rows| rows.iter().any(whole))
            && !self.not_run.iter().any(never_begun)
    }

    /// The rows of each program.
    fn programs(&self) -> impl Iterator<Item = &[ComparisonRow]> {
        self.rows.chunk_by(|a, b| a.parameters == b.parameters)
    }

    /// The first bug of ours that a search noticed.
    pub fn internal_error(&self) -> Option<InternalError> {
        self.rows.iter().find_map(|row| row.internal)
    }

    /// What two algorithms that both looked at everything don't agree on. There is nothing unless one of them
    /// is wrong.
    pub fn disagreement(&self) -> Option<String> {
        self.programs().find_map(|rows| {
            let what = disagreement(rows)?;
            let at = self.whereabouts(rows.iter().map(|row| &row.parameters));
            Some(if at.is_empty() { what } else { format!("{what}, at {at}") })
        })
    }

    /// The distinct failures of all algorithms.
    pub fn failures(&self) -> Vec<&DistinctFailure> {
        let mut failures: Vec<&DistinctFailure> = Vec::new();
        for failure in self.rows.iter().flat_map(|row| &row.failures) {
            if !failures.iter().any(|known| known.is_like(failure)) {
                failures.push(failure);
            }
        }
        failures
    }

    /// The names of the parameters that have several values.
    fn varying(&self) -> Vec<&str> {
        let all = || {
            self.rows.iter().map(|row| &row.parameters).chain(self.not_run.iter().map(|not| &not.parameters))
        };
        let Some(first) = all().next() else { return Vec::new() };
        let varies = |at: &usize| all().any(|other| other.get(*at) != first.get(*at));
        (0..first.len()).filter(varies).map(|at| first[at].0.as_str()).collect()
    }

    /// The program, and the parameters that have one value: `queue.maz (k = 2)`.
    fn title(&self) -> String {
        let varying = self.varying();
        let given = self.rows.first().map_or(&[][..], |row| &row.parameters);
        let fixed = given.iter().filter(|(name, _)| !varying.contains(&name.as_str()));
        let fixed: Vec<String> = fixed.map(|(name, value)| format!("{name} = {value}")).collect();
        let fixed = if fixed.is_empty() { String::new() } else { format!(" ({})", fixed.join(", ")) };
        clean(&format!("{}{fixed}", self.subject.program))
    }

    /// At which values of the parameters that have several: `n = 2, 3` or `n = 2, k = 1; n = 2, k = 2`; nothing
    /// if none has. Equal ones that follow each other are told once, and of many the first.
    fn whereabouts<'a>(&self, parameters: impl Iterator<Item = &'a Parameters>) -> String {
        const MOST: usize = 8;
        let varying = self.varying();
        let (begin, separator) = match varying.as_slice() {
            [] => return String::new(),
            [one] => (format!("{one} = "), ", "),
            _ => (String::new(), "; "),
        };
        let told = |parameters: &Parameters| match varying.as_slice() {
            [one] => value_of(parameters, one).to_owned(),
            several => {
                let each = several.iter().map(|name| format!("{name} = {}", value_of(parameters, name)));
                each.collect::<Vec<_>>().join(", ")
            }
        };
        let mut told: Vec<String> = parameters.map(told).collect();
        told.dedup();
        let more = told.len().saturating_sub(MOST);
        told.truncate(MOST);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("{begin}{}{more}", told.join(separator))
    }
}

/// The value of a parameter; nothing if there is none of that name.
fn value_of<'a>(parameters: &'a Parameters, name: &str) -> &'a str {
    parameters.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
}

/// What two algorithms that both looked at everything don't agree on, of one program.
fn disagreement(rows: &[ComparisonRow]) -> Option<String> {
    let whole = |row: &&ComparisonRow| row.reason.is_none() && !row.more_failures;
    let rows: Vec<&ComparisonRow> = rows.iter().filter(whole).collect();
    for a in &rows {
        for b in &rows {
            let missed = a.failures.iter().find(|f| !b.failures.iter().any(|other| other.is_like(f)));
            if let Some(DistinctFailure { failure, .. }) = missed {
                let what = format!("{}: {}", failure.kind.name(), failure.message);
                return Some(format!("{} met a failure that {} missed ({what})", a.algorithm, b.algorithm));
            }
        }
    }
    None
}
