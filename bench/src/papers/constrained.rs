//! The column of CAV'18 itself, Constrained DPOR, at every size that its table has: published, as published here,
//! and the sound forms.
//!
//! `bench/papers/constrained.tsv` has what the paper prints: executions, states, seconds of its search. States are
//! the nodes of the search tree from the state after the main block on, as for the other rows of that paper.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use mazurka_explore::{Algorithm, Counts, Published};

use super::{Ours, search};

const HEADER: &str = "program\tsize\texecutions\tstates\tseconds";

/// Of programs that are linear in the number of events.
const LINEAR: [&str; 5] = ["Fib", "QS", "MS", "Pi", "PS"];

struct Row<'a> {
    program: &'a str,
    size: u32,
    executions: &'a str,
    states: &'a str,
    seconds: &'a str,
}

fn rows(text: &str) -> Result<Vec<Row<'_>>, String> {
    let mut lines = text.lines();
    if lines.next() != Some(HEADER) {
        return Err(format!("constrained.tsv: the first line is not {HEADER:?}"));
    }
    let row = |line| {
        let cells: Vec<&str> = str::split(line, '\t').collect();
        let wrong = || format!("constrained.tsv: not a row: {line:?}");
        let [program, size, executions, states, seconds] = cells[..] else { return Err(wrong()) };
        Ok(Row { program, size: size.parse().map_err(|_| wrong())?, executions, states, seconds })
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

/// What a search did, and how long it took.
fn timed(ours: &Ours, algorithm: Algorithm) -> Result<(Counts, bool, Duration), String> {
    let begun = Instant::now();
    let found = search(ours, algorithm)?;
    Ok((found.counts, found.early, begun.elapsed()))
}

/// Complete executions, blocked ones if there are any, and steps.
fn figures((counts, early, time): (Counts, bool, Duration)) -> String {
    let early = if early { ">" } else { "" };
    let blocked = if counts.blocked == 0 { String::new() } else { format!("+{}", counts.blocked) };
    format!("{early}{}{blocked} / {early}{} / {:.2} s", counts.complete, counts.events, time.as_secs_f64())
}

/// The table, in Markdown. Says whether every search could be run, and those of programs that should be linear in
/// the number of events were.
pub(super) fn table() -> Result<(String, bool), String> {
    let mut text = String::from(
        "| program | published | as published here | convergent+constraints | source+constraints |\n|---|---|---|---|---|\n",
    );
    let mut right = true;
    for row in rows(include_str!("../../papers/constrained.tsv"))? {
        let Some(ours) = row.ours() else { continue };
        let mut cell = |algorithm, linear: bool| match timed(&ours, algorithm) {
            Ok(found) => {
                let (counts, early, _) = found;
                let is_linear =
                    counts.complete == 1 && counts.blocked == 0 && counts.events == counts.longest as u64;
                right &= !linear || !early && is_linear;
                figures(found)
            }
            Err(why) => {
                right = false;
                why
            }
        };
        let linear = LINEAR.contains(&row.program);
        let published = cell(Algorithm::Published(Published::Constraints), linear);
        let convergent = cell(Algorithm::ConvergentConstraints, linear);
        let source = cell(Algorithm::SourceConstraints, linear);
        let or_lost = |cell: &str| if cell.is_empty() { "?".to_owned() } else { cell.to_owned() };
        let printed =
            format!("{} / {} / {} s", or_lost(row.executions), or_lost(row.states), or_lost(row.seconds));
        let name = format!("{}({})", row.program, row.size);
        // Writing to a string does not fail.
        let _ = writeln!(text, "| {name} | {printed} | {published} | {convergent} | {source} |");
    }
    Ok((text, right))
}
