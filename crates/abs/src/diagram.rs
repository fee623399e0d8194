//! An execution as a picture: a column an object, time downwards, a box for each segment of a task.
//!
//! [`Diagram::of`] runs a schedule and notes what each segment did; `layout` gives everything its place; `picture` writes
//! SVG. A picture is bounded: of a long execution the middle is left out, and of many objects those that come late share a
//! column; the picture says so.

mod layout;
mod picture;

use mazurka_program::{Explain, Footprints, Label, Place, ProcessId, Program, Run, Schedule};

use crate::machine::{Abs, AbsRun, SegmentEnd, SegmentRecord, SegmentStart};

/// An execution, told segment by segment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diagram {
    segments: Vec<Segment>,
    /// The tasks that wait when nobody can go on.
    deadlocked: Vec<Waiting>,
    /// What went wrong, in words.
    failures: Vec<String>,
}

/// What a task did in one step.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Segment {
    object: String,
    /// Method and number: `register 0.0`.
    task: String,
    resumes: bool,
    /// Where it begins.
    place: Option<Place>,
    effects: Vec<Effect>,
    end: SegmentEnd,
    /// How it ended, in words.
    end_text: String,
    /// Whether its task waits for ever in the end.
    deadlocked: bool,
}

/// Something that reaches beyond the task.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Effect {
    text: String,
    /// The object that it reaches, if any.
    object: Option<String>,
    creates: bool,
}

/// A task that waits in the end.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Waiting {
    object: String,
    task: String,
    waits_for: String,
}

/// The object of the main block, in pictures.
const MAIN: &str = "main";

impl Diagram {
    /// Runs a schedule and notes what happens.
    ///
    /// # Errors
    /// If the schedule does not fit the program.
    pub fn of(program: &Abs, schedule: &Schedule) -> Result<Diagram, String> {
        let mut segments: Vec<(ProcessId, Segment)> = Vec::new();
        let run = follow(program, schedule, &mut |run, record| match record {
            Some(record) => segments.push((record.task, segment(run, record))),
            None => segments.clear(),
        })?;
        let waiting = if run.enabled().is_empty() { run.explain_waiting() } else { Vec::new() };
        for (task, segment) in &mut segments {
            segment.deadlocked = waiting.iter().any(|wait| wait.process == *task);
        }
        let deadlocked = waiting.iter().map(|wait| {
            let (task, object) = split(run.process_name(wait.process));
            Waiting { object, task, waits_for: wait.waits_for.clone() }
        });
        let mut failures: Vec<String> =
            run.failures().iter().map(|failure| failure.message.clone()).collect();
        let deadlock = run.deadlock_message(&waiting).map(|message| format!("deadlock: {message}"));
        failures.extend(deadlock.filter(|_| !waiting.is_empty()));
        Ok(Diagram {
            deadlocked: deadlocked.collect(),
            failures,
            segments: segments.into_iter().map(|(_, segment)| segment).collect(),
        })
    }

    /// The picture as SVG.
    pub fn svg(&self) -> String {
        layout::layout(self).svg()
    }
}

/// The run that a schedule leads to.
///
/// # Errors
/// If the schedule does not fit the program.
pub fn run_of(program: &Abs, schedule: &Schedule) -> Result<AbsRun, String> {
    follow(program, schedule, &mut |_, _| {})
}

/// Runs a schedule. `with` is told each segment after it was run, and nothing if all is begun again.
fn follow(
    program: &Abs,
    schedule: &Schedule,
    with: &mut dyn FnMut(&AbsRun, Option<SegmentRecord>),
) -> Result<AbsRun, String> {
    loop {
        with(&program.start(Footprints::Dynamic), None);
        let run = follow_once(program, schedule, with);
        // A method that was found to throw makes the program begin again, knowing that it can.
        if !program.begin_again() {
            return run;
        }
    }
}

fn follow_once(
    program: &Abs,
    schedule: &Schedule,
    with: &mut dyn FnMut(&AbsRun, Option<SegmentRecord>),
) -> Result<AbsRun, String> {
    let mut run = program.start(Footprints::Dynamic);
    for (at, step) in schedule.steps.iter().enumerate() {
        let process = run.names().find(&step.process).filter(|&process| run.enabled().contains(process));
        let process = process.filter(|&process| step.choice < run.alternatives(process));
        let process = process.ok_or_else(|| format!("step {} of the schedule is not possible", at + 1))?;
        match run.step_recorded(process, step.choice, &mut Label::default()) {
            Ok(record) => with(&run, Some(record)),
            Err(stop) => return Err(stop.reason().to_owned()),
        }
    }
    Ok(run)
}

/// A task's name without its object, and the object: `register 0.0`, `DBImp_1`.
fn split(name: String) -> (String, String) {
    match name.split_once(" of ") {
        Some((task, object)) => (task.to_owned(), object.to_owned()),
        None => (name, MAIN.to_owned()),
    }
}

fn segment(run: &AbsRun, record: SegmentRecord) -> Segment {
    let end_text = end_text(run, &record);
    let (task, object) = split(record.name);
    let created = record.created.into_iter();
    let created =
        created.map(|object| Effect { text: format!("new {object}"), object: Some(object), creates: true });
    let calls = record.calls.into_iter().map(|call| Effect {
        text: format!("{}: {}", run.names().display(call.task), call.call),
        object: Some(call.object),
        creates: false,
    });
    let printed = record.printed.into_iter();
    let printed = printed.map(|text| Effect { text: format!("prints {text}"), object: None, creates: false });
    Segment {
        object,
        task,
        resumes: record.start != SegmentStart::Starts,
        place: record.from,
        effects: created.chain(calls).chain(printed).collect(),
        end: record.end,
        end_text,
        deadlocked: false,
    }
}

fn end_text(run: &AbsRun, record: &SegmentRecord) -> String {
    let names =
        |tasks: &[ProcessId]| tasks.iter().map(|&task| run.process_name(task)).collect::<Vec<_>>().join(", ");
    match &record.end {
        SegmentEnd::Returned(value) if value == "Unit" => "return".to_owned(),
        SegmentEnd::Returned(value) => format!("return {value}"),
        SegmentEnd::Threw(exception) => format!("throws {exception}"),
        SegmentEnd::Awaits(tasks) if tasks.is_empty() => run.stands_at(record.task),
        SegmentEnd::Awaits(tasks) => format!("await {}", names(tasks)),
        SegmentEnd::Suspended => "suspend".to_owned(),
        SegmentEnd::Blocked(task) => format!("blocked for {}", names(&[*task])),
        SegmentEnd::Chooses(count) => format!("random({count})"),
        SegmentEnd::Drew(number) => format!("draws {number}"),
        SegmentEnd::Noticed => "what it awaits is resolved".to_owned(),
    }
}

#[cfg(test)]
mod tests;
