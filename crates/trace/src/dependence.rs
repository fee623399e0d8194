//! The dependence of steps: the one place that says which steps commute.

use mazurka_program::{Access, AccessKind};

/// How two steps of different processes relate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dependence {
    /// Either order gives the same state.
    Independent,
    /// The order may matter.
    Dependent,
    /// The order matters only if a later step observes it: two blind writes of the same locations, of which the
    /// second is read; two messages to one mailbox, of which a receive could have taken either.
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
    a.iter().any(|x| b.iter().any(|y| conflict(x.kind, y.kind) && x.overlaps(*y)))
}

/// How two steps with these accesses relate.
///
/// Write sets that overlap without being equal are dependent unconditionally, as the definition of observers needs:
/// otherwise a read of the one part could not tell the order on the other (CX13).
pub fn between(a: &[Access], b: &[Access]) -> Dependence {
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
        Some(AccessKind::Send) if sends(a) == 1 && sends(b) == 1 => Dependence::IfObserved,
        Some(AccessKind::Write) if written(a) == written(b) => Dependence::IfObserved,
        Some(_) => Dependence::Dependent,
    }
}

fn sends(accesses: &[Access]) -> usize {
    accesses.iter().filter(|access| access.kind == AccessKind::Send).count()
}

fn written(accesses: &[Access]) -> Vec<u32> {
    let writes = accesses.iter().filter(|access| !access.kind.is_read());
    let mut cells: Vec<u32> =
        writes.flat_map(|access| access.locations()).map(|location| location.0).collect();
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
            ("", "w0", Independent),
        ] {
            assert_eq!(between(&accesses(a), &accesses(b)), expected, "{a} / {b}");
            assert_eq!(between(&accesses(b), &accesses(a)), expected, "{b} / {a}");
            assert_eq!(dependent(&accesses(a), &accesses(b)), expected != Independent, "{a} / {b}");
        }
    }
}
