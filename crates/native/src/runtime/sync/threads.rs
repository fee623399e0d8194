//! Threads: creation, join, identity, and what lets others go first.
#![allow(unsafe_code)]

use mazurka_program::{AccessKind, FailureKind, ProcessId};
use mazurka_threads::sync::StepEffects as _;

use crate::runtime::system::stubs::{Passing, Stub, stubs};
use crate::runtime::system::user::{caller, store, with_runtime};
use crate::runtime::threads::arrive;
use crate::runtime::threads::operation::{CurrentStep, InRound, Operation, Wait};
use crate::runtime::threads::rounds::mixed;
use crate::runtime::threads::runtime::Runtime;
use crate::runtime::threads::thread::{Body, Status};

/// What `pthread_self` gives for thread 0; so that a number is not mistaken for an identity.
const FIRST: usize = 0x7a00_0000_1000;
const APART: usize = 0x1000;

/// The identity of a thread, as the program knows it.
fn identity(process: ProcessId) -> usize {
    FIRST + process.index() * APART
}

/// The thread of an identity.
fn thread_of(identity: usize) -> Option<ProcessId> {
    let at = identity.checked_sub(FIRST).filter(|at| at.is_multiple_of(APART))? / APART;
    with_runtime(|runtime| {
        let thread = runtime.execution.threads.list.get(at)?;
        (thread.state.status != Status::Absent).then_some(ProcessId(at as u32))
    })
}

/// Creates a thread.
struct CreateThread {
    body: Body,
    detached: bool,
    created: Option<ProcessId>,
}

impl Operation for CreateThread {
    fn spawns(&self) -> bool {
        true
    }

    fn perform(&mut self, step: &mut CurrentStep<'_>) {
        let parent = step.process;
        let ordinal = step.runtime.thread(parent).state.spawned;
        step.runtime.thread_mut(parent).state.spawned += 1;
        step.runtime.execution.concurrent = true;
        self.created = step.runtime.add(Some(parent), ordinal, self.body);
        if let Some(child) = self.created {
            step.runtime.thread_mut(child).state.detached = self.detached;
            step.runtime.thread_mut(child).state.clock = step.runtime.thread(parent).state.clock;
            if let Body::Posix(_, argument) = self.body {
                step.runtime.note_task(child, argument);
            }
            step.runtime.step.label.spawned.push(child);
        }
    }

    fn describe(&self, runtime: &Runtime) -> String {
        let name = self.created.map(|child| runtime.name_of(child));
        format!("pthread_create({})", name.unwrap_or_default())
    }
}

fn create(result: *mut usize, body: Body, detached: bool, place: usize) -> bool {
    let mut create = CreateThread { body, detached, created: None };
    arrive::operate(&mut create, place);
    match create.created {
        Some(child) => store(result, identity(child), place),
        // There is no room: the execution is over.
        None => arrive::stop_here(),
    }
    true
}

/// Where the C library has it in `pthread_attr_t` whether a thread is detached: bit 0 of the flags.
const FLAGS: usize = 8;

extern "C-unwind" fn pthread_create(
    result: *mut usize,
    attributes: *const u8,
    function: usize,
    argument: usize,
) -> i32 {
    let place = caller();
    // SAFETY: the attributes, if any, were initialised by the C library.
    let detached = !attributes.is_null() && unsafe { attributes.add(FLAGS).cast::<u32>().read() } & 1 == 1;
    create(result, Body::Posix(function, argument), detached, place);
    0
}

extern "C-unwind" fn thrd_create(result: *mut usize, function: usize, argument: usize) -> i32 {
    create(result, Body::Standard(function, argument), false, caller());
    0
}

/// Waits for the end of a thread.
struct JoinThread {
    target: ProcessId,
    /// Where to put what it returned.
    result: usize,
    wrong: Option<&'static str>,
}

impl Operation for JoinThread {
    fn wait(&self) -> Wait {
        Wait::Own
    }

    fn in_round(&self) -> InRound {
        InRound::At(mixed(&[u64::from(self.target.0), self.result as u64]))
    }

    fn ready(&self, runtime: &Runtime, _process: ProcessId) -> bool {
        runtime.thread(self.target).state.status == Status::Finished
    }

    fn perform(&mut self, step: &mut CurrentStep<'_>) {
        let target = step.runtime.thread_mut(self.target);
        self.wrong = match (target.state.joined, target.state.detached) {
            (true, _) => Some("the thread was joined before"),
            (_, true) => Some("the thread is detached"),
            _ => None,
        };
        let before = std::mem::replace(&mut target.state.joined, true);
        let (end, handle) = (target.end, target.handle);
        step.note_value(handle, u64::from(before), 1);
        step.touch(end, AccessKind::Read);
        step.waited_for(end);
        step.touch(handle, AccessKind::Update);
    }

    fn describe(&self, runtime: &Runtime) -> String {
        format!("pthread_join({})", runtime.name_of(self.target))
    }

    fn waits_for(&self, runtime: &Runtime) -> (String, Vec<ProcessId>) {
        (format!("the end of {}", runtime.name_of(self.target)), vec![self.target])
    }
}

/// Waits for a thread; gives what it returned.
fn join(thread: usize, result: usize, place: usize) -> usize {
    let wrong =
        |what: &str| arrive::fail_here(FailureKind::InvalidSync, format!("pthread_join: {what}"), place);
    let Some(target) = thread_of(thread) else { wrong("this is no thread of the program") };
    let mut join = JoinThread { target, result, wrong: None };
    arrive::operate(&mut join, place);
    if let Some(what) = join.wrong {
        wrong(what);
    }
    with_runtime(|runtime| runtime.thread(target).state.result)
}

extern "C-unwind" fn pthread_join(thread: usize, result: *mut usize) -> i32 {
    let place = caller();
    let value = join(thread, result.addr(), place);
    if !result.is_null() {
        store(result, value, place);
    }
    0
}

extern "C-unwind" fn thrd_join(thread: usize, result: *mut i32) -> i32 {
    let place = caller();
    let value = join(thread, result.addr(), place);
    if !result.is_null() {
        store(result, value as i32, place);
    }
    0
}

/// Says that nobody will join a thread.
struct DetachThread {
    target: ProcessId,
}

impl Operation for DetachThread {
    fn perform(&mut self, step: &mut CurrentStep<'_>) {
        let target = step.runtime.thread_mut(self.target);
        target.state.detached = true;
        let handle = target.handle;
        step.touch(handle, AccessKind::Update);
    }

    fn describe(&self, runtime: &Runtime) -> String {
        format!("pthread_detach({})", runtime.name_of(self.target))
    }
}

extern "C-unwind" fn pthread_detach(thread: usize) -> i32 {
    let place = caller();
    match thread_of(thread) {
        Some(target) => {
            arrive::operate(&mut DetachThread { target }, place);
            0
        }
        None => libc::ESRCH,
    }
}

extern "C-unwind" fn pthread_self() -> usize {
    identity(with_runtime(|runtime| runtime.running()))
}

/// What `getpid` says is the first thread's.
const FIRST_NUMBER: u32 = 4711;

pub(crate) extern "C-unwind" fn gettid() -> i32 {
    (FIRST_NUMBER + with_runtime(|runtime| runtime.running().0)) as i32
}

extern "C-unwind" fn pthread_equal(a: usize, b: usize) -> i32 {
    i32::from(a == b)
}

/// To yield is nothing to wait for: others may go first at every operation anyhow.
extern "C-unwind" fn go_on() -> i32 {
    0
}

/// What programs call.
pub(crate) fn interposed(list: &mut Vec<Stub>) {
    list.extend(stubs! { Passing::Plain;
        "pthread_create" => pthread_create, "pthread_join" => pthread_join,
        "pthread_detach" => pthread_detach, "pthread_self" => pthread_self, "pthread_equal" => pthread_equal,
        "thrd_create" => thrd_create, "thrd_join" => thrd_join, "thrd_detach" => pthread_detach,
        "gettid" => gettid, "thrd_current" => pthread_self, "thrd_equal" => pthread_equal, "sched_yield" => go_on,
        "pthread_yield" => go_on, "thrd_yield" => go_on, "pthread_setname_np" => go_on, "pthread_setconcurrency" => go_on,
    });
}
