//! Rounds: where a task has come back to where it was.
//!
//! A task that stands where it stood before may have gone a round; whether the state is that of then the engine
//! finds out, for states are known here in full. What a task wrote is not looked at, so no round is its own
//! alone.

use std::ops::ControlFlow;

use mazurka_program::{Location, Place, ProcessId, Round, Rounds};

use super::entity::Task;
use super::run::AbsRun;

/// So many of its last steps are looked at for where a task stood before.
const NEAR: usize = 1024;

/// Where a task stands: of each of its frames the body and the instruction.
fn stand(task: &Task) -> impl Iterator<Item = (u32, u32)> + '_ {
    task.frames.iter().map(|frame| (frame.body, frame.pc))
}

/// Whether a task stands where it stood, with the same local variables.
fn is_same(now: &Task, before: &Task) -> bool {
    let slots = || now.frames.iter().zip(&before.frames).all(|(now, before)| now.slots == before.slots);
    stand(now).eq(stand(before)) && slots()
}

impl Task {
    /// Whether it stands where it could have come from only by a loop, if it stood there before.
    pub fn may_return(&self, before: &Task) -> bool {
        !self.is_done() && stand(self).le(stand(before))
    }
}

impl AbsRun {
    /// A task as it is, with what it was before each of its steps, the last one first.
    fn before_steps(&self, process: ProcessId, own: &[u32]) -> impl Iterator<Item = (&Task, &Task)> {
        let mut own = own.iter().rev().copied().peekable();
        let changes = self.machine.tasks.before_changes(process.0);
        let of_own = changes.filter(move |&(step, _)| own.next_if_eq(&step).is_some());
        of_own.filter_map(move |(_, before)| Some((&**self.machine.task(process.0)?, &**before.as_ref()?)))
    }
}

impl Rounds for AbsRun {
    fn rounds(&self, process: ProcessId, own: &[u32], with: &mut dyn FnMut(Round) -> ControlFlow<()>) {
        for (steps, (now, before)) in self.before_steps(process, own).take(NEAR).enumerate() {
            let steps = steps + 1;
            if is_same(now, before)
                && with(Round { steps, restored: false, alone: steps, counts: true }).is_break()
            {
                return;
            }
        }
    }

    fn arrivals(&self, process: ProcessId, own: &[u32]) -> usize {
        1 + self.before_steps(process, own).filter(|(now, before)| stand(now).eq(stand(before))).count()
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
