//! `mazurka check`: looks for failures of a program.

use std::cell::RefCell;
use std::num::NonZero;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::thread::available_parallelism;

use mazurka_constraints::Solver;
use mazurka_explore::{Algorithm, Beginning, Ledger, Limits, Need, Published};
use mazurka_program::Schedule;
use mazurka_report::json::ErrorKind;
use mazurka_report::{
    self as report, Recorder, Report, Subject, TextOptions, brief_text, check_observed, check_schedule, json,
    text,
};

use crate::args::{CheckArgs, LimitArgs, algorithm};
use crate::error::CommandError;
use crate::executions::ExecutionArgs;
use crate::fleet::Elsewhere;
use crate::front_end::{self, AnyTarget, Loaded, Request, Target};
use crate::journal::Kept;
use crate::native::Worker;
use crate::{constraints, fleet, input, interrupt, journal, output, parameters};

/// Checks, reports, and gives the exit status.
pub fn run(arguments: &CheckArgs, worker: Option<&Worker>) -> Result<u8, CommandError> {
    search(arguments, worker, None)
}

/// Goes on with a search that was kept.
pub fn run_kept(arguments: &CheckArgs, worker: Option<&Worker>, kept: Kept) -> Result<u8, CommandError> {
    search(arguments, worker, Some(kept))
}

/// Has a worker go on with a search that was kept, of a program that runs in a process of its own.
pub fn delegate_kept(arguments: &CheckArgs) -> Result<u8, CommandError> {
    let request = Request {
        files: &arguments.files,
        options: &arguments.front_end,
        algorithms: &[algorithm_of(arguments)?],
        limits: &arguments.limits,
        worker: None,
        texts: None,
        helps: None,
        solver: Solver::default(),
    };
    match front_end::of_files(&arguments.files)?.load(&request)? {
        Loaded::Elsewhere(status) => Ok(status),
        Loaded::Here(_) => Err(CommandError::internal("machine code is run by a worker")),
    }
}

fn search(
    arguments: &CheckArgs,
    worker: Option<&Worker>,
    mut kept: Option<Kept>,
) -> Result<u8, CommandError> {
    if let Some(url) = arguments.on.as_deref().filter(|_| arguments.files.is_empty()) {
        return fleet::check_test(url, arguments);
    }
    let front_end = front_end::of_files(&arguments.files)?;
    // Whatever can be refused without looking at the program is.
    let algorithm = algorithm_of(arguments)?;
    let journal = journal::asked_for(arguments).filter(|_| kept.is_none());
    if let Some(path) = &journal {
        journal::refuse(path, arguments, front_end, algorithm)?;
    }
    let on = arguments.on.as_deref();
    if on.is_some() {
        fleet::refuse(arguments, front_end, algorithm)?;
    }
    let schedule = arguments.replay.as_deref().map(|text| schedule(text, &arguments.limits)).transpose()?;
    arguments.executions.refuse_unwritable()?;
    let options = parameters::one_program(front_end, &arguments.params, &arguments.front_end)?;
    let header =
        (journal.is_some() || on.is_some()).then(|| journal::header(arguments, &options)).transpose()?;
    let request = Request {
        files: &arguments.files,
        options: &options,
        algorithms: &[algorithm],
        limits: &arguments.limits,
        worker,
        texts: None,
        helps: on.zip(arguments.jobs),
        solver: solver_of(arguments, algorithm)?,
    };
    let target = match front_end.load(&request)? {
        Loaded::Here(target) => target,
        Loaded::Elsewhere(status) => return Ok(status),
    };
    refuse_told_quietly(arguments, &target.executions())?;
    if let Some(header) = header.as_ref().or(kept.as_ref().map(|kept| &kept.header)) {
        journal::refuse_changed(header, arguments, &options)?;
    }
    if let Some(kept) = &kept {
        journal::refuse_other_code(&kept.header, &*target)?;
    }
    let mut elsewhere = None;
    match (journal, on, header) {
        (Some(path), _, Some(header)) => {
            journal::refuse_stories(&target.executions())?;
            kept = Some(journal::begin(&path, header, &*target)?);
        }
        (None, Some(address), Some(header)) => {
            fleet::refuse_stories(&target.executions())?;
            let (what, how) = fleet::hand_over(address, arguments, header, &*target, worker)?;
            kept = Some(what);
            elsewhere = Some(how);
        }
        _ => {}
    }
    let kept = RefCell::new(kept);
    let check = Check { algorithm, schedule, arguments, worker, options: &options, kept };
    conclude(&check, &*target, elsewhere)
}

/// Concludes a search that was done elsewhere.
#[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "only other machines need it"))]
pub fn run_elsewhere(
    arguments: &CheckArgs,
    target: &dyn AnyTarget,
    (kept, elsewhere): (Kept, Elsewhere),
    worker: Option<&Worker>,
) -> Result<u8, CommandError> {
    let (options, kept) = (&arguments.front_end, RefCell::new(Some(kept)));
    let check = Check { algorithm: Algorithm::WakeUp, schedule: None, arguments, worker, options, kept };
    conclude(&check, target, Some(elsewhere))
}

/// Does what is to be done here, reports, and gives the exit status.
fn conclude(
    check: &Check<'_>,
    target: &dyn AnyTarget,
    elsewhere: Option<Elsewhere>,
) -> Result<u8, CommandError> {
    let mut report = target.check(check)?;
    if let Some(elsewhere) = &elsewhere {
        report.seconds = elsewhere.seconds();
    }
    output::stdout(&written(&report, check.arguments, check.worker))?;
    elsewhere.map_or(Ok(()), Elsewhere::told)?;
    Ok(report.verdict().exit_status())
}

/// How to search.
fn algorithm_of(arguments: &CheckArgs) -> Result<Algorithm, CommandError> {
    match arguments.as_published {
        None => algorithm(&arguments.algorithm).map_err(CommandError::unsupported),
        Some(version) => {
            let form = Published::of(&arguments.algorithm, version).map_err(CommandError::unsupported)?;
            Ok(Algorithm::Published(form))
        }
    }
}

/// Who answers a search: to name somebody where nobody is asked is a mistake.
fn solver_of(arguments: &CheckArgs, algorithm: Algorithm) -> Result<Solver, CommandError> {
    let Some(name) = arguments.solver else { return Ok(Solver::default()) };
    if !algorithm.needs().contains(&Need::Constraints) {
        let why = format!(
            "--solver is for searches that ask when steps commute (source+constraints, convergent+constraints); \
             {algorithm} does not"
        );
        return Err(CommandError::new(ErrorKind::Usage, why));
    }
    Ok(constraints::solver(name, false))
}

/// Who asks for a story can't ask for silence.
fn refuse_told_quietly(arguments: &CheckArgs, of_front_end: &ExecutionArgs) -> Result<(), CommandError> {
    let executions = arguments.executions.clone().and(of_front_end.clone());
    let stories = [
        ("--full-trace", arguments.full_trace),
        ("--final-states", executions.final_states),
        ("--traces", executions.traces),
    ];
    match stories.into_iter().find(|(_, asked)| *asked) {
        Some((option, _)) if arguments.talk.quiet && !arguments.json => {
            let why = format!("--quiet tells no story, so it can't have {option}; leave one of them out");
            Err(CommandError::new(ErrorKind::Usage, why))
        }
        _ => Ok(()),
    }
}

/// What is to be done with a program.
pub struct Check<'a> {
    algorithm: Algorithm,
    schedule: Option<Schedule>,
    arguments: &'a CheckArgs,
    /// The options of the front end.
    options: &'a [String],
    worker: Option<&'a Worker>,
    /// The journal of the search, if there is one.
    kept: RefCell<Option<Kept>>,
}

impl Check<'_> {
    /// Searches, or runs the schedule, and makes a report of it.
    pub fn run<T: Target>(&self, target: &T) -> Result<Report, CommandError> {
        let program = target.program();
        let executions = self.arguments.executions.clone().and(target.executions());
        let mut recorder = executions.recorder(program)?;
        let options = self.options.to_vec();
        let name = front_end::name_of(&self.arguments.files);
        let subject = Subject { program: name, options, wording: target.wording() };
        let mut report = match &self.schedule {
            Some(schedule) => check_schedule(program, subject, schedule.clone()).map_err(|misfit| {
                CommandError::input(format!(
                    "{misfit}; a schedule fits only the program that it was printed for, with the same options after --"
                ))
            })?,
            None => self.search(target, subject, &mut recorder)?,
        };
        report.reason = report.reason.take().or_else(|| target.left_out());
        // Where a search ended at something that its algorithm does not cover, and had met no failure, that is all
        // there is to say.
        if let Some(why) = report.reason.as_ref().filter(|_| report.refused && report.failures.is_empty()) {
            return Err(CommandError::unsupported(why));
        }
        target.add_to(&mut report)?;
        executions.add_to(program, &mut recorder, &mut report)?;
        Ok(report)
    }

    fn search<T: Target>(
        &self,
        target: &T,
        subject: Subject,
        recorder: &mut Recorder,
    ) -> Result<Report, CommandError> {
        let options = self.arguments.limits.options(self.arguments.keep_going);
        target.limit(&options.limits);
        let mut progress = output::progress();
        let mut watch = |counts: &_, share| {
            if let Some(progress) = &mut progress {
                progress.update(counts, share);
            }
            match self.worker {
                Some(worker) if worker.is_orphan() => ControlFlow::Break(()),
                _ => interrupt::asked(),
            }
        };
        let _interruptible = interrupt::listen();
        let jobs = self.arguments.jobs.unwrap_or_else(|| available_parallelism().map_or(1, NonZero::get));
        // Who wants to know of every execution is told of them one after the other.
        let executions = self.arguments.executions.clone().and(target.executions());
        let mut kept = self.kept.take();
        let kept = kept.as_mut().map(|kept| {
            let before = std::mem::replace(&mut kept.before, Beginning::whole());
            report::Kept { before, keeper: kept.keeper.as_mut().map(|keeper| keeper as &mut dyn Ledger<_>) }
        });
        let story = executions.given();
        let shared = match story {
            None => target.check_jobs(subject.clone(), self.algorithm, &options, jobs, &mut watch, kept),
            Some(_) => None,
        };
        let limit = options.limits.executions.filter(|_| self.algorithm != Algorithm::Random);
        let alone = Alone {
            algorithm: self.algorithm,
            story,
            is_shared: shared.is_some(),
            is_limited: limit.is_some(),
        };
        let report = shared.unwrap_or_else(|| {
            let watch = Some(&mut watch as &mut _);
            check_observed(target.program(), subject, self.algorithm, &options, watch, recorder)
        });
        let mut report = report.map_err(CommandError::internal)?;
        report.notes.extend(alone.note(self.arguments.jobs, jobs, &report));
        Ok(report)
    }
}

/// After so many seconds it is worth a word that other cores had nothing to do.
const LONG: f64 = 10.0;

/// Whether and why one core had to do all of a search.
struct Alone {
    algorithm: Algorithm,
    /// An option that asks to be told of every execution.
    story: Option<&'static str>,
    is_shared: bool,
    is_limited: bool,
}

impl Alone {
    /// What to say of it: always if several were asked for, else only if it was long and there was nothing to see of it.
    fn note(&self, asked: Option<usize>, cores: usize, report: &Report) -> Option<String> {
        let why = self.why()?;
        match asked {
            Some(asked) if asked > 1 => Some(format!("one core was used, and not {asked}: {why}")),
            None if cores > 1 && report.seconds >= LONG && report.failures.is_empty() => {
                Some(format!("one core was used of {cores}: {why}"))
            }
            _ => None,
        }
    }

    fn why(&self) -> Option<String> {
        match self.story {
            _ if self.is_shared && !self.is_limited => None,
            _ if self.is_shared => Some("--max-executions counts the executions of one".to_owned()),
            Some(option) => Some(format!("{option} tells of one execution after the other")),
            None => {
                Some(format!("a search by {} can't be shared here, but one by wake-up can", self.algorithm))
            }
        }
    }
}

/// The schedule to run. One that is longer than executions may be is refused before it is laid out in memory.
fn schedule(argument: &str, limits: &LimitArgs) -> Result<Schedule, CommandError> {
    let text = input::schedule_text(argument)?;
    let (steps, most) = (steps_of(&text), limits.depth());
    if steps > most {
        return Err(CommandError::input(format!(
            "--replay: the schedule has {steps} steps, but an execution has at most {most}; --max-depth {steps} allows it"
        )));
    }
    text.parse().map_err(|error| CommandError::input(format!("--replay: {error}")))
}

/// How many steps a text has, if it is a schedule.
fn steps_of(text: &str) -> usize {
    let Some(items) = text.strip_prefix("v1:") else { return 0 };
    let count = |item: &str| item.split_once('*').map_or(1, |(_, count)| count.parse().unwrap_or(1));
    items.split(',').map(count).fold(0, usize::saturating_add)
}

fn written(report: &Report, arguments: &CheckArgs, worker: Option<&Worker>) -> String {
    if arguments.json {
        return format!("{}\n", json(report));
    }
    let options = TextOptions {
        width: worker.map_or_else(output::columns, |worker| worker.columns),
        colour: worker.map_or_else(output::colour_on_stdout, |worker| worker.colour),
        full_trace: arguments.full_trace,
        replay_command: &|schedule| replay_command(&arguments.files, schedule, &report.subject.options),
    };
    if arguments.talk.quiet { brief_text(report, &options) } else { text(report, &options) }
}

/// The command that runs a schedule again, ready to be pasted into a shell.
fn replay_command(files: &[PathBuf], schedule: &str, front_end: &[String]) -> String {
    let files: Vec<String> = files.iter().map(|file| quoted(&file.display().to_string())).collect();
    let mut command = format!("mazurka check {} --replay '{schedule}'", files.join(" "));
    let steps = steps_of(schedule);
    if steps > Limits::default().depth {
        command += &format!(" --max-depth {steps}");
    }
    if !front_end.is_empty() {
        command += " --";
        for option in front_end {
            command += &format!(" {}", quoted(option));
        }
    }
    command
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=+,:@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    if word.contains(char::is_control) {
        // The form for what a terminal would obey.
        let escaped = |c: char| match c {
            '\'' | '\\' => format!("\\{c}"),
            c if c.is_control() => c.to_string().bytes().map(|byte| format!("\\x{byte:02x}")).collect(),
            c => c.to_string(),
        };
        return format!("$'{}'", word.chars().map(escaped).collect::<String>());
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pasted_command_means_what_it_says() {
        let options = ["--param".to_owned(), "n=3".to_owned()];
        let command = replay_command(&["it's here.maz".into()], "v1:0", &options);
        assert_eq!(command, r"mazurka check 'it'\''s here.maz' --replay 'v1:0' -- --param n=3");
        let command = replay_command(&["it's\n\x1b.maz".into()], "v1:0", &[]);
        assert_eq!(command, r"mazurka check $'it\'s\x0a\x1b.maz' --replay 'v1:0'");
        let command = replay_command(&["a.maz".into()], "v1:0*100000,1", &[]);
        assert_eq!(command, "mazurka check a.maz --replay 'v1:0*100000,1' --max-depth 100001");
    }

    #[test]
    fn steps_are_counted_without_being_laid_out() {
        for (text, steps) in [
            ("v1:", 1),
            ("v1:0", 1),
            ("v1:0*3,1,0.1#2", 5),
            ("v1:0*4000000000,1*4000000000", 8_000_000_000),
            ("v1:0*99999999999999999999,x", 2),
            ("v2:0*7", 0),
        ] {
            assert_eq!(steps_of(text), steps, "{text}");
        }
    }
}
