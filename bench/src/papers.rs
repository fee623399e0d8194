//! The tables of the papers beside what is done here: published, as published here, and by the sound
//! algorithms.
//!
//! `bench/papers/published.tsv` has the numbers of executions and states that the papers print, as they print
//! them: `3k` is rounded up, `>13k` was the count when the time was up. Sources of most programs were not
//! published, so ours (`bench/abs`, `bench/litmus`) are programs of the same description, of which closed
//! forms and event counts agree with the papers'. Every difference that is understood is told in a line below
//! the table.

mod constrained;
mod known;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use mazurka_abs::{Abs, Options as Reading, Settings, Source as AbsSource, compile as compile_abs};
use mazurka_explore::{
    Algorithm, Counts, Ending, Limits, Monitor, NotExhaustive, Options, Published, explore,
};
use mazurka_litmus::{Litmus, Source, compile, parse};
use mazurka_program::{Program, Run, State};
use mazurka_trace::Trace;

use crate::abs_programs;

/// A search ends after so many executions of all kinds; what it has then is told with `>`, as in the papers.
const MOST: u64 = 40_000;

/// And in any case after this long: on a slow machine a figure may get a `>` that it should not have.
const TIME: Duration = Duration::from_secs(30);

const HEADER: &str = "paper\tprogram\tsize\talgorithm\texecutions\tstates";

/// What a paper prints of one program under one algorithm.
#[derive(Clone, Debug)]
pub struct Row {
    /// The paper, by conference and year.
    pub paper: String,
    /// The program, as the paper calls it.
    pub program: String,
    /// Its size, as the paper gives it.
    pub size: String,
    /// The algorithm, as the paper calls it.
    pub algorithm: String,
    /// Complete executions.
    pub executions: String,
    /// States; empty if the paper does not tell.
    pub states: String,
}

/// The rows of the papers' tables.
///
/// # Errors
/// If the file is not of its form: the line.
pub fn rows() -> Result<Vec<Row>, String> {
    let mut lines = include_str!("../papers/published.tsv").lines();
    if lines.next() != Some(HEADER) {
        return Err(format!("published.tsv: the first line is not {HEADER:?}"));
    }
    let row = |line: &str| {
        let cells: Vec<String> = line.split('\t').map(str::to_owned).collect();
        let Ok([paper, program, size, algorithm, executions, states]) = <[String; 6]>::try_from(cells) else {
            return Err(format!("published.tsv: not a row: {line:?}"));
        };
        Ok(Row { paper, program, size, algorithm, executions, states })
    };
    lines.map(row).collect()
}

/// A program of ours that stands for one of a paper.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Ours {
    /// Of `bench/abs`.
    Abs(&'static str, Vec<u32>),
    /// Of `bench/litmus`.
    Litmus(&'static str, i64),
}

/// What a search did.
#[derive(Clone, Debug)]
pub struct Found {
    /// The totals.
    pub counts: Counts,
    /// The distinct states at the end of complete executions.
    pub final_states: usize,
    /// Whether it ended before it was through.
    pub early: bool,
}

/// The final states of a search.
#[derive(Default)]
struct Ends(BTreeSet<State>);

impl<R: Run> Monitor<R> for Ends {
    fn execution(&mut self, ending: Ending, _: &Trace, run: &R, _: &Counts) -> ControlFlow<()> {
        if matches!(ending, Ending::Complete { .. }) {
            self.0.extend(run.states().map(|states| states.state()));
        }
        ControlFlow::Continue(())
    }

    fn begin_again(&mut self) {
        self.0.clear();
    }
}

impl Row {
    /// The program of ours, and the largest size of it that is run; none if there is no such program.
    fn ours(&self) -> Option<(Ours, u32)> {
        let size = self.size.parse().unwrap_or(0);
        let classes = self.algorithm == "DC-DPOR";
        let abs = |name, largest| Some((Ours::Abs(name, vec![size]), largest));
        let litmus = |name, largest| Some((Ours::Litmus(name, i64::from(size)), largest));
        match self.program.as_str() {
            "BB" => abs("bb", 6),
            "Fib" => abs("fib", 6),
            "QSort" | "QS" => abs("qsort", 10),
            "MSort" | "MS" => abs("msort", 11),
            "Pi" => abs("pi", 6),
            "PSort" | "PS" => abs("psort", 4),
            "Reg" => abs("reg", 4),
            "DBP" => abs("dbp", 6),
            "FR" => abs("fr", 5),
            "FR-a" => abs("fra", 6),
            "LW" => abs("lw", 5),
            "Lam" => Some((Ours::Abs("lam", Vec::new()), 2)),
            "MapRed" => Some((Ours::Abs("mapred", Vec::new()), 0)),
            "SDN" => Some((Ours::Abs("sdn", Vec::new()), 0)),
            "lastwrite" => litmus("lastwrite", 7),
            "floating_read" => litmus("floating_read", 6),
            "lastzero" => litmus("lastzero", 10),
            "fib" | "fib_bench" => litmus("fib_bench", 4),
            "lamport" => litmus("lamport", 2),
            "selective" => litmus("selective", 6),
            "not_selective" => litmus("not_selective", 6),
            "lock" => litmus("lock", 4),
            "opt_lock" => litmus("opt_lock", if classes { 200 } else { 6 }),
            "pthread_demo" => litmus("pthread_demo", 8),
            "sigma_false" => litmus("sigma", if classes { 7 } else { 6 }),
            "parker" => litmus("parker", 16),
            _ => None,
        }
    }

    /// The forms as published here of the row's algorithm.
    fn published(&self) -> &'static [Published] {
        use Published::*;
        match self.algorithm.as_str() {
            "CDPOR1" => &[Context],
            "CDPOR2" => &[ContextAnticipating],
            "CDPOR3" => &[ContextGuided],
            // The papers don't say which version these are.
            "CDPOR" | "CSDPOR" | "DPOR_cs" => &[Context, ContextGuided],
            "ODPOR_cs^ob" => &[OptimalContext, OptimalContextObservers],
            "DC-DPOR" => &[DataCentric, DataCentricTool],
            _ => &[],
        }
    }

    /// The sound algorithms that do what the row's is for.
    fn sound(&self) -> &'static [Algorithm] {
        match self.algorithm.as_str() {
            "Optimal" => &[Algorithm::Optimal],
            "Observers" | "ODPOR^ob" => &[Algorithm::OptimalObservers],
            "Source-DPOR" | "SDPOR" | "S-DPOR" => &[Algorithm::Source, Algorithm::Optimal],
            "ODPOR_cs^ob" => &[Algorithm::OptimalObservers, Algorithm::Convergent],
            "DC-DPOR" => &[Algorithm::DataCentric, Algorithm::ReadsFrom],
            _ => &[Algorithm::SourceContext, Algorithm::Convergent],
        }
    }

    fn name(&self) -> String {
        match self.size.as_str() {
            "" => self.program.clone(),
            size => format!("{}({size})", self.program),
        }
    }

    /// What the paper prints: executions, and states if it tells them.
    fn printed(&self) -> String {
        match self.states.as_str() {
            "" => self.executions.clone(),
            states => format!("{} / {states}", self.executions),
        }
    }

    /// The same of a search; states only of a form as published.
    fn figures(&self, algorithm: Algorithm, found: &Found) -> String {
        let early = if found.early { ">" } else { "" };
        let executions = format!("{early}{}", self.executions_of(found));
        match algorithm.published().is_some() && !self.states.is_empty() {
            true => format!("{executions} / {early}{}", self.states_of(found)),
            false => executions,
        }
    }

    /// Whether a search has the figures of the paper: of a form as published the states too, if the paper
    /// tells them; the sound algorithms are compared only where the row's algorithm is one of them.
    fn agrees(&self, algorithm: Algorithm, found: &Found) -> bool {
        let executions = !found.early && is(&self.executions, self.executions_of(found));
        match algorithm.published() {
            Some(_) => executions && (self.states.is_empty() || is(&self.states, self.states_of(found))),
            None => executions && self.published().is_empty(),
        }
    }

    /// The executions of a search as the row's paper counts them: the waiting of parker is an assumption, and the
    /// paper does not tell those apart in which it is false.
    fn executions_of(&self, found: &Found) -> u64 {
        match self.program.as_str() {
            "parker" => found.counts.complete + found.counts.assumed,
            _ => found.counts.complete,
        }
    }

    /// The states of a search as the row's paper counts them, where ours can be counted so: the nodes of the
    /// search tree from the state after the main block on; ISSTA'19 leaves out those in which nothing is
    /// enabled.
    fn states_of(&self, found: &Found) -> u64 {
        match self.paper.as_str() {
            "ISSTA'19" => found.counts.events.saturating_sub(found.counts.complete),
            _ => found.counts.events,
        }
    }
}

/// The searches that were run, each once.
#[derive(Default)]
pub struct Searches(BTreeMap<(Ours, Algorithm), Result<Found, String>>);

impl Searches {
    /// What an algorithm does on the program of a row, in so much time; none if there is no such program.
    ///
    /// # Errors
    /// If it can't be run.
    pub fn run(&mut self, row: &Row, algorithm: Algorithm) -> Option<Result<Found, String>> {
        let (ours, _) = row.ours()?;
        let found = self.0.entry((ours, algorithm));
        Some(found.or_insert_with_key(|(ours, algorithm)| search(ours, *algorithm)).clone())
    }
}

impl Searches {
    /// Whether a form as published missed a final state, so far as it is about final states.
    fn loses(&mut self, row: &Row, algorithm: Algorithm, found: &Found) -> bool {
        let about = algorithm.published().is_some_and(|form| {
            use Published::{DataCentric, DataCentricTool, OptimalContextObservers};
            !matches!(form, OptimalContextObservers | DataCentric | DataCentricTool)
        });
        let all = about.then(|| self.run(row, Algorithm::Convergent)).flatten();
        matches!(all, Some(Ok(all)) if !all.early && !found.early && found.final_states < all.final_states)
    }
}

impl Ours {
    /// The name of its file, and its text.
    fn text(&self) -> Result<(String, String), String> {
        match self {
            Ours::Abs(name, sizes) => Ok((format!("{name}.abs"), abs_programs::program(name, sizes)?)),
            Ours::Litmus(name, _) => Ok((format!("{name}.maz"), litmus_text(name)?)),
        }
    }
}

/// A program of ours that stands for one of a paper.
#[derive(Clone, Debug)]
pub struct PaperProgram {
    /// What the paper calls it, with its size.
    pub name: String,
    /// The name of its file.
    pub file: String,
    /// Its text.
    pub text: String,
    /// The values of its parameters: `n=4`.
    pub params: Vec<String>,
}

/// The programs of all rows that are run here, each once.
///
/// # Errors
/// If the table is not of its form, or a program can't be read.
pub fn programs() -> Result<Vec<PaperProgram>, String> {
    let mut programs = BTreeMap::new();
    for row in rows()? {
        let is_small = |largest| row.size.parse().unwrap_or(0) <= largest;
        let Some((ours, _)) = row.ours().filter(|&(_, largest)| is_small(largest)) else { continue };
        let (file, text) = ours.text()?;
        let params = match ours {
            Ours::Abs(..) => Vec::new(),
            Ours::Litmus(_, n) => vec![format!("n={n}")],
        };
        programs.entry(ours).or_insert(PaperProgram { name: row.name(), file, text, params });
    }
    Ok(programs.into_values().collect())
}

fn abs_program(name: &str, sizes: &[u32]) -> Result<Abs, String> {
    let text = abs_programs::program(name, sizes)?;
    let source = AbsSource { name: format!("{name}.abs"), text };
    let model = compile_abs(&[source], &Reading::default())
        .map_err(|errors| errors.first().map_or(String::new(), |error| error.message.clone()))?;
    Ok(Abs::new(model, Settings::default()))
}

fn litmus_text(name: &str) -> Result<String, String> {
    let path = format!("{}/litmus/{name}.maz", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))
}

fn litmus_program(name: &str, n: i64) -> Result<Litmus, String> {
    let source = Source { name: format!("{name}.maz"), text: litmus_text(name)? };
    let wrong = |errors: Vec<mazurka_litmus::Diagnostic>| {
        errors.first().map_or(String::new(), |error| error.message.clone())
    };
    compile(&parse(&source).map_err(wrong)?, &source, &[("n".to_owned(), n)]).map_err(wrong)
}

fn search(ours: &Ours, algorithm: Algorithm) -> Result<Found, String> {
    match ours {
        Ours::Abs(name, sizes) => search_of(&abs_program(name, sizes)?, algorithm),
        Ours::Litmus(name, n) => search_of(&litmus_program(name, *n)?, algorithm),
    }
}

fn search_of(program: &impl Program, algorithm: Algorithm) -> Result<Found, String> {
    let limits = Limits { executions: Some(MOST), time: Some(TIME), ..Limits::default() };
    let options = Options { limits, ..Options::default() };
    let mut ends = Ends::default();
    let summary = explore(program, algorithm, &options, &mut ends);
    let found = |early| Found { counts: summary.counts, final_states: ends.0.len(), early };
    match summary.not_exhaustive {
        None | Some(NotExhaustive::ByDesign(_)) => Ok(found(false)),
        Some(NotExhaustive::Time(_) | NotExhaustive::Executions(_)) => Ok(found(true)),
        Some(reason) => Err(reason.to_string()),
    }
}

/// The table, in Markdown, with what is known of the differences below it. Says whether every search could be
/// run.
pub fn table() -> Result<(String, bool), String> {
    let begun = Instant::now();
    let (mut searches, mut right) = (Searches::default(), true);
    let (mut left_out, mut missing) = (Vec::new(), Vec::new());
    let mut text = String::from(
        "| paper | program | algorithm | published | as published here | sound here | |\n|---|---|---|---|---|---|---|\n",
    );
    let rows = rows()?;
    for row in &rows {
        match row.ours() {
            None => missing.push(row.name()),
            Some((_, largest)) if row.size.parse().unwrap_or(0) > largest => {
                match known::classes(row, &rows) {
                    Some(classes) => write_classes(row, classes, &mut text),
                    None => left_out.push(format!("{} {}", row.paper, row.name())),
                }
            }
            Some(_) => right &= write_row(row, &mut searches, &mut text),
        }
    }
    left_out.dedup();
    missing.sort();
    missing.dedup();
    // Writing to a string does not fail.
    let _ = writeln!(
        text,
        "\n`=`: ours agrees with the paper. `!`: as published it missed a final state. `>`: the search was ended early. \
         `not run`: too large to be run here; the number of classes is by the closed form in the line."
    );
    let _ = writeln!(text, "\nToo large to be run here in a few minutes, left out: {}.", left_out.join(", "));
    let _ = writeln!(text, "\nWithout a program of ours, left out: {}.\n", missing.join(", "));
    for (number, known) in known::DIFFERENCES.iter().enumerate() {
        let _ = writeln!(text, "{}. {}", number + 1, known.why);
    }
    let (constrained, run) = constrained::table()?;
    right &= run;
    let _ = writeln!(
        text,
        "\nCAV'18, Constrained DPOR: complete executions (+ blocked ones) / states or steps / time.\n"
    );
    text += &constrained;
    eprintln!("mazurka-bench: {:.0} s", begun.elapsed().as_secs_f64());
    Ok((text, right))
}

/// That of CAV'18's own column alone.
pub fn constrained_table() -> Result<(String, bool), String> {
    constrained::table()
}

/// Writes a row; says whether its searches could be run.
fn write_row(row: &Row, searches: &mut Searches, text: &mut String) -> bool {
    let (mut right, mut agrees) = (true, false);
    let mut cells = |algorithms: &[Algorithm]| {
        let mut told = Vec::new();
        for &algorithm in algorithms {
            match searches.run(row, algorithm) {
                None => {}
                Some(Ok(found)) => {
                    let figures = row.figures(algorithm, &found);
                    agrees |= row.agrees(algorithm, &found);
                    let lost = searches.loses(row, algorithm, &found);
                    told.push(format!("{} {figures}{}", short(algorithm), if lost { "!" } else { "" }));
                }
                Some(Err(why)) => {
                    right = false;
                    told.push(format!("{}: {why}", short(algorithm)));
                }
            }
        }
        told.join(", ")
    };
    let published =
        cells(&row.published().iter().map(|&form| Algorithm::Published(form)).collect::<Vec<_>>());
    let sound = cells(row.sound());
    let notes: Vec<String> = known::of(row).map(|number| format!("[{number}]")).collect();
    let notes = if agrees { "=".to_owned() } else { notes.join(" ") };
    let (paper, name, algorithm, printed) = (&row.paper, row.name(), &row.algorithm, row.printed());
    // Writing to a string does not fail.
    let _ =
        writeln!(text, "| {paper} | {name} | {algorithm} | {printed} | {published} | {sound} | {notes} |");
    right
}

/// Writes a row that is too large to be run here, but of which the number of classes is known.
fn write_classes(row: &Row, classes: u64, text: &mut String) {
    let notes: Vec<String> = known::of(row).map(|number| format!("[{number}]")).collect();
    let (paper, name, algorithm, printed) = (&row.paper, row.name(), &row.algorithm, row.printed());
    // Writing to a string does not fail.
    let _ = writeln!(
        text,
        "| {paper} | {name} | {algorithm} | {printed} | | not run: {classes} classes | {} |",
        notes.join(" ")
    );
}

/// Whether a figure of a paper is a number: `3k` is any that is rounded up to it.
fn is(printed: &str, number: u64) -> bool {
    match printed.strip_suffix('k') {
        Some(thousands) => thousands.parse() == Ok(number.div_ceil(1000)),
        None => printed.parse() == Ok(number),
    }
}

/// The name of an algorithm, and of a form as published what its paper calls it.
fn short(algorithm: Algorithm) -> &'static str {
    match algorithm.published() {
        None => algorithm.name(),
        Some(Published::Context) => "CDPOR1",
        Some(Published::ContextAnticipating) => "CDPOR2",
        Some(Published::ContextGuided) => "CDPOR3",
        Some(Published::Constraints) => "Constrained DPOR",
        Some(Published::OptimalContext) => "ODPOR_cs",
        Some(Published::OptimalContextObservers) => "ODPOR_cs^ob",
        Some(Published::DataCentric) => "DC-DPOR",
        Some(Published::DataCentricTool) => "DC-DPOR with bursts",
    }
}
