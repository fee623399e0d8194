//! The column of CAV'18 itself, Constrained DPOR, at every size that its table has: published, as published here,
//! and the sound forms.
//!
//! `bench/papers/constrained.tsv` has what the paper prints: executions, states, seconds of its search and, once for
//! each program, of its synthesis. States are the nodes of the search tree from the state after the main block on, as
//! for the other rows of that paper. Here too constraints are looked for before a search, whose time is told without.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

use mazurka_explore::{Algorithm, Counts, Published};

use super::{Ours, abs_program, search_of};

const HEADER: &str = "program\tsize\texecutions\tstates\tseconds\tsynthesis";

/// Of programs that are linear in the number of events.
const LINEAR: [&str; 5] = ["Fib", "QS", "MS", "Pi", "PS"];

struct Row<'a> {
    program: &'a str,
    size: u32,
    executions: &'a str,
    states: &'a str,
    seconds: &'a str,
    /// Seconds too; empty but in the first row of a program.
    synthesis: &'a str,
}

fn rows(text: &str) -> Result<Vec<Row<'_>>, String> {
    let mut lines = text.lines();
    if lines.next() != Some(HEADER) {
        return Err(format!("constrained.tsv: the first line is not {HEADER:?}"));
    }
    let row = |line| {
        let cells: Vec<&str> = str::split(line, '\t').collect();
        let wrong = || format!("constrained.tsv: not a row: {line:?}");
        let [program, size, executions, states, seconds, synthesis] = cells[..] else { return Err(wrong()) };
        let size = size.parse().map_err(|_| wrong())?;
        Ok(Row { program, size, executions, states, seconds, synthesis })
    };
    lines.map(row).collect()
}

impl Row<'_> {
    fn ours(&self) -> Option<Ours> {
        let name = match self.program {
            "Fib" => "fib",
            "QS" => "qsort",
            "MS" => "msort",
            "Pi" => "pi",
            "PS" => "psort",
            "DBP" => "dbp",
            "BB" => "bb",
            _ => return None,
        };
        Some(Ours::Abs(name, vec![self.size]))
    }
}

/// What a search did, how long it took, and how long it took to find constraints before it.
#[derive(Clone, Copy)]
struct Timed {
    counts: Counts,
    early: bool,
    search: Duration,
    synthesis: Duration,
}

impl Timed {
    fn of(ours: &Ours, algorithm: Algorithm) -> Result<Timed, String> {
        let Ours::Abs(name, sizes) = ours else { return Err("not a program of this table".to_owned()) };
        let program = abs_program(name, sizes)?;
        let begun = Instant::now();
        program.find_constraints();
        let synthesis = begun.elapsed();
        let found = search_of(&program, algorithm)?;
        let search = begun.elapsed() - synthesis;
        Ok(Timed { counts: found.counts, early: found.early, search, synthesis })
    }

    /// Complete executions, blocked ones if there are any, and steps.
    fn figures(&self) -> String {
        let Timed { counts, search, .. } = self;
        let early = if self.early { ">" } else { "" };
        let blocked = if counts.blocked == 0 { String::new() } else { format!("+{}", counts.blocked) };
        let time = search.as_secs_f64();
        format!("{early}{}{blocked} / {early}{} / {time:.2} s", counts.complete, counts.events)
    }

    /// Whether it was one execution, of which every step was taken once.
    fn is_linear(&self) -> bool {
        let counts = &self.counts;
        !self.early && counts.complete == 1 && counts.blocked == 0 && counts.events == counts.longest as u64
    }
}

/// What is told once of a program: how long it took to find its constraints, and how long to search the largest of
/// its sizes for which the paper has a time.
#[derive(Default)]
struct Once<'a> {
    synthesis: String,
    search: Option<(&'a Row<'a>, Duration)>,
}

impl<'a> Once<'a> {
    fn add(&mut self, row: &'a Row<'a>, found: &Timed) {
        if !row.synthesis.is_empty() {
            self.synthesis = format!("{} s | {:.3} s", row.synthesis, found.synthesis.as_secs_f64());
        }
        if !row.seconds.is_empty() && !found.early {
            self.search = Some((row, found.search));
        }
    }

    fn cells(&self) -> String {
        let Some((row, search)) = self.search else { return format!("{} | | | | |", self.synthesis) };
        let (published, here) = (row.seconds.parse().unwrap_or(0.0), search.as_secs_f64());
        let times = published / here.max(1e-6);
        format!("{} | {} | {published} s | {here:.3} s | {times:.0} |", self.synthesis, row.size)
    }
}

fn or_lost(cell: &str) -> &str {
    if cell.is_empty() { "?" } else { cell }
}

/// The tables, in Markdown. Says whether every search could be run, and those of programs that should be linear in
/// the number of events were.
pub(super) fn table() -> Result<(String, bool), String> {
    let mut text = String::from(
        "| program | published | as published here | convergent+constraints | source+constraints |\n|---|---|---|---|---|\n",
    );
    let rows = rows(include_str!("../../papers/constrained.tsv"))?;
    let (mut once, mut right) = (BTreeMap::<&str, Once<'_>>::new(), true);
    for row in &rows {
        let Some(ours) = row.ours() else { continue };
        let linear = LINEAR.contains(&row.program);
        let mut run = |algorithm, linear: bool| {
            let found = Timed::of(&ours, algorithm);
            right &= found.as_ref().is_ok_and(|found| !linear || found.is_linear());
            found
        };
        let published = run(Algorithm::Published(Published::Constraints), linear);
        let convergent = run(Algorithm::ConvergentConstraints, linear);
        let source = run(Algorithm::SourceConstraints, linear);
        let cell = |found: &Result<Timed, String>| found.as_ref().map_or_else(String::clone, Timed::figures);
        let cells = [&published, &convergent, &source].map(cell).join(" | ");
        let [executions, states, seconds] = [row.executions, row.states, row.seconds].map(or_lost);
        let name = format!("{}({})", row.program, row.size);
        // Writing to a string does not fail.
        let _ = writeln!(text, "| {name} | {executions} / {states} / {seconds} s | {cells} |");
        if let Ok(found) = &published {
            once.entry(row.program).or_default().add(row, found);
        }
    }
    text += "\n| program | synthesis, published | here | size | search, published | as published here | times faster |\n\
             |---|---|---|---|---|---|---|\n";
    for (program, once) in &once {
        let _ = writeln!(text, "| {program} | {}", once.cells());
    }
    Ok((text, right))
}
