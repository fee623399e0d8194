//! An execution that grows and shrinks at its end.
//!
//! Everything that is known of an event is computed when it is pushed, in time proportional to what it touches and to
//! the number of processes, and is forgotten when it is popped; nothing is computed again for a prefix that stays.
//! Locations keep the stack of those that read and those that wrote them, so the conflicts of a new event are at hand.

use mazurka_program::{Access, Guard, GuardId, Label, Location, ProcessId};

/// A reversible race: the earlier event, and whether nothing lies between it and the later one.
///
/// The later event is the one in whose list the race stands. A guarded step races with every writer of its guard that
/// does not happen before its process's previous event, also through others (`immediate` is then false).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Race {
    /// The position of the earlier event.
    pub first: u32,
    /// Whether no event is between the two in happens-before.
    pub immediate: bool,
}

/// A sequence of events with their happens-before order and their races.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    events: Vec<Event>,
    accesses: Vec<Access>,
    /// The clocks of all events, each `stride` numbers long.
    clocks: Vec<u32>,
    stride: usize,
    races: Vec<Race>,
    spawned: Vec<ProcessId>,
    waited_for: Vec<Location>,
    processes: Vec<History>,
    locations: Vec<Touched>,
    candidates: Vec<u32>,
}

#[derive(Clone, Debug)]
struct Event {
    process: ProcessId,
    /// The ordinal among the events of its process, from 1.
    index: u32,
    choice: u32,
    alternatives: u32,
    guard: Option<Guard>,
    varies: bool,
    accesses: u32,
    races: u32,
    spawned: u32,
    waited_for: u32,
}

/// The events of one process.
#[derive(Clone, Debug, Default)]
struct History {
    positions: Vec<u32>,
    birth: Option<u32>,
}

/// The events that touched one location.
#[derive(Clone, Debug, Default)]
struct Touched {
    reads: Vec<u32>,
    writes: Vec<u32>,
}

impl Trace {
    /// The empty trace.
    pub fn new() -> Trace {
        Trace::default()
    }

    /// The number of events.
    #[inline]
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// Whether there is no event.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// The process of the event at a position.
    #[inline]
    pub fn process(&self, position: usize) -> ProcessId {
        self.events[position].process
    }

    /// The outcome of the event at a position.
    #[inline]
    pub fn choice(&self, position: usize) -> u32 {
        self.events[position].choice
    }

    /// How many outcomes the event at a position could have had.
    #[inline]
    pub fn alternatives(&self, position: usize) -> u32 {
        self.events[position].alternatives
    }

    /// The ordinal of the event at a position among those of its process, from 1.
    #[inline]
    pub fn index(&self, position: usize) -> u32 {
        self.events[position].index
    }

    /// The guard of the event at a position.
    pub fn guard(&self, position: usize) -> Option<Guard> {
        self.events[position].guard
    }

    /// Whether the event at a position might have touched other locations in another place.
    pub fn varies(&self, position: usize) -> bool {
        self.events[position].varies
    }

    /// What the event at a position touched.
    #[inline]
    pub fn accesses(&self, position: usize) -> &[Access] {
        let end = self.events.get(position + 1).map_or(self.accesses.len(), |next| next.accesses as usize);
        &self.accesses[self.events[position].accesses as usize..end]
    }

    /// The races in which the event at a position is the later one.
    #[inline]
    pub fn races(&self, position: usize) -> &[Race] {
        let end = self.events.get(position + 1).map_or(self.races.len(), |next| next.races as usize);
        &self.races[self.events[position].races as usize..end]
    }

    /// The processes that the event at a position created.
    pub fn spawned(&self, position: usize) -> &[ProcessId] {
        let end = self.events.get(position + 1).map_or(self.spawned.len(), |next| next.spawned as usize);
        &self.spawned[self.events[position].spawned as usize..end]
    }

    /// The locations whose writers the event at a position had to wait for ([`Label::waited_for`]).
    pub fn waited_for(&self, position: usize) -> &[Location] {
        let end =
            self.events.get(position + 1).map_or(self.waited_for.len(), |next| next.waited_for as usize);
        &self.waited_for[self.events[position].waited_for as usize..end]
    }

    /// The positions of a process's events.
    pub fn positions(&self, process: ProcessId) -> &[u32] {
        self.processes.get(process.index()).map_or(&[], |history| &history.positions)
    }

    /// The number of processes that the trace has room for; every process in it has a smaller number.
    pub fn width(&self) -> usize {
        self.processes.len()
    }

    /// How many events of a process happen before the event at a position, itself included.
    #[inline]
    pub fn clock(&self, position: usize, process: ProcessId) -> u32 {
        if process.index() < self.stride { self.clocks[position * self.stride + process.index()] } else { 0 }
    }

    /// Whether the event at `first` happens before the one at `second`, or is the same.
    #[inline]
    pub fn happens_before(&self, first: usize, second: usize) -> bool {
        let event = &self.events[first];
        first <= second && self.clocks[second * self.stride + event.process.index()] >= event.index
    }

    /// The event after which the next event of a process comes in program order: its last one, or its creation.
    #[inline]
    pub fn previous(&self, process: ProcessId) -> Option<usize> {
        let history = self.processes.get(process.index())?;
        history.positions.last().copied().or(history.birth).map(|position| position as usize)
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        let touched: usize = self.locations.iter().map(|l| l.reads.capacity() + l.writes.capacity()).sum();
        self.events.capacity() * size_of::<Event>()
            + self.accesses.capacity() * size_of::<Access>()
            + (self.clocks.capacity() + touched) * 4
            + self.races.capacity() * size_of::<Race>()
    }

    /// Appends an event. `holds(guard, n)` says whether a guard holds on its location as it was after `n` events.
    pub fn push(
        &mut self,
        process: ProcessId,
        choice: u32,
        alternatives: u32,
        label: &Label,
        mut holds: impl FnMut(GuardId, usize) -> bool,
    ) {
        let position = self.events.len();
        self.reserve_process(process);
        label.spawned.iter().for_each(|&child| self.reserve_process(child));
        let previous = self.previous(process);
        self.events.push(Event {
            process,
            index: self.processes[process.index()].positions.len() as u32 + 1,
            choice,
            alternatives,
            guard: label.guard,
            varies: label.varies,
            accesses: self.accesses.len() as u32,
            races: self.races.len() as u32,
            spawned: self.spawned.len() as u32,
            waited_for: self.waited_for.len() as u32,
        });
        self.collect_candidates(&label.accesses, process, previous);
        self.find_immediate_races(label);
        if let Some(guard) = label.guard {
            self.find_guard_races(process, previous, guard, &mut holds);
        }
        self.compute_clock(position, process, previous);
        self.accesses.extend_from_slice(&label.accesses);
        self.spawned.extend_from_slice(&label.spawned);
        self.waited_for.extend_from_slice(&label.waited_for);
        self.enter(position, process, label);
    }

    fn reserve_process(&mut self, process: ProcessId) {
        if process.index() >= self.processes.len() {
            self.processes.resize_with(process.index() + 1, History::default);
        }
        if process.index() >= self.stride {
            self.widen((process.index() + 1).next_power_of_two().max(4));
        }
    }

    /// Gives every clock room for more processes. Rare: processes keep their numbers from execution to execution.
    fn widen(&mut self, stride: usize) {
        let mut clocks = vec![0; self.events.len() * stride];
        if self.stride > 0 {
            for (wide, narrow) in clocks.chunks_exact_mut(stride).zip(self.clocks.chunks_exact(self.stride)) {
                wide[..self.stride].copy_from_slice(narrow);
            }
        }
        (self.clocks, self.stride) = (clocks, stride);
    }

    /// The events of other processes that conflict directly with a new one and do not happen before its process's
    /// previous event: of each location the last write, and for a write also the reads since.
    fn collect_candidates(&mut self, accesses: &[Access], process: ProcessId, previous: Option<usize>) {
        let mut candidates = std::mem::take(&mut self.candidates);
        candidates.clear();
        let mut add = |trace: &Trace, first: u32| {
            let other = trace.process(first as usize) != process;
            let known = previous.is_some_and(|previous| trace.happens_before(first as usize, previous));
            if other && !known && !candidates.contains(&first) {
                candidates.push(first);
            }
        };
        for access in accesses {
            for location in access.locations() {
                let Some(touched) = self.locations.get(location.0 as usize) else { continue };
                let last_write = touched.writes.last().copied();
                if !access.kind.is_read() {
                    let since = touched.reads.iter().rev().take_while(|&&read| Some(read) > last_write);
                    since.for_each(|&read| add(self, read));
                }
                last_write.into_iter().for_each(|write| add(self, write));
            }
        }
        self.candidates = candidates;
    }

    /// Of the candidates, those that no other candidate follows race with the new event. Writers of what it waited for
    /// do not, or are left to [`Trace::find_guard_races`].
    fn find_immediate_races(&mut self, label: &Label) {
        let guard = label.guard.map(|guard| guard.location);
        for i in 0..self.candidates.len() {
            let first = self.candidates[i];
            let between =
                self.candidates.iter().any(|&c| c > first && self.happens_before(first as usize, c as usize));
            let awaited =
                guard.iter().chain(&label.waited_for).any(|&location| self.writes(first as usize, location));
            if !between && !awaited {
                self.races.push(Race { first, immediate: true });
            }
        }
    }

    fn find_guard_races(
        &mut self,
        process: ProcessId,
        previous: Option<usize>,
        guard: Guard,
        holds: &mut impl FnMut(GuardId, usize) -> bool,
    ) {
        let start = self.races.len();
        let mut found = std::mem::take(&mut self.races);
        self.guard_writers(process, previous, guard, |first| {
            if holds(guard.id, first as usize) {
                let after = |c: &u32| *c > first && self.happens_before(first as usize, *c as usize);
                let immediate = !self.candidates.iter().any(after);
                found.push(Race { first, immediate });
            }
        });
        debug_assert!(found[start..].iter().filter(|race| race.immediate).count() <= 1);
        self.races = found;
    }

    /// The races of a process that waits now for a guard: with every writer of the guard that does not happen before
    /// the process's previous event and without which the guard would hold, the last writer first.
    pub fn waiting_races(
        &self,
        process: ProcessId,
        guard: Guard,
        mut holds: impl FnMut(GuardId, usize) -> bool,
        mut found: impl FnMut(usize),
    ) {
        self.guard_writers(process, self.previous(process), guard, |first| {
            if holds(guard.id, first as usize) {
                found(first as usize);
            }
        });
    }

    /// Writers of one location are ordered by happens-before, so those that the process's previous event follows
    /// are the first ones.
    fn guard_writers(
        &self,
        process: ProcessId,
        previous: Option<usize>,
        guard: Guard,
        mut with: impl FnMut(u32),
    ) {
        let Some(touched) = self.locations.get(guard.location.0 as usize) else { return };
        for &write in touched.writes.iter().rev() {
            if previous.is_some_and(|previous| self.happens_before(write as usize, previous)) {
                break;
            }
            if self.process(write as usize) != process {
                with(write);
            }
        }
    }

    /// Whether the event at a position writes a location.
    pub fn writes(&self, position: usize, location: Location) -> bool {
        self.accesses(position)
            .iter()
            .any(|access| !access.kind.is_read() && access.overlaps(Access::one(location, access.kind)))
    }

    fn compute_clock(&mut self, position: usize, process: ProcessId, previous: Option<usize>) {
        let start = position * self.stride;
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
        new[process.index()] = self.events[position].index;
    }

    fn enter(&mut self, position: usize, process: ProcessId, label: &Label) {
        self.processes[process.index()].positions.push(position as u32);
        for &child in &label.spawned {
            self.processes[child.index()].birth = Some(position as u32);
        }
        for access in &label.accesses {
            let end = (access.first.0 + access.len) as usize;
            if end > self.locations.len() {
                self.locations.resize_with(end, Touched::default);
            }
            for touched in &mut self.locations[access.first.0 as usize..end] {
                let stack = if access.kind.is_read() { &mut touched.reads } else { &mut touched.writes };
                if stack.last() != Some(&(position as u32)) {
                    stack.push(position as u32);
                }
            }
        }
    }

    /// Forgets all events from a position on.
    pub fn truncate(&mut self, len: usize) {
        while self.events.len() > len {
            let position = self.events.len() - 1;
            self.leave(position);
            let event = self.events.pop().expect("longer than len");
            self.processes[event.process.index()].positions.pop();
            self.accesses.truncate(event.accesses as usize);
            self.clocks.truncate(position * self.stride);
            self.races.truncate(event.races as usize);
            self.spawned.truncate(event.spawned as usize);
            self.waited_for.truncate(event.waited_for as usize);
        }
    }

    fn leave(&mut self, position: usize) {
        let event = &self.events[position];
        for child in &self.spawned[event.spawned as usize..] {
            self.processes[child.index()].birth = None;
        }
        for access in &self.accesses[event.accesses as usize..] {
            let cells = access.first.0 as usize..(access.first.0 + access.len) as usize;
            for touched in &mut self.locations[cells] {
                for stack in [&mut touched.reads, &mut touched.writes] {
                    if stack.last() == Some(&(position as u32)) {
                        stack.pop();
                    }
                }
            }
        }
    }
}
