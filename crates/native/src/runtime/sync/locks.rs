//! Read-write locks and spin locks.
//!
//! A read-write lock holds the number of its readers, or who writes. Every step that takes or releases it
//! changes that, so that readers of different threads count as dependent: orders of theirs that differ in
//! nothing else are explored one by one. That is coarse, and sound. A reader waits for nothing but a writer
//! that holds the lock: one that merely waits does not keep readers out, as is the default of the C library.

use mazurka_program::{FailureKind, ProcessId};
use mazurka_threads::sync::StepEffects as _;
use mazurka_threads::values::Until;

use super::lifetime;
use crate::runtime::system::stubs::{Passing, Stub, stubs};
use crate::runtime::system::time;
use crate::runtime::system::user::{caller, my_name, object_at, operate_on, with_runtime};
use crate::runtime::threads::arrive;
use crate::runtime::threads::objects::{Class, Object};
use crate::runtime::threads::operation::{CurrentStep, FREE, InRound, Operation, WRITTEN, Wait};
use crate::runtime::threads::runtime::Runtime;

#[derive(Clone, Copy, PartialEq, Eq)]
enum LockMode {
    Read,
    Write,
}

/// Takes a lock: waits until it can, or tries.
struct TakeLock {
    lock: Object,
    mode: LockMode,
    waits: bool,
    taken: bool,
}

impl TakeLock {
    fn until(&self) -> Until {
        match self.mode {
            LockMode::Read => Until::Below(WRITTEN),
            LockMode::Write => FREE,
        }
    }
}

impl Operation for TakeLock {
    fn wait(&self) -> Wait {
        match self.waits {
            true => Wait::Until(self.lock.location, self.until()),
            false => Wait::Nothing,
        }
    }

    fn in_round(&self) -> InRound {
        InRound::At(u64::from(self.lock.location.0))
    }

    fn perform(&mut self, step: &mut CurrentStep<'_>) {
        let value = step.value(self.lock.location);
        self.taken = self.until().holds(value);
        match self.waits {
            true => step.update(self.lock.location),
            false => step.try_update(self.lock.location, self.taken),
        }
        if !self.taken {
            step.note(|_| "it is taken".to_owned());
            return;
        }
        step.holds_more(1);
        match self.mode {
            LockMode::Read => {
                step.set(self.lock.location, value + 1);
                step.runtime.execution.readers.push((self.lock.location, step.process));
                step.note_reader(self.lock.location, 1);
            }
            LockMode::Write => step.set(self.lock.location, WRITTEN + u64::from(step.process.0)),
        }
        step.runtime.note_holder(self.lock, step.process, step.place);
    }

    fn describe(&self, runtime: &Runtime) -> String {
        let attempt = if self.waits { "" } else { "try" };
        let mode = if self.mode == LockMode::Read { "rd" } else { "wr" };
        let name = runtime.object_name(self.lock);
        match self.lock.class {
            Class::Spinlock => format!("pthread_spin_{attempt}lock({name})"),
            _ => format!("pthread_rwlock_{attempt}{mode}lock({name})"),
        }
    }

    fn waits_for(&self, runtime: &Runtime) -> (String, Vec<ProcessId>) {
        let lock = self.lock.location;
        let holders: Vec<ProcessId> = match runtime.execution.values.get(lock).checked_sub(WRITTEN) {
            Some(writer) => vec![ProcessId(writer as u32)],
            None => {
                let readers = runtime.execution.readers.iter().filter(|reader| reader.0 == lock);
                readers.map(|reader| reader.1).collect()
            }
        };
        let names: Vec<String> = holders.iter().map(|&holder| runtime.name_of(holder)).collect();
        let name = runtime.object_name(self.lock);
        (format!("{name}, held by {}", names.join(" and ")), holders)
    }
}

struct ReleaseLock {
    lock: Object,
}

impl Operation for ReleaseLock {
    fn in_round(&self) -> InRound {
        InRound::At(u64::from(self.lock.location.0))
    }

    fn perform(&mut self, step: &mut CurrentStep<'_>) {
        step.update(self.lock.location);
        step.holds_more(-1);
        let value = step.value(self.lock.location);
        if value >= WRITTEN {
            step.set(self.lock.location, 0);
            return;
        }
        step.set(self.lock.location, value.saturating_sub(1));
        let readers = &mut step.runtime.execution.readers;
        if let Some(at) = readers.iter().rposition(|&reader| reader == (self.lock.location, step.process)) {
            readers.remove(at);
            step.note_reader(self.lock.location, -1);
        }
    }

    fn describe(&self, runtime: &Runtime) -> String {
        format!("unlock {}", runtime.object_name(self.lock))
    }
}

/// Whether the running thread writes, and whether it reads.
fn holds(lock: Object) -> (bool, bool) {
    with_runtime(|runtime| {
        let (running, execution) = (runtime.running(), &runtime.execution);
        let writes = execution.value(lock) == WRITTEN + u64::from(running.0);
        (writes, execution.readers.contains(&(lock.location, running)))
    })
}

fn take(address: usize, mode: LockMode, waits: bool, place: usize) -> i32 {
    let name = if mode == LockMode::Read { "pthread_rwlock_rdlock" } else { "pthread_rwlock_wrlock" };
    let lock = object_at(address, Class::ReadWriteLock, place, name);
    if waits && holds(lock).0 {
        return libc::EDEADLK;
    }
    let mut take = TakeLock { lock, mode, waits, taken: false };
    operate_on(lock, name, &mut take, place);
    if take.taken { 0 } else { libc::EBUSY }
}

fn release(address: usize, class: Class, name: &str, place: usize) -> i32 {
    let lock = object_at(address, class, place, name);
    let (writes, reads) = holds(lock);
    if !writes && !reads {
        let message = format!("{} unlocks a {} that it has not locked", my_name(), class.name());
        arrive::fail_here(FailureKind::InvalidSync, message, place);
    }
    operate_on(lock, name, &mut ReleaseLock { lock }, place);
    0
}

extern "C-unwind" fn rwlock_rdlock(address: usize) -> i32 {
    take(address, LockMode::Read, true, caller())
}

extern "C-unwind" fn rwlock_wrlock(address: usize) -> i32 {
    take(address, LockMode::Write, true, caller())
}

extern "C-unwind" fn rwlock_tryrdlock(address: usize) -> i32 {
    take(address, LockMode::Read, false, caller())
}

extern "C-unwind" fn rwlock_trywrlock(address: usize) -> i32 {
    take(address, LockMode::Write, false, caller())
}

/// It may time out whenever the lock is taken when its turn comes.
fn timed(address: usize, mode: LockMode, until: usize, place: usize) -> i32 {
    let result = take(address, mode, false, place);
    let result = if result == libc::EBUSY { libc::ETIMEDOUT } else { result };
    time::after_wait(result, libc::ETIMEDOUT, until)
}

extern "C-unwind" fn rwlock_timedrdlock(address: usize, until: usize) -> i32 {
    timed(address, LockMode::Read, until, caller())
}

extern "C-unwind" fn rwlock_timedwrlock(address: usize, until: usize) -> i32 {
    timed(address, LockMode::Write, until, caller())
}

extern "C-unwind" fn rwlock_clockrdlock(address: usize, _clock: i32, until: usize) -> i32 {
    timed(address, LockMode::Read, until, caller())
}

extern "C-unwind" fn rwlock_clockwrlock(address: usize, _clock: i32, until: usize) -> i32 {
    timed(address, LockMode::Write, until, caller())
}

extern "C-unwind" fn rwlock_unlock(address: usize) -> i32 {
    release(address, Class::ReadWriteLock, "pthread_rwlock_unlock", caller())
}

extern "C-unwind" fn rwlock_init(address: usize, _attributes: usize) -> i32 {
    lifetime::initialise(address, Class::ReadWriteLock, 56, 0, 0, caller());
    0
}

extern "C-unwind" fn rwlock_destroy(address: usize) -> i32 {
    lifetime::destroy(address, Class::ReadWriteLock, caller());
    0
}

fn take_spin(address: usize, waits: bool, place: usize) -> bool {
    let lock = object_at(address, Class::Spinlock, place, "pthread_spin_lock");
    let mut take = TakeLock { lock, mode: LockMode::Write, waits, taken: false };
    operate_on(lock, "pthread_spin_lock", &mut take, place);
    take.taken
}

extern "C-unwind" fn spin_lock(address: usize) -> i32 {
    take_spin(address, true, caller());
    0
}

extern "C-unwind" fn spin_trylock(address: usize) -> i32 {
    if take_spin(address, false, caller()) { 0 } else { libc::EBUSY }
}

extern "C-unwind" fn spin_unlock(address: usize) -> i32 {
    release(address, Class::Spinlock, "pthread_spin_unlock", caller())
}

extern "C-unwind" fn spin_init(address: usize, _shared: i32) -> i32 {
    lifetime::initialise(address, Class::Spinlock, 4, 0, 1, caller());
    0
}

extern "C-unwind" fn spin_destroy(address: usize) -> i32 {
    lifetime::destroy(address, Class::Spinlock, caller());
    0
}

/// What programs call.
pub(crate) fn interposed(list: &mut Vec<Stub>) {
    list.extend(stubs! { Passing::Plain;
        "pthread_rwlock_rdlock" => rwlock_rdlock, "pthread_rwlock_wrlock" => rwlock_wrlock,
        "pthread_rwlock_tryrdlock" => rwlock_tryrdlock, "pthread_rwlock_trywrlock" => rwlock_trywrlock,
        "pthread_rwlock_timedrdlock" => rwlock_timedrdlock,
        "pthread_rwlock_timedwrlock" => rwlock_timedwrlock,
        "pthread_rwlock_clockrdlock" => rwlock_clockrdlock,
        "pthread_rwlock_clockwrlock" => rwlock_clockwrlock, "pthread_rwlock_unlock" => rwlock_unlock,
        "pthread_rwlock_init" => rwlock_init, "pthread_rwlock_destroy" => rwlock_destroy,
        "pthread_spin_lock" => spin_lock, "pthread_spin_trylock" => spin_trylock,
        "pthread_spin_unlock" => spin_unlock, "pthread_spin_init" => spin_init,
        "pthread_spin_destroy" => spin_destroy,
    });
}
