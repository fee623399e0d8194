//! Stack overflow, aborts and crashes: reported, where the operating system lets us.
//!
//! The stack of a coroutine ends in a page that can't be touched. The handler of the signal that follows
//! makes the coroutine end there, without unwinding, so that the check can say what happened. It is the end
//! of the check, since what the thread was about to do is left half done. The abort by which the standard
//! library answers a panic in a destructor while a thread unwinds is caught in the same way.
//!
//! Any other abort, access of memory that is not there, or instruction that can't be executed may have left
//! anything in any state. So nothing is run any more on the thread of the operating system to which that
//! happened: it tells who waits for the check, and stays in the handler for ever; who waits makes the report
//! of what was noted before. But the C library may have the heap locked, if it is what aborted or crashed,
//! and then everybody waits for ever who comes to need it. To find that out the one in the handler forks:
//! that takes all locks of the heap first. If it does not come back from there, who waits says what it can
//! without memory, and ends the process. Signals that come from elsewhere go their way.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::ptr;

use super::process::Routine;

thread_local! {
    /// The coroutine that was resumed last, and the lowest address of its stack: that of the page that can't
    /// be touched.
    static RUNNING: Cell<(*const Routine, usize)> = const { Cell::new((ptr::null(), 0)) };
    static OVERFLOWED: Cell<bool> = const { Cell::new(false) };
    static ABORTED: Cell<bool> = const { Cell::new(false) };
}

/// Says which coroutine runs on this thread from now on.
#[inline]
pub(super) fn set_running(routine: &Routine, limit: usize) {
    RUNNING.with(|cell| cell.set((routine, limit)));
}

/// Whether a coroutine of this thread has overflowed its stack since this was asked last.
#[inline]
pub(super) fn take_overflow() -> bool {
    OVERFLOWED.with(|cell| cell.replace(false))
}

/// Whether a coroutine of this thread has aborted since this was asked last, without its having been
/// expected.
#[inline]
pub(super) fn take_abort() -> bool {
    ABORTED.with(|cell| cell.replace(false))
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
pub(super) fn install_handler() {}

/// Has the abort caught that is about to come from the coroutine which runs here. False if that can't be.
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
pub(super) fn catch_abort() -> bool {
    false
}

/// Has the abort caught that is about to come from the coroutine which runs here. False if that can't be.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub(super) fn catch_abort() -> bool {
    linux::ABORTING.with(|cell| cell.set(true));
    true
}

/// Installs the handler, once.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub(super) fn install_handler() {
    linux::install();
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod linux {
    use std::cell::Cell;
    use std::ffi::c_int;
    use std::mem::MaybeUninit;
    use std::sync::OnceLock;

    use super::{ABORTED, OVERFLOWED, RUNNING};
    use crate::checker::heartbeat::Heartbeat;

    thread_local! {
        /// Whether an abort is about to come from the coroutine that runs on this thread.
        pub(super) static ABORTING: Cell<bool> = const { Cell::new(false) };
    }

    const SIGNALS: [c_int; 5] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGABRT];

    /// The handlers that were there before ours, in the order of [`SIGNALS`].
    static BEFORE: OnceLock<[libc::sigaction; 5]> = OnceLock::new();

    pub(super) fn install() {
        // SAFETY: the action is complete, and the handler does only what a handler may: it reads and writes
        // thread-local variables that need no initialisation, atomics, and the registers of what it
        // interrupted.
        BEFORE.get_or_init(|| unsafe {
            let mut action: libc::sigaction = MaybeUninit::zeroed().assume_init();
            action.sa_sigaction = handle as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            SIGNALS.map(|signal| {
                let mut before = MaybeUninit::zeroed();
                libc::sigaction(signal, &action, before.as_mut_ptr());
                before.assume_init()
            })
        });
    }

    extern "C" fn handle(signal: c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
        // SAFETY: the operating system gives valid pointers. Where there is a runtime, a process runs on this
        // thread, so its coroutine is alive, and what is caught is of that coroutine, whose registers these
        // are.
        unsafe {
            let Some(runtime) = crate::runtime::current().filter(|_| is_own(signal, info)) else {
                return delegate(signal, info, context);
            };
            let registers = &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs;
            if signal == libc::SIGSEGV && is_overflow(info, registers) {
                return leave(registers, || OVERFLOWED.with(|cell| cell.set(true)));
            }
            if signal == libc::SIGABRT && ABORTING.with(|cell| cell.replace(false)) {
                return leave(registers, || ());
            }
            let (heartbeat, ending) = crate::runtime::shown_to_handler(runtime);
            if signal == libc::SIGABRT && ending {
                return leave(registers, || ABORTED.with(|cell| cell.set(true)));
            }
            stay(&*heartbeat, signal, (*info).si_addr() as usize)
        }
    }

    /// Whether a signal is of what this thread does, and was not sent to it.
    ///
    /// # Safety
    /// The information must be that of a handler.
    unsafe fn is_own(signal: c_int, info: *mut libc::siginfo_t) -> bool {
        // SAFETY: the caller vouches for it.
        unsafe {
            match signal {
                libc::SIGABRT => (*info).si_code == libc::SI_TKILL && (*info).si_pid() == libc::getpid(),
                _ => (*info).si_code > 0,
            }
        }
    }

    /// Whether a fault is that of a coroutine which has used up its stack.
    ///
    /// # Safety
    /// A coroutine must run on this thread, and the information be that of a handler.
    unsafe fn is_overflow(info: *mut libc::siginfo_t, registers: &[libc::greg_t; 23]) -> bool {
        // SAFETY: the caller vouches for it.
        unsafe {
            let address = (*info).si_addr() as usize;
            let stack_pointer = registers[libc::REG_RSP as usize] as usize;
            let page = libc::sysconf(libc::_SC_PAGESIZE) as usize;
            let (routine, limit) = RUNNING.with(Cell::get);
            (limit..limit + page).contains(&address)
                && (*routine).trap_handler().stack_ptr_in_bounds(stack_pointer)
        }
    }

    /// Tells who waits for the check what happened, and whether the heap can be used, and stays here.
    fn stay(heartbeat: &Heartbeat, signal: c_int, address: usize) -> ! {
        heartbeat.crash(signal, address);
        // SAFETY: the child does nothing but end. That its parent, who is in a handler, may wait for a lock
        // of its own is what is asked.
        unsafe {
            match libc::fork() {
                0 => libc::_exit(0),
                child => libc::waitpid(child, std::ptr::null_mut(), 0),
            };
        }
        heartbeat.heap_is_free();
        loop {
            // SAFETY: a handler may wait.
            unsafe { libc::pause() };
        }
    }

    /// Has the coroutine that runs end when the handler returns, after `f`.
    ///
    /// # Safety
    /// The registers must be those of the coroutine.
    unsafe fn leave(registers: &mut [libc::greg_t; 23], f: fn()) {
        let (routine, _) = RUNNING.with(Cell::get);
        // SAFETY: the coroutine runs, so it is alive, and its registers are set as it asks.
        let to = unsafe { (*routine).trap_handler().setup_trap_handler(f) };
        registers[libc::REG_RIP as usize] = to.rip as i64;
        registers[libc::REG_RSP as usize] = to.rsp as i64;
        registers[libc::REG_RBP as usize] = to.rbp as i64;
        registers[libc::REG_RDI as usize] = to.rdi as i64;
        registers[libc::REG_RSI as usize] = to.rsi as i64;
    }

    /// # Safety
    /// The arguments must be those of a handler.
    unsafe fn delegate(signal: c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
        let at = SIGNALS.iter().position(|&known| known == signal);
        let before = BEFORE.get().zip(at).map(|(before, at)| &before[at]);
        let handler = before.map_or(libc::SIG_DFL, |before| before.sa_sigaction);
        // SAFETY: the handler before ours was installed for this signal, with the flags that say how it is
        // called.
        unsafe {
            if handler == libc::SIG_DFL || handler == libc::SIG_IGN {
                // The instruction faults again, or the abort comes again, and nobody handles it. One that was
                // sent is sent again.
                libc::signal(signal, libc::SIG_DFL);
                if (*info).si_code <= 0 && signal != libc::SIGABRT {
                    libc::raise(signal);
                }
            } else if before.is_some_and(|before| before.sa_flags & libc::SA_SIGINFO != 0) {
                let call: extern "C" fn(c_int, *mut libc::siginfo_t, *mut libc::c_void) =
                    std::mem::transmute(handler);
                call(signal, info, context);
            } else {
                let call: extern "C" fn(c_int) = std::mem::transmute(handler);
                call(signal);
            }
        }
    }
}
