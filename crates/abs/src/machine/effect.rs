//! Effects: new objects, calls, gets, awaits, draws.

use std::rc::Rc;

use mazurka_program::{FailureKind, ProcessId};

use crate::model::Span;
use crate::value::{Reference, Value};

use super::code::{Code, Image, Instr, NONE, Target};
use super::entity::{Cog, Object, Task, Wait};
use super::eval::{Fault, exception};
use super::guard::NOW;
use super::run::Machine;
use super::segment::{End, Flow};
use super::settings::{AwaitTrue, Uncaught};

/// The largest `n` of `random(n)`.
const MOST_OUTCOMES: i64 = 1000;

impl Machine {
    pub fn effect(
        &mut self,
        image: &Image,
        p: u32,
        task: &mut Task,
        instr: &Instr,
        span: Span,
        spawned: &mut Vec<ProcessId>,
    ) -> Result<Flow, Fault> {
        match instr {
            Instr::New { target, class, arguments, local } => {
                let arguments = self.arguments(image, task, arguments)?;
                self.create(image, p, task, *class, arguments, *local, *target);
                Ok(Flow::Elsewhere)
            }
            Instr::Call { target, callee, method, arguments } => {
                let arguments = self.arguments(image, task, arguments)?;
                let (object, method) = self.callee(image, task, *callee, *method, span)?;
                let child = self.spawn(image, p, task, &object, method, arguments, spawned);
                let future = Value::Future(self.futures[child as usize].clone());
                self.assign(image, task, *target, future);
                Ok(Flow::Next)
            }
            Instr::SyncCall { target, callee, method, arguments, .. } => {
                let arguments = self.arguments(image, task, arguments)?;
                let (object, method) = self.callee(image, task, *callee, *method, span)?;
                self.call_now(image, p, task, &object, method, arguments, *target, span, spawned)
            }
            Instr::Get { future, resolved, .. } => {
                let Some(frame) = task.frames.last_mut() else { return Ok(Flow::Next) };
                match self.eval(image, frame, *future)? {
                    Value::Future(future) => {
                        // Where an await has seen it resolved, that await has read it.
                        if !resolved {
                            self.touches.read(self.future_locations[future.id as usize]);
                        }
                        match self.is_resolved(future.id) {
                            true => self.take(image, task, future.id),
                            false => Ok(Flow::End(End::Blocked(future.id))),
                        }
                    }
                    _ => Err(null_pointer(image, span)),
                }
            }
            Instr::Random(_, bound) => {
                let Some(frame) = task.frames.last_mut() else { return Ok(Flow::Next) };
                let bound = self.eval(image, frame, *bound)?;
                outcomes(image, &bound, span).map(|count| Flow::End(End::Chooses(count)))
            }
            _ => Ok(Flow::Next),
        }
    }

    fn arguments(&mut self, image: &Image, task: &mut Task, codes: &[Code]) -> Result<Vec<Value>, Fault> {
        let Some(frame) = task.frames.last_mut() else { return Ok(Vec::new()) };
        codes.iter().map(|code| self.eval(image, frame, *code)).collect()
    }

    /// Whom a call goes to, and which method it is there.
    fn callee(
        &mut self,
        image: &Image,
        task: &mut Task,
        callee: Code,
        method: u32,
        span: Span,
    ) -> Result<(Rc<Reference>, u32), Fault> {
        let value = match task.frames.last_mut() {
            Some(frame) => self.eval(image, frame, callee)?,
            None => Value::Null,
        };
        let Value::Object(object) = value else { return Err(null_pointer(image, span)) };
        match image.method_of(object.class, method) {
            Some(method) => Ok((object, method)),
            None => {
                let name = &image.method_names[method as usize];
                let about = format!("{} has no method {name}", image.classes[object.class as usize].name);
                Err(exception(image, image.known.error, FailureKind::Exception, &about, span))
            }
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn create(
        &mut self,
        image: &Image,
        p: u32,
        task: &mut Task,
        class: u32,
        mut fields: Vec<Value>,
        local: bool,
        returns: Target,
    ) {
        let object = self.meet_object(image, p, task.created, class);
        task.created += 1;
        let (now, code) = (self.now(), &image.classes[class as usize]);
        let cog = if local { self.cog_here(task) } else { object.id + 1 };
        fields.resize(code.fields.len(), Value::Null);
        let writers = vec![now + 1; fields.len()];
        *self.objects.change(object.id, now) =
            Some(Rc::new(Object { class, cog, dead: false, fields, writers }));
        if local {
            let members = &mut self.cogs.change(cog, now).members;
            Rc::make_mut(members.get_or_insert_default()).push(object.id);
        } else {
            *self.cogs.change(cog, now) = Cog::default();
            self.cogs_made.push(cog);
        }
        if let Some(record) = &mut self.record {
            record.created.push(crate::value::Names::object(image, &object));
        }
        let mut frame = self.frame(image, code.init, Some(object), Vec::new());
        frame.returns = returns;
        task.frames.push(frame);
    }

    /// Creates a task.
    #[allow(clippy::too_many_arguments)]
    pub fn spawn(
        &mut self,
        image: &Image,
        p: u32,
        task: &mut Task,
        object: &Rc<Reference>,
        method: u32,
        arguments: Vec<Value>,
        spawned: &mut Vec<ProcessId>,
    ) -> u32 {
        let child = self.names.child(Some(ProcessId(p)), task.children);
        task.children += 1;
        self.meet_process(child.0);
        self.note_call(image, child.0, object, method, &arguments, task);
        let cog = self.objects.get(object.id).as_ref().map_or(0, |object| object.cog);
        let body = image.methods[method as usize].body;
        let created = Task {
            method,
            object: Some(object.clone()),
            cog,
            frames: vec![self.frame(image, body, Some(object.clone()), arguments)],
            wait: Wait::Start,
            children: 0,
            created: 0,
            guard: NONE,
            queued: self.clock,
            rethrown: false,
        };
        self.clock += 1;
        self.put_task(image, child.0, created);
        self.set_unfinished(child.0, true);
        spawned.push(child);
        child.0
    }

    /// The cog of the object whose code runs: that of the task, but for a new object with a cog of its own, which is
    /// initialised within the segment of its creator.
    fn cog_here(&self, task: &Task) -> u32 {
        let this = task.frames.last().and_then(|frame| frame.this.as_ref());
        let object = this.and_then(|this| self.objects.get(this.id).as_deref());
        object.map_or(task.cog, |object| object.cog)
    }

    /// A synchronous call: a frame within the cog, else a task and a get.
    #[allow(clippy::too_many_arguments)]
    fn call_now(
        &mut self,
        image: &Image,
        p: u32,
        task: &mut Task,
        object: &Rc<Reference>,
        method: u32,
        arguments: Vec<Value>,
        returns: Target,
        span: Span,
        spawned: &mut Vec<ProcessId>,
    ) -> Result<Flow, Fault> {
        let cog = self.objects.get(object.id).as_ref().map(|object| object.cog);
        if cog != Some(self.cog_here(task)) {
            let child = self.spawn(image, p, task, object, method, arguments, spawned);
            return Ok(Flow::End(End::Blocked(child)));
        }
        if self.settings.uncaught == Uncaught::Kill
            && task.object.as_ref().is_none_or(|own| own.id != object.id)
        {
            self.touches.read(self.alive_location(image, object.id));
            if self.objects.at(object.id, NOW).as_ref().is_some_and(|object| object.dead) {
                return Err(exception(image, image.known.object_dead, FailureKind::Exception, "", span));
            }
        }
        if task.frames.len() >= self.settings.max_depth {
            return Err(Fault::Stop(format!(
                "methods call each other more than {} deep, at line {}: an endless recursion?",
                self.settings.max_depth,
                image.line(span)
            )));
        }
        let body = image.methods[method as usize].body;
        let mut frame = self.frame(image, body, Some(object.clone()), arguments);
        frame.returns = returns;
        task.frames.push(frame);
        Ok(Flow::Elsewhere)
    }

    /// Takes what a resolved future has.
    pub fn take(&mut self, image: &Image, task: &mut Task, future: u32) -> Result<Flow, Fault> {
        let outcome = match self.task(future).map(|task| &task.wait) {
            Some(Wait::Done(outcome)) => outcome.clone(),
            _ => return Ok(Flow::End(End::Blocked(future))),
        };
        match outcome {
            Ok(value) => {
                let target = self.target_here(image, task);
                self.assign(image, task, target, value);
                Ok(Flow::Next)
            }
            Err(thrown) => {
                // Nobody looks at this before the end, and it is never taken back: no label tells it.
                let now = self.now();
                if let Some(ended) = self.tasks.change(future, now) {
                    Rc::make_mut(ended).rethrown = true;
                }
                Err(Fault::Throw(thrown))
            }
        }
    }

    /// An await: its futures are looked up now.
    pub fn reach_await(&mut self, image: &Image, task: &mut Task, index: u32) -> Result<Flow, Fault> {
        let code = &image.awaits[index as usize];
        let Some(frame) = task.frames.last_mut() else { return Ok(Flow::Next) };
        let span = image.bodies[frame.body as usize].spans[frame.pc as usize];
        let mut futures = Vec::with_capacity(code.futures.len());
        for &(future, _) in &code.futures {
            match self.eval(image, frame, future)? {
                Value::Future(future) => futures.push(future.id),
                _ => return Err(null_pointer(image, span)),
            }
        }
        if self.settings.await_holds == AwaitTrue::Continue {
            let mut holds = true;
            for &future in &futures {
                self.touches.read(self.future_locations[future as usize]);
                holds &= self.is_resolved(future);
            }
            for &condition in &code.conditions {
                holds = holds && matches!(self.eval(image, frame, condition)?, Value::Bool(true));
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
