//! Threads that the timer stopped in the middle of a step: in a loop without end, or because a limit was
//! reached.
//!
//! Where a loop without end was met is remembered by the steps that led there. Who comes there by the same
//! steps, to tell the failure or to go on behind it, need not wait again: the thread does the same, and is
//! stopped when the timer strikes for the first time. Who is stopped at a limit might have gone on, and does
//! so when it is told.

use mazurka_program::ProcessId;
use mazurka_threads::replay::mix;

use super::script::TakenStep;

/// Why a thread was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StopReason {
    /// It has run for too long without coming to an operation.
    Hang,
    /// The search may not take longer, or more memory.
    Limit,
}

/// A thread that was stopped in a loop, and after how many steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stopped {
    depth: u32,
    process: ProcessId,
}

/// What is known of threads that were stopped in loops.
#[derive(Default)]
pub(crate) struct Stops {
    /// With the steps that led there: thread and outcome.
    known: Vec<(Vec<(ProcessId, u32)>, Stopped)>,
    /// Those of the present execution, or of the script that is being taken again.
    here: Vec<Stopped>,
    /// Whether the execution is only run on to find out more before the search begins again.
    pub(crate) ahead: bool,
    /// One that is to be remembered, when somebody knows the steps.
    new: Option<Stopped>,
}

impl Stops {
    /// Forgets all: steps are others from now on.
    pub(crate) fn clear(&mut self) {
        *self = Stops::default();
    }

    /// Whether a thread of the present execution was stopped.
    pub(crate) fn any_here(&self) -> bool {
        !self.here.is_empty()
    }

    /// Whether a thread that runs on after so many steps is known to be in a loop without end. Called by a
    /// handler.
    pub(crate) fn known(&self, depth: u32, process: ProcessId) -> bool {
        self.here.contains(&Stopped { depth, process })
    }

    /// A thread was stopped in a loop. Says whether that is news.
    pub(crate) fn note(&mut self, depth: u32, process: ProcessId) -> bool {
        let stopped = Stopped { depth, process };
        let is_new = !self.here.contains(&stopped);
        if is_new {
            self.here.push(stopped);
            self.new = Some(stopped);
        }
        is_new
    }

    /// Remembers who was stopped last, if anybody was, after these steps.
    #[inline]
    pub(crate) fn remember(&mut self, script: &[TakenStep], last: Option<(ProcessId, u32)>) {
        if let Some(stopped) = self.new.take() {
            let steps = script.iter().map(|taken| (taken.process, taken.choice)).chain(last);
            self.known.push((steps.take(stopped.depth as usize).collect(), stopped));
        }
    }

    /// Those that are known, as digests.
    pub(crate) fn digests(&self) -> impl Iterator<Item = u64> {
        self.known.iter().map(|(steps, stopped)| {
            let numbers = steps.iter().flat_map(|&(process, choice)| [process.0, choice]);
            let numbers = numbers.chain([stopped.depth, stopped.process.0]);
            numbers.fold(1, |digest, number| mix(digest, number.into()))
        })
    }

    /// Who was stopped last was so on another way.
    pub(crate) fn forget_new(&mut self) {
        self.new = None;
    }

    /// A script is about to be taken again: finds out who is stopped on the way.
    #[inline]
    pub(crate) fn expect_along(&mut self, script: &[TakenStep]) {
        if !(self.known.is_empty() && self.here.is_empty()) {
            self.here.clear();
            let here = self.known.iter().filter(|(steps, _)| leads_to(script, steps));
            self.here.extend(here.map(|(_, stopped)| stopped));
        }
    }

    /// A step is about to be taken after those of a script.
    #[inline]
    pub(crate) fn expect_after(&mut self, script: &[TakenStep], process: ProcessId, choice: u32) {
        if !self.known.is_empty() {
            let here = self.known.iter().filter(|(steps, _)| {
                steps.split_last().is_some_and(|(last, before)| {
                    *last == (process, choice) && before.len() == script.len() && leads_to(script, before)
                })
            });
            self.here.extend(here.map(|(_, stopped)| stopped));
        }
    }
}

/// Whether a script begins with these steps.
fn leads_to(script: &[TakenStep], steps: &[(ProcessId, u32)]) -> bool {
    let same = |(step, taken): (&(ProcessId, u32), &TakenStep)| *step == (taken.process, taken.choice);
    steps.len() <= script.len() && steps.iter().zip(script).all(same)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(threads: &[u32]) -> Vec<TakenStep> {
        threads
            .iter()
            .map(|&thread| TakenStep { process: ProcessId(thread), choice: 0, mark: 0, next: 0 })
            .collect()
    }

    #[test]
    fn a_stop_is_known_after_the_same_steps_only() {
        let mut stops = Stops::default();
        assert!(stops.note(2, ProcessId(1)));
        stops.remember(&script(&[0]), Some((ProcessId(1), 0)));
        for (way, known) in [(&[0, 1][..], true), (&[0, 1, 0], true), (&[0], false), (&[0, 0, 1], false)] {
            stops.expect_along(&script(way));
            assert_eq!(stops.known(2, ProcessId(1)), known, "{way:?}");
            assert!(!stops.known(2, ProcessId(0)), "another thread");
        }
        stops.expect_along(&script(&[0]));
        stops.expect_after(&script(&[0]), ProcessId(1), 1);
        assert!(!stops.known(2, ProcessId(1)), "another outcome");
        stops.expect_after(&script(&[0]), ProcessId(1), 0);
        assert!(stops.known(2, ProcessId(1)));
    }
}
