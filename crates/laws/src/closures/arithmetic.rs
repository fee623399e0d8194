//! Arithmetic as the language has it, written once more: closures must not lean on the machine they are
//! compared with.

use mazurka_litmus::ast::{BinaryOp, Expr, ExprKind, UnaryOp};

/// The value of an operator on two numbers; none if it fails.
pub(super) fn binary(op: BinaryOp, a: i64, b: i64) -> Option<i64> {
    match op {
        BinaryOp::Or => Some(i64::from(a != 0 || b != 0)),
        BinaryOp::And => Some(i64::from(a != 0 && b != 0)),
        BinaryOp::Eq => Some(i64::from(a == b)),
        BinaryOp::Ne => Some(i64::from(a != b)),
        BinaryOp::Lt => Some(i64::from(a < b)),
        BinaryOp::Le => Some(i64::from(a <= b)),
        BinaryOp::Gt => Some(i64::from(a > b)),
        BinaryOp::Ge => Some(i64::from(a >= b)),
        BinaryOp::Add => a.checked_add(b),
        BinaryOp::Sub => a.checked_sub(b),
        BinaryOp::Mul => a.checked_mul(b),
        BinaryOp::Div => a.checked_div(b),
        BinaryOp::Rem => a.checked_rem(b),
    }
}

/// The value of an operator on one number; none if it fails.
pub(super) fn unary(op: UnaryOp, a: i64) -> Option<i64> {
    match op {
        UnaryOp::Neg => a.checked_neg(),
        UnaryOp::Not => Some(i64::from(a == 0)),
    }
}

/// The value of an expression over names that stand for numbers; none if it fails or has another name in it.
pub(super) fn constant(expr: &Expr, number: &dyn Fn(&str) -> Option<i64>) -> Option<i64> {
    match &expr.kind {
        ExprKind::Number(value) => Some(*value),
        ExprKind::Name(name) => number(&name.text),
        ExprKind::Cell(..) => None,
        ExprKind::Unary(op, inner) => unary(*op, constant(inner, number)?),
        ExprKind::Binary(BinaryOp::And, left, right) if constant(left, number)? != 0 => {
            Some(i64::from(constant(right, number)? != 0))
        }
        ExprKind::Binary(BinaryOp::And, ..) => Some(0),
        ExprKind::Binary(BinaryOp::Or, left, right) if constant(left, number)? == 0 => {
            Some(i64::from(constant(right, number)? != 0))
        }
        ExprKind::Binary(BinaryOp::Or, ..) => Some(1),
        ExprKind::Binary(op, left, right) => binary(*op, constant(left, number)?, constant(right, number)?),
    }
}
