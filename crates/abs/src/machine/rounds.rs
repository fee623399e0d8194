//! Rounds: where a task has come back to where it was.
//!
//! A task that stands where it stood before may have gone a round; whether the state is that of then the engine
//! finds out, for states are known here in full. What a task wrote is not looked at, so no round is its own
//! alone.

use std::ops::ControlFlow;

use mazurka_program::{Location, Place, ProcessId, Round, Rounds};

use super::entity::Task;
use super::run::AbsRun;

/// Where a task stands: of each of its frames the body and the instruction.
fn stand(task: &Task) -> impl Iterator<Item = (u32, u32)> + '_ {
    task.frames.iter().map(|frame| (frame.body, frame.pc))
}

impl Task {
    /// Whether it stands where it could have come from only by a loop, if it stood there before.
    pub fn may_return(&self, before: &Task) -> bool {
        !self.is_done() && stand(self).le(stand(before))
    }
}

impl AbsRun {
    /// Whether a task stands where it stood before one of its steps.
    fn stood_here(&self, process: ProcessId, step: u32) -> bool {
        let before = self.machine.tasks.at(process.0, step).as_ref();
        let now = self.machine.task(process.0);
        before.zip(now).is_some_and(|(before, now)| stand(before).eq(stand(now)))
    }
}

impl Rounds for AbsRun {
    fn rounds(&self, process: ProcessId, own: &[u32], with: &mut dyn FnMut(Round) -> ControlFlow<()>) {
        for (steps, &step) in own.iter().rev().enumerate() {
            let is_back = self.stood_here(process, step);
            if is_back && with(Round { steps: steps + 1, restored: false }).is_break() {
                return;
            }
        }
    }

    fn arrivals(&self, process: ProcessId, own: &[u32]) -> usize {
        1 + own.iter().filter(|&&step| self.stood_here(process, step)).count()
    }

    fn describe(&self, process: ProcessId, _own: &[u32]) -> String {
        let at = self.place(process).map_or_else(String::new, |place| format!(" at {place}"));
        format!("the loop of {}{at}", mazurka_program::Explain::process_name(self, process))
    }

    fn place(&self, process: ProcessId) -> Option<Place> {
        self.machine.place_of(&self.image, self.machine.task(process.0)?)
    }

    fn location_name(&self, location: Location) -> Option<String> {
        Some(AbsRun::location_name(self, location))
    }
}
