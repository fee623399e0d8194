//! What the environment decides: choices that are explored one and all, and assumptions.

use std::ops::{Bound, RangeBounds};
use std::panic::Location as Caller;

use crate::runtime::operation::{CurrentStep, Operation};
use crate::runtime::{Runtime, operate, stop_here, with_runtime};

/// A number of a range: every one of them is explored.
///
/// ```
/// let report = mazurka::Checker::new().run(|| {
///     let (x, y) = (mazurka::choose(0..3), mazurka::choose(1..=2));
///     assert!(x * y < 5);
/// });
/// assert_eq!((report.is_pass(), report.executions()), (true, 6));
/// ```
///
/// # Panics
/// If the range is empty or has no end, and outside of a check: there is nobody who could try the other
/// numbers.
#[track_caller]
pub fn choose(range: impl RangeBounds<usize>) -> usize {
    assert!(
        with_runtime(|_| ()).is_some(),
        "mazurka: choose is for checks, and none is running on this thread"
    );
    let from = match range.start_bound() {
        Bound::Included(&from) => from,
        Bound::Excluded(&before) => before.saturating_add(1),
        Bound::Unbounded => 0,
    };
    let last = match range.end_bound() {
        Bound::Included(&last) => Some(last),
        Bound::Excluded(&end) => end.checked_sub(1),
        Bound::Unbounded => panic!("mazurka: choose from a range without an end"),
    };
    let Some(more) = last.and_then(|last| last.checked_sub(from)) else {
        panic!("mazurka: choose from an empty range");
    };
    let Some(count) = u32::try_from(more).ok().and_then(|more| more.checked_add(1)) else {
        panic!("mazurka: choose from a range of more than {} numbers", u32::MAX);
    };
    let mut choice = Choice { from, count, chosen: from };
    operate(&mut choice, Caller::caller());
    choice.chosen
}

/// Says that an execution is of interest only if something holds. If it does not, the thread stops for good;
/// the others go on, and the execution counts as an assumed one.
///
/// ```
/// let report = mazurka::Checker::new().run(|| {
///     let x = mazurka::choose(0..10);
///     mazurka::assume(x % 2 == 0);
///     assert_ne!(x, 7);
/// });
/// assert_eq!((report.is_pass(), report.executions()), (true, 5));
/// ```
///
/// # Panics
/// Outside of a check.
#[track_caller]
pub fn assume(condition: bool) {
    let inside = with_runtime(|runtime| {
        if !condition {
            runtime.stop_running();
        }
    });
    assert!(inside.is_some(), "mazurka: assume is for checks, and none is running on this thread");
    // A thread that unwinds can't be stopped: it goes on to its end, in an execution that counts as an
    // assumed one.
    if !condition && !std::thread::panicking() {
        stop_here();
    }
}

/// One of several numbers. The outcomes of the step are the numbers; it touches nothing.
struct Choice {
    from: usize,
    count: u32,
    chosen: usize,
}

impl Operation for Choice {
    fn alternatives(&self, _world: &Runtime) -> u32 {
        self.count
    }

    fn branches(&self) -> bool {
        self.count > 1
    }

    fn perform(&mut self, step: &mut CurrentStep<'_>) {
        self.chosen = self.from + step.choice as usize;
        let chosen = self.chosen;
        step.note(|| format!("chose {chosen}"));
    }

    fn describe(&self, _world: &Runtime) -> String {
        format!("choose({}..={})", self.from, self.from + self.count as usize - 1)
    }
}
