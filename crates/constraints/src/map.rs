//! Which sets of literals are still to be looked at.
//!
//! An implicant of a formula has a literal in common with every counterexample's contrary: it is a hitting
//! set. The smallest sets that hit all counterexamples known so far come from a SAT solver, in which each
//! literal is a variable; what has been dealt with is blocked, with all that contains it.

use batsat::{BasicCallbacks, BasicSolver, Lit, Solver, SolverInterface, SolverOpts, lbool};

/// Sets of literals, by their numbers.
pub(crate) struct Map {
    sat: BasicSolver,
    literals: Vec<Lit>,
}

impl Map {
    /// Over so many atoms; atom `n` has the literals `2n` (it holds) and `2n + 1`, of which a set has one at
    /// most.
    pub fn new(atoms: usize) -> Map {
        let mut sat = Solver::new(SolverOpts::default(), BasicCallbacks::new());
        // Left to itself, the solver leaves literals out.
        let literals: Vec<Lit> =
            (0..2 * atoms).map(|_| Lit::new(sat.new_var(lbool::FALSE, true), true)).collect();
        for pair in literals.chunks(2) {
            sat.add_clause_reuse(&mut vec![!pair[0], !pair[1]]);
        }
        Map { sat, literals }
    }

    /// A set that is left; the smaller ones among comparable ones first, as far as deletion finds them.
    pub fn next(&mut self) -> Option<Vec<usize>> {
        if self.sat.solve_limited(&[]) != lbool::TRUE {
            return None;
        }
        Some((0..self.literals.len()).filter(|&at| self.has(at)).collect())
    }

    fn has(&self, at: usize) -> bool {
        self.sat.value_lit(self.literals[at]) == lbool::TRUE
    }

    /// From now on a set has one of these.
    pub fn hit(&mut self, literals: impl Iterator<Item = usize>) {
        let mut clause: Vec<Lit> = literals.map(|at| self.literals[at]).collect();
        self.sat.add_clause_reuse(&mut clause);
    }

    /// From now on no set contains all of these.
    pub fn block(&mut self, literals: &[usize]) {
        let mut clause: Vec<Lit> = literals.iter().map(|&at| !self.literals[at]).collect();
        self.sat.add_clause_reuse(&mut clause);
    }
}
