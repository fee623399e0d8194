//! Livelocks: whether those who go round and round can come to an end.
//!
//! An execution may end with processes that were [stopped](crate::rounds), or that poll, and nobody else who goes
//! on. It is a livelock if the program can't come to an end from there, whatever is done (docs/soundness.md).

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::time::Instant;

use mazurka_program::{Access, FailureKind, ProcessId, Run, Stop};
use mazurka_trace::{HappensBefore, Trace};

use crate::NotExhaustive;
use crate::rounds::{Repairs, Stopped, StoppedBy, Stops, Walked};
use crate::walk::Walk;

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
    /// How many steps searches without named states have taken.
    taken: usize,
}

/// How many steps a fair schedule is given to come to an end.
const FAIR_STEPS: usize = 400;

/// How many states are looked at to find an end.
const MOST_STATES: usize = 200_000;

/// How many steps are taken in all to find ends, where states have no names and every one is come to from the
/// start of the execution.
const MOST_STEPS: usize = 1_000_000;

impl Livelocks {
    /// Whether the program can come to an end from where a run is, with everybody going on. The run is where
    /// it was afterwards. It is given up at a deadline, if there is one.
    ///
    /// # Errors
    /// If the run can't go on.
    pub fn decide(
        &mut self,
        run: &mut dyn Run,
        walked: Walked<'_>,
        stopped: &[Stopped],
        deadline: Option<Instant>,
    ) -> Result<Livelock, Stop> {
        if stopped.iter().any(|stopped| stopped.by == StoppedBy::Limit) {
            return Ok(Livelock::No);
        }
        if go_on_alone(run, walked.trace, stopped) || go_round_again(run, walked.trace, stopped)? {
            return Ok(Livelock::Yes);
        }
        self.decide_by_search(run, walked.trace, deadline)
    }

    fn decide_by_search(
        &mut self,
        run: &mut dyn Run,
        trace: &Trace,
        deadline: Option<Instant>,
    ) -> Result<Livelock, Stop> {
        let named = state_of(run);
        let is_named = named.is_some();
        let state = named.or_else(|| state_along(run, trace));
        if let Some(&known) = state.as_ref().and_then(|state| self.known.get(state)) {
            return Ok(known);
        }
        let depth = run.depth();
        let ends = ends_fairly(run, depth + FAIR_STEPS)?;
        // Who only reads may wait there for what nobody will change any more.
        let spins = ends && spins_for_ever(run);
        run.rewind(depth);
        let decided = match ends {
            true if spins => Livelock::Yes,
            true => Livelock::No,
            false if is_named => search_for_an_end(run, deadline)?,
            false => search_from_here(run, &mut self.taken, deadline)?,
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
    if stops.all().len() < enabled.len() && state_of(run).is_none() && state_since(run, run.depth()).is_none()
    {
        return false;
    }
    let decided = match stops.all().len() < enabled.len() {
        true => Livelocks::default().decide_by_search(run, trace, None),
        false => Livelocks::default().decide(run, walked, stops.all(), None),
    };
    decided == Ok(Livelock::Yes) && come_back(run, trace).is_ok()
}

/// Brings a run back to where a trace ends, in all that can be asked of it: to go back may mean to do nothing
/// until the next step.
fn come_back(run: &mut dyn Run, trace: &Trace) -> Result<(), Stop> {
    let Some(last) = trace.len().checked_sub(1) else { return Ok(()) };
    run.rewind(last);
    run.step(trace.process(last), trace.choice(last), &mut Default::default())
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

/// Whether every stopped process goes an own round again when it goes on, one after the other, and all of
/// them would go on so: others have written since what its round touches, but nothing that leads it
/// elsewhere. The run is where it was afterwards.
fn go_round_again(run: &mut dyn Run, trace: &Trace, stopped: &[Stopped]) -> Result<bool, Stop> {
    let (depth, mut trace) = (run.depth(), trace.clone());
    let mut again = Vec::new();
    for one in stopped {
        let most = trace.len() + FAIR_STEPS;
        again.extend(go_round(run, &mut trace, one.process, most)?);
    }
    // On its way one may have let another go on.
    let nobody_else =
        run.enabled().iter().all(|process| again.iter().any(|one: &Stopped| one.process == process));
    let goes_on = nobody_else && again.len() == stopped.len() && go_on_alone(run, &trace, &again);
    run.rewind(depth);
    Ok(goes_on)
}

/// Takes steps of a process until it has gone a round, at most up to a depth.
fn go_round(
    run: &mut dyn Run,
    trace: &mut Trace,
    process: ProcessId,
    most: usize,
) -> Result<Option<Stopped>, Stop> {
    let (before, mut label) = (trace.positions(process).len(), Default::default());
    while trace.len() < most && run.enabled().contains(process) && run.alternatives(process) == 1 {
        run.step(process, 0, &mut label)?;
        trace.push(process, 0, 1, &label);
        let (own, mut closed) = (trace.positions(process), None);
        if let Some(rounds) = run.rounds().filter(|_| label.returns) {
            rounds.rounds(process, own, &mut |round| {
                if round.restored && round.counts && round.steps <= own.len() - before {
                    closed = Some(StoppedBy::OwnRound(round.steps));
                }
                if closed.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
        }
        if let Some(by) = closed {
            return Ok(Some(Stopped { process, position: trace.len() - 1, by }));
        }
    }
    Ok(None)
}

fn state_of(run: &dyn Run) -> Option<Vec<i64>> {
    let named = run.states()?.named()?;
    let mut state = Vec::new();
    named.named_state(&mut state);
    Some(state)
}

/// What the last steps of a run have changed, from a depth on: its state, to be compared with other states that it
/// has come to from there. None if that can't be told.
fn state_since(run: &dyn Run, depth: usize) -> Option<Vec<i64>> {
    let steps: Vec<u32> = (depth as u32..run.depth() as u32).collect();
    let mut state = Vec::new();
    run.rounds()?.net_effect(&steps, &mut state).then_some(state)
}

/// The state of a run that has come along a trace, as what has changed from where that can be told, and how it came
/// to there.
fn state_along(run: &dyn Run, trace: &Trace) -> Option<Vec<i64>> {
    let (mut from, mut to) = (0, run.depth());
    while from < to {
        let middle = from.midpoint(to);
        match state_since(run, middle) {
            Some(_) => to = middle,
            None => from = middle + 1,
        }
    }
    let mut state = vec![from as i64];
    state.extend((0..from).flat_map(|k| [i64::from(trace.process(k).0), i64::from(trace.choice(k))]));
    state.extend(state_since(run, from)?);
    Some(state)
}

/// Whether some process that waits goes round and round.
pub(crate) fn some_go_round(run: &dyn Run) -> bool {
    let mut found = false;
    run.waiting(&mut |process, _| found |= run.goes_round(process));
    found
}

/// Whether somebody who only reads waits for what nobody is left to change.
fn spins_for_ever(run: &dyn Run) -> bool {
    run.failures().iter().any(|failure| failure.kind == FailureKind::Livelock)
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
fn search_for_an_end(run: &mut dyn Run, deadline: Option<Instant>) -> Result<Livelock, Stop> {
    let start = run.depth();
    let mut label = Default::default();
    let mut seen = HashSet::new();
    let mut stack: Vec<Vec<(ProcessId, u32)>> = Vec::new();
    loop {
        if state_of(run).is_some_and(|state| seen.insert(state)) {
            if has_ended(run) {
                return Ok(Livelock::No);
            }
            if seen.len() > MOST_STATES || is_past(deadline) {
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

fn is_past(deadline: Option<Instant>) -> bool {
    deadline.is_some_and(|deadline| Instant::now() >= deadline)
}

/// A state that was reached by a step from another one, by its number.
struct Reached {
    from: usize,
    step: (ProcessId, u32),
}

/// As [`search_for_an_end`], where states have no names: they are told by what has changed from where the run is.
/// The nearest come first, since a run may come to each from its start. `taken` counts the steps.
fn search_from_here(
    run: &mut dyn Run,
    taken: &mut usize,
    deadline: Option<Instant>,
) -> Result<Livelock, Stop> {
    let start = run.depth();
    let mut label = Default::default();
    let mut seen = HashSet::from([Vec::new()]);
    let mut reached: Vec<Reached> = Vec::new();
    let (mut next, mut is_all) = (0, true);
    // The first is where the run is; those after it are one further than their numbers here.
    while next <= reached.len() {
        let path = path_to(&reached, next);
        run.rewind(start);
        path.iter().try_for_each(|&(process, choice)| run.step(process, choice, &mut label))?;
        let steps: Vec<(ProcessId, u32)> = run
            .enabled()
            .iter()
            .flat_map(|process| (0..run.alternatives(process)).map(move |choice| (process, choice)))
            .collect();
        for step in steps {
            if run.depth() > start + path.len() {
                run.rewind(start);
                path.iter().try_for_each(|&(process, choice)| run.step(process, choice, &mut label))?;
            }
            run.step(step.0, step.1, &mut label)?;
            *taken += run.depth();
            if has_ended(run) {
                // Where somebody waits for what nobody will change any more, that is one.
                return Ok(if spins_for_ever(run) { Livelock::Yes } else { Livelock::No });
            }
            let state = state_since(run, start);
            is_all &= state.is_some();
            if state.is_some_and(|state| seen.insert(state)) {
                reached.push(Reached { from: next, step });
            }
        }
        if *taken > MOST_STEPS || is_past(deadline) {
            return Ok(Livelock::Unknown);
        }
        next += 1;
    }
    Ok(if is_all { Livelock::Yes } else { Livelock::Unknown })
}

/// The steps that lead to the state of a number; 0 is where they start.
fn path_to(reached: &[Reached], mut number: usize) -> Vec<(ProcessId, u32)> {
    let mut path = Vec::new();
    while let Some(one) = number.checked_sub(1).map(|at| &reached[at]) {
        path.push(one.step);
        number = one.from;
    }
    path.reverse();
    path
}

impl Walk<'_> {
    /// Whether the execution, in which nobody goes on but those who are stopped, is a livelock. Breaks if the run
    /// can't go on.
    pub fn is_livelock(&mut self) -> ControlFlow<(), bool> {
        let deadline = self.deadline();
        let Walk { run, trace, order, stops, livelocks, .. } = self;
        let decided = livelocks.decide(&mut **run, Walked { trace, order }, stops.all(), deadline);
        match decided.and_then(|decided| come_back(&mut **run, trace).map(|()| decided)) {
            Ok(Livelock::Unknown) => self.miss(NotExhaustive::Undecided),
            Ok(decided) => return ControlFlow::Continue(decided == Livelock::Yes),
            Err(stop) => {
                self.note(stop);
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(false)
    }
}
