//! The dependence of steps: the one place that says which steps commute.

use mazurka_program::{Access, AccessKind, Location};

/// How two steps of different processes relate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dependence {
    /// Either order gives the same state.
    Independent,
    /// The order may matter.
    Dependent,
    /// The order matters only if a later step observes it: two blind writes of the same locations, of which
    /// the second is read; two messages to one mailbox, of which a receive could have taken either.
    IfObserved,
}

/// Whether two accesses of one location conflict.
#[inline]
fn conflict(a: AccessKind, b: AccessKind) -> bool {
    !(a.is_read() && b.is_read())
}

/// Whether two steps with these accesses are dependent, observed or not.
#[inline]
pub fn dependent(a: &[Access], b: &[Access]) -> bool {
    let conflicting = |x: &Access, y: &Access| conflict(x.kind, y.kind) && x.overlaps(*y);
    match (a, b) {
        // Nearly every step touches one thing.
        ([x], [y]) => conflicting(x, y),
        _ => a.iter().any(|x| b.iter().any(|y| conflicting(x, y))),
    }
}

/// The locations that some guard waits for. The last write of such a location decides who is enabled, whether
/// anybody reads it or not, so the order of its writes is never unobserved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Awaited {
    locations: Vec<bool>,
    everything: bool,
}

impl Awaited {
    /// Adds a location; says whether it is new.
    pub fn insert(&mut self, location: Location) -> bool {
        let at = location.0 as usize;
        if at >= self.locations.len() {
            self.locations.resize(at + 1, false);
        }
        !std::mem::replace(&mut self.locations[at], true)
    }

    /// Has all that is written and sent count as awaited: no order is unobserved. Says whether that is new.
    pub fn insert_everything(&mut self) -> bool {
        !std::mem::replace(&mut self.everything, true)
    }

    /// Whether some guard waits for a location.
    #[inline]
    pub fn contains(&self, location: Location) -> bool {
        self.everything || self.locations.get(location.0 as usize).is_some_and(|&awaited| awaited)
    }
}

/// How two steps with these accesses relate.
///
/// Write sets that overlap without being equal are dependent unconditionally, as the definition of observers
/// needs: otherwise a read of the one part could not tell the order on the other (CX13). So are writes that a
/// guard waits for. What a step writes [once and for all](AccessKind::Once) does not count: nobody else
/// writes it.
pub fn between(a: &[Access], b: &[Access], awaited: &Awaited) -> Dependence {
    let mut common = None;
    for x in a {
        for y in b.iter().filter(|y| x.overlaps(**y) && conflict(x.kind, y.kind)) {
            let observable = x.kind == y.kind && matches!(x.kind, AccessKind::Write | AccessKind::Send);
            if !observable || common.is_some_and(|kind| kind != x.kind) {
                return Dependence::Dependent;
            }
            common = Some(x.kind);
        }
    }
    match common {
        None => Dependence::Independent,
        Some(_) if awaited.everything => Dependence::Dependent,
        Some(AccessKind::Send) if message(a).is_some() && message(b).is_some() => Dependence::IfObserved,
        Some(AccessKind::Write) => {
            let mut cells = writes(a).flat_map(|access| access.locations());
            match write_the_same(a, b) && !cells.any(|cell| awaited.contains(cell)) {
                true => Dependence::IfObserved,
                false => Dependence::Dependent,
            }
        }
        Some(_) => Dependence::Dependent,
    }
}

/// The location of the message that a step sends: the one that it writes besides the mailbox. None if it
/// sends nothing, or does more than to send one message, so that no single receive tells when it was.
pub fn message(accesses: &[Access]) -> Option<Location> {
    let only = |kind| {
        let mut found = accesses.iter().filter(|access| access.kind == kind);
        found.next().filter(|access| access.len == 1 && found.next().is_none())
    };
    only(AccessKind::Send).and(only(AccessKind::Write)).map(|access| access.first)
}

fn writes(accesses: &[Access]) -> impl Iterator<Item = Access> + Clone {
    accesses.iter().copied().filter(|access| !matches!(access.kind, AccessKind::Read | AccessKind::Once))
}

/// Whether two steps write the same locations.
fn write_the_same(a: &[Access], b: &[Access]) -> bool {
    // Nearly always it is the same, and told in the same order.
    writes(a).eq(writes(b)) || written(a) == written(b)
}

/// What a step writes, in order, each location once.
fn written(accesses: &[Access]) -> Vec<Location> {
    let mut cells: Vec<Location> = writes(accesses).flat_map(|access| access.locations()).collect();
    cells.sort_unstable();
    cells.dedup();
    cells
}

#[cfg(test)]
mod tests {
    use super::*;
    use mazurka_program::Location;

    fn accesses(text: &str) -> Vec<Access> {
        let kind = |letter| match letter {
            'r' => AccessKind::Read,
            'w' => AccessKind::Write,
            'u' => AccessKind::Update,
            'o' => AccessKind::Once,
            _ => AccessKind::Send,
        };
        text.split_whitespace()
            .map(|word| Access::one(Location(word[1..].parse().unwrap()), kind(word.chars().next().unwrap())))
            .collect()
    }

    #[test]
    fn the_relation() {
        use Dependence::*;
        for (a, b, expected) in [
            ("r0", "r0", Independent),
            ("r0", "w1", Independent),
            ("r0", "w0", Dependent),
            ("w0", "w0", IfObserved),
            ("w0 w1", "w1 w0", IfObserved),
            ("w0", "w0 w1", Dependent),
            ("w0", "u0", Dependent),
            ("u0", "u0", Dependent),
            ("w0 r1", "w0", IfObserved),
            ("w0 r1", "w0 w1", Dependent),
            ("s0 w1", "s0 w2", IfObserved),
            ("s0 w1", "r0", Dependent),
            ("s0 w1", "u2", Independent),
            ("s0 w1", "u1", Dependent),
            ("s0 w1 w5", "s0 w2 w5", Dependent),
            ("s0 w1 w5", "s0 w2", Dependent),
            ("w5 s0 w1", "s0 w2", Dependent),
            ("w0 o1", "w0 o2", IfObserved),
            ("w0 o1", "w0 r1", Dependent),
            ("w0 o1", "w0 w3 o2", Dependent),
            ("o1", "r1", Dependent),
            ("o1", "w0 o2", Independent),
            ("", "w0", Independent),
        ] {
            let awaited = Awaited::default();
            assert_eq!(between(&accesses(a), &accesses(b), &awaited), expected, "{a} / {b}");
            assert_eq!(between(&accesses(b), &accesses(a), &awaited), expected, "{b} / {a}");
            assert_eq!(dependent(&accesses(a), &accesses(b)), expected != Independent, "{a} / {b}");
        }
    }

    #[test]
    fn writes_that_a_guard_waits_for() {
        let mut awaited = Awaited::default();
        assert!(awaited.insert(Location(1)) && !awaited.insert(Location(1)));
        for (a, b, expected) in [
            ("w0", "w0", Dependence::IfObserved),
            ("w1", "w1", Dependence::Dependent),
            ("w0 w1", "w1 w0", Dependence::Dependent),
            ("r1 w0", "r1 w0", Dependence::IfObserved),
        ] {
            assert_eq!(between(&accesses(a), &accesses(b), &awaited), expected, "{a} / {b}");
        }
    }
}
