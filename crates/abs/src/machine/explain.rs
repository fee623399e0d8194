//! Steps and waiting tasks, told to people. Nothing here runs while a search does.

use std::collections::BTreeMap;

use mazurka_program::{
    AccessKind, Activations, Explain, Explanation, Label, Location, Observed, ProcessId, Run, Stop,
    WaitExplanation,
};

use crate::value::{Names, show};

use super::code::{Image, NONE};
use super::entity::{Task, Wait};
use super::guard::{NOW, await_of};
use super::record::{SegmentEnd, SegmentRecord, SegmentStart};
use super::run::{ANY_FUTURE, AbsRun, MAIN_DATA, MAIN_LOCK, Machine, SCHEDULER};

impl Explain for AbsRun {
    fn process_name(&self, process: ProcessId) -> String {
        self.machine.task_name(&self.image, process.0)
    }

    fn step_explained(&mut self, process: ProcessId, choice: u32) -> Result<Explanation, Stop> {
        let record = self.step_recorded(process, choice, &mut Label::default())?;
        let (reads, writes) = self.machine.observed(&self.image);
        Ok(Explanation {
            process,
            operation: self.operation(&record),
            reads,
            writes,
            note: note(&record),
            place: record.from.clone(),
        })
    }

    fn explain_waiting(&self) -> Vec<WaitExplanation> {
        let mut explained = Vec::new();
        self.waiting(&mut |process, _| {
            if let Some(task) = self.machine.task(process.0) {
                explained.push(self.machine.explain_wait(&self.image, process, task));
            }
        });
        explained
    }

    /// The objects: `object(name,'Class',[field(name,value),..])`.
    fn state_terms(&self) -> Option<Vec<String>> {
        Some(self.machine.state_terms(&self.image))
    }

    fn activations(&mut self) -> Option<&mut dyn Activations> {
        Some(self)
    }

    fn deadlock_message(&self, waiting: &[WaitExplanation]) -> Option<String> {
        self.machine.cycle(&self.image, waiting)
    }
}

impl AbsRun {
    /// The source text that a task stands at.
    pub(super) fn stands_at(&self, process: ProcessId) -> String {
        self.machine.task(process.0).map_or(String::new(), |task| stands_at(&self.image, task))
    }

    /// The name of a location for people: `DBImp_1.client`, `future of work 0.1 of WorkerImp_2`, `lock of cog
    /// DBImp_1`.
    pub fn location_name(&self, location: Location) -> String {
        self.machine.location_name(&self.image, location.0)
    }

    /// `start -> await at line 12 for ping 0.0.0 of WorkerImp_2`
    fn operation(&self, record: &SegmentRecord) -> String {
        let line = |place: &Option<mazurka_program::Place>| {
            place.as_ref().map_or(String::new(), |place| format!(" at line {}", place.line))
        };
        let name = |process: &ProcessId| self.machine.task_name(&self.image, process.0);
        let start = match record.start {
            SegmentStart::Starts => "start".to_owned(),
            SegmentStart::Resumes => format!("resume{}", line(&record.from)),
            SegmentStart::Notices | SegmentStart::Draws(_) => String::new(),
        };
        let to = line(&record.to);
        let end = match &record.end {
            SegmentEnd::Returned(value) if value == "Unit" => "return".to_owned(),
            SegmentEnd::Returned(value) => format!("return {value}"),
            SegmentEnd::Threw(exception) => format!("throws {exception}{to}"),
            SegmentEnd::Awaits(futures) if futures.is_empty() => {
                format!("{}{to}", self.stands_at(record.task))
            }
            SegmentEnd::Awaits(futures) => {
                let futures: Vec<String> = futures.iter().map(name).collect();
                format!("await{to} for {}", futures.join(", "))
            }
            SegmentEnd::Suspended => format!("suspend{to}"),
            SegmentEnd::Blocked(future) => format!("blocked{to} for {}", name(future)),
            SegmentEnd::Chooses(count) => format!("random({count}){to}"),
            SegmentEnd::Drew(number) => return format!("draws {number}{to}"),
            SegmentEnd::Noticed => return format!("what it awaits{to} is resolved"),
        };
        format!("{start} -> {end}")
    }
}

fn stands_at(image: &Image, task: &Task) -> String {
    let span =
        task.frames.last().and_then(|frame| image.bodies[frame.body as usize].spans.get(frame.pc as usize));
    span.map_or(String::new(), |span| image.source(*span))
}

/// Calls, new objects and prints.
fn note(record: &SegmentRecord) -> Option<String> {
    let mut notes: Vec<String> = record.created.iter().map(|object| format!("new {object}")).collect();
    notes.extend(record.calls.iter().map(|call| call.call.clone()));
    notes.extend(record.printed.iter().map(|text| format!("prints {text:?}")));
    (!notes.is_empty()).then(|| notes.join("; "))
}

impl Machine {
    fn location_name(&self, image: &Image, location: u32) -> String {
        match location {
            SCHEDULER => return "the order of tasks".to_owned(),
            ANY_FUTURE => return "any future".to_owned(),
            MAIN_LOCK => return "lock of cog of main".to_owned(),
            MAIN_DATA => return "cog of main".to_owned(),
            _ => {}
        }
        if let Some(p) = self.future_locations.iter().position(|&known| known == location) {
            return format!("future of {}", self.task_name(image, p as u32));
        }
        let Some((id, offset)) = self.owner(location) else { return format!("location {location}") };
        let (object, class) =
            (image.object(&self.references[id as usize]), self.references[id as usize].class);
        let fields = &image.classes[class as usize].fields;
        match (offset as usize).checked_sub(fields.len()) {
            None => format!("{object}.{}", fields[offset as usize]),
            Some(0) => format!("life of {object}"),
            Some(1) => format!("lock of cog {object}"),
            Some(2) => format!("cog {object}"),
            Some(more) => format!("guard {} of {object}", more - 3),
        }
    }

    /// The object that a location is of, and which of its locations it is.
    pub(super) fn owner(&self, location: u32) -> Option<(u32, u32)> {
        let before = (0..self.bases.len() as u32).filter(|&id| self.bases[id as usize] <= location);
        let id = before.max_by_key(|&id| self.bases[id as usize])?;
        Some((id, location - self.bases[id as usize]))
    }

    /// The fields that the last step read and wrote.
    fn observed(&self, image: &Image) -> (Vec<Observed>, Vec<Observed>) {
        let (mut reads, mut writes) = (Vec::new(), Vec::new());
        let step = self.now();
        for touch in self.touches.list() {
            let Some((id, field)) = self.owner(touch.location) else { continue };
            let class = self.references[id as usize].class;
            let is_future = self.future_locations.contains(&touch.location);
            let Some(name) = image.classes[class as usize].fields.get(field as usize) else { continue };
            if is_future || touch.location <= MAIN_DATA {
                continue;
            }
            let name = format!("{}.{name}", image.object(&self.references[id as usize]));
            let field = field as usize;
            if touch.kind() != AccessKind::Write
                && let Some(object) = self.objects.at(id, step)
            {
                let source = object.writers[field].checked_sub(1).map(|step| step as usize);
                reads.push(Observed {
                    name: name.clone(),
                    value: show(&object.fields[field], image),
                    source,
                });
            }
            if touch.written
                && let Some(object) = self.objects.get(id)
                && object.writers[field] == step + 1
            {
                writes.push(Observed { name, value: show(&object.fields[field], image), source: None });
            }
        }
        (reads, writes)
    }

    fn explain_wait(&self, image: &Image, process: ProcessId, task: &Task) -> WaitExplanation {
        let operation = match task.wait {
            Wait::Start => "start".to_owned(),
            _ => stands_at(image, task),
        };
        let mut waits_for = Vec::new();
        let mut waits_on = Vec::new();
        let mut unresolved = |future: u32| {
            if !self.is_resolved(future) {
                waits_for.push(self.task_name(image, future));
                waits_on.push(ProcessId(future));
            }
        };
        match &task.wait {
            Wait::Await { futures, .. } => futures.iter().for_each(|&future| unresolved(future)),
            Wait::Blocked(future) => unresolved(*future),
            _ => {}
        }
        if !task.holds_cog() {
            let holder = self.cogs.get(task.cog).holder;
            if holder != NONE {
                let (cog, name) = (self.cog_name(image, task.cog), self.task_name(image, holder));
                waits_for.push(format!("cog {cog}, held by {name}"));
                waits_on.push(ProcessId(holder));
            } else if waits_on.is_empty() && !self.guard_holds(image, task, NOW) {
                waits_for.push(self.unmet(image, task));
            }
        }
        let mut waits_for = waits_for.join(" and ");
        if task.holds_cog() {
            waits_for += &format!(", and holds cog {}", self.cog_name(image, task.cog));
        }
        WaitExplanation { process, operation, waits_for, waits_on, place: self.place_of(image, task) }
    }

    /// The conditions of an await, as in the source.
    fn unmet(&self, image: &Image, task: &Task) -> String {
        let conditions = await_of(image, task).map_or(&[][..], |code| &code.conditions);
        let texts = conditions.iter().map(|code| image.source(image.op_spans[code.end as usize - 1]));
        texts.collect::<Vec<_>>().join(" & ")
    }

    /// A cycle of tasks that wait for each other, in words.
    fn cycle(&self, image: &Image, waiting: &[WaitExplanation]) -> Option<String> {
        let waits: BTreeMap<ProcessId, &WaitExplanation> =
            waiting.iter().map(|wait| (wait.process, wait)).collect();
        let next = |process: ProcessId| {
            waits.get(&process)?.waits_on.iter().copied().find(|other| waits.contains_key(other))
        };
        for start in waiting {
            let mut cycle = vec![start.process];
            while let Some(to) = cycle.last().and_then(|&last| next(last)) {
                if to == start.process {
                    return Some(self.cycle_in_words(image, cycle));
                }
                if cycle.contains(&to) {
                    break;
                }
                cycle.push(to);
            }
        }
        None
    }

    /// `register 0.0 of DBImp_1 blocks cog DBImp_1 until ping 0.0.0 of WorkerImp_2 returns, which can't start
    /// since ...`
    fn cycle_in_words(&self, image: &Image, mut cycle: Vec<ProcessId>) -> String {
        // Who blocks a cog is the one to begin with: there is something to change in what it does.
        let blocks = |process: &ProcessId| self.task(process.0).is_some_and(|task| task.holds_cog());
        let first = cycle.iter().position(blocks).unwrap_or(0);
        cycle.rotate_left(first);
        let mut text = self.task_name(image, cycle[0].0);
        for (at, process) in cycle.iter().enumerate() {
            let Some(task) = self.task(process.0) else { continue };
            let last = at + 1 == cycle.len();
            let next = cycle[(at + 1) % cycle.len()];
            let (name, cog) = (self.task_name(image, next.0), self.cog_name(image, task.cog));
            let awaits = matches!(&task.wait, Wait::Await { futures, .. } if futures.contains(&next.0));
            text += &match task.wait {
                Wait::Blocked(_) => format!(" blocks cog {cog} until {name} returns"),
                _ if awaits => format!(" awaits {name}"),
                Wait::Start => format!(" can't start since {name}"),
                _ => format!(" can't go on since {name}"),
            };
            let needs_cog = !awaits && !task.holds_cog();
            match (needs_cog, last) {
                (true, true) => text += &format!(" blocks cog {cog}"),
                (false, false) => text += ", which",
                _ => {}
            }
        }
        text
    }
}
