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
//!   without knowing that. What was found out is kept as the item in which it was: who goes on explores that
//!   again first, and so comes to know the same.

use crate::jobs::NOT_AGAIN;
use crate::{Item, Summary};

/// The place of an item: that of the item that it is left of, and its number there. The order of places is
/// that in which one worker would come to the items.
pub type ItemPlace = Vec<u32>;

/// An item that is to be explored.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenItem<I = Item> {
    /// Where in the search.
    pub place: ItemPlace,
    /// What is to be explored.
    pub item: I,
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
    /// What was [learned](mazurka_program::Program::learned) of the program in it: each thing once, in order.
    pub learned: Vec<Vec<u8>>,
}

/// What was found out about a program, for which the search was begun again.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundOut<I = Item> {
    /// What had been learned in the items before, of that beginning of the search.
    pub learned: Vec<Vec<u8>>,
    /// The item in which it was found out.
    pub item: OpenItem<I>,
}

/// What a search begins with.
#[derive(Clone, Debug, PartialEq)]
pub struct Beginning<M, I = Item> {
    /// What was found out before, in order.
    pub found_out: Vec<FoundOut<I>>,
    /// The items that are to be explored.
    pub open: Vec<OpenItem<I>>,
    /// Those that were.
    pub done: Vec<DoneItem<M>>,
}

impl<M> Beginning<M> {
    /// All is to be done.
    pub fn whole() -> Beginning<M> {
        Beginning::by(Item::whole())
    }
}

impl<M, I> Beginning<M, I> {
    /// All is to be done, by one item.
    pub(crate) fn by(item: I) -> Beginning<M, I> {
        let whole = OpenItem { place: ItemPlace::new(), item, share: 1.0 };
        Beginning { found_out: Vec::new(), open: vec![whole], done: Vec::new() }
    }
}

/// Who keeps what was done. An error, which says what is wrong, ends the search.
pub trait Ledger<M, I = Item>: Send {
    /// An item was explored, and leaves these behind.
    ///
    /// # Errors
    /// If it can't be kept.
    fn commit(&mut self, done: &DoneItem<M>, left: &[OpenItem<I>]) -> Result<(), String>;

    /// The search begins again, because of what was found out in this item: what was kept is void, but for what
    /// was found out before, and for what was learned before this item. In which item it was is not known of
    /// programs that have no [parts](mazurka_program::Program::part).
    ///
    /// # Errors
    /// If that can't be kept.
    fn begin_again(&mut self, found_in: Option<&OpenItem<I>>) -> Result<(), String>;
}

/// One that keeps nothing, and wants nothing to be kept: of an item in which something is to be found out.
pub(crate) struct NothingNew;

impl<M, I> Ledger<M, I> for NothingNew {
    fn commit(&mut self, _: &DoneItem<M>, _: &[OpenItem<I>]) -> Result<(), String> {
        Err(NOT_AGAIN.to_owned())
    }

    fn begin_again(&mut self, _: Option<&OpenItem<I>>) -> Result<(), String> {
        Ok(())
    }
}

/// One that keeps nothing.
pub(crate) struct NoLedger;

impl<M, I> Ledger<M, I> for NoLedger {
    fn commit(&mut self, _: &DoneItem<M>, _: &[OpenItem<I>]) -> Result<(), String> {
        Ok(())
    }

    fn begin_again(&mut self, _: Option<&OpenItem<I>>) -> Result<(), String> {
        Ok(())
    }
}
