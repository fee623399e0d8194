//! `Realize(A+)`, algorithm 1: an execution of the cones of `A+` and no others, in which every read observes
//! what it is annotated with, or the answer that there is none.
//!
//! The events of `A+` are the basis: `A+` is closed under causal pasts. Three stages:
//! * *Cycle detection.* The graph of program order and observations, closed under what memory demands: let
//!   `r` observe `w`, and let `w'` be another write of the cell. If `w'` comes before `r` it comes before
//!   `w`; if it comes after `w` it comes after `r`. An update is a read and a write, so nothing comes between
//!   it and what it observes, and no two updates observe one write. A cycle refutes `A+`.
//! * *2SAT*, for what that leaves open: triples `(r, w, w')` where neither is known. A variable says which of
//!   two events of a pair of processes comes first; clauses as in the paper, for the events of open triples
//!   only.
//! * *Sorting*, in the order of a trace that is known as far as possible, so that little is run again.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::Repairs;
use super::architecture::Cell;
use super::cones::{ConeId, Cones, NONE};
use super::two_sat::{Literal, TwoSat};

/// What came of an attempt.
pub(super) enum Realized {
    /// The cones, in the order of an execution.
    Execution(Vec<ConeId>),
    /// There is none.
    No,
    /// An error of ours: what was chosen has a cycle.
    Cycle,
}

/// An event of the basis, by its place in [`Basis::cones`].
type Node = u32;

/// A read and what it observes; [`NONE`] is the initial value.
#[derive(Clone, Copy)]
struct Read {
    event: Node,
    source: Node,
    cell: usize,
}

/// Either `other` comes before `source`, or `event` before `other`.
#[derive(Clone, Copy)]
struct Triple {
    event: Node,
    source: Node,
    other: Node,
}

/// The events to be put in order.
struct Basis {
    cones: Vec<ConeId>,
    /// By event, its process: a small number; and its ordinal among those of its process here, from 1.
    process: Vec<u32>,
    ordinal: Vec<u32>,
    processes: usize,
    /// By event, what comes after it.
    after: Vec<Vec<Node>>,
    reads: Vec<Read>,
    /// By cell and process, who writes it, in program order.
    writers: Vec<Vec<Vec<Node>>>,
    /// By event and process, how many events of that process are at or before it.
    clocks: Vec<u32>,
}

/// Orders the cones of `A+`. `rank` gives their order in a trace that is known.
pub(super) fn realize(
    cones: &Cones,
    pinned: &[ConeId],
    rank: impl Fn(ConeId) -> u32,
    repairs: &Repairs,
) -> Realized {
    let mut basis = Basis::new(cones, pinned);
    if !basis.saturate(repairs) {
        return Realized::No;
    }
    let triples = basis.open_triples();
    if !triples.is_empty() && !basis.decide(&triples, repairs) {
        return Realized::No;
    }
    match basis.sort(rank) {
        Some(order) => Realized::Execution(order),
        None => Realized::Cycle,
    }
}

impl Basis {
    fn new(cones: &Cones, pinned: &[ConeId]) -> Basis {
        let mut sorted: Vec<ConeId> = pinned.to_vec();
        sorted.sort_unstable_by_key(|&cone| (cones.event(cone).process, cones.event(cone).index));
        let mut by_number: Vec<(ConeId, Node)> =
            sorted.iter().enumerate().map(|(node, &cone)| (cone, node as Node)).collect();
        by_number.sort_unstable();
        let node = |cone: ConeId| match by_number.binary_search_by_key(&cone, |pair| pair.0) {
            Ok(at) => by_number[at].1,
            Err(_) => NONE,
        };
        let many = sorted.len();
        let mut basis = Basis {
            process: Vec::with_capacity(many),
            ordinal: Vec::with_capacity(many),
            processes: 0,
            after: vec![Vec::new(); many],
            reads: Vec::new(),
            writers: Vec::new(),
            clocks: Vec::new(),
            cones: sorted,
        };
        let mut cells: BTreeMap<Cell, usize> = BTreeMap::new();
        for at in 0..many {
            basis.enter(cones, at, &mut cells, &node);
        }
        basis
    }

    fn enter(
        &mut self,
        cones: &Cones,
        at: usize,
        cells: &mut BTreeMap<Cell, usize>,
        node: &impl Fn(ConeId) -> Node,
    ) {
        let event = cones.event(self.cones[at]);
        let same = at > 0 && cones.event(self.cones[at - 1]).process == event.process;
        self.processes += usize::from(!same);
        self.process.push(self.processes as u32 - 1);
        self.ordinal.push(if same { self.ordinal[at - 1] + 1 } else { 1 });
        if event.previous != NONE {
            self.after[node(event.previous) as usize].push(at as Node);
        }
        let mut number = |cell| {
            let next = cells.len();
            *cells.entry(cell).or_insert(next)
        };
        for (cell, source) in event.sources() {
            let source = if source == NONE { NONE } else { node(source) };
            if source != NONE {
                self.after[source as usize].push(at as Node);
            }
            self.reads.push(Read { event: at as Node, source, cell: number(cell) });
        }
        for &cell in event.writes.iter() {
            let cell = number(cell);
            if cell >= self.writers.len() {
                self.writers.resize_with(cell + 1, Vec::new);
            }
            match self.writers[cell].last_mut() {
                Some(last) if self.process[last[0] as usize] == self.process[at] => last.push(at as Node),
                _ => self.writers[cell].push(vec![at as Node]),
            }
        }
    }

    /// Whether an event is another one or comes before it, as far as is known.
    fn before(&self, a: Node, b: Node) -> bool {
        let (a, b) = (a as usize, b as usize);
        self.clocks[b * self.processes + self.process[a] as usize] >= self.ordinal[a]
    }

    /// Closes the graph under what memory demands. Says whether it has no cycle.
    fn saturate(&mut self, repairs: &Repairs) -> bool {
        loop {
            if !self.compute_clocks() {
                return false;
            }
            let mut new = Vec::new();
            if repairs.saturation && !self.demanded(&mut new) {
                return false;
            }
            if new.is_empty() {
                return true;
            }
            for (a, b) in new {
                self.after[a as usize].push(b);
            }
        }
    }

    /// The edges that reads demand and that are not there; says whether nothing observes the initial value
    /// after a write.
    fn demanded(&self, new: &mut Vec<(Node, Node)>) -> bool {
        for read in &self.reads {
            let Some(writers) = self.writers.get(read.cell) else { continue };
            for list in writers {
                let before = list.partition_point(|&w| w != read.event && self.before(w, read.event));
                if let Some(&last) = before.checked_sub(1).and_then(|at| list.get(at)) {
                    if read.source == NONE {
                        return false;
                    }
                    if !self.before(last, read.source) {
                        new.push((last, read.source));
                    }
                }
                let follows = |w: Node| read.source == NONE || self.before(read.source, w);
                let first = list.partition_point(|&w| !follows(w) || w == read.source || w == read.event);
                if let Some(&first) = list.get(first)
                    && !self.before(read.event, first)
                {
                    new.push((read.event, first));
                }
            }
        }
        true
    }

    /// Computes who comes before whom; says whether there is no cycle.
    fn compute_clocks(&mut self) -> bool {
        let (many, width) = (self.cones.len(), self.processes);
        self.clocks.clear();
        self.clocks.resize(many * width, 0);
        let mut waits = self.degrees();
        let mut ready: Vec<Node> = (0..many as Node).filter(|&at| waits[at as usize] == 0).collect();
        let mut done = 0;
        while let Some(at) = ready.pop() {
            done += 1;
            let from = at as usize * width;
            self.clocks[from + self.process[at as usize] as usize] = self.ordinal[at as usize];
            for k in 0..self.after[at as usize].len() {
                let next = self.after[at as usize][k] as usize;
                for p in 0..width {
                    let known = self.clocks[from + p];
                    let clock = &mut self.clocks[next * width + p];
                    *clock = (*clock).max(known);
                }
                waits[next] -= 1;
                if waits[next] == 0 {
                    ready.push(next as Node);
                }
            }
        }
        done == many
    }

    /// By event, how many edges lead to it.
    fn degrees(&self) -> Vec<u32> {
        let mut degrees = vec![0; self.cones.len()];
        self.after.iter().flatten().for_each(|&to| degrees[to as usize] += 1);
        degrees
    }

    /// What the closure leaves open.
    fn open_triples(&self) -> Vec<Triple> {
        let mut triples = Vec::new();
        for &Read { event, source, cell } in self.reads.iter().filter(|read| read.source != NONE) {
            for &other in self.writers[cell].iter().flatten() {
                if other != event && !self.before(other, source) && !self.before(event, other) {
                    triples.push(Triple { event, source, other });
                }
            }
        }
        triples
    }

    /// Decides the open triples by 2SAT; says whether that is possible.
    fn decide(&mut self, triples: &[Triple], repairs: &Repairs) -> bool {
        let clauses = Clauses::new(self, triples);
        let mut two_sat = TwoSat::new(clauses.many);
        clauses.total_order(&mut two_sat);
        if repairs.transitivity {
            clauses.transitivity(&mut two_sat);
        }
        for &Triple { event, source, other } in triples {
            two_sat.imply(clauses.first(other, event), clauses.first(other, source));
        }
        let Some(values) = two_sat.solve() else { return false };
        let decided = triples.iter().map(|&Triple { event, source, other }| {
            let earlier = clauses.first(other, source).holds(&values);
            if earlier { (other, source) } else { (event, other) }
        });
        for (a, b) in decided.collect::<Vec<_>>() {
            self.after[a as usize].push(b);
        }
        true
    }

    /// The events in an order that all edges agree with; none if there is a cycle.
    fn sort(&self, rank: impl Fn(ConeId) -> u32) -> Option<Vec<ConeId>> {
        let mut waits = self.degrees();
        let entry = |at: Node| Reverse((rank(self.cones[at as usize]), at));
        let mut ready: BinaryHeap<Reverse<(u32, Node)>> =
            (0..self.cones.len() as Node).filter(|&at| waits[at as usize] == 0).map(entry).collect();
        let mut order = Vec::with_capacity(self.cones.len());
        while let Some(Reverse((_, at))) = ready.pop() {
            order.push(self.cones[at as usize]);
            for &next in &self.after[at as usize] {
                waits[next as usize] -= 1;
                if waits[next as usize] == 0 {
                    ready.push(entry(next));
                }
            }
        }
        (order.len() == self.cones.len()).then_some(order)
    }
}

/// The variables and clauses of algorithm 1: which of two events comes first, for the events of open triples,
/// where their processes are a pair of one.
struct Clauses<'a> {
    basis: &'a Basis,
    /// By process, its events that occur, in program order.
    events: Vec<Vec<Node>>,
    /// By pair of processes, the smaller first, where its variables begin.
    pairs: BTreeMap<(u32, u32), usize>,
    many: usize,
}

impl<'a> Clauses<'a> {
    fn new(basis: &'a Basis, triples: &[Triple]) -> Clauses<'a> {
        let mut events = vec![Vec::new(); basis.processes];
        let mut pairs = BTreeMap::new();
        let process = |event: Node| basis.process[event as usize];
        for &Triple { event, source, other } in triples {
            [event, source, other].into_iter().for_each(|e| events[process(e) as usize].push(e));
            for with in [event, source] {
                let (a, b) = (process(with), process(other));
                pairs.insert((a.min(b), a.max(b)), 0);
            }
        }
        for list in &mut events {
            list.sort_unstable();
            list.dedup();
        }
        let mut many = 0;
        for ((a, b), begin) in &mut pairs {
            *begin = many;
            many += events[*a as usize].len() * events[*b as usize].len();
        }
        Clauses { basis, events, pairs, many }
    }

    /// The literal that the first comes before the second; they are of two processes that are a pair.
    fn first(&self, a: Node, b: Node) -> Literal {
        let process = |event: Node| self.basis.process[event as usize];
        let swapped = process(a) > process(b);
        let (low, high) = if swapped { (b, a) } else { (a, b) };
        let place = |event: Node| self.events[process(event) as usize].partition_point(|&e| e < event);
        let row = self.events[process(high) as usize].len();
        let variable = self.pairs[&(process(low), process(high))] + place(low) * row + place(high);
        if swapped { Literal::is(variable).not() } else { Literal::is(variable) }
    }

    /// Clauses 1, 2 and 4 within a pair of processes: the events of a process are in program order, so
    /// whoever comes before one comes before the next; and what is known holds. (That of two events one comes
    /// first, and not both, is in the form of the variables.)
    fn total_order(&self, two_sat: &mut TwoSat) {
        for &(p, q) in self.pairs.keys() {
            let (ps, qs) = (&self.events[p as usize], &self.events[q as usize]);
            for (i, &a) in ps.iter().enumerate() {
                for (j, &b) in qs.iter().enumerate() {
                    let here = self.first(a, b);
                    if let Some(&next) = qs.get(j + 1) {
                        two_sat.imply(here, self.first(a, next));
                    }
                    if let Some(&earlier) = i.checked_sub(1).and_then(|i| ps.get(i)) {
                        two_sat.imply(here, self.first(earlier, b));
                    }
                    if self.basis.before(a, b) {
                        two_sat.fact(here);
                    } else if self.basis.before(b, a) {
                        two_sat.fact(here.not());
                    }
                }
            }
        }
    }

    /// Clauses 2, transitivity with what is known: if `a` comes before `b`, then whatever is known to be
    /// before `a` comes before whatever is known to be after `b`.
    fn transitivity(&self, two_sat: &mut TwoSat) {
        let ordered: Vec<(u32, u32)> = self.pairs.keys().flat_map(|&(p, q)| [(p, q), (q, p)]).collect();
        for &(p, q) in &ordered {
            for &a in &self.events[p as usize] {
                for &b in &self.events[q as usize] {
                    for &(r, s) in ordered.iter().filter(|pair| **pair != (p, q)) {
                        let before = self.events[r as usize].partition_point(|&e| self.basis.before(e, a));
                        let after = self.events[s as usize].partition_point(|&e| !self.basis.before(b, e));
                        let last = before.checked_sub(1).map(|at| self.events[r as usize][at]);
                        if let (Some(last), Some(&first)) = (last, self.events[s as usize].get(after)) {
                            two_sat.imply(self.first(a, b), self.first(last, first));
                        }
                    }
                }
            }
        }
    }
}
