//! A plan acted out by threads of the library.

use std::sync::{Arc, PoisonError};

use mazurka::mailbox::{Address, Mailbox, mailbox};
use mazurka::sync::atomic::Ordering::SeqCst;
use mazurka::sync::{MutexGuard, RwLockReadGuard, RwLockWriteGuard};
use mazurka::thread::{self, JoinHandle};
use mazurka_program::FailureKind;

use super::arithmetic;
use super::only::Own;
use super::plan::{Component, MAX_LOCALS, MAX_PARTS, Member, Op, Peer, Plan, Slot, Take, Unfit, Value};
use super::props::Props;
use super::side::{Side, Thread, child};

/// A local loop that goes on for so long is taken for endless.
const MAX_LOCAL: u32 = 20_000;

/// All that a thread needs.
#[derive(Clone)]
pub(super) struct Stage {
    pub plan: Arc<Plan>,
    pub side: Arc<Side>,
    pub props: Arc<Props>,
    /// Whether what fails panics. Else it is noted, and an assertion that fails does not stop anybody.
    pub panics: bool,
}

/// What a thread is told when it is made.
pub(super) struct Part {
    pub body: usize,
    pub args: [i64; 2],
    pub id: u64,
    pub mailbox: Option<Mailbox<Message>>,
    pub own: Own,
}

/// Acts out a part to its end.
pub(super) fn act(stage: &Stage, part: Part) {
    let code = &stage.plan.bodies[part.body];
    let mut locals = [0; MAX_LOCALS];
    locals[..part.args.len()].copy_from_slice(&part.args);
    let mut actor = Actor {
        stage,
        thread: stage.side.enter(part.id),
        mailbox: part.mailbox,
        own: part.own,
        locals,
        handles: (0..code.handles).map(|_| Child::default()).collect(),
        guards: (0..stage.plan.locks).map(|_| None).collect(),
        readers: stage.plan.rwlocks.iter().map(|_| Vec::new()).collect(),
        writers: stage.plan.rwlocks.iter().map(|_| None).collect(),
        children: 0,
        local: 0,
    };
    actor.run(&code.code);
    // A lock that is held at the end stays so, as in the language: nobody gives it back.
    actor.guards.into_iter().for_each(std::mem::forget);
    actor.readers.into_iter().flatten().for_each(std::mem::forget);
    actor.writers.into_iter().for_each(std::mem::forget);
}

/// A message: so many parts.
#[derive(Clone, Copy)]
pub(super) struct Message {
    len: usize,
    parts: [i64; MAX_PARTS],
}

/// A child, as its parent knows it.
#[derive(Default)]
struct Child {
    born: bool,
    /// None once it was joined.
    handle: Option<JoinHandle<()>>,
    address: Option<Address<Message>>,
}

/// How a statement ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flow {
    On,
    Break,
    Continue,
    /// The thread is at its end.
    End,
}

/// A thread that acts a part out.
pub(super) struct Actor<'a> {
    pub stage: &'a Stage,
    thread: Thread,
    pub own: Own,
    mailbox: Option<Mailbox<Message>>,
    /// On the stack: a loop that counts on the heap is taken for one that does nothing.
    locals: [i64; MAX_LOCALS],
    handles: Vec<Child>,
    pub guards: Vec<Option<MutexGuard<'a, i64>>>,
    readers: Vec<Vec<RwLockReadGuard<'a, i64>>>,
    writers: Vec<Option<RwLockWriteGuard<'a, i64>>>,
    children: usize,
    /// How many statements there were since the last operation.
    local: u32,
}

impl<'a> Actor<'a> {
    fn run(&mut self, code: &[Op]) -> Flow {
        for op in code {
            self.local += 1;
            if self.local > MAX_LOCAL {
                return self.unfit("a long local loop");
            }
            match self.op(op) {
                Some(Flow::On) => {}
                Some(flow) => return flow,
                None => {
                    assert!(!self.stage.panics, "arithmetic");
                    self.stage.side.failed(FailureKind::Arithmetic, 0);
                    return Flow::End;
                }
            }
        }
        Flow::On
    }

    /// The handle of a child that was not joined yet.
    pub fn child(&self, slot: Slot) -> Option<&JoinHandle<()>> {
        self.handles[slot].handle.as_ref()
    }

    /// A number of its own.
    pub fn number(&self) -> i64 {
        10 + (self.thread.id % 1_000_000) as i64
    }

    fn unfit(&mut self, why: Unfit) -> Flow {
        self.stage.side.unfit(why);
        Flow::End
    }

    fn failed(&mut self, kind: FailureKind) -> Flow {
        self.stage.side.failed(kind, 0);
        Flow::End
    }

    /// An operation was done and gave a value.
    pub fn note(&mut self, value: i64) {
        self.local = 0;
        self.stage.side.note(self.thread, value);
    }

    fn set(&mut self, slot: Option<Slot>, value: i64) {
        if let Some(slot) = slot {
            self.locals[slot] = value;
        }
    }

    fn value(&self, value: &Value) -> Option<i64> {
        match value {
            Value::Number(number) => Some(*number),
            Value::Local(slot) => Some(self.locals[*slot]),
            Value::Unary(op, inner) => arithmetic::unary(*op, self.value(inner)?),
            Value::Binary(op, left, right) => {
                use mazurka_litmus::ast::BinaryOp::{And, Or};
                let left = self.value(left)?;
                match (op, left != 0) {
                    (And, false) => Some(0),
                    (Or, true) => Some(1),
                    _ => arithmetic::binary(*op, left, self.value(right)?),
                }
            }
        }
    }

    /// The number of a member.
    fn at(&self, member: &Member) -> Option<usize> {
        let at = usize::try_from(self.value(&member.index)?.checked_sub(member.from)?).ok()?;
        (at < member.len).then_some(member.first + at)
    }

    /// Does what an operation says; none if its arithmetic fails.
    fn op(&mut self, op: &Op) -> Option<Flow> {
        match op {
            Op::Local(slot, value) => self.locals[*slot] = self.value(value)?,
            Op::Load(..)
            | Op::Store(..)
            | Op::FetchAdd { .. }
            | Op::FetchSub { .. }
            | Op::Swap { .. }
            | Op::Cas { .. } => {
                return self.access(op);
            }
            Op::Lock(lock) => {
                let lock = self.at(lock)?;
                let guard = self.props().lock(lock).lock();
                self.took(lock, guard.unwrap_or_else(PoisonError::into_inner));
            }
            Op::Unlock(lock) => {
                let lock = self.at(lock)?;
                let Some(guard) = self.guards[lock].take() else {
                    return Some(self.unfit("an unlock of a lock that is not held"));
                };
                drop(guard);
                self.note(0);
            }
            Op::TryLock(lock, dest) => {
                let lock = self.at(lock)?;
                match self.props().lock(lock).try_lock() {
                    Ok(guard) => {
                        self.took(lock, guard);
                        self.set(*dest, 1);
                    }
                    Err(_) => {
                        self.note(0);
                        self.set(*dest, 0);
                    }
                }
            }
            Op::Wait { condvar, lock } => return self.wait(condvar, lock),
            Op::Read(lock) => {
                let guard = self.props().rwlock(*lock).read();
                self.reads(*lock, guard.unwrap_or_else(PoisonError::into_inner));
            }
            Op::Write(lock) => {
                let guard = self.props().rwlock(*lock).write();
                self.writes(*lock, guard.unwrap_or_else(PoisonError::into_inner));
            }
            Op::TryRead(lock, dest) => {
                let guard = self.props().rwlock(*lock).try_read().ok();
                self.locals[*dest] = i64::from(guard.is_some());
                match guard {
                    Some(guard) => self.reads(*lock, guard),
                    None => self.note(0),
                }
            }
            Op::TryWrite(lock, dest) => {
                let guard = self.props().rwlock(*lock).try_write().ok();
                self.locals[*dest] = i64::from(guard.is_some());
                match guard {
                    Some(guard) => self.writes(*lock, guard),
                    None => self.note(0),
                }
            }
            Op::DropRead(lock) => {
                let Some(guard) = self.readers[*lock].pop() else {
                    return Some(self.unfit("an unlock of a lock that is not held"));
                };
                drop(guard);
                self.change(self.stage.plan.rwlocks[*lock], -1);
            }
            Op::DropWrite(lock) => {
                let Some(guard) = self.writers[*lock].take() else {
                    return Some(self.unfit("an unlock of a lock that is not held"));
                };
                drop(guard);
                self.change(self.stage.plan.rwlocks[*lock], 1);
            }
            Op::Park(token) => {
                thread::park();
                self.stage.side.wrote(*token, 0);
                self.note(0);
            }
            Op::Unpark { root, token } => {
                match root.map(|root| self.props().thread(root)) {
                    None => thread::current().unpark(),
                    Some(Some(thread)) => thread.unpark(),
                    Some(None) => self.stage.side.wrong(|| "an earlier thread is not there".to_owned()),
                }
                self.stage.side.wrote(*token, 1);
                self.note(0);
            }
            Op::Notify { condvar, all } => {
                let condvar = self.props().condvar(self.at(condvar)?);
                if *all {
                    condvar.notify_all()
                } else {
                    condvar.notify_one()
                }
                self.note(0);
            }
            Op::Spawn { body, args, handle } => return self.spawn(*body, args, *handle),
            Op::Join(peer) => return self.join(peer),
            Op::Send { to, message } => return self.send(to, message),
            Op::Receive { arms, timeout } => return self.receive(arms, timeout.as_deref()),
            Op::Choose(dest, count) => {
                let count = usize::try_from(self.value(count)?).ok().filter(|&count| count > 0)?;
                let chosen = mazurka::choose(0..count) as i64;
                self.note(chosen);
                self.set(*dest, chosen);
            }
            Op::Assert(condition, number) => {
                if self.value(condition)? == 0 {
                    assert!(!self.stage.panics, "#{number}");
                    self.stage.side.failed(FailureKind::Assertion, *number);
                }
            }
            Op::Assume(condition) => mazurka::assume(self.value(condition)? != 0),
            Op::If { condition, then, otherwise } => {
                let holds = self.value(condition)? != 0;
                return Some(self.run(if holds { then } else { otherwise }));
            }
            Op::While { condition, code } => {
                while self.value(condition)? != 0 {
                    match self.run(code) {
                        Flow::Break => break,
                        Flow::End => return Some(Flow::End),
                        Flow::On | Flow::Continue => {}
                    }
                    // An empty loop counts too.
                    self.local += 1;
                    if self.local > MAX_LOCAL {
                        return Some(self.unfit("a long local loop"));
                    }
                }
            }
            Op::For { slot, from, to, inclusive, code } => {
                let (from, to) = (self.value(from)?, self.value(to)?);
                return Some(self.count(*slot, from, to, *inclusive, code));
            }
            Op::Only(only) => self.only(only),
            Op::Break => return Some(Flow::Break),
            Op::Continue => return Some(Flow::Continue),
        }
        Some(Flow::On)
    }

    fn count(&mut self, slot: Slot, from: i64, to: i64, inclusive: bool, code: &[Op]) -> Flow {
        let mut next = i128::from(from);
        let end = i128::from(to) + i128::from(inclusive);
        while next < end {
            self.locals[slot] = next as i64;
            next += 1;
            self.local += 1;
            match self.run(code) {
                Flow::Break => break,
                Flow::End => return Flow::End,
                Flow::On | Flow::Continue if self.local > MAX_LOCAL => {
                    return self.unfit("a long local loop");
                }
                Flow::On | Flow::Continue => {}
            }
        }
        Flow::On
    }

    pub fn props(&self) -> &'a Props {
        &self.stage.props
    }

    fn access(&mut self, op: &Op) -> Option<Flow> {
        let (props, side) = (self.props(), &self.stage.side);
        match op {
            Op::Load(slot, at) => {
                let value = props.var(self.at(at)?).load(SeqCst);
                self.note(value);
                self.locals[*slot] = value;
            }
            Op::Store(at, value) => {
                let (at, value) = (self.at(at)?, self.value(value)?);
                props.var(at).store(value, SeqCst);
                side.wrote(at, value);
                self.note(0);
            }
            Op::FetchAdd { at, value, dest } => {
                let (at, value) = (self.at(at)?, self.value(value)?);
                let before = props.var(at).fetch_add(value, SeqCst);
                return Some(self.changed(at, before, before.checked_add(value), *dest));
            }
            Op::FetchSub { at, value } => {
                let (at, value) = (self.at(at)?, self.value(value)?);
                let before = props.var(at).fetch_sub(value, SeqCst);
                return Some(self.changed(at, before, before.checked_sub(value), None));
            }
            Op::Swap { at, value, dest } => {
                let (at, value) = (self.at(at)?, self.value(value)?);
                let before = props.var(at).swap(value, SeqCst);
                return Some(self.changed(at, before, Some(value), *dest));
            }
            Op::Cas { at, old, new, dest } => {
                let (at, old, new) = (self.at(at)?, self.value(old)?, self.value(new)?);
                let result = props.var(at).compare_exchange(old, new, SeqCst, SeqCst);
                match result {
                    Ok(before) => {
                        if before != old {
                            side.wrong(|| format!("an exchange of {old} found {before}"));
                        }
                        side.wrote(at, new);
                        self.note(before);
                    }
                    Err(before) => self.note(before),
                }
                self.set(*dest, i64::from(result.is_ok()));
            }
            _ => {}
        }
        Some(Flow::On)
    }

    fn changed(&mut self, at: usize, before: i64, after: Option<i64>, dest: Option<Slot>) -> Flow {
        let Some(after) = after else { return self.unfit("an overflow") };
        self.stage.side.wrote(at, after);
        self.note(before);
        self.set(dest, before);
        Flow::On
    }

    /// How often a lock was taken is what it guards.
    pub fn took(&mut self, lock: usize, mut guard: MutexGuard<'a, i64>) {
        *guard += 1;
        self.note(*guard);
        self.guards[lock] = Some(guard);
    }

    /// The variable that stands for something has another value now.
    fn change(&mut self, at: usize, by: i64) {
        let side = &self.stage.side;
        side.wrote(at, side.holds(at) + by);
        self.note(0);
    }

    fn reads(&mut self, lock: usize, guard: RwLockReadGuard<'a, i64>) {
        self.note(*guard);
        self.readers[lock].push(guard);
        self.change(self.stage.plan.rwlocks[lock], 1);
    }

    fn writes(&mut self, lock: usize, mut guard: RwLockWriteGuard<'a, i64>) {
        *guard += 1;
        self.note(*guard);
        self.writers[lock] = Some(guard);
        self.change(self.stage.plan.rwlocks[lock], -1);
    }

    fn wait(&mut self, condvar: &Member, lock: &Member) -> Option<Flow> {
        let (condvar, lock) = (self.at(condvar)?, self.at(lock)?);
        let Some(guard) = self.guards[lock].take() else {
            return Some(self.unfit("a wait without the lock"));
        };
        if !self.props().pair(condvar, lock) {
            return Some(self.unfit("a condition variable with two locks"));
        }
        let guard = self.props().condvar(condvar).wait(guard);
        self.took(lock, guard.unwrap_or_else(PoisonError::into_inner));
        Some(Flow::On)
    }

    fn spawn(&mut self, body: usize, args: &[Value], handle: Option<Slot>) -> Option<Flow> {
        let mut values = [0; 2];
        for (value, arg) in values.iter_mut().zip(args) {
            *value = self.value(arg)?;
        }
        let (address, mailbox) = self.stage.plan.mailboxes.then(mailbox).unzip();
        let (stage, id) = (self.stage.clone(), child(self.thread.id, self.children));
        self.children += 1;
        let part = Part { body, args: values, id, mailbox, own: self.own.share() };
        let spawned = thread::spawn(move || act(&stage, part));
        self.note(0);
        if let Some(slot) = handle {
            self.handles[slot] = Child { born: true, handle: Some(spawned), address };
        }
        Some(Flow::On)
    }

    fn join(&mut self, peer: &Peer) -> Option<Flow> {
        let handle = match peer {
            Peer::Handle(slot) if !self.handles[*slot].born => {
                return Some(self.failed(FailureKind::InvalidSync));
            }
            Peer::Handle(slot) => self.handles[*slot].handle.take(),
            Peer::Root(member) => self.props().take_root(self.at(member)?),
        };
        // What was joined before is not joined again: the language allows it, and it means nothing.
        if let Some(handle) = handle {
            let ended = handle.join();
            self.note(i64::from(ended.is_ok()));
        }
        Some(Flow::On)
    }

    fn send(&mut self, to: &Peer, parts: &[Value]) -> Option<Flow> {
        let mut message = Message { len: parts.len(), parts: [0; MAX_PARTS] };
        for (part, value) in message.parts.iter_mut().zip(parts) {
            *part = self.value(value)?;
        }
        let address = match to {
            Peer::Handle(slot) if !self.handles[*slot].born => {
                return Some(self.failed(FailureKind::InvalidSync));
            }
            Peer::Handle(slot) => self.handles[*slot].address.as_ref(),
            Peer::Root(member) => self.props().address(self.at(member)?),
        };
        if let Some(address) = address {
            address.send(message);
        }
        self.note(0);
        Some(Flow::On)
    }

    fn receive(&mut self, arms: &[Take], timeout: Option<&[Op]>) -> Option<Flow> {
        let matches = |message: &Message| arms.iter().any(|arm| self.takes(arm, message));
        let taken = match (&self.mailbox, timeout) {
            (None, _) => return Some(self.unfit("a thread without a mailbox")),
            (Some(mailbox), None) => Some(mailbox.receive_match(matches)),
            (Some(mailbox), Some(_)) => mailbox.try_receive_match(matches),
        };
        let Some(message) = taken else {
            self.note(0);
            return Some(self.run(timeout.unwrap_or_default()));
        };
        message.parts[..message.len].iter().for_each(|&part| self.note(part));
        let Some(arm) = arms.iter().find(|arm| self.takes(arm, &message)) else {
            self.stage.side.wrong(|| "a message that does not match was received".to_owned());
            return Some(Flow::End);
        };
        for (part, &value) in arm.parts.iter().flatten().zip(&message.parts) {
            if let Component::Bind(slot) = part {
                self.locals[*slot] = value;
            }
        }
        Some(self.run(&arm.code))
    }

    fn takes(&self, arm: &Take, message: &Message) -> bool {
        let Some(parts) = &arm.parts else { return true };
        parts.len() == message.len
            && parts.iter().zip(&message.parts).all(|(part, &value)| match part {
                Component::Equal(expected) => self.value(expected) == Some(value),
                Component::Bind(_) | Component::Any => true,
            })
    }
}
