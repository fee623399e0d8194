//! Modelled threads: coroutines on the stacks of their slots.
//!
//! Invariants: `routine` is null or comes from a box that is ours; the coroutine in it is suspended, ended or, for the
//! thread that runs, running. `yielder` is that of the coroutine, from its start to its end. Nothing on the stack of a
//! coroutine has a destructor that matters, so that a suspended one can be forgotten: what is checked is C and C++, and our
//! own frames below it hold plain data when they suspend.
#![allow(unsafe_code)]

use std::ptr;

use corosensei::stack::{Stack, StackPointer};
use corosensei::{Coroutine, CoroutineResult, Yielder};
use mazurka_program::{Access, Location};

use super::operation::{Operation, Wait};
use super::spin::Quiet;
use crate::runtime::memory::layout::Slot;
use crate::runtime::system::time;

pub(crate) type Routine = Coroutine<(), (), (), SlotStack>;

/// The stack of a slot.
pub(crate) struct SlotStack {
    base: StackPointer,
    limit: StackPointer,
}

// SAFETY: the range is memory of a slot, with a guard page at its lowest end, aligned to pages.
unsafe impl Stack for SlotStack {
    fn base(&self) -> StackPointer {
        self.base
    }

    fn limit(&self) -> StackPointer {
        self.limit
    }
}

/// Where a thread is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Status {
    /// Not created in this execution.
    #[default]
    Absent,
    /// At an operation.
    Parked,
    /// Between two operations.
    Running,
    /// It won't take another step: an assumption was false, or it failed.
    Stopped,
    /// At its end.
    Finished,
}

/// What a thread has come to.
#[derive(Clone, Copy)]
pub(crate) enum Pending {
    Nothing,
    /// An access of one location, and where it is.
    Access {
        access: Access,
        place: usize,
        mark: u64,
        order: Order,
    },
    /// On the stack of the thread, alive as long as the thread is parked at it.
    Operation {
        operation: *mut dyn Operation,
        wait: Wait,
        place: usize,
    },
}

/// How an access of memory synchronises.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Order {
    /// It is no atomic access: it races.
    Plain,
    Relaxed,
    Acquire,
    Release,
    Both,
}

/// What runs on a thread: a function of the program and its argument.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Body {
    /// The constructors, `main`, and the end of the program.
    Main,
    /// A function as `pthread_create` takes it.
    Posix(usize, usize),
    /// A function as `thrd_create` takes it.
    Standard(usize, usize),
}

/// A modelled thread. The record stays from execution to execution; what it has of one is reset in the next.
pub(crate) struct Thread {
    pub(crate) status: Status,
    pub(crate) pending: Pending,
    routine: *mut Routine,
    yielder: *const Yielder<(), ()>,
    pub(crate) slot: Slot,
    /// How many steps it has taken.
    pub(crate) events: u32,
    /// How many threads it has created.
    pub(crate) spawned: u32,
    pub(crate) errno: i32,
    /// The location of its end, that of its wake-ups, and that of whether it was joined or detached.
    pub(crate) end: Location,
    pub(crate) wake: Location,
    pub(crate) handle: Location,
    pub(crate) body: Body,
    /// Whether it has woken up of itself, which it does once.
    pub(crate) woke_of_itself: bool,
    /// What it returned.
    pub(crate) result: usize,
    pub(crate) detached: bool,
    pub(crate) joined: bool,
    /// Whether it has begun to end the program.
    pub(crate) exits: bool,
    /// Whether its thread-local variables are there.
    pub(crate) has_locals: bool,
    /// The first free address of its heap.
    pub(crate) heap: usize,
    /// Values by key.
    pub(crate) specific: Vec<usize>,
    /// Destructors of its variables, with their arguments.
    pub(crate) at_exit: Vec<(usize, usize)>,
    /// What a copy has read and not written yet.
    pub(crate) kept: Vec<u8>,
    pub(crate) quiet: Quiet,
    /// The same while the thread is at an operation that may be part of a loop.
    pub(crate) kept_quiet: Quiet,
    /// How deep it is in sections that are atomic.
    pub(crate) atomic: u32,
    /// Where it was created, for people.
    pub(crate) created: usize,
    /// What its clock shows, in nanoseconds.
    pub(crate) clock: i64,
    /// The stack pointer and the frame pointer of who called the operation that it is parked at.
    pub(crate) registers: (usize, usize),
    /// What tells threads of the C++ library apart, which all run one function.
    pub(crate) task: Option<Task>,
}

/// What a thread of the C++ library was given to do: the type of the object that has it, and its last two words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Task {
    pub(crate) table: usize,
    pub(crate) words: [usize; 2],
}

impl Thread {
    pub(crate) fn new(slot: Slot, [end, wake, handle]: [Location; 3]) -> Thread {
        Thread {
            status: Status::Absent,
            pending: Pending::Nothing,
            routine: ptr::null_mut(),
            yielder: ptr::null(),
            slot,
            events: 0,
            spawned: 0,
            errno: 0,
            end,
            wake,
            handle,
            body: Body::Main,
            woke_of_itself: false,
            result: 0,
            detached: false,
            joined: false,
            exits: false,
            has_locals: false,
            heap: slot.heap,
            specific: Vec::new(),
            at_exit: Vec::new(),
            kept: Vec::new(),
            quiet: Quiet::default(),
            kept_quiet: Quiet::default(),
            atomic: 0,
            created: 0,
            clock: time::BEGINNING,
            registers: (0, 0),
            task: None,
        }
    }

    /// Makes the record that of a thread which is about to start. Its stack begins below so many bytes.
    pub(crate) fn begin(&mut self, body: Body, reserved: usize) {
        self.status = Status::Running;
        self.pending = Pending::Nothing;
        (self.events, self.spawned, self.errno) = (0, 0, 0);
        (self.body, self.result, self.woke_of_itself) = (body, 0, false);
        (self.detached, self.joined, self.has_locals) = (false, false, false);
        (self.exits, self.registers) = (false, (0, 0));
        (self.heap, self.atomic, self.clock) = (self.slot.heap, 0, time::BEGINNING);
        self.specific.clear();
        self.at_exit.clear();
        self.quiet.clear();
        self.kept_quiet.clear();
        let (Some(base), Some(limit)) =
            (StackPointer::new(self.slot.stack_base - reserved), StackPointer::new(self.slot.stack_limit))
        else {
            return;
        };
        let routine = Coroutine::with_stack(SlotStack { base, limit }, |yielder: &Yielder<(), ()>, ()| {
            super::arrive::enter(ptr::from_ref(yielder));
        });
        if self.routine.is_null() {
            self.routine = Box::into_raw(Box::new(routine));
        } else {
            // SAFETY: the box is ours, and the coroutine in it has been reset, so that to overwrite it loses nothing.
            unsafe { self.routine.write(routine) };
        }
    }

    /// Forgets the coroutine, wherever it is.
    pub(crate) fn reset(&mut self) {
        if !self.routine.is_null() && self.status != Status::Absent {
            // SAFETY: the box is ours; nothing on the stack has a destructor that matters.
            unsafe { (*self.routine).force_reset() };
        }
        self.status = Status::Absent;
        self.pending = Pending::Nothing;
        self.yielder = ptr::null();
    }

    /// Becomes what another record is, which may be one that was saved: all but the memory of the thread.
    pub(crate) fn copy_from(&mut self, other: &Thread) {
        // All fields, so that one which is added can't be forgotten here.
        #[rustfmt::skip]
        let Thread {
            status, pending, routine, yielder, slot, events, spawned, errno, end, wake, handle, body, woke_of_itself, result,
            detached, joined, exits, has_locals, heap, specific, at_exit, kept, quiet, kept_quiet, atomic, created, clock, registers, task,
        } = other;
        (self.status, self.pending, self.yielder) = (*status, *pending, *yielder);
        (self.slot, self.end, self.wake, self.handle) = (*slot, *end, *wake, *handle);
        (self.events, self.spawned, self.errno, self.body) = (*events, *spawned, *errno, *body);
        (self.result, self.detached, self.joined, self.exits) = (*result, *detached, *joined, *exits);
        self.woke_of_itself = *woke_of_itself;
        (self.has_locals, self.heap, self.clock) = (*has_locals, *heap, *clock);
        (self.atomic, self.created, self.registers, self.task) = (*atomic, *created, *registers, *task);
        self.specific.clone_from(specific);
        self.at_exit.clone_from(at_exit);
        self.kept.clone_from(kept);
        self.quiet.copy_from(quiet);
        self.kept_quiet.copy_from(kept_quiet);
        if self.routine.is_null() {
            self.routine = Box::into_raw(Box::<Routine>::new_uninit()).cast();
        }
        // SAFETY: both boxes are ours. A coroutine is plain data: where its stack is, and how far it is used. It is resumed from
        // one of its copies only, that of the living thread, when the stack holds what it held when the copy was made; none
        // is dropped but after it was reset, which frees nothing.
        unsafe { ptr::copy_nonoverlapping(*routine, self.routine, 1) };
    }

    /// The part of the stack that the coroutine uses while it is suspended.
    pub(crate) fn stack_in_use(&self) -> std::ops::Range<usize> {
        let end = self.slot.stack_base;
        // SAFETY: the routine, if any, is initialised memory of ours, of whole words: pointers.
        let words = unsafe {
            let len = if self.routine.is_null() { 0 } else { size_of::<Routine>() / size_of::<usize>() };
            std::slice::from_raw_parts(self.routine.cast::<usize>().cast_const(), len)
        };
        // Its words are the ends of the stack, where the stack began to be used, and, if it is suspended, the stack
        // pointer: the lowest that is within the stack.
        let within = |word: &&usize| **word > self.slot.stack_limit && **word <= end;
        words.iter().filter(within).copied().min().unwrap_or(end)..end
    }

    /// Puts aside what it knows of the loop that it may be in, or takes it back.
    pub(crate) fn keep_quiet(&mut self) {
        std::mem::swap(&mut self.quiet, &mut self.kept_quiet);
    }

    pub(crate) fn set_yielder(&mut self, yielder: *const Yielder<(), ()>) {
        self.yielder = yielder;
    }

    pub(crate) fn yielder(&self) -> *const Yielder<(), ()> {
        self.yielder
    }

    pub(crate) fn routine(&self) -> *mut Routine {
        self.routine
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        self.reset();
        if !self.routine.is_null() {
            // SAFETY: the box is ours, and nobody has the pointer any more.
            drop(unsafe { Box::from_raw(self.routine) });
        }
    }
}

/// Runs a coroutine until it suspends itself or ends. Gives whether it ended.
///
/// # Safety
/// The pointer must be that of a thread which is parked or has not started.
#[inline]
pub(crate) unsafe fn resume(routine: *mut Routine) -> bool {
    // SAFETY: by the contract of this function nobody else uses the coroutine.
    matches!(unsafe { (*routine).resume(()) }, CoroutineResult::Return(()))
}
