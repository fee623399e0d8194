//! Threads that run on and on without coming to an operation: noticed by a timer, and thrown out.
//!
//! The timer counts the CPU time of the thread of the operating system that runs the program. At each tick
//! the handler looks whether anything has happened since the last one; if nothing has for as long as the
//! options say, and if the program's own code runs, the coroutine is made to end, as after a fault. Code of
//! libraries and of the runtime is left alone: it comes to an end, and the next tick finds the program's. The
//! same happens when a limit of the search has been reached.
//!
//! Who spins on a variable that nobody has written so far comes to no operation either, since others can't
//! notice that it reads. So long before that, what a thread goes on reading and nobody has written becomes a
//! location: the search begins again, and the loop can be seen for what it is.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::mem::MaybeUninit;
use std::ptr;
use std::time::Duration;

use super::limits;
use crate::runtime::threads::runtime::Runtime;
use crate::runtime::threads::stops::StopReason;

/// How often the handler looks.
const TICK: Duration = Duration::from_millis(50);

/// After so many ticks without an operation, a variable that the thread reads is exposed; and again after as
/// many more.
const EXPOSE: u32 = 2;

/// How long a thread may run where the search begins again in any case: long enough for variables to be
/// exposed.
const AHEAD: Duration = Duration::from_millis(200);

thread_local! {
    static TIMER: Cell<libc::timer_t> = const { Cell::new(ptr::null_mut()) };
    /// What had happened at the last tick, and how many ticks have passed since then.
    static SEEN: Cell<(u64, u32, u32)> = const { Cell::new((0, 0, 0)) };
}

/// The signal that the timer sends.
pub(crate) const SIGNAL: libc::c_int = libc::SIGVTALRM;

/// Starts the timer of this thread of the operating system, if it does not run yet.
pub(crate) fn start() {
    if !TIMER.with(Cell::get).is_null() {
        return;
    }
    // SAFETY: the structures are complete; the timer sends its signal to this thread only, whose handler is
    // installed.
    unsafe {
        let mut event: libc::sigevent = MaybeUninit::zeroed().assume_init();
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = SIGNAL;
        event.sigev_notify_thread_id = libc::gettid();
        let mut timer: libc::timer_t = ptr::null_mut();
        if libc::timer_create(libc::CLOCK_THREAD_CPUTIME_ID, &mut event, &mut timer) != 0 {
            return;
        }
        let every = libc::timespec { tv_sec: 0, tv_nsec: TICK.as_nanos() as i64 };
        libc::timer_settime(
            timer,
            0,
            &libc::itimerspec { it_interval: every, it_value: every },
            ptr::null_mut(),
        );
        // The first timer of a process may have the number 0, which is no null pointer here.
        TIMER.with(|cell| cell.set(timer.wrapping_byte_add(1)));
    }
}

/// Why the thread that runs is to be stopped, if it is. Called by the handler at each tick.
///
/// # Safety
/// A thread of the program must run, and be interrupted.
pub(crate) unsafe fn why_stop(runtime: *mut Runtime, instruction: usize) -> Option<StopReason> {
    // SAFETY: by the contract of this function; these fields are plain numbers.
    let (turns, depth, patience) = unsafe {
        ((*runtime).search.turns, (*runtime).execution.schedule.depth, (*runtime).search.options.patience)
    };
    // SAFETY: as above; who changes these is not interrupted here.
    let known = unsafe { (*runtime).search.stops.known(depth, (*runtime).running()) };
    // SAFETY: as above.
    let in_program = unsafe { (*runtime).execution.image.extent.contains(&instruction) };
    if known || limits::reached().is_some() {
        let why = if known { StopReason::Hang } else { StopReason::Limit };
        return in_program.then_some(why);
    }
    let (seen_turns, seen_depth, ticks) = SEEN.with(Cell::get);
    if (turns, depth) != (seen_turns, seen_depth) {
        SEEN.with(|cell| cell.set((turns, depth, 0)));
        return None;
    }
    let ticks = ticks.saturating_add(1);
    SEEN.with(|cell| cell.set((turns, depth, ticks)));
    if ticks % EXPOSE == 0 {
        // SAFETY: as above; the thread that is interrupted looks at it when it announces its next access.
        unsafe { (&raw mut (*runtime).search.expose).write_volatile(true) };
    }
    // SAFETY: as above.
    let (most, why) = match unsafe { (*runtime).search.stops.ahead } {
        true => (AHEAD.min(patience), StopReason::Limit),
        false => (patience, StopReason::Hang),
    };
    (in_program && TICK * ticks >= most).then_some(why)
}
