//! Several algorithms on one program, side by side: the table that papers print.

use std::time::Instant;

use mazurka_explore::{Algorithm, Counts, Options, explore};
use mazurka_program::{Explain, Failure, Program};

use crate::check::reason;
use crate::collect::{Collector, Watch, same};
use crate::report::{Subject, Verdict};
use crate::style::{Paint, Tone, clean, pad, width};
use crate::text::{headline, seconds_text};

/// A comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Survey {
    /// What was checked.
    pub subject: Subject,
    /// Each algorithm's row.
    pub rows: Vec<SurveyRow>,
}

/// What one algorithm did.
#[derive(Clone, Debug, PartialEq)]
pub struct SurveyRow {
    /// The algorithm.
    pub algorithm: Algorithm,
    /// The totals.
    pub counts: Counts,
    /// How long it took.
    pub seconds: f64,
    /// Why it did not look at everything; none if it did.
    pub reason: Option<String>,
    /// The distinct failures it met.
    pub failures: Vec<Failure>,
    /// Whether there were more than are kept.
    pub more_failures: bool,
}

/// Runs one algorithm to its end, whatever fails on the way.
///
/// What [`Options::keep_going`] says of executions that are too long is left to the caller: with it, a program that
/// never ends would be explored forever.
pub fn survey_row<'a, P>(
    program: &P,
    algorithm: Algorithm,
    options: &Options,
    watch: Option<&'a mut Watch<'a>>,
) -> SurveyRow
where
    P: Program,
    P::Run: Explain,
{
    let begin = Instant::now();
    let mut collector = Collector::new(true, watch);
    let summary = explore(program, algorithm, options, &mut collector);
    let seconds = begin.elapsed().as_secs_f64();
    let (found, more_failures) = collector.into_found();
    let reason = reason(&summary);
    let failures = found.into_iter().map(|found| found.failure).chain(summary.broken).collect();
    SurveyRow { algorithm, counts: summary.counts, seconds, reason, failures, more_failures }
}

impl Survey {
    /// The answer: a failure that any algorithm met is one; one exhaustive search without any is a pass.
    pub fn verdict(&self) -> Verdict {
        if self.rows.iter().any(|row| !row.failures.is_empty()) {
            Verdict::Failure
        } else if self.rows.iter().any(|row| row.reason.is_none()) {
            Verdict::Pass
        } else {
            Verdict::NotExhaustive
        }
    }

    /// What two algorithms that both looked at everything don't agree on. There is nothing unless one of them is wrong.
    pub fn disagreement(&self) -> Option<String> {
        let whole = |row: &&SurveyRow| row.reason.is_none() && !row.more_failures;
        let rows: Vec<&SurveyRow> = self.rows.iter().filter(whole).collect();
        for a in &rows {
            for b in &rows {
                let missed = a.failures.iter().find(|f| !b.failures.iter().any(|other| same(f, other)));
                if let Some(failure) = missed {
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
    pub fn failures(&self) -> Vec<&Failure> {
        let mut failures: Vec<&Failure> = Vec::new();
        for failure in self.rows.iter().flat_map(|row| &row.failures) {
            if !failures.iter().any(|known| same(known, failure)) {
                failures.push(failure);
            }
        }
        failures
    }

    /// The table, with a dagger where a search was not exhaustive.
    pub fn text(&self, colour: bool) -> String {
        let paint = Paint(colour);
        let mut cells = vec![HEADINGS.map(str::to_owned)];
        cells.extend(self.rows.iter().map(SurveyRow::cells));
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
        for failure in self.failures() {
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

impl SurveyRow {
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
