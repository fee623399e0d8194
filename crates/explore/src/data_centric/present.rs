//! The present execution as observations: the cone of each event, and who wrote each cell. It grows and
//! shrinks beside the trace.

use mazurka_program::ProcessId;
use mazurka_trace::Trace;

use super::architecture::{Cell, Footprint};
use super::cones::{ConeId, Cones, NONE, Place};

#[derive(Default)]
pub(crate) struct Present {
    /// By position, the cone of the event.
    pub cones: Vec<ConeId>,
    /// By cell, the positions of those that wrote it.
    writers: Vec<Vec<u32>>,
}

impl Present {
    /// The cone before the next event of a process.
    pub fn previous(&self, trace: &Trace, process: ProcessId) -> ConeId {
        trace.previous(process).map_or(NONE, |position| self.cones[position])
    }

    /// Who wrote a cell so far.
    pub fn writers(&self, cell: Cell) -> &[u32] {
        self.writers.get(cell as usize).map_or(&[], |writers| writers)
    }

    /// The write that a read of a cell would observe.
    fn source(&self, cell: Cell) -> ConeId {
        self.writers(cell).last().map_or(NONE, |&position| self.cones[position as usize])
    }

    /// Enters the event that was pushed last: its cone. `previous` is the one before it.
    pub fn enter(
        &mut self,
        cones: &mut Cones,
        trace: &Trace,
        previous: ConeId,
        footprint: &Footprint,
    ) -> ConeId {
        let position = trace.len() - 1;
        debug_assert_eq!(position, self.cones.len());
        let (process, index, choice) =
            (trace.process(position), trace.index(position), trace.choice(position));
        let sources = footprint.reads.iter().map(|&cell| (cell, self.source(cell)));
        let cone = cones.number(Place { process, index, choice, previous }, sources, &footprint.writes);
        for &cell in &footprint.writes {
            let at = cell as usize;
            if at >= self.writers.len() {
                self.writers.resize_with(at + 1, Vec::new);
            }
            self.writers[at].push(position as u32);
        }
        self.cones.push(cone);
        cone
    }

    /// Forgets all events from a position on.
    pub fn truncate(&mut self, cones: &Cones, len: usize) {
        for cone in self.cones.drain(len.min(self.cones.len())..) {
            for &cell in cones.event(cone).writes.iter() {
                self.writers[cell as usize].pop();
            }
        }
    }

    /// How many of the first events are those of a list.
    pub fn common(&self, with: &[ConeId]) -> usize {
        self.cones.iter().zip(with).take_while(|(a, b)| a == b).count()
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        let lists: usize = self.writers.iter().map(|list| list.capacity() * 4 + size_of::<Vec<u32>>()).sum();
        lists + self.cones.capacity() * size_of::<ConeId>()
    }
}
