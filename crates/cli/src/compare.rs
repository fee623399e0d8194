//! `mazurka compare`: several algorithms on one program.

use std::time::Duration;

use mazurka_explore::{Algorithm, Options};
use mazurka_report::json::comparison_json;
use mazurka_report::{Comparison, ComparisonRow, Progress, Subject, comparison_row};

use crate::args::{CompareArgs, algorithms};
use crate::error::{self, CommandError};
use crate::front_end::{self, AnyTarget, Loaded, Request, Target};
use crate::native::Worker;
use crate::{interrupt, output};

/// What `naive` gets where no time limit is given: it would rarely end.
const NAIVE_TIME: Duration = Duration::from_secs(10);

/// Compares, reports, and gives the exit status.
pub fn run(arguments: &CompareArgs, worker: Option<&Worker>) -> Result<u8, CommandError> {
    let named = arguments.algorithms.iter().map(|name| algorithms(name.trim(), arguments.as_published));
    let algorithms = named.collect::<Result<Vec<_>, _>>().map_err(CommandError::unsupported)?.concat();
    let request = Request {
        files: &arguments.files,
        options: &arguments.front_end,
        algorithms: &algorithms,
        limits: &arguments.limits,
        worker,
    };
    let target = match front_end::of_files(&arguments.files)?.load(&request)? {
        Loaded::Here(target) => target,
        Loaded::Elsewhere(status) => return Ok(status),
    };
    if let Some(option) = target.executions().given() {
        let why = format!("{option} is for mazurka check, not for compare");
        return Err(CommandError::unsupported(why));
    }
    let (rows, not_run) = rows(&*target, algorithms, arguments);
    let program = front_end::name_of(&arguments.files);
    let subject = Subject { program, options: arguments.front_end.clone(), ..Subject::default() };
    let colour = worker.map_or_else(output::colour_on_stdout, |worker| worker.colour);
    report(&Comparison { subject, rows }, &not_run, arguments, colour)
}

/// A row for each algorithm, and the algorithms that were not run because of an interruption.
fn rows(
    target: &dyn AnyTarget,
    algorithms: Vec<Algorithm>,
    arguments: &CompareArgs,
) -> (Vec<ComparisonRow>, Vec<String>) {
    let mut rows = Vec::new();
    let mut left = algorithms.into_iter();
    let _interruptible = interrupt::listen();
    while interrupt::asked().is_continue() {
        let Some(algorithm) = left.next() else { break };
        rows.push(target.compare(algorithm, &options(arguments, algorithm)));
    }
    (rows, left.map(|algorithm| algorithm.to_string()).collect())
}

/// The row of one algorithm.
pub fn row<T: Target>(target: &T, algorithm: Algorithm, options: &Options) -> ComparisonRow {
    let mut progress = Progress::new();
    let watch = &mut |counts: &_, share| {
        progress.update(counts, share);
        interrupt::asked()
    };
    target.limit(&options.limits);
    let mut row = comparison_row(target.program(), algorithm, options, Some(watch));
    row.reason = row.reason.or_else(|| target.left_out());
    row
}

fn options(arguments: &CompareArgs, algorithm: Algorithm) -> Options {
    let mut options = arguments.limits.options(false);
    if algorithm == Algorithm::Naive {
        options.limits.time.get_or_insert(NAIVE_TIME);
    }
    options
}

fn report(
    comparison: &Comparison,
    not_run: &[String],
    arguments: &CompareArgs,
    colour: bool,
) -> Result<u8, CommandError> {
    if arguments.json {
        output::stdout(&format!("{}\n", comparison_json(comparison)))?;
    } else {
        let mut text = comparison.text(colour);
        let naive = comparison.rows.iter().any(|row| row.algorithm == Algorithm::Naive);
        if naive && arguments.limits.timeout.is_none() {
            text += "\nnaive has a time limit of 10 s unless --timeout says otherwise\n";
        }
        if !not_run.is_empty() {
            text += &format!("\nnot run, because of the interruption: {}\n", not_run.join(", "));
        }
        output::stdout(&text)?;
    }
    if let Some(verdict) = comparison.verdict() {
        return Ok(verdict.exit_status());
    }
    // Two searches that both looked at everything can't differ, unless one is wrong: then there is no
    // verdict.
    let told = comparison.disagreement().map(|what| format!("{what}; one of them is wrong"));
    let noticed = || comparison.internal_error().map(|error| error.to_string());
    let what = told.or_else(noticed).unwrap_or_default();
    output::stderr(&format!("error: {}\n", CommandError::internal(what).message()));
    Ok(error::EXIT)
}
