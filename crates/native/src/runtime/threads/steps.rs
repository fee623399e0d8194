//! How steps are taken: the scheduler does what a thread has come to, and lets it run on to its next
//! operation.
#![allow(unsafe_code)]

use mazurka_program::{Access, AccessKind, Guard, ProcessId};
use mazurka_threads::race_log::Did;
use mazurka_threads::races::{Atomic, Order};
use mazurka_threads::replay::digest;

use super::operation::{CurrentStep, Operation, Wait};
use super::runtime::Runtime;
use super::script::TakenStep;
use super::spin::value_now;
use super::thread::{self, Pending, Status};
use crate::runtime::system::signals;

impl Runtime {
    /// Runs a thread until it suspends itself or ends.
    // Inlined, since the processor mispredicts every return behind a switch of stacks.
    #[inline(always)]
    pub(crate) fn resume(&mut self, process: ProcessId) {
        self.switch_to(process);
        if self.execution.threads[process].state.status == Status::Parked {
            self.arrived(process);
        }
    }

    /// The same, without a note of what the thread has come to.
    #[inline(always)]
    pub(crate) fn switch_to(&mut self, process: ProcessId) {
        let thread = &mut self.execution.threads[process];
        thread.state.status = Status::Running;
        let (routine, errno, registers) = (thread.routine(), thread.state.errno, thread.state.registers);
        self.put_registers_back(registers);
        if self.search.rounds {
            self.forget_call();
        }
        self.execution.schedule.running = process;
        self.search.turns += 1;
        let runtime: *mut Runtime = self;
        // SAFETY: the thread is parked, or was just created. The runtime is not used here while the thread
        // runs but through the pointer, which the thread uses too; the error number is that of this thread of
        // the operating system.
        let ended = unsafe {
            *(*runtime).search.errno = errno;
            let ended = thread::resume(routine);
            (*runtime).thread_mut(process).state.errno = *(*runtime).search.errno;
            ended
        };
        if self.search.watched.any {
            self.look_at_written();
        }
        if ended || self.execution.threads[process].state.status == Status::Finished {
            self.ended(process);
        }
    }

    /// Finds out anew where the threads are.
    pub(crate) fn look_around(&mut self) {
        self.execution.schedule.forget_arrivals();
        for at in 0..self.execution.schedule.created.len() {
            let process = self.execution.schedule.created[at];
            if self.execution.threads[process].state.status == Status::Parked {
                self.arrived(process);
            }
        }
        self.refresh();
    }

    /// Takes the step of the script that is next, of a thread that is parked. Nothing is noted of labels and
    /// of who can take a step.
    pub(crate) fn take_again(&mut self) {
        let position = self.execution.schedule.depth as usize;
        let before = self.replay.script[position];
        let process = before.process;
        self.execution.schedule.running = process;
        let state = &mut self.execution.threads[process].state;
        match state.pending {
            Pending::Access { access, mark, order, place } if mark == before.mark => {
                state.pending = Pending::Nothing;
                self.execution.schedule.depth += 1;
                if self.search.watched.any {
                    self.note_writes(&[access]);
                }
                if self.search.has_clock {
                    self.carry_time(process, &[access]);
                }
                if self.execution.races.enabled {
                    self.look_for_races(access, order, place);
                }
            }
            Pending::Operation { operation, wait, place } => {
                state.pending = Pending::Nothing;
                // SAFETY: the thread is parked at the operation, and nobody else refers to it.
                let operation = unsafe { &mut *operation };
                let ready = self.is_ready(operation, wait, process);
                if !ready || self.perform(operation, wait, before.choice, place) != before.mark {
                    return self.not_repeated(position, process);
                }
            }
            _ => return self.not_repeated(position, process),
        }
        self.go_on_again(process);
        self.start_again_created();
    }

    /// Starts those that were created in a script.
    pub(crate) fn start_again_created(&mut self) {
        while let Some(child) = self.execution.schedule.starting.pop() {
            self.go_on_again(child);
        }
    }

    /// Lets a thread run on in a script: over those of its steps that come next, to the operation that it
    /// came to before.
    #[inline]
    fn go_on_again(&mut self, process: ProcessId) {
        self.switch_to(process);
        let taken = self.execution.schedule.depth as usize;
        let Some(last) = taken.checked_sub(1).map(|last| self.replay.script[last]) else { return };
        if last.process == process && last.next != self.next_mark(process) {
            self.not_repeated(taken, process);
        }
    }

    /// Whether a step can be taken now.
    #[inline]
    pub(crate) fn is_ready(&self, operation: &dyn Operation, wait: Wait, process: ProcessId) -> bool {
        match wait {
            Wait::Nothing => true,
            Wait::Until(location, until) => until.holds(self.execution.values.get(location)),
            Wait::Change(guard) => {
                self.search.guards.holds(guard.id, |location| value_now(&self.search.partition, location))
            }
            Wait::Own => operation.ready(self, process),
        }
    }

    /// What a step waits for, as the engine knows it.
    #[inline]
    pub(crate) fn guard(&mut self, wait: Wait) -> Option<Guard> {
        match wait {
            Wait::Until(location, until) => Some(self.search.guards.until(location, until)),
            Wait::Change(guard) => Some(guard),
            Wait::Nothing | Wait::Own => None,
        }
    }

    /// A thread has come to an operation.
    #[inline]
    fn arrived(&mut self, process: ProcessId) {
        let (waits, branches) = match self.execution.threads[process].state.pending {
            // SAFETY: the thread is parked at the operation.
            Pending::Operation { operation, wait, .. } => unsafe {
                (wait != Wait::Nothing, (*operation).branches())
            },
            _ => (false, false),
        };
        self.execution.schedule.arrive(process, waits, branches);
    }

    /// A coroutine has returned: its thread is at its end, or was thrown out of it by a signal.
    fn ended(&mut self, process: ProcessId) {
        let thread = &mut self.execution.threads[process];
        if let Some(fault) = signals::take_fault() {
            thread.state.status = Status::Stopped;
            self.report_fault(process, fault);
            return;
        }
        thread.state.status = Status::Finished;
        // Nobody else writes it, and nobody reads it before: so the last write of a thread is as blind as any
        // other.
        self.step.label.touch(thread.end, AccessKind::Once);
        if self.search.has_clock {
            let end = Access::one(thread.end, AccessKind::Once);
            self.carry_time(process, &[end]);
        }
        let thread = &mut self.execution.threads[process];
        if self.search.rounds {
            let result = thread.state.result as u64;
            thread.buffers.rounds.end_thread(result, self.execution.schedule.depth);
        }
        let thread = &self.execution.threads[process];
        if self.execution.races.enabled {
            let end = thread.end;
            self.execution.races.synchronise(process, end, Atomic::Write, Order::Both);
            self.note_race(process, Did::Synchronise(end, Atomic::Write, Order::Both));
        }
        self.execution.schedule.changed = true;
    }

    /// Evaluates again who can take a step.
    pub(crate) fn refresh(&mut self) {
        let guarded = self.execution.schedule.to_be_asked();
        for process in guarded.iter() {
            let ready = match self.execution.threads[process].state.pending {
                // SAFETY: the thread is parked at the operation, and nobody else refers to it.
                Pending::Operation { operation, wait, .. } => {
                    self.is_ready(unsafe { &*operation }, wait, process)
                }
                _ => false,
            };
            self.execution.schedule.set_enabled(process, ready);
        }
        self.execution.schedule.asked(guarded);
    }

    /// Takes the step of a thread: does what it is at, and lets it run on. The label is left in the step's
    /// state.
    #[inline]
    pub(crate) fn take(&mut self, process: ProcessId, choice: u32) -> TakenStep {
        if self.step.explanation.is_some() {
            return self.take_explained(process, choice);
        }
        let mark = self.act(process, choice);
        self.run_on(process);
        TakenStep { process, choice, mark, next: self.next_mark(process) }
    }

    /// Does what a thread is at. Gives what tells it from others.
    #[inline]
    fn act(&mut self, process: ProcessId, choice: u32) -> u64 {
        self.execution.schedule.running = process;
        self.step.label.clear();
        // Its parts are read one by one, as they were written: the processor waits where they are read
        // together.
        match self.execution.threads[process].state.pending {
            Pending::Nothing => {
                self.execution.schedule.leave(process, false, false);
                0
            }
            Pending::Access { access, mark, order, place } => {
                self.execution.threads[process].state.pending = Pending::Nothing;
                self.execution.schedule.leave(process, false, false);
                self.step.label.accesses.push(access);
                self.execution.schedule.depth += 1;
                if self.search.watched.any {
                    self.note_writes(&[access]);
                    self.touch_groups();
                }
                if self.search.has_clock {
                    self.carry_time(process, &[access]);
                }
                if self.execution.races.enabled {
                    self.look_for_races(access, order, place);
                }
                mark
            }
            Pending::Operation { operation, wait, place } => {
                self.execution.threads[process].state.pending = Pending::Nothing;
                // SAFETY: the thread is parked at the operation, and nobody else refers to it.
                let operation = unsafe { &mut *operation };
                self.execution.schedule.leave(process, wait != Wait::Nothing, operation.branches());
                self.perform(operation, wait, choice, place)
            }
        }
    }

    /// Lets a thread run on to its next operation, and those that it has created to their first.
    #[inline]
    fn run_on(&mut self, process: ProcessId) {
        self.resume(process);
        self.start_created();
    }

    /// Lets those that were created run to their first operation.
    #[inline]
    pub(crate) fn start_created(&mut self) {
        while let Some(child) = self.execution.schedule.starting.pop() {
            self.resume(child);
        }
        if self.execution.schedule.changed {
            self.refresh();
        }
    }

    /// Takes a step, and tells it to people.
    #[cold]
    fn take_explained(&mut self, process: ProcessId, choice: u32) -> TakenStep {
        let pending = self.execution.threads[process].state.pending;
        let mark = self.act(process, choice);
        let operation = match pending {
            // SAFETY: the thread is parked at the operation still.
            Pending::Operation { operation, .. } => Some(unsafe { (*operation).describe(self) }),
            _ => None,
        };
        self.explain_before(operation.filter(|operation| !operation.is_empty()));
        let accesses = self.step.label.accesses.clone();
        self.run_on(process);
        self.explain_after(&accesses);
        TakenStep { process, choice, mark, next: self.next_mark(process) }
    }

    /// Does an operation of the running thread, as a step. Gives what tells it from others.
    pub(crate) fn perform(
        &mut self,
        operation: &mut dyn Operation,
        wait: Wait,
        choice: u32,
        place: usize,
    ) -> u64 {
        let process = self.running();
        self.step.label.clear();
        self.step.label.guard = self.guard(wait);
        let waiters = self.waiters_before();
        operation.perform(&mut CurrentStep { runtime: self, process, choice, place });
        self.log_waiters(waiters);
        self.execution.schedule.depth += 1;
        if self.search.watched.any {
            let accesses = std::mem::take(&mut self.step.label.accesses);
            self.note_writes(&accesses);
            self.step.label.accesses = accesses;
            self.touch_groups();
        }
        if self.search.has_clock {
            self.carry_time_of_step();
        }
        if self.execution.races.enabled {
            let label = std::mem::take(&mut self.step.label);
            self.look_for_races_of(&label, operation, place);
            self.step.label = label;
        }
        digest(place as u64, &self.step.label)
    }

    /// What tells the operation that a thread is at from others.
    #[inline]
    pub(crate) fn next_mark(&self, process: ProcessId) -> u64 {
        match self.execution.threads[process].state.pending {
            Pending::Nothing => 0,
            Pending::Access { mark, .. } => mark,
            Pending::Operation { place, .. } => place as u64,
        }
    }
}
