//! Random programs: small ones, over all that the language has.
//!
//! A program draws a few features first and uses only those, so that each is met densely by some programs. Programs
//! are kept to a handful of steps: the oracle tries every interleaving.

use mazurka_litmus::ast::*;

use crate::random::Random;

/// What a program may use.
#[derive(Clone, Debug)]
pub(crate) struct Features {
    pub vars: Vec<String>,
    pub arrays: Vec<String>,
    pub locks: Vec<String>,
    pub condvars: Vec<String>,
    pub tasks: Vec<String>,
    pub processes: Vec<String>,
    /// Weights of the kinds of statements, by [`KINDS`].
    pub weights: Vec<usize>,
}

const KINDS: usize = 22;

/// A fresh random program.
pub fn program(random: &mut Random) -> Ast {
    let features = features(random);
    let mut items = declarations(&features, random);
    let steps = 4 + random.below(6);
    let each = steps.div_ceil(features.processes.len()).min(5);
    for task in &features.tasks {
        let statements = 1 + random.below(2);
        let body = Writer::new(&features, None).block(random, statements, 1);
        items.push(Item::Task(TaskDecl { name: Name::new(task), params: Vec::new(), body }));
    }
    for (k, process) in features.processes.iter().enumerate() {
        let statements = 1 + random.below(each);
        let body = Writer::new(&features, Some(k)).block(random, statements, 0);
        items.push(Item::Process(ProcessDecl { name: Name::new(process), family: None, body }));
    }
    Ast { items }
}

fn features(random: &mut Random) -> Features {
    let some =
        |names: &[&str], n: usize| names.iter().take(n).map(|&name| name.to_owned()).collect::<Vec<_>>();
    let vars = some(&["x", "y", "z"], 1 + random.below(3));
    let arrays = some(&["a"], usize::from(random.one_in(6)));
    let locks = some(&["m", "l"], random.weighted(&[3, 2, 1]));
    let condvars = if locks.is_empty() { Vec::new() } else { some(&["c"], random.below(2)) };
    let tasks = some(&["t"], usize::from(random.one_in(4)));
    let processes = some(&["p", "q", "r", "s"], 2 + random.below(3));
    let weights = (0..KINDS).map(|_| [0, 1, 1, 2, 6][random.below(5)]).collect();
    Features { vars, arrays, locks, condvars, tasks, processes, weights }
}

fn declarations(features: &Features, random: &mut Random) -> Vec<Item> {
    let mut items = Vec::new();
    let mut var = |name: &String, size: Option<Expr>| {
        let init = if random.one_in(4) { Init::All(Expr::number(1)) } else { Init::Zero };
        VarDecl { name: Name::new(name), size, init }
    };
    let mut vars: Vec<VarDecl> = features.vars.iter().map(|name| var(name, None)).collect();
    vars.extend(features.arrays.iter().map(|name| var(name, Some(Expr::number(2)))));
    items.push(Item::Var(vars));
    let objects = |names: &[String]| -> Vec<ObjectDecl> {
        names.iter().map(|name| ObjectDecl { name: Name::new(name), size: None }).collect()
    };
    if !features.locks.is_empty() {
        items.push(Item::Lock(objects(&features.locks)));
    }
    if !features.condvars.is_empty() {
        items.push(Item::Condvar(objects(&features.condvars)));
    }
    items
}

pub(crate) fn stmt(kind: StmtKind) -> Stmt {
    Stmt { kind, span: Span::default() }
}

/// Writes the body of one process.
pub(crate) struct Writer<'a> {
    features: &'a Features,
    /// Which process it is; none for a task.
    process: Option<usize>,
    pub locals: Vec<String>,
    handles: Vec<String>,
    held: Vec<String>,
}

impl<'a> Writer<'a> {
    pub fn new(features: &'a Features, process: Option<usize>) -> Writer<'a> {
        Writer { features, process, locals: Vec::new(), handles: Vec::new(), held: Vec::new() }
    }

    fn block(&mut self, random: &mut Random, statements: usize, depth: usize) -> Block {
        let mut block = Block::default();
        for _ in 0..statements {
            self.statement(random, depth, &mut block.statements);
        }
        // Most, not all, programs give their locks back.
        if depth == 0 && !random.one_in(3) {
            for lock in std::mem::take(&mut self.held) {
                block.statements.push(stmt(StmtKind::Unlock(object(&lock))));
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
            2 => StmtKind::Assign { target: self.target(random), op: AssignOp::Add, value: constant(random) },
            3 => self.read_modify_write(random),
            4 => self.atomic(random),
            5 => StmtKind::Await(self.condition(random)),
            6 => return self.lock_or_unlock(random, out),
            7 => return self.try_lock(random, depth, out),
            8 => return self.wait(random, out),
            9 => match random.pick(&f.condvars) {
                Some(c) if random.one_in(2) => StmtKind::NotifyOne(object(c)),
                Some(c) => StmtKind::NotifyAll(object(c)),
                None => self.assign(random),
            },
            10 => return self.spawn(random, depth, out),
            11 => self.join(random),
            12 => StmtKind::Assert { condition: self.condition(random), message: None },
            13 if random.one_in(2) => StmtKind::Assume(self.condition(random)),
            14 => StmtKind::Choose { count: Expr::number(2), dest: Dest::Let(Name::new(self.fresh().text)) },
            15 if depth < 2 => self.conditional(random, depth),
            16 if depth < 1 => self.repeat(random, depth),
            17 | 18 => self.send(random),
            19 => self.receive(random, depth),
            20 => self.atomic_await(random),
            21 if random.one_in(3) => StmtKind::Skip,
            _ => self.assign(random),
        };
        out.push(stmt(kind));
    }

    fn fresh(&mut self) -> Name {
        let name = format!("v{}", self.locals.len());
        self.locals.push(name.clone());
        Name::new(name)
    }

    fn target(&mut self, random: &mut Random) -> Target {
        let arrays = &self.features.arrays;
        if !arrays.is_empty() && random.one_in(3) {
            let index =
                if random.one_in(3) { self.simple(random) } else { Expr::number(random.below(2) as i64) };
            return Target { name: Name::new(&arrays[0]), index: Some(index) };
        }
        object(random.pick(&self.features.vars).expect("there is a variable"))
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

    fn simple(&mut self, random: &mut Random) -> Expr {
        match random.below(3) {
            0 => self.local(random),
            1 => constant(random),
            _ => Expr::name(random.pick(&self.features.vars).expect("there is a variable")),
        }
    }

    fn shared_expr(&mut self, random: &mut Random) -> Expr {
        let read = self.target(random);
        let read = match read.index {
            None => Expr::new(ExprKind::Name(read.name)),
            Some(index) => Expr::new(ExprKind::Cell(read.name, Box::new(index))),
        };
        if random.one_in(4) { Expr::binary(BinaryOp::Add, read, self.simple(random)) } else { read }
    }

    fn condition(&mut self, random: &mut Random) -> Expr {
        let mut one = |random: &mut Random| {
            let op = [BinaryOp::Eq, BinaryOp::Eq, BinaryOp::Ne, BinaryOp::Gt, BinaryOp::Lt][random.below(5)];
            let left = Expr::name(random.pick(&self.features.vars).expect("there is a variable"));
            let right = if random.one_in(6) { self.simple(random) } else { constant(random) };
            Expr::binary(op, left, right)
        };
        let first = one(random);
        match random.below(4) {
            0 => Expr::binary(BinaryOp::And, first, one(random)),
            1 => Expr::binary(BinaryOp::Or, first, one(random)),
            _ => first,
        }
    }

    fn read_modify_write(&mut self, random: &mut Random) -> StmtKind {
        let target = self.target(random);
        let value = constant(random);
        match random.below(3) {
            0 => StmtKind::FetchAdd { target, value, dest: Dest::Let(self.fresh()) },
            1 => StmtKind::Swap { target, value, dest: Dest::Let(self.fresh()) },
            _ => StmtKind::Cas { target, old: constant(random), new: value, dest: Dest::Let(self.fresh()) },
        }
    }

    /// `atomic { if x == 0 { y = 1; } }` and the like.
    fn atomic(&mut self, random: &mut Random) -> StmtKind {
        let mut statements = vec![stmt(self.assign(random))];
        if random.one_in(2) {
            let arms = vec![(self.condition(random), Block { statements })];
            let otherwise = random.one_in(4).then(|| Block { statements: vec![stmt(self.assign(random))] });
            statements = vec![stmt(StmtKind::If { arms, otherwise })];
        }
        if random.one_in(2) {
            statements.push(stmt(self.assign(random)));
        }
        StmtKind::Atomic(Block { statements })
    }

    fn atomic_await(&mut self, random: &mut Random) -> StmtKind {
        let condition = stmt(StmtKind::Await(self.condition(random)));
        StmtKind::Atomic(Block { statements: vec![condition, stmt(self.assign(random))] })
    }

    fn lock_or_unlock(&mut self, random: &mut Random, out: &mut Vec<Stmt>) {
        let free: Vec<&String> = self.features.locks.iter().filter(|l| !self.held.contains(l)).collect();
        match random.pick(&free) {
            Some(&lock) => {
                self.held.push(lock.clone());
                out.push(stmt(StmtKind::Lock(object(lock))));
            }
            None if !self.held.is_empty() => {
                let lock = self.held.remove(random.below(self.held.len()));
                out.push(stmt(StmtKind::Unlock(object(&lock))));
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
        out.push(stmt(StmtKind::TryLock { dest: Dest::Let(name), lock: object(&lock) }));
        if depth == 0 && !random.one_in(3) {
            let statements = vec![stmt(self.assign(random)), stmt(StmtKind::Unlock(object(&lock)))];
            out.push(stmt(StmtKind::If { arms: vec![(taken, Block { statements })], otherwise: None }));
        }
    }

    fn wait(&mut self, random: &mut Random, out: &mut Vec<Stmt>) {
        let (Some(c), Some(m)) = (random.pick(&self.features.condvars), random.pick(&self.features.locks))
        else {
            return out.push(stmt(self.assign(random)));
        };
        if !self.held.contains(m) {
            self.held.push(m.clone());
            out.push(stmt(StmtKind::Lock(object(m))));
        }
        out.push(stmt(StmtKind::Wait { condvar: object(c), lock: object(m) }));
    }

    fn spawn(&mut self, random: &mut Random, depth: usize, out: &mut Vec<Stmt>) {
        let (Some(task), Some(_), 0) = (random.pick(&self.features.tasks), self.process, depth) else {
            return out.push(stmt(self.assign(random)));
        };
        let handle = format!("h{}", self.handles.len());
        let dest = Dest::Let(Name::new(&handle));
        self.handles.push(handle);
        out.push(stmt(StmtKind::Spawn { dest, task: Name::new(task), args: Vec::new() }));
    }

    fn join(&mut self, random: &mut Random) -> StmtKind {
        if let (Some(handle), true) = (random.pick(&self.handles), random.one_in(2)) {
            return StmtKind::Join(object(handle));
        }
        match self.other(random) {
            Some(process) => StmtKind::Join(object(&process)),
            None => self.assign(random),
        }
    }

    fn other(&mut self, random: &mut Random) -> Option<String> {
        let others = self.features.processes.iter().enumerate().filter(|(k, _)| Some(*k) != self.process);
        let others: Vec<&String> = others.map(|(_, name)| name).collect();
        random.pick(&others).map(|&name| name.clone())
    }

    fn send(&mut self, random: &mut Random) -> StmtKind {
        let mut message = vec![constant(random)];
        if random.one_in(4) {
            message.push(self.simple(random));
        }
        let to = match random.pick(&self.handles) {
            Some(handle) if random.one_in(2) => object(handle),
            _ => match self.other(random) {
                Some(process) => object(&process),
                None => return self.assign(random),
            },
        };
        StmtKind::Send { to, message }
    }

    fn receive(&mut self, random: &mut Random, depth: usize) -> StmtKind {
        let mut arms = vec![Arm { pattern: self.pattern(random), body: Block::default() }];
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
        match random.below(5) {
            0 => Pattern::Any,
            1 => Pattern::Tuple(vec![Component::Bind(self.fresh())]),
            2 => Pattern::Tuple(vec![Component::Equal(constant(random)), Component::Any]),
            _ => Pattern::Tuple(vec![Component::Equal(constant(random))]),
        }
    }

    fn conditional(&mut self, random: &mut Random, depth: usize) -> StmtKind {
        let condition = if self.locals.is_empty() || random.one_in(3) {
            self.condition(random)
        } else {
            Expr::binary(BinaryOp::Eq, self.local(random), constant(random))
        };
        let arms = vec![(condition, self.block(random, 1, depth + 1))];
        let otherwise = random.one_in(3).then(|| self.block(random, 1, depth + 1));
        StmtKind::If { arms, otherwise }
    }

    fn repeat(&mut self, random: &mut Random, depth: usize) -> StmtKind {
        let index = self.fresh();
        let range = Range { from: Expr::number(0), to: Expr::number(2), inclusive: false };
        StmtKind::For { index, range, body: self.block(random, 1, depth + 1) }
    }
}

pub(crate) fn object(name: &str) -> Target {
    Target { name: Name::new(name), index: None }
}

pub(crate) fn constant(random: &mut Random) -> Expr {
    Expr::number(random.below(3) as i64)
}
