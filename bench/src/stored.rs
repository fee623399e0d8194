//! What `convergent` keeps: bytes a state and steps a second, where there are many states and where what is below
//! a state is a long story.

use std::time::Instant;

use mazurka_abs::{Abs, Options as Reading, Settings, Source, compile};
use mazurka_explore::{Algorithm, NoMonitor, Options, Summary, explore};

use crate::costs;

/// A program, and what is claimed of it: at most so many seconds, and of what is stored so many bytes.
struct Claim {
    name: &'static str,
    size: u32,
    seconds: f64,
    memory: u64,
    steps_a_second: f64,
}

/// Programs of `bench/litmus`: a million states within 1 GB, and 200,000 steps a second.
const LITMUS: [Claim; 2] = [
    Claim { name: "fib_bench", size: 5, seconds: 10.0, memory: 1 << 30, steps_a_second: 200_000.0 },
    Claim { name: "lastzero", size: 11, seconds: 10.0, memory: 1 << 30, steps_a_second: 200_000.0 },
];

/// Programs of `bench/abs`, whose states are compared up to renaming.
const ABS: [Claim; 2] = [
    Claim { name: "fib", size: 10, seconds: 10.0, memory: 1 << 28, steps_a_second: 0.0 },
    Claim { name: "pi", size: 14, seconds: 10.0, memory: 1 << 26, steps_a_second: 0.0 },
];

/// Prints the table. Says whether all claims hold.
///
/// # Errors
/// If a program can't be read.
pub fn table() -> Result<bool, String> {
    println!("convergent: what is stored, and how fast");
    println!(
        "{:>14} {:>9} {:>9} {:>9} {:>12} {:>11} {:>7}",
        "program", "states", "steps", "seconds", "bytes/state", "steps/s", ""
    );
    let mut all = true;
    for claim in &LITMUS {
        let program = costs::program(claim.name, claim.size.into())?;
        all &= row(claim, || explore(&program, Algorithm::Convergent, &Options::default(), &mut NoMonitor));
    }
    for claim in &ABS {
        let text = mazurka_bench::abs_programs::program(claim.name, &[claim.size])?;
        let source = Source { name: format!("{}.abs", claim.name), text };
        let model = compile(&[source], &Reading::default())
            .map_err(|_| format!("{} does not compile", claim.name))?;
        let program = Abs::new(model, Settings::default());
        all &= row(claim, || explore(&program, Algorithm::Convergent, &Options::default(), &mut NoMonitor));
    }
    Ok(all)
}

fn row(claim: &Claim, search: impl Fn() -> Summary) -> bool {
    let begun = Instant::now();
    let summary = search();
    let seconds = begun.elapsed().as_secs_f64();
    let counts = summary.counts;
    let speed = counts.events as f64 / seconds;
    let holds = summary.not_exhaustive.is_none()
        && seconds <= claim.seconds
        && counts.state_memory <= claim.memory
        && speed >= claim.steps_a_second;
    println!(
        "{:>14} {:>9} {:>9} {:>9.2} {:>12} {:>11.0} {:>7}",
        format!("{}({})", claim.name, claim.size),
        counts.states,
        counts.events,
        seconds,
        counts.state_memory / counts.states.max(1),
        speed,
        if holds { "as said" } else { "WRONG" }
    );
    holds
}
