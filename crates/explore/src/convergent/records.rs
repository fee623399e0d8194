//! Records: what steps did, each kept once, and sets of them.
//!
//! A record is a step as `convergent` needs it: whose it was, what it touched, whom it waited for and
//! created. Sets of records are bit sets over the numbers of records; which records conflict with one is a
//! bit set too, found when it is first asked for. Sets that are kept are lists of numbers instead ([`Sets`]):
//! states have few records each, of the many that there are in all.

use std::collections::HashMap;
use std::rc::Rc;

use mazurka_program::{Access, AccessKind, Label, Location, ProcessId};
use mazurka_trace::dependence::dependent;

use super::intern::{Interned, push_number, pushed_numbers};
use crate::quick_hash::QuickHash;

/// The number of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct RecordId(pub u32);

/// What a step did, or several outcomes of one step did together.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Record {
    pub process: ProcessId,
    /// The block that the step was, if constraints are asked.
    pub block: Option<u32>,
    /// Whether the step is of a process that this one will have created, it or those that it creates.
    pub of_descendant: bool,
    pub accesses: Vec<Access>,
    /// Locations whose writers the step can't come before: see [`Label::waited_for`].
    pub waited_for: Vec<Location>,
    pub spawned: Vec<ProcessId>,
}

impl Record {
    pub fn of(process: ProcessId, block: Option<u32>, label: &Label) -> Record {
        let mut accesses = label.accesses.clone();
        accesses.sort_unstable();
        accesses.dedup();
        Record {
            process,
            block,
            of_descendant: false,
            accesses,
            waited_for: label.waited_for.clone(),
            spawned: label.spawned.clone(),
        }
    }

    /// A process that waits for its guard: it would read it.
    pub fn waiting(process: ProcessId, block: Option<u32>, guard: Location) -> Record {
        let (accesses, of_descendant) = (vec![Access::one(guard, AccessKind::Read)], false);
        let (waited_for, spawned) = (Vec::new(), Vec::new());
        Record { process, block, of_descendant, accesses, waited_for, spawned }
    }

    /// Adds another outcome of the same step.
    fn join(&mut self, other: &Record) {
        self.accesses.extend_from_slice(&other.accesses);
        self.accesses.sort_unstable();
        self.accesses.dedup();
        // Only what every outcome waited for can't come later.
        self.waited_for.retain(|location| other.waited_for.contains(location));
        for child in &other.spawned {
            if !self.spawned.contains(child) {
                self.spawned.push(*child);
            }
        }
    }

    pub fn writes(&self, location: Location) -> bool {
        let writes =
            |access: &Access| !access.kind.is_read() && access.overlaps(Access::one(location, access.kind));
        self.accesses.iter().any(writes)
    }

    /// Whether the step would have had to wait for the other one.
    fn waits_for(&self, other: &Record) -> bool {
        self.waited_for.iter().any(|&location| other.writes(location))
    }

    fn memory(&self) -> usize {
        size_of::<Record>()
            + self.accesses.capacity() * size_of::<Access>()
            + (self.waited_for.capacity() + self.spawned.capacity()) * 4
    }
}

/// A set of records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RecordSet {
    words: Vec<u64>,
}

impl RecordSet {
    pub fn insert(&mut self, record: RecordId) {
        let word = record.0 as usize / 64;
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << (record.0 % 64);
    }

    pub fn clear(&mut self) {
        self.words.clear();
    }

    pub fn add_all(&mut self, others: &[u64]) {
        if others.len() > self.words.len() {
            self.words.resize(others.len(), 0);
        }
        self.words.iter_mut().zip(others).for_each(|(mine, theirs)| *mine |= theirs);
    }

    pub fn words(&self) -> &[u64] {
        &self.words
    }
}

/// The members of a set.
pub(crate) fn members(words: &[u64]) -> impl Iterator<Item = RecordId> + '_ {
    words.iter().enumerate().flat_map(|(at, &word)| {
        let mut rest = word;
        std::iter::from_fn(move || {
            let bit = (rest != 0).then(|| rest.trailing_zeros())?;
            rest &= rest - 1;
            Some(RecordId(at as u32 * 64 + bit))
        })
    })
}

/// The records that conflict with one, as far as they have been looked at.
#[derive(Debug, Default)]
struct Row {
    /// Those that depend on it.
    dependent: RecordSet,
    /// Those of them that could have come before it: they did not wait for it.
    reversible: RecordSet,
    known: usize,
}

/// All records.
#[derive(Debug, Default)]
pub(crate) struct Records {
    table: Vec<Rc<Record>>,
    numbers: HashMap<Rc<Record>, RecordId, QuickHash>,
    rows: Vec<Row>,
    /// Bytes held by records.
    memory: usize,
}

impl Records {
    pub fn number(&mut self, record: Record) -> RecordId {
        if let Some(&known) = self.numbers.get(&record) {
            return known;
        }
        self.memory += record.memory() + size_of::<Row>() + 32;
        let record = Rc::new(record);
        let number = RecordId(self.table.len() as u32);
        self.table.push(record.clone());
        self.rows.push(Row::default());
        self.numbers.insert(record, number);
        number
    }

    pub fn get(&self, record: RecordId) -> &Record {
        &self.table[record.0 as usize]
    }

    /// The record of two outcomes of one step.
    pub fn joined(&mut self, a: RecordId, b: RecordId) -> RecordId {
        if a == b {
            return a;
        }
        let mut record = Record::clone(self.get(a));
        record.join(self.get(b));
        self.number(record)
    }

    pub fn dependent(&self, a: RecordId, b: RecordId) -> bool {
        dependent(&self.get(a).accesses, &self.get(b).accesses)
    }

    fn row(&mut self, of: RecordId) -> &Row {
        let record = self.table[of.0 as usize].clone();
        let row = &mut self.rows[of.0 as usize];
        for at in row.known..self.table.len() {
            let other = &self.table[at];
            if other.process != record.process && dependent(&other.accesses, &record.accesses) {
                row.dependent.insert(RecordId(at as u32));
                if !other.waits_for(&record) {
                    row.reversible.insert(RecordId(at as u32));
                }
            }
        }
        row.known = self.table.len();
        row
    }

    /// Of a set, the records of other processes that depend on one and did not wait for it.
    pub fn reversible(&mut self, set: &[u64], with: RecordId) -> Vec<RecordId> {
        common(set, self.row(with).reversible.words())
    }

    /// Whether one would have had to wait for another.
    pub fn waited_for(&self, later: RecordId, earlier: RecordId) -> bool {
        self.get(later).waits_for(self.get(earlier))
    }

    /// Of a set, the records of other processes that depend on one.
    pub fn dependents(&mut self, set: &[u64], with: RecordId) -> Vec<RecordId> {
        common(set, self.row(with).dependent.words())
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        let rows =
            self.rows.iter().map(|row| row.dependent.words.capacity() + row.reversible.words.capacity());
        self.memory + rows.sum::<usize>() * 8
    }
}

fn common(a: &[u64], b: &[u64]) -> Vec<RecordId> {
    let words: Vec<u64> = a.iter().zip(b).map(|(a, b)| a & b).collect();
    members(&words).collect()
}

/// The number of a set that is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SetId(pub u32);

/// Sets of records as they are kept, each once: how far each member is from the one before.
#[derive(Debug, Default)]
pub(crate) struct Sets {
    strings: Interned,
    bytes: Vec<u8>,
}

impl Sets {
    /// Keeps the set of these numbers, which come in order.
    pub fn keep(&mut self, members: impl Iterator<Item = RecordId>) -> SetId {
        self.bytes.clear();
        let mut next = 0;
        for RecordId(member) in members {
            push_number(u64::from(member - next), &mut self.bytes);
            next = member + 1;
        }
        SetId(self.strings.number(&self.bytes))
    }

    pub fn members(&self, set: SetId) -> impl Iterator<Item = RecordId> + '_ {
        let mut next = 0;
        pushed_numbers(self.strings.get(set.0)).map(move |distance| {
            let member = next + distance as u32;
            next = member + 1;
            RecordId(member)
        })
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        self.strings.memory()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_that_is_kept_has_the_same_members() {
        let mut sets = Sets::default();
        for members in [&[][..], &[0], &[0, 1, 2], &[5, 200, 70_000], &[u32::MAX - 1]] {
            let kept = sets.keep(members.iter().copied().map(RecordId));
            assert_eq!(sets.members(kept).map(|record| record.0).collect::<Vec<_>>(), members);
            assert_eq!(sets.keep(members.iter().copied().map(RecordId)), kept);
        }
    }
}
