//! Threads that run on and on without coming to an operation: noticed by a timer, and thrown out.
//!
//! The timer counts the CPU time of the thread of the operating system that runs the program. At each tick
//! the handler looks whether anything has happened since the last one; if nothing has for as long as the
//! options say, and if the program's own code runs, the coroutine is made to end, as after a fault. Code of
//! libraries and of the runtime is left alone: it comes to an end, and the next tick finds the program's. The
//! same happens when a limit of the search has been reached.
//!
//! Who spins on a variable that nobody else has touched so far comes to no operation either, since others
//! can't notice that it reads. So at the first tick the thread is watched: where it comes back to where it
//! was, what it read on the way becomes locations, the search begins again, and the loop can be seen for what
//! it is ([`super::super::threads::private_loop`]). A loop in which something changes may wait for a variable
//! all the same: long before the thread is thrown out, what it goes on reading and nobody has written becomes
//! a location too.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::mem::MaybeUninit;
use std::ptr;
use std::time::Duration;

use super::limits;
use crate::runtime::threads::runtime::Runtime;
use crate::runtime::threads::stops::StopReason;

/// How often the handler looks.
const TICK: Duration = Duration::from_millis(10);

/// After so many ticks without an operation, and then again and again, it is looked whether the thread is in
/// a loop.
const WATCH: u32 = 1;
const WATCH_AGAIN: u32 = 5;

/// After each so many ticks without an operation, a variable that the thread reads is exposed.
const EXPOSE: u32 = 10;

/// How long a thread may run where the search begins again anyway: long enough to expose variables.
const AHEAD: Duration = Duration::from_millis(200);

thread_local! {
    static TIMER: Cell<libc::timer_t> = const { Cell::new(ptr::null_mut()) };
    /// How far the search was at the last tick, in turns and steps, and for how many ticks it has been there.
    static LAST_TICK: Cell<(u64, u32, u32)> = const { Cell::new((0, 0, 0)) };
}

/// The signal that the timer sends.
pub(crate) const SIGNAL: libc::c_int = libc::SIGVTALRM;

/// Starts the timer of this thread of the operating system, if it does not run yet.
pub(crate) fn start() {
    if !TIMER.get().is_null() {
        return;
    }
    // SAFETY: the structures are complete; the timer signals this thread only, whose handler is installed.
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
        let ticks = libc::itimerspec { it_interval: every, it_value: every };
        libc::timer_settime(timer, 0, &ticks, ptr::null_mut());
        // The first timer of a process may have the number 0, which is no null pointer here.
        TIMER.set(timer.wrapping_byte_add(1));
    }
}

/// This process is a copy of another: timers are not copied. The next start makes one.
pub(crate) fn forget() {
    TIMER.set(ptr::null_mut());
    LAST_TICK.set((0, 0, 0));
}

/// Why the thread that runs is to be stopped, if it is. Called by the handler at each tick.
///
/// # Safety
/// A thread of the program must run, and be interrupted.
pub(crate) unsafe fn why_stop(runtime: *mut Runtime, instruction: usize) -> Option<StopReason> {
    // SAFETY: by the contract of this function; who changes these is not interrupted here.
    let (turns, depth, patience, known, ahead, in_program) = unsafe {
        let (search, execution) = (&(*runtime).search, &(*runtime).execution);
        let depth = execution.schedule.depth;
        let known = search.stops.known(depth, execution.schedule.running);
        let in_program = execution.image.extent.contains(&instruction);
        (search.turns, depth, search.options.patience, known, search.stops.ahead, in_program)
    };
    if known || limits::reached().is_some() {
        let why = if known { StopReason::Hang } else { StopReason::Limit };
        return in_program.then_some(why);
    }
    let ticks = match LAST_TICK.get() {
        (last_turns, last_depth, ticks) if (last_turns, last_depth) == (turns, depth) => {
            ticks.saturating_add(1)
        }
        _ => 0,
    };
    LAST_TICK.set((turns, depth, ticks));
    if ticks == 0 {
        return None;
    }
    if ticks % EXPOSE == 0 {
        // SAFETY: as above; the thread that is interrupted looks at it when it announces its next access.
        unsafe {
            (&raw mut (*runtime).search.expose).write_volatile(true);
            (&raw mut (*runtime).search.attention).write_volatile(true);
        }
    }
    if ticks == WATCH || ticks % WATCH_AGAIN == 0 {
        // SAFETY: as above.
        unsafe {
            (&raw mut (*runtime).search.private_loop.is_watched).write_volatile(true);
            (&raw mut (*runtime).search.attention).write_volatile(true);
        }
    }
    let (most, why) =
        if ahead { (AHEAD.min(patience), StopReason::Limit) } else { (patience, StopReason::Hang) };
    (in_program && TICK * ticks >= most).then_some(why)
}
