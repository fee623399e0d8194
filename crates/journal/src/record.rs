//! Records: what the body of a frame says.

use crate::frame::{put_bytes, put_number, take_bytes, take_number};

/// An item of work, by the order in which items are in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ItemId(pub u64);

/// What a frame says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Record {
    /// The search begins, or begins again: items and results before this are void. What is known by now stays.
    Beginning { generation: u64, known: Vec<u8>, items: Vec<Vec<u8>> },
    /// An item is done.
    Commit { item: ItemId, result: Vec<u8>, items: Vec<Vec<u8>> },
    /// All that came before in one record. Items to come are numbered from `next` on.
    Checkpoint { generation: u64, known: Vec<u8>, next: u64, totals: Vec<u8>, open: Vec<(ItemId, Vec<u8>)> },
}

const BEGINNING: u64 = 1;
const COMMIT: u64 = 2;
const CHECKPOINT: u64 = 3;

impl Record {
    pub fn encoded(&self) -> Vec<u8> {
        let mut body = Vec::new();
        match self {
            Record::Beginning { generation, known, items } => {
                [BEGINNING, *generation].into_iter().for_each(|number| put_number(&mut body, number));
                put_bytes(&mut body, known);
                put_items(&mut body, items);
            }
            Record::Commit { item, result, items } => {
                [COMMIT, item.0].into_iter().for_each(|number| put_number(&mut body, number));
                put_bytes(&mut body, result);
                put_items(&mut body, items);
            }
            Record::Checkpoint { generation, known, next, totals, open } => {
                [CHECKPOINT, *generation, *next].into_iter().for_each(|number| put_number(&mut body, number));
                put_bytes(&mut body, known);
                put_bytes(&mut body, totals);
                put_number(&mut body, open.len() as u64);
                for (item, bytes) in open {
                    put_number(&mut body, item.0);
                    put_bytes(&mut body, bytes);
                }
            }
        }
        body
    }

    pub fn decoded(mut body: &[u8]) -> Option<Record> {
        let from = &mut body;
        let record = match take_number(from)? {
            BEGINNING => {
                let (generation, known) = (take_number(from)?, take_bytes(from)?.to_vec());
                Record::Beginning { generation, known, items: take_items(from)? }
            }
            COMMIT => {
                let item = ItemId(take_number(from)?);
                Record::Commit { item, result: take_bytes(from)?.to_vec(), items: take_items(from)? }
            }
            CHECKPOINT => {
                let (generation, next) = (take_number(from)?, take_number(from)?);
                let known = take_bytes(from)?.to_vec();
                let totals = take_bytes(from)?.to_vec();
                let mut open = Vec::new();
                for _ in 0..take_number(from)? {
                    open.push((ItemId(take_number(from)?), take_bytes(from)?.to_vec()));
                }
                Record::Checkpoint { generation, known, next, totals, open }
            }
            _ => return None,
        };
        body.is_empty().then_some(record)
    }
}

fn put_items(body: &mut Vec<u8>, items: &[Vec<u8>]) {
    put_number(body, items.len() as u64);
    items.iter().for_each(|item| put_bytes(body, item));
}

fn take_items(body: &mut &[u8]) -> Option<Vec<Vec<u8>>> {
    // Not laid out before it is read: the number may be anything.
    let mut items = Vec::new();
    for _ in 0..take_number(body)? {
        items.push(take_bytes(body)?.to_vec());
    }
    Some(items)
}
