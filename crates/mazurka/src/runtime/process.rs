//! Modelled processes: coroutines on pooled stacks.
#![allow(unsafe_code)]

use std::any::Any;
use std::panic::Location as Caller;
use std::ptr;
use std::sync::{Mutex, PoisonError};

use corosensei::stack::{DefaultStack, Stack};
use corosensei::{Coroutine, CoroutineResult, Yielder};
use mazurka_program::{GuardId, Location, ProcessId};

use super::operation::{Operation, Wait};
use super::overflow;
use super::spin::{Quiet, Shared};

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
    operation: *mut dyn Operation,
    pub(crate) place: &'static Caller<'static>,
    pub(crate) wait: Wait,
    /// Whether it waits because it spins.
    pub(crate) spins: bool,
    /// See [`Operation::is_plain`].
    pub(crate) plain: bool,
    /// See [`Operation::branches`].
    pub(crate) branches: bool,
    /// For [`Wait::Guard`].
    pub(crate) guard: GuardId,
    /// The stack pointer there.
    pub(crate) top: usize,
}

impl Pending {
    /// # Safety
    /// The operation must stay where it is until the process is resumed.
    pub(crate) unsafe fn new(
        operation: &mut (dyn Operation + '_),
        place: &'static Caller<'static>,
        wait: Wait,
        guard: GuardId,
    ) -> Pending {
        // SAFETY: only the lifetime of the trait object changes, and the caller vouches for it.
        let operation = unsafe {
            std::mem::transmute::<*mut (dyn Operation + '_), *mut (dyn Operation + 'static)>(operation)
        };
        Pending { operation, place, wait, spins: false, plain: false, branches: false, guard, top: 0 }
    }

    #[inline]
    pub(crate) fn operation(&self) -> &dyn Operation {
        // SAFETY: by the contract of `new`; the process is parked, so nobody else looks at it.
        unsafe { &*self.operation }
    }

    /// # Safety
    /// No other reference to the operation may be in use.
    #[inline]
    pub(crate) unsafe fn operation_mut<'a>(self) -> &'a mut dyn Operation {
        // SAFETY: by the contract of `new` and of this function.
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
    /// In a box, so that it can be taken out and put back cheaply. The box stays when the coroutine ends.
    routine: Option<Box<Option<Routine>>>,
    yielder: Option<ptr::NonNull<Yielder<Resume, ()>>>,
    /// The range of its stack.
    pub(crate) stack: (usize, usize),
    /// How many steps it has taken.
    pub(crate) events: u32,
    /// How many steps had been taken when it was created.
    pub(crate) born: u32,
    /// How many processes it has created.
    pub(crate) spawned: u32,
    /// How many things of a kind it has made, by [`super::identity::OwnKind`].
    pub(crate) made: [u32; 6],
    pub(crate) end: Option<Location>,
    pub(crate) name: Option<String>,
    /// What `thread_local!` variables hold, in the order of their creation, by their keys.
    pub(crate) locals: Vec<(usize, Option<Box<dyn Any>>)>,
    pub(crate) quiet: Quiet,
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

/// Stacks that are not in use.
pub(crate) struct Stacks {
    free: Vec<DefaultStack>,
    size: usize,
}

/// Stacks that earlier checks have left, with their sizes: to map memory anew would cost more than a small check.
static LEFT: Mutex<Vec<(usize, DefaultStack)>> = Mutex::new(Vec::new());

/// No more stacks than this are kept for later checks.
const MAX_LEFT: usize = 32;

impl Drop for Stacks {
    fn drop(&mut self) {
        let mut left = LEFT.lock().unwrap_or_else(PoisonError::into_inner);
        let room = MAX_LEFT.saturating_sub(left.len());
        left.extend(self.free.drain(..).take(room).map(|stack| (self.size, stack)));
    }
}

impl Stacks {
    pub(crate) fn new(size: usize) -> Stacks {
        Stacks { free: Vec::new(), size }
    }

    /// The size of each.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    fn take(&mut self) -> std::io::Result<DefaultStack> {
        match self.free.pop().or_else(|| self.take_left()) {
            Some(stack) => Ok(stack),
            None => DefaultStack::new(self.size),
        }
    }

    #[cold]
    fn take_left(&self) -> Option<DefaultStack> {
        let mut left = LEFT.lock().unwrap_or_else(PoisonError::into_inner);
        let at = left.iter().rposition(|&(size, _)| size == self.size)?;
        Some(left.swap_remove(at).1)
    }
}

impl Process {
    /// Makes the record that of a process which is about to start.
    pub(crate) fn begin(&mut self, body: Body) {
        debug_assert!(!self.has_routine());
        self.status = Status::Running;
        self.pending = None;
        self.body = Some(body);
        (self.events, self.spawned, self.made) = (0, 0, [0; 6]);
        (self.name, self.created) = (None, None);
        self.locals.clear();
        self.quiet.clear();
        self.shared.clear();
    }

    /// Gives the process a stack.
    pub(crate) fn embark(&mut self, stacks: &mut Stacks) -> std::io::Result<()> {
        let Some(body) = self.body.take() else { return Ok(()) };
        let stack = stacks.take()?;
        self.stack = (stack.limit().get(), stack.base().get());
        let routine = Coroutine::with_stack(stack, move |yielder: &Yielder<Resume, ()>, resume| {
            super::arrive::enter(ptr::NonNull::from(yielder), resume, body);
        });
        **self.routine.get_or_insert_default() = Some(routine);
        Ok(())
    }

    pub(crate) fn set_yielder(&mut self, yielder: ptr::NonNull<Yielder<Resume, ()>>) {
        self.yielder = Some(yielder);
    }

    pub(crate) fn yielder(&self) -> Option<ptr::NonNull<Yielder<Resume, ()>>> {
        self.yielder
    }

    /// Where what the process has on its stack begins. Above it is what the coroutine knows of who resumed it.
    pub(crate) fn bottom(&self) -> usize {
        self.yielder.map_or(self.stack.1, |yielder| yielder.as_ptr() as usize)
    }

    /// The coroutine, to be resumed while nobody refers to the process: it will itself.
    pub(crate) fn take_routine(&mut self) -> Option<Box<Option<Routine>>> {
        self.routine.take()
    }

    pub(crate) fn put_back(&mut self, mut routine: Box<Option<Routine>>, ended: bool, stacks: &mut Stacks) {
        if ended {
            stacks.free.extend(routine.take().map(Coroutine::into_stack));
            self.yielder = None;
        }
        self.routine = Some(routine);
    }

    /// Whether objects may live on its stack.
    pub(crate) fn has_stack(&self) -> bool {
        !matches!(self.status, Status::Absent | Status::Finished)
    }

    pub(crate) fn has_routine(&self) -> bool {
        self.routine.as_ref().is_some_and(|routine| routine.is_some())
    }

    /// Gives up a coroutine that can't be unwound. What lives on its stack is never dropped, and the stack never used
    /// again: something may be pinned there.
    pub(crate) fn abandon(&mut self) {
        self.routine.take().into_iter().for_each(std::mem::forget);
        self.yielder = None;
    }
}

/// Runs a coroutine until it suspends itself or ends. Gives whether it ended.
#[inline]
pub(crate) fn resume(routine: &mut Option<Routine>, limit: usize, resume: Resume) -> bool {
    let Some(routine) = routine else { return true };
    overflow::set_running(routine, limit);
    matches!(routine.resume(resume), CoroutineResult::Return(()))
}
