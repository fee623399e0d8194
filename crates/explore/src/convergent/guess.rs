//! Guesses of what processes will do, from what they did elsewhere: they choose where to begin, and nothing
//! depends on them.
//!
//! What the `i`th step of a process did when it was met last is a good guess of what it will do. From that
//! the persistent set can be guessed that the search will end up with if it begins with a process, and the
//! smallest is chosen.

use mazurka_program::{Location, ProcessId, ProcessSet};
use mazurka_trace::Trace;

use super::records::{RecordId, RecordSet, Records};

#[derive(Debug, Default)]
pub(crate) struct Guesses {
    /// For each process, what its steps did, each when it was met last.
    steps: Vec<Vec<RecordId>>,
    /// For each process, who created it.
    parents: Vec<Option<ProcessId>>,
    /// What is still to come.
    future: RecordSet,
}

/// Where it is to be chosen.
#[derive(Clone, Copy)]
pub(crate) struct Here<'a> {
    pub trace: &'a Trace,
    pub enabled: &'a ProcessSet,
    pub waiting: &'a [(ProcessId, Option<Location>)],
}

impl Guesses {
    /// Learns what the last step of a trace did.
    pub fn learn(&mut self, trace: &Trace, record: RecordId) {
        let last = trace.len() - 1;
        let (process, index) = (trace.process(last), trace.index(last) as usize - 1);
        self.reserve(process);
        let steps = &mut self.steps[process.index()];
        match steps.get_mut(index) {
            Some(step) => *step = record,
            // Every step before it has been met, on this very trace.
            None => steps.push(record),
        }
        for &child in trace.spawned(last) {
            self.reserve(child);
            self.parents[child.index()] = Some(process);
        }
    }

    fn reserve(&mut self, process: ProcessId) {
        if process.index() >= self.steps.len() {
            self.steps.resize_with(process.index() + 1, Vec::new);
            self.parents.resize(process.index() + 1, None);
        }
    }

    /// The processes of a set with which the smallest persistent sets begin.
    pub fn best(&mut self, among: &ProcessSet, here: Here<'_>, records: &mut Records) -> ProcessSet {
        let mut future = std::mem::take(&mut self.future);
        future.clear();
        for (process, steps) in self.steps.iter().enumerate() {
            let taken = here.trace.positions(ProcessId(process as u32)).len();
            steps.iter().skip(taken).for_each(|&record| future.insert(record));
        }
        self.future = future;
        let (mut least, mut best) = (usize::MAX, ProcessSet::new());
        for process in among.iter() {
            let size = self.size(process, here, records, least);
            if size < least {
                (least, best) = (size, ProcessSet::new());
            }
            if size == least {
                best.insert(process);
            }
        }
        best
    }

    /// The next step of a process.
    fn next(&self, process: ProcessId, trace: &Trace) -> Option<RecordId> {
        self.steps.get(process.index())?.get(trace.positions(process).len()).copied()
    }

    /// How large the set will be that begins with a process; anything above `most` if it is larger than that.
    fn size(&self, first: ProcessId, here: Here<'_>, records: &mut Records, most: usize) -> usize {
        let mut set = vec![first];
        let mut asked: ProcessSet = [first].into_iter().collect();
        let mut at = 0;
        while at < set.len() && set.len() <= most {
            let step = self.next(set[at], here.trace);
            at += 1;
            let conflicts = step.map_or(Vec::new(), |step| records.reversible(self.future.words(), step));
            let mut needed: Vec<ProcessId> =
                conflicts.iter().map(|&record| records.get(record).process).collect();
            while let Some(q) = needed.pop() {
                if asked.contains(q) {
                    continue;
                }
                asked.insert(q);
                if here.enabled.contains(q) {
                    set.push(q);
                } else {
                    self.enablers(q, here, records, &mut needed);
                }
            }
        }
        set.len()
    }

    /// Who creates a process, or writes what it waits for.
    fn enablers(&self, q: ProcessId, here: Here<'_>, records: &Records, found: &mut Vec<ProcessId>) {
        let Some((_, guard)) = here.waiting.iter().find(|(process, _)| *process == q) else {
            found.extend(self.parents.get(q.index()).copied().flatten());
            return;
        };
        let mut awaited: Vec<Location> = guard.iter().copied().collect();
        if let Some(next) = self.next(q, here.trace) {
            awaited.extend_from_slice(&records.get(next).waited_for);
        }
        let to_come = super::records::members(self.future.words()).map(|record| records.get(record));
        let writers = to_come.filter(|record| awaited.iter().any(|&location| record.writes(location)));
        found.extend(writers.map(|record| record.process));
    }
}
