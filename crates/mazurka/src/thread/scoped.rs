//! Threads that borrow from the thread which creates them.
#![allow(unsafe_code)]

use std::io;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, Location as Caller, catch_unwind, resume_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};

use mazurka_program::{Location, ProcessId};

use super::spawn::{Builder, Handle, Join, JoinHandle, Packet, ScopedJoinHandle, Thread, abandoned, run};
use crate::runtime::{Body, in_check, is_end_of_execution, operate, with_runtime};
use crate::step::{CallSite, opaque_debug};

/// Where scoped threads are created, as [`std::thread::Scope`].
pub struct Scope<'scope, 'env: 'scope> {
    kind: Kind<'scope, 'env>,
    /// Invariant, as in the standard library: else a thread could be given what does not live long enough.
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

enum Kind<'scope, 'env: 'scope> {
    Std(&'scope std::thread::Scope<'scope, 'env>),
    Model(ScopedThreads),
}

/// The threads of a scope.
#[derive(Default)]
pub(super) struct ScopedThreads(Mutex<Vec<Scoped>>);

#[derive(Clone, Copy)]
struct Scoped {
    child: ProcessId,
    end: Location,
    joined: bool,
}

impl ScopedThreads {
    fn list(&self) -> MutexGuard<'_, Vec<Scoped>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn add(&self, child: ProcessId, end: Location) {
        self.list().push(Scoped { child, end, joined: false });
    }

    fn note_joined(&self, child: ProcessId) {
        self.list().iter_mut().filter(|thread| thread.child == child).for_each(|thread| thread.joined = true);
    }

    /// The running thread has joined one of the scope. Only who created the scope joins the rest, so only its
    /// own joins tell it something.
    pub(super) fn join_by_running(&self, child: ProcessId) {
        let owner = with_runtime(|runtime| {
            runtime.search.names.path(runtime.running()).len() + 1 == runtime.search.names.path(child).len()
        });
        if owner == Some(true) {
            self.note_joined(child);
        }
    }

    /// Waits for the threads that nobody has joined: children before grandchildren, each generation by name.
    /// A thread may create others in the scope until it ends, so of a generation that is complete all agree
    /// who belongs to it.
    fn wait_for_all(&self, place: CallSite) {
        let next = || {
            let path = |thread: &&Scoped| {
                with_runtime(|runtime| runtime.search.names.path(thread.child)).map(|path| (path.len(), path))
            };
            self.list().iter().filter(|thread| !thread.joined).min_by_key(path).copied()
        };
        while let Some(Scoped { child, end, .. }) = next() {
            operate(&mut Join { child, end }, place);
            self.note_joined(child);
        }
    }

    /// Whether a thread panicked without anybody having been told. From now on somebody has.
    fn take_unreported_panic(&self) -> bool {
        let threads = self.list();
        with_runtime(|runtime| {
            let mut unreported = false;
            for panic in runtime.execution.panics.iter_mut().filter(|panic| !panic.told) {
                if threads.iter().any(|thread| thread.child == panic.process) {
                    panic.told = true;
                    unreported = true;
                }
            }
            unreported
        })
        .unwrap_or(false)
    }
}

/// Creates a scope, and waits for the threads created in it.
#[track_caller]
pub fn scope<'env, F, T>(f: F) -> T
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
{
    let place = Caller::caller();
    if !in_check() {
        return scope_outside(f);
    }
    let kind = Kind::Model(ScopedThreads::default());
    let scope = Scope { kind, scope: PhantomData, env: PhantomData };
    with_runtime(|runtime| runtime.share_whole(&scope));
    let result = catch_unwind(AssertUnwindSafe(|| f(&scope)));
    if let Err(payload) = result.as_ref()
        && is_end_of_execution(&**payload)
    {
        // The threads of the scope are younger, so they have ended.
        resume_unwind(result.err().unwrap_or_else(abandoned));
    }
    let mut panicked = false;
    if let Kind::Model(threads) = &scope.kind {
        threads.wait_for_all(place);
        panicked = threads.take_unreported_panic();
    }
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
}

opaque_debug!(Scope<'scope, 'env>;);

impl Builder {
    /// As [`spawn`](Builder::spawn), of a function that may borrow.
    ///
    /// # Safety
    /// The thread must have ended before what the function borrows, and what it gives, do: as of the standard
    /// library's.
    #[track_caller]
    pub unsafe fn spawn_unchecked<F, T>(self, f: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send,
        T: Send,
    {
        let place = Caller::caller();
        if !in_check() {
            // SAFETY: the caller vouches for it.
            let handle = unsafe { self.std().spawn_unchecked(f) }?;
            let thread = Thread::std(handle.thread().clone());
            return Ok(JoinHandle(Handle::Std { handle, thread }));
        }
        let packet = Packet::new();
        let result = packet.clone();
        let body: Box<dyn FnOnce() + '_> = Box::new(move || result.put(run(f)));
        // SAFETY: only the lifetime changes, and the caller vouches for it.
        let body = unsafe { std::mem::transmute::<Box<dyn FnOnce() + '_>, Body>(body) };
        self.start(body, packet, None, place).map(JoinHandle)
    }

    /// Runs a function on a new thread of a scope; an error if the operating system has no thread for it.
    #[track_caller]
    pub fn spawn_scoped<'scope, 'env, F, T>(
        self,
        scope: &'scope Scope<'scope, 'env>,
        f: F,
    ) -> io::Result<ScopedJoinHandle<'scope, T>>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        let place = Caller::caller();
        let threads = match &scope.kind {
            Kind::Std(std_scope) => {
                let handle = self.std().spawn_scoped(std_scope, f)?;
                let thread = Thread::std(handle.thread().clone());
                return Ok(ScopedJoinHandle(Handle::Std { handle, thread }));
            }
            Kind::Model(threads) => threads,
        };
        let packet = Packet::new();
        let result = packet.clone();
        let body: Box<dyn FnOnce() + 'scope> = Box::new(move || result.put(run(f)));
        // SAFETY: only the lifetime changes. The body runs on a thread that `scope` waits for before it
        // returns or goes on unwinding; and where an execution is abandoned, younger threads end before older
        // ones, so this one before the one whose stack it borrows from.
        let body = unsafe { std::mem::transmute::<Box<dyn FnOnce() + 'scope>, Body>(body) };
        self.start(body, packet, Some(threads), place).map(ScopedJoinHandle)
    }
}
