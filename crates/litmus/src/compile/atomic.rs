//! Atomic blocks: what they may hold, and whether what they touch depends on shared values.

use mazurka_syntax::Diagnostic;

use super::check::Taint;
use super::{Compiler, Patch};
use crate::ast::{Block, Expr, Name, Range, Stmt, StmtKind};
use crate::code::{AtomicCode, Instr, MAX_NESTING, NONE, Op, Tree};
use crate::printer::print_stmt_head;

impl Compiler {
    pub(super) fn atomic(&mut self, stmt: &Stmt, name: Option<&Name>, block: &Block) {
        let mut guard = NONE;
        let mut statements = block.statements.as_slice();
        if let [Stmt { kind: StmtKind::Await(condition), .. }, rest @ ..] = statements {
            guard = self.guard(condition, &statements[0]);
            statements = rest;
        }
        self.scope.atomic_loops = 0;
        let body = self.trees(statements);
        let varies = self.block_varies(guard, &body);
        let index = self.image.atomics.len() as u32;
        // A `continue` or `break` that leaves the block leaves the loop around it.
        let on_continue = self.scope.loops.last().map_or(0, |innermost| innermost.next);
        self.image.atomics.push(AtomicCode { guard, body, on_break: 0, on_continue });
        if let Some(innermost) = self.scope.loops.last_mut() {
            innermost.breaks.push(Patch::Atomic(index));
        }
        let line = self.emit(Instr::Atomic(index), true, varies, stmt.span, print_stmt_head(stmt));
        if let Some(name) = name {
            self.name_block(name, line);
        }
    }

    fn trees(&mut self, statements: &[Stmt]) -> Vec<Tree> {
        if self.scope.nesting >= MAX_NESTING {
            if let Some(first) = statements.first() {
                self.too_deep(first.span);
            }
            return Vec::new();
        }
        self.scope.nesting += 1;
        let trees = statements.iter().filter_map(|stmt| self.tree(stmt)).collect();
        self.scope.nesting -= 1;
        trees
    }

    fn tree(&mut self, stmt: &Stmt) -> Option<Tree> {
        match &stmt.kind {
            StmtKind::If { arms, otherwise } => Some(self.tree_if(arms, otherwise.as_ref())),
            StmtKind::For { index, range, body } => self.tree_for(index, range, body),
            StmtKind::Break | StmtKind::Continue => {
                if self.scope.atomic_loops == 0 && self.scope.loops.is_empty() {
                    self.outside_loop(stmt);
                    return None;
                }
                Some(if stmt.kind == StmtKind::Break { Tree::Break } else { Tree::Continue })
            }
            _ => match forbidden(&stmt.kind) {
                Some((what, help)) => {
                    let message = format!("{what} can't stand in an atomic block");
                    self.error(Diagnostic::new(stmt.span, message).help(help));
                    None
                }
                None => self.op(stmt).map(Tree::Op),
            },
        }
    }

    fn tree_if(&mut self, arms: &[(Expr, Block)], otherwise: Option<&Block>) -> Tree {
        let arms =
            arms.iter().map(|(condition, block)| (self.expr(condition), self.trees(&block.statements)));
        let arms = arms.collect();
        Tree::If { arms, otherwise: otherwise.map(|block| self.trees(&block.statements)).unwrap_or_default() }
    }

    fn tree_for(&mut self, index: &Name, range: &Range, body: &Block) -> Option<Tree> {
        let (from, to) = (self.expr(&range.from), self.expr(&range.to));
        let slot = self.declare_local(index, false);
        self.scope.atomic_loops += 1;
        let body = self.trees(&body.statements);
        self.scope.atomic_loops -= 1;
        (slot != NONE).then_some(Tree::For { slot, from, to, inclusive: range.inclusive, body })
    }

    fn block_varies(&self, guard: u32, body: &[Tree]) -> bool {
        let mut taint: Taint = vec![false; self.scope.locals.len()];
        while self.spread(body, &mut taint) {}
        let guard = self.image.guards.get(guard as usize);
        let guard_may_fail = guard.is_some_and(|guard| self.image.may_fail(guard.condition.node, &[]));
        let may_fail = guard_may_fail || any_op(body, |op| self.op_may_fail(op, &taint));
        self.trees_vary(body, &taint) || may_fail && any_op(body, |op| self.op_is_blind(op))
    }

    /// Taints the locals that are assigned from shared values; says whether there was a new one.
    ///
    /// Locals assigned under a condition that depends on shared values need not be tainted: then the block
    /// varies anyway.
    fn spread(&self, body: &[Tree], taint: &mut Taint) -> bool {
        let mut changed = false;
        Tree::each(body, &mut |tree| {
            let slot = match *tree {
                Tree::Op(Op::Local { value, .. }) if !self.image.depends(value, taint) => NONE,
                Tree::Op(op) => op.dest(),
                _ => NONE,
            };
            if let Some(known) = taint.get_mut(slot as usize) {
                changed |= !*known;
                *known = true;
            }
        });
        changed
    }

    fn trees_vary(&self, body: &[Tree], taint: &Taint) -> bool {
        let image = &self.image;
        let mut found = false;
        Tree::each(body, &mut |tree| {
            found |= match tree {
                Tree::Op(Op::Assume(condition)) => image.depends(*condition, taint),
                Tree::Op(op) => self.op_varies(*op, taint),
                Tree::If { arms, .. } => arms.iter().any(|(condition, _)| image.depends(*condition, taint)),
                Tree::For { from, to, .. } => [*from, *to]
                    .iter()
                    .any(|&bound| image.depends(bound, taint) || image.varies(bound, taint)),
                Tree::Break | Tree::Continue => false,
            };
        });
        found
    }
}

/// Whether any operation of a block is as asked.
fn any_op(body: &[Tree], test: impl Fn(Op) -> bool) -> bool {
    let mut found = false;
    Tree::each(body, &mut |tree| found |= matches!(tree, Tree::Op(op) if test(*op)));
    found
}

/// What a statement is called that may not be in an atomic block, and what to do instead.
fn forbidden(kind: &StmtKind) -> Option<(&'static str, &'static str)> {
    Some(match kind {
        StmtKind::Await(_) => ("`await` after another statement", "make it the first statement of the block"),
        StmtKind::While { .. } => ("`while`", "use `for`, which always ends"),
        StmtKind::Atomic { .. } => ("another atomic block", "all of the block is one step already"),
        StmtKind::Lock(_) | StmtKind::Wait { .. } | StmtKind::Join(_) | StmtKind::Receive { .. } => (
            "a statement that can wait",
            "move it out of the block, or wait with `await` as its first statement",
        ),
        StmtKind::Unlock(_) | StmtKind::TryLock { .. } | StmtKind::NotifyOne(_) | StmtKind::NotifyAll(_) => {
            ("an operation on a lock or a condition variable", "move it before or after the block")
        }
        StmtKind::Spawn { .. } => ("`spawn`", "move it before or after the block"),
        StmtKind::Choose { .. } => ("`choose`", "choose before the block"),
        _ => return None,
    })
}
