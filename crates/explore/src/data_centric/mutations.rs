//! The mutations of a maximal execution (lines 1-3 of algorithm 2, as bursts): for each event that is not
//! pinned and each other write that it could observe, the cone that it would have.
//!
//! The writes are those of the execution, with the pasts that they have there. A step that reads several
//! cells observes a write at each, so all combinations are tried. A step that waits is mutated too, whether
//! it was taken or its process waits at the end (CX15); but only to writes after which its guard holds.

use mazurka_program::{AccessKind, Guard, Location, ProcessId, Run};
use mazurka_trace::Trace;

use super::Repairs;
use super::annotation::Annotation;
use super::architecture::{Cell, cell};
use super::cones::{ConeId, Cones, NONE, Place};
use super::present::Present;

/// At most so many combinations of writes are tried for one step.
const MOST_COMBINATIONS: usize = 10_000;

/// Why there is no list.
pub(super) enum NoList {
    /// A step reads many cells, each with many writes.
    TooMany,
    /// A step waits for the value of a variable.
    Awaits,
}

/// The mutations of the present execution, in the order in which they are to be tried.
pub(super) fn mutations(
    run: &dyn Run,
    trace: &Trace,
    present: &Present,
    annotation: &Annotation,
    cones: &mut Cones,
    repairs: &Repairs,
) -> Result<Vec<ConeId>, NoList> {
    let clocks = Clocks::new(trace, present, cones);
    let mut list =
        Lister { run, trace, present, clocks, cones, repairs, found: Vec::new(), sources: Vec::new() };
    for position in 0..trace.len() {
        if !annotation.is_pinned(present.cones[position]) {
            list.taken(position)?;
        }
    }
    if repairs.pending {
        let mut waiting = Vec::new();
        run.waiting(&mut |process, guard| waiting.extend(guard.map(|guard| (process, guard))));
        waiting.into_iter().for_each(|(process, guard)| list.waiting(process, guard));
    }
    Ok(list.found)
}

/// By event and process, how many events of that process are in its causal past, itself included.
struct Clocks {
    clocks: Vec<u32>,
    width: usize,
}

impl Clocks {
    fn new(trace: &Trace, present: &Present, cones: &Cones) -> Clocks {
        let width = trace.width();
        let mut clocks = vec![0; trace.len() * width];
        // By number of a cone, its position; the cones of an execution are few and their numbers may be
        // large.
        let mut positions: Vec<(ConeId, usize)> =
            present.cones.iter().enumerate().map(|(at, &cone)| (cone, at)).collect();
        positions.sort_unstable();
        for (at, &cone) in present.cones.iter().enumerate() {
            let (earlier, rest) = clocks.split_at_mut(at * width);
            let clock = &mut rest[..width];
            for parent in cones.event(cone).parents() {
                let Ok(found) = positions.binary_search_by_key(&parent, |pair| pair.0) else { continue };
                let from = &earlier[positions[found].1 * width..][..width];
                clock.iter_mut().zip(from).for_each(|(known, &other)| *known = (*known).max(other));
            }
            clock[trace.process(at).index()] = trace.index(at);
        }
        Clocks { clocks, width }
    }

    /// How many events of a process are in the past of the event at a position.
    fn at(&self, position: usize, process: ProcessId) -> u32 {
        // A process that has taken no step may have no place.
        if process.index() < self.width { self.clocks[position * self.width + process.index()] } else { 0 }
    }
}

struct Lister<'a> {
    run: &'a dyn Run,
    trace: &'a Trace,
    present: &'a Present,
    clocks: Clocks,
    cones: &'a mut Cones,
    repairs: &'a Repairs,
    found: Vec<ConeId>,
    /// The writes that a read may observe: positions, none for the initial value.
    sources: Vec<Option<usize>>,
}

impl Lister<'_> {
    /// Whether the event at one position is in the causal past of the one at another, or that one.
    fn past(&self, first: usize, second: usize) -> bool {
        self.clocks.at(second, self.trace.process(first)) >= self.trace.index(first)
    }

    /// Makes `sources` the writes of a cell that a read of a process could observe, as far as its past and
    /// theirs tell: not in the future of the read, and not overwritten in its past.
    fn observable(&mut self, cell: Cell, process: ProcessId, index: u32, previous: Option<usize>) {
        self.sources.clear();
        let writers = self.present.writers(cell);
        // The last write of each process in the past of the read.
        let mut known: Vec<usize> = Vec::new();
        for &writer in writers {
            let writer = writer as usize;
            if previous.is_some_and(|previous| self.past(writer, previous)) {
                known.retain(|&other| self.trace.process(other) != self.trace.process(writer));
                known.push(writer);
            }
        }
        if known.is_empty() {
            self.sources.push(None);
        }
        for &writer in writers {
            let writer = writer as usize;
            let later = self.clocks.at(writer, process) >= index;
            if !later && !known.iter().any(|&other| other != writer && self.past(writer, other)) {
                self.sources.push(Some(writer));
            }
        }
    }

    fn cone_at(&self, position: Option<usize>) -> ConeId {
        position.map_or(NONE, |position| self.present.cones[position])
    }

    /// Whether a guard would hold where it observes a write.
    fn holds(&self, guard: Guard, write: Option<usize>) -> bool {
        !self.repairs.guard_must_hold || self.run.guard_holds_at(guard.id, write.map_or(0, |at| at + 1))
    }

    /// The mutations of an event.
    fn taken(&mut self, position: usize) -> Result<(), NoList> {
        let cone = self.present.cones[position];
        let event = self.cones.event(cone).clone();
        let place = Place {
            process: event.process,
            index: event.index,
            choice: event.choice,
            previous: event.previous,
        };
        // What a step writes may depend on what it reads, and on its outcome: then it is found out.
        let varies = self.trace.varies(position) && self.repairs.varying;
        let writes: &[Cell] = if varies { &[] } else { &event.writes };
        let reads: Vec<(Cell, ConeId)> = event.sources().collect();
        let mut choices: Vec<Vec<ConeId>> = Vec::with_capacity(reads.len());
        for &(cell, source) in &reads {
            choices.push(self.choices(position, cell, source)?);
        }
        let many = choices.iter().try_fold(1_usize, |many, choices| many.checked_mul(choices.len()));
        if many.is_none_or(|many| many > MOST_COMBINATIONS) {
            return Err(NoList::TooMany);
        }
        // Counts through all combinations; the first is that of the execution.
        let mut at = vec![0; reads.len()];
        while advance(&mut at, &choices) {
            let sources =
                reads.iter().zip(&at).zip(&choices).map(|((&(cell, _), &k), choices)| (cell, choices[k]));
            self.found.push(self.cones.number(place, sources, writes));
        }
        for choice in (0..self.trace.alternatives(position)).filter(|&choice| choice != event.choice) {
            let cone = self.cones.number(Place { choice, ..place }, reads.iter().copied(), &[]);
            self.found.push(cone);
        }
        Ok(())
    }

    /// What an event may observe at a cell, what it does observe first.
    fn choices(&mut self, position: usize, at: Cell, source: ConeId) -> Result<Vec<ConeId>, NoList> {
        let mut choices = vec![source];
        // What a step has waited for, and only its process can undo, it observes in any case.
        if self.trace.waited_for(position).iter().any(|&location| cell(location) == at) || self.is_once(at) {
            return Ok(choices);
        }
        let (process, index) = (self.trace.process(position), self.trace.index(position));
        let guard = self.trace.guard(position).filter(|guard| cell(guard.location) == at);
        self.observable(at, process, index, self.before(position));
        for k in 0..self.sources.len() {
            let write = self.sources[k];
            let other = self.cone_at(write);
            if guard.is_none_or(|guard| self.holds(guard, write)) {
                if other != source {
                    choices.push(other);
                }
            } else if !self.trace.writes(position, Location(at / 2)) {
                // Whether it waits at the end would not follow from what is observed.
                return Err(NoList::Awaits);
            }
        }
        Ok(choices)
    }

    /// Whether a cell is written once and for all: then it can't be read before, and there is one write to
    /// observe.
    fn is_once(&self, at: Cell) -> bool {
        let once = |writer: usize| {
            let mut accesses = self.trace.accesses(writer).iter();
            accesses
                .any(|access| access.kind == AccessKind::Once && access.locations().any(|l| cell(l) == at))
        };
        self.present.writers(at).iter().any(|&writer| once(writer as usize))
    }

    /// The position before that of an event, in program order or by creation.
    fn before(&self, position: usize) -> Option<usize> {
        let process = self.trace.process(position);
        match self.trace.index(position) {
            1 => (0..position).rev().find(|&at| self.trace.spawned(at).contains(&process)),
            index => self.trace.positions(process).get(index as usize - 2).map(|&at| at as usize),
        }
    }

    /// The mutations of a step that was not taken: its process waits at the end.
    fn waiting(&mut self, process: ProcessId, guard: Guard) {
        let index = self.trace.positions(process).len() as u32 + 1;
        let previous = self.trace.previous(process);
        let place = Place { process, index, choice: 0, previous: self.cone_at(previous) };
        let at = cell(guard.location);
        self.observable(at, process, index, previous);
        for k in 0..self.sources.len() {
            let write = self.sources[k];
            if self.holds(guard, write) {
                let source = self.cone_at(write);
                self.found.push(self.cones.number(place, std::iter::once((at, source)), &[at]));
            }
        }
    }
}

/// The next combination; none after the last.
fn advance(at: &mut [usize], choices: &[Vec<ConeId>]) -> bool {
    for (k, choices) in at.iter_mut().zip(choices) {
        *k += 1;
        if *k < choices.len() {
            return true;
        }
        *k = 0;
    }
    false
}
