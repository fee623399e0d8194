//! Faults of the program: a modelled thread that faults is thrown out of its coroutine.
//!
//! The handler runs on a stack of its own. If a modelled thread runs, it either makes a page of variables
//! writable (see [`crate::runtime::memory::image`]) and has the instruction repeated, or sets the registers
//! so that the coroutine ends when the handler returns. Other faults go to the handler before ours.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::OnceLock;

use mazurka_program::{Failure, FailureKind, ProcessId};

use super::{hang, limits};
use crate::runtime::memory::layout::PAGE;
use crate::runtime::threads::runtime::{Runtime, current};
use crate::runtime::threads::stops::StopReason;
use crate::runtime::threads::thread::Routine;

/// The code of a signal that the system sends of itself, with no address: a general protection fault.
const SI_KERNEL: c_int = 0x80;

/// Whether a thread was at `cmpxchg16b`, which asks for memory at a multiple of 16.
///
/// # Safety
/// There must be an instruction of the program.
unsafe fn is_wide_exchange(place: usize) -> bool {
    let code = ptr::with_exposed_provenance::<u8>(place);
    // SAFETY: the caller vouches for it: what was executed is code, and of this instruction the bytes that
    // tell it come first. Each is looked at only if those before it are what they are in a longer one.
    unsafe {
        let rex = usize::from(*code == 0xF0);
        *code.add(rex) & 0xF8 == 0x48
            && *code.add(rex + 1) == 0x0F
            && *code.add(rex + 2) == 0xC7
            && *code.add(rex + 3) >> 3 & 7 == 1
    }
}

/// Why a thread was thrown out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    signal: c_int,
    address: usize,
    /// The instruction.
    place: usize,
    /// Whether the processor refused the instruction for what it is given, and not for want of memory.
    protection: bool,
    /// The stack pointer and the frame pointer then.
    registers: (usize, usize),
    overflow: bool,
    /// If it was the timer that struck.
    stopped: Option<StopReason>,
}

thread_local! {
    static FAULT: Cell<Option<Fault>> = const { Cell::new(None) };
    static HAS_STACK: Cell<bool> = const { Cell::new(false) };
}

/// Why the coroutine that ran last was thrown out, if it was.
pub(crate) fn take_fault() -> Option<Fault> {
    FAULT.take()
}

/// The handlers that were there before ours.
static BEFORE: OnceLock<Vec<(c_int, libc::sigaction)>> = OnceLock::new();

/// Installs the handlers, and gives this thread a stack for them.
pub(crate) fn install() {
    if !HAS_STACK.replace(true) {
        give_stack();
    }
    BEFORE.get_or_init(|| {
        let signals = [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, hang::SIGNAL];
        // SAFETY: the actions are complete, and the handler does only what a handler may: it uses
        // thread-local variables that need no initialisation, and what belongs to the interrupted thread.
        signals.map(|signal| (signal, unsafe { take_over(signal) })).to_vec()
    });
    hang::start();
}

/// # Safety
/// [`handle`] must be fit for the signal.
unsafe fn take_over(signal: c_int) -> libc::sigaction {
    // SAFETY: zeros are a valid action, and the rest is set.
    unsafe {
        let mut action: libc::sigaction = MaybeUninit::zeroed().assume_init();
        action.sa_sigaction = handle as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER | libc::SA_RESTART;
        let mut before = MaybeUninit::<libc::sigaction>::zeroed();
        libc::sigaction(signal, &action, before.as_mut_ptr());
        before.assume_init()
    }
}

/// Handlers need a stack of their own: that of the thread may be the one that overflowed.
fn give_stack() {
    // SAFETY: the stack is made for this thread and never freed.
    unsafe {
        let mut before = MaybeUninit::<libc::stack_t>::zeroed().assume_init();
        libc::sigaltstack(ptr::null(), &mut before);
        if before.ss_flags & libc::SS_DISABLE == 0 && before.ss_size >= 8 * PAGE {
            return;
        }
        let size = 16 * PAGE;
        let stack = Box::leak(vec![0u8; size].into_boxed_slice());
        let stack = libc::stack_t { ss_sp: stack.as_mut_ptr().cast(), ss_flags: 0, ss_size: size };
        libc::sigaltstack(&stack, ptr::null_mut());
    }
}

extern "C" fn handle(signal: c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the system gives valid pointers. If there is a runtime, it is alive; if the stack pointer is on
    // the stack of its running thread, that thread was interrupted, and its coroutine is alive.
    unsafe {
        let address = (*info).si_addr() as usize;
        let registers = &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs;
        let runtime = current();
        if !runtime.is_null() && signal == libc::SIGSEGV && (*runtime).execution.image.first_write(address) {
            return;
        }
        let place = registers[libc::REG_RIP as usize] as usize;
        let stack_pointer = registers[libc::REG_RSP as usize] as usize;
        let interrupted = interrupted(runtime, stack_pointer);
        let mut stopped = None;
        if signal == hang::SIGNAL {
            limits::look();
            stopped = interrupted.and_then(|_| hang::why_stop(runtime, place));
            if stopped.is_none() {
                return;
            }
        }
        let Some((routine, limit)) = interrupted else { return delegate(signal, info, context) };
        let overflow = signal == libc::SIGSEGV && (limit..limit + PAGE).contains(&address);
        let registers = (stack_pointer, registers[libc::REG_RBP as usize] as usize);
        let protection = signal == libc::SIGSEGV && (*info).si_code == SI_KERNEL;
        FAULT.set(Some(Fault { signal, address, place, protection, registers, overflow, stopped }));
        leave(&mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs, routine);
    }
}

/// The coroutine of the running thread and its lowest stack address, if the stack pointer is on that stack.
///
/// # Safety
/// The runtime must be alive, or null.
unsafe fn interrupted(runtime: *mut Runtime, stack_pointer: usize) -> Option<(*const Routine, usize)> {
    if runtime.is_null() {
        return None;
    }
    // SAFETY: by the contract of this function.
    let (threads, running) = unsafe { (&(*runtime).execution.threads.list, (*runtime).running()) };
    let thread = threads.get(running.index())?;
    let limit = thread.slot.stack_limit;
    (limit..thread.slot.stack_base).contains(&stack_pointer).then(|| (thread.routine().cast_const(), limit))
}

/// Has the coroutine that runs end when the handler returns.
///
/// # Safety
/// The registers must be those of the coroutine.
unsafe fn leave(registers: &mut [libc::greg_t; 23], routine: *const Routine) {
    // SAFETY: the coroutine runs, so it is alive, and its registers are set as it asks.
    let to = unsafe { (*routine).trap_handler().setup_trap_handler(|| ()) };
    registers[libc::REG_RIP as usize] = to.rip as i64;
    registers[libc::REG_RSP as usize] = to.rsp as i64;
    registers[libc::REG_RBP as usize] = to.rbp as i64;
    registers[libc::REG_RDI as usize] = to.rdi as i64;
    registers[libc::REG_RSI as usize] = to.rsi as i64;
}

/// # Safety
/// The arguments must be those of a handler.
unsafe fn delegate(signal: c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let before = BEFORE.get().and_then(|all| all.iter().find(|before| before.0 == signal));
    let handler = before.map_or(libc::SIG_DFL, |before| before.1.sa_sigaction);
    // SAFETY: the handler before ours was installed for this signal; its flags say how it is called.
    unsafe {
        if handler == libc::SIG_DFL || handler == libc::SIG_IGN {
            // The instruction faults again, and nobody handles it.
            libc::signal(signal, libc::SIG_DFL);
        } else if before.is_some_and(|before| before.1.sa_flags & libc::SA_SIGINFO != 0) {
            let call: extern "C" fn(c_int, *mut libc::siginfo_t, *mut libc::c_void) =
                std::mem::transmute(handler);
            call(signal, info, context);
        } else {
            let call: extern "C" fn(c_int) = std::mem::transmute(handler);
            call(signal);
        }
    }
}

impl Runtime {
    /// A thread was thrown out by a signal.
    #[cold]
    pub(crate) fn report_fault(&mut self, process: ProcessId, fault: Fault) {
        let name = self.name_of(process);
        let Fault { signal, address, place: at, protection, overflow, stopped, .. } = fault;
        self.execution.over = true;
        if stopped == Some(StopReason::Limit) {
            return;
        }
        let is_new = stopped.is_some() && self.search.stops.note(self.execution.schedule.depth, process);
        let (kind, message) = match signal {
            _ if overflow => {
                let size = self.search.slots.stack_size() / 1024;
                (FailureKind::StackOverflow, format!("{name} overflowed its stack of {size} KiB"))
            }
            hang::SIGNAL => {
                let seconds = self.search.options.patience.as_secs_f64();
                (FailureKind::Hang, format!("{name} has run for {seconds} s without coming to an operation"))
            }
            libc::SIGFPE => {
                (FailureKind::Arithmetic, format!("{name} divides by zero, or overflows a division"))
            }
            libc::SIGILL => (FailureKind::Memory, format!("{name} runs an instruction that is none")),
            // SAFETY: the thread was at this instruction when it was thrown out.
            _ if protection && unsafe { is_wide_exchange(at) } => {
                let what = "compares and exchanges 16 bytes at an address that is no multiple of 16";
                (FailureKind::Memory, format!("{name} {what}"))
            }
            _ if protection => {
                let what = "uses a wild pointer, or an instruction that needs memory aligned otherwise";
                (FailureKind::Memory, format!("{name} {what}"))
            }
            _ if address == 0 => (FailureKind::Memory, format!("{name} uses a null pointer, or a wild one")),
            _ => (
                FailureKind::Memory,
                format!("{name} accesses {address:#x}, where there is no memory for it"),
            ),
        };
        let mut place = self.fault_place(process, fault.place, fault.registers);
        if kind == FailureKind::Hang {
            // The timer strikes anywhere in the loop: that is no part of the failure, which must be
            // repeatable.
            let at = place.take();
            if is_new {
                self.search.stuck = at.map(|at| (name, at));
            }
        }
        self.execution.findings.report(Failure { kind, message, place, process: Some(process) });
    }
}
