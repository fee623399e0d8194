//! An execution as a picture: a space-time diagram with a lifeline for each process, time downwards, a box
//! for each step, and arrows for happens-before between processes. Where a front end's steps have a form of
//! their own ([`Activations`]), they say what has lifelines and where arrows go.
//!
//! [`Diagram::of`] runs a schedule; `layout` gives everything its place; `svg` writes it. A picture is
//! bounded: of a long execution the middle is left out, and of many lifelines those that come late share a
//! column; the picture says so.
//!
//! [`Activations`]: mazurka_program::Activations

mod layout;
mod svg;

use mazurka_program::{
    Activation, DiagramWords, Explain, Failure, FailureKind, Message, ProcessId, Program, Schedule, Stop,
    settled,
};
use mazurka_trace::{HappensBefore, Trace};

use crate::interleaving::{path, read_text, titles, value};
use crate::replay::{Misfit, ReplayEnd, ReplayStep, follow_explained, replay};
use crate::style::{clean, short_operation};
use crate::text::headline;
use crate::wording::Wording;

/// An execution, to be drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagram {
    words: DiagramWords,
    /// The lifelines that are known beforehand, in order.
    lifelines: Vec<String>,
    steps: Vec<DrawnStep>,
    /// The pairs of steps between which arrows go.
    order: Vec<(usize, usize)>,
    /// Who waits when nobody can go on.
    waiting: Vec<DrawnWait>,
    /// What went wrong, in words.
    failures: Vec<String>,
}

/// A step, to be drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
struct DrawnStep {
    activation: Activation,
    /// Whether it is framed: it failed, or its process waits for ever in the end.
    marked: bool,
}

/// A process that waits in the end, to be drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
struct DrawnWait {
    lifeline: String,
    process: String,
    waits_for: String,
}

impl Diagram {
    /// Runs a schedule and notes what happens.
    ///
    /// # Errors
    /// If the schedule does not fit the program.
    pub fn of<P: Program<Run: Explain>>(
        program: &P,
        schedule: &Schedule,
        wording: &Wording,
    ) -> Result<Diagram, Misfit> {
        let own =
            settled(program, |run| Some(Diagram::of_activations(run.activations()?.words(), run, schedule)));
        own.unwrap_or_else(|| Diagram::of_processes(program, schedule, wording))
    }

    /// The picture as SVG.
    pub fn svg(&self) -> String {
        layout::layout(self).svg()
    }

    fn of_activations<R: Explain>(
        words: DiagramWords,
        run: &mut R,
        schedule: &Schedule,
    ) -> Result<Diagram, Misfit> {
        let mut taken: Vec<(ProcessId, Activation)> = Vec::new();
        follow_explained(run, schedule, |run, process, choice| {
            let own = run.activations().ok_or_else(|| Stop::Bound("it can't be drawn".to_owned()))?;
            taken.push((process, own.step_activation(process, choice)?));
            Ok(())
        })?;
        let waiting = if run.enabled().is_empty() { run.explain_waiting() } else { Vec::new() };
        let waits = |process| waiting.iter().any(|wait| wait.process == process);
        let steps = taken.into_iter();
        let steps =
            steps.map(|(process, activation)| DrawnStep { activation, marked: waits(process) }).collect();
        let mut failures: Vec<String> =
            run.failures().iter().map(|failure| failure.message.clone()).collect();
        let deadlock = run.deadlock_message(&waiting).map(|message| format!("deadlock: {message}"));
        failures.extend(deadlock.filter(|_| !waiting.is_empty()));
        let mut drawn = Vec::new();
        for wait in waiting {
            let own = run.activations().map(|own| own.lifeline(wait.process));
            let (lifeline, process) = own.unwrap_or_default();
            drawn.push(DrawnWait { lifeline, process, waits_for: wait.waits_for });
        }
        let lifelines = words.root.map(str::to_owned).into_iter().collect();
        Ok(Diagram { words, lifelines, steps, order: Vec::new(), waiting: drawn, failures })
    }

    fn of_processes<P: Program<Run: Explain>>(
        program: &P,
        schedule: &Schedule,
        wording: &Wording,
    ) -> Result<Diagram, Misfit> {
        let replay = replay(program, schedule)?;
        // Where the last step stopped the run, those before it are drawn.
        let taken = &schedule.steps[..replay.steps.len()];
        let trace = settled(program, |run| Trace::along(run, taken, |_, _| {}));
        let acting = replay.steps.iter().map(|step| (step.process.as_str(), step.name.as_str()));
        let stuck = if replay.end == ReplayEnd::Deadlock { replay.waiting.as_slice() } else { &[] };
        let idle = stuck.iter().map(|wait| (wait.process.as_str(), wait.name.as_str()));
        let titles = titles(acting.chain(idle));
        let mut steps: Vec<DrawnStep> = replay
            .steps
            .iter()
            .map(|step| DrawnStep {
                activation: activation(step, &titles[&path(&step.process)]),
                marked: false,
            })
            .collect();
        for failed in replay.failures.iter().filter(|failed| failed.failure.kind != FailureKind::Deadlock) {
            if let Some((at, _)) = replay.failing_step(failed.process.as_deref(), failed.steps) {
                steps[at].marked = true;
            }
        }
        let waiting = stuck.iter().map(|wait| DrawnWait {
            lifeline: titles[&path(&wait.process)].clone(),
            process: clean(&wait.name),
            waits_for: wait.waits_for.clone(),
        });
        Ok(Diagram {
            words: DiagramWords {
                step: "step",
                lifeline: wording.process,
                process: wording.process,
                root: None,
                ends: &[],
                note: "arrows: happens-before; framed red: fails, or waits for ever",
            },
            steps,
            order: trace.map(|trace| immediate_order(&trace)).unwrap_or_default(),
            waiting: waiting.collect(),
            failures: replay.failures.iter().map(|failed| failure_text(&failed.failure)).collect(),
            lifelines: titles.into_values().collect(),
        })
    }
}

fn activation(step: &ReplayStep, lifeline: &str) -> Activation {
    let reads = step.reads.iter().map(|read| format!("reads {}", read_text(read)));
    let writes = step.writes.iter().map(|write| format!("writes {}", value(write)));
    let lines = reads.chain(writes).chain(step.note.clone());
    Activation {
        lifeline: lifeline.to_owned(),
        title: short_operation(&step.operation),
        place: step.place.clone(),
        messages: lines.map(Message::local).collect(),
        end: None,
    }
}

fn failure_text(failure: &Failure) -> String {
    let (kind, message) = headline(failure);
    format!("{kind}{message}")
}

/// The pairs of steps of different processes that are ordered by happens-before with nothing between them.
fn immediate_order(trace: &Trace) -> Vec<(usize, usize)> {
    let order = HappensBefore::of(trace);
    let mut pairs = Vec::new();
    for second in 0..trace.len() {
        let own = trace.positions(trace.process(second));
        let previous = own[..trace.index(second) as usize - 1].last().map(|&position| position as usize);
        // Of each other process, the last step that happens before this one but not before the one that its
        // process took before it.
        let firsts: Vec<usize> = (0..trace.width() as u32)
            .map(ProcessId)
            .filter(|&process| process != trace.process(second))
            .filter_map(|process| {
                let count = order.clock(second, process);
                let known = previous.map_or(0, |previous| order.clock(previous, process));
                (count > known).then(|| trace.positions(process)[count as usize - 1] as usize)
            })
            .collect();
        let leads =
            |first: usize| firsts.iter().any(|&next| next != first && order.happens_before(first, next));
        pairs.extend(firsts.iter().filter(|&&first| !leads(first)).map(|&first| (first, second)));
    }
    pairs
}

#[cfg(test)]
mod tests;
