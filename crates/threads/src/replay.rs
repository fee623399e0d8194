//! What is noted of the steps taken, so that they can be taken again.
//!
//! To go back is to begin again, from the start or from a snapshot, and to take the steps of a script once
//! more, each compared with what it was. That is put off until the next step, so what the search asks in the
//! meantime is answered from notes.

use mazurka_program::{Access, Label, ProcessId, ProcessSet};

/// Adds a word to a digest.
#[inline]
pub fn mix(digest: u64, word: u64) -> u64 {
    (digest.rotate_left(5) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// Adds an access to a digest.
#[inline]
pub fn mix_access(digest: u64, access: Access) -> u64 {
    mix(digest, u64::from(access.first.0) << 3 | access.kind as u64)
}

/// A number that tells labels apart, beginning with what else is to be told.
#[inline]
pub fn digest(first: u64, label: &Label) -> u64 {
    let mut digest = first;
    // Who creates several processes at one place does another thing each time.
    for &child in &label.spawned[..] {
        digest = mix(digest, child.0.into());
    }
    digest = mix(digest, label.spawned.len() as u64);
    for &access in &label.accesses[..] {
        digest = mix_access(digest, access);
    }
    digest
}

/// Who could take a step after each prefix of a script, and with how many outcomes.
#[derive(Debug, Default)]
pub struct Prefixes {
    enabled: Vec<ProcessSet>,
    /// `(depth, process, n)`: after so many steps the process's next one has `n > 1` outcomes.
    outcomes: Vec<(u32, ProcessId, u32)>,
}

impl Prefixes {
    /// Who was enabled after so many steps.
    #[inline]
    pub fn enabled(&self, depth: usize) -> &ProcessSet {
        &self.enabled[depth]
    }

    /// The same, if it is known.
    #[inline]
    pub fn known(&self, depth: usize) -> Option<&ProcessSet> {
        self.enabled.get(depth)
    }

    /// How many outcomes the next step of a process had after so many steps.
    #[inline]
    pub fn outcomes(&self, depth: usize, process: ProcessId) -> u32 {
        if self.outcomes.is_empty() {
            return 1;
        }
        let noted = self.outcomes.iter().rev().take_while(|noted| noted.0 as usize == depth);
        noted.into_iter().find(|noted| noted.1 == process).map_or(1, |noted| noted.2)
    }

    /// Whether some step had several outcomes after so many steps.
    #[inline]
    pub fn is_branching(&self, depth: usize) -> bool {
        self.outcomes.last().is_some_and(|noted| noted.0 as usize == depth)
    }

    /// Notes who is enabled after so many steps.
    #[inline]
    pub fn note(&mut self, depth: usize, enabled: &ProcessSet) {
        if self.enabled.len() <= depth {
            self.enabled.push(ProcessSet::new());
        }
        self.enabled[depth].copy_from(enabled);
    }

    /// Notes how many outcomes the next step of a process has after so many steps.
    pub fn note_outcomes(&mut self, depth: usize, process: ProcessId, outcomes: u32) {
        if outcomes > 1 {
            self.outcomes.push((depth as u32, process, outcomes));
        }
    }

    /// Forgets what came after so many steps. Who was enabled stays, to be compared with.
    #[inline]
    pub fn rewind(&mut self, depth: usize) {
        while self.outcomes.last().is_some_and(|noted| noted.0 as usize > depth) {
            self.outcomes.pop();
        }
    }

    /// Forgets all, keeping its memory.
    pub fn clear(&mut self) {
        self.enabled.iter_mut().for_each(ProcessSet::clear);
        self.outcomes.clear();
    }

    /// Of how many prefixes there are notes, or were.
    pub fn len(&self) -> usize {
        self.enabled.len()
    }

    /// Whether there never was one.
    pub fn is_empty(&self) -> bool {
        self.enabled.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mazurka_program::{AccessKind, Location};

    #[test]
    fn going_back_forgets_outcomes_and_not_who_was_enabled() {
        let mut prefixes = Prefixes::default();
        let [a, b] = [ProcessId(0), ProcessId(1)];
        for depth in 0..3 {
            prefixes.note(depth, &[a, b].into_iter().take(depth).collect());
            prefixes.note_outcomes(depth, b, depth as u32 + 1);
        }
        assert_eq!((prefixes.outcomes(2, b), prefixes.outcomes(2, a), prefixes.outcomes(0, b)), (3, 1, 1));
        prefixes.rewind(1);
        assert!(prefixes.is_branching(1) && !prefixes.is_branching(2));
        assert_eq!(prefixes.enabled(2).len(), 2);
    }

    #[test]
    fn digests_tell_labels_apart() {
        let label = |location, kind| {
            let mut label = Label::default();
            label.touch(Location(location), kind);
            digest(0, &label)
        };
        let digests = [
            label(1, AccessKind::Read),
            label(1, AccessKind::Write),
            label(2, AccessKind::Read),
            digest(0, &Label::default()),
        ];
        let apart: std::collections::BTreeSet<u64> = digests.into_iter().collect();
        assert_eq!(apart.len(), digests.len());
    }
}
