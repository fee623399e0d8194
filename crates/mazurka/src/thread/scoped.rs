//! Threads that borrow from the thread which creates them.
#![allow(unsafe_code)]

use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, Location as Caller, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use mazurka_program::{Location, ProcessId};

use super::spawn::{Builder, Join, Packet, Result, Thread, lost, run, start, told};
use crate::runtime::{Body, is_end_of_execution, operate, with_world, world};

/// Where scoped threads are created, as [`std::thread::Scope`].
pub struct Scope<'scope, 'env: 'scope> {
    kind: Kind<'scope, 'env>,
    /// Invariant, as in the standard library: else a thread could be given what does not live long enough.
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

enum Kind<'scope, 'env: 'scope> {
    Std(&'scope std::thread::Scope<'scope, 'env>),
    Model(Mutex<Vec<Scoped>>),
}

/// A thread of a scope.
#[derive(Clone, Copy)]
struct Scoped {
    child: ProcessId,
    end: Location,
    joined: bool,
}

/// Creates a scope, and waits for the threads created in it.
#[track_caller]
pub fn scope<'env, F, T>(f: F) -> T
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
{
    let place = Caller::caller();
    if world().is_none() {
        return scope_outside(f);
    }
    let scope = Scope { kind: Kind::Model(Mutex::default()), scope: PhantomData, env: PhantomData };
    with_world(|world| world.share_whole(&scope));
    let result = catch_unwind(AssertUnwindSafe(|| f(&scope)));
    if let Err(payload) = result.as_ref()
        && is_end_of_execution(&**payload)
    {
        // The threads of the scope are younger, so they have ended.
        resume_unwind(result.err().unwrap_or_else(lost));
    }
    scope.wait_for_all(place);
    let panicked = scope.untold_panic();
    match result {
        Err(payload) => resume_unwind(payload),
        Ok(_) if panicked => panic!("a scoped thread panicked"),
        Ok(value) => value,
    }
}

/// A scope of the standard library's, wrapped in one of ours.
fn scope_outside<'env, F, T>(f: F) -> T
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
{
    /// Frees the scope when all threads that may refer to it have ended.
    struct Wrapper(*mut Scope<'static, 'static>);
    impl Drop for Wrapper {
        fn drop(&mut self) {
            if !self.0.is_null() {
                // SAFETY: it came from a box, and the standard library's scope is over.
                drop(unsafe { Box::from_raw(self.0) });
            }
        }
    }
    let mut wrapper = Wrapper(std::ptr::null_mut());
    let keep = &mut wrapper.0;
    std::thread::scope(|scope| {
        let scope = Scope { kind: Kind::Std(scope), scope: PhantomData, env: PhantomData };
        let scope = Box::into_raw(Box::new(scope));
        *keep = scope.cast();
        // SAFETY: the box lives until `wrapper` is dropped, after the end of 'scope.
        f(unsafe { &*scope })
    })
}

impl<'scope> Scope<'scope, '_> {
    /// Runs a function on a new thread, which may borrow what outlives the scope.
    #[track_caller]
    pub fn spawn<F, T>(&'scope self, f: F) -> ScopedJoinHandle<'scope, T>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        Builder::new().spawn_scoped(self, f).expect("failed to spawn thread")
    }

    fn threads(&self) -> std::sync::MutexGuard<'_, Vec<Scoped>> {
        match &self.kind {
            Kind::Model(threads) => threads.lock().unwrap_or_else(PoisonError::into_inner),
            Kind::Std(_) => unreachable!("a scope outside of a check has no list of threads"),
        }
    }

    /// Waits for the threads that nobody has joined: children before grandchildren, each generation by name. A thread may
    /// create others in the scope until it ends, so of a generation that is complete all agree who belongs to it.
    fn wait_for_all(&self, place: &'static Caller<'static>) {
        loop {
            let next = {
                let threads = self.threads();
                let path = |thread: &&Scoped| {
                    with_world(|world| world.search.names.path(thread.child)).map(|path| (path.len(), path))
                };
                threads.iter().filter(|thread| !thread.joined).min_by_key(path).copied()
            };
            let Some(Scoped { child, end, .. }) = next else { return };
            operate(&mut Join { child, end }, place);
            self.note_joined(child);
        }
    }

    fn note_joined(&self, child: ProcessId) {
        self.threads()
            .iter_mut()
            .filter(|thread| thread.child == child)
            .for_each(|thread| thread.joined = true);
    }

    /// Whether a thread panicked without anybody having been told. From now on somebody has.
    fn untold_panic(&self) -> bool {
        let threads = self.threads();
        with_world(|world| {
            let mut untold = false;
            for panic in world.execution.panics.iter_mut().filter(|panic| !panic.told) {
                if threads.iter().any(|thread| thread.child == panic.process) {
                    panic.told = true;
                    untold = true;
                }
            }
            untold
        })
        .unwrap_or(false)
    }
}

impl fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").finish_non_exhaustive()
    }
}

impl Builder {
    /// Runs a function on a new thread of a scope.
    ///
    /// # Errors
    /// If the operating system has no thread for it.
    #[track_caller]
    pub fn spawn_scoped<'scope, 'env, F, T>(
        mut self,
        scope: &'scope Scope<'scope, 'env>,
        f: F,
    ) -> io::Result<ScopedJoinHandle<'scope, T>>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        let place = Caller::caller();
        if let Kind::Std(std_scope) = &scope.kind {
            let handle = self.std().spawn_scoped(std_scope, f)?;
            let thread = Thread::std(handle.thread().clone());
            return Ok(ScopedJoinHandle(Handle::Std { handle, thread }));
        }
        let packet = Packet::new();
        let result = packet.clone();
        let body: Box<dyn FnOnce() + 'scope> = Box::new(move || result.put(run(f)));
        // SAFETY: only the lifetime changes. The body runs on a thread that `scope` waits for before it returns or goes
        // on unwinding; and where an execution is abandoned, younger threads end before older ones, so this one
        // before the one whose stack it borrows from.
        let body = unsafe { std::mem::transmute::<Box<dyn FnOnce() + 'scope>, Body>(body) };
        let name = self.take_name();
        let thread = name.clone();
        let Some((child, end)) = start(body, (name, self.asked_size()), place) else {
            return Err(io::Error::other("the execution is over"));
        };
        scope.threads().push(Scoped { child, end, joined: false });
        let thread = Thread::model(child, thread);
        Ok(ScopedJoinHandle(Handle::Model { child, end, packet, thread, scope: Noted::of(scope) }))
    }
}

/// The right to wait for a scoped thread, as [`std::thread::ScopedJoinHandle`].
pub struct ScopedJoinHandle<'scope, T>(Handle<'scope, T>);

enum Handle<'scope, T> {
    Std { handle: std::thread::ScopedJoinHandle<'scope, T>, thread: Thread },
    Model { child: ProcessId, end: Location, packet: Arc<Packet<T>>, thread: Thread, scope: Noted<'scope> },
}

/// The list of a scope's threads.
struct Noted<'scope>(&'scope Mutex<Vec<Scoped>>);

impl<'scope> Noted<'scope> {
    fn of(scope: &'scope Scope<'scope, '_>) -> Noted<'scope> {
        match &scope.kind {
            Kind::Model(threads) => Noted(threads),
            Kind::Std(_) => unreachable!("a scope outside of a check has no list of threads"),
        }
    }

    fn joined(&self, child: ProcessId) {
        let mut threads = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        threads.iter_mut().filter(|thread| thread.child == child).for_each(|thread| thread.joined = true);
    }
}

impl<T> ScopedJoinHandle<'_, T> {
    /// Waits for the end of the thread and gives its result.
    ///
    /// # Errors
    /// If it panicked: what it panicked with.
    #[track_caller]
    pub fn join(self) -> Result<T> {
        match self.0 {
            Handle::Std { handle, .. } => handle.join(),
            Handle::Model { child, end, packet, scope, .. } => {
                operate(&mut Join { child, end }, Caller::caller());
                // Only who created the scope joins the rest, so only its own joins tell it something.
                let owner = with_world(|world| {
                    world.search.names.path(world.execution.schedule.running).len() + 1
                        == world.search.names.path(child).len()
                });
                if owner == Some(true) {
                    scope.joined(child);
                }
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
            Handle::Model { child, end, .. } => super::spawn::is_finished(*child, *end, Caller::caller()),
        }
    }
}

impl<T> fmt::Debug for ScopedJoinHandle<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopedJoinHandle").finish_non_exhaustive()
    }
}
