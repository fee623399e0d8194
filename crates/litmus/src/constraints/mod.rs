//! When steps of a `.maz` program commute.
//!
//! `extract` tells what a line does as a transition system; `ranges` finds out what numbers can occur, since
//! those of the language are of 64 bits and those of constraints are mathematical; `writes` knows what may be
//! written from a line on; `declared` judges what the program says of itself; `knowledge` answers a search;
//! `table` tells people.

mod declared;
mod extract;
mod knowledge;
mod ranges;
mod table;
#[cfg(test)]
mod tests;
mod writes;

pub(crate) use declared::Judged;
pub(crate) use knowledge::Knowledge;
pub(crate) use table::table;
