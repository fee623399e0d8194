//! The steps of an execution, so that they can be taken again, and the step itself.

use std::panic::Location as Caller;
use std::ptr;

use mazurka_program::{Access, AccessKind, Failure, FailureKind, Guard, Location, ProcessId, Stop};
use mazurka_threads::replay::{digest, mix_access};

use super::operation::{CurrentStep, Nature, Operation, Wait};
use super::process::Pending;
use super::run::MAIN;
use super::spin::leave_nothing_of_comparing;
use super::{Runtime, place_of};

type Where = Option<&'static Caller<'static>>;

/// A step that was taken.
#[derive(Clone, Copy)]
pub(super) struct TakenStep {
    pub(super) process: ProcessId,
    pub(super) choice: u32,
    /// Where its operation is; none for an unwinding.
    pub(super) place: Where,
    /// The operation that the process came to then, if any.
    pub(super) next: Where,
    /// The operation that the process came to which the step created, if it did.
    pub(super) first: Where,
    pub(super) digest: u64,
    /// The digest of what was done in its atomic block.
    pub(super) within: u64,
}

impl TakenStep {
    /// Where the step differs from what it is now: after how many steps, and the places then and now.
    #[inline]
    pub(super) fn difference(&self, now: &TakenStep, position: usize) -> Option<(usize, (Where, Where))> {
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

/// The digest of a label that touches nothing and creates nobody.
const NOTHING: u64 = 0;

/// Adds an access to a digest.
#[inline]
fn add(digest: u64, location: Location, kind: AccessKind) -> u64 {
    mix_access(digest, Access::one(location, kind))
}

/// How a process came to an operation.
#[derive(Clone, Copy)]
pub(super) struct Arrived {
    guard: Option<Guard>,
    spins: bool,
    plain: bool,
    branches: bool,
    /// The stack pointer there.
    top: usize,
}

impl Pending {
    #[inline]
    pub(super) fn arrival(&self) -> Arrived {
        let Pending { guard, spins, plain, branches, top, .. } = *self;
        Arrived { guard, spins, plain, branches, top }
    }
}

impl Runtime {
    /// Does an operation of the running process, as a step. Gives what tells its label, and the number of its
    /// outcomes, from others.
    #[inline(always)]
    pub(super) fn perform(
        &mut self,
        operation: &mut dyn Operation,
        choice: u32,
        place: &'static Caller<'static>,
        arrived: Arrived,
    ) -> u64 {
        let process = self.execution.schedule.running;
        self.step.label.clear();
        self.step.label.guard = arrived.guard;
        self.step.silent = true;
        if arrived.spins {
            self.process_mut(process).spin_state.clear();
        }
        if self.looks_for_rounds() {
            self.note_step(process, arrived.top);
        } else if self.is_suspect(process) {
            self.copy_memory(process);
            leave_nothing_of_comparing();
        }
        let outcomes = if arrived.branches { operation.alternatives(self) } else { 1 };
        operation.perform(&mut CurrentStep { runtime: self, process, choice, place });
        // Who writes without having read must not know what was there before: that is no part of what it read.
        let quiet = match self.step.label.accesses[..] {
            [only] if arrived.plain && self.step.silent && only.kind != AccessKind::Write => Some(only.first),
            _ => None,
        };
        self.note_for_spin(process, place, arrived.top, quiet);
        if self.looks_for_rounds() {
            self.note_done(operation);
        } else if self.process(process).is_sighted() {
            self.note_on_the_way(process, operation);
        }
        if !self.search.groups.is_empty() {
            self.search.groups.touch(&mut self.step.label);
            if let Some(guard) = self.step.label.guard.filter(|_| arrived.spins) {
                self.step.label.touch(guard.location, AccessKind::Read);
            }
        }
        if self.step.story.is_some() {
            self.tell(operation);
        }
        self.count_step(process);
        match outcomes {
            1 => digest(0, &self.step.label),
            _ => add(digest(0, &self.step.label), Location(outcomes), AccessKind::Read),
        }
    }

    /// The operation that a process which the step has created came to, if any.
    #[inline]
    pub(super) fn first_of_child(&self) -> Where {
        self.process(*self.step.label.spawned.first()?).pending.as_ref().map(|pending| pending.place)
    }

    /// The step in which a process unwinds has no operation of its own.
    pub(super) fn begin_unwinding(&mut self) -> u64 {
        if self.search.foresee {
            let message = "a panic that unwinds over operations is not supported by source; use optimal";
            self.fail(Stop::Unsupported(message.to_owned()));
        }
        self.step.label.clear();
        if self.looks_for_rounds() {
            self.execution.rounds.step(self.execution.schedule.running);
            self.execution.rounds.did_more();
        }
        self.count_step(self.execution.schedule.running);
        digest(0, &self.step.label)
    }

    #[inline(always)]
    fn count_step(&mut self, process: ProcessId) {
        let state = &mut self.processes[process.0 as usize];
        state.last = self.execution.schedule.depth;
        state.events += 1;
        self.execution.schedule.depth += 1;
    }

    /// Whether the script has this operation of the running process as its next step. Not while there are
    /// processes to be started: what a process does after a step comes before the steps of others.
    #[inline(always)]
    pub(super) fn is_scripted(&self, place: &'static Caller<'static>) -> bool {
        self.execution.schedule.depth < self.search.scripted
            && self.execution.schedule.starting.is_empty()
            && self.execution.within.is_none()
            && {
                let next = &self.search.script[self.execution.schedule.depth as usize];
                next.process == self.execution.schedule.running
                    && next.place.is_some_and(|known| ptr::eq(known, place))
            }
    }

    /// Whether the operation that the running process has come to at this place, one that touches a single
    /// location, can be done again the short way: what it does is then left to the caller, who says so with
    /// [`Runtime::repeated`].
    #[inline(always)]
    pub(crate) fn may_repeat(&self, place: &'static Caller<'static>) -> bool {
        // An execution that is left has no script.
        self.is_scripted(place)
            && self.search.is_simple
            && !self.search.heartbeat.is_time_up()
            && !self.suspects(place)
            && !self.is_suspect(self.execution.schedule.running)
            && !self.process(self.execution.schedule.running).may_loop(place)
            && !self.execution.ending
            && !std::thread::panicking()
    }

    /// Whether the next step of the script touches this location, and no more.
    #[inline]
    pub(crate) fn expects(&self, location: Location, kind: AccessKind) -> bool {
        self.search.script[self.execution.schedule.depth as usize].digest == add(NOTHING, location, kind)
    }

    /// A step of the script was taken the short way: it read a location and changed nothing, or else changed
    /// it.
    #[inline(always)]
    pub(crate) fn repeated(&mut self, place: &'static Caller<'static>, top: usize, quiet: Option<Location>) {
        let me = self.execution.schedule.running;
        self.search.heartbeat.repeated(me, place);
        self.note_for_spin(me, place, top, quiet);
        let process = &mut self.processes[me.0 as usize];
        process.last = self.execution.schedule.depth;
        process.events += 1;
        self.execution.log.set_process(me, process.events);
        self.execution.operations += 1;
        self.execution.schedule.depth += 1;
    }

    /// Takes the step that the script has, without going to the scheduler and back. False if that can't be:
    /// the scheduler will find out what is wrong.
    pub(super) fn follow_script(
        &mut self,
        operation: &mut dyn Operation,
        place: &'static Caller<'static>,
        top: usize,
        spin: Option<Wait>,
    ) -> bool {
        let Nature { wait, plain, branches } = operation.nature();
        let me = self.execution.schedule.running;
        let (wait, spins) = (spin.unwrap_or(wait), spin.is_some());
        if self.search.heartbeat.is_time_up() || !self.is_ready(operation, wait, me) {
            return false;
        }
        let guard = self.guard_of(wait);
        self.execution.operations += 1;
        self.search.heartbeat.repeated(me, place);
        let before = self.search.script[self.execution.schedule.depth as usize];
        let arrived = Arrived { guard, spins, plain, branches, top };
        self.do_again(operation, before, place, arrived) && {
            self.execution.log.set_process(me, self.process(me).events);
            true
        }
    }

    /// Takes the step that the script has, of a process that is parked at its operation; the process is to go
    /// on then. False if that can't be, as above.
    pub(super) fn follow_parked(&mut self, process: ProcessId) -> bool {
        let before = self.search.script[self.execution.schedule.depth as usize];
        let Some(pending) = self.process(process).pending else { return false };
        if pending.spins || !before.place.is_some_and(|place| ptr::eq(place, pending.place)) {
            return false;
        }
        self.execution.schedule.running = process;
        // SAFETY: the process is parked at it, and nobody else refers to it.
        #[allow(unsafe_code)]
        let operation = unsafe { pending.operation_mut() };
        let short = pending.plain && operation.repeat(self, pending.place, pending.top);
        if !short && !self.is_ready(operation, pending.wait, process) {
            return false;
        }
        self.leave(process, pending);
        self.process_mut(process).pending = None;
        short || self.do_again(operation, before, pending.place, pending.arrival())
    }

    /// Does an operation that can be done, as the step that the script has. False if it is another.
    fn do_again(
        &mut self,
        operation: &mut dyn Operation,
        before: TakenStep,
        place: &'static Caller<'static>,
        arrived: Arrived,
    ) -> bool {
        if self.perform(operation, before.choice, place, arrived) == before.digest {
            return true;
        }
        self.search.scripted = 0;
        self.not_as_scripted(before);
        false
    }

    /// Whether the running process comes to the operation that it came to before, after its last scripted
    /// step.
    #[inline(always)]
    pub(super) fn check_next(&mut self, place: &'static Caller<'static>) {
        let state = self.process(self.execution.schedule.running);
        let last = self.search.script.get(state.last as usize).filter(|_| state.events > 0);
        if !last.is_some_and(|taken| taken.next.is_some_and(|next| ptr::eq(next, place))) {
            self.check_next_closely(place);
        }
    }

    #[inline(never)]
    fn check_next_closely(&mut self, place: &'static Caller<'static>) {
        let me = self.execution.schedule.running;
        if self.process(me).events == 0 {
            let born = self.process(me).born as usize;
            let before = self.search.script.get(born).map_or(Some(place), |taken| taken.first);
            if me != MAIN && !same_place(before, Some(place)) {
                self.report_difference(born + 1, me, (before, Some(place)));
            }
            return;
        }
        let last = self.process(me).last as usize;
        let Some(before) = self.search.script.get(last).map(|taken| taken.next) else { return };
        if !same_place(before, Some(place)) {
            self.report_difference(last + 1, me, (before, Some(place)));
        }
    }

    /// Whether a process that has ended did so before, after its last scripted step.
    pub(super) fn check_end(&mut self, process: ProcessId) {
        let state = self.process(process);
        let (position, before) = match state.events {
            0 if process == MAIN => return,
            0 => (
                state.born as usize,
                self.search.script.get(state.born as usize).and_then(|taken| taken.first),
            ),
            _ => (
                state.last as usize,
                self.search.script.get(state.last as usize).and_then(|taken| taken.next),
            ),
        };
        if before.is_some() {
            self.report_difference(position + 1, process, (before, None));
        }
    }

    /// A step of the script touches something else than it did.
    #[cold]
    fn not_as_scripted(&mut self, before: TakenStep) {
        self.report_difference(
            self.execution.schedule.depth as usize - 1,
            before.process,
            (before.place, before.place),
        );
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
            (Some(a), Some(b)) if a == b => (told(Some(a)), "does something else there".to_owned()),
            (before, now) => (told(before), told(now)),
        };
        let message = format!(
            "the closure does not repeat itself: after the same {position} steps, {} {before} in one execution, and {now} \
             in another. Something in it depends on time, on random numbers or hashes, on addresses, or on what \
             other executions do or have left behind",
            self.name_of(process),
        );
        let place = places.0.or(places.1).map(place_of);
        let kind = FailureKind::Nondeterminism;
        self.fail(Stop::Broken(Failure { kind, message, place, process: Some(process) }));
    }
}
