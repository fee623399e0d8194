//! How a thread comes to its operations, is suspended there, and ends.
//!
//! Everything here runs on the stack of a modelled thread. What it keeps in its frames across a switch is plain data.
#![allow(unsafe_code)]

use std::ptr;

use corosensei::Yielder;
use mazurka_program::{Access, AccessKind, FailureKind};

use super::operation::Operation;
use super::script;
use super::spin::Await;
use super::thread::{Body, Order, Pending, Status};
use super::world::{World, current};
use crate::runtime::system::exit;

/// Where every coroutine begins.
pub(crate) fn enter(yielder: *const Yielder<(), ()>) {
    let world = current();
    // SAFETY: a thread of the world runs here, so the world is there; nobody else uses it. The functions are those of the
    // program, with the types that it gave them.
    unsafe {
        (*world).me().set_yielder(yielder);
        let body = (*world).me().body;
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
/// A thread of the world must run here.
#[inline]
unsafe fn suspend(world: *mut World) {
    // SAFETY: the yielder is that of the coroutine that runs here, so it is alive.
    unsafe {
        let yielder = (*world).me().yielder();
        (*yielder).suspend(());
    }
}

/// The running thread takes no further step in this execution.
pub(crate) fn stop_here() -> ! {
    // SAFETY: a thread of the world runs here.
    unsafe { (*current()).me().status = Status::Stopped };
    leave()
}

/// The running thread is not resumed in this execution.
pub(crate) fn leave() -> ! {
    let world = current();
    loop {
        // SAFETY: a thread of the world runs here.
        unsafe { suspend(world) };
    }
}

/// The running thread fails: nothing that it does later counts.
pub(crate) fn fail_here(kind: FailureKind, message: String, place: usize) -> ! {
    {
        // SAFETY: a thread of the world runs here.
        let world = unsafe { &mut *current() };
        world.report(kind, message, place);
        world.over = true;
    }
    stop_here()
}

/// The running thread comes to an access of one location that others can notice, and goes on when its step is taken.
///
/// # Safety
/// A thread of the world must run here.
// Inlined, since the processor mispredicts every return behind a switch of stacks.
#[inline(always)]
pub(crate) unsafe fn operate_access(world: *mut World, access: Access, place: usize, order: Order) {
    // SAFETY: by the contract of this function nobody else uses the world until the thread is suspended.
    unsafe {
        if (*world).me().atomic > 0 {
            (*world).label.accesses.push(access);
            if (*world).watch.enabled {
                (*world).watch_access(access, Order::Both, place);
            }
            return;
        }
        if (*world).spins.any {
            (*world).look_at_written();
        }
        if access.kind != AccessKind::Write
            && let Some(spin) = (*world).spins_at(place)
        {
            operate(&mut Await { access, order, spin }, place);
            (*world).me().quiet.clear();
            return;
        }
        let mark = script::mark(access, place);
        let depth = (*world).depth as usize;
        if depth < (*world).scripted as usize {
            let taken = {
                let script = &(*world).script;
                script[depth]
            };
            if taken.thread == (*world).running {
                if taken.mark == mark {
                    (*world).depth += 1;
                    (*world).me().events += 1;
                    if (*world).spins.any {
                        (*world).note_writes(&[access], (*world).depth);
                    }
                    if (*world).watch.enabled {
                        (*world).watch_access(access, order, place);
                    }
                    return;
                }
                (*world).not_repeated(depth, taken.thread);
            }
        }
        let registers = (*world).registers();
        let me = (*world).me();
        me.registers = registers;
        me.pending = Pending::Access { access, place, mark, order };
        me.status = Status::Parked;
        suspend(world);
    }
}

/// The running thread comes to an operation, and goes on when its step is taken.
pub(crate) fn operate(operation: &mut dyn Operation, place: usize) {
    let world = current();
    // SAFETY: a thread of the world runs here. The references end before the thread is suspended.
    unsafe {
        (*world).me().quiet.clear();
        if (*world).spins.any {
            (*world).look_at_written();
        }
    }
    // SAFETY: as above.
    if unsafe { (*world).me().atomic } > 0 {
        // SAFETY: as above.
        return unsafe { (*world).operate_in_section(operation, place) };
    }
    // SAFETY: as above.
    if unsafe { (*world).operate_at_once(operation, place) } {
        return;
    }
    // SAFETY: as above; the operation stays where it is until the thread goes on. Only its lifetime changes.
    unsafe {
        let wait = operation.wait(&*world);
        let operation = ptr::from_mut(operation);
        let operation =
            std::mem::transmute::<*mut (dyn Operation + '_), *mut (dyn Operation + 'static)>(operation);
        let registers = (*world).registers();
        let me = (*world).me();
        me.registers = registers;
        me.pending = Pending::Operation { operation, wait, place };
        me.status = Status::Parked;
        suspend(world);
    }
}

impl World {
    /// Does an operation of the running thread without asking, if there is nobody else, or if it is the next of the script.
    fn operate_at_once(&mut self, operation: &mut dyn Operation, place: usize) -> bool {
        let depth = self.depth as usize;
        let scripted = depth < self.scripted as usize && self.script[depth].thread == self.running;
        if operation.spawns() || !(scripted || self.alone && !operation.branches()) {
            return false;
        }
        let wait = operation.wait(self);
        if !self.is_ready(operation, wait, self.running) {
            return false;
        }
        if self.alone && !operation.branches() {
            return self.operate_alone(operation, place);
        }
        let before = self.script[depth];
        let mark = self.perform(operation, wait, before.choice, place);
        if mark != before.mark {
            self.not_repeated(depth, before.thread);
        }
        true
    }

    /// The running thread is in a section that nobody interrupts: what it does is part of the present step.
    fn operate_in_section(&mut self, operation: &mut dyn Operation, place: usize) {
        let ready = self.is_ready(operation, operation.wait(self), self.running);
        if !ready || operation.spawns() || operation.branches() {
            let what = operation.describe(self);
            let message = format!("{what}{} within an atomic section is not supported", self.at_place(place));
            self.refuse(message);
            stop_here();
        }
        let (depth, thread) = (self.depth, self.running);
        self.depth = depth.wrapping_sub(1);
        operation.perform(&mut super::operation::Step { world: self, thread, choice: 0, place });
        self.depth = depth;
    }

    /// There is nobody else: it is part of the step that is being taken, and no part of its label.
    fn operate_alone(&mut self, operation: &mut dyn Operation, place: usize) -> bool {
        let label = std::mem::take(&mut self.label);
        let (depth, thread) = (self.depth, self.running);
        // What it sets, it sets in the present step.
        self.depth = depth.wrapping_sub(1);
        operation.perform(&mut super::operation::Step { world: self, thread, choice: 0, place });
        self.depth = depth;
        self.label = label;
        true
    }
}
