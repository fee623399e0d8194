//! How a thread comes to its operations, is suspended there, and ends.
//!
//! Everything here runs on the stack of a modelled thread. What it keeps in its frames across a switch is
//! plain data.
#![allow(unsafe_code)]

use std::ptr;

use corosensei::Yielder;
use mazurka_program::{Access, AccessKind, FailureKind};
use mazurka_threads::races::Order;
use mazurka_threads::replay::mix_access;

use super::operation::{CurrentStep, Operation};
use super::runtime::{Runtime, current};
use super::spin::{SpinningAccess, spin_place};
use super::thread::{Body, Pending, Status};
use crate::runtime::system::exit;

/// Where every coroutine begins.
pub(crate) fn enter(yielder: *const Yielder<(), ()>) {
    let runtime = current();
    let outermost = 0u8;
    // SAFETY: a thread of the program runs here, so the runtime is there; nobody else uses it. The functions
    // are those of the program, with the types that it gave them.
    unsafe {
        (*runtime).me().state.yielder = yielder;
        (*runtime).me().state.outermost = (&raw const outermost).addr() & !7;
        let body = (*runtime).me().state.body;
        match body {
            Body::Main => exit::run_main(),
            Body::Posix(function, argument) => {
                let result = exit::call(function, [argument, 0, 0]);
                exit::end_of_thread(result);
            }
            Body::Standard(function, argument) => {
                let result = exit::call(function, [argument, 0, 0]) as i32;
                exit::end_of_thread(result as isize as usize);
            }
        }
    }
}

/// Suspends the running thread until its next turn.
///
/// # Safety
/// A thread of the program must run here.
#[inline]
unsafe fn suspend(runtime: *mut Runtime) {
    // SAFETY: the yielder is that of the coroutine that runs here, so it is alive.
    unsafe {
        let yielder = (*runtime).me().state.yielder;
        (*yielder).suspend(());
    }
}

/// The running thread takes no further step in this execution.
pub(crate) fn stop_here() -> ! {
    // SAFETY: a thread of the program runs here.
    unsafe {
        let runtime = current();
        (*runtime).me().state.status = Status::Stopped;
        if (*runtime).search.rounds {
            // To others it is at its end.
            let depth = (*runtime).execution.schedule.depth;
            (*runtime).me().buffers.rounds.end_thread(u64::MAX, depth);
        }
    }
    leave()
}

/// Stops the running thread, which may not take more memory or time.
#[cold]
pub(crate) fn stop_at_limit(runtime: &mut Runtime) -> ! {
    runtime.execution.over = true;
    stop_here()
}

/// The running thread is not resumed in this execution.
pub(crate) fn leave() -> ! {
    let runtime = current();
    loop {
        // SAFETY: a thread of the program runs here.
        unsafe { suspend(runtime) };
    }
}

/// The running thread fails: nothing that it does later counts.
pub(crate) fn fail_here(kind: FailureKind, message: String, place: usize) -> ! {
    {
        // SAFETY: a thread of the program runs here.
        let runtime = unsafe { &mut *current() };
        runtime.report(kind, message, place);
        runtime.execution.over = true;
    }
    stop_here()
}

/// The running thread comes to an access of one location that others can notice, and goes on when its step is
/// taken. Besides how it synchronises, what an atomic one was given to write.
///
/// # Safety
/// A thread of the program must run here.
// Inlined, since the processor mispredicts every return behind a switch of stacks.
#[inline(always)]
pub(crate) unsafe fn operate_access(
    runtime: *mut Runtime,
    access: Access,
    place: usize,
    (order, given): (Order, u64),
) {
    // SAFETY: by the contract of this function nobody else uses the runtime until the thread is suspended.
    unsafe {
        if (*runtime).me().state.atomic > 0 {
            (*runtime).step.label.accesses.push(access);
            if (*runtime).search.watched.any {
                (*runtime).note_writes(&[access]);
                (*runtime).touch_groups();
            }
            if (*runtime).search.has_clock {
                (*runtime).carry_time((*runtime).running(), &[access]);
            }
            if (*runtime).execution.races.enabled {
                (*runtime).look_for_races(access, Order::Both, place);
            }
            return;
        }
        if (*runtime).search.watched.any {
            (*runtime).look_at_written();
        }
        if access.kind != AccessKind::Write
            && let Some(guard) = (*runtime).loop_at(spin_place(place, access.first, given))
        {
            operate(&mut SpinningAccess { access, order, given, guard }, place);
            (*runtime).me().buffers.detector.clear();
            return;
        }
        if (*runtime).search.rounds {
            (*runtime).arrive_at_access(place, access, given, order);
        }
        let mark = mix_access(place as u64, access);
        let depth = (*runtime).execution.schedule.depth;
        if let Some(taken) = (*runtime).replay.next(depth)
            && taken.process == (*runtime).running()
        {
            if taken.mark == mark {
                (*runtime).execution.schedule.depth += 1;
                if (*runtime).search.watched.any {
                    (*runtime).note_writes(&[access]);
                }
                if (*runtime).search.has_clock {
                    (*runtime).carry_time((*runtime).running(), &[access]);
                }
                if (*runtime).execution.races.enabled {
                    (*runtime).look_for_races(access, order, place);
                }
                return;
            }
            (*runtime).not_repeated(depth as usize, taken.process);
        }
        let registers = (*runtime).registers();
        let state = &mut (*runtime).me().state;
        state.registers = registers;
        state.pending = Pending::Access { access, place, mark, order };
        state.status = Status::Parked;
        suspend(runtime);
    }
}

/// The running thread comes to an operation that is no part of a spin loop, and goes on when its step is
/// taken.
pub(crate) fn operate(operation: &mut dyn Operation, place: usize) {
    // SAFETY: a thread of the program runs here. The reference ends before the thread is suspended.
    unsafe { (*current()).me().buffers.detector.clear() };
    operate_in_loop(operation, place);
}

/// The same of an operation that may be part of a spin loop.
pub(crate) fn operate_in_loop(operation: &mut dyn Operation, place: usize) {
    let runtime = current();
    // SAFETY: as above; the operation stays where it is until the thread goes on. Only its lifetime changes.
    unsafe {
        if (*runtime).search.watched.any {
            (*runtime).look_at_written();
        }
        if (*runtime).me().state.atomic > 0 {
            return (*runtime).operate_in_section(operation, place);
        }
        if (*runtime).search.rounds && (*runtime).execution.concurrent {
            (*runtime).arrive_at_operation(operation.in_round(), place);
        }
        if (*runtime).operate_at_once(operation, place) {
            return (*runtime).wipe_if_looked_at();
        }
        let wait = operation.wait();
        let operation = ptr::from_mut(operation);
        let operation =
            std::mem::transmute::<*mut (dyn Operation + '_), *mut (dyn Operation + 'static)>(operation);
        let registers = (*runtime).registers();
        let state = &mut (*runtime).me().state;
        state.registers = registers;
        state.pending = Pending::Operation { operation, wait, place };
        state.status = Status::Parked;
        suspend(runtime);
        (*runtime).wipe_if_looked_at();
    }
}

impl Runtime {
    /// Does an operation of the running thread without asking, if there is nobody else, or if it is the next
    /// of the script.
    fn operate_at_once(&mut self, operation: &mut dyn Operation, place: usize) -> bool {
        let (depth, running) = (self.execution.schedule.depth, self.running());
        let before = self.replay.next(depth).filter(|before| before.process == running);
        let alone = !self.execution.concurrent && !operation.branches();
        if operation.spawns() || !(alone || before.is_some()) {
            return false;
        }
        let wait = operation.wait();
        if !self.is_ready(operation, wait, running) {
            return false;
        }
        if alone {
            // It is part of the step that is being taken, and no part of its label.
            let label = std::mem::take(&mut self.step.label);
            self.perform_within_step(operation, place);
            self.step.label = label;
        } else if let Some(before) = before
            && self.perform(operation, wait, before.choice, place) != before.mark
        {
            self.not_repeated(depth as usize, running);
        }
        true
    }

    /// The running thread is in a section that nobody interrupts: what it does is part of the present step.
    fn operate_in_section(&mut self, operation: &mut dyn Operation, place: usize) {
        let ready = self.is_ready(operation, operation.wait(), self.running());
        if !ready || operation.spawns() || operation.branches() {
            let what = operation.describe(self);
            let message = format!("{what}{} within an atomic section is not supported", self.at_place(place));
            self.refuse(message);
            stop_here();
        }
        let before = self.step.label.accesses.len();
        if self.search.rounds {
            self.note_in_round(operation.in_round());
        }
        self.perform_within_step(operation, place);
        if self.search.watched.any {
            let accesses = self.step.label.accesses[before..].to_vec();
            self.note_writes(&accesses);
            self.touch_groups();
        }
    }

    /// Does an operation as part of the present step: what it sets, it sets in that.
    fn perform_within_step(&mut self, operation: &mut dyn Operation, place: usize) {
        let (depth, process) = (self.execution.schedule.depth, self.running());
        self.execution.schedule.depth = depth.wrapping_sub(1);
        let waiters = self.waiters_before();
        operation.perform(&mut CurrentStep { runtime: self, process, choice: 0, place });
        self.log_waiters(waiters);
        self.execution.schedule.depth = depth;
        if self.search.has_clock {
            self.carry_time_of_step();
        }
    }
}
