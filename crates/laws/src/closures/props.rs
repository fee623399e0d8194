//! What the threads of a closure share.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex as StdMutex, PoisonError};

use mazurka::mailbox::Address;
use mazurka::sync::atomic::AtomicI64;
use mazurka::sync::{Condvar, Mutex, RwLock};
use mazurka::thread::{JoinHandle, Thread};

use super::act::Message;
use super::only;
use super::plan::Plan;
use super::side::Side;

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
pub(super) const STATICS: usize = 8;

static ZEROS: [AtomicI64; STATICS] = [const { AtomicI64::new(0) }; STATICS];
static ONES: [AtomicI64; STATICS] = [const { AtomicI64::new(1) }; STATICS];
static LOCKS: [Mutex<i64>; STATICS] = [const { Mutex::new(0) }; STATICS];
static RWLOCKS: [RwLock<i64>; STATICS] = [const { RwLock::new(0) }; STATICS];
static CONDVARS: [Condvar; STATICS] = [const { Condvar::new() }; STATICS];

/// Whether a plan's objects fit into statics.
pub(super) fn fits_statics(plan: &Plan) -> bool {
    plan.vars.len() <= STATICS
        && plan.locks <= STATICS
        && plan.condvars <= STATICS
        && plan.rwlocks.len() <= STATICS
        && plan.vars.iter().all(|value| (0..=1).contains(value))
}

#[expect(clippy::vec_box, reason = "an allocation for each object is the point: it is named by it")]
enum Objects {
    Rows {
        vars: Vec<AtomicI64>,
        locks: Vec<Mutex<i64>>,
        condvars: Vec<Condvar>,
        rwlocks: Vec<RwLock<i64>>,
    },
    Boxes {
        vars: Vec<Box<AtomicI64>>,
        locks: Vec<Box<Mutex<i64>>>,
        condvars: Vec<Box<Condvar>>,
        rwlocks: Vec<Box<RwLock<i64>>>,
    },
    Statics {
        ones: Vec<bool>,
    },
}

/// The objects of an execution.
pub(super) struct Props {
    objects: Objects,
    /// The handles of roots, for who joins them.
    roots: Vec<StdMutex<Option<JoinHandle<()>>>>,
    /// The threads of roots, for who unparks them.
    threads: Vec<StdMutex<Option<Thread>>>,
    addresses: Vec<Address<Message>>,
    /// Which variables are to be looked at in the end.
    plain: Vec<bool>,
    /// The lock that a condition variable is used with, plus 1.
    partners: Vec<AtomicUsize>,
    side: Arc<Side>,
    pub only: only::Shared,
}

impl Props {
    pub fn new(plan: &Plan, storage: Storage, addresses: Vec<Address<Message>>, side: Arc<Side>) -> Props {
        let objects = match storage {
            Storage::Rows => Objects::Rows {
                vars: plan.vars.iter().map(|&value| AtomicI64::new(value)).collect(),
                locks: (0..plan.locks).map(|_| Mutex::new(0)).collect(),
                condvars: (0..plan.condvars).map(|_| Condvar::new()).collect(),
                rwlocks: plan.rwlocks.iter().map(|_| RwLock::new(0)).collect(),
            },
            Storage::Boxes => Objects::Boxes {
                vars: plan.vars.iter().map(|&value| Box::new(AtomicI64::new(value))).collect(),
                locks: (0..plan.locks).map(|_| Box::new(Mutex::new(0))).collect(),
                condvars: (0..plan.condvars).map(|_| Box::new(Condvar::new())).collect(),
                rwlocks: plan.rwlocks.iter().map(|_| Box::new(RwLock::new(0))).collect(),
            },
            Storage::Statics => {
                Objects::Statics { ones: plan.vars.iter().map(|&value| value == 1).collect() }
            }
        };
        Props {
            objects,
            roots: plan.roots.iter().map(|_| StdMutex::new(None)).collect(),
            threads: plan.roots.iter().map(|_| StdMutex::new(None)).collect(),
            addresses,
            plain: plan.plain.clone(),
            partners: (0..plan.condvars).map(|_| AtomicUsize::new(0)).collect(),
            side,
            only: only::Shared::new(),
        }
    }

    pub fn var(&self, at: usize) -> &AtomicI64 {
        match &self.objects {
            Objects::Rows { vars, .. } => &vars[at],
            Objects::Boxes { vars, .. } => &vars[at],
            Objects::Statics { ones } => {
                if ones[at] {
                    &ONES[at]
                } else {
                    &ZEROS[at]
                }
            }
        }
    }

    pub fn lock(&self, at: usize) -> &Mutex<i64> {
        match &self.objects {
            Objects::Rows { locks, .. } => &locks[at],
            Objects::Boxes { locks, .. } => &locks[at],
            Objects::Statics { .. } => &LOCKS[at],
        }
    }

    pub fn rwlock(&self, at: usize) -> &RwLock<i64> {
        match &self.objects {
            Objects::Rows { rwlocks, .. } => &rwlocks[at],
            Objects::Boxes { rwlocks, .. } => &rwlocks[at],
            Objects::Statics { .. } => &RWLOCKS[at],
        }
    }

    pub fn condvar(&self, at: usize) -> &Condvar {
        match &self.objects {
            Objects::Rows { condvars, .. } => &condvars[at],
            Objects::Boxes { condvars, .. } => &condvars[at],
            Objects::Statics { .. } => &CONDVARS[at],
        }
    }

    /// The thread of a root, for threads that were made later.
    pub fn thread(&self, root: usize) -> Option<Thread> {
        self.threads[root].lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The address of a root, if there are mailboxes.
    pub fn address(&self, root: usize) -> Option<&Address<Message>> {
        self.addresses.get(root)
    }

    /// Whether a condition variable may be used with a lock: it never was with another.
    pub fn pair(&self, condvar: usize, lock: usize) -> bool {
        let known = self.partners[condvar].load(Relaxed);
        self.partners[condvar].store(lock + 1, Relaxed);
        known == 0 || known == lock + 1
    }

    pub fn put_root(&self, root: usize, handle: JoinHandle<()>) {
        *self.roots[root].lock().unwrap_or_else(PoisonError::into_inner) = Some(handle);
    }

    pub fn put_thread(&self, root: usize, thread: Thread) {
        *self.threads[root].lock().unwrap_or_else(PoisonError::into_inner) = Some(thread);
    }

    pub fn take_root(&self, root: usize) -> Option<JoinHandle<()>> {
        self.roots[root].lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// The last owner looks whether the variables hold what was written.
impl Drop for Props {
    fn drop(&mut self) {
        let held: &mut dyn Iterator<Item = i64> = match &mut self.objects {
            Objects::Rows { vars, .. } => &mut vars.iter_mut().map(|var| *var.get_mut()),
            Objects::Boxes { vars, .. } => &mut vars.iter_mut().map(|var| *var.get_mut()),
            Objects::Statics { .. } => return,
        };
        for (at, held) in held.enumerate() {
            if self.plain[at] {
                self.side.ends_with(at, held);
            }
        }
    }
}
