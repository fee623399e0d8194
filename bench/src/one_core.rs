//! What an execution costs on one core by `wake-up` and by `optimal`, on every program of `bench/litmus` and
//! `bench/c`: both in turn, the fastest of several tries. Programs in C stand beside themselves in `.maz`, whose
//! machine does next to nothing but what the program says.
//!
//! What counts is the time that the processor spent. With `--instructions` a search is run by itself under valgrind instead, which tells the same on a busy
//! machine.

use std::process::Command;
use std::time::Instant;

use mazurka_explore::{Algorithm, Counts, Limits, NoMonitor, Options, explore};
use mazurka_program::Program;

use crate::costs;

/// A program, and how many executions are enough to tell.
struct Row {
    name: &'static str,
    n: i64,
    executions: u64,
    /// How it is compiled, if there is one in C.
    c: Option<&'static [&'static str]>,
}

const fn both(name: &'static str, n: i64, executions: u64, c: &'static [&'static str]) -> Row {
    Row { name, n, executions, c: Some(c) }
}

const fn litmus(name: &'static str, n: i64, executions: u64) -> Row {
    Row { name, n, executions, c: None }
}

const ROWS: [Row; 24] = [
    both("fib_bench", 5, 60_000, &["-DN=5"]),
    both("lastzero", 15, 20_000, &["-DN=15"]),
    both("lastwrite", 8, 40_320, &["-DN=8"]),
    both("floating_read", 7, 40_320, &["-DN=7"]),
    both("opt_lock", 6, 2_430, &["-DN=6"]),
    both("pthread_demo", 8, 12_870, &["-DN=8"]),
    both("sigma", 6, 10_395, &["-DN=6"]),
    both("lamport", 3, 9_216, &["-DN=3"]),
    both("parker", 10, 3_716, &["-DN=10"]),
    both("indexer", 15, 4_096, &["-DN=15"]),
    both("filesystem", 24, 2_048, &["-DN=24"]),
    both("bounded_buffer", 7, 3_432, &["-DN=7"]),
    both("mutex", 4, 2_520, &["-DN=4", "-DK=2"]),
    litmus("fib_bench_joined", 6, 40_000),
    litmus("floating_read_assert", 6, 5_040),
    litmus("lastzero_reader_last", 15, 20_000),
    litmus("readers", 14, 16_384),
    litmus("two_variables", 10, 20_000),
    litmus("two_writers", 8, 20_000),
    litmus("read_then_write", 5, 14_400),
    litmus("increments", 3, 20_000),
    litmus("lock", 5, 5_040),
    litmus("selective", 7, 5_040),
    litmus("not_selective", 7, 5_040),
];

/// The fastest of so many tries counts, and the algorithms take turns.
const TRIES: usize = 5;

const ALGORITHMS: [Algorithm; 2] = [Algorithm::Optimal, Algorithm::WakeUp];

/// What an algorithm took, of one search or of the fastest of several.
struct Cost {
    seconds: f64,
    executions: u64,
}

impl Cost {
    fn of_one(&self) -> f64 {
        self.seconds / self.executions.max(1) as f64
    }
}

/// Prints the table, of all programs or of those with these names.
///
/// # Errors
/// If a program can't be had, or has other executions by the one algorithm than by the other.
pub fn table(only: &[&str]) -> Result<(), String> {
    println!("one core: executions a second, the fastest of {TRIES} tries in turn");
    println!("| program | executions | optimal | wake-up | wake-up / optimal | optimal in C / in .maz |");
    println!("|---|---|---|---|---|---|");
    for row in rows(only) {
        let program = costs::program(row.name, row.n)?;
        let in_language = measure(&program, row.executions)?;
        print_row(row, "maz", &in_language, None);
        if let Some(in_c) = c::measured(row)? {
            print_row(row, "c", &in_c, Some(&in_language));
        }
    }
    Ok(())
}

fn rows(only: &[&str]) -> impl Iterator<Item = &'static Row> {
    ROWS.iter().filter(move |row| only.is_empty() || only.contains(&row.name))
}

fn print_row(row: &Row, kind: &str, [optimal, wake_up]: &[Cost; 2], beside: Option<&[Cost; 2]>) {
    let beside = beside.map(|[other, _]| format!("{:.2}", other.of_one() / optimal.of_one()));
    println!(
        "| {}({}).{kind} | {} | {:.0} | {:.0} | {:.2} | {} |",
        row.name,
        row.n,
        optimal.executions,
        1.0 / optimal.of_one(),
        1.0 / wake_up.of_one(),
        optimal.of_one() / wake_up.of_one(),
        beside.unwrap_or_default()
    );
}

fn measure<P: Program>(program: &P, most: u64) -> Result<[Cost; 2], String> {
    let mut fastest = ALGORITHMS.map(|_| Cost { seconds: f64::INFINITY, executions: 0 });
    let clock = Clock::default();
    for _ in 0..TRIES {
        for (fastest, algorithm) in fastest.iter_mut().zip(ALGORITHMS) {
            let begun = clock.seconds();
            // Those that a false assumption ended, too.
            let executions = search(program, algorithm, most)?.executions();
            let seconds = (clock.seconds() - begun).min(fastest.seconds);
            *fastest = Cost { seconds, executions };
        }
    }
    let [optimal, wake_up] = &fastest;
    match optimal.executions == wake_up.executions {
        true => Ok(fastest),
        false => {
            Err(format!("{} executions by optimal, {} by wake-up", optimal.executions, wake_up.executions))
        }
    }
}

/// Tells the processor time of this thread, where the system does, or else the time.
struct Clock(Instant);

impl Default for Clock {
    fn default() -> Clock {
        Clock(Instant::now())
    }
}

impl Clock {
    fn seconds(&self) -> f64 {
        let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
        let nanoseconds = told.and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
        nanoseconds.map_or_else(|| self.0.elapsed().as_secs_f64(), |nanoseconds| nanoseconds / 1e9)
    }
}

/// A search that ends after so many executions.
fn search<P: Program>(program: &P, algorithm: Algorithm, most: u64) -> Result<Counts, String> {
    let limits = Limits { executions: Some(most), ..Limits::default() };
    let options = Options { limits, ..Options::default() };
    let summary = explore(program, algorithm, &options, &mut NoMonitor);
    match summary.broken {
        None => Ok(summary.counts),
        Some(failure) => Err(failure.message),
    }
}

/// Prints how many instructions an execution takes, as valgrind counts them.
///
/// # Errors
/// If valgrind is not there, or a search can't be run under it.
pub fn instructions(only: &[&str]) -> Result<(), String> {
    println!("| program | executions | optimal | wake-up | wake-up / optimal |\n|---|---|---|---|---|");
    for row in rows(only) {
        for kind in if row.c.is_some() { &["maz", "c"][..] } else { &["maz"] } {
            // From a tenth to a half of the executions: starting up does not count.
            let (few, many) = (row.executions.min(10_000) / 10, row.executions.min(10_000) / 2);
            let took = |algorithm| -> Result<f64, String> {
                let counted = |most| counted(row.name, kind, algorithm, most);
                Ok((counted(many)? - counted(few)?) / (many - few) as f64)
            };
            let (optimal, wake_up) = (took(Algorithm::Optimal)?, took(Algorithm::WakeUp)?);
            let ratio = wake_up / optimal;
            println!(
                "| {}({}).{kind} | {} | {optimal:.0} | {wake_up:.0} | {ratio:.2} |",
                row.name,
                row.n,
                many - few
            );
        }
    }
    Ok(())
}

/// How many instructions a search takes.
fn counted(name: &str, kind: &str, algorithm: Algorithm, most: u64) -> Result<f64, String> {
    let this = std::env::current_exe().map_err(|error| error.to_string())?;
    let output = Command::new("valgrind")
        .args(["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"])
        .arg(this)
        .args(["--core", name, kind, algorithm.name(), &most.to_string()])
        .output()
        .map_err(|error| format!("valgrind: {error}"))?;
    let text = String::from_utf8_lossy(&output.stderr);
    let line = text.lines().find(|line| line.contains("I") && line.contains("refs:")).unwrap_or("");
    let digits: String = line.rsplit(':').next().unwrap_or("").chars().filter(char::is_ascii_digit).collect();
    digits.parse().map_err(|_| format!("{name} under valgrind: {text}"))
}

/// Runs one search of one program.
///
/// # Errors
/// If there is no such program, or it can't be run.
pub fn one(name: &str, kind: &str, algorithm: Algorithm, most: u64) -> Result<(), String> {
    let row = ROWS.iter().find(|row| row.name == name).ok_or_else(|| format!("there is no {name}"))?;
    match kind {
        "c" => c::search(row, algorithm, most),
        _ => search(&costs::program(name, row.n)?, algorithm, most).map(|_| ()),
    }
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod c {
    use std::path::Path;

    use mazurka_explore::Algorithm;
    use mazurka_native::driver::{Request, build};
    use mazurka_native::runtime::{self, Native, Races, load, stub_assembly};

    use super::{Cost, Row, measure};

    fn program(row: &Row) -> Result<Option<Native>, String> {
        let Some(flags) = row.c else { return Ok(None) };
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("c").join(format!("{}.c", row.name));
        let flags = flags.iter().map(|&flag| flag.to_owned()).collect();
        let request = Request { sources: vec![source], flags, ..Request::default() };
        let built = build(&request, &stub_assembly()).map_err(|error| format!("{}: {error}", row.name))?;
        let options = runtime::Options { races: Races::Sc, ..runtime::Options::default() };
        load(&built, options).map(Some).map_err(|error| format!("{}: {error}", row.name))
    }

    pub fn measured(row: &Row) -> Result<Option<[Cost; 2]>, String> {
        program(row)?.map(|program| measure(&program, row.executions)).transpose()
    }

    pub fn search(row: &Row, algorithm: Algorithm, most: u64) -> Result<(), String> {
        let program = program(row)?.ok_or_else(|| format!("there is no {} in C", row.name))?;
        super::search(&program, algorithm, most).map(|_| ())
    }
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
mod c {
    use mazurka_explore::Algorithm;

    use super::{Cost, Row};

    pub fn measured(_: &Row) -> Result<Option<[Cost; 2]>, String> {
        Ok(None)
    }

    pub fn search(_: &Row, _: Algorithm, _: u64) -> Result<(), String> {
        Err("C is for Linux on x86-64".to_owned())
    }
}
