//! `Arc`s that nobody drops: cycles, and handles that were forgotten.
//!
//! Looked for where the check says so. An `Arc` counts from when it is made in an execution to the drop of its last strong handle.
//! What is left when all threads have ended, and nothing else went wrong, is never dropped: of what lives on in statics that is so,
//! too.

use std::panic::Location as Caller;
use std::sync::atomic::{AtomicBool, Ordering};

use mazurka_program::{Failure, FailureKind};
use rustc_hash::FxHashMap;

use super::process::Status;
use super::{World, place_of, with_world};

/// The `Arc`s of an execution that live, by the address of what they share.
#[derive(Default)]
pub(crate) struct Living {
    /// Whether they are looked for.
    pub(super) watched: bool,
    arcs: FxHashMap<usize, Made>,
}

struct Made {
    kind: &'static str,
    place: &'static Caller<'static>,
}

/// Whether there ever was a check that looks for them: to ask who checks takes longer.
static ANY: AtomicBool = AtomicBool::new(false);

/// An `Arc` of a type is made.
#[inline]
pub(crate) fn born(address: usize, kind: &'static str, place: &'static Caller<'static>) {
    if ANY.load(Ordering::Relaxed) {
        with_world(|world| {
            if world.living.watched {
                world.living.arcs.insert(address, Made { kind, place });
            }
        });
    }
}

/// The last strong handle of an `Arc` is dropped, or its value taken out.
#[inline]
pub(crate) fn dies(address: usize) {
    if ANY.load(Ordering::Relaxed) {
        // The last one goes where its process runs, never within a step.
        with_world(|world| world.living.arcs.remove(&address));
    }
}

impl Living {
    pub(super) fn watch(&mut self, watched: bool) {
        self.watched = watched;
        if watched {
            ANY.store(true, Ordering::Relaxed);
        }
    }

    pub(super) fn clear(&mut self) {
        self.arcs.clear();
    }
}

impl World {
    /// No process can take a step: what lives on is a failure, if all have ended and nothing else is one.
    pub(super) fn report_leaks(&mut self) {
        let ended = |process: &_| self.process(*process).status == Status::Finished;
        let regular = self.failures.is_empty() && !self.assumed && self.created.iter().all(ended);
        if !self.living.watched || !regular {
            return;
        }
        // By place, since addresses are others in another run.
        let order = |made: &&Made| (made.place.file(), made.place.line(), made.place.column(), made.kind);
        let Some(made) = self.living.arcs.values().min_by_key(order) else { return };
        let count = self.living.arcs.len();
        let others = match count - 1 {
            0 => String::new(),
            1 => ", nor is another".to_owned(),
            more => format!(", nor are {more} others"),
        };
        let message = format!(
            "the Arc<{}> made at {} is never dropped{others}: all threads have ended, and handles are left, in a cycle or \
             forgotten",
            made.kind, made.place
        );
        let (kind, place) = (FailureKind::Memory, Some(place_of(made.place)));
        self.failures.push(Failure { kind, message, place, process: None });
    }
}
