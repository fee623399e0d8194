//! Records: what steps did, each kept once, and sets of them.
//!
//! A record is a step as `convergent` needs it: whose it was, what it touched, whom it waited for and
//! created. Sets of records are bit sets over the numbers of records; which records conflict with one is a
//! bit set too, found when it is first asked for.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use mazurka_program::{Access, AccessKind, Label, Location, ProcessId};
use mazurka_trace::dependence::dependent;

/// The number of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct RecordId(pub u32);

/// What a step did, or several outcomes of one step did together.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Record {
    pub process: ProcessId,
    pub accesses: Vec<Access>,
    /// Locations whose writers the step can't come before: see [`Label::waited_for`].
    pub waited_for: Vec<Location>,
    pub spawned: Vec<ProcessId>,
}

impl Record {
    pub fn of(process: ProcessId, label: &Label) -> Record {
        let mut accesses = label.accesses.clone();
        accesses.sort_unstable();
        accesses.dedup();
        Record { process, accesses, waited_for: label.waited_for.clone(), spawned: label.spawned.clone() }
    }

    /// A process that waits for its guard: it would read it.
    pub fn waiting(process: ProcessId, guard: Location) -> Record {
        let accesses = vec![Access::one(guard, AccessKind::Read)];
        Record { process, accesses, waited_for: Vec::new(), spawned: Vec::new() }
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
    numbers: HashMap<Rc<Record>, RecordId>,
    rows: Vec<Row>,
    sets: HashSet<Rc<[u64]>>,
    /// Bytes held by records and sets.
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

    /// Of a set, the records of other processes that depend on one.
    pub fn dependents(&mut self, set: &[u64], with: RecordId) -> Vec<RecordId> {
        common(set, self.row(with).dependent.words())
    }

    /// A set as it is kept: each once.
    pub fn keep(&mut self, set: &RecordSet) -> Rc<[u64]> {
        let length = set.words.iter().rposition(|&word| word != 0).map_or(0, |last| last + 1);
        let words = &set.words[..length];
        if let Some(known) = self.sets.get(words) {
            return known.clone();
        }
        self.memory += size_of_val(words) + 48;
        let words: Rc<[u64]> = words.into();
        self.sets.insert(words.clone());
        words
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
