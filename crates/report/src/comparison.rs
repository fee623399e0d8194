//! Several algorithms on one program, side by side: the table that papers print.

use std::time::Instant;

use mazurka_explore::{Algorithm, Counts, Options, explore};
use mazurka_program::{Explain, Program, Schedule};

use crate::check::{InternalError, internal_error, reason};
use crate::collect::{Collector, DistinctFailure, Watch};
use crate::report::{Subject, Verdict};
use crate::style::{Paint, Tone, clean, pad, width};
use crate::text::{headline, seconds_text};
use crate::wording::Wording;

/// A comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// What was checked.
    pub subject: Subject,
    /// Each algorithm's row.
    pub rows: Vec<ComparisonRow>,
}

/// What one algorithm did.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparisonRow {
    /// The algorithm.
    pub algorithm: Algorithm,
    /// The totals.
    pub counts: Counts,
    /// How long it took.
    pub seconds: f64,
    /// Why it did not look at everything; none if it did.
    pub reason: Option<String>,
    /// The distinct failures it met.
    pub failures: Vec<DistinctFailure>,
    /// Whether there were more than are kept.
    pub more_failures: bool,
    /// A bug of ours that the search noticed.
    pub internal: Option<InternalError>,
}

/// Runs one algorithm to its end, whatever fails on the way.
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
    let internal = internal_error(&summary).map(|what| InternalError { algorithm, what });
    let broken =
        summary.broken.map(|failure| DistinctFailure::once(failure, Vec::new(), Schedule::default()));
    let failures = collected.found.into_iter().chain(broken).collect();
    let (counts, more_failures) = (summary.counts, collected.more);
    ComparisonRow { algorithm, counts, seconds, reason, failures, more_failures, internal }
}

impl Comparison {
    /// The answer: a failure that any algorithm met is one; one exhaustive search without any is a pass. None
    /// if an algorithm is wrong: two don't agree, or one that met no failure noticed a bug of its own.
    pub fn verdict(&self) -> Option<Verdict> {
        if self.disagreement().is_some() {
            None
        } else if self.rows.iter().any(|row| !row.failures.is_empty()) {
            Some(Verdict::Failure)
        } else if self.internal_error().is_some() {
            None
        } else if self.rows.iter().any(|row| row.reason.is_none()) {
            Some(Verdict::Pass)
        } else {
            Some(Verdict::NotExhaustive)
        }
    }

    /// The first bug of ours that a search noticed.
    pub fn internal_error(&self) -> Option<InternalError> {
        self.rows.iter().find_map(|row| row.internal)
    }

    /// What two algorithms that both looked at everything don't agree on. There is nothing unless one of them
    /// is wrong.
    pub fn disagreement(&self) -> Option<String> {
        let whole = |row: &&ComparisonRow| row.reason.is_none() && !row.more_failures;
        let rows: Vec<&ComparisonRow> = self.rows.iter().filter(whole).collect();
        for a in &rows {
            for b in &rows {
                let missed = a.failures.iter().find(|f| !b.failures.iter().any(|other| other.is_like(f)));
                if let Some(DistinctFailure { failure, .. }) = missed {
                    let what = format!("{}: {}", failure.kind.name(), failure.message);
                    return Some(format!(
                        "{} met a failure that {} missed ({what})",
                        a.algorithm, b.algorithm
                    ));
                }
            }
        }
        None
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

    /// The table, with a dagger where a search was not exhaustive.
    pub fn text(&self, colour: bool) -> String {
        let paint = Paint(colour);
        let mut cells = vec![HEADINGS.map(str::to_owned)];
        cells.extend(self.rows.iter().map(ComparisonRow::cells));
        let widths: Vec<usize> = (0..HEADINGS.len())
            .map(|at| cells.iter().map(|row| width(&row[at])).max().unwrap_or(0))
            .collect();
        let mut text = format!("{}\n\n", clean(&self.subject.program));
        for (at, row) in cells.iter().enumerate() {
            let line = line(row, &widths);
            text += &format!("{}\n", if at == 0 { paint.paint(Tone::Heading, &line) } else { line });
        }
        for row in &self.rows {
            if let Some(reason) = &row.reason {
                text += &format!("\n{DAGGER} {} is not exhaustive: {}", row.algorithm, clean(reason));
            }
        }
        text += if self.rows.iter().any(|row| row.reason.is_some()) { "\n" } else { "" };
        for DistinctFailure { failure, .. } in self.failures() {
            let place = failure.place.as_ref().map_or(String::new(), |place| format!(" (at {place})"));
            let (heading, rest) = headline(failure);
            text += &format!("\n{} {heading}{rest}{place}\n", paint.paint(Tone::Bad, "failure:"));
        }
        text
    }
}

const DAGGER: char = '\u{2020}';

const HEADINGS: [&str; 9] =
    ["algorithm", "complete", "blocked", "assumed", "deadlocks", "events", "longest", "wakeup nodes", "time"];

impl ComparisonRow {
    fn cells(&self) -> [String; 9] {
        let dagger = if self.reason.is_some() { DAGGER.to_string() } else { String::new() };
        let counts = &self.counts;
        [
            format!("{}{dagger}", self.algorithm),
            counts.complete.to_string(),
            counts.blocked.to_string(),
            counts.assumed.to_string(),
            counts.deadlocks.to_string(),
            counts.events.to_string(),
            counts.longest.to_string(),
            counts.wakeup_nodes.to_string(),
            seconds_text(self.seconds),
        ]
    }
}

/// The first cell to the left, numbers to the right.
fn line(cells: &[String; 9], widths: &[usize]) -> String {
    let mut line = pad(&cells[0], widths[0]);
    for (cell, &columns) in cells.iter().zip(widths).skip(1) {
        line += &format!("  {}{cell}", " ".repeat(columns - width(cell)));
    }
    line
}
