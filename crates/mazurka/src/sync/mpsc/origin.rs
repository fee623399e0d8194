//! Which execution something belongs to that is not known by its address.

use std::panic::Location as Caller;

use mazurka_program::{Failure, FailureKind, Stop};

use crate::runtime::operation::{Operation, Step};
use crate::runtime::{World, operate, place_of, strangers, with_world};

/// Where a channel, a mailbox or a waker was made, and in which execution.
#[derive(Clone, Copy)]
pub(crate) struct Origin {
    /// That of the execution; 0 outside of a check.
    stamp: u64,
    kind: &'static str,
    pub(crate) created: &'static Caller<'static>,
}

/// Where something is used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Scene {
    /// In the execution that it was made in.
    Inside,
    /// Outside of any check, as it was made.
    Outside,
    /// Elsewhere than it was made: it can't take part.
    Elsewhere,
}

/// What a process does that used something foreign: nothing, and the execution ends there.
struct Refused;

impl Operation for Refused {
    fn perform(&mut self, _step: &mut Step<'_>) {}

    fn describe(&self, _world: &World) -> String {
        "use something that is not of this execution".to_owned()
    }
}

impl Origin {
    /// For something that is made now.
    pub(crate) fn now(kind: &'static str, created: &'static Caller<'static>) -> Origin {
        Origin { stamp: with_world(|world| world.execution.stamp).unwrap_or(0), kind, created }
    }

    /// Where it is used now, without a complaint.
    pub(crate) fn scene(&self) -> Scene {
        match with_world(|world| world.execution.stamp) {
            None if self.stamp == 0 => Scene::Outside,
            Some(stamp) if stamp == self.stamp => Scene::Inside,
            _ => Scene::Elsewhere,
        }
    }

    /// Where it is used now; if it was made elsewhere the execution ends.
    ///
    /// # Panics
    /// If it belongs to a check and is used outside of it.
    pub(crate) fn enter(&self, place: &'static Caller<'static>) -> Scene {
        let scene = self.scene();
        if scene == Scene::Elsewhere {
            self.complain(place);
        }
        scene
    }

    #[cold]
    fn complain(&self, place: &'static Caller<'static>) {
        let Origin { kind, created, .. } = self;
        let inside = with_world(|world| {
            let message = format!(
                "the {kind} made at {created} is not known to this check; make it within the closure that is checked, \
                 so that it is a new one in each execution"
            );
            let place = Some(place_of(created));
            world.fail(Stop::Broken(Failure {
                kind: FailureKind::InvalidSync,
                message,
                place,
                process: None,
            }));
        });
        match inside {
            Some(()) => operate(&mut Refused, place),
            // A panic on the way of another panic would end the operating system's process.
            None if std::thread::panicking() => {}
            None => strangers::intrude(self.stamp, kind, created, place),
        }
    }
}
