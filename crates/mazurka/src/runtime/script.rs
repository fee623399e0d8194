//! The steps of an execution, so that they can be taken again, and the step itself.

use std::panic::Location as Caller;
use std::ptr;

use mazurka_program::{AccessKind, Failure, FailureKind, GuardId, Label, Location, ProcessId, Stop};

use super::operation::{Nature, Operation, Step, Wait};
use super::process::Pending;
use super::run::{MAIN, guard_of};
use super::{Until, World, place_of};

type Where = Option<&'static Caller<'static>>;

/// A step that was taken.
#[derive(Clone, Copy)]
pub(super) struct Taken {
    pub(super) process: ProcessId,
    pub(super) choice: u32,
    /// Where its operation is; none for an unwinding.
    pub(super) place: Where,
    /// The operation that the process came to then, if any.
    pub(super) next: Where,
    /// The operation that the process came to which the step created, if it did.
    pub(super) first: Where,
    pub(super) digest: u64,
}

impl Taken {
    /// Where the step differs from what it is now: after how many steps, and the places then and now.
    #[inline]
    pub(super) fn difference(&self, now: &Taken, position: usize) -> Option<(usize, (Where, Where))> {
        if self.digest != now.digest || !same_place(self.place, now.place) {
            return Some((position, (self.place, now.place)));
        }
        (!same_place(self.next, now.next)).then_some((position + 1, (self.next, now.next)))
    }
}

#[inline]
fn same_place(a: Where, b: Where) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => ptr::eq(a, b) || a == b,
        (a, b) => a.is_none() && b.is_none(),
    }
}

/// A number that tells labels apart.
#[inline]
fn digest(label: &Label) -> u64 {
    let accesses = label.accesses.iter();
    accesses.fold(label.spawned.len() as u64, |digest, access| add(digest, access.first, access.kind))
}

#[inline]
fn add(digest: u64, location: Location, kind: AccessKind) -> u64 {
    let word = u64::from(location.0) << 3 | kind as u64;
    (digest.rotate_left(5) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// How a process came to an operation.
#[derive(Clone, Copy)]
pub(super) struct Arrived {
    wait: Wait,
    guard: GuardId,
    spins: bool,
    plain: bool,
    /// The stack pointer there.
    top: usize,
}

impl Pending {
    #[inline]
    pub(super) fn arrival(&self) -> Arrived {
        Arrived { wait: self.wait, guard: self.guard, spins: self.spins, plain: self.plain, top: self.top }
    }
}

impl World {
    /// Does an operation of the running process, as a step. Gives what tells its label from others.
    #[inline]
    pub(super) fn perform(
        &mut self,
        operation: &mut dyn Operation,
        choice: u32,
        place: &'static Caller<'static>,
        arrived: Arrived,
    ) -> u64 {
        let process = self.running;
        self.label.clear();
        self.label.guard = guard_of(arrived.wait, arrived.guard);
        self.silent = true;
        if arrived.spins {
            self.process_mut(process).quiet.clear();
        }
        operation.perform(&mut Step { world: self, process, choice, place });
        let quiet = match self.label.accesses[..] {
            [only] if arrived.plain && self.silent => Some(only.first),
            _ => None,
        };
        self.note_quiet(process, place, arrived.top, quiet);
        if !self.groups.is_empty() {
            self.touch_groups();
            if let Some(guard) = self.label.guard.filter(|_| arrived.spins) {
                self.label.touch(guard.location, AccessKind::Read);
            }
        }
        if self.story.is_some() {
            self.tell(operation);
        }
        self.count_step(process);
        digest(&self.label)
    }

    /// The operation that a process which the step has created came to, if any.
    #[inline]
    pub(super) fn first_of_child(&self) -> Where {
        self.process(*self.label.spawned.first()?).pending.map(|pending| pending.place)
    }

    /// The step in which a process unwinds has no operation of its own.
    pub(super) fn begin_unwinding(&mut self) -> u64 {
        if self.foresee {
            let message = "a panic that unwinds over operations is not supported by source; use optimal";
            self.fail(Stop::Bound(message.to_owned()));
        }
        self.label.clear();
        self.count_step(self.running);
        digest(&self.label)
    }

    #[inline]
    fn count_step(&mut self, process: ProcessId) {
        self.depth += 1;
        let events = self.process(process).events + 1;
        self.process_mut(process).events = events;
        if self.races.enabled {
            self.races.step(process, events, &self.label);
        }
    }

    /// Whether the script has this operation of the running process as its next step. Not while there are processes to
    /// be started: what a process does after a step comes before the steps of others.
    #[inline]
    pub(super) fn is_scripted(&self, place: &'static Caller<'static>) -> bool {
        self.depth < self.scripted && self.starting.is_empty() && {
            let next = &self.script[self.depth as usize];
            next.process == self.running && next.place.is_some_and(|known| ptr::eq(known, place))
        }
    }

    /// Whether the operation that the running process has come to at this place, one that touches a single location, can be
    /// done again the short way: what it does is then left to the caller, who says so with [`World::repeated`].
    #[inline]
    pub(crate) fn may_repeat(&self, place: &'static Caller<'static>) -> bool {
        self.is_scripted(place)
            && self.groups.is_empty()
            && !self.races.enabled
            && !self.suspects(place)
            && !self.ending
            && !std::thread::panicking()
    }

    /// Whether the next step of the script touches this location, and no more.
    #[inline]
    pub(crate) fn expects(&self, location: Location, kind: AccessKind) -> bool {
        self.script[self.depth as usize].digest == add(0, location, kind)
    }

    /// A step of the script was taken the short way: it read a location and changed nothing, or else changed it.
    #[inline]
    pub(crate) fn repeated(&mut self, place: &'static Caller<'static>, top: usize, quiet: Option<Location>) {
        let me = self.running;
        self.operations += 1;
        self.depth += 1;
        self.note_quiet(me, place, top, quiet);
        let process = self.process_mut(me);
        process.events += 1;
        let events = process.events;
        self.log.set_process(me, events);
    }

    /// Takes the step that the script has, without going to the scheduler and back. False if that can't be: the scheduler
    /// will find out what is wrong.
    pub(super) fn follow_script(
        &mut self,
        operation: &mut dyn Operation,
        place: &'static Caller<'static>,
        top: usize,
        spin: Option<Wait>,
    ) -> bool {
        let Nature { wait, plain, .. } = operation.nature();
        let me = self.running;
        let (wait, spins) = (spin.unwrap_or(wait), spin.is_some());
        let ready = match wait {
            Wait::Nothing => true,
            Wait::Guard { until: Until::Differs(spin), .. } => self.differs(spin),
            Wait::Guard { location, until } => until.holds(self.cells.get(location)),
            Wait::Own => operation.ready(self, me),
        };
        if !ready || operation.spawns() {
            return false;
        }
        // Guards have numbers in the order of arrival, so that labels are the same.
        let guard = match wait {
            Wait::Guard { location, until } => self.capture(location, until),
            _ => GuardId(0),
        };
        self.operations += 1;
        let before = self.script[self.depth as usize];
        let arrived = Arrived { wait, guard, spins, plain, top };
        let digest = self.perform(operation, before.choice, place, arrived);
        self.log.set_process(me, self.process(me).events);
        if digest != before.digest {
            self.scripted = 0;
            self.not_as_scripted(before);
            return false;
        }
        true
    }

    /// Whether the running process comes to the operation that it came to before, after its last scripted step.
    pub(super) fn check_next(&mut self, place: &'static Caller<'static>) {
        let me = self.running;
        if self.process(me).events == 0 {
            let born = self.process(me).born as usize;
            let before = self.script.get(born).map_or(Some(place), |taken| taken.first);
            if me != MAIN && !same_place(before, Some(place)) {
                self.report_difference(born + 1, me, (before, Some(place)));
            }
            return;
        }
        let taken = &self.script[..(self.depth as usize).min(self.script.len())];
        let Some(last) = taken.iter().rposition(|taken| taken.process == me) else { return };
        let before = taken[last].next;
        if !same_place(before, Some(place)) {
            self.report_difference(last + 1, me, (before, Some(place)));
        }
    }

    /// A step of the script touches something else than it did.
    #[cold]
    fn not_as_scripted(&mut self, before: Taken) {
        self.report_difference(self.depth as usize - 1, before.process, (before.place, before.place));
    }

    /// Says what one execution did, and another after the same steps.
    #[cold]
    pub(super) fn report_difference(
        &mut self,
        position: usize,
        process: ProcessId,
        places: (Option<&Caller<'_>>, Option<&Caller<'_>>),
    ) {
        let told = |place: Option<&Caller<'_>>| match place {
            Some(place) => format!("comes to the operation at {place}"),
            None => "is not there".to_owned(),
        };
        let (before, now) = match places {
            (Some(a), Some(b)) if a == b => (told(Some(a)), "touches something else there".to_owned()),
            (before, now) => (told(before), told(now)),
        };
        let message = format!(
            "the closure does not repeat itself: after the same {position} steps, {} {before} in one execution, and {now} \
             in another. Something in it depends on time, on random numbers or hashes, on addresses, or on what an \
             earlier execution left behind",
            self.name_of(process),
        );
        let place = places.0.or(places.1).map(place_of);
        let kind = FailureKind::Nondeterminism;
        self.fail(Stop::Failure(Failure { kind, message, place, process: Some(process) }));
    }
}
