//! Happens-before modulo observers of a whole execution, its races, and who observes them.
//!
//! Edges come into being late here: a read may order writes that were made long before. So the order is
//! computed when an execution has ended, and only if there are steps that are dependent if observed: without
//! them it is the order that the trace keeps. [`Unobserved`] tells, step by step.
//!
//! A location's accesses are looked through backwards from each event. That may end early: what is read is a
//! barrier, since all writes before it come before it (their order is observed), and all accesses after it
//! come after it.

use mazurka_program::{AccessKind, Location, ProcessId, Run};
use mazurka_trace::dependence::{self, Awaited};
use mazurka_trace::{Dependence, Trace};

use super::sequence::{Conflicts, kind_at};
use crate::Rules;
use crate::optimal::Reversal;

/// No position.
const NONE: u32 = u32::MAX;

/// Which events of the present execution are dependent on an earlier one if observed.
#[derive(Debug, Default)]
pub(super) struct Unobserved {
    /// The blind accesses of each location.
    blind: Vec<Vec<u32>>,
    /// The events that follow a blind access of another process with one of their own.
    second: Vec<u32>,
}

impl Unobserved {
    /// Whether there are any.
    pub fn any(&self) -> bool {
        !self.second.is_empty()
    }

    /// Takes the last event of a trace in.
    pub fn push(&mut self, trace: &Trace, conflicts: &Conflicts) {
        let at = trace.len() - 1;
        for access in trace.accesses(at) {
            if !matches!(access.kind, AccessKind::Write | AccessKind::Send) {
                continue;
            }
            for location in access.locations() {
                let cell = location.0 as usize;
                if cell >= self.blind.len() {
                    self.blind.resize_with(cell + 1, Vec::new);
                }
                let earlier = self.blind[cell].last().map(|&earlier| earlier as usize);
                let other = earlier.is_some_and(|earlier| trace.process(earlier) != trace.process(at));
                if other && !conflicts.awaited.contains(location) {
                    self.second.push(at as u32);
                }
                self.blind[cell].push(at as u32);
            }
        }
    }

    /// Forgets the events of a trace from a position on, before the trace does.
    pub fn truncate(&mut self, trace: &Trace, len: usize) {
        while self.second.last().is_some_and(|&second| second as usize >= len) {
            self.second.pop();
        }
        for access in (len..trace.len()).flat_map(|at| trace.accesses(at)) {
            for location in access.locations() {
                let Some(blind) = self.blind.get_mut(location.0 as usize) else { continue };
                while blind.last().is_some_and(|&at| at as usize >= len) {
                    blind.pop();
                }
            }
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Touch {
    at: u32,
    kind: AccessKind,
}

/// Happens-before modulo observers of one execution.
#[derive(Debug, Default)]
pub(super) struct ObservedOrder {
    clocks: Vec<u32>,
    stride: usize,
    touched: Vec<Vec<Touch>>,
    /// Of each event, whether what it wrote was read before it was overwritten.
    read: Vec<bool>,
    /// Of each event that sent a message, the receive that took it.
    taker: Vec<u32>,
    /// Of each process, the event that created it.
    birth: Vec<u32>,
    candidates: Vec<u32>,
}

impl ObservedOrder {
    /// Begins the order of an execution, whose events are then [entered](Self::enter) one by one.
    pub fn begin(&mut self, trace: &Trace, conflicts: &Conflicts) {
        self.index(trace, &conflicts.awaited);
        self.stride = trace.width();
        self.clocks.clear();
    }

    /// Adds the event at a position, after all before it, and its races. Gives how many accesses were looked
    /// at.
    pub fn enter(
        &mut self,
        trace: &Trace,
        run: &dyn Run,
        conflicts: &Conflicts,
        rules: Rules,
        at: usize,
        races: &mut Vec<Reversal>,
    ) -> usize {
        let previous = self.previous(trace, at);
        let compared = self.find_candidates(trace, run, conflicts, rules, at, previous);
        self.find_races(trace, run, rules, at, previous, races);
        self.compute_clock(trace, at, previous);
        compared
    }

    /// Adds the races of the processes that wait at the end.
    pub fn waiting(&self, trace: &Trace, run: &dyn Run, rules: Rules, races: &mut Vec<Reversal>) {
        if !rules.shared.waiting_races {
            return;
        }
        run.waiting(&mut |process, guard| {
            let Some(guard) = guard else { return };
            let previous = trace.previous(process);
            self.writers(trace, process, trace.len(), previous, guard.location, |e| {
                if !rules.shared.guard_must_hold || run.guard_holds_at(guard.id, e) {
                    races.push(Reversal { e, process, second: None });
                }
            });
        });
    }

    /// Lists the accesses of each location, and finds out what was read and what was taken.
    fn index(&mut self, trace: &Trace, awaited: &Awaited) {
        self.touched.iter_mut().for_each(Vec::clear);
        self.read.clear();
        self.read.resize(trace.len(), false);
        self.taker.clear();
        self.taker.resize(trace.len(), NONE);
        self.birth.clear();
        self.birth.resize(trace.width(), NONE);
        for at in 0..trace.len() {
            for &child in trace.spawned(at) {
                self.birth[child.index()] = at as u32;
            }
            for access in trace.accesses(at) {
                access.locations().for_each(|location| self.touch(trace, awaited, at, location));
            }
        }
    }

    fn touch(&mut self, trace: &Trace, awaited: &Awaited, at: usize, location: Location) {
        let cell = location.0 as usize;
        if cell >= self.touched.len() {
            self.touched.resize_with(cell + 1, Vec::new);
        }
        let list = &mut self.touched[cell];
        let last = list.last().copied();
        let Some(kind) = kind_at(trace.accesses(at), location) else { return };
        if last.is_some_and(|last| last.at as usize == at) {
            // The step touches the location in two ways, and has been entered with both.
            return;
        }
        // Of equal writes in a row by one process the last one stands for all: nobody reads the others. Not
        // so what a guard waits for, since a guarded step races with every writer.
        let again = |last: &Touch| {
            let first = last.at as usize;
            kind == AccessKind::Write
                && trace.process(first) == trace.process(at)
                && trace.accesses(first) == trace.accesses(at)
                && !awaited.contains(location)
        };
        if last.as_ref().is_some_and(again) {
            list.pop();
        }
        list.push(Touch { at: at as u32, kind });
        let Some(Touch { at: write, kind: AccessKind::Write }) = last else { return };
        if matches!(kind, AccessKind::Read | AccessKind::Update) {
            self.read[write as usize] = true;
        }
        let sent = || dependence::message(trace.accesses(write as usize)) == Some(location);
        if kind == AccessKind::Update && sent() {
            self.taker[write as usize] = at as u32;
        }
    }

    /// What comes before an event in program order: its process's event before, or its creation.
    fn previous(&self, trace: &Trace, at: usize) -> Option<usize> {
        let process = trace.process(at);
        match trace.index(at) {
            1 => Some(self.birth[process.index()]).filter(|&birth| birth != NONE).map(|birth| birth as usize),
            index => Some(trace.positions(process)[index as usize - 2] as usize),
        }
    }

    /// Whether the event at `first` happens before the one at `second`, or is the same.
    #[inline]
    pub fn happens_before(&self, trace: &Trace, first: usize, second: usize) -> bool {
        let process = trace.process(first);
        first <= second && self.clocks[second * self.stride + process.index()] >= trace.index(first)
    }

    /// The events of other processes that happen before an event directly and not before its process's
    /// previous one. Gives how many accesses were looked at.
    fn find_candidates(
        &mut self,
        trace: &Trace,
        run: &dyn Run,
        conflicts: &Conflicts,
        rules: Rules,
        at: usize,
        previous: Option<usize>,
    ) -> usize {
        let mut candidates = std::mem::take(&mut self.candidates);
        candidates.clear();
        let mut compared = 0;
        for location in trace.accesses(at).iter().flat_map(|access| access.locations()) {
            let Some(kind) = kind_at(trace.accesses(at), location) else { continue };
            let list = &self.touched[location.0 as usize];
            let own = list.partition_point(|touch| (touch.at as usize) < at);
            for touch in list[..own].iter().rev() {
                compared += 1;
                let first = touch.at as usize;
                let edge = self.edge(trace, run, conflicts, rules, (first, touch.kind), (at, kind));
                let known = previous.is_some_and(|previous| self.happens_before(trace, first, previous));
                let other = trace.process(first) != trace.process(at);
                if edge.is_some() && other && !known && !candidates.contains(&touch.at) {
                    candidates.push(touch.at);
                }
                // All writes of what a guard waits for are ordered.
                let ordered = !touch.kind.is_read() && conflicts.awaited.contains(location);
                if edge == Some(Edge::Barrier) || ordered {
                    break;
                }
            }
        }
        self.candidates = candidates;
        compared
    }

    /// How an access of a location orders a later one.
    fn edge(
        &self,
        trace: &Trace,
        run: &dyn Run,
        conflicts: &Conflicts,
        rules: Rules,
        (first, kind): (usize, AccessKind),
        (second, then): (usize, AccessKind),
    ) -> Option<Edge> {
        use AccessKind::{Once, Read, Send, Update, Write};
        let relation = || conflicts.between(trace.accesses(first), trace.accesses(second));
        match (kind, then) {
            (Read, Read) => None,
            (Read, _) => Some(Edge::Plain),
            (Send, Send) if relation() == Dependence::IfObserved => {
                self.sends_observed(run, rules, first, second).then_some(Edge::Plain)
            }
            (Send, _) => Some(Edge::Plain),
            (Write, Write) if self.read[first] => Some(Edge::Barrier),
            (Write, Write) if relation() == Dependence::IfObserved => {
                self.read[second].then_some(Edge::Plain)
            }
            (Write, Write) => Some(Edge::Plain),
            (Update | Write | Once, _) => Some(Edge::Barrier),
        }
    }

    /// Whether a receive took the first message and would have taken the second, had that been first.
    fn sends_observed(&self, run: &dyn Run, rules: Rules, first: usize, second: usize) -> bool {
        let receive = self.taker[first];
        receive != NONE
            && (self.taker[second] == NONE || self.taker[second] > receive)
            && (!rules.observers.selective || super::would_take(run, receive as usize, second))
    }

    /// Of the candidates, those that no other one follows race with the event, but for writers of what it
    /// waited for. A guarded step races with every writer of its guard without which the guard would hold.
    fn find_races(
        &self,
        trace: &Trace,
        run: &dyn Run,
        rules: Rules,
        at: usize,
        previous: Option<usize>,
        races: &mut Vec<Reversal>,
    ) {
        let (process, guard) = (trace.process(at), trace.guard(at));
        let immediate = |first: usize| {
            let between = |&c: &u32| c as usize > first && self.happens_before(trace, first, c as usize);
            !self.candidates.iter().any(between)
        };
        for first in self.candidates.iter().map(|&first| first as usize) {
            let guarded = guard.map(|guard| guard.location);
            let awaited =
                guarded.iter().chain(trace.waited_for(at)).any(|&location| trace.writes(first, location));
            if !awaited && immediate(first) {
                races.push(Reversal { e: first, process, second: Some(at) });
            }
        }
        let Some(guard) = guard else { return };
        self.writers(trace, process, at, previous, guard.location, |first| {
            let holds = !rules.shared.guard_must_hold || run.guard_holds_at(guard.id, first);
            if holds
                && !self.leads_to(trace, first, at, previous)
                && (rules.shared.every_guard_writer || immediate(first))
            {
                races.push(Reversal { e: first, process, second: Some(at) });
            }
        });
    }

    /// Whether an event is, or happens before, one that the step at a position waited for besides its guard.
    fn leads_to(&self, trace: &Trace, first: usize, at: usize, previous: Option<usize>) -> bool {
        let mut leads = false;
        for &location in trace.waited_for(at) {
            self.writers(trace, trace.process(at), at, previous, location, |writer| {
                leads |= self.happens_before(trace, first, writer);
            });
        }
        leads
    }

    /// The writers of a location before a position that do not happen before a process's previous event, the
    /// last first.
    fn writers(
        &self,
        trace: &Trace,
        process: ProcessId,
        before: usize,
        previous: Option<usize>,
        location: Location,
        mut with: impl FnMut(usize),
    ) {
        let Some(list) = self.touched.get(location.0 as usize) else { return };
        let writes = list.iter().rev().filter(|touch| (touch.at as usize) < before && !touch.kind.is_read());
        for write in writes.map(|touch| touch.at as usize) {
            if previous.is_some_and(|previous| self.happens_before(trace, write, previous)) {
                break;
            }
            if trace.process(write) != process {
                with(write);
            }
        }
    }

    fn compute_clock(&mut self, trace: &Trace, at: usize, previous: Option<usize>) {
        let start = at * self.stride;
        match previous {
            Some(previous) => {
                let from = previous * self.stride;
                self.clocks.extend_from_within(from..from + self.stride);
            }
            None => self.clocks.resize(start + self.stride, 0),
        }
        let (past, new) = self.clocks.split_at_mut(start);
        for &candidate in &self.candidates {
            let theirs = &past[candidate as usize * self.stride..][..self.stride];
            new.iter_mut().zip(theirs).for_each(|(mine, &theirs)| *mine = theirs.max(*mine));
        }
        new[trace.process(at).index()] = trace.index(at);
    }

    /// `observers(e, e', E)`, in the order of the execution; all of them, also those that happen after
    /// others.
    pub fn observers(&self, trace: &Trace, conflicts: &Conflicts, e: usize, second: usize) -> Vec<usize> {
        if conflicts.between(trace.accesses(e), trace.accesses(second)) != Dependence::IfObserved {
            return Vec::new();
        }
        if dependence::message(trace.accesses(e)).is_some() {
            return Some(self.taker[e])
                .filter(|&taker| taker != NONE)
                .map(|o| o as usize)
                .into_iter()
                .collect();
        }
        let mut observers = Vec::new();
        let writes = trace.accesses(second).iter().filter(|access| access.kind == AccessKind::Write);
        for location in writes.flat_map(|access| access.locations()) {
            let list = &self.touched[location.0 as usize];
            let own = list.partition_point(|touch| touch.at as usize <= second);
            for touch in &list[own..] {
                if matches!(touch.kind, AccessKind::Read | AccessKind::Update) {
                    observers.push(touch.at as usize);
                }
                if !touch.kind.is_read() {
                    break;
                }
            }
        }
        observers.sort_unstable();
        observers.dedup();
        observers
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        let touched: usize = self.touched.iter().map(|list| list.capacity() * size_of::<Touch>()).sum();
        touched + self.clocks.capacity() * 4
    }
}

/// That one access of a location comes before another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Edge {
    Plain,
    /// And so does all that touched the location before.
    Barrier,
}
