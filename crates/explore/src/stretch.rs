//! Stretches of a search by `wake-up`: items that follow each other, of which a worker somewhere does as many
//! as it has time for.
//!
//! A stretch is cut into the items that [`explore_jobs`](crate::explore_jobs) would cut it into, and they are
//! explored in the order of their places. So what was done of a stretch comes before all that is left of it,
//! however long somebody worked at it; what is left is a stretch again, or several, one after the other; and
//! the totals of a search in stretches are those of one worker.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use mazurka_program::Program;

use crate::item::explore_item;
use crate::jobs::{Watched, left_of, most_of};
use crate::{DoneItem, Monitor, OpenItem, Options};

/// What came of a stretch.
#[derive(Clone, Debug, PartialEq)]
pub struct Stretch<M> {
    /// The items that were explored, in order.
    pub done: Vec<DoneItem<M>>,
    /// Those that are left, in order; they come after all that are done, and after the one at which it ended.
    pub left: Vec<OpenItem>,
    /// Why there are no more.
    pub end: StretchEnd,
}

/// Why a stretch was not explored further.
#[derive(Clone, Debug, PartialEq)]
pub enum StretchEnd {
    /// Nothing is left, or there was no more time.
    Enough,
    /// This item ends the search, by a failure that is to be the last, or by a limit. It is not among those
    /// that are done: who explores it again meets the same end. What comes after it does not matter then.
    Over(OpenItem),
    /// In this item something was found out for which the search has to be begun again
    /// ([`Program::begin_again`]).
    FoundOut(OpenItem),
}

/// Explores items that follow each other, until there was enough. `has_to_begin_again` says whether something
/// was found out in the last item for which the search has to be begun again. `halt` ends it also within an
/// item, which is left then.
pub fn explore_stretch<P: Program, M: Monitor<P::Run>>(
    program: &P,
    options: &Options,
    items: Vec<OpenItem>,
    monitor: &dyn Fn() -> M,
    has_to_begin_again: &mut dyn FnMut() -> bool,
    enough: &mut dyn FnMut() -> bool,
    halt: &AtomicBool,
) -> Stretch<M> {
    let (mut left, is_void) = (VecDeque::from(items), AtomicBool::new(false));
    let mut done = Vec::new();
    while let Some(open) = left.pop_front() {
        let mut watched = Watched { monitor: monitor(), is_over: halt, is_void: &is_void };
        let most = most_of(&open.place, options);
        let explored = explore_item(program, open.item.clone(), most, options, &mut watched);
        if has_to_begin_again() {
            return Stretch { done, left: left.into(), end: StretchEnd::FoundOut(open) };
        }
        if halt.load(Relaxed) {
            left.push_front(open);
            break;
        }
        if explored.is_over {
            return Stretch { done, left: left.into(), end: StretchEnd::Over(open) };
        }
        let rest = explored.rest.parts(options.items.parts);
        let (share, rest) = left_of(&open.place, open.share, rest);
        rest.into_iter().rev().for_each(|item| left.push_front(item));
        let summary = explored.summary;
        // What was learned before is told again with it, which does no harm.
        let learned = Some(program.learned()).filter(|learned| !learned.is_empty()).into_iter().collect();
        done.push(DoneItem { place: open.place, share, summary, monitor: watched.monitor, learned });
        if enough() {
            break;
        }
    }
    Stretch { done, left: left.into(), end: StretchEnd::Enough }
}
