//! Futures: [`block_on`], and tasks that run beside each other.
//!
//! A task is a thread that blocks on its future: whatever an executor might do with its tasks, on one thread
//! or on many, is an interleaving of these. Wakers may be kept, cloned and used from any thread. A task whose
//! future is pending and that nobody wakes is a deadlock, and reported as such: a lost wake-up.
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
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use mazurka_program::{AccessKind, Location, ProcessId};

use crate::origin::{Membership, Origin};
use crate::runtime::identity::OwnKind;
use crate::runtime::operation::CurrentStep;
use crate::runtime::{
    Described, Runtime, in_check, is_end_of_execution, note_panic, operate, stop_without, with_runtime,
};
use crate::step::{CallSite, opaque_debug, take_told_step};
use crate::thread::park::{Sleep, TakeToken, give_token};
use crate::thread::report_panic_of;

/// Runs a future to its end on the present thread.
#[track_caller]
pub fn block_on<F: Future>(future: F) -> F::Output {
    block_on_at(future, Caller::caller())
}

fn block_on_at<F: Future>(future: F, place: CallSite) -> F::Output {
    let token = with_runtime(|runtime| (runtime.running(), runtime.make(runtime.running(), OwnKind::Handle)));
    let Some((process, token)) = token else { return block_on_outside(future) };
    let task = Task { origin: Origin::now("waker", place), process, token };
    run_to_end(future, &Waker::from(Arc::new(task)), || {
        let sleep = with_runtime(|runtime| TakeToken::new(runtime, token, Sleep::Task));
        let Some(mut sleep) = sleep else { stop_without(place) };
        operate(&mut sleep, place);
        if !sleep.taken {
            stop_without(place);
        }
    })
}

fn block_on_outside<F: Future>(future: F) -> F::Output {
    let thread = Arc::new(Unparker { thread: std::thread::current(), woken: AtomicBool::new(false) });
    run_to_end(future, &Waker::from(thread.clone()), || {
        while !thread.woken.swap(false, Ordering::Acquire) {
            std::thread::park();
        }
    })
}

/// Polls a future until it is ready, and sleeps in between.
fn run_to_end<F: Future>(future: F, waker: &Waker, sleep: impl Fn()) -> F::Output {
    let mut context = Context::from_waker(waker);
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        sleep();
    }
}

/// The waker of a thread outside of a check. It has a mark of its own, since others may unpark the thread as
/// well.
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
/// The token holds 1 when the task is to be polled again. Each call has one of its own, so that a waker that
/// outlives its call wakes nobody else.
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
        if self.origin.enter(place) == Membership::Inside {
            give_token(self.process, self.token, "wake", place);
        }
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
    let done = with_runtime(|runtime| {
        let done = runtime.make(runtime.running(), OwnKind::Handle);
        runtime.describe(done, Described { kind: "task", created: place });
        done
    });
    let state = State { result: None, taken: false, waker: None, detached: false };
    let shared = Arc::new(Shared { done, state: Mutex::new(state) });
    let task = shared.clone();
    let body = move || {
        let result = catch_unwind(AssertUnwindSafe(|| block_on_at(future, place)));
        task.finish(result, place);
    };
    if in_check() {
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
    /// The task leaves its result.
    fn finish(&self, result: std::thread::Result<T>, place: CallSite) {
        let result = match result {
            Err(payload) if is_end_of_execution(&*payload) => resume_unwind(payload),
            Err(payload) => {
                note_panic(&*payload);
                Err(Panic { process: with_runtime(|runtime| runtime.running()), payload })
            }
            Ok(value) => Ok(value),
        };
        let mut result = Some(result);
        let describe = |name: String| format!("{name} is done");
        let waker = self.change(place, describe, |state, step| {
            if let (Some(step), Some(done)) = (step, self.done) {
                step.set(done, 1);
            }
            if !state.detached {
                state.result = result.take();
            }
            state.waker.take()
        });
        drop(result);
        if let Some(waker) = waker.flatten() {
            waker.wake();
        }
    }

    /// Changes what the task and who awaits it know of each other: the result goes one way, the waker the
    /// other. In a check that is a step; none if it is not taken.
    fn change<R>(
        &self,
        place: CallSite,
        describe: impl Fn(String) -> String,
        mut change: impl FnMut(&mut State<T>, Option<&mut CurrentStep<'_>>) -> R,
    ) -> Option<R> {
        let state = || self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(done) = self.done else { return Some(change(&mut state(), None)) };
        let describe = |runtime: &Runtime| describe(runtime.name_of_location(done));
        take_told_step(place, describe, |step| {
            step.touch(done, AccessKind::Update);
            step.acquire(done);
            step.release(done);
            change(&mut state(), Some(step))
        })
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    #[track_caller]
    fn poll(self: Pin<&mut JoinHandle<T>>, context: &mut Context<'_>) -> Poll<Result<T, JoinError>> {
        let place = self.origin.created;
        if self.origin.enter(place) == Membership::Foreign {
            return Poll::Pending;
        }
        // Who is to be told if the result is not there; then, who was to be told before.
        let mut waker = Some(context.waker().clone());
        let polled = self.shared.change(
            place,
            |name| format!("poll {name}"),
            |state, step| {
                let too_late = state.taken;
                let result = state.result.take();
                if result.is_some() {
                    state.taken = true;
                } else {
                    std::mem::swap(&mut waker, &mut state.waker);
                }
                if let Some(step) = step {
                    step.note(|| if result.is_none() { "pending" } else { "ready" }.to_owned());
                }
                (too_late, result)
            },
        );
        let (too_late, result) = polled.unwrap_or((false, None));
        assert!(!too_late, "mazurka: a JoinHandle was polled after it had given its result");
        match result {
            None => Poll::Pending,
            Some(Ok(value)) => Poll::Ready(Ok(value)),
            Some(Err(Panic { process, payload })) => {
                process.into_iter().for_each(report_panic_of);
                Poll::Ready(Err(JoinError { payload: Mutex::new(payload) }))
            }
        }
    }
}

impl<T> Drop for JoinHandle<T> {
    /// Nobody wants the result of the task. If it has a destructor, that must run in a thread that does not
    /// depend on which of the two goes last.
    fn drop(&mut self) {
        if std::mem::needs_drop::<T>() && self.origin.membership() == Membership::Inside {
            let result = self.shared.change(
                self.origin.created,
                |name| format!("drop {name}"),
                |state, _| {
                    state.detached = true;
                    state.result.take()
                },
            );
            drop(result);
        }
    }
}

opaque_debug!(JoinHandle<T>;);

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
