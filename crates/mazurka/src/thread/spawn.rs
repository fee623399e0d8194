//! Threads: their creation, their end, and their handles.

use std::any::Any;
use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, Location as Caller, catch_unwind, resume_unwind};
use std::sync::Arc;

use mazurka_program::{AccessKind, Location, ProcessId};

use super::scoped::ScopedThreads;
use crate::runtime::confined::Confined;
use crate::runtime::operation::{CurrentStep, Operation, Wait};
use crate::runtime::{Body, Runtime, end_of_thread, in_check, note_panic, operate, stop_here, with_runtime};
use crate::step::{CallSite, opaque_debug, take_step};

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
            if with_runtime(|runtime| runtime.search.ends_are_steps) == Some(true) {
                // What it touches is added when the thread is gone.
                take_step(Caller::caller(), |_| "end".to_owned(), |_| ());
            }
            result
        }
    }
}

/// Creates a thread.
struct Spawn {
    body: Option<Body>,
    /// Its name, and the size of its stack.
    options: (Option<Arc<str>>, Option<usize>),
    place: CallSite,
    child: Option<(ProcessId, Location)>,
}

impl Operation for Spawn {
    fn perform(&mut self, step: &mut CurrentStep<'_>) {
        let Some(body) = self.body.take() else { return };
        let child = step.runtime.create(body, (self.options.0.take(), self.options.1), self.place);
        step.inherits(child);
        self.child = Some((child, step.runtime.end_of(child)));
    }

    fn describe(&self, runtime: &Runtime) -> String {
        match self.child {
            Some((child, _)) => format!("spawn {}", runtime.name_of(child)),
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

    fn ready(&self, runtime: &Runtime, _process: ProcessId) -> bool {
        runtime.value(self.end) == 1
    }

    fn perform(&mut self, step: &mut CurrentStep<'_>) {
        step.touch(self.end, AccessKind::Read);
        step.waited_for(self.end);
        step.acquire(self.end);
    }

    fn describe(&self, runtime: &Runtime) -> String {
        format!("join {}", runtime.name_of(self.child))
    }

    fn waits_for(&self, runtime: &Runtime) -> (String, Vec<ProcessId>) {
        (format!("the end of {}", runtime.name_of(self.child)), vec![self.child])
    }
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

    /// Runs a function on a new thread; an error if the operating system has no thread for it.
    #[track_caller]
    pub fn spawn<F, T>(self, f: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let place = Caller::caller();
        if !in_check() {
            let handle = self.std().spawn(f)?;
            let thread = Thread::std(handle.thread().clone());
            return Ok(JoinHandle(Handle::Std { handle, thread }));
        }
        let packet = Packet::new();
        let result = packet.clone();
        self.start(Box::new(move || result.put(run(f))), packet, None, place).map(JoinHandle)
    }

    /// Starts a thread in a check, which leaves its result in a packet.
    pub(super) fn start<'scope, S, T>(
        self,
        body: Body,
        packet: Arc<Packet<T>>,
        scope: Option<&'scope ScopedThreads>,
        place: CallSite,
    ) -> io::Result<Handle<'scope, S, T>> {
        let name: Option<Arc<str>> = self.name.map(Arc::from);
        let options = (name.clone(), self.stack_size);
        let mut spawn = Spawn { body: Some(body), options, place, child: None };
        operate(&mut spawn, place);
        let Some((child, end)) = spawn.child else {
            return Err(io::Error::other("the execution is over"));
        };
        if let Some(scope) = scope {
            scope.add(child, end);
        }
        let thread = Thread(Kind::Model { process: child, name });
        Ok(Handle::Model { child, end, packet, thread, scope })
    }
}

/// What a thread is joined by; `S` is the handle of the standard library's.
pub(super) enum Handle<'scope, S, T> {
    Std {
        handle: S,
        thread: Thread,
    },
    Model {
        child: ProcessId,
        end: Location,
        packet: Arc<Packet<T>>,
        thread: Thread,
        /// Where it is noted that a scoped thread was joined.
        scope: Option<&'scope ScopedThreads>,
    },
}

impl<S, T> Handle<'_, S, T> {
    #[track_caller]
    fn join(self, std: impl FnOnce(S) -> Result<T>) -> Result<T> {
        match self {
            Handle::Std { handle, .. } => std(handle),
            Handle::Model { child, end, packet, scope, .. } => {
                operate(&mut Join { child, end }, Caller::caller());
                if let Some(scope) = scope {
                    scope.join_by_running(child);
                }
                let result = packet.take().unwrap_or_else(|| Err(abandoned()));
                if result.is_err() {
                    report_panic_of(child);
                }
                result
            }
        }
    }

    #[track_caller]
    fn is_finished(&self, std: impl FnOnce(&S) -> bool) -> bool {
        match self {
            Handle::Std { handle, .. } => std(handle),
            Handle::Model { child, end, .. } => is_finished(*child, *end, Caller::caller()),
        }
    }

    fn thread(&self) -> &Thread {
        match self {
            Handle::Std { thread, .. } | Handle::Model { thread, .. } => thread,
        }
    }
}

macro_rules! join_handles {
    ($($(#[$doc:meta])* $name:ident<$($scope:lifetime)?>: $handle:lifetime;)*) => {$(
        $(#[$doc])*
        pub struct $name<$($scope,)? T>(
            pub(super) Handle<$handle, std::thread::$name<$($scope,)? T>, T>,
        );

        impl<$($scope,)? T> $name<$($scope,)? T> {
            /// Waits for the end of the thread and gives its result; what it panicked with as an error.
            #[track_caller]
            pub fn join(self) -> Result<T> {
                self.0.join(std::thread::$name::join)
            }

            /// The thread.
            pub fn thread(&self) -> &Thread {
                self.0.thread()
            }

            /// Whether the thread has come to its end.
            #[track_caller]
            pub fn is_finished(&self) -> bool {
                self.0.is_finished(std::thread::$name::is_finished)
            }
        }
    )*};
}

join_handles! {
    /// The right to wait for a thread, as [`std::thread::JoinHandle`].
    JoinHandle<>: 'static;

    /// The right to wait for a scoped thread, as [`std::thread::ScopedJoinHandle`].
    ScopedJoinHandle<'scope>: 'scope;
}

opaque_debug! {
    JoinHandle<T>;
    ScopedJoinHandle<'scope, T>;
}

fn is_finished(child: ProcessId, end: Location, place: CallSite) -> bool {
    let known = with_runtime(|runtime| {
        if !runtime.search.ends_are_steps {
            runtime.discover_ends();
        }
        runtime.search.ends_are_steps
    });
    if known == Some(false) && !std::thread::panicking() {
        stop_here();
    }
    let describe = |runtime: &Runtime| format!("is {} finished?", runtime.name_of(child));
    let finished = take_step(place, describe, |step| {
        step.touch(end, AccessKind::Read);
        step.peek(end) == 1
    });
    finished.unwrap_or(false)
}

/// A join that is done while its execution is being abandoned has nothing to give.
pub(super) fn abandoned() -> Box<dyn Any + Send> {
    Box::new("the execution was abandoned")
}

/// Somebody is told of the panic of a thread: it is no failure.
pub(crate) fn report_panic_of(child: ProcessId) {
    with_runtime(|runtime| {
        runtime
            .execution
            .panics
            .iter_mut()
            .filter(|panic| panic.process == child)
            .for_each(|panic| panic.told = true);
    });
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

    /// Lets it go on from its present or its next [`park`](super::park).
    #[track_caller]
    pub fn unpark(&self) {
        match &self.0 {
            Kind::Std(thread) => thread.unpark(),
            Kind::Model { process, .. } => super::park::unpark(*process, Caller::caller()),
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
    with_runtime(|runtime| {
        let process = runtime.running();
        Thread(Kind::Model { process, name: runtime.process(process).name.clone() })
    })
    .unwrap_or_else(|| Thread::std(std::thread::current()))
}
