//! Mazurkiewicz happens-before of an execution, and its races: an index over the events of a trace.
//!
//! Everything that is known of an event is computed when it is entered, in time proportional to what it
//! touches and to the number of processes, and is forgotten when the execution goes back; nothing is computed
//! again for a prefix that stays. Locations keep, as a linked list in one array, those that read and those
//! that wrote them, so the conflicts of a new event are at hand.

use mazurka_program::{Access, Guard, GuardId, Label, Location, ProcessId};

use crate::Trace;

/// A reversible race: the earlier event, and whether nothing lies between it and the later one.
///
/// A guarded step races with every writer of its guard that
/// does not happen before its process's previous event, also through others (`immediate` is then false).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Race {
    /// The position of the earlier event.
    pub first: u32,
    /// The position of the later event.
    pub second: u32,
    /// Whether no event is between the two in happens-before.
    pub immediate: bool,
}

/// The happens-before order of the events of a trace, and their races.
#[derive(Clone, Debug, Default)]
pub struct HappensBefore {
    events: Vec<Entry>,
    /// The clocks of all events, each `lanes` long.
    clocks: Vec<Lane>,
    lanes: usize,
    races: Vec<Race>,
    links: Vec<Link>,
    locations: Vec<Heads>,
    candidates: Vec<u32>,
}

/// A piece of a clock: the numbers of this many processes, which are compared together.
type Lane = [u32; LANE];
const LANE: usize = 4;

/// No link.
const NONE: u32 = u32::MAX;

/// What the order knows of an event but its clock.
#[derive(Clone, Copy, Debug)]
struct Entry {
    process: ProcessId,
    /// The ordinal among the events of its process, from 1.
    index: u32,
    /// Where its races and its links begin in the arrays of these names.
    races: u32,
    links: u32,
}

/// That an event touched a location, and the link of the event that did so in the same way before.
#[derive(Clone, Copy, Debug)]
struct Link {
    position: u32,
    before: u32,
    location: u32,
    read: bool,
}

/// The links of the last events that read and wrote a location.
#[derive(Clone, Copy, Debug)]
struct Heads {
    read: u32,
    write: u32,
}

const UNTOUCHED: Heads = Heads { read: NONE, write: NONE };

impl HappensBefore {
    /// The order of a whole trace. Of the races of guarded steps it has those that would be if every guard
    /// held.
    pub fn of(trace: &Trace) -> HappensBefore {
        let (mut order, mut prefix) = (HappensBefore::default(), Trace::new());
        for position in 0..trace.len() {
            let (process, label) = (trace.process(position), trace.label(position));
            order.enter(&prefix, process, &label, |_, _| true);
            prefix.push(process, trace.choice(position), trace.alternatives(position), &label);
        }
        order
    }

    /// The races in which the event at a position is the later one.
    #[inline]
    pub fn races(&self, position: usize) -> &[Race] {
        let end = self.events.get(position + 1).map_or(self.races.len(), |next| next.races as usize);
        &self.races[self.events[position].races as usize..end]
    }

    /// The races in which the event at a position or one after it is the later one.
    pub fn races_from(&self, position: usize) -> &[Race] {
        let from = self.events.get(position).map_or(self.races.len(), |event| event.races as usize);
        &self.races[from..]
    }

    /// How many events of a process happen before the event at a position, itself included.
    #[inline]
    pub fn clock(&self, position: usize, process: ProcessId) -> u32 {
        let lane = process.index() / LANE;
        if lane < self.lanes { self.clocks[position * self.lanes + lane][process.index() % LANE] } else { 0 }
    }

    /// Of each process, how many of its events happen before every event from a position on, itself included:
    /// the least of their clocks. Processes that the list has no room for have no events.
    pub fn least_clock(&self, from: usize, least: &mut Vec<u32>) {
        least.clear();
        for lane in 0..self.lanes {
            let mut all = [u32::MAX; LANE];
            for position in from..self.events.len() {
                // A plain loop: in builds that are not optimised the closures of others cost most of the time.
                let clock = &self.clocks[position * self.lanes + lane];
                let mut i = 0;
                while i < LANE {
                    if clock[i] < all[i] {
                        all[i] = clock[i];
                    }
                    i += 1;
                }
            }
            least.extend_from_slice(&all);
        }
    }

    /// Whether the event at `first` happens before the one at `second`, or is the same.
    #[inline]
    pub fn happens_before(&self, first: usize, second: usize) -> bool {
        let event = &self.events[first];
        first <= second && self.knows(second, event)
    }

    /// Whether an event is in the clock of the one at a position.
    #[inline]
    fn knows(&self, position: usize, event: &Entry) -> bool {
        let process = event.process.index();
        self.clocks[position * self.lanes + process / LANE][process % LANE] >= event.index
    }

    /// Whether all that happens before the event at a position is among the first `taken[p]` events of each
    /// process `p`. Of processes that the list has no room for, none is.
    #[inline]
    pub fn past_is_within(&self, position: usize, taken: &[u32]) -> bool {
        let own = self.events[position].process.index();
        let clock = self.clocks[position * self.lanes..][..self.lanes].as_flattened();
        let (known, unknown) = clock.split_at(clock.len().min(taken.len()));
        // Without a branch for each process: several are compared at once.
        let missing = known.iter().zip(taken).fold(0, |sum, (known, taken)| sum + u32::from(known > taken));
        let own_taken = taken.get(own).copied().unwrap_or(0);
        let own_missing = own < known.len() && known[own] > own_taken;
        missing == u32::from(own_missing)
            && clock[own] <= own_taken + 1
            && unknown.iter().enumerate().all(|(at, &count)| count == 0 || known.len() + at == own)
    }

    /// The first event that writes a location and is not in a set, of which it is asked by position and which
    /// is closed under happens-before.
    pub fn next_writer(&self, location: Location, is_in: impl Fn(usize) -> bool) -> Option<usize> {
        let mut first = None;
        let mut next = self.locations.get(location.0 as usize).map_or(NONE, |heads| heads.write);
        while let Some(&Link { position, before, .. }) = self.links.get(next as usize) {
            if is_in(position as usize) {
                break;
            }
            first = Some(position as usize);
            next = before;
        }
        first
    }

    /// The positions from `from` on of the events that do not happen after the one at `first`, which is an
    /// earlier one.
    #[inline]
    pub fn unordered(&self, first: usize, from: usize) -> impl Iterator<Item = usize> + '_ {
        let event = &self.events[first];
        let (lanes, process) = (self.lanes, event.process.index());
        let mut at = from * lanes + process / LANE;
        (from..self.events.len()).filter(move |_| {
            let known = self.clocks[at][process % LANE];
            at += lanes;
            known < event.index
        })
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        self.events.capacity() * size_of::<Entry>()
            + self.clocks.capacity() * size_of::<Lane>()
            + self.races.capacity() * size_of::<Race>()
            + self.links.capacity() * size_of::<Link>()
            + self.locations.capacity() * size_of::<Heads>()
    }

    /// Enters the event that comes next in a trace, before it is pushed there. `holds(guard, n)` says whether
    /// a guard holds on its location as it was after `n` events.
    pub fn enter(
        &mut self,
        trace: &Trace,
        process: ProcessId,
        label: &Label,
        holds: impl FnMut(GuardId, usize) -> bool,
    ) {
        debug_assert_eq!(self.events.len(), trace.len());
        let mut most = process.index();
        for child in &label.spawned[..] {
            most = most.max(child.index());
        }
        if most >= self.lanes * LANE {
            self.widen((most / LANE + 1).next_power_of_two());
        }
        let (races, links) = (self.races.len() as u32, self.links.len() as u32);
        let previous = trace.previous(process);
        self.touch(&label.accesses, process, previous);
        self.find_immediate_races(trace, label);
        if let Some(guard) = label.guard {
            self.find_guard_races(process, previous, guard, &label.waited_for, holds);
        }
        let index =
            previous.filter(|&at| self.events[at].process == process).map_or(0, |at| self.events[at].index)
                + 1;
        self.push_clock(process, index, previous);
        self.events.push(Entry { process, index, races, links });
    }

    /// Gives every clock room for more processes. Rare: processes keep their numbers from execution to
    /// execution.
    #[cold]
    fn widen(&mut self, lanes: usize) {
        let mut clocks = vec![[0; LANE]; self.events.len() * lanes];
        if self.lanes > 0 {
            for (wide, narrow) in clocks.chunks_exact_mut(lanes).zip(self.clocks.chunks_exact(self.lanes)) {
                wide[..self.lanes].copy_from_slice(narrow);
            }
        }
        (self.clocks, self.lanes) = (clocks, lanes);
    }

    /// Enters what a new event touches, and collects the candidates for its races: the events of other
    /// processes that conflict directly with it and do not happen before its process's previous event. Those
    /// are of each location the last write, and for a write also the reads since.
    #[inline(always)]
    fn touch(&mut self, accesses: &[Access], process: ProcessId, previous: Option<usize>) {
        self.candidates.clear();
        for access in accesses {
            let (from, to) = (access.first.0, access.first.0 + access.len);
            if to as usize > self.locations.len() {
                self.locations.resize(to as usize, UNTOUCHED);
            }
            let mut location = from;
            while location < to {
                let heads = self.locations[location as usize];
                let last_write = self.links.get(heads.write as usize).map(|link| link.position);
                if !access.kind.is_read() {
                    let mut next = heads.read;
                    while let Some(&Link { position, before, .. }) = self.links.get(next as usize)
                        && Some(position) > last_write
                    {
                        self.add_candidate(position, process, previous);
                        next = before;
                    }
                }
                if let Some(write) = last_write {
                    self.add_candidate(write, process, previous);
                }
                self.link(location, access.kind.is_read());
                location += 1;
            }
        }
    }

    #[inline(always)]
    fn add_candidate(&mut self, first: u32, process: ProcessId, previous: Option<usize>) {
        // What is being entered may touch a location more than once.
        let Some(event) = self.events.get(first as usize) else { return };
        if event.process != process
            && !previous.is_some_and(|previous| self.knows(previous, event))
            && (self.candidates.is_empty() || !self.candidates.contains(&first))
        {
            self.candidates.push(first);
        }
    }

    /// Notes that the event being entered touches a location; once, however often it does so.
    #[inline]
    fn link(&mut self, location: u32, read: bool) {
        let position = self.events.len() as u32;
        let heads = &mut self.locations[location as usize];
        let head = if read { &mut heads.read } else { &mut heads.write };
        let before = *head;
        if self.links.get(before as usize).is_none_or(|link| link.position != position) {
            *head = self.links.len() as u32;
            self.links.push(Link { position, before, location, read });
        }
    }

    /// Of the candidates, those that no other candidate follows race with the new event. Writers of what it
    /// waited for do not, or are left to [`Trace::find_guard_races`].
    #[inline]
    fn find_immediate_races(&mut self, trace: &Trace, label: &Label) {
        let second = self.events.len() as u32;
        let waits = label.guard.is_some() || !label.waited_for.is_empty();
        if let ([first], false) = (&self.candidates[..], waits) {
            self.races.push(Race { first: *first, second, immediate: true });
            return;
        }
        for &first in &self.candidates {
            let awaited = waits && is_awaited(trace, first, label);
            if !awaited && !self.is_followed(first) {
                self.races.push(Race { first, second, immediate: true });
            }
        }
    }

    /// Whether an event happens before some candidate.
    #[inline]
    fn is_followed(&self, first: u32) -> bool {
        let event = &self.events[first as usize];
        self.candidates.iter().any(|&c| c > first && self.knows(c as usize, event))
    }

    fn find_guard_races(
        &mut self,
        process: ProcessId,
        previous: Option<usize>,
        guard: Guard,
        waited_for: &[Location],
        mut holds: impl FnMut(GuardId, usize) -> bool,
    ) {
        let (start, second) = (self.races.len(), self.events.len() as u32);
        let mut found = std::mem::take(&mut self.races);
        self.writers(process, previous, guard.location, |first| {
            if holds(guard.id, first as usize) && !self.leads_to(first, process, previous, waited_for) {
                found.push(Race { first, second, immediate: !self.is_followed(first) });
            }
        });
        debug_assert!(found[start..].iter().filter(|race| race.immediate).count() <= 1);
        self.races = found;
    }

    /// The races of a process that waits now for a guard: with every writer of the guard that does not happen
    /// before the process's previous event and without which the guard would hold, the last writer first.
    pub fn waiting_races(
        &self,
        trace: &Trace,
        process: ProcessId,
        guard: Guard,
        mut holds: impl FnMut(GuardId, usize) -> bool,
        mut found: impl FnMut(usize),
    ) {
        self.writers(process, trace.previous(process), guard.location, |first| {
            if holds(guard.id, first as usize) {
                found(first as usize);
            }
        });
    }

    /// Whether an event is, or happens before, one that a step of a process waited for besides its guard: the
    /// step can't come before it then, whatever the guard says.
    fn leads_to(
        &self,
        first: u32,
        process: ProcessId,
        previous: Option<usize>,
        waited_for: &[Location],
    ) -> bool {
        let mut leads = false;
        for &location in waited_for {
            self.writers(process, previous, location, |writer| {
                leads |= writer == first || self.happens_before(first as usize, writer as usize);
            });
        }
        leads
    }

    /// The writers of a location that do not happen before a process's previous event. Writers of one
    /// location are ordered by happens-before, so those that the previous event follows are the first ones.
    fn writers(
        &self,
        process: ProcessId,
        previous: Option<usize>,
        location: Location,
        mut with: impl FnMut(u32),
    ) {
        let mut next = self.locations.get(location.0 as usize).map_or(NONE, |heads| heads.write);
        while let Some(&Link { position: write, before, .. }) = self.links.get(next as usize) {
            next = before;
            // The event that is being entered does not race with itself.
            if write as usize == self.events.len() {
                continue;
            }
            if previous.is_some_and(|previous| self.happens_before(write as usize, previous)) {
                break;
            }
            if self.events[write as usize].process != process {
                with(write);
            }
        }
    }

    /// The clock of a new event: all that its process's previous event knows and the candidates know, and
    /// itself.
    #[inline(always)]
    fn push_clock(&mut self, process: ProcessId, index: u32, previous: Option<usize>) {
        let start = self.clocks.len();
        for lane in 0..self.lanes {
            let mut new = previous.map_or([0; LANE], |previous| self.clocks[previous * self.lanes + lane]);
            for &candidate in &self.candidates {
                let theirs = &self.clocks[candidate as usize * self.lanes + lane];
                let mut i = 0;
                while i < LANE {
                    if theirs[i] > new[i] {
                        new[i] = theirs[i];
                    }
                    i += 1;
                }
            }
            self.clocks.push(new);
        }
        self.clocks[start + process.index() / LANE][process.index() % LANE] = index;
    }

    /// Forgets all events from a position on.
    pub fn truncate(&mut self, len: usize) {
        let Some(&first) = self.events.get(len) else { return };
        for link in self.links[first.links as usize..].iter().rev() {
            let heads = &mut self.locations[link.location as usize];
            *(if link.read { &mut heads.read } else { &mut heads.write }) = link.before;
        }
        self.links.truncate(first.links as usize);
        self.races.truncate(first.races as usize);
        self.clocks.truncate(len * self.lanes);
        self.events.truncate(len);
    }
}

/// Whether an event writes what the step with this label waited for.
fn is_awaited(trace: &Trace, first: u32, label: &Label) -> bool {
    let guard = label.guard.map(|guard| guard.location);
    guard.iter().chain(&label.waited_for).any(|&location| trace.writes(first as usize, location))
}
