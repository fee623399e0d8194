//! `mazurka compare`: several algorithms on one program, or on each of those that its parameters make.

use std::time::Duration;

use mazurka_constraints::Solver;
use mazurka_explore::{Algorithm, Options};
use mazurka_report::json::comparison_json;
use mazurka_report::{Comparison, ComparisonRow, NotRun, Parameters, Subject, comparison_row};

use crate::args::{CompareArgs, algorithms};
use crate::error::{self, CommandError};
use crate::front_end::{self, AnyTarget, Loaded, Request, Target};
use crate::native::Worker;
use crate::{interrupt, output, parameters};

/// What `naive` gets where no time limit is given: it would rarely end.
const NAIVE_TIME: Duration = Duration::from_secs(10);

/// What is compared if nobody says otherwise.
const USUAL: [&str; 5] = ["naive", "source", "optimal", "data-centric", "reads-from"];

/// The algorithms that are compared, and those that the program has to suit: who names one wants it to be refused, where
/// it is, and not to be left out.
fn asked_for(arguments: &CompareArgs) -> Result<(Vec<Algorithm>, Vec<Algorithm>), CommandError> {
    let usual = || USUAL.map(str::to_owned).to_vec();
    let names = arguments.algorithms.clone().unwrap_or_else(usual);
    let named = names.iter().map(|name| algorithms(name.trim(), arguments.as_published));
    let all = named.collect::<Result<Vec<_>, _>>().map_err(CommandError::unsupported)?.concat();
    let mut suited = all.clone();
    suited.retain(|&algorithm| arguments.algorithms.is_some() || !is_data_centric(algorithm));
    Ok((all, suited))
}

/// Whether it is that algorithm, in any form.
pub fn is_data_centric(algorithm: Algorithm) -> bool {
    algorithm.name() == Algorithm::DataCentric.name()
}

/// Compares, reports, and gives the exit status.
pub fn run(arguments: &CompareArgs, worker: Option<&Worker>) -> Result<u8, CommandError> {
    let (algorithms, suited) = asked_for(arguments)?;
    let front_end = front_end::of_files(&arguments.files)?;
    let mut targets = Vec::new();
    // Whatever is wrong with any of the programs is told before one is run.
    for instance in parameters::instances(front_end, &arguments.params, &arguments.front_end)? {
        let request = Request {
            files: &arguments.files,
            options: &instance.options,
            algorithms: &suited,
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
        if let Some(option) = target.executions().given() {
            let why = format!("{option} is for mazurka check, not for compare");
            return Err(CommandError::unsupported(why));
        }
        targets.push((instance.parameters, target));
    }
    let given = arguments.params.iter().flat_map(|text| ["--param".to_owned(), text.clone()]);
    let options = given.chain(arguments.front_end.iter().cloned()).collect();
    let subject = Subject { program: front_end::name_of(&arguments.files), options, ..Subject::default() };
    let comparison = compared(subject, &targets, &algorithms, arguments);
    let colour = worker.map_or_else(output::colour_on_stdout, |worker| worker.colour);
    report(&comparison, arguments, colour)
}

/// Runs each algorithm on each program, until there is an interruption.
fn compared(
    subject: Subject,
    targets: &[(Parameters, Box<dyn AnyTarget>)],
    algorithms: &[Algorithm],
    arguments: &CompareArgs,
) -> Comparison {
    let mut comparison = Comparison { subject, rows: Vec::new(), not_run: Vec::new() };
    let _interruptible = interrupt::listen();
    for (parameters, target) in targets {
        for &algorithm in algorithms {
            let parameters = parameters.clone();
            if interrupt::asked().is_break() {
                comparison.not_run.push(NotRun { parameters, algorithm });
            } else {
                let row = target.compare(algorithm, &options(arguments, algorithm));
                comparison.rows.push(ComparisonRow { parameters, ..row });
            }
        }
    }
    comparison
}

/// The row of one algorithm.
pub fn row<T: Target>(target: &T, algorithm: Algorithm, options: &Options) -> ComparisonRow {
    let mut progress = output::progress();
    let watch = &mut |counts: &_, share| {
        if let Some(progress) = &mut progress {
            progress.update(counts, share);
        }
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

fn report(comparison: &Comparison, arguments: &CompareArgs, colour: bool) -> Result<u8, CommandError> {
    output::stdout(&written(comparison, arguments, colour))?;
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

fn written(comparison: &Comparison, arguments: &CompareArgs, colour: bool) -> String {
    if arguments.json {
        return format!("{}\n", comparison_json(comparison));
    }
    if arguments.csv {
        return comparison.csv();
    }
    if arguments.latex {
        return comparison.latex();
    }
    if arguments.talk.quiet {
        return comparison.brief_text(colour);
    }
    let naive = comparison.rows.iter().any(|row| row.algorithm == Algorithm::Naive);
    let limited = naive && arguments.limits.timeout.is_none();
    let note =
        if limited { "\nnaive has a time limit of 10 s unless --timeout says otherwise\n" } else { "" };
    format!("{}{note}", comparison.text(colour))
}
