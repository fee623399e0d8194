//! Random programs with loops, against all states that they can reach.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc as StdArc, Mutex as StdMutex};

use mazurka::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use mazurka::sync::{Arc, Mutex};
use mazurka::{Checker, thread};

/// An operation of a thread, which has one register.
#[derive(Clone, Copy, Debug)]
enum Op {
    Load(usize),
    Store(usize, usize),
    StoreRegister(usize),
    Swap(usize, usize),
    Toggle(usize),
    Exchange(usize, usize, usize),
    /// Reads what a lock guards, and sets it.
    Locked(usize),
    /// Reads what a lock guards.
    Peek,
    /// Counts in memory of the thread alone, up to 2 and from 0 again.
    Count,
}

/// What a thread does: some operations, others as long as its register is not a number, and the rest.
#[derive(Clone, Debug)]
struct Code {
    first: Vec<Op>,
    round: Vec<Op>,
    until: usize,
    last: Vec<Op>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ThreadState {
    position: usize,
    /// Whether it is within an operation that has a lock.
    inside: bool,
    register: usize,
    counter: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct State {
    threads: Vec<ThreadState>,
    shared: [usize; 3],
    guarded: usize,
    holder: Option<usize>,
}

/// What is left in the end: registers, shared variables, what the lock guards.
type Outcome = (Vec<usize>, Vec<usize>, usize);

impl Code {
    fn op(&self, position: usize) -> Option<Op> {
        self.first.iter().chain(&self.round).chain(&self.last).nth(position).copied()
    }

    /// Where the thread goes after the operation at a position.
    fn after(&self, position: usize, register: usize) -> usize {
        let end = self.first.len() + self.round.len();
        if position + 1 == end && !self.round.is_empty() && register != self.until {
            return self.first.len();
        }
        position + 1
    }
}

/// Takes a step of a thread; none if it can't.
fn step(codes: &[Code], state: &State, me: usize) -> Option<State> {
    let mut next = state.clone();
    let thread = &mut next.threads[me];
    let op = codes[me].op(thread.position)?;
    match op {
        Op::Load(at) => thread.register = next.shared[at],
        Op::Store(at, value) => next.shared[at] = value,
        Op::StoreRegister(at) => next.shared[at] = thread.register,
        Op::Swap(at, value) => thread.register = std::mem::replace(&mut next.shared[at], value),
        Op::Toggle(at) => {
            thread.register = next.shared[at];
            next.shared[at] ^= 1;
        }
        Op::Exchange(at, from, to) => {
            thread.register = next.shared[at];
            if next.shared[at] == from {
                next.shared[at] = to;
            }
        }
        Op::Count => {
            thread.counter = (thread.counter + 1) % 3;
            thread.register = thread.counter;
        }
        Op::Locked(_) | Op::Peek if !thread.inside => {
            if next.holder.is_some() {
                return None;
            }
            (next.holder, thread.inside) = (Some(me), true);
            return Some(next);
        }
        Op::Locked(value) => {
            thread.register = std::mem::replace(&mut next.guarded, value);
            (next.holder, thread.inside) = (None, false);
        }
        Op::Peek => {
            thread.register = next.guarded;
            (next.holder, thread.inside) = (None, false);
        }
    }
    thread.position = codes[me].after(thread.position, thread.register);
    Some(next)
}

/// All outcomes, and whether there is a state from which none can be reached; none if there are too many
/// states.
fn truth(codes: &[Code]) -> Option<(BTreeSet<Outcome>, bool)> {
    let thread = ThreadState { position: 0, inside: false, register: 0, counter: 0 };
    let first = State { threads: vec![thread; codes.len()], shared: [0; 3], guarded: 0, holder: None };
    let (mut outcomes, mut ends) = (BTreeSet::new(), VecDeque::new());
    let mut before: BTreeMap<State, Vec<State>> = BTreeMap::from([(first.clone(), Vec::new())]);
    let mut waiting = vec![first];
    while let Some(state) = waiting.pop() {
        let nexts: Vec<State> = (0..codes.len()).filter_map(|me| step(codes, &state, me)).collect();
        if nexts.is_empty() {
            let registers = state.threads.iter().map(|thread| thread.register).collect();
            outcomes.insert((registers, state.shared.to_vec(), state.guarded));
            ends.push_back(state.clone());
        }
        for next in nexts {
            if !before.contains_key(&next) {
                waiting.push(next.clone());
            }
            before.entry(next).or_default().push(state.clone());
        }
        if before.len() > 3_000 {
            return None;
        }
    }
    let mut leads_to_end: BTreeSet<State> = BTreeSet::new();
    while let Some(state) = ends.pop_front() {
        if leads_to_end.insert(state.clone()) {
            ends.extend(before[&state].iter().cloned());
        }
    }
    Some((outcomes, leads_to_end.len() < before.len()))
}

struct Shared {
    variables: [AtomicUsize; 3],
    lock: Mutex<usize>,
}

/// Does what a thread does. Its counter is where nobody sees it.
fn act(code: &Code, shared: &Shared) -> usize {
    let (mut register, mut counter, mut position) = (0, Box::new(0), 0);
    while let Some(op) = code.op(position) {
        match op {
            Op::Load(at) => register = shared.variables[at].load(SeqCst),
            Op::Store(at, value) => shared.variables[at].store(value, SeqCst),
            Op::StoreRegister(at) => shared.variables[at].store(register, SeqCst),
            Op::Swap(at, value) => register = shared.variables[at].swap(value, SeqCst),
            Op::Toggle(at) => register = shared.variables[at].fetch_xor(1, SeqCst),
            Op::Exchange(at, from, to) => {
                let found = shared.variables[at].compare_exchange(from, to, SeqCst, SeqCst);
                register = found.unwrap_or_else(|other| other);
            }
            Op::Locked(value) => register = std::mem::replace(&mut *shared.lock.lock().unwrap(), value),
            Op::Peek => register = *shared.lock.lock().unwrap(),
            Op::Count => {
                *counter = (*counter + 1) % 3;
                register = *counter;
            }
        }
        position = code.after(position, register);
    }
    register
}

struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }

    fn op(&mut self) -> Op {
        let (at, value) = (self.below(3), self.below(2));
        match self.below(12) {
            0..=2 => Op::Load(at),
            3 | 4 => Op::Store(at, value),
            5 => Op::StoreRegister(at),
            6 => Op::Swap(at, value),
            7 => Op::Toggle(at),
            8 => Op::Exchange(at, value, 1 - value),
            9 => Op::Locked(value),
            10 => Op::Peek,
            _ => Op::Count,
        }
    }

    fn ops(&mut self, limit: usize) -> Vec<Op> {
        (0..self.below(limit)).map(|_| self.op()).collect()
    }

    fn code(&mut self) -> Code {
        let loops = self.below(3) > 0;
        let round = if loops { self.ops(3).into_iter().chain([self.op()]).collect() } else { Vec::new() };
        Code { first: self.ops(3), round, until: self.below(3), last: self.ops(2) }
    }
}

#[derive(Default, Debug)]
struct Judged {
    exact: usize,
    livelocks: usize,
    partly: usize,
    skipped: usize,
}

/// Compares a program, searched in some order, with the truth.
fn compare(seed: u64, judged: &mut Judged) {
    let mut random = Random(seed);
    let count = 2 + usize::from(random.below(4) == 0);
    let codes: Vec<Code> = (0..count).map(|_| random.code()).collect();
    let Some((truth, livelock)) = truth(&codes) else {
        judged.skipped += 1;
        return;
    };
    let found = StdArc::new(StdMutex::new(BTreeSet::new()));
    let (into, acted) = (found.clone(), StdArc::new(codes.clone()));
    let checker = Checker::new().keep_going(true).max_executions(300).max_unroll(30).seed(seed);
    let report = checker.run(move || {
        let variables = [0; 3].map(AtomicUsize::new);
        let shared = Arc::new(Shared { variables, lock: Mutex::new(0) });
        let threads: Vec<_> = (0..acted.len())
            .map(|me| {
                let (acted, shared) = (acted.clone(), shared.clone());
                thread::spawn(move || act(&acted[me], &shared))
            })
            .collect();
        let registers: Vec<usize> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        let variables = shared.variables.iter().map(|variable| variable.load(SeqCst)).collect();
        let guarded = *shared.lock.lock().unwrap();
        into.lock().unwrap().insert((registers, variables, guarded));
    });
    let found = found.lock().unwrap().clone();
    let told = || format!("program {seed}: {codes:#?}\n{}", report.text());
    assert!(found.is_subset(&truth), "an outcome that can't be: {}", told());
    assert_eq!(report.blocked(), 0, "{}", told());
    let kinds: BTreeSet<&str> = report.failures().map(|failure| failure.kind()).collect();
    // Who only reads waits, and others wait for him.
    assert!(kinds.is_subset(&BTreeSet::from(["deadlock", "livelock"])), "{}", told());
    assert!(livelock || kinds.is_empty(), "no livelock: {}", told());
    let undecided = report.reason().is_some_and(|reason| reason.contains("was not found out"));
    if report.reason().is_some() && !undecided {
        judged.partly += 1;
        return;
    }
    assert_eq!(found, truth, "{}", told());
    assert!(!livelock || undecided || !kinds.is_empty(), "a livelock was missed: {}", told());
    judged.exact += 1;
    judged.livelocks += usize::from(!kinds.is_empty());
}

#[test]
fn random_programs_reach_what_they_can() {
    let mut judged = Judged::default();
    let count = std::env::var("ROUNDS_PROGRAMS").ok().and_then(|count| count.parse().ok()).unwrap_or(150);
    for seed in 0..count {
        compare(seed, &mut judged);
    }
    println!("{judged:?}");
    assert!(judged.exact > count as usize / 2 && judged.livelocks > 0, "{judged:?}");
}
