//! The states that `convergent` has met, with what is known of what comes after each.
//!
//! A state may have been explored more than once, each time with fewer processes asleep in some way: all its
//! nodes are kept.

use mazurka_program::ProcessId;

use super::intern::Interned;
use super::records::SetId;
use super::renaming::ThingsId;

/// The number of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StateId(pub u32);

/// What is known of what comes after a state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Below {
    /// The records of everything that was met.
    pub records: SetId,
    /// What these mean by the things that are there, if states are renamed.
    pub things: ThingsId,
}

/// An exploration of a state that is finished.
#[derive(Debug)]
struct Finished {
    /// The processes that slept, in order.
    asleep: Box<[ProcessId]>,
    below: Below,
}

/// What an allocation takes besides its bytes, about.
const ALLOCATION: usize = 16;

#[derive(Debug, Default)]
struct Known {
    finished: Vec<Finished>,
    /// Whether it is being explored.
    open: bool,
    #[cfg(debug_assertions)]
    enabled: Option<mazurka_program::ProcessSet>,
}

#[derive(Debug, Default)]
pub(crate) struct Store {
    bytes: Interned,
    /// By the numbers of states.
    states: Vec<Known>,
    /// Bytes of what is known of explorations.
    memory: usize,
}

impl Store {
    /// The number of a state, which may be new.
    pub fn number(&mut self, state: &[u8]) -> StateId {
        let number = self.bytes.number(state);
        if number as usize == self.states.len() {
            self.states.push(Known::default());
        }
        StateId(number)
    }

    /// What is below by a finished exploration in which nobody slept that is awake now.
    pub fn finished(&self, state: StateId, asleep: impl Fn(ProcessId) -> bool) -> Option<Below> {
        let finished = &self.states[state.0 as usize].finished;
        let found = finished.iter().find(|node| node.asleep.iter().all(|&process| asleep(process)))?;
        Some(found.below)
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
    pub fn finish(&mut self, state: StateId, asleep: Box<[ProcessId]>, below: Below) {
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
        known.finished.push(Finished { asleep, below });
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
        self.memory + self.bytes.memory() + self.states.capacity() * size_of::<Known>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exploration_serves_where_at_least_as_many_sleep() {
        let (mut store, set) = (Store::default(), |ids: &[u32]| -> Box<[ProcessId]> {
            ids.iter().map(|&id| ProcessId(id)).collect()
        });
        let state = store.number(b"s");
        let below = Below { records: SetId(0), things: ThingsId::default() };
        let found =
            |store: &Store, asleep: &[u32]| store.finished(state, |p| asleep.contains(&p.0)).is_some();
        store.finish(state, set(&[1, 2]), below);
        assert!(found(&store, &[1, 2, 3]) && !found(&store, &[1]));
        store.finish(state, set(&[2]), below);
        assert!(found(&store, &[2]) && !found(&store, &[1]));
        assert_eq!(store.states[0].finished.len(), 1);
        assert_eq!(store.number(b"s"), state);
        assert_ne!(store.number(b"t"), state);
    }
}
