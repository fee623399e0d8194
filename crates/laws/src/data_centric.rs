//! The laws of `data-centric`.
//!
//! 1. Every reads-from class is reached, and every failure, every deadlock and every state in what processes
//!    know of it: shared memory at the end is no part of a class.
//! 2. Where every cycle of the communication architecture has at most two free edges, no class is completed
//!    twice; elsewhere no Mazurkiewicz trace is.
//! 3. The counts do not depend on the order of choices, nor, where law 2 has no "elsewhere", on the numbering
//!    of processes.
//!
//! Where classes are split, that is done in both of the paper's ways, and the laws hold of either.
//!
//! What the algorithm does not cover it has to refuse; such a program is not counted.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use mazurka_explore::{
    Algorithm, Architecture, Counts, Ending, Monitor, NotExhaustive, Options, Reduction, explore,
};
use mazurka_oracle::{Failed, KnownDeadlock, Truth, deadlock, known};
use mazurka_program::{Program, Run};
use mazurka_trace::Trace;
use mazurka_trace::equivalence::{self, Key};

use crate::laws::same;

/// What came of a program that breaks no law.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Obeyed {
    /// Its processes form this, and so many executions were completed.
    Holds(Shape, u64),
    /// It was refused.
    Refused,
}

/// What the processes of a program form: the better, the smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Shape {
    /// No cycle: the paper's theorem says that each class is completed once.
    Acyclic,
    /// Cycles with at most two free edges each: no class was split either.
    NothingSplit,
    /// Other cycles, for which classes were split.
    Split,
}

impl Shape {
    fn of(architecture: &Architecture) -> Shape {
        match (architecture.is_acyclic(), architecture.is_all_but_two()) {
            (true, true) => Shape::Acyclic,
            (_, true) => Shape::NothingSplit,
            (_, false) => Shape::Split,
        }
    }

    /// What is said of programs of it.
    pub fn words(self) -> &'static str {
        match self {
            Shape::Acyclic => "acyclic, each class completed once",
            Shape::NothingSplit => "cyclic, each class completed once all the same",
            Shape::Split => "cyclic, no trace completed twice",
        }
    }
}

/// Laws 1 and 2 in one order, given everything that the program can do.
pub(crate) fn obeys<P: Program>(program: &P, truth: &Truth, options: &Options) -> Result<Obeyed, String> {
    let obeyed = obeys_reduced(program, truth, options)?;
    if matches!(obeyed, Obeyed::Holds(Shape::Split, _)) {
        let star = Options { reduction: Reduction::Star, ..*options };
        obeys_reduced(program, truth, &star).map_err(|law| format!("with a star: {law}"))?;
    }
    Ok(obeyed)
}

/// The same, with cycles reduced in one way.
fn obeys_reduced<P: Program>(program: &P, truth: &Truth, options: &Options) -> Result<Obeyed, String> {
    let mut seen = Seen::default();
    let summary = explore(program, Algorithm::DataCentric, options, &mut seen);
    match summary.not_exhaustive {
        None => {}
        Some(NotExhaustive::Unsupported(_)) => return Ok(Obeyed::Refused),
        Some(reason) => return Err(format!("not exhaustive: {reason}")),
    }
    if let Some(failure) = summary.broken {
        return Err(format!("broken: {}", failure.message));
    }
    same("reads-from classes", &seen.complete.iter().collect(), &truth.reads_from.iter().collect())?;
    seen.none_twice(truth)?;
    same("assumed reads-from classes", &seen.assumed.iter().cloned().collect(), &assumed(program)?)?;
    same("what processes know in the end", &seen.known, &truth.known)?;
    same("failures", &seen.failures, &truth.failures)
        .map_err(|law| format!("{law}: {:?}, not {:?}", seen.failures, truth.failures))?;
    same("deadlocks", &seen.deadlocks, &truth.known_deadlocks)?;
    Ok(Obeyed::Holds(Shape::of(&seen.architecture), summary.counts.complete))
}

/// The reads-from classes of executions in which an assumption was false: what `optimal` finds, whose laws
/// are checked against brute force.
fn assumed<P: Program>(program: &P) -> Result<BTreeSet<Key>, String> {
    let mut seen = Seen::default();
    match explore(program, Algorithm::Optimal, &Options::default(), &mut seen).not_exhaustive {
        None => Ok(seen.assumed.into_iter().collect()),
        Some(reason) => Err(format!("optimal is not exhaustive: {reason}")),
    }
}

/// What a search has shown.
#[derive(Default)]
struct Seen {
    complete: Vec<Key>,
    assumed: Vec<Key>,
    traces: Vec<Key>,
    known: BTreeSet<Vec<i64>>,
    failures: BTreeSet<Failed>,
    deadlocks: BTreeSet<KnownDeadlock>,
    architecture: Architecture,
}

impl Seen {
    /// Law 2.
    fn none_twice(&self, truth: &Truth) -> Result<(), String> {
        let traces: BTreeSet<&Key> = self.traces.iter().collect();
        if traces.len() != self.traces.len() {
            return Err(format!("{} executions for {} traces", self.traces.len(), traces.len()));
        }
        let real = |trace: &Key| truth.mazurkiewicz.contains_key(trace) || truth.assumed.contains(trace);
        if !traces.into_iter().all(real) {
            return Err("an execution that there is not".to_owned());
        }
        if !self.architecture.is_all_but_two() {
            return Ok(());
        }
        for (what, keys) in [("classes", &self.complete), ("assumed classes", &self.assumed)] {
            let classes = keys.iter().collect::<BTreeSet<_>>().len();
            if classes != keys.len() {
                return Err(format!("{} executions for {classes} reads-from {what}", keys.len()));
            }
        }
        Ok(())
    }
}

impl<R: Run> Monitor<R> for Seen {
    fn execution(&mut self, ending: Ending, trace: &Trace, run: &R, _: &Counts) -> ControlFlow<()> {
        for at in 0..trace.len() {
            self.architecture.note(trace.process(at), trace.accesses(at), trace.spawned(at));
        }
        self.failures.extend(run.failures().iter().map(|failed| (failed.kind, failed.message.clone())));
        let class = equivalence::reads_from(trace, run.names());
        match ending {
            Ending::Assumed => self.assumed.push(class),
            Ending::Complete { .. } => {
                let knows = known(trace, run.states().map(|states| states.state()).as_ref());
                self.known.extend(knows.clone());
                self.deadlocks.extend(deadlock(run).map(|(waiting, _)| (waiting, knows)));
                self.complete.push(class);
            }
            _ => return ControlFlow::Continue(()),
        }
        self.traces.push(equivalence::mazurkiewicz(trace, run.names()));
        ControlFlow::Continue(())
    }

    fn begin_again(&mut self) {
        *self = Seen { architecture: Architecture::new(Reduction::default()), ..Seen::default() };
    }
}
