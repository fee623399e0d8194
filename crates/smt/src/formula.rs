//! Formulas over atoms, and what functions without a meaning add to them.

use std::collections::BTreeSet;

use crate::{Atom, Linear, Literal, Model, Var};

/// A formula. What is known to be true or false within it has been put in by the constructors.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Formula {
    /// Always.
    True,
    /// Never.
    False,
    /// If the literal holds.
    Literal(Literal),
    /// If all hold; there are at least two.
    And(Vec<Formula>),
    /// If one holds; there are at least two.
    Or(Vec<Formula>),
}

/// A variable that stands for a function of other things.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Application {
    /// The variable.
    pub var: Var,
    /// Which function.
    pub function: u32,
    /// Of what.
    pub arguments: Vec<Linear>,
}

impl Formula {
    /// A truth value.
    pub fn of(truth: bool) -> Formula {
        if truth { Formula::True } else { Formula::False }
    }

    pub(crate) fn literal(atom: Atom, positive: bool) -> Formula {
        Formula::Literal(Literal { atom, positive })
    }

    /// `left <= right`; none if a number does not fit.
    pub fn at_most(left: &Linear, right: &Linear) -> Option<Formula> {
        Atom::less_or_equal(left, right)
    }

    /// `left = right`; none if a number does not fit.
    pub fn equal(left: &Linear, right: &Linear) -> Option<Formula> {
        Atom::equal(left, right)
    }

    /// If all hold.
    pub fn and(parts: impl IntoIterator<Item = Formula>) -> Formula {
        let mut all = BTreeSet::new();
        for part in parts {
            match part {
                Formula::True => {}
                Formula::False => return Formula::False,
                Formula::And(inner) => all.extend(inner),
                other => {
                    all.insert(other);
                }
            }
        }
        if contradictory(&all) {
            return Formula::False;
        }
        match all.len() {
            0 => Formula::True,
            1 => all.pop_first().unwrap_or(Formula::True),
            _ => Formula::And(all.into_iter().collect()),
        }
    }

    /// If one holds.
    pub fn or(parts: impl IntoIterator<Item = Formula>) -> Formula {
        let mut all = BTreeSet::new();
        for part in parts {
            match part {
                Formula::False => {}
                Formula::True => return Formula::True,
                Formula::Or(inner) => all.extend(inner),
                other => {
                    all.insert(other);
                }
            }
        }
        if contradictory(&all) {
            return Formula::True;
        }
        match all.len() {
            0 => Formula::False,
            1 => all.pop_first().unwrap_or(Formula::False),
            _ => Formula::Or(all.into_iter().collect()),
        }
    }

    /// If it does not hold.
    #[must_use]
    pub fn negated(&self) -> Formula {
        match self {
            Formula::True => Formula::False,
            Formula::False => Formula::True,
            Formula::Literal(literal) => Formula::Literal(literal.negated()),
            Formula::And(parts) => Formula::or(parts.iter().map(Formula::negated)),
            Formula::Or(parts) => Formula::and(parts.iter().map(Formula::negated)),
        }
    }

    /// Whether it holds; none if a number does not fit.
    pub fn holds(&self, model: &Model) -> Option<bool> {
        match self {
            Formula::True => Some(true),
            Formula::False => Some(false),
            Formula::Literal(literal) => literal.holds(model),
            Formula::And(parts) => parts.iter().try_fold(true, |all, part| Some(part.holds(model)? && all)),
            Formula::Or(parts) => parts.iter().try_fold(false, |any, part| Some(part.holds(model)? || any)),
        }
    }

    /// The same with sums in the place of variables; none if a number does not fit.
    pub fn substitute(&self, with: &mut impl FnMut(Var) -> Option<Linear>) -> Option<Formula> {
        Some(match self {
            Formula::True | Formula::False => self.clone(),
            Formula::Literal(literal) => {
                let atom = literal.atom.substitute(with)?;
                if literal.positive { atom } else { atom.negated() }
            }
            Formula::And(parts) => {
                let parts: Option<Vec<_>> = parts.iter().map(|part| part.substitute(with)).collect();
                Formula::and(parts?)
            }
            Formula::Or(parts) => {
                let parts: Option<Vec<_>> = parts.iter().map(|part| part.substitute(with)).collect();
                Formula::or(parts?)
            }
        })
    }

    /// Its atoms, in order.
    pub fn atoms(&self) -> BTreeSet<&Atom> {
        let mut atoms = BTreeSet::new();
        self.each_literal(&mut |literal| {
            atoms.insert(&literal.atom);
        });
        atoms
    }

    /// Its variables, in order.
    pub fn vars(&self) -> BTreeSet<Var> {
        let mut vars = BTreeSet::new();
        self.each_literal(&mut |literal| vars.extend(literal.atom.sum().iter().map(|&(var, _)| var)));
        vars
    }

    fn each_literal<'a>(&'a self, with: &mut impl FnMut(&'a Literal)) {
        match self {
            Formula::True | Formula::False => {}
            Formula::Literal(literal) => with(literal),
            Formula::And(parts) | Formula::Or(parts) => parts.iter().for_each(|part| part.each_literal(with)),
        }
    }
}

/// Whether a literal is there with its contrary.
fn contradictory(parts: &BTreeSet<Formula>) -> bool {
    parts.iter().any(|part| match part {
        Formula::Literal(literal) if literal.positive => parts.contains(&Formula::Literal(literal.negated())),
        _ => false,
    })
}

/// What follows from equal arguments having equal results, for all functions that the formula has to do with
/// (Ackermann's reduction); none if a number does not fit.
pub fn congruence(formula: &Formula, applications: &[Application]) -> Option<Formula> {
    let mut wanted = formula.vars();
    let mut used: Vec<&Application> = Vec::new();
    // The arguments of one that is used are used too, whatever the order in which they were made.
    loop {
        let more = applications.iter().filter(|one| wanted.contains(&one.var) && !used.contains(one));
        let more: Vec<&Application> = more.collect();
        if more.is_empty() {
            break;
        }
        for one in &more {
            wanted.extend(one.arguments.iter().flat_map(|sum| sum.terms()).map(|&(var, _)| var));
        }
        used.extend(more);
    }
    let mut axioms = Vec::new();
    for (at, one) in used.iter().enumerate() {
        for other in &used[..at] {
            if one.function != other.function || one.arguments.len() != other.arguments.len() {
                continue;
            }
            let mut parts = vec![Formula::equal(&Linear::var(one.var), &Linear::var(other.var))?];
            for (left, right) in one.arguments.iter().zip(&other.arguments) {
                parts.push(Formula::equal(left, right)?.negated());
            }
            axioms.push(Formula::or(parts));
        }
    }
    Some(Formula::and(axioms))
}
