//! A comparison as text for people.

use mazurka_explore::Algorithm;

use super::{Comparison, ComparisonRow, value_of};
use crate::collect::DistinctFailure;
use crate::report::Verdict;
use crate::style::{Paint, Tone, clean, pad, width};
use crate::text::{headline, seconds_text};

/// Marks what was not exhaustive.
const DAGGER: char = '\u{2020}';

/// What there is to say of an algorithm in a row.
const HEADINGS: [&str; 9] =
    ["algorithm", "complete", "blocked", "assumed", "deadlocks", "events", "longest", "wakeup nodes", "time"];

impl Comparison {
    /// The table, with a dagger where a search was not exhaustive, and a column for each parameter that has
    /// several values.
    pub fn text(&self, colour: bool) -> String {
        let paint = Paint(colour);
        let varying = self.varying();
        let mut cells: Vec<Vec<String>> =
            vec![varying.iter().chain(&HEADINGS).map(|heading| clean(heading)).collect()];
        cells.extend(self.rows.iter().map(|row| row.cells(&varying)));
        let widths: Vec<usize> = (0..cells[0].len())
            .map(|at| cells.iter().map(|row| width(&row[at])).max().unwrap_or(0))
            .collect();
        let mut text = format!("{}\n\n", self.title());
        for (at, row) in cells.iter().enumerate() {
            let line = line(row, &widths, varying.len());
            text += &format!("{}\n", if at == 0 { paint.paint(Tone::Heading, &line) } else { line });
        }
        for reason in self.reasons() {
            text += &format!("\n{DAGGER} {reason}");
        }
        text += if self.rows.iter().any(|row| row.reason.is_some()) { "\n" } else { "" };
        for failure in self.failures() {
            text += &format!("\n{} {}\n", paint.paint(Tone::Bad, "failure:"), self.failure_text(failure));
        }
        if let Some(not_run) = self.not_run_text() {
            text += &format!("\n{not_run}\n");
        }
        text
    }

    /// What nobody should miss: the failures, or why this is no pass. Nothing if it is one.
    pub fn brief_text(&self, colour: bool) -> String {
        let paint = Paint(colour);
        let program = clean(&self.subject.program);
        let failures = self.failures().into_iter().map(|failure| {
            format!("{} {program}: {}\n", paint.paint(Tone::Bad, "failure:"), self.failure_text(failure))
        });
        let mut text: String = failures.collect();
        if self.verdict() == Some(Verdict::NotExhaustive) {
            let heading = paint.paint(Tone::Doubtful, "not exhaustive:");
            text += &format!("{heading} no failure so far in {program}\n");
            for line in self.reasons().into_iter().chain(self.not_run_text()) {
                text += &format!("  {line}\n");
            }
        }
        text
    }

    /// Who was not exhaustive, at which parameters, and why: each reason of an algorithm once.
    pub(super) fn reasons(&self) -> Vec<String> {
        let mut kinds: Vec<(Algorithm, &str)> = Vec::new();
        for row in &self.rows {
            let kind = row.reason.as_deref().map(|reason| (row.algorithm, reason));
            kinds.extend(kind.filter(|kind| !kinds.contains(kind)));
        }
        let told = |(algorithm, reason): (Algorithm, &str)| {
            let has =
                |row: &&ComparisonRow| row.algorithm == algorithm && row.reason.as_deref() == Some(reason);
            let at = self.at(self.rows.iter().filter(has));
            let what = if self.rows.iter().filter(has).all(|row| row.is_refused) {
                "refused"
            } else {
                "not exhaustive"
            };
            format!("{algorithm} is {what}{at}: {}", clean(reason))
        };
        kinds.into_iter().map(told).collect()
    }

    pub(super) fn failure_text(&self, found: &DistinctFailure) -> String {
        let DistinctFailure { failure, .. } = found;
        let place = failure.place.as_ref().map_or(String::new(), |place| format!(" (at {place})"));
        let (heading, rest) = headline(failure);
        let has = |row: &&ComparisonRow| row.failures.iter().any(|other| other.is_like(found));
        let at = self.at(self.rows.iter().filter(has));
        format!("{heading}{rest}{place}{at}")
    }

    fn not_run_text(&self) -> Option<String> {
        let mut algorithms: Vec<Algorithm> = Vec::new();
        for not_run in &self.not_run {
            if !algorithms.contains(&not_run.algorithm) {
                algorithms.push(not_run.algorithm);
            }
        }
        let told = algorithms.iter().map(|&algorithm| {
            let its = self.not_run.iter().filter(|not_run| not_run.algorithm == algorithm);
            let at = self.whereabouts(its.map(|not_run| &not_run.parameters));
            if at.is_empty() { algorithm.to_string() } else { format!("{algorithm} at {at}") }
        });
        let told: Vec<String> = told.collect();
        let separator = if self.varying().is_empty() { ", " } else { "; " };
        let text = || format!("not run, because of the interruption: {}", told.join(separator));
        (!told.is_empty()).then(text)
    }

    /// ` at n = 2, 3`: the parameters of some rows.
    fn at<'a>(&self, rows: impl Iterator<Item = &'a ComparisonRow>) -> String {
        let at = self.whereabouts(rows.map(|row| &row.parameters));
        if at.is_empty() { at } else { format!(" at {}", clean(&at)) }
    }
}

impl ComparisonRow {
    fn cells(&self, parameters: &[&str]) -> Vec<String> {
        let dagger = if self.reason.is_some() { DAGGER.to_string() } else { String::new() };
        let counts = &self.counts;
        let mut cells: Vec<String> =
            parameters.iter().map(|name| clean(value_of(&self.parameters, name))).collect();
        cells.push(format!("{}{dagger}", self.algorithm));
        if self.is_refused {
            cells.resize(parameters.len() + HEADINGS.len(), "-".to_owned());
            return cells;
        }
        cells.extend([
            counts.complete.to_string(),
            counts.blocked.to_string(),
            counts.assumed.to_string(),
            counts.deadlocks.to_string(),
            counts.events.to_string(),
            counts.longest.to_string(),
            counts.wakeup_nodes.to_string(),
            seconds_text(self.seconds),
        ]);
        cells
    }
}

/// The name of the algorithm, which is the cell after the parameters, to the left; numbers to the right.
fn line(cells: &[String], widths: &[usize], algorithm: usize) -> String {
    let placed = cells.iter().zip(widths).enumerate().map(|(at, (cell, &columns))| match at == algorithm {
        true => pad(cell, columns),
        false => format!("{}{cell}", " ".repeat(columns - width(cell))),
    });
    placed.collect::<Vec<_>>().join("  ")
}
