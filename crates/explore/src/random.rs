//! `random`: random walks, for programs that are too large to be searched. Each step is one of those that can
//! be taken, all equally likely, with an outcome drawn likewise. What fails is a failure; that nothing fails
//! says nothing.
//!
//! The seed is that of [`Order::Shuffled`], 0 if the order is natural. The number of walks and the time are
//! the limits of executions and time; without either there are [`WALKS`]. A walk is drawn from the seed and its own
//! number, so a part of a search is a range of numbers.

use std::ops::{ControlFlow, Range};

use mazurka_program::{Names, ProcessId, ProcessSet};

use crate::sharing::{Cut, Next, Sharing};
use crate::walk::Walk;
use crate::{Algorithm, Ending, NotExhaustive, Options, Order, Summary};

/// How many walks there are if nothing else says when to stop.
const WALKS: u64 = 10_000;

/// So many parts at most are cut off from what is left at a time.
const MOST_PARTS: u64 = 64;

pub(crate) fn search(mut walk: Walk<'_>) -> Summary {
    // The answer is in the summary: a search that ends early has noted why.
    let walks = RandomSharing::whole(walk.options);
    let _ = run(&mut walk, walks);
    let _ = walk.note_memory(0);
    walk.summary()
}

#[derive(Default)]
pub(crate) struct RandomSharing;

impl Sharing for RandomSharing {
    const ALGORITHM: Algorithm = Algorithm::Random;
    type Part = Range<u64>;
    type Found = ();

    fn whole(options: &Options) -> Range<u64> {
        let limits = &options.limits;
        0..limits.executions.unwrap_or(if limits.time.is_some() { u64::MAX } else { WALKS })
    }

    /// How many walks there are is known beforehand, so a limit of them needs no counting of the whole.
    fn explore(mut walk: Walk<'_>, part: Range<u64>, _: u64) -> Cut<Range<u64>, ()> {
        let size = walk.options.items.first.max(1);
        let cut = part.end.min(part.start.saturating_add(size));
        let is_over = run(&mut walk, part.start..cut).is_break() | walk.note_memory(0).is_break();
        let rest = if is_over { Vec::new() } else { cut_up(cut..part.end, size) };
        Cut { summary: walk.summary(), is_over, rest, found: () }
    }

    fn put_in(&mut self, (): ()) -> Next<Range<u64>> {
        Next::With(Vec::new())
    }
}

/// Ranges of this size, and what comes after them as one.
fn cut_up(range: Range<u64>, size: u64) -> Vec<Range<u64>> {
    let mut parts = Vec::new();
    let mut from = range.start;
    for _ in 1..MOST_PARTS {
        let to = range.end.min(from.saturating_add(size));
        parts.push(from..to);
        from = to;
    }
    parts.push(from..range.end);
    parts.retain(|part| !part.is_empty());
    parts
}

fn run(walk: &mut Walk<'_>, walks: Range<u64>) -> ControlFlow<()> {
    let limits = walk.options.limits;
    let many = (walks.end - walks.start).min(WALKS) as usize;
    let mut places = Places::default();
    for (done, number) in walks.enumerate() {
        let mut chance = Chance::of_walk(walk.options.order, number);
        let ending = to_the_end(walk, &mut chance, &mut places)?;
        walk.end(ending)?;
        if Some(number + 1) == limits.executions {
            return walk.stop(NotExhaustive::Executions(number + 1));
        }
        walk.back_to(0);
        if walk.progress_due {
            walk.report_progress([(done.min(many), many)].into_iter())?;
        }
    }
    ControlFlow::Continue(())
}

/// One walk, from the start.
fn to_the_end(walk: &mut Walk<'_>, chance: &mut Chance, places: &mut Places) -> ControlFlow<(), Ending> {
    loop {
        places.meet(walk.run.names());
        let enabled = walk.enabled();
        let Some(process) = places.nth(enabled, chance.below(enabled.len())) else {
            return ControlFlow::Continue(walk.maximal_ending());
        };
        if walk.too_deep() {
            return ControlFlow::Continue(Ending::Cut);
        }
        let choice = chance.below(walk.run.alternatives(process) as usize);
        walk.step(process, choice as u32)?;
    }
}

/// The places of processes among all by their names. Numbers differ from run to run, and a walk is to be the same in
/// whichever part of a search.
#[derive(Default)]
struct Places {
    places: Vec<usize>,
    /// Whether that is the order of the numbers.
    as_numbered: bool,
}

impl Places {
    /// Brings the processes up to date. That others are met later changes no comparison.
    fn meet(&mut self, names: &Names) {
        if names.len() == self.places.len() {
            return;
        }
        let mut paths: Vec<(Vec<u32>, usize)> =
            (0..names.len()).map(|number| (names.path(ProcessId(number as u32)), number)).collect();
        paths.sort_unstable();
        self.as_numbered = paths.is_sorted_by_key(|(_, number)| *number);
        self.places.resize(names.len(), 0);
        paths.iter().enumerate().for_each(|(place, (_, number))| self.places[*number] = place);
    }

    /// That one of some processes before which there are so many of them.
    fn nth(&self, processes: &ProcessSet, many: usize) -> Option<ProcessId> {
        if self.as_numbered {
            return processes.iter().nth(many);
        }
        let mut all: Vec<ProcessId> = processes.iter().collect();
        all.sort_unstable_by_key(|process| self.places[process.index()]);
        all.get(many).copied()
    }
}

/// Numbers from a seed (splitmix64).
pub(crate) struct Chance(u64);

impl Chance {
    pub fn new(order: Order) -> Chance {
        Chance::of_walk(order, 0)
    }

    /// For the walk of this number.
    fn of_walk(order: Order, number: u64) -> Chance {
        let seed = match order {
            Order::Natural => 0,
            Order::Shuffled(seed) => seed,
        };
        // Numbers that follow each other are to begin far apart.
        Chance(seed ^ mix(number))
    }

    /// One of so many, from 0; 0 of none.
    pub fn below(&mut self, many: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        (mix(self.0) % many.max(1) as u64) as usize
    }
}

fn mix(mut number: u64) -> u64 {
    number = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    number = (number ^ (number >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    number ^ (number >> 31)
}
