//! Keys by which executions are compared: equal keys, same class.
//!
//! Everything here is computed from the labels alone, pair by pair, in the plainest way: the oracle stands on
//! it, so it shares nothing with the clocks that algorithms use. The cost is quadratic and worse; it is for
//! small programs.

use mazurka_program::{Access, AccessKind, Location, Names, ProcessId, Run};

use crate::Trace;
use crate::dependence::{self, Awaited, Dependence};

/// A class of executions. Keys of different equivalences must not be mixed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(Vec<u32>);

/// A partial order of the events of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    before: Vec<Vec<bool>>,
}

impl Order {
    /// The smallest order that holds program order, creation, and whatever `edge(i, j)` adds for `i < j`.
    fn close(trace: &Trace, mut edge: impl FnMut(usize, usize) -> bool) -> Order {
        let n = trace.len();
        let mut before = vec![vec![false; n]; n];
        for j in 0..n {
            for (i, row) in before.iter_mut().enumerate().take(j) {
                let program =
                    trace.process(i) == trace.process(j) || trace.spawned(i).contains(&trace.process(j));
                row[j] = program || edge(i, j);
            }
            for k in 0..j {
                if before[k][j] {
                    for row in before.iter_mut().take(k) {
                        row[j] |= row[k];
                    }
                }
            }
        }
        Order { before }
    }

    /// Mazurkiewicz happens-before: all dependent steps are ordered.
    pub fn mazurkiewicz(trace: &Trace) -> Order {
        Order::close(trace, |i, j| dependence::dependent(trace.accesses(i), trace.accesses(j)))
    }

    /// Happens-before modulo observers: steps that are dependent only if observed are ordered only if a later
    /// step observes their order. `awaited` has every location that a guard waits for in some execution of
    /// this run.
    pub fn observers(trace: &Trace, run: &dyn Run, awaited: &Awaited) -> Order {
        let relation = |i, j| dependence::between(trace.accesses(i), trace.accesses(j), awaited);
        Order::close(trace, |i, j| match relation(i, j) {
            Dependence::Independent => false,
            Dependence::Dependent => true,
            Dependence::IfObserved => observed(trace, run, i, j),
        })
    }

    /// Whether the event at one position comes before the one at another in this order.
    pub fn before(&self, first: usize, second: usize) -> bool {
        self.before[first][second]
    }

    /// The class of the executions that have these events in this order.
    fn key(&self, trace: &Trace, names: &Names) -> Key {
        let events = Canonical::new(trace, names);
        let mut key = events.header(trace, names);
        for &j in &events.order {
            let mut earlier: Vec<u32> =
                (0..trace.len()).filter(|&i| self.before[i][j]).map(|i| events.rank[i]).collect();
            earlier.sort_unstable();
            key.push(earlier.len() as u32);
            key.extend(earlier);
        }
        Key(key)
    }
}

/// Whether some later step observes that `i` came before `j`.
fn observed(trace: &Trace, run: &dyn Run, i: usize, j: usize) -> bool {
    let sends = trace.accesses(i).iter().any(|access| access.kind == AccessKind::Send);
    if !sends {
        // The later write is read before it is overwritten.
        let blind = trace.accesses(j).iter().filter(|access| access.kind == AccessKind::Write);
        return blind.flat_map(|access| access.locations()).any(|location| {
            let touches = |k: &usize| touches(trace, *k, location);
            let next =
                (j + 1..trace.len()).filter(touches).find(|&k| kind(trace, k, location) != AccessKind::Read);
            let end = next.unwrap_or(trace.len());
            (j + 1..end).any(|k| touches(&k))
                || next.is_some_and(|k| kind(trace, k, location) == AccessKind::Update)
        });
    }
    // A receive took the earlier message and would have taken the later one, had it been first.
    let Some(receive) = taker(trace, i) else { return false };
    run.receives().is_none_or(|run| run.would_take(receive, j))
        && taker(trace, j).is_none_or(|other| other > receive)
}

/// The locations that an event writes.
fn written(trace: &Trace, position: usize) -> impl Iterator<Item = Location> + '_ {
    trace
        .accesses(position)
        .iter()
        .filter(|access| !access.kind.is_read())
        .flat_map(|access| access.locations())
}

fn touches(trace: &Trace, position: usize, location: Location) -> bool {
    trace.accesses(position).iter().any(|access| access.locations().any(|l| l == location))
}

/// How an event touches a location: the strongest of its accesses.
fn kind(trace: &Trace, position: usize, location: Location) -> AccessKind {
    let kinds = trace.accesses(position).iter().filter(|access| access.locations().any(|l| l == location));
    let (mut reads, mut writes) = (false, false);
    for access in kinds {
        reads |= matches!(access.kind, AccessKind::Read | AccessKind::Update);
        writes |= !access.kind.is_read();
    }
    match (reads, writes) {
        (true, true) => AccessKind::Update,
        (false, true) => AccessKind::Write,
        _ => AccessKind::Read,
    }
}

/// The receive that took the message of a send: the event that updates the location that the send alone
/// writes.
fn taker(trace: &Trace, send: usize) -> Option<usize> {
    let message = dependence::message(trace.accesses(send))?;
    (send + 1..trace.len())
        .find(|&k| kind(trace, k, message) == AccessKind::Update && touches(trace, k, message))
}

/// The class of a trace modulo commuting of independent steps.
pub fn mazurkiewicz(trace: &Trace, names: &Names) -> Key {
    Order::mazurkiewicz(trace).key(trace, names)
}

/// The class of a trace modulo observers: see [`Order::observers`].
pub fn observers(trace: &Trace, run: &dyn Run, awaited: &Awaited) -> Key {
    Order::observers(trace, run, awaited).key(trace, run.names())
}

/// Whether some mailbox has two messages at the end of a trace that nobody took: their order is no part of
/// the class modulo observers, though it is of the state.
pub fn unread_messages_in_order(trace: &Trace) -> bool {
    let unread: Vec<Location> = (0..trace.len())
        .filter(|&i| taker(trace, i).is_none())
        .flat_map(|i| trace.accesses(i).iter().filter(|access| access.kind == AccessKind::Send))
        .map(|access| access.first)
        .collect();
    unread.iter().enumerate().any(|(i, mailbox)| unread[..i].contains(mailbox))
}

/// The class of the executions with the same events in which every read reads from the same write.
///
/// A lock reads from the unlock before it, a receive from the send of its message.
pub fn reads_from(trace: &Trace, names: &Names) -> Key {
    let events = Canonical::new(trace, names);
    let mut key = events.header(trace, names);
    for &j in &events.order {
        let reads = |access: &&Access| matches!(access.kind, AccessKind::Read | AccessKind::Update);
        let read = trace.accesses(j).iter().filter(reads).flat_map(|access| access.locations());
        // In the order of the label: numbers of locations may be others in another run.
        let mut locations: Vec<Location> = Vec::new();
        read.for_each(|location| {
            if !locations.contains(&location) {
                locations.push(location);
            }
        });
        // Where an event reads is fixed by what its process has read so far, so only the sources matter.
        key.push(locations.len() as u32);
        for location in locations {
            let writers = (0..j).rev().filter(|&i| written(trace, i).any(|l| l == location));
            let mut sources: Vec<u32> = seen(trace, writers, location).map(|i| events.rank[i]).collect();
            sources.sort_unstable();
            key.push(sources.len() as u32);
            key.extend(sources);
        }
    }
    Key(key)
}

/// The same, but executions that leave memory in different ways are different: which writes of an event nobody
/// has overwritten.
pub fn reads_from_and_memory(trace: &Trace, names: &Names) -> Key {
    let events = Canonical::new(trace, names);
    let Key(mut key) = reads_from(trace, names);
    for &j in &events.order {
        let accesses = trace.accesses(j).iter();
        let writes = accesses.filter(|access| !matches!(access.kind, AccessKind::Read | AccessKind::Send));
        key.extend(writes.flat_map(|access| access.locations()).map(|location| {
            let is_overwritten = (j + 1..trace.len()).any(|k| written(trace, k).any(|l| l == location));
            u32::from(!is_overwritten)
        }));
    }
    Key(key)
}

/// Of the writers of a location, the last first, those whose writes a read of it sees: the last one. Of
/// messages all since a write of another kind: who looks at a mailbox without taking anything sees which are
/// there, not in which order.
fn seen(
    trace: &Trace,
    writers: impl Iterator<Item = usize>,
    location: Location,
) -> impl Iterator<Item = usize> {
    let sends = move |i: usize| {
        let to = |access: &Access| access.locations().any(|l| l == location);
        trace.accesses(i).iter().any(|access| access.kind == AccessKind::Send && to(access))
    };
    let mut over = false;
    writers.take_while(move |&i| !std::mem::replace(&mut over, !sends(i)))
}

/// The events of a trace in an order that depends on no interleaving: by the names of their processes.
struct Canonical {
    processes: Vec<ProcessId>,
    order: Vec<usize>,
    rank: Vec<u32>,
}

impl Canonical {
    fn new(trace: &Trace, names: &Names) -> Canonical {
        let mut processes: Vec<ProcessId> = (0..trace.len()).map(|i| trace.process(i)).collect();
        processes.sort_by(|a, b| names.compare(*a, *b));
        processes.dedup();
        let order: Vec<usize> =
            processes.iter().flat_map(|&p| trace.positions(p).iter().map(|&i| i as usize)).collect();
        let mut rank = vec![0; trace.len()];
        order.iter().enumerate().for_each(|(r, &i)| rank[i] = r as u32);
        Canonical { processes, order, rank }
    }

    /// Which processes took how many steps, with which outcomes.
    fn header(&self, trace: &Trace, names: &Names) -> Vec<u32> {
        let mut header = vec![self.processes.len() as u32];
        for &p in &self.processes {
            let path = names.path(p);
            header.push(path.len() as u32);
            header.extend(path);
            header.push(trace.positions(p).len() as u32);
        }
        header.extend(self.order.iter().map(|&i| trace.choice(i)));
        header
    }
}
