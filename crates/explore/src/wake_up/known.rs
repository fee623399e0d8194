//! What an execution tells of configurations of its own events: who can go on there. A step whose past is in
//! the configuration is the one that the execution took; one that does not vary is the same anywhere; a guard
//! holds if it held before the next of its writers. Where that does not tell, there is no answer.

use mazurka_program::{Guard, Location, ProcessId};
use mazurka_trace::Trace;

use super::accept::Examination;

/// A set of the execution's events that is closed under happens-before.
#[derive(Clone, Default)]
pub(super) struct Configuration {
    /// Of each process, how many of its events are in it.
    pub taken: Vec<u32>,
    pub len: usize,
    /// The position behind its last event.
    end: usize,
}

impl Configuration {
    /// Makes it all of the execution, with room for so many processes.
    pub fn make_all(&mut self, trace: &Trace, room: usize) {
        self.taken.clear();
        self.taken.extend((0..room as u32).map(|p| trace.positions(ProcessId(p)).len() as u32));
        (self.len, self.end) = (trace.len(), trace.len());
    }

    /// Makes another prefix of the execution of one.
    pub fn move_prefix(&mut self, trace: &Trace, len: usize) {
        while self.len > len {
            self.len -= 1;
            self.taken[trace.process(self.len).index()] -= 1;
        }
        while self.len < len {
            self.taken[trace.process(self.len).index()] += 1;
            self.len += 1;
        }
        self.end = len;
    }

    pub fn copy_from(&mut self, other: &Configuration) {
        self.taken.clone_from(&other.taken);
        (self.len, self.end) = (other.len, other.end);
    }

    pub fn take(&mut self, trace: &Trace, position: usize) {
        self.taken[trace.process(position).index()] += 1;
        self.len += 1;
        self.end = self.end.max(position + 1);
    }

    pub fn contains(&self, trace: &Trace, position: usize) -> bool {
        trace.index(position) <= self.taken[trace.process(position).index()]
    }

    pub fn is_prefix(&self) -> bool {
        self.len == self.end
    }
}

impl Examination<'_> {
    /// How many outcomes the step of a process has at `y'`, or at the parent's configuration, as far as the
    /// execution tells; 0 if it can't be taken.
    pub fn known_outcomes(&self, at_parent: bool, process: ProcessId) -> Option<u32> {
        let (trace, known) = (self.trace, &*self.known);
        let at = if at_parent { &known.parent } else { &known.y };
        let own = trace.positions(process);
        let taken = at.taken[process.index()] as usize;
        let Some(&event) = own.get(taken) else { return self.known_outcomes_at_end(at, process) };
        let event = event as usize;
        if taken > 0 && trace.is_plain(event) {
            return Some(1);
        }
        if self.order.past_is_within(event, &at.taken) {
            return Some(trace.alternatives(event));
        }
        if trace.before(event).is_some_and(|before| !at.contains(trace, before)) {
            return Some(0);
        }
        if trace.varies(event) {
            return None;
        }
        let waited_for = trace.waited_for(event);
        if !waited_for.is_empty() {
            // Writers of one location are ordered, so if any happens before the event, the first does.
            let is_missing = |&location: &Location| {
                let next = self.order.next_writer(location, |k| at.contains(trace, k));
                next.is_some_and(|k| k < event && self.order.happens_before(k, event))
            };
            return waited_for.iter().any(is_missing).then_some(0);
        }
        let Some(guard) = trace.guard(event) else { return Some(1) };
        self.guard_holds(at, guard).map(u32::from)
    }

    /// The same of a process all whose events are there.
    fn known_outcomes_at_end(&self, at: &Configuration, process: ProcessId) -> Option<u32> {
        let known = &*self.known;
        if known.stopped.contains(&process) {
            return Some(0);
        }
        let Some(waiting) = known.waiting.iter().find(|waiting| waiting.0 == process) else {
            return if known.is_cut { None } else { Some(0) };
        };
        if self.trace.previous(process).is_some_and(|before| !at.contains(self.trace, before)) {
            return Some(0);
        }
        let Some(guard) = waiting.1 else { return Some(0) };
        // It may wait for something else besides.
        self.guard_holds(at, guard).filter(|holds| !holds).map(|_| 0)
    }

    /// Whether a guard holds in a configuration: as it did before the next of its writers. (What it reads may
    /// not have been there yet at the start.)
    fn guard_holds(&self, at: &Configuration, guard: Guard) -> Option<bool> {
        if self.by_run {
            return None;
        }
        let next = self.order.next_writer(guard.location, |k| at.contains(self.trace, k));
        Some(self.run.guard_holds_at(guard.id, next.unwrap_or(self.trace.len())))
    }
}
