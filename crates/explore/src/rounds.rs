//! Loops that come back to where they were: who closes a round takes no further step.
//!
//! `[e]` is an event with all that happens before it, and a *configuration* a set of events closed under
//! happens-before. An event `e` of a process *closes a round* if some configuration `A ⊊ [e]` has the state of
//! `[e]`. After it the process is *stopped*: it is not enabled until the search goes back to before `e`. Whatever
//! comes after `e` can come after `A`, in fewer steps; so nothing is lost (docs/soundness.md, Rounds).
//! Whether an event closes a round depends on `[e]` alone, so independent steps commute as before, and every
//! algorithm explores the program without rounds as it would any other.
//!
//! Two recognisers:
//! * the *own round*: `A = [e] \ B`, where `B` are the last steps of the process. It is in the local state that
//!   it was in before `B`, what `B` wrote holds what `B` found there, and no event of `[e]` by another process
//!   happens after any of `B`;
//! * the *joint round*: `A = [e']` for an earlier event `e'` of the process, where the run has states.

use std::collections::HashMap;
use std::ops::ControlFlow;

use mazurka_program::{Access, ProcessId, ProcessSet, Run, Stop};
use mazurka_trace::{HappensBefore, Trace};

crate::rules::switches! {
    /// The switches of the rule's parts.
    Repairs {
        /// Of an own round, what was written must be as it was; taken out, anything may be written.
        restored,
        /// No other process may have come between the steps of an own round.
        alone,
        /// Joint rounds are looked for; taken out, own rounds only.
        joint,
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
        let known = if rules.alone { walked.known_to_others(process, last) } else { 0 };
        let (mut own_round, mut came_back) = (None, Vec::new());
        let Some(rounds) = run.rounds() else { return Ok(None) };
        rounds.rounds(process, own, &mut |round| {
            let before = own.len() - round.steps;
            if (round.restored || !rules.restored) && known <= before {
                own_round = Some(StoppedBy::OwnRound(round.steps));
                return ControlFlow::Break(());
            }
            came_back.push(round.steps);
            ControlFlow::Continue(())
        });
        let has_states = run.states().and_then(|states| states.named()).is_some();
        if own_round.is_some() || !rules.joint || !has_states || !is_asked(came_back.len()) {
            return Ok(own_round);
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

/// Whether joint rounds are looked for where a process is in one local state for the so-manieth time: always
/// at first, then ever more seldom, since it takes as long as the past of an event. What is compared are the
/// states where it was asked, so a search of finitely many states ends.
fn is_asked(times: usize) -> bool {
    times <= 64 || times.is_multiple_of((times / 16).next_power_of_two())
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

/// Whether an execution that ended with stopped processes is a livelock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Livelock {
    /// From its end the program can come to an end.
    No,
    /// It can't, whatever is done.
    Yes,
    /// It was not found out.
    Unknown,
}

/// What is known of ends with stopped processes, so that the same one is looked at once.
#[derive(Default)]
pub(crate) struct Livelocks {
    known: HashMap<Vec<i64>, Livelock>,
}

/// How many steps a fair schedule is given to come to an end.
const FAIR_STEPS: usize = 400;

/// How many states are looked at to find an end.
const MOST_STATES: usize = 200_000;

impl Livelocks {
    /// Whether the program can come to an end from where a run is, with everybody going on. The run is where
    /// it was afterwards.
    ///
    /// # Errors
    /// If the run can't go on.
    pub fn decide(
        &mut self,
        run: &mut dyn Run,
        walked: Walked<'_>,
        stopped: &[Stopped],
    ) -> Result<Livelock, Stop> {
        if stopped.iter().any(|stopped| stopped.by == StoppedBy::Limit) {
            return Ok(Livelock::No);
        }
        if go_on_alone(run, walked.trace, stopped) {
            return Ok(Livelock::Yes);
        }
        self.decide_by_search(run)
    }

    fn decide_by_search(&mut self, run: &mut dyn Run) -> Result<Livelock, Stop> {
        let state = state_of(run);
        if let Some(&known) = state.as_ref().and_then(|state| self.known.get(state)) {
            return Ok(known);
        }
        let depth = run.depth();
        let ends = ends_fairly(run, depth + FAIR_STEPS)?;
        run.rewind(depth);
        let decided = match (ends, &state) {
            (true, _) => Livelock::No,
            (false, Some(_)) => search_for_an_end(run)?,
            (false, None) => Livelock::Unknown,
        };
        run.rewind(depth);
        if let Some(state) = state {
            self.known.insert(state, decided);
        }
        Ok(decided)
    }
}

/// Whether it is a livelock where a run has come along a trace: some go round and round, nobody else goes on,
/// and the program can't come to an end any more.
pub fn livelock<R: Run>(run: &mut R, trace: &Trace) -> bool {
    let run: &mut dyn Run = run;
    let enabled: Vec<ProcessId> = run.enabled().iter().collect();
    if run.rounds().is_none() || run.assumed() || run.ended_early() {
        return false;
    }
    if enabled.is_empty() {
        return some_go_round(run);
    }
    let order = HappensBefore::of(trace);
    let walked = Walked { trace, order: &order };
    let (mut stops, rules) = (Stops::default(), Repairs::default());
    for &process in &enabled {
        let position = trace.positions(process).last().map(|&last| last as usize);
        let Ok(closed) = stops.closed_round(run, walked, process, &rules) else { return false };
        if let (Some(position), Some(by)) = (position, closed) {
            stops.add(Stopped { process, position, by });
        }
    }
    // Where states are known, it does not take rounds to see that there is no end.
    if stops.all().len() < enabled.len() && state_of(run).is_none() {
        return false;
    }
    let decided = match stops.all().len() < enabled.len() {
        true => Livelocks::default().decide_by_search(run),
        false => Livelocks::default().decide(run, walked, stops.all()),
    };
    decided == Ok(Livelock::Yes)
}

/// Whether every stopped process would go its own round again, whatever the others do: no step of it could have
/// come out otherwise, nobody else has written since what the round touches, and none writes what another one's
/// round touches or somebody waits for.
fn go_on_alone(run: &dyn Run, trace: &Trace, stopped: &[Stopped]) -> bool {
    let mut awaited = Vec::new();
    run.waiting(&mut |_, guard| awaited.extend(guard.map(|guard| guard.location)));
    let touches = |k: usize, access: Access| trace.accesses(k).iter().any(|touched| touched.overlaps(access));
    let writes = |k: usize, access: Access| {
        let mut written = trace.accesses(k).iter().filter(|touched| !touched.kind.is_read());
        written.any(|written| written.overlaps(access))
    };
    stopped.iter().all(|one| {
        let is_repeated = |k: usize, access: Access| {
            let mut since = (k..trace.len()).filter(|&later| trace.process(later) != one.process);
            !since.any(|later| writes(later, access))
        };
        let is_unnoticed = |access: Access| {
            let others = stopped.iter().filter(|other| other.process != one.process);
            let mut rounds = others.flat_map(|other| other.round(trace));
            !rounds.any(|&k| touches(k as usize, access))
                && !access.locations().any(|location| awaited.contains(&location))
        };
        let is_own = matches!(one.by, StoppedBy::OwnRound(_));
        is_own
            && one.round(trace).iter().map(|&k| k as usize).all(|k| {
                let mut accesses = trace.accesses(k).iter().copied();
                trace.alternatives(k) == 1
                    && accesses.all(|a| is_repeated(k, a) && (a.kind.is_read() || is_unnoticed(a)))
            })
    })
}

fn state_of(run: &dyn Run) -> Option<Vec<i64>> {
    let named = run.states()?.named()?;
    let mut state = Vec::new();
    named.named_state(&mut state);
    Some(state)
}

/// Whether some process that waits goes round and round.
pub(crate) fn some_go_round(run: &dyn Run) -> bool {
    let mut found = false;
    run.waiting(&mut |process, _| found |= run.goes_round(process));
    found
}

fn has_ended(run: &dyn Run) -> bool {
    run.enabled().is_empty() && !some_go_round(run) || run.ended_early()
}

/// Whether a schedule that gives everybody a turn comes to an end within a depth. The run stays there.
fn ends_fairly(run: &mut dyn Run, depth: usize) -> Result<bool, Stop> {
    let (mut label, mut last) = (Default::default(), None);
    while !has_ended(run) {
        if run.depth() >= depth || run.enabled().is_empty() {
            return Ok(false);
        }
        let enabled = run.enabled();
        let next = enabled.iter().find(|&process| Some(process) > last).or_else(|| enabled.iter().next());
        let Some(process) = next else { break };
        let choice = run.depth() as u32 % run.alternatives(process);
        run.step(process, choice, &mut label)?;
        last = Some(process);
    }
    Ok(true)
}

/// Looks at all states that can be reached from where a run is, for one in which nobody can go on.
fn search_for_an_end(run: &mut dyn Run) -> Result<Livelock, Stop> {
    let start = run.depth();
    let mut label = Default::default();
    let mut seen = std::collections::HashSet::new();
    let mut stack: Vec<Vec<(ProcessId, u32)>> = Vec::new();
    loop {
        if state_of(run).is_some_and(|state| seen.insert(state)) {
            if has_ended(run) {
                return Ok(Livelock::No);
            }
            if seen.len() > MOST_STATES {
                return Ok(Livelock::Unknown);
            }
            let steps =
                run.enabled().iter().flat_map(|p| (0..run.alternatives(p)).map(move |choice| (p, choice)));
            stack.push(steps.collect());
        }
        let next = loop {
            match stack.last_mut() {
                None => return Ok(Livelock::Yes),
                Some(steps) => match steps.pop() {
                    Some(step) => break step,
                    None => stack.pop(),
                },
            };
        };
        run.rewind(start + stack.len() - 1);
        run.step(next.0, next.1, &mut label)?;
    }
}
