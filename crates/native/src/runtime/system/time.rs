//! Time: a modelled clock, which never goes back.
//!
//! Each thread has a clock of its own. It goes on when its thread does something that takes time: when it
//! sleeps, when a wait of it times out, and a little whenever it is looked at. And it is put forward where
//! threads meet: a step happens at least as late as every step before it that it depends on, whichever
//! thread took that. So what a clock shows is a function of what happened before, in whatever order the rest
//! is run; to look at it is no step, and nobody else can notice it. These are Lamport's clocks: times that
//! some real clock could have shown in an execution of this order, for which it takes that no two writes of a
//! location are taken as unordered. Where a program has asked for the time, a write counts as an update; the
//! search begins again when one is first seen to.
//!
//! A loop that looks at the clock until it is late enough has to end. So the more often a thread looks at it
//! from one place, the longer it has taken: ten times as long each time, up to an hour.
#![allow(unsafe_code)]

use mazurka_program::{Access, AccessKind, FailureKind, ProcessId};
use mazurka_threads::lifetime::Entry;

use super::stubs::{Passing, Stub, stubs};
use super::user::{caller, store, with_runtime};
use crate::runtime::memory::layout::{PAGE, peek};
use crate::runtime::threads::arrive;
use crate::runtime::threads::runtime::Runtime;

const SECOND: i64 = 1_000_000_000;

/// What clocks show at first, in nanoseconds since 1970: a day in September 2001.
pub(crate) const BEGINNING: i64 = 1_000_000_000 * SECOND;

/// To look at a clock takes so long, and no longer than that where it is done again and again.
const LOOK: i64 = 1_000;
const LONGEST_LOOK: i64 = 3_600 * SECOND;

/// How late it was when a location was accessed last.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Accessed {
    read: i64,
    written: i64,
}

impl Entry for Accessed {
    fn renew(&mut self) {
        *self = Accessed::default();
    }

    fn copy_from(&mut self, other: &Accessed) {
        *self = *other;
    }
}

/// From where a thread looked at its clock last, and how long that took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LastLook {
    place: usize,
    took: i64,
}

impl Runtime {
    /// A thread takes a step: it is no earlier than all that it depends on.
    #[cold]
    pub(crate) fn carry_time(&mut self, process: ProcessId, accesses: &[Access]) {
        let logs = self.search.rounds;
        let times = &mut self.execution.times;
        let thread = &mut self.execution.threads[process];
        let (clock, log) = (&mut thread.state.clock, &mut thread.buffers.rounds);
        let before = *clock;
        let each = |access: &Access| {
            let reads = access.kind == AccessKind::Read;
            access.locations().map(move |location| (location.0 as usize, reads))
        };
        for (at, reads) in accesses.iter().flat_map(each) {
            let Accessed { read, written } = *times.at(at);
            *clock = (*clock).max(written).max(if reads { 0 } else { read });
        }
        for (at, reads) in accesses.iter().flat_map(each) {
            let accessed = times.at(at);
            let kind = if reads { &mut accessed.read } else { &mut accessed.written };
            *kind = (*kind).max(*clock);
            if logs {
                log.note_time(reads, at as u32, process.0, *clock);
            }
        }
        if logs && *clock != before {
            log.note_clock(process.0, before, *clock);
        }
    }

    /// The same of the step that is being taken, with all that it has touched so far.
    #[cold]
    pub(crate) fn carry_time_of_step(&mut self) {
        let accesses = std::mem::take(&mut self.step.label.accesses);
        self.carry_time(self.running(), &accesses);
        self.step.label.accesses = accesses;
    }

    /// The running thread sleeps for so long.
    fn sleep(&mut self, time: i64) {
        let until = self.me().state.clock.saturating_add(time.max(0));
        self.sleep_until(until);
    }

    /// The running thread sleeps until its clock shows as much, or has waited in vain until then.
    fn sleep_until(&mut self, time: i64) {
        self.note_slept();
        let clock = &mut self.me().state.clock;
        *clock = time.max(*clock);
    }

    /// Nobody asks how long a loop slept that waits for something: it may be any time.
    fn note_slept(&mut self) {
        if self.search.has_clock && self.search.rounds {
            self.me().buffers.rounds.note_slept();
        }
    }

    /// From now on clocks matter.
    #[cold]
    fn discover_clock(&mut self) {
        self.search.has_clock = true;
        self.search.partition.news = true;
    }
}

/// What the clock of the running thread shows to who looks at it from a place.
fn now(place: usize) -> i64 {
    with_runtime(|runtime| {
        // Whoever goes on looking at it sees something else each time.
        runtime.me().buffers.detector.clear();
        runtime.log_lasting();
        if !runtime.search.has_clock {
            runtime.discover_clock();
        }
        let last = runtime.me().state.looked;
        let again = last.took.saturating_mul(10).min(LONGEST_LOOK);
        let took = if last.place == place { again } else { LOOK };
        runtime.me().state.looked = LastLook { place, took };
        let clock = &mut runtime.me().state.clock;
        *clock = clock.saturating_add(took);
        *clock
    })
}

/// What the program has at an address as a `timespec`, in nanoseconds.
fn timespec_at(address: usize) -> i64 {
    if address < PAGE {
        return 0;
    }
    // SAFETY: the program passed it to be read; a wild pointer faults, and the thread is thrown out.
    let (seconds, rest) = unsafe { (peek(address, 8).cast_signed(), peek(address + 8, 8).cast_signed()) };
    seconds.saturating_mul(SECOND).saturating_add(rest)
}

/// A wait of the running thread timed out that was until the time at an address (a `timespec`; 0 for none).
pub(crate) fn timed_out(until: usize) {
    let time = timespec_at(until);
    with_runtime(|runtime| runtime.sleep_until(time));
}

/// Gives what a wait with a time gave, after it was noted if it has timed out.
pub(crate) fn after_wait(result: i32, late: i32, until: usize) -> i32 {
    if result == late {
        timed_out(until);
    }
    result
}

/// `std::chrono::steady_clock::now()` and its kin.
extern "C-unwind" fn chrono_now() -> i64 {
    now(caller())
}

/// Writes seconds and what is left of them, in parts of a second.
fn store_time(to: *mut i64, time: i64, unit: i64, place: usize) {
    store(to, time.div_euclid(SECOND), place);
    store(to.wrapping_add(1), time.rem_euclid(SECOND) / unit, place);
}

/// Clocks that show how long something has run; they begin at 0.
const CPU_CLOCKS: [i32; 2] = [libc::CLOCK_PROCESS_CPUTIME_ID, libc::CLOCK_THREAD_CPUTIME_ID];

extern "C-unwind" fn clock_gettime(clock: i32, to: *mut i64) -> i32 {
    let place = caller();
    let beginning = if CPU_CLOCKS.contains(&clock) { BEGINNING } else { 0 };
    store_time(to, now(place) - beginning, 1, place);
    0
}

extern "C-unwind" fn clock_getres(_clock: i32, to: *mut i64) -> i32 {
    if !to.is_null() {
        store_time(to, LOOK, 1, caller());
    }
    0
}

extern "C-unwind" fn timespec_get(to: *mut i64, base: i32) -> i32 {
    let place = caller();
    store_time(to, now(place), 1, place);
    base
}

extern "C-unwind" fn gettimeofday(to: *mut i64, _zone: usize) -> i32 {
    let place = caller();
    if !to.is_null() {
        store_time(to, now(place), 1_000, place);
    }
    0
}

extern "C-unwind" fn time(to: *mut i64) -> i64 {
    let place = caller();
    let seconds = now(place) / SECOND;
    if !to.is_null() {
        store(to, seconds, place);
    }
    seconds
}

/// In microseconds.
extern "C-unwind" fn clock() -> i64 {
    (now(caller()) - BEGINNING) / 1_000
}

/// To sleep is nothing to wait for, since others may go first at every operation anyhow; but time passes.
extern "C-unwind" fn sleep(seconds: u32) -> u32 {
    with_runtime(|runtime| runtime.sleep(i64::from(seconds) * SECOND));
    0
}

extern "C-unwind" fn usleep(microseconds: u32) -> i32 {
    with_runtime(|runtime| runtime.sleep(i64::from(microseconds) * 1_000));
    0
}

extern "C-unwind" fn nanosleep(time: usize, _left: usize) -> i32 {
    let place = caller();
    if time < PAGE {
        let message = format!("nanosleep: there is no time at {time:#x}");
        arrive::fail_here(FailureKind::Memory, message, place);
    }
    with_runtime(|runtime| runtime.sleep(timespec_at(time)));
    0
}

/// The last but one is a time to sleep for, or until which.
extern "C-unwind" fn clock_nanosleep(_clock: i32, flags: i32, time: usize, left: usize) -> i32 {
    if flags & libc::TIMER_ABSTIME == 0 {
        return nanosleep(time, left);
    }
    timed_out(time);
    0
}

/// What programs call.
pub(crate) fn interposed(list: &mut Vec<Stub>) {
    list.extend(stubs! { Passing::Plain;
        "_ZNSt6chrono3_V212steady_clock3nowEv" => chrono_now,
        "_ZNSt6chrono3_V212system_clock3nowEv" => chrono_now, "clock_gettime" => clock_gettime,
        "__clock_gettime" => clock_gettime, "clock_getres" => clock_getres, "timespec_get" => timespec_get,
        "gettimeofday" => gettimeofday, "time" => time, "clock" => clock, "sleep" => sleep,
        "usleep" => usleep, "nanosleep" => nanosleep, "clock_nanosleep" => clock_nanosleep,
        "thrd_sleep" => nanosleep,
    });
}
