//! Random programs of a few operations, under brute force and under `optimal`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use mazurka::Checker;
use mazurka::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use mazurka::sync::{Arc, Barrier, Condvar, LazyLock, Mutex, Once, OnceLock, RwLock, RwLockWriteGuard};
use mazurka::thread;

use super::truth::{agree_within, note};

/// What a thread does in a row. Each operation notes what it learned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    Wait,
    WaitUnlessSet,
    WaitTimeout,
    NotifyOne,
    NotifyAll,
    SetAndNotify,
    Read,
    ReadTwice,
    Write,
    TryRead,
    TryWrite,
    Downgrade,
    CallOnce,
    CallOnceForce,
    PanicOnce,
    IsCompleted,
    OnceWait,
    Set,
    Get,
    Init,
    Lazy,
    Arrive,
    Add,
}

const CONDVAR: &[Op] = &[
    Op::Wait,
    Op::WaitUnlessSet,
    Op::WaitTimeout,
    Op::WaitTimeout,
    Op::NotifyOne,
    Op::NotifyOne,
    Op::NotifyAll,
    Op::SetAndNotify,
    Op::Add,
];
const LOCKS: &[Op] = &[Op::Read, Op::ReadTwice, Op::Write, Op::TryRead, Op::TryWrite, Op::Downgrade, Op::Add];
const ONCE: &[Op] = &[
    Op::CallOnce,
    Op::CallOnceForce,
    Op::PanicOnce,
    Op::IsCompleted,
    Op::OnceWait,
    Op::Set,
    Op::Get,
    Op::Init,
    Op::Lazy,
    Op::Arrive,
];

#[derive(Clone)]
struct Objects(Arc<Fields>);

struct Fields {
    lock: Mutex<bool>,
    condvar: Condvar,
    rwlock: RwLock<u64>,
    once: Once,
    value: OnceLock<u64>,
    lazy: LazyLock<u64>,
    barrier: Barrier,
    counter: AtomicUsize,
}

impl Objects {
    fn new() -> Objects {
        Objects(Arc::new(Fields {
            lock: Mutex::new(false),
            condvar: Condvar::new(),
            rwlock: RwLock::new(0),
            once: Once::new(),
            value: OnceLock::new(),
            lazy: LazyLock::new(|| 3),
            barrier: Barrier::new(2),
            counter: AtomicUsize::new(0),
        }))
    }

    /// Does an operation; gives what it learned.
    fn apply(&self, op: Op, name: u64) -> u64 {
        let Fields { lock, condvar, rwlock, once, value, lazy, barrier, counter } = &*self.0;
        match op {
            Op::Wait => drop(condvar.wait(lock.lock().unwrap()).unwrap()),
            Op::WaitUnlessSet => drop(condvar.wait_while(lock.lock().unwrap(), |set| !*set).unwrap()),
            Op::WaitTimeout => {
                let (_guard, result) = condvar.wait_timeout(lock.lock().unwrap(), Duration::ZERO).unwrap();
                return result.timed_out().into();
            }
            Op::NotifyOne => condvar.notify_one(),
            Op::NotifyAll => condvar.notify_all(),
            Op::SetAndNotify => {
                let mut set = lock.lock().unwrap();
                *set = true;
                condvar.notify_one();
            }
            Op::Read => return *rwlock.read().unwrap(),
            Op::ReadTwice => {
                let (one, two) = (rwlock.read().unwrap(), rwlock.read().unwrap());
                return *one + *two;
            }
            Op::Write => {
                let mut guard = rwlock.write().unwrap();
                *guard = *guard * 2 + name;
            }
            Op::TryRead => return rwlock.try_read().map_or(999, |guard| *guard),
            Op::TryWrite => {
                return rwlock.try_write().map_or(999, |mut guard| std::mem::replace(&mut guard, name));
            }
            Op::Downgrade => {
                let mut guard = rwlock.write().unwrap();
                *guard += name;
                let seen = counter.load(SeqCst) as u64;
                return *RwLockWriteGuard::downgrade(guard) + 1000 * seen;
            }
            Op::CallOnce => once.call_once(|| {
                counter.fetch_add(1, SeqCst);
            }),
            Op::CallOnceForce => {
                let mut called = 0;
                once.call_once_force(|state| called = 1 + u64::from(state.is_poisoned()));
                return called;
            }
            Op::PanicOnce => once.call_once(|| panic!("on purpose")),
            Op::IsCompleted => return once.is_completed().into(),
            Op::OnceWait => once.wait(),
            Op::Set => return value.set(name).map_or_else(|back| 100 + back, |()| 0),
            Op::Get => return value.get().map_or(999, |&value| value),
            Op::Init => return *value.get_or_init(|| 50 + counter.fetch_add(1, SeqCst) as u64),
            Op::Lazy => return **lazy + u64::from(LazyLock::get(lazy).is_some()),
            Op::Arrive => return barrier.wait().is_leader().into(),
            Op::Add => return counter.fetch_add(1, SeqCst) as u64,
        }
        0
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n as u64) as usize
    }
}

/// A thread is a list of operations; main runs the last one.
fn draw(random: &mut Random, ops: &[Op]) -> Vec<Vec<Op>> {
    let sizes: &[usize] = [&[2, 2][..], &[3, 3], &[2, 2, 1], &[1, 2, 2], &[1, 1, 1, 1]][random.below(5)];
    sizes.iter().map(|&size| (0..size).map(|_| ops[random.below(ops.len())]).collect()).collect()
}

fn run(threads: &[Vec<Op>]) {
    let objects = Objects::new();
    let body = |me: usize, ops: Vec<Op>| {
        let objects = objects.clone();
        move || {
            for (at, &op) in ops.iter().enumerate() {
                let learned = objects.apply(op, me as u64 + 1);
                note((me * 10 + at) as u64 * 100_000 + learned);
            }
        }
    };
    let (last, others) = threads.split_last().unwrap();
    for (me, ops) in others.iter().enumerate() {
        thread::spawn(body(me, ops.clone()));
    }
    body(others.len(), last.clone())();
}

fn agree(seed: u64, programs: usize, interleavings: u64) {
    for (salt, ops, spurious) in
        [(1, CONDVAR, false), (2, CONDVAR, true), (3, LOCKS, false), (4, ONCE, false)]
    {
        let mut random = Random((seed * 10 + salt) ^ 0x9E37_79B9_7F4A_7C15);
        let checker = Checker::new().spurious_wakeups(spurious);
        for number in 0..programs {
            let threads = draw(&mut random, ops);
            let name = format!("{seed}/{salt}/{number} {threads:?}");
            let checked = catch_unwind(AssertUnwindSafe(|| {
                agree_within(interleavings, &checker, &name, move || run(&threads));
            }));
            assert!(checked.is_ok(), "{name}");
        }
    }
}

#[test]
fn random_programs_agree_with_brute_force() {
    agree(1, 30, 1_000);
}

#[test]
#[ignore = "takes minutes"]
fn many_random_programs_agree_with_brute_force() {
    for seed in 2..12 {
        agree(seed, 300, 10_000);
    }
}
