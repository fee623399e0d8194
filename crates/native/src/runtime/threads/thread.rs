//! Modelled threads: coroutines on the stacks of their slots.
//!
//! Invariants: `routine` is null or comes from a box that is ours; the coroutine in it is suspended, ended
//! or, for the thread that runs, running. `yielder` is that of the coroutine, from its start to its end.
//! Nothing on the stack of a coroutine has a destructor that matters, so that a suspended one can be
//! forgotten: what is checked is C and C++, and our own frames below it hold plain data when they suspend.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;
use std::ops::{Index, IndexMut, Range};
use std::ptr;

use corosensei::stack::{Stack, StackPointer};
use corosensei::{Coroutine, CoroutineResult, Yielder};
use mazurka_program::{Access, Location, ProcessId};
use mazurka_threads::execution_state;
use mazurka_threads::lifetime::ExecutionState;
use mazurka_threads::races::Order;
use mazurka_threads::spin::LoopDetector;

use super::operation::{Operation, Wait};
use super::rounds::RoundDetector;
use super::spin::MachineState;
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
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Status {
    /// Not created in this execution.
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

impl Body {
    /// The function, if it is one of the program's own choice.
    pub(crate) fn function(self) -> usize {
        match self {
            Body::Main => 0,
            Body::Posix(function, _) | Body::Standard(function, _) => function,
        }
    }
}

/// What a thread of the C++ library was given to do: the type of the object that has it, and its last two
/// words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Task {
    pub(crate) table: usize,
    pub(crate) words: [usize; 2],
}

/// What a thread has of an execution: plain data, which begins anew, is saved and restored as one value.
#[derive(Clone, Copy)]
pub(crate) struct ThreadState {
    pub(crate) status: Status,
    pub(crate) pending: Pending,
    pub(crate) yielder: *const Yielder<(), ()>,
    /// Above it on the stack is what switches to it: that is rewritten whenever it is resumed.
    pub(crate) outermost: usize,
    /// How many threads it has created.
    pub(crate) spawned: u32,
    pub(crate) errno: i32,
    pub(crate) body: Body,
    /// What it returned.
    pub(crate) result: usize,
    pub(crate) detached: bool,
    pub(crate) joined: bool,
    /// Whether it has begun to end the program.
    pub(crate) exits: bool,
    /// Where its thread-local variables begin and end; nowhere if it has used none.
    pub(crate) locals: (usize, usize),
    /// How deep it is in sections that are atomic.
    pub(crate) atomic: u32,
    /// What its clock shows, in nanoseconds.
    pub(crate) clock: i64,
    pub(crate) looked: time::LastLook,
    /// The stack pointer and the frame pointer of who called the operation that it is parked at.
    pub(crate) registers: (usize, usize),
    /// What tells threads of the C++ library apart, which all run one function.
    pub(crate) task: Option<Task>,
}

impl Default for ThreadState {
    fn default() -> ThreadState {
        ThreadState {
            status: Status::Absent,
            pending: Pending::Nothing,
            yielder: ptr::null(),
            outermost: 0,
            spawned: 0,
            errno: 0,
            body: Body::Main,
            result: 0,
            detached: false,
            joined: false,
            exits: false,
            locals: (0, 0),
            atomic: 0,
            clock: time::BEGINNING,
            looked: time::LastLook::default(),
            registers: (0, 0),
            task: None,
        }
    }
}

execution_state! {
    /// What a thread has of an execution that is not plain data. It keeps its memory.
    #[derive(Default)]
    pub(crate) struct Buffers, saved as SavedBuffers {
        /// Values by key.
        pub(crate) specific: Vec<usize>,
        /// Destructors of its variables, with their arguments.
        pub(crate) at_exit: Vec<(usize, usize)>,
        /// What a copy has read and not written yet.
        pub(crate) kept: Vec<u8>,
        /// What it knows of the spin loop that it may be in.
        pub(crate) detector: LoopDetector<usize, MachineState>,
        /// What it knows of rounds that it may have gone.
        pub(crate) rounds: RoundDetector,
    }
}

/// A modelled thread. The record stays from execution to execution.
pub(crate) struct Thread {
    pub(crate) slot: Slot,
    /// The location of its end, that of its wake-ups, and that of whether it was joined or detached.
    pub(crate) end: Location,
    pub(crate) wake: Location,
    pub(crate) handle: Location,
    routine: *mut Routine,
    pub(crate) state: ThreadState,
    pub(crate) buffers: Buffers,
}

impl Thread {
    pub(crate) fn new(slot: Slot, [end, wake, handle]: [Location; 3]) -> Thread {
        // To note a read must leave the same on the stack in every execution, so it never allocates.
        let buffers = Buffers { detector: LoopDetector::with_room(), ..Buffers::default() };
        let state = ThreadState::default();
        Thread { slot, end, wake, handle, routine: ptr::null_mut(), state, buffers }
    }

    /// Makes the record that of a thread which is about to start. Its stack begins below so many bytes.
    pub(crate) fn start(&mut self, body: Body, reserved: usize) {
        let (Some(base), Some(limit)) =
            (StackPointer::new(self.slot.stack_base - reserved), StackPointer::new(self.slot.stack_limit))
        else {
            return;
        };
        let routine = Coroutine::with_stack(SlotStack { base, limit }, |yielder: &Yielder<(), ()>, ()| {
            super::arrive::enter(ptr::from_ref(yielder));
        });
        // SAFETY: the box is ours, and the coroutine in it has been reset, so that to overwrite it loses
        // nothing.
        unsafe { self.room_for_routine().write(routine) };
        let locals = (self.slot.tls, self.slot.tls);
        self.state = ThreadState { status: Status::Running, body, locals, ..ThreadState::default() };
        self.buffers.begin();
    }

    fn room_for_routine(&mut self) -> *mut Routine {
        if self.routine.is_null() {
            self.routine = Box::into_raw(Box::<Routine>::new_uninit()).cast();
        }
        self.routine
    }

    /// Forgets the coroutine, wherever it is. The rest of the state means nothing until the thread starts, or
    /// is restored.
    fn reset(&mut self) {
        if std::mem::replace(&mut self.state.status, Status::Absent) != Status::Absent {
            // SAFETY: the box is ours, and there is one if it was started; nothing on the stack has a
            // destructor that matters.
            unsafe { (*self.routine).force_reset() };
        }
    }

    /// The part of the stack that the coroutine uses while it is suspended.
    pub(crate) fn stack_in_use(&self) -> Range<usize> {
        let end = self.slot.stack_base;
        // SAFETY: the routine, if any, is initialised memory of ours, of whole words: pointers.
        let words = unsafe {
            let len = if self.routine.is_null() { 0 } else { size_of::<Routine>() / size_of::<usize>() };
            std::slice::from_raw_parts(self.routine.cast::<usize>().cast_const(), len)
        };
        // Its words are the ends of the stack, where the stack began to be used, and, if it is suspended, the
        // stack pointer: the lowest that is within the stack.
        let within = |word: &&usize| **word > self.slot.stack_limit && **word <= end;
        words.iter().filter(within).copied().min().unwrap_or(end)..end
    }

    /// Where its variables are.
    pub(crate) fn locals(&self) -> Range<usize> {
        self.state.locals.0..self.state.locals.1
    }

    /// Where it has its stack and its variables.
    pub(crate) fn memory_in_use(&self) -> [Range<usize>; 2] {
        [self.stack_in_use(), self.locals()]
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

/// All threads that any execution has had. Of an execution are their states, their stacks and their
/// variables.
#[derive(Default)]
pub(crate) struct Threads {
    pub(crate) list: Vec<Thread>,
}

/// The threads of an execution that was put aside; what follows the first `len` keeps its memory for later.
#[derive(Default)]
pub(crate) struct SavedThreads {
    list: Vec<SavedThread>,
    len: usize,
    /// Of each thread its stack and its variables.
    memory: Vec<u8>,
}

struct SavedThread {
    process: ProcessId,
    state: ThreadState,
    buffers: SavedBuffers,
    routine: MaybeUninit<Routine>,
    memory: [Range<usize>; 2],
}

impl Threads {
    /// The threads of this execution.
    fn present(&self) -> impl Iterator<Item = (ProcessId, &Thread)> {
        let present = |(_, thread): &(usize, &Thread)| thread.state.status != Status::Absent;
        let numbered = self.list.iter().enumerate().filter(present);
        numbered.map(|(at, thread)| (ProcessId(at as u32), thread))
    }
}

impl Index<ProcessId> for Threads {
    type Output = Thread;

    #[inline]
    fn index(&self, process: ProcessId) -> &Thread {
        &self.list[process.index()]
    }
}

impl IndexMut<ProcessId> for Threads {
    #[inline]
    fn index_mut(&mut self, process: ProcessId) -> &mut Thread {
        &mut self.list[process.index()]
    }
}

impl ExecutionState for Threads {
    type Saved = SavedThreads;

    fn begin(&mut self) {
        // What a thread had come to is not finished, but forgotten.
        self.list.iter_mut().for_each(Thread::reset);
    }

    fn save(&self, saved: &mut SavedThreads) {
        saved.len = 0;
        saved.memory.clear();
        for (process, thread) in self.present() {
            if saved.len == saved.list.len() {
                saved.list.push(SavedThread {
                    process,
                    state: thread.state,
                    buffers: SavedBuffers::default(),
                    routine: MaybeUninit::uninit(),
                    memory: [0..0, 0..0],
                });
            }
            let to = &mut saved.list[saved.len];
            saved.len += 1;
            (to.process, to.state, to.memory) = (process, thread.state, thread.memory_in_use());
            thread.buffers.save(&mut to.buffers);
            // SAFETY: the box is ours. A coroutine is plain data: where its stack is, and how far it is used.
            // It is resumed in the living thread only, when the stack holds what it held when the copy was
            // made, and a copy is never dropped. The ranges are parts of the slot of a thread that was
            // created, which is open.
            unsafe {
                to.routine.as_mut_ptr().copy_from_nonoverlapping(thread.routine, 1);
                for range in &to.memory {
                    let from = ptr::with_exposed_provenance(range.start);
                    saved.memory.extend_from_slice(std::slice::from_raw_parts(from, range.len()));
                }
            }
        }
    }

    fn restore(&mut self, saved: &SavedThreads) {
        self.begin();
        let mut memory = &saved.memory[..];
        for from in &saved.list[..saved.len] {
            let thread = &mut self[from.process];
            thread.state = from.state;
            thread.buffers.restore(&from.buffers);
            // SAFETY: as when it was saved; nobody runs on the stack.
            unsafe { thread.room_for_routine().copy_from_nonoverlapping(from.routine.as_ptr(), 1) };
            for range in &from.memory {
                let (bytes, rest) = memory.split_at(range.len());
                memory = rest;
                let to = ptr::with_exposed_provenance_mut::<u8>(range.start);
                // SAFETY: as above.
                unsafe { to.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
            }
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
