//! What a class of `reads-from` costs, by the length of executions.

use std::time::Instant;

use mazurka_explore::{Algorithm, Limits, NoMonitor, Options, explore};

use crate::costs::program;

/// Programs with their sizes: executions of about 20, 200 and 2,000 steps.
const PROGRAMS: [(&str, [i64; 3]); 3] =
    [("opt_lock", [3, 33, 333]), ("fib_bench", [3, 33, 300]), ("pthread_demo", [2, 25, 250])];

/// So many executions are measured.
const EXECUTIONS: u64 = 300;

/// Prints the table.
///
/// # Errors
/// If a program can't be read.
pub fn table() -> Result<(), String> {
    println!(
        "reads-from: the first {EXECUTIONS} classes; how time grows when executions are ten times as long"
    );
    println!(
        "{:>14} {:>6} {:>10} {:>12} {:>10} {:>10}",
        "program", "n", "longest", "us/class", "length", "time"
    );
    for (name, sizes) in PROGRAMS {
        let mut before: Option<(f64, f64)> = None;
        for size in sizes {
            let program = program(name, size)?;
            let limits = Limits { executions: Some(EXECUTIONS), ..Limits::default() };
            // Sums overflow in long executions of fib_bench: that is a failure, and no end.
            let options = Options { limits, keep_going: true, ..Options::default() };
            let begin = Instant::now();
            let counts = explore(&program, Algorithm::ReadsFrom, &options, &mut NoMonitor).counts;
            let micros = begin.elapsed().as_secs_f64() * 1e6 / counts.executions().max(1) as f64;
            let (longest, told) = (counts.longest as f64, before);
            let ratio = |now: f64, then: Option<f64>| {
                then.map_or(String::new(), |then| format!("x{:.1}", now / then))
            };
            println!(
                "{name:>14} {size:>6} {:>10} {micros:>12.1} {:>10} {:>10}",
                counts.longest,
                ratio(longest, told.map(|told| told.0)),
                ratio(micros, told.map(|told| told.1))
            );
            before = Some((longest, micros));
        }
    }
    Ok(())
}
