//! Programs as Rust could have them: each step is one operation of the library.
//!
//! A statement of the language is one step with all that it reads and writes; in Rust each access is a step
//! of its own. So a program is rewritten first, and the oracle judges what was rewritten: shared variables
//! are read into locals, one at a time; atomic blocks are taken apart; an `await`, for which Rust has no
//! word, becomes an assumption or a few looks. That changes the program, which does not matter: it was a
//! random one, and is another now. What would be a failure of the machine where Rust has none (an index out
//! of range within a step, an unlock of a lock that is not held) becomes a local failure or is left out.

use std::collections::{BTreeMap, BTreeSet};

use mazurka_litmus::ast::*;

use super::arithmetic;
use crate::random::Random;
use crate::visit;
use crate::writer::stmt;

/// The program with one shared access a step.
pub(super) fn rewrite(ast: &Ast, random: &mut Random) -> Ast {
    let mut rewriter = Rewriter {
        random,
        constants: BTreeMap::new(),
        sizes: BTreeMap::new(),
        vars: BTreeSet::new(),
        families: BTreeMap::new(),
        added: 0,
        held: BTreeSet::new(),
        partners: BTreeMap::new(),
        asserts: 0,
    };
    let mut items: Vec<Item> = ast.items.iter().filter_map(|item| rewriter.declaration(item)).collect();
    for body in items.iter_mut().filter_map(visit::body) {
        *body = rewriter.body(body);
    }
    Ast { items }
}

struct Rewriter<'a> {
    random: &'a mut Random,
    constants: BTreeMap<String, i64>,
    /// Shared variables, locks and condition variables with their sizes, 1 if they are no arrays.
    sizes: BTreeMap<String, i64>,
    vars: BTreeSet<String>,
    /// Families with their first and last index.
    families: BTreeMap<String, (i64, i64)>,
    /// How many locals were added to the present body.
    added: usize,
    /// The locks of the present body for which a local says whether they are held.
    held: BTreeSet<String>,
    /// The lock that a condition variable is used with: Rust allows no second one.
    partners: BTreeMap<String, Target>,
    asserts: usize,
}

impl Rewriter<'_> {
    fn constant(&self, expr: &Expr) -> i64 {
        let number = |name: &str| self.constants.get(name).copied();
        arithmetic::constant(expr, &number).unwrap_or(0)
    }

    fn fixed(&self, expr: &Expr) -> Expr {
        Expr::number(self.constant(expr))
    }

    /// A declaration with numbers for constants; none for the constants themselves.
    fn declaration(&mut self, item: &Item) -> Option<Item> {
        match item {
            Item::Param(name, value) | Item::Const(name, value) => {
                let value = self.constant(value);
                self.constants.insert(name.text.clone(), value);
                None
            }
            Item::Var(vars) => Some(Item::Var(vars.iter().map(|var| self.var(var)).collect())),
            Item::Lock(objects) => Some(Item::Lock(self.objects(objects))),
            Item::Condvar(objects) => Some(Item::Condvar(self.objects(objects))),
            Item::Process(process) => {
                let mut process = process.clone();
                if let Some((_, range)) = &mut process.family {
                    let (from, to) = (self.constant(&range.from), self.constant(&range.to));
                    let last = if range.inclusive { to } else { to - 1 };
                    self.families.insert(process.name.text.clone(), (from, last));
                    *range = Range {
                        from: Expr::number(from),
                        to: Expr::number(last.max(from - 1)),
                        inclusive: true,
                    };
                }
                Some(Item::Process(process))
            }
            Item::Task(task) => Some(Item::Task(task.clone())),
            // The blocks that it names are taken apart.
            Item::Commute(_) => None,
        }
    }

    fn var(&mut self, var: &VarDecl) -> VarDecl {
        let size = var.size.as_ref().map(|size| self.constant(size));
        self.sizes.insert(var.name.text.clone(), size.unwrap_or(1));
        self.vars.insert(var.name.text.clone());
        let init = match &var.init {
            Init::Zero => Init::Zero,
            Init::All(value) => Init::All(self.fixed(value)),
            Init::Each(values) => Init::Each(values.iter().map(|value| self.fixed(value)).collect()),
        };
        VarDecl { name: var.name.clone(), size: size.map(Expr::number), init }
    }

    fn objects(&mut self, objects: &[ObjectDecl]) -> Vec<ObjectDecl> {
        let mut fixed = Vec::new();
        for ObjectDecl { name, size } in objects {
            let size = size.as_ref().map(|size| self.constant(size));
            self.sizes.insert(name.text.clone(), size.unwrap_or(1));
            fixed.push(ObjectDecl { name: name.clone(), size: size.map(Expr::number) });
        }
        fixed
    }

    fn body(&mut self, body: &Block) -> Block {
        self.added = 0;
        self.held.clear();
        let mut statements = self.block(body).statements;
        // A local must be declared above its first use.
        for name in std::mem::take(&mut self.held) {
            statements.insert(0, let_local(&name, Expr::number(0)));
        }
        Block { statements }
    }

    fn block(&mut self, block: &Block) -> Block {
        let mut out = Vec::new();
        for statement in &block.statements {
            self.statement(&statement.kind, &mut out);
        }
        Block { statements: out }
    }

    fn fresh(&mut self) -> Name {
        self.added += 1;
        Name::new(format!("tmp{}", self.added))
    }

    fn reads_shared(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Number(_) => false,
            ExprKind::Name(name) => self.vars.contains(&name.text),
            ExprKind::Cell(..) => true,
            ExprKind::Unary(_, inner) => self.reads_shared(inner),
            ExprKind::Binary(_, left, right) => self.reads_shared(left) || self.reads_shared(right),
        }
    }

    /// An expression with the same value that reads nothing shared; what is shared is read before.
    fn local(&mut self, expr: &Expr, out: &mut Vec<Stmt>) -> Expr {
        match &expr.kind {
            ExprKind::Number(_) => expr.clone(),
            ExprKind::Name(name) => match self.constants.get(&name.text) {
                Some(&value) => Expr::number(value),
                None if self.vars.contains(&name.text) => self.load(expr.clone(), out),
                None => expr.clone(),
            },
            ExprKind::Cell(name, index) => {
                let index = self.index(&name.text, index, out);
                self.load(Expr::new(ExprKind::Cell(name.clone(), Box::new(index))), out)
            }
            ExprKind::Unary(op, inner) => {
                let inner = self.local(inner, out);
                Expr::new(ExprKind::Unary(*op, Box::new(inner)))
            }
            ExprKind::Binary(op @ (BinaryOp::And | BinaryOp::Or), left, right)
                if self.reads_shared(right) =>
            {
                self.short_circuit(*op, left, right, out)
            }
            ExprKind::Binary(op, left, right) => {
                let left = self.local(left, out);
                let right = self.local(right, out);
                Expr::binary(*op, left, right)
            }
        }
    }

    fn load(&mut self, read: Expr, out: &mut Vec<Stmt>) -> Expr {
        let name = self.fresh();
        let value = Expr::name(&name.text);
        out.push(stmt(StmtKind::Let { name, value: read }));
        value
    }

    /// The right side is read only if it matters.
    fn short_circuit(&mut self, op: BinaryOp, left: &Expr, right: &Expr, out: &mut Vec<Stmt>) -> Expr {
        let left = self.local(left, out);
        let name = self.fresh();
        let value = Expr::name(&name.text);
        out.push(let_local(&name.text, Expr::binary(BinaryOp::Ne, left, Expr::number(0))));
        let mut inner = Vec::new();
        let right = self.local(right, &mut inner);
        inner.push(let_local(&name.text, Expr::binary(BinaryOp::Ne, right, Expr::number(0))));
        let matters = match op {
            BinaryOp::And => value.clone(),
            _ => Expr::binary(BinaryOp::Eq, value.clone(), Expr::number(0)),
        };
        out.push(if_stmt(matters, inner));
        value
    }

    /// An index that is within bounds: if it is not, the process fails before.
    fn index(&mut self, name: &str, index: &Expr, out: &mut Vec<Stmt>) -> Expr {
        let index = self.local(index, out);
        let (first, last) = match self.families.get(name) {
            Some(&bounds) => bounds,
            None => (0, self.sizes.get(name).copied().unwrap_or(1) - 1),
        };
        self.within(&index, first, last, out);
        index
    }

    /// Makes the process fail unless a number lies within bounds.
    fn within(&mut self, value: &Expr, first: i64, last: i64, out: &mut Vec<Stmt>) {
        if let ExprKind::Number(number) = value.kind
            && (first..=last).contains(&number)
        {
            return;
        }
        let low = Expr::binary(BinaryOp::Le, Expr::number(first), value.clone());
        let high = Expr::binary(BinaryOp::Le, value.clone(), Expr::number(last));
        let check = Expr::binary(BinaryOp::Div, Expr::number(1), Expr::binary(BinaryOp::And, low, high));
        let name = self.fresh();
        out.push(let_local(&name.text, check));
    }

    fn target(&mut self, target: &Target, out: &mut Vec<Stmt>) -> Target {
        let index = target.index.as_ref().map(|index| self.index(&target.name.text, index, out));
        Target { name: target.name.clone(), index }
    }

    /// The local that says whether the process holds a lock, if the lock is known from the text.
    fn holds(&mut self, lock: &Target) -> Option<String> {
        let name = match constant_index(lock) {
            Some(None) => format!("held_{}", lock.name.text),
            Some(Some(index)) => format!("held_{}_{index}", lock.name.text),
            None => return None,
        };
        self.held.insert(name.clone());
        Some(name)
    }

    fn statement(&mut self, kind: &StmtKind, out: &mut Vec<Stmt>) {
        match kind {
            StmtKind::Let { name, value } => {
                let value = self.loaded(value, out);
                out.push(stmt(StmtKind::Let { name: name.clone(), value }));
            }
            StmtKind::Assign { target, op, value } => self.assign(target, *op, value, out),
            StmtKind::Lock(lock) => {
                let lock = self.target(lock, out);
                out.push(stmt(StmtKind::Lock(lock.clone())));
                out.extend(self.holds(&lock).map(|held| let_local(&held, Expr::number(1))));
            }
            StmtKind::Unlock(_) | StmtKind::TryLock { .. } | StmtKind::Wait { .. } => self.if_held(kind, out),
            StmtKind::Await(condition) => self.wait_until(condition, out),
            StmtKind::Receive { arms, timeout } => self.receive(arms, timeout.as_ref(), out),
            StmtKind::Choose { dest, count } => {
                let count = self.local(count, out);
                self.within(&count, 1, 3, out);
                out.push(stmt(StmtKind::Choose { dest: dest.clone(), count }));
            }
            StmtKind::Assert { condition, .. } => {
                let condition = self.local(condition, out);
                self.asserts += 1;
                let message = Some(format!("#{}", self.asserts));
                out.push(stmt(StmtKind::Assert { condition, message }));
            }
            StmtKind::Skip => {}
            StmtKind::If { arms, otherwise } => self.conditional(arms, otherwise.as_ref(), out),
            StmtKind::While { condition, body } => self.repeat(condition, body, out),
            StmtKind::Atomic { body: block, .. } => out.extend(self.block(block).statements),
            // What is shared is read in the order in which it stands there.
            _ => {
                let mut kind = kind.clone();
                if let Some(target) = visit::target(&mut kind) {
                    *target = self.target(target, out);
                }
                visit::values(&mut kind).into_iter().for_each(|value| *value = self.local(value, out));
                visit::inner_blocks(&mut kind).into_iter().for_each(|block| *block = self.block(block));
                out.push(stmt(kind));
            }
        }
    }

    /// A value to be kept in a local: one shared variable may be read as it is.
    fn loaded(&mut self, value: &Expr, out: &mut Vec<Stmt>) -> Expr {
        match &value.kind {
            ExprKind::Name(name) if self.vars.contains(&name.text) => value.clone(),
            ExprKind::Cell(name, index) => {
                let index = self.index(&name.text, index, out);
                Expr::new(ExprKind::Cell(name.clone(), Box::new(index)))
            }
            _ => self.local(value, out),
        }
    }

    fn assign(&mut self, target: &Target, op: AssignOp, value: &Expr, out: &mut Vec<Stmt>) {
        let shared = self.vars.contains(&target.name.text);
        let target = if shared { self.target(target, out) } else { target.clone() };
        let value =
            if shared || op != AssignOp::Set { self.local(value, out) } else { self.loaded(value, out) };
        out.push(stmt(StmtKind::Assign { target, op, value }));
    }

    /// What only the holder of a lock may do is left out if it is not held.
    fn if_held(&mut self, kind: &StmtKind, out: &mut Vec<Stmt>) {
        match kind {
            StmtKind::Unlock(lock) => {
                let lock = self.target(lock, out);
                let unlock = stmt(StmtKind::Unlock(lock.clone()));
                out.push(match self.holds(&lock) {
                    Some(held) => if_stmt(Expr::name(&held), vec![unlock, let_local(&held, Expr::number(0))]),
                    None => unlock,
                });
            }
            StmtKind::TryLock { dest, lock } => {
                let lock = self.target(lock, out);
                let dest = if *dest == Dest::None { Dest::Let(self.fresh()) } else { dest.clone() };
                out.push(stmt(StmtKind::TryLock { dest: dest.clone(), lock: lock.clone() }));
                if let (Some(held), Dest::Let(taken) | Dest::Local(taken)) = (self.holds(&lock), dest) {
                    out.push(if_stmt(Expr::name(taken.text), vec![let_local(&held, Expr::number(1))]));
                }
            }
            StmtKind::Wait { condvar, lock } => {
                let condvar = self.target(condvar, out);
                let lock = self.target(lock, out);
                let lock = match constant_index(&lock) {
                    Some(_) => self.partners.entry(condvar.name.text.clone()).or_insert(lock).clone(),
                    None => lock,
                };
                let held = self.holds(&lock);
                let wait = stmt(StmtKind::Wait { condvar, lock });
                out.push(match held {
                    Some(held) => if_stmt(Expr::name(held), vec![wait]),
                    None => wait,
                });
            }
            _ => {}
        }
    }

    /// In place of an `await`: an assumption, or a look or two.
    fn wait_until(&mut self, condition: &Expr, out: &mut Vec<Stmt>) {
        let looks = self.random.below(3) as i64;
        if looks == 0 {
            let condition = self.local(condition, out);
            return out.push(stmt(StmtKind::Assume(condition)));
        }
        let mut body = Vec::new();
        let condition = self.local(condition, &mut body);
        body.push(if_stmt(condition, vec![stmt(StmtKind::Break)]));
        let range = Range { from: Expr::number(0), to: Expr::number(looks), inclusive: false };
        let index = self.fresh();
        out.push(stmt(StmtKind::For { index, range, body: Block { statements: body } }));
    }

    fn receive(&mut self, arms: &[Arm], timeout: Option<&Block>, out: &mut Vec<Stmt>) {
        let mut rewritten = Vec::new();
        for arm in arms {
            let pattern = match &arm.pattern {
                Pattern::Any => Pattern::Any,
                Pattern::Tuple(components) => {
                    let component = |component: &Component| match component {
                        Component::Equal(expr) => Component::Equal(self.local(expr, out)),
                        other => other.clone(),
                    };
                    Pattern::Tuple(components.iter().map(component).collect())
                }
            };
            rewritten.push(Arm { pattern, body: self.block(&arm.body) });
        }
        let timeout = timeout.map(|block| self.block(block));
        out.push(stmt(StmtKind::Receive { arms: rewritten, timeout }));
    }

    fn conditional(&mut self, arms: &[(Expr, Block)], otherwise: Option<&Block>, out: &mut Vec<Stmt>) {
        let Some(((condition, block), rest)) = arms.split_first() else { return };
        let condition = self.local(condition, out);
        let block = self.block(block);
        let otherwise = if rest.is_empty() {
            otherwise.map(|block| self.block(block))
        } else {
            let mut inner = Vec::new();
            self.conditional(rest, otherwise, &mut inner);
            Some(Block { statements: inner })
        };
        out.push(stmt(StmtKind::If { arms: vec![(condition, block)], otherwise }));
    }

    fn repeat(&mut self, condition: &Expr, body: &Block, out: &mut Vec<Stmt>) {
        if !self.reads_shared(condition) {
            let condition = self.local(condition, out);
            let body = self.block(body);
            return out.push(stmt(StmtKind::While { condition, body }));
        }
        let mut statements = Vec::new();
        let condition = self.local(condition, &mut statements);
        let over = Expr::new(ExprKind::Unary(UnaryOp::Not, Box::new(condition)));
        statements.push(if_stmt(over, vec![stmt(StmtKind::Break)]));
        statements.extend(self.block(body).statements);
        out.push(stmt(StmtKind::While { condition: Expr::number(1), body: Block { statements } }));
    }
}

/// The index of an object, none if it has none; none at all if it is computed.
fn constant_index(target: &Target) -> Option<Option<i64>> {
    match target.index.as_ref().map(|index| &index.kind) {
        None => Some(None),
        Some(ExprKind::Number(index)) => Some(Some(*index)),
        Some(_) => None,
    }
}

fn let_local(name: &str, value: Expr) -> Stmt {
    stmt(StmtKind::Let { name: Name::new(name), value })
}

fn if_stmt(condition: Expr, statements: Vec<Stmt>) -> Stmt {
    stmt(StmtKind::If { arms: vec![(condition, Block { statements })], otherwise: None })
}
