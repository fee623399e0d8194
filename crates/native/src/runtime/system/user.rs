//! What functions that programs call have in common.
//!
//! Each runs on the stack of a modelled thread. The program's memory is written here, by the thread that
//! runs, and never by the scheduler.
#![allow(unsafe_code)]

use mazurka_program::{AccessKind, FailureKind};
use mazurka_threads::races::Order;

use crate::runtime::memory::access::{announce, range};
use crate::runtime::memory::layout::{PAGE, peek};
use crate::runtime::memory::{bounds, heap};
use crate::runtime::threads::arrive;
use crate::runtime::threads::objects::{Class, Object};
use crate::runtime::threads::operation::Operation;
use crate::runtime::threads::runtime::{Runtime, current};

/// Where the function was called that runs now: to be asked before anything else.
#[inline]
pub(crate) fn caller() -> usize {
    // SAFETY: a thread of the program runs here; the word is the stub's.
    unsafe { *(*current()).execution.image.caller }
}

/// Does something with the runtime of the running thread, which must not be suspended in the middle of it,
/// unless for ever: others would use the runtime then.
#[inline]
pub(crate) fn with_runtime<R>(act: impl FnOnce(&mut Runtime) -> R) -> R {
    // SAFETY: a thread of the program runs here: nobody else uses it as long as the thread is not suspended.
    act(unsafe { &mut *current() })
}

/// The name of the running thread.
pub(crate) fn my_name() -> String {
    with_runtime(|runtime| runtime.name_of(runtime.running()))
}

/// Writes to the program's memory, as the program itself would.
pub(crate) fn store<T>(to: *mut T, value: T, place: usize) {
    let address = to.expose_provenance();
    match size_of::<T>() {
        // SAFETY: a thread of the program runs here.
        4 => unsafe { announce::<4>(current(), address, place, AccessKind::Write, (Order::Plain, 0)) },
        // SAFETY: as above.
        8 => unsafe { announce::<8>(current(), address, place, AccessKind::Write, (Order::Plain, 0)) },
        size => range(address, size, place, AccessKind::Write),
    }
    // SAFETY: the program passes a valid pointer; a wild one faults, and the thread is thrown out.
    unsafe { to.write_unaligned(value) };
}

/// The object at an address, for the function of that name.
pub(crate) fn object_at(address: usize, class: Class, place: usize, name: &str) -> Object {
    if address < PAGE {
        let message = format!("{name}: there is no {} at {address:#x}", class.name());
        arrive::fail_here(FailureKind::Memory, message, place);
    }
    // SAFETY: a thread of the program runs here; the reference ends with the statement.
    bounds::check_foreign(unsafe { &mut *current() }, address, place, AccessKind::Write);
    let memory = mark_used(address, class);
    // SAFETY: a thread of the program runs here; the reference ends before it can be suspended.
    let runtime = unsafe { &mut *current() };
    let object = runtime.object(address, class);
    if memory != Memory::Used {
        if runtime.execution.value(object) != 0 {
            runtime.log_lasting();
        }
        runtime.execution.make_new(object);
    }
    object
}

/// The running thread comes to an operation on an object, and fails if the object is gone when its step is
/// taken: to destroy it, or to free its memory, is a step that touches it too.
pub(crate) fn operate_on(object: Object, name: &str, operation: &mut dyn Operation, place: usize) {
    arrive::operate(operation, place);
    check_alive(object, name, place);
}

/// The running thread has come to an operation on an object, and fails if the object is gone.
pub(crate) fn check_alive(object: Object, name: &str, place: usize) {
    // SAFETY: a thread of the program runs here, and is not suspended again.
    let runtime = unsafe { &mut *current() };
    if is_never_initialised(runtime, object) {
        let message = format!("{name}: the {} was never initialised", object.class.name());
        arrive::fail_here(FailureKind::InvalidSync, message, place);
    }
    if runtime.execution.is_destroyed(object) {
        let message = format!("{name}: the {} was destroyed before", object.class.name());
        arrive::fail_here(FailureKind::InvalidSync, message, place);
    }
    let address = object.address;
    if !heap::is_allocated(runtime, address, 1) {
        bounds::check(runtime, address, 1, place, AccessKind::Write);
    }
}

/// What the memory of an object holds once it has been used. Static initialisers have 0 there: so an object
/// that was put where another has been, on a stack say, is known to be a new one.
const USED: u32 = 0x7a75_6d61;

/// What the memory of an object tells of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Memory {
    /// It has been used since it was initialised, or only functions initialise such objects.
    Used,
    /// It is as static initialisers make it, which is zero on Linux, as in memory that the program has
    /// cleared.
    New,
    /// Nobody has initialised it.
    Garbage,
}

impl Memory {
    pub(crate) fn of(address: usize, class: Class) -> Memory {
        let Some(offset) = word_of(class) else { return Memory::Used };
        // SAFETY: the program passes an object; a wild pointer faults, and the thread is thrown out.
        let (before, word) = unsafe { (peek(address, offset), peek(address + offset, 4)) };
        match (before, word) {
            (_, word) if word == u64::from(USED) => Memory::Used,
            (0, 0) => Memory::New,
            // A flag is that word alone: it can't be told what was there.
            _ if class == Class::Once => Memory::New,
            _ => Memory::Garbage,
        }
    }
}

/// Where the word is that says that an object has been used, if static initialisers have 0 there.
fn word_of(class: Class) -> Option<usize> {
    match class {
        Class::Mutex | Class::Condition | Class::ReadWriteLock => Some(8),
        Class::Once => Some(0),
        Class::Semaphore | Class::Barrier | Class::Spinlock | Class::Futex | Class::StaticGuard => None,
    }
}

/// Notes in an object's memory that it has been used, if it is as initialisers make it. Gives what it was.
pub(crate) fn mark_used(address: usize, class: Class) -> Memory {
    let memory = Memory::of(address, class);
    if memory == Memory::New {
        let word = std::ptr::with_exposed_provenance_mut::<u32>(address + word_of(class).unwrap_or(0));
        // SAFETY: as above.
        unsafe { word.write_unaligned(USED) };
    }
    memory
}

/// Whether nobody has initialised an object that is being used. To be asked when the step has been taken: to
/// initialise it is a step too, which may come before.
pub(crate) fn is_never_initialised(runtime: &Runtime, object: Object) -> bool {
    let class = object.class;
    match class {
        Class::Spinlock | Class::Semaphore => runtime.execution.parameter(object) == 0,
        _ => Memory::of(object.address, class) == Memory::Garbage,
    }
}

impl Runtime {
    /// The program does what is not supported, which is told with the place (` at file:line`, or nothing).
    pub(crate) fn refuse_at(&mut self, place: usize, tell: impl FnOnce(String) -> String) -> ! {
        self.refuse(tell(self.at_place(place)));
        arrive::stop_here()
    }
}
