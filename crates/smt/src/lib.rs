//! Linear arithmetic over the integers with uninterpreted functions.
//!
//! A [`Formula`] is made of [`Atom`]s, which are comparisons of [`Linear`] sums in a form of their own: `a`
//! and `not a` are one atom, and equal comparisons are equal. Functions are variables with an
//! [`Application`], so that a sum knows nothing of them. A [`Session`] holds one formula and answers, again
//! and again, whether it can be true together with some literals. [`Embedded`] is a session that needs
//! nothing but this crate; [`External`] asks a program that speaks SMT-LIB 2; [`CrossCheck`] asks both.
//!
//! Integers are mathematical. Invariants:
//! * [`Answer::Unsat`] is never said unless it was proved; whatever does not fit in 128 bits, or costs more
//!   than the [`Work`] that was given, is [`Answer::Unknown`];
//! * every model of [`Answer::Sat`] was put into the formula and made it true;
//! * the same questions in the same order have the same answers, but for external programs, which have a
//!   limit of time.

mod atom;
mod cross_check;
mod embedded;
mod external;
mod formula;
mod linear;
mod omega;
mod parse;

pub use atom::{Atom, Literal, Relation};
pub use cross_check::CrossCheck;
pub use embedded::Embedded;
pub use external::{External, SolverProgram};
pub use formula::{Application, Formula, congruence};
pub use linear::{Linear, Var};

use std::collections::BTreeMap;

/// Values of variables; those that are not there are 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Model(pub BTreeMap<Var, i128>);

impl Model {
    /// What a variable is.
    pub fn value(&self, var: Var) -> i128 {
        self.0.get(&var).copied().unwrap_or_default()
    }
}

/// What a session says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It can be true, as here.
    Sat(Model),
    /// It can't.
    Unsat,
    /// That took more than was allowed, or did not fit.
    Unknown,
}

/// How much may be done: a number that does not depend on how fast the machine is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work(pub u64);

/// There is no work left, or a number did not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exhausted;

impl Work {
    /// Does so much.
    ///
    /// # Errors
    /// If that is more than is left; then nothing is left.
    pub fn spend(&mut self, amount: usize) -> Result<(), Exhausted> {
        let left = self.0.checked_sub(amount as u64);
        self.0 = left.unwrap_or(0);
        left.map(|_| ()).ok_or(Exhausted)
    }
}

/// A formula about which one can ask.
pub trait Session {
    /// Whether the formula can be true together with these literals.
    fn check(&mut self, literals: &[Literal], work: &mut Work) -> Answer;

    /// What went wrong so far that a user should know, in one sentence.
    fn complaint(&self) -> Option<&str> {
        None
    }
}
