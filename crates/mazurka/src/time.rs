//! As [`std::time`], as far as it is modelled: [`Instant`].
//!
//! ```
//! use mazurka::sync::{Arc, atomic::{AtomicBool, Ordering::SeqCst}};
//! use mazurka::time::{Duration, Instant};
//! use mazurka::thread;
//!
//! let report = mazurka::Checker::new().run(|| {
//!     let done = Arc::new(AtomicBool::new(false));
//!     let worker = thread::spawn({
//!         let done = done.clone();
//!         move || done.store(true, SeqCst)
//!     });
//!     let deadline = Instant::now() + Duration::from_millis(100);
//!     while !done.load(SeqCst) {
//!         assert!(Instant::now() < deadline, "it may be late");
//!     }
//!     worker.join().unwrap();
//! });
//! assert!(report.text().contains("it may be late"));
//! ```

use std::fmt;
use std::ops::{Add, AddAssign, Sub, SubAssign};
use std::panic::Location as Caller;
use std::sync::OnceLock;

pub use std::time::{Duration, TryFromFloatSecsError};

use crate::runtime::{stop_here, with_runtime};

/// What is long before any clock was looked at: there are times before.
const LONG_AGO: Duration = Duration::from_secs(1 << 40);

/// As [`std::time::Instant`].
///
/// Within a check a clock shows what follows from what happened before, the same in all executions that are
/// equivalent. It never goes back, nor from one thread to another where their steps depend on each other. It
/// advances when it is looked at: at the first look at a place in the source by a millisecond, at each further
/// one there by ten times as much as before, up to a thousand seconds; so who looks until it is late is late
/// soon. [`sleep`](crate::thread::sleep) and waits that time out take the time that they are given.
///
/// That is one of the ways in which time may pass: other than a wait with a timeout, which may time out
/// whenever what it waits for is not there, a clock has one time to show.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(Duration);

impl Instant {
    /// What the clock shows now.
    #[must_use]
    #[track_caller]
    pub fn now() -> Instant {
        let place = Caller::caller();
        let shown = with_runtime(|runtime| {
            if !runtime.keeps_clocks() {
                runtime.discover_clocks();
                return None;
            }
            Some(runtime.look_at_clock(place))
        });
        match shown {
            None => Instant(LONG_AGO + since_the_first_look()),
            Some(None) if !std::thread::panicking() => {
                stop_here();
                Instant(LONG_AGO)
            }
            Some(time) => Instant(LONG_AGO + time.unwrap_or_default()),
        }
    }

    /// The time from an earlier instant to this one; none, if that one is later.
    #[must_use]
    pub fn duration_since(&self, earlier: Instant) -> Duration {
        self.saturating_duration_since(earlier)
    }

    /// The time from an earlier instant to this one, unless that one is later.
    #[must_use]
    pub fn checked_duration_since(&self, earlier: Instant) -> Option<Duration> {
        self.0.checked_sub(earlier.0)
    }

    /// As [`duration_since`](Instant::duration_since).
    #[must_use]
    pub fn saturating_duration_since(&self, earlier: Instant) -> Duration {
        self.0.saturating_sub(earlier.0)
    }

    /// The time from this instant to what the clock shows now.
    #[must_use]
    #[track_caller]
    pub fn elapsed(&self) -> Duration {
        Instant::now() - *self
    }

    /// A later instant, if there is one.
    #[must_use]
    pub fn checked_add(&self, duration: Duration) -> Option<Instant> {
        self.0.checked_add(duration).map(Instant)
    }

    /// An earlier instant, if there is one.
    #[must_use]
    pub fn checked_sub(&self, duration: Duration) -> Option<Instant> {
        self.0.checked_sub(duration).map(Instant)
    }

    /// Waits have lasted until then.
    pub(crate) fn has_come(self) {
        with_runtime(|runtime| runtime.let_time_pass_until(self.0.saturating_sub(LONG_AGO)));
    }
}

/// Outside of a check.
fn since_the_first_look() -> Duration {
    static FIRST: OnceLock<std::time::Instant> = OnceLock::new();
    FIRST.get_or_init(std::time::Instant::now).elapsed()
}

/// The running process has slept, or waited in vain, for so long. It is no step.
pub(crate) fn passes(duration: Duration) {
    with_runtime(|runtime| runtime.let_time_pass(duration));
}

impl Add<Duration> for Instant {
    type Output = Instant;

    fn add(self, duration: Duration) -> Instant {
        self.checked_add(duration).expect("overflow when adding duration to instant")
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, duration: Duration) {
        *self = *self + duration;
    }
}

impl Sub<Duration> for Instant {
    type Output = Instant;

    fn sub(self, duration: Duration) -> Instant {
        self.checked_sub(duration).expect("overflow when subtracting duration from instant")
    }
}

impl SubAssign<Duration> for Instant {
    fn sub_assign(&mut self, duration: Duration) {
        *self = *self - duration;
    }
}

impl Sub<Instant> for Instant {
    type Output = Duration;

    fn sub(self, earlier: Instant) -> Duration {
        self.duration_since(earlier)
    }
}

impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.checked_sub(LONG_AGO) {
            Some(since) => write!(f, "Instant({since:?})"),
            None => write!(f, "Instant(-{:?})", LONG_AGO - self.0),
        }
    }
}
