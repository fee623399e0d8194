//! What `wake-up` costs: beside `optimal` on one core, on several cores (and `reads-from` there), and in memory.

use std::ops::ControlFlow;
use std::process::Command;
use std::time::Instant;

use mazurka_explore::{Algorithm, Jobs, Limits, NoMonitor, Options, explore, explore_jobs};
use mazurka_litmus::Litmus;

use crate::costs::program;

/// Programs, and how many executions are enough to tell how fast the search is.
const RATES: [(&str, i64, u64); 9] = [
    ("lastwrite", 9, 200_000),
    ("lastzero", 15, 100_000),
    ("readers", 14, 16_384),
    ("fib_bench", 5, 200_000),
    ("opt_lock", 9, 100_000),
    ("mutex", 4, 100_000),
    ("pthread_demo", 8, 12_870),
    ("sigma", 7, 100_000),
    ("two_variables", 10, 100_000),
];

/// Programs whose searches take some ten seconds on one core.
const SHARED: [(&str, i64); 5] =
    [("lastwrite", 10), ("floating_read", 9), ("lastzero", 17), ("readers", 18), ("fib_bench", 6)];

/// The same by `reads-from`.
const SHARED_READS_FROM: [(&str, i64); 3] = [("lastzero", 15), ("fib_bench", 5), ("sigma", 9)];

/// Numbers of workers.
const WORKERS: [usize; 3] = [1, 2, 8];

/// Searches of which the memory of the whole process is told: program, algorithm, executions.
const LARGE: [(&str, i64, Algorithm, u64); 4] = [
    ("lastwrite", 12, Algorithm::WakeUp, 10_000_000),
    ("lastwrite", 12, Algorithm::Optimal, 10_000_000),
    ("two_variables", 16, Algorithm::WakeUp, 400_000),
    ("two_variables", 16, Algorithm::Optimal, 400_000),
];

/// Prints the tables.
///
/// # Errors
/// If a program can't be read, or a search can't be run.
pub fn tables() -> Result<(), String> {
    println!("one core: executions a second, cut after so many");
    println!("| program | executions | optimal | wake-up | wake-up / optimal |\n|---|---|---|---|---|");
    RATES.iter().try_for_each(|&(name, n, most)| rates(name, n, most))?;
    for (algorithm, programs) in
        [(Algorithm::WakeUp, &SHARED[..]), (Algorithm::ReadsFrom, &SHARED_READS_FROM)]
    {
        println!("\nseveral workers: executions a second by {algorithm}");
        println!(
            "| program | executions | 1 worker | 2 | 8 | 2 / 1 | 8 / 2 |\n|---|---|---|---|---|---|---|"
        );
        programs.iter().try_for_each(|&(name, n)| shared(name, n, algorithm))?;
    }
    println!("\nmemory: all that the process took at most");
    println!("| program | algorithm | executions | MB |\n|---|---|---|---|");
    LARGE.iter().try_for_each(|&(name, n, algorithm, most)| large(name, n, algorithm, most))
}

fn rates(name: &str, n: i64, most: u64) -> Result<(), String> {
    let program = program(name, n)?;
    let rate = |algorithm| {
        let begun = Instant::now();
        let counts = explore(&program, algorithm, &at_most(most), &mut NoMonitor).counts;
        (counts.complete, counts.complete as f64 / begun.elapsed().as_secs_f64())
    };
    // The second of two tries, in turn.
    let mut figures = [(0, 0.0); 2];
    for _ in 0..2 {
        figures = [Algorithm::Optimal, Algorithm::WakeUp].map(rate);
    }
    let [(executions, optimal), (_, wake_up)] = figures;
    println!("| {name}({n}) | {executions} | {optimal:.0} | {wake_up:.0} | {:.2} |", wake_up / optimal);
    Ok(())
}

fn at_most(executions: u64) -> Options {
    Options { limits: Limits { executions: Some(executions), ..Limits::default() }, ..Options::default() }
}

fn shared(name: &str, n: i64, algorithm: Algorithm) -> Result<(), String> {
    let program = program(name, n)?;
    let figures = WORKERS.map(|workers| {
        let begun = Instant::now();
        (complete(&program, algorithm, workers), begun.elapsed().as_secs_f64())
    });
    let [(executions, one), (_, two), (_, eight)] = figures;
    if figures.iter().any(|figure| figure.0 != executions) {
        return Err(format!("{name}({n}) has other executions with other numbers of workers: {figures:?}"));
    }
    let rate = |seconds: f64| executions as f64 / seconds;
    println!(
        "| {name}({n}) | {executions} | {:.0} | {:.0} | {:.0} | {:.2} | {:.2} |",
        rate(one),
        rate(two),
        rate(eight),
        one / two,
        two / eight
    );
    Ok(())
}

/// How many executions a search with so many workers has.
fn complete(program: &Litmus, algorithm: Algorithm, workers: usize) -> u64 {
    let jobs = Jobs {
        workers,
        monitor: &|| NoMonitor,
        collect: &mut |_| (),
        begin_again: &mut || (),
        watch: &mut |_, _| ControlFlow::Continue(()),
    };
    explore_jobs(program, algorithm, &Options::default(), jobs).map_or(0, |summary| summary.counts.complete)
}

/// Has another process run a search, and tells what it took.
fn large(name: &str, n: i64, algorithm: Algorithm, most: u64) -> Result<(), String> {
    let this = std::env::current_exe().map_err(|error| error.to_string())?;
    let arguments = ["--took", name, &n.to_string(), algorithm.name(), &most.to_string()];
    let output = Command::new(this).args(arguments).output().map_err(|error| error.to_string())?;
    let printed = String::from_utf8_lossy(&output.stdout);
    let told = printed.trim().split_once(' ').filter(|_| output.status.success());
    let (executions, kilobytes) = told.ok_or_else(|| format!("{name}({n}) came to no end: {printed}"))?;
    let megabytes = kilobytes.parse::<f64>().map_err(|error| error.to_string())? / 1024.0;
    println!("| {name}({n}) | {} | {executions} | {megabytes:.0} |", algorithm.name());
    Ok(())
}

/// Runs a search, and prints how many executions it had and how many KB this process took at most.
///
/// # Errors
/// If the program can't be read, or the system does not tell.
pub fn took(name: &str, n: i64, algorithm: Algorithm, most: u64) -> Result<(), String> {
    let counts = explore(&program(name, n)?, algorithm, &at_most(most), &mut NoMonitor).counts;
    let status = std::fs::read_to_string("/proc/self/status").map_err(|error| error.to_string())?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak = peak.and_then(|peak| peak.trim().strip_suffix(" kB")).ok_or("the system does not tell")?;
    println!("{} {peak}", counts.complete);
    Ok(())
}
