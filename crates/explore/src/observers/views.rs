//! What the last event of a sequence may come to read.
//!
//! Within `notdep(e, E)` only those writes are ordered that somebody there observes. The step `s` that ends
//! the sequence may read a variable which it did not read in `E`: because it varies, or because it waited
//! there and was not taken at all. Then it observes an order of writes that was nobody's concern, and each
//! write that can come last leads to a class of its own. All of them are planned: the sequence of `E` has
//! one, and what a later branch of the wakeup tree has begun with may be compatible with another one only
//! (`corpus/cx17.maz`, `corpus/cx18.maz`). What `s` read in `E` already is no choice: it reads the same
//! there, but for what `e` wrote. The proof in docs/soundness.md says why this is enough.

use mazurka_program::{AccessKind, Location};
use mazurka_trace::Trace;

use super::sequence::{Mail, Observed, kind_at};
use crate::wakeup::Planned;

/// The orders of a sequence that are the same to all who take part in it, with writes chosen that come last.
pub(super) struct Views {
    /// The events of the sequence, by their positions in the execution that it comes from.
    events: Vec<usize>,
    /// Whether the event at one place comes before that at another: one row for each.
    before: Vec<Vec<bool>>,
}

impl Views {
    /// Those of a sequence, which is given by its events and as steps, judged by the sequence alone.
    pub fn new(
        trace: &Trace,
        events: &[usize],
        steps: &[Planned<'_>],
        order: &mut Observed<'_, impl Mail>,
    ) -> Views {
        let mut before = vec![vec![false; events.len()]; events.len()];
        for (j, &later) in events.iter().enumerate() {
            for (i, &earlier) in events.iter().enumerate().take(j) {
                before[i][j] = trace.process(earlier) == trace.process(later)
                    || trace.spawned(earlier).contains(&trace.process(later))
                    || order.precedes(steps, i, j);
            }
        }
        let mut views = Views { events: events.to_vec(), before };
        for middle in 0..views.events.len() {
            views.close_over(middle);
        }
        views
    }

    /// The places of the writes of a location that can be the last one.
    pub fn last_writers(&self, trace: &Trace, location: Location) -> Vec<usize> {
        let writers = self.writers(trace, location);
        let last = |&w: &usize| !writers.iter().any(|&other| self.before[w][other]);
        writers.iter().copied().filter(last).collect()
    }

    /// The orders in which one of the writes that can be the last one is.
    pub fn with_last(&self, trace: &Trace, location: Location, last: usize) -> Views {
        let mut views = Views { events: self.events.clone(), before: self.before.clone() };
        views.put_last(trace, location, last);
        views
    }

    /// Leaves only the orders in which the write of a location that comes last here does so. Messages have no
    /// last one: who looks at a mailbox sees them all.
    pub fn keep_last(&mut self, trace: &Trace, location: Location) {
        let sent =
            |&last: &usize| kind_at(trace.accesses(self.events[last]), location) == Some(AccessKind::Send);
        if let Some(&last) = self.writers(trace, location).last().filter(|last| !sent(last)) {
            self.put_last(trace, location, last);
        }
    }

    fn put_last(&mut self, trace: &Trace, location: Location, last: usize) {
        for writer in self.writers(trace, location).into_iter().filter(|&writer| writer != last) {
            self.before[writer][last] = true;
        }
        // Nothing leads from `last` to another writer, so a new path has one new edge, and that ends at
        // `last`.
        let direct: Vec<usize> = (0..self.events.len()).filter(|&i| self.before[i][last]).collect();
        for row in &mut self.before {
            row[last] |= direct.iter().any(|&i| row[i]);
        }
        self.close_over(last);
    }

    /// Of events of the sequence, those that can be the first one of them.
    pub fn first_of(&self, events: &[usize]) -> Vec<usize> {
        let before = |a: usize, b: usize| self.before[self.place(a)][self.place(b)];
        events.iter().copied().filter(|&k| !events.iter().any(|&other| before(other, k))).collect()
    }

    /// The orders in which an event that can be the first one of several is.
    pub fn with_first(&self, first: usize, events: &[usize]) -> Views {
        let mut views = Views { events: self.events.clone(), before: self.before.clone() };
        let first = self.place(first);
        for other in events.iter().map(|&other| self.place(other)).filter(|&other| other != first) {
            let after = views.before[other].clone();
            views.before[first].iter_mut().zip(after).for_each(|(mine, theirs)| *mine |= theirs);
            views.before[first][other] = true;
        }
        views.close_over(first);
        views
    }

    fn place(&self, event: usize) -> usize {
        self.events.iter().position(|&k| k == event).expect("an event of the sequence")
    }

    /// One of the orders: what need not move stays where it was.
    pub fn sequence(&self) -> impl Iterator<Item = usize> {
        let mut left: Vec<usize> = (0..self.events.len()).collect();
        std::iter::from_fn(move || {
            let first = left.iter().position(|&k| !left.iter().any(|&i| self.before[i][k]))?;
            Some(self.events[left.remove(first)])
        })
    }

    fn writers(&self, trace: &Trace, location: Location) -> Vec<usize> {
        let writes = |&i: &usize| {
            kind_at(trace.accesses(self.events[i]), location).is_some_and(|kind| kind != AccessKind::Read)
        };
        (0..self.events.len()).filter(writes).collect()
    }

    /// Adds the paths of two parts that lead over an event.
    fn close_over(&mut self, middle: usize) {
        let after = self.before[middle].clone();
        for row in self.before.iter_mut().filter(|row| row[middle]) {
            row.iter_mut().zip(&after).for_each(|(mine, &theirs)| *mine |= theirs);
        }
    }
}
