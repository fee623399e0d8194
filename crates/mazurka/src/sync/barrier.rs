//! A barrier, as [`std::sync::Barrier`].
//!
//! The thread that comes last wakes the others, as a notification of a condition variable does: it writes their wake
//! locations, so that to go on depends on that thread only and not on those who come to the barrier for the next time.

use std::fmt;
use std::panic::Location as Caller;
use std::sync as real;

use mazurka_program::{AccessKind, Location, ProcessId};
use mazurka_threads::sync::{self, Round};
use mazurka_threads::values::Until;

use crate::runtime::identity::Object;
use crate::runtime::operation::{Operation, Step, Wait};
use crate::runtime::{Whole, World, operate, with_world};

/// As [`std::sync::Barrier`].
pub struct Barrier {
    object: Object,
    real: real::Barrier,
    threads: usize,
}

/// What [`Barrier::wait`] gives, as [`std::sync::BarrierWaitResult`].
pub struct BarrierWaitResult(bool);

/// Comes to the barrier. Its cell holds how many did so, in the whole execution.
struct Arrive {
    location: Location,
    threads: u64,
    round: Round,
}

impl Operation for Arrive {
    fn perform(&mut self, step: &mut Step<'_>) {
        let foresee = step.world.search.foresee;
        let (round, woken) = sync::come_to_barrier(step, self.location, self.threads, foresee);
        self.round = round;
        step.acquire(self.location);
        for process in woken {
            let wake = step.world.wake_of(process);
            step.release(wake);
        }
        step.release(self.location);
    }

    fn describe(&self, world: &World) -> String {
        format!("{}.wait()", world.name_of_location(self.location))
    }
}

/// Goes on when the last one has come.
struct GoOn {
    location: Location,
    threads: u64,
    /// With static footprints the step waits for the barrier itself, and is guarded.
    round: Option<u64>,
    wake: Location,
}

impl Operation for GoOn {
    fn wait(&self) -> Wait {
        match self.round {
            Some(round) => Wait::Guard { location: self.location, until: Until::AtLeast(round) },
            None => Wait::Own,
        }
    }

    fn ready(&self, world: &World, process: ProcessId) -> bool {
        !world.execution.waiters.contains(process)
    }

    fn perform(&mut self, step: &mut Step<'_>) {
        if self.round.is_some() {
            step.touch(self.location, AccessKind::Read);
            step.acquire(self.location);
        } else {
            step.touch(self.wake, AccessKind::Read);
            step.waited_for(self.wake);
            step.acquire(self.wake);
        }
    }

    fn describe(&self, world: &World) -> String {
        format!("pass {}", world.name_of_location(self.location))
    }

    fn waits_for(&self, world: &World) -> (String, Vec<ProcessId>) {
        let name = world.name_of_location(self.location);
        let here = world.value(self.location) % self.threads;
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
            with_world(|world| world.locate(&self.object, || Whole::of(self), "Barrier", || 0))
        else {
            self.object.use_outside();
            return BarrierWaitResult(self.real.wait().is_leader());
        };
        // A barrier for nobody lets everybody pass, as one for a single thread does.
        let threads = self.threads.max(1) as u64;
        let mut arrive = Arrive { location, threads, round: Round { complete_at: 0, is_last: true } };
        operate(&mut arrive, place);
        if !arrive.round.is_last {
            let go_on = with_world(|world| GoOn {
                location,
                threads,
                round: world.search.foresee.then_some(arrive.round.complete_at),
                wake: world.wake_of(world.execution.schedule.running),
            });
            if let Some(mut go_on) = go_on {
                operate(&mut go_on, place);
            }
        }
        BarrierWaitResult(arrive.round.is_last)
    }
}

impl BarrierWaitResult {
    /// Whether the thread came last.
    #[must_use]
    pub fn is_leader(&self) -> bool {
        self.0
    }
}

impl fmt::Debug for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Barrier").finish_non_exhaustive()
    }
}

impl fmt::Debug for BarrierWaitResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BarrierWaitResult").field("is_leader", &self.is_leader()).finish()
    }
}
