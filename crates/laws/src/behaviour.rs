//! What a program does, told so that it can be compared with what the same program does in another front end.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use mazurka_explore::{Algorithm, Counts, Ending, Monitor, NotExhaustive, Options, Summary, explore};
use mazurka_oracle::{Truth, deadlock};
use mazurka_program::{FailureKind, Program, Run, State};
use mazurka_trace::Trace;

/// What counts of all executions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Behaviour {
    /// How many classes end with the shared variables holding this.
    classes: BTreeMap<Vec<i64>, usize>,
    assumed: usize,
    /// How many executions have somebody who was stopped where it closed a round: they need not end.
    stopped: usize,
    /// By [`failure_name`].
    failures: BTreeSet<String>,
    /// Who waits at the end, and what the shared variables hold then.
    deadlocks: BTreeSet<(Vec<Vec<u32>>, Vec<i64>)>,
}

/// What a failure is called in all front ends: an assertion by its number, `#7`, anything else by its kind.
pub(crate) fn failure_name(kind: FailureKind, message: &str) -> String {
    match kind {
        FailureKind::Assertion => format!("#{}", message.rsplit_once('#').map_or("", |(_, number)| number)),
        _ => kind.name().to_owned(),
    }
}

/// Whether a search of an algorithm that blocks nothing has come to its end; false if a limit kept it from
/// that.
///
/// # Errors
/// If it ended in any other way. What is not proved counts as an end: it has to hold all the same.
pub(crate) fn is_exhaustive(summary: &Summary) -> Result<bool, String> {
    match (&summary.not_exhaustive, &summary.broken) {
        (Some(NotExhaustive::Executions(_) | NotExhaustive::Depth(_)), _) => Ok(false),
        (_, Some(failure)) => Err(format!("broken: {}", failure.message)),
        (None | Some(NotExhaustive::NotProved), None) => match summary.counts.blocked {
            0 => Ok(true),
            blocked => Err(format!("{blocked} executions ended blocked")),
        },
        (Some(reason), None) => Err(format!("not exhaustive: {reason}")),
    }
}

/// How the processes and failures of a front end are told.
pub(crate) struct Telling<'a, R> {
    /// The name that a process has in the language; none if it has none.
    pub process: &'a dyn Fn(&[u32]) -> Option<Vec<u32>>,
    /// The failures of an execution.
    pub failures: &'a dyn Fn(&R) -> Vec<String>,
}

/// The failures of a run by their names.
pub(crate) fn failure_names(run: &impl Run) -> Vec<String> {
    run.failures().iter().map(|failure| failure_name(failure.kind, &failure.message)).collect()
}

impl Behaviour {
    /// Of everything that a program can do.
    pub fn of(truth: &Truth, process: &dyn Fn(&[u32]) -> Option<Vec<u32>>) -> Behaviour {
        let mut behaviour = Behaviour { assumed: truth.assumed.len(), ..Behaviour::default() };
        truth.mazurkiewicz.values().for_each(|state| behaviour.add_class(state.as_ref()));
        for (kind, message) in &truth.failures {
            behaviour.failures.insert(failure_name(*kind, message));
        }
        for (paths, state) in &truth.deadlocks {
            behaviour.add_deadlock(paths, state.as_ref(), process);
        }
        behaviour
    }

    /// Of what a search finds, with an algorithm that completes each class once. None if a limit ends it.
    ///
    /// # Errors
    /// If the search does not come to its end.
    pub fn found<P: Program>(
        program: &P,
        algorithm: Algorithm,
        options: &Options,
        telling: Telling<'_, P::Run>,
    ) -> Result<Option<Behaviour>, String> {
        let mut collector = Collector { behaviour: Behaviour::default(), telling };
        let mut summary = explore(program, algorithm, options, &mut collector);
        if algorithm == Algorithm::ReadsFrom {
            // Where somebody may wait for ever, executions may be in vain.
            summary.counts.blocked = 0;
        }
        Ok(is_exhaustive(&summary)?.then_some(collector.behaviour))
    }

    fn add_class(&mut self, state: Option<&State>) {
        *self.classes.entry(shared(state)).or_default() += 1;
    }

    fn add_deadlock(
        &mut self,
        paths: &[Vec<u32>],
        state: Option<&State>,
        process: &dyn Fn(&[u32]) -> Option<Vec<u32>>,
    ) {
        let mut waiting: Vec<Vec<u32>> = paths.iter().filter_map(|path| process(path)).collect();
        waiting.sort();
        self.deadlocks.insert((waiting, shared(state)));
    }

    /// The same without what shared variables hold, where that can't be told.
    pub fn without_values(self) -> Behaviour {
        let deadlocks = self.deadlocks.into_iter().map(|(waiting, _)| (waiting, Vec::new())).collect();
        let classes = self.classes.values().sum();
        Behaviour { deadlocks, ..self }.with_classes(classes, self.assumed)
    }

    /// The same with so many classes and so many that are assumed, whatever shared variables hold.
    pub fn with_classes(&self, classes: usize, assumed: usize) -> Behaviour {
        Behaviour { classes: [(Vec::new(), classes)].into(), assumed, ..self.clone() }
    }

    /// How many classes there are.
    pub fn classes(&self) -> usize {
        self.classes.values().sum()
    }

    /// How many executions an optimal algorithm has.
    pub fn executions(&self) -> u64 {
        (self.classes() + self.assumed) as u64
    }

    /// Whether all executions end.
    pub fn ends(&self) -> bool {
        self.stopped == 0
    }

    /// Whether there is a failure whose name satisfies a test.
    pub fn fails(&self, which: impl Fn(&str) -> bool) -> bool {
        self.failures.iter().any(|name| which(name))
    }

    /// How another behaviour differs from this one, which is right.
    pub fn difference(&self, other: &Behaviour) -> Option<String> {
        if self == other {
            return None;
        }
        let told = |behaviour: &Behaviour| {
            [
                format!("{} classes", behaviour.classes()),
                format!("classes by final values {:?}", behaviour.classes),
                format!("{} assumed classes", behaviour.assumed),
                format!("{} stopped executions", behaviour.stopped),
                format!("failures {:?}", behaviour.failures),
                format!("deadlocks {:?}", behaviour.deadlocks),
            ]
        };
        let mut parts = told(other).into_iter().zip(told(self));
        let (found, expected) = parts.find(|(found, expected)| found != expected)?;
        Some(format!("{found}, not {expected}"))
    }
}

/// What the shared variables of a state hold.
fn shared(state: Option<&State>) -> Vec<i64> {
    state.map_or(Vec::new(), |state| state.shared.clone())
}

struct Collector<'a, R> {
    behaviour: Behaviour,
    telling: Telling<'a, R>,
}

impl<R: Run> Monitor<R> for Collector<'_, R> {
    fn execution(&mut self, ending: Ending, _: &Trace, run: &R, _: &Counts) -> ControlFlow<()> {
        self.behaviour.failures.extend((self.telling.failures)(run));
        match ending {
            Ending::Complete { .. } => {
                self.behaviour.add_class(run.states().map(|states| states.state()).as_ref());
                if let Some((paths, state)) = deadlock(run) {
                    self.behaviour.add_deadlock(&paths, state.as_ref(), self.telling.process);
                }
            }
            Ending::Assumed => self.behaviour.assumed += 1,
            Ending::Stopped { .. } => self.behaviour.stopped += 1,
            Ending::Blocked | Ending::Cut => {}
        }
        ControlFlow::Continue(())
    }

    fn begin_again(&mut self) {
        self.behaviour = Behaviour::default();
    }
}
