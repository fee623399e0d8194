//! The instructions of a segment.

use std::rc::Rc;

use mazurka_program::{FailureKind, ProcessId};

use crate::model::{FieldId, Target};
use crate::value::{Reference, Value};

use super::code::{Code, Image, Instr, NONE};
use super::entity::{Frame, Handler, Object, Pending, Task, Wait};
use super::eval::{Env, Fault, Thrown, Vm, exception, matches, no_match};
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
struct SegmentEnv<'a> {
    object: Option<&'a Object>,
    this: Option<&'a Rc<Reference>>,
    /// The first location of the object; [`NONE`] if what is read of it is not told.
    base: u32,
    touches: &'a mut Touches,
    record: Option<&'a mut SegmentRecord>,
}

impl Env for SegmentEnv<'_> {
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

/// A task that runs from where it stands to where its segment ends.
pub(super) struct Segment<'a> {
    pub machine: &'a mut Machine,
    pub image: &'a Image,
    pub process: u32,
    pub task: &'a mut Task,
    /// The tasks that it creates.
    pub spawned: &'a mut Vec<ProcessId>,
}

impl Segment<'_> {
    /// Runs the task until its segment ends.
    pub fn run(&mut self) -> Result<End, String> {
        let mut result = self.resume();
        loop {
            match result {
                Ok(Flow::Next) => {
                    if let Some(frame) = self.task.frames.last_mut() {
                        frame.pc += 1;
                    }
                }
                Ok(Flow::To(pc)) => {
                    if let Some(frame) = self.task.frames.last_mut() {
                        frame.pc = pc;
                    }
                }
                Ok(Flow::Elsewhere) => {}
                Ok(Flow::End(end)) => {
                    return match self.waiting_initialisation(&end) {
                        Some(why) => Err(why),
                        None => Ok(end),
                    };
                }
                Err(Fault::Stop(why)) => return Err(why),
                Err(Fault::Throw(mut thrown)) => {
                    if let Some(fresh) = Rc::get_mut(&mut thrown) {
                        fresh.thrower.get_or_insert(ProcessId(self.process));
                    }
                    if !unwind(self.task, &thrown) {
                        return Ok(End::Threw(thrown));
                    }
                }
            }
            let Some(fuel) = self.machine.vm.fuel.checked_sub(1) else {
                return Err(format!(
                    "a segment of {} takes more than {} operations, at line {}: an endless loop?",
                    self.machine.task_name(self.image, self.process),
                    self.machine.settings.max_segment_steps,
                    self.line()
                ));
            };
            self.machine.vm.fuel = fuel;
            result = self.instruction();
        }
    }

    /// An initialisation is part of its creator's segment, and others may not see an object that is half
    /// made. What is `[Atomic]` waits all the same if it is called in another cog.
    fn waiting_initialisation(&self, end: &End) -> Option<String> {
        if matches!(end, End::Returned(_) | End::Threw(_)) {
            return None;
        }
        let is_init = |frame: &&Frame| self.image.bodies[frame.body as usize].is_init;
        let this = self.task.frames.iter().rev().find(is_init)?.this.as_ref()?;
        let class = &self.image.classes[this.class as usize].name;
        let line = self.line();
        Some(format!("the initialisation of a {class} waits or draws at line {line}: not supported"))
    }

    /// The line that the task is at.
    fn line(&self) -> u32 {
        let span = self
            .task
            .frames
            .last()
            .and_then(|frame| self.image.bodies[frame.body as usize].spans.get(frame.pc as usize));
        span.map_or(0, |span| self.image.line(*span))
    }

    /// Completes the instruction at which the task waited.
    fn resume(&mut self) -> Result<Flow, Fault> {
        match std::mem::replace(&mut self.task.wait, Wait::Start) {
            Wait::Start => Ok(Flow::Elsewhere),
            Wait::Await { .. } => {
                self.task.wait = Wait::Await { futures: Rc::default(), noticed: true };
                let code = super::guard::await_of(self.image, self.task);
                for &condition in code.map_or(&[][..], |code| &code.conditions) {
                    self.eval(condition)?;
                }
                Ok(Flow::Next)
            }
            Wait::Blocked(future) => self.take(future),
            Wait::Chosen(drawn) => {
                self.assign(self.target_here(), Value::Int(i64::from(drawn)));
                Ok(Flow::Next)
            }
            _ => Ok(Flow::Next),
        }
    }

    /// What the instruction assigns to that the task is at.
    pub fn target_here(&self) -> Option<Target> {
        let frame = self.task.frames.last()?;
        match &self.image.bodies[frame.body as usize].code[frame.pc as usize] {
            Instr::Get { target, .. } | Instr::SyncCall { target, .. } | Instr::Random(target, _) => *target,
            _ => None,
        }
    }

    /// The value of an expression of the task.
    pub fn eval(&mut self, code: Code) -> Result<Value, Fault> {
        match self.task.frames.last_mut() {
            Some(frame) => self.machine.eval(self.image, frame, code),
            None => Ok(Value::Null),
        }
    }

    pub fn assign(&mut self, target: Option<Target>, value: Value) {
        let Some(frame) = self.task.frames.last_mut() else { return };
        let (machine, image) = (&mut *self.machine, self.image);
        match (target, &frame.this) {
            (Some(Target::Slot(slot)), _) => frame.slots[slot.index()] = value,
            (Some(Target::Field(FieldId(field))), Some(this)) => {
                let now = machine.now();
                if let Some(object) = machine.objects.change(this.id, now) {
                    let object = Rc::make_mut(object);
                    object.fields[field as usize] = value;
                    object.writers[field as usize] = now + 1;
                }
                if !image.bodies[frame.body as usize].is_init {
                    let (id, class) = (this.id, this.class);
                    machine.touches.write(machine.bases[id as usize] + field);
                    for &own in &image.facts.classes[class as usize].awaits_of_field[field as usize] {
                        // Other fields keep what they held, so what was written before counts, too.
                        machine.touches.update(machine.await_location(image, id, own));
                    }
                }
            }
            _ => {}
        }
    }

    fn instruction(&mut self) -> Result<Flow, Fault> {
        let (machine, image) = (&mut *self.machine, self.image);
        let Some(frame) = self.task.frames.last_mut() else {
            return Ok(Flow::End(End::Returned(Value::Unit)));
        };
        let body = &image.bodies[frame.body as usize];
        let (instr, span) = (&body.code[frame.pc as usize], body.spans[frame.pc as usize]);
        match instr {
            Instr::Assign(target, code) => {
                let value = machine.eval(image, frame, *code)?;
                self.assign(*target, value);
            }
            Instr::Assert(code) => {
                if !matches!(machine.eval(image, frame, *code)?, Value::Bool(true)) {
                    let about =
                        format!("assertion failed: {}", image.source(image.op_spans[code.end as usize - 1]));
                    let known = image.known.assertion_failed;
                    return Err(exception(image, known, FailureKind::Assertion, &about, span));
                }
            }
            Instr::JumpUnless(code, to) => {
                if !matches!(machine.eval(image, frame, *code)?, Value::Bool(true)) {
                    return Ok(Flow::To(*to));
                }
            }
            Instr::Jump(to) => return Ok(Flow::To(*to)),
            Instr::Begin { list, rest, count } => {
                frame.slots[*rest as usize] = machine.eval(image, frame, *list)?;
                frame.slots[*count as usize] = Value::Int(0);
            }
            Instr::Next { rest, count, element, index, end } => {
                return Ok(next_element(image, frame, [*rest, *count, *element, *index], *end));
            }
            Instr::Switch(code, branches) => {
                let value = machine.eval(image, frame, *code)?;
                let found = machine.branch(image, frame, &value, branches);
                machine.vm.told_names |= found.is_none() && value.refers();
                return found.map(Flow::To).ok_or_else(|| no_match(image, &value, span));
            }
            Instr::Enter { at, finally } => frame.handlers.push(Handler { at: *at, finally: *finally }),
            Instr::Leave => {
                frame.handlers.pop();
            }
            Instr::Catch(branches) => {
                let Some(thrown) = frame.exception.take() else { return Ok(Flow::Next) };
                let found = machine.branch(image, frame, &thrown.value, branches);
                return found.map(Flow::To).ok_or(Fault::Throw(thrown));
            }
            Instr::EnterFinally => {
                frame.handlers.pop();
                frame.pending.push(Pending::Nothing);
            }
            Instr::EndFinally => match frame.pending.pop() {
                Some(Pending::Throw(thrown)) => return Err(Fault::Throw(thrown)),
                Some(Pending::Return(value)) => return self.give_back(value),
                _ => {}
            },
            Instr::Throw(code) => {
                let value = machine.eval(image, frame, *code)?;
                return Err(Fault::Throw(Rc::new(Thrown {
                    value,
                    span,
                    thrower: None,
                    kind: FailureKind::Exception,
                    about: String::new(),
                })));
            }
            Instr::Return(code) => {
                let value = machine.eval(image, frame, *code)?;
                return self.give_back(value);
            }
            Instr::Suspend => return Ok(Flow::End(End::Suspended)),
            Instr::Await(index) => return self.reach_await(*index, span),
            _ => return self.effect(instr, span),
        }
        Ok(Flow::Next)
    }

    /// Ends a frame with a value, after its `finally`s.
    fn give_back(&mut self, mut value: Value) -> Result<Flow, Fault> {
        let Some(frame) = self.task.frames.last_mut() else { return Ok(Flow::End(End::Returned(value))) };
        while let Some(handler) = frame.handlers.pop() {
            if handler.finally {
                frame.pending.push(Pending::Return(value));
                return Ok(Flow::To(handler.at));
            }
        }
        let Some(frame) = self.task.frames.pop() else { return Ok(Flow::End(End::Returned(value))) };
        if self.image.bodies[frame.body as usize].is_init
            && let Some(this) = frame.this
        {
            value = Value::Object(this.clone());
            let run = self.image.classes[this.class as usize].run;
            if run != NONE {
                self.spawn(&this, run, Vec::new());
            }
        }
        if self.task.frames.is_empty() {
            return Ok(Flow::End(End::Returned(value)));
        }
        self.assign(frame.returns, value);
        Ok(Flow::Next)
    }
}

impl Machine {
    /// The value of an expression in a frame.
    fn eval(&mut self, image: &Image, frame: &mut Frame, code: Code) -> Result<Value, Fault> {
        let (slots, mut env, vm) = self.present(image, frame);
        vm.eval(image, code, slots, &mut env)
    }

    /// The first of the branches whose pattern matches.
    fn branch(
        &mut self,
        image: &Image,
        frame: &mut Frame,
        value: &Value,
        branches: &[(u32, u32)],
    ) -> Option<u32> {
        let (slots, mut env, _) = self.present(image, frame);
        let found = branches
            .iter()
            .find(|(pattern, _)| matches(&image.patterns[*pattern as usize], value, slots, &mut env));
        found.map(|(_, to)| *to)
    }

    /// The variables of a frame, what else its expressions see, and who evaluates them.
    fn present<'a>(
        &'a mut self,
        image: &Image,
        frame: &'a mut Frame,
    ) -> (&'a mut [Value], SegmentEnv<'a>, &'a mut Vm) {
        let silent = image.bodies[frame.body as usize].is_init;
        let this = frame.this.as_ref();
        let env = SegmentEnv {
            object: this.and_then(|this| self.objects.get(this.id).as_deref()),
            this,
            base: this.filter(|_| !silent).map_or(NONE, |this| self.bases[this.id as usize]),
            touches: &mut self.touches,
            record: self.record.as_deref_mut(),
        };
        (&mut frame.slots, env, &mut self.vm)
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
