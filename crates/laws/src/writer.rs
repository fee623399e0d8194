//! Writes the bodies of random programs, statement by statement.

use mazurka_litmus::ast::*;

use crate::generate::Features;
use crate::random::Random;

/// Whose body is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    Process(usize),
    Task(usize),
}

/// Writes a body.
pub(crate) struct Writer<'a> {
    features: &'a Features,
    body: Body,
    pub locals: Vec<String>,
    handles: Vec<String>,
    held: Vec<Target>,
    /// How many loops are open.
    loops: usize,
}

impl<'a> Writer<'a> {
    pub fn new(features: &'a Features, body: Body) -> Writer<'a> {
        Writer { features, body, locals: Vec::new(), handles: Vec::new(), held: Vec::new(), loops: 0 }
    }

    pub fn block(&mut self, random: &mut Random, statements: usize, depth: usize) -> Block {
        let mut block = Block::default();
        for _ in 0..statements {
            self.statement(random, depth, &mut block.statements);
        }
        // Most, not all, programs give their locks back.
        if depth == 0 && !random.one_in(3) {
            for lock in std::mem::take(&mut self.held) {
                block.statements.push(stmt(StmtKind::Unlock(lock)));
            }
        }
        block
    }

    /// One statement, or a few that belong together.
    pub fn statement(&mut self, random: &mut Random, depth: usize, out: &mut Vec<Stmt>) {
        let f = self.features;
        let kind = match random.weighted(&f.weights) {
            0 => self.assign(random),
            1 => StmtKind::Let { value: self.shared_expr(random), name: self.fresh() },
            2 => {
                let op = if random.one_in(3) { AssignOp::Sub } else { AssignOp::Add };
                StmtKind::Assign { target: self.target(random), op, value: constant(random) }
            }
            3 => self.read_modify_write(random),
            4 => self.atomic(random),
            5 => StmtKind::Await(self.condition(random)),
            6 => return self.lock_or_unlock(random, out),
            7 => return self.try_lock(random, depth, out),
            8 => return self.wait(random, depth, out),
            9 => match random.pick(&f.condvars).cloned() {
                Some(c) if random.one_in(3) => StmtKind::NotifyAll(c),
                Some(c) => StmtKind::NotifyOne(c),
                None => self.assign(random),
            },
            10 => return self.spawn(random, depth, out),
            11 => return self.join(random, out),
            12 => StmtKind::Assert { condition: self.condition(random), message: None },
            13 if random.one_in(2) => StmtKind::Assume(self.condition(random)),
            14 => self.choose(random),
            15 if depth < 2 => self.conditional(random, depth),
            16 if depth < 1 => self.repeat(random, depth),
            17 | 18 => self.send(random),
            19 | 20 => self.receive(random, depth),
            21 => self.atomic_await(random),
            22 if random.one_in(3) => StmtKind::Skip,
            23 if depth < 1 => return self.while_loop(random, depth, out),
            24 if self.loops > 0 => self.leave(random),
            25 if random.one_in(2) => self.failing(random),
            26 => self.local_assign(random),
            _ => self.assign(random),
        };
        out.push(stmt(kind));
    }

    fn fresh(&mut self) -> Name {
        let name = format!("v{}", self.locals.len());
        self.locals.push(name.clone());
        Name::new(name)
    }

    fn var(&self, random: &mut Random) -> String {
        random.pick(&self.features.vars).cloned().unwrap_or_else(|| "x".to_owned())
    }

    fn target(&mut self, random: &mut Random) -> Target {
        if let Some(array) = random.pick(&self.features.arrays).cloned().filter(|_| random.one_in(2)) {
            let index =
                if random.one_in(3) { self.simple(random) } else { Expr::number(random.below(2) as i64) };
            return cell(&array, index);
        }
        object(&self.var(random))
    }

    fn assign(&mut self, random: &mut Random) -> StmtKind {
        let value = match random.below(4) {
            0 => self.shared_expr(random),
            1 => self.local(random),
            _ => constant(random),
        };
        StmtKind::Assign { target: self.target(random), op: AssignOp::Set, value }
    }

    fn local(&mut self, random: &mut Random) -> Expr {
        random.pick(&self.locals).map_or_else(|| Expr::number(1), Expr::name)
    }

    /// A statement that is no step, if there is a local variable.
    fn local_assign(&mut self, random: &mut Random) -> StmtKind {
        let value = Expr::binary(arithmetic(random), self.local(random), constant(random));
        match random.pick(&self.locals).cloned() {
            Some(name) if random.one_in(2) => {
                StmtKind::Assign { target: object(&name), op: AssignOp::Set, value }
            }
            _ => StmtKind::Let { name: self.fresh(), value },
        }
    }

    fn simple(&mut self, random: &mut Random) -> Expr {
        match random.below(3) {
            0 => self.local(random),
            1 => constant(random),
            _ => Expr::name(self.var(random)),
        }
    }

    fn read(&mut self, random: &mut Random) -> Expr {
        let Target { name, index } = self.target(random);
        match index {
            None => Expr::new(ExprKind::Name(name)),
            Some(index) => Expr::new(ExprKind::Cell(name, Box::new(index))),
        }
    }

    fn shared_expr(&mut self, random: &mut Random) -> Expr {
        let read = self.read(random);
        match random.below(10) {
            0 | 1 => Expr::binary(BinaryOp::Add, read, self.simple(random)),
            2 => Expr::binary(arithmetic(random), read, self.simple(random)),
            3 => Expr::new(ExprKind::Unary(
                if random.one_in(2) { UnaryOp::Neg } else { UnaryOp::Not },
                Box::new(read),
            )),
            _ => read,
        }
    }

    fn condition(&mut self, random: &mut Random) -> Expr {
        let first = self.comparison(random);
        match random.below(5) {
            0 => Expr::binary(BinaryOp::And, first, self.comparison(random)),
            1 => Expr::binary(BinaryOp::Or, first, self.comparison(random)),
            2 if random.one_in(4) => Expr::new(ExprKind::Unary(UnaryOp::Not, Box::new(first))),
            _ => first,
        }
    }

    fn comparison(&mut self, random: &mut Random) -> Expr {
        use BinaryOp::{Eq, Ge, Gt, Le, Lt, Ne};
        let op = [Eq, Eq, Eq, Ne, Ne, Gt, Lt, Le, Ge][random.below(9)];
        let left = self.read(random);
        let right = if random.one_in(6) { self.simple(random) } else { constant(random) };
        Expr::binary(op, left, right)
    }

    fn read_modify_write(&mut self, random: &mut Random) -> StmtKind {
        let target = self.target(random);
        let value = if random.one_in(5) { self.simple(random) } else { constant(random) };
        let dest = if random.one_in(4) { Dest::None } else { Dest::Let(self.fresh()) };
        match random.below(3) {
            0 => StmtKind::FetchAdd { target, value, dest },
            1 => StmtKind::Swap { target, value, dest },
            _ => StmtKind::Cas { target, old: constant(random), new: value, dest },
        }
    }

    /// `atomic { if x == 0 { y = 1; } }` and the like.
    fn atomic(&mut self, random: &mut Random) -> StmtKind {
        let mut statements = vec![stmt(self.inner(random, 0))];
        for _ in 0..random.below(3) {
            statements.push(stmt(self.inner(random, 0)));
        }
        StmtKind::Atomic(Block { statements })
    }

    /// A statement of an atomic block.
    fn inner(&mut self, random: &mut Random, depth: usize) -> StmtKind {
        match random.below(14) {
            0 => StmtKind::Let { value: self.shared_expr(random), name: self.fresh() },
            1 => self.read_modify_write(random),
            2 => self.send(random),
            3 if random.one_in(2) => StmtKind::Assert { condition: self.condition(random), message: None },
            3 => StmtKind::Assume(self.condition(random)),
            4..=6 if depth < 2 => {
                let arms = vec![(self.condition(random), self.inner_block(random, depth))];
                let otherwise = random.one_in(3).then(|| self.inner_block(random, depth));
                StmtKind::If { arms, otherwise }
            }
            7 if depth < 1 => {
                let index = self.fresh();
                let to = if random.one_in(3) { self.simple(random) } else { Expr::number(2) };
                let range = Range { from: Expr::number(0), to, inclusive: false };
                self.loops += 1;
                let body = self.inner_block(random, depth);
                self.loops -= 1;
                StmtKind::For { index, range, body }
            }
            8 if self.loops > 0 => self.leave(random),
            _ => self.assign(random),
        }
    }

    fn inner_block(&mut self, random: &mut Random, depth: usize) -> Block {
        Block { statements: vec![stmt(self.inner(random, depth + 1))] }
    }

    fn atomic_await(&mut self, random: &mut Random) -> StmtKind {
        let condition = stmt(StmtKind::Await(self.condition(random)));
        StmtKind::Atomic(Block { statements: vec![condition, stmt(self.inner(random, 0))] })
    }

    fn lock_or_unlock(&mut self, random: &mut Random, out: &mut Vec<Stmt>) {
        let free: Vec<&Target> = self.features.locks.iter().filter(|l| !self.held.contains(l)).collect();
        match random.pick(&free) {
            Some(&lock) => {
                self.held.push(lock.clone());
                out.push(stmt(StmtKind::Lock(lock.clone())));
            }
            None if !self.held.is_empty() => {
                let lock = self.held.remove(random.below(self.held.len()));
                out.push(stmt(StmtKind::Unlock(lock)));
            }
            None => out.push(stmt(self.assign(random))),
        }
    }

    fn try_lock(&mut self, random: &mut Random, depth: usize, out: &mut Vec<Stmt>) {
        let Some(lock) = random.pick(&self.features.locks).cloned() else {
            return out.push(stmt(self.assign(random)));
        };
        let name = self.fresh();
        let taken = Expr::name(&name.text);
        out.push(stmt(StmtKind::TryLock { dest: Dest::Let(name), lock: lock.clone() }));
        if depth == 0 && !random.one_in(3) {
            let statements = vec![stmt(self.assign(random)), stmt(StmtKind::Unlock(lock))];
            out.push(stmt(StmtKind::If { arms: vec![(taken, Block { statements })], otherwise: None }));
        }
    }

    fn wait(&mut self, random: &mut Random, depth: usize, out: &mut Vec<Stmt>) {
        let (Some(c), Some(m)) = (random.pick(&self.features.condvars), random.pick(&self.features.locks))
        else {
            return out.push(stmt(self.assign(random)));
        };
        if !self.held.contains(m) {
            self.held.push(m.clone());
            out.push(stmt(StmtKind::Lock(m.clone())));
        }
        let wait = stmt(StmtKind::Wait { condvar: c.clone(), lock: m.clone() });
        out.push(match random.below(6) {
            0 if depth == 0 => {
                let arms = vec![(self.condition(random), Block { statements: vec![wait] })];
                stmt(StmtKind::If { arms, otherwise: None })
            }
            1 if depth == 0 => {
                let (condition, body) = (self.condition(random), Block { statements: vec![wait] });
                stmt(StmtKind::While { condition, body })
            }
            _ => wait,
        });
    }

    fn spawn(&mut self, random: &mut Random, depth: usize, out: &mut Vec<Stmt>) {
        let later = match self.body {
            Body::Process(_) => 0,
            Body::Task(k) => k + 1,
        };
        let tasks = self.features.tasks.get(later..).unwrap_or_default();
        let Some((task, params)) = random.pick(tasks).cloned().filter(|_| depth < 2) else {
            return out.push(stmt(self.assign(random)));
        };
        let args = (0..params).map(|_| self.simple(random)).collect();
        let dest = match random.pick(&self.handles).cloned() {
            _ if random.one_in(4) => Dest::None,
            Some(handle) if random.one_in(4) => Dest::Let(Name::new(handle)),
            _ => {
                let handle = format!("h{}", self.handles.len());
                self.handles.push(handle.clone());
                Dest::Let(Name::new(handle))
            }
        };
        out.push(stmt(StmtKind::Spawn { dest, task: Name::new(task), args }));
    }

    fn join(&mut self, random: &mut Random, out: &mut Vec<Stmt>) {
        if let (Some(handle), true) = (random.pick(&self.handles), random.one_in(2)) {
            return out.push(stmt(StmtKind::Join(object(handle))));
        }
        let family = self.features.processes.iter().enumerate().find(|(_, (_, family))| *family);
        if let Some((_, (name, _))) = family.filter(|&(k, _)| self.body != Body::Process(k))
            && random.one_in(2)
        {
            let index = self.fresh();
            let join = stmt(StmtKind::Join(cell(name, Expr::name(&index.text))));
            let body = Block { statements: vec![join] };
            return out.push(stmt(StmtKind::For { index, range: range(0, 2), body }));
        }
        let kind = match self.other(random) {
            Some(process) => StmtKind::Join(process),
            None => self.assign(random),
        };
        out.push(stmt(kind));
    }

    /// Another process; of a family, any member.
    fn other(&mut self, random: &mut Random) -> Option<Target> {
        let others = self.features.processes.iter().enumerate();
        let others: Vec<(String, bool)> = others
            .filter(|(k, (_, family))| *family || self.body != Body::Process(*k))
            .map(|(_, process)| process.clone())
            .collect();
        let (name, family) = random.pick(&others)?;
        if !family {
            return Some(object(name));
        }
        let index = match random.below(4) {
            0 => self.local(random),
            _ => Expr::number(random.below(2) as i64),
        };
        Some(cell(name, index))
    }

    fn choose(&mut self, random: &mut Random) -> StmtKind {
        let count = match random.below(8) {
            0 => Expr::number(3),
            1 => self.local(random),
            _ => Expr::number(2),
        };
        StmtKind::Choose { count, dest: Dest::Let(self.fresh()) }
    }

    fn send(&mut self, random: &mut Random) -> StmtKind {
        let mut message = vec![if random.one_in(5) { self.simple(random) } else { constant(random) }];
        if random.one_in(4) {
            message.push(self.simple(random));
        }
        let to = match random.pick(&self.handles) {
            Some(handle) if random.one_in(2) => object(handle),
            _ => match self.other(random) {
                Some(process) => process,
                None => return self.assign(random),
            },
        };
        StmtKind::Send { to, message }
    }

    fn receive(&mut self, random: &mut Random, depth: usize) -> StmtKind {
        let mut arms = vec![Arm { pattern: self.pattern(random), body: self.small_block(random, depth + 1) }];
        if random.one_in(3) {
            arms.push(Arm { pattern: self.pattern(random), body: self.small_block(random, depth) });
        }
        let timeout = random.one_in(3).then(|| self.small_block(random, depth));
        StmtKind::Receive { arms, timeout }
    }

    fn small_block(&mut self, random: &mut Random, depth: usize) -> Block {
        if depth > 1 || random.one_in(2) { Block::default() } else { self.block(random, 1, depth + 1) }
    }

    fn pattern(&mut self, random: &mut Random) -> Pattern {
        let first = match random.below(8) {
            0 => return Pattern::Any,
            1 | 2 => Component::Bind(self.fresh()),
            3 => Component::Equal(self.local(random)),
            4 => Component::Any,
            _ => Component::Equal(constant(random)),
        };
        let second = match random.below(8) {
            0 => Component::Bind(self.fresh()),
            1 => Component::Any,
            _ => return Pattern::Tuple(vec![first]),
        };
        Pattern::Tuple(vec![first, second])
    }

    fn conditional(&mut self, random: &mut Random, depth: usize) -> StmtKind {
        let mut arms = Vec::new();
        for _ in 0..1 + usize::from(random.one_in(5)) {
            let condition = if self.locals.is_empty() || random.one_in(3) {
                self.condition(random)
            } else {
                Expr::binary(BinaryOp::Eq, self.local(random), constant(random))
            };
            arms.push((condition, self.block(random, 1, depth + 1)));
        }
        let otherwise = random.one_in(3).then(|| self.block(random, 1, depth + 1));
        StmtKind::If { arms, otherwise }
    }

    fn repeat(&mut self, random: &mut Random, depth: usize) -> StmtKind {
        let index = self.fresh();
        let mut range = range(0, 2);
        match random.below(8) {
            0 => range.inclusive = true,
            1 => range.to = self.simple(random),
            _ => {}
        }
        StmtKind::For { index, range, body: self.loop_body(random, depth) }
    }

    fn loop_body(&mut self, random: &mut Random, depth: usize) -> Block {
        self.loops += 1;
        let statements = 1 + usize::from(random.one_in(3));
        let body = self.block(random, statements, depth + 1);
        self.loops -= 1;
        body
    }

    /// A loop that ends soon, or at least as soon as the others let it.
    fn while_loop(&mut self, random: &mut Random, depth: usize, out: &mut Vec<Stmt>) {
        let (condition, last) = match random.below(3) {
            0 => {
                let name = self.fresh();
                out.push(stmt(StmtKind::Let { name: name.clone(), value: Expr::number(0) }));
                let (target, value) = (object(&name.text), Expr::number(1));
                let count = StmtKind::Assign { target, op: AssignOp::Add, value };
                let less = Expr::binary(BinaryOp::Lt, Expr::name(&name.text), Expr::number(2));
                let condition = match random.one_in(2) {
                    true => Expr::binary(BinaryOp::And, less, self.comparison(random)),
                    false => less,
                };
                (condition, count)
            }
            1 => {
                let var = self.var(random);
                let less = Expr::binary(BinaryOp::Lt, Expr::name(&var), constant(random));
                (less, StmtKind::Assign { target: object(&var), op: AssignOp::Add, value: Expr::number(1) })
            }
            _ => (self.condition(random), StmtKind::Break),
        };
        let mut body = self.loop_body(random, depth);
        body.statements.push(stmt(last));
        out.push(stmt(StmtKind::While { condition, body }));
    }

    /// `break`, `continue`, or one of them under a condition.
    fn leave(&mut self, random: &mut Random) -> StmtKind {
        let kind = if random.one_in(3) { StmtKind::Continue } else { StmtKind::Break };
        if random.one_in(3) {
            return kind;
        }
        let arms = vec![(self.condition(random), Block { statements: vec![stmt(kind)] })];
        StmtKind::If { arms, otherwise: None }
    }

    /// A statement that fails, always or perhaps.
    fn failing(&mut self, random: &mut Random) -> StmtKind {
        match random.below(4) {
            0 => match random.pick(&self.features.locks).cloned() {
                Some(lock) => StmtKind::Unlock(lock),
                None => self.assign(random),
            },
            1 => match random.pick(&self.features.arrays).cloned() {
                Some(array) => {
                    let index = Expr::binary(BinaryOp::Add, Expr::name(self.var(random)), Expr::number(1));
                    StmtKind::Assign {
                        target: cell(&array, index),
                        op: AssignOp::Set,
                        value: constant(random),
                    }
                }
                None => self.assign(random),
            },
            _ => {
                let op = if random.one_in(2) { BinaryOp::Div } else { BinaryOp::Rem };
                let value = Expr::binary(op, self.simple(random), self.read(random));
                match random.one_in(2) {
                    true => StmtKind::Let { name: self.fresh(), value },
                    false => StmtKind::Assign { target: self.target(random), op: AssignOp::Set, value },
                }
            }
        }
    }
}

pub(crate) fn stmt(kind: StmtKind) -> Stmt {
    Stmt { kind, span: Span::default() }
}

pub(crate) fn object(name: &str) -> Target {
    Target { name: Name::new(name), index: None }
}

pub(crate) fn cell(name: &str, index: Expr) -> Target {
    Target { name: Name::new(name), index: Some(index) }
}

pub(crate) fn constant(random: &mut Random) -> Expr {
    Expr::number(if random.one_in(16) { -1 } else { random.below(3) as i64 })
}

fn arithmetic(random: &mut Random) -> BinaryOp {
    use BinaryOp::{Add, Div, Mul, Rem, Sub};
    [Add, Sub, Sub, Mul, Div, Rem][random.below(6)]
}

pub(crate) fn range(from: i64, to: i64) -> Range {
    Range { from: Expr::number(from), to: Expr::number(to), inclusive: false }
}
