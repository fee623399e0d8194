//! Steps: a segment, a draw, or that futures are resolved being noticed.

use std::rc::Rc;

use mazurka_program::{Access, AccessKind, FailureKind, Label, Location, ProcessId, Stop};

use super::code::{Image, NONE};
use super::entity::{Task, Wait};
use super::eval::{Fault, Thrown, exception};
use super::guard::NOW;
use super::record::{SegmentEnd, SegmentStart};
use super::run::{Machine, SCHEDULER};
use super::segment::{End, Segment};
use super::settings::Uncaught;

impl Machine {
    /// Takes the step of an enabled process. If the run can't go on, it is where it was.
    pub fn step(&mut self, image: &Image, p: u32, choice: u32, label: &mut Label) -> Result<(), Stop> {
        label.clear();
        if !self.enabled.contains(ProcessId(p)) {
            return Err(Stop::Bound(format!("process {p} can't take a step")));
        }
        let Some(before) = self.task(p).cloned() else { return Ok(()) };
        self.mark();
        self.touches.begin();
        self.vm.fuel = self.settings.max_segment_steps;
        self.resolved = false;
        label.guard = self.label_guard(&before);
        let foresees = self.foresees && !self.scheduled;
        if foresees {
            self.foresee(image, p, &before, &mut label.accesses);
        }
        let done = self.advance(image, p, choice, &before, label);
        self.note_operations(self.vm.fuel);
        if let Err(why) = done {
            self.undo_step();
            return Err(Stop::Bound(why));
        }
        self.write_label(image, foresees, matches!(before.wait, Wait::Choosing(_)), label);
        if self.refuses && label.varies {
            self.undo_step();
            return Err(Stop::Unsupported(
                "labels of what segments really touch were asked for, but this algorithm needs those of all that they \
                 might touch: choose another algorithm, or another dependence"
                    .to_owned(),
            ));
        }
        self.last_cog = before.cog;
        self.settle(image);
        if self.renames && (self.vm.told_names || self.guard_told_names.get()) {
            if let Ok(mut found) = self.found.lock() {
                (found.names_matter, found.again) = (true, true);
            }
            self.undo_step();
            return Err(Stop::BeginAgain);
        }
        if self.enabled.is_empty() {
            self.note_unhandled(image);
        }
        label.returns = self.task(p).is_some_and(|task| task.may_return(&before));
        self.measure_growth();
        Ok(())
    }

    fn write_label(&mut self, image: &Image, foresees: bool, draws: bool, label: &mut Label) {
        if self.scheduled {
            label.accesses.clear();
            label.waited_for.clear();
            label.touch(Location(SCHEDULER), AccessKind::Update);
            // A draw that others depend on has its outcomes counted again where it is moved to.
            label.varies = draws;
        } else if foresees {
            debug_assert!(
                self.uncovered(image, &label.accesses).is_none(),
                "a static footprint has no {:?}",
                self.uncovered(image, &label.accesses)
            );
        } else {
            let touches = self.touches.list().iter();
            label.accesses.extend(touches.map(|touch| Access::one(Location(touch.location), touch.kind())));
            label.varies = self.touches.varies;
        }
    }

    fn advance(
        &mut self,
        image: &Image,
        p: u32,
        choice: u32,
        before: &Rc<Task>,
        label: &mut Label,
    ) -> Result<(), String> {
        let mut task = Task::clone(before);
        match &mut task.wait {
            Wait::Choosing(count) => {
                debug_assert!(choice < *count);
                task.wait = Wait::Chosen(choice);
                self.note_start(image, p, before, SegmentStart::Draws(choice));
                self.note_end(image, p, &task, SegmentEnd::Drew(choice));
            }
            Wait::Await { futures, noticed } if self.needs_notice(image, before) => {
                *noticed = true;
                let futures = futures.clone();
                self.wait_for(&futures, label);
                self.note_start(image, p, before, SegmentStart::Notices);
                self.note_end(image, p, &task, SegmentEnd::Noticed);
            }
            _ => return self.segment(image, p, task, label),
        }
        self.put_task(image, p, task);
        Ok(())
    }

    /// The step was not to be taken before these were resolved.
    fn wait_for(&mut self, futures: &[u32], label: &mut Label) {
        for &future in futures {
            let location = self.future_locations[future as usize];
            self.touches.witness(location);
            label.waited_for.push(Location(location));
        }
    }

    pub fn put_task(&mut self, image: &Image, p: u32, task: Task) {
        let now = self.now();
        let task = self.arrive(image, p, task);
        *self.tasks.change(p, now) = Some(task);
    }

    /// A task from where it stands to where it waits next, or to its end.
    fn segment(&mut self, image: &Image, p: u32, mut task: Task, label: &mut Label) -> Result<(), String> {
        let held = task.holds_cog();
        if let Some(guard) = label.guard {
            self.touches.witness(guard.location.0);
        }
        match &task.wait {
            Wait::Await { futures, noticed: false } => self.wait_for(&futures.clone(), label),
            Wait::Blocked(future) => self.wait_for(&[*future], label),
            _ => {}
        }
        let start =
            if matches!(task.wait, Wait::Start) { SegmentStart::Starts } else { SegmentStart::Resumes };
        self.note_start(image, p, &task, start);
        let end = match self.dead_end(image, &task) {
            Some(end) => end,
            None => {
                let spawned = &mut label.spawned;
                Segment { machine: self, image, process: p, task: &mut task, spawned }.run()?
            }
        };
        self.finish(image, p, task, held, end)
    }

    /// How a segment of a dead object ends.
    fn dead_end(&mut self, image: &Image, task: &Task) -> Option<End> {
        let object = task.object.as_ref()?;
        if self.settings.uncaught == Uncaught::Forgive {
            return None;
        }
        let alive = self.alive_location(image, object.id);
        self.touches.witness(alive);
        if !self.is_dead(task, NOW) {
            return None;
        }
        self.touches.varies = true;
        let frame = task.frames.last()?;
        let span = image.bodies[frame.body as usize].spans[frame.pc as usize];
        let about = "an exception that was not caught had killed the object";
        match exception(image, image.known.object_dead, FailureKind::Exception, about, span) {
            Fault::Throw(thrown) => Some(End::Threw(thrown)),
            Fault::Stop(_) => None,
        }
    }

    fn finish(&mut self, image: &Image, p: u32, mut task: Task, held: bool, end: End) -> Result<(), String> {
        self.note_end_of(image, p, &task, &end);
        let holds = matches!(end, End::Blocked(_) | End::Chooses(_));
        if held || holds {
            self.change_lock(image, task.cog, if holds { p } else { NONE });
        }
        task.wait = match end {
            End::Suspended => Wait::Suspended,
            End::Awaits(futures) => Wait::Await { futures, noticed: false },
            End::Blocked(future) => Wait::Blocked(future),
            End::Chooses(count) => Wait::Choosing(count),
            End::Returned(value) => Wait::Done(Ok(value)),
            End::Threw(thrown) => {
                self.uncaught(image, p, &task, &thrown)?;
                Wait::Done(Err(thrown))
            }
        };
        if task.is_done() {
            task.frames.clear();
            self.touches.resolve(self.future_locations[p as usize]);
            self.resolved = true;
            self.set_unfinished(p, false);
            self.set_enabled(p, false);
        } else if !holds {
            task.queued = self.clock;
            self.clock += 1;
        }
        self.put_task(image, p, task);
        Ok(())
    }

    /// Locks or unlocks a cog. All guards in it look at that.
    fn change_lock(&mut self, image: &Image, cog: u32, holder: u32) {
        debug_assert!(self.has_lock(image, cog), "only a cog with a lock can be locked");
        let now = self.now();
        self.cogs.change(cog, now).holder = holder;
        self.touches.update(self.lock_location(image, cog));
        let mut members = Vec::new();
        self.for_members(cog, |member| members.push(member));
        for member in members {
            let class = self.references[member as usize].class;
            for own in 0..image.facts.classes[class as usize].own_awaits {
                self.touches.write(self.await_location(image, member, own));
            }
        }
    }

    /// What an exception does that leaves a task.
    fn uncaught(&mut self, image: &Image, p: u32, task: &Task, thrown: &Rc<Thrown>) -> Result<(), String> {
        let Some(object) = task.object.clone() else {
            self.main_failed(image, p, thrown);
            return Ok(());
        };
        if self.is_dead(task, NOW) {
            return Ok(());
        }
        if self.foresees && !self.scheduled && !self.throwing.contains(&task.method) {
            if let Ok(mut found) = self.found.lock() {
                found.throwing.insert(task.method);
                found.again = true;
            }
            let method = &image.methods[task.method as usize].name;
            return Err(format!("method {method} can throw what it does not catch"));
        }
        if self.settings.uncaught == Uncaught::Kill {
            self.kill(image, object.id, task.cog);
        }
        Ok(())
    }

    /// Kills an object. Guards of its tasks look at that, in whichever object of the cog they stand.
    fn kill(&mut self, image: &Image, object: u32, cog: u32) {
        let now = self.now();
        if let Some(object) = self.objects.change(object, now) {
            Rc::make_mut(object).dead = true;
        }
        self.touches.write(self.alive_location(image, object));
        let mut members = vec![object];
        self.for_members(cog, |member| members.push(member));
        for member in members {
            let facts = &image.facts.classes[self.references[member as usize].class as usize];
            for own in 0..facts.own_awaits {
                self.touches.update(self.await_location(image, member, own));
            }
            // No blind write: the field keeps its value, and who reads it reads what was written before.
            for &field in &facts.guard_fields {
                self.touches.update(self.bases[member as usize] + field);
            }
        }
    }
}
