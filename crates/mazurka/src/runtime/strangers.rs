//! Threads of the operating system that take part in a check without being its threads.
//!
//! A `std::thread` that is spawned within a closure is nobody whom the check could schedule. If it uses an
//! object of the check it panics; but what the closure sees of that is a `join` that gives an error, or
//! nothing. So word is left for the check, which says what happened when its execution is over.

use std::panic::Location as Caller;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use mazurka_program::{Failure, FailureKind};

use super::{Runtime, place_of};

/// The first use of an object of an execution by a stranger.
struct Intrusion {
    stamp: u64,
    message: String,
    place: &'static Caller<'static>,
}

static INTRUSIONS: Mutex<Vec<Intrusion>> = Mutex::new(Vec::new());
/// Whether there ever was one: a lock is not taken for nothing.
static ANY: AtomicBool = AtomicBool::new(false);

/// No more executions than this have word left for them: those that are over never ask.
const MAX_INTRUSIONS: usize = 64;

/// A thread that is none of a check uses something that was made there, in the execution with this stamp.
///
/// # Panics
/// Always: there is nothing that it could do with it.
#[cold]
pub(crate) fn intrude(
    stamp: u64,
    kind: &str,
    created: &'static Caller<'static>,
    place: &'static Caller<'static>,
) -> ! {
    let message = format!(
        "the {kind} made at {created} belongs to a check and was used outside of it, at {place}: by a thread of std::thread, \
         or after the check had ended. Threads that share what belongs to a check have to be those of mazurka::thread"
    );
    let mut intrusions = INTRUSIONS.lock().unwrap_or_else(PoisonError::into_inner);
    if !intrusions.iter().any(|intrusion| intrusion.stamp == stamp) {
        if intrusions.len() == MAX_INTRUSIONS {
            intrusions.remove(0);
        }
        intrusions.push(Intrusion { stamp, message: message.clone(), place });
    }
    drop(intrusions);
    ANY.store(true, Ordering::Release);
    panic!("mazurka: {message}");
}

impl Runtime {
    /// What a stranger did in this execution. It comes before all else that went wrong, which may be because
    /// of it.
    pub(super) fn report_intrusion(&mut self) {
        if !ANY.load(Ordering::Acquire) {
            return;
        }
        let mut intrusions = INTRUSIONS.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(at) = intrusions.iter().position(|intrusion| intrusion.stamp == self.execution.stamp) else {
            return;
        };
        let Intrusion { message, place, .. } = intrusions.remove(at);
        drop(intrusions);
        self.execution.panics.clear();
        self.execution.findings.failures.clear();
        let (kind, place) = (FailureKind::InvalidSync, Some(place_of(place)));
        self.execution.findings.failures.push(Failure { kind, message, place, process: None });
    }
}
