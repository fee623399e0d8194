//! The thread that a check runs on, and who watches it.
//!
//! Modelled threads are coroutines, so one that never comes to an operation takes the thread of the operating system with
//! it. It can't be ended from outside; it is left behind, and whoever waits for the check is told.

use std::any::Any;
use std::panic::Location as Caller;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use mazurka_program::{Failure, FailureKind, ProcessId, Schedule};

use super::pulse::Pulse;
use super::worker::{self, Worker};
use crate::runtime::{self, place_of, process_name};

/// The longest time between two looks at a check.
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// Why a job has no result.
pub(super) enum NoResult {
    /// A modelled thread does not come to another operation.
    Hung(Hung),
    /// It panicked, which is a bug of ours.
    Panicked(Box<dyn Any + Send>),
    /// The operating system has no thread for it.
    NoThread(std::io::Error),
}

/// A modelled thread that does not come to another operation.
pub(super) struct Hung {
    pub(super) name: String,
    pub(super) place: Option<&'static Caller<'static>>,
    /// The steps up to the one in which it hangs.
    pub(super) schedule: Option<Schedule>,
}

impl Hung {
    fn of(pulse: &Pulse, process: ProcessId) -> Hung {
        Hung {
            name: process_name(&pulse.member_of(process), pulse.members().into_iter()),
            place: pulse.place(),
            schedule: pulse.schedule(),
        }
    }

    pub(super) fn failure(&self) -> Failure {
        let since = match self.place {
            Some(place) => format!("another operation since {}:{}", place.file(), place.line()),
            None => "an operation since it began".to_owned(),
        };
        let message = format!(
            "thread `{}` has not come to {since}: an endless loop, or a lock or other wait of std that only another \
             modelled thread could end",
            self.name
        );
        Failure { kind: FailureKind::Hang, message, place: self.place.map(place_of), process: None }
    }
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
        let now = pulse.now();
        unchanged = if now == seen { unchanged + 1 } else { 0 };
        seen = now;
        if let (Some(process), Some(looks)) = (now.1, looks)
            && unchanged >= looks
        {
            pulse.give_up();
            return Err(NoResult::Hung(Hung::of(pulse, process)));
        }
        result = receiver.recv_timeout(next_pause(until, pause));
    }
}

/// The next pause: until a search has had its time, if that comes first.
fn next_pause(until: Option<Instant>, pause: Duration) -> Duration {
    let left = until.map_or(pause, |until| until.saturating_duration_since(Instant::now()));
    left.min(pause).max(Duration::from_millis(1))
}
