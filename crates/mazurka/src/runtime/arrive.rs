//! How a process comes to its operations, is suspended there, and ends.
#![allow(unsafe_code)]

use std::panic::{AssertUnwindSafe, Location as Caller, catch_unwind};
use std::ptr::NonNull;

use corosensei::Yielder;
use mazurka_program::{Guard, ProcessId, Stop};

use super::operation::{CurrentStep, Nature, Operation, Wait};
use super::process::{Body, Panicked, Pending, Resume, Status};
use super::spin::{Registers, leave_nothing, leave_nothing_of_comparing, wipe_leftovers};
use super::{Runtime, UNFIT, panics, with_runtime};

/// Where every coroutine begins.
pub(super) fn enter(yielder: NonNull<Yielder<Resume, ()>>, resume: Resume, body: Body) {
    with_runtime(|runtime| {
        let me = runtime.execution.schedule.running;
        runtime.process_mut(me).set_yielder(yielder);
    });
    if resume == Resume::End {
        // It never started. Its captures are dropped while it unwinds, as those of the others are: operations
        // of their destructors are done at once then, and nothing is suspended.
        let _ = catch_unwind(AssertUnwindSafe(move || {
            let _dropped_on_the_way = body;
            std::panic::resume_unwind(Box::new(EndOfExecution));
        }));
        return;
    }
    // The body of a thread keeps its own panics; what comes here is the end of the execution.
    let _ = catch_unwind(AssertUnwindSafe(body));
    // Each turn of the loop drops at least one variable.
    while catch_unwind(end_of_thread).is_err() {}
}

/// What a coroutine throws when its execution is over.
struct EndOfExecution;

/// Whether a panic is the end of an execution.
pub(crate) fn is_end_of_execution(payload: &(dyn std::any::Any + Send)) -> bool {
    payload.is::<EndOfExecution>()
}

/// The running process ends with a panic that nobody has been told of.
pub(crate) fn note_panic(payload: &(dyn std::any::Any + Send)) {
    let message = panics::message_of(payload);
    with_runtime(|runtime| {
        let process = runtime.execution.schedule.running;
        let seen = runtime
            .execution
            .last_panic
            .take()
            .filter(|panic| panic.process == process && panic.message == message);
        let place = seen.and_then(|panic| panic.place);
        runtime.execution.rounds.did_more();
        runtime.execution.panics.push(Panicked { process, told: false, message, place });
    });
}

/// The body of a thread has ended: its thread-local variables are dropped, those made last first. A
/// destructor may make others, but not those that were dropped.
pub(crate) fn end_of_thread() {
    if with_runtime(|runtime| runtime.process(runtime.execution.schedule.running).locals.is_empty())
        == Some(true)
    {
        return;
    }
    loop {
        let last = with_runtime(|runtime| {
            let me = runtime.execution.schedule.running;
            runtime.process_mut(me).locals.iter_mut().rev().find_map(|local| local.1.take())
        });
        match last.flatten() {
            Some(local) => drop(local),
            None => return,
        }
    }
}

/// Suspends the running process until its next turn.
fn suspend() {
    let yielder =
        with_runtime(|runtime| runtime.process(runtime.execution.schedule.running).yielder()).flatten();
    yielder.into_iter().for_each(suspend_with);
}

#[inline(always)]
fn suspend_with(yielder: NonNull<Yielder<Resume, ()>>) {
    // SAFETY: the yielder is that of the coroutine that runs here, so it is alive.
    if unsafe { yielder.as_ref() }.suspend(()) == Resume::End {
        end_here();
    }
}

/// Unwinds the running process: its execution is over.
#[cold]
fn end_here() {
    std::panic::resume_unwind(Box::new(EndOfExecution));
}

/// Suspends the running process for good. Returns only by unwinding.
pub(crate) fn stop_here() {
    loop {
        suspend();
    }
}

/// Stops the running process, which can't go on without an operation that was not done since its execution is
/// abandoned.
pub(crate) fn stop_without(place: &'static Caller<'static>) -> ! {
    if std::thread::panicking() {
        with_runtime(|runtime| runtime.give_up(place));
    }
    loop {
        stop_here();
    }
}

/// Brings the running process to an operation; returns when its step has been taken.
#[inline(always)]
pub(crate) fn operate(operation: &mut dyn Operation, place: &'static Caller<'static>) {
    let mut registers = Registers::unset();
    registers.take();
    operate_from(operation, place, &registers);
    wipe_leftovers();
}

/// As [`operate`], with the registers of the function whose frame may be compared.
#[inline(never)]
fn operate_from(operation: &mut dyn Operation, place: &'static Caller<'static>, registers: &Registers) {
    // SAFETY: the operation stays where it is while this function does not return.
    let arrival = with_runtime(|runtime| unsafe { runtime.come_to(operation, place, registers) });
    arrival.into_iter().for_each(Arrival::wait);
}

/// What became of an operation that a process came to.
#[must_use = "the process has to wait for its step"]
pub(crate) enum Arrival {
    /// The process waits for its turn, with this.
    Parked(NonNull<Yielder<Resume, ()>>),
    /// It was done at once.
    Done,
    /// It can't be done.
    Stuck,
}

impl Arrival {
    /// Waits until the step has been taken.
    #[inline(always)]
    pub(crate) fn wait(self) {
        match self {
            Arrival::Parked(yielder) => suspend_with(yielder),
            Arrival::Stuck => stop_here(),
            Arrival::Done => {}
        }
    }
}

impl Runtime {
    /// The running process comes to an operation. Inlined where the operation is known, which makes most of
    /// it vanish.
    ///
    /// # Safety
    /// The operation must stay where it is until [`Arrival::wait`] returns.
    #[inline(always)]
    pub(crate) unsafe fn come_to(
        &mut self,
        operation: &mut dyn Operation,
        place: &'static Caller<'static>,
        registers: &Registers,
    ) -> Arrival {
        if self.execution.ending || std::thread::panicking() {
            return self.operate_at_once(operation, place);
        }
        if self.execution.within.is_some() {
            return self.operate_within(operation, place);
        }
        if self.looks_for_rounds() {
            self.note_arrival(place, registers);
        } else if self.is_suspect(self.execution.schedule.running) {
            self.compare_memory();
            leave_nothing_of_comparing();
        }
        if self.process(self.execution.schedule.running).may_loop(place) {
            self.look_for_loop(place, registers);
            leave_nothing();
        }
        let spin = match self.suspects(place) && !operation.wait().is_some() {
            true => self.spin(place, registers),
            false => None,
        };
        if self.search.scripted > 0 {
            if self.is_scripted(place) && self.follow_script(operation, place, registers.top(), spin) {
                return Arrival::Done;
            }
            self.check_next(place);
        }
        // Where the search merely begins again, the execution is run to its end before.
        if self.search.fatal.as_ref().is_some_and(|stop| *stop != Stop::BeginAgain) {
            return Arrival::Stuck;
        }
        // SAFETY: the caller vouches for it.
        unsafe { self.arrive(operation, place, registers.top(), spin) }
    }

    /// The running process has come to an operation.
    ///
    /// # Safety
    /// The operation must stay where it is until the process is resumed.
    #[inline(always)]
    unsafe fn arrive(
        &mut self,
        operation: &mut dyn Operation,
        place: &'static Caller<'static>,
        top: usize,
        spin: Option<Wait>,
    ) -> Arrival {
        let me = self.execution.schedule.running;
        self.execution.operations += 1;
        let Nature { wait, plain, branches } = operation.nature();
        let (wait, spins) = (spin.unwrap_or(wait), spin.is_some());
        let guard = self.guard_of(wait);
        self.execution.schedule.arrive(me, wait.is_some(), branches);
        let process = self.process_mut(me);
        // SAFETY: the caller vouches for it.
        let operation = unsafe { Pending::keep(operation) };
        process.pending = Some(Pending { operation, place, wait, spins, plain, branches, guard, top });
        process.status = Status::Parked;
        process.yielder().map_or(Arrival::Done, Arrival::Parked)
    }

    /// A process takes the step of the operation that it is at.
    #[inline]
    pub(super) fn leave(&mut self, process: ProcessId, pending: Pending) {
        self.search.heartbeat.operation(pending.place);
        self.execution.schedule.leave(process, pending.wait.is_some(), pending.branches);
    }

    /// The guard of a step that waits for what others can undo. What it reads is watched from now on.
    #[inline(always)]
    pub(super) fn guard_of(&mut self, wait: Wait) -> Option<Guard> {
        match wait {
            Wait::Nothing | Wait::Own => None,
            Wait::Guard { location, until } => {
                self.execution.values.watch(location);
                Some(self.search.guards.until(location, until))
            }
            Wait::Change(guard) => {
                self.watch_loop(guard);
                Some(guard)
            }
        }
    }

    #[cold]
    fn watch_loop(&mut self, guard: Guard) {
        let reads = self.search.guards.reads(guard.id);
        reads.iter().for_each(|read| self.execution.values.watch(read.0));
    }

    /// The running process unwinds and can't go on, nor be suspended.
    #[cold]
    fn give_up(&mut self, place: &'static Caller<'static>) {
        self.search.spoiled = true;
        UNFIT.set(true);
        let message = format!(
            "{} would have to wait at {place} while it unwinds; that is not supported",
            self.who_unwinds()
        );
        self.fail(Stop::Unsupported(message));
    }

    /// The running process, for people, and with what it panicked.
    fn who_unwinds(&self) -> String {
        let name = self.name_of(self.execution.schedule.running);
        match self
            .execution
            .last_panic
            .as_ref()
            .filter(|panic| panic.process == self.execution.schedule.running)
        {
            Some(panic) => {
                let at = panic.place.as_ref().map_or(String::new(), |place| format!(" at {place}"));
                format!("thread `{name}`, which panicked{at} ({}),", panic.message)
            }
            None => format!("thread `{name}`"),
        }
    }

    /// Does an operation of a process that unwinds, as part of the step in which it began to. It must not
    /// have to wait: a process can't be suspended while it unwinds.
    fn operate_at_once(&mut self, operation: &mut dyn Operation, place: &'static Caller<'static>) -> Arrival {
        let me = self.execution.schedule.running;
        if !std::thread::panicking() {
            // Somebody caught the end of the execution and went on.
            return Arrival::Stuck;
        }
        let ready = match operation.wait() {
            Wait::Nothing => true,
            Wait::Guard { location, until } => until.holds(self.value(location)),
            Wait::Change(_) | Wait::Own => operation.ready(self, me),
        };
        if !ready && self.execution.ending {
            // Nobody is interested any longer: a destructor that joins a thread, say, goes on without.
            return Arrival::Done;
        }
        if !ready {
            self.give_up(place);
            return Arrival::Stuck;
        }
        if !self.execution.ending && operation.branches() && operation.alternatives(self) > 1 {
            let message = format!(
                "{} comes to a step with several outcomes at {place} while it unwinds; that is not supported",
                self.who_unwinds()
            );
            self.fail(Stop::Unsupported(message));
        }
        self.step.unwound += 1;
        self.execution.operations += 1;
        // The step that it is part of has been counted already.
        let depth = self.execution.schedule.depth;
        self.execution.schedule.depth = depth.saturating_sub(1);
        operation.perform(&mut CurrentStep { runtime: self, process: me, choice: 0, place });
        self.execution.schedule.depth = depth;
        if self.step.story.is_some() {
            self.tell_unwinding(operation);
        }
        Arrival::Done
    }
}
