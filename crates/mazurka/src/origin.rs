//! Which execution something belongs to that is not known by its address: a channel, a mailbox, a waker.

use mazurka_program::{Failure, FailureKind, Stop};

use crate::runtime::{place_of, strangers, with_runtime};
use crate::step::{CallSite, take_step};

/// Where a channel, a mailbox or a waker was made, and in which execution.
#[derive(Clone, Copy)]
pub(crate) struct Origin {
    /// That of the execution; 0 outside of a check.
    stamp: u64,
    kind: &'static str,
    pub(crate) created: CallSite,
}

/// Whether something can be used where it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Membership {
    /// In the execution that it was made in.
    Inside,
    /// Outside of any check, as it was made.
    Outside,
    /// It was made elsewhere, and can't take part.
    Foreign,
}

impl Origin {
    /// For something that is made now.
    pub(crate) fn now(kind: &'static str, created: CallSite) -> Origin {
        Origin { stamp: with_runtime(|runtime| runtime.execution.stamp).unwrap_or(0), kind, created }
    }

    /// Where it is used now, without a complaint.
    pub(crate) fn membership(&self) -> Membership {
        match with_runtime(|runtime| runtime.execution.stamp) {
            None if self.stamp == 0 => Membership::Outside,
            Some(stamp) if stamp == self.stamp => Membership::Inside,
            _ => Membership::Foreign,
        }
    }

    /// Where it is used now; if it was made elsewhere the execution ends.
    ///
    /// # Panics
    /// If it belongs to a check and is used outside of it.
    pub(crate) fn enter(&self, place: CallSite) -> Membership {
        let membership = self.membership();
        if membership == Membership::Foreign {
            self.complain(place);
        }
        membership
    }

    #[cold]
    fn complain(&self, place: CallSite) {
        let Origin { kind, created, .. } = self;
        let inside = with_runtime(|runtime| {
            let message = format!(
                "the {kind} made at {created} is not known to this check; make it within the closure that is \
                 checked, so that it is a new one in each execution"
            );
            let place = Some(place_of(created));
            let kind = FailureKind::InvalidSync;
            runtime.fail(Stop::Broken(Failure { kind, message, place, process: None }));
        });
        match inside {
            // The process does nothing, and the execution ends there.
            Some(()) => {
                take_step(place, |_| "use something that is not of this execution".to_owned(), |_| ());
            }
            // A panic on the way of another panic would end the operating system's process.
            None if std::thread::panicking() => {}
            None => strangers::intrude(self.stamp, kind, created, place),
        }
    }
}
