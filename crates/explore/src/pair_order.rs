//! Happens-before, pair by pair, for searches in which some steps that touch the same are not dependent: which
//! ones, the search says. Clocks can't have that, for they know of a location only who touched it last.

use mazurka_program::{Guard, ProcessId};
use mazurka_trace::Trace;
use mazurka_trace::dependence::dependent;

/// For each event of a trace, the set of those that happen before it.
#[derive(Default)]
pub(crate) struct PairOrder {
    events: Vec<Past>,
}

/// The events before one, as far as they have been found.
#[derive(Default)]
pub(crate) struct Past {
    words: Vec<u64>,
}

/// How two events of a trace are related, whatever is between them.
pub(crate) enum Pair {
    /// They touch nothing in common.
    Apart,
    /// They are of one process, or the first created the process of the second.
    InOrder,
    /// They touch the same.
    Conflict {
        /// Whether the second waited for what the first wrote.
        awaited: bool,
    },
}

impl Pair {
    pub fn of(trace: &Trace, first: usize, second: usize) -> Pair {
        let process = trace.process(second);
        if trace.process(first) == process || trace.spawned(first).contains(&process) {
            Pair::InOrder
        } else if dependent(trace.accesses(first), trace.accesses(second)) {
            Pair::Conflict { awaited: waited_for(trace, first, second) }
        } else {
            Pair::Apart
        }
    }
}

impl Past {
    pub fn has(&self, event: usize) -> bool {
        self.words.get(event / 64).is_some_and(|word| word >> (event % 64) & 1 == 1)
    }

    fn add(&mut self, event: usize, its: &Past) {
        self.words.iter_mut().zip(&its.words).for_each(|(mine, theirs)| *mine |= theirs);
        self.words[event / 64] |= 1 << (event % 64);
    }
}

impl PairOrder {
    /// Forgets all but the first events.
    pub fn truncate(&mut self, len: usize) {
        self.events.truncate(len);
    }

    /// Whether one event happens before another one.
    pub fn before(&self, first: usize, second: usize) -> bool {
        self.events[second].has(first)
    }

    /// What is known before the event of a trace that comes next: nothing.
    pub fn start(&self) -> Past {
        Past { words: vec![0; self.events.len().div_ceil(64)] }
    }

    /// Adds an event, and all before it, to what is before the one that comes next.
    pub fn add(&self, past: &mut Past, event: usize) {
        past.add(event, &self.events[event]);
    }

    /// All that is before the event that comes next is known.
    pub fn finish(&mut self, past: Past) {
        self.events.push(past);
    }

    /// Adds the event of a trace that comes next. Of those that touch the same, the last first, `depends` says
    /// whether it depends on one. Gives those that it races with and that it did not wait for.
    pub fn push(&mut self, trace: &Trace, mut depends: impl FnMut(usize) -> bool) -> Vec<usize> {
        let second = self.events.len();
        let (mut past, mut races) = (self.start(), Vec::new());
        for first in (0..second).rev() {
            if past.has(first) {
                continue;
            }
            match Pair::of(trace, first, second) {
                Pair::Apart => {}
                Pair::InOrder => self.add(&mut past, first),
                Pair::Conflict { awaited } => {
                    if depends(first) {
                        self.add(&mut past, first);
                        races.extend((!awaited).then_some(first));
                    }
                }
            }
        }
        self.finish(past);
        races
    }

    /// The writers of a guard that do not happen before what a process did last, the last first: its step races
    /// with all of them, if the guard holds without.
    pub fn writers(
        &self,
        trace: &Trace,
        process: ProcessId,
        previous: Option<usize>,
        guard: Guard,
    ) -> Vec<usize> {
        let known = |e: usize| previous.is_some_and(|previous| e == previous || self.before(e, previous));
        let end = self.events.len().min(trace.len());
        let others = (0..end).rev().filter(|&e| trace.process(e) != process && !known(e));
        others.filter(|&e| trace.writes(e, guard.location)).collect()
    }

    /// `I(v)` for `v = notdep(e, E).q`: the processes whose first event in `v` no event of `v` happens before.
    /// `second` is the position of `q`'s step, the last of the trace; none if `q` waits.
    pub fn initials(&self, trace: &Trace, e: usize, q: ProcessId, second: Option<usize>) -> Vec<ProcessId> {
        let end = second.unwrap_or(trace.len());
        let mut firsts: Vec<usize> = Vec::new();
        for k in (e + 1..end).filter(|&k| !self.before(e, k)).chain(second) {
            if !firsts.iter().any(|&first| trace.process(first) == trace.process(k)) {
                firsts.push(k);
            }
        }
        let initial = |at: &usize| !firsts.iter().any(|&other| other < *at && self.before(other, *at));
        let initials: Vec<ProcessId> =
            firsts.iter().filter(|at| initial(at)).map(|&at| trace.process(at)).collect();
        // What a waiting step would touch is not known; that it is an initial is certain only if it is alone.
        if second.is_none() && initials.is_empty() { vec![q] } else { initials }
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        self.events.iter().map(|past| size_of::<Past>() + past.words.capacity() * 8).sum()
    }
}

/// Whether a step waited for what an earlier one wrote: with its guard, or in another way.
fn waited_for(trace: &Trace, first: usize, second: usize) -> bool {
    let guard = trace.guard(second).map(|guard| guard.location);
    let mut awaited = trace.waited_for(second).iter().copied().chain(guard);
    awaited.any(|location| trace.writes(first, location))
}
