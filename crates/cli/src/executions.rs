//! What `mazurka check` tells of executions besides failures: final states, traces and a picture.

use std::path::{Path, PathBuf};

use clap::Args;
use mazurka_program::{Explain, Footprints, Program, Run};
use mazurka_report::{Diagram, Method, Recorder, Recording, Report};

use crate::error::CommandError;
use crate::output;

/// What to tell of executions.
#[derive(Clone, Debug, Default, Args)]
pub struct ExecutionArgs {
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

impl ExecutionArgs {
    /// All that either asks for.
    #[must_use]
    pub fn and(self, other: ExecutionArgs) -> ExecutionArgs {
        ExecutionArgs {
            final_states: self.final_states || other.final_states,
            traces: self.traces || other.traces,
            svg: self.svg.or(other.svg),
        }
    }

    /// The first option that is given.
    pub fn given(&self) -> Option<&'static str> {
        let options =
            [("--final-states", self.final_states), ("--traces", self.traces), ("--svg", self.svg.is_some())];
        options.into_iter().find(|(_, given)| *given).map(|(name, _)| name)
    }

    /// Complains of a file that can't be written, before there is anything to write.
    pub fn refuse_unwritable(&self) -> Result<(), CommandError> {
        let Some(file) = &self.svg else { return Ok(()) };
        let name = file.display();
        output::writable(file).map_err(|error| {
            CommandError::input(format!("{name}: the diagram can't be written: {error}")).at(&name)
        })
    }

    /// Who keeps what is asked for, if the program has it.
    pub fn recorder<P: Program<Run: Explain>>(&self, program: &P) -> Result<Recorder, CommandError> {
        if self.final_states && program.start(Footprints::Dynamic).states().is_none() {
            return Err(CommandError::unsupported(
                "--final-states lists states, which can't be told for this kind of program; --traces tells its executions",
            ));
        }
        let (final_states, traces, first) = (self.final_states, self.traces, self.svg.is_some());
        Ok(Recorder::new(Recording { final_states, traces, first }))
    }

    /// Puts what was kept into the report, and draws.
    pub fn add_to<P: Program<Run: Explain>>(
        &self,
        program: &P,
        recorder: &mut Recorder,
        report: &mut Report,
    ) -> Result<(), CommandError> {
        recorder.add_to(program, report).map_err(CommandError::internal)?;
        match &self.svg {
            Some(file) => draw(program, file, recorder, report),
            None => Ok(()),
        }
    }
}

/// Draws the first failure, or the schedule that was run, or the first complete execution.
fn draw<P: Program<Run: Explain>>(
    program: &P,
    file: &Path,
    recorder: &Recorder,
    report: &mut Report,
) -> Result<(), CommandError> {
    let name = file.display();
    let Some(schedule) = report.schedule().or(recorder.first()) else {
        report.notes.push(format!("{name} was not written: there is no complete execution to draw"));
        return Ok(());
    };
    let diagram = Diagram::of(program, schedule, &report.subject.wording).map_err(CommandError::internal)?;
    let failed = report.failures.iter().any(|failure| failure.schedule.is_some());
    let what = match &report.method {
        _ if failed => "the failure",
        Method::Replay(_) => "the schedule",
        Method::Search(_) => "the first execution",
    };
    // There was a way to write it before the search. The verdict is told all the same.
    report.notes.push(match std::fs::write(file, diagram.svg()) {
        Ok(()) => format!("{name} shows {what}"),
        Err(error) => {
            let told = format!("{name} was not written: {error}");
            if output::quiet() {
                // Notes are not told then, but this is no note to miss.
                output::stderr(&format!("warning: {told}\n"));
            }
            told
        }
    });
    Ok(())
}
