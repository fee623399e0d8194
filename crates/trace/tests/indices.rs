//! Indices that grow and shrink beside a trace say what is found by looking at the whole trace anew.

use std::collections::BTreeSet;

use mazurka_program::{AccessKind, Label, Location, ProcessId};
use mazurka_trace::equivalence::Order;
use mazurka_trace::{HappensBefore, ReadsFrom, Trace};

/// Numbers from a seed (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 20) as usize % end
    }
}

/// A trace and its indices, always at the same length.
#[derive(Default)]
struct Indexed {
    trace: Trace,
    order: HappensBefore,
    reads: ReadsFrom,
    /// Who has been created, and by which event.
    created: Vec<(ProcessId, usize)>,
}

impl Indexed {
    /// Appends a step of one of the processes: 0 and 1 are there from the start, others are created.
    fn push(&mut self, random: &mut Random) {
        let processes: Vec<ProcessId> =
            [0, 1].map(ProcessId).into_iter().chain(self.created.iter().map(|&(p, _)| p)).collect();
        let process = processes[random.below(processes.len())];
        let mut label = Label::default();
        for _ in 0..random.below(4) {
            let kinds = [AccessKind::Read, AccessKind::Read, AccessKind::Write, AccessKind::Update];
            label.touch(Location(random.below(4) as u32), kinds[random.below(4)]);
        }
        if random.below(8) == 0 && processes.len() < 12 {
            let child = ProcessId(processes.len() as u32);
            label.spawned.push(child);
            self.created.push((child, self.trace.len()));
        }
        self.order.enter(&self.trace, process, &label, |_, _| true);
        self.trace.push(process, 0, 1, &label);
        self.reads.enter(&self.trace);
    }

    fn truncate(&mut self, len: usize) {
        self.reads.truncate(&self.trace, len);
        self.order.truncate(len);
        self.trace.truncate(len);
        self.created.retain(|&(_, by)| by < len);
    }

    fn check(&self) {
        let pairwise = Order::mazurkiewicz(&self.trace);
        let anew = HappensBefore::of(&self.trace);
        for j in 0..self.trace.len() {
            for i in 0..j {
                assert_eq!(self.order.happens_before(i, j), pairwise.before(i, j), "events {i} and {j}");
            }
            assert_eq!(self.order.races(j), anew.races(j));
            // A race: ordered, and nothing between them but what has to come before the later one anyhow.
            for race in self.order.races(j) {
                assert!(pairwise.before(race.first as usize, j));
            }
            for read in self.reads.reads(j) {
                let last = (0..j).rev().find(|&i| self.trace.writes(i, read.location));
                assert_eq!(read.source.map(|source| source as usize), last, "event {j}, {:?}", read.location);
            }
            let read = |kind| matches!(kind, AccessKind::Read | AccessKind::Update);
            // A label may name a location more than once.
            let reads = self.trace.accesses(j).iter().filter(|access| read(access.kind));
            let locations: BTreeSet<Location> = reads.flat_map(|access| access.locations()).collect();
            assert_eq!(self.reads.reads(j).len(), locations.len());
            assert!(self.reads.reads(j).iter().all(|read| locations.contains(&read.location)));
        }
    }
}

#[test]
fn indices_follow_their_trace() {
    let mut random = Random(0x5eed);
    let mut indexed = Indexed::default();
    for round in 0..3_000 {
        match random.below(3) {
            0 if !indexed.trace.is_empty() => {
                let len = random.below(indexed.trace.len());
                indexed.truncate(len.max(indexed.trace.len().saturating_sub(9)));
            }
            _ => (0..random.below(5)).for_each(|_| indexed.push(&mut random)),
        }
        if indexed.trace.len() > 40 {
            indexed.truncate(20);
        }
        if round % 5 == 0 {
            indexed.check();
        }
    }
}
