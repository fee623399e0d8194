//! What locations hold, now and after each earlier step.

use mazurka_program::Location;

use crate::lifetime::{Entry, ExecutionState, SavedSparse, Sparse};

/// What a step waits for a location to hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Until {
    /// This.
    Is(u64),
    /// Anything but this.
    IsNot(u64),
    /// Less than this.
    Below(u64),
    /// This or more.
    AtLeast(u64),
    /// None of these bits.
    Clear(u64),
}

impl Until {
    /// Whether a location that holds this is waited for no longer.
    #[inline]
    pub fn holds(self, value: u64) -> bool {
        match self {
            Until::Is(wanted) => value == wanted,
            Until::IsNot(unwanted) => value != unwanted,
            Until::Below(limit) => value < limit,
            Until::AtLeast(limit) => value >= limit,
            Until::Clear(bits) => value & bits == 0,
        }
    }
}

#[derive(Debug, Default)]
struct Cell {
    value: u64,
    /// Whether somebody waits, or waited, for the location to change.
    watched: bool,
    /// `(depth, value)`: after so many steps, until the next entry. The first has depth 0.
    history: Vec<(u32, u64)>,
}

impl Entry for Cell {
    #[inline]
    fn renew(&mut self) {
        self.value = 0;
        self.watched = false;
        self.history.clear();
        self.history.push((0, 0));
    }

    fn copy_from(&mut self, other: &Cell) {
        (self.value, self.watched) = (other.value, other.watched);
        self.history.clone_from(&other.history);
    }
}

/// What a write means to others.
#[derive(Clone, Copy, Debug)]
pub struct Written {
    /// The value is another.
    pub changed: bool,
    /// Somebody may wait for it.
    pub watched: bool,
}

/// The values of all locations in an execution. What nobody has set holds 0.
#[derive(Debug, Default)]
pub struct Values {
    cells: Sparse<Cell>,
}

/// Values that were put aside.
#[derive(Debug, Default)]
pub struct SavedValues(SavedSparse<Cell>);

impl ExecutionState for Values {
    type Saved = SavedValues;

    #[inline]
    fn begin(&mut self) {
        self.cells.begin();
    }

    fn save(&self, saved: &mut SavedValues) {
        self.cells.save(&mut saved.0);
    }

    fn restore(&mut self, saved: &SavedValues) {
        self.cells.restore(&saved.0);
    }
}

impl Values {
    /// Where the cells are.
    pub fn address(&self) -> usize {
        self.cells.address()
    }

    /// Gives a location the value that it has had from the start.
    pub fn init(&mut self, location: Location, value: u64) {
        let cell = self.cells.at(location.0 as usize);
        (cell.value, cell.watched) = (value, false);
        cell.history.clear();
        cell.history.push((0, value));
    }

    /// Whether this execution knows what the location holds.
    pub fn is_known(&self, location: Location) -> bool {
        self.cells.get(location.0 as usize).is_some()
    }

    /// Says that somebody waits for a location to change.
    #[inline]
    pub fn watch(&mut self, location: Location) {
        self.cells.at(location.0 as usize).watched = true;
    }

    /// What a location holds.
    #[inline(always)]
    pub fn get(&self, location: Location) -> u64 {
        match self.cells.get(location.0 as usize) {
            Some(cell) => cell.value,
            None => 0,
        }
    }

    /// Sets a location; `depth` is the number of steps with the one that sets it. Gives what that means to
    /// others.
    #[inline]
    pub fn set(&mut self, location: Location, value: u64, depth: u32) -> Written {
        let cell = self.cells.at(location.0 as usize);
        let written = Written { changed: cell.value != value, watched: cell.watched };
        cell.value = value;
        match cell.history.last_mut() {
            Some(last) if last.0 == depth => last.1 = value,
            _ => cell.history.push((depth, value)),
        }
        written
    }

    /// What a location held after so many steps.
    pub fn at_depth(&self, location: Location, depth: u32) -> u64 {
        let Some(cell) = self.cells.get(location.0 as usize) else { return 0 };
        let after = cell.history.partition_point(|&(since, _)| since <= depth);
        after.checked_sub(1).map_or(0, |at| cell.history[at].1)
    }

    /// The position of the step that wrote what a location holds; none if it is the first value.
    pub fn writer(&self, location: Location) -> Option<usize> {
        let &(depth, _) = self.cells.get(location.0 as usize)?.history.last()?;
        (depth as usize).checked_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_past_is_remembered_and_another_execution_begins_anew() {
        let mut values = Values::default();
        let x = Location(3);
        values.init(x, 7);
        values.set(x, 8, 2);
        values.set(x, 9, 2);
        values.set(x, 1, 5);
        let past: Vec<u64> = (0..7).map(|depth| values.at_depth(x, depth)).collect();
        assert_eq!(past, [7, 7, 9, 9, 9, 1, 1]);
        assert_eq!((values.get(x), values.writer(x)), (1, Some(4)));
        let mut saved = SavedValues::default();
        values.save(&mut saved);
        values.begin();
        assert_eq!((values.get(x), values.at_depth(x, 3), values.writer(x)), (0, 0, None));
        assert!(!values.is_known(x));
        values.set(x, 4, 1);
        assert_eq!((values.at_depth(x, 0), values.at_depth(x, 1)), (0, 4));
        values.restore(&saved);
        assert_eq!((values.get(x), values.at_depth(x, 3)), (1, 9));
    }

    #[test]
    fn who_watches_is_told_of_writes() {
        let mut values = Values::default();
        let x = Location(0);
        assert!(!values.set(x, 1, 1).watched);
        values.watch(x);
        let written = values.set(x, 1, 2);
        assert!(written.watched && !written.changed);
    }
}
