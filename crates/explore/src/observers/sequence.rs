//! What happens before what within a sequence of events, modulo observers.
//!
//! A sequence that is to be explored is shorter than the execution that it comes from, so what was observed
//! there may not be here: everything is found out anew from the events of the sequence alone. Only direct
//! edges are needed: if any event of a part of a sequence happens before another event, then some event of
//! that part does so directly.

use mazurka_program::{Access, AccessKind, Location, ProcessId};
use mazurka_trace::Dependence;
use mazurka_trace::dependence::{self, Awaited};

use crate::Rules;
use crate::wakeup::{Planned, Precedence};

/// The dependence of steps, with what was found out about guards.
#[derive(Debug)]
pub(super) struct Conflicts {
    pub awaited: Awaited,
    rules: Rules,
}

impl Conflicts {
    pub fn new(rules: Rules) -> Conflicts {
        Conflicts { awaited: Awaited::default(), rules }
    }

    /// Notes that a guard waits for a location; says whether that is new.
    pub fn note_awaited(&mut self, location: Location) -> bool {
        self.rules.observers.awaited_writes && self.awaited.insert(location)
    }

    /// How two steps relate.
    #[inline]
    pub fn between(&self, a: &[Access], b: &[Access]) -> Dependence {
        if !dependence::dependent(a, b) {
            return Dependence::Independent;
        }
        if let ([x], [y]) = (a, b)
            && x == y
            && x.len == 1
        {
            let observable = x.kind == AccessKind::Write && !self.awaited.contains(x.first);
            return if observable { Dependence::IfObserved } else { Dependence::Dependent };
        }
        if !self.rules.observers.unequal_writes && only_writes_overlap(a, b) {
            return Dependence::IfObserved;
        }
        dependence::between(a, b, &self.awaited)
    }
}

fn only_writes_overlap(a: &[Access], b: &[Access]) -> bool {
    a.iter().all(|x| {
        let both_write = |y: &Access| x.kind == AccessKind::Write && y.kind == AccessKind::Write;
        let both_read = |y: &Access| x.kind.is_read() && y.kind.is_read();
        b.iter().all(|y| !x.overlaps(*y) || both_write(y) || both_read(y))
    })
}

/// How a step touches a location, if it does: the strongest of its accesses.
pub(super) fn kind_at(accesses: &[Access], location: Location) -> Option<AccessKind> {
    let one = Access::one(location, AccessKind::Read);
    accesses.iter().filter(|access| access.overlaps(one)).map(|access| access.kind).reduce(both)
}

/// What two accesses of one location by one step are together.
fn both(a: AccessKind, b: AccessKind) -> AccessKind {
    if a == b { a } else { AccessKind::Update }
}

/// Whom to ask which messages a receive would take.
pub(super) trait Mail {
    /// Whether the receive at one position of the sequence would take the message sent at another.
    fn would_take(&mut self, receive: u32, send: u32) -> bool;

    /// Whether it would take the message that `step` sends after the whole sequence and the steps `beside`.
    fn would_take_after(&mut self, receive: u32, beside: &[(ProcessId, u32)], step: Planned<'_>) -> bool;
}

/// Happens-before modulo observers.
pub(super) struct Observed<'a, M> {
    pub conflicts: &'a Conflicts,
    pub mail: M,
}

/// An event that may be overtaken: one of the sequence, or one that is taken after it.
#[derive(Clone, Copy)]
enum Late<'a> {
    Within(usize),
    After(Planned<'a>, &'a [(ProcessId, u32)]),
}

impl<M: Mail> Observed<'_, M> {
    /// Whether the event at `i` happens before the later one at `k` directly. They are of different
    /// processes.
    pub fn precedes(&mut self, sequence: &[Planned<'_>], i: usize, k: usize) -> bool {
        self.follows(sequence, i..i + 1, Late::Within(k))
    }

    /// Whether some event of `sequence[from..k]` happens before the one at `k`, which none of them is the
    /// process of.
    pub fn overtaken_since(&mut self, sequence: &[Planned<'_>], from: usize, k: usize) -> bool {
        self.follows(sequence, from..k, Late::Within(k))
    }

    /// Whether some event from `from` on would happen before a step taken after the sequence and the steps
    /// `beside`.
    pub fn overtaken_in_the_end(
        &mut self,
        sequence: &[Planned<'_>],
        from: usize,
        beside: &[(ProcessId, u32)],
        step: Planned<'_>,
    ) -> bool {
        self.follows(sequence, from..sequence.len(), Late::After(step, beside))
    }

    fn follows(&mut self, sequence: &[Planned<'_>], range: std::ops::Range<usize>, late: Late<'_>) -> bool {
        let accesses = match late {
            Late::Within(k) => sequence[k].accesses,
            Late::After(step, _) => step.accesses,
        };
        range.into_iter().any(|i| match self.conflicts.between(sequence[i].accesses, accesses) {
            Dependence::Independent => false,
            Dependence::Dependent => true,
            Dependence::IfObserved => self.observed(sequence, i, late),
        })
    }

    /// Whether an event of the sequence observes that the one at `i` came before a later one.
    fn observed(&mut self, sequence: &[Planned<'_>], i: usize, late: Late<'_>) -> bool {
        let Some(message) = dependence::message(sequence[i].accesses) else {
            return matches!(late, Late::Within(k) if is_read(sequence, k));
        };
        // A receive took the earlier message and would have taken the later one, had it been first.
        let Some(receive) = taker(sequence, i, message) else { return false };
        match late {
            Late::Within(k) => {
                let other = dependence::message(sequence[k].accesses).and_then(|m| taker(sequence, k, m));
                other.is_none_or(|other| other > receive)
                    && self.mail.would_take(sequence[receive].at, sequence[k].at)
            }
            Late::After(step, beside) => self.mail.would_take_after(sequence[receive].at, beside, step),
        }
    }
}

/// Whether the write at `k` is read before it is overwritten.
fn is_read(sequence: &[Planned<'_>], k: usize) -> bool {
    let writes = sequence[k].accesses.iter().filter(|access| access.kind == AccessKind::Write);
    writes.flat_map(|access| access.locations()).any(|location| {
        let next = sequence[k + 1..].iter().find_map(|step| kind_at(step.accesses, location));
        next.is_some_and(|kind| matches!(kind, AccessKind::Read | AccessKind::Update))
    })
}

/// The receive that takes the message of the send at `send`.
fn taker(sequence: &[Planned<'_>], send: usize, message: Location) -> Option<usize> {
    let takes = |step: &Planned<'_>| kind_at(step.accesses, message) == Some(AccessKind::Update);
    sequence[send + 1..].iter().position(takes).map(|k| send + 1 + k)
}

impl<M: Mail> Precedence for Observed<'_, M> {
    fn overtaken(&mut self, rest: &[Planned<'_>], k: usize) -> bool {
        self.overtaken_since(rest, 0, k)
    }

    fn overtaken_after(
        &mut self,
        rest: &[Planned<'_>],
        beside: &[(ProcessId, u32)],
        step: Planned<'_>,
    ) -> bool {
        self.overtaken_in_the_end(rest, 0, beside, step)
    }
}
