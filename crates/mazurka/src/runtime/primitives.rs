//! How the primitives that are the same in every language see a step of this one.

use mazurka_program::{AccessKind, Location, Names, ProcessId};
use mazurka_threads::sync;
use mazurka_threads::waiters::Waiters;

use super::Runtime;
use super::identity::OwnKind;
use super::operation::CurrentStep;

impl Runtime {
    /// The location that stands for the wake-ups of a process.
    pub(crate) fn wake_of(&mut self, process: ProcessId) -> Location {
        self.own(process, OwnKind::Wake, 0)
    }
}

impl sync::StepEffects for CurrentStep<'_> {
    fn process(&self) -> ProcessId {
        self.process
    }

    fn choice(&self) -> u32 {
        self.choice
    }

    fn value(&self, location: Location) -> u64 {
        self.peek(location)
    }

    fn set(&mut self, location: Location, value: u64) {
        CurrentStep::set(self, location, value);
    }

    fn touch(&mut self, location: Location, kind: AccessKind) {
        CurrentStep::touch(self, location, kind);
    }

    fn varies(&mut self) {
        CurrentStep::varies(self);
    }

    fn waited_for(&mut self, location: Location) {
        CurrentStep::waited_for(self, location);
    }

    fn waiters(&mut self) -> &mut Waiters {
        &mut self.runtime.execution.waiters
    }

    fn names(&self) -> &Names {
        &self.runtime.search.names
    }

    fn wake_location(&mut self, process: ProcessId) -> Location {
        self.runtime.wake_of(process)
    }

    fn wakes_somebody(&mut self) {
        self.runtime.execution.schedule.changed = true;
    }

    fn note(&mut self, note: impl FnOnce(&Self) -> String) {
        if self.runtime.step.story.is_some() {
            let text = note(self);
            CurrentStep::note(self, || text);
        }
    }

    fn name(&self, process: ProcessId) -> String {
        self.runtime.name_of(process)
    }
}
