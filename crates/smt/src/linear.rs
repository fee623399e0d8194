//! Sums of variables with coefficients, in checked arithmetic.

use crate::Model;

/// A variable of a formula.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Var(pub u32);

/// A sum of variables, each with a coefficient other than 0, and of a constant. Variables are in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Linear {
    terms: Vec<(Var, i128)>,
    constant: i128,
}

impl Linear {
    /// A number.
    pub fn constant(value: i128) -> Linear {
        Linear { terms: Vec::new(), constant: value }
    }

    /// A variable.
    pub fn var(var: Var) -> Linear {
        Linear { terms: vec![(var, 1)], constant: 0 }
    }

    /// The variables with their coefficients, in order.
    pub fn terms(&self) -> &[(Var, i128)] {
        &self.terms
    }

    /// What is added to the variables.
    pub fn offset(&self) -> i128 {
        self.constant
    }

    /// The number that it is, if it has no variables.
    pub fn as_constant(&self) -> Option<i128> {
        self.terms.is_empty().then_some(self.constant)
    }

    /// The sum of two; none if a number does not fit.
    pub fn plus(&self, other: &Linear) -> Option<Linear> {
        let mut terms = Vec::with_capacity(self.terms.len() + other.terms.len());
        let (mut left, mut right) = (self.terms.iter().peekable(), other.terms.iter().peekable());
        loop {
            match (left.peek(), right.peek()) {
                (Some(&&(a, x)), Some(&&(b, y))) if a == b => {
                    let sum = x.checked_add(y)?;
                    if sum != 0 {
                        terms.push((a, sum));
                    }
                    left.next();
                    right.next();
                }
                (Some(&&(a, _)), Some(&&(b, _))) if a < b => terms.extend(left.next()),
                (Some(_), None) => terms.extend(left.next()),
                (_, Some(_)) => terms.extend(right.next()),
                (None, None) => break,
            }
        }
        Some(Linear { terms, constant: self.constant.checked_add(other.constant)? })
    }

    /// The difference; none if a number does not fit.
    pub fn minus(&self, other: &Linear) -> Option<Linear> {
        self.plus(&other.times(-1)?)
    }

    /// A multiple; none if a number does not fit.
    pub fn times(&self, factor: i128) -> Option<Linear> {
        if factor == 0 {
            return Some(Linear::default());
        }
        let terms = self.terms.iter().map(|&(var, by)| Some((var, by.checked_mul(factor)?)));
        Some(Linear { terms: terms.collect::<Option<_>>()?, constant: self.constant.checked_mul(factor)? })
    }

    /// The same with sums in the place of variables; none if a number does not fit.
    pub fn substitute(&self, with: &mut impl FnMut(Var) -> Option<Linear>) -> Option<Linear> {
        let mut result = Linear::constant(self.constant);
        for &(var, by) in &self.terms {
            result = result.plus(&with(var)?.times(by)?)?;
        }
        Some(result)
    }

    /// Its value; none if a number does not fit.
    pub fn value(&self, model: &Model) -> Option<i128> {
        self.terms
            .iter()
            .try_fold(self.constant, |sum, &(var, by)| sum.checked_add(model.value(var).checked_mul(by)?))
    }
}

/// The greatest common divisor of numbers, not negative; 0 if all are. A number that has no absolute value
/// counts as 1, which divides it.
pub(crate) fn common_divisor(numbers: impl Iterator<Item = i128>) -> i128 {
    let (mut divisor, mut odd) = (0i128, false);
    for number in numbers {
        let Some(mut other) = number.checked_abs() else {
            odd = true;
            continue;
        };
        while other != 0 {
            (divisor, other) = (other, divisor % other);
        }
    }
    if odd { 1 } else { divisor }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cancels_is_gone_and_what_does_not_fit_is_none() {
        let (x, y) = (Linear::var(Var(0)), Linear::var(Var(1)));
        let sum = x.plus(&y).and_then(|sum| sum.minus(&x)).unwrap();
        assert_eq!(sum, y);
        assert_eq!(x.times(0), Some(Linear::constant(0)));
        assert_eq!(Linear::constant(i128::MAX).plus(&Linear::constant(1)), None);
        assert_eq!(x.times(i128::MAX).unwrap().plus(&x), None);
    }

    #[test]
    fn divisors() {
        assert_eq!(common_divisor([12, -18, 0].into_iter()), 6);
        assert_eq!(common_divisor([0].into_iter()), 0);
        assert_eq!(common_divisor([i128::MIN, 4].into_iter()), 1);
    }
}
