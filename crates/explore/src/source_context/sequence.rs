//! Sequences of events that sleep, as in CAV 2017: those of the algorithm as printed, and of the sound one.

use std::rc::Rc;

use mazurka_program::{Access, ProcessId};
use mazurka_trace::Trace;
use mazurka_trace::dependence::dependent;

/// An event of a sequence: a process with one outcome of its step, and what the step touches.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub process: ProcessId,
    pub choice: u32,
    pub accesses: Rc<[Access]>,
}

impl Event {
    /// The event of a trace at a position.
    pub fn at(trace: &Trace, position: usize) -> Event {
        Event {
            process: trace.process(position),
            choice: trace.choice(position),
            accesses: trace.accesses(position).into(),
        }
    }

    pub fn is(&self, process: ProcessId, choice: u32) -> bool {
        self.process == process && self.choice == choice
    }
}

/// A sequence that sleeps: its events from `next` on; the others have been taken.
#[derive(Clone, Debug)]
pub(crate) struct Sequence {
    events: Rc<[Event]>,
    next: usize,
}

impl Sequence {
    pub fn new(events: Rc<[Event]>) -> Sequence {
        Sequence { events, next: 0 }
    }

    /// One event.
    pub fn single(event: Event) -> Sequence {
        Sequence::new(Rc::new([event]))
    }

    pub fn rest(&self) -> &[Event] {
        &self.events[self.next..]
    }

    /// Lines 15-16: what is left of it behind a step; none if the step wakes it.
    pub fn behind(&self, process: ProcessId, choice: u32, step: &[Access]) -> Option<Sequence> {
        let rest = self.rest();
        if rest[0].is(process, choice) {
            let next = self.next + 1;
            return (next < self.events.len()).then(|| Sequence { events: self.events.clone(), next });
        }
        let wakes = |event: &Event| event.process == process || dependent(&event.accesses, step);
        (!rest.iter().any(wakes)).then(|| self.clone())
    }

    /// The last step of a sequence that was added by line 14, if nothing else is left of it.
    pub fn last_left(&self) -> Option<&Event> {
        match self.rest() {
            [last] if self.events.len() > 1 => Some(last),
            _ => None,
        }
    }

    /// Bytes held. Events are counted where the sequence began to sleep.
    pub fn memory(&self) -> usize {
        let events = if self.next == 0 { self.events.len() } else { 0 };
        size_of::<Sequence>() + events * size_of::<Event>()
    }
}

/// `sleep(E)`: the sequences that sleep at a node.
#[derive(Default)]
pub(crate) struct Sleeping(pub Vec<Sequence>);

impl Sleeping {
    /// Whether an event sleeps: it is all that is left of a sequence.
    pub fn sleeps(&self, process: ProcessId, choice: u32) -> bool {
        self.0.iter().any(|sequence| matches!(sequence.rest(), [event] if event.is(process, choice)))
    }

    pub fn sleeps_altogether(&self, process: ProcessId, alternatives: u32) -> bool {
        (0..alternatives).all(|choice| self.sleeps(process, choice))
    }

    /// Lines 15-16: those that sleep behind a step.
    pub fn behind(&self, process: ProcessId, choice: u32, step: &[Access]) -> Sleeping {
        Sleeping(self.0.iter().filter_map(|sequence| sequence.behind(process, choice, step)).collect())
    }

    /// Line 18: the last event of a trace will only be repeated from now on.
    pub fn add_last(&mut self, trace: &Trace) {
        if let Some(last) = trace.len().checked_sub(1) {
            self.0.push(Sequence::single(Event::at(trace, last)));
        }
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        self.0.iter().map(Sequence::memory).sum()
    }
}
