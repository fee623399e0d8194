//! Lines 11-14: whether the reversal of a race leads to the same state.
//!
//! All races of a node are compared together: the run leaves the trace once, and what several races have in
//! common, `v` without its last event, is run once.

use std::cmp::Reverse;
use std::ops::ControlFlow;

use mazurka_program::{Access, Failure, ProcessId, Renamed, Run};
use mazurka_trace::{HappensBefore, Trace};

use super::sequence::{Event, Sequence};
use crate::convergent::comparable_state;
use crate::walk::Walk;

/// Races that are to be compared. The first `open` are; the others keep their memory for later.
#[derive(Default)]
pub(super) struct Comparisons {
    noted: Vec<Comparison>,
    open: usize,
    there: Renamed,
}

/// A race between `e` and an event `q` that is the last of the trace when it is noted, and where it led.
#[derive(Default)]
struct Comparison {
    e: usize,
    /// Where `q` is in the trace, or was.
    last: usize,
    q: Option<(ProcessId, u32)>,
    accesses: Vec<Access>,
    here: Renamed,
    assumed: bool,
    failures: Vec<Failure>,
}

impl Comparisons {
    /// Notes the race of `e` and the last event, unless a sequence sleeps that `v.u` begins with.
    pub fn note(&mut self, walk: &mut Walk<'_>, sleep: &[Sequence], e: usize) {
        let (trace, order, run) = (&walk.trace, &walk.order, &mut *walk.run);
        let last = trace.len() - 1;
        let is_prefix = |sequence: &Sequence| {
            let mut steps = unordered(order, e, last).chain([last, e]).chain(ordered(order, e, last));
            let mut events = sequence.rest().iter();
            events.all(|event| steps.next().is_some_and(|k| event.is(trace.process(k), trace.choice(k))))
        };
        if sleep.iter().any(is_prefix) {
            return;
        }
        if self.open == self.noted.len() {
            self.noted.push(Comparison::default());
        }
        let noted = &mut self.noted[self.open];
        self.open += 1;
        (noted.e, noted.last, noted.q) = (e, last, Some((trace.process(last), trace.choice(last))));
        noted.accesses.clear();
        noted.accesses.extend_from_slice(trace.accesses(last));
        comparable_state(run, &mut noted.here);
        noted.assumed = run.assumed();
        noted.failures.clear();
        noted.failures.extend_from_slice(run.failures());
    }

    /// Gives for each race that leads to the same state either way its `e` and the sequence `v.u`. The run is
    /// left aside of the trace. Breaks if the search is over.
    pub fn make(&mut self, walk: &mut Walk<'_>, mut same: impl FnMut(usize, Sequence)) -> ControlFlow<()> {
        let noted = &mut self.noted[..std::mem::take(&mut self.open)];
        // The run, once it has left the trace, knows it only up to there.
        noted.sort_by_key(|comparison| Reverse(comparison.e));
        let compare_failures = walk.options.rules.source_context.compare_failures;
        let mut before = None;
        for comparison in noted {
            if walk.look_is_due() {
                walk.look_between()?;
            }
            let (trace, order, mut aside) = walk.aside();
            let &mut Comparison { e, last, q, .. } = comparison;
            let step = |k: usize| (trace.process(k), trace.choice(k));
            let together = match before {
                Some((other, depth)) if other == e => {
                    aside.run.rewind(depth);
                    true
                }
                _ => aside.leave(e, unordered(order, e, last).map(step)),
            };
            before = together.then(|| (e, aside.run.depth()));
            let u = [e].into_iter().chain(ordered(order, e, last));
            if together && aside.take(q.into_iter().chain(u.map(step))) {
                comparable_state(aside.run, &mut self.there);
                if comparison.leads_to(aside.run, &self.there, compare_failures) {
                    same(e, comparison.sequence(trace, order));
                }
            }
        }
        ControlFlow::Continue(())
    }
}

impl Comparison {
    /// Line 13: whether the present state of a run is where the race led, and nothing has failed on the way
    /// that did not fail there.
    fn leads_to(&self, run: &dyn Run, there: &Renamed, compare_failures: bool) -> bool {
        self.here.list == there.list
            && self.assumed == run.assumed()
            && (!compare_failures || run.failures().iter().all(|failure| self.failures.contains(failure)))
    }

    /// `v.u`.
    fn sequence(&self, trace: &Trace, order: &HappensBefore) -> Sequence {
        let event = |k: usize| Event::at(trace, k);
        let q = self.q.map(|(process, choice)| Event {
            process,
            choice,
            accesses: self.accesses.as_slice().into(),
        });
        let u = [self.e].into_iter().chain(ordered(order, self.e, self.last));
        Sequence::new(unordered(order, self.e, self.last).map(event).chain(q).chain(u.map(event)).collect())
    }
}

/// The events between `e` and `last` that do not happen after `e`.
fn unordered(order: &HappensBefore, e: usize, last: usize) -> impl Iterator<Item = usize> + '_ {
    (e + 1..last).filter(move |&k| !order.happens_before(e, k))
}

/// The events between `e` and `last` that happen after `e`.
fn ordered(order: &HappensBefore, e: usize, last: usize) -> impl Iterator<Item = usize> + '_ {
    (e + 1..last).filter(move |&k| order.happens_before(e, k))
}
