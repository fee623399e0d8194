//! Arithmetic of the language: 64 bits, and whatever does not fit or has no result is a failure.

use crate::ast::BinaryOp;

/// The value of an operator on two numbers; none if it fails. `&&` and `||` are here for constants, where
/// both sides are known.
#[inline]
pub(crate) fn binary(op: BinaryOp, a: i64, b: i64) -> Option<i64> {
    Some(match op {
        BinaryOp::Or => i64::from(a != 0 || b != 0),
        BinaryOp::And => i64::from(a != 0 && b != 0),
        BinaryOp::Eq => i64::from(a == b),
        BinaryOp::Ne => i64::from(a != b),
        BinaryOp::Lt => i64::from(a < b),
        BinaryOp::Le => i64::from(a <= b),
        BinaryOp::Gt => i64::from(a > b),
        BinaryOp::Ge => i64::from(a >= b),
        BinaryOp::Add => return a.checked_add(b),
        BinaryOp::Sub => return a.checked_sub(b),
        BinaryOp::Mul => return a.checked_mul(b),
        BinaryOp::Div => return a.checked_div(b),
        BinaryOp::Rem => return a.checked_rem(b),
    })
}

/// Why an operator failed on two numbers, in one sentence.
pub(crate) fn describe(op: BinaryOp, a: i64, b: i64) -> String {
    let sign = match op {
        BinaryOp::Add => "+",
        BinaryOp::Sub => "-",
        BinaryOp::Mul => "*",
        BinaryOp::Div => "/",
        _ => "%",
    };
    if b == 0 && matches!(op, BinaryOp::Div | BinaryOp::Rem) {
        format!("division by zero: {a} {sign} {b}")
    } else {
        format!("{a} {sign} {b} overflows 64 bits")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_has_no_value() {
        assert_eq!(binary(BinaryOp::Add, i64::MAX, 1), None);
        assert_eq!(binary(BinaryOp::Div, i64::MIN, -1), None);
        assert_eq!(binary(BinaryOp::Rem, i64::MIN, -1), None);
        assert_eq!(binary(BinaryOp::Rem, 7, 0), None);
        assert_eq!(binary(BinaryOp::Div, -7, 2), Some(-3));
        assert_eq!(describe(BinaryOp::Rem, 7, 0), "division by zero: 7 % 0");
    }
}
