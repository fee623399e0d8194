//! What `wake-up` costs: beside `optimal` on one core, on several cores (and `reads-from` there), and in memory; and
//! whether it does on several cores and in memory what it should.

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

/// Two workers on two cores have at least so many times the rate of one.
const FASTER_BY_TWO: f64 = 1.8;
/// Eight have at least this part of the rate of two, on two cores.
const KEPT_BY_EIGHT: f64 = 0.9;
/// Searches that take less than this on one core, in seconds, show nothing.
const LONG: f64 = 10.0;
/// MB that `wake-up` takes at most for so many executions; and for a search for which wakeup trees take more than that.
const MANY_EXECUTIONS: (u64, f64) = (10_000_000, 50.0);
const LARGE_TREES: (f64, f64) = (1024.0, 100.0);

/// What is complained of.
type Complaints = Vec<String>;

/// Prints the tables, and whether all is as it should be, which is the result.
///
/// # Errors
/// If a program can't be read, or a search can't be run.
pub fn tables() -> Result<bool, String> {
    println!("one core: executions a second, cut after so many");
    println!("| program | executions | optimal | wake-up | wake-up / optimal |\n|---|---|---|---|---|");
    RATES.iter().try_for_each(|&(name, n, most)| rates(name, n, most))?;
    let mut judged = Vec::new();
    for (algorithm, programs) in
        [(Algorithm::WakeUp, &SHARED[..]), (Algorithm::ReadsFrom, &SHARED_READS_FROM)]
    {
        println!("\nseveral workers: executions a second by {algorithm}");
        println!(
            "| program | executions | 1 worker | 2 | 8 | 2 / 1 | 8 / 2 |\n|---|---|---|---|---|---|---|"
        );
        for &(name, n) in programs {
            let took = shared(name, n, algorithm)?;
            if algorithm == Algorithm::WakeUp {
                judged.push((format!("{name}({n})"), took));
            }
        }
    }
    println!("\nmemory: all that the process took at most");
    println!("| program | algorithm | executions | MB |\n|---|---|---|---|");
    let mut memory = Vec::new();
    for (name, n, algorithm, most) in LARGE {
        let (executions, megabytes) = large(name, n, algorithm, most)?;
        memory.push((name, algorithm, executions, megabytes));
    }
    println!();
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let [faster, kept] = of_workers(&judged, cores);
    let [many, trees] = of_memory(&memory);
    let kept = [
        verdict(
            &format!("2 workers on {cores} cores, at least {FASTER_BY_TWO} times the rate of 1"),
            &faster,
        ),
        verdict(&format!("8 workers on {cores} cores, at least {KEPT_BY_EIGHT} of the rate of 2"), &kept),
        verdict(&format!("{} executions in less than {} MB", MANY_EXECUTIONS.0, MANY_EXECUTIONS.1), &many),
        verdict(
            &format!("less than {} MB where trees take more than {}", LARGE_TREES.1, LARGE_TREES.0),
            &trees,
        ),
    ];
    Ok(kept.iter().all(|&kept| kept))
}

/// Says whether nothing is complained of.
fn verdict(what: &str, complaints: &Complaints) -> bool {
    match complaints.is_empty() {
        true => println!("{what}: met"),
        false => println!("{what}: MISSED, {}", complaints.join("; ")),
    }
    complaints.is_empty()
}

/// What is wrong with the seconds that one, two and eight workers took: two should be faster, and eight not slower.
fn of_workers(took: &[(String, [f64; 3])], cores: usize) -> [Complaints; 2] {
    if cores < 2 {
        return [(); 2].map(|()| vec!["there is one core".to_owned()]);
    }
    let [mut faster, mut kept] = [Vec::new(), Vec::new()];
    for (program, [one, two, eight]) in took {
        let (by_two, by_eight) = (one / two, two / eight);
        if *one < LONG {
            faster.push(format!("{program} took {one:.1} s, too little to tell"));
        } else if by_two < FASTER_BY_TWO {
            faster.push(format!("{by_two:.2} on {program}"));
        }
        if by_eight < KEPT_BY_EIGHT {
            kept.push(format!("{by_eight:.2} on {program}"));
        }
    }
    [faster, kept]
}

/// What is wrong with the MB of searches: of many executions, and where wakeup trees take very much.
fn of_memory(took: &[(&str, Algorithm, u64, f64)]) -> [Complaints; 2] {
    let (most, large) = MANY_EXECUTIONS;
    let mine = |&&(_, algorithm, _, _): &&(&str, Algorithm, u64, f64)| algorithm == Algorithm::WakeUp;
    let many: Vec<_> = took.iter().filter(mine).filter(|found| found.2 >= most).collect();
    let too_large = many.iter().filter(|found| found.3 >= large);
    let mut many_complaints: Complaints =
        too_large.map(|(program, .., megabytes)| format!("{megabytes:.0} MB for {program}")).collect();
    if many.is_empty() {
        many_complaints.push("no search has so many".to_owned());
    }
    let (trees, small) = LARGE_TREES;
    let optimal = took.iter().filter(|found| found.1 == Algorithm::Optimal && found.3 > trees);
    let mut trees_complaints: Complaints = Vec::new();
    let mut compared = 0;
    for (program, ..) in optimal {
        for (.., megabytes) in took.iter().filter(mine).filter(|found| found.0 == *program) {
            compared += 1;
            if *megabytes >= small {
                trees_complaints.push(format!("{megabytes:.0} MB for {program}"));
            }
        }
    }
    if compared == 0 {
        trees_complaints.push("no trees took so much".to_owned());
    }
    [many_complaints, trees_complaints]
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

/// The seconds that one, two and eight workers took.
fn shared(name: &str, n: i64, algorithm: Algorithm) -> Result<[f64; 3], String> {
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
    Ok([one, two, eight])
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

/// Has another process run a search: how many executions it had, and how many MB it took.
fn large(name: &str, n: i64, algorithm: Algorithm, most: u64) -> Result<(u64, f64), String> {
    let this = std::env::current_exe().map_err(|error| error.to_string())?;
    let arguments = ["--took", name, &n.to_string(), algorithm.name(), &most.to_string()];
    let output = Command::new(this).args(arguments).output().map_err(|error| error.to_string())?;
    let printed = String::from_utf8_lossy(&output.stdout);
    let told = printed.trim().split_once(' ').filter(|_| output.status.success());
    let (executions, kilobytes) = told.ok_or_else(|| format!("{name}({n}) came to no end: {printed}"))?;
    let megabytes = kilobytes.parse::<f64>().map_err(|error| error.to_string())? / 1024.0;
    println!("| {name}({n}) | {} | {executions} | {megabytes:.0} |", algorithm.name());
    Ok((executions.parse().map_err(|_| format!("{name}({n}) had {executions:?}"))?, megabytes))
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
