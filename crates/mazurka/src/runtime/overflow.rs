//! Stack overflow and aborts: reported, where the operating system lets us.
//!
//! The stack of a coroutine ends in a page that can't be touched. The handler of the signal that follows makes the
//! coroutine end there, without unwinding, so that the check can say what happened. It is the end of the check, since
//! what the thread was about to do is left half done. Faults elsewhere go to the handler that was there before. The abort
//! by which the standard library answers a panic in a destructor while a thread unwinds is caught in the same way, and so is
//! any other abort that a modelled thread comes to. Those that come from elsewhere go their way.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::ptr;

use super::process::Routine;

thread_local! {
    /// The coroutine that was resumed last, and the lowest address of its stack: that of the page that can't be touched.
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

/// Whether a coroutine of this thread has aborted since this was asked last, without its having been expected.
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

    thread_local! {
        /// Whether an abort is about to come from the coroutine that runs on this thread.
        pub(super) static ABORTING: Cell<bool> = const { Cell::new(false) };
    }

    /// The handler that was there before ours.
    static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

    pub(super) fn install() {
        // SAFETY: the action is complete, and the handler does only what a handler may: it reads and writes thread-local
        // variables that need no initialisation, and the registers of what it interrupted.
        BEFORE.get_or_init(|| unsafe {
            let mut action: libc::sigaction = MaybeUninit::zeroed().assume_init();
            action.sa_sigaction = handle as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            let mut before = MaybeUninit::zeroed();
            libc::sigaction(libc::SIGSEGV, &action, before.as_mut_ptr());
            action.sa_sigaction = handle_abort as *const () as usize;
            libc::sigaction(libc::SIGABRT, &action, std::ptr::null_mut());
            before.assume_init()
        });
    }

    extern "C" fn handle(signal: c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
        // SAFETY: the operating system gives valid pointers. A process runs on this thread, so its coroutine is alive; that
        // the stack pointer is on its stack is checked.
        unsafe {
            let address = (*info).si_addr() as usize;
            let registers = &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs;
            let stack_pointer = registers[libc::REG_RSP as usize] as usize;
            let page = libc::sysconf(libc::_SC_PAGESIZE) as usize;
            let (routine, limit) = RUNNING.with(Cell::get);
            if crate::runtime::world().is_some()
                && (limit..limit + page).contains(&address)
                && (*routine).trap_handler().stack_ptr_in_bounds(stack_pointer)
            {
                leave(registers, || OVERFLOWED.with(|cell| cell.set(true)));
                return;
            }
            delegate(signal, info, context);
        }
    }

    extern "C" fn handle_abort(signal: c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
        // SAFETY: as above. An abort of this thread, while a process runs on it, is of its coroutine. Any other goes its way:
        // the signal comes again.
        unsafe {
            let own = (*info).si_code == libc::SI_TKILL && (*info).si_pid() == libc::getpid();
            if !own || crate::runtime::world().is_none() {
                libc::signal(signal, libc::SIG_DFL);
                return;
            }
            let note = match ABORTING.with(|cell| cell.replace(false)) {
                true => || (),
                false => || ABORTED.with(|cell| cell.set(true)),
            };
            leave(&mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs, note);
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
        let before = BEFORE.get();
        let handler = before.map_or(libc::SIG_DFL, |before| before.sa_sigaction);
        // SAFETY: the handler before ours was installed for this signal, with the flags that say how it is called.
        unsafe {
            if handler == libc::SIG_DFL || handler == libc::SIG_IGN {
                // The instruction faults again, and nobody handles it.
                libc::signal(signal, libc::SIG_DFL);
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
