//! What is known of the events of the present execution: whom each read from, what is in its past, and a number
//! that tells an event with its past from all others.
//!
//! The *past* of an event is all that comes before it in program order, by creation and by reading from. As a
//! set that is closed under these it is a *cut*: how many events of each process are in it.

use std::hash::{BuildHasherDefault, Hasher};

use mazurka_program::Location;
use mazurka_trace::{Read, ReadsFrom, Trace};

use super::locations::Keys;

/// Tells an event and its past from all others, in all executions: equal only if they are the same, but for an
/// accident among 2^128.
pub(super) type Identity = u128;

/// What a read reads that no event wrote.
pub(super) const INITIAL: Identity = 1;

/// Has identities be their own hashes.
pub(super) type AsItIs = BuildHasherDefault<IdentityHasher>;

/// The lower half of an identity.
#[derive(Default)]
pub(super) struct IdentityHasher(u64);

impl Hasher for IdentityHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.0 = self.0.rotate_left(8) ^ u64::from(byte));
    }

    fn write_u128(&mut self, identity: u128) {
        self.0 = identity as u64;
    }
}

/// Adds a number to what an identity is made of.
#[inline]
pub(super) fn mix(identity: Identity, number: u128) -> Identity {
    let product = (identity ^ number).wrapping_mul(0x2d99_7879_26d4_6932_a4c1_f326_80f7_0c55);
    product ^ (product >> 67)
}

/// The identity of an event: of whom it is, what came before it, its outcome, and what it read from whom. The process
/// and the locations are told by numbers that mean the same wherever identities are compared.
pub(super) fn identity(
    process: u128,
    index: u32,
    choice: u32,
    before: Identity,
    reads: impl Iterator<Item = (u128, Identity)>,
) -> Identity {
    let event = process.wrapping_add(u128::from(index) << 32 | u128::from(choice));
    reads.fold(mix(mix(7, event), before), |sum, (location, source)| mix(mix(sum, location), source))
}

/// The pasts of the events of a trace, which grows and shrinks beside it.
#[derive(Default)]
pub(super) struct Pasts {
    sources: ReadsFrom,
    identities: Vec<Identity>,
    cuts: Vec<u32>,
    width: usize,
}

impl Pasts {
    /// Enters the event that was pushed last, with room for so many processes. All that it touched has keys.
    pub fn enter(&mut self, trace: &Trace, width: usize, keys: &Keys) {
        let position = self.identities.len();
        self.sources.enter(trace);
        self.widen(width.max(trace.width()));
        let before = trace.before(position);
        let (process, index) = (trace.process(position), trace.index(position));
        let start = self.cuts.len();
        match before {
            Some(before) => self.cuts.extend_from_within(before * self.width..(before + 1) * self.width),
            None => self.cuts.resize(start + self.width, 0),
        }
        for read in self.sources.reads(position) {
            if let Some(source) = read.source {
                let (earlier, own) = self.cuts.split_at_mut(start);
                join(own, &earlier[source as usize * self.width..][..self.width]);
            }
        }
        self.cuts[start + process.index()] = index;
        let reads = self.sources.reads(position).iter();
        let reads = reads.map(|read| (keys.location(read.location), self.identity_of(read.source)));
        let before = before.map_or(0, |before| self.identities[before]);
        let identity = identity(keys.process(process), index, trace.choice(position), before, reads);
        self.identities.push(identity);
    }

    /// Makes room for so many processes.
    fn widen(&mut self, width: usize) {
        if width > self.width {
            let mut cuts = Vec::with_capacity(self.identities.len() * width);
            for position in 0..self.identities.len() {
                cuts.extend_from_slice(self.cut(position));
                cuts.resize((position + 1) * width, 0);
            }
            (self.cuts, self.width) = (cuts, width);
        }
    }

    /// Forgets all events from a position on, before the trace does.
    pub fn truncate(&mut self, trace: &Trace, len: usize) {
        self.sources.truncate(trace, len);
        self.identities.truncate(len);
        self.cuts.truncate(len * self.width);
    }

    /// How many processes a cut has room for.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The past of an event, itself included.
    #[inline]
    pub fn cut(&self, position: usize) -> &[u32] {
        &self.cuts[position * self.width..(position + 1) * self.width]
    }

    #[inline]
    pub fn identity(&self, position: usize) -> Identity {
        self.identities[position]
    }

    /// The identity of what a read reads.
    #[inline]
    pub fn identity_of(&self, source: Option<u32>) -> Identity {
        source.map_or(INITIAL, |source| self.identities[source as usize])
    }

    /// What the event at a position read, in the order in which it did.
    #[inline]
    pub fn reads(&self, position: usize) -> &[Read] {
        self.sources.reads(position)
    }

    /// The positions of the events that wrote a location.
    #[inline]
    pub fn writers(&self, location: Location) -> &[u32] {
        self.sources.writers(location)
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        self.identities.capacity() * size_of::<Identity>() + self.cuts.capacity() * size_of::<u32>()
    }
}

/// Adds a cut to another.
#[inline]
pub(super) fn join(cut: &mut [u32], other: &[u32]) {
    cut.iter_mut().zip(other).for_each(|(mine, theirs)| *mine = (*mine).max(*theirs));
}
