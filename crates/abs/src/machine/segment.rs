//! The instructions of a segment.

use std::rc::Rc;

use mazurka_program::{FailureKind, ProcessId};

use crate::value::{Reference, Value};

use super::code::{Code, Image, Instr, NONE, Target};
use super::entity::{Frame, Handler, Object, Pending, Task, Wait};
use super::eval::{Env, Fault, Thrown, exception, matches, no_match};
use super::record::SegmentRecord;
use super::run::Machine;
use super::touch::Touches;

/// How a segment ends.
#[derive(Debug)]
pub(super) enum End {
    Returned(Value),
    Threw(Rc<Thrown>),
    Awaits(Rc<[u32]>),
    Suspended,
    Blocked(u32),
    Chooses(u32),
}

/// How it goes on after an instruction.
pub(super) enum Flow {
    /// With the next one.
    Next,
    /// Elsewhere in the same frame.
    To(u32),
    /// The frames have changed and know where they are.
    Elsewhere,
    End(End),
}

/// What expressions of the present segment see.
struct Present<'a> {
    object: Option<&'a Object>,
    this: Option<&'a Rc<Reference>>,
    /// The first location of the object; [`NONE`] if what is read of it is not told.
    base: u32,
    touches: &'a mut Touches,
    record: Option<&'a mut SegmentRecord>,
}

impl Env for Present<'_> {
    fn field(&mut self, field: u32) -> Value {
        if self.base != NONE {
            self.touches.read(self.base + field);
        }
        self.object.map_or(Value::Null, |object| object.fields[field as usize].clone())
    }
    fn this(&self) -> Value {
        self.this.map_or(Value::Null, |this| Value::Object(this.clone()))
    }
    fn print(&mut self, text: &str) {
        if let Some(record) = &mut self.record {
            record.printed.push(text.to_owned());
        }
    }
}

impl Machine {
    /// Runs a task until its segment ends.
    pub fn run_segment(
        &mut self,
        image: &Image,
        p: u32,
        task: &mut Task,
        spawned: &mut Vec<ProcessId>,
    ) -> Result<End, String> {
        let mut result = self.resume(image, task);
        loop {
            match result {
                Ok(Flow::Next) => {
                    if let Some(frame) = task.frames.last_mut() {
                        frame.pc += 1;
                    }
                }
                Ok(Flow::To(pc)) => {
                    if let Some(frame) = task.frames.last_mut() {
                        frame.pc = pc;
                    }
                }
                Ok(Flow::Elsewhere) => {}
                Ok(Flow::End(end)) => {
                    return match self.waiting_initialisation(image, task, &end) {
                        Some(why) => Err(why),
                        None => Ok(end),
                    };
                }
                Err(Fault::Stop(why)) => return Err(why),
                Err(Fault::Throw(mut thrown)) => {
                    if let Some(fresh) = Rc::get_mut(&mut thrown) {
                        fresh.thrower.get_or_insert(ProcessId(p));
                    }
                    if !unwind(task, &thrown) {
                        return Ok(End::Threw(thrown));
                    }
                }
            }
            let Some(fuel) = self.vm.fuel.checked_sub(1) else {
                let place = task.frames.last().map_or(0, |frame| self.line_of(image, frame));
                return Err(format!(
                    "a segment of {} takes more than {} operations, at line {place}: an endless loop?",
                    self.task_name(image, p),
                    self.settings.max_segment_steps
                ));
            };
            self.vm.fuel = fuel;
            result = self.instruction(image, p, task, spawned);
        }
    }

    /// An initialisation is part of its creator's segment, and others may not see an object that is half made. What is
    /// `[Atomic]` waits all the same if it is called in another cog.
    fn waiting_initialisation(&self, image: &Image, task: &Task, end: &End) -> Option<String> {
        if matches!(end, End::Returned(_) | End::Threw(_)) {
            return None;
        }
        let is_init = |frame: &&Frame| image.bodies[frame.body as usize].is_init;
        let this = task.frames.iter().rev().find(is_init)?.this.as_ref()?;
        let line = task.frames.last().map_or(0, |frame| self.line_of(image, frame));
        let class = &image.classes[this.class as usize].name;
        Some(format!("the initialisation of a {class} waits or draws at line {line}: not supported"))
    }

    fn line_of(&self, image: &Image, frame: &Frame) -> u32 {
        let spans = &image.bodies[frame.body as usize].spans;
        spans.get(frame.pc as usize).map_or(0, |span| image.line(*span))
    }

    /// Completes the instruction at which a task waited.
    fn resume(&mut self, image: &Image, task: &mut Task) -> Result<Flow, Fault> {
        match std::mem::replace(&mut task.wait, Wait::Start) {
            Wait::Start => Ok(Flow::Elsewhere),
            Wait::Await { .. } => {
                task.wait = Wait::Await { futures: Rc::default(), noticed: true };
                let conditions = super::guard::await_of(image, task).map_or(&[][..], |code| &code.conditions);
                let Some(frame) = task.frames.last_mut() else { return Ok(Flow::Next) };
                for &condition in conditions {
                    self.eval(image, frame, condition)?;
                }
                Ok(Flow::Next)
            }
            Wait::Blocked(future) => self.take(image, task, future),
            Wait::Chosen(drawn) => {
                let target = self.target_here(image, task);
                self.assign(image, task, target, Value::Int(i64::from(drawn)));
                Ok(Flow::Next)
            }
            _ => Ok(Flow::Next),
        }
    }

    /// What the instruction assigns to that a task is at.
    pub fn target_here(&self, image: &Image, task: &Task) -> Target {
        let Some(frame) = task.frames.last() else { return Target::Nothing };
        match &image.bodies[frame.body as usize].code[frame.pc as usize] {
            Instr::Get { target, .. } | Instr::SyncCall { target, .. } | Instr::Random(target, _) => *target,
            _ => Target::Nothing,
        }
    }

    pub fn eval(&mut self, image: &Image, frame: &mut Frame, code: Code) -> Result<Value, Fault> {
        let silent = image.bodies[frame.body as usize].is_init;
        let this = frame.this.as_ref();
        let mut env = Present {
            object: this.and_then(|this| self.objects.get(this.id).as_deref()),
            this,
            base: this.filter(|_| !silent).map_or(NONE, |this| self.bases[this.id as usize]),
            touches: &mut self.touches,
            record: self.record.as_deref_mut(),
        };
        self.vm.eval(image, code, &mut frame.slots, &mut env)
    }

    /// The first of the branches whose pattern matches.
    fn branch(
        &mut self,
        image: &Image,
        frame: &mut Frame,
        value: &Value,
        branches: &[(u32, u32)],
    ) -> Option<u32> {
        let this = frame.this.as_ref();
        let silent = image.bodies[frame.body as usize].is_init;
        let mut env = Present {
            object: this.and_then(|this| self.objects.get(this.id).as_deref()),
            this,
            base: this.filter(|_| !silent).map_or(NONE, |this| self.bases[this.id as usize]),
            touches: &mut self.touches,
            record: None,
        };
        let slots = &mut frame.slots;
        let found = branches
            .iter()
            .find(|(pattern, _)| matches(&image.patterns[*pattern as usize], value, slots, &mut env));
        found.map(|(_, to)| *to)
    }

    pub fn assign(&mut self, image: &Image, task: &mut Task, target: Target, value: Value) {
        let Some(frame) = task.frames.last_mut() else { return };
        match (target, &frame.this) {
            (Target::Slot(slot), _) => frame.slots[slot as usize] = value,
            (Target::Field(field), Some(this)) => {
                let now = self.now();
                if let Some(object) = self.objects.change(this.id, now) {
                    let object = Rc::make_mut(object);
                    object.fields[field as usize] = value;
                    object.writers[field as usize] = now + 1;
                }
                if !image.bodies[frame.body as usize].is_init {
                    let (id, class) = (this.id, this.class);
                    self.touches.write(self.bases[id as usize] + field);
                    for &own in &image.facts.classes[class as usize].awaits_of_field[field as usize] {
                        self.touches.write(self.await_location(image, id, own));
                    }
                }
            }
            _ => {}
        }
    }

    fn instruction(
        &mut self,
        image: &Image,
        p: u32,
        task: &mut Task,
        spawned: &mut Vec<ProcessId>,
    ) -> Result<Flow, Fault> {
        let Some(frame) = task.frames.last_mut() else { return Ok(Flow::End(End::Returned(Value::Unit))) };
        let body = &image.bodies[frame.body as usize];
        let (instr, span) = (&body.code[frame.pc as usize], body.spans[frame.pc as usize]);
        match instr {
            Instr::Assign(target, code) => {
                let value = self.eval(image, frame, *code)?;
                self.assign(image, task, *target, value);
            }
            Instr::Assert(code) => {
                if !matches!(self.eval(image, frame, *code)?, Value::Bool(true)) {
                    let about =
                        format!("assertion failed: {}", image.source(image.op_spans[code.end as usize - 1]));
                    let known = image.known.assertion_failed;
                    return Err(exception(image, known, FailureKind::Assertion, &about, span));
                }
            }
            Instr::JumpUnless(code, to) => {
                if !matches!(self.eval(image, frame, *code)?, Value::Bool(true)) {
                    return Ok(Flow::To(*to));
                }
            }
            Instr::Jump(to) => return Ok(Flow::To(*to)),
            Instr::Begin { list, rest, count } => {
                frame.slots[*rest as usize] = self.eval(image, frame, *list)?;
                frame.slots[*count as usize] = Value::Int(0);
            }
            Instr::Next { rest, count, element, index, end } => {
                return Ok(next_element(image, frame, [*rest, *count, *element, *index], *end));
            }
            Instr::Switch(code, branches) => {
                let value = self.eval(image, frame, *code)?;
                let found = self.branch(image, frame, &value, branches);
                self.vm.told_names |= found.is_none() && value.refers();
                return found.map(Flow::To).ok_or_else(|| no_match(image, &value, span));
            }
            Instr::Enter { at, finally } => frame.handlers.push(Handler { at: *at, finally: *finally }),
            Instr::Leave => {
                frame.handlers.pop();
            }
            Instr::Catch(branches) => {
                let Some(thrown) = frame.exception.take() else { return Ok(Flow::Next) };
                let found = self.branch(image, frame, &thrown.value, branches);
                return found.map(Flow::To).ok_or(Fault::Throw(thrown));
            }
            Instr::EnterFinally => {
                frame.handlers.pop();
                frame.pending.push(Pending::Nothing);
            }
            Instr::EndFinally => match frame.pending.pop() {
                Some(Pending::Throw(thrown)) => return Err(Fault::Throw(thrown)),
                Some(Pending::Return(value)) => return self.give_back(image, p, task, value, spawned),
                _ => {}
            },
            Instr::Throw(code) => {
                let value = self.eval(image, frame, *code)?;
                return Err(Fault::Throw(Rc::new(Thrown {
                    value,
                    span,
                    thrower: None,
                    kind: FailureKind::Exception,
                    about: String::new(),
                })));
            }
            Instr::Return(code) => {
                let value = self.eval(image, frame, *code)?;
                return self.give_back(image, p, task, value, spawned);
            }
            Instr::Suspend => return Ok(Flow::End(End::Suspended)),
            Instr::Await(index) => return self.reach_await(image, task, *index),
            _ => return self.effect(image, p, task, instr, span, spawned),
        }
        Ok(Flow::Next)
    }

    /// Ends a frame with a value, after its `finally`s.
    fn give_back(
        &mut self,
        image: &Image,
        p: u32,
        task: &mut Task,
        value: Value,
        spawned: &mut Vec<ProcessId>,
    ) -> Result<Flow, Fault> {
        let Some(frame) = task.frames.last_mut() else { return Ok(Flow::End(End::Returned(value))) };
        while let Some(handler) = frame.handlers.pop() {
            if handler.finally {
                frame.pending.push(Pending::Return(value));
                return Ok(Flow::To(handler.at));
            }
        }
        let Some(frame) = task.frames.pop() else { return Ok(Flow::End(End::Returned(value))) };
        let mut value = value;
        if image.bodies[frame.body as usize].is_init
            && let Some(this) = frame.this
        {
            value = Value::Object(this.clone());
            let run = image.classes[this.class as usize].run;
            if run != NONE {
                self.spawn(image, p, task, &this, run, Vec::new(), spawned);
            }
        }
        if task.frames.is_empty() {
            return Ok(Flow::End(End::Returned(value)));
        }
        self.assign(image, task, frame.returns, value);
        Ok(Flow::Next)
    }
}

/// One more element of a list, or the end.
fn next_element(image: &Image, frame: &mut Frame, slots: [u32; 4], end: u32) -> Flow {
    let [rest, count, element, index] = slots.map(|slot| slot as usize);
    let (head, tail) = match frame.slots[rest].as_data() {
        Some((tag, [head, tail])) if tag.id == image.known.cons.0 => (head.clone(), tail.clone()),
        _ => return Flow::To(end),
    };
    let Value::Int(at) = frame.slots[count] else { return Flow::To(end) };
    frame.slots[rest] = tail;
    frame.slots[count] = Value::Int(at + 1);
    frame.slots[element] = head;
    if index != NONE as usize {
        frame.slots[index] = Value::Int(at);
    }
    Flow::Next
}

/// Takes an exception to the nearest handler. Says whether there is one.
fn unwind(task: &mut Task, thrown: &Rc<Thrown>) -> bool {
    while let Some(frame) = task.frames.last_mut() {
        if let Some(handler) = frame.handlers.pop() {
            frame.pc = handler.at;
            if handler.finally {
                frame.pending.push(Pending::Throw(thrown.clone()));
            } else {
                frame.exception = Some(thrown.clone());
            }
            return true;
        }
        // The last frame stays: it tells where the exception left the task.
        if task.frames.len() == 1 {
            return false;
        }
        task.frames.pop();
    }
    false
}
