//! What only Rust has: compared with brute force over the closure, not with the language.
//!
//! In a program it is written as an assertion that always holds and whose text says what a thread does there:
//! `assert 1, "rust: call_once 0";`. So programs are still printed, read and made small as they are.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::PoisonError;
use std::time::Duration;

use mazurka::sync::atomic::{AtomicI64, Ordering::SeqCst};
use mazurka::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use mazurka::sync::{Arc, Barrier, Once, OnceLock, Weak};
use mazurka::thread;
use mazurka_litmus::ast::*;

use super::act::Actor;
use super::plan::Unfit;
use super::twins::stands_for_another;
use crate::random::Random;
use crate::visit;
use crate::writer::stmt;

const PREFIX: &str = "rust: ";

/// Something that a thread does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Only {
    IsFinished(usize),
    WaitTimeout {
        condvar: usize,
        lock: usize,
    },
    ParkTimeout,
    CallOnce(usize),
    OnceWait(usize),
    OnceCompleted(usize),
    CellSet(usize),
    CellGet(usize),
    CellInit(usize),
    Barrier,
    Send,
    TrySend,
    Receive,
    TryReceive,
    ReceiveTimeout,
    DropSender,
    DropReceiver,
    ArcClone,
    ArcDrop,
    ArcCount,
    ArcUnwrap,
    ArcGetMut,
    ArcDowngrade,
    ArcUpgrade,
    /// Reads what the drop of the value of an `Arc` writes.
    ArcLook,
    Panic,
    /// A panic that is caught while a lock is held.
    Poison(usize),
    IsPoisoned(usize),
    ClearPoison(usize),
    /// Reads a variable until it is not 0.
    Spin(usize),
    /// Reads two variables until one is not 0.
    SpinOnTwo(usize, usize),
}

/// The text of an operation, if a statement is one.
pub(super) fn text(kind: &StmtKind) -> Option<&str> {
    match kind {
        StmtKind::Assert { message: Some(message), .. } => message.strip_prefix(PREFIX),
        _ => None,
    }
}

/// How names in a text are resolved: of handles, locks, condition variables and variables.
pub(super) trait Names {
    fn handle(&mut self, name: &str) -> Result<usize, Unfit>;
    fn lock(&mut self, name: &str) -> Result<usize, Unfit>;
    fn condvar(&mut self, name: &str) -> Result<usize, Unfit>;
    fn var(&mut self, name: &str) -> Result<usize, Unfit>;
}

impl Only {
    /// Reads a text.
    pub fn read(text: &str, names: &mut dyn Names) -> Result<Only, Unfit> {
        const UNKNOWN: Unfit = "an operation that is not known";
        let words: Vec<&str> = text.split(' ').collect();
        let number = |at: usize| words.get(at).and_then(|word| word.parse().ok()).filter(|&k| k < OBJECTS);
        let at = |at: usize| words.get(at).copied().ok_or(UNKNOWN);
        Ok(match words[0] {
            "is_finished" => Only::IsFinished(names.handle(at(1)?)?),
            "wait_timeout" => {
                Only::WaitTimeout { condvar: names.condvar(at(1)?)?, lock: names.lock(at(2)?)? }
            }
            "park_timeout" => Only::ParkTimeout,
            "call_once" => Only::CallOnce(number(1).ok_or(UNKNOWN)?),
            "once_wait" => Only::OnceWait(number(1).ok_or(UNKNOWN)?),
            "once_completed" => Only::OnceCompleted(number(1).ok_or(UNKNOWN)?),
            "cell_set" => Only::CellSet(number(1).ok_or(UNKNOWN)?),
            "cell_get" => Only::CellGet(number(1).ok_or(UNKNOWN)?),
            "cell_init" => Only::CellInit(number(1).ok_or(UNKNOWN)?),
            "barrier" => Only::Barrier,
            "send" => Only::Send,
            "try_send" => Only::TrySend,
            "receive" => Only::Receive,
            "try_receive" => Only::TryReceive,
            "receive_timeout" => Only::ReceiveTimeout,
            "drop_sender" => Only::DropSender,
            "drop_receiver" => Only::DropReceiver,
            "arc_clone" => Only::ArcClone,
            "arc_drop" => Only::ArcDrop,
            "arc_count" => Only::ArcCount,
            "arc_unwrap" => Only::ArcUnwrap,
            "arc_get_mut" => Only::ArcGetMut,
            "arc_downgrade" => Only::ArcDowngrade,
            "arc_upgrade" => Only::ArcUpgrade,
            "arc_look" => Only::ArcLook,
            "panic" => Only::Panic,
            "poison" => Only::Poison(names.lock(at(1)?)?),
            "is_poisoned" => Only::IsPoisoned(names.lock(at(1)?)?),
            "spin" => Only::Spin(names.var(at(1)?)?),
            "spin_on_two" => Only::SpinOnTwo(names.var(at(1)?)?, names.var(at(2)?)?),
            "clear_poison" => Only::ClearPoison(names.lock(at(1)?)?),
            _ => return Err(UNKNOWN),
        })
    }

    /// What the operation needs its thread to have.
    pub fn needs(&self) -> Needs {
        Needs {
            channel: matches!(
                self,
                Only::Send
                    | Only::TrySend
                    | Only::Receive
                    | Only::TryReceive
                    | Only::ReceiveTimeout
                    | Only::DropSender
                    | Only::DropReceiver
            ),
            arc: matches!(
                self,
                Only::ArcClone
                    | Only::ArcDrop
                    | Only::ArcCount
                    | Only::ArcUnwrap
                    | Only::ArcGetMut
                    | Only::ArcDowngrade
                    | Only::ArcUpgrade
                    | Only::ArcLook
            ),
            panics: matches!(self, Only::Panic | Only::Poison(_)),
        }
    }
}

/// What threads have only if some operation needs it: to give it back is an operation too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Needs {
    pub channel: bool,
    pub arc: bool,
    pub panics: bool,
}

impl Needs {
    pub fn add(&mut self, other: Needs) {
        self.channel |= other.channel;
        self.arc |= other.arc;
        self.panics |= other.panics;
    }
}

/// So many objects of a kind are there.
const OBJECTS: usize = 2;

/// What the threads of a closure share for these operations.
pub(super) struct Shared {
    onces: [Once; OBJECTS],
    cells: [OnceLock<i64>; OBJECTS],
    barrier: Barrier,
    /// How often a value of an `Arc` was dropped.
    drops: std::sync::Arc<AtomicI64>,
}

impl Shared {
    pub fn new() -> Shared {
        Shared {
            onces: [const { Once::new() }; OBJECTS],
            cells: [const { OnceLock::new() }; OBJECTS],
            barrier: Barrier::new(2),
            drops: std::sync::Arc::new(AtomicI64::new(0)),
        }
    }
}

/// The value of an `Arc`, whose drop others can see.
pub(super) struct Value {
    drops: std::sync::Arc<AtomicI64>,
}

impl Drop for Value {
    fn drop(&mut self) {
        self.drops.fetch_add(1, SeqCst);
    }
}

/// The sending end of a channel.
enum Tx {
    Free(Sender<i64>),
    Bound(SyncSender<i64>),
}

impl Clone for Tx {
    fn clone(&self) -> Tx {
        match self {
            Tx::Free(sender) => Tx::Free(sender.clone()),
            Tx::Bound(sender) => Tx::Bound(sender.clone()),
        }
    }
}

/// What a thread has of its own.
#[derive(Default)]
pub(super) struct Own {
    sender: Option<Tx>,
    receiver: Option<Receiver<i64>>,
    arc: Option<Arc<Value>>,
    second: Option<Arc<Value>>,
    weak: Option<Weak<Value>>,
}

impl Own {
    /// What the first thread has. The bound of the channel: none, one, or a rendezvous.
    pub fn new(needs: Needs, shared: &Shared, bound: Option<usize>) -> Own {
        let mut own = Own::default();
        if needs.channel {
            let (sender, receiver) = match bound {
                None => {
                    let (sender, receiver) = channel();
                    (Tx::Free(sender), receiver)
                }
                Some(bound) => {
                    let (sender, receiver) = sync_channel(bound);
                    (Tx::Bound(sender), receiver)
                }
            };
            (own.sender, own.receiver) = (Some(sender), Some(receiver));
        }
        if needs.arc {
            own.arc = Some(Arc::new(Value { drops: shared.drops.clone() }));
        }
        own
    }

    /// What a thread gives to one that it makes.
    pub fn share(&self) -> Own {
        Own { sender: self.sender.clone(), arc: self.arc.clone(), ..Own::default() }
    }

    pub fn take_receiver(&mut self) -> Option<Receiver<i64>> {
        self.receiver.take()
    }

    pub fn with_receiver(mut self, receiver: Option<Receiver<i64>>) -> Own {
        self.receiver = receiver;
        self
    }
}

impl Actor<'_> {
    /// Does an operation that only Rust has.
    pub(super) fn only(&mut self, only: &Only) {
        match only {
            Only::IsFinished(handle) => {
                if let Some(finished) = self.child(*handle).map(thread::JoinHandle::is_finished) {
                    self.note(i64::from(finished));
                }
            }
            Only::WaitTimeout { condvar, lock } => self.wait_timeout(*condvar, *lock),
            Only::ParkTimeout => {
                thread::park_timeout(Duration::from_millis(1));
                self.note(0);
            }
            Only::CallOnce(_) | Only::OnceWait(_) | Only::OnceCompleted(_) => self.once(only),
            Only::CellSet(_) | Only::CellGet(_) | Only::CellInit(_) => self.cell(only),
            Only::Barrier => {
                let leads = self.props().only.barrier.wait().is_leader();
                self.note(i64::from(leads));
            }
            Only::Panic => panic!("a panic"),
            Only::Spin(_) | Only::SpinOnTwo(..) => self.spin(only),
            Only::Poison(_) | Only::IsPoisoned(_) | Only::ClearPoison(_) => self.poison(only),
            _ if only.needs().channel => self.channel(only),
            _ => self.arc(only),
        }
    }

    fn wait_timeout(&mut self, condvar: usize, lock: usize) {
        if !self.props().pair(condvar, lock) {
            return self.stage.side.unfit("a condition variable with two locks");
        }
        let Some(guard) = self.guards[lock].take() else { return };
        let result = self.props().condvar(condvar).wait_timeout(guard, Duration::from_millis(1));
        let (guard, timed_out) = result.unwrap_or_else(PoisonError::into_inner);
        self.note(i64::from(timed_out.timed_out()));
        self.took(lock, guard);
    }

    fn once(&mut self, only: &Only) {
        let props = self.props();
        let value = match only {
            Only::CallOnce(at) => {
                let mut ran = 0;
                props.only.onces[*at].call_once(|| {
                    ran = 1;
                    props.only.drops.fetch_add(1, SeqCst);
                });
                ran
            }
            Only::OnceWait(at) => {
                props.only.onces[*at].wait();
                2
            }
            Only::OnceCompleted(at) => i64::from(props.only.onces[*at].is_completed()),
            _ => return,
        };
        self.note(value);
    }

    fn cell(&mut self, only: &Only) {
        let (props, mine) = (self.props(), self.number());
        let value = match only {
            Only::CellSet(at) => i64::from(props.only.cells[*at].set(mine).is_ok()),
            Only::CellGet(at) => props.only.cells[*at].get().copied().unwrap_or(0),
            Only::CellInit(at) => *props.only.cells[*at].get_or_init(|| {
                props.only.drops.load(SeqCst);
                mine
            }),
            _ => return,
        };
        self.note(value);
    }

    fn channel(&mut self, only: &Only) {
        let mine = self.number();
        let got = |received: Option<i64>| received.unwrap_or(0);
        let value = match (only, &self.own.sender, &self.own.receiver) {
            (Only::Send, Some(Tx::Free(sender)), _) => i64::from(sender.send(mine).is_ok()),
            (Only::Send, Some(Tx::Bound(sender)), _) => i64::from(sender.send(mine).is_ok()),
            (Only::TrySend, Some(Tx::Free(sender)), _) => i64::from(sender.send(mine).is_ok()),
            (Only::TrySend, Some(Tx::Bound(sender)), _) => match sender.try_send(mine) {
                Ok(()) => 1,
                Err(mazurka::sync::mpsc::TrySendError::Full(_)) => 2,
                Err(mazurka::sync::mpsc::TrySendError::Disconnected(_)) => 3,
            },
            (Only::Receive, _, Some(receiver)) => got(receiver.recv().ok()),
            (Only::TryReceive, _, Some(receiver)) => match receiver.try_recv() {
                Ok(value) => value,
                Err(mazurka::sync::mpsc::TryRecvError::Empty) => 1,
                Err(mazurka::sync::mpsc::TryRecvError::Disconnected) => 2,
            },
            (Only::ReceiveTimeout, _, Some(receiver)) => {
                match receiver.recv_timeout(Duration::from_millis(1)) {
                    Ok(value) => value,
                    Err(mazurka::sync::mpsc::RecvTimeoutError::Timeout) => 1,
                    Err(mazurka::sync::mpsc::RecvTimeoutError::Disconnected) => 2,
                }
            }
            (Only::DropSender, Some(_), _) => {
                self.own.sender = None;
                0
            }
            (Only::DropReceiver, _, Some(_)) => {
                self.own.receiver = None;
                0
            }
            _ => return,
        };
        self.note(value);
    }

    fn arc(&mut self, only: &Only) {
        let value = match (only, self.own.arc.take()) {
            (Only::ArcLook, arc) => {
                self.own.arc = arc;
                self.props().only.drops.load(SeqCst)
            }
            (Only::ArcUpgrade, arc) => {
                self.own.arc = arc;
                let upgraded = self.own.weak.as_ref().map(Weak::upgrade);
                i64::from(upgraded.flatten().is_some())
            }
            (Only::ArcClone, Some(arc)) => {
                self.own.second = Some(arc.clone());
                self.own.arc = Some(arc);
                0
            }
            (Only::ArcDrop, Some(arc)) => {
                drop(arc);
                0
            }
            (Only::ArcCount, Some(arc)) => {
                let count = Arc::strong_count(&arc);
                self.own.arc = Some(arc);
                count as i64
            }
            (Only::ArcUnwrap, Some(arc)) => match Arc::try_unwrap(arc) {
                Ok(value) => {
                    drop(value);
                    1
                }
                Err(arc) => {
                    self.own.arc = Some(arc);
                    2
                }
            },
            (Only::ArcGetMut, Some(mut arc)) => {
                let alone = Arc::get_mut(&mut arc).is_some();
                self.own.arc = Some(arc);
                i64::from(alone)
            }
            (Only::ArcDowngrade, Some(arc)) => {
                self.own.weak = Some(Arc::downgrade(&arc));
                self.own.arc = Some(arc);
                0
            }
            _ => return,
        };
        self.note(value);
    }

    fn spin(&mut self, only: &Only) {
        let props = self.props();
        match only {
            Only::Spin(at) => while props.var(*at).load(SeqCst) == 0 {},
            Only::SpinOnTwo(one, other) => {
                while props.var(*one).load(SeqCst) == 0 && props.var(*other).load(SeqCst) == 0 {}
            }
            _ => {}
        }
        self.note(0);
    }

    fn poison(&mut self, only: &Only) {
        let props = self.props();
        let value = match only {
            Only::Poison(lock) => {
                // To wait for a lock that it holds itself would be the end of it.
                if self.guards[*lock].is_some() {
                    return;
                }
                let caught = catch_unwind(AssertUnwindSafe(|| {
                    let _guard = props.lock(*lock).lock();
                    panic!("a panic with a lock");
                }));
                i64::from(caught.is_err())
            }
            Only::IsPoisoned(lock) => i64::from(props.lock(*lock).is_poisoned()),
            Only::ClearPoison(lock) => {
                props.lock(*lock).clear_poison();
                0
            }
            _ => return,
        };
        self.note(value);
    }
}

/// Puts some of these into a program.
pub(super) fn add(ast: &mut Ast, random: &mut Random) {
    let mut locks: Vec<String> = Vec::new();
    let mut condvars: Vec<String> = Vec::new();
    let mut vars: Vec<String> = Vec::new();
    for item in &ast.items {
        let plain = |objects: &[ObjectDecl]| {
            let single = objects.iter().filter(|object| object.size.is_none());
            single.map(|object| object.name.text.clone()).collect::<Vec<_>>()
        };
        match item {
            Item::Lock(objects) => locks.extend(plain(objects)),
            Item::Condvar(objects) => condvars.extend(plain(objects)),
            Item::Var(declared) => {
                let single =
                    declared.iter().filter(|var| var.size.is_none() && !stands_for_another(&var.name.text));
                vars.extend(single.map(|var| var.name.text.clone()));
            }
            _ => {}
        }
    }
    let family = match random.below(9) {
        // These are about locks.
        1 if condvars.is_empty() || locks.is_empty() => 2,
        7 if locks.is_empty() => 3,
        8 if vars.is_empty() => 6,
        family => family,
    };
    // One who spins is enough.
    let count = if family == 8 { 1 } else { 2 + random.below(3) };
    for _ in 0..count {
        let lock = random.pick(&locks).map_or("", String::as_str);
        let condvar = random.pick(&condvars).map_or("", String::as_str);
        let one_of = |random: &mut Random, texts: &[&str]| texts[random.below(texts.len())].to_owned();
        let (text, first) = match family {
            0 => ("is_finished".to_owned(), false),
            1 => (format!("wait_timeout {condvar} {lock}"), false),
            2 => {
                let text = one_of(random, &["call_once", "call_once", "once_wait", "once_completed"]);
                (format!("{text} {}", random.below(OBJECTS)), false)
            }
            3 => {
                let text = one_of(random, &["cell_set", "cell_get", "cell_init"]);
                (format!("{text} {}", random.below(OBJECTS)), false)
            }
            4 => (one_of(random, &["barrier", "barrier", "park_timeout"]), false),
            5 if random.one_in(2) => {
                let texts = ["receive", "receive", "try_receive", "receive_timeout", "drop_receiver"];
                (one_of(random, &texts), true)
            }
            5 => (one_of(random, &["send", "send", "try_send", "drop_sender"]), false),
            6 => {
                let texts = [
                    "arc_clone",
                    "arc_drop",
                    "arc_drop",
                    "arc_count",
                    "arc_unwrap",
                    "arc_get_mut",
                    "arc_downgrade",
                    "arc_upgrade",
                    "arc_look",
                ];
                (one_of(random, &texts), false)
            }
            8 => {
                let var = |random: &mut Random| random.pick(&vars).map_or("", String::as_str);
                match random.one_in(3) {
                    true => (format!("spin_on_two {} {}", var(random), var(random)), false),
                    false => (format!("spin {}", var(random)), false),
                }
            }
            _ => {
                let text = one_of(random, &["poison", "poison", "is_poisoned", "clear_poison"]);
                (format!("{text} {lock}"), false)
            }
        };
        insert(ast, &text, first, random);
    }
}

/// Puts an operation somewhere: into the first process, which has the receiver, or anywhere.
fn insert(ast: &mut Ast, text: &str, first: bool, random: &mut Random) {
    let has_body = |item: &Item| match item {
        Item::Process(_) => true,
        Item::Task(_) => !first,
        _ => false,
    };
    let places: Vec<usize> = (0..ast.items.len()).filter(|&k| has_body(&ast.items[k])).collect();
    let place = if first { places.first() } else { random.pick(&places) };
    let Some(&place) = place else { return };
    let body = match &mut ast.items[place] {
        Item::Process(process) => &mut process.body,
        Item::Task(task) => &mut task.body,
        _ => return,
    };
    // The handle of a thread that was made before, or the place after a lock was taken.
    let mut handles = Vec::new();
    visit::block(body, &mut |block| {
        handles.extend(block.statements.iter().filter_map(|statement| match &statement.kind {
            StmtKind::Spawn { dest: Dest::Let(name) | Dest::Local(name), .. } => Some(name.text.clone()),
            _ => None,
        }));
    });
    let text = match (text, random.pick(&handles)) {
        ("is_finished", Some(handle)) => format!("{PREFIX}is_finished {handle}"),
        ("is_finished", None) => return,
        _ => format!("{PREFIX}{text}"),
    };
    let statement = stmt(StmtKind::Assert { condition: Expr::number(1), message: Some(text) });
    let at = random.below(body.statements.len() + 1);
    body.statements.insert(at, statement);
}
