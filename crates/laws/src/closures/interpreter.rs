//! Interprets a plan by threads of the library.

use std::sync::{Arc, PoisonError};

use mazurka::mailbox::{Address, Mailbox, mailbox};
use mazurka::sync::atomic::Ordering::SeqCst;
use mazurka::sync::{MutexGuard, RwLockReadGuard, RwLockWriteGuard};
use mazurka::thread::{self, JoinHandle};
use mazurka_program::FailureKind;

use super::arithmetic;
use super::encoded::EncodedOp;
use super::log::{Log, Thread, child};
use super::objects::SharedObjects;
use super::plan::{
    AccessKind, Component, MAX_LOCALS, MAX_PARTS, Member, Op, Peer, Plan, ReceiveArm, Slot, Unfit, Value,
};
use super::rust_ops::{OwnedObjects, SharedRustObjects};

/// A local loop that goes on for so long is taken for endless.
const MAX_LOCAL: u32 = 20_000;

const NOT_HELD: Unfit = "an unlock of a lock that is not held";

/// All that a thread needs.
#[derive(Clone)]
pub(super) struct ThreadContext {
    pub plan: Arc<Plan>,
    pub log: Arc<Log>,
    pub objects: Arc<SharedObjects>,
    /// Whether what fails panics. Else it is noted, and an assertion that fails does not stop anybody.
    pub panics: bool,
    /// Whether locks guard how often they were taken.
    pub counts: bool,
}

/// What a thread is told when it is made.
pub(super) struct ThreadStart {
    pub body: usize,
    pub args: [i64; 2],
    pub id: u64,
    pub mailbox: Option<Mailbox<Message>>,
    pub owned: OwnedObjects,
}

/// Acts out a part to its end.
pub(super) fn run_thread(context: &ThreadContext, start: ThreadStart) {
    let code = &context.plan.bodies[start.body];
    let mut locals = [0; MAX_LOCALS];
    locals[..start.args.len()].copy_from_slice(&start.args);
    let mut thread = Interpreter {
        context,
        thread: context.log.enter(start.id),
        mailbox: start.mailbox,
        owned: start.owned,
        locals,
        handles: (0..code.handles).map(|_| Child::default()).collect(),
        guards: (0..context.plan.locks).map(|_| None).collect(),
        readers: context.plan.rwlocks.iter().map(|_| Vec::new()).collect(),
        writers: context.plan.rwlocks.iter().map(|_| None).collect(),
        children: 0,
        local: 0,
    };
    thread.run(&code.code);
    // A lock that is held at the end stays so, as in the language: nobody gives it back.
    thread.guards.into_iter().for_each(std::mem::forget);
    thread.readers.into_iter().flatten().for_each(std::mem::forget);
    thread.writers.into_iter().for_each(std::mem::forget);
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
pub(super) struct Interpreter<'a> {
    pub context: &'a ThreadContext,
    thread: Thread,
    pub owned: OwnedObjects,
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

impl<'a> Interpreter<'a> {
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
                    assert!(!self.context.panics, "arithmetic");
                    self.context.log.failed(FailureKind::Arithmetic, 0);
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

    /// A number of its owned.
    pub fn number(&self) -> i64 {
        10 + (self.thread.id % 1_000_000) as i64
    }

    fn unfit(&mut self, why: Unfit) -> Flow {
        self.context.log.unfit(why);
        Flow::End
    }

    fn failed(&mut self, kind: FailureKind) -> Flow {
        self.context.log.failed(kind, 0);
        Flow::End
    }

    /// An operation was done and gave a value.
    pub fn note(&mut self, value: i64) {
        self.local = 0;
        self.context.log.note(self.thread, value);
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
            Op::Access(kind, at, value, dest) => return self.access(kind, at, value, *dest),
            Op::Lock(lock) => {
                let lock = self.at(lock)?;
                let guard = self.objects().locks[lock].lock();
                self.took(lock, guard.unwrap_or_else(PoisonError::into_inner));
            }
            Op::Unlock(lock) => {
                let lock = self.at(lock)?;
                let Some(guard) = self.guards[lock].take() else { return Some(self.unfit(NOT_HELD)) };
                drop(guard);
                self.note(0);
            }
            Op::TryLock(lock, dest) => {
                let lock = self.at(lock)?;
                let guard = self.objects().locks[lock].try_lock().ok();
                self.set(*dest, i64::from(guard.is_some()));
                match guard {
                    Some(guard) => self.took(lock, guard),
                    None => self.note(0),
                }
            }
            Op::Wait(condvar, lock) => return self.wait(condvar, lock),
            Op::RwLock(op, lock, dest) => return self.rwlock(*op, *lock, *dest),
            Op::Park(token) => {
                thread::park();
                self.context.log.wrote(*token, 0);
                self.note(0);
            }
            Op::Unpark { root, token } => {
                match root.map(|root| self.objects().root(root).thread.clone()) {
                    None => thread::current().unpark(),
                    Some(Some(thread)) => thread.unpark(),
                    Some(None) => self.context.log.wrong(|| "an earlier thread is not there".to_owned()),
                }
                self.context.log.wrote(*token, 1);
                self.note(0);
            }
            Op::Notify { condvar, all } => {
                let condvar = &self.objects().condvars[self.at(condvar)?];
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
                    assert!(!self.context.panics, "#{number}");
                    self.context.log.failed(FailureKind::Assertion, *number);
                }
            }
            Op::Assume(condition) => mazurka::assume(self.value(condition)? != 0),
            Op::Atomic(code) => return Some(mazurka::atomic(|| self.run(code))),
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
            Op::Rust(op, objects) => {
                if let Some(value) = (op.perform)(self, *objects) {
                    self.note(value);
                }
            }
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

    pub fn objects(&self) -> &'a SharedObjects {
        &self.context.objects
    }

    pub fn rust(&self) -> &'a SharedRustObjects {
        &self.context.objects.rust
    }

    fn access(&mut self, kind: &AccessKind, at: &Member, value: &Value, dest: Option<Slot>) -> Option<Flow> {
        let (at, value) = (self.at(at)?, self.value(value)?);
        let var = &self.objects().vars[at];
        // What was there before, and what is there now if something was written.
        let (before, after) = match kind {
            AccessKind::Load => (var.load(SeqCst), None),
            AccessKind::Store => {
                var.store(value, SeqCst);
                (0, Some(value))
            }
            AccessKind::FetchAdd | AccessKind::FetchSub => {
                let (before, after) = match kind {
                    AccessKind::FetchAdd => {
                        let before = var.fetch_add(value, SeqCst);
                        (before, before.checked_add(value))
                    }
                    _ => {
                        let before = var.fetch_sub(value, SeqCst);
                        (before, before.checked_sub(value))
                    }
                };
                if after.is_none() {
                    return Some(self.unfit("an overflow"));
                }
                (before, after)
            }
            AccessKind::Swap => (var.swap(value, SeqCst), Some(value)),
            AccessKind::CompareExchange(old) => {
                let old = self.value(old)?;
                let result = var.compare_exchange(old, value, SeqCst, SeqCst);
                let (Ok(before) | Err(before)) = result;
                if result.is_ok() && before != old {
                    self.context.log.wrong(|| format!("an exchange of {old} found {before}"));
                }
                (before, result.is_ok().then_some(value))
            }
        };
        if let Some(after) = after {
            self.context.log.wrote(at, after);
        }
        self.note(before);
        let exchanged = matches!(kind, AccessKind::CompareExchange(_));
        self.set(dest, if exchanged { i64::from(after.is_some()) } else { before });
        Some(Flow::On)
    }

    /// How often a lock was taken is what it guards, unless loops must be able to come back to where they were.
    pub fn took(&mut self, lock: usize, mut guard: MutexGuard<'a, i64>) {
        *guard += i64::from(self.context.counts);
        self.note(*guard);
        self.guards[lock] = Some(guard);
    }

    /// An operation on a reader-writer lock; the variable that stands for the lock has another value then.
    fn rwlock(&mut self, op: EncodedOp, at: usize, dest: Option<Slot>) -> Option<Flow> {
        let lock = &self.objects().rwlocks[at];
        match op {
            EncodedOp::Read | EncodedOp::TryRead => {
                let guard = match op {
                    EncodedOp::Read => Some(lock.read().unwrap_or_else(PoisonError::into_inner)),
                    _ => lock.try_read().ok(),
                };
                self.set(dest, i64::from(guard.is_some()));
                if let Some(guard) = guard {
                    self.note(*guard);
                    self.readers[at].push(guard);
                    self.context.log.changed(self.context.plan.rwlocks[at], 1);
                }
            }
            EncodedOp::Write | EncodedOp::TryWrite => {
                let guard = match op {
                    EncodedOp::Write => Some(lock.write().unwrap_or_else(PoisonError::into_inner)),
                    _ => lock.try_write().ok(),
                };
                self.set(dest, i64::from(guard.is_some()));
                if let Some(mut guard) = guard {
                    *guard += i64::from(self.context.counts);
                    self.note(*guard);
                    self.writers[at] = Some(guard);
                    self.context.log.changed(self.context.plan.rwlocks[at], -1);
                }
            }
            EncodedOp::DropRead => {
                let Some(guard) = self.readers[at].pop() else { return Some(self.unfit(NOT_HELD)) };
                drop(guard);
                self.context.log.changed(self.context.plan.rwlocks[at], -1);
            }
            EncodedOp::DropWrite => {
                let Some(guard) = self.writers[at].take() else { return Some(self.unfit(NOT_HELD)) };
                drop(guard);
                self.context.log.changed(self.context.plan.rwlocks[at], 1);
            }
            EncodedOp::Park | EncodedOp::Unpark => {}
        }
        self.note(0);
        Some(Flow::On)
    }

    fn wait(&mut self, condvar: &Member, lock: &Member) -> Option<Flow> {
        let (condvar, lock) = (self.at(condvar)?, self.at(lock)?);
        let Some(guard) = self.guards[lock].take() else {
            return Some(self.unfit("a wait without the lock"));
        };
        if !self.objects().pair(condvar, lock) {
            return Some(self.unfit("a condition variable with two locks"));
        }
        let guard = self.objects().condvars[condvar].wait(guard);
        self.took(lock, guard.unwrap_or_else(PoisonError::into_inner));
        Some(Flow::On)
    }

    fn spawn(&mut self, body: usize, args: &[Value], handle: Option<Slot>) -> Option<Flow> {
        let mut values = [0; 2];
        for (value, arg) in values.iter_mut().zip(args) {
            *value = self.value(arg)?;
        }
        let (address, mailbox) = self.context.plan.mailboxes.then(mailbox).unzip();
        let (context, id) = (self.context.clone(), child(self.thread.id, self.children));
        self.children += 1;
        let start = ThreadStart { body, args: values, id, mailbox, owned: self.owned.share(None) };
        let spawned = thread::spawn(move || run_thread(&context, start));
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
            Peer::Root(member) => self.objects().root(self.at(member)?).handle.take(),
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
            Peer::Root(member) => self.objects().addresses.get(self.at(member)?),
        };
        if let Some(address) = address {
            address.send(message);
        }
        self.note(0);
        Some(Flow::On)
    }

    fn receive(&mut self, arms: &[ReceiveArm], timeout: Option<&[Op]>) -> Option<Flow> {
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
            self.context.log.wrong(|| "a message that does not match was received".to_owned());
            return Some(Flow::End);
        };
        for (part, &value) in arm.parts.iter().flatten().zip(&message.parts) {
            if let Component::Bind(slot) = part {
                self.locals[*slot] = value;
            }
        }
        Some(self.run(&arm.code))
    }

    fn takes(&self, arm: &ReceiveArm, message: &Message) -> bool {
        let Some(parts) = &arm.parts else { return true };
        parts.len() == message.len
            && parts.iter().zip(&message.parts).all(|(part, &value)| match part {
                Component::Equal(expected) => self.value(expected) == Some(value),
                Component::Bind(_) | Component::Any => true,
            })
    }
}
