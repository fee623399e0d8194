//! What a check says in the end.

use std::collections::BTreeMap;
use std::fmt;

use mazurka_explore::Algorithm;
use mazurka_program::Place;
use mazurka_report::{Counterexample, Method, Report as Inner, Subject, TextOptions, Verdict, Wording};

use super::heartbeat::Spot;

/// What the readers of reports of the library call things.
pub(super) const WORDING: Wording = Wording {
    process: "thread",
    keep_going: "Checker::keep_going",
    max_depth: "Checker::max_depth",
    max_unroll: "Checker::max_unroll",
    max_memory: "Checker::max_memory",
    observe_memory: "Checker::observe_memory",
    seed: "Checker::seed",
    full_trace: "MAZURKA_FULL_TRACE=1",
    schedule: "Failure::schedule",
};

/// Modelled atomics are sequentially consistent, whatever ordering they are used with.
pub(super) const MEMORY_MODEL: &str = "sequential consistency";

/// The columns of a report: as wide as the command's where there is no terminal.
const WIDTH: usize = 120;

/// What is said of the claims of atomic blocks, of which each was tried or not.
pub(super) fn notes_of_claims(claims: &BTreeMap<Spot, bool>) -> Vec<String> {
    let told = |tried: bool, what: &str| {
        let mut spots = claims.iter().filter(|claim| *claim.1 == tried).map(|claim| claim.0);
        let Spot { file, line } = spots.next()?;
        let others = match spots.count() {
            0 => String::new(),
            others => format!(" (and at {others} other places)"),
        };
        Some(format!("what {file}:{line} claims of atomic blocks{others} {what}"))
    };
    let tried = told(true, "was tried in the states that were met, and not proved");
    let not = told(false, "was never tried: nowhere were two such blocks next while it was to hold");
    tried.into_iter().chain(not).collect()
}

/// What a check says in the end.
///
/// [`Checker::check`](crate::Checker::check) panics with it unless it is a pass.
#[derive(Clone)]
pub struct Report {
    pub(super) inner: Inner,
    /// The name of the test, for the command that runs it again.
    pub(super) test: Option<String>,
    pub(super) full_trace: bool,
    /// What comes after the rest.
    pub(super) postscript: Vec<String>,
}

impl Report {
    pub(super) fn of(inner: Inner) -> Report {
        Report { inner, test: None, full_trace: false, postscript: Vec::new() }
    }

    /// A check that came to nothing.
    pub(super) fn nothing(subject: Subject, algorithm: Algorithm, reason: String) -> Inner {
        let report = Inner::new(subject, Method::Search(algorithm));
        Inner { reason: Some(reason), ..report }
    }

    /// Whether nothing failed and everything was looked at.
    #[must_use]
    pub fn is_pass(&self) -> bool {
        self.inner.verdict() == Verdict::Pass
    }

    /// Whether everything was looked at: every interleaving was run, or one that is equivalent to it.
    #[must_use]
    pub fn is_exhaustive(&self) -> bool {
        self.inner.reason.is_none()
    }

    /// Why not everything was looked at; none if everything was.
    #[must_use]
    pub fn reason(&self) -> Option<&str> {
        self.inner.reason.as_deref()
    }

    /// What went wrong: the first failure, or with [`Checker::keep_going`](crate::Checker::keep_going) all
    /// that differ in kind or place.
    pub fn failures(&self) -> impl ExactSizeIterator<Item = Failure<'_>> {
        self.inner.failures.iter().map(|inner| Failure { inner })
    }

    /// How many executions ran to their end, deadlocked ones among them.
    #[must_use]
    pub fn executions(&self) -> u64 {
        self.inner.counts.complete
    }

    /// How many were cut because all that would follow had been explored. None are, with the default
    /// algorithm.
    #[must_use]
    pub fn blocked(&self) -> u64 {
        self.inner.counts.blocked
    }

    /// How many ended with threads that had come back to where they were: loops that wait, which would go on
    /// and on the same way.
    #[must_use]
    pub fn stopped(&self) -> u64 {
        self.inner.counts.stopped
    }

    /// How many ended in a false assumption.
    #[must_use]
    pub fn assumed(&self) -> u64 {
        self.inner.counts.assumed
    }

    /// How many of the complete executions ended in a deadlock.
    #[must_use]
    pub fn deadlocks(&self) -> u64 {
        self.inner.counts.deadlocks
    }

    /// How many steps were taken, repeated ones not counted.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.inner.counts.events
    }

    /// How long the search took.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.inner.seconds
    }

    /// The verdict in a line: `pass: no execution of deposits fails (optimal; sequential consistency)`.
    #[must_use]
    pub fn verdict(&self) -> String {
        self.text().lines().next().unwrap_or_default().to_owned()
    }

    /// The report for people: the verdict, the counts, and how each failure comes about, step by step.
    #[must_use]
    pub fn text(&self) -> String {
        let options = TextOptions {
            width: WIDTH,
            colour: false,
            full_trace: self.full_trace,
            replay_command: &|schedule| self.replay_command(schedule),
        };
        let mut text = mazurka_report::text(&self.inner, &options);
        for line in &self.postscript {
            text += &format!("{line}\n");
        }
        text
    }

    fn replay_command(&self, schedule: &str) -> String {
        match &self.test {
            Some(test) => format!("MAZURKA_REPLAY='{schedule}' cargo test {test} -- --exact"),
            None => format!("run it again with MAZURKA_REPLAY='{schedule}' in the environment"),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

impl fmt::Debug for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Something that went wrong.
#[derive(Clone, Copy)]
pub struct Failure<'a> {
    inner: &'a Counterexample,
}

impl<'a> Failure<'a> {
    /// What kind of thing: `assertion`, `panic`, `deadlock`, `livelock`, `hang`, `data-race`, `invalid-sync`,
    /// `stack-overflow`, `nondeterminism`, ...
    #[must_use]
    pub fn kind(&self) -> &'static str {
        self.inner.failure.kind.name()
    }

    /// What went wrong, in the words of the panic if it is one.
    #[must_use]
    pub fn message(&self) -> &'a str {
        &self.inner.failure.message
    }

    /// The name of the thread that did it, if one did.
    #[must_use]
    pub fn thread(&self) -> Option<&'a str> {
        self.inner.process.as_deref()
    }

    /// Where in the source: `file:line:column`.
    #[must_use]
    pub fn place(&self) -> Option<String> {
        self.inner.failure.place.as_ref().map(Place::to_string)
    }

    /// The schedule that leads to it, for [`Checker::replay`](crate::Checker::replay).
    #[must_use]
    pub fn schedule(&self) -> Option<String> {
        self.inner.schedule.as_ref().map(ToString::to_string)
    }
}

impl fmt::Debug for Failure<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Failure")
            .field("kind", &self.kind())
            .field("message", &self.message())
            .field("thread", &self.thread())
            .field("place", &self.place())
            .field("schedule", &self.schedule())
            .finish()
    }
}

/// What a search says that came to what can't be.
pub(super) fn internal(what: impl fmt::Display) -> String {
    format!(
        "internal error: {what}; please report it, unless the closure depends on time, on random numbers or \
         hashes, on addresses, or on what other executions do or have left behind"
    )
}
