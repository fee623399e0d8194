//! Which write each read reads from: an index over the events of a trace.

use mazurka_program::{AccessKind, Location};

use crate::Trace;

/// The sources of the reads of a trace. Memory is sequentially consistent: a read sees the last write before
/// it.
#[derive(Clone, Debug, Default)]
pub struct ReadsFrom {
    /// For each event, where its reads begin.
    events: Vec<u32>,
    reads: Vec<Read>,
    /// For each location, the positions of those that wrote it.
    writers: Vec<Vec<u32>>,
}

/// What an event read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read {
    /// Where.
    pub location: Location,
    /// The position of the event that wrote it; none if it is the initial value.
    pub source: Option<u32>,
}

impl ReadsFrom {
    /// Enters the event that was pushed last.
    pub fn enter(&mut self, trace: &Trace) {
        let position = self.events.len();
        debug_assert_eq!(position + 1, trace.len());
        self.events.push(self.reads.len() as u32);
        let first = self.reads.len();
        let reads = |kind| matches!(kind, AccessKind::Read | AccessKind::Update);
        for access in trace.accesses(position).iter().filter(|access| reads(access.kind)) {
            for location in access.locations() {
                // A label may name a location more than once.
                if self.reads[first..].iter().all(|read| read.location != location) {
                    let source = self.writers(location).last().copied();
                    self.reads.push(Read { location, source });
                }
            }
        }
        for access in trace.accesses(position).iter().filter(|access| !access.kind.is_read()) {
            let end = (access.first.0 + access.len) as usize;
            if end > self.writers.len() {
                self.writers.resize_with(end, Vec::new);
            }
            for location in access.locations() {
                let writers = &mut self.writers[location.0 as usize];
                if writers.last() != Some(&(position as u32)) {
                    writers.push(position as u32);
                }
            }
        }
    }

    /// What the event at a position read, and from whom.
    pub fn reads(&self, position: usize) -> &[Read] {
        let end = self.events.get(position + 1).map_or(self.reads.len(), |&next| next as usize);
        &self.reads[self.events[position] as usize..end]
    }

    /// The positions of the events that wrote a location, in order.
    #[inline]
    pub fn writers(&self, location: Location) -> &[u32] {
        self.writers.get(location.0 as usize).map_or(&[], |writers| writers)
    }

    /// Forgets all events from a position on, before the trace does.
    pub fn truncate(&mut self, trace: &Trace, len: usize) {
        let Some(&first) = self.events.get(len) else { return };
        for position in len..self.events.len() {
            let writes = trace.accesses(position).iter().filter(|access| !access.kind.is_read());
            for location in writes.flat_map(|access| access.locations()) {
                let writers = &mut self.writers[location.0 as usize];
                while writers.last().is_some_and(|&writer| writer as usize >= len) {
                    writers.pop();
                }
            }
        }
        self.reads.truncate(first as usize);
        self.events.truncate(len);
    }
}
