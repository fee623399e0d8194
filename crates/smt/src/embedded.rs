//! The session that needs no other program: a SAT solver for the shape of the formula, the Omega test for
//! what its atoms say.
//!
//! An equality is two inequalities to the SAT solver, so that the theory never sees the contrary of one. What
//! the theory refutes is made smaller before it becomes a clause, and clauses stay for later questions.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

use batsat::{BasicCallbacks, BasicSolver, Lit, Solver, SolverInterface, SolverOpts, lbool};

use crate::omega::{self, Row};
use crate::{Answer, Application, Atom, Exhausted, Formula, Literal, Model, Relation, Session, Var, Work};

/// Our own decision procedure.
pub struct Embedded {
    sat: BasicSolver,
    /// How often the SAT solver may ask whether to stop.
    patience: Rc<Cell<u64>>,
    /// The formula, with all that was added for its functions; none if that does not fit.
    formula: Option<Formula>,
    atoms: BTreeMap<Atom, Lit>,
    /// The inequalities among them, in the order in which they were met.
    inequalities: Vec<(Atom, Lit)>,
}

impl Embedded {
    /// A session about a formula, with functions of which nothing is known but that they are functions.
    pub fn new(formula: &Formula, applications: &[Application]) -> Embedded {
        let patience: Rc<Cell<u64>> = Rc::default();
        let left = Rc::clone(&patience);
        let mut callbacks = BasicCallbacks::new();
        callbacks.set_stop(move || {
            let before = left.get();
            left.set(before.saturating_sub(1));
            before == 0
        });
        let mut session = Embedded {
            sat: Solver::new(SolverOpts::default(), callbacks),
            patience,
            formula: crate::congruence(formula, applications)
                .map(|axioms| Formula::and([formula.clone(), axioms])),
            atoms: BTreeMap::new(),
            inequalities: Vec::new(),
        };
        if let Some(formula) = session.formula.clone() {
            let holds = session.encode(&formula);
            session.clause(&[holds]);
        }
        session
    }

    fn fresh(&mut self) -> Lit {
        Lit::new(self.sat.new_var_default(), true)
    }

    fn clause(&mut self, literals: &[Lit]) {
        self.sat.add_clause_reuse(&mut literals.to_vec());
    }

    /// A literal of the SAT solver that says what the formula says.
    fn encode(&mut self, formula: &Formula) -> Lit {
        match formula {
            Formula::True | Formula::False => {
                let truth = self.fresh();
                self.clause(&[truth]);
                if *formula == Formula::True { truth } else { !truth }
            }
            Formula::Literal(literal) => self.literal(literal),
            Formula::And(parts) => {
                let parts: Vec<Lit> = parts.iter().map(|part| !self.encode(part)).collect();
                !self.any(parts)
            }
            Formula::Or(parts) => {
                let parts: Vec<Lit> = parts.iter().map(|part| self.encode(part)).collect();
                self.any(parts)
            }
        }
    }

    /// A literal that holds exactly if one of these does.
    fn any(&mut self, mut parts: Vec<Lit>) -> Lit {
        let any = self.fresh();
        for &part in &parts {
            self.clause(&[!part, any]);
        }
        parts.push(!any);
        self.clause(&parts);
        any
    }

    fn literal(&mut self, literal: &Literal) -> Lit {
        let atom = self.atom(&literal.atom);
        if literal.positive { atom } else { !atom }
    }

    fn atom(&mut self, atom: &Atom) -> Lit {
        if let Some(&known) = self.atoms.get(atom) {
            return known;
        }
        let lit = match (atom.relation(), atom.bound().checked_sub(1)) {
            (Relation::AtMost, _) => {
                let lit = self.fresh();
                self.inequalities.push((atom.clone(), lit));
                lit
            }
            (Relation::Equal, Some(below)) => {
                let (at_most, less) =
                    (self.atom(&atom.at_most(atom.bound())), self.atom(&atom.at_most(below)));
                self.clause(&[!less, at_most]);
                !self.any(vec![!at_most, less])
            }
            // At most the least number there is: it is that number.
            (Relation::Equal, None) => self.atom(&atom.at_most(atom.bound())),
        };
        self.atoms.insert(atom.clone(), lit);
        lit
    }

    /// What the SAT solver has the inequalities be.
    fn chosen(&self) -> Vec<(Literal, Lit)> {
        let chosen = |(atom, lit): &(Atom, Lit)| {
            let positive = self.sat.value_lit(*lit) == lbool::TRUE;
            (Literal { atom: atom.clone(), positive }, if positive { *lit } else { !*lit })
        };
        self.inequalities.iter().map(chosen).collect()
    }

    fn answer(&mut self, literals: &[Literal], work: &mut Work) -> Result<Answer, Exhausted> {
        let Some(formula) = self.formula.clone() else { return Err(Exhausted) };
        let assumptions: Vec<Lit> = literals.iter().map(|literal| self.literal(literal)).collect();
        loop {
            work.spend(1 + self.inequalities.len())?;
            self.patience.set(work.0);
            let found = self.sat.solve_limited(&assumptions);
            work.0 = self.patience.get().min(work.0);
            if found == lbool::FALSE {
                return Ok(Answer::Unsat);
            }
            if found != lbool::TRUE {
                return Err(Exhausted);
            }
            let mut chosen = self.chosen();
            if let Some(model) = solution(&chosen, work)? {
                let holds = literals.iter().all(|literal| literal.holds(&model) == Some(true));
                let right = holds && formula.holds(&model) == Some(true);
                return if right { Ok(Answer::Sat(model)) } else { Err(Exhausted) };
            }
            shrink(&mut chosen, work);
            let clause: Vec<Lit> = chosen.iter().map(|(_, lit)| !*lit).collect();
            self.clause(&clause);
        }
    }
}

impl Session for Embedded {
    fn check(&mut self, literals: &[Literal], work: &mut Work) -> Answer {
        self.answer(literals, work).unwrap_or(Answer::Unknown)
    }
}

/// Takes out of literals that can't be all what is not needed for that, as far as there is work left.
fn shrink(literals: &mut Vec<(Literal, Lit)>, work: &mut Work) {
    let mut at = literals.len();
    while at > 0 {
        at -= 1;
        let one = literals.remove(at);
        if solution(literals, work) != Ok(None) {
            literals.insert(at, one);
        }
    }
}

/// Values at which inequalities hold, if there are any.
fn solution(literals: &[(Literal, Lit)], work: &mut Work) -> Result<Option<Model>, Exhausted> {
    let mut columns: BTreeMap<Var, usize> = BTreeMap::new();
    for (literal, _) in literals {
        for &(var, _) in literal.atom.sum() {
            let next = columns.len() + 1;
            columns.entry(var).or_insert(next);
        }
    }
    let rows: Option<Vec<Row>> = literals.iter().map(|(literal, _)| row(literal, &columns)).collect();
    let solution = omega::solve(rows.ok_or(Exhausted)?, columns.len(), work)?;
    let model = |values: Vec<i128>| Model(columns.iter().map(|(&var, &at)| (var, values[at - 1])).collect());
    Ok(solution.map(model))
}

/// An inequality as a row.
fn row(literal: &Literal, columns: &BTreeMap<Var, usize>) -> Option<Row> {
    let mut row = vec![0; columns.len() + 1];
    let bound = literal.atom.bound();
    // sum <= bound is bound - sum >= 0, and its contrary sum - bound - 1 >= 0.
    row[0] = if literal.positive { bound } else { bound.checked_neg()?.checked_sub(1)? };
    for &(var, by) in literal.atom.sum() {
        row[columns[&var]] = if literal.positive { by.checked_neg()? } else { by };
    }
    Some(row)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Linear;

    fn var(at: u32) -> Linear {
        Linear::var(Var(at))
    }

    fn plus(sum: &Linear, number: i128) -> Linear {
        sum.plus(&Linear::constant(number)).unwrap()
    }

    #[test]
    fn between_two_neighbours_there_is_nothing() {
        let (x, y) = (var(0), var(1));
        let above = Formula::at_most(&plus(&x, 1), &y).unwrap();
        let below = Formula::at_most(&plus(&y, 1), &plus(&x, 2)).unwrap();
        let unequal = Formula::equal(&y, &plus(&x, 1)).unwrap().negated();
        let mut session = Embedded::new(&Formula::and([above.clone(), below.clone(), unequal]), &[]);
        assert_eq!(session.check(&[], &mut Work(10_000)), Answer::Unsat);
        let mut session = Embedded::new(&Formula::and([above, below]), &[]);
        let Answer::Sat(model) = session.check(&[], &mut Work(10_000)) else { panic!("it has a solution") };
        assert_eq!(model.value(Var(1)), model.value(Var(0)) + 1);
    }

    #[test]
    fn functions_of_equals_are_equal() {
        // f(f(x)) where f(x) = x: f(f(x)) = x.
        let inner = Application { var: Var(1), function: 0, arguments: vec![var(0)] };
        let outer = Application { var: Var(2), function: 0, arguments: vec![var(1)] };
        let same = Formula::equal(&var(1), &var(0)).unwrap();
        let other = Formula::equal(&var(2), &var(0)).unwrap().negated();
        let mut session =
            Embedded::new(&Formula::and([same, other.clone()]), &[inner.clone(), outer.clone()]);
        assert_eq!(session.check(&[], &mut Work(10_000)), Answer::Unsat);
        let mut session = Embedded::new(&other, &[inner, outer]);
        assert!(matches!(session.check(&[], &mut Work(10_000)), Answer::Sat(_)));
    }

    #[test]
    fn without_work_nothing_is_known() {
        let formula = Formula::at_most(&var(0), &var(1)).unwrap();
        assert_eq!(Embedded::new(&formula, &[]).check(&[], &mut Work(1)), Answer::Unknown);
    }

    #[test]
    fn literals_count_for_one_question_only() {
        let positive = Formula::at_most(&Linear::constant(1), &var(0)).unwrap();
        let Formula::Literal(literal) = positive.clone() else { panic!("a literal") };
        let mut session = Embedded::new(&positive, &[]);
        assert_eq!(session.check(&[literal.negated()], &mut Work(10_000)), Answer::Unsat);
        assert!(matches!(session.check(&[literal], &mut Work(10_000)), Answer::Sat(_)));
    }
}
