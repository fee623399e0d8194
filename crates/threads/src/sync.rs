//! What condition variables and barriers do, in whatever language.
//!
//! A wait at a condition variable is three steps: the thread joins the queue and gives the lock back, it
//! wakes up, it takes the lock again. Who notifies takes threads from the queue and writes their wake
//! locations; a wake-up reads the one of its thread, so that it depends on nothing but the notification.
//! Nobody else can undo a notification, so a wake-up is no guarded step. A wait that may time out, or end of
//! itself, can always be taken: if the thread is in the queue still, the step takes it from there. Its label
//! differs from that of a wake-up by notification, so it varies.
//!
//! At a barrier the thread that comes last wakes the others, as a notification does, so that to go on depends
//! on that thread only, and not on those who come to the barrier for the next time.

use mazurka_program::{AccessKind, Location, Names, ProcessId};

use crate::waiters::{Spuriously, Waiter, Waiters};

/// A step while it is taken, as far as these primitives need it.
pub trait StepEffects {
    /// Who takes it.
    fn process(&self) -> ProcessId;

    /// Which of its outcomes it has.
    fn choice(&self) -> u32;

    /// What a location holds, without a trace of having looked.
    fn value(&self, location: Location) -> u64;

    /// Sets a location, without a trace of having done so.
    fn set(&mut self, location: Location, value: u64);

    /// Adds an access to the label.
    fn touch(&mut self, location: Location, kind: AccessKind);

    /// Says that the step would touch other locations, or touch them otherwise, had it read other values.
    fn varies(&mut self);

    /// Says that the step had to wait for the writer of a location.
    fn waited_for(&mut self, location: Location);

    /// Who waits.
    fn waiters(&mut self) -> &mut Waiters;

    /// The creation tree.
    fn names(&self) -> &Names;

    /// The location that stands for the wake-ups of a thread.
    fn wake_location(&mut self, process: ProcessId) -> Location;

    /// What somebody waits for has changed.
    fn wakes_somebody(&mut self);

    /// Tells people something about the step, if they listen.
    fn note(&mut self, note: impl FnOnce(&Self) -> String);

    /// The name of a thread for people.
    fn name(&self, process: ProcessId) -> String;
}

/// Wakes a thread that waits.
fn wake(step: &mut impl StepEffects, process: ProcessId) {
    step.waiters().remove(process);
    let location = step.wake_location(process);
    step.touch(location, AccessKind::Write);
    step.wakes_somebody();
}

/// Joins the queue of a condition variable and gives the lock back, unless others wait there with another
/// lock. Says whether it did. The label of a failure is that of a success.
pub fn join_queue(step: &mut impl StepEffects, queue: Location, lock: Location) -> bool {
    step.touch(queue, AccessKind::Update);
    step.touch(lock, AccessKind::Update);
    let one_lock = step.waiters().at(queue).all(|waiter| waiter.lock == Some(lock));
    if one_lock {
        let process = step.process();
        step.waiters().add(Waiter { queue, process, lock: Some(lock) });
        step.set(lock, 0);
    }
    one_lock
}

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// By a notification.
    Notified,
    /// By a timeout.
    TimedOut,
    /// Of itself.
    Spuriously,
}

/// A thread that wakes up from a queue.
#[derive(Clone, Copy, Debug)]
pub struct WakeUp {
    /// What it waits at.
    pub queue: Location,
    /// Whether it may time out.
    pub times_out: bool,
    /// Whether it may wake up of itself.
    pub spurious: bool,
}

impl WakeUp {
    /// When somebody wakes it, and not before.
    pub fn when_woken(queue: Location) -> WakeUp {
        WakeUp { queue, times_out: false, spurious: false }
    }

    /// Whether somebody must wake it.
    pub fn depends_on_others(&self) -> bool {
        !self.times_out && !self.spurious
    }

    /// Whether there may be two outcomes.
    pub fn branches(&self) -> bool {
        self.times_out && self.spurious
    }

    /// How many outcomes there are: by timeout and of itself.
    pub fn outcomes(&self, waiters: &Waiters, process: ProcessId) -> u32 {
        if self.branches() && waiters.contains(process) { 2 } else { 1 }
    }

    /// Takes the step.
    pub fn perform(&self, step: &mut impl StepEffects) -> Woken {
        let process = step.process();
        let woken = if step.waiters().remove(process) {
            step.touch(self.queue, AccessKind::Update);
            if self.times_out && !(self.spurious && step.choice() == 1) {
                step.note(|_| "timed out".to_owned());
                Woken::TimedOut
            } else {
                step.waiters().note(Spuriously::WakesUp, process);
                step.note(|_| "of itself".to_owned());
                Woken::Spuriously
            }
        } else {
            let wake = step.wake_location(process);
            step.touch(wake, AccessKind::Read);
            if self.depends_on_others() {
                step.waited_for(wake);
            }
            Woken::Notified
        };
        if !self.depends_on_others() {
            step.varies();
        }
        woken
    }
}

/// How many outcomes a notification has: to wake one has as many as there are threads that wait.
pub fn outcomes_of_notification(waiters: &Waiters, queue: Location, all: bool) -> u32 {
    if all { 1 } else { (waiters.at(queue).count() as u32).max(1) }
}

/// Wakes one who waits, or all.
pub fn notify(step: &mut impl StepEffects, queue: Location, all: bool) {
    let mut woken: Vec<ProcessId> = step.waiters().at(queue).map(|waiter| waiter.process).collect();
    if !all && woken.len() > 1 {
        // By their names, which don't depend on the order in which they came.
        woken.sort_by(|&a, &b| step.names().compare(a, b));
        woken = vec![woken[(step.choice() as usize).min(woken.len() - 1)]];
    }
    step.touch(queue, if woken.is_empty() { AccessKind::Read } else { AccessKind::Update });
    woken.iter().for_each(|&process| wake(step, process));
    step.varies();
    step.note(|step| match woken.is_empty() {
        true => "nobody waits".to_owned(),
        false => {
            let names: Vec<String> = woken.iter().map(|&process| step.name(process)).collect();
            format!("wakes {}", names.join(", "))
        }
    });
}

/// How a thread came to a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Round {
    /// How many must have come before it can go on, in the whole execution.
    pub complete_at: u64,
    /// Whether it came last.
    pub is_last: bool,
}

/// Comes to a barrier for so many threads, which holds how many did so. With static footprints nobody is
/// woken: to go on is then a step that waits for the barrier itself, and is guarded. Gives the round, and
/// whom it wakes.
pub fn come_to_barrier(
    step: &mut impl StepEffects,
    barrier: Location,
    threads: u64,
    static_footprints: bool,
) -> (Round, Vec<ProcessId>) {
    step.touch(barrier, AccessKind::Update);
    let arrived = step.value(barrier) + 1;
    step.set(barrier, arrived);
    let complete_at = arrived.next_multiple_of(threads);
    let round = Round { complete_at, is_last: arrived == complete_at };
    if static_footprints {
        return (round, Vec::new());
    }
    let mut woken = Vec::new();
    if round.is_last {
        woken.extend(step.waiters().at(barrier).map(|waiter| waiter.process));
        woken.iter().for_each(|&process| wake(step, process));
        step.note(|_| "the last one".to_owned());
    } else {
        let process = step.process();
        step.waiters().add(Waiter { queue: barrier, process, lock: None });
    }
    step.varies();
    (round, woken)
}
