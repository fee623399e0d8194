//! What all threads register with: handlers for the end of the program, and keys. The order in which they do
//! so decides in which order handlers are called: to register is a step, unless there is one thread only.

use mazurka_program::{AccessKind, Location};
use mazurka_threads::sync::StepEffects as _;

use super::user::with_runtime;
use crate::runtime::memory::shadow::Partition;
use crate::runtime::threads::arrive;
use crate::runtime::threads::operation::{CurrentStep, Operation};
use crate::runtime::threads::runtime::{Runtime, Search};

/// What is known of who registers.
pub(crate) struct Registry {
    location: Location,
    /// Whether some execution registers something while there are several threads: then the end of the
    /// program, which looks at what was registered, is a step too.
    shared: bool,
}

impl Registry {
    pub(crate) fn new(partition: &mut Partition) -> Registry {
        Registry { location: partition.other(), shared: false }
    }

    pub(crate) fn location(&self) -> Location {
        self.location
    }
}

/// A thread registers something, or looks at what was registered.
struct RegistryAccess {
    what: &'static str,
}

impl Operation for RegistryAccess {
    fn perform(&mut self, step: &mut CurrentStep<'_>) {
        let concurrent = step.runtime.execution.concurrent;
        let Search { registry, partition, .. } = &mut step.runtime.search;
        partition.news |= concurrent && !registry.shared;
        registry.shared |= concurrent;
        let location = registry.location;
        step.touch(location, AccessKind::Update);
    }

    fn describe(&self, _runtime: &Runtime) -> String {
        self.what.to_owned()
    }
}

/// The running thread is about to register something.
pub(crate) fn register(what: &'static str, place: usize) {
    arrive::operate(&mut RegistryAccess { what }, place);
}

/// The running thread is about to end the program.
pub(crate) fn end(place: usize) {
    if with_runtime(|runtime| runtime.search.registry.shared) {
        arrive::operate(&mut RegistryAccess { what: "end the program" }, place);
    }
}
