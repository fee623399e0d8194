//! When blocks of code commute.
//!
//! A front end tells what a block does as a [`Block`]: a deterministic transition system, whose paths have a
//! condition and assign everything at once (CAV'18, definition 5), with what is created or told on the way
//! (definition 6) and functions without a meaning for what is not linear (definition 7). [`compose`] runs two
//! blocks in both orders and gives a formula that says where the orders differ; [`synthesise`] finds the
//! weakest conjunctions of its comparisons that rule this out: the constraints of the pair.
//!
//! Integers are mathematical here; a front end whose integers are not uses a constraint only where
//! [`Pair::computed`] stays within its own.
//!
//! Invariant: a constraint is given only if it was proved that the orders agree wherever it holds.

mod block;
mod compose;
mod map;
mod search_solver;
mod show;
mod synthesis;
mod table;

pub use block::{Block, Effect, Path, Terms};
pub use compose::{Creation, Pair, compose};
pub use mazurka_smt::SolverProgram;
pub use search_solver::SearchSolver;
pub use show::{Names, show_constraint, show_formula, show_literal};
pub use synthesis::{Constraint, Independence, Settings, Solver, refute, synthesise};
pub use table::{DeclaredRow, Described, PairRow, Standing, Table};
