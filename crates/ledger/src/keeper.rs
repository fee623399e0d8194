//! Keeps a search in a journal, so that it can be gone on with.
//!
//! What holds: the open items of the journal are those of `open`, and what came of all others is in `parts`,
//! of which the first has all that comes before every open item: nothing that is found later can make that
//! void. What was found out about the program before is in `found_out`.

use std::collections::BTreeMap;
use std::path::Path;

use mazurka_explore::{Beginning, FoundOut, ItemPlace, Ledger, OpenItem};
use mazurka_journal::{Header, ItemId, Journal, Recovered};
use mazurka_report::{Collected, Part, together};

use crate::encoding;

/// A file that is longer than this, and much longer than it was after the last checkpoint, gets one.
pub const LONG: u64 = 8 << 20;

/// What is said of a journal whose checksums are right and whose words are not.
pub const DAMAGED: &str = "the journal is damaged: something in it can't be read";

/// A search that is kept in a journal.
pub struct Keeper {
    journal: Journal,
    generation: u64,
    found_out: Vec<FoundOut>,
    /// The items that are open, by their places.
    open: BTreeMap<ItemPlace, ItemId>,
    /// What came of those that are done.
    parts: BTreeMap<ItemPlace, Part>,
    /// A file that is shorter than this is left alone.
    long: u64,
    /// The file gets a checkpoint when it is longer than this.
    too_long: u64,
}

impl Keeper {
    /// Begins a journal. Its file is made short when it has more than so many bytes.
    ///
    /// # Errors
    /// If there is a file that is not empty, or it can't be written.
    pub fn begin(path: &Path, header: &Header, long: u64) -> Result<Keeper, String> {
        let whole = encoded(&Beginning::<Collected>::whole().open)?;
        let journal = Journal::create(path, header, 0, &whole).map_err(|why| why.to_string())?;
        let mut keeper = Keeper::of(journal, long);
        keeper.open_whole();
        Ok(keeper)
    }

    /// Goes on with one.
    ///
    /// # Errors
    /// If something in it can't be read: what is wrong.
    pub fn go_on(journal: Journal, recovered: &Recovered, long: u64) -> Result<Keeper, String> {
        let mut keeper = Keeper::of(journal, long);
        keeper.generation = recovered.generation;
        if recovered.generation > 0 {
            keeper.found_out = encoding::read_found_out(&recovered.known).ok_or(DAMAGED)?;
        }
        for (id, bytes) in keeper.journal.open_items() {
            keeper.open.insert(encoding::read_open_item(&bytes).ok_or(DAMAGED)?.place, id);
        }
        for bytes in recovered.totals.iter().chain(&recovered.results) {
            for part in encoding::read_parts(bytes).ok_or(DAMAGED)? {
                keeper.parts.insert(part.place.clone(), part);
            }
        }
        keeper.put_together();
        Ok(keeper)
    }

    fn of(journal: Journal, long: u64) -> Keeper {
        let (open, parts) = (BTreeMap::new(), BTreeMap::new());
        Keeper { journal, generation: 0, found_out: Vec::new(), open, parts, long, too_long: long }
    }

    /// What a search that goes on from here begins with.
    ///
    /// # Errors
    /// If an item can't be read.
    pub fn beginning(&self) -> Result<Beginning<Collected>, String> {
        let items = self.journal.open_items().into_iter();
        let open = items.map(|(_, bytes)| encoding::read_open_item(&bytes).ok_or(DAMAGED.to_owned()));
        let (found_out, done) = (self.found_out.clone(), self.parts.values().cloned().collect());
        Ok(Beginning { found_out, open: open.collect::<Result<_, _>>()?, done })
    }

    /// The whole search is the only item that is open.
    fn open_whole(&mut self) {
        let ids = self.journal.open_items().into_iter();
        self.open = ids.map(|(id, _)| (ItemPlace::new(), id)).collect();
    }

    /// Makes one of all parts before which nothing is open.
    fn put_together(&mut self) {
        let Some((place, first)) = self.parts.pop_first() else { return };
        let mut all = vec![first];
        let first_open = self.open.keys().next();
        while let Some(next) = self.parts.first_entry()
            && first_open.is_none_or(|open| next.key() < open)
        {
            all.push(next.remove());
        }
        self.parts.extend(together(all).map(|first| (place, first)));
    }

    /// Makes the file short. Where that can't be done (there must be room for a second one) it stays long.
    fn checkpoint(&mut self) -> Result<(), String> {
        let totals = encoding::parts(self.parts.values())?;
        let _ = self.journal.checkpoint(&totals);
        self.too_long = self.long.max(4 * self.journal.length());
        Ok(())
    }
}

impl Ledger<Collected> for Keeper {
    fn commit(&mut self, done: &Part, left: &[OpenItem]) -> Result<(), String> {
        let id = self.open.get(&done.place).copied();
        let id = id.ok_or("an item was explored that the journal does not have")?;
        let (result, items) = (encoding::parts([done])?, encoded(left)?);
        let ids = self.journal.commit(id, &result, &items).map_err(|why| why.to_string())?;
        self.open.remove(&done.place);
        self.open.extend(left.iter().map(|item| item.place.clone()).zip(ids));
        self.parts.insert(done.place.clone(), done.clone());
        self.put_together();
        if self.journal.length() > self.too_long { self.checkpoint() } else { Ok(()) }
    }

    /// What was learned after the item in which something was found out is void with all else: it comes after the
    /// end of that search.
    fn begin_again(&mut self, found_in: Option<&OpenItem>) -> Result<(), String> {
        let item = found_in.ok_or("what was found out about the program can't be kept")?.clone();
        let before = self.parts.range(..item.place.clone()).map(|(_, part)| part.clone());
        let learned = together(before).map_or_else(Vec::new, |part| part.learned);
        let mut found_out = self.found_out.clone();
        found_out.push(FoundOut { learned, item });
        let known = encoding::found_out(&found_out)?;
        let whole = encoded(&Beginning::<Collected>::whole().open)?;
        self.journal.begin_again(self.generation + 1, &known, &whole).map_err(|why| why.to_string())?;
        self.generation += 1;
        self.found_out = found_out;
        self.parts.clear();
        self.open_whole();
        Ok(())
    }
}

fn encoded(items: &[OpenItem]) -> Result<Vec<Vec<u8>>, String> {
    items.iter().map(encoding::open_item).collect()
}
