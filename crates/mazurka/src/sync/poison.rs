//! Whether a holder of a lock panicked.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::runtime::identity::Object;
use crate::runtime::with_world;

/// The poison of a lock. A check keeps its own, so that a static begins anew in each execution.
pub(super) struct Poison {
    outside: AtomicBool,
}

impl Poison {
    pub(super) const fn new() -> Poison {
        Poison { outside: AtomicBool::new(false) }
    }

    /// Whether the lock is poisoned, for who holds it.
    pub(super) fn get(&self, object: &Object) -> bool {
        with_world(|world| {
            object.location(world.execution.stamp).is_some_and(|location| world.is_poisoned(location))
        })
        .unwrap_or_else(|| self.outside.load(Ordering::Relaxed))
    }

    pub(super) fn set_outside(&self, poisoned: bool) {
        self.outside.store(poisoned, Ordering::Relaxed);
    }
}
