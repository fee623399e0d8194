//! What a segment did, told as data: for explanations and sequence diagrams. Nothing here runs while a search
//! does.

use std::rc::Rc;

use mazurka_program::{Label, Place, ProcessId, Run, Stop};

use crate::value::{Names, Reference, show};

use super::code::Image;
use super::entity::Task;
use super::run::{AbsRun, Machine};
use super::segment::End;

/// How a step begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentStart {
    /// The task begins.
    Starts,
    /// The task goes on from where it waited.
    Resumes,
    /// The task notices that the futures it awaits are resolved; it does not go on yet.
    Notices,
    /// The task draws this number.
    Draws(u32),
}

/// How a step ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SegmentEnd {
    /// The task ended with this value.
    Returned(String),
    /// The task ended with this exception.
    Threw(String),
    /// The task released its cog until a guard holds: the tasks whose futures it awaits.
    Awaits(Vec<ProcessId>),
    /// The task released its cog.
    Suspended,
    /// The task holds its cog until the future of that task is resolved.
    Blocked(ProcessId),
    /// The task holds its cog and will draw one of so many numbers.
    Chooses(u32),
    /// The number was drawn.
    Drew(u32),
    /// The futures are resolved.
    Noticed,
}

/// A call, or a `run`, that a segment made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallMade {
    /// The new task.
    pub task: ProcessId,
    /// The object that it is a task of.
    pub object: String,
    /// The call as a term: `WorkerImp_2!ping(5)`.
    pub call: String,
    /// Where in the source.
    pub place: Option<Place>,
}

/// What a step did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentRecord {
    /// Whose step it was.
    pub task: ProcessId,
    /// The task's name.
    pub name: String,
    /// The object that it is a task of; none for the main block.
    pub object: Option<String>,
    /// How it began.
    pub start: SegmentStart,
    /// Where it began.
    pub from: Option<Place>,
    /// How it ended.
    pub end: SegmentEnd,
    /// Where it ended.
    pub to: Option<Place>,
    /// The calls it made, in order.
    pub calls: Vec<CallMade>,
    /// The objects it created, in order.
    pub created: Vec<String>,
    /// What it printed.
    pub printed: Vec<String>,
}

impl AbsRun {
    /// Takes a step as [`Run::step`] does, and tells it as data.
    ///
    /// # Errors
    /// As [`Run::step`].
    pub fn step_recorded(
        &mut self,
        process: ProcessId,
        choice: u32,
        label: &mut Label,
    ) -> Result<SegmentRecord, Stop> {
        self.machine.record = Some(Box::new(SegmentRecord {
            task: process,
            name: String::new(),
            object: None,
            start: SegmentStart::Starts,
            from: None,
            end: SegmentEnd::Suspended,
            to: None,
            calls: Vec::new(),
            created: Vec::new(),
            printed: Vec::new(),
        }));
        let result = self.step(process, choice, label);
        let record = self.machine.record.take();
        result?;
        record.map(|record| *record).ok_or_else(|| Stop::Bound("nothing was recorded".to_owned()))
    }
}

impl Machine {
    /// Where a task stands.
    pub fn place_of(&self, image: &Image, task: &Task) -> Option<Place> {
        let frame = task.frames.last()?;
        image.place(*image.bodies[frame.body as usize].spans.get(frame.pc as usize)?)
    }

    pub fn note_start(&mut self, image: &Image, p: u32, task: &Task, start: SegmentStart) {
        if self.record.is_none() {
            return;
        }
        let (name, from) = (self.task_name(image, p), self.place_of(image, task));
        let object = task.object.as_ref().map(|object| image.object(object));
        if let Some(record) = &mut self.record {
            (record.name, record.object, record.start, record.from) = (name, object, start, from);
        }
    }

    pub fn note_end(&mut self, image: &Image, _: u32, task: &Task, end: SegmentEnd) {
        let to = self.record.as_ref().and_then(|_| self.place_of(image, task));
        if let Some(record) = &mut self.record {
            (record.end, record.to) = (end, to);
        }
    }

    pub fn note_end_of(&mut self, image: &Image, p: u32, task: &Task, end: &End) {
        if self.record.is_none() {
            return;
        }
        let end = match end {
            End::Returned(value) => SegmentEnd::Returned(show(value, image)),
            End::Threw(thrown) => SegmentEnd::Threw(show(&thrown.value, image)),
            End::Awaits(futures) => SegmentEnd::Awaits(futures.iter().map(|&f| ProcessId(f)).collect()),
            End::Suspended => SegmentEnd::Suspended,
            End::Blocked(future) => SegmentEnd::Blocked(ProcessId(*future)),
            End::Chooses(count) => SegmentEnd::Chooses(*count),
        };
        self.note_end(image, p, task, end);
    }

    pub fn note_call(
        &mut self,
        image: &Image,
        child: u32,
        object: &Rc<Reference>,
        method: u32,
        arguments: &[crate::value::Value],
        task: &Task,
    ) {
        if self.record.is_none() {
            return;
        }
        let arguments: Vec<String> = arguments.iter().map(|argument| show(argument, image)).collect();
        let callee = image.object(object);
        let call = format!("{callee}!{}({})", image.methods[method as usize].name, arguments.join(", "));
        let place = self.place_of(image, task);
        if let Some(record) = &mut self.record {
            record.calls.push(CallMade { task: ProcessId(child), object: callee, call, place });
        }
    }
}
