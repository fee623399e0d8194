//! What each thread has to itself: thread-local variables, keys, the state of exceptions.
#![allow(unsafe_code)]

use std::ptr;

use mazurka_program::Stop;

use super::layout::TLS_ROOM;
use crate::runtime::system::stubs::{Passing, Stub, stubs};
use crate::runtime::system::user::{caller, store, with_world};
use crate::runtime::system::{exit, registry};
use crate::runtime::threads::thread::Thread;
use crate::runtime::threads::world::World;

/// What the loader passes for a variable: the object, and where in its block the variable is.
#[repr(C)]
struct TlsIndex {
    object: usize,
    offset: usize,
}

/// No program has more keys.
const MAX_KEYS: usize = 1024;
/// How often destructors are called for values that they set anew.
const ROUNDS: usize = 4;
/// Where the state of exceptions is in a slot: before the block of thread-local variables.
const EXCEPTIONS: usize = 64;

impl World {
    /// Where a thread's variables are, with the state of exceptions before them; nowhere if it used none.
    pub(crate) fn locals_of(&self, state: &Thread) -> std::ops::Range<usize> {
        let template = self.image.tls;
        let start = (state.slot.tls + EXCEPTIONS).next_multiple_of(template.align.max(64));
        if state.has_locals { start - EXCEPTIONS..start + template.size } else { start..start }
    }

    /// The block of the running thread's variables.
    fn locals(&mut self) -> usize {
        let template = self.image.tls;
        let align = template.align.max(64);
        let me = self.me();
        let start = (me.slot.tls + EXCEPTIONS).next_multiple_of(align);
        if std::mem::replace(&mut me.has_locals, true) {
            return start;
        }
        if start + template.size > me.slot.tls + TLS_ROOM {
            self.fail(Stop::Bound(format!("more than {TLS_ROOM} bytes of thread-local variables")));
            return start;
        }
        // SAFETY: the room is in the slot of the thread, which is open; the template is part of the object.
        unsafe {
            let from = ptr::with_exposed_provenance::<u8>(template.start);
            let to = ptr::with_exposed_provenance_mut::<u8>(start);
            ptr::with_exposed_provenance_mut::<u8>(start - EXCEPTIONS).write_bytes(0, EXCEPTIONS);
            to.copy_from_nonoverlapping(from, template.filled);
            to.add(template.filled).write_bytes(0, template.size - template.filled);
        }
        start
    }
}

extern "C-unwind" fn tls_get_addr(index: *const TlsIndex) -> usize {
    // SAFETY: the code that the compiler made passes a valid index. The object is ours: calls of others are
    // not bound to this function.
    with_world(World::locals) + unsafe { (*index).offset }
}

/// The state of exceptions of the running thread: two words, at first 0.
extern "C-unwind" fn exception_globals() -> usize {
    with_world(World::locals) - EXCEPTIONS
}

/// Whether the running thread is handling an exception.
pub(crate) fn handles_exception() -> bool {
    let globals = ptr::with_exposed_provenance::<usize>(exception_globals());
    // SAFETY: the words are in the slot of the running thread.
    unsafe { *globals != 0 }
}

extern "C-unwind" fn errno_location() -> *mut i32 {
    // The error number is saved for each thread when another one runs.
    with_world(|world| world.errno)
}

extern "C-unwind" fn key_create(key: *mut u32, destructor: usize) -> i32 {
    let place = caller();
    registry::register("pthread_key_create", place);
    let number = with_world(|world| {
        world.keys.push(Some(destructor));
        world.keys.len() as u32 - 1
    });
    if number as usize >= MAX_KEYS {
        return libc::EAGAIN;
    }
    store(key, number, place);
    0
}

extern "C-unwind" fn key_delete(key: u32) -> i32 {
    registry::register("pthread_key_delete", caller());
    let deleted = with_world(|world| world.keys.get_mut(key as usize).and_then(Option::take));
    if deleted.is_some() { 0 } else { libc::EINVAL }
}

extern "C-unwind" fn getspecific(key: u32) -> usize {
    with_world(|world| world.me().specific.get(key as usize).copied().unwrap_or(0))
}

extern "C-unwind" fn setspecific(key: u32, value: usize) -> i32 {
    let at = key as usize;
    with_world(|world| {
        if world.keys.get(at).copied().flatten().is_none() {
            return libc::EINVAL;
        }
        let specific = &mut world.me().specific;
        if specific.len() <= at {
            specific.resize(at + 1, 0);
        }
        specific[at] = value;
        0
    })
}

/// Registers a destructor of a thread-local variable.
extern "C-unwind" fn thread_atexit(function: usize, argument: usize, _object: usize) -> i32 {
    with_world(|world| world.me().at_exit.push((function, argument)));
    0
}

/// Destroys what the running thread has to itself.
pub(crate) fn run_destructors() {
    let call = |function, argument| {
        // SAFETY: a thread of the world runs here, and the program registered the function to be called so.
        unsafe { exit::call(function, [argument, 0, 0]) };
    };
    while let Some((function, argument)) = with_world(|world| world.me().at_exit.pop()) {
        call(function, argument);
    }
    for _ in 0..ROUNDS {
        let mut again = false;
        for key in 0..with_world(|world| world.me().specific.len()) {
            let (value, destructor) = with_world(|world| {
                let value = std::mem::take(&mut world.me().specific[key]);
                (value, world.keys.get(key).copied().flatten().unwrap_or(0))
            });
            if value != 0 && destructor != 0 {
                again = true;
                call(destructor, value);
            }
        }
        if !again {
            return;
        }
    }
}

/// What programs call.
pub(crate) fn interposed(list: &mut Vec<Stub>) {
    list.extend(stubs! { Passing::Plain;
        "__tls_get_addr" => tls_get_addr, "__cxa_get_globals" => exception_globals,
        "__cxa_get_globals_fast" => exception_globals, "__errno_location" => errno_location,
        "pthread_key_create" => key_create, "__pthread_key_create" => key_create,
        "pthread_key_delete" => key_delete, "pthread_getspecific" => getspecific,
        "pthread_setspecific" => setspecific, "tss_get" => getspecific, "tss_create" => key_create,
        "tss_set" => setspecific, "tss_delete" => key_delete, "__cxa_thread_atexit" => thread_atexit,
        "__cxa_thread_atexit_impl" => thread_atexit,
    });
}
