//! `mazurka estimate`: about how many executions a check will have, and how long it will take.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::{Args, ValueHint};
use mazurka_constraints::Solver;
use mazurka_explore::{Algorithm, Estimate};
use serde_json::{Value, json};

use crate::args::{LimitArgs, after_help};
use crate::error::CommandError;
use crate::front_end::{self, Loaded, Request};
use crate::native::Worker;
use crate::{output, parameters};

/// How many executions are run, and how long, if nobody says otherwise.
const EXECUTIONS: u64 = 500_000;
const TIME: Duration = Duration::from_secs(60);

/// Arguments of `estimate`.
#[derive(Debug, Args)]
#[command(after_help = after_help())]
pub struct EstimateArgs {
    /// The program: a .maz file, or the .abs, C or C++ files of one program
    #[arg(required = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub files: Vec<PathBuf>,

    /// Set a parameter of a .maz or .abs program; once for each
    #[arg(long = "param", value_name = "NAME=VALUE")]
    pub params: Vec<String>,

    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,

    /// When to stop; after 500,000 executions or 60 s unless these say otherwise.
    #[command(flatten)]
    pub limits: LimitArgs,

    /// Options for the front end, after --: listed below; for C those of the compiler too
    #[arg(last = true, value_name = "FRONT-END OPTIONS")]
    pub front_end: Vec<String>,
}

/// Estimates, tells, and gives the exit status.
pub fn run(arguments: &EstimateArgs, worker: Option<&Worker>) -> Result<u8, CommandError> {
    let front_end = front_end::of_files(&arguments.files)?;
    let given = parameters::one_program(front_end, &arguments.params, &arguments.front_end)?;
    let request = Request {
        files: &arguments.files,
        options: &given,
        algorithms: &[Algorithm::WakeUp],
        limits: &arguments.limits,
        worker,
        texts: None,
        helps: None,
        solver: Solver::default(),
    };
    let target = match front_end.load(&request)? {
        Loaded::Here(target) => target,
        Loaded::Elsewhere(status) => return Ok(status),
    };
    let mut options = arguments.limits.options(true);
    options.limits.time.get_or_insert(TIME);
    // It is not what ends the search, but what the samples are made for.
    let budget = options.limits.executions.take().unwrap_or(EXECUTIONS);
    let start = Instant::now();
    let found = target.estimate(budget, &options);
    let seconds = start.elapsed().as_secs_f64();
    output::stdout(&if arguments.json {
        format!("{}\n", object(&found, &front_end::name_of(&arguments.files), seconds))
    } else {
        text(&found, seconds)
    })?;
    Ok(0)
}

fn text(found: &Estimate, seconds: f64) -> String {
    let mut text = total_text(found);
    if let Some(why) = &found.stopped {
        text += &format!("note: it ended early: {why}\n");
    }
    if let Some((total, rate)) = found.total().filter(|_| !found.is_exact).zip(rate(found, seconds)) {
        text += &format!("at {} a second, as here on one core: {}\n", number(rate), duration(total / rate));
    }
    text + &format!("{} were run in {seconds:.1} s\n", executions(found.executions as f64))
}

/// About how many there are.
pub fn total_text(found: &Estimate) -> String {
    match (found.total(), found.range()) {
        (Some(total), _) if found.is_exact => format!("{}: all of them were run\n", executions(total)),
        (Some(total), Some((least, most))) => format!(
            "about {}: {} samples, of at most {} executions a level each, gave {} to {}\n",
            executions(total),
            found.samples.len(),
            found.width,
            number(least),
            number(most)
        ),
        (None, Some((least, most))) => format!(
            "unknown: {} samples, of at most {} executions a level each, lie too far apart, from {} to {}, and the \
             number may be far above them; a larger --max-executions may tell\n",
            found.samples.len(),
            found.width,
            number(least),
            number(most)
        ),
        _ => "unknown: no sample came to its end; a larger --max-executions may tell\n".to_owned(),
    }
}

/// How many executions a second were run; none if that can't be told.
fn rate(found: &Estimate, seconds: f64) -> Option<f64> {
    (found.executions > 0 && seconds > 0.0).then(|| found.executions as f64 / seconds)
}

fn executions(count: f64) -> String {
    let what = if count == 1.0 { "execution" } else { "executions" };
    format!("{} {what}", number(count))
}

/// A number as people read it: none has more digits than are known.
fn number(number: f64) -> String {
    if number < 1e7 { format!("{number:.0}") } else { format!("{number:.1e}") }
}

fn duration(seconds: f64) -> String {
    const UNITS: [(f64, &str); 5] = [
        (31_557_600.0, "years"),
        (86_400.0, "days"),
        (3_600.0, "hours"),
        (60.0, "minutes"),
        (1.0, "seconds"),
    ];
    let unit = UNITS.into_iter().find(|&(length, _)| seconds >= 2.0 * length);
    unit.map_or("seconds".to_owned(), |(length, name)| format!("{} {name}", number(seconds / length)))
}

fn object(found: &Estimate, program: &str, seconds: f64) -> Value {
    let (least, most) = found.range().unzip();
    json!({
        "schema": mazurka_report::json::SCHEMA,
        "program": program,
        "total": found.total(),
        "exact": found.is_exact,
        "least": least,
        "most": most,
        "samples": found.samples,
        "width": found.width,
        "executions": found.executions,
        "reason": found.stopped.as_ref().map(ToString::to_string),
        "seconds": seconds,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_times_are_told_as_far_as_they_are_known() {
        assert_eq!(number(40_320.4), "40320");
        assert_eq!(number(3.71e17), "3.7e17");
        let told: Vec<String> = [0.5, 90.0, 7_200.0, 1e6, 1e10, 1e20].map(duration).to_vec();
        assert_eq!(told, ["seconds", "90 seconds", "2 hours", "12 days", "317 years", "3.2e12 years"]);
    }
}
