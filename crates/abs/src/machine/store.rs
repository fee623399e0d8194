//! Things that change step by step and go back: objects, tasks, cogs.
//!
//! The first change of a thing in a step is logged with what it was before and with the entry before it of
//! the same thing. The log undoes steps, last first, and says what a thing was after any number of steps.

use super::code::NONE;

#[derive(Clone, Debug)]
struct Changed<T> {
    id: u32,
    /// The step that changed it.
    step: u32,
    /// The entry of the log before this one that is of the same thing, or [`NONE`].
    before: u32,
    old: T,
}

#[derive(Clone, Debug)]
pub struct Store<T> {
    values: Vec<T>,
    /// For each thing its last entry in the log, or [`NONE`].
    last: Vec<u32>,
    log: Vec<Changed<T>>,
}

impl<T> Default for Store<T> {
    fn default() -> Store<T> {
        Store { values: Vec::new(), last: Vec::new(), log: Vec::new() }
    }
}

impl<T: Clone + Default> Store<T> {
    #[inline]
    pub fn get(&self, id: u32) -> &T {
        &self.values[id as usize]
    }

    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Makes room for a thing of that number.
    pub fn reserve(&mut self, id: u32) {
        if id as usize >= self.values.len() {
            self.values.resize_with(id as usize + 1, T::default);
            self.last.resize(id as usize + 1, NONE);
        }
    }

    /// Puts a thing there before the first step.
    pub fn put(&mut self, id: u32, value: T) {
        self.reserve(id);
        self.values[id as usize] = value;
    }

    /// A thing that the step is about to change.
    #[inline]
    pub fn change(&mut self, id: u32, step: u32) -> &mut T {
        let last = self.last[id as usize];
        if last == NONE || self.log[last as usize].step != step {
            self.log.push(Changed { id, step, before: last, old: self.values[id as usize].clone() });
            self.last[id as usize] = self.log.len() as u32 - 1;
        }
        &mut self.values[id as usize]
    }

    /// The things as they are and as they were before each change.
    pub fn all_times(&self) -> impl Iterator<Item = &T> {
        self.values.iter().chain(self.log.iter().map(|changed| &changed.old))
    }

    /// Bytes held, without what the things hold.
    pub fn memory(&self) -> usize {
        self.values.capacity() * (size_of::<T>() + size_of::<u32>())
            + self.log.capacity() * size_of::<Changed<T>>()
    }

    /// The number of entries of the log.
    #[inline]
    pub fn logged(&self) -> u32 {
        self.log.len() as u32
    }

    /// Undoes all but the first `logged` entries.
    pub fn undo(&mut self, logged: u32) {
        while self.log.len() > logged as usize {
            if let Some(entry) = self.log.pop() {
                self.values[entry.id as usize] = entry.old;
                self.last[entry.id as usize] = entry.before;
            }
        }
    }

    /// Whether a thing was changed by a step, the last one.
    #[inline]
    pub fn changed_in(&self, id: u32, step: u32) -> bool {
        self.log.get(self.last[id as usize] as usize).is_some_and(|entry| entry.step == step)
    }

    /// What a thing was before each step that changed it, the last one first.
    pub fn before_changes(&self, id: u32) -> impl Iterator<Item = (u32, &T)> {
        let entry = move |at: u32| self.log.get(at as usize);
        let changes =
            std::iter::successors(entry(self.last[id as usize]), move |changed| entry(changed.before));
        changes.map(|changed| (changed.step, &changed.old))
    }

    /// What a thing was after the first `depth` steps.
    pub fn at(&self, id: u32, depth: u32) -> &T {
        let mut value = &self.values[id as usize];
        let mut entry = self.last[id as usize];
        while entry != NONE {
            let changed = &self.log[entry as usize];
            if changed.step < depth {
                break;
            }
            value = &changed.old;
            entry = changed.before;
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_knows_its_past() {
        let mut store: Store<u32> = Store::default();
        store.reserve(1);
        for step in 0..5 {
            *store.change(step % 2, step) = step + 10;
            *store.change(step % 2, step) += 1;
        }
        assert_eq!((*store.get(0), *store.get(1)), (15, 14));
        assert_eq!((0..=5).map(|depth| *store.at(0, depth)).collect::<Vec<_>>(), [0, 11, 11, 13, 13, 15]);
        assert_eq!(store.logged(), 5);
        assert!(store.changed_in(0, 4) && !store.changed_in(1, 4));
        store.undo(2);
        assert_eq!((*store.get(0), *store.get(1)), (11, 12));
    }
}
