//! Expressions to operations.

use crate::model::{Binary, Closure, Expr, ExprKind, Pattern, Span};
use crate::value::Value;

use super::super::code::{Code, LambdaCode, Op};
use super::Compiler;

impl Compiler {
    /// Compiles an expression to a range of its own.
    pub(super) fn expression(&mut self, expr: &Expr) -> Code {
        let start = self.here();
        self.expr(expr);
        self.emit(Op::Return, expr.span);
        Code { start, end: self.here() }
    }

    fn here(&self) -> u32 {
        self.image.ops.len() as u32
    }

    pub(super) fn emit(&mut self, op: Op, span: Span) -> u32 {
        self.image.ops.push(op);
        self.image.op_spans.push(span);
        self.here() - 1
    }

    /// Lets a jump that was emitted before its target was known go to where we are.
    fn land(&mut self, jump: u32) {
        let here = self.here();
        match &mut self.image.ops[jump as usize] {
            Op::Jump(to) | Op::JumpUnless(to) | Op::JumpIf(_, to) | Op::Match(_, to) => *to = here,
            _ => {}
        }
    }

    fn expr(&mut self, expr: &Expr) {
        let span = expr.span;
        let op = match &expr.kind {
            ExprKind::Unit => Op::Unit,
            ExprKind::Bool(value) => Op::Bool(*value),
            ExprKind::Int(number) => match crate::value::from_big(number) {
                Value::Int(small) => Op::Int(small),
                _ => {
                    self.image.bigs.push(number.clone());
                    Op::Big(self.image.bigs.len() as u32 - 1)
                }
            },
            ExprKind::Text(text) => {
                self.image.texts.push(text.clone());
                Op::Text(self.image.texts.len() as u32 - 1)
            }
            ExprKind::Null => Op::Null,
            ExprKind::This => Op::This,
            ExprKind::Slot(slot) => Op::Slot(slot.0),
            ExprKind::Field(field) => Op::Field(field.0),
            ExprKind::Construct(..) => return self.construct(expr),
            ExprKind::Apply { function, arguments, closures } => {
                arguments.iter().for_each(|argument| self.expr(argument));
                closures.iter().for_each(|closure| self.closure(closure, span));
                Op::Call(function.0, (arguments.len() + closures.len()) as u32)
            }
            ExprKind::ApplySlot { function, arguments } => {
                arguments.iter().for_each(|argument| self.expr(argument));
                Op::CallSlot(function.0, arguments.len() as u32)
            }
            ExprKind::Not(inner) => self.unary(inner, Op::Not),
            ExprKind::Negate(inner) => self.unary(inner, Op::Negate),
            ExprKind::Binary(Binary::And, a, b) => return self.short_circuit(false, a, b),
            ExprKind::Binary(Binary::Or, a, b) => return self.short_circuit(true, a, b),
            ExprKind::Binary(binary, a, b) => {
                self.expr(a);
                self.unary(b, Op::Binary(*binary))
            }
            ExprKind::If(condition, then, otherwise) => return self.choice(condition, then, otherwise),
            ExprKind::Let(slot, value, body) => {
                self.expr(value);
                self.emit(Op::Store(slot.0), span);
                return self.expr(body);
            }
            ExprKind::Case(value, branches) => return self.case(value, branches, span),
            ExprKind::Implements(inner, interface) => self.unary(inner, Op::Implements(interface.0)),
            ExprKind::As(inner, interface) => self.unary(inner, Op::As(interface.0)),
        };
        self.emit(op, span);
    }

    fn unary(&mut self, inner: &Expr, op: Op) -> Op {
        self.expr(inner);
        op
    }

    /// A constructor. A long list is nested in its last argument: that is followed without recursion.
    fn construct(&mut self, expr: &Expr) {
        let (mut at, mut open) = (expr, Vec::new());
        while let ExprKind::Construct(constructor, arguments) = &at.kind {
            open.push(Op::Construct(constructor.0, arguments.len() as u32));
            let Some((last, others)) = arguments.split_last() else { break };
            others.iter().for_each(|argument| self.expr(argument));
            at = last;
        }
        if !matches!(at.kind, ExprKind::Construct(..)) {
            self.expr(at);
        }
        while let Some(op) = open.pop() {
            self.emit(op, expr.span);
        }
    }

    fn short_circuit(&mut self, decides: bool, a: &Expr, b: &Expr) {
        self.expr(a);
        let jump = self.emit(Op::JumpIf(decides, 0), a.span);
        self.expr(b);
        self.land(jump);
    }

    fn choice(&mut self, condition: &Expr, then: &Expr, otherwise: &Expr) {
        self.expr(condition);
        let unless = self.emit(Op::JumpUnless(0), condition.span);
        self.expr(then);
        let end = self.emit(Op::Jump(0), then.span);
        self.land(unless);
        self.expr(otherwise);
        self.land(end);
    }

    fn case(&mut self, value: &Expr, branches: &[(Pattern, Expr)], span: Span) {
        self.expr(value);
        let mut ends = Vec::new();
        for (pattern, body) in branches {
            let matcher = self.pattern(pattern);
            let matched = self.emit(Op::Match(matcher, 0), span);
            self.expr(body);
            ends.push(self.emit(Op::Jump(0), span));
            self.land(matched);
        }
        self.emit(Op::NoMatch, span);
        ends.into_iter().for_each(|end| self.land(end));
    }

    fn closure(&mut self, closure: &Closure, span: Span) {
        match closure {
            Closure::Function(function) => {
                self.emit(Op::Function(function.0), span);
            }
            Closure::Slot(slot) => {
                self.emit(Op::Slot(slot.0), span);
            }
            Closure::Lambda { parameters, body } => {
                let over = self.emit(Op::Jump(0), span);
                let start = self.here();
                self.expr(body);
                self.emit(Op::Return, span);
                self.land(over);
                let parameters = parameters.iter().map(|slot| slot.0).collect();
                self.image.lambdas.push(LambdaCode { parameters, start });
                self.emit(Op::Lambda(self.image.lambdas.len() as u32 - 1), span);
            }
        }
    }

    pub(super) fn pattern(&mut self, pattern: &Pattern) -> u32 {
        self.image.patterns.push(pattern.clone());
        self.image.patterns.len() as u32 - 1
    }
}
