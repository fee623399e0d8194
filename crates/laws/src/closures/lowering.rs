//! From a rewritten program to the plan of a closure: names are resolved here.

use std::collections::BTreeMap;

use mazurka_litmus::ast::{Component as Pick, *};

use super::arithmetic;
use super::encoded::{EncodedOp, TOKEN, stands_for_another};
use super::plan::{Component, *};
use super::rust_ops::{self, Argument, OBJECTS};

const NOT_ENCODED: Unfit = "an encoded operation that is not what it should be";
const NOT_REWRITTEN: Unfit = "a step with several accesses";
const NO_VAR: Unfit = "a variable that is not there";
const NO_LOCK: Unfit = "a lock that is not there";
const NO_CONDVAR: Unfit = "a condition variable that is not there";
const NO_RUST_OP: Unfit = "an operation that is not known";

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

/// Objects of one name.
#[derive(Clone, Copy)]
struct Row {
    first: usize,
    len: usize,
    from: i64,
}

type Rows = BTreeMap<String, Row>;

fn row(rows: &Rows, name: &str, missing: Unfit) -> Result<Row, Unfit> {
    rows.get(name).copied().ok_or(missing)
}

#[derive(Default)]
struct Lowering {
    plan: Plan,
    vars: Rows,
    locks: Rows,
    condvars: Rows,
    processes: Rows,
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
                self.plan.locks = declare_objects(&mut self.locks, objects, self.plan.locks)?
            }
            Item::Condvar(objects) => {
                self.plan.condvars = declare_objects(&mut self.condvars, objects, self.plan.condvars)?;
            }
            Item::Process(process) => self.process(process)?,
            // What is declared to commute does nothing.
            Item::Commute(_) => {}
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
            return Err(NOT_ENCODED);
        }
        if !name.starts_with(TOKEN) {
            self.rwlocks.insert(name.to_owned(), self.plan.rwlocks.len());
            self.plan.rwlocks.push(row.first);
        } else {
            self.tokens.insert(name.to_owned(), row.first);
        }
        Ok(())
    }

    /// An operation that is encoded.
    fn encoded(&mut self, op: EncodedOp, name: &str, dest: Option<&Name>) -> Result<Op, Unfit> {
        if let Some(&token) = self.tokens.get(name) {
            let row = name.strip_prefix(TOKEN).and_then(|process| self.processes.get(process));
            let root = row.filter(|row| row.len == 1).ok_or("a token of nobody")?.first;
            let mine = self.plan.roots[root].body == self.plan.bodies.len();
            return match op {
                EncodedOp::Park if mine => Ok(Op::Park(token)),
                EncodedOp::Unpark if mine => Ok(Op::Unpark { root: None, token }),
                EncodedOp::Unpark => {
                    self.unparks.push((root, self.plan.bodies.len()));
                    Ok(Op::Unpark { root: Some(root), token })
                }
                _ => Err("a token of another"),
            };
        }
        let lock = *self.rwlocks.get(name).ok_or(NOT_ENCODED)?;
        Ok(Op::RwLock(op, lock, dest.map(|dest| self.slot(dest))))
    }

    /// An operation that only Rust has.
    fn rust_op(&mut self, text: &str) -> Result<Op, Unfit> {
        let mut words = text.split(' ');
        let op = words.next().and_then(rust_ops::find).ok_or(NO_RUST_OP)?;
        let mut objects = [0; 2];
        for (object, argument) in objects.iter_mut().zip(op.arguments) {
            let word = words.next().ok_or(NO_RUST_OP)?;
            *object = match argument {
                Argument::Handle => self.handle(&Name::new(word)),
                Argument::Lock => row(&self.locks, word, NO_LOCK)?.first,
                Argument::Condvar => row(&self.condvars, word, NO_CONDVAR)?.first,
                Argument::Var => row(&self.vars, word, NO_VAR)?.first,
                Argument::Number => word.parse().ok().filter(|&k| k < OBJECTS).ok_or(NO_RUST_OP)?,
            };
        }
        self.plan.only_rust = true;
        self.plan.needs.add(op.needs);
        Ok(Op::Rust(op, objects))
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
                return Err(NOT_ENCODED);
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
        self.member(row(&self.vars, &target.name.text, NO_VAR)?, target.index.as_ref())
    }

    fn lock(&mut self, target: &Target) -> Result<Member, Unfit> {
        self.member(row(&self.locks, &target.name.text, NO_LOCK)?, target.index.as_ref())
    }

    fn condvar(&mut self, target: &Target) -> Result<Member, Unfit> {
        self.member(row(&self.condvars, &target.name.text, NO_CONDVAR)?, target.index.as_ref())
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
        block.statements.iter().map(|statement| self.statement(statement)).collect()
    }

    fn access(&mut self, kind: AccessKind, target: &Target, value: &Expr, dest: &Dest) -> Result<Op, Unfit> {
        Ok(Op::Access(kind, self.var(target)?, self.value(value)?, self.dest(dest)))
    }

    fn statement(&mut self, statement: &Stmt) -> Result<Op, Unfit> {
        if let Some((op, name, dest)) = EncodedOp::of(statement) {
            return self.encoded(op, name, dest);
        }
        if let Some(text) = rust_ops::text(&statement.kind) {
            return self.rust_op(text);
        }
        Ok(match &statement.kind {
            StmtKind::Let { name, value } => self.set_local(name, value)?,
            StmtKind::Assign { target, op, value } => self.assign(target, *op, value)?,
            StmtKind::FetchAdd { dest, target, value } => {
                self.access(AccessKind::FetchAdd, target, value, dest)?
            }
            StmtKind::Swap { dest, target, value } => self.access(AccessKind::Swap, target, value, dest)?,
            StmtKind::Cas { dest, target, old, new } => {
                let kind = AccessKind::CompareExchange(self.value(old)?);
                self.access(kind, target, new, dest)?
            }
            StmtKind::Lock(lock) => Op::Lock(self.lock(lock)?),
            StmtKind::Unlock(lock) => Op::Unlock(self.lock(lock)?),
            StmtKind::TryLock { dest, lock } => Op::TryLock(self.lock(lock)?, self.dest(dest)),
            StmtKind::Wait { condvar, lock } => Op::Wait(self.condvar(condvar)?, self.lock(lock)?),
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
            StmtKind::Atomic { body, .. } => Op::Atomic(self.block(body)?),
            StmtKind::Skip => return Err("a step that does nothing"),
        })
    }

    fn set_local(&mut self, name: &Name, value: &Expr) -> Result<Op, Unfit> {
        match self.read(value)? {
            Some(at) => Ok(Op::Access(AccessKind::Load, at, Value::Number(0), Some(self.slot(name)))),
            None => {
                let value = self.value(value)?;
                Ok(Op::Local(self.slot(name), value))
            }
        }
    }

    fn assign(&mut self, target: &Target, op: AssignOp, value: &Expr) -> Result<Op, Unfit> {
        if self.vars.contains_key(&target.name.text) {
            let kind = match op {
                AssignOp::Set => AccessKind::Store,
                AssignOp::Add => AccessKind::FetchAdd,
                AssignOp::Sub => AccessKind::FetchSub,
            };
            return self.access(kind, target, value, &Dest::None);
        }
        if stands_for_another(&target.name.text) {
            return Err(NOT_ENCODED);
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
            takes.push(ReceiveArm { parts, code: self.block(&arm.body)? });
        }
        let timeout = timeout.map(|block| self.block(block)).transpose()?;
        Ok(Op::Receive { arms: takes, timeout })
    }
}

/// Declares objects, of which there were so many before; gives how many there are.
fn declare_objects(rows: &mut Rows, objects: &[ObjectDecl], mut first: usize) -> Result<usize, Unfit> {
    for object in objects {
        let len = count(object.size.as_ref())?;
        rows.insert(object.name.text.clone(), Row { first, len, from: 0 });
        first += len;
    }
    Ok(first)
}

/// The number of an assertion, from its text, `#7`.
fn assertion_number(message: &str) -> Option<i64> {
    message.rsplit_once('#')?.1.parse().ok()
}
