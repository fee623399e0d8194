//! Comparisons in one form.

use crate::linear::common_divisor;
use crate::{Formula, Linear, Model, Var};

/// How a sum is compared with a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Relation {
    /// It is at most the number.
    AtMost,
    /// It is the number.
    Equal,
}

/// A comparison of a sum with a number. The sum has a variable, its first coefficient is positive, and no
/// number but 1 divides all its coefficients: so comparisons that mean the same, or the contrary, are equal.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Atom {
    sum: Vec<(Var, i128)>,
    relation: Relation,
    bound: i128,
}

/// An atom or its contrary.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Literal {
    /// The atom.
    pub atom: Atom,
    /// Whether it holds.
    pub positive: bool,
}

impl Literal {
    /// The contrary.
    #[must_use]
    pub fn negated(&self) -> Literal {
        Literal { atom: self.atom.clone(), positive: !self.positive }
    }

    /// Whether it holds; none if a number does not fit.
    pub fn holds(&self, model: &Model) -> Option<bool> {
        Some(self.atom.holds(model)? == self.positive)
    }
}

impl Atom {
    /// The variables and their coefficients.
    pub fn sum(&self) -> &[(Var, i128)] {
        &self.sum
    }

    /// How the sum is compared.
    pub fn relation(&self) -> Relation {
        self.relation
    }

    /// With what.
    pub fn bound(&self) -> i128 {
        self.bound
    }

    /// Whether it holds; none if a number does not fit.
    pub fn holds(&self, model: &Model) -> Option<bool> {
        let sum = self
            .sum
            .iter()
            .try_fold(0i128, |sum, &(var, by)| sum.checked_add(model.value(var).checked_mul(by)?))?;
        Some(match self.relation {
            Relation::AtMost => sum <= self.bound,
            Relation::Equal => sum == self.bound,
        })
    }

    /// The sum is the bound, whatever the relation was.
    #[must_use]
    pub fn equality(&self) -> Atom {
        Atom { relation: Relation::Equal, ..self.clone() }
    }

    /// The same with sums in the place of variables; none if a number does not fit.
    pub(crate) fn substitute(&self, with: &mut impl FnMut(Var) -> Option<Linear>) -> Option<Formula> {
        let mut sum = Linear::default();
        for &(var, by) in &self.sum {
            sum = sum.plus(&with(var)?.times(by)?)?;
        }
        let bound = Linear::constant(self.bound);
        match self.relation {
            Relation::AtMost => Atom::less_or_equal(&sum, &bound),
            Relation::Equal => Atom::equal(&sum, &bound),
        }
    }

    /// The same sum, at most that.
    pub(crate) fn at_most(&self, bound: i128) -> Atom {
        Atom { sum: self.sum.clone(), relation: Relation::AtMost, bound }
    }

    /// `left <= right`; none if a number does not fit.
    pub(crate) fn less_or_equal(left: &Linear, right: &Linear) -> Option<Formula> {
        let difference = left.minus(right)?;
        let Some(divisor) = divisor(&difference) else {
            return Some(Formula::of(difference.offset() <= 0));
        };
        let bound = difference.offset().checked_neg()?.div_euclid(divisor);
        let sum = divided(&difference, divisor);
        Some(if sum[0].1 > 0 {
            Formula::literal(Atom { sum, relation: Relation::AtMost, bound }, true)
        } else {
            // The contrary of `-sum <= -bound - 1`.
            let sum = negated(sum)?;
            let bound = bound.checked_neg()?.checked_sub(1)?;
            Formula::literal(Atom { sum, relation: Relation::AtMost, bound }, false)
        })
    }

    /// `left = right`; none if a number does not fit.
    pub(crate) fn equal(left: &Linear, right: &Linear) -> Option<Formula> {
        let difference = left.minus(right)?;
        let Some(divisor) = divisor(&difference) else {
            return Some(Formula::of(difference.offset() == 0));
        };
        if difference.offset().checked_rem(divisor)? != 0 {
            return Some(Formula::False);
        }
        let mut bound = difference.offset().checked_div(divisor)?.checked_neg()?;
        let mut sum = divided(&difference, divisor);
        if sum[0].1 < 0 {
            (sum, bound) = (negated(sum)?, bound.checked_neg()?);
        }
        Some(Formula::literal(Atom { sum, relation: Relation::Equal, bound }, true))
    }
}

fn divisor(sum: &Linear) -> Option<i128> {
    let divisor = common_divisor(sum.terms().iter().map(|&(_, by)| by));
    (divisor != 0).then_some(divisor)
}

fn divided(sum: &Linear, divisor: i128) -> Vec<(Var, i128)> {
    sum.terms().iter().map(|&(var, by)| (var, by / divisor)).collect()
}

fn negated(sum: Vec<(Var, i128)>) -> Option<Vec<(Var, i128)>> {
    sum.into_iter().map(|(var, by)| Some((var, by.checked_neg()?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_form_for_what_means_the_same() {
        let (x, y) = (Linear::var(Var(0)), Linear::var(Var(1)));
        let less = |a: &Linear, b: &Linear| Atom::less_or_equal(a, b).unwrap();
        // 2x <= 2y + 1 is x <= y, and not (y <= x - 1).
        let doubled = less(&x.times(2).unwrap(), &y.times(2).unwrap().plus(&Linear::constant(1)).unwrap());
        assert_eq!(doubled, less(&x, &y));
        assert_eq!(less(&y, &x.plus(&Linear::constant(-1)).unwrap()), less(&x, &y).negated());
        assert_eq!(Atom::equal(&x, &y), Atom::equal(&y, &x));
        assert_eq!(Atom::equal(&x.times(2).unwrap(), &Linear::constant(1)), Some(Formula::False));
        assert_eq!(less(&x, &x), Formula::True);
    }
}
