//! Guards: what steps wait for that another thread can undo.
//!
//! A guard has a number, the same in all executions of a search, so that the search can ask about it whenever
//! it likes. It reads one location, or, for a spin loop, all that the loop read; those count as one location
//! (see [`crate::spin`]).

use mazurka_program::{Guard, GuardId, Location};

use crate::values::Until;

/// What a loop read, in the order of locations.
pub type Reads = Vec<(Location, u64)>;

#[derive(Debug)]
enum Condition {
    /// The location holds what is waited for.
    Holds(Until),
    /// Something that a loop read is another.
    Changed(Reads),
}

/// The guards that were met.
#[derive(Debug, Default)]
pub struct Guards {
    list: Vec<(Location, Condition)>,
    /// By location. A loop that waits for a counter leaves one for each value, and comes back to the last.
    at: Vec<Vec<GuardId>>,
}

impl Guards {
    /// The guard that waits for a location to hold something.
    #[inline]
    pub fn until(&mut self, location: Location, until: Until) -> Guard {
        let known = self.at.get(location.0 as usize).into_iter().flatten().rev().copied();
        let same =
            |id: &GuardId| matches!(self.list[id.0 as usize].1, Condition::Holds(other) if other == until);
        let id = known.into_iter().find(same);
        let id = id.unwrap_or_else(|| self.add(location, Condition::Holds(until)));
        Guard { location, id }
    }

    /// The guard that waits until something of this is another; the location stands for all of it.
    pub fn change(&mut self, location: Location, reads: Reads) -> Guard {
        let known = self.at.get(location.0 as usize).into_iter().flatten().rev().copied();
        let same = |id: &GuardId| matches!(&self.list[id.0 as usize].1, Condition::Changed(other) if *other == reads);
        let id = known.into_iter().find(same);
        let id = id.unwrap_or_else(|| self.add(location, Condition::Changed(reads)));
        Guard { location, id }
    }

    #[cold]
    fn add(&mut self, location: Location, condition: Condition) -> GuardId {
        let (id, at) = (GuardId(self.list.len() as u32), location.0 as usize);
        self.list.push((location, condition));
        if self.at.len() <= at {
            self.at.resize_with(at + 1, Vec::new);
        }
        self.at[at].push(id);
        id
    }

    /// What a loop read that waits at the guard; nothing if it is not that of a loop.
    pub fn reads(&self, guard: GuardId) -> &[(Location, u64)] {
        match self.list.get(guard.0 as usize) {
            Some((_, Condition::Changed(reads))) => reads,
            _ => &[],
        }
    }

    /// Whether the guard holds where locations hold this.
    pub fn holds(&self, guard: GuardId, value: impl Fn(Location) -> u64) -> bool {
        match &self.list[guard.0 as usize] {
            (location, Condition::Holds(until)) => until.holds(value(*location)),
            (_, Condition::Changed(reads)) => reads.iter().any(|&(at, read)| value(at) != read),
        }
    }

    /// Forgets all, as another search begins.
    pub fn clear(&mut self) {
        self.list.clear();
        self.at.iter_mut().for_each(Vec::clear);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_guard_has_the_same_number() {
        let mut guards = Guards::default();
        let (x, y) = (Location(1), Location(4));
        let free = guards.until(x, Until::Is(0));
        let other = guards.until(y, Until::Is(0));
        let change = guards.change(x, vec![(x, 3), (y, 0)]);
        assert_eq!(guards.until(x, Until::Is(0)), free);
        assert_eq!(guards.change(x, vec![(x, 3), (y, 0)]), change);
        assert!(free.id != other.id && free.id != change.id);
        assert_ne!(guards.until(x, Until::Below(1)).id, free.id);
        assert!(guards.holds(free.id, |_| 0) && !guards.holds(free.id, |_| 1));
        let now = |value_of_y| move |at: Location| if at == y { value_of_y } else { 3 };
        assert!(!guards.holds(change.id, now(0)) && guards.holds(change.id, now(1)));
        assert_eq!((guards.reads(change.id), guards.reads(free.id)), (&[(x, 3), (y, 0)][..], &[][..]));
    }
}
