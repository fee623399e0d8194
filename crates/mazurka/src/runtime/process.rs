//! Modelled processes: coroutines on pooled stacks.
#![allow(unsafe_code)]

use std::any::Any;
use std::panic::Location as Caller;
use std::ptr;
use std::sync::Arc;

use corosensei::stack::{DefaultStack, Stack};
use corosensei::{Coroutine, CoroutineResult, Yielder};
use mazurka_program::{Guard, Location, ProcessId};

use super::identity::OWN_KINDS;
use super::operation::{Operation, Wait};
use super::overflow;
use super::rounds::Sight;
use super::spin::{Frame, Shared, SpinState};
use super::stacks::Stacks;

/// What a coroutine is told when it is resumed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Resume {
    /// The step has been taken: go on.
    Go,
    /// The execution is over: unwind.
    End,
}

/// What a process runs. It may borrow from the stacks of its ancestors, which outlive it.
pub(crate) type Body = Box<dyn FnOnce()>;

pub(super) type Routine = Coroutine<Resume, (), (), DefaultStack>;

/// Where a process is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Status {
    /// Not created in this execution.
    #[default]
    Absent,
    /// At an operation.
    Parked,
    /// A panic is on its way: the unwinding is the next step.
    Held,
    /// Between two operations.
    Running,
    /// It won't take another step: an assumption was false, or its execution can't go on.
    Stopped,
    /// At its end.
    Finished,
}

/// The operation that a process has come to.
#[derive(Clone, Copy)]
pub(crate) struct Pending {
    /// Alive as long as the process is parked at it: it is on the stack of the process.
    pub(super) operation: *mut dyn Operation,
    pub(crate) place: &'static Caller<'static>,
    pub(crate) wait: Wait,
    /// Whether it waits because it spins.
    pub(crate) spins: bool,
    /// See [`Operation::is_plain`].
    pub(crate) plain: bool,
    /// See [`Operation::branches`].
    pub(crate) branches: bool,
    /// What it waits for that others can undo.
    pub(crate) guard: Option<Guard>,
    /// The stack pointer there.
    pub(crate) top: usize,
}

impl Pending {
    /// # Safety
    /// The operation must stay where it is until the process is resumed.
    #[inline(always)]
    pub(super) unsafe fn keep(operation: &mut (dyn Operation + '_)) -> *mut (dyn Operation + 'static) {
        // SAFETY: only the lifetime of the trait object changes, and the caller vouches for it.
        unsafe { std::mem::transmute::<*mut (dyn Operation + '_), *mut (dyn Operation + 'static)>(operation) }
    }

    #[inline]
    pub(crate) fn operation(&self) -> &dyn Operation {
        // SAFETY: by the contract of `keep`; the process is parked, so nobody else looks at it.
        unsafe { &*self.operation }
    }

    /// # Safety
    /// No other reference to the operation may be in use.
    #[inline]
    pub(crate) unsafe fn operation_mut<'a>(self) -> &'a mut dyn Operation {
        // SAFETY: by the contract of `keep` and of this function.
        unsafe { &mut *self.operation }
    }
}

/// A modelled process. The record stays from execution to execution; what it has of one is reset in the next.
#[derive(Default)]
pub(crate) struct Process {
    pub(crate) status: Status,
    pub(crate) pending: Option<Pending>,
    /// What it is to run, until it is started.
    pub(crate) body: Option<Body>,
    /// It stays when the coroutine ends.
    routine: Option<RoutineCell>,
    yielder: Option<ptr::NonNull<Yielder<Resume, ()>>>,
    /// The size of its stack, as it was asked for; 0 for the usual one.
    pub(super) stack_size: usize,
    /// The range of its stack.
    pub(crate) stack: (usize, usize),
    /// How many steps it has taken.
    pub(crate) events: u32,
    /// How many steps had been taken before its last one.
    pub(crate) last: u32,
    /// How many steps had been taken when it was created.
    pub(crate) born: u32,
    /// How many processes it has created.
    pub(crate) spawned: u32,
    /// How many things of a kind it has made, by [`super::identity::OwnKind`].
    pub(crate) made: [u32; OWN_KINDS],
    /// The locations of these, the same in all executions.
    pub(super) own: [Vec<Location>; OWN_KINDS],
    pub(crate) end: Option<Location>,
    pub(crate) name: Option<Arc<str>>,
    /// What `thread_local!` variables hold, in the order of their creation, by their keys.
    pub(crate) locals: Vec<(usize, Option<Box<dyn Any>>)>,
    pub(crate) spin_state: SpinState,
    /// Where it was, to see that it goes in a loop.
    pub(super) sight: Sight,
    /// In which state it was there.
    pub(super) seen: Frame,
    /// Whether its steps are followed, since it is at a loop.
    pub(super) followed: bool,
    /// How many locks it holds.
    pub(crate) held: i32,
    /// What others may change on its stack.
    pub(super) shared: Vec<Shared>,
    /// For people: where it was created.
    pub(crate) created: Option<&'static Caller<'static>>,
}

/// A panic that ended a process.
#[derive(Clone, Debug)]
pub(crate) struct Panicked {
    pub(crate) process: ProcessId,
    /// Whether another process has been told, by a join.
    pub(crate) told: bool,
    pub(crate) message: String,
    pub(crate) place: Option<mazurka_program::Place>,
}

impl Process {
    /// Makes the record that of a process of another search: nothing is left but memory.
    pub(super) fn forget(&mut self) {
        self.renew();
        self.own.iter_mut().for_each(Vec::clear);
        self.end = None;
    }

    /// Makes the record a new one, but for what is the same in all executions, and for memory: what was seen means
    /// nothing without its place.
    fn renew(&mut self) {
        debug_assert!(!self.has_routine());
        // All fields, so that one which is added can't be forgotten here; and one by one, since to move the
        // record would take longer than all else.
        #[rustfmt::skip]
        let Process {
            routine: _, own: _, end: _, seen: _, status, pending, body, yielder, stack_size, stack, events, last, born, spawned,
            made, name, locals, spin_state, sight, followed, held, shared, created,
        } = self;
        (*status, *pending, *body, *yielder) = (Status::Absent, None, None, None);
        (*stack_size, *stack) = (0, (0, 0));
        (*events, *last, *born, *spawned, *made) = (0, 0, 0, 0, [0; OWN_KINDS]);
        (*name, *created) = (None, None);
        locals.clear();
        spin_state.clear();
        (*sight, *followed, *held) = (Sight::default(), false, 0);
        shared.clear();
    }

    /// Makes the record that of a process which is about to start. It has no stack until it is started.
    pub(crate) fn begin(&mut self, body: Body) {
        self.renew();
        self.status = Status::Running;
        self.body = Some(body);
    }

    /// Gives the process a stack, of which so many bytes are to be clean: nothing that is left of earlier
    /// times is to be seen there.
    pub(crate) fn embark(&mut self, stacks: &mut Stacks, clean: usize) -> std::io::Result<()> {
        let Some(body) = self.body.take() else { return Ok(()) };
        let stack = stacks.take(self.size_among(stacks))?;
        self.stack = (stack.limit().get(), stack.base().get());
        // The page at the limit is there to be hit by those who overflow.
        let clean = clean.min((self.stack.1 - self.stack.0) / 2);
        // SAFETY: half of a stack that nobody uses, from where it begins.
        unsafe {
            let start = ptr::with_exposed_provenance_mut::<u8>(self.stack.1 - clean);
            ptr::write_bytes(start, 0, clean);
        }
        let routine = Coroutine::with_stack(stack, move |yielder: &Yielder<Resume, ()>, resume| {
            super::arrive::enter(ptr::NonNull::from(yielder), resume, body);
        });
        let cell = self.routine.get_or_insert_with(RoutineCell::new);
        // SAFETY: the process has not been started, so nobody else uses the coroutine.
        unsafe { *cell.get().as_mut() = Some(routine) };
        Ok(())
    }

    /// The size of its stack: never less than the usual one, since the library needs room too.
    pub(super) fn size_among(&self, stacks: &Stacks) -> usize {
        self.stack_size.max(stacks.size())
    }

    pub(crate) fn set_yielder(&mut self, yielder: ptr::NonNull<Yielder<Resume, ()>>) {
        self.yielder = Some(yielder);
    }

    pub(crate) fn yielder(&self) -> Option<ptr::NonNull<Yielder<Resume, ()>>> {
        self.yielder
    }

    /// Where what the process has on its stack begins. Above it is what the coroutine knows of who resumed
    /// it.
    pub(crate) fn bottom(&self) -> usize {
        self.yielder.map_or(self.stack.1, |yielder| yielder.as_ptr() as usize)
    }

    /// Where the coroutine is, to be resumed while nobody refers to the process: it will itself.
    #[inline]
    pub(super) fn routine(&self) -> Option<ptr::NonNull<Option<Routine>>> {
        self.routine.as_ref().map(RoutineCell::get)
    }

    /// The coroutine has ended: its stack is free.
    pub(super) fn disembark(&mut self, stacks: &mut Stacks) {
        if let Some(mut routine) = self.routine() {
            // SAFETY: the coroutine has ended, so nobody else uses it.
            let stack = unsafe { routine.as_mut() }.take().map(Coroutine::into_stack);
            stacks.put_back(stack, self.size_among(stacks));
        }
        self.yielder = None;
    }

    /// Whether objects may live on its stack.
    pub(crate) fn has_stack(&self) -> bool {
        !matches!(self.status, Status::Absent | Status::Finished)
    }

    pub(crate) fn has_routine(&self) -> bool {
        // SAFETY: asked by the scheduler, so the coroutine does not run.
        self.routine().is_some_and(|routine| unsafe { routine.as_ref() }.is_some())
    }

    /// Gives up a coroutine that can't be unwound. What lives on its stack is never dropped, and the stack
    /// never used again: something may be pinned there.
    pub(crate) fn abandon(&mut self) {
        self.routine.take().into_iter().for_each(std::mem::forget);
        self.yielder = None;
    }
}

/// A coroutine at a place of its own, which is reached while the record of its process is used by others.
struct RoutineCell(ptr::NonNull<Option<Routine>>);

impl RoutineCell {
    fn new() -> RoutineCell {
        RoutineCell(ptr::NonNull::from(Box::leak(Box::new(None))))
    }

    #[inline]
    fn get(&self) -> ptr::NonNull<Option<Routine>> {
        self.0
    }
}

impl Drop for RoutineCell {
    fn drop(&mut self) {
        // SAFETY: it was made of a box, and nobody uses it any more.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

/// Runs a coroutine until it suspends itself or ends. Gives whether it ended.
///
/// # Safety
/// The coroutine must be alive, and nobody else use it.
#[inline(always)]
pub(super) unsafe fn resume(
    mut routine: ptr::NonNull<Option<Routine>>,
    limit: usize,
    resume: Resume,
) -> bool {
    // SAFETY: the caller vouches for it.
    let Some(routine) = (unsafe { routine.as_mut() }) else { return true };
    overflow::set_running(routine, limit);
    matches!(routine.resume(resume), CoroutineResult::Return(()))
}
