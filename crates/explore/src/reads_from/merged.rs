//! Reads-from classes by way of `optimal`, for programs that the search of its own does not know: every trace is
//! explored, and an execution of a class that was seen before counts as blocked.

use std::collections::HashSet;

use mazurka_program::AccessKind;
use mazurka_trace::Trace;

use super::Unfit;
use super::past::{AsItIs, INITIAL, Identity, identity, mix};
use crate::walk::Walk;
use crate::{Summary, optimal};

/// Explores a program from the start by `optimal`.
pub(super) fn search(mut walk: Walk<'_>, why: Unfit) -> Summary {
    walk.begin_again();
    walk.is_ordered = true;
    walk.note = Some(note(why));
    let observes_memory = walk.options.observe_memory;
    walk.classes = Some(Classes { observes_memory, ..Classes::default() });
    optimal::search(walk)
}

/// What is to be known of the numbers.
fn note(why: Unfit) -> &'static str {
    match why {
        Unfit::Sends => {
            "the program sends messages, so optimal explored it; executions whose reads-from class was seen before \
             are counted as blocked"
        }
        Unfit::Rounds => {
            "some loops go round and round, so optimal explored the program; executions whose reads-from class was \
             seen before are counted as blocked"
        }
        Unfit::Clock => {
            "the program looks at a clock, so optimal explored it; executions whose reads-from class was seen before \
             are counted as blocked"
        }
        Unfit::Planned => {
            "some step did something else than what it reads from lets expect, so optimal explored the program; \
             executions whose reads-from class was seen before are counted as blocked"
        }
        Unfit::Guards | Unfit::Labels | Unfit::TooManyReads | Unfit::TooHard | Unfit::Stopped => {
            "some steps read and write too much at once, so optimal explored the program; executions whose reads-from \
             class was seen before are counted as blocked"
        }
    }
}

/// The classes that were seen.
#[derive(Default)]
pub(crate) struct Classes {
    seen: HashSet<Identity, AsItIs>,
    observes_memory: bool,
    /// What a read of each location would see.
    states: Vec<Identity>,
    identities: Vec<Identity>,
}

impl Classes {
    /// Adds the class of an execution; whether it is new. Where somebody is stopped memory is a part of it.
    pub fn insert(&mut self, trace: &Trace, is_stopped: bool) -> bool {
        let class = self.class_of(trace, is_stopped);
        self.seen.insert(class)
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        self.seen.capacity() * size_of::<Identity>()
    }

    fn class_of(&mut self, trace: &Trace, is_stopped: bool) -> Identity {
        self.states.clear();
        self.identities.clear();
        for position in 0..trace.len() {
            let identity = self.identity_of(trace, position);
            self.identities.push(identity);
            for access in trace.accesses(position).iter().filter(|access| !access.kind.is_read()) {
                let end = (access.first.0 + access.len) as usize;
                if end > self.states.len() {
                    self.states.resize(end, INITIAL);
                }
                for state in &mut self.states[access.first.0 as usize..end] {
                    // Who looks into a mailbox sees which messages are there, not in which order.
                    *state = match access.kind {
                        AccessKind::Send => state.wrapping_add(mix(11, identity)),
                        _ => identity,
                    };
                }
            }
        }
        // The last event of each process stands for all that it did; processes come in the order of their numbers.
        let last = |at: &usize| {
            let own = trace.positions(trace.process(*at));
            own.last() == Some(&(*at as u32))
        };
        let mut ends: Vec<Identity> = (0..trace.len()).filter(last).map(|at| self.identities[at]).collect();
        ends.sort_unstable();
        let memory = if self.observes_memory || is_stopped { &self.states[..] } else { &[] };
        let start = if is_stopped { 5 } else { 3 };
        ends.into_iter().chain(memory.iter().copied()).fold(start, mix)
    }

    fn identity_of(&self, trace: &Trace, position: usize) -> Identity {
        let reads = trace.accesses(position).iter();
        let reads = reads.filter(|access| matches!(access.kind, AccessKind::Read | AccessKind::Update));
        let state = |at: usize| self.states.get(at).copied().unwrap_or(INITIAL);
        let reads =
            reads.flat_map(|access| access.locations()).map(|at| (u128::from(at.0), state(at.0 as usize)));
        let before = trace.before(position).map_or(0, |before| self.identities[before]);
        // All classes are those of one run.
        let process = u128::from(trace.process(position).0) << 64;
        identity(process, trace.index(position), trace.choice(position), before, reads)
    }
}
