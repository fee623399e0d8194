//! From a rewritten program to the plan of a closure: names are resolved here.

use std::collections::BTreeMap;

use mazurka_litmus::ast::{Component as Pick, *};

use super::arithmetic;
use super::only::{self, Only};
use super::plan::{Component, *};
use super::twins::{TOKEN, Twin, stands_for_another};

const NOT_A_TWIN: Unfit = "a twin that is not what it should be";
const NOT_REWRITTEN: Unfit = "a step with several accesses";

/// The plan of a rewritten program.
pub(super) fn plan(ast: &Ast) -> Result<Plan, Unfit> {
    let mut lowering = Lowering::default();
    for item in &ast.items {
        lowering.declare(item)?;
    }
    for item in &ast.items {
        let (params, block) = match item {
            Item::Process(process) => {
                (process.family.iter().map(|(index, _)| index).collect(), &process.body)
            }
            Item::Task(task) => (task.params.iter().collect::<Vec<_>>(), &task.body),
            _ => continue,
        };
        lowering.body(&params, block)?;
    }
    lowering.joins()?;
    lowering.unparks()?;
    Ok(lowering.plan)
}

#[derive(Clone, Copy)]
struct Row {
    first: usize,
    len: usize,
    from: i64,
}

#[derive(Default)]
struct Lowering {
    plan: Plan,
    vars: BTreeMap<String, Row>,
    locks: BTreeMap<String, Row>,
    condvars: BTreeMap<String, Row>,
    processes: BTreeMap<String, Row>,
    tasks: BTreeMap<String, usize>,
    bodies: usize,
    locals: BTreeMap<String, Slot>,
    handles: BTreeMap<String, Slot>,
    /// `(target, joiner)`: roots that are joined, and the body that does it.
    joins: Vec<(Row, usize)>,
    rwlocks: BTreeMap<String, usize>,
    tokens: BTreeMap<String, usize>,
    /// `(target, body)`: roots that are unparked, and the body that does it.
    unparks: Vec<(usize, usize)>,
}

fn number(expr: &Expr) -> Result<i64, Unfit> {
    arithmetic::constant(expr, &|_| None).ok_or("a size that is no number")
}

fn count(size: Option<&Expr>) -> Result<usize, Unfit> {
    let size = size.map_or(Ok(1), number)?;
    usize::try_from(size).ok().filter(|size| *size <= 64).ok_or("a large array")
}

impl Lowering {
    fn declare(&mut self, item: &Item) -> Result<(), Unfit> {
        match item {
            Item::Param(..) | Item::Const(..) => return Err("a constant with a name"),
            Item::Var(vars) => {
                for var in vars {
                    let len = count(var.size.as_ref())?;
                    let row = Row { first: self.plan.vars.len(), len, from: 0 };
                    match &var.init {
                        Init::Zero => self.plan.vars.extend(std::iter::repeat_n(0, len)),
                        Init::All(value) => self.plan.vars.extend(std::iter::repeat_n(number(value)?, len)),
                        Init::Each(values) => {
                            for value in values {
                                self.plan.vars.push(number(value)?);
                            }
                        }
                    }
                    self.declare_var(&var.name.text, row)?;
                }
            }
            Item::Lock(objects) => {
                for object in objects {
                    let len = count(object.size.as_ref())?;
                    self.locks.insert(object.name.text.clone(), Row { first: self.plan.locks, len, from: 0 });
                    self.plan.locks += len;
                }
            }
            Item::Condvar(objects) => {
                for object in objects {
                    let len = count(object.size.as_ref())?;
                    let row = Row { first: self.plan.condvars, len, from: 0 };
                    self.condvars.insert(object.name.text.clone(), row);
                    self.plan.condvars += len;
                }
            }
            Item::Process(process) => self.process(process)?,
            Item::Task(task) => {
                self.tasks.insert(task.name.text.clone(), self.bodies);
                self.bodies += 1;
            }
        }
        Ok(())
    }

    fn declare_var(&mut self, name: &str, row: Row) -> Result<(), Unfit> {
        let plain = !stands_for_another(name);
        self.plan.plain.resize(self.plan.vars.len(), plain);
        if plain {
            self.vars.insert(name.to_owned(), row);
            return Ok(());
        }
        if row.len != 1 || self.plan.vars[row.first] != 0 {
            return Err(NOT_A_TWIN);
        }
        if !name.starts_with(TOKEN) {
            self.rwlocks.insert(name.to_owned(), self.plan.rwlocks.len());
            self.plan.rwlocks.push(row.first);
        } else {
            self.tokens.insert(name.to_owned(), row.first);
        }
        Ok(())
    }

    /// An operation that is written as its twin.
    fn twin(&mut self, name: &str, twin: Twin) -> Result<Op, Unfit> {
        if let Some(&token) = self.tokens.get(name) {
            let row = name.strip_prefix(TOKEN).and_then(|process| self.processes.get(process));
            let root = row.filter(|row| row.len == 1).ok_or("a token of nobody")?.first;
            let mine = self.plan.roots[root].body == self.plan.bodies.len();
            return match twin {
                Twin::Park if mine => Ok(Op::Park(token)),
                Twin::Unpark if mine => Ok(Op::Unpark { root: None, token }),
                Twin::Unpark => {
                    self.unparks.push((root, self.plan.bodies.len()));
                    Ok(Op::Unpark { root: Some(root), token })
                }
                _ => Err("a token of another"),
            };
        }
        let lock = *self.rwlocks.get(name).ok_or("a twin that is not there")?;
        Ok(match twin {
            Twin::Read => Op::Read(lock),
            Twin::Write => Op::Write(lock),
            Twin::TryRead(dest) => Op::TryRead(lock, self.slot(&dest)),
            Twin::TryWrite(dest) => Op::TryWrite(lock, self.slot(&dest)),
            Twin::DropRead => Op::DropRead(lock),
            Twin::DropWrite => Op::DropWrite(lock),
            Twin::Park | Twin::Unpark => return Err("a token that is a lock"),
        })
    }

    fn process(&mut self, process: &ProcessDecl) -> Result<(), Unfit> {
        let (from, len) = match &process.family {
            None => (0, 1),
            Some((_, range)) => {
                let (from, to) = (number(&range.from)?, number(&range.to)?);
                (from, (to - from + i64::from(range.inclusive)).max(0))
            }
        };
        let row = Row { first: self.plan.roots.len(), len: len as usize, from };
        self.processes.insert(process.name.text.clone(), row);
        for k in 0..len {
            let index = process.family.as_ref().map(|_| from + k);
            self.plan.roots.push(Root { body: self.bodies, index, joined_by: None });
        }
        self.bodies += 1;
        Ok(())
    }

    /// Whether the handles of the roots that are joined can be had by those who join them.
    fn joins(&mut self) -> Result<(), Unfit> {
        for &(target, body) in &self.joins {
            let mut joiners = (0..self.plan.roots.len()).filter(|&k| self.plan.roots[k].body == body);
            let (Some(joiner), None) = (joiners.next(), joiners.next()) else {
                return Err("a join by several processes");
            };
            for k in target.first..target.first + target.len {
                if k >= joiner {
                    return Err("a join of a later process");
                }
                if self.plan.roots[k].joined_by.replace(joiner).is_some_and(|other| other != joiner) {
                    return Err("a join by several processes");
                }
            }
        }
        Ok(())
    }

    /// Whether those who unpark a root can know it: they are made later.
    fn unparks(&self) -> Result<(), Unfit> {
        for &(root, body) in &self.unparks {
            let mut unparkers = (0..self.plan.roots.len()).filter(|&k| self.plan.roots[k].body == body);
            if !unparkers.all(|k| k > root) || self.tasks.values().any(|&task| task == body) {
                return Err("an unpark of a later process");
            }
        }
        Ok(())
    }

    fn body(&mut self, params: &[&Name], block: &Block) -> Result<(), Unfit> {
        self.locals.clear();
        self.handles.clear();
        if params.len() > 2 {
            return Err("many parameters");
        }
        for param in params {
            self.slot(param);
        }
        let code = self.block(block)?;
        if self.locals.len() > MAX_LOCALS {
            return Err("many local variables");
        }
        self.plan.bodies.push(Body { handles: self.handles.len(), code });
        Ok(())
    }

    fn slot(&mut self, name: &Name) -> Slot {
        let next = self.locals.len();
        *self.locals.entry(name.text.clone()).or_insert(next)
    }

    fn dest(&mut self, dest: &Dest) -> Option<Slot> {
        match dest {
            Dest::None => None,
            Dest::Let(name) | Dest::Local(name) => Some(self.slot(name)),
        }
    }

    fn handle(&mut self, name: &Name) -> Slot {
        let next = self.handles.len();
        *self.handles.entry(name.text.clone()).or_insert(next)
    }

    fn value(&mut self, expr: &Expr) -> Result<Value, Unfit> {
        Ok(match &expr.kind {
            ExprKind::Number(value) => Value::Number(*value),
            ExprKind::Name(name) if self.vars.contains_key(&name.text) => return Err(NOT_REWRITTEN),
            ExprKind::Name(name) if stands_for_another(&name.text) => {
                return Err(NOT_A_TWIN);
            }
            ExprKind::Name(name) => Value::Local(self.slot(name)),
            ExprKind::Cell(..) => return Err(NOT_REWRITTEN),
            ExprKind::Unary(op, inner) => Value::Unary(*op, Box::new(self.value(inner)?)),
            ExprKind::Binary(op, left, right) => {
                let (left, right) = (self.value(left)?, self.value(right)?);
                Value::Binary(*op, Box::new(left), Box::new(right))
            }
        })
    }

    fn member(&mut self, row: Row, index: Option<&Expr>) -> Result<Member, Unfit> {
        let index = match index {
            None => Value::Number(row.from),
            Some(index) => self.value(index)?,
        };
        Ok(Member { first: row.first, len: row.len, from: row.from, index })
    }

    fn var(&mut self, target: &Target) -> Result<Member, Unfit> {
        let row = *self.vars.get(&target.name.text).ok_or("a variable that is not there")?;
        self.member(row, target.index.as_ref())
    }

    fn lock(&mut self, target: &Target) -> Result<Member, Unfit> {
        let row = *self.locks.get(&target.name.text).ok_or("a lock that is not there")?;
        self.member(row, target.index.as_ref())
    }

    fn condvar(&mut self, target: &Target) -> Result<Member, Unfit> {
        let row = *self.condvars.get(&target.name.text).ok_or("a condition variable that is not there")?;
        self.member(row, target.index.as_ref())
    }

    fn peer(&mut self, target: &Target) -> Result<Peer, Unfit> {
        match self.processes.get(&target.name.text).copied() {
            Some(row) => Ok(Peer::Root(self.member(row, target.index.as_ref())?)),
            None => Ok(Peer::Handle(self.handle(&target.name))),
        }
    }

    /// The shared variable that an expression reads, if it is nothing but that.
    fn read(&mut self, expr: &Expr) -> Result<Option<Member>, Unfit> {
        let (name, index) = match &expr.kind {
            ExprKind::Name(name) => (name, None),
            ExprKind::Cell(name, index) => (name, Some(&**index)),
            _ => return Ok(None),
        };
        match self.vars.get(&name.text).copied() {
            Some(row) => Ok(Some(self.member(row, index)?)),
            None => Ok(None),
        }
    }

    fn block(&mut self, block: &Block) -> Result<Vec<Op>, Unfit> {
        block.statements.iter().map(|statement| self.statement(&statement.kind)).collect()
    }

    fn statement(&mut self, kind: &StmtKind) -> Result<Op, Unfit> {
        if let Some((name, twin)) = Twin::of(kind) {
            return self.twin(name, twin);
        }
        if let Some(text) = only::text(kind) {
            let only = Only::read(text, self)?;
            self.plan.only_rust = true;
            self.plan.needs.add(only.needs());
            return Ok(Op::Only(only));
        }
        Ok(match kind {
            StmtKind::Let { name, value } => self.set_local(name, value)?,
            StmtKind::Assign { target, op, value } => self.assign(target, *op, value)?,
            StmtKind::FetchAdd { dest, target, value } => {
                Op::FetchAdd { at: self.var(target)?, value: self.value(value)?, dest: self.dest(dest) }
            }
            StmtKind::Swap { dest, target, value } => {
                Op::Swap { at: self.var(target)?, value: self.value(value)?, dest: self.dest(dest) }
            }
            StmtKind::Cas { dest, target, old, new } => {
                let (old, new) = (self.value(old)?, self.value(new)?);
                Op::Cas { at: self.var(target)?, old, new, dest: self.dest(dest) }
            }
            StmtKind::Lock(lock) => Op::Lock(self.lock(lock)?),
            StmtKind::Unlock(lock) => Op::Unlock(self.lock(lock)?),
            StmtKind::TryLock { dest, lock } => Op::TryLock(self.lock(lock)?, self.dest(dest)),
            StmtKind::Wait { condvar, lock } => {
                Op::Wait { condvar: self.condvar(condvar)?, lock: self.lock(lock)? }
            }
            StmtKind::NotifyOne(condvar) => Op::Notify { condvar: self.condvar(condvar)?, all: false },
            StmtKind::NotifyAll(condvar) => Op::Notify { condvar: self.condvar(condvar)?, all: true },
            StmtKind::Spawn { dest, task, args } => {
                let body = *self.tasks.get(&task.text).ok_or("a task that is not there")?;
                let args = args.iter().map(|arg| self.value(arg)).collect::<Result<_, _>>()?;
                let handle = match dest {
                    Dest::None => None,
                    Dest::Let(name) | Dest::Local(name) => Some(self.handle(name)),
                };
                Op::Spawn { body, args, handle }
            }
            StmtKind::Join(target) => {
                if let Some(&row) = self.processes.get(&target.name.text) {
                    self.joins.push((row, self.plan.bodies.len()));
                }
                Op::Join(self.peer(target)?)
            }
            StmtKind::Send { to, message } => {
                self.plan.mailboxes = true;
                if message.len() > MAX_PARTS {
                    return Err("a long message");
                }
                let message = message.iter().map(|part| self.value(part)).collect::<Result<_, _>>()?;
                Op::Send { to: self.peer(to)?, message }
            }
            StmtKind::Receive { arms, timeout } => self.receive(arms, timeout.as_ref())?,
            StmtKind::Choose { dest, count } => Op::Choose(self.dest(dest), self.value(count)?),
            StmtKind::Assert { condition, message } => {
                let number = message.as_deref().and_then(assertion_number).unwrap_or(0);
                Op::Assert(self.value(condition)?, number)
            }
            StmtKind::Assume(condition) => Op::Assume(self.value(condition)?),
            StmtKind::If { arms, otherwise } => {
                let [(condition, then)] = &arms[..] else { return Err("a condition with several arms") };
                let (condition, then) = (self.value(condition)?, self.block(then)?);
                let otherwise = otherwise.as_ref().map_or(Ok(Vec::new()), |block| self.block(block))?;
                Op::If { condition, then, otherwise }
            }
            StmtKind::While { condition, body } => {
                Op::While { condition: self.value(condition)?, code: self.block(body)? }
            }
            StmtKind::For { index, range, body } => {
                let (from, to) = (self.value(&range.from)?, self.value(&range.to)?);
                let slot = self.slot(index);
                Op::For { slot, from, to, inclusive: range.inclusive, code: self.block(body)? }
            }
            StmtKind::Break => Op::Break,
            StmtKind::Continue => Op::Continue,
            StmtKind::Await(_) => return Err("an await"),
            StmtKind::Atomic(_) => return Err("an atomic block"),
            StmtKind::Skip => return Err("a step that does nothing"),
        })
    }

    fn set_local(&mut self, name: &Name, value: &Expr) -> Result<Op, Unfit> {
        match self.read(value)? {
            Some(at) => Ok(Op::Load(self.slot(name), at)),
            None => {
                let value = self.value(value)?;
                Ok(Op::Local(self.slot(name), value))
            }
        }
    }

    fn assign(&mut self, target: &Target, op: AssignOp, value: &Expr) -> Result<Op, Unfit> {
        if self.vars.contains_key(&target.name.text) {
            let (at, value) = (self.var(target)?, self.value(value)?);
            return Ok(match op {
                AssignOp::Set => Op::Store(at, value),
                AssignOp::Add => Op::FetchAdd { at, value, dest: None },
                AssignOp::Sub => Op::FetchSub { at, value },
            });
        }
        if stands_for_another(&target.name.text) {
            return Err(NOT_A_TWIN);
        }
        let slot = self.slot(&target.name);
        let by = |op, value| Value::Binary(op, Box::new(Value::Local(slot)), Box::new(value));
        match op {
            AssignOp::Set => self.set_local(&target.name, value),
            AssignOp::Add => Ok(Op::Local(slot, by(BinaryOp::Add, self.value(value)?))),
            AssignOp::Sub => Ok(Op::Local(slot, by(BinaryOp::Sub, self.value(value)?))),
        }
    }

    fn receive(&mut self, arms: &[Arm], timeout: Option<&Block>) -> Result<Op, Unfit> {
        self.plan.mailboxes = true;
        let mut takes = Vec::new();
        for arm in arms {
            let parts = match &arm.pattern {
                Pattern::Any => None,
                Pattern::Tuple(components) => {
                    let mut parts = Vec::new();
                    for component in components {
                        parts.push(match component {
                            Pick::Equal(expr) => Component::Equal(self.value(expr)?),
                            Pick::Bind(name) => Component::Bind(self.slot(name)),
                            Pick::Any => Component::Any,
                        });
                    }
                    Some(parts)
                }
            };
            takes.push(Take { parts, code: self.block(&arm.body)? });
        }
        let timeout = timeout.map(|block| self.block(block)).transpose()?;
        Ok(Op::Receive { arms: takes, timeout })
    }
}

impl only::Names for Lowering {
    fn handle(&mut self, name: &str) -> Result<usize, Unfit> {
        Ok(Lowering::handle(self, &Name::new(name)))
    }

    fn lock(&mut self, name: &str) -> Result<usize, Unfit> {
        self.locks.get(name).map(|row| row.first).ok_or("a lock that is not there")
    }

    fn var(&mut self, name: &str) -> Result<usize, Unfit> {
        self.vars.get(name).map(|row| row.first).ok_or("a variable that is not there")
    }

    fn condvar(&mut self, name: &str) -> Result<usize, Unfit> {
        self.condvars.get(name).map(|row| row.first).ok_or("a condition variable that is not there")
    }
}
