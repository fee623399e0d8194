//! A barrier, as [`std::sync::Barrier`].
//!
//! The thread that comes last wakes the others, as a notification of a condition variable does: it writes
//! their wake locations, so that to go on depends on that thread only and not on those who come to the
//! barrier for the next time.

use std::fmt;
use std::panic::Location as Caller;
use std::sync as real;

use mazurka_program::{AccessKind, Location, ProcessId};
use mazurka_threads::sync::{self, Round};
use mazurka_threads::values::Until;

use crate::runtime::identity::Object;
use crate::runtime::operation::{CurrentStep, Operation, Wait};
use crate::runtime::{Runtime, Whole, operate, with_runtime};
use crate::step::{call, opaque_debug, take_told_step};

/// As [`std::sync::Barrier`].
pub struct Barrier {
    object: Object,
    real: real::Barrier,
    threads: usize,
}

/// What [`Barrier::wait`] gives, as [`std::sync::BarrierWaitResult`].
pub struct BarrierWaitResult(bool);

/// Comes to the barrier. Its cell holds how many did so, in the whole execution.
fn arrive(location: Location, threads: u64, step: &mut CurrentStep<'_>) -> Round {
    let foresee = step.runtime.search.foresee;
    let (round, woken) = sync::come_to_barrier(step, location, threads, foresee);
    step.acquire(location);
    for process in woken {
        let wake = step.runtime.wake_of(process);
        step.release(wake);
    }
    step.release(location);
    round
}

/// Goes on when the last one has come.
struct Pass {
    location: Location,
    threads: u64,
    /// With static footprints the step waits for the barrier itself, and is guarded.
    round: Option<u64>,
    wake: Location,
}

impl Operation for Pass {
    fn wait(&self) -> Wait {
        match self.round {
            Some(round) => Wait::Guard { location: self.location, until: Until::AtLeast(round) },
            None => Wait::Own,
        }
    }

    fn ready(&self, runtime: &Runtime, process: ProcessId) -> bool {
        !runtime.execution.waiters.contains(process)
    }

    fn perform(&mut self, step: &mut CurrentStep<'_>) {
        if self.round.is_some() {
            step.touch(self.location, AccessKind::Read);
            step.acquire(self.location);
        } else {
            step.touch(self.wake, AccessKind::Read);
            step.waited_for(self.wake);
            step.acquire(self.wake);
        }
    }

    fn describe(&self, runtime: &Runtime) -> String {
        format!("pass {}", runtime.name_of_location(self.location))
    }

    fn waits_for(&self, runtime: &Runtime) -> (String, Vec<ProcessId>) {
        let name = runtime.name_of_location(self.location);
        let here = runtime.value(self.location) % self.threads;
        (format!("more threads to come to `{name}`: {here} of {} are there", self.threads), Vec::new())
    }
}

impl Barrier {
    /// A barrier for so many threads.
    #[inline]
    #[must_use]
    #[track_caller]
    pub const fn new(n: usize) -> Barrier {
        Barrier { object: Object::new(), real: real::Barrier::new(n), threads: n }
    }

    /// Waits until all threads have come here. One of them, the last, is told that it leads.
    #[track_caller]
    pub fn wait(&self) -> BarrierWaitResult {
        let place = Caller::caller();
        let Some(location) =
            with_runtime(|runtime| runtime.locate(&self.object, || Whole::of(self), "Barrier", || 0))
        else {
            self.object.use_outside();
            return BarrierWaitResult(self.real.wait().is_leader());
        };
        // A barrier for nobody lets everybody pass, as one for a single thread does.
        let threads = self.threads.max(1) as u64;
        let arrived = take_told_step(place, call(location, "wait"), |step| arrive(location, threads, step));
        let Round { complete_at, is_last } = arrived.unwrap_or(Round { complete_at: 0, is_last: true });
        if !is_last {
            let pass = with_runtime(|runtime| Pass {
                location,
                threads,
                round: runtime.search.foresee.then_some(complete_at),
                wake: runtime.wake_of(runtime.running()),
            });
            if let Some(mut pass) = pass {
                operate(&mut pass, place);
            }
        }
        BarrierWaitResult(is_last)
    }
}

impl BarrierWaitResult {
    /// Whether the thread came last.
    #[must_use]
    pub fn is_leader(&self) -> bool {
        self.0
    }
}

opaque_debug!(Barrier;);

impl fmt::Debug for BarrierWaitResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BarrierWaitResult").field("is_leader", &self.is_leader()).finish()
    }
}
