//! Who answers while a search waits: asked about one pair after the other.
//!
//! A program that is asked may be missing, hang, or answer nonsense. Then nobody asks it again: the search goes on
//! without its constraints, and does not wait for it at every pair anew.

use std::sync::{Arc, Mutex};

use mazurka_smt::{Formula, Work};

use crate::compose::Pair;
use crate::synthesis::{Independence, Settings, Solver, synthesise};

/// Who answers a search. Clones share what was complained of.
#[derive(Clone, Debug, Default)]
pub struct SearchSolver {
    solver: Solver,
    complaint: Arc<Mutex<Option<String>>>,
}

impl SearchSolver {
    /// Nobody has complained yet.
    pub fn new(solver: Solver) -> SearchSolver {
        SearchSolver { solver, complaint: Arc::default() }
    }

    /// Constraints of a pair, found with no more work than this, of a program in whose states the invariant holds.
    pub fn synthesise(&self, pair: &Pair, invariant: Formula, work: Work, most: usize) -> Independence {
        if let Some(complaint) = self.complaint() {
            return Independence::nothing(complaint);
        }
        let settings = Settings { solver: self.solver.clone(), work: work.0, most, invariant };
        let found = synthesise(pair, &settings);
        if let (Some(complaint), Ok(mut known)) = (&found.complaint, self.complaint.lock()) {
            known.get_or_insert_with(|| complaint.clone());
        }
        found
    }

    /// What went wrong with a program that was asked, in one sentence.
    pub fn complaint(&self) -> Option<String> {
        self.complaint.lock().ok()?.clone()
    }
}
