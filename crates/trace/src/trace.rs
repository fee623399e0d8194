//! An execution that grows and shrinks at its end: its events, in the order in which they happened.
//!
//! Everything lies in flat arrays that grow and shrink together: an event knows where its parts begin, so
//! that going back is to cut each array once. What is derived from events (their order, who reads from whom)
//! is in indices of its own, which grow and shrink beside the trace where they are asked for.

use mazurka_program::{Access, Divergence, Guard, Label, Location, ProcessId, Run, Step, follow};

/// A sequence of events.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    events: Vec<Event>,
    accesses: Vec<Access>,
    spawned: Vec<ProcessId>,
    waited_for: Vec<Location>,
    processes: Vec<History>,
    special: Vec<u32>,
}

/// What is known of an event.
#[derive(Clone, Debug)]
struct Event {
    process: ProcessId,
    /// The ordinal among the events of its process, from 1.
    index: u32,
    choice: u32,
    alternatives: u32,
    guard: Option<Guard>,
    varies: bool,
    /// Its part of the array of accesses.
    accesses: (u32, u32),
    /// Where its parts begin in the arrays of these names.
    spawned: u32,
    waited_for: u32,
}

/// The events of one process.
#[derive(Clone, Debug, Default)]
struct History {
    positions: Vec<u32>,
    birth: Option<u32>,
}

impl Trace {
    /// The empty trace.
    pub fn new() -> Trace {
        Trace::default()
    }

    /// The trace of a schedule that is taken on a run; `with` is told the label of each step after it.
    ///
    /// # Errors
    /// If a step is not possible.
    pub fn along<R: Run>(
        run: &mut R,
        steps: &[Step],
        mut with: impl FnMut(&R, &Label),
    ) -> Result<Trace, Divergence> {
        let (mut trace, mut label) = (Trace::new(), Label::default());
        follow(run, steps, |run, process, choice| {
            let alternatives = run.alternatives(process);
            run.step(process, choice, &mut label)?;
            trace.push(process, choice, alternatives, &label);
            with(run, &label);
            Ok(())
        })?;
        Ok(trace)
    }

    /// The number of events.
    #[inline]
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// Whether there is no event.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// The process of the event at a position.
    #[inline]
    pub fn process(&self, position: usize) -> ProcessId {
        self.events[position].process
    }

    /// The outcome of the event at a position.
    #[inline]
    pub fn choice(&self, position: usize) -> u32 {
        self.events[position].choice
    }

    /// How many outcomes the event at a position could have had.
    #[inline]
    pub fn alternatives(&self, position: usize) -> u32 {
        self.events[position].alternatives
    }

    /// The ordinal of the event at a position among those of its process, from 1.
    #[inline]
    pub fn index(&self, position: usize) -> u32 {
        self.events[position].index
    }

    /// The guard of the event at a position.
    #[inline]
    pub fn guard(&self, position: usize) -> Option<Guard> {
        self.events[position].guard
    }

    /// Whether the event at a position might have touched other locations in another place.
    #[inline]
    pub fn varies(&self, position: usize) -> bool {
        self.events[position].varies
    }

    /// What the event at a position touched.
    #[inline]
    pub fn accesses(&self, position: usize) -> &[Access] {
        let (from, to) = self.events[position].accesses;
        &self.accesses[from as usize..to as usize]
    }

    /// The processes that the event at a position created.
    pub fn spawned(&self, position: usize) -> &[ProcessId] {
        let end = self.events.get(position + 1).map_or(self.spawned.len(), |next| next.spawned as usize);
        &self.spawned[self.events[position].spawned as usize..end]
    }

    /// The locations whose writers the event at a position had to wait for ([`Label::waited_for`]).
    #[inline]
    pub fn waited_for(&self, position: usize) -> &[Location] {
        let end =
            self.events.get(position + 1).map_or(self.waited_for.len(), |next| next.waited_for as usize);
        &self.waited_for[self.events[position].waited_for as usize..end]
    }

    /// The positions of the events that waited, that vary, or that could have had other outcomes: in most
    /// programs they are few.
    #[inline]
    pub fn special(&self) -> &[u32] {
        &self.special
    }

    /// Whether the event at a position is none of those.
    #[inline]
    pub fn is_plain(&self, position: usize) -> bool {
        let event = &self.events[position];
        event.guard.is_none()
            && !event.varies
            && event.alternatives == 1
            && self.waited_for(position).is_empty()
    }

    /// The positions of a process's events.
    #[inline]
    pub fn positions(&self, process: ProcessId) -> &[u32] {
        self.processes.get(process.index()).map_or(&[], |history| &history.positions)
    }

    /// The number of processes that the trace has room for; every process in it has a smaller number.
    pub fn width(&self) -> usize {
        self.processes.len()
    }

    /// The event after which the next event of a process comes in program order: its last one, or its
    /// creation.
    #[inline]
    pub fn previous(&self, process: ProcessId) -> Option<usize> {
        let history = self.processes.get(process.index())?;
        history.positions.last().copied().or(history.birth).map(|position| position as usize)
    }

    /// The event after which the one at a position comes in program order: the one before it of its process, or
    /// the creation of that.
    #[inline]
    pub fn before(&self, position: usize) -> Option<usize> {
        let event = &self.events[position];
        let history = &self.processes[event.process.index()];
        let before = match event.index {
            1 => history.birth,
            index => Some(history.positions[index as usize - 2]),
        };
        before.map(|position| position as usize)
    }

    /// Whether the event at a position writes a location.
    pub fn writes(&self, position: usize, location: Location) -> bool {
        self.accesses(position)
            .iter()
            .any(|access| !access.kind.is_read() && access.overlaps(Access::one(location, access.kind)))
    }

    /// Whether the event at a position reads or writes a location.
    pub fn touches(&self, position: usize, location: Location) -> bool {
        self.accesses(position).iter().any(|access| access.overlaps(Access::one(location, access.kind)))
    }

    /// The label of the event at a position.
    pub fn label(&self, position: usize) -> Label {
        Label {
            accesses: self.accesses(position).to_vec(),
            guard: self.guard(position),
            waited_for: self.waited_for(position).to_vec(),
            spawned: self.spawned(position).to_vec(),
            varies: self.varies(position),
            returns: false,
        }
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        self.events.capacity() * size_of::<Event>() + self.accesses.capacity() * size_of::<Access>()
    }

    /// Appends an event.
    pub fn push(&mut self, process: ProcessId, choice: u32, alternatives: u32, label: &Label) {
        let mut most = process.index();
        for child in &label.spawned[..] {
            most = most.max(child.index());
        }
        if most >= self.processes.len() {
            self.processes.resize_with(most + 1, History::default);
        }
        let history = &mut self.processes[process.index()].positions;
        history.push(self.events.len() as u32);
        let index = history.len() as u32;
        let accesses = self.accesses.len() as u32;
        label.accesses.iter().for_each(|&access| self.accesses.push(access));
        let event = Event {
            process,
            index,
            choice,
            alternatives,
            guard: label.guard,
            varies: label.varies,
            accesses: (accesses, self.accesses.len() as u32),
            spawned: self.spawned.len() as u32,
            waited_for: self.waited_for.len() as u32,
        };
        if !(label.spawned.is_empty() && label.waited_for.is_empty()) {
            self.enter_others(label);
        }
        if label.guard.is_some() || label.varies || alternatives > 1 || !label.waited_for.is_empty() {
            self.special.push(self.events.len() as u32);
        }
        self.events.push(event);
    }

    /// Enters the parts of a label that few have.
    fn enter_others(&mut self, label: &Label) {
        for &child in &label.spawned {
            self.processes[child.index()].birth = Some(self.events.len() as u32);
        }
        self.spawned.extend_from_slice(&label.spawned);
        self.waited_for.extend_from_slice(&label.waited_for);
    }

    /// Forgets all events from a position on.
    pub fn truncate(&mut self, len: usize) {
        let Some(first) = self.events.get(len) else { return };
        for child in &self.spawned[first.spawned as usize..] {
            self.processes[child.index()].birth = None;
        }
        for event in &self.events[len..] {
            self.processes[event.process.index()].positions.pop();
        }
        while self.special.last().is_some_and(|&last| last as usize >= len) {
            self.special.pop();
        }
        self.accesses.truncate(first.accesses.0 as usize);
        self.spawned.truncate(first.spawned as usize);
        self.waited_for.truncate(first.waited_for as usize);
        self.events.truncate(len);
    }
}
