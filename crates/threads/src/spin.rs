//! Spin loops: who reads the same over and over waits for it to change.
//!
//! A thread that comes to an operation in the very state in which it was there before, having changed nothing
//! since, will do the same again as long as what it read stays the same. So it waits, as at a guard, until
//! some of it changes. What the state of a thread is, and which parts of it others may change, is the front
//! end's affair; here is what loops have in common.
//!
//! A loop that reads several locations waits for all of them at once. A guard reads one location, so these
//! count as one ([`Groups`]), which whoever writes one of them writes too. That changes labels: the search
//! begins again when a group is found.

use mazurka_program::{Access, AccessKind, Label, Location};

use crate::guards::Reads;
use crate::lifetime::{ExecutionState, copy_list};

/// No iteration of a loop that is recognised reads more than this.
const MAX_READS: usize = 32;

#[derive(Clone, Copy, Debug)]
struct Read<P> {
    place: P,
    location: Location,
    value: u64,
}

/// What a thread has read since it changed something, and a state in which it was on the way. `P` is where
/// operations are, `S` the state of a thread.
#[derive(Debug)]
pub struct LoopDetector<P, S> {
    reads: Vec<Read<P>>,
    /// Where the state was taken, and how many reads came before.
    taken: Option<(P, usize)>,
    state: S,
}

impl<P, S: Default> Default for LoopDetector<P, S> {
    fn default() -> LoopDetector<P, S> {
        LoopDetector { reads: Vec::new(), taken: None, state: S::default() }
    }
}

impl<P, S: Default> LoopDetector<P, S> {
    /// One with room for all that it may note: to note something never allocates.
    pub fn with_room() -> LoopDetector<P, S> {
        LoopDetector { reads: Vec::with_capacity(MAX_READS), ..LoopDetector::default() }
    }
}

/// What is known of a thread that comes to a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visit {
    /// No state has been taken.
    First,
    /// One was taken at another place: a loop with several operations is recognised at one of them.
    Elsewhere,
    /// One was taken here.
    Again,
}

impl<P: Copy + PartialEq, S> LoopDetector<P, S> {
    /// The thread has changed something.
    #[inline(always)]
    pub fn clear(&mut self) {
        self.reads.clear();
        self.taken = None;
    }

    /// The thread has read a location, or changed it to what it was. Where it has read too much for a loop
    /// that is recognised, all is forgotten and this read is the first.
    #[inline]
    pub fn note(&mut self, place: P, location: Location, value: u64) {
        if self.reads.len() >= MAX_READS {
            self.clear();
        }
        self.reads.push(Read { place, location, value });
    }

    /// Whether nothing has been read since something was changed.
    #[inline(always)]
    pub fn is_clear(&self) -> bool {
        self.reads.is_empty()
    }

    /// Whether no more reads can be part of one iteration.
    #[inline(always)]
    pub fn is_full(&self) -> bool {
        self.reads.len() >= MAX_READS
    }

    /// Whether a state has been taken.
    #[inline(always)]
    pub fn has_state(&self) -> bool {
        self.taken.is_some()
    }

    /// Whether the thread may be in a loop around this place.
    #[inline]
    pub fn suspects(&self, place: P) -> bool {
        for read in &self.reads[..] {
            if read.place == place {
                return true;
            }
        }
        false
    }

    /// Where a state was taken.
    pub fn visit(&self, place: P) -> Visit {
        match self.taken {
            None => Visit::First,
            Some((taken, _)) if taken != place => Visit::Elsewhere,
            Some(_) => Visit::Again,
        }
    }

    /// The state that was taken last.
    pub fn state(&self) -> &S {
        &self.state
    }

    /// Takes the state at a place: it is overwritten with what it is there.
    pub fn take_state(&mut self, place: P, write: impl FnOnce(&mut S)) {
        self.taken = Some((place, self.reads.len()));
        write(&mut self.state);
    }

    /// How many reads there were since the state was taken.
    pub fn reads_since(&self) -> usize {
        self.reads.len() - self.taken.map_or(self.reads.len(), |taken| taken.1)
    }

    /// What was read since the state was taken; none if that is nothing, or if something changed on the way,
    /// so that only another iteration will show.
    pub fn iteration(&self) -> Option<Reads> {
        let since = self.taken.map_or(self.reads.len(), |taken| taken.1);
        let mut reads: Reads = self.reads[since..].iter().map(|read| (read.location, read.value)).collect();
        reads.sort_unstable();
        reads.dedup();
        let same = !reads.is_empty() && reads.windows(2).all(|pair| pair[0].0 != pair[1].0);
        same.then_some(reads)
    }
}

/// A state that was not taken is not copied.
impl<P: Copy, S: Clone + Default> ExecutionState for LoopDetector<P, S> {
    type Saved = LoopDetector<P, S>;

    #[inline]
    fn begin(&mut self) {
        self.reads.clear();
        self.taken = None;
    }

    fn save(&self, saved: &mut LoopDetector<P, S>) {
        copy_list(&self.reads, &mut saved.reads);
        saved.taken = self.taken;
        if self.taken.is_some() {
            saved.state.clone_from(&self.state);
        }
    }

    fn restore(&mut self, saved: &LoopDetector<P, S>) {
        saved.save(self);
    }
}

/// Locations that count as one for those who spin on them: disjoint sets, each with the location that stands
/// for it.
#[derive(Clone, Debug, Default)]
pub struct Groups {
    list: Vec<(Location, Vec<Location>)>,
}

impl Groups {
    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Adds a set that has nothing in common with the others.
    pub fn add(&mut self, stands_for_all: Location, members: Vec<Location>) {
        self.list.push((stands_for_all, members));
    }

    /// The location that stands for all that a loop read, if these count as one.
    pub fn of(&self, reads: &[(Location, u64)]) -> Option<Location> {
        let all = |members: &[Location]| reads.iter().all(|read| members.contains(&read.0));
        self.list.iter().find(|group| all(&group.1)).map(|group| group.0)
    }

    /// The locations that a location stands for; none if it stands for no others.
    pub fn members(&self, stands_for_all: Location) -> Option<&[Location]> {
        self.list.iter().find(|group| group.0 == stands_for_all).map(|group| &group.1[..])
    }

    /// Has what a loop read count as one, together with all that some of it counts as one with.
    pub fn merge(&mut self, stands_for_all: Location, reads: &[(Location, u64)]) {
        let mut merged: Vec<Location> = reads.iter().map(|read| read.0).collect();
        merge_disjoint(&mut self.list, &mut merged, |group| &group.1);
        self.list.push((stands_for_all, merged));
    }

    /// Who writes a location of a group updates the group: what the group is then depends on what it was.
    #[cold]
    pub fn touch(&self, label: &mut Label) {
        for (stands_for_all, members) in &self.list {
            let writes = |access: &Access| {
                !access.kind.is_read() && access.locations().any(|location| members.contains(&location))
            };
            if label.accesses.iter().any(writes) {
                label.touch(*stands_for_all, AccessKind::Update);
            }
        }
    }
}

/// Takes the sets that have a member in common with a new one out of a list of disjoint sets, and into the
/// new one.
pub fn merge_disjoint<G, T: Clone + PartialEq>(
    groups: &mut Vec<G>,
    new: &mut Vec<T>,
    members: impl Fn(&G) -> &Vec<T>,
) {
    groups.retain(|group| {
        let apart = !members(group).iter().any(|member| new.contains(member));
        if !apart {
            let others: Vec<T> = members(group).iter().filter(|at| !new.contains(at)).cloned().collect();
            new.extend(others);
        }
        apart
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    const X: Location = Location(1);
    const Y: Location = Location(2);

    #[test]
    fn an_iteration_is_what_was_read_since_the_state_was_taken() {
        let mut detector = LoopDetector::<u32, u64>::default();
        detector.note(10, X, 5);
        assert!(detector.suspects(10) && !detector.suspects(11));
        assert_eq!(detector.visit(10), Visit::First);
        detector.take_state(10, |state| *state = 77);
        assert_eq!(detector.iteration(), None, "nothing was read since");
        detector.note(10, Y, 0);
        detector.note(11, X, 5);
        detector.note(11, X, 5);
        assert_eq!((detector.visit(10), detector.visit(11)), (Visit::Again, Visit::Elsewhere));
        assert_eq!((detector.iteration(), *detector.state()), (Some(vec![(X, 5), (Y, 0)]), 77));
        detector.note(11, X, 6);
        assert_eq!(detector.iteration(), None, "it changed on the way");
        detector.clear();
        assert_eq!((detector.visit(10), detector.suspects(10)), (Visit::First, false));
    }

    #[test]
    fn groups_stay_disjoint_and_are_written_with_their_members() {
        let mut groups = Groups::default();
        let [z, all, more] = [3, 8, 9].map(Location);
        groups.merge(all, &[(X, 0), (Y, 0)]);
        assert_eq!((groups.of(&[(X, 1), (Y, 2)]), groups.of(&[(X, 1), (z, 2)])), (Some(all), None));
        groups.merge(more, &[(Y, 0), (z, 0)]);
        assert_eq!((groups.of(&[(X, 0), (z, 0)]), groups.of(&[(X, 0)])), (Some(more), Some(more)));
        let mut label = Label::default();
        label.touch(X, AccessKind::Read);
        groups.touch(&mut label);
        assert_eq!(label.accesses.len(), 1, "who reads a member does not write the group");
        label.touch(z, AccessKind::Update);
        groups.touch(&mut label);
        assert_eq!(label.accesses[2..], [Access::one(more, AccessKind::Update)]);
    }
}
