//! Threads: their creation, their end, and their handles.

use std::any::Any;
use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, Location as Caller, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::time::Duration;

use mazurka_program::{AccessKind, Location, ProcessId};
use mazurka_threads::waiters::Spuriously;

use crate::runtime::confined::Confined;
use crate::runtime::identity::OwnKind;
use crate::runtime::operation::{Operation, Step, Wait};
use crate::runtime::{Body, World, end_of_thread, note_panic, operate, stop_here, with_world, world};
use mazurka_threads::values::Until;

pub use std::thread::Result;

/// Where the result of a thread is left for who joins it.
pub(super) struct Packet<T> {
    result: Confined<Option<Result<T>>>,
}

impl<T> Packet<T> {
    pub(super) fn new() -> Arc<Packet<T>> {
        Arc::new(Packet { result: Confined::new(None) })
    }

    pub(super) fn put(&self, result: Result<T>) {
        let before = self.result.try_lock().and_then(|mut place| place.replace(result));
        debug_assert!(before.is_none(), "a thread ends once");
    }

    pub(super) fn take(&self) -> Option<Result<T>> {
        // It belongs to a check: outside of that there is nothing.
        self.result.try_lock()?.take()
    }
}

/// Runs the closure of a check as a thread.
pub(crate) fn run_main(body: &(dyn Fn() + Send + Sync)) {
    let _ = run(body);
}

/// Runs the body of a thread to its very end. Its panic is noted as one that nobody has been told of.
pub(super) fn run<T>(body: impl FnOnce() -> T) -> Result<T> {
    let result = catch_unwind(AssertUnwindSafe(body));
    match result {
        Err(payload) if crate::runtime::is_end_of_execution(&*payload) => resume_unwind(payload),
        result => {
            if let Err(payload) = &result {
                note_panic(&**payload);
            }
            end_of_thread();
            if with_world(|world| world.search.ends_are_steps) == Some(true) {
                operate(&mut End, Caller::caller());
            }
            result
        }
    }
}

/// The end of a thread, where it is a step of its own: what it touches is added when the thread is gone.
struct End;

impl Operation for End {
    fn perform(&mut self, _step: &mut Step<'_>) {}

    fn describe(&self, _world: &World) -> String {
        "end".to_owned()
    }
}

/// Creates a thread.
struct Spawn {
    body: Option<Body>,
    name: Option<Arc<str>>,
    stack_size: Option<usize>,
    place: &'static Caller<'static>,
    child: Option<(ProcessId, Location)>,
}

impl Operation for Spawn {
    fn perform(&mut self, step: &mut Step<'_>) {
        let Some(body) = self.body.take() else { return };
        let child = step.world.create(body, (self.name.take(), self.stack_size), self.place);
        step.inherits(child);
        self.child = Some((child, step.world.end_of(child)));
    }

    fn describe(&self, world: &World) -> String {
        match self.child {
            Some((child, _)) => format!("spawn {}", world.name_of(child)),
            None => "spawn a thread".to_owned(),
        }
    }
}

/// Waits for the end of a thread.
pub(super) struct Join {
    pub(super) child: ProcessId,
    pub(super) end: Location,
}

impl Operation for Join {
    fn wait(&self) -> Wait {
        Wait::Own
    }

    fn ready(&self, world: &World, _process: ProcessId) -> bool {
        world.execution.values.get(self.end) == 1
    }

    fn perform(&mut self, step: &mut Step<'_>) {
        step.touch(self.end, AccessKind::Read);
        step.waited_for(self.end);
        step.acquire(self.end);
    }

    fn describe(&self, world: &World) -> String {
        format!("join {}", world.name_of(self.child))
    }

    fn waits_for(&self, world: &World) -> (String, Vec<ProcessId>) {
        (format!("the end of {}", world.name_of(self.child)), vec![self.child])
    }
}

/// Looks whether a thread has ended.
struct IsFinished {
    join: Join,
    finished: bool,
}

impl Operation for IsFinished {
    fn perform(&mut self, step: &mut Step<'_>) {
        step.touch(self.join.end, AccessKind::Read);
        self.finished = step.peek(self.join.end) == 1;
    }

    fn describe(&self, world: &World) -> String {
        format!("is {} finished?", world.name_of(self.join.child))
    }
}

/// Brings a new thread into being; gives it and the location of its end. None outside of a check.
pub(super) fn start(
    body: Body,
    (name, stack_size): (Option<Arc<str>>, Option<usize>),
    place: &'static Caller<'static>,
) -> Option<(ProcessId, Location)> {
    let mut spawn = Spawn { body: Some(body), name, stack_size, place, child: None };
    operate(&mut spawn, place);
    spawn.child
}

/// Runs a function on a new thread.
#[track_caller]
pub fn spawn<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    Builder::new().spawn(f).expect("failed to spawn thread")
}

/// Makes threads with a name, as [`std::thread::Builder`].
#[must_use = "must eventually spawn the thread"]
#[derive(Debug, Default)]
pub struct Builder {
    name: Option<String>,
    stack_size: Option<usize>,
}

impl Builder {
    /// A builder of threads without a name.
    pub fn new() -> Builder {
        Builder::default()
    }

    /// Names the thread.
    pub fn name(mut self, name: String) -> Builder {
        self.name = Some(name);
        self
    }

    /// The size of its stack. Within a check no stack is smaller than [`Checker`](crate::Checker) says.
    pub fn stack_size(mut self, size: usize) -> Builder {
        self.stack_size = Some(size);
        self
    }

    pub(super) fn std(self) -> std::thread::Builder {
        let builder = std::thread::Builder::new();
        let builder = match self.name {
            Some(name) => builder.name(name),
            None => builder,
        };
        match self.stack_size {
            Some(size) => builder.stack_size(size),
            None => builder,
        }
    }

    /// The size of the stack that was asked for.
    pub(super) fn asked_size(&self) -> Option<usize> {
        self.stack_size
    }

    pub(super) fn take_name(&mut self) -> Option<Arc<str>> {
        self.name.take().map(Arc::from)
    }

    /// Runs a function on a new thread.
    ///
    /// # Errors
    /// If the operating system has no thread for it.
    #[track_caller]
    pub fn spawn<F, T>(mut self, f: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let place = Caller::caller();
        if world().is_none() {
            let handle = self.std().spawn(f)?;
            let thread = Thread::std(handle.thread().clone());
            return Ok(JoinHandle(Handle::Std { handle, thread }));
        }
        let packet = Packet::new();
        let result = packet.clone();
        let body = Box::new(move || result.put(run(f)));
        let name = self.take_name();
        let thread = name.clone();
        match start(body, (name, self.stack_size), place) {
            Some((child, end)) => {
                Ok(JoinHandle(Handle::Model { child, end, packet, thread: Thread::model(child, thread) }))
            }
            None => Err(io::Error::other("the execution is over")),
        }
    }
}

/// The right to wait for a thread, as [`std::thread::JoinHandle`].
pub struct JoinHandle<T>(Handle<T>);

enum Handle<T> {
    Std { handle: std::thread::JoinHandle<T>, thread: Thread },
    Model { child: ProcessId, end: Location, packet: Arc<Packet<T>>, thread: Thread },
}

impl<T> JoinHandle<T> {
    /// Waits for the end of the thread and gives its result.
    ///
    /// # Errors
    /// If it panicked: what it panicked with.
    #[track_caller]
    pub fn join(self) -> Result<T> {
        match self.0 {
            Handle::Std { handle, .. } => handle.join(),
            Handle::Model { child, end, packet, .. } => {
                operate(&mut Join { child, end }, Caller::caller());
                let result = packet.take().unwrap_or_else(|| Err(lost()));
                if result.is_err() {
                    told(child);
                }
                result
            }
        }
    }

    /// The thread.
    pub fn thread(&self) -> &Thread {
        match &self.0 {
            Handle::Std { thread, .. } | Handle::Model { thread, .. } => thread,
        }
    }

    /// Whether the thread has come to its end.
    #[track_caller]
    pub fn is_finished(&self) -> bool {
        match &self.0 {
            Handle::Std { handle, .. } => handle.is_finished(),
            Handle::Model { child, end, .. } => is_finished(*child, *end, Caller::caller()),
        }
    }
}

pub(super) fn is_finished(child: ProcessId, end: Location, place: &'static Caller<'static>) -> bool {
    let known = with_world(|world| {
        if !world.search.ends_are_steps {
            world.discover_ends();
        }
        world.search.ends_are_steps
    });
    if known == Some(false) && !std::thread::panicking() {
        stop_here();
    }
    let mut look = IsFinished { join: Join { child, end }, finished: false };
    operate(&mut look, place);
    look.finished
}

/// A join that is done while its execution is being abandoned has nothing to give.
pub(super) fn lost() -> Box<dyn Any + Send> {
    Box::new("the execution was abandoned")
}

/// Somebody was told of the panic of a thread.
pub(super) fn told(child: ProcessId) {
    with_world(|world| {
        world
            .execution
            .panics
            .iter_mut()
            .filter(|panic| panic.process == child)
            .for_each(|panic| panic.told = true);
    });
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").finish_non_exhaustive()
    }
}

/// A handle of a thread, as [`std::thread::Thread`].
#[derive(Clone)]
pub struct Thread(Kind);

#[derive(Clone)]
enum Kind {
    Std(std::thread::Thread),
    Model { process: ProcessId, name: Option<Arc<str>> },
}

/// What tells threads apart, as [`std::thread::ThreadId`].
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ThreadId(Id);

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Id {
    Std(std::thread::ThreadId),
    Model(ProcessId),
}

impl fmt::Debug for ThreadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Id::Std(id) => id.fmt(f),
            Id::Model(process) => f.debug_tuple("ThreadId").field(&(process.0 + 1)).finish(),
        }
    }
}

impl Thread {
    pub(super) fn std(thread: std::thread::Thread) -> Thread {
        Thread(Kind::Std(thread))
    }

    pub(super) fn model(process: ProcessId, name: Option<Arc<str>>) -> Thread {
        Thread(Kind::Model { process, name })
    }

    /// What tells it from other threads.
    pub fn id(&self) -> ThreadId {
        ThreadId(match &self.0 {
            Kind::Std(thread) => Id::Std(thread.id()),
            Kind::Model { process, .. } => Id::Model(*process),
        })
    }

    /// Its name, if it has one.
    pub fn name(&self) -> Option<&str> {
        match &self.0 {
            Kind::Std(thread) => thread.name(),
            Kind::Model { name, .. } => name.as_deref(),
        }
    }

    /// Lets it go on from its present or its next [`park`].
    #[track_caller]
    pub fn unpark(&self) {
        match &self.0 {
            Kind::Std(thread) => thread.unpark(),
            Kind::Model { process, .. } => {
                let token = with_world(|world| world.own(*process, OwnKind::Token, 0));
                if let Some(token) = token {
                    operate(&mut Unpark { process: *process, token }, Caller::caller());
                }
            }
        }
    }
}

impl fmt::Debug for Thread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Thread").field("id", &self.id()).field("name", &self.name()).finish_non_exhaustive()
    }
}

/// The thread that asks.
pub fn current() -> Thread {
    with_world(|world| {
        let process = world.execution.schedule.running;
        Thread::model(process, world.process(process).name.clone())
    })
    .unwrap_or_else(|| Thread(Kind::Std(std::thread::current())))
}

/// Gives the permission to go on.
struct Unpark {
    process: ProcessId,
    token: Location,
}

impl Operation for Unpark {
    fn perform(&mut self, step: &mut Step<'_>) {
        step.touch(self.token, AccessKind::Write);
        step.set(self.token, 1);
        step.release(self.token);
    }

    fn describe(&self, world: &World) -> String {
        format!("unpark {}", world.name_of(self.process))
    }
}

/// Waits for the permission to go on and uses it up.
struct Park {
    token: Location,
    /// Whether it may time out.
    timeout: bool,
    /// Whether it may wake up of itself. As at condition variables, a thread does so at most once in an execution.
    spurious: bool,
}

impl Operation for Park {
    fn wait(&self) -> Wait {
        match self.timeout || self.spurious {
            true => Wait::Nothing,
            false => Wait::Guard { location: self.token, until: Until::Is(1) },
        }
    }

    fn perform(&mut self, step: &mut Step<'_>) {
        step.touch(self.token, AccessKind::Update);
        step.acquire(self.token);
        if step.peek(self.token) == 0 {
            if self.timeout {
                step.note(|| "timed out".to_owned());
            } else {
                step.world.execution.waiters.note(Spuriously::WakesUp, step.process);
                step.note(|| "of itself".to_owned());
            }
        }
        step.set(self.token, 0);
    }

    fn describe(&self, _world: &World) -> String {
        if self.timeout { "park_timeout()".to_owned() } else { "park()".to_owned() }
    }

    fn waits_for(&self, _world: &World) -> (String, Vec<ProcessId>) {
        ("an unpark".to_owned(), Vec::new())
    }
}

#[track_caller]
fn park_model(timeout: bool) -> bool {
    let found = with_world(|world| {
        let me = world.execution.schedule.running;
        let spurious = world.search.spurious.wakeups && !world.execution.waiters.has(Spuriously::WakesUp, me);
        Park { token: world.own(me, OwnKind::Token, 0), timeout, spurious }
    });
    let Some(mut park) = found else { return false };
    operate(&mut park, Caller::caller());
    true
}

/// Waits until somebody unparks the thread.
#[track_caller]
pub fn park() {
    if !park_model(false) {
        std::thread::park();
    }
}

/// Waits until somebody unparks the thread, or for a time: within a check it may time out whenever it is not unparked.
#[track_caller]
pub fn park_timeout(duration: Duration) {
    if !park_model(true) {
        std::thread::park_timeout(duration);
    }
}
