//! How many threads of the operating system the checks of this process may search with.
//!
//! Tests run beside each other, and each has a core to itself as long as there are enough. So a search that can be
//! shared takes the cores that nobody has when it begins, and gives them back when it ends. It may be told
//! otherwise; nobody is ever refused.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread::available_parallelism;

/// How many are in use.
static IN_USE: AtomicUsize = AtomicUsize::new(0);

/// Those of a check.
pub(super) struct Cores {
    number: usize,
}

impl Cores {
    /// As many as are asked for; else what is left, of which there is always one, if there is use for several.
    pub(super) fn take(asked: Option<usize>, several: bool) -> Cores {
        // Asked only by who may take several: to find out takes the operating system as long as a small check.
        let all = if several { available_parallelism().map_or(1, NonZero::get) } else { 1 };
        let number = |in_use: usize| asked.unwrap_or(all.saturating_sub(in_use)).max(1);
        let in_use = IN_USE.update(Relaxed, Relaxed, |in_use| in_use + number(in_use));
        Cores { number: number(in_use) }
    }

    pub(super) fn number(&self) -> usize {
        self.number
    }
}

impl Drop for Cores {
    fn drop(&mut self) {
        IN_USE.fetch_sub(self.number, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_refused() {
        let all = available_parallelism().map_or(1, NonZero::get);
        let many = Cores::take(Some(all + 7), true);
        assert_eq!(many.number(), all + 7);
        let (rest, one) = (Cores::take(None, true), Cores::take(None, false));
        assert_eq!((rest.number(), one.number()), (1, 1));
        assert_eq!(Cores::take(Some(0), true).number(), 1);
    }
}
