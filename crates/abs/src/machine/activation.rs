//! Segments as sequence diagrams show them: a lifeline an object, arrows for calls and new objects.

use mazurka_program::{
    Activation, ActivationEnd, Activations, DiagramWords, Explain, Label, Message, ProcessId, Run, Stop,
};

use super::record::{SegmentEnd, SegmentRecord, SegmentStart};
use super::run::AbsRun;

const WORDS: DiagramWords = DiagramWords {
    step: "segment",
    lifeline: "object",
    process: "task",
    root: Some(MAIN),
    ends: &[
        ("return", ActivationEnd::Returned),
        ("await", ActivationEnd::Waits),
        ("blocked for", ActivationEnd::Blocked),
        ("throws", ActivationEnd::Threw),
    ],
    note: "arrows: calls; dashed: new objects; framed red: waits for ever",
};

/// The object of the main block.
const MAIN: &str = "main";

impl Activations for AbsRun {
    fn words(&self) -> DiagramWords {
        WORDS
    }

    fn step_activation(&mut self, process: ProcessId, choice: u32) -> Result<Activation, Stop> {
        let record = self.step_recorded(process, choice, &mut Label::default())?;
        let end = Some((self.end_text(&record), kind(&record.end)));
        let (lifeline, task) = split(record.name);
        let title = if record.start == SegmentStart::Starts { task } else { format!("{task} goes on") };
        let created = record.created.into_iter().map(|object| Message {
            text: format!("new {object}"),
            to: Some(object),
            creates: true,
        });
        let calls = record.calls.into_iter().map(|call| Message {
            text: format!("{}: {}", self.names().display(call.task), call.call),
            to: Some(call.object),
            creates: false,
        });
        let printed = record.printed.into_iter().map(|text| Message::local(format!("prints {text}")));
        let messages = created.chain(calls).chain(printed).collect();
        Ok(Activation { lifeline, title, place: record.from, messages, end })
    }

    fn lifeline(&self, process: ProcessId) -> (String, String) {
        split(self.process_name(process))
    }
}

/// The object of a task's name, and the rest: `DBImp_1`, `register 0.0`.
fn split(name: String) -> (String, String) {
    match name.split_once(" of ") {
        Some((task, object)) => (object.to_owned(), task.to_owned()),
        None => (MAIN.to_owned(), name),
    }
}

fn kind(end: &SegmentEnd) -> ActivationEnd {
    match end {
        SegmentEnd::Returned(_) => ActivationEnd::Returned,
        SegmentEnd::Threw(_) => ActivationEnd::Threw,
        SegmentEnd::Awaits(_) | SegmentEnd::Suspended => ActivationEnd::Waits,
        SegmentEnd::Blocked(_) => ActivationEnd::Blocked,
        SegmentEnd::Chooses(_) | SegmentEnd::Drew(_) | SegmentEnd::Noticed => ActivationEnd::Plain,
    }
}

impl AbsRun {
    fn end_text(&self, record: &SegmentRecord) -> String {
        let names = |tasks: &[ProcessId]| {
            tasks.iter().map(|&task| self.process_name(task)).collect::<Vec<_>>().join(", ")
        };
        match &record.end {
            SegmentEnd::Returned(value) if value == "Unit" => "return".to_owned(),
            SegmentEnd::Returned(value) => format!("return {value}"),
            SegmentEnd::Threw(exception) => format!("throws {exception}"),
            SegmentEnd::Awaits(tasks) if tasks.is_empty() => self.stands_at(record.task),
            SegmentEnd::Awaits(tasks) => format!("await {}", names(tasks)),
            SegmentEnd::Suspended => "suspend".to_owned(),
            SegmentEnd::Blocked(task) => format!("blocked for {}", names(&[*task])),
            SegmentEnd::Chooses(count) => format!("random({count})"),
            SegmentEnd::Drew(number) => format!("draws {number}"),
            SegmentEnd::Noticed => "what it awaits is resolved".to_owned(),
        }
    }
}
