//! Time within a check: what clocks show follows from what happened before, and from nothing else.
//!
//! Each process has a clock. It advances when the process looks at it, sleeps, or waits in vain for as long as
//! it was ready to; and it is put forward to what another one showed when that comes before: whoever writes a
//! location leaves his time there for who reads or writes it next, whoever reads it for who writes it. So time
//! never goes back, along any chain of steps that depend on each other, and steps can be put in the order of
//! the times at which they are said to be. Equivalent executions show the same times: to look at a clock is no
//! step.
//!
//! A loop that looks at the clock until it is late has to end, and soon, since all that it does on the way
//! is done in every order with what others do. So the first look at a place in the source finds a process's
//! clock a tick later than it was, and each further one there ten times as much as the one before.
//!
//! Clocks are kept only in searches of programs that are known to look at them.

use std::panic::Location as Caller;
use std::time::Duration;

use mazurka_program::{Access, AccessKind, Location, ProcessId};
use mazurka_threads::lifetime::Reset;
use mazurka_threads::rounds::Changed;

use super::Runtime;
use super::operation::CurrentStep;

/// What passes before a process looks at its clock for the first time, at a place.
const TICK: Duration = Duration::from_millis(1);

/// So often what passes between two looks becomes ten times as much.
const GROWTHS: u32 = 6;

/// The clocks of an execution.
#[derive(Default)]
pub(crate) struct Clocks {
    /// Whether they are kept.
    pub(super) enabled: bool,
    /// By processes.
    own: Vec<OwnClock>,
    /// By locations.
    left: Vec<LeftTimes>,
}

#[derive(Clone, Default)]
struct OwnClock {
    now: Duration,
    /// How often it was looked at, by place.
    looks: Vec<(&'static Caller<'static>, u32)>,
    /// What it showed when the process read, or wrote, a location last.
    accesses: Vec<((Location, bool), Duration)>,
}

impl OwnClock {
    /// The process reads a location, or writes it, now. When it did so before, if that was not now.
    fn access(&mut self, location: Location, reads: bool) -> Option<Duration> {
        let now = self.now;
        match self.accesses.iter_mut().find(|access| access.0 == (location, reads)) {
            Some(access) => Some(std::mem::replace(&mut access.1, now)).filter(|&before| before != now),
            None => {
                self.accesses.push(((location, reads), now));
                Some(Duration::MAX)
            }
        }
    }
}

/// As a number, to be compared with others.
fn nanoseconds(time: Duration) -> u64 {
    time.as_nanos() as u64
}

/// The times that steps left at a location.
#[derive(Clone, Copy, Default)]
struct LeftTimes {
    by_writers: Duration,
    by_readers: Duration,
}

impl Reset for Clocks {
    fn reset(&mut self) {
        self.own.clear();
        self.left.clear();
    }
}

/// The entry of a number, which may be new.
fn entry<T: Clone + Default>(list: &mut Vec<T>, number: u32) -> &mut T {
    let at = number as usize;
    if at >= list.len() {
        list.resize(at + 1, T::default());
    }
    &mut list[at]
}

impl Clocks {
    fn of(&mut self, process: ProcessId) -> &mut OwnClock {
        entry(&mut self.own, process.0)
    }

    /// A step of a process comes after those that touched a location before in a way that conflicts.
    fn meet(&mut self, process: ProcessId, location: Location, kind: AccessKind) {
        let left = *entry(&mut self.left, location.0);
        let before = match kind.is_read() {
            true => left.by_writers,
            false => left.by_writers.max(left.by_readers),
        };
        let clock = self.of(process);
        clock.now = clock.now.max(before);
    }

    /// A step of a process leaves its time at a location.
    fn leave(&mut self, process: ProcessId, location: Location, kind: AccessKind) {
        let now = self.of(process).now;
        let left = entry(&mut self.left, location.0);
        match kind.is_read() {
            true => left.by_readers = left.by_readers.max(now),
            false => left.by_writers = left.by_writers.max(now),
        }
    }
}

impl Runtime {
    /// Whether clocks are kept.
    #[inline]
    pub(crate) fn keeps_clocks(&self) -> bool {
        self.execution.clocks.enabled
    }

    /// The running process looks at its clock.
    pub(crate) fn look_at_clock(&mut self, place: &'static Caller<'static>) -> Duration {
        let me = self.running();
        self.search.heartbeat.time(place);
        // A loop that looks at the clock is not as it was.
        self.process_mut(me).spin_state.clear();
        self.execution.rounds.did_more();
        let clock = self.execution.clocks.of(me);
        let looks = match clock.looks.iter_mut().find(|look| std::ptr::eq(look.0, place)) {
            Some(look) => &mut look.1,
            None => {
                clock.looks.push((place, 0));
                let last = clock.looks.len() - 1;
                &mut clock.looks[last].1
            }
        };
        clock.now += TICK * 10_u32.pow((*looks).min(GROWTHS));
        *looks += 1;
        clock.now
    }

    /// Time passes for the running process.
    pub(crate) fn let_time_pass(&mut self, duration: Duration) {
        if self.keeps_clocks() {
            self.execution.rounds.slept();
            let clock = self.execution.clocks.of(self.running());
            clock.now = clock.now.saturating_add(duration);
        }
    }

    /// Time passes for the running process until its clock shows as much.
    pub(crate) fn let_time_pass_until(&mut self, time: Duration) {
        if self.keeps_clocks() {
            self.execution.rounds.slept();
            let clock = self.execution.clocks.of(self.running());
            clock.now = clock.now.max(time);
        }
    }

    /// A process touches a location which tells it no later time than all that its step touches besides: it
    /// is the only one, or the end of the process. (The label may be that of an earlier step.)
    pub(crate) fn set_clock_alone(&mut self, process: ProcessId, location: Location, kind: AccessKind) {
        let before = self.execution.clocks.of(process).now;
        self.execution.clocks.meet(process, location, kind);
        self.execution.clocks.leave(process, location, kind);
        self.note_time(process, before, location, kind);
    }

    /// Notes for rounds that a process accesses a location, and that its clock went on for that.
    fn note_time(&mut self, process: ProcessId, before: Duration, location: Location, kind: AccessKind) {
        if !self.looks_for_rounds() {
            return;
        }
        let (clock, rounds) = (self.execution.clocks.of(process), &mut self.execution.rounds);
        rounds.change(Changed::Clock(process), nanoseconds(before), nanoseconds(clock.now));
        let (reads, now) = (kind.is_read(), nanoseconds(clock.now));
        if let Some(last) = clock.access(location, reads) {
            rounds.change(Changed::Time(process, location, reads), nanoseconds(last), now);
        }
    }

    /// A step of a process touches a location, besides those that its label has.
    pub(super) fn set_clock(&mut self, process: ProcessId, location: Location, kind: AccessKind) {
        let (clocks, label) = (&mut self.execution.clocks, &self.step.label);
        let before = clocks.of(process).now;
        clocks.meet(process, location, kind);
        clocks.leave(process, location, kind);
        for access in &label.accesses {
            access.locations().for_each(|location| clocks.leave(process, location, access.kind));
        }
        self.note_time(process, before, location, kind);
        for at in 0..self.step.label.accesses.len() {
            let Access { kind, .. } = self.step.label.accesses[at];
            let locations = self.step.label.accesses[at].locations();
            locations.for_each(|location| {
                let now = self.execution.clocks.of(process).now;
                self.note_time(process, now, location, kind);
            });
        }
    }
}

impl CurrentStep<'_> {
    /// The step creates a process, whose clock shows what its own does.
    pub(super) fn bequeath_time(&mut self, child: ProcessId) {
        if self.runtime.keeps_clocks() {
            let clocks = &mut self.runtime.execution.clocks;
            clocks.of(child).now = clocks.of(self.process).now;
        }
    }
}
