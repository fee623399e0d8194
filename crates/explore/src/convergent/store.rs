//! The states that `convergent` has met, with what is known of what comes after each.
//!
//! States are kept in full and compared in full: a hash only leads to them. They lie one after the other in
//! large pieces, so that they take little more than their bytes, and a million of them are let go of in no
//! time. A state may have been explored more than once, each time with fewer processes asleep in some way:
//! all its nodes are kept.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::rc::Rc;

use mazurka_program::ProcessId;

/// The number of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StateId(pub u32);

/// An exploration of a state that is finished.
#[derive(Debug)]
struct Finished {
    /// The processes that slept, in order.
    asleep: Box<[ProcessId]>,
    /// The records of everything that was met below.
    records: Rc<[u64]>,
}

/// What an allocation takes besides its bytes, about.
const ALLOCATION: usize = 16;

/// The bytes of a piece; a state that is larger has one of its own.
const PIECE: usize = 1 << 20;

#[derive(Debug, Default)]
struct Known {
    /// Where its bytes are: the piece, the first of them there, and how many.
    piece: u32,
    start: u32,
    length: u32,
    /// The state with the same hash that was met before, plus 1; 0 if there is none.
    same_hash: u32,
    finished: Vec<Finished>,
    /// Whether it is being explored.
    open: bool,
    #[cfg(debug_assertions)]
    enabled: Option<mazurka_program::ProcessSet>,
}

#[derive(Debug, Default)]
pub(crate) struct Store {
    hasher: RandomState,
    /// By hash: the state that was met last.
    by_hash: HashMap<u64, StateId>,
    /// Bytes of states. They don't grow beyond what was set aside for them.
    pieces: Vec<Vec<u8>>,
    states: Vec<Known>,
    /// Bytes of the pieces, and of what is known of explorations.
    memory: usize,
}

impl Store {
    /// The number of a state, which may be new.
    pub fn number(&mut self, state: &[u8]) -> StateId {
        let hash = self.hasher.hash_one(state);
        let met = self.by_hash.get(&hash).map_or(0, |last| last.0 + 1);
        let mut other = met;
        while let Some(number) = other.checked_sub(1) {
            let known = &self.states[number as usize];
            if self.bytes_of(known) == state {
                return StateId(number);
            }
            other = known.same_hash;
        }
        let number = StateId(self.states.len() as u32);
        let (piece, start) = self.keep(state);
        let length = state.len() as u32;
        self.states.push(Known { piece, start, length, same_hash: met, ..Known::default() });
        self.by_hash.insert(hash, number);
        number
    }

    fn bytes_of(&self, known: &Known) -> &[u8] {
        let start = known.start as usize;
        &self.pieces[known.piece as usize][start..start + known.length as usize]
    }

    /// Copies the bytes of a state into a piece.
    fn keep(&mut self, state: &[u8]) -> (u32, u32) {
        let fits = |piece: &Vec<u8>| piece.capacity() - piece.len() >= state.len();
        if !self.pieces.last().is_some_and(fits) {
            let size = state.len().max(PIECE);
            self.memory += size;
            self.pieces.push(Vec::with_capacity(size));
        }
        let last = self.pieces.len() - 1;
        let piece = &mut self.pieces[last];
        let start = piece.len() as u32;
        piece.extend_from_slice(state);
        (last as u32, start)
    }

    /// The records of a finished exploration in which nobody slept that is awake now.
    pub fn finished(&self, state: StateId, asleep: impl Fn(ProcessId) -> bool) -> Option<Rc<[u64]>> {
        let finished = &self.states[state.0 as usize].finished;
        let found = finished.iter().find(|node| node.asleep.iter().all(|&process| asleep(process)))?;
        Some(found.records.clone())
    }

    /// In debug builds: whether the processes that are enabled are those that were enabled there before.
    #[cfg(debug_assertions)]
    pub fn agrees(&mut self, state: StateId, enabled: &mazurka_program::ProcessSet) -> bool {
        self.states[state.0 as usize].enabled.get_or_insert_with(|| enabled.clone()) == enabled
    }

    /// Whether a state is being explored.
    pub fn is_open(&self, state: StateId) -> bool {
        self.states[state.0 as usize].open
    }

    pub fn open(&mut self, state: StateId) {
        debug_assert!(!self.is_open(state), "no state is explored within itself");
        self.states[state.0 as usize].open = true;
    }

    /// The exploration of a state has come to its end. Those in which more slept tell nothing that it does
    /// not.
    pub fn finish(&mut self, state: StateId, asleep: Box<[ProcessId]>, records: Rc<[u64]>) {
        let known = &mut self.states[state.0 as usize];
        let before = known.finished.len();
        known.finished.retain(|old| !asleep.iter().all(|process| old.asleep.contains(process)));
        let dropped = before - known.finished.len();
        let sleepers = if asleep.is_empty() { 0 } else { size_of_val(&*asleep) + ALLOCATION };
        self.memory += size_of::<Finished>() + ALLOCATION + sleepers;
        self.memory -= dropped * (size_of::<Finished>() + ALLOCATION);
        known.open = false;
        // Most are explored once.
        known.finished.reserve_exact(1);
        known.finished.push(Finished { asleep, records });
    }

    /// Nothing is known of a state whose exploration has come to its end.
    pub fn close(&mut self, state: StateId) {
        self.states[state.0 as usize].open = false;
    }

    /// How many states there are.
    pub fn len(&self) -> usize {
        self.states.len()
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        let hashes = self.by_hash.capacity() * (size_of::<(u64, StateId)>() + 1) * 8 / 7;
        self.memory + hashes + self.states.capacity() * size_of::<Known>()
    }
}

/// A list of numbers as bytes, small numbers in one byte: lists are equal exactly if the bytes are.
pub(crate) fn pack(numbers: &[i64], bytes: &mut Vec<u8>) {
    bytes.clear();
    for &number in numbers {
        // Numbers near 0 of either sign become small ones; seven bits a byte, the highest bit says that more
        // come.
        let mut rest = ((number << 1) ^ (number >> 63)) as u64;
        while rest >= 0x80 {
            bytes.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        bytes.push(rest as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_lists_are_equal_only_if_the_lists_are() {
        let lists: [&[i64]; 9] = [
            &[],
            &[0],
            &[0, 0],
            &[-1],
            &[1],
            &[63, 64, -64, -65],
            &[8192],
            &[i64::MAX],
            &[i64::MIN, i64::MAX, 0],
        ];
        let packed = lists.map(|list| {
            let mut bytes = Vec::new();
            pack(list, &mut bytes);
            bytes
        });
        for (i, a) in packed.iter().enumerate() {
            for (j, b) in packed.iter().enumerate() {
                assert_eq!(a == b, i == j, "{:?} and {:?}", lists[i], lists[j]);
            }
        }
        assert_eq!(packed[5].len(), 6);
    }

    #[test]
    fn an_exploration_serves_where_at_least_as_many_sleep() {
        let (mut store, set) = (Store::default(), |ids: &[u32]| -> Box<[ProcessId]> {
            ids.iter().map(|&id| ProcessId(id)).collect()
        });
        let state = store.number(b"s");
        let found =
            |store: &Store, asleep: &[u32]| store.finished(state, |p| asleep.contains(&p.0)).is_some();
        store.finish(state, set(&[1, 2]), [1].into());
        assert!(found(&store, &[1, 2, 3]) && !found(&store, &[1]));
        store.finish(state, set(&[2]), [3].into());
        assert!(found(&store, &[2]) && !found(&store, &[1]));
        assert_eq!(store.states[0].finished.len(), 1);
        assert_eq!(store.number(b"s"), state);
        assert_ne!(store.number(b"t"), state);
    }
}
