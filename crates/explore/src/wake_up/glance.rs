//! Candidates that can be seen to be none at a glance. All that is said here the examination would find out
//! too.

use mazurka_program::ProcessId;

use crate::walk::Walk;

use super::accept::{Candidate, Cuts, Examination, Examiner};
use super::rank::Ranks;
use super::sleepers::Sleepers;

impl Examiner {
    /// The last event that woke somebody is in every candidate's parent before that takes least events only,
    /// if a sleeper that it woke would come first whatever the order: its process is there from the start,
    /// none of its steps up to there can wait, and all have smaller ranks.
    pub fn find_waker(&mut self, walk: &Walk<'_>, ranks: &Ranks, sleepers: &Sleepers) {
        let trace = &walk.trace;
        self.waker = self.settled.checked_sub(1).filter(|&waker| {
            let rank = ranks.rank(trace.process(waker), trace.index(waker) - 1, trace.choice(waker));
            let comes_first = |process: ProcessId, index: u32| {
                let own = trace.positions(process);
                walk.run.names().path(process).len() == 1
                    && own.len() > index as usize
                    && !trace.varies(own[index as usize] as usize)
                    && own[..=index as usize].iter().all(|&k| {
                        let k = k as usize;
                        trace.guard(k).is_none()
                            && trace.waited_for(k).is_empty()
                            && !trace.varies(k)
                            && ranks.rank(process, trace.index(k) - 1, 0) < rank
                    })
            };
            !walk.options.rules.wake_up.waker_stays
                || sleepers.woken_by(waker).any(|sleeper| comes_first(sleeper.process, sleeper.index))
        });
    }
}

impl Examination<'_> {
    /// Whether a candidate can be seen to be none at a glance: the last waker is not in it; or nothing puts
    /// `f` to sleep; or `g'` would have come before the last event of `y'`.
    pub fn is_hopeless(&self, candidate: &Candidate) -> bool {
        let (trace, i) = (self.trace, candidate.i);
        let (Cuts::At(j), Some(second)) = (candidate.cuts, candidate.second) else { return false };
        if self.known.waker.is_some_and(|waker| j < waker) {
            return true;
        }
        if trace.varies(second) {
            return false;
        }
        let rank = |k: usize| self.ranks.rank(trace.process(k), trace.index(k) - 1, trace.choice(k));
        let (f, g) = (rank(i), rank(second));
        let mut sleeps = g > f;
        let mut last = None;
        for d in self.order.unordered(i, i + 1).take_while(|&d| d < j) {
            sleeps = sleeps || rank(d) > f;
            last = Some(d);
        }
        let comes_before = |d: usize| rank(d) > g && !self.order.happens_before(d, second);
        !sleeps || last.is_some_and(comes_before)
    }
}
