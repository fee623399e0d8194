//! The searches in a database: what can be asked of it.

use std::time::Duration;

use postgres::Row;

use crate::connection::{Batch, Connection};
use crate::records::{
    Beat, Exchange, Exchanged, Found, Heard, Lease, Load, Look, Outcome, Remains, Said, Search, SearchId,
    SearchStatus, Worker, WorkerStatus, search_status, worker_status,
};
use crate::{Address, StoreError, sql};

/// An item that could not be done in so many tries is given up.
pub const TRIES: i16 = 3;

/// The state of an item that is ready, and of one that ends its search.
const READY: i16 = 0;
const ENDS: i16 = 4;

/// A database with searches.
pub struct Store(Connection);

/// The numbers of workers are up to this: short enough to be read.
const MOST_WORKERS: u64 = 999_999_999;

impl Store {
    /// Connects, and makes the tables if there are none. Later, a database that is gone is waited for so
    /// long.
    ///
    /// # Errors
    /// If there is no such database, or it does not let us in, or its tables are of another version.
    pub fn connect(address: &Address, patience: Duration) -> Result<Store, StoreError> {
        let mut store = Store(Connection::new(address, patience)?);
        let has_tables =
            store.0.transact(|batch| Ok(batch.query(sql::HAS_TABLES, &[])?[0].get::<_, bool>(0)))?;
        let mut there = if has_tables { store.layout()? } else { None };
        if there.is_none_or(|there| there < sql::LAYOUT) {
            store.make_tables()?;
            there = store.layout()?;
        }
        match there {
            Some(sql::LAYOUT) => Ok(store),
            other => Err(StoreError(format!(
                "{address}: its tables are of version {} and those of this mazurka are of version {}; use another \
                 database, or drop the schema mazurka there",
                other.unwrap_or(0),
                sql::LAYOUT
            ))),
        }
    }

    fn layout(&mut self) -> Result<Option<i32>, StoreError> {
        self.0.transact(|batch| Ok(batch.query(sql::LAYOUT_THERE, &[])?[0].get(0)))
    }

    /// Two that make them at the same time are in each other's way.
    fn make_tables(&mut self) -> Result<(), StoreError> {
        let mut tries = 0;
        loop {
            match self.0.say(sql::TABLES) {
                Err(_) if tries < 5 => tries += 1,
                result => return result,
            }
            std::thread::sleep(Duration::from_millis(50 * tries));
        }
    }

    /// The search of a program that is not over, or a new one; and whether it is new.
    ///
    /// # Errors
    /// If the database can't be asked.
    pub fn begin(
        &mut self,
        hash: &str,
        header: &[u8],
        title: &str,
        whole: &[u8],
    ) -> Result<(SearchId, bool), StoreError> {
        let found = self.0.transact(|batch| {
            if let Some(row) = batch.query(sql::BEGIN, &[&hash, &header, &title, &whole])?.first() {
                return Ok(Some((row.get(0), true)));
            }
            Ok(batch.query(sql::FIND, &[&hash])?.first().map(|row| (row.get(0), false)))
        })?;
        // It may just have come to its end.
        found.map_or_else(|| self.begin(hash, header, title, whole), Ok)
    }

    /// Keeps a program, by what its bytes are summed up in.
    ///
    /// # Errors
    /// If the database can't be asked.
    pub fn put_blob(&mut self, hash: &str, bytes: &[u8]) -> Result<(), StoreError> {
        self.0.transact(|batch| batch.execute(sql::PUT_BLOB, &[&hash, &bytes])).map(drop)
    }

    /// A program that was kept; none if it is not there, or is something else by now.
    ///
    /// # Errors
    /// If the database can't be asked.
    pub fn blob(&mut self, hash: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let bytes: Option<Vec<u8>> =
            self.0.transact(|batch| Ok(batch.query(sql::BLOB, &[&hash])?.first().map(|row| row.get(0))))?;
        Ok(bytes.filter(|bytes| crate::hash(bytes) == hash))
    }

    /// What came of items before which all is done, but for those that were given up: some of it, behind a
    /// place, in order.
    ///
    /// # Errors
    /// If the database can't be asked.
    pub fn results(
        &mut self,
        search: SearchId,
        generation: i32,
        behind: Option<&[u8]>,
    ) -> Result<Vec<Found>, StoreError> {
        self.0.transact(|batch| {
            let rows = batch.query(sql::RESULTS, &[&search, &generation, &behind])?;
            let read = |row: &Row| Found { item: row.get(0), place: row.get(1), part: row.get(2) };
            Ok(rows.iter().map(read).collect())
        })
    }

    /// Makes one result of several, with this in it. Not so if somebody else has done that with some of them.
    ///
    /// # Errors
    /// If the database can't be asked.
    pub fn replace(&mut self, search: SearchId, items: &[i64], part: &[u8]) -> Result<bool, StoreError> {
        self.0.transact(|batch| {
            let held = batch.query(sql::HOLD_RESULTS, &[&search, &items])?;
            let are_there = held.len() == items.len();
            if are_there {
                batch.execute(sql::REPLACE_RESULTS, &[&search, &items, &part])?;
            }
            Ok(are_there)
        })
    }

    /// The item at which a search was to end does not end it, and this came of it. Not so if somebody else was
    /// faster.
    ///
    /// # Errors
    /// If the database can't be asked.
    pub fn go_on_behind(
        &mut self,
        search: SearchId,
        generation: i32,
        outcome: &Outcome,
    ) -> Result<bool, StoreError> {
        let places: Vec<&[u8]> = outcome.left.iter().map(|left| &left.place[..]).collect();
        let shares: Vec<f64> = outcome.left.iter().map(|left| left.share).collect();
        let bodies: Vec<&[u8]> = outcome.left.iter().map(|left| &left.body[..]).collect();
        let Outcome { place, part, share, executions, failures, milliseconds, .. } = outcome;
        self.0.transact(|batch| {
            let rows = batch.query(
                sql::GO_ON_BEHIND,
                &[
                    &search,
                    &generation,
                    place,
                    share,
                    executions,
                    failures,
                    milliseconds,
                    part,
                    &places,
                    &shares,
                    &bodies,
                ],
            )?;
            Ok(rows[0].get::<_, i64>(0) > 0)
        })
    }

    /// A search begins again, with what was found out. Not so if it has begun again before.
    ///
    /// # Errors
    /// If the database can't be asked.
    pub fn begin_again(
        &mut self,
        search: SearchId,
        generation: i32,
        evidence: &[u8],
        whole: &[u8],
    ) -> Result<bool, StoreError> {
        self.0.transact(|batch| {
            let rows = batch.query(sql::BEGIN_AGAIN_HERE, &[&search, &generation, &evidence, &whole])?;
            Ok(rows[0].get::<_, i64>(0) > 0)
        })
    }

    /// The searches that are not over, with their titles.
    ///
    /// # Errors
    /// If the database can't be asked.
    pub fn unfinished(&mut self) -> Result<Vec<(SearchId, String)>, StoreError> {
        self.0.transact(|batch| {
            let rows = batch.query(sql::UNFINISHED, &[])?;
            Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
        })
    }

    /// What a search is.
    ///
    /// # Errors
    /// If the database can't be asked.
    pub fn search(&mut self, search: SearchId) -> Result<Option<Search>, StoreError> {
        self.0.transact(|batch| {
            let rows = batch.query(sql::SEARCH, &[&search])?;
            let read = |row: &Row| Search { hash: row.get(0), header: row.get(1), is_ours: row.get(2) };
            Ok(rows.first().map(read))
        })
    }

    /// What was found out before a generation of a search, in order.
    ///
    /// # Errors
    /// If the database can't be asked.
    pub fn found_out(&mut self, search: SearchId, generation: i32) -> Result<Vec<Vec<u8>>, StoreError> {
        self.0.transact(|batch| {
            let rows = batch.query(sql::FOUND_OUT, &[&search, &generation])?;
            Ok(rows.iter().map(|row| row.get(0)).collect())
        })
    }

    /// Has workers go on with a search that was put aside, or puts one aside that they work at.
    ///
    /// # Errors
    /// If the database can't be asked.
    pub fn set_aside(&mut self, search: SearchId, aside: bool) -> Result<(), StoreError> {
        let statement = if aside { sql::PAUSE } else { sql::GO_ON };
        self.0.transact(|batch| batch.execute(statement, &[&search])).map(drop)
    }

    /// Nothing is left to do in this generation of a search. Not so if it has begun again meanwhile.
    ///
    /// # Errors
    /// If the database can't be asked.
    pub fn finish(&mut self, search: SearchId, generation: i32) -> Result<bool, StoreError> {
        self.0.transact(|batch| Ok(batch.execute(sql::FINISH, &[&search, &generation])? > 0))
    }

    /// Somebody was told what came of a search: who asks for the same program begins a new one.
    ///
    /// # Errors
    /// If the database can't be asked.
    pub fn reported(&mut self, search: SearchId) -> Result<(), StoreError> {
        self.0.transact(|batch| batch.execute(sql::REPORTED, &[&search])).map(drop)
    }

    /// Ends a search for good; whether there was one to end.
    ///
    /// # Errors
    /// If the database can't be asked.
    pub fn cancel(&mut self, search: SearchId) -> Result<bool, StoreError> {
        let is_ended = self.0.transact(|batch| Ok(batch.execute(sql::CANCEL, &[&search])? > 0))?;
        self.sweep()?;
        Ok(is_ended)
    }

    /// Takes away what is left of searches that are over.
    ///
    /// # Errors
    /// If the database can't be asked.
    pub fn sweep(&mut self) -> Result<(), StoreError> {
        sql::SWEEP
            .iter()
            .try_for_each(|statement| self.0.transact(|batch| batch.execute(statement, &[])).map(drop))
    }

    /// How far a search is; none if there is no such search.
    ///
    /// # Errors
    /// If the database can't be asked.
    pub fn look(&mut self, search: SearchId) -> Result<Option<Look>, StoreError> {
        self.0.transact(|batch| {
            // Whoever looks sees to it that nothing waits for a worker that is gone.
            batch.execute(sql::REAP, &[&TRIES])?;
            let rows = batch.query(sql::LOOK, &[&search])?;
            Ok(rows.first().map(|row| Look {
                state: row.get(0),
                generation: row.get(1),
                ready: row.get(3),
                held: row.get(4),
                executions: row.get(5),
                share: row.get(6),
                results: row.get(7),
                threads: row.get(8),
            }))
        })
    }

    /// What came of a search.
    ///
    /// # Errors
    /// If the database can't be asked.
    pub fn remains(&mut self, search: SearchId) -> Result<Remains, StoreError> {
        // Results that are put together meanwhile are the same in the end, but must be seen once.
        self.0.view(|batch| {
            let mut remains = Remains::default();
            let found_out = batch.query(sql::ALL_FOUND_OUT, &[&search])?;
            remains.found_out = found_out.iter().map(|row| row.get(0)).collect();
            let parts = batch.query(sql::PARTS, &[&search])?;
            remains.parts = parts.iter().map(|row| row.get(0)).collect();
            for row in batch.query(sql::LEFT, &[&search])? {
                if row.get::<_, i16>(0) == ENDS {
                    // What comes after it does not matter.
                    remains.end = Some(row.get(1));
                    break;
                }
                remains.given_up.push(row.get(1));
            }
            Ok(remains)
        })
    }

    /// Makes one result of all before which everything is done. `together` is given their bytes, in order.
    ///
    /// # Errors
    /// If the database can't be asked.
    pub fn put_together(
        &mut self,
        search: SearchId,
        generation: i32,
        together: &dyn Fn(Vec<Vec<u8>>) -> Option<Vec<u8>>,
    ) -> Result<(), StoreError> {
        self.0.transact(|batch| {
            let Some(up_to) = batch.query(sql::DONE_UP_TO, &[&search, &generation])?.into_iter().next()
            else {
                return Ok(());
            };
            let up_to: Vec<u8> = up_to.get(0);
            let mut rows = batch.query(sql::TAKE_RESULTS, &[&search, &generation, &up_to])?;
            rows.sort_by_key(|row| row.get::<_, Vec<u8>>("place"));
            let Some(first) = rows.first() else { return Ok(()) };
            let parts: Vec<Vec<u8>> = rows.iter().filter_map(|row| row.get("part")).collect();
            let part = if parts.is_empty() { None } else { together(parts) };
            let sum = |name: &str| rows.iter().map(|row| row.get::<_, i64>(name)).sum::<i64>();
            let share: f64 = rows.iter().map(|row| row.get::<_, f64>("share")).sum();
            let failures: i32 = rows.iter().map(|row| row.get::<_, i32>("failures")).sum();
            let (item, place): (i64, Vec<u8>) = (first.get("item"), first.get("place"));
            let (executions, milliseconds) = (sum("executions"), sum("milliseconds"));
            // No lease has the number 0: this is of several.
            let (lease, worker) = (0_i64, 0_i64);
            batch.execute(
                sql::PUT_RESULT,
                &[
                    &item,
                    &search,
                    &generation,
                    &lease,
                    &worker,
                    &place,
                    &share,
                    &executions,
                    &failures,
                    &milliseconds,
                    &part,
                ],
            )?;
            Ok(())
        })
    }

    /// A worker is there.
    ///
    /// # Errors
    /// If the database can't be asked.
    pub fn join(&mut self, host: &str, threads: i32, version: &str) -> Result<Worker, StoreError> {
        let (host, version) = (host.to_owned(), version.to_owned());
        loop {
            // Drawn here: a number that the database gives it may give again, once it was put back to an
            // earlier time.
            let id = 1 + (crate::random() % MOST_WORKERS) as i64;
            let worker = Worker { id, host: host.clone(), threads, version: version.clone() };
            let Worker { id, host, threads, version } = &worker;
            if self.0.transact(|batch| batch.execute(sql::JOIN, &[id, host, &process(), threads, version]))?
                > 0
            {
                return Ok(worker);
            }
        }
    }

    /// A worker goes.
    ///
    /// # Errors
    /// If the database can't be asked.
    pub fn leave(&mut self, worker: i64) -> Result<(), StoreError> {
        self.0.transact(|batch| batch.execute(sql::LEAVE, &[&worker])).map(drop)
    }

    /// The searches that can be worked at, with their hashes.
    ///
    /// # Errors
    /// If the database can't be asked.
    pub fn running(&mut self) -> Result<Vec<(SearchId, String)>, StoreError> {
        self.0.transact(|batch| {
            let rows = batch.query(sql::RUNNING, &[])?;
            Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
        })
    }

    /// Tells what a worker has to say of its items, and leases others of these searches to it, in the order
    /// in which they are named, all in one transaction.
    ///
    /// # Errors
    /// If the database can't be asked.
    pub fn exchange(&mut self, exchange: &Exchange<'_>) -> Result<Exchanged, StoreError> {
        let mut is_again = false;
        self.0.transact(|batch| {
            let heard =
                exchange.said.iter().map(|(lease, said)| hear(batch, exchange.worker, lease, said, is_again));
            let heard = heard.collect::<Result<_, _>>()?;
            if is_again {
                // What was leased by a transaction whose answer got lost.
                batch.execute(sql::GIVE_BACK, &[&exchange.worker, &exchange.held])?;
            }
            is_again = true;
            let mut taken: Vec<Lease> = Vec::new();
            for (search, hash) in exchange.searches {
                let wanted = exchange.wanted - taken.len() as i64;
                if wanted > 0 {
                    let seconds = exchange.seconds;
                    let rows =
                        batch.query(sql::TAKE, &[search, &exchange.worker, &seconds, &wanted, hash])?;
                    taken.extend(rows.iter().map(|row| lease(*search, row)));
                }
            }
            let load = if exchange.wants_load { Some(load(batch)?) } else { None };
            Ok(Exchanged { heard, taken, load })
        })
    }

    /// A worker is still there, and holds these items; gives those of them that still are its own.
    ///
    /// # Errors
    /// If the database can't be asked.
    pub fn beat(&mut self, beat: &Beat<'_>) -> Result<Vec<i64>, StoreError> {
        let (items, leases): (Vec<i64>, Vec<i64>) = beat.held.iter().copied().unzip();
        self.0.transact(|batch| {
            let Worker { id, host, threads, version } = beat.worker;
            batch.execute(
                sql::SEEN,
                &[id, host, &process(), threads, version, &beat.items, &beat.note, &beat.executions],
            )?;
            batch.execute(sql::REAP, &[&TRIES])?;
            batch.execute(sql::GIVE_BACK, &[id, &items])?;
            let rows = batch.query(sql::BEAT, &[&items, &leases, &beat.seconds])?;
            Ok(rows.iter().map(|row| row.get(0)).collect())
        })
    }

    /// The last searches, the newest first, and the workers that were seen lately.
    ///
    /// # Errors
    /// If the database can't be asked.
    pub fn status(&mut self, most: i64) -> Result<(Vec<SearchStatus>, Vec<WorkerStatus>), StoreError> {
        self.0.transact(|batch| {
            batch.execute(sql::REAP, &[&TRIES])?;
            let searches = batch.query(sql::SEARCHES, &[&most])?.iter().map(search_status).collect();
            let workers = batch.query(sql::WORKERS, &[])?.iter().map(worker_status).collect();
            Ok((searches, workers))
        })
    }
}

/// No more items that wait are counted.
const MOST_COUNTED: i64 = 100_000;

fn process() -> i64 {
    i64::from(std::process::id())
}

fn load(batch: &mut Batch<'_>) -> Result<Load, postgres::Error> {
    let rows = batch.query(sql::LOAD, &[&MOST_COUNTED])?;
    Ok(Load { ready: rows[0].get(0), held: rows[0].get(1), threads: rows[0].get(2) })
}

fn lease(search: SearchId, row: &Row) -> Lease {
    let (item, generation, number, tries, body) =
        (row.get(0), row.get(1), row.get(2), row.get(3), row.get(4));
    Lease { item, search, generation, number, tries, body }
}

/// Notes what a worker says of an item. Where it was said before, and the answer got lost, it may have
/// counted then: the result has the lease's number.
fn hear(
    batch: &mut Batch<'_>,
    worker: i64,
    lease: &Lease,
    said: &Said,
    is_again: bool,
) -> Result<Heard, postgres::Error> {
    let counts = match said {
        Said::Failed => batch.execute(sql::FAIL, &[&lease.item, &lease.number, &TRIES])? > 0,
        Said::FoundOut { evidence, whole } => {
            let rows = batch.query(sql::BEGIN_AGAIN, &[&lease.item, &lease.number, evidence, whole])?;
            rows[0].get::<_, i64>(0) > 0
        }
        Said::Done(outcome) => {
            commit(batch, worker, lease, outcome)?
                || is_again && !batch.query(sql::WAS_DONE, &[&lease.item, &lease.number])?.is_empty()
        }
    };
    Ok(if counts { Heard::Counted } else { Heard::Fenced })
}

fn commit(
    batch: &mut Batch<'_>,
    worker: i64,
    lease: &Lease,
    outcome: &Outcome,
) -> Result<bool, postgres::Error> {
    let made = || outcome.left.iter().chain(&outcome.end);
    let places: Vec<&[u8]> = made().map(|left| &left.place[..]).collect();
    let shares: Vec<f64> = made().map(|left| left.share).collect();
    let bodies: Vec<&[u8]> = made().map(|left| &left.body[..]).collect();
    let states: Vec<i16> =
        outcome.left.iter().map(|_| READY).chain(outcome.end.iter().map(|_| ENDS)).collect();
    let ends_at = outcome.end.as_ref().map(|end| &end.place[..]);
    let rows = batch.query(
        sql::COMMIT,
        &[
            &lease.item,
            &lease.number,
            &worker,
            &outcome.place,
            &outcome.share,
            &outcome.executions,
            &outcome.failures,
            &outcome.milliseconds,
            &outcome.part,
            &places,
            &states,
            &shares,
            &bodies,
            &ends_at,
        ],
    )?;
    Ok(rows[0].get::<_, i64>(0) > 0)
}
