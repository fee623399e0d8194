//! A search that many machines share, in a PostgreSQL database.
//!
//! Work comes in *items*, which are bytes to this crate, and have places, whose order is that of the search.
//! A worker *leases* an item: nobody else gets it until the lease runs out, which the worker puts off as long
//! as it is there. When the item is done, one statement takes it out, puts in what came of it and the items
//! that it leaves, if and only if the lease is still the last one of the item: its number fences off whoever
//! was taken for dead. So each item counts once, whatever crashes; and a search is over when there is no item
//! left, for an item is never gone before those that it leaves are there. An item that was leased three times
//! and never done is given up, and stays as what was not looked at.
//!
//! `sql` has all statements, `connection` makes a lost connection again and says again what could not be
//! heard, [`Store`] is what can be asked, `tls` and [`Address`] are the way there. A password is in none of
//! the texts that this crate makes.

mod address;
mod connection;
mod records;
mod sql;
mod store;
mod tls;

pub use address::{Address, AddressError};
pub use connection::StoreError;
pub use records::{
    Beat, Exchange, Exchanged, Found, Heard, Lease, Left, Load, Look, Outcome, Remains, Said, Search,
    SearchId, SearchStatus, Worker, WorkerStatus,
};
pub use store::{Store, TRIES};

use sha2::{Digest, Sha256};

/// What some bytes are summed up in: nobody can make others with the same sum.
pub fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A number that nobody else draws, most likely.
fn random() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    // Hashers are drawn at random, which is all that is needed.
    std::hash::RandomState::new().build_hasher().finish()
}

/// A pause of about so long, so that not all come back at once.
pub fn jittered(pause: std::time::Duration) -> std::time::Duration {
    connection::jittered(pause)
}
