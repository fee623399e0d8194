//! What the threads of a closure share.

use std::ops::Index;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex as StdMutex, MutexGuard as StdMutexGuard, PoisonError};

use mazurka::mailbox::Address;
use mazurka::sync::atomic::AtomicI64;
use mazurka::sync::{Condvar, Mutex, RwLock};
use mazurka::thread::{JoinHandle, Thread};

use super::interpreter::Message;
use super::log::Log;
use super::plan::Plan;
use super::rust_ops::SharedRustObjects;

/// Where objects live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Storage {
    /// All of a kind in one vector.
    Rows,
    /// Each in a box of its own.
    Boxes,
    /// In statics.
    Statics,
}

/// So many objects of a kind are in statics.
const STATICS: usize = 8;

static ZEROS: [AtomicI64; STATICS] = [const { AtomicI64::new(0) }; STATICS];
static ONES: [AtomicI64; STATICS] = [const { AtomicI64::new(1) }; STATICS];
static LOCKS: [Mutex<i64>; STATICS] = [const { Mutex::new(0) }; STATICS];
static RWLOCKS: [RwLock<i64>; STATICS] = [const { RwLock::new(0) }; STATICS];
static CONDVARS: [Condvar; STATICS] = [const { Condvar::new() }; STATICS];

/// Whether a plan's objects fit into statics.
pub(super) fn fits_statics(plan: &Plan) -> bool {
    [plan.vars.len(), plan.locks, plan.condvars, plan.rwlocks.len()].iter().all(|&count| count <= STATICS)
        && plan.vars.iter().all(|value| (0..=1).contains(value))
}

/// Objects of a kind. An allocation for each is the point of boxes: an object is named by it.
pub(super) enum Objects<T: 'static> {
    Row(Vec<T>),
    Boxes(Vec<Box<T>>),
    Statics(Vec<&'static T>),
}

impl<T> Objects<T> {
    fn new(
        storage: Storage,
        count: usize,
        new: impl Fn(usize) -> T,
        in_static: impl Fn(usize) -> &'static T,
    ) -> Objects<T> {
        match storage {
            Storage::Rows => Objects::Row((0..count).map(new).collect()),
            Storage::Boxes => Objects::Boxes((0..count).map(|k| Box::new(new(k))).collect()),
            Storage::Statics => Objects::Statics((0..count).map(in_static).collect()),
        }
    }

    /// Calls `with` for those that die with their owner.
    fn for_each_owned(&mut self, mut with: impl FnMut(usize, &mut T)) {
        match self {
            Objects::Row(row) => row.iter_mut().enumerate().for_each(|(k, one)| with(k, one)),
            Objects::Boxes(boxes) => boxes.iter_mut().enumerate().for_each(|(k, one)| with(k, one)),
            Objects::Statics(_) => {}
        }
    }
}

impl<T> Index<usize> for Objects<T> {
    type Output = T;

    fn index(&self, at: usize) -> &T {
        match self {
            Objects::Row(row) => &row[at],
            Objects::Boxes(boxes) => &boxes[at],
            Objects::Statics(statics) => statics[at],
        }
    }
}

/// The thread of a root.
#[derive(Default)]
pub(super) struct RootThread {
    /// For who joins it.
    pub handle: Option<JoinHandle<()>>,
    /// For who unparks it.
    pub thread: Option<Thread>,
}

/// The objects of an execution.
pub(super) struct SharedObjects {
    pub vars: Objects<AtomicI64>,
    pub locks: Objects<Mutex<i64>>,
    pub condvars: Objects<Condvar>,
    pub rwlocks: Objects<RwLock<i64>>,
    pub rust: SharedRustObjects,
    roots: Vec<StdMutex<RootThread>>,
    /// Of the roots, if there are mailboxes.
    pub addresses: Vec<Address<Message>>,
    /// Which variables are to be looked at in the end.
    plain: Vec<bool>,
    /// The lock that a condition variable is used with, plus 1.
    partners: Vec<AtomicUsize>,
    log: Arc<Log>,
}

impl SharedObjects {
    pub fn new(
        plan: &Plan,
        storage: Storage,
        addresses: Vec<Address<Message>>,
        log: Arc<Log>,
    ) -> SharedObjects {
        let zero_or_one = |k: usize| if plan.vars[k] == 1 { &ONES[k] } else { &ZEROS[k] };
        SharedObjects {
            vars: Objects::new(storage, plan.vars.len(), |k| AtomicI64::new(plan.vars[k]), zero_or_one),
            locks: Objects::new(storage, plan.locks, |_| Mutex::new(0), |k| &LOCKS[k]),
            condvars: Objects::new(storage, plan.condvars, |_| Condvar::new(), |k| &CONDVARS[k]),
            rwlocks: Objects::new(storage, plan.rwlocks.len(), |_| RwLock::new(0), |k| &RWLOCKS[k]),
            rust: SharedRustObjects::new(),
            roots: plan.roots.iter().map(|_| StdMutex::default()).collect(),
            addresses,
            plain: plan.plain.clone(),
            partners: (0..plan.condvars).map(|_| AtomicUsize::new(0)).collect(),
            log,
        }
    }

    /// The thread of a root, for threads that were made later. Not to be held over an operation.
    pub fn root(&self, root: usize) -> StdMutexGuard<'_, RootThread> {
        self.roots[root].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a condition variable may be used with a lock: it never was with another.
    pub fn pair(&self, condvar: usize, lock: usize) -> bool {
        let known = self.partners[condvar].load(Relaxed);
        self.partners[condvar].store(lock + 1, Relaxed);
        known == 0 || known == lock + 1
    }
}

/// The last owner looks whether the variables hold what was written.
impl Drop for SharedObjects {
    fn drop(&mut self) {
        let (plain, log) = (&self.plain, &self.log);
        self.vars.for_each_owned(|at, var| {
            if plain[at] {
                log.ends_with(at, *var.get_mut());
            }
        });
    }
}
