//! Loops as functions without a meaning (CAV'18, definition 7): what a loop leaves in each variable, and what it
//! calls, are functions of all that it mentions.

use std::collections::BTreeSet;

use crate::model::{Effect, Expr, ExprKind, Guard, Pattern, Statement, StatementKind, Target};

use super::extract::Reason;

/// What a loop mentions and does.
#[derive(Debug, Default)]
pub(super) struct LoopFacts {
    /// The variables and fields that it mentions; those that it declares too.
    pub slots: BTreeSet<u32>,
    pub fields: BTreeSet<u32>,
    pub assigned_slots: BTreeSet<u32>,
    pub assigned_fields: BTreeSet<u32>,
    /// Whether it calls methods.
    pub calls: bool,
}

impl LoopFacts {
    /// Those of a loop.
    pub fn of(statement: &Statement) -> Result<LoopFacts, Reason> {
        let mut facts = LoopFacts::default();
        facts.statement(statement)?;
        Ok(facts)
    }

    fn statements(&mut self, body: &[Statement]) -> Result<(), Reason> {
        body.iter().try_for_each(|statement| self.statement(statement))
    }

    fn statement(&mut self, statement: &Statement) -> Result<(), Reason> {
        match &statement.kind {
            StatementKind::Assign(target, expr) => {
                self.target(*target);
                self.expr(expr)
            }
            StatementKind::Assert(expr) => self.expr(expr),
            StatementKind::If(condition, then, otherwise) => {
                self.expr(condition)?;
                self.statements(then)?;
                self.statements(otherwise)
            }
            StatementKind::While(condition, body) => {
                self.expr(condition)?;
                self.statements(body)
            }
            StatementKind::ForEach { element, index, list, body } => {
                self.target(Target::Slot(*element));
                index.iter().for_each(|&index| self.target(Target::Slot(index)));
                self.expr(list)?;
                self.statements(body)
            }
            // What is made is of who makes it, and no function of what it is made with.
            StatementKind::Effect(None, Effect::Call { callee, arguments, .. }) => {
                self.calls = true;
                self.expr(callee)?;
                arguments.iter().try_for_each(|argument| self.expr(argument))
            }
            StatementKind::Effect(..) => Err("makes or waits for something in a loop"),
            StatementKind::Await(Guard::Future(_) | Guard::Condition(_) | Guard::And(..))
            | StatementKind::Suspend => Err("waits in a loop"),
            StatementKind::Return(_) => Err("returns from within a loop"),
            StatementKind::Switch(..) => Err("has a switch"),
            StatementKind::Try { .. } | StatementKind::Throw(_) => Err("has exceptions of its own"),
        }
    }

    fn target(&mut self, target: Target) {
        match target {
            Target::Slot(slot) => {
                self.slots.insert(slot.0);
                self.assigned_slots.insert(slot.0);
            }
            Target::Field(field) => {
                self.fields.insert(field.0);
                self.assigned_fields.insert(field.0);
            }
        }
    }

    fn expr(&mut self, expr: &Expr) -> Result<(), Reason> {
        match &expr.kind {
            ExprKind::Unit
            | ExprKind::Bool(_)
            | ExprKind::Int(_)
            | ExprKind::Text(_)
            | ExprKind::Null
            | ExprKind::This => Ok(()),
            ExprKind::Slot(slot) => {
                self.slots.insert(slot.0);
                Ok(())
            }
            ExprKind::Field(field) => {
                self.fields.insert(field.0);
                Ok(())
            }
            ExprKind::Construct(_, arguments) => arguments.iter().try_for_each(|one| self.expr(one)),
            ExprKind::Apply { arguments, closures, .. } if closures.is_empty() => {
                arguments.iter().try_for_each(|one| self.expr(one))
            }
            ExprKind::Not(inner) | ExprKind::Negate(inner) => self.expr(inner),
            ExprKind::Binary(_, left, right) => {
                self.expr(left)?;
                self.expr(right)
            }
            ExprKind::If(condition, then, otherwise) => {
                self.expr(condition)?;
                self.expr(then)?;
                self.expr(otherwise)
            }
            ExprKind::Let(slot, value, inner) => {
                self.target(Target::Slot(*slot));
                self.expr(value)?;
                self.expr(inner)
            }
            ExprKind::Case(value, branches) => {
                self.expr(value)?;
                branches.iter().try_for_each(|(pattern, result)| {
                    self.pattern(pattern);
                    self.expr(result)
                })
            }
            _ => Err("has an expression that is not followed"),
        }
    }

    fn pattern(&mut self, pattern: &Pattern) {
        self.fields.extend(pattern.compared_fields());
        pattern.each(&mut |part| match part {
            Pattern::Bind(slot) => self.target(Target::Slot(*slot)),
            Pattern::Equal(Target::Slot(slot)) => {
                self.slots.insert(slot.0);
            }
            _ => {}
        });
    }
}
