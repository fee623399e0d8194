//! The steps of an execution, so that they can be taken again.

use mazurka_program::{Access, Failure, FailureKind, Label, ProcessId, Stop};

use super::world::World;
use crate::runtime::system::limits;

/// A step that was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Taken {
    pub(crate) thread: u32,
    pub(crate) choice: u32,
    /// Tells what it did from what else it might have done.
    pub(crate) mark: u64,
    /// The same of the operation that the thread came to then.
    pub(crate) next: u64,
}

#[inline]
fn mix(digest: u64, word: u64) -> u64 {
    (digest.rotate_left(5) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// A number that tells accesses apart.
#[inline]
pub(crate) fn mark(access: Access, place: usize) -> u64 {
    mix(place as u64, u64::from(access.first.0) << 3 | access.kind as u64)
}

/// A number that tells labels apart.
pub(crate) fn digest(label: &Label, place: usize) -> u64 {
    let spawned = mix(place as u64, label.spawned.len() as u64);
    label
        .accesses
        .iter()
        .fold(spawned, |digest, access| mix(digest, u64::from(access.first.0) << 3 | access.kind as u64))
}

impl World {
    /// Says that the program did not do what it did before, after the same steps.
    #[cold]
    pub(crate) fn not_repeated(&mut self, position: usize, thread: u32) {
        self.scripted = 0;
        if let Some(limit) = limits::reached() {
            // Who is stopped at a limit does not repeat itself.
            return self.fail(limit.stop());
        }
        let message = format!(
            "the program does not repeat itself: after the same {position} steps, {} does something else than before. \
             Something in it depends on time, on random numbers, on memory that was never written, or on what an \
             earlier execution left behind",
            self.name_of(thread)
        );
        let (kind, process) = (FailureKind::Nondeterminism, Some(ProcessId(thread)));
        self.fail(Stop::Broken(Failure { kind, message, place: None, process }));
    }
}
