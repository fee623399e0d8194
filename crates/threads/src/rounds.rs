//! Rounds: what the steps of threads changed, to see that a thread is where it was before.
//!
//! A thread goes from operation to operation. Of each of its steps is noted what it changed, up to the next
//! operation that the thread came to: values of locations and words of memory, each with what was there
//! before and after, and blocks of memory that came or went. Where the thread stands ([`Standing`]) is noted
//! too: its place, its stack pointer, its registers. It has gone a round if it stands where it stood, and the
//! changes that its own steps made since then cancel out: of everything they sum up to nothing. Where nobody
//! else has changed it in between, that says that it is as the first of them found it. Sums are taken since
//! counts of references are changed by everybody, in any order, and none of these changes is a step: what a
//! thread adds and takes away again is the same in all orders.
//!
//! *Why that is a round.* All that a thread knows is in its registers and in memory, its stack included. What
//! its steps did not change is as it was, but for what others did; and what others did does not count: either
//! nothing orders it with these steps, and then it comes after the round as well, or it happened between two
//! of them, and then the search refuses the round (`Round::alone`).
//!
//! *Why every order of independent steps says the same.* What a step changes follows from what it reads, and
//! so from its past alone. That takes a front end which finds a thread's own changes and no others: it
//! compares memory before the step with memory when the thread comes to its next operation, and nobody else
//! runs in between. It also takes memory in which a block's address follows from what its thread did. In a
//! program with data races neither is true; that is a fault of its own.
//!
//! What was below the stack pointer at both ends is dead and does not count. A step that did more than is
//! noted (it woke somebody, created a thread, sent a message) is in no round.
//!
//! *Data races.* The order by which they are judged is a state too: who accessed a cell last, and what was
//! released where. It is as it was if the round before was the same, step by step, and nobody came between
//! the two: each access and each release of the later one has its twin in the earlier one. So where races are
//! judged only the second of two such rounds counts.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use mazurka_program::{Location, ProcessId, Round};

use crate::lifetime::ExecutionState;

/// So many rounds back are compared whenever a thread comes to where it stood. All of them are where it has
/// come there 1, 2, 4, 8, ... times: a loop that never comes back costs little, one with a long round is
/// found.
const LAST_ROUNDS: usize = 8;

/// Something that a step can change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Changed {
    /// What a location holds.
    Value(Location),
    /// A word of memory, by its address.
    Word(usize),
    /// Which memory there is: the size of the block at an address, 0 if there is none.
    Block(usize),
    /// What a thread waits at to be woken by another, 0 if it does not.
    Wait(ProcessId),
    /// What the clock of a thread shows.
    Clock(ProcessId),
    /// What its clock showed when a thread accessed a location last, to read it if that is so. What others did
    /// there is no matter: who has been there at that time before leaves the time that is there already.
    Time(ProcessId, Location, bool),
    /// The thread has slept, or waited in vain. How long a loop does that which waits for something nobody
    /// asks: so no time is a part of a round in which it was done.
    Slept,
}

impl Changed {
    /// Words that tell it from others.
    fn words(self) -> [i64; 2] {
        match self {
            Changed::Value(location) => [0, i64::from(location.0)],
            Changed::Word(address) => [1, address as i64],
            Changed::Block(address) => [2, address as i64],
            Changed::Wait(process) => [3, i64::from(process.0)],
            Changed::Clock(process) => [7, i64::from(process.0)],
            Changed::Time(process, location, reads) => {
                [8 + i64::from(reads), i64::from(process.0) << 32 | i64::from(location.0)]
            }
            Changed::Slept => [10, 0],
        }
    }

    fn is_time(self) -> bool {
        matches!(self, Changed::Clock(_) | Changed::Time(..))
    }
}

/// A change that a step made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// What was changed.
    pub what: Changed,
    /// What was there before.
    pub old: u64,
    /// What is there now.
    pub new: u64,
}

/// Where a thread stands: all of its state that is no memory, and nothing that depends on others.
pub trait Standing: Clone + PartialEq {
    /// Whether a word of memory is of no importance to the thread, since it is on its stack where nothing
    /// lives.
    fn is_dead(&self, address: usize) -> bool;

    /// Whether a word of memory is on the stack of the thread.
    fn is_own(&self, address: usize) -> bool;

    /// Appends what tells it from others.
    fn tell(&self, into: &mut Vec<i64>);
}

/// Why a thread takes no further step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Last {
    /// It has come to its end, and has no stack any more.
    Ended,
    /// It was stopped for good where it was.
    Stopped,
}

#[derive(Clone, Debug)]
struct StepNote<S> {
    process: ProcessId,
    /// Where its changes begin.
    changes: usize,
    /// Whether all that it did is among them.
    is_told: bool,
    /// Tells what it did from what other steps did.
    digest: u64,
    /// Where its thread came to then, if it is known.
    next: Option<S>,
    /// Whether its thread takes no further step, and all that it changed on the way is known.
    last: Option<Last>,
    /// How many locks its thread holds there.
    held: i32,
}

/// What is noted of the steps of an execution.
#[derive(Clone, Debug)]
pub struct RoundNotes<S> {
    steps: Vec<StepNote<S>>,
    changes: Vec<Change>,
    /// Where threads came to first.
    first: Vec<(ProcessId, S)>,
    /// The threads that wait to be woken, with what they wait at.
    waiting: Vec<(ProcessId, Location)>,
}

impl<S> Default for RoundNotes<S> {
    fn default() -> RoundNotes<S> {
        RoundNotes { steps: Vec::new(), changes: Vec::new(), first: Vec::new(), waiting: Vec::new() }
    }
}

impl<S: Standing> ExecutionState for RoundNotes<S> {
    type Saved = RoundNotes<S>;

    fn begin(&mut self) {
        self.steps.clear();
        self.changes.clear();
        self.first.clear();
        self.waiting.clear();
    }

    fn save(&self, saved: &mut RoundNotes<S>) {
        saved.steps.clone_from(&self.steps);
        saved.changes.clone_from(&self.changes);
        saved.first.clone_from(&self.first);
        saved.waiting.clone_from(&self.waiting);
    }

    fn restore(&mut self, saved: &RoundNotes<S>) {
        saved.save(self);
    }
}

impl<S: Standing> RoundNotes<S> {
    /// How many steps there are.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// A thread takes a step.
    pub fn step(&mut self, process: ProcessId) {
        let changes = self.changes.len();
        let (next, last) = (None, None);
        self.steps.push(StepNote { process, changes, is_told: true, digest: 0, next, last, held: 0 });
    }

    /// The last step changed something.
    pub fn change(&mut self, what: Changed, old: u64, new: u64) {
        if old != new && !self.steps.is_empty() {
            self.changes.push(Change { what, old, new });
        }
    }

    /// After the last step its thread has slept, or waited in vain.
    pub fn slept(&mut self) {
        if !self.steps.is_empty() {
            self.changes.push(Change { what: Changed::Slept, old: 0, new: 0 });
        }
    }

    /// So threads wait to be woken after the last step.
    pub fn wait(&mut self, now: impl Iterator<Item = (ProcessId, Location)>) {
        let before = std::mem::replace(&mut self.waiting, now.collect());
        if before == self.waiting {
            return;
        }
        let number = |at: Location| u64::from(at.0) + 1;
        before.iter().for_each(|&(process, at)| self.change(Changed::Wait(process), number(at), 0));
        for index in 0..self.waiting.len() {
            let (process, at) = self.waiting[index];
            self.change(Changed::Wait(process), 0, number(at));
        }
    }

    /// The thread that took the last step takes no further one.
    pub fn end(&mut self, process: ProcessId, why: Last) {
        if let Some(last) = self.steps.last_mut().filter(|last| last.process == process) {
            last.last = Some(why);
        }
    }

    /// The last step did something that is not among its changes.
    pub fn did_more(&mut self) {
        if let Some(last) = self.steps.last_mut() {
            last.is_told = false;
        }
    }

    /// The last step did something that races are judged by, or whatever else this tells.
    pub fn tell(&mut self, digest: u64) {
        if let Some(last) = self.steps.last_mut() {
            last.digest = crate::replay::mix(last.digest, digest);
        }
    }

    /// A thread has come to an operation, with so many locks: after the last step, if that was its own; else
    /// it is the first that it came to.
    pub fn arrive(&mut self, process: ProcessId, standing: S, held: i32) {
        if let Some(last) = self.steps.last_mut().filter(|last| last.process == process) {
            (last.next, last.held) = (Some(standing), held);
        } else if self.steps.iter().all(|step| step.process != process) {
            self.first.push((process, standing));
        }
    }

    /// Whether the thread that took the last step has come to where it stood before.
    pub fn returns(&self) -> bool {
        let Some((last, before)) = self.steps.split_last() else { return false };
        let (process, Some(here)) = (last.process, &last.next) else { return false };
        before.iter().any(|step| step.process == process && step.next.as_ref() == Some(here))
            || self.first_of(process) == Some(here)
    }

    fn first_of(&self, process: ProcessId) -> Option<&S> {
        self.first.iter().find(|first| first.0 == process).map(|first| &first.1)
    }

    /// Where a thread stood, and with how many locks, after so many of its steps.
    fn stood(&self, process: ProcessId, own: &[u32], after: usize) -> Option<(&S, i32)> {
        match after.checked_sub(1) {
            None => self.first_of(process).map(|first| (first, 0)),
            Some(last) => {
                self.steps.get(own[last] as usize).and_then(|step| Some((step.next.as_ref()?, step.held)))
            }
        }
    }

    fn changes_of(&self, step: usize) -> &[Change] {
        let end = self.steps.get(step + 1).map_or(self.changes.len(), |next| next.changes);
        &self.changes[self.steps[step].changes..end]
    }

    /// Calls `with` for each round that a thread has gone with its last step, the shortest first, until it
    /// breaks; `own` are the positions of its steps. Where races are judged, a round must have been gone
    /// twice.
    pub fn rounds(
        &self,
        process: ProcessId,
        own: &[u32],
        judges_races: bool,
        with: &mut dyn FnMut(Round) -> ControlFlow<()>,
    ) {
        let Some((here, held)) = self.stood(process, own, own.len()) else { return };
        let stood_here =
            |after: &usize| self.stood(process, own, *after).is_some_and(|stood| stood.0 == here);
        let times = (0..own.len()).filter(stood_here).count();
        let mut left = if times.is_power_of_two() { times } else { times.min(LAST_ROUNDS) };
        let mut way = Way::default();
        for before in (0..own.len()).rev() {
            let step = own[before] as usize;
            // Whoever holds locks keeps others from going on: rounds end where the fewest are held.
            let Some((stood, held_there)) = self.stood(process, own, before) else { return };
            if left == 0 || !self.steps[step].is_told || held_there < held {
                return;
            }
            way.add(self.changes_of(step).iter().filter(|change| match change.what {
                Changed::Word(address) => !here.is_dead(address),
                _ => true,
            }));
            if stood != here {
                continue;
            }
            left -= 1;
            let steps = own.len() - before;
            let alone = if judges_races { 2 * steps } else { steps };
            let restored = way.restores();
            let counts = !judges_races || restored && self.are_twins(own, steps);
            if with(Round { steps, restored, alone, counts }).is_break() {
                return;
            }
        }
    }

    /// Whether the last steps of a thread, so many, did what as many before them did.
    fn are_twins(&self, own: &[u32], steps: usize) -> bool {
        let Some(start) = own.len().checked_sub(2 * steps) else { return false };
        let (earlier, later) = own[start..].split_at(steps);
        earlier.iter().zip(later).all(|(&earlier, &later)| self.is_twin(earlier, later))
    }

    /// Whether a step did what an earlier one of its thread did.
    fn is_twin(&self, earlier: u32, later: u32) -> bool {
        let (earlier, later) = (&self.steps[earlier as usize], &self.steps[later as usize]);
        earlier.digest == later.digest && earlier.next == later.next
    }

    /// What steps have changed, taken together: appends nothing if all is as it was before them. False if that
    /// is not known. See [`mazurka_program::Rounds::net_effect`].
    pub fn net_effect(&self, steps: &[u32], effect: &mut Vec<i64>) -> bool {
        let step = |at: u32| &self.steps[at as usize];
        let is_known = |at: u32| step(at).is_told && (step(at).next.is_some() || step(at).last.is_some());
        if !steps.iter().all(|&at| is_known(at)) {
            return false;
        }
        let mut lasts: Vec<u32> = Vec::new();
        for &at in steps.iter().rev() {
            if lasts.iter().all(|&last| step(last).process != step(at).process) {
                lasts.push(at);
            }
        }
        lasts.sort_unstable_by_key(|&last| step(last).process);
        let mut ended = Vec::new();
        for &last in &lasts {
            let process = step(last).process;
            let first = steps.iter().copied().find(|&at| step(at).process == process).unwrap_or(last);
            let before = self.before(first);
            match &step(last).next {
                Some(stands) if before == Some(stands) => {}
                Some(stands) => {
                    effect.extend([4, i64::from(process.0)]);
                    stands.tell(effect);
                }
                None if step(last).last == Some(Last::Stopped) => effect.extend([6, i64::from(process.0)]),
                None => {
                    effect.extend([5, i64::from(process.0)]);
                    ended.extend(before);
                }
            }
        }
        let is_alive = |change: &&Change| match change.what {
            Changed::Word(address) => {
                let mut stands = lasts.iter().filter_map(|&last| step(last).next.as_ref());
                !stands.any(|stands| stands.is_dead(address)) && !ended.iter().any(|one| one.is_own(address))
            }
            _ => true,
        };
        let mut way = Way::default();
        steps.iter().for_each(|&at| way.add(self.changes_of(at as usize).iter().filter(is_alive)));
        way.tell(effect);
        true
    }

    /// Where a thread stood before one of its steps, if that is known.
    fn before(&self, step: u32) -> Option<&S> {
        let process = self.steps[step as usize].process;
        match self.steps[..step as usize].iter().rev().find(|before| before.process == process) {
            Some(before) => before.next.as_ref(),
            None => self.first_of(process),
        }
    }

    /// Whether the last steps of a thread, so many, have left memory as it was, but for its own stack and for what
    /// others did. True of a thread whose changes are not known.
    pub fn leaves_memory(&self, process: ProcessId, steps: usize) -> bool {
        let own = self.steps.iter().enumerate().rev().filter(|(_, step)| step.process == process);
        let Some(here) = own.clone().next().and_then(|(_, last)| last.next.as_ref()) else { return true };
        let is_memory = |change: &&Change| match change.what {
            Changed::Word(address) => !here.is_own(address),
            Changed::Block(_) => true,
            _ => false,
        };
        let mut way = Way::default();
        own.take(steps).for_each(|(at, _)| way.add(self.changes_of(at).iter().filter(is_memory)));
        way.restores()
    }

    /// What a thread has changed since it stood where it stands now, the last time before.
    pub fn changed_since(&self, process: ProcessId, own: &[u32]) -> Vec<Changed> {
        let Some((here, _)) = self.stood(process, own, own.len()) else { return Vec::new() };
        let is_same = |after: &usize| self.stood(process, own, *after).is_some_and(|stood| stood.0 == here);
        let Some(before) = (0..own.len()).rev().find(is_same) else { return Vec::new() };
        let mut way = Way::default();
        own[before..].iter().rev().for_each(|&step| way.add(self.changes_of(step as usize).iter()));
        way.differing()
    }
}

/// The changes of the last steps of a thread, of which more and more are looked at.
#[derive(Default)]
struct Way {
    /// What the changes of each thing sum up to.
    sums: BTreeMap<Changed, u64>,
    /// How many of these are not 0, without times and of times.
    differing: usize,
    later: usize,
    /// Whether a thread has slept.
    slept: bool,
}

impl Way {
    /// Adds the changes of a step.
    fn add<'a>(&mut self, changes: impl Iterator<Item = &'a Change>) {
        for change in changes {
            self.slept |= change.what == Changed::Slept;
            let differing = if change.what.is_time() { &mut self.later } else { &mut self.differing };
            let sum = self.sums.entry(change.what).or_default();
            *differing -= usize::from(*sum != 0);
            *sum = sum.wrapping_add(change.new.wrapping_sub(change.old));
            *differing += usize::from(*sum != 0);
        }
    }

    /// Whether what was changed is as it was.
    fn restores(&self) -> bool {
        self.differing == 0 && (self.slept || self.later == 0)
    }

    /// Appends what was changed and is not as it was, in order.
    fn tell(&self, into: &mut Vec<i64>) {
        let counts = |what: &Changed| !(self.slept && what.is_time());
        for (what, sum) in self.sums.iter().filter(|(what, sum)| **sum != 0 && counts(what)) {
            into.extend(what.words());
            into.push(sum.cast_signed());
        }
    }

    fn differing(&self) -> Vec<Changed> {
        self.sums.iter().filter(|(_, sum)| **sum != 0).map(|(&what, _)| what).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const P: ProcessId = ProcessId(1);
    const Q: ProcessId = ProcessId(2);
    const X: Changed = Changed::Value(Location(3));

    /// A place and a stack pointer: below it nothing lives.
    #[derive(Clone, Debug, PartialEq)]
    struct At(u32, usize);

    impl Standing for At {
        fn is_dead(&self, address: usize) -> bool {
            address < self.1
        }

        fn is_own(&self, _address: usize) -> bool {
            false
        }

        fn tell(&self, into: &mut Vec<i64>) {
            into.extend([i64::from(self.0), self.1 as i64]);
        }
    }

    /// What a step changes, where its thread stands then, and with how many locks.
    type Taken<'a> = (&'a [(Changed, u64, u64)], At, i32);

    /// Notes of steps, all of one thread, which changes something in each and then stands somewhere.
    fn notes(steps: &[Taken<'_>]) -> RoundNotes<At> {
        let mut notes = RoundNotes::default();
        notes.arrive(P, At(0, 0), 0);
        for (changes, next, held) in steps {
            notes.step(P);
            changes.iter().for_each(|&(what, old, new)| notes.change(what, old, new));
            notes.tell(changes.len() as u64);
            notes.arrive(P, next.clone(), *held);
        }
        notes
    }

    fn rounds(notes: &RoundNotes<At>, judges_races: bool) -> Vec<usize> {
        let own: Vec<u32> = (0..notes.steps.len() as u32).collect();
        let mut found = Vec::new();
        notes.rounds(P, &own, judges_races, &mut |round| {
            found.extend((round.restored && round.counts).then_some(round.steps));
            ControlFlow::Continue(())
        });
        found
    }

    #[test]
    fn what_is_put_back_is_a_round_and_what_counts_is_none() {
        let here = || At(7, 0);
        let round: [(&[_], _, _); 2] = [(&[(X, 0, 1)], At(8, 0), 0), (&[(X, 1, 0)], here(), 0)];
        let mut steps = vec![(&[][..], here(), 0)];
        steps.extend(round.clone());
        assert_eq!(rounds(&notes(&steps), false), [2]);
        assert_eq!(rounds(&notes(&steps), true), [], "races are judged, and it was gone once");
        steps.extend(round);
        assert_eq!(rounds(&notes(&steps), false), [2, 4]);
        assert_eq!(rounds(&notes(&steps), true), [2]);
        steps.push((&[(Changed::Word(64), 5, 6)], here(), 0));
        assert_eq!(rounds(&notes(&steps), false), [], "a counter");
        assert_eq!(notes(&steps).changed_since(P, &[0, 1, 2, 3, 4, 5]), [Changed::Word(64)]);
    }

    #[test]
    fn dead_words_do_not_count_and_neither_do_others() {
        let mut notes = notes(&[(&[], At(7, 100), 0), (&[(Changed::Word(64), 5, 6)], At(7, 100), 0)]);
        assert_eq!(rounds(&notes, false), [1]);
        assert!(notes.returns());
        notes.step(Q);
        notes.change(X, 0, 1);
        notes.arrive(Q, At(7, 100), 0);
        assert!(!notes.returns(), "another thread stood there");
        notes.step(P);
        notes.arrive(P, At(7, 100), 0);
        let mut found = Vec::new();
        notes.rounds(P, &[0, 1, 3], false, &mut |round| {
            found.push(round.steps);
            ControlFlow::Continue(())
        });
        assert_eq!(found, [1, 2]);
    }

    #[test]
    fn what_several_threads_did_together_is_told() {
        let mut notes = notes(&[(&[], At(7, 0), 0)]);
        let mut take = |process, old, new, next: Option<At>| {
            notes.step(process);
            notes.change(X, old, new);
            match next {
                Some(next) => notes.arrive(process, next, 0),
                None => notes.end(process, Last::Ended),
            }
        };
        take(Q, 0, 0, Some(At(7, 0)));
        take(P, 0, 1, Some(At(8, 0)));
        take(Q, 1, 2, Some(At(8, 0)));
        take(P, 2, 1, Some(At(7, 0)));
        take(Q, 1, 0, Some(At(7, 0)));
        take(Q, 0, 0, None);
        let effect = |steps: std::ops::Range<u32>| {
            let mut effect = Vec::new();
            let is_known = notes.net_effect(&steps.collect::<Vec<_>>(), &mut effect);
            is_known.then_some(effect)
        };
        assert_eq!(effect(2..6), Some(vec![]), "both are back, and so is the value");
        assert_eq!(effect(2..5), Some(vec![4, 2, 8, 0, 0, 3, 1]), "one is elsewhere");
        assert_eq!(effect(2..7), Some(vec![5, 2]), "one has ended");
        let mut own = Vec::new();
        notes.rounds(P, &[0, 2, 4], false, &mut |round| {
            own.push((round.steps, round.restored));
            ControlFlow::Continue(())
        });
        assert_eq!(own, [(2, true)]);
        notes.steps[3].is_told = false;
        assert!(
            !notes.net_effect(&[2, 3, 4, 5], &mut Vec::new()) && notes.net_effect(&[4, 5], &mut Vec::new())
        );
    }

    #[test]
    fn later_is_no_round_but_for_who_sleeps_in_it() {
        let at_7 = (&[][..], At(7, 0), 0);
        let late: &[_] = &[(Changed::Clock(P), 5, 6), (Changed::Time(P, Location(3), true), 0, 6)];
        let later = (late, At(7, 0), 0);
        let found = rounds(&notes(&[at_7.clone(), later.clone()]), false);
        assert_eq!(found, [], "a clock that is asked shows something else");
        assert_eq!(rounds(&notes(&[at_7.clone(), later.clone(), at_7.clone()]), false), [1]);
        let mut notes = notes(&[at_7, later]);
        notes.slept();
        assert_eq!(rounds(&notes, false), [1]);
        let mut effect = Vec::new();
        assert!(notes.net_effect(&[1], &mut effect) && effect.is_empty(), "{effect:?}");
    }

    #[test]
    fn who_waits_to_be_woken_is_told() {
        let mut notes = notes(&[(&[], At(7, 0), 0)]);
        let queue = Location(9);
        for (waiting, next) in [(vec![(P, queue)], At(8, 0)), (vec![], At(7, 0))] {
            notes.step(P);
            notes.wait(waiting.into_iter());
            notes.arrive(P, next, 0);
        }
        let mut effect = Vec::new();
        assert!(notes.net_effect(&[1, 2], &mut effect) && effect.is_empty());
        assert!(notes.net_effect(&[1], &mut effect));
        assert_eq!(effect, [4, 1, 8, 0, 3, 1, 10]);
        assert_eq!(rounds(&notes, false), [2]);
    }

    #[test]
    fn a_round_ends_where_the_fewest_locks_are_held_and_has_no_step_that_did_more() {
        let steps: [(&[_], _, _); 3] =
            [(&[(X, 0, 1)], At(7, 0), 1), (&[(X, 1, 0)], At(8, 0), 0), (&[(X, 0, 1)], At(7, 0), 1)];
        assert_eq!(rounds(&notes(&steps), false), []);
        let mut notes = notes(&[(&[], At(7, 0), 0), (&[], At(7, 0), 0)]);
        assert_eq!(rounds(&notes, false), [1]);
        notes.did_more();
        assert_eq!(rounds(&notes, false), []);
    }
}
