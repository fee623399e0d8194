//! What the newer algorithms cost beside those they are made of, on the same program in the same run: time a
//! complete execution beside `optimal`'s, and steps a second of `convergent` beside `naive`'s.

use std::path::Path;
use std::time::Instant;

use mazurka_explore::{Algorithm, Counts, Limits, NoMonitor, Options, explore};
use mazurka_litmus::{Litmus, Source, compile, parse};

/// Program, parameter, and how many executions are enough to tell.
const PROGRAMS: [(&str, i64, u64); 2] = [("readers", 13, 20_000), ("fib_bench", 4, 20_000)];

/// The fastest of so many tries counts, and the algorithms take turns.
const TRIES: usize = 5;

/// What one algorithm took on one program.
struct Cost {
    algorithm: Algorithm,
    seconds: f64,
    counts: Counts,
}

/// Prints the table.
///
/// # Errors
/// If a program can't be read.
pub fn table() -> Result<(), String> {
    println!("costs: the fastest of {TRIES} tries, in turn; searches end after so many executions");
    println!(
        "{:>10} {:>18} {:>10} {:>9} {:>13} {:>11} {:>11} {:>11} {:>9}",
        "program",
        "algorithm",
        "complete",
        "blocked",
        "us/complete",
        "x optimal",
        "steps/s",
        "x naive",
        "states"
    );
    for (name, n, most) in PROGRAMS {
        let program = program(name, n)?;
        let costs = measure(&program, most);
        let of = |algorithm| costs.iter().find(|cost| cost.algorithm == algorithm);
        let per_complete = |cost: &Cost| cost.seconds / cost.counts.complete.max(1) as f64;
        let per_second = |cost: &Cost| cost.counts.events as f64 / cost.seconds;
        for cost in &costs {
            let ratio = |of: Option<&Cost>, figure: &dyn Fn(&Cost) -> f64| {
                of.map_or(f64::NAN, |other| figure(cost) / figure(other))
            };
            println!(
                "{:>10} {:>18} {:>10} {:>9} {:>13.2} {:>11.2} {:>11.0} {:>11.2} {:>9}",
                format!("{name}({n})"),
                cost.algorithm.name(),
                cost.counts.complete,
                cost.counts.blocked,
                per_complete(cost) * 1e6,
                ratio(of(Algorithm::Optimal), &per_complete),
                per_second(cost),
                ratio(of(Algorithm::Naive), &per_second),
                cost.counts.states
            );
        }
    }
    Ok(())
}

pub fn program(name: &str, n: i64) -> Result<Litmus, String> {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/litmus")).join(format!("{name}.maz"));
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let source = Source { name: format!("{name}.maz"), text };
    let ast = parse(&source).map_err(|_| format!("{name} does not parse"))?;
    compile(&ast, &source, &[("n".to_owned(), n)]).map_err(|_| format!("{name} does not compile"))
}

fn measure(program: &Litmus, most: u64) -> Vec<Cost> {
    let limits = Limits { executions: Some(most), ..Limits::default() };
    let options = Options { limits, ..Options::default() };
    let mut costs: Vec<Cost> = Vec::new();
    for _ in 0..TRIES {
        for algorithm in Algorithm::ALL {
            let begun = Instant::now();
            let counts = explore(program, algorithm, &options, &mut NoMonitor).counts;
            let seconds = begun.elapsed().as_secs_f64();
            match costs.iter_mut().find(|cost| cost.algorithm == algorithm) {
                Some(known) => known.seconds = known.seconds.min(seconds),
                None => costs.push(Cost { algorithm, seconds, counts }),
            }
        }
    }
    costs
}
