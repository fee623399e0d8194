//! Permissions to go on: how threads are parked, and how tasks sleep until a waker is called.
//!
//! A permission is a token: a location that holds 1 if it is there. To take it waits, as at a guard, and uses
//! it up.

use std::panic::Location as Caller;
use std::time::Duration;

use crate::runtime::identity::OwnKind;
use crate::runtime::operation::{CurrentStep, Operation, Wait};
use crate::runtime::{Runtime, operate, with_runtime};
use crate::step::{CallSite, take_told_step};
use mazurka_program::{AccessKind, Location, ProcessId};
use mazurka_threads::values::Until;
use mazurka_threads::waiters::Spuriously;

/// Gives a process its token; `verb` says what is done to it.
pub(crate) fn give_token(process: ProcessId, token: Location, verb: &str, place: CallSite) {
    let describe = |runtime: &Runtime| format!("{verb} {}", runtime.name_of(process));
    take_told_step(place, describe, |step| {
        step.touch(token, AccessKind::Write);
        step.set(token, 1);
        step.release(token);
    });
}

/// What a process takes its token for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sleep {
    Park,
    /// It may time out wherever the token is not there.
    ParkTimeout,
    /// A task, until its future is to be polled again.
    Task,
}

impl Sleep {
    /// What may end the sleep though the token is not there, to each process once in an execution.
    fn spuriously(self) -> Spuriously {
        if self == Sleep::Task { Spuriously::Polls } else { Spuriously::WakesUp }
    }
}

/// Waits for the token of the running process and uses it up.
pub(crate) struct TakeToken {
    token: Location,
    sleep: Sleep,
    spurious: bool,
    /// Whether the step was taken: it is not if the execution is abandoned.
    pub(crate) taken: bool,
    /// Whether that was because it timed out.
    timed_out: bool,
}

impl TakeToken {
    pub(crate) fn new(runtime: &Runtime, token: Location, sleep: Sleep) -> TakeToken {
        let may_be = match sleep.spuriously() {
            Spuriously::Polls => runtime.search.spurious.polls,
            _ => runtime.search.spurious.wakeups,
        };
        let spurious = may_be && !runtime.execution.waiters.has(sleep.spuriously(), runtime.running());
        TakeToken { token, sleep, spurious, taken: false, timed_out: false }
    }
}

impl Operation for TakeToken {
    fn is_told(&self) -> bool {
        true
    }

    fn wait(&self) -> Wait {
        match self.sleep == Sleep::ParkTimeout || self.spurious {
            true => Wait::Nothing,
            false => Wait::Guard { location: self.token, until: Until::Is(1) },
        }
    }

    fn perform(&mut self, step: &mut CurrentStep<'_>) {
        step.touch(self.token, AccessKind::Update);
        step.acquire(self.token);
        if step.peek(self.token) == 0 {
            self.timed_out = self.sleep == Sleep::ParkTimeout;
            if self.sleep != Sleep::ParkTimeout {
                step.runtime.execution.waiters.note(self.sleep.spuriously(), step.process);
                step.does_more();
            }
            let why = match self.sleep {
                Sleep::Park => "of itself",
                Sleep::ParkTimeout => "timed out",
                Sleep::Task => "polled though nobody woke it",
            };
            step.note(|| why.to_owned());
        }
        step.set(self.token, 0);
        self.taken = true;
    }

    fn describe(&self, _world: &Runtime) -> String {
        match self.sleep {
            Sleep::Park => "park()".to_owned(),
            Sleep::ParkTimeout => "park_timeout()".to_owned(),
            Sleep::Task => "await a wake-up".to_owned(),
        }
    }

    fn waits_for(&self, _world: &Runtime) -> (String, Vec<ProcessId>) {
        let what = match self.sleep {
            Sleep::Park | Sleep::ParkTimeout => "an unpark",
            Sleep::Task => "a wake-up: its future is pending, and nobody has woken it since it was polled",
        };
        (what.to_owned(), Vec::new())
    }
}

/// Lets a process go on from its present or its next [`park`].
pub(super) fn unpark(process: ProcessId, place: CallSite) {
    if let Some(token) = with_runtime(|runtime| runtime.own(process, OwnKind::Token, 0)) {
        give_token(process, token, "unpark", place);
    }
}

/// Parks the running process, for so long if it may time out; tells whether there is one.
#[track_caller]
fn park_model(sleep: Sleep, duration: Duration) -> bool {
    let park = with_runtime(|runtime| {
        let token = runtime.own(runtime.running(), OwnKind::Token, 0);
        TakeToken::new(runtime, token, sleep)
    });
    let Some(mut park) = park else { return false };
    operate(&mut park, Caller::caller());
    if park.timed_out {
        crate::time::passes(duration);
    }
    true
}

/// Waits until somebody unparks the thread.
#[track_caller]
pub fn park() {
    if !park_model(Sleep::Park, Duration::ZERO) {
        std::thread::park();
    }
}

/// Waits until somebody unparks the thread, or for a time: within a check it may time out whenever it is not
/// unparked.
#[track_caller]
pub fn park_timeout(duration: Duration) {
    if !park_model(Sleep::ParkTimeout, duration) {
        std::thread::park_timeout(duration);
    }
}

/// As [`park_timeout`], with milliseconds.
#[deprecated(note = "replaced by `park_timeout`")]
#[track_caller]
pub fn park_timeout_ms(ms: u32) {
    park_timeout(Duration::from_millis(u64::from(ms)));
}
