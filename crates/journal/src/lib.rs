//! A log of work that is done: a search that is killed at any moment goes on from it, and ends with the totals
//! of one that was not.
//!
//! Work comes in *items*, which are bytes to this crate. To commit an item tells what came of it, also bytes,
//! and the items that it leaves behind, in one record: so what came of an item counts if and only if what it
//! leaves behind is there, and each item counts once. A record that did not get to the file whole leaves its
//! item open, and the item is done again.
//!
//! The file, in the order in which it is read (`frame` has the frames, `record` what is in them):
//!
//! ```text
//! file       = "mazurka journal 2\n", frame of a header, { frame of a record }
//! frame      = length of the body (4 bytes), its CRC-32C (4 bytes), body
//! header     = what the search is, as names with values: all of them must agree for it to go on
//! record     = beginning | commit | checkpoint
//! beginning  = generation, what is known by now, items: what came before is void
//! commit     = item, result, items that it leaves behind
//! checkpoint = generation, what is known, totals, open items: stands for all that came before
//! ```
//!
//! Items are numbered in the order in which they are in the file. Frames are only ever added at its end, so
//! what is read of a file that was cut anywhere, or that has a bad frame anywhere, is the journal as it was at
//! some earlier time: [`Journal::open`] reads up to there and cuts off the rest. No item is committed before
//! it is there. What a [commit](Journal::commit) has written survives the end of the process at once, and
//! that of the machine after a second at most.
//!
//! ```
//! use mazurka_journal::{Header, Journal};
//!
//! let directory = std::env::temp_dir().join(format!("journal-{}", std::process::id()));
//! std::fs::create_dir_all(&directory)?;
//! let path = directory.join("search");
//! let header = Header::new().with("program", "queue.maz");
//! let mut journal = Journal::create(&path, &header, 0, &[b"root".to_vec()])?;
//! let root = journal.open_items()[0].0;
//! journal.commit(root, b"1 execution", &[b"left".to_vec(), b"right".to_vec()])?;
//! drop(journal);
//!
//! let (journal, recovered) = Journal::open(&path)?;
//! assert_eq!(recovered.header.differences(&header), []);
//! assert_eq!(recovered.results, [b"1 execution"]);
//! assert_eq!(journal.open_items().len(), 2);
//! # std::fs::remove_dir_all(&directory)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod frame;
mod header;
mod journal;
mod record;

pub use header::{Difference, Header};
pub use journal::{Journal, JournalError, Recovered};
pub use record::ItemId;
