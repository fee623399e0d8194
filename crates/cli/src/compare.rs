//! `mazurka compare`: several algorithms on one program.

use std::time::Duration;

use mazurka_explore::{Algorithm, Limits, Options};
use mazurka_program::{Explain, Program};
use mazurka_report::json::survey_json;
use mazurka_report::{Progress, Subject, Survey, SurveyRow, survey_row};

use crate::args::{CompareArgs, algorithms};
use crate::input::{self, FrontEnd};
use crate::native::{self, Worker};
use crate::trouble::{self, Trouble};
use crate::{abs, interrupt, litmus, output};

/// What `naive` gets where no time limit is given: it would rarely end.
const NAIVE_TIME: Duration = Duration::from_secs(10);

/// Compares, reports, and gives the exit status.
pub fn run(arguments: &CompareArgs, worker: Option<&Worker>) -> Result<u8, Trouble> {
    let named = arguments.algorithms.iter().map(|name| algorithms(name.trim(), arguments.as_published));
    let algorithms = named.collect::<Result<Vec<_>, _>>().map_err(Trouble::unsupported)?.concat();
    let (rows, not_run) = match (input::front_end_of(&arguments.files)?, arguments.files.as_slice()) {
        (FrontEnd::Litmus, [file, ..]) => {
            let program = litmus::load(file, &arguments.front_end)?;
            algorithms.iter().try_for_each(|&algorithm| litmus::suit(&program, algorithm))?;
            rows(&program, algorithms, arguments, &no_more)
        }
        (FrontEnd::Native, files) => {
            algorithms.iter().try_for_each(|&algorithm| native::suit(algorithm))?;
            let searches = algorithms.len().try_into().unwrap_or(u32::MAX);
            let Some(worker) = worker else {
                return native::delegate(files, &arguments.front_end, &arguments.limits, searches);
            };
            let program = worker.load(&arguments.front_end)?;
            let limit = |limits: &Limits| program.limit(limits.time, limits.memory);
            rows(&program, algorithms, arguments, &limit)
        }
        (_, files) => {
            let (program, wishes) = abs::load(files, &arguments.front_end)?;
            wishes.refuse()?;
            algorithms.iter().try_for_each(|&algorithm| wishes.suit(algorithm))?;
            rows(&program, algorithms, arguments, &no_more)
        }
    };
    let program = input::name_of(&arguments.files);
    let subject = Subject { program, options: arguments.front_end.clone(), ..Subject::default() };
    let colour = worker.map_or_else(output::colour_on_stdout, |worker| worker.colour);
    report(&Survey { subject, rows }, &not_run, arguments, colour)
}

/// Front ends whose steps take no time to speak of need not know of limits.
fn no_more(_limits: &Limits) {}

/// A row for each algorithm, and the algorithms that were not run because of an interruption. The front end is told of the
/// limits of each search before it begins.
fn rows<P>(
    program: &P,
    algorithms: Vec<Algorithm>,
    arguments: &CompareArgs,
    limit: &dyn Fn(&Limits),
) -> (Vec<SurveyRow>, Vec<String>)
where
    P: Program,
    P::Run: Explain,
{
    let row = |algorithm| {
        let mut progress = Progress::new();
        let watch = &mut |counts: &_, share| {
            progress.update(counts, share);
            interrupt::asked()
        };
        let options = options(arguments, algorithm);
        limit(&options.limits);
        survey_row(program, algorithm, &options, Some(watch))
    };
    let mut rows = Vec::new();
    let mut left = algorithms.into_iter();
    let _interruptible = interrupt::listen();
    while interrupt::asked().is_continue() {
        let Some(algorithm) = left.next() else { break };
        rows.push(row(algorithm));
    }
    (rows, left.map(|algorithm| algorithm.to_string()).collect())
}

fn options(arguments: &CompareArgs, algorithm: Algorithm) -> Options {
    let mut options = arguments.limits.options(false);
    if algorithm == Algorithm::Naive {
        options.limits.time.get_or_insert(NAIVE_TIME);
    }
    options
}

fn report(survey: &Survey, not_run: &[String], arguments: &CompareArgs, colour: bool) -> Result<u8, Trouble> {
    if arguments.json {
        output::stdout(&format!("{}\n", survey_json(survey)))?;
    } else {
        let mut text = survey.text(colour);
        let naive = survey.rows.iter().any(|row| row.algorithm == Algorithm::Naive);
        if naive && arguments.limits.timeout.is_none() {
            text += "\nnaive has a time limit of 10 s unless --timeout says otherwise\n";
        }
        if !not_run.is_empty() {
            text += &format!("\nnot run, because of the interruption: {}\n", not_run.join(", "));
        }
        output::stdout(&text)?;
    }
    if let Some(verdict) = survey.verdict() {
        return Ok(verdict.exit_status());
    }
    // Two searches that both looked at everything can't differ, unless one is wrong: then there is no verdict.
    let told = survey.disagreement().map(|what| format!("{what}; one of them is wrong"));
    let noticed = || survey.internal_error().map(|error| error.to_string());
    let what = told.or_else(noticed).unwrap_or_default();
    output::stderr(&format!("error: {}\n", Trouble::internal(what).message()));
    Ok(trouble::EXIT)
}
