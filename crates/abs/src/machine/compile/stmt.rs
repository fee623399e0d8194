//! Statements to instructions.

use crate::model::{self, Effect, ExprKind, Pattern, Span, Statement, StatementKind, Target};

use super::super::code::{Instr, NONE};
use super::{Compiler, variable};

/// The instructions of a body so far.
pub(super) struct Writer {
    pub code: Vec<Instr>,
    pub spans: Vec<Span>,
}

impl Writer {
    pub fn push(&mut self, instr: Instr, span: Span) -> usize {
        self.code.push(instr);
        self.spans.push(span);
        self.code.len() - 1
    }

    fn here(&self) -> u32 {
        self.code.len() as u32
    }

    /// Lets a jump that was written before its target was known go to where we are.
    fn land(&mut self, jump: usize) {
        let here = self.here();
        match &mut self.code[jump] {
            Instr::Jump(to)
            | Instr::JumpUnless(_, to)
            | Instr::Next { end: to, .. }
            | Instr::Enter { at: to, .. } => *to = here,
            _ => {}
        }
    }
}

impl Compiler {
    pub(super) fn statements(&mut self, statements: &[Statement], out: &mut Writer) {
        statements.iter().for_each(|statement| self.statement(statement, out));
    }

    fn statement(&mut self, statement: &Statement, out: &mut Writer) {
        let span = statement.span;
        let instr = match &statement.kind {
            StatementKind::Assign(to, expr) => Instr::Assign(Some(*to), self.expression(expr)),
            StatementKind::Effect(to, effect) => self.effect(*to, effect),
            StatementKind::Assert(expr) => Instr::Assert(self.expression(expr)),
            StatementKind::If(condition, then, otherwise) => {
                return self.branch(condition, then, otherwise, span, out);
            }
            StatementKind::While(condition, body) => {
                let top = out.here();
                let unless = out.push(Instr::JumpUnless(self.expression(condition), 0), span);
                self.statements(body, out);
                out.push(Instr::Jump(top), span);
                return out.land(unless);
            }
            StatementKind::ForEach { element, index, list, body } => {
                let (rest, count) = (self.hidden_slot(), self.hidden_slot());
                out.push(Instr::Begin { list: self.expression(list), rest, count }, span);
                let index = index.map_or(NONE, |slot| slot.0);
                let next = out.push(Instr::Next { rest, count, element: element.0, index, end: 0 }, span);
                self.statements(body, out);
                out.push(Instr::Jump(next as u32), span);
                return out.land(next);
            }
            StatementKind::Switch(value, branches) => {
                let value = self.expression(value);
                return self.dispatch(branches, span, out, |targets| Instr::Switch(value, targets));
            }
            StatementKind::Try { body, handlers, finally } => {
                return self.protect(body, handlers, finally, span, out);
            }
            StatementKind::Throw(expr) => Instr::Throw(self.expression(expr)),
            StatementKind::Return(expr) => Instr::Return(self.expression(expr)),
            StatementKind::Await(guard) => Instr::Await(self.guard(guard)),
            StatementKind::Suspend => Instr::Suspend,
        };
        out.push(instr, span);
    }

    fn effect(&mut self, target: Option<Target>, effect: &Effect) -> Instr {
        let mut all = |exprs: &[model::Expr]| exprs.iter().map(|expr| self.expression(expr)).collect();
        match effect {
            Effect::New { class, arguments, local } => {
                Instr::New { target, class: class.0, arguments: all(arguments), local: *local }
            }
            Effect::Call { callee, method, arguments } => {
                let arguments = all(arguments);
                Instr::Call { target, callee: self.expression(callee), method: method.0, arguments }
            }
            Effect::SyncCall { callee, method, arguments } => {
                let (arguments, on_this) = (all(arguments), matches!(callee.kind, ExprKind::This));
                let callee = self.expression(callee);
                Instr::SyncCall { target, callee, method: method.0, arguments, on_this }
            }
            Effect::Get(future) => {
                let slot = variable(future);
                Instr::Get { target, future: self.expression(future), slot, resolved: false }
            }
            Effect::Random(bound) => Instr::Random(target, self.expression(bound)),
        }
    }

    fn branch(
        &mut self,
        condition: &model::Expr,
        then: &[Statement],
        otherwise: &[Statement],
        span: Span,
        out: &mut Writer,
    ) {
        let unless = out.push(Instr::JumpUnless(self.expression(condition), 0), span);
        self.statements(then, out);
        if otherwise.is_empty() {
            return out.land(unless);
        }
        let end = out.push(Instr::Jump(0), span);
        out.land(unless);
        self.statements(otherwise, out);
        out.land(end);
    }

    /// An instruction that goes to one of the branches, and the branches; what comes next is behind them all.
    fn dispatch(
        &mut self,
        branches: &[(Pattern, Vec<Statement>)],
        span: Span,
        out: &mut Writer,
        instr: impl FnOnce(Vec<(u32, u32)>) -> Instr,
    ) {
        let at = out.push(Instr::Leave, span);
        let (mut targets, mut ends) = (Vec::new(), Vec::new());
        for (pattern, body) in branches {
            targets.push((self.pattern(pattern), out.here()));
            self.statements(body, out);
            ends.push(out.push(Instr::Jump(0), span));
        }
        ends.into_iter().for_each(|end| out.land(end));
        out.code[at] = instr(targets);
    }

    fn protect(
        &mut self,
        body: &[Statement],
        handlers: &[(Pattern, Vec<Statement>)],
        finally: &[Statement],
        span: Span,
        out: &mut Writer,
    ) {
        let finally_at = (!finally.is_empty()).then(|| out.push(Instr::Enter { at: 0, finally: true }, span));
        let catch_at = (!handlers.is_empty()).then(|| out.push(Instr::Enter { at: 0, finally: false }, span));
        self.statements(body, out);
        if let Some(catch_at) = catch_at {
            out.push(Instr::Leave, span);
            let end = out.push(Instr::Jump(0), span);
            out.land(catch_at);
            self.dispatch(handlers, span, out, Instr::Catch);
            out.land(end);
        }
        if let Some(finally_at) = finally_at {
            out.push(Instr::EnterFinally, span);
            out.land(finally_at);
            self.statements(finally, out);
            out.push(Instr::EndFinally, span);
        }
    }
}
