//! Effects: new objects, calls, gets, awaits, draws.

use std::rc::Rc;

use mazurka_program::{FailureKind, ProcessId};

use crate::model::{Span, Target};
use crate::value::{Reference, Value};

use super::code::{Code, Image, Instr};
use super::entity::{Cog, Object, Task, Wait};
use super::eval::{Fault, exception};
use super::guard::NOW;
use super::segment::{End, Flow, Segment};
use super::settings::{AwaitTrue, Uncaught};

/// The largest `n` of `random(n)`.
const MOST_OUTCOMES: i64 = 1000;

impl Segment<'_> {
    pub fn effect(&mut self, instr: &Instr, span: Span) -> Result<Flow, Fault> {
        match instr {
            Instr::New { target, class, arguments, local } => {
                let arguments = self.arguments(arguments)?;
                self.create(*class, arguments, *local, *target);
                Ok(Flow::Elsewhere)
            }
            Instr::Call { target, callee, method, arguments } => {
                let arguments = self.arguments(arguments)?;
                let (object, method) = self.callee(*callee, *method, span)?;
                let child = self.spawn(&object, method, arguments);
                let future = Value::Future(self.machine.futures[child as usize].clone());
                self.assign(*target, future);
                Ok(Flow::Next)
            }
            Instr::SyncCall { target, callee, method, arguments, .. } => {
                let arguments = self.arguments(arguments)?;
                let (object, method) = self.callee(*callee, *method, span)?;
                self.call_now(&object, method, arguments, *target, span)
            }
            Instr::Get { future, resolved, .. } => {
                let Value::Future(future) = self.eval(*future)? else {
                    return Err(null_pointer(self.image, span));
                };
                // Where an await has seen it resolved, that await has read it.
                if !resolved {
                    self.machine.touches.read(self.machine.future_locations[future.id as usize]);
                }
                self.take(future.id)
            }
            Instr::Random(_, bound) => {
                let bound = self.eval(*bound)?;
                outcomes(self.image, &bound, span).map(|count| Flow::End(End::Chooses(count)))
            }
            _ => Ok(Flow::Next),
        }
    }

    fn arguments(&mut self, codes: &[Code]) -> Result<Vec<Value>, Fault> {
        codes.iter().map(|code| self.eval(*code)).collect()
    }

    /// Whom a call goes to, and which method it is there.
    fn callee(&mut self, callee: Code, method: u32, span: Span) -> Result<(Rc<Reference>, u32), Fault> {
        let image = self.image;
        let Value::Object(object) = self.eval(callee)? else { return Err(null_pointer(image, span)) };
        match image.method_of(object.class, method) {
            Some(method) => Ok((object, method)),
            None => {
                let name = &image.method_names[method as usize];
                let about = format!("{} has no method {name}", image.classes[object.class as usize].name);
                Err(exception(image, image.known.error, FailureKind::Exception, &about, span))
            }
        }
    }

    fn create(&mut self, class: u32, mut fields: Vec<Value>, local: bool, returns: Option<Target>) {
        let cog_here = self.cog_here();
        let (machine, image) = (&mut *self.machine, self.image);
        let object = machine.meet_object(image, self.process, self.task.created, class);
        self.task.created += 1;
        let (now, code) = (machine.now(), &image.classes[class as usize]);
        let cog = if local { cog_here } else { object.id + 1 };
        fields.resize(code.fields.len(), Value::Null);
        let writers = vec![now + 1; fields.len()];
        *machine.objects.change(object.id, now) =
            Some(Rc::new(Object { class, cog, dead: false, fields, writers }));
        if local {
            let members = &mut machine.cogs.change(cog, now).members;
            Rc::make_mut(members.get_or_insert_default()).push(object.id);
        } else {
            *machine.cogs.change(cog, now) = Cog::default();
            machine.cogs_made.push(cog);
        }
        if let Some(record) = &mut machine.record {
            record.created.push(crate::value::Names::object(image, &object));
        }
        self.push_frame(code.init, object, Vec::new(), returns);
    }

    /// Lets the task go on in a body.
    fn push_frame(&mut self, body: u32, this: Rc<Reference>, arguments: Vec<Value>, returns: Option<Target>) {
        let mut frame = self.machine.frame(self.image, body, Some(this), arguments);
        frame.returns = returns;
        self.task.frames.push(frame);
    }

    /// Creates a task.
    pub fn spawn(&mut self, object: &Rc<Reference>, method: u32, arguments: Vec<Value>) -> u32 {
        let (machine, image) = (&mut *self.machine, self.image);
        let child = machine.names.child(Some(ProcessId(self.process)), self.task.children);
        self.task.children += 1;
        machine.meet_process(child.0);
        machine.note_call(image, child.0, object, method, &arguments, self.task);
        let cog = machine.objects.get(object.id).as_ref().map_or(0, |object| object.cog);
        let body = image.methods[method as usize].body;
        let frame = machine.frame(image, body, Some(object.clone()), arguments);
        let created = Task::new(method, Some(object.clone()), cog, frame, machine.clock);
        machine.clock += 1;
        machine.put_task(image, child.0, created);
        machine.set_unfinished(child.0, true);
        self.spawned.push(child);
        child.0
    }

    /// The cog of the object whose code runs: that of the task, but for a new object with a cog of its own,
    /// which is initialised within the segment of its creator.
    fn cog_here(&self) -> u32 {
        let this = self.task.frames.last().and_then(|frame| frame.this.as_ref());
        let object = this.and_then(|this| self.machine.objects.get(this.id).as_deref());
        object.map_or(self.task.cog, |object| object.cog)
    }

    /// A synchronous call: a frame within the cog, else a task and a get.
    fn call_now(
        &mut self,
        object: &Rc<Reference>,
        method: u32,
        arguments: Vec<Value>,
        returns: Option<Target>,
        span: Span,
    ) -> Result<Flow, Fault> {
        let cog = self.machine.objects.get(object.id).as_ref().map(|object| object.cog);
        if cog != Some(self.cog_here()) {
            let child = self.spawn(object, method, arguments);
            return Ok(Flow::End(End::Blocked(child)));
        }
        let (machine, image) = (&mut *self.machine, self.image);
        if machine.settings.uncaught == Uncaught::Kill
            && self.task.object.as_ref().is_none_or(|own| own.id != object.id)
        {
            machine.touches.read(machine.alive_location(image, object.id));
            if machine.objects.at(object.id, NOW).as_ref().is_some_and(|object| object.dead) {
                return Err(exception(image, image.known.object_dead, FailureKind::Exception, "", span));
            }
        }
        if self.task.frames.len() >= machine.settings.max_depth {
            return Err(Fault::Stop(format!(
                "methods call each other more than {} deep, at line {}: an endless recursion?",
                machine.settings.max_depth,
                image.line(span)
            )));
        }
        self.push_frame(image.methods[method as usize].body, object.clone(), arguments, returns);
        Ok(Flow::Elsewhere)
    }

    /// Takes what a future has, or blocks until it is resolved.
    pub fn take(&mut self, future: u32) -> Result<Flow, Fault> {
        let outcome = match self.machine.task(future).map(|task| &task.wait) {
            Some(Wait::Done(outcome)) => outcome.clone(),
            _ => return Ok(Flow::End(End::Blocked(future))),
        };
        match outcome {
            Ok(value) => {
                self.assign(self.target_here(), value);
                Ok(Flow::Next)
            }
            Err(thrown) => {
                // Nobody looks at this before the end, and it is never taken back: no label tells it.
                let now = self.machine.now();
                if let Some(ended) = self.machine.tasks.change(future, now) {
                    Rc::make_mut(ended).rethrown = true;
                }
                Err(Fault::Throw(thrown))
            }
        }
    }

    /// An await: its futures are looked up now.
    pub fn reach_await(&mut self, index: u32, span: Span) -> Result<Flow, Fault> {
        let code = &self.image.awaits[index as usize];
        let mut futures = Vec::with_capacity(code.futures.len());
        for &(future, _) in &code.futures {
            match self.eval(future)? {
                Value::Future(future) => futures.push(future.id),
                _ => return Err(null_pointer(self.image, span)),
            }
        }
        if self.machine.settings.await_holds == AwaitTrue::Continue {
            let mut holds = true;
            for &future in &futures {
                self.machine.touches.read(self.machine.future_locations[future as usize]);
                holds &= self.machine.is_resolved(future);
            }
            for &condition in &code.conditions {
                holds = holds && matches!(self.eval(condition)?, Value::Bool(true));
            }
            if holds {
                return Ok(Flow::Next);
            }
        }
        Ok(Flow::End(End::Awaits(futures.into())))
    }
}

fn null_pointer(image: &Image, span: Span) -> Fault {
    let about = image.source(span);
    exception(image, image.known.null_pointer, FailureKind::Exception, &about, span)
}

/// How many outcomes a draw has.
fn outcomes(image: &Image, bound: &Value, span: Span) -> Result<u32, Fault> {
    let shown = crate::value::show(bound, image);
    match bound {
        Value::Int(count @ 1..=MOST_OUTCOMES) => Ok(*count as u32),
        Value::Int(..=0) => {
            let about = format!("random({shown}): there is no such number");
            Err(exception(image, image.known.error, FailureKind::Exception, &about, span))
        }
        _ => Err(Fault::Stop(format!(
            "random({shown}) at line {} has more than {MOST_OUTCOMES} outcomes",
            image.line(span)
        ))),
    }
}
