//! The front end for `.abs` files: its options, from files to a program, and what may be told of it besides failures.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use clap::Parser;
use mazurka_abs::{
    Abs, AbsRun, AwaitTrue, Dependence, Diagram, Dialect, FinalStates, ObjectOrder, Options, Settings,
    Source, TaskOrder, Uncaught, compile,
};
use mazurka_explore::{Algorithm, Counts, Ending, Monitor, Published};
use mazurka_program::Schedule;
use mazurka_report::{Method, Report, ToldExecution, ToldExecutions, Wording, replay, schedule_of};
use mazurka_trace::Trace;

use crate::trouble::Trouble;
use crate::{input, litmus, output};

/// So many executions are told by `--traces`.
const MOST_TRACES: usize = 100;
/// All of them together have at most so many steps, but for the first.
const MOST_STEPS: usize = 100_000;

/// What those who check active objects call things.
pub const WORDING: Wording = Wording { process: "task", ..Wording::COMMAND };

/// The options of the front end for `.abs` files, after `--`.
#[derive(Debug, Parser)]
#[command(
    name = "mazurka",
    no_binary_name = true,
    disable_help_flag = true,
    override_usage = "mazurka check FILE.abs ... -- [--param NAME=VALUE] [--dependence static|dynamic] \
                      [--dialect current|legacy] [--tasks any|fifo|lifo] [--objects any|circular] \
                      [--await release|continue] [--uncaught kill|forgive] [--dead-variables] [--final-states] [--traces] [--svg FILE]"
)]
pub struct AbsOptions {
    /// Gives a variable that the main block declares another initial value
    #[arg(long = "param", value_name = "NAME=VALUE", value_parser = parameter)]
    pub params: Vec<(String, String)>,

    /// What counts as touched by a step: what its method mentions, or what the step really touched
    #[arg(long, value_name = "KIND", value_parser = dependence)]
    pub dependence: Option<Dependence>,

    /// The dialect of the program, where it is not to be found out
    #[arg(long, value_name = "NAME", value_parser = dialect)]
    pub dialect: Option<Dialect>,

    /// Which task of a cog may run
    #[arg(long, value_name = "ORDER", value_parser = tasks, default_value = "any")]
    pub tasks: TaskOrder,

    /// Which cog may run
    #[arg(long, value_name = "ORDER", value_parser = objects, default_value = "any")]
    pub objects: ObjectOrder,

    /// What an await does whose guard holds already
    #[arg(long = "await", value_name = "RULE", value_parser = await_true, default_value = "release")]
    pub await_true: AwaitTrue,

    /// What an exception that a task does not catch does to its object
    #[arg(long, value_name = "RULE", value_parser = uncaught, default_value = "kill")]
    pub uncaught: Uncaught,

    /// Tell states without variables that no code that is left to run can read
    #[arg(long)]
    pub dead_variables: bool,

    /// List the distinct final states
    #[arg(long)]
    pub final_states: bool,

    /// Tell the steps of every complete execution
    #[arg(long)]
    pub traces: bool,

    /// Draw the first failure, or the first execution, into this file
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
}

/// What is to be told besides failures.
#[derive(Debug)]
pub struct Wishes {
    final_states: bool,
    traces: bool,
    svg: Option<PathBuf>,
    dependence: Dependence,
    dead_variables: bool,
}

/// Files, ready to be run as one program.
pub fn load(paths: &[PathBuf], options: &[String]) -> Result<(Abs, Wishes), Trouble> {
    let options = AbsOptions::try_parse_from(options).map_err(|error| Trouble::of_usage(&error))?;
    for (at, (name, _)) in options.params.iter().enumerate() {
        if options.params[..at].iter().any(|(other, _)| other == name) {
            return Err(Trouble::input(format!("--param {name} is given twice")));
        }
    }
    if let Some(svg) = &options.svg {
        let name = svg.display();
        let refused =
            |error| Trouble::input(format!("{name}: the diagram can't be written: {error}")).at(&name);
        output::writable(svg).map_err(refused)?;
    }
    let sources: Vec<Source> = paths.iter().map(|path| source(path)).collect::<Result<_, _>>()?;
    let reading = Options { dialect: options.dialect, parameters: options.params };
    let model = compile(&sources, &reading)
        .map_err(|diagnostics| Trouble::of_abs(&diagnostics, &mazurka_abs::files(&sources, &reading)))?;
    let dependence = options.dependence.unwrap_or_default();
    let settings = Settings {
        dependence,
        tasks: options.tasks,
        objects: options.objects,
        await_holds: options.await_true,
        uncaught: options.uncaught,
        forgets_dead_variables: options.dead_variables,
        ..Settings::default()
    };
    let wishes = Wishes {
        final_states: options.final_states,
        traces: options.traces,
        svg: options.svg,
        dependence,
        dead_variables: options.dead_variables,
    };
    Ok((Abs::new(model, settings), wishes))
}

fn source(path: &Path) -> Result<Source, Trouble> {
    Ok(Source { name: path.display().to_string(), text: input::read_program(path)? })
}

/// Notes during a search what was wished for.
#[derive(Default)]
pub struct Observer {
    final_states: Option<FinalStates>,
    wants_traces: bool,
    wants_first: bool,
    schedules: Vec<Schedule>,
    steps: usize,
    left_out: u64,
}

impl Wishes {
    /// Complains of an algorithm that needs other labels than were asked for.
    pub fn suit(&self, algorithm: Algorithm) -> Result<(), Trouble> {
        let published = algorithm.published();
        let really =
            algorithm == Algorithm::OptimalObservers || published == Some(Published::OptimalContextObservers);
        let before = algorithm.name().starts_with("source") || published == Some(Published::OptimalContext);
        if self.dependence == Dependence::Static && really {
            return Err(Trouble::unsupported(format!(
                "{algorithm} needs to know what a step really overwrote, so it can't have --dependence static; leave that \
                 out, or choose another algorithm"
            )));
        }
        if self.dead_variables {
            litmus::suits_dead_variables(algorithm)?;
        }
        if self.dependence == Dependence::Dynamic && before {
            return Err(Trouble::unsupported(format!(
                "{algorithm} needs to know before a step what it might touch, so it can't have --dependence dynamic; \
                 leave that out, or choose another algorithm"
            )));
        }
        Ok(())
    }

    /// Complains of wishes that only `check` fulfils.
    pub fn refuse(&self) -> Result<(), Trouble> {
        let wishes =
            [("--final-states", self.final_states), ("--traces", self.traces), ("--svg", self.svg.is_some())];
        match wishes.iter().find(|(_, wished)| *wished) {
            Some((name, _)) => {
                Err(Trouble::unsupported(format!("{name} is for mazurka check, not for compare")))
            }
            None => Ok(()),
        }
    }

    /// Who notes it.
    pub fn observer(&self) -> Observer {
        Observer {
            final_states: self.final_states.then(FinalStates::default),
            wants_traces: self.traces,
            wants_first: self.svg.is_some(),
            ..Observer::default()
        }
    }

    /// Puts what was noted into the report, and draws.
    pub fn fulfil(&self, program: &Abs, mut observer: Observer, report: &mut Report) -> Result<(), Trouble> {
        if let Method::Replay(schedule) = &report.method
            && report.counts.complete > 0
        {
            observer.keep(schedule.clone());
            if let (Some(states), Ok(run)) =
                (&mut observer.final_states, mazurka_abs::run_of(program, schedule))
            {
                states.note(&run);
            }
        }
        if let Some(path) = &self.svg {
            draw(program, path, &observer, report)?;
        }
        report.final_states = observer.final_states.take().map(|states| told_states(&states));
        if self.traces {
            let told = |schedule: Schedule| {
                let story = replay(program, &schedule).map_err(Trouble::internal)?;
                Ok(ToldExecution { schedule, story })
            };
            let executions = observer.schedules.into_iter().map(told).collect::<Result<_, Trouble>>()?;
            report.executions = Some(ToldExecutions { told: executions, left_out: observer.left_out });
        }
        Ok(())
    }
}

fn told_states(states: &FinalStates) -> mazurka_report::FinalStates {
    let one = |state: &mazurka_abs::FinalState| mazurka_report::FinalState {
        terms: state.terms.clone(),
        deadlock: state.deadlock,
        executions: state.executions,
    };
    mazurka_report::FinalStates {
        count: states.count(),
        more: states.more(),
        told: states.told().iter().map(one).collect(),
    }
}

/// Draws the first failure, or the schedule that was run, or the first complete execution.
fn draw(program: &Abs, path: &Path, observer: &Observer, report: &mut Report) -> Result<(), Trouble> {
    let failed = report.failures.iter().find_map(|failure| failure.schedule.as_ref());
    let replayed = match &report.method {
        Method::Replay(schedule) => Some(schedule),
        Method::Search(_) => None,
    };
    let name = path.display();
    let Some(schedule) = failed.or(replayed).or(observer.schedules.first()) else {
        report.notes.push(format!("{name} was not written: there is no complete execution to draw"));
        return Ok(());
    };
    let diagram = Diagram::of(program, schedule).map_err(Trouble::internal)?;
    if let Err(error) = std::fs::write(path, diagram.svg()) {
        // There was a way to write it before the search. The verdict is told all the same.
        report.notes.push(format!("{name} was not written: {error}"));
        return Ok(());
    }
    let what = match (failed, replayed) {
        (Some(_), _) => "the failure",
        (None, Some(_)) => "the schedule",
        (None, None) => "the first execution",
    };
    report.notes.push(format!("{name} shows {what}"));
    Ok(())
}

impl Observer {
    fn keep(&mut self, schedule: Schedule) {
        let most = if self.wants_traces { MOST_TRACES } else { usize::from(self.wants_first) };
        let steps = self.steps + schedule.steps.len();
        if self.schedules.len() >= most || (steps > MOST_STEPS && !self.schedules.is_empty()) {
            self.left_out += 1;
            return;
        }
        self.steps = steps;
        self.schedules.push(schedule);
    }
}

impl Monitor<AbsRun> for Observer {
    fn execution(&mut self, ending: Ending, trace: &Trace, run: &AbsRun, _: &Counts) -> ControlFlow<()> {
        if matches!(ending, Ending::Complete { .. }) {
            if let Some(states) = &mut self.final_states {
                states.note(run);
            }
            if self.wants_traces || (self.wants_first && self.schedules.is_empty()) {
                self.keep(schedule_of(trace, run));
            }
        }
        ControlFlow::Continue(())
    }

    fn begin_again(&mut self) {
        *self = Observer {
            final_states: self.final_states.as_ref().map(|_| FinalStates::default()),
            wants_traces: self.wants_traces,
            wants_first: self.wants_first,
            ..Observer::default()
        };
    }
}

fn parameter(text: &str) -> Result<(String, String), String> {
    let wrong = "expected NAME=VALUE, such as n=3";
    let (name, value) = text.split_once('=').ok_or(wrong)?;
    let (name, value) = (name.trim(), value.trim());
    if name.is_empty() || value.is_empty() {
        return Err(wrong.to_owned());
    }
    Ok((name.to_owned(), value.to_owned()))
}

/// What a word stands for.
fn one_of<T: Copy>(text: &str, words: &[(&str, T)]) -> Result<T, String> {
    match words.iter().find(|(word, _)| *word == text) {
        Some((_, meaning)) => Ok(*meaning),
        None => {
            let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            Err(format!("expected {}", words.join(" or ")))
        }
    }
}

fn dependence(text: &str) -> Result<Dependence, String> {
    one_of(text, &[("static", Dependence::Static), ("dynamic", Dependence::Dynamic)])
}

fn dialect(text: &str) -> Result<Dialect, String> {
    one_of(text, &[("current", Dialect::Current), ("legacy", Dialect::Legacy)])
}

fn tasks(text: &str) -> Result<TaskOrder, String> {
    one_of(text, &[("any", TaskOrder::Any), ("fifo", TaskOrder::Fifo), ("lifo", TaskOrder::Lifo)])
}

fn objects(text: &str) -> Result<ObjectOrder, String> {
    one_of(text, &[("any", ObjectOrder::Any), ("circular", ObjectOrder::Circular)])
}

fn await_true(text: &str) -> Result<AwaitTrue, String> {
    one_of(text, &[("release", AwaitTrue::Release), ("continue", AwaitTrue::Continue)])
}

fn uncaught(text: &str) -> Result<Uncaught, String> {
    one_of(text, &[("kill", Uncaught::Kill), ("forgive", Uncaught::Forgive)])
}
