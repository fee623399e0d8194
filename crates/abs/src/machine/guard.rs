//! Guards: what a task waits for that others can make false again, now and in the past.
//!
//! A guard is captured when its task arrives at it, with the task as it is then, so that it can be evaluated
//! after any number of steps, also when the task has gone on.

use std::rc::Rc;

use crate::value::{Reference, Value};

use super::code::{AwaitCode, Image, Instr, NONE};
use super::entity::{Object, Task, Wait};
use super::eval::{Env, Vm};
use super::run::{Machine, SCHEDULER};

/// The present, for [`Machine::guard_holds`].
pub(super) const NOW: u32 = NONE;

/// A guard that a task has met.
#[derive(Clone, Debug)]
pub(super) struct CapturedGuard {
    /// What stands for all that it reads.
    pub location: u32,
    process: u32,
    task: Rc<Task>,
}

impl CapturedGuard {
    /// The task that met it, as it was then.
    pub fn task(&self) -> &Rc<Task> {
        &self.task
    }
}

/// Fields as they were at some time.
pub(super) struct PastEnv<'a> {
    pub object: Option<&'a Object>,
    pub this: Option<&'a Rc<Reference>>,
}

impl Env for PastEnv<'_> {
    fn field(&mut self, field: u32) -> Value {
        self.object.map_or(Value::Null, |object| object.fields[field as usize].clone())
    }
    fn this(&self) -> Value {
        self.this.map_or(Value::Null, |this| Value::Object(this.clone()))
    }
    fn print(&mut self, _: &str) {}
}

/// The await that a task waits at.
pub(super) fn await_of<'a>(image: &'a Image, task: &Task) -> Option<&'a AwaitCode> {
    let frame = task.frames.last()?;
    match image.bodies[frame.body as usize].code.get(frame.pc as usize)? {
        Instr::Await(index) if matches!(task.wait, Wait::Await { .. }) => {
            Some(&image.awaits[*index as usize])
        }
        _ => None,
    }
}

impl Machine {
    /// Lets a task stand where it waits, with its guard captured.
    pub fn arrive(&mut self, image: &Image, p: u32, mut task: Task) -> Rc<Task> {
        task.guard = NONE;
        match self.guard_location(image, &task) {
            None => Rc::new(task),
            Some(location) => {
                task.guard = self.guards.len() as u32;
                let task = Rc::new(task);
                self.guards.push(CapturedGuard { location, process: p, task: task.clone() });
                task
            }
        }
    }

    /// Whether that the futures of an await are resolved is noticed by a step of its own.
    pub fn needs_notice(&self, image: &Image, task: &Task) -> bool {
        match &task.wait {
            Wait::Await { futures, noticed: false } => {
                let conditions = || await_of(image, task).is_some_and(|code| !code.conditions.is_empty());
                !self.scheduled && !futures.is_empty() && (self.has_lock(image, task.cog) || conditions())
            }
            _ => false,
        }
    }

    /// The location that stands for all that others can change of what a task waits for.
    fn guard_location(&self, image: &Image, task: &Task) -> Option<u32> {
        if task.is_done() {
            return None;
        }
        if self.scheduled {
            return Some(SCHEDULER);
        }
        if task.holds_cog() || self.needs_notice(image, task) {
            return None;
        }
        let code = await_of(image, task).filter(|code| !code.conditions.is_empty());
        let has_lock = self.has_lock(image, task.cog);
        if self.foresees && image.facts.has_local {
            return (has_lock || code.is_some()).then(|| self.data_location(image, task.cog));
        }
        let this = task.frames.last().and_then(|frame| frame.this.as_ref());
        match (code, this) {
            (Some(code), Some(this)) if code.own != NONE => {
                Some(self.await_location(image, this.id, code.own))
            }
            (Some(code), Some(this)) if !code.fields.is_empty() => {
                Some(self.bases[this.id as usize] + code.fields[0])
            }
            _ if has_lock => Some(self.lock_location(image, task.cog)),
            (Some(_), _) => task.object.as_ref().map(|object| self.alive_location(image, object.id)),
            _ => None,
        }
    }

    /// Whether the object of a task was dead after the first `depth` steps.
    pub fn is_dead(&self, task: &Task, depth: u32) -> bool {
        let object = task.object.as_ref().and_then(|object| self.objects.at(object.id, depth).as_ref());
        object.is_some_and(|object| object.dead)
    }

    /// Whether all that others can undo held for a task after the first `depth` steps.
    pub fn guard_holds(&self, image: &Image, task: &Task, depth: u32) -> bool {
        if self.cogs.at(task.cog, depth).holder != NONE {
            return false;
        }
        let (Some(code), Some(frame)) = (await_of(image, task), task.frames.last()) else { return true };
        if code.conditions.is_empty() || self.is_dead(task, depth) {
            return true;
        }
        let object = frame.this.as_ref().and_then(|this| self.objects.at(this.id, depth).as_deref());
        let mut env = PastEnv { object, this: frame.this.as_ref() };
        let mut vm = Vm::new(self.settings.max_segment_steps, self.settings.max_depth);
        let mut slots = frame.slots.clone();
        // What fails counts as true: the task will fail when it goes on.
        let holds = code.conditions.iter().all(|&condition| {
            !matches!(vm.eval(image, condition, &mut slots, &mut env), Ok(Value::Bool(false)))
        });
        self.note_operations(vm.fuel);
        self.guard_told_names.set(self.guard_told_names.get() || vm.told_names);
        holds
    }

    /// Whether a captured guard held after the first `depth` steps.
    pub fn guard_holds_at(&self, image: &Image, id: u32, depth: u32) -> bool {
        let Some(captured) = self.guards.get(id as usize) else { return false };
        if self.scheduled {
            let process = mazurka_program::ProcessId(captured.process);
            return self.history.get(depth as usize).is_some_and(|enabled| enabled.contains(process));
        }
        self.guard_holds(image, &captured.task, depth)
    }
}
