//! Searches that are kept, so that they can be gone on with: what was found in each part, and who keeps it.

use mazurka_explore::{Beginning, DoneItem, Ledger, OpenItem};

use crate::collect::{Collected, PartCollector};

/// What was found in a part of a search, and where in the search it is.
pub type Part = DoneItem<Collected>;

/// What a search begins with, and who keeps what it does.
pub struct Kept<'a> {
    /// What was done before, and what is left.
    pub before: Beginning<Collected>,
    /// Who is told of more.
    pub keeper: &'a mut dyn Ledger<Collected>,
}

/// A search of which nothing is kept.
pub(crate) struct NotKept;

impl Ledger<Collected> for NotKept {
    fn commit(&mut self, _: &Part, _: &[OpenItem]) -> Result<(), String> {
        Ok(())
    }

    fn begin_again(&mut self) -> Result<(), String> {
        Ok(())
    }
}

/// Tells a keeper what the collectors of items have collected.
pub(crate) struct Teller<'a>(pub &'a mut dyn Ledger<Collected>);

impl Ledger<PartCollector> for Teller<'_> {
    fn commit(&mut self, done: &DoneItem<PartCollector>, left: &[OpenItem]) -> Result<(), String> {
        let DoneItem { place, share, summary, monitor } = done;
        let monitor = monitor.so_far().clone();
        self.0.commit(&Part { place: place.clone(), share: *share, summary: summary.clone(), monitor }, left)
    }

    fn begin_again(&mut self) -> Result<(), String> {
        self.0.begin_again()
    }
}

/// The same with collectors, which have these failures.
pub(crate) fn collectors(before: Beginning<Collected>) -> Beginning<PartCollector> {
    let collector = |Part { place, share, summary, monitor }: Part| DoneItem {
        place,
        share,
        summary,
        monitor: PartCollector::of(monitor),
    };
    Beginning { open: before.open, done: before.done.into_iter().map(collector).collect() }
}
