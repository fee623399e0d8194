//! The thread that a check runs on, and who watches it.
//!
//! Modelled threads are coroutines, so one that never comes to an operation takes the thread of the operating system with
//! it. It can't be ended from outside; it is left behind, and whoever waits for the check is told. So it is with one that is ended
//! by a signal (see the module `overflow` of the runtime).

use std::any::Any;
use std::panic::Location as Caller;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use mazurka_program::{Failure, FailureKind, ProcessId, Schedule};

use super::pulse::{Crash, Pulse};
use super::worker::{self, Worker};
use crate::runtime::{self, exit, place_of, process_name};

/// The longest time between two looks at a check.
const LONGEST_PAUSE: Duration = Duration::from_millis(100);

/// Why a job has no result.
pub(super) enum NoResult {
    /// A modelled thread has taken the thread of the operating system with it.
    Lost(Lost),
    /// It panicked, which is a bug of ours.
    Panicked(Box<dyn Any + Send>),
    /// The operating system has no thread for it.
    NoThread(std::io::Error),
}

/// A modelled thread that does not come to another operation.
#[derive(Clone)]
pub(super) struct Lost {
    pub(super) name: String,
    place: Option<&'static Caller<'static>>,
    /// The steps up to the one in which it is.
    pub(super) schedule: Option<Schedule>,
    pub(super) fate: Fate,
}

/// What became of a modelled thread.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Hangs,
    /// A signal ended it.
    Crashed(Crash),
    /// What the failure says.
    Failed,
}

impl Lost {
    /// A thread whose last step has no end, as its failure says.
    pub(super) fn in_last_step(pulse: &Pulse, process: ProcessId) -> Lost {
        Lost::of(pulse, process, Fate::Failed)
    }

    fn of(pulse: &Pulse, process: ProcessId, fate: Fate) -> Lost {
        Lost {
            name: process_name(&pulse.member_of(process), pulse.members().into_iter()),
            place: pulse.place(),
            schedule: pulse.schedule(),
            fate,
        }
    }

    pub(super) fn failure(&self) -> Failure {
        let place = self.place.map(place_of);
        match self.fate {
            Fate::Hangs | Fate::Failed => {
                Failure { kind: FailureKind::Hang, message: self.hang(), place, process: None }
            }
            Fate::Crashed(crash) => {
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
            "thread `{}` has not come to {since}: an endless loop, or a lock or other wait of std that only another \
             modelled thread could end",
            self.name
        )
    }

    /// What became of it, for the table of its steps: told of a step of its own, or of one that created it, which is of `who`.
    pub(super) fn note(&self, who: &str) -> String {
        let own = who == self.name;
        let what = match self.fate {
            Fate::Hangs if own => "does not come to another operation".to_owned(),
            Fate::Hangs => "does not come to an operation".to_owned(),
            Fate::Crashed(crash) => meaning(crash).1,
            Fate::Failed => "does not come to its end".to_owned(),
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
            "aborted: by std::process::abort, by a panic in a destructor while it unwound, or by the C library, which \
             found its heap broken (a double free, say)"
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
pub(super) struct Patience {
    /// A modelled thread without an operation; none if that does not matter.
    pub(super) hang: Option<Duration>,
    /// When a search has had its time.
    pub(super) until: Option<Instant>,
}

/// Runs a job on another thread, which is left behind if a modelled thread hangs in it.
///
/// The thread has the name of the one that waits, and the test harness captures what it prints. It is kept for the next
/// job, if this one leaves it fit for that.
pub(super) fn on_own_thread<T: Send + 'static>(
    pulse: &Arc<Pulse>,
    patience: Patience,
    job: impl FnOnce() -> T + Send + 'static,
) -> Result<T, NoResult> {
    let (sender, receiver) = sync_channel(1);
    let worker = Worker::hire().map_err(NoResult::NoThread)?;
    worker.give(move || {
        let result = job();
        // Nobody listens any more if the thread was left behind.
        let _ = sender.send((result, runtime::is_thread_fit()));
    });
    // Looks are counted, not seconds: a machine that sleeps, or a debugger, stops both threads.
    let Patience { hang, mut until } = patience;
    let pause = hang
        .map_or(LONGEST_PAUSE, |patience| (patience / 8).min(LONGEST_PAUSE))
        .max(Duration::from_millis(1));
    let looks = hang.map(|patience| patience.as_nanos().div_ceil(pause.as_nanos()));
    let (mut seen, mut unchanged) = (pulse.now(), 0);
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
                return Err(NoResult::Panicked(worker.end().err().unwrap_or_else(|| Box::new("it ended"))));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        if until.is_some_and(|until| until <= Instant::now()) {
            pulse.set_time_is_up(true);
            until = None;
        }
        if let (Some(crash), Some(process)) = (pulse.crashed(), pulse.now().1) {
            insist_on_heap(pulse);
            return Err(NoResult::Lost(Lost::of(pulse, process, Fate::Crashed(crash))));
        }
        let now = pulse.now();
        unchanged = if now == seen { unchanged + 1 } else { 0 };
        seen = now;
        if let (Some(process), Some(looks)) = (now.1, looks)
            && unchanged >= looks
        {
            pulse.give_up();
            return Err(NoResult::Lost(Lost::of(pulse, process, Fate::Hangs)));
        }
        result = receiver.recv_timeout(next_pause(until, pause));
    }
}

/// So long it may take to find out whether the heap is locked.
const FINDING_OUT: Duration = Duration::from_secs(3);

/// Ends the process of the operating system, with a few words, if a crash has left the heap locked: nobody could go on.
fn insist_on_heap(pulse: &Pulse) {
    let begin = Instant::now();
    while !pulse.is_heap_free() {
        if begin.elapsed() > FINDING_OUT {
            exit::with_last_words(pulse);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The next pause: until a search has had its time, if that comes first.
fn next_pause(until: Option<Instant>, pause: Duration) -> Duration {
    let left = until.map_or(pause, |until| until.saturating_duration_since(Instant::now()));
    left.min(pause).max(Duration::from_millis(1))
}
