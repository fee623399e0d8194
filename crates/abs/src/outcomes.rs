//! The distinct final states of a search.

use std::collections::HashMap;

use mazurka_program::Run;

use crate::machine::AbsRun;

/// So many distinct states are told apart. Beyond that it is only known that there are more.
const MOST_STATES: usize = 100_000;
/// Of so many the terms are kept.
const MOST_TOLD: usize = 1_000;

/// A final state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinalState {
    /// The objects as terms, as they were in the first execution that ended so ([`AbsRun::final_state_terms`]).
    pub terms: Vec<String>,
    /// Whether some task waits in it.
    pub deadlock: bool,
    /// How many executions ended so.
    pub executions: u64,
}

/// The distinct final states of executions. States are equal up to the names of objects, tasks and futures.
#[derive(Clone, Debug, Default)]
pub struct FinalStates {
    known: HashMap<Vec<i64>, usize>,
    told: Vec<FinalState>,
    more: bool,
}

impl FinalStates {
    /// Notes the state of a run at the end of an execution.
    pub fn note(&mut self, run: &AbsRun) {
        let Some(state) = run.states().map(|states| states.state()) else { return };
        if let Some(&at) = self.known.get(&state.shared) {
            if let Some(known) = self.told.get_mut(at) {
                known.executions += 1;
            }
            return;
        }
        if self.known.len() == MOST_STATES {
            self.more = true;
            return;
        }
        self.known.insert(state.shared, self.known.len());
        if self.told.len() < MOST_TOLD {
            let mut deadlock = false;
            run.waiting(&mut |_, _| deadlock = true);
            self.told.push(FinalState { terms: run.final_state_terms(), deadlock, executions: 1 });
        }
    }

    /// How many there are; at least, if there are [more](FinalStates::more).
    pub fn count(&self) -> usize {
        self.known.len()
    }

    /// Whether there are more than were counted.
    pub fn more(&self) -> bool {
        self.more
    }

    /// The first ones, in the order in which they were met.
    pub fn told(&self) -> &[FinalState] {
        &self.told
    }
}
