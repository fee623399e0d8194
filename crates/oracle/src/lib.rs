//! Brute force: every interleaving of a small program, with nothing left out.
//!
//! What the algorithms are measured against. It uses no clock, no race, no sleep set: it tries every enabled
//! process and every outcome at every node, and compares the executions by keys computed pair by pair from
//! their labels ([`mazurka_trace::equivalence`]). Programs whose executions need not end are searched state
//! by state instead ([`reachable`]).

mod commuting;
mod states;

use std::collections::{BTreeMap, BTreeSet};

use mazurka_program::{FailureKind, Footprints, Label, ProcessId, Program, Run, State};
use mazurka_trace::Trace;
use mazurka_trace::dependence::Awaited;
use mazurka_trace::equivalence::{self, Key};

pub use commuting::{Exact, ExactRun};
pub use states::{Livelock, Reachable, reachable};

/// A failure, whoever meets it and however often: its kind and what it says.
pub type Failed = (FailureKind, String);

/// The processes that wait at the end, by their names, and the state they wait in.
pub type Deadlock = (Vec<Vec<u32>>, Option<State>);

/// The processes that wait at the end, by their names, and what all processes know then.
pub type KnownDeadlock = (Vec<Vec<u32>>, Option<Vec<i64>>);

/// Everything that a program can do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Truth {
    /// How many executions there are, assumed ones among them.
    pub interleavings: u64,
    /// The Mazurkiewicz classes of complete executions, each with the state at its end.
    pub mazurkiewicz: BTreeMap<Key, Option<State>>,
    /// Classes whose executions do not all end in the same state: labels that do not tell all that a step
    /// touches.
    pub inconsistent: BTreeSet<Key>,
    /// The classes of complete executions modulo observers.
    pub observers: BTreeSet<Key>,
    /// The same of executions in which an assumption was false.
    pub observers_assumed: BTreeSet<Key>,
    /// The states at the end of complete executions, without shared memory, where no mailbox has two messages
    /// that nobody took: the order of those is known to nobody.
    pub known: BTreeSet<Vec<i64>>,
    /// The deadlocks: who waits, and the state as in `known`.
    pub known_deadlocks: BTreeSet<KnownDeadlock>,
    /// The reads-from classes of complete executions.
    pub reads_from: BTreeSet<Key>,
    /// The same, told apart also by who wrote each location last.
    pub reads_from_and_memory: BTreeSet<Key>,
    /// The reads-from classes of executions in which an assumption was false.
    pub reads_from_assumed: BTreeSet<Key>,
    /// The Mazurkiewicz classes of executions in which an assumption was false.
    pub assumed: BTreeSet<Key>,
    /// The states at the end of complete executions.
    pub states: BTreeSet<State>,
    /// The same without shared memory.
    pub locals: BTreeSet<Vec<i64>>,
    /// The failures of all executions, deadlocks apart.
    pub failures: BTreeSet<Failed>,
    /// The deadlocks.
    pub deadlocks: BTreeSet<Deadlock>,
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TooMuch {
    /// More executions than allowed.
    Executions,
    /// An execution longer than allowed, or without an end.
    Steps,
    /// More states than allowed.
    States,
    /// The program reached a bound of its own.
    Program,
}

/// How far the oracle goes.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// At most so many executions.
    pub executions: u64,
    /// None longer than this.
    pub steps: usize,
}

/// What the run at the end of an execution says of waiting processes.
pub fn deadlock(run: &impl Run) -> Option<Deadlock> {
    let mut waiting = Vec::new();
    run.waiting(&mut |process, _| waiting.push(run.names().path(process)));
    waiting.sort();
    (!waiting.is_empty() && !run.assumed() && !run.ended_early())
        .then(|| (waiting, run.states().map(|states| states.state())))
}

/// What processes know at the end of an execution: the state without shared memory and without the order of
/// messages that nobody took. None where that order is part of the state, or if there are no states.
pub fn known(trace: &Trace, state: Option<&State>) -> Option<Vec<i64>> {
    let state = state.filter(|_| !equivalence::unread_messages_in_order(trace))?;
    Some(state.local.clone())
}

/// Adds the locations that guards wait for: of a step taken, and of all who wait now.
pub fn note_awaited(run: &impl Run, label: &Label, awaited: &mut Awaited) -> bool {
    let mut new = label.guard.is_some_and(|guard| awaited.insert(guard.location));
    run.waiting(&mut |_, guard| new |= guard.is_some_and(|guard| awaited.insert(guard.location)));
    new
}

/// Everything that a program can do, by trying it.
///
/// # Errors
/// If it is too much.
pub fn truth<P: Program>(program: &P, budget: Budget) -> Result<Truth, TooMuch> {
    loop {
        let mut search = Search {
            run: program.start(Footprints::Dynamic),
            trace: Trace::new(),
            truth: Truth::default(),
            budget,
            label: Label::default(),
            awaited: Awaited::default(),
            more_awaited: false,
        };
        let mut result = search.visit();
        // What guards wait for is known when everything has been tried, and classes depend on it.
        while result.is_ok() && std::mem::take(&mut search.more_awaited) {
            search.truth = Truth::default();
            result = search.visit();
        }
        if !program.begin_again() {
            return result.map(|()| search.truth);
        }
    }
}

struct Search<R> {
    run: R,
    trace: Trace,
    truth: Truth,
    budget: Budget,
    label: Label,
    awaited: Awaited,
    more_awaited: bool,
}

impl<R: Run> Search<R> {
    /// All executions that begin with the present one. The depth is within the budget, so recursion is too.
    fn visit(&mut self) -> Result<(), TooMuch> {
        let enabled: Vec<ProcessId> = self.run.enabled().iter().collect();
        if enabled.is_empty() {
            return self.record();
        }
        let depth = self.trace.len();
        if depth >= self.budget.steps {
            return Err(TooMuch::Steps);
        }
        for process in enabled {
            let outcomes = self.run.alternatives(process);
            for choice in 0..outcomes {
                self.label.clear();
                self.run.step(process, choice, &mut self.label).map_err(|_| TooMuch::Program)?;
                self.trace.push(process, choice, outcomes, &self.label);
                self.more_awaited |= note_awaited(&self.run, &self.label, &mut self.awaited);
                self.visit()?;
                self.trace.truncate(depth);
                self.run.rewind(depth);
            }
        }
        Ok(())
    }

    fn record(&mut self) -> Result<(), TooMuch> {
        let (truth, trace, run) = (&mut self.truth, &self.trace, &self.run);
        let mut goes_on = false;
        run.waiting(&mut |process, _| goes_on |= run.goes_round(process));
        if goes_on && !run.ended_early() {
            return Err(TooMuch::Steps);
        }
        truth.interleavings += 1;
        if truth.interleavings > self.budget.executions {
            return Err(TooMuch::Executions);
        }
        truth.failures.extend(run.failures().iter().map(|failure| (failure.kind, failure.message.clone())));
        let class = equivalence::mazurkiewicz(trace, run.names());
        if run.assumed() {
            if truth.assumed.insert(class) {
                truth.observers_assumed.insert(equivalence::observers(trace, run, &self.awaited));
                truth.reads_from_assumed.insert(equivalence::reads_from(trace, run.names()));
            }
            return Ok(());
        }
        let state = run.states().map(|states| states.state());
        let known = known(trace, state.as_ref());
        if let Some((waiting, state)) = deadlock(run) {
            truth.known_deadlocks.insert((waiting.clone(), known.clone()));
            truth.deadlocks.insert((waiting, state));
        }
        truth.known.extend(known);
        if let Some(state) = &state {
            truth.locals.insert(state.local.clone());
            truth.states.insert(state.clone());
        }
        match truth.mazurkiewicz.get(&class) {
            Some(known) if *known == state => return Ok(()),
            Some(_) => {
                truth.inconsistent.insert(class.clone());
            }
            None => {}
        }
        truth.observers.insert(equivalence::observers(trace, run, &self.awaited));
        truth.reads_from.insert(equivalence::reads_from(trace, run.names()));
        truth.reads_from_and_memory.insert(equivalence::reads_from_and_memory(trace, run.names()));
        truth.mazurkiewicz.insert(class, state);
        Ok(())
    }
}
