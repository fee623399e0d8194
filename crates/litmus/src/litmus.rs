//! A compiled program that can be started again and again.

use std::sync::Arc;

use mazurka_constraints::{DeclaredRow, SearchSolver, Settings, Solver, Standing, Table};
use mazurka_program::{Footprints, Program};

use crate::code::Image;
use crate::constraints::Judged;
use crate::dead::MayRead;
use crate::machine::LitmusRun;

/// Rules that labels follow. All hold unless a test of the laws breaks one on purpose.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LabelRules {
    /// All that a guard reads counts as one location.
    pub guard_is_one_location: bool,
    /// Static footprints are given to those who ask for them.
    pub static_footprints: bool,
    /// A `try_lock` touches its lock whatever its result.
    pub failed_try_lock_counts: bool,
    /// A `try_lock` that fails only reads its lock, as in C. That its step varies is not told, so this is for brute
    /// force alone.
    pub failed_try_lock_reads: bool,
    /// Who polls a cell waits until it leads elsewhere; taken out, every poll is a step.
    pub polls_wait: bool,
    /// A round ends where a process holds as few locks as anywhere in it; taken out, anywhere. No verdict depends
    /// on that: it keeps processes from being stopped where others wait for them.
    pub few_locks: bool,
}

impl Default for LabelRules {
    fn default() -> LabelRules {
        LabelRules {
            guard_is_one_location: true,
            static_footprints: true,
            failed_try_lock_counts: true,
            failed_try_lock_reads: false,
            polls_wait: true,
            few_locks: true,
        }
    }
}

/// A compiled `.maz` program. Clones share it.
#[derive(Clone, Debug)]
pub struct Litmus {
    image: Arc<Image>,
    rules: LabelRules,
    /// What may be read from where on, if states are told without dead variables.
    may_read: Option<Arc<MayRead>>,
    /// What is known of the constraints that it declares.
    judged: Option<Arc<Judged>>,
    /// Who answers searches that ask when steps commute.
    solver: SearchSolver,
}

impl Litmus {
    pub(crate) fn new(image: Image) -> Litmus {
        let judged = Judged::of(&image).map(Arc::new);
        Litmus {
            image: Arc::new(image),
            rules: LabelRules::default(),
            may_read: None,
            judged,
            solver: SearchSolver::default(),
        }
    }

    /// Of the constraints that it declares, those that could neither be proved nor refuted: where both blocks of one
    /// come to be next, both orders are run.
    pub fn open_constraints(&self) -> Vec<DeclaredRow> {
        let rows = self.judged.as_ref().map_or_else(Vec::new, |judged| judged.rows(&self.image));
        rows.into_iter().filter(|row| matches!(row.standing, Standing::Open(_))).collect()
    }

    /// The same program, whose states are told without their dead variables: what no code that is left to run
    /// can read is taken to be 0. Such states have the same futures, and there are fewer of them.
    #[must_use]
    pub fn without_dead_variables(mut self) -> Litmus {
        self.may_read = Some(Arc::new(MayRead::find(&self.image)));
        self
    }

    /// Whether states are told without their dead variables.
    pub fn forgets_dead_variables(&self) -> bool {
        self.may_read.is_some()
    }

    /// The same program with labels that follow other rules.
    #[doc(hidden)]
    #[must_use]
    pub fn with_rules(mut self, rules: LabelRules) -> Litmus {
        if !rules.guard_is_one_location {
            let image = Arc::make_mut(&mut self.image);
            image.vars.iter_mut().for_each(|var| var.groups.clear());
            image.guards.iter_mut().for_each(|guard| guard.group = crate::code::NONE);
        }
        self.rules = rules;
        self
    }

    /// When its steps commute, for people.
    pub fn constraints(&self, settings: &Settings) -> Table {
        crate::constraints::table(&self.image, self.judged.as_deref(), settings)
    }

    /// The same program, whose searches ask this solver when steps commute.
    #[must_use]
    pub fn with_solver(mut self, solver: Solver) -> Litmus {
        self.solver = SearchSolver::new(solver);
        self
    }

    /// What went wrong with the solver that searches asked, in one sentence: they went on without it.
    pub fn solver_complaint(&self) -> Option<String> {
        self.solver.complaint()
    }

    /// The file it was read from, as the user named it; empty if it was made without one.
    pub fn file(&self) -> &str {
        &self.image.file
    }
}

impl Program for Litmus {
    type Run = LitmusRun;

    fn start(&self, footprints: Footprints) -> LitmusRun {
        LitmusRun::new(
            Arc::clone(&self.image),
            footprints,
            self.rules,
            self.may_read.clone(),
            self.judged.clone(),
            self.solver.clone(),
        )
    }
}
