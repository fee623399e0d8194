//! Numbers: whole ones of any size, and fractions.
//!
//! A number has one form only: `Int` if it is whole and fits, `Big` if it is whole and does not, else `Rat`.

use std::cmp::Ordering;
use std::rc::Rc;

use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::{One, Signed, ToPrimitive, Zero};

use super::Value;

/// Numbers with more bits than this are refused: nothing but a runaway loop makes them.
const MOST_BITS: u64 = 1 << 20;

/// Why there is no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberFault {
    /// Something was divided by 0.
    DivisionByZero,
    /// A number grew beyond what we keep.
    TooLarge,
    /// What was given is no number, or not one of the kind needed.
    NoNumber,
}

type NumberResult = Result<Value, NumberFault>;

/// A whole number in its one form.
fn whole(number: BigInt) -> NumberResult {
    match number.to_i64() {
        Some(small) => Ok(Value::Int(small)),
        None if number.bits() > MOST_BITS => Err(NumberFault::TooLarge),
        None => Ok(Value::Big(Rc::new(number))),
    }
}

/// A fraction in its one form.
fn fraction(numerator: BigInt, denominator: BigInt) -> NumberResult {
    if denominator.is_zero() {
        return Err(NumberFault::DivisionByZero);
    }
    let common = numerator.gcd(&denominator);
    let (mut numerator, mut denominator) = (numerator / &common, denominator / common);
    if denominator.is_negative() {
        (numerator, denominator) = (-numerator, -denominator);
    }
    if denominator.is_one() {
        return whole(numerator);
    }
    if numerator.bits() + denominator.bits() > MOST_BITS {
        return Err(NumberFault::TooLarge);
    }
    Ok(Value::Rat(Rc::new((numerator, denominator))))
}

/// A number as numerator and denominator.
fn parts(value: &Value) -> Result<(BigInt, BigInt), NumberFault> {
    match value {
        Value::Int(n) => Ok((BigInt::from(*n), BigInt::one())),
        Value::Big(n) => Ok(((**n).clone(), BigInt::one())),
        Value::Rat(rat) => Ok((**rat).clone()),
        _ => Err(NumberFault::NoNumber),
    }
}

/// A whole number from what a source says.
pub fn from_big(number: &BigInt) -> Value {
    number.to_i64().map_or_else(|| Value::Big(Rc::new(number.clone())), Value::Int)
}

/// A whole number as one of any size.
pub fn to_big(value: &Value) -> Option<BigInt> {
    match value {
        Value::Int(n) => Some(BigInt::from(*n)),
        Value::Big(n) => Some((**n).clone()),
        _ => None,
    }
}

fn is_fraction(value: &Value) -> bool {
    matches!(value, Value::Rat(_))
}

/// `a + b`
pub fn add(a: &Value, b: &Value) -> NumberResult {
    if let (Value::Int(x), Value::Int(y)) = (a, b)
        && let Some(sum) = x.checked_add(*y)
    {
        return Ok(Value::Int(sum));
    }
    let ((n, d), (m, e)) = (parts(a)?, parts(b)?);
    if is_fraction(a) || is_fraction(b) { fraction(n * &e + m * &d, d * e) } else { whole(n + m) }
}

/// `-a`
pub fn negate(a: &Value) -> NumberResult {
    match a {
        Value::Rat(rat) => Ok(Value::Rat(Rc::new((-&rat.0, rat.1.clone())))),
        _ => whole(-to_big(a).ok_or(NumberFault::NoNumber)?),
    }
}

/// `a - b`
pub fn subtract(a: &Value, b: &Value) -> NumberResult {
    if let (Value::Int(x), Value::Int(y)) = (a, b)
        && let Some(difference) = x.checked_sub(*y)
    {
        return Ok(Value::Int(difference));
    }
    add(a, &negate(b)?)
}

/// `a * b`
pub fn multiply(a: &Value, b: &Value) -> NumberResult {
    if let (Value::Int(x), Value::Int(y)) = (a, b)
        && let Some(product) = x.checked_mul(*y)
    {
        return Ok(Value::Int(product));
    }
    let ((n, d), (m, e)) = (parts(a)?, parts(b)?);
    if is_fraction(a) || is_fraction(b) { fraction(n * m, d * e) } else { whole(n * m) }
}

/// `a / b`, exact.
pub fn divide(a: &Value, b: &Value) -> NumberResult {
    let ((n, d), (m, e)) = (parts(a)?, parts(b)?);
    fraction(n * e, d * m)
}

/// `a / b`, towards 0.
pub fn divide_ints(a: &Value, b: &Value) -> NumberResult {
    truncate(&divide(a, b)?)
}

/// `a % b`: what is left after [`divide_ints`], with the sign of `a`.
pub fn modulo(a: &Value, b: &Value) -> NumberResult {
    match (a, b) {
        (_, Value::Int(0)) => Err(NumberFault::DivisionByZero),
        (Value::Int(x), Value::Int(y)) => Ok(Value::Int(x.checked_rem(*y).unwrap_or(0))),
        _ => subtract(a, &multiply(&divide_ints(a, b)?, b)?),
    }
}

/// A number without what is behind the point.
pub fn truncate(a: &Value) -> NumberResult {
    match a {
        Value::Rat(rat) => whole(&rat.0 / &rat.1),
        Value::Int(_) | Value::Big(_) => Ok(a.clone()),
        _ => Err(NumberFault::NoNumber),
    }
}

/// The numerator, or the denominator.
pub fn part(a: &Value, numerator: bool) -> NumberResult {
    let (n, d) = parts(a)?;
    whole(if numerator { n } else { d })
}

/// `a` to the power of a whole number.
pub fn power(a: &Value, exponent: &Value) -> NumberResult {
    let (n, d) = parts(a)?;
    let Value::Int(times) = exponent else {
        return Err(if matches!(exponent, Value::Big(_)) {
            NumberFault::TooLarge
        } else {
            NumberFault::NoNumber
        });
    };
    if n.magnitude().is_one() && d.is_one() || n.is_zero() {
        let result = match (n.is_zero(), times.signum()) {
            (true, -1) => return Err(NumberFault::DivisionByZero),
            (true, 1) => 0,
            _ if n.is_negative() && times % 2 != 0 => -1,
            _ => 1,
        };
        return Ok(Value::Int(result));
    }
    let bits = n.bits().max(d.bits());
    let size = times.unsigned_abs();
    let Ok(steps) = u32::try_from(size) else { return Err(NumberFault::TooLarge) };
    if bits.saturating_mul(size) > MOST_BITS {
        return Err(NumberFault::TooLarge);
    }
    let (n, d) = (n.pow(steps), d.pow(steps));
    if *times < 0 { fraction(d, n) } else { fraction(n, d) }
}

/// How many words of a machine a number has; none if it is no number.
pub fn words(value: &Value) -> u64 {
    match value {
        Value::Int(_) => 1,
        Value::Big(n) => n.bits() / 64 + 1,
        Value::Rat(rat) => (rat.0.bits() + rat.1.bits()) / 64 + 2,
        _ => 0,
    }
}

/// The order of two numbers.
pub(super) fn compare(a: &Value, b: &Value) -> Ordering {
    match (parts(a), parts(b)) {
        (Ok((n, d)), Ok((m, e))) => (n * e).cmp(&(m * d)),
        _ => Ordering::Equal,
    }
}
