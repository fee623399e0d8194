//! Static footprints: all that a segment might touch from where its task is, whatever it reads.

use mazurka_program::{Access, AccessKind, Location};

use crate::value::Value;

use super::code::Image;
use super::entity::{Task, Wait};
use super::facts::SegmentFacts;
use super::run::{ANY_FUTURE, Machine};
use super::settings::{AwaitTrue, Uncaught};
use super::touch::Touch;

/// What the segment of a task may do, all frames together.
#[derive(Default)]
struct SegmentForecast {
    may_end: bool,
    may_block: bool,
    any_future: bool,
    futures: Vec<u32>,
}

/// What is taken for granted of a place that was not looked at.
static UNKNOWN: SegmentFacts =
    SegmentFacts { may_end: true, may_block: true, asks: Vec::new(), any_future: true };

impl Machine {
    /// Writes the static footprint of a task's next step.
    pub fn foresee(&self, image: &Image, p: u32, task: &Task, accesses: &mut Vec<Access>) {
        let mut add = |location, kind| accesses.push(Access::one(Location(location), kind));
        match &task.wait {
            Wait::Choosing(_) => return,
            Wait::Await { futures, noticed: false } => {
                futures.iter().for_each(|&f| add(self.future_locations[f as usize], AccessKind::Read));
                if self.needs_notice(image, task) {
                    return;
                }
            }
            Wait::Blocked(future) => add(self.future_locations[*future as usize], AccessKind::Read),
            _ => {}
        }
        if let Some(guard) = self.label_guard(task) {
            add(guard.location.0, AccessKind::Read);
        }
        let ahead = self.ahead(image, task);
        ahead.futures.iter().for_each(|&f| add(self.future_locations[f as usize], AccessKind::Read));
        if ahead.any_future {
            add(ANY_FUTURE, AccessKind::Read);
        }
        if ahead.may_end || self.may_end_early(image, task) {
            add(self.future_locations[p as usize], AccessKind::Write);
            if image.facts.any_future(self.continues()) {
                add(ANY_FUTURE, AccessKind::Write);
            }
        }
        if image.facts.has_local {
            add(self.data_location(image, task.cog), AccessKind::Update);
            return;
        }
        if self.has_lock(image, task.cog) && (task.holds_cog() || ahead.may_block) {
            add(self.lock_location(image, task.cog), AccessKind::Update);
            self.foresee_awaits(image, task, &mut add);
        }
        self.foresee_object(image, task, &mut add);
    }

    fn continues(&self) -> bool {
        self.settings.await_holds == AwaitTrue::Continue
    }

    /// Whether a task may end at any time: by an exception, or because its object is killed.
    fn may_end_early(&self, image: &Image, task: &Task) -> bool {
        let Some(object) = &task.object else { return true };
        let methods = &image.classes[object.class as usize].methods;
        self.throwing.contains(&task.method)
            || methods.iter().any(|(_, method)| self.throwing.contains(method))
    }

    /// All guards of awaits in the object of a task.
    fn foresee_awaits(&self, image: &Image, task: &Task, add: &mut impl FnMut(u32, AccessKind)) {
        let Some(object) = &task.object else { return };
        for own in 0..image.facts.classes[object.class as usize].own_awaits {
            add(self.await_location(image, object.id, own), AccessKind::Update);
        }
    }

    fn foresee_object(&self, image: &Image, task: &Task, add: &mut impl FnMut(u32, AccessKind)) {
        let Some(object) = &task.object else { return };
        let facts = &image.facts.classes[object.class as usize];
        let base = self.bases[object.id as usize];
        for &(field, kind) in &image.facts.methods[task.method as usize] {
            add(base + field, kind);
            if !kind.is_read() {
                for &own in &facts.awaits_of_field[field as usize] {
                    add(self.await_location(image, object.id, own), AccessKind::Update);
                }
            }
        }
        if self.settings.uncaught == Uncaught::Kill {
            let alive = self.alive_location(image, object.id);
            add(alive, AccessKind::Read);
            if self.throwing.contains(&task.method) {
                add(alive, AccessKind::Write);
                self.foresee_awaits(image, task, add);
                facts.guard_fields.iter().for_each(|&field| add(base + field, AccessKind::Write));
            }
        }
    }

    /// Follows the frames from the innermost out, as far as the segment may come.
    fn ahead(&self, image: &Image, task: &Task) -> SegmentForecast {
        let mut ahead = SegmentForecast { may_end: true, ..SegmentForecast::default() };
        let fresh = matches!(task.wait, Wait::Start);
        for frame in task.frames.iter().rev() {
            let next = if fresh { frame.pc } else { frame.pc + 1 };
            let ordinary = ahead.may_end.then_some(next);
            ahead.may_end = false;
            // Exceptions lead to handlers in any frame.
            for pc in ordinary.into_iter().chain(frame.handlers.iter().map(|handler| handler.at)) {
                let facts = image.facts.segment(frame.body, pc, self.continues()).unwrap_or(&UNKNOWN);
                ahead.may_end |= facts.may_end;
                ahead.may_block |= facts.may_block;
                ahead.any_future |= facts.any_future;
                let asked = facts.asks.iter().filter_map(|&slot| match &frame.slots[slot as usize] {
                    Value::Future(future) => Some(future.id),
                    _ => None,
                });
                ahead.futures.extend(asked);
            }
        }
        ahead
    }

    /// Something that the present step touched and its static footprint does not tell.
    pub fn uncovered(&self, image: &Image, foreseen: &[Access]) -> Option<Touch> {
        let told = |location: u32, written: bool| {
            let here = |access: &&Access| access.locations().any(|told| told.0 == location);
            foreseen.iter().filter(here).any(|access| !written || !access.kind.is_read())
        };
        self.touches.list().iter().copied().find(|touch| {
            if told(touch.location, touch.written) {
                return false;
            }
            let future = self.future_locations.iter().position(|&location| location == touch.location);
            match future {
                // What the step itself created nobody else has touched.
                Some(future) => {
                    self.tasks.at(future as u32, self.now()).is_some() && !told(ANY_FUTURE, touch.written)
                }
                None => !image.facts.has_local && !self.is_new(touch.location),
            }
        })
    }

    /// Whether a location is of an object that the present step created.
    fn is_new(&self, location: u32) -> bool {
        let owner =
            (0..self.bases.len()).filter(|&id| self.bases[id] <= location).max_by_key(|&id| self.bases[id]);
        owner.is_some_and(|id| self.objects.at(id as u32, self.now()).is_none())
    }
}
