//! The front end for `.abs` files.

use std::path::Path;

use clap::{CommandFactory, Parser};
use mazurka_abs::model::{Model, SourceFile};
use mazurka_abs::{
    Abs, AwaitTrue, Dependence, Diagnostic, Dialect, ObjectOrder, Options, Settings, Source, TaskOrder,
    Uncaught, compile, declared, place, render,
};
use mazurka_constraints::{Standing, Table};
use mazurka_explore::{Algorithm, Options as Search, Published};
use mazurka_report::json::FileError;
use mazurka_report::{InternalError, Kept, Report, Subject, Watch, Wording, check_jobs, check_kept};

use crate::error::CommandError;
use crate::executions::ExecutionArgs;
use crate::front_end::{self, Loaded, Request, Target, one_of};
use crate::{litmus, output};

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
struct AbsOptions {
    /// Gives a variable that the main block declares another initial value
    #[arg(long = "param", value_name = "NAME=VALUE", value_parser = front_end::parameter)]
    params: Vec<(String, String)>,

    /// What counts as touched by a step: what its method mentions, or what the step really touched
    #[arg(long, value_name = "KIND", value_parser = dependence)]
    dependence: Option<Dependence>,

    /// The dialect of the program, where it is not to be found out
    #[arg(long, value_name = "NAME", value_parser = dialect)]
    dialect: Option<Dialect>,

    /// Which task of a cog may run
    #[arg(long, value_name = "ORDER", value_parser = tasks, default_value = "any")]
    tasks: TaskOrder,

    /// Which cog may run
    #[arg(long, value_name = "ORDER", value_parser = objects, default_value = "any")]
    objects: ObjectOrder,

    /// What an await does whose guard holds already
    #[arg(long = "await", value_name = "RULE", value_parser = await_true, default_value = "release")]
    await_true: AwaitTrue,

    /// What an exception that a task does not catch does to its object
    #[arg(long, value_name = "RULE", value_parser = uncaught, default_value = "kill")]
    uncaught: Uncaught,

    /// Tell states without variables that no code that is left to run can read
    #[arg(long)]
    dead_variables: bool,

    /// These can be given here too.
    #[command(flatten)]
    executions: ExecutionArgs,
}

/// The front end for `.abs` files.
pub struct FrontEnd;

impl front_end::FrontEnd for FrontEnd {
    fn extensions(&self) -> &'static [&'static str] {
        &["abs"]
    }

    fn options(&self) -> clap::Command {
        AbsOptions::command()
    }

    fn can_be_resumed(&self) -> bool {
        true
    }

    fn load(&self, request: &Request<'_>) -> Result<Loaded, CommandError> {
        let options =
            AbsOptions::try_parse_from(request.options).map_err(|error| CommandError::of_usage(&error))?;
        front_end::refuse_repeated(options.params.iter().map(|(name, _)| name))?;
        if request.texts.is_none() {
            options.executions.refuse_unwritable()?;
        }
        let sources: Vec<Source> =
            request.files.iter().map(|file| source(request, file)).collect::<Result<_, _>>()?;
        let reading = Options { dialect: options.dialect, parameters: options.params };
        let model = compile(&sources, &reading)
            .map_err(|diagnostics| refusal(&diagnostics, &mazurka_abs::files(&sources, &reading)))?;
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
        request.algorithms.iter().try_for_each(|&algorithm| suit(dependence, algorithm))?;
        if options.dead_variables {
            litmus::suits_dead_variables(request.algorithms)?;
        }
        let program = Abs::new(model.clone(), settings).with_solver(request.solver.clone());
        Ok(Loaded::Here(Box::new(AbsTarget { program, model, executions: options.executions })))
    }
}

struct AbsTarget {
    program: Abs,
    /// What it was made from.
    model: Model,
    executions: ExecutionArgs,
}

impl Target for AbsTarget {
    type Program = Abs;

    fn program(&self) -> &Abs {
        &self.program
    }

    fn add_to(&self, report: &mut Report) -> Result<(), CommandError> {
        report.notes.extend(self.program.solver_complaint());
        let open = declared(&self.model).into_iter().filter_map(|(row, _)| match row.standing {
            Standing::Open(why) => Some((row.text, row.line, why)),
            _ => None,
        });
        for ((text, line, why), tries) in open.zip(self.program.tries_declared()) {
            let how = match tries {
                true => "both orders were run where both methods were next",
                false => "nor is it tried, since more than the two may matter there",
            };
            report
                .notes
                .push(format!("`{text}` (line {line}) is neither proved nor refuted, since {why}; {how}"));
        }
        Ok(())
    }

    fn check_jobs(
        &self,
        subject: Subject,
        algorithm: Algorithm,
        options: &Search,
        workers: usize,
        watch: &mut Watch<'_>,
        kept: Option<Kept<'_>>,
    ) -> Option<Result<Report, InternalError>> {
        let program = self.program();
        match kept {
            Some(kept) => Some(check_kept(program, subject, options, workers, watch, kept)),
            None => check_jobs(program, subject, algorithm, options, workers, watch),
        }
    }

    fn wording(&self) -> Wording {
        Wording { process: "task", ..Wording::COMMAND }
    }

    fn executions(&self) -> ExecutionArgs {
        self.executions.clone()
    }

    fn refuses_data_centric(&self) -> Option<&'static str> {
        Some(NOT_DATA_CENTRIC)
    }

    fn constraints(&self, settings: &mazurka_constraints::Settings) -> Option<Table> {
        Some(mazurka_abs::constraints(&self.model, settings))
    }
}

const NOT_DATA_CENTRIC: &str = "data-centric does not cover ABS, whose steps read many fields; use optimal";

fn source(request: &Request<'_>, path: &Path) -> Result<Source, CommandError> {
    Ok(Source { name: path.display().to_string(), text: request.text_of(path)? })
}

/// What is wrong with a program, whose places are in these files. There is at least one thing.
fn refusal(diagnostics: &[Diagnostic], files: &[SourceFile]) -> CommandError {
    let json = |diagnostic: &Diagnostic| FileError {
        message: diagnostic.message.clone(),
        location: files.get(diagnostic.span.file as usize).map(|file| {
            let (line, column) = place(file, diagnostic.span);
            format!("{}:{line}:{column}", file.name)
        }),
        help: diagnostic.help.clone(),
    };
    let rendered = render(diagnostics, files, output::colour_on_stderr());
    CommandError::of_diagnostics(diagnostics.iter().map(json).collect(), rendered)
}

/// Complains of an algorithm that needs other labels than were asked for.
fn suit(dependence: Dependence, algorithm: Algorithm) -> Result<(), CommandError> {
    let published = algorithm.published();
    let really =
        algorithm == Algorithm::OptimalObservers || published == Some(Published::OptimalContextObservers);
    if algorithm.name() == Algorithm::DataCentric.name() {
        return Err(CommandError::unsupported(NOT_DATA_CENTRIC));
    }
    let before = algorithm.name().starts_with("source") || published == Some(Published::OptimalContext);
    match dependence {
        Dependence::Static if really => Err(CommandError::unsupported(format!(
            "{algorithm} needs to know what a step really overwrote, so it can't have --dependence static; leave that \
             out, or choose another algorithm"
        ))),
        Dependence::Dynamic if before => Err(CommandError::unsupported(format!(
            "{algorithm} needs to know before a step what it might touch, so it can't have --dependence dynamic; \
             leave that out, or choose another algorithm"
        ))),
        _ => Ok(()),
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
