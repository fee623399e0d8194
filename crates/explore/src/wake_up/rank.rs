//! The rank of events: a fixed total order, the same in every run of a program.
//!
//! An event is a process, its ordinal among the process's events, and an outcome. Processes are compared by
//! their paths in the creation tree, never by their numbers, which differ from run to run. The search is
//! right for any rank; one that is fair lets nobody run for ever where others could go on.

use mazurka_program::{Names, ProcessId};

use crate::Order;

/// A process takes so many steps before others come first: only programs with endless loops notice.
const PATIENCE: u32 = 500;

/// The place of an event in the order.
pub(super) type Rank = u128;

/// How ranks are drawn.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// By path.
    Natural,
    /// By path, in an order drawn from the seed; each process has so many steps at a time.
    Turns(u32),
    /// Every event has a place of its own, drawn from the seed.
    Arbitrary,
}

/// What ranks are made of, for the processes that have been met.
pub(super) struct Ranks {
    kind: Kind,
    seed: u64,
    /// Of each process, its place among all by path, and a number drawn for its path.
    processes: Vec<(u32, u64)>,
}

impl Ranks {
    pub fn new(order: Order) -> Ranks {
        let (kind, seed) = match order {
            Order::Natural => (Kind::Natural, 0),
            Order::Shuffled(seed) => match mix(seed) % 4 {
                0 => (Kind::Turns(PATIENCE), seed),
                1 => (Kind::Turns(1), seed),
                2 => (Kind::Turns(3), seed),
                _ => (Kind::Arbitrary, seed),
            },
        };
        Ranks { kind, seed, processes: Vec::new() }
    }

    /// Brings the processes up to date. That others are met later changes no comparison.
    #[inline]
    pub fn meet(&mut self, names: &Names) {
        if names.len() != self.processes.len() {
            self.meet_new(names);
        }
    }

    #[cold]
    fn meet_new(&mut self, names: &Names) {
        let mut paths: Vec<(Vec<u32>, usize)> =
            (0..names.len()).map(|p| (names.path(ProcessId(p as u32)), p)).collect();
        paths.sort();
        self.processes.resize(names.len(), (0, 0));
        for (place, (path, process)) in paths.into_iter().enumerate() {
            let drawn = path.iter().fold(mix(self.seed), |hash, &part| mix(hash ^ u64::from(part)));
            self.processes[process] = (place as u32, drawn);
        }
    }

    /// The rank of an event; its index counts from 0.
    #[inline]
    pub fn rank(&self, process: ProcessId, index: u32, choice: u32) -> Rank {
        let (place, drawn) = self.processes[process.index()];
        let last = (u64::from(place) << 32) | u64::from(choice);
        let first = match self.kind {
            Kind::Natural => u64::from(index / PATIENCE),
            Kind::Turns(steps) => (u64::from(index / steps) << 32) | (drawn >> 32),
            Kind::Arbitrary => mix(mix(drawn ^ u64::from(index)) ^ u64::from(choice)),
        };
        (u128::from(first) << 64) | u128::from(last)
    }

    /// The place of a process among all.
    pub fn place(&self, process: ProcessId) -> u32 {
        self.processes.get(process.index()).map_or(u32::MAX, |known| known.0)
    }

    /// Whether other events may come between two outcomes of a step.
    pub fn separates_outcomes(&self) -> bool {
        matches!(self.kind, Kind::Arbitrary)
    }

    /// Whether every outcome of a step has at least a rank, whatever outcomes there are.
    #[inline]
    pub fn is_behind(&self, process: ProcessId, index: u32, rank: Rank) -> bool {
        !matches!(self.kind, Kind::Arbitrary) && self.rank(process, index, 0) >= rank
    }

    /// Whether the least outcome of each of the first steps of a process, up to one, has a rank below this.
    pub fn are_before(&self, process: ProcessId, last: u32, rank: Rank) -> bool {
        let is_before = |index| self.rank(process, index, 0) < rank;
        // Elsewhere no step of a process comes before an earlier one.
        if let Kind::Arbitrary = self.kind { (0..=last).all(is_before) } else { is_before(last) }
    }

    /// The least of the outcomes of a step, and its rank.
    #[inline]
    pub fn least(&self, process: ProcessId, index: u32, outcomes: impl FnOnce() -> u32) -> (Rank, u32) {
        let first = (self.rank(process, index, 0), 0);
        if !matches!(self.kind, Kind::Arbitrary) {
            return first;
        }
        (1..outcomes()).map(|c| (self.rank(process, index, c), c)).fold(first, std::cmp::min)
    }
}

/// A number drawn from another (splitmix64).
fn mix(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
