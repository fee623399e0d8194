//! What locations hold, now and after each earlier step.

use mazurka_program::Location;

/// What a step waits for a location to hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Until {
    /// This.
    Is(u64),
    /// Anything but this.
    IsNot(u64),
    /// Less than this.
    Below(u64),
    /// This or more.
    AtLeast(u64),
    /// Some of what a spin loop read is another than it was: a number of [`super::World::spins`].
    Differs(u32),
}

impl Until {
    #[inline]
    pub(crate) fn holds(self, value: u64) -> bool {
        match self {
            Until::Is(wanted) => value == wanted,
            Until::IsNot(unwanted) => value != unwanted,
            Until::Below(limit) => value < limit,
            Until::AtLeast(limit) => value >= limit,
            // Asked of the world, which knows what the loop read.
            Until::Differs(_) => false,
        }
    }
}

#[derive(Default)]
struct Cell {
    /// The execution that the rest is about; in any other the cell holds 0.
    stamp: u64,
    value: u64,
    /// Whether somebody waits, or waited, for the location to change.
    watched: bool,
    /// `(depth, value)`: after so many steps, until the next entry. The first has depth 0.
    history: Vec<(u32, u64)>,
}

/// What a write means to others.
#[derive(Clone, Copy)]
pub(crate) struct Written {
    /// The value is another.
    pub(crate) changed: bool,
    /// Somebody may wait for it.
    pub(crate) watched: bool,
}

/// The values of all locations in an execution.
#[derive(Default)]
pub(crate) struct Cells {
    cells: Vec<Cell>,
    stamp: u64,
}

impl Cells {
    /// A new execution: every location holds 0.
    pub(crate) fn begin(&mut self, stamp: u64) {
        self.stamp = stamp;
    }

    /// Where the cells are.
    pub(super) fn address(&self) -> usize {
        self.cells.as_ptr().addr()
    }

    /// Gives a location its first value.
    pub(crate) fn init(&mut self, location: Location, value: u64) {
        let stamp = self.stamp;
        let cell = self.at(location);
        cell.stamp = stamp;
        cell.value = value;
        cell.watched = false;
        cell.history.clear();
        cell.history.push((0, value));
    }

    /// Says that somebody waits for a location to change.
    pub(crate) fn watch(&mut self, location: Location) {
        let stamp = self.stamp;
        if self.at(location).stamp != stamp {
            self.init(location, 0);
        }
        self.at(location).watched = true;
    }

    #[inline]
    pub(crate) fn get(&self, location: Location) -> u64 {
        match self.cells.get(location.0 as usize) {
            Some(cell) if cell.stamp == self.stamp => cell.value,
            _ => 0,
        }
    }

    /// Sets a location; `depth` is the number of steps with the one that sets it.
    #[inline]
    pub(crate) fn set(&mut self, location: Location, value: u64, depth: u32) {
        self.write(location, value, depth);
    }

    /// As [`Cells::set`], for who wants to know what it means to others.
    #[inline]
    pub(crate) fn write(&mut self, location: Location, value: u64, depth: u32) -> Written {
        if self.cells.get(location.0 as usize).is_none_or(|cell| cell.stamp != self.stamp) {
            self.init(location, 0);
        }
        let cell = &mut self.cells[location.0 as usize];
        let written = Written { changed: cell.value != value, watched: cell.watched };
        cell.value = value;
        match cell.history.last_mut() {
            Some(last) if last.0 == depth => last.1 = value,
            _ => cell.history.push((depth, value)),
        }
        written
    }

    /// What a location held after so many steps.
    pub(crate) fn at_depth(&self, location: Location, depth: u32) -> u64 {
        let Some(cell) = self.cells.get(location.0 as usize).filter(|cell| cell.stamp == self.stamp) else {
            return 0;
        };
        let after = cell.history.partition_point(|&(since, _)| since <= depth);
        after.checked_sub(1).map_or(0, |at| cell.history[at].1)
    }

    /// The position of the step that wrote what a location holds; none if it is the first value.
    pub(crate) fn writer(&self, location: Location) -> Option<usize> {
        let cell = self.cells.get(location.0 as usize).filter(|cell| cell.stamp == self.stamp)?;
        let &(depth, _) = cell.history.last()?;
        (depth as usize).checked_sub(1)
    }

    #[inline]
    fn at(&mut self, location: Location) -> &mut Cell {
        let index = location.0 as usize;
        if index >= self.cells.len() {
            self.cells.resize_with(index + 1, Cell::default);
        }
        &mut self.cells[index]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_past_is_remembered_and_another_execution_begins_anew() {
        let mut cells = Cells::default();
        let x = Location(3);
        cells.begin(1);
        cells.init(x, 7);
        cells.set(x, 8, 2);
        cells.set(x, 9, 2);
        cells.set(x, 1, 5);
        let past: Vec<u64> = (0..7).map(|depth| cells.at_depth(x, depth)).collect();
        assert_eq!(past, [7, 7, 9, 9, 9, 1, 1]);
        assert_eq!((cells.get(x), cells.writer(x)), (1, Some(4)));
        cells.begin(2);
        assert_eq!((cells.get(x), cells.at_depth(x, 3), cells.writer(x)), (0, 0, None));
        cells.set(x, 4, 1);
        assert_eq!((cells.at_depth(x, 0), cells.at_depth(x, 1)), (0, 4));
    }
}
