//! What a program and the closure that acts it out have in common.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use mazurka_explore::{Algorithm, Counts, Ending, Limits, Monitor, NotExhaustive, Options, Order, explore};
use mazurka_oracle::{Truth, deadlock};
use mazurka_program::{Failure, FailureKind, Program, Run};
use mazurka_trace::Trace;

use super::plan::assertion_number;

/// No execution is longer, but those of endless programs.
const DEPTH: usize = 100;

/// What counts of all executions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Essence {
    /// How many Mazurkiewicz classes end with the shared variables holding this.
    classes: BTreeMap<Vec<i64>, usize>,
    assumed: usize,
    /// The kinds of failures, with the numbers of assertions.
    failures: BTreeSet<(FailureKind, i64)>,
    /// Who waits at the end, and what the shared variables hold then.
    deadlocks: BTreeSet<(Vec<Vec<u32>>, Vec<i64>)>,
}

/// How the names of processes are put.
pub(super) type Named<'a> = &'a dyn Fn(&[u32]) -> Option<Vec<u32>>;

fn failed(kind: FailureKind, message: &str) -> (FailureKind, i64) {
    let number = if kind == FailureKind::Assertion { assertion_number(message) } else { None };
    (kind, number.unwrap_or(0))
}

fn waiting(paths: &[Vec<u32>], named: Named<'_>) -> Vec<Vec<u32>> {
    let mut waiting: Vec<Vec<u32>> = paths.iter().filter_map(|path| named(path)).collect();
    waiting.sort();
    waiting
}

impl Essence {
    /// Of everything that a program can do.
    pub fn of(truth: &Truth, named: Named<'_>) -> Essence {
        let mut essence = Essence { assumed: truth.assumed.len(), ..Essence::default() };
        for state in truth.mazurkiewicz.values() {
            let shared = state.as_ref().map_or(Vec::new(), |state| state.shared.clone());
            *essence.classes.entry(shared).or_default() += 1;
        }
        essence.failures.extend(truth.failures.iter().map(|(kind, message)| failed(*kind, message)));
        for (paths, state) in &truth.deadlocks {
            let shared = state.as_ref().map_or(Vec::new(), |state| state.shared.clone());
            essence.deadlocks.insert((waiting(paths, named), shared));
        }
        essence
    }

    /// Of what `optimal` finds. None if that is more than so many executions, or endless.
    ///
    /// # Errors
    /// If the search does not come to its end.
    pub fn found<P: Program>(
        program: &P,
        order: Order,
        executions: u64,
        named: Named<'_>,
    ) -> Result<Option<Essence>, String> {
        let mut gather = Gather { essence: Essence::default(), named };
        let limits = Limits { executions: Some(executions), depth: DEPTH, ..Limits::default() };
        let options = Options { order, limits, ..Options::default() };
        let summary = explore(program, Algorithm::Optimal, &options, &mut gather);
        match (summary.not_exhaustive, summary.broken) {
            (None, None) if summary.counts.blocked > 0 => {
                Err(format!("{} executions ended blocked", summary.counts.blocked))
            }
            (None, None) => Ok(Some(gather.essence)),
            (Some(NotExhaustive::Executions(_) | NotExhaustive::Depth(_)), _) => Ok(None),
            (_, Some(failure)) => Err(format!("broken: {}", failure.message)),
            (Some(reason), _) => Err(format!("not exhaustive: {reason}")),
        }
    }

    pub fn classes(&self) -> usize {
        self.classes.values().sum()
    }

    /// How many executions `optimal` has.
    pub fn executions(&self) -> u64 {
        (self.classes() + self.assumed) as u64
    }

    pub fn fails_with(&self, kind: FailureKind) -> bool {
        self.failures.iter().any(|(failed, _)| *failed == kind)
    }

    /// How another essence differs from this one, which is right.
    pub fn difference(&self, other: &Essence) -> Option<String> {
        if self.classes() != other.classes() {
            return Some(format!("{} classes, not {}", other.classes(), self.classes()));
        }
        if self.classes != other.classes {
            return Some(format!("classes by final values {:?}, not {:?}", other.classes, self.classes));
        }
        if self.assumed != other.assumed {
            return Some(format!("{} assumed classes, not {}", other.assumed, self.assumed));
        }
        if self.failures != other.failures {
            return Some(format!("failures {:?}, not {:?}", other.failures, self.failures));
        }
        if self.deadlocks != other.deadlocks {
            return Some(format!("deadlocks {:?}, not {:?}", other.deadlocks, self.deadlocks));
        }
        None
    }
}

struct Gather<'a> {
    essence: Essence,
    named: Named<'a>,
}

impl<R: Run> Monitor<R> for Gather<'_> {
    fn execution(&mut self, ending: Ending, _: &Trace, run: &R, _: &Counts) -> ControlFlow<()> {
        let failure = |failure: &Failure| failed(failure.kind, &failure.message);
        self.essence.failures.extend(run.failures().iter().map(failure));
        match ending {
            Ending::Complete { .. } => {
                let shared =
                    run.states().map(|states| states.state()).map_or(Vec::new(), |state| state.shared);
                if let Some((paths, _)) = deadlock(run) {
                    self.essence.deadlocks.insert((waiting(&paths, self.named), shared.clone()));
                }
                *self.essence.classes.entry(shared).or_default() += 1;
            }
            Ending::Assumed => self.essence.assumed += 1,
            Ending::Blocked | Ending::Cut => {}
        }
        ControlFlow::Continue(())
    }

    fn begin_again(&mut self) {
        self.essence = Essence::default();
    }
}
