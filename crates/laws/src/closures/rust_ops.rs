//! What only Rust has: compared with brute force over the closure, not with the language.
//!
//! In a program it is written as an assertion that always holds and whose text says what a thread does there:
//! `assert 1, "rust: call_once 0";`. So programs are still printed, read and made small as they are.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::PoisonError;
use std::time::Duration;

use mazurka::sync::atomic::{AtomicI64, Ordering::SeqCst};
use mazurka::sync::mpsc::{
    Receiver, RecvTimeoutError, Sender, SyncSender, TryRecvError, TrySendError, channel, sync_channel,
};
use mazurka::sync::{Arc, Barrier, Once, OnceLock, Weak};
use mazurka::thread;
use mazurka_litmus::ast::*;

use super::encoded::stands_for_another;
use super::interpreter::Interpreter;
use crate::random::Random;
use crate::visit;
use crate::writer::statements;

const PREFIX: &str = "rust: ";

/// Something that a thread does.
#[derive(Debug)]
pub(super) struct RustOp {
    pub name: &'static str,
    /// What the words after the name stand for.
    pub arguments: &'static [Argument],
    pub needs: Needs,
    /// Does it with these objects; gives what is noted, none if it could not be done or is noted already.
    pub perform: fn(&mut Interpreter<'_>, [usize; 2]) -> Option<i64>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Argument {
    Handle,
    Lock,
    Condvar,
    Var,
    /// The number of one of the objects that there are [for these operations](SharedRustObjects).
    Number,
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

const NOTHING: Needs = Needs { channel: false, arc: false, panics: false };
const CHANNEL: Needs = Needs { channel: true, ..NOTHING };
const ARC: Needs = Needs { arc: true, ..NOTHING };
const PANICS: Needs = Needs { panics: true, ..NOTHING };

const SOON: Duration = Duration::from_millis(1);

const fn op(
    name: &'static str,
    arguments: &'static [Argument],
    needs: Needs,
    perform: fn(&mut Interpreter<'_>, [usize; 2]) -> Option<i64>,
) -> RustOp {
    RustOp { name, arguments, needs, perform }
}

use Argument::{Condvar, Handle, Lock, Number, Var};

static OPERATIONS: [RustOp; 31] = [
    op("is_finished", &[Handle], NOTHING, |t, [child, _]| Some(i64::from(t.child(child)?.is_finished()))),
    op("wait_timeout", &[Condvar, Lock], NOTHING, wait_timeout),
    op("park_timeout", &[], NOTHING, |_, _| {
        thread::park_timeout(SOON);
        Some(0)
    }),
    op("call_once", &[Number], NOTHING, |t, [at, _]| {
        let (mut ran, rust) = (0, t.rust());
        rust.onces[at].call_once(|| {
            ran = 1;
            rust.drops.fetch_add(1, SeqCst);
        });
        Some(ran)
    }),
    op("once_wait", &[Number], NOTHING, |t, [at, _]| {
        t.rust().onces[at].wait();
        Some(2)
    }),
    op("once_completed", &[Number], NOTHING, |t, [at, _]| Some(i64::from(t.rust().onces[at].is_completed()))),
    op("cell_set", &[Number], NOTHING, |t, [at, _]| {
        Some(i64::from(t.rust().cells[at].set(t.number()).is_ok()))
    }),
    op("cell_get", &[Number], NOTHING, |t, [at, _]| Some(t.rust().cells[at].get().copied().unwrap_or(0))),
    op("cell_init", &[Number], NOTHING, |t, [at, _]| {
        let (rust, mine) = (t.rust(), t.number());
        Some(*rust.cells[at].get_or_init(|| {
            rust.drops.load(SeqCst);
            mine
        }))
    }),
    op("barrier", &[], NOTHING, |t, _| Some(i64::from(t.rust().barrier.wait().is_leader()))),
    op("send", &[], CHANNEL, |t, _| Some(t.owned.sender.as_ref()?.send(t.number()))),
    op("try_send", &[], CHANNEL, |t, _| Some(t.owned.sender.as_ref()?.try_send(t.number()))),
    op("receive", &[], CHANNEL, |t, _| Some(t.owned.receiver.as_ref()?.recv().unwrap_or(0))),
    op("try_receive", &[], CHANNEL, |t, _| {
        Some(t.owned.receiver.as_ref()?.try_recv().unwrap_or_else(|error| match error {
            TryRecvError::Empty => 1,
            TryRecvError::Disconnected => 2,
        }))
    }),
    op("receive_timeout", &[], CHANNEL, |t, _| {
        Some(t.owned.receiver.as_ref()?.recv_timeout(SOON).unwrap_or_else(|error| match error {
            RecvTimeoutError::Timeout => 1,
            RecvTimeoutError::Disconnected => 2,
        }))
    }),
    op("drop_sender", &[], CHANNEL, |t, _| t.owned.sender.take().map(drop).map(|()| 0)),
    op("drop_receiver", &[], CHANNEL, |t, _| t.owned.receiver.take().map(drop).map(|()| 0)),
    op("arc_clone", &[], ARC, |t, _| {
        t.owned.second = Some(t.owned.arc.clone()?);
        Some(0)
    }),
    op("arc_drop", &[], ARC, |t, _| t.owned.arc.take().map(drop).map(|()| 0)),
    op("arc_count", &[], ARC, |t, _| Some(Arc::strong_count(t.owned.arc.as_ref()?) as i64)),
    op("arc_unwrap", &[], ARC, |t, _| match Arc::try_unwrap(t.owned.arc.take()?) {
        Ok(value) => {
            drop(value);
            Some(1)
        }
        Err(arc) => {
            t.owned.arc = Some(arc);
            Some(2)
        }
    }),
    op("arc_get_mut", &[], ARC, |t, _| Some(i64::from(Arc::get_mut(t.owned.arc.as_mut()?).is_some()))),
    op("arc_downgrade", &[], ARC, |t, _| {
        t.owned.weak = Some(Arc::downgrade(t.owned.arc.as_ref()?));
        Some(0)
    }),
    op("arc_upgrade", &[], ARC, |t, _| {
        Some(i64::from(t.owned.weak.as_ref().and_then(Weak::upgrade).is_some()))
    }),
    // Reads what the drop of the value of an `Arc` writes.
    op("arc_look", &[], ARC, |t, _| Some(t.rust().drops.load(SeqCst))),
    op("panic", &[], PANICS, |_, _| panic!("a panic")),
    // A panic that is caught while a lock is held.
    op("poison", &[Lock], PANICS, |t, [lock, _]| {
        // To wait for a lock that it holds itself would be the end of it.
        if t.guards[lock].is_some() {
            return None;
        }
        let lock = &t.objects().locks[lock];
        let caught = catch_unwind(AssertUnwindSafe(|| {
            let _guard = lock.lock();
            panic!("a panic with a lock");
        }));
        Some(i64::from(caught.is_err()))
    }),
    op("is_poisoned", &[Lock], NOTHING, |t, [lock, _]| {
        Some(i64::from(t.objects().locks[lock].is_poisoned()))
    }),
    op("clear_poison", &[Lock], NOTHING, |t, [lock, _]| {
        t.objects().locks[lock].clear_poison();
        Some(0)
    }),
    // Reads a variable until it is not 0.
    op("spin", &[Var], NOTHING, |t, [at, _]| {
        let vars = &t.objects().vars;
        while vars[at].load(SeqCst) == 0 {}
        Some(0)
    }),
    op("spin_on_two", &[Var, Var], NOTHING, |t, [one, other]| {
        let vars = &t.objects().vars;
        while vars[one].load(SeqCst) == 0 && vars[other].load(SeqCst) == 0 {}
        Some(0)
    }),
];

fn wait_timeout(thread: &mut Interpreter<'_>, [condvar, lock]: [usize; 2]) -> Option<i64> {
    if !thread.objects().pair(condvar, lock) {
        thread.context.log.unfit("a condition variable with two locks");
        return None;
    }
    let guard = thread.guards[lock].take()?;
    let result = thread.objects().condvars[condvar].wait_timeout(guard, SOON);
    let (guard, timed_out) = result.unwrap_or_else(PoisonError::into_inner);
    thread.note(i64::from(timed_out.timed_out()));
    thread.took(lock, guard);
    None
}

/// The text of an operation, if a statement is one.
pub(super) fn text(kind: &StmtKind) -> Option<&str> {
    match kind {
        StmtKind::Assert { message: Some(message), .. } => message.strip_prefix(PREFIX),
        _ => None,
    }
}

/// The operation of a name.
pub(super) fn find(name: &str) -> Option<&'static RustOp> {
    OPERATIONS.iter().find(|op| op.name == name)
}

/// So many objects of a kind are there.
pub(super) const OBJECTS: usize = 2;

/// What the threads of a closure share for these operations.
pub(super) struct SharedRustObjects {
    onces: [Once; OBJECTS],
    cells: [OnceLock<i64>; OBJECTS],
    barrier: Barrier,
    /// How often a value of an `Arc` was dropped.
    drops: std::sync::Arc<AtomicI64>,
}

impl SharedRustObjects {
    pub fn new() -> SharedRustObjects {
        SharedRustObjects {
            onces: [const { Once::new() }; OBJECTS],
            cells: [const { OnceLock::new() }; OBJECTS],
            barrier: Barrier::new(2),
            drops: std::sync::Arc::new(AtomicI64::new(0)),
        }
    }
}

/// The value of an `Arc`, whose drop others can see.
pub(super) struct CountedDrop {
    drops: std::sync::Arc<AtomicI64>,
}

impl Drop for CountedDrop {
    fn drop(&mut self) {
        self.drops.fetch_add(1, SeqCst);
    }
}

/// The sending end of a channel.
#[derive(Clone)]
enum AnySender {
    Unbounded(Sender<i64>),
    Bounded(SyncSender<i64>),
}

impl AnySender {
    fn send(&self, value: i64) -> i64 {
        i64::from(match self {
            AnySender::Unbounded(sender) => sender.send(value).is_ok(),
            AnySender::Bounded(sender) => sender.send(value).is_ok(),
        })
    }

    fn try_send(&self, value: i64) -> i64 {
        match self {
            AnySender::Unbounded(_) => self.send(value),
            AnySender::Bounded(sender) => match sender.try_send(value) {
                Ok(()) => 1,
                Err(TrySendError::Full(_)) => 2,
                Err(TrySendError::Disconnected(_)) => 3,
            },
        }
    }
}

/// What a thread has of its own.
#[derive(Default)]
pub(super) struct OwnedObjects {
    sender: Option<AnySender>,
    pub receiver: Option<Receiver<i64>>,
    arc: Option<Arc<CountedDrop>>,
    second: Option<Arc<CountedDrop>>,
    weak: Option<Weak<CountedDrop>>,
}

impl OwnedObjects {
    /// What the first thread has. The bound of the channel: none, one, or a rendezvous.
    pub fn new(needs: Needs, shared: &SharedRustObjects, bound: Option<usize>) -> OwnedObjects {
        let mut owned = OwnedObjects::default();
        if needs.channel {
            let (sender, receiver) = match bound {
                None => {
                    let (sender, receiver) = channel();
                    (AnySender::Unbounded(sender), receiver)
                }
                Some(bound) => {
                    let (sender, receiver) = sync_channel(bound);
                    (AnySender::Bounded(sender), receiver)
                }
            };
            (owned.sender, owned.receiver) = (Some(sender), Some(receiver));
        }
        if needs.arc {
            owned.arc = Some(Arc::new(CountedDrop { drops: shared.drops.clone() }));
        }
        owned
    }

    /// What a thread gives to one that it makes, with the receiver, if that gets it.
    pub fn share(&self, receiver: Option<Receiver<i64>>) -> OwnedObjects {
        let (sender, arc) = (self.sender.clone(), self.arc.clone());
        OwnedObjects { sender, receiver, arc, ..OwnedObjects::default() }
    }
}

/// Operations that belong together: a program has those of one line. `L` is a lock, `C` a condition variable,
/// `V` a variable and `N` a number.
const FAMILIES: [&[&str]; 9] = [
    &["is_finished"],
    &["wait_timeout C L"],
    &["call_once N", "call_once N", "once_wait N", "once_completed N"],
    &["cell_set N", "cell_get N", "cell_init N"],
    &["barrier", "barrier", "park_timeout"],
    &["send", "send", "try_send", "drop_sender"],
    &[
        "arc_clone",
        "arc_drop",
        "arc_drop",
        "arc_count",
        "arc_unwrap",
        "arc_get_mut",
        "arc_downgrade",
        "arc_upgrade",
        "arc_look",
    ],
    &["poison L", "poison L", "is_poisoned L", "clear_poison L"],
    &["spin_on_two V V", "spin V", "spin V"],
];
/// What the first process does with the channel.
const RECEIVES: &[&str] = &["receive", "receive", "try_receive", "receive_timeout", "drop_receiver"];
const CHANNELS: usize = 5;
const SPINS: usize = 8;

/// Puts some of these into a program.
pub(super) fn add(ast: &mut Ast, random: &mut Random) {
    let locks = visit::single_objects(ast, |item| if let Item::Lock(objects) = item { objects } else { &[] });
    let condvars =
        visit::single_objects(ast, |item| if let Item::Condvar(objects) = item { objects } else { &[] });
    let mut vars = Vec::new();
    for item in &ast.items {
        if let Item::Var(declared) = item {
            let single =
                declared.iter().filter(|var| var.size.is_none() && !stands_for_another(&var.name.text));
            vars.extend(single.map(|var| var.name.text.clone()));
        }
    }
    let family = match random.below(FAMILIES.len()) {
        // These are about locks.
        1 if condvars.is_empty() || locks.is_empty() => 2,
        7 if locks.is_empty() => 3,
        SPINS if vars.is_empty() => 6,
        family => family,
    };
    // One who spins is enough.
    let count = if family == SPINS { 1 } else { 2 + random.below(3) };
    for _ in 0..count {
        let lock = random.pick(&locks).cloned().unwrap_or_default();
        let condvar = random.pick(&condvars).cloned().unwrap_or_default();
        let first = family == CHANNELS && random.one_in(2);
        let texts = if first { RECEIVES } else { FAMILIES[family] };
        let text = texts[if texts.len() == 1 { 0 } else { random.below(texts.len()) }];
        let words: Vec<String> = text
            .split(' ')
            .map(|word| match word {
                "L" => lock.clone(),
                "C" => condvar.clone(),
                "V" => random.pick(&vars).cloned().unwrap_or_default(),
                "N" => random.below(OBJECTS).to_string(),
                word => word.to_owned(),
            })
            .collect();
        insert(ast, words.join(" "), first, random);
    }
}

/// Puts an operation somewhere: into the first process, which has the receiver, or anywhere.
fn insert(ast: &mut Ast, mut text: String, first: bool, random: &mut Random) {
    let is_place = |item: &Item| !first || matches!(item, Item::Process(_));
    let mut bodies: Vec<&mut Block> =
        ast.items.iter_mut().filter(|item| is_place(item)).filter_map(visit::body).collect();
    let place = if first { 0 } else { random.below(bodies.len()) };
    let Some(body) = bodies.get_mut(place) else { return };
    // The handle of a thread that was made before.
    let mut handles = Vec::new();
    visit::block(body, &mut |block| {
        handles.extend(block.statements.iter().filter_map(|statement| match &statement.kind {
            StmtKind::Spawn { dest: Dest::Let(name) | Dest::Local(name), .. } => Some(name.text.clone()),
            _ => None,
        }));
    });
    let handle = random.pick(&handles);
    if text == "is_finished" {
        let Some(handle) = handle else { return };
        text = format!("{text} {handle}");
    }
    let at = random.below(body.statements.len() + 1);
    body.statements.splice(at..at, statements(&format!("assert 1, \"{PREFIX}{text}\";")));
}
