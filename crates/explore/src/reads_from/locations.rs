//! What is known of locations, and names for locations and processes that mean the same in every run.
//!
//! Numbers of processes and locations are those of a run ([`PortableNames`](mazurka_program::PortableNames)), but an
//! event is to have the same identity wherever it is met, and what one part of a search learns of a location others are
//! to know. So each process and each location has a *key*, made of its portable name when it is met first. Two have the
//! same key by an accident among 2^128 only. A run without portable names has the numbers for keys.

use std::collections::HashMap;
use std::sync::Arc;

use mazurka_program::{Access, AccessKind, Label, Location, LocationName, ProcessId, Run};
use smallvec::SmallVec;

use super::count;
use super::past::{AsItIs, Identity, mix};

/// So often the last writes of a location may turn out not to be the last; then nobody relies on them any more.
const MOST_MISTAKES: u8 = 8;

/// What is known of a location, and what was concluded from the contrary.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Known {
    /// Somebody writes it without reading it.
    pub is_overwritten: bool,
    pub is_taken_for_updated: bool,
    /// Somebody writes it so that it keeps a process waiting.
    pub holds_back: bool,
    pub is_taken_to_let_go: bool,
    /// Which event of each process, by its key, was the last that was seen to write it.
    last_writes: SmallVec<[(Identity, u32); 2]>,
    /// Nobody is taken to write it after these events.
    is_taken_for_told: bool,
    /// How often somebody did.
    mistakes: u8,
}

impl Known {
    /// Adds what another part of the search knows and has concluded. Whether something was concluded from the contrary
    /// of what is known.
    fn join(&mut self, other: &Known) -> bool {
        let is_told = |known: &Known, events: &Known| {
            !known.is_taken_for_told
                || events.last_writes.iter().all(|&(key, at)| at <= known.last_write(key))
        };
        let is_mistaken = !is_told(self, other) || !is_told(other, self);
        self.is_overwritten |= other.is_overwritten;
        self.is_taken_for_updated |= other.is_taken_for_updated;
        self.holds_back |= other.holds_back;
        self.is_taken_to_let_go |= other.is_taken_to_let_go;
        self.is_taken_for_told |= other.is_taken_for_told;
        self.mistakes = self.mistakes.max(other.mistakes).saturating_add(is_mistaken.into());
        for &(key, at) in &other.last_writes {
            self.note_write(key, at);
        }
        is_mistaken
            || self.is_taken_for_updated && self.is_overwritten
            || self.is_taken_to_let_go && self.holds_back
    }

    /// What is known, without what was concluded.
    fn fact(&self) -> Known {
        let (is_overwritten, holds_back, mistakes) = (self.is_overwritten, self.holds_back, self.mistakes);
        let last_writes = self.last_writes.clone();
        Known { is_overwritten, holds_back, last_writes, mistakes, ..Known::default() }
    }

    /// The last event of a process that was seen to write the location; 0 if none was.
    fn last_write(&self, process: Identity) -> u32 {
        self.last_writes.iter().find(|last| last.0 == process).map_or(0, |last| last.1)
    }

    /// Notes that an event of a process writes the location; whether none so late was seen to.
    fn note_write(&mut self, process: Identity, index: u32) -> bool {
        match self.last_writes.iter_mut().find(|last| last.0 == process) {
            Some(last) if last.1 >= index => return false,
            Some(last) => last.1 = index,
            None => self.last_writes.push((process, index)),
        }
        true
    }
}

/// What is known of locations, by their keys.
#[derive(Clone, Debug, Default)]
pub(crate) struct Knowledge(HashMap<Identity, Known, AsItIs>);

impl Knowledge {
    /// Adds what another part of the search knows and has concluded. Whether the two contradict each other.
    pub fn join(&mut self, other: &Knowledge) -> bool {
        let mut is_wrong = false;
        for (&key, known) in &other.0 {
            is_wrong |= self.0.entry(key).or_default().join(known);
        }
        is_wrong
    }

    /// What is known, without what was concluded.
    pub fn facts(&self) -> Knowledge {
        Knowledge(self.0.iter().map(|(&key, known)| (key, known.fact())).collect())
    }
}

/// The key of what was not met.
const NOT_MET: Identity = 0;

#[derive(Clone)]
struct Met {
    key: Identity,
    known: Known,
}

/// The processes and the locations that a run has met.
#[derive(Default)]
pub(super) struct Keys {
    processes: Vec<Identity>,
    locations: Vec<Met>,
    /// What was known before of those that are met.
    before: Arc<Knowledge>,
}

impl Keys {
    pub fn new(before: Arc<Knowledge>) -> Keys {
        Keys { before, ..Keys::default() }
    }

    /// Gives keys to the processes and locations of a step that was taken.
    #[inline]
    pub fn meet_step(&mut self, run: &mut dyn Run, label: &Label) {
        if self.processes.len() < run.names().len() {
            self.meet_processes(run);
        }
        let touched = label.accesses.iter().flat_map(|access| access.locations());
        let guard = label.guard.iter().map(|guard| guard.location);
        for location in touched.chain(guard).chain(label.waited_for.iter().copied()) {
            self.meet(run, location);
        }
    }

    #[cold]
    fn meet_processes(&mut self, run: &dyn Run) {
        for process in self.processes.len()..run.names().len() {
            let path = run.names().path(ProcessId(process as u32));
            self.processes.push(key_of_process(&path));
        }
    }

    /// Gives a key to a location.
    #[inline]
    pub fn meet(&mut self, run: &mut dyn Run, location: Location) {
        if self.locations.get(location.0 as usize).is_none_or(|met| met.key == NOT_MET) {
            self.meet_new(run, location);
        }
    }

    #[cold]
    fn meet_new(&mut self, run: &mut dyn Run, location: Location) {
        let at = location.0 as usize;
        if at >= self.locations.len() {
            self.locations.resize(at + 1, Met { key: NOT_MET, known: Known::default() });
        }
        let name = run.portable_names().and_then(|names| names.location_name(location));
        let key = match name {
            Some(name) => key_of_location(&name),
            None => key_of(NUMBERS, [location.0.into()].into_iter()),
        };
        let known = self.before.0.get(&key).cloned().unwrap_or_default();
        self.locations[at] = Met { key, known };
    }

    /// The key of a process that was met.
    #[inline]
    pub fn process(&self, process: ProcessId) -> Identity {
        self.processes.get(process.index()).copied().unwrap_or(NOT_MET)
    }

    /// The key of a location that was met.
    #[inline]
    pub fn location(&self, location: Location) -> Identity {
        let met = self.locations.get(location.0 as usize);
        debug_assert!(met.is_some_and(|met| met.key != NOT_MET), "{location:?} was not met");
        met.map_or(NOT_MET, |met| met.key)
    }

    /// What is known of a location that was met.
    pub fn known(&mut self, location: Location) -> &mut Known {
        &mut self.locations[location.0 as usize].known
    }

    /// Notes that a step writes locations without reading them; whether one was taken to be only updated.
    pub fn note_overwritten(&mut self, locations: &[Location]) -> bool {
        let mut is_wrong = false;
        for &location in locations {
            let known = self.known(location);
            is_wrong |= known.is_taken_for_updated && !known.is_overwritten;
            known.is_overwritten = true;
        }
        is_wrong
    }

    /// Notes what an event of a process writes; whether somebody was taken not to write any more.
    #[inline]
    pub fn note_writes(&mut self, process: ProcessId, index: u32, label: &Label) -> bool {
        let mut is_wrong = false;
        let key = self.process(process);
        let writes = label.accesses.iter().filter(|access| !access.kind.is_read());
        for location in writes.flat_map(|access| access.locations()) {
            let known = self.known(location);
            if known.note_write(key, index) && known.is_taken_for_told {
                known.mistakes = known.mistakes.saturating_add(1);
                is_wrong = true;
            }
        }
        is_wrong
    }

    /// Whether whoever was seen to write a location has done so for the last time within a cut, or takes no further
    /// step, as far as is known.
    pub fn writes_are_over(
        &self,
        location: Location,
        cut: &[u32],
        stops: impl Fn(ProcessId) -> bool,
    ) -> bool {
        let known = &self.locations[location.0 as usize].known;
        let stopped = |key: Identity| {
            (0..self.processes.len() as u32)
                .map(ProcessId)
                .any(|process| self.process(process) == key && stops(process))
        };
        let done = |key: Identity| {
            let process = self.processes.iter().position(|&own| own == key);
            process.map_or(0, |process| count(cut, ProcessId(process as u32)))
        };
        known.mistakes < MOST_MISTAKES
            && known.last_writes.iter().all(|&(key, last)| last <= done(key) || stopped(key))
    }

    /// Notes that somebody relies on nobody writing a location later than was seen.
    pub fn take_for_told(&mut self, location: Location) {
        self.known(location).is_taken_for_told = true;
    }

    /// Nobody relies on what was concluded of locations any more.
    pub fn forget_conclusions(&mut self) {
        self.locations.iter_mut().for_each(|met| met.known = met.known.fact());
    }

    /// The locations that somebody writes without reading them.
    pub fn overwritten(&self) -> impl Iterator<Item = Location> {
        let is_overwritten = |(at, met): (usize, &Met)| met.known.is_overwritten.then_some(at as u32);
        self.locations.iter().enumerate().filter_map(is_overwritten).map(Location)
    }

    /// All that is known, of those that were met before too.
    pub fn knowledge(&self) -> Knowledge {
        // What was known before is in what is known of those that are met.
        let mut all = (*self.before).clone();
        for met in self.locations.iter().filter(|met| met.known != Known::default()) {
            all.0.insert(met.key, met.known.clone());
        }
        all
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        let spilled =
            self.locations.iter().map(|met| &met.known.last_writes).filter(|writes| writes.spilled());
        self.processes.capacity() * size_of::<Identity>()
            + self.locations.capacity() * size_of::<Met>()
            + spilled.map(|writes| writes.capacity() * size_of::<(Identity, u32)>()).sum::<usize>()
    }
}

/// The locations that a step writes without reading them.
pub(super) fn overwritten_by(label: &Label) -> SmallVec<[Location; 4]> {
    let overwrites = |access: &&Access| matches!(access.kind, AccessKind::Write | AccessKind::Once);
    label.accesses.iter().filter(overwrites).flat_map(|access| access.locations()).collect()
}

/// What keys begin with: nothing that two of them and a word could lead from one to the other by.
const PROCESSES: Identity = 0x243f_6a88_85a3_08d3_1319_8a2e_0370_7344;
const LOCATIONS: Identity = 0xa409_3822_299f_31d0_082e_fa98_ec4e_6c89;
const NUMBERS: Identity = 0x4528_21e6_38d0_1377_be54_66cf_34e9_0c6c;

fn key_of_process(path: &[u32]) -> Identity {
    key_of(PROCESSES, path.iter().map(|&part| u64::from(part)))
}

fn key_of_location(LocationName { process, words }: &LocationName) -> Identity {
    key_of(mix(LOCATIONS, key_of_process(process)), words.iter().copied())
}

fn key_of(from: Identity, words: impl Iterator<Item = u64>) -> Identity {
    let (mut key, mut len) = (mix(from, 1), 0);
    for word in words {
        (key, len) = (mix(key, u128::from(word)), len + 1);
    }
    mix(key, len)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(is_overwritten: bool, is_taken_for_updated: bool) -> Known {
        Known { is_overwritten, is_taken_for_updated, ..Known::default() }
    }

    #[test]
    fn two_parts_contradict_each_other_only_together() {
        let part = |known| Knowledge([(5, known)].into_iter().collect());
        let mut all = Knowledge::default();
        assert!(!all.join(&part(known(false, true))));
        assert!(!all.join(&part(known(false, true))));
        assert!(all.join(&part(known(true, false))));
        // What is known stays so; what was concluded is void.
        let facts = all.facts();
        assert_eq!(facts.0[&5], known(true, false));
        assert!(!facts.clone().join(&part(known(true, false))));
    }

    #[test]
    fn a_later_write_contradicts_whoever_relied_on_there_being_none() {
        let part = |last_writes: &[(Identity, u32)], is_taken_for_told| {
            let known = Known { last_writes: last_writes.into(), is_taken_for_told, ..Known::default() };
            Knowledge([(5, known)].into_iter().collect())
        };
        let join = |one: &Knowledge, other: &Knowledge| one.clone().join(other);
        let (early, late) = (part(&[(1, 2)], true), part(&[(1, 3)], false));
        assert!(join(&early, &late) && join(&late, &early));
        let other_process = part(&[(1, 2), (2, 1)], false);
        assert!(join(&early, &other_process) && join(&other_process, &early));
        assert!(!join(&early, &part(&[(1, 1)], false)));
        assert!(!join(&part(&[(1, 3)], true), &part(&[(1, 2)], false)));
        // Who relied on more may learn that there is less, not the other way round.
        assert!(join(&part(&[(1, 3)], true), &part(&[(1, 2)], true)));
        // What was seen stays, and that somebody was mistaken.
        let mut all = early;
        all.join(&late);
        let fact = &all.facts().0[&5];
        assert_eq!((fact.last_write(1), fact.is_taken_for_told, fact.mistakes), (3, false, 1));
    }

    #[test]
    fn keys_tell_names_apart() {
        let pairs = (0..40).flat_map(|a| (0..40).map(move |b| [a, b]));
        let paths: Vec<Vec<u32>> = (0..40).map(|a| vec![a]).chain(pairs.map(Vec::from)).collect();
        let mut keys: Vec<Identity> = paths.iter().map(|path| key_of_process(path)).collect();
        for process in [vec![], vec![0], vec![1], vec![2], vec![0, 1], vec![1, 0]] {
            for path in &paths {
                let words = path.iter().map(|&word| word.into()).collect();
                keys.push(key_of_location(&LocationName { process: process.clone(), words }));
            }
        }
        keys.extend((0..1_000).map(|number| key_of(NUMBERS, [number].into_iter())));
        keys.push(NOT_MET);
        let all = keys.len();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), all);
    }
}
