//! A barrier, as [`std::sync::Barrier`].
//!
//! The thread that comes last wakes the others, as a notification of a condition variable does: it writes
//! their wake locations, so that to go on depends on that thread only and not on those who come to the
//! barrier for the next time.

use std::fmt;
use std::panic::Location as Caller;
use std::sync as real;

use mazurka_program::{AccessKind, Location, ProcessId};

use crate::runtime::cells::Until;
use crate::runtime::identity::Object;
use crate::runtime::operation::{Operation, Step, Wait};
use crate::runtime::waiters::Waiter;
use crate::runtime::{Whole, World, operate, with_world};
use crate::step::{call, opaque_debug, take_step};

/// As [`std::sync::Barrier`].
pub struct Barrier {
    object: Object,
    real: real::Barrier,
    threads: usize,
}

/// What [`Barrier::wait`] gives, as [`std::sync::BarrierWaitResult`].
pub struct BarrierWaitResult(bool);

/// Comes to the barrier. Its cell holds how many did so, in the whole execution. Gives how many must have
/// come before the thread can go on, and whether it is the last of these.
fn arrive(location: Location, threads: u64, step: &mut Step<'_>) -> (u64, bool) {
    step.touch(location, AccessKind::Update);
    let arrived = step.peek(location) + 1;
    step.set(location, arrived);
    step.acquire(location);
    step.release(location);
    let round = arrived.next_multiple_of(threads);
    let leader = arrived == round;
    if step.world.foresee {
        return (round, leader);
    }
    if leader {
        let woken: Vec<ProcessId> = step.world.waiters.at(location).map(|waiter| waiter.process).collect();
        for process in woken {
            step.wake(process);
            let wake = step.world.wake_of(process);
            step.release(wake);
        }
        step.note(|| "the last one".to_owned());
    } else {
        step.world.waiters.add(Waiter { queue: location, process: step.process, lock: None });
    }
    step.varies();
    (round, leader)
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

    fn ready(&self, world: &World, process: ProcessId) -> bool {
        !world.waiters.contains(process)
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
        let here = world.cells.get(self.location) % self.threads;
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
        let arrived = take_step(place, call(location, "wait"), |step| arrive(location, threads, step));
        let (round, leader) = arrived.unwrap_or((0, true));
        if !leader {
            let pass = with_world(|world| Pass {
                location,
                threads,
                round: world.foresee.then_some(round),
                wake: world.wake_of(world.running),
            });
            if let Some(mut pass) = pass {
                operate(&mut pass, place);
            }
        }
        BarrierWaitResult(leader)
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
