//! Annotation pairs `A = (A+, A-)` (section 4), of cones.
//!
//! `A+` pins reads to the writes that they are to observe. It is closed under causal pasts, as burst
//! mutations make it, so it is a set of cones. `A-` forbids a read to observe a write. The paper's `A-` says
//! so of the two events, whatever is before them, and with burst mutations that loses classes (CX14). Here an
//! entry has the reads that were pinned with it, all of the past of the read and of the write: that is its
//! cone. It forbids nothing where one of them observes something else.

use super::cones::{ConeId, Cones, NONE};

/// `A+` and `A-`, which grow and shrink with the stack of calls.
#[derive(Default)]
pub(crate) struct Annotation {
    /// By cone, whether it is pinned and how often it is forbidden.
    marks: Vec<Mark>,
    /// `A+`, in the order in which it grew: what comes before comes first.
    pinned: Vec<ConeId>,
    /// The entries of `A-` without their tags.
    untagged: Vec<Vec<(u32, u32)>>,
}

/// An event and what it observes, by process and ordinal.
fn events(cones: &Cones, cone: ConeId) -> Vec<(u32, u32)> {
    let name = |cone: ConeId| match cone {
        NONE => (u32::MAX, 0),
        cone => (cones.event(cone).process.0, cones.event(cone).index),
    };
    std::iter::once(cone).chain(cones.event(cone).sources().map(|(_, source)| source)).map(name).collect()
}

#[derive(Clone, Copy, Default)]
struct Mark {
    pinned: bool,
    forbidden: bool,
}

impl Annotation {
    fn mark(&mut self, cone: ConeId) -> &mut Mark {
        let at = cone as usize;
        if at >= self.marks.len() {
            self.marks.resize(at + 1, Mark::default());
        }
        &mut self.marks[at]
    }

    pub fn is_pinned(&self, cone: ConeId) -> bool {
        self.marks.get(cone as usize).is_some_and(|mark| mark.pinned)
    }

    pub fn is_forbidden(&self, cone: ConeId) -> bool {
        self.marks.get(cone as usize).is_some_and(|mark| mark.forbidden)
    }

    /// The cones of `A+`.
    pub fn pinned(&self) -> &[ConeId] {
        &self.pinned
    }

    /// `A+` with a cone and all that is before it. If something forbidden is there, nothing changes; says so.
    pub fn pin(&mut self, cones: &Cones, cone: ConeId) -> bool {
        let before = self.pinned.len();
        let mut next = vec![cone];
        while let Some(cone) = next.pop() {
            if self.is_pinned(cone) {
                continue;
            }
            if self.is_forbidden(cone) {
                self.unpin(before);
                return false;
            }
            self.mark(cone).pinned = true;
            self.pinned.push(cone);
            next.extend(cones.event(cone).parents());
        }
        true
    }

    /// The same, whatever is forbidden.
    pub fn pin_all(&mut self, cones: &Cones, cone: ConeId) {
        let mut next = vec![cone];
        while let Some(cone) = next.pop() {
            if !self.is_pinned(cone) {
                self.mark(cone).pinned = true;
                self.pinned.push(cone);
                next.extend(cones.event(cone).parents());
            }
        }
    }

    /// Makes `A+` what it was when it had so many cones.
    pub fn unpin(&mut self, len: usize) {
        for cone in self.pinned.drain(len..) {
            self.marks[cone as usize].pinned = false;
        }
    }

    /// Adds an entry to `A-`.
    pub fn forbid(&mut self, cones: &Cones, cone: ConeId) {
        self.mark(cone).forbidden = true;
        self.untagged.push(events(cones, cone));
    }

    /// Takes the entry that was added last out of `A-`.
    pub fn allow(&mut self, cone: ConeId) {
        self.mark(cone).forbidden = false;
        self.untagged.pop();
    }

    /// Whether some entry of `A-` has the same event that observes the same events, whatever is before them:
    /// `A-` as the paper has it.
    pub fn is_forbidden_untagged(&self, cones: &Cones, cone: ConeId) -> bool {
        self.untagged.contains(&events(cones, cone))
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        self.marks.capacity() * size_of::<Mark>() + self.pinned.capacity() * size_of::<ConeId>()
    }
}
