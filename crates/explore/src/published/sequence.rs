//! Events of sequences, and where sequences lead.

use std::rc::Rc;

use mazurka_program::{Access, FailureKind, Label, Place, ProcessId, Run, State};

pub(super) use crate::source_context::sequence::{Event, Sequence};
use crate::walk::Walk;

/// Whether two sequences are of the same events.
pub(super) fn same_events(a: &[Event], b: &[Event]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(x, y)| x.is(y.process, y.choice))
}

/// What failed, whatever the values: to the papers an assertion is a state of its process, true or false.
type Failed = (FailureKind, Option<Place>, Option<ProcessId>);

/// A state, as the papers compare them: up to renaming of what was created, and with everything that failed
/// on the way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reached {
    state: Option<State>,
    failed: Vec<Failed>,
    assumed: bool,
}

impl Reached {
    pub fn by(run: &dyn Run) -> Reached {
        Reached {
            state: run.states().map(|states| states.state()),
            failed: failed(run, |_| true),
            assumed: run.assumed(),
        }
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        let numbers = self.state.as_ref().map_or(0, |state| state.shared.capacity() + state.local.capacity());
        size_of::<Reached>() + 8 * numbers + self.failed.capacity() * size_of::<Failed>()
    }
}

/// What has failed in some processes, in an order of its own.
pub(super) fn failed(run: &dyn Run, of: impl Fn(Option<ProcessId>) -> bool) -> Vec<Failed> {
    let failures = run.failures().iter().filter(|failure| of(failure.process));
    let mut failed: Vec<Failed> =
        failures.map(|failure| (failure.kind, failure.place.clone(), failure.process)).collect();
    failed.sort();
    failed.dedup();
    failed
}

/// Takes steps from a depth on instead of those of the trace; gives what `then` says of the run behind them
/// and of what each step touched, or none if some step can't be taken. The run is on the trace again
/// afterwards.
pub(super) fn elsewhere<T>(
    walk: &mut Walk<'_>,
    from: usize,
    steps: &[(ProcessId, u32)],
    then: impl FnOnce(&dyn Run, Vec<Rc<[Access]>>) -> T,
) -> Option<T> {
    let _ = walk.probe(from, std::iter::empty());
    let mut label = Label::default();
    let mut touched = Vec::with_capacity(steps.len());
    let taken = steps.iter().all(|&(process, choice)| {
        // A run that stops says so to whoever started it (`Program::begin_again`), or will stop again on the
        // trace.
        let taken = walk.enabled().contains(process)
            && choice < walk.run.alternatives(process)
            && walk.run.step(process, choice, &mut label).is_ok();
        touched.push(label.accesses.as_slice().into());
        taken
    });
    let answer = taken.then(|| then(&*walk.run, touched));
    let depth = walk.trace.len();
    walk.back_to(depth);
    answer
}
