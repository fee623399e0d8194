//! Futures: [`block_on`], and tasks that run beside each other.
//!
//! A task is a thread that blocks on its future: whatever an executor might do with its tasks, on one thread or on many, is
//! an interleaving of these. Wakers may be kept, cloned and used from any thread. A task whose future is pending and that
//! nobody wakes is a deadlock, and reported as such: a lost wake-up.
//!
//! ```
//! use mazurka::future::{block_on, spawn};
//! use mazurka::sync::{Arc, atomic::{AtomicU32, Ordering}};
//!
//! let report = mazurka::Checker::new().run(|| {
//!     let total = Arc::new(AtomicU32::new(0));
//!     let tasks = [1, 2].map(|part| {
//!         let total = total.clone();
//!         spawn(async move { total.fetch_add(part, Ordering::SeqCst) })
//!     });
//!     block_on(async {
//!         for task in tasks {
//!             task.await.unwrap();
//!         }
//!     });
//!     assert_eq!(total.load(Ordering::SeqCst), 3);
//! });
//! assert!(report.is_pass());
//! ```

use std::any::Any;
use std::fmt;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, Location as Caller, catch_unwind, resume_unwind};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use mazurka_program::{AccessKind, Location, ProcessId};
use mazurka_threads::waiters::Spuriously;

use crate::runtime::identity::OwnKind;
use crate::runtime::operation::{Operation, Step, Wait};
use crate::runtime::{
    Described, World, is_end_of_execution, note_panic, operate, stop_without, with_world, world,
};
use crate::sync::mpsc::origin::{Origin, Scene};
use mazurka_threads::values::Until;

/// Runs a future to its end on the present thread.
#[track_caller]
pub fn block_on<F: Future>(future: F) -> F::Output {
    block_on_at(future, Caller::caller())
}

fn block_on_at<F: Future>(future: F, place: &'static Caller<'static>) -> F::Output {
    let token = with_world(|world| {
        (world.execution.schedule.running, world.make(world.execution.schedule.running, OwnKind::Handle))
    });
    let Some((process, token)) = token else { return block_on_outside(future) };
    let task = Task { origin: Origin::now("waker", place), process, token };
    let waker = Waker::from(Arc::new(task));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        let spurious = with_world(|world| {
            world.search.spurious.polls
                && !world.execution.waiters.has(Spuriously::Polls, world.execution.schedule.running)
        });
        let mut sleep = Sleep { token, spurious: spurious == Some(true), slept: false };
        operate(&mut sleep, place);
        if !sleep.slept {
            stop_without(place);
        }
    }
}

fn block_on_outside<F: Future>(future: F) -> F::Output {
    let thread = Arc::new(Unparker { thread: std::thread::current(), woken: AtomicBool::new(false) });
    let waker = Waker::from(thread.clone());
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        while !thread.woken.swap(false, Ordering::Acquire) {
            std::thread::park();
        }
    }
}

/// The waker of a thread outside of a check. It has a mark of its own, since others may unpark the thread as well.
struct Unparker {
    thread: std::thread::Thread,
    woken: AtomicBool,
}

impl Wake for Unparker {
    fn wake(self: Arc<Unparker>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Unparker>) {
        self.woken.store(true, Ordering::Release);
        self.thread.unpark();
    }
}

/// The waker of one call of [`block_on`] within a check.
///
/// The token holds 1 when the task is to be polled again. Each call has one of its own, so that a waker that outlives
/// its call wakes nobody else.
struct Task {
    origin: Origin,
    process: ProcessId,
    token: Location,
}

impl Wake for Task {
    fn wake(self: Arc<Task>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Task>) {
        // Who calls a waker can't be told, so the step is said to be where the task blocks.
        let place = self.origin.created;
        if self.origin.enter(place) == Scene::Inside {
            operate(&mut WakeUp { process: self.process, token: self.token }, place);
        }
    }
}

struct WakeUp {
    process: ProcessId,
    token: Location,
}

impl Operation for WakeUp {
    fn perform(&mut self, step: &mut Step<'_>) {
        step.touch(self.token, AccessKind::Write);
        step.set(self.token, 1);
        step.release(self.token);
    }

    fn describe(&self, world: &World) -> String {
        format!("wake {}", world.name_of(self.process))
    }
}

/// Waits to be woken, and uses the wake-up up.
struct Sleep {
    token: Location,
    /// Whether it may be polled though nobody woke it. A thread is so at most once in an execution.
    spurious: bool,
    slept: bool,
}

impl Operation for Sleep {
    fn wait(&self) -> Wait {
        match self.spurious {
            true => Wait::Nothing,
            false => Wait::Guard { location: self.token, until: Until::Is(1) },
        }
    }

    fn perform(&mut self, step: &mut Step<'_>) {
        step.touch(self.token, AccessKind::Update);
        if step.peek(self.token) == 0 {
            step.world.execution.waiters.note(Spuriously::Polls, step.process);
            step.note(|| "polled though nobody woke it".to_owned());
        }
        step.set(self.token, 0);
        step.acquire(self.token);
        self.slept = true;
    }

    fn describe(&self, _world: &World) -> String {
        "await a wake-up".to_owned()
    }

    fn waits_for(&self, _world: &World) -> (String, Vec<ProcessId>) {
        (
            "a wake-up: its future is pending, and nobody has woken it since it was polled".to_owned(),
            Vec::new(),
        )
    }
}

/// Runs a future as a task, beside the others.
#[track_caller]
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let place = Caller::caller();
    let done = with_world(|world| {
        let done = world.make(world.execution.schedule.running, OwnKind::Handle);
        world.describe(done, Described { kind: "task", created: place });
        done
    });
    let state = State { result: None, taken: false, waker: None, detached: false };
    let shared = Arc::new(Shared { done, state: Mutex::new(state) });
    let task = shared.clone();
    let body = move || {
        let result = catch_unwind(AssertUnwindSafe(|| block_on_at(future, place)));
        task.finish(result, place);
    };
    if world().is_some() {
        crate::thread::spawn(body);
    } else {
        std::thread::spawn(body);
    }
    JoinHandle { origin: Origin::now("task", place), shared }
}

/// The result of a task, as a future. If it is dropped the task goes on without it.
pub struct JoinHandle<T> {
    origin: Origin,
    shared: Arc<Shared<T>>,
}

struct Shared<T> {
    /// Within a check: holds 1 when the task has ended. Whatever touches the state updates it.
    done: Option<Location>,
    state: Mutex<State<T>>,
}

struct State<T> {
    result: Option<Result<T, Panic>>,
    /// Whether the result was there and is with who asked for it.
    taken: bool,
    /// Who wants to know of the end.
    waker: Option<Waker>,
    /// Whether nobody wants the result.
    detached: bool,
}

struct Panic {
    /// Within a check: the thread of the task.
    process: Option<ProcessId>,
    payload: Box<dyn Any + Send>,
}

impl<T> Shared<T> {
    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The task leaves its result.
    fn finish(&self, result: std::thread::Result<T>, place: &'static Caller<'static>) {
        let result = match result {
            Err(payload) if is_end_of_execution(&*payload) => resume_unwind(payload),
            Err(payload) => {
                note_panic(&*payload);
                Err(Panic { process: with_world(|world| world.execution.schedule.running), payload })
            }
            Ok(value) => Ok(value),
        };
        let mut finish = Finish { shared: self, result: Some(result), waker: None };
        match self.done {
            Some(_) => operate(&mut finish, place),
            None => finish.leave(),
        }
        let Finish { result, waker, .. } = finish;
        drop(result);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn name(&self, world: &World) -> String {
        self.done.map_or(String::new(), |done| world.name_of_location(done))
    }
}

/// The end of a task.
struct Finish<'a, T> {
    shared: &'a Shared<T>,
    result: Option<Result<T, Panic>>,
    /// Who is to be told.
    waker: Option<Waker>,
}

impl<T> Finish<'_, T> {
    fn leave(&mut self) {
        let mut state = self.shared.state();
        self.waker = state.waker.take();
        if !state.detached {
            state.result = self.result.take();
        }
    }
}

impl<T> Operation for Finish<'_, T> {
    fn perform(&mut self, step: &mut Step<'_>) {
        self.leave();
        if let Some(done) = self.shared.done {
            step.update(done);
            step.set(done, 1);
        }
    }

    fn describe(&self, world: &World) -> String {
        format!("{} is done", self.shared.name(world))
    }
}

impl Step<'_> {
    /// A step that changes what a task and who awaits it know of each other: the result goes one way, the waker the other.
    fn update(&mut self, done: Location) {
        self.touch(done, AccessKind::Update);
        self.acquire(done);
        self.release(done);
    }
}

/// A look for the result of a task.
struct Look<'a, T> {
    shared: &'a Shared<T>,
    /// Who is to be told of it if it is not there; then, the one that was to be told before.
    waker: Option<Waker>,
    found: Option<Result<T, Panic>>,
    too_late: bool,
}

impl<T> Look<'_, T> {
    fn look(&mut self) {
        let mut state = self.shared.state();
        self.too_late = state.taken;
        self.found = state.result.take();
        state.taken |= self.found.is_some();
        if self.found.is_none() {
            std::mem::swap(&mut self.waker, &mut state.waker);
        }
    }
}

impl<T> Operation for Look<'_, T> {
    fn perform(&mut self, step: &mut Step<'_>) {
        self.look();
        if let Some(done) = self.shared.done {
            step.update(done);
        }
        let pending = self.found.is_none();
        step.note(|| if pending { "pending" } else { "ready" }.to_owned());
    }

    fn describe(&self, world: &World) -> String {
        format!("poll {}", self.shared.name(world))
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    #[track_caller]
    fn poll(self: Pin<&mut JoinHandle<T>>, context: &mut Context<'_>) -> Poll<Result<T, JoinError>> {
        let place = self.origin.created;
        let shared = &*self.shared;
        let mut look = Look { shared, waker: Some(context.waker().clone()), found: None, too_late: false };
        match self.origin.enter(place) {
            Scene::Inside => operate(&mut look, place),
            Scene::Outside => look.look(),
            Scene::Elsewhere => {}
        }
        assert!(!look.too_late, "mazurka: a JoinHandle was polled after it had given its result");
        match look.found {
            None => Poll::Pending,
            Some(Ok(value)) => Poll::Ready(Ok(value)),
            Some(Err(Panic { process, payload })) => {
                process.into_iter().for_each(told);
                Poll::Ready(Err(JoinError { payload: Mutex::new(payload) }))
            }
        }
    }
}

/// Somebody was told of the panic of a task.
fn told(task: ProcessId) {
    with_world(|world| {
        world
            .execution
            .panics
            .iter_mut()
            .filter(|panic| panic.process == task)
            .for_each(|panic| panic.told = true);
    });
}

/// Nobody wants the result of a task. If it has a destructor that must run in a thread that does not depend on which of
/// the two goes last.
struct Detach<'a, T> {
    shared: &'a Shared<T>,
    result: Option<Result<T, Panic>>,
}

impl<T> Operation for Detach<'_, T> {
    fn perform(&mut self, step: &mut Step<'_>) {
        if let Some(done) = self.shared.done {
            step.update(done);
        }
        let mut state = self.shared.state();
        state.detached = true;
        self.result = state.result.take();
    }

    fn describe(&self, world: &World) -> String {
        format!("drop {}", self.shared.name(world))
    }
}

impl<T> Drop for JoinHandle<T> {
    fn drop(&mut self) {
        if std::mem::needs_drop::<T>() && self.origin.scene() == Scene::Inside {
            let mut detach = Detach { shared: &self.shared, result: None };
            operate(&mut detach, self.origin.created);
            drop(detach.result);
        }
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").finish_non_exhaustive()
    }
}

/// Why a task has no result: it panicked.
pub struct JoinError {
    /// Nobody but an owner looks at it: the lock makes errors [`Sync`].
    payload: Mutex<Box<dyn Any + Send>>,
}

impl JoinError {
    /// What the task panicked with.
    pub fn into_panic(self) -> Box<dyn Any + Send> {
        self.payload.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let payload = self.payload.lock().unwrap_or_else(PoisonError::into_inner);
        let text = payload.downcast_ref::<&str>().copied();
        match text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)) {
            Some(text) => write!(f, "the task panicked: {text}"),
            None => f.write_str("the task panicked"),
        }
    }
}

impl fmt::Debug for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JoinError({self})")
    }
}

impl std::error::Error for JoinError {}

/// Lets other tasks, and other futures of the same task, run.
pub async fn yield_now() {
    let mut yielded = false;
    poll_fn(|context| match std::mem::replace(&mut yielded, true) {
        true => Poll::Ready(()),
        false => {
            context.waker().wake_by_ref();
            Poll::Pending
        }
    })
    .await;
}
