//! Keeps a search in a journal, so that it can be gone on with.
//!
//! What holds: the open items of the journal are those of `open`, and what came of all others is in `parts`,
//! of which the first has all that comes before every open item: nothing that is found later can make that
//! void.

use std::collections::BTreeMap;
use std::path::Path;

use mazurka_explore::{Beginning, ItemPlace, Ledger, OpenItem};
use mazurka_journal::{Header, ItemId, Journal, Recovered};
use mazurka_report::{Collected, Part};

use super::encoding;
use crate::error::CommandError;

/// A file that is longer than this, and much longer than it was after the last checkpoint, gets one.
const LONG: u64 = 8 << 20;

/// What is said of a journal whose checksums are right and whose words are not.
pub const DAMAGED: &str = "the journal is damaged: something in it can't be read";

/// A search that is kept in a journal.
pub struct Keeper {
    journal: Journal,
    generation: u64,
    /// The items that are open, by their places.
    open: BTreeMap<ItemPlace, ItemId>,
    /// What came of those that are done.
    parts: BTreeMap<ItemPlace, Part>,
    /// The file gets a checkpoint when it is longer than this.
    long: u64,
}

impl Keeper {
    /// Begins a journal.
    pub fn begin(path: &Path, header: &Header) -> Result<(Keeper, Beginning<Collected>), CommandError> {
        let before = Beginning::whole();
        let items = encoded(&before.open).map_err(CommandError::input)?;
        let refuse = |why| CommandError::input(format!("{}: {why}", path.display())).at(path.display());
        let journal = Journal::create(path, header, 0, &items).map_err(refuse)?;
        let open = journal.open_items().into_iter().map(|(id, _)| (ItemPlace::new(), id)).collect();
        let keeper = Keeper { journal, generation: 0, open, parts: BTreeMap::new(), long: long() };
        Ok((keeper, before))
    }

    /// Goes on with one.
    ///
    /// # Errors
    /// If something in it can't be read, or it can't be written: what is wrong.
    pub fn go_on(journal: Journal, recovered: &Recovered) -> Result<(Keeper, Beginning<Collected>), String> {
        let generation = recovered.generation;
        let mut keeper =
            Keeper { journal, generation, open: BTreeMap::new(), parts: BTreeMap::new(), long: long() };
        if generation > 0 {
            // What had been found out of the program is not in the journal: it will be found out again.
            Ledger::begin_again(&mut keeper)?;
            return Ok((keeper, Beginning::whole()));
        }
        let mut before = Beginning { open: Vec::new(), done: Vec::new() };
        for (id, bytes) in keeper.journal.open_items() {
            let item = encoding::read_open_item(&bytes).ok_or(DAMAGED)?;
            keeper.open.insert(item.place.clone(), id);
            before.open.push(item);
        }
        for bytes in recovered.totals.iter().chain(&recovered.results) {
            for part in encoding::read_parts(bytes).ok_or(DAMAGED)? {
                keeper.parts.insert(part.place.clone(), part);
            }
        }
        keeper.put_together();
        before.done = keeper.parts.values().cloned().collect();
        Ok((keeper, before))
    }

    /// Makes one of all parts before which nothing is open.
    fn put_together(&mut self) {
        let Some((place, mut first)) = self.parts.pop_first() else { return };
        let first_open = self.open.keys().next();
        while let Some(next) = self.parts.first_entry()
            && first_open.is_none_or(|open| next.key() < open)
        {
            let next = next.remove();
            first.share += next.share;
            first.summary.add(next.summary);
            first.monitor.add(next.monitor);
        }
        self.parts.insert(place, first);
    }

    /// Makes the file short. Where that can't be done (there must be room for a second one) it stays long.
    fn checkpoint(&mut self) -> Result<(), String> {
        let totals = encoding::parts(self.parts.values())?;
        let _ = self.journal.checkpoint(&totals);
        self.long = long().max(4 * self.journal.length());
        Ok(())
    }
}

impl Ledger<Collected> for Keeper {
    fn commit(&mut self, done: &Part, left: &[OpenItem]) -> Result<(), String> {
        let id = self.open.get(&done.place).copied();
        let id = id.ok_or("an item was explored that the journal does not have")?;
        let (result, items) = (encoding::parts([done].into_iter())?, encoded(left)?);
        let ids = self.journal.commit(id, &result, &items).map_err(|why| why.to_string())?;
        self.open.remove(&done.place);
        self.open.extend(left.iter().map(|item| item.place.clone()).zip(ids));
        self.parts.insert(done.place.clone(), done.clone());
        self.put_together();
        if self.journal.length() > self.long { self.checkpoint() } else { Ok(()) }
    }

    fn begin_again(&mut self) -> Result<(), String> {
        let items = encoded(&Beginning::<Collected>::whole().open)?;
        self.journal.begin_again(self.generation + 1, &items).map_err(|why| why.to_string())?;
        self.generation += 1;
        self.parts.clear();
        let ids = self.journal.open_items().into_iter();
        self.open = ids.map(|(id, _)| (ItemPlace::new(), id)).collect();
        Ok(())
    }
}

fn encoded(items: &[OpenItem]) -> Result<Vec<Vec<u8>>, String> {
    items.iter().map(encoding::open_item).collect()
}

/// How long a file is that gets a checkpoint. Tests, which can't wait for a long one, say so.
fn long() -> u64 {
    let shorter = std::env::var("MAZURKA_JOURNAL_CHECKPOINT").ok().and_then(|bytes| bytes.parse().ok());
    shorter.unwrap_or(LONG)
}
