//! Candidates that can be seen to be none at a glance. All that is said here the examination would find out
//! too.

use mazurka_program::{Guard, ProcessId};
use mazurka_trace::{HappensBefore, Trace};

use crate::walk::Walk;

use super::accept::{Candidate, Cuts, Examiner};
use super::rank::{Rank, Ranks};
use super::sleepers::Sleepers;

impl Examiner {
    /// The last event that woke somebody is in every candidate's parent before that takes least events only,
    /// if a sleeper that it woke, or somebody on whom that depends, would come first whatever the order.
    pub fn find_waker(&mut self, walk: &Walk<'_>, ranks: &Ranks, sleepers: &Sleepers) {
        self.waker = self.settled.checked_sub(1).filter(|&waker| {
            let mut woken = sleepers.woken_by(waker).map(|sleeper| (sleeper.process, sleeper.index));
            !walk.options.rules.wake_up.waker_stays
                || woken.any(|(process, index)| comes_first(walk, ranks, waker, process, index))
        });
    }
}

/// Whether an event of a process, by its index, can't be behind a waker of it that is taken as the least: as long
/// as it was not taken, its process can take a step of a smaller rank, or, before that was created, the one that
/// creates it, and so on. A guard is asked about where the waker has its place in the execution: the waker
/// touches what the guard reads, so that is the same wherever it is taken.
fn comes_first(walk: &Walk<'_>, ranks: &Ranks, waker: usize, process: ProcessId, index: u32) -> bool {
    let trace = &walk.trace;
    let rank = rank_of(trace, ranks, waker);
    let holds = |guard: Guard| {
        walk.is_on_trace() && trace.touches(waker, guard.location) && walk.run.guard_holds_at(guard.id, waker)
    };
    let can_be_taken =
        |k: usize| !trace.varies(k) && trace.waited_for(k).is_empty() && trace.guard(k).is_none_or(holds);
    let Some(&event) = trace.positions(process).get(index as usize) else { return false };
    let mut last = Some(event as usize);
    while let Some(k) = last {
        let process = trace.process(k);
        let special = trace.special().iter().map(|&k| k as usize).take_while(|&other| other <= k);
        if !ranks.are_before(process, trace.index(k) - 1, rank)
            || !special.filter(|&k| trace.process(k) == process).all(can_be_taken)
        {
            return false;
        }
        last = trace.positions(process).first().and_then(|&first| trace.before(first as usize));
    }
    true
}

fn rank_of(trace: &Trace, ranks: &Ranks, k: usize) -> Rank {
    ranks.rank(trace.process(k), trace.index(k) - 1, trace.choice(k))
}

/// Whether no `y'` of a candidate at `i` has the last waker in it, which is not the process's step either: it
/// happens after `i`.
#[inline]
pub(super) fn leaves_out(
    trace: &Trace,
    order: &HappensBefore,
    waker: Option<usize>,
    i: usize,
    process: ProcessId,
) -> bool {
    waker.is_some_and(|waker| waker > i && trace.process(waker) != process && order.happens_before(i, waker))
}

/// Whether a candidate can be seen to be none: the last waker is not in its parent's beginning; or nothing puts
/// `f` to sleep; or `g'` would have come before the last event of `y'`. Cuts that leave the last waker out are
/// taken from it.
pub(super) fn is_hopeless(
    trace: &Trace,
    order: &HappensBefore,
    ranks: &Ranks,
    waker: Option<usize>,
    candidate: &mut Candidate,
) -> bool {
    let i = candidate.i;
    if leaves_out(trace, order, waker, i, candidate.process) {
        return true;
    }
    if let (Cuts::From(start), Some(waker)) = (&mut candidate.cuts, waker)
        && waker > i
        && trace.process(waker) != candidate.process
    {
        *start = (*start).max(waker);
    }
    let (Cuts::At(j), Some(second)) = (candidate.cuts, candidate.second) else { return false };
    if waker.is_some_and(|waker| j < waker) {
        return true;
    }
    if trace.varies(second) {
        return false;
    }
    let (f, g) = (rank_of(trace, ranks, i), rank_of(trace, ranks, second));
    let mut sleeps = g > f;
    let mut last = None;
    for d in order.unordered(i, i + 1).take_while(|&d| d < j) {
        sleeps = sleeps || rank_of(trace, ranks, d) > f;
        last = Some(d);
    }
    let comes_before = |d: usize| rank_of(trace, ranks, d) > g && !order.happens_before(d, second);
    !sleeps || last.is_some_and(comes_before)
}
