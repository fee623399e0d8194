//! The table of active objects: what `optimal` does on the programs of `bench/abs`, and what it should.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use mazurka_abs::{Abs, Dependence, Options as Reading, Settings, Source, compile};
use mazurka_explore::{Algorithm, Counts, Options, Order, explore};
use mazurka_report::{Recorder, Recording};

use crate::abs_programs::program;

/// So many rows are run at a time.
const WORKERS: usize = 2;

const HEADER: &str = "program\tsize\tdependence\texecutions\tfinal_states\tsource_of_figure";

/// A row of `bench/abs/expected.tsv`.
#[derive(Clone, Debug)]
pub struct Expected {
    /// The program.
    pub program: String,
    /// Its sizes.
    pub sizes: Vec<u32>,
    /// Static or dynamic.
    pub dependence: Dependence,
    /// The complete executions of `optimal`.
    pub executions: u64,
    /// The distinct final states.
    pub final_states: usize,
}

/// What a search found.
#[derive(Clone, Debug)]
pub struct Found {
    /// The totals.
    pub counts: Counts,
    /// The distinct final states.
    pub final_states: usize,
    /// How long it took.
    pub seconds: f64,
}

impl Expected {
    /// Whether a search found what it should.
    pub fn is(&self, found: &Found) -> bool {
        let counts = &found.counts;
        (counts.complete, counts.blocked, found.final_states) == (self.executions, 0, self.final_states)
    }
}

/// The rows of the table.
///
/// # Errors
/// If the table is not of its form: the line.
pub fn expected() -> Result<Vec<Expected>, String> {
    let mut lines = include_str!("../abs/expected.tsv").lines();
    if lines.next() != Some(HEADER) {
        return Err(format!("expected.tsv: the first line is not {HEADER:?}"));
    }
    lines.map(|line| row(line).ok_or_else(|| format!("expected.tsv: not a row: {line:?}"))).collect()
}

fn row(line: &str) -> Option<Expected> {
    let cells: Vec<&str> = line.split('\t').collect();
    let &[program, sizes, dependence, executions, final_states, _] = cells.as_slice() else { return None };
    Some(Expected {
        program: program.to_owned(),
        sizes: sizes.split_whitespace().map(|size| size.parse().ok()).collect::<Option<_>>()?,
        dependence: match dependence {
            "static" => Dependence::Static,
            "dynamic" => Dependence::Dynamic,
            _ => return None,
        },
        executions: executions.parse().ok()?,
        final_states: final_states.parse().ok()?,
    })
}

/// Runs the search of a row.
///
/// # Errors
/// If there is no such program, or the search did not look at everything.
pub fn run(row: &Expected, algorithm: Algorithm, order: Order) -> Result<Found, String> {
    let text = program(&row.program, &row.sizes)?;
    let source = Source { name: format!("{}.abs", row.program), text };
    let model = compile(&[source], &Reading::default())
        .map_err(|errors| errors.first().map_or(String::new(), |error| error.message.clone()))?;
    let abs = Abs::new(model, Settings { dependence: row.dependence, ..Settings::default() });
    let mut recorder = Recorder::new(Recording { final_states: true, ..Recording::default() });
    let begun = Instant::now();
    let summary = explore(&abs, algorithm, &Options { order, ..Options::default() }, &mut recorder);
    let seconds = begun.elapsed().as_secs_f64();
    match summary.not_exhaustive {
        Some(reason) => Err(reason.to_string()),
        None => Ok(Found { counts: summary.counts, final_states: recorder.final_states().count(), seconds }),
    }
}

/// Runs all rows and prints them, in order; gives how many differ from what is expected.
pub fn print(expected: &[Expected]) -> usize {
    println!(
        "{:<8} {:>6} {:>10} {:>10} {:>8} {:>10} {:>12} {:>10} {:>8}",
        "program",
        "size",
        "dependence",
        "complete",
        "blocked",
        "events",
        "final states",
        "expected",
        "seconds"
    );
    let next = AtomicUsize::new(0);
    let printed = Mutex::new(Printer { waiting: Vec::new(), printed: 0, wrong: 0 });
    let worker = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(row) = expected.get(at) else { break };
            let found = run(row, Algorithm::Optimal, Order::Natural);
            if let Ok(mut printer) = printed.lock() {
                printer.take(at, found, expected);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(worker);
        }
    });
    // A row that is missing here, because its worker broke, is wrong.
    printed.into_inner().map_or(expected.len(), |printer| printer.wrong + expected.len() - printer.printed)
}

/// Prints rows in order, whichever is ready first.
struct Printer {
    waiting: Vec<(usize, Result<Found, String>)>,
    printed: usize,
    wrong: usize,
}

impl Printer {
    fn take(&mut self, at: usize, found: Result<Found, String>, expected: &[Expected]) {
        self.waiting.push((at, found));
        while let Some(ready) = self.waiting.iter().position(|(at, _)| *at == self.printed) {
            let (at, found) = self.waiting.swap_remove(ready);
            self.wrong += usize::from(!print_row(&expected[at], &found));
            self.printed += 1;
        }
    }
}

/// Prints a row; gives whether it is as expected.
fn print_row(row: &Expected, found: &Result<Found, String>) -> bool {
    let sizes: Vec<String> = row.sizes.iter().map(u32::to_string).collect();
    let dependence = if row.dependence == Dependence::Static { "static" } else { "dynamic" };
    let head = format!("{:<8} {:>6} {dependence:>10}", row.program, sizes.join(","));
    let found = match found {
        Ok(found) => found,
        Err(why) => {
            println!("{head} {why}  <- not run to its end");
            return false;
        }
    };
    let right = row.is(found);
    let mark = if right { "" } else { "  <- differs" };
    let expected = format!("{}/{}", row.executions, row.final_states);
    let Counts { complete, blocked, events, .. } = found.counts;
    println!(
        "{head} {complete:>10} {blocked:>8} {events:>10} {:>12} {expected:>10} {:>8.2}{mark}",
        found.final_states, found.seconds
    );
    right
}
