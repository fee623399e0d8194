//! The watchdog of a check: it waits for the thread that the check runs on, and notices if that is lost.
//!
//! Modelled threads are coroutines, so one that never comes to an operation takes the thread of the operating
//! system with it. It can't be ended from outside; it is left behind, and whoever waits for the check is
//! told. So it is with one that is ended by a signal (see the module `overflow` of the runtime).

use std::any::Any;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use mazurka_program::{Failure, FailureKind, ProcessId, Schedule};

use super::heartbeat::{Crash, Heartbeat};
use super::worker::{self, Worker};
use crate::runtime::{self, exit, place_of, process_name};
use crate::step::CallSite;

/// The longest time between two looks at a check.
const LONGEST_PAUSE: Duration = Duration::from_millis(100);

/// Why a job has no result.
pub(super) enum JobFailure {
    /// A modelled thread has taken the thread of the operating system with it: that of the job, or one of those
    /// that share the search.
    Lost { thread: LostThread, in_part: bool },
    /// It panicked, which is a bug of ours.
    Panicked(Box<dyn Any + Send>),
    /// The operating system has no thread for it.
    NoThread(std::io::Error),
}

/// A modelled thread that does not come to another operation.
#[derive(Clone)]
pub(super) struct LostThread {
    pub(super) name: String,
    place: Option<CallSite>,
    /// The steps up to the one in which it is.
    pub(super) schedule: Option<Schedule>,
    pub(super) loss: Loss,
}

/// How a modelled thread was lost.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Loss {
    Hang,
    /// A signal ended it.
    Crash(Crash),
    /// Its last step has no end, as the failure says.
    InStep,
}

impl LostThread {
    /// A thread whose last step has no end, as its failure says.
    pub(super) fn in_last_step(heartbeat: &Heartbeat, process: ProcessId) -> LostThread {
        LostThread::of(heartbeat, process, Loss::InStep)
    }

    fn of(heartbeat: &Heartbeat, process: ProcessId, loss: Loss) -> LostThread {
        LostThread {
            name: process_name(&heartbeat.member_of(process), heartbeat.members().into_iter()),
            place: heartbeat.place(),
            schedule: heartbeat.schedule(),
            loss,
        }
    }

    pub(super) fn failure(&self) -> Failure {
        let place = self.place.map(place_of);
        match self.loss {
            Loss::Hang | Loss::InStep => {
                Failure { kind: FailureKind::Hang, message: self.hang(), place, process: None }
            }
            Loss::Crash(crash) => {
                let (kind, what) = meaning(crash);
                let since = self.since("the operation at", "its beginning");
                let message = format!("thread `{}` {what}, after {since}", self.name);
                Failure { kind, message, place, process: None }
            }
        }
    }

    fn since(&self, operation: &str, beginning: &str) -> String {
        match self.place {
            Some(place) => format!("{operation} {}:{}", place.file(), place.line()),
            None => beginning.to_owned(),
        }
    }

    fn hang(&self) -> String {
        let since = self.since("another operation since", "an operation since it began");
        format!(
            "thread `{}` has not come to {since}: an endless loop, or a lock or other wait of std that only \
             another modelled thread could end",
            self.name
        )
    }

    /// What became of it, for the table of its steps: in the line of a step of its own, or of the one that
    /// created it, which is of `who`.
    pub(super) fn note(&self, who: &str) -> String {
        let own = who == self.name;
        let what = match self.loss {
            Loss::Hang if own => "does not come to another operation".to_owned(),
            Loss::Hang => "does not come to an operation".to_owned(),
            Loss::Crash(crash) => meaning(crash).1,
            Loss::InStep => "does not come to its end".to_owned(),
        };
        if own { what } else { format!("{} {what}", self.name) }
    }
}

/// What a signal means to people.
fn meaning(Crash { signal, address }: Crash) -> (FailureKind, String) {
    let name = signal_name(signal);
    match name {
        "SIGABRT" => (
            FailureKind::Panic,
            "aborted: by std::process::abort, by a panic in a destructor while it unwound, or by the C library, \
             which found its heap broken (a double free, say)"
                .to_owned(),
        ),
        "SIGSEGV" | "SIGBUS" => {
            (FailureKind::Memory, format!("accessed memory that is not there: {name} at {address:#x}"))
        }
        "SIGFPE" => (FailureKind::Arithmetic, format!("did arithmetic that the machine can't do: {name}")),
        _ => (FailureKind::Panic, format!("came to an instruction that can't be executed: {name}")),
    }
}

#[cfg(unix)]
fn signal_name(signal: i32) -> &'static str {
    match signal {
        libc::SIGABRT => "SIGABRT",
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGBUS => "SIGBUS",
        libc::SIGFPE => "SIGFPE",
        _ => "SIGILL",
    }
}

#[cfg(not(unix))]
fn signal_name(_: i32) -> &'static str {
    "a signal"
}

/// How long a job may take.
#[derive(Clone, Copy)]
pub(super) struct Timeouts {
    /// A modelled thread without an operation; none if that does not matter.
    pub(super) hang: Option<Duration>,
    /// When a search has had its time.
    pub(super) until: Option<Instant>,
}

/// Runs a job on another thread, which is left behind if a modelled thread hangs in it.
///
/// The thread has the name of the one that waits, and the test harness captures what it prints. It is kept
/// for the next job, if this one leaves it fit for that.
pub(super) fn on_own_thread<T: Send + 'static>(
    heartbeat: &Arc<Heartbeat>,
    timeouts: Timeouts,
    job: impl FnOnce() -> T + Send + 'static,
) -> Result<T, JobFailure> {
    let (sender, receiver) = sync_channel(1);
    let worker = Worker::hire().map_err(JobFailure::NoThread)?;
    worker.give(move || {
        let result = job();
        // Nobody listens any more if the thread was left behind.
        let _ = sender.send((result, runtime::is_thread_fit()));
    });
    let Timeouts { hang, mut until } = timeouts;
    let pause =
        hang.map_or(LONGEST_PAUSE, |timeout| (timeout / 8).min(LONGEST_PAUSE)).max(Duration::from_millis(1));
    let looks = hang.map(|timeout| timeout.as_nanos().div_ceil(pause.as_nanos()));
    let mut pulses = vec![Pulse::of(heartbeat.clone())];
    let mut result = worker::look_then_wait(&receiver, next_pause(until, pause));
    loop {
        match result {
            Ok((result, true)) => {
                worker.keep();
                return Ok(result);
            }
            Ok((result, false)) => {
                let _ = worker.end();
                return Ok(result);
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(JobFailure::Panicked(worker.end().err().unwrap_or_else(|| Box::new("it ended"))));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        if until.is_some_and(|until| until <= Instant::now()) {
            heartbeat.set_time_is_up(true);
            until = None;
        }
        look_for_parts(&mut pulses, heartbeat);
        if let Some(failure) = pulses.iter_mut().find_map(|pulse| pulse.look(looks, heartbeat)) {
            heartbeat.give_up();
            return Err(failure);
        }
        result = receiver.recv_timeout(next_pause(until, pause));
    }
}

/// What was seen of a check, or of a part of it. Looks are counted, not seconds: a machine that sleeps, or a
/// debugger, stops all threads.
struct Pulse {
    heartbeat: Arc<Heartbeat>,
    seen: (u64, Option<ProcessId>),
    unchanged: u128,
}

impl Pulse {
    fn of(heartbeat: Arc<Heartbeat>) -> Pulse {
        Pulse { seen: heartbeat.now(), heartbeat, unchanged: 0 }
    }

    /// Looks once more; the thread that is lost, if one is: it crashed, or has not changed for so many looks.
    fn look(&mut self, looks: Option<u128>, whole: &Arc<Heartbeat>) -> Option<JobFailure> {
        let heartbeat = &*self.heartbeat;
        let lost = |process, loss| JobFailure::Lost {
            thread: LostThread::of(heartbeat, process, loss),
            in_part: !Arc::ptr_eq(&self.heartbeat, whole),
        };
        if let (Some(crash), Some(process)) = (heartbeat.crashed(), heartbeat.now().1) {
            insist_on_heap(heartbeat);
            return Some(lost(process, Loss::Crash(crash)));
        }
        let now = heartbeat.now();
        self.unchanged = if now == self.seen { self.unchanged + 1 } else { 0 };
        self.seen = now;
        let is_lost = looks.is_some_and(|looks| self.unchanged >= looks);
        now.1.filter(|_| is_lost).map(|process| lost(process, Loss::Hang))
    }
}

/// Looks which parts of a check there are now.
fn look_for_parts(pulses: &mut Vec<Pulse>, whole: &Arc<Heartbeat>) {
    let parts = whole.parts();
    let is_there = |heartbeat: &Arc<Heartbeat>| {
        Arc::ptr_eq(heartbeat, whole) || parts.iter().any(|part| Arc::ptr_eq(part, heartbeat))
    };
    pulses.retain(|pulse| is_there(&pulse.heartbeat));
    for part in &parts {
        if !pulses.iter().any(|pulse| Arc::ptr_eq(&pulse.heartbeat, part)) {
            pulses.push(Pulse::of(part.clone()));
        }
    }
}

/// So long it may take to find out whether the heap is locked.
const FINDING_OUT: Duration = Duration::from_secs(3);

/// Ends the process of the operating system, with a few words, if a crash has left the heap locked: nobody
/// could go on.
fn insist_on_heap(heartbeat: &Heartbeat) {
    let begin = Instant::now();
    while !heartbeat.is_heap_free() {
        if begin.elapsed() > FINDING_OUT {
            exit::with_last_words(heartbeat);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The next pause: until a search has had its time, if that comes first.
fn next_pause(until: Option<Instant>, pause: Duration) -> Duration {
    let left = until.map_or(pause, |until| until.saturating_duration_since(Instant::now()));
    left.min(pause).max(Duration::from_millis(1))
}
