//! A part of a search that is done elsewhere, for a report that is made here.

use std::sync::atomic::AtomicBool;

use mazurka_explore::{DoneItem, OpenItem, Options, Stretch, explore_stretch};
use mazurka_program::{Explain, Program};

use crate::collect::{Collected, PartCollector};
use crate::kept::Part;

/// Explores a [stretch](mazurka_explore::explore_stretch) of a search as [`check_jobs`](crate::check_jobs)
/// would.
pub fn check_stretch<P: Program<Run: Explain>>(
    program: &P,
    options: &Options,
    items: Vec<OpenItem>,
    has_to_begin_again: &mut dyn FnMut() -> bool,
    enough: &mut dyn FnMut() -> bool,
    halt: &AtomicBool,
) -> Stretch<Collected> {
    let monitor = || PartCollector::new(options.keep_going);
    let Stretch { done, left, end } =
        explore_stretch(program, options, items, &monitor, has_to_begin_again, enough, halt);
    let part = |DoneItem { place, share, summary, monitor, learned }: DoneItem<PartCollector>| Part {
        place,
        share,
        summary,
        monitor: monitor.collected(),
        learned,
    };
    Stretch { done: done.into_iter().map(part).collect(), left, end }
}

/// One part of several that follow each other with nothing open between them, in their order.
pub fn together(parts: impl IntoIterator<Item = Part>) -> Option<Part> {
    parts.into_iter().reduce(|mut first, next| {
        first.share += next.share;
        first.summary.add(next.summary);
        first.monitor.add(next.monitor);
        for learned in next.learned {
            if !first.learned.contains(&learned) {
                first.learned.push(learned);
            }
        }
        first
    })
}
