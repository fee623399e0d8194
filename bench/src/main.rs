//! What an execution costs.
//!
//! `mazurka-bench` prints tables of time an execution and an event, for traces of 10 to 10,000 events and for
//! 2 to 64 processes. `mazurka-bench --instructions` counts instructions instead, by running itself under
//! valgrind: slower, but the same on a noisy machine. Each figure is a difference of two searches of
//! different length, so that starting up does not count.
//!
//! `mazurka-bench --abs` runs the programs of `bench/abs` and compares their counts with those of
//! `bench/abs/expected.tsv`. `mazurka-bench --costs` prints what the newer algorithms cost beside `optimal`
//! and `naive`, `mazurka-bench --lengths` what a class of `reads-from` costs in longer and longer executions.
//! `mazurka-bench --stored` prints what `convergent` keeps of each state, and fails if that is too much.
//! `mazurka-bench --workers` prints what `wake-up` costs: beside `optimal`, on several cores, and in memory, and fails
//! if it is not fast enough on several cores, or takes too much.
//! `mazurka-bench --one-core` prints executions a second of `wake-up` beside `optimal` on every program of
//! `bench/litmus` and `bench/c`, and with `--instructions` what valgrind counts instead.
//! `mazurka-bench --c-peers` runs C programs beside Nidhugg and GenMC, if these are installed.
//! `mazurka-bench --fleet URL` prints how many items a second a database takes of searches on many machines.
//! `mazurka-bench --papers` prints the tables of the papers beside what is done here (`docs/papers.md`).

mod c_peers;
mod costs;
mod fleet;
mod lengths;
mod one_core;
mod steps;
mod stored;
mod workers;

use std::process::{Command, ExitCode};
use std::time::Instant;

use mazurka_explore::{Algorithm, Counts, Limits, NoMonitor, Options, explore};
use mazurka_litmus::{Litmus, Source, compile, parse};

/// A program of any size, and what its figures show.
struct Family {
    name: &'static str,
    shows: &'static str,
    sizes: &'static [i64],
    text: &'static str,
}

/// The family of the table of memory.
const WRITERS: usize = 4;

const FAMILIES: [Family; 5] = [
    Family {
        name: "prefix",
        shows: "n events that all executions share, then 6 writers of one variable: flat in n",
        sizes: &[10, 100, 1_000, 10_000],
        text: "param n = 10; var u, x; task w(i) { x = i; }
               process main { for i in 0..n { u = i; } for i in 0..6 { spawn w(i); } }",
    },
    Family {
        name: "suffix",
        shows: "a race, then n events of its own in each execution: linear in n",
        sizes: &[10, 100, 1_000, 10_000],
        text: "param n = 10; var u, v, x;
               process p { x = 1; for i in 0..n / 2 { u = i; } x = 3; }
               process q { x = 2; for i in 0..n / 2 { v = i; } x = 4; }",
    },
    Family {
        name: "contended",
        shows: "two processes, n writes of one variable, cut after so many executions: linear in the new events",
        sizes: &[10, 100, 1_000, 10_000],
        text: "param n = 10; var x; process p[i in 0..2] { for k in 0..n / 2 { x = i; } }",
    },
    Family {
        name: "processes",
        shows: "n processes that write apart, six of them one variable too",
        sizes: &[2, 4, 8, 16, 32, 64],
        text: "param n = 10; var a[64], x; process p[i in 0..n] { a[i] = 1; if i < 6 { x = i; } }",
    },
    Family {
        name: "writers",
        shows: "n writers of one variable",
        sizes: &[6, 9],
        text: "param n = 6; var x; process p[i in 0..n] { x = i; }",
    },
];

/// One search: the program, the algorithm and the number of executions after which it stops.
#[derive(Clone, Copy)]
struct Search {
    family: usize,
    size: i64,
    algorithm: Algorithm,
    executions: u64,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        [] => {
            tables("ns", time);
            memory_table();
            steps::table();
        }
        ["--instructions"] => {
            if Command::new("valgrind").arg("--version").output().is_err() {
                eprintln!("mazurka-bench: --instructions needs valgrind, which is not installed");
                return ExitCode::from(2);
            }
            tables("instructions", instructions);
        }
        ["--one", family, size, algorithm, executions] => {
            let parsed = (family.parse(), size.parse(), algorithm.parse(), executions.parse());
            let (Ok(family), Ok(size), Ok(algorithm), Ok(executions)) = parsed else {
                return ExitCode::from(2);
            };
            run(Search { family, size, algorithm, executions });
        }
        ["--abs"] => return abs_table(),
        ["--papers"] => return papers_table(mazurka_bench::papers::table()),
        ["--papers", "constrained"] => return papers_table(mazurka_bench::papers::constrained_table()),
        ["--costs"] => {
            if let Err(wrong) = costs::table() {
                eprintln!("mazurka-bench: {wrong}");
                return ExitCode::from(2);
            }
        }
        ["--stored"] => match stored::table() {
            Ok(true) => {}
            Ok(false) => return ExitCode::FAILURE,
            Err(wrong) => {
                eprintln!("mazurka-bench: {wrong}");
                return ExitCode::from(2);
            }
        },
        ["--lengths", ref figure @ ..] if figure.len() <= 1 => {
            if let Err(wrong) = lengths::table(figure.first().copied()) {
                eprintln!("mazurka-bench: {wrong}");
                return ExitCode::from(2);
            }
        }
        ["--fleet", url] => {
            if let Err(wrong) = fleet::table(url) {
                eprintln!("mazurka-bench: {wrong}");
                return ExitCode::from(2);
            }
        }
        ["--workers"] => match workers::tables() {
            Ok(true) => {}
            Ok(false) => return ExitCode::FAILURE,
            Err(wrong) => {
                eprintln!("mazurka-bench: {wrong}");
                return ExitCode::from(2);
            }
        },
        ["--took", name, size, algorithm, executions] => {
            let parsed = (size.parse(), algorithm.parse(), executions.parse());
            let (Ok(size), Ok(algorithm), Ok(executions)) = parsed else {
                return ExitCode::from(2);
            };
            if let Err(wrong) = workers::took(name, size, algorithm, executions) {
                eprintln!("mazurka-bench: {wrong}");
                return ExitCode::from(2);
            }
        }
        ["--one-core", ref rest @ ..] => {
            let table = match rest {
                ["--instructions", only @ ..] => one_core::instructions(only),
                only => one_core::table(only),
            };
            if let Err(wrong) = table {
                eprintln!("mazurka-bench: {wrong}");
                return ExitCode::from(2);
            }
        }
        ["--core", name, kind, algorithm, executions] => {
            let (Ok(algorithm), Ok(executions)) = (algorithm.parse(), executions.parse()) else {
                return ExitCode::from(2);
            };
            if let Err(wrong) = one_core::one(name, kind, algorithm, executions) {
                eprintln!("mazurka-bench: {wrong}");
                return ExitCode::from(2);
            }
        }
        ["--c-peers"] => {
            if let Err(wrong) = c_peers::table() {
                eprintln!("mazurka-bench: {wrong}");
                return ExitCode::from(2);
            }
        }
        _ => {
            eprintln!(
                "usage: mazurka-bench [--instructions | --abs | --papers | --costs | --lengths [FIGURE.svg] | --stored | \
                 --workers | --one-core [--instructions] [PROGRAM...] | --c-peers | --fleet postgres://user@host/database]"
            );
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

/// Prints the table of active objects; fails if a count differs.
fn abs_table() -> ExitCode {
    let expected = match mazurka_bench::abs_table::expected() {
        Ok(expected) => expected,
        Err(wrong) => {
            eprintln!("mazurka-bench: {wrong}");
            return ExitCode::from(2);
        }
    };
    match mazurka_bench::abs_table::print(&expected) {
        0 => ExitCode::SUCCESS,
        wrong => {
            eprintln!("mazurka-bench: {wrong} of {} rows differ from what is expected", expected.len());
            ExitCode::FAILURE
        }
    }
}

/// Prints the tables of the papers; fails if a search can't be run.
fn papers_table(table: Result<(String, bool), String>) -> ExitCode {
    match table {
        Ok((table, right)) => {
            print!("{table}");
            if right { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(wrong) => {
            eprintln!("mazurka-bench: {wrong}");
            ExitCode::from(2)
        }
    }
}

fn tables(unit: &str, measure: fn(Search) -> f64) {
    for (k, family) in FAMILIES.iter().enumerate() {
        println!("\n{}: {}", family.name, family.shows);
        println!(
            "{:>8} {:>10} {:>12} {:>14} {:>14}",
            "n",
            "algorithm",
            "new events",
            format!("{unit}/exec"),
            format!("{unit}/event")
        );
        for &size in family.sizes {
            for algorithm in [Algorithm::Source, Algorithm::Optimal] {
                row(Search { family: k, size, algorithm, executions: 1 }, measure);
            }
        }
    }
}

/// What the search keeps, as it goes on: `source` as much as the longest execution needs, `optimal` also what
/// is planned.
fn memory_table() {
    println!("\nmemory: 9 writers of one variable, ended after so many executions: source flat");
    println!("{:>10} {:>10} {:>14} {:>14}", "executions", "algorithm", "bytes kept", "wakeup nodes");
    for executions in [100, 1_000, 10_000, 100_000] {
        for algorithm in [Algorithm::Source, Algorithm::Optimal] {
            let counts = run(Search { family: WRITERS, size: 9, algorithm, executions });
            println!(
                "{:>10} {:>10} {:>14} {:>14}",
                counts.executions(),
                algorithm.name(),
                counts.memory,
                counts.wakeup_nodes
            );
        }
    }
}

/// The difference between a search of few executions and one of many.
fn row(search: Search, measure: fn(Search) -> f64) {
    // Of "suffix" there are few executions, and long ones; of the others as many as one likes.
    let (few, many) = if FAMILIES[search.family].name == "suffix" { (1, 4) } else { (1, 650) };
    let small = run(Search { executions: few, ..search });
    let large = run(Search { executions: many, ..search });
    let executions = (large.executions() - small.executions()) as f64;
    let events = (large.events - small.events) as f64;
    if executions == 0.0 {
        return;
    }
    let cost = measure(Search { executions: many, ..search }) - measure(Search { executions: few, ..search });
    println!(
        "{:>8} {:>10} {:>12.1} {:>14.0} {:>14.1}",
        search.size,
        search.algorithm.name(),
        events / executions,
        cost / executions,
        cost / events
    );
}

fn program(search: Search) -> Litmus {
    let source = Source { name: "bench.maz".into(), text: FAMILIES[search.family].text.into() };
    let ast = parse(&source).expect("the benchmark's own program");
    compile(&ast, &source, &[("n".into(), search.size)]).expect("the benchmark's own program")
}

fn run(search: Search) -> Counts {
    let limits = Limits { executions: Some(search.executions), ..Limits::default() };
    let options = Options { limits, ..Options::default() };
    explore(&program(search), search.algorithm, &options, &mut NoMonitor).counts
}

/// Nanoseconds, the best of several tries.
fn time(search: Search) -> f64 {
    let program = program(search);
    let limits = Limits { executions: Some(search.executions), ..Limits::default() };
    let options = Options { limits, ..Options::default() };
    let once = || {
        let started = Instant::now();
        explore(&program, search.algorithm, &options, &mut NoMonitor);
        started.elapsed().as_nanos() as f64
    };
    (0..15).map(|_| once()).fold(f64::INFINITY, f64::min)
}

/// Instructions, as valgrind counts them.
fn instructions(search: Search) -> f64 {
    let this = std::env::current_exe().expect("the program knows where it is");
    let output = Command::new("valgrind")
        .args(["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"])
        .arg(this)
        .args(["--one", &search.family.to_string(), &search.size.to_string(), search.algorithm.name()])
        .arg(search.executions.to_string())
        .output()
        .expect("valgrind runs");
    let text = String::from_utf8_lossy(&output.stderr);
    let line = text.lines().find(|line| line.contains("I") && line.contains("refs:")).unwrap_or("");
    let digits: String = line.rsplit(':').next().unwrap_or("").chars().filter(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(f64::NAN)
}
