//! Mutexes, of all kinds. What a mutex holds is 0 if it is free, else the number of its holder plus 1, and
//! above bit 32 how often its holder has locked it besides.
#![allow(unsafe_code)]

use mazurka_program::{FailureKind, ProcessId};
use mazurka_threads::sync::StepEffects as _;

use super::lifetime;
use crate::runtime::memory::layout::peek;
use crate::runtime::system::stubs::{Passing, Stub, stubs};
use crate::runtime::system::time;
use crate::runtime::system::user::{caller, my_name, object_at, operate_on, with_runtime};
use crate::runtime::threads::arrive;
use crate::runtime::threads::objects::{Class, Object};
use crate::runtime::threads::operation::{CurrentStep, FREE, InRound, Operation, Wait};
use crate::runtime::threads::runtime::Runtime;

/// What happens when the holder locks again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum MutexKind {
    Normal,
    Recursive,
    Checked,
}

/// Where the C library has the kind in `pthread_mutex_t`, and in `pthread_mutexattr_t`.
const KIND: usize = 16;
const AGAIN: u64 = 1 << 32;

pub(crate) fn holder(value: u64) -> Option<ProcessId> {
    ((value & (AGAIN - 1)) as u32).checked_sub(1).map(ProcessId)
}

fn kind_of(address: usize) -> MutexKind {
    // SAFETY: the program passes a mutex; a wild pointer faults, and the thread is thrown out.
    match unsafe { peek(address + KIND, 4) } & 3 {
        1 => MutexKind::Recursive,
        2 => MutexKind::Checked,
        _ => MutexKind::Normal,
    }
}

impl Runtime {
    /// Whether the running thread has a mutex which it may lock again.
    pub(crate) fn may_lock_again(&self, mutex: Object) -> bool {
        kind_of(mutex.address) == MutexKind::Recursive
            && holder(self.execution.value(mutex)) == Some(self.running())
    }
}

/// The mutex at an address.
fn mutex_at(address: usize, place: usize, name: &str) -> Object {
    object_at(address, Class::Mutex, place, name)
}

/// Takes the lock; waits until it is free, unless the thread has it.
pub(crate) struct Lock {
    pub(crate) mutex: Object,
    recursive: bool,
    /// How the wait ended that it was given back for.
    after: Option<u64>,
}

impl Lock {
    /// For a thread that does not hold it.
    pub(crate) fn new(mutex: Object) -> Lock {
        Lock { mutex, recursive: false, after: None }
    }

    /// For a thread that gave it back to wait, and has woken up in one of several ways.
    pub(crate) fn again(mutex: Object, way: u64) -> Lock {
        Lock { after: Some(way), ..Lock::new(mutex) }
    }

    pub(crate) fn take(&self, step: &mut CurrentStep<'_>) {
        let value = step.value(self.mutex.location);
        let taken = match holder(value) == Some(step.process) {
            true => value + AGAIN,
            false => u64::from(step.process.0) + 1,
        };
        step.set(self.mutex.location, taken);
        step.holds_more(1);
        step.runtime.note_holder(self.mutex, step.process, step.place);
    }
}

impl Operation for Lock {
    fn wait(&self) -> Wait {
        match self.recursive {
            // Only the thread itself can change that.
            true => Wait::Nothing,
            false => Wait::Until(self.mutex.location, FREE),
        }
    }

    fn in_round(&self) -> InRound {
        self.after.map_or(InRound::At(u64::from(self.mutex.location.0)), InRound::After)
    }

    fn perform(&mut self, step: &mut CurrentStep<'_>) {
        step.update(self.mutex.location);
        self.take(step);
    }

    fn describe(&self, runtime: &Runtime) -> String {
        format!("pthread_mutex_lock({})", runtime.object_name(self.mutex))
    }

    fn waits_for(&self, runtime: &Runtime) -> (String, Vec<ProcessId>) {
        let name = runtime.object_name(self.mutex);
        match holder(runtime.execution.value(self.mutex)) {
            Some(holder) => {
                let since = runtime.held_since(self.mutex);
                (format!("{name}, held by {}{since}", runtime.name_of(holder)), vec![holder])
            }
            None => (name, Vec::new()),
        }
    }
}

/// Takes the lock if it is free.
struct TryLock {
    lock: Lock,
    taken: bool,
    times_out: bool,
}

impl Operation for TryLock {
    fn in_round(&self) -> InRound {
        self.lock.in_round()
    }

    fn perform(&mut self, step: &mut CurrentStep<'_>) {
        let value = step.value(self.lock.mutex.location);
        self.taken = value == 0 || self.lock.recursive && holder(value) == Some(step.process);
        step.try_update(self.lock.mutex.location, self.taken);
        if self.taken {
            self.lock.take(step);
        } else {
            let note = if self.times_out { "timed out" } else { "it is taken" };
            step.note(|_| note.to_owned());
        }
    }

    fn describe(&self, runtime: &Runtime) -> String {
        let name = if self.times_out { "timedlock" } else { "trylock" };
        format!("pthread_mutex_{name}({})", runtime.object_name(self.lock.mutex))
    }
}

struct Unlock {
    mutex: Object,
}

impl Operation for Unlock {
    fn in_round(&self) -> InRound {
        InRound::At(u64::from(self.mutex.location.0))
    }

    fn perform(&mut self, step: &mut CurrentStep<'_>) {
        step.update(self.mutex.location);
        step.holds_more(-1);
        let value = step.value(self.mutex.location);
        step.set(self.mutex.location, value.saturating_sub(AGAIN));
    }

    fn describe(&self, runtime: &Runtime) -> String {
        format!("pthread_mutex_unlock({})", runtime.object_name(self.mutex))
    }
}

/// Whether the running thread has a mutex.
pub(crate) fn is_mine(mutex: Object) -> bool {
    with_runtime(|runtime| holder(runtime.execution.value(mutex)) == Some(runtime.running()))
}

extern "C-unwind" fn pthread_mutex_lock(address: usize) -> i32 {
    let place = caller();
    let mutex = mutex_at(address, place, "pthread_mutex_lock");
    let recursive = match is_mine(mutex).then(|| kind_of(address)) {
        Some(MutexKind::Checked) => return libc::EDEADLK,
        Some(MutexKind::Recursive) => true,
        _ => false,
    };
    operate_on(mutex, "pthread_mutex_lock", &mut Lock { recursive, ..Lock::new(mutex) }, place);
    0
}

fn try_lock(address: usize, times_out: bool, place: usize) -> bool {
    let mutex = mutex_at(address, place, "pthread_mutex_trylock");
    let recursive = kind_of(address) == MutexKind::Recursive;
    let mut operation = TryLock { lock: Lock { recursive, ..Lock::new(mutex) }, taken: false, times_out };
    operate_on(mutex, "pthread_mutex_trylock", &mut operation, place);
    operation.taken
}

extern "C-unwind" fn pthread_mutex_trylock(address: usize) -> i32 {
    if try_lock(address, false, caller()) { 0 } else { libc::EBUSY }
}

/// It may time out whenever the lock is taken when its turn comes.
extern "C-unwind" fn pthread_mutex_timedlock(address: usize, until: usize) -> i32 {
    let result = if try_lock(address, true, caller()) { 0 } else { libc::ETIMEDOUT };
    time::after_wait(result, libc::ETIMEDOUT, until)
}

extern "C-unwind" fn pthread_mutex_clocklock(address: usize, _clock: i32, until: usize) -> i32 {
    pthread_mutex_timedlock(address, until)
}

extern "C-unwind" fn pthread_mutex_unlock(address: usize) -> i32 {
    let place = caller();
    let mutex = mutex_at(address, place, "pthread_mutex_unlock");
    if !is_mine(mutex) {
        if kind_of(address) == MutexKind::Checked {
            return libc::EPERM;
        }
        let message = format!("{} unlocks a mutex that it has not locked", my_name());
        arrive::fail_here(FailureKind::InvalidSync, message, place);
    }
    operate_on(mutex, "pthread_mutex_unlock", &mut Unlock { mutex }, place);
    0
}

extern "C-unwind" fn pthread_mutex_init(address: usize, attributes: usize) -> i32 {
    let place = caller();
    // SAFETY: the attributes, if any, were initialised by the C library.
    let kind = if attributes == 0 { 0 } else { (unsafe { peek(attributes, 4) }) as u32 & 3 };
    initialise(address, kind, place);
    0
}

fn initialise(address: usize, kind: u32, place: usize) {
    lifetime::initialise(address, Class::Mutex, 40, 0, 0, place);
    // SAFETY: the program passes memory for a mutex, of 40 bytes; a wild pointer faults.
    unsafe {
        std::ptr::with_exposed_provenance_mut::<u8>(address + KIND).cast::<u32>().write_unaligned(kind)
    };
}

extern "C-unwind" fn pthread_mutex_destroy(address: usize) -> i32 {
    lifetime::destroy(address, Class::Mutex, caller());
    0
}

extern "C-unwind" fn mtx_init(address: usize, kind: i32) -> i32 {
    // `mtx_recursive` is 1.
    initialise(address, kind as u32 & 1, caller());
    0
}

extern "C-unwind" fn mtx_destroy(address: usize) {
    pthread_mutex_destroy(address);
}

/// What `threads.h` calls busy, and timed out.
const THRD_BUSY: i32 = 1;
const THRD_TIMEDOUT: i32 = 4;

extern "C-unwind" fn mtx_trylock(address: usize) -> i32 {
    if try_lock(address, false, caller()) { 0 } else { THRD_BUSY }
}

extern "C-unwind" fn mtx_timedlock(address: usize, until: usize) -> i32 {
    let result = if try_lock(address, true, caller()) { 0 } else { THRD_TIMEDOUT };
    time::after_wait(result, THRD_TIMEDOUT, until)
}

/// What programs call.
pub(crate) fn interposed(list: &mut Vec<Stub>) {
    list.extend(stubs! { Passing::Plain;
        "pthread_mutex_lock" => pthread_mutex_lock, "pthread_mutex_trylock" => pthread_mutex_trylock,
        "pthread_mutex_timedlock" => pthread_mutex_timedlock,
        "pthread_mutex_clocklock" => pthread_mutex_clocklock, "pthread_mutex_unlock" => pthread_mutex_unlock,
        "pthread_mutex_init" => pthread_mutex_init, "pthread_mutex_destroy" => pthread_mutex_destroy,
        "mtx_init" => mtx_init, "mtx_destroy" => mtx_destroy, "mtx_lock" => pthread_mutex_lock,
        "mtx_trylock" => mtx_trylock, "mtx_timedlock" => mtx_timedlock, "mtx_unlock" => pthread_mutex_unlock,
    });
}
