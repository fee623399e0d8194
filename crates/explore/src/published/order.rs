//! Happens-before, computed pair by pair from the events: Mazurkiewicz' for algorithm 1 of ISSTA 2019, modulo
//! observers for algorithm 2 (definition 2.1 there, which is that of TACAS 2018).
//!
//! Modulo observers, two blind writes of the same variables are ordered only if somebody reads what the later
//! one wrote. Two messages to a mailbox are ordered always: the paper's language has no receive. So are
//! writes that a guard waits for.

use mazurka_program::{Access, AccessKind, Location, ProcessId, Run};
use mazurka_trace::dependence::{self, Awaited, dependent};
use mazurka_trace::{Dependence, HappensBefore, Trace};

use super::sequence::Event;

/// Which steps depend on each other.
#[derive(Clone, Copy)]
pub(super) struct Relation<'a> {
    /// With observers, what guards wait for.
    pub observers: Option<&'a Awaited>,
}

impl Relation<'_> {
    pub fn between(&self, a: &[Access], b: &[Access]) -> Dependence {
        match self.observers {
            _ if !dependent(a, b) => Dependence::Independent,
            Some(awaited) if dependence::message(a).is_none() => dependence::between(a, b, awaited),
            _ => Dependence::Dependent,
        }
    }

    /// Whether one event of a sequence happens before a later one of another process, directly.
    fn precedes(&self, sequence: &[&Event], i: usize, j: usize) -> bool {
        match self.between(&sequence[i].accesses, &sequence[j].accesses) {
            Dependence::Independent => false,
            Dependence::Dependent => true,
            Dependence::IfObserved => {
                let later = sequence[j + 1..].iter().map(|event| &*event.accesses);
                !readers(&sequence[j].accesses, later).is_empty()
            }
        }
    }

    /// Whether an event is a weak initial of a sequence: it can be the first of it, or it is not in it and
    /// independent of all of it.
    pub fn weak_initial(&self, event: &Event, sequence: &[Event]) -> bool {
        let mut events: Vec<&Event> = sequence.iter().collect();
        let own = events.iter().position(|other| other.process == event.process);
        if own.is_some_and(|k| events[k].choice != event.choice) {
            return false;
        }
        let k = own.unwrap_or_else(|| {
            events.push(event);
            events.len() - 1
        });
        !(0..k).any(|i| self.precedes(&events, i, k))
    }

    /// `E |= p <> v`: whether a step happens before no event of a sequence that is taken after it.
    pub fn independent(&self, step: &Event, sequence: &[Event]) -> bool {
        let events: Vec<&Event> = std::iter::once(step).chain(sequence).collect();
        !(1..events.len()).any(|j| self.precedes(&events, 0, j))
    }

    /// `E |=_{u.p.v} p <> q` for one `q` of `u` (section 4.2): independent, or what both write is overwritten
    /// in `v` before anybody reads it.
    pub fn commute_before(&self, q: &Event, p: &Event, v: &[Event]) -> bool {
        match self.between(&q.accesses, &p.accesses) {
            Dependence::Independent => true,
            Dependence::Dependent => false,
            Dependence::IfObserved => {
                let common: Vec<Location> =
                    written(&q.accesses).filter(|&l| writes(&p.accesses, l)).collect();
                let overwrites = |w: &Event| common.iter().all(|&l| writes(&w.accesses, l));
                let reads = |r: &Event| common.iter().any(|&l| reads(&r.accesses, l));
                let first_reader = v.iter().position(reads).unwrap_or(v.len());
                v[..first_reader].iter().any(overwrites)
            }
        }
    }
}

/// Who reads what an event wrote, before it is overwritten: positions among the steps that come after it.
fn readers<'a>(wrote: &[Access], later: impl Iterator<Item = &'a [Access]> + Clone) -> Vec<usize> {
    let mut found = Vec::new();
    for location in written(wrote) {
        for (at, accesses) in later.clone().enumerate() {
            if reads(accesses, location) && !found.contains(&at) {
                found.push(at);
            }
            if writes(accesses, location) {
                break;
            }
        }
    }
    found
}

/// What is written once and for all is not among it: nobody else writes it, so it has no order of writes.
fn written(accesses: &[Access]) -> impl Iterator<Item = Location> {
    let overwritten = |access: &&Access| !matches!(access.kind, AccessKind::Read | AccessKind::Once);
    accesses.iter().filter(overwritten).flat_map(|access| access.locations())
}

fn writes(accesses: &[Access], location: Location) -> bool {
    written(accesses).any(|other| other == location)
}

fn reads(accesses: &[Access], location: Location) -> bool {
    let one = Access::one(location, AccessKind::Read);
    accesses
        .iter()
        .any(|access| matches!(access.kind, AccessKind::Read | AccessKind::Update) && access.overlaps(one))
}

/// A race to be reversed: `e`, and `e'` or, if its process waits at the end, that process.
#[derive(Clone, Copy, Debug)]
pub(super) struct Race {
    pub e: usize,
    pub second: Option<usize>,
    pub process: ProcessId,
}

/// Happens-before of an execution, and its races.
pub(super) struct Order {
    len: usize,
    before: Vec<bool>,
    pub races: Vec<Race>,
}

impl Order {
    pub fn of(trace: &Trace, clocks: &HappensBefore, run: &dyn Run, relation: &Relation<'_>) -> Order {
        let len = trace.len();
        let mut order = Order { len, before: vec![false; len * len], races: Vec::new() };
        for j in 0..len {
            match relation.observers {
                None => (0..j).for_each(|i| order.before[i * len + j] = clocks.happens_before(i, j)),
                Some(_) => order.add(trace, relation, j),
            }
        }
        for j in 0..len {
            order.find_races(trace, clocks, relation, j);
        }
        run.waiting(&mut |process, guard| {
            let Some(guard) = guard else { return };
            let holds = |id, depth| run.guard_holds_at(id, depth);
            clocks.waiting_races(trace, process, guard, holds, |e| {
                order.races.push(Race { e, second: None, process });
            });
        });
        // The last `e` first, as good as any order.
        order.races.sort_by_key(|race| std::cmp::Reverse(race.e));
        order
    }

    /// Whether one event happens before another one.
    pub fn before(&self, i: usize, j: usize) -> bool {
        self.before[i * self.len + j]
    }

    /// The events before `j`, those through others too.
    fn add(&mut self, trace: &Trace, relation: &Relation<'_>, j: usize) {
        for i in (0..j).rev() {
            if !self.before(i, j) && self.direct(trace, relation, i, j) {
                self.before[i * self.len + j] = true;
                for k in 0..i {
                    self.before[k * self.len + j] |= self.before(k, i);
                }
            }
        }
    }

    fn direct(&self, trace: &Trace, relation: &Relation<'_>, i: usize, j: usize) -> bool {
        trace.process(i) == trace.process(j)
            || trace.spawned(i).contains(&trace.process(j))
            || match relation.between(trace.accesses(i), trace.accesses(j)) {
                Dependence::Independent => false,
                Dependence::Dependent => true,
                Dependence::IfObserved => !readers(trace.accesses(j), later(trace, j)).is_empty(),
            }
    }

    /// The reversible races of the event at `j` with earlier ones.
    fn find_races(&mut self, trace: &Trace, clocks: &HappensBefore, relation: &Relation<'_>, j: usize) {
        let process = trace.process(j);
        if relation.observers.is_none() || trace.guard(j).is_some() {
            let races = clocks.races(j).iter().map(|race| race.first as usize);
            self.races.extend(races.map(|e| Race { e, second: Some(j), process }));
            return;
        }
        for e in 0..j {
            let between = (e + 1..j).any(|k| self.before(e, k) && self.before(k, j));
            let awaited = trace.waited_for(j).iter().any(|&location| trace.writes(e, location));
            let enables = trace.process(e) == process || trace.spawned(e).contains(&process) || awaited;
            if self.before(e, j) && !between && !enables {
                self.races.push(Race { e, second: Some(j), process });
            }
        }
    }

    /// `observers(e, e', E)`: who reads what `e'` wrote where the two are dependent if observed, but for
    /// those that happen after others.
    pub fn observers(&self, trace: &Trace, relation: &Relation<'_>, e: usize, second: usize) -> Vec<usize> {
        if relation.between(trace.accesses(e), trace.accesses(second)) != Dependence::IfObserved {
            return Vec::new();
        }
        let mut all: Vec<usize> = readers(trace.accesses(second), later(trace, second))
            .into_iter()
            .map(|at| second + 1 + at)
            .collect();
        all.sort_unstable();
        let minimal = |&o: &usize| !all.iter().any(|&other| self.before(other, o));
        all.iter().copied().filter(minimal).collect()
    }
}

fn later(trace: &Trace, position: usize) -> impl Iterator<Item = &[Access]> + Clone {
    (position + 1..trace.len()).map(|k| trace.accesses(k))
}
