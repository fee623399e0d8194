//! Who can go on: kept up to date after each step.

use super::code::Image;
use super::entity::{Task, Wait};
use super::guard::{NOW, await_of};
use super::run::Machine;
use super::settings::{ObjectOrder, TaskOrder};

impl Machine {
    /// Whether a future is resolved.
    pub fn is_resolved(&self, future: u32) -> bool {
        self.task(future).is_some_and(|task| task.is_done())
    }

    /// Whether a task can go on, whatever the order of tasks.
    fn ready(&self, image: &Image, task: &Task) -> bool {
        match &task.wait {
            Wait::Start | Wait::Suspended => self.guard_holds(image, task, NOW),
            Wait::Await { futures, .. } => {
                futures.iter().all(|&future| self.is_resolved(future))
                    && (self.needs_notice(image, task) || self.guard_holds(image, task, NOW))
            }
            Wait::Blocked(future) => self.is_resolved(*future),
            Wait::Choosing(_) | Wait::Chosen(_) => true,
            Wait::Done(_) => false,
        }
    }

    /// Whether the present step may have changed whether a task can go on.
    fn may_differ(&self, image: &Image, p: u32, task: &Task) -> bool {
        let now = self.now();
        let conditions = || {
            let this = task.frames.last().and_then(|frame| frame.this.as_ref());
            await_of(image, task).is_some_and(|code| !code.conditions.is_empty())
                && this.is_some_and(|this| self.objects.changed_in(this.id, now))
        };
        let killed = || task.object.as_ref().is_some_and(|object| self.objects.changed_in(object.id, now));
        self.tasks.changed_in(p, now)
            || self.cogs.changed_in(task.cog, now)
            || match task.wait {
                Wait::Await { .. } => self.resolved || conditions() || killed(),
                Wait::Blocked(_) => self.resolved,
                _ => false,
            }
    }

    /// Finds out who can go on after a step.
    pub fn settle(&mut self, image: &Image) {
        let unfinished = std::mem::take(&mut self.unfinished);
        if self.scheduled {
            let tasks: Vec<u32> = unfinished.iter().map(|process| process.0).collect();
            self.unfinished = unfinished;
            let chosen = self.choose(image, &tasks);
            tasks.iter().for_each(|p| self.set_enabled(*p, chosen.contains(p)));
            self.history.push(self.enabled.clone());
            return;
        }
        for process in unfinished.iter() {
            let Some(task) = self.task(process.0) else { continue };
            if self.may_differ(image, process.0, task) {
                let ready = self.ready(image, task);
                self.set_enabled(process.0, ready);
            }
        }
        self.unfinished = unfinished;
    }

    /// Of the tasks that can go on, those that may by the orders of tasks and objects.
    fn choose(&self, image: &Image, tasks: &[u32]) -> Vec<u32> {
        let ready = |p: &&u32| self.task(**p).is_some_and(|task| self.ready(image, task));
        let mut chosen: Vec<u32> = tasks.iter().filter(ready).copied().collect();
        let key = |p: u32| self.task(p).map_or((0, 0), |task| (task.cog, task.queued));
        if self.settings.tasks != TaskOrder::Any {
            let all = chosen.clone();
            let comes_before = |a: u32, b: u32| {
                let ((cog_a, a), (cog_b, b)) = (key(a), key(b));
                cog_a == cog_b && if self.settings.tasks == TaskOrder::Fifo { a < b } else { a > b }
            };
            chosen.retain(|&p| !all.iter().any(|&other| comes_before(other, p)));
        }
        if self.settings.objects == ObjectOrder::Circular {
            let last = self.cogs_made.iter().position(|&cog| cog == self.last_cog).unwrap_or(0);
            let turns = self.cogs_made[last + 1..].iter().chain(&self.cogs_made[..=last]);
            let has_turn = |cog: &&u32| chosen.iter().any(|&p| key(p).0 == **cog);
            if let Some(&cog) = turns.into_iter().find(has_turn) {
                chosen.retain(|&p| key(p).0 == cog);
            }
        }
        chosen
    }
}
