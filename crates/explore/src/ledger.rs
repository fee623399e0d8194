//! What a search on several cores begins with, and who keeps what was done.
//!
//! A search that is kept can be gone on with, by another process and on another day: it begins with the items
//! that are open and with what came of those that are done. What holds of a [`Ledger`]:
//! * it is told of an item once, when all of it is explored, and before anybody can take the items that it
//!   leaves behind;
//! * an item that ended the search is never told of: not one with a failure that is to be the last, nor one
//!   in which a limit was reached or that somebody interrupted. It stays open. Who goes on explores it again,
//!   and so ends the same, or gets further;
//! * nor is an item told of once something was found out for which the search has to be begun again
//!   ([`Program::begin_again`](mazurka_program::Program::begin_again)): it may have been explored with and
//!   without knowing that.

use crate::{Item, Summary};

/// The place of an item: that of the item that it is left of, and its number there. The order of places is
/// that in which one worker would come to the items.
pub type ItemPlace = Vec<u32>;

/// An item that is to be explored.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenItem {
    /// Where in the search.
    pub place: ItemPlace,
    /// What is to be explored.
    pub item: Item,
    /// Its share of the search, as far as that can be told.
    pub share: f64,
}

/// An item that was explored.
#[derive(Clone, Debug, PartialEq)]
pub struct DoneItem<M> {
    /// Where in the search.
    pub place: ItemPlace,
    /// The share of the search that is behind us with it: less than that of the item if some was left.
    pub share: f64,
    /// What was found, of this item alone.
    pub summary: Summary,
    /// What its monitor has seen.
    pub monitor: M,
}

/// What a search begins with.
#[derive(Clone, Debug, PartialEq)]
pub struct Beginning<M> {
    /// The items that are to be explored.
    pub open: Vec<OpenItem>,
    /// Those that were.
    pub done: Vec<DoneItem<M>>,
}

impl<M> Beginning<M> {
    /// All is to be done.
    pub fn whole() -> Beginning<M> {
        let whole = OpenItem { place: ItemPlace::new(), item: Item::whole(), share: 1.0 };
        Beginning { open: vec![whole], done: Vec::new() }
    }
}

/// Who keeps what was done. An error, which says what is wrong, ends the search.
pub trait Ledger<M>: Send {
    /// An item was explored, and leaves these behind.
    ///
    /// # Errors
    /// If it can't be kept.
    fn commit(&mut self, done: &DoneItem<M>, left: &[OpenItem]) -> Result<(), String>;

    /// The search begins again: all that was kept is void.
    ///
    /// # Errors
    /// If that can't be kept.
    fn begin_again(&mut self) -> Result<(), String>;
}

/// One that keeps nothing.
pub(crate) struct NoLedger;

impl<M> Ledger<M> for NoLedger {
    fn commit(&mut self, _: &DoneItem<M>, _: &[OpenItem]) -> Result<(), String> {
        Ok(())
    }

    fn begin_again(&mut self) -> Result<(), String> {
        Ok(())
    }
}
