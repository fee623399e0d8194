//! Statements outside of atomic blocks, and the simple operations that are the same inside.

use mazurka_syntax::Diagnostic;

use super::{Compiler, Symbol, check};
use crate::ast::{AssignOp, BinaryOp, Block, Expr, Name, Stmt, StmtKind, Target};
use crate::code::{
    GuardCode, Instr, Lvalue, MAX_NESTING, Mention, NONE, Node, NodeId, Op, Peer, SendCode, SpawnCode,
};
use crate::printer::print_stmt_head;

impl Compiler {
    pub(super) fn block(&mut self, block: &Block) {
        if self.scope.nesting >= MAX_NESTING {
            if let Some(first) = block.statements.first() {
                self.too_deep(first.span);
            }
            return;
        }
        self.scope.nesting += 1;
        for statement in &block.statements {
            self.statement(statement);
        }
        self.scope.nesting -= 1;
    }

    fn statement(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::If { arms, otherwise } => self.if_stmt(arms, otherwise.as_ref()),
            StmtKind::While { condition, body } => self.while_stmt(condition, body),
            StmtKind::For { index, range, body } => self.for_stmt(index, range, body, stmt.span),
            StmtKind::Break | StmtKind::Continue => self.leave(stmt),
            StmtKind::Receive { arms, timeout } => self.receive(stmt, arms, timeout.as_ref()),
            StmtKind::Atomic { name, body } => self.atomic(stmt, name.as_ref(), body),
            StmtKind::Wait { condvar, lock } => self.wait(stmt, condvar, lock),
            StmtKind::Spawn { .. }
            | StmtKind::Lock(_)
            | StmtKind::Unlock(_)
            | StmtKind::TryLock { .. }
            | StmtKind::NotifyOne(_)
            | StmtKind::NotifyAll(_)
            | StmtKind::Await(_)
            | StmtKind::Join(_)
            | StmtKind::Choose { .. } => {
                let (instr, varies) = match self.waiting_or_creating(stmt) {
                    Some(compiled) => compiled,
                    None => return,
                };
                self.emit(instr, true, varies, stmt.span, print_stmt_head(stmt));
            }
            _ => {
                if let Some(op) = self.op(stmt) {
                    let step = self.op_is_step(op);
                    let varies = step && self.op_varies(op, &[]);
                    let text = if step { print_stmt_head(stmt) } else { String::new() };
                    self.emit(Instr::Op(op), step, varies, stmt.span, text);
                }
            }
        }
    }

    /// The steps that are one line and may not stand in an atomic block, and whether they vary.
    fn waiting_or_creating(&mut self, stmt: &Stmt) -> Option<(Instr, bool)> {
        Some(match &stmt.kind {
            StmtKind::Lock(lock) => (Instr::Lock(self.lock(lock)?), false),
            StmtKind::Unlock(lock) => (Instr::Unlock(self.lock(lock)?), false),
            StmtKind::TryLock { dest, lock } => {
                let (lock, dest) = (self.lock(lock), self.dest(dest, false));
                (Instr::TryLock { dest, lock: lock? }, false)
            }
            StmtKind::NotifyOne(condvar) => (Instr::NotifyOne(self.condvar(condvar)?), true),
            StmtKind::NotifyAll(condvar) => (Instr::NotifyAll(self.condvar(condvar)?), true),
            StmtKind::Await(condition) => (Instr::Await(self.guard(condition, stmt)), false),
            StmtKind::Spawn { dest, task, args } => {
                let spawn = self.spawn(task, args, stmt);
                let slot = self.dest(dest, true);
                let mut spawn = spawn?;
                spawn.dest = slot;
                let varies = spawn.args.iter().any(|&arg| self.image.varies(arg, &[]));
                if slot != NONE {
                    self.scope.tasks.entry(slot).or_default().push(spawn.body);
                }
                self.image.spawns.push(spawn);
                (Instr::Spawn(self.image.spawns.len() as u32 - 1), varies)
            }
            StmtKind::Join(target) => {
                let peer = self.peer(target)?;
                self.note_join(peer);
                (Instr::Join(peer), false)
            }
            StmtKind::Choose { dest, count } => {
                let count = self.local_expr(count, "the number of choices");
                (Instr::Choose { dest: self.dest(dest, false), count }, false)
            }
            _ => return None,
        })
    }

    fn note_join(&mut self, peer: Peer) {
        let decl = match peer {
            Peer::Handle(slot) => {
                self.scope.joined.insert(slot);
                return;
            }
            Peer::Root(root) => self.image.roots[root as usize],
            Peer::Member { decl, .. } => decl,
        };
        let body = self.image.families[decl as usize].body;
        self.joined[body as usize] = true;
    }

    fn wait(&mut self, stmt: &Stmt, condvar: &Target, lock: &Target) {
        let (condvar, lock) = (self.condvar(condvar), self.lock(lock));
        if let (Some(condvar), Some(lock)) = (condvar, lock) {
            let text = print_stmt_head(stmt);
            let wake = format!("wake up from {text}");
            let retake = format!("take the lock again after {text}");
            self.emit(Instr::WaitStart { condvar, lock }, true, false, stmt.span, text);
            self.emit(Instr::Wake(condvar), true, false, stmt.span, wake);
            self.emit(Instr::Lock(lock), true, false, stmt.span, retake);
        }
    }

    fn spawn(&mut self, task: &Name, args: &[Expr], stmt: &Stmt) -> Option<SpawnCode> {
        let args: Vec<NodeId> = args.iter().map(|arg| self.expr(arg)).collect();
        let body = match self.known(task)? {
            Symbol::Task(body) => body,
            symbol => {
                let message = format!("`{}` is {}, not a task", task.text, symbol.noun());
                let help = "only tasks are spawned: `task t(a) { ... }`; processes run from the start";
                self.error(Diagnostic::new(task.span, message).help(help));
                return None;
            }
        };
        let wanted = self.arity[body as usize];
        if args.len() != wanted {
            let message = format!("task `{}` takes {wanted} arguments, not {}", task.text, args.len());
            self.error(Diagnostic::new(stmt.span, message).help("give one argument for each parameter"));
            return None;
        }
        Some(SpawnCode { dest: NONE, body, args })
    }

    /// The guard of an await: what it reads, and the location that stands for all of it.
    pub(super) fn guard(&mut self, expr: &Expr, stmt: &Stmt) -> u32 {
        let errors = self.errors.len();
        let condition = self.condition(expr, None, stmt.span);
        let mentions = self.mentions(condition.node);
        if mentions.is_empty() && self.errors.len() == errors {
            let help = "nobody could make it true: wait for a shared variable, or use `if` or `assume`";
            self.error(Diagnostic::new(expr.span, "this `await` reads nothing shared").help(help));
        }
        let uses_locals = self.image.any_node(condition.node, |node| matches!(node, Node::Local(_)));
        let mut group = NONE;
        if self.errors.is_empty() && !matches!(mentions[..], [Mention::Cell(_) | Mention::Indexed(_)]) {
            group = self.image.fixed_locations;
            self.image.fixed_locations += 1;
            for mention in &mentions {
                let var = match *mention {
                    Mention::Cell(cell) => self.image.var_of(cell),
                    Mention::Indexed(Lvalue { var, .. }) | Mention::Whole(var) => var,
                };
                let groups = &mut self.image.vars[var as usize].groups;
                if groups.last() != Some(&group) {
                    groups.push(group);
                }
            }
        }
        self.image.guards.push(GuardCode { condition, mentions, group, uses_locals });
        self.image.guards.len() as u32 - 1
    }

    /// What an expression reads of shared memory, each thing once.
    pub(super) fn mentions(&self, id: NodeId) -> Vec<Mention> {
        let image = &self.image;
        let mut found: Vec<Mention> = Vec::new();
        image.each_node(id, &mut |node, part| {
            let new = match part {
                Node::Var(cell) => Mention::Cell(cell),
                Node::Cell { var, index } => match image.nodes[index as usize] {
                    // One that is out of range has been complained of.
                    Node::Const(at) => Mention::Cell(image.vars[var as usize].base.wrapping_add(at as u32)),
                    _ if image.reads_shared(index) => Mention::Whole(var),
                    _ => Mention::Indexed(Lvalue { var, index, node }),
                },
                _ => return,
            };
            let equal = |old: &Mention| match (*old, new) {
                (Mention::Cell(a), Mention::Cell(b)) | (Mention::Whole(a), Mention::Whole(b)) => a == b,
                (Mention::Indexed(a), Mention::Indexed(b)) => {
                    a.var == b.var && check::same(&image.nodes, a.index, b.index)
                }
                _ => false,
            };
            if !found.iter().any(equal) {
                found.push(new);
            }
        });
        found
    }

    /// A simple operation, or `None` after a complaint.
    pub(super) fn op(&mut self, stmt: &Stmt) -> Option<Op> {
        Some(match &stmt.kind {
            StmtKind::Let { name, value } => {
                let value = self.expr(value);
                let slot = self.declare_local(name, false);
                (slot != NONE).then_some(Op::Local { slot, value })?
            }
            StmtKind::Assign { target, op, value } => return self.assign(target, *op, value),
            StmtKind::FetchAdd { dest, target, value } => {
                let (to, value) = (self.shared_target(target, "fetch_add"), self.expr(value));
                Op::Change { dest: self.dest(dest, false), to: to?, op: BinaryOp::Add, by: value }
            }
            StmtKind::Swap { dest, target, value } => {
                let (to, value) = (self.shared_target(target, "swap"), self.expr(value));
                Op::Swap { dest: self.dest(dest, false), to: to?, value }
            }
            StmtKind::Cas { dest, target, old, new } => {
                let to = self.shared_target(target, "cas");
                let (old, new) = (self.expr(old), self.expr(new));
                Op::Cas { dest: self.dest(dest, false), to: to?, old, new }
            }
            StmtKind::Send { to, message } => {
                let message = message.iter().map(|part| self.expr(part)).collect();
                let to = self.peer(to)?;
                self.image.sends.push(SendCode { to, message });
                Op::Send(self.image.sends.len() as u32 - 1)
            }
            StmtKind::Assert { condition, message } => {
                let condition = self.condition(condition, message.clone(), stmt.span);
                self.image.conditions.push(condition);
                Op::Assert(self.image.conditions.len() as u32 - 1)
            }
            StmtKind::Assume(condition) => Op::Assume(self.expr(condition)),
            StmtKind::Skip => Op::Skip,
            _ => return None,
        })
    }

    fn assign(&mut self, target: &Target, op: AssignOp, value: &Expr) -> Option<Op> {
        let name = &target.name;
        let Some(&slot) = self.scope.slots.get(&name.text).filter(|_| target.index.is_none()) else {
            let (to, value) = (self.lvalue(target), self.expr(value));
            let to = to?;
            return Some(match op {
                AssignOp::Set => Op::Store { to, value },
                AssignOp::Add => Op::Change { dest: NONE, to, op: BinaryOp::Add, by: value },
                AssignOp::Sub => Op::Change { dest: NONE, to, op: BinaryOp::Sub, by: value },
            });
        };
        let mut value = self.expr(value);
        if self.scope.locals[slot as usize].handle {
            self.mixed(name, false);
            return None;
        }
        if op != AssignOp::Set {
            let old = self.node(Node::Local(slot), name.span);
            let op = if op == AssignOp::Add { BinaryOp::Add } else { BinaryOp::Sub };
            let node = self.binary(op, old, value);
            value = self.node(node, name.span);
        }
        Some(Op::Local { slot, value })
    }

    fn shared_target(&mut self, target: &Target, operation: &str) -> Option<Lvalue> {
        if target.index.is_none() && self.scope.slots.contains_key(&target.name.text) {
            let message =
                format!("`{}` is a local variable; `{operation}` is for shared ones", target.name.text);
            self.error(Diagnostic::new(target.name.span, message).help("assign it with `=`, `+=` or `-=`"));
            return None;
        }
        self.lvalue(target)
    }

    /// Whether an operation touches anything shared, or is a step by its nature.
    pub(super) fn op_is_step(&self, op: Op) -> bool {
        match op {
            Op::Local { value, .. } | Op::Assume(value) => self.image.reads_shared(value),
            Op::Assert(index) => self.image.reads_shared(self.image.conditions[index as usize].node),
            _ => true,
        }
    }

    /// Whether what an operation touches depends on shared values.
    pub(super) fn op_varies(&self, op: Op, taint: &[bool]) -> bool {
        let image = &self.image;
        let mut found = matches!(op, Op::Cas { .. });
        image.each_expr(op, &mut |expr| found |= image.varies(expr, taint));
        let index = match op {
            Op::Send(index) => match image.sends[index as usize].to {
                Peer::Member { index, .. } => index,
                Peer::Handle(_) | Peer::Root(_) => NONE,
            },
            _ => op.target().map_or(NONE, |to| to.index),
        };
        found |= index != NONE && image.depends(index, taint);
        found || self.op_is_blind(op) && self.op_may_fail(op, taint)
    }

    /// Whether an operation may end its step before it is done, depending on shared values.
    pub(super) fn op_may_fail(&self, op: Op, taint: &[bool]) -> bool {
        let mut found = false;
        self.image.each_expr(op, &mut |expr| found |= self.image.may_fail(expr, taint));
        found
    }

    /// Whether an operation overwrites something without a look at it, or sends: not so if the step has
    /// failed before.
    pub(super) fn op_is_blind(&self, op: Op) -> bool {
        match op {
            Op::Store { to, value } => {
                let own = self.image.vars[to.var as usize].base;
                let is_own = |node| matches!(node, Node::Var(cell) if cell == own);
                to.index != NONE || !self.image.any_node(value, is_own)
            }
            Op::Send(_) => true,
            _ => false,
        }
    }
}
