//! The laws of `optimal+observers`.
//!
//! 1. Every class modulo observers is reached, every way in which reads read from writes, and every failure,
//!    every deadlock and every state in what processes know of it: shared memory at the end and the order of
//!    messages that nobody took are no part of a class.
//! 2. No class is completed twice, and nothing is blocked.
//! 3. The counts do not depend on the numbering of processes nor on the order of choices.
//! 4. A random linearisation of the order modulo observers of an explored execution is an execution of the
//!    same class, in which processes know the same in the end.
//!
//! Which locations guards wait for belongs to the relation and is known only when a search is over, so
//! executions are kept and judged then, by a run of its own.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use mazurka_explore::{Algorithm, Counts, Ending, Monitor, Options, Order, explore};
use mazurka_oracle::{Failed, KnownDeadlock, Truth, deadlock, known, note_awaited};
use mazurka_program::{Program, Run, Step};
use mazurka_trace::Trace;
use mazurka_trace::dependence::Awaited;
use mazurka_trace::equivalence::{self, Key};

use crate::behaviour::is_exhaustive;
use crate::campaign::{Broken, Checked};
use crate::laws::same;
use crate::replay::{Replay, steps};

/// Laws 1, 2 and 4 in one order, given everything that the program can do.
pub(crate) fn obeys<P: Program>(
    program: &P,
    truth: &Truth,
    options: &Options,
    seed: u64,
) -> Result<(), String> {
    let judged = judged(program, options, seed)?;
    same("complete classes", &judged.complete.iter().collect(), &truth.observers.iter().collect())?;
    same("assumed classes", &judged.assumed.iter().collect(), &truth.observers_assumed.iter().collect())?;
    // Computed without the order modulo observers: if that is wrong, both sides above are.
    same("reads-from classes", &judged.reads_from, &truth.reads_from)?;
    same("what processes know in the end", &judged.known, &truth.known)?;
    same("failures", &judged.failures, &truth.failures)
        .map_err(|law| format!("{law}: {:?}, not {:?}", judged.failures, truth.failures))?;
    same("deadlocks", &judged.deadlocks, &truth.known_deadlocks)?;
    judged.none_twice()
}

/// The laws that need no oracle: all orders find the same classes, each once.
pub(crate) fn agree<P: Program>(
    program: &P,
    options: &Options,
    orders: impl Iterator<Item = (Algorithm, Order)>,
    seed: u64,
) -> Checked {
    let mut first: Option<BTreeSet<Key>> = None;
    for (algorithm, order) in orders {
        let broken = |law| Checked::Breaks(Broken::by(algorithm, order)(law));
        let judged = match judged(program, &Options { order, ..*options }, seed) {
            Ok(judged) => judged,
            Err(law) if law == TOO_MUCH => return Checked::TooLarge,
            Err(law) => return broken(law),
        };
        let found: BTreeSet<Key> = judged.complete.iter().chain(&judged.assumed).cloned().collect();
        let known = first.get_or_insert_with(|| found.clone());
        let agrees = judged.none_twice().and_then(|()| same("classes of other orders", &found, known));
        if let Err(law) = agrees {
            return broken(law);
        }
    }
    Checked::Agrees(0)
}

const TOO_MUCH: &str = "too many executions, or too long ones";

/// What a search has shown.
#[derive(Default)]
struct Judged {
    complete: Vec<Key>,
    assumed: Vec<Key>,
    reads_from: BTreeSet<Key>,
    known: BTreeSet<Vec<i64>>,
    failures: BTreeSet<Failed>,
    deadlocks: BTreeSet<KnownDeadlock>,
}

impl Judged {
    /// Law 2.
    fn none_twice(&self) -> Result<(), String> {
        for (what, keys) in [("classes", &self.complete), ("assumed classes", &self.assumed)] {
            let classes = keys.iter().collect::<BTreeSet<_>>().len();
            if classes != keys.len() {
                return Err(format!("{} executions for {classes} {what}", keys.len()));
            }
        }
        Ok(())
    }
}

/// Searches, and judges what was found.
fn judged<P: Program>(program: &P, options: &Options, seed: u64) -> Result<Judged, String> {
    let mut executions = Executions::default();
    let summary = explore(program, Algorithm::OptimalObservers, options, &mut executions);
    if !is_exhaustive(&summary)? {
        return Err(TOO_MUCH.to_owned());
    }
    let mut judge = Judge { replay: Replay::new(program, seed), awaited: Awaited::default() };
    for execution in &executions.0 {
        judge.repeat(execution)?;
    }
    let mut judged = Judged::default();
    for execution in &executions.0 {
        judge.judge(execution, &mut judged)?;
    }
    Ok(judged)
}

/// All executions of a search.
#[derive(Default)]
struct Executions(Vec<Vec<Step>>);

impl<R: Run> Monitor<R> for Executions {
    fn execution(&mut self, ending: Ending, trace: &Trace, run: &R, _: &Counts) -> ControlFlow<()> {
        if matches!(ending, Ending::Complete { .. } | Ending::Assumed) {
            self.0.push(steps(trace, run, 0..trace.len()));
        }
        ControlFlow::Continue(())
    }

    fn begin_again(&mut self) {
        self.0.clear();
    }
}

struct Judge<R> {
    replay: Replay<R>,
    awaited: Awaited,
}

impl<R: Run> Judge<R> {
    /// Runs an execution again and notes what is waited for; the trace that it gives, or why it is none.
    fn repeat(&mut self, steps: &[Step]) -> Result<Trace, String> {
        let awaited = &mut self.awaited;
        let trace = self.replay.repeat(steps, |run, label| {
            note_awaited(run, label, awaited);
        })?;
        match self.replay.run.enabled().is_empty() {
            true => Ok(trace),
            false => Err("an execution was not at its end".to_owned()),
        }
    }

    fn judge(&mut self, execution: &[Step], judged: &mut Judged) -> Result<(), String> {
        let trace = self.repeat(execution)?;
        let run = &self.replay.run;
        let class = equivalence::observers(&trace, run, &self.awaited);
        judged.failures.extend(run.failures().iter().map(|failed| (failed.kind, failed.message.clone())));
        let knows = self.known(&trace);
        if run.assumed() {
            judged.assumed.push(class.clone());
        } else {
            judged.complete.push(class.clone());
            judged.reads_from.insert(equivalence::reads_from(&trace, run.names()));
            judged.known.extend(knows.clone());
            judged.deadlocks.extend(deadlock(run).map(|(waiting, _)| (waiting, knows.clone())));
        }
        self.linearise(&trace, &class, knows.as_ref()).map_err(|why| format!("law 4: {why}"))
    }

    /// What processes know at the end of the execution that was taken last.
    fn known(&self, trace: &Trace) -> Option<Vec<i64>> {
        known(trace, self.replay.run.states().map(|states| states.state()).as_ref())
    }

    /// Law 4.
    fn linearise(&mut self, trace: &Trace, class: &Key, knows: Option<&Vec<i64>>) -> Result<(), String> {
        let order = equivalence::Order::observers(trace, &self.replay.run, &self.awaited);
        let linear = self.replay.linearisation(trace.len(), |i, k| order.before(i, k));
        let again = self.repeat(&steps(trace, &self.replay.run, linear))?;
        if equivalence::observers(&again, &self.replay.run, &self.awaited) != *class {
            return Err("a linearisation is of another class".to_owned());
        }
        match self.known(&again).as_ref() == knows {
            true => Ok(()),
            false => Err("after a linearisation processes know something else".to_owned()),
        }
    }
}
