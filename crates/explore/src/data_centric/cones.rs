//! Causal past cones (section 5.1): an event together with all that it depends on.
//!
//! A cone is an event by its process, its ordinal there and its outcome, the cone of the event before it in
//! program order (or of the one that created its process), and for each cell that it reads the cone of the
//! write that it observes. Processes are deterministic, so a cone says what its event does. Equal cones have
//! equal numbers: so "the reads in the past of this one observe the same" is a comparison of two numbers, and
//! no hash stands for it.

use std::collections::HashMap;
use std::rc::Rc;

use mazurka_program::ProcessId;

use super::architecture::{Cell, Footprint};
use crate::quick_hash::QuickHash;

/// A cone, by its number in [`Cones`].
pub(crate) type ConeId = u32;

/// No cone: the initial value as what is observed, nothing as what comes before.
pub(crate) const NONE: ConeId = u32::MAX;

/// An event, with what is before it.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub process: ProcessId,
    /// The ordinal among the events of its process, from 1.
    pub index: u32,
    pub choice: u32,
    /// The event before it in program order, or the one that created its process.
    pub previous: ConeId,
    /// The cells that it writes, in order.
    pub writes: Rc<[Cell]>,
    /// Whether what it writes was seen; else it is what is expected.
    pub seen: bool,
    key: Rc<[u32]>,
}

/// How many numbers of a key come before what is read.
const HEAD: usize = 4;

impl Event {
    /// The cells that it reads, in order, each with the write that is observed.
    pub fn sources(&self) -> impl Iterator<Item = (Cell, ConeId)> + '_ {
        self.key[HEAD..].chunks_exact(2).map(|pair| (pair[0], pair[1]))
    }

    /// The cones that it depends on directly.
    pub fn parents(&self) -> impl Iterator<Item = ConeId> + '_ {
        let sources = self.sources().map(|(_, source)| source);
        std::iter::once(self.previous).chain(sources).filter(|&parent| parent != NONE)
    }
}

/// All cones that something refers to.
#[derive(Default)]
pub(crate) struct Cones {
    events: Vec<Event>,
    numbers: HashMap<Rc<[u32]>, ConeId, QuickHash>,
    key: Vec<u32>,
    bytes: usize,
}

/// Which event a cone is of, and what is before it in program order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub process: ProcessId,
    pub index: u32,
    pub choice: u32,
    pub previous: ConeId,
}

impl Cones {
    pub fn len(&self) -> usize {
        self.events.len()
    }

    pub fn event(&self, cone: ConeId) -> &Event {
        &self.events[cone as usize]
    }

    /// The number of a cone. `writes` is what its event is expected to write, if it is new.
    pub fn number(
        &mut self,
        place: Place,
        sources: impl Iterator<Item = (Cell, ConeId)>,
        writes: &[Cell],
    ) -> ConeId {
        let Place { process, index, choice, previous } = place;
        self.key.clear();
        self.key.extend([process.0, index, choice, previous]);
        sources.for_each(|(cell, source)| self.key.extend([cell, source]));
        if let Some(&known) = self.numbers.get(&self.key[..]) {
            return known;
        }
        let number = self.events.len() as ConeId;
        let key: Rc<[u32]> = self.key.as_slice().into();
        self.bytes += 4 * key.len() + 2 * size_of::<Event>();
        self.numbers.insert(key.clone(), number);
        self.events.push(Event { process, index, choice, previous, writes: writes.into(), seen: false, key });
        number
    }

    /// Notes what the event of a cone was seen to write. Says whether that was expected; none if something
    /// else was seen before.
    pub fn see(&mut self, cone: ConeId, footprint: &Footprint) -> Option<bool> {
        let event = &mut self.events[cone as usize];
        let expected = *event.writes == *footprint.writes;
        if !expected {
            if event.seen {
                return None;
            }
            event.writes = footprint.writes.as_slice().into();
        }
        event.seen = true;
        Some(expected)
    }

    /// Forgets all cones from a number on.
    pub fn truncate(&mut self, len: usize) {
        for event in self.events.drain(len..) {
            self.bytes -= 4 * event.key.len() + 2 * size_of::<Event>();
            self.numbers.remove(&event.key);
        }
    }

    /// Bytes held, about.
    pub fn memory(&self) -> usize {
        self.bytes
    }
}
