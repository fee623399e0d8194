//! Loops that come back to where they were: who closes a round takes no further step.
//!
//! `[e]` is an event with all that happens before it, and a *configuration* a set of events closed under
//! happens-before. An event `e` of a process *closes a round* if some configuration `A ⊊ [e]` has the state
//! of `[e]`. After it the process is *stopped*: it is not enabled until the search goes back to before `e`.
//! Whatever comes after `e` can come after `A`, in fewer steps; so nothing is lost (docs/soundness.md,
//! Rounds). Whether an event closes a round depends on `[e]` alone, so independent steps commute as before,
//! and every algorithm explores the program without rounds as it would any other.
//!
//! Two recognisers:
//! * the *own round*: `A = [e] \ B`, where `B` are the last steps of the process. It is in the local state
//!   that it was in before `B`, what `B` wrote holds what `B` found there, and no event of `[e]` by another
//!   process happens after any of `B`;
//! * the *joint round*: `A = [e']` for an earlier event `e'` of the process. Where the run has states, those
//!   after `A` and after `[e]` are compared; else it tells what the steps of `[e] \ [e']` have changed, taken
//!   together, which must be nothing.

use std::ops::ControlFlow;

use mazurka_program::{ProcessId, ProcessSet, Rounds, Run, Stop};
use mazurka_trace::{HappensBefore, Trace};

use crate::NotExhaustive;
use crate::walk::Walk;

crate::rules::switches! {
    /// The switches of the rule's parts.
    Repairs {
        /// Of an own round, what was written must be as it was; taken out, anything may be written.
        restored,
        /// No other process may have come between the steps of an own round.
        alone,
        /// Joint rounds are looked for; taken out, own rounds only.
        joint,
        /// Of a joint round without states, the steps together must have changed nothing; taken out, it is enough
        /// that the process itself has come back.
        net_effect,
        /// The order by which data races are judged must be as it was too; taken out, it need not.
        races_alike,
        /// Of own rounds by which that order may be another only the second of two equal ones counts; taken out,
        /// the first does.
        second,
    }
}

/// A process that is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped {
    /// The process.
    pub process: ProcessId,
    /// The position of the step after which it is stopped.
    pub position: usize,
    /// Why.
    pub by: StoppedBy,
}

/// Why a process is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoppedBy {
    /// It has gone a round of so many own steps, and nobody else had a part in it.
    OwnRound(usize),
    /// It has gone a round of so many own steps together with others.
    JointRound(usize),
    /// It has come to one place as often as it may ([`crate::Limits::unroll`]).
    Limit,
}

impl Stopped {
    /// The positions of the steps of its round, in order.
    pub fn round<'a>(&self, trace: &'a Trace) -> &'a [u32] {
        let own = trace.positions(self.process);
        let steps = match self.by {
            StoppedBy::OwnRound(steps) | StoppedBy::JointRound(steps) => steps,
            StoppedBy::Limit => 0,
        };
        &own[own.len().saturating_sub(steps)..]
    }
}

/// The processes that are stopped, and who is enabled besides.
#[derive(Default)]
pub(crate) struct Stops {
    stopped: Vec<Stopped>,
    /// Those that are enabled and not stopped; kept while somebody is stopped.
    others: ProcessSet,
    /// The states after the pasts of events, as far as they were asked for, by position.
    pasts: Vec<(usize, Vec<i64>)>,
}

impl Stops {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.stopped.is_empty()
    }

    pub fn all(&self) -> &[Stopped] {
        &self.stopped
    }

    pub fn others(&self) -> &ProcessSet {
        &self.others
    }

    pub fn add(&mut self, stopped: Stopped) {
        self.stopped.push(stopped);
    }

    /// Brings who is enabled up to date.
    pub fn refresh(&mut self, enabled: &ProcessSet) {
        self.others.copy_from(enabled);
        self.stopped.iter().for_each(|stopped| self.others.remove(stopped.process));
    }

    /// Forgets what came after so many steps.
    #[inline]
    pub fn truncate(&mut self, depth: usize) {
        if !(self.stopped.is_empty() && self.pasts.is_empty()) {
            self.stopped.retain(|stopped| stopped.position < depth);
            self.pasts.retain(|past| past.0 < depth);
        }
    }

    /// Whether the pasts of two events, of which these are the positions, have the same state.
    ///
    /// # Errors
    /// If a step that was taken can't be taken again.
    fn same_past(&mut self, run: &mut dyn Run, walked: Walked<'_>, a: usize, b: usize) -> Result<bool, Stop> {
        for position in [a, b] {
            if !self.pasts.iter().any(|past| past.0 == position) {
                let state = walked.state_of_past(run, position)?;
                self.pasts.push((position, state));
            }
        }
        let state = |position| self.pasts.iter().find(|past| past.0 == position).map(|past| &past.1);
        Ok(state(a) == state(b))
    }

    /// How the last event of a process closes a round, if it does. The run is where it was afterwards.
    ///
    /// # Errors
    /// If a step that was taken can't be taken again.
    pub fn closed_round(
        &mut self,
        run: &mut dyn Run,
        walked: Walked<'_>,
        process: ProcessId,
        rules: &Repairs,
    ) -> Result<Option<StoppedBy>, Stop> {
        let own = walked.trace.positions(process);
        let Some(&last) = own.last() else { return Ok(None) };
        let last = last as usize;
        // Found out when it is asked first: most who come to a place again have gone no round.
        let mut known = if rules.alone { None } else { Some(0) };
        let (mut own_round, mut came_back) = (None, Vec::new());
        let Some(rounds) = run.rounds() else { return Ok(None) };
        rounds.rounds(process, own, &mut |round| {
            let known = *known.get_or_insert_with(|| walked.known_to_others(process, last));
            let alone = if rules.second { round.alone } else { round.steps };
            let is_alone = own.len().checked_sub(alone).is_some_and(|before| known <= before);
            let counts = round.counts || !rules.second;
            if (round.restored || !rules.restored) && counts && is_alone {
                own_round = Some(StoppedBy::OwnRound(round.steps));
                return ControlFlow::Break(());
            }
            came_back.push(round.steps);
            ControlFlow::Continue(())
        });
        if own_round.is_some() || !rules.joint {
            return Ok(own_round);
        }
        if run.states().and_then(|states| states.named()).is_none() {
            return Ok(walked.joint_round(rounds, own, &came_back, rules).map(StoppedBy::JointRound));
        }
        if !is_asked(own.len()) {
            return Ok(None);
        }
        if own.len() > ALWAYS_ASKED {
            came_back = (1..own.len() - ALWAYS_ASKED).filter(|&steps| is_asked(own.len() - steps)).collect();
        }
        for steps in came_back.into_iter().filter(|&steps| steps < own.len()) {
            let earlier = own[own.len() - steps - 1] as usize;
            if self.same_past(run, walked, earlier, last)? {
                return Ok(Some(StoppedBy::JointRound(steps)));
            }
        }
        Ok(None)
    }
}

/// At so many of its first steps joint rounds of a process are looked for wherever it has come back to where it
/// was.
const ALWAYS_ASKED: usize = 128;

/// Whether joint rounds are looked for after the so-manieth step of a process: always at first, then ever more
/// seldom, since it takes as long as the past of an event, and compared are the states where it was asked. They
/// are infinitely many, so a search of finitely many states ends.
fn is_asked(steps: usize) -> bool {
    steps <= ALWAYS_ASKED || steps.is_multiple_of((steps / 16).next_power_of_two())
}

/// A trace that a run has taken, with its order.
#[derive(Clone, Copy)]
pub(crate) struct Walked<'a> {
    pub trace: &'a Trace,
    pub order: &'a HappensBefore,
}

impl Walked<'_> {
    /// How many events of a process happen before some event of another process that happens before the one
    /// at a position.
    fn known_to_others(self, process: ProcessId, position: usize) -> usize {
        let others = (0..self.trace.width() as u32).map(ProcessId).filter(|&other| other != process);
        let last_of = |other| match self.order.clock(position, other) {
            0 => None,
            events => Some(self.trace.positions(other)[events as usize - 1] as usize),
        };
        others.filter_map(last_of).map(|event| self.order.clock(event, process) as usize).max().unwrap_or(0)
    }

    /// The first of some rounds of a process, each of so many own steps, in which it has come back together with
    /// others: nothing of what they did together is left.
    fn joint_round(
        self,
        rounds: &dyn Rounds,
        own: &[u32],
        came_back: &[usize],
        rules: &Repairs,
    ) -> Option<usize> {
        let (mut steps, mut effect) = (Vec::new(), Vec::new());
        came_back.iter().copied().find(|&length| {
            // Of those that begin with the first step of the process the past is not one of its events.
            let Some(from) = own.len().checked_sub(length + 1) else { return false };
            let (earlier, last) = (own[from] as usize, own[own.len() - 1] as usize);
            steps.clear();
            effect.clear();
            self.between(earlier, last, &mut steps);
            let is_nothing = !rules.net_effect || rounds.net_effect(&steps, &mut effect) && effect.is_empty();
            is_nothing && (!rules.races_alike || self.races_alike(rounds, earlier, last))
        })
    }

    /// The positions of the events that happen before one and not before another one before it, in order.
    fn between(self, earlier: usize, last: usize, into: &mut Vec<u32>) {
        for process in (0..self.trace.width() as u32).map(ProcessId) {
            let [from, to] = [earlier, last].map(|position| self.order.clock(position, process) as usize);
            into.extend_from_slice(self.trace.positions(process).get(from..to).unwrap_or_default());
        }
        into.sort_unstable();
    }

    /// Whether races are judged alike after the pasts of two events.
    fn races_alike(self, rounds: &dyn Rounds, earlier: usize, last: usize) -> bool {
        let [earlier, last] = [earlier, last].map(|position| {
            let past = (0..=position).filter(|&k| self.order.happens_before(k, position));
            past.map(|k| k as u32).collect::<Vec<u32>>()
        });
        rounds.races_alike(&earlier, &last)
    }

    /// The state after an event and all that happens before it. The run is where it was afterwards.
    fn state_of_past(self, run: &mut dyn Run, position: usize) -> Result<Vec<i64>, Stop> {
        let Walked { trace, order } = self;
        let is_past = |k: usize| order.happens_before(k, position);
        let from = (0..=position).find(|&k| !is_past(k)).unwrap_or(position + 1);
        let mut state = Vec::new();
        run.rewind(from);
        self.take(run, (from..=position).filter(|&k| is_past(k)))?;
        if let Some(states) = run.states().and_then(|states| states.named()) {
            states.named_state(&mut state);
        }
        run.rewind(from);
        self.take(run, from..trace.len())?;
        Ok(state)
    }

    /// Takes steps of the trace.
    fn take(self, run: &mut dyn Run, mut positions: impl Iterator<Item = usize>) -> Result<(), Stop> {
        let mut label = Default::default();
        positions.try_for_each(|k| run.step(self.trace.process(k), self.trace.choice(k), &mut label))
    }
}

impl Walk<'_> {
    /// Stops the process that took the last step, if it has closed a round or come to one place too often.
    #[cold]
    pub fn look_for_a_round(&mut self, process: ProcessId) -> ControlFlow<()> {
        if !self.is_ordered {
            (self.order, self.is_ordered) = (HappensBefore::of(&self.trace), true);
        }
        if self.label().returns {
            let Walk { run, trace, order, stops, options, .. } = self;
            let closed =
                stops.closed_round(&mut **run, Walked { trace, order }, process, &options.rules.rounds);
            let by = match closed {
                Ok(Some(by)) => Some(by),
                Ok(None) => self.unrolled(process).then_some(StoppedBy::Limit),
                Err(stop) => {
                    self.note(stop);
                    return ControlFlow::Break(());
                }
            };
            let position = self.trace.len() - 1;
            self.stops_at_rounds |= by.is_some();
            by.into_iter().for_each(|by| self.stops.add(Stopped { process, position, by }));
        }
        self.stops.refresh(self.run.enabled());
        ControlFlow::Continue(())
    }

    /// Whether a process has come to where it stands as often as it may; notes that then.
    fn unrolled(&mut self, process: ProcessId) -> bool {
        let (most, own) = (self.options.limits.unroll, self.trace.positions(process));
        let Some(rounds) = self.run.rounds() else { return false };
        let has = own.len() >= most && rounds.arrivals(process, own) > most;
        if has {
            let reason = NotExhaustive::Unrolled(most, rounds.describe(process, own));
            self.miss(reason);
        }
        has
    }
}
