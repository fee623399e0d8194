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

use super::past::{AsItIs, Identity, mix};

/// What is known of a location, and what was concluded from the contrary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Known {
    /// Somebody writes it without reading it.
    pub is_overwritten: bool,
    pub is_taken_for_updated: bool,
    /// Somebody writes it so that it keeps a process waiting.
    pub holds_back: bool,
    pub is_taken_to_let_go: bool,
}

impl Known {
    fn join(&mut self, other: Known) {
        self.is_overwritten |= other.is_overwritten;
        self.is_taken_for_updated |= other.is_taken_for_updated;
        self.holds_back |= other.holds_back;
        self.is_taken_to_let_go |= other.is_taken_to_let_go;
    }

    /// Whether something was concluded from the contrary of what is known.
    fn is_wrong(self) -> bool {
        self.is_taken_for_updated && self.is_overwritten || self.is_taken_to_let_go && self.holds_back
    }
}

/// What is known of locations, by their keys.
#[derive(Clone, Debug, Default)]
pub(crate) struct Knowledge(HashMap<Identity, Known, AsItIs>);

impl Knowledge {
    /// Adds what another part of the search knows and has concluded. Whether the two contradict each other.
    pub fn join(&mut self, other: &Knowledge) -> bool {
        let mut is_wrong = false;
        for (&key, &known) in &other.0 {
            let own = self.0.entry(key).or_default();
            own.join(known);
            is_wrong |= own.is_wrong();
        }
        is_wrong
    }

    /// What is known, without what was concluded.
    pub fn facts(&self) -> Knowledge {
        let fact = |(&key, known): (&Identity, &Known)| {
            let Known { is_overwritten, holds_back, .. } = *known;
            (key, Known { is_overwritten, holds_back, ..Known::default() })
        };
        Knowledge(self.0.iter().map(fact).collect())
    }
}

/// The key of what was not met.
const NOT_MET: Identity = 0;

#[derive(Clone, Copy)]
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
        let known = self.before.0.get(&key).copied().unwrap_or_default();
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

    /// The locations that somebody writes without reading them.
    pub fn overwritten(&self) -> impl Iterator<Item = Location> {
        let is_overwritten = |(at, met): (usize, &Met)| met.known.is_overwritten.then_some(at as u32);
        self.locations.iter().enumerate().filter_map(is_overwritten).map(Location)
    }

    /// All that is known, of those that were met before too.
    pub fn knowledge(&self) -> Knowledge {
        let mut all = (*self.before).clone();
        for met in self.locations.iter().filter(|met| met.known != Known::default()) {
            all.0.entry(met.key).or_default().join(met.known);
        }
        all
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        self.processes.capacity() * size_of::<Identity>() + self.locations.capacity() * size_of::<Met>()
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
