//! Searches that are kept, so that they can be gone on with: what was found in each part, and who keeps it.

use std::time::Duration;

use mazurka_explore::{Ahead, Beginning, Crew, DoneItem, Item, ItemPlace, Ledger, OpenItem, TakenUp};

use crate::collect::{Collected, PartCollector};

/// What was found in a part of a search, and where in the search it is.
pub type Part = DoneItem<Collected>;

/// What a search begins with, and who keeps what it does.
pub struct Kept<'a> {
    /// What was done before, and what is left.
    pub before: Beginning<Collected>,
    /// Who is told of more; nobody of a search that was done elsewhere, of which nothing is left but to meet its end
    /// again.
    pub keeper: Option<&'a mut dyn Ledger<Collected>>,
}

/// What is said where an item that ended the search elsewhere does not end it here.
pub const NOT_MET_AGAIN: &str = "a worker met what ends the search, and it was not met again here: the program did not do \
                                 again what it had done";

/// Who is told that there is more, where nothing should be.
pub(crate) struct NothingMore;

impl Ledger<Collected> for NothingMore {
    fn commit(&mut self, _: &Part, _: &[OpenItem]) -> Result<(), String> {
        Err(NOT_MET_AGAIN.to_owned())
    }

    fn begin_again(&mut self, _: Option<&OpenItem>) -> Result<(), String> {
        Err("something was found out about the program here that no worker had found out".to_owned())
    }
}

/// Tells a keeper what the collectors of items have collected.
pub(crate) struct Teller<'a>(pub &'a mut dyn Ledger<Collected>);

impl Ledger<PartCollector> for Teller<'_> {
    fn commit(&mut self, done: &DoneItem<PartCollector>, left: &[OpenItem]) -> Result<(), String> {
        let DoneItem { place, share, summary, monitor, learned } = done.clone();
        self.0.commit(&Part { place, share, summary, monitor: monitor.collected(), learned }, left)
    }

    fn begin_again(&mut self, found_in: Option<&OpenItem>) -> Result<(), String> {
        self.0.begin_again(found_in)
    }
}

/// Those who explore parts ahead, with collectors that have what they collected.
pub(crate) struct Collectors<'a>(pub &'a mut dyn Crew<Collected>);

impl Crew<PartCollector> for Collectors<'_> {
    fn begin(&mut self, place: &ItemPlace, item: &Item, most: u64) -> bool {
        self.0.begin(place, item, most)
    }

    fn wait(&mut self, most: Duration) -> Vec<Ahead<PartCollector>> {
        let collector = |Ahead { place, found }: Ahead<Collected>| Ahead {
            place,
            found: found.map(|(explored, collected)| (explored, PartCollector::of(collected))),
        };
        self.0.wait(most).into_iter().map(collector).collect()
    }

    fn take_up(&mut self, place: &ItemPlace) -> TakenUp {
        self.0.take_up(place)
    }

    fn know(&mut self, learned: &[u8]) -> bool {
        self.0.know(learned)
    }

    fn give_up(&mut self, place: &ItemPlace) {
        self.0.give_up(place);
    }

    fn has_news(&self) -> bool {
        self.0.has_news()
    }
}

/// The same with collectors, which have these failures.
pub(crate) fn collectors(before: Beginning<Collected>) -> Beginning<PartCollector> {
    let Beginning { found_out, open, done } = before;
    let collector = |Part { place, share, summary, monitor, learned }: Part| DoneItem {
        place,
        share,
        summary,
        monitor: PartCollector::of(monitor),
        learned,
    };
    Beginning { found_out, open, done: done.into_iter().map(collector).collect() }
}
