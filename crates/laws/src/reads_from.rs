//! The laws of `reads-from`.
//!
//! 1. Every reads-from class is reached, and every failure, every deadlock and every state in what processes know
//!    of it: shared memory at the end is no part of a class.
//! 2. No class is completed twice.
//! 3. The counts do not depend on the order of choices: they are the numbers of classes.
//!
//! The class of an execution is computed from labels, read by read, and shares nothing with the search.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};

use mazurka_explore::{
    Algorithm, Counts, Ending, Jobs, Monitor, NotExhaustive, Options, Order, Summary, explore, explore_jobs,
};
use mazurka_oracle::{Failed, KnownDeadlock, Truth, deadlock, known};
use mazurka_program::{Footprints, Program, Run};
use mazurka_trace::Trace;
use mazurka_trace::equivalence::{self, Key};

use crate::campaign::{Broken, Checked};
use crate::laws::same;

/// What a search has shown.
#[derive(Default)]
struct Shown {
    complete: Vec<Key>,
    assumed: Vec<Key>,
    known: BTreeSet<Vec<i64>>,
    failures: BTreeSet<Failed>,
    deadlocks: BTreeSet<KnownDeadlock>,
    /// Executions that were told to be at an end and were not.
    unfinished: usize,
}

impl<R: Run> Monitor<R> for Shown {
    fn execution(&mut self, ending: Ending, trace: &Trace, run: &R, _: &Counts) -> ControlFlow<()> {
        let class = || equivalence::reads_from(trace, run.names());
        match ending {
            Ending::Complete { .. } => {
                self.complete.push(class());
                let known = known(trace, run.states().map(|states| states.state()).as_ref());
                self.deadlocks.extend(deadlock(run).map(|(waiting, _)| (waiting, known.clone())));
                self.known.extend(known);
            }
            Ending::Assumed => self.assumed.push(class()),
            Ending::Blocked | Ending::Stopped { .. } | Ending::Cut => return ControlFlow::Continue(()),
        }
        self.unfinished += usize::from(!run.enabled().is_empty());
        self.failures.extend(run.failures().iter().map(|failed| (failed.kind, failed.message.clone())));
        ControlFlow::Continue(())
    }

    fn begin_again(&mut self) {
        *self = Shown::default();
    }
}

impl Shown {
    /// Adds what a later part of the search has shown.
    fn add(&mut self, later: Shown) {
        self.complete.extend(later.complete);
        self.assumed.extend(later.assumed);
        self.known.extend(later.known);
        self.failures.extend(later.failures);
        self.deadlocks.extend(later.deadlocks);
        self.unfinished += later.unfinished;
    }

    fn is_in_order(&self) -> Result<(), String> {
        if self.unfinished > 0 {
            return Err(format!("{} executions were not at their end", self.unfinished));
        }
        for (what, keys) in [("classes", &self.complete), ("assumed classes", &self.assumed)] {
            let classes = keys.iter().collect::<BTreeSet<_>>().len();
            if classes != keys.len() {
                return Err(format!("{} executions for {classes} {what}", keys.len()));
            }
        }
        Ok(())
    }
}

/// The laws in one order, given everything that the program can do.
pub(crate) fn obeys<P: Program>(program: &P, truth: &Truth, options: &Options) -> Result<(), String> {
    let mut shown = Shown::default();
    let summary = explore(program, Algorithm::ReadsFrom, options, &mut shown);
    if finds_all(program, truth, summary, &shown)? {
        observes_memory(program, truth, options)
    } else {
        Ok(())
    }
}

/// The same of a search that two workers share.
pub(crate) fn obeys_shared<P: Program + Send + Sync>(
    program: &P,
    truth: &Truth,
    options: &Options,
) -> Result<(), String> {
    let shown = Mutex::new(Shown::default());
    let lock = || shown.lock().unwrap_or_else(PoisonError::into_inner);
    let jobs = Jobs {
        workers: 2,
        monitor: &Shown::default,
        collect: &mut |part: Shown| lock().add(part),
        begin_again: &mut || *lock() = Shown::default(),
        watch: &mut |_, _| ControlFlow::Continue(()),
    };
    let summary = explore_jobs(program, Algorithm::ReadsFrom, options, jobs).ok_or("it can't be shared")?;
    finds_all(program, truth, summary, &lock()).map(|_| ())
}

/// Whether a search has shown everything that the program can do, each once; false if nothing can be said of that.
fn finds_all<P: Program>(
    program: &P,
    truth: &Truth,
    summary: Summary,
    shown: &Shown,
) -> Result<bool, String> {
    if let Some(reason) = summary.not_exhaustive {
        return Err(format!("not exhaustive: {reason}"));
    }
    if let Some(failure) = summary.broken {
        return Err(format!("broken: {}", failure.message));
    }
    went_as_planned(program, summary.note)?;
    // Rust may find out while it searches that loops go round; everything that the program can do was told before.
    if summary.counts.stopped > 0 {
        return Ok(false);
    }
    same("complete classes", &shown.complete.iter().collect(), &truth.reads_from.iter().collect())?;
    same("assumed classes", &shown.assumed.iter().collect(), &truth.reads_from_assumed.iter().collect())?;
    same("what processes know in the end", &shown.known, &truth.known)?;
    same("failures", &shown.failures, &truth.failures)
        .map_err(|law| format!("{law}: {:?}, not {:?}", shown.failures, truth.failures))?;
    same("deadlocks", &shown.deadlocks, &truth.known_deadlocks)?;
    shown.is_in_order()?;
    Ok(true)
}

/// Where a run has states its labels say all, and every step does what it was planned to do. Loops that spin in Rust
/// and C are found out on the way; where they do something else, `optimal` does the work.
fn went_as_planned<P: Program>(program: &P, note: Option<&str>) -> Result<(), String> {
    let has_states =
        || program.start(Footprints::Dynamic).states().is_some_and(|states| states.named().is_some());
    match note.filter(|note| note.contains("something else")) {
        Some(note) if has_states() => Err(format!("a step did not do what was planned: {note}")),
        _ => Ok(()),
    }
}

/// The laws where memory at the end counts.
fn observes_memory<P: Program>(program: &P, truth: &Truth, options: &Options) -> Result<(), String> {
    if !truth.reads_from_assumed.is_empty() {
        return Ok(());
    }
    let mut shown = Memories::default();
    let options = Options { observe_memory: true, ..*options };
    let summary = explore(program, Algorithm::ReadsFrom, &options, &mut shown);
    if let Some(reason) = summary.not_exhaustive {
        return Err(format!("with memory: not exhaustive: {reason}"));
    }
    if summary.counts.stopped > 0 {
        return Ok(());
    }
    let found: BTreeSet<Key> = shown.0.iter().cloned().collect();
    same("classes with memory", &found, &truth.reads_from_and_memory)?;
    match found.len() == shown.0.len() {
        true => Ok(()),
        false => Err(format!("{} executions for {} classes with memory", shown.0.len(), found.len())),
    }
}

/// The classes that a search has shown, with memory.
#[derive(Default)]
struct Memories(Vec<Key>);

impl<R: Run> Monitor<R> for Memories {
    fn execution(&mut self, ending: Ending, trace: &Trace, run: &R, _: &Counts) -> ControlFlow<()> {
        if matches!(ending, Ending::Complete { .. }) {
            self.0.push(equivalence::reads_from_and_memory(trace, run.names()));
        }
        ControlFlow::Continue(())
    }

    fn begin_again(&mut self) {
        self.0.clear();
    }
}

/// The laws that need no oracle: all orders find the same classes, each once.
pub(crate) fn agree<P: Program>(
    program: &P,
    options: &Options,
    orders: impl Iterator<Item = (Algorithm, Order)>,
) -> Checked {
    let mut first: Option<BTreeSet<Key>> = None;
    for (algorithm, order) in orders {
        let broken = |law| Checked::Breaks(Broken::by(algorithm, order)(law));
        let mut shown = Shown::default();
        let summary = explore(program, algorithm, &Options { order, ..*options }, &mut shown);
        match summary.not_exhaustive {
            Some(NotExhaustive::Executions(_) | NotExhaustive::Depth(_)) => return Checked::TooLarge,
            Some(reason) => return broken(format!("not exhaustive: {reason}")),
            None => {}
        }
        let found: BTreeSet<Key> = shown.complete.iter().chain(&shown.assumed).cloned().collect();
        let known = first.get_or_insert_with(|| found.clone());
        let agrees = shown.is_in_order().and_then(|()| same("classes of other orders", &found, known));
        if let Err(law) = agrees {
            return broken(law);
        }
    }
    Checked::Agrees(0)
}
