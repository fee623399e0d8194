//! What is told to the database, and what it tells.

use postgres::Row;

/// The number of a search.
pub type SearchId = i64;

/// What a search is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Search {
    /// What `header` is summed up in.
    pub hash: String,
    /// Whatever says what is searched and how.
    pub header: Vec<u8>,
    /// Whether it was begun by the user of this connection, as the database says.
    pub is_ours: bool,
}

/// How far a search is.
#[derive(Clone, Debug, PartialEq)]
pub struct Look {
    /// `running`, `paused`, `done` or `cancelled`.
    pub state: String,
    /// How often it has begun again.
    pub generation: i32,
    /// How many items wait.
    pub ready: i64,
    /// How many are leased to workers.
    pub held: i64,
    /// How many executions there were, of all kinds.
    pub executions: i64,
    /// The share of the search that is behind us.
    pub share: f64,
    /// How many rows the results take.
    pub results: i64,
    /// How many threads of workers were seen in the last minute.
    pub threads: i64,
}

/// An item that is leased to us.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The item.
    pub item: i64,
    /// Of which search.
    pub search: SearchId,
    /// Of which generation of it.
    pub generation: i32,
    /// The number of the lease: who comes with an older one has nothing to say.
    pub number: i64,
    /// How often it was leased, this time included.
    pub tries: i16,
    /// What is to be done.
    pub body: Vec<u8>,
}

/// What came of an item.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Where in the search it begins.
    pub place: Vec<u8>,
    /// What was found; none if nothing was explored.
    pub part: Option<Vec<u8>>,
    /// The share of the search that is behind us with it.
    pub share: f64,
    /// How many executions there were, of all kinds.
    pub executions: i64,
    /// How many failures are among what was found.
    pub failures: i32,
    /// How long it took.
    pub milliseconds: i64,
    /// The items that are left of it.
    pub left: Vec<Left>,
    /// The item that ends the search, if there was one.
    pub end: Option<Left>,
}

/// An item that another leaves.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Left {
    /// Where in the search: the order of the bytes is that of the search.
    pub place: Vec<u8>,
    /// Its share.
    pub share: f64,
    /// What is to be done.
    pub body: Vec<u8>,
}

/// What a worker says of an item that was leased to it.
#[derive(Clone, Debug, PartialEq)]
pub enum Said {
    /// It is done.
    Done(Outcome),
    /// Something was found out in this: the search begins again with that.
    FoundOut {
        /// Whatever lets others find it out too.
        evidence: Vec<u8>,
        /// The whole search.
        whole: Vec<u8>,
    },
    /// It could not be done.
    Failed,
}

/// What became of that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// It counts.
    Counted,
    /// It does not: the lease had run out, and the item was leased to another, or is of no use any more.
    Fenced,
}

/// What came of an item, before which all is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Of which item.
    pub item: i64,
    /// Where in the search.
    pub place: Vec<u8>,
    /// What was found.
    pub part: Vec<u8>,
}

/// How much there is to do, of all searches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// How many items wait, up to a number.
    pub ready: i64,
    /// How many are leased to workers.
    pub held: i64,
    /// How many threads of workers there are.
    pub threads: i64,
}

/// What is left when a search is over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remains {
    /// What came of items, in order.
    pub parts: Vec<Vec<u8>>,
    /// The items that were given up.
    pub given_up: Vec<Vec<u8>>,
    /// The item that ends the search, if one does.
    pub end: Option<Vec<u8>>,
    /// What was found out, in order.
    pub found_out: Vec<Vec<u8>>,
}

/// A worker that has joined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worker {
    /// Its number.
    pub id: i64,
    /// On which machine.
    pub host: String,
    /// How many threads work.
    pub threads: i32,
    /// The version of its command.
    pub version: String,
}

/// What a worker says and wants.
pub struct Exchange<'a> {
    /// Who it is.
    pub worker: i64,
    /// What it says of its items.
    pub said: &'a [(Lease, Said)],
    /// How many items it wants.
    pub wanted: i64,
    /// Of which searches, with their hashes.
    pub searches: &'a [(SearchId, String)],
    /// The items that it holds besides.
    pub held: &'a [i64],
    /// How long leases are.
    pub seconds: f64,
    /// Whether it wants to know how much there is to do.
    pub wants_load: bool,
}

/// The answer to that.
pub struct Exchanged {
    /// What became of each thing that was said.
    pub heard: Vec<Heard>,
    /// The items that are leased.
    pub taken: Vec<Lease>,
    /// How much there is to do, if that was asked.
    pub load: Option<Load>,
}

/// What a worker says now and then.
pub struct Beat<'a> {
    /// Who it is.
    pub worker: &'a Worker,
    /// The items that it holds, with the numbers of their leases.
    pub held: &'a [(i64, i64)],
    /// How many items it has done.
    pub items: i64,
    /// How many executions these had.
    pub executions: i64,
    /// What else is to be told of it.
    pub note: &'a str,
    /// How long leases are.
    pub seconds: f64,
}

/// A search, for people.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchStatus {
    /// Its number.
    pub id: SearchId,
    /// What it is summed up in.
    pub hash: String,
    /// What it is called.
    pub title: String,
    /// Who began it.
    pub owner: String,
    /// `running`, `paused`, `done` or `cancelled`.
    pub state: String,
    /// How often it has begun again.
    pub generation: i32,
    /// How long ago it was begun, or how long it took.
    pub seconds: f64,
    /// How many items wait.
    pub ready: i64,
    /// How many are leased to workers.
    pub held: i64,
    /// How many were given up.
    pub given_up: i64,
    /// How many executions there were.
    pub executions: i64,
    /// How many times a failure was noted in a result.
    pub failures: i64,
    /// The share of the search that is behind us.
    pub share: f64,
    /// How long workers worked at it, together.
    pub worked: f64,
    /// How many executions a second there were in the last ten seconds.
    pub rate: f64,
    /// Whether something was met that ends it once all before that is done.
    pub is_ending: bool,
}

/// A worker, for people.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkerStatus {
    /// Its number.
    pub id: i64,
    /// On which machine.
    pub host: String,
    /// The number of its process there.
    pub process: i64,
    /// How many threads work.
    pub threads: i32,
    /// The version of its command.
    pub version: String,
    /// How many items it has done.
    pub items: i64,
    /// What it refuses, and why.
    pub note: String,
    /// For how many seconds it has been there.
    pub seconds: f64,
    /// How many seconds ago it was seen.
    pub seen: f64,
    /// How many items it holds.
    pub held: i64,
    /// How many executions it has counted.
    pub executions: i64,
    /// How many that were a second, since it joined.
    pub rate: f64,
}

pub(crate) fn search_status(row: &Row) -> SearchStatus {
    SearchStatus {
        id: row.get(0),
        hash: row.get(1),
        title: row.get(2),
        owner: row.get(3),
        state: row.get(4),
        generation: row.get(5),
        seconds: row.get(6),
        ready: row.get(7),
        held: row.get(8),
        given_up: row.get(9),
        executions: row.get(10),
        failures: row.get(11),
        share: row.get(12),
        worked: row.get::<_, i64>(13) as f64 / 1000.0,
        rate: row.get::<_, i64>(14) as f64 / 10.0,
        is_ending: row.get(15),
    }
}

pub(crate) fn worker_status(row: &Row) -> WorkerStatus {
    WorkerStatus {
        id: row.get(0),
        host: row.get(1),
        process: row.get(2),
        threads: row.get(3),
        version: row.get(4),
        items: row.get(5),
        note: row.get(6),
        seconds: row.get(7),
        seen: row.get(8),
        held: row.get(9),
        executions: row.get(10),
        rate: row.get(11),
    }
}
