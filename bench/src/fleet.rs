//! What a database takes of searches on many machines: workers that do nothing but lease items, and commit
//! them with what came of them and what they leave, each over a connection of its own, as fast as they are
//! answered.
//!
//! The item that is committed is as large as those of a search: what was found, and a list of schedules that
//! are left. A worker that takes a second for an item commits one a second; so as many a second as are
//! committed here is how many threads a search may have with items of a second.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use mazurka_fleet::{Address, Exchange, Heard, Lease, Left, Outcome, Said, SearchId, Store, StoreError};

/// How long each figure is measured.
const LONG: Duration = Duration::from_secs(10);

/// Numbers of connections, and of items that each commits at once: threads of one worker that wait for each
/// other.
const FORMS: [(usize, usize); 7] = [(1, 1), (2, 1), (8, 1), (16, 1), (32, 1), (8, 8), (16, 16)];

/// The bytes of what is left of an item: some thirty schedules.
const BODY: usize = 2_000;

/// And of what came of it.
const PART: usize = 200;

/// Prints how many items a second the database takes.
///
/// # Errors
/// If it can't be had: why not.
pub fn table(url: &str) -> Result<(), String> {
    let address: Address = url.parse().map_err(|error: mazurka_fleet::AddressError| error.to_string())?;
    println!(
        "| connections | items a transaction | items a second | transactions a second | ms a transaction |"
    );
    println!("|---|---|---|---|---|");
    for (connections, batch) in FORMS {
        let measured = measure(&address, connections, batch).map_err(|error| error.to_string())?;
        let Measured { items, transactions, seconds } = measured;
        let each = 1000.0 * seconds * connections as f64 / transactions as f64;
        let (items, transactions) = (items as f64 / seconds, transactions as f64 / seconds);
        println!("| {connections} | {batch} | {items:.0} | {transactions:.0} | {each:.1} |");
    }
    Ok(())
}

struct Measured {
    items: i64,
    transactions: i64,
    seconds: f64,
}

fn measure(address: &Address, connections: usize, batch: usize) -> Result<Measured, StoreError> {
    let patience = Duration::from_secs(10);
    let mut store = Store::connect(address, patience)?;
    let name = format!("bench-{}-{connections}-{batch}", std::process::id());
    let hash = mazurka_fleet::hash(name.as_bytes());
    let (id, _) = store.begin(&hash, name.as_bytes(), &name, &[0; BODY])?;
    let search = (id, hash);
    let (is_over, items, transactions) = (AtomicBool::new(false), AtomicI64::new(0), AtomicI64::new(0));
    let mut filler = Worker::new(store, search.clone(), 1)?;
    // It takes the whole, and leaves twice as many items as are worked at.
    filler.turn(0)?;
    filler.turn(2 * connections * batch)?;
    let started = Instant::now();
    let results = std::thread::scope(|scope| {
        let work = || {
            let mut worker = Worker::new(Store::connect(address, patience)?, search.clone(), batch)?;
            while !is_over.load(Relaxed) {
                items.fetch_add(worker.turn(1)?, Relaxed);
                transactions.fetch_add(1, Relaxed);
            }
            Ok(())
        };
        let threads: Vec<_> = (0..connections).map(|_| scope.spawn(work)).collect();
        std::thread::sleep(LONG);
        is_over.store(true, Relaxed);
        threads
            .into_iter()
            .map(|thread| thread.join().expect("no panic"))
            .collect::<Result<Vec<()>, StoreError>>()
    });
    let seconds = started.elapsed().as_secs_f64();
    results?;
    filler.store.cancel(id)?;
    Ok(Measured { items: items.into_inner(), transactions: transactions.into_inner(), seconds })
}

/// One connection, with the items that it holds.
struct Worker {
    store: Store,
    search: (SearchId, String),
    worker: i64,
    batch: usize,
    held: Vec<Lease>,
}

impl Worker {
    fn new(mut store: Store, search: (SearchId, String), batch: usize) -> Result<Worker, StoreError> {
        let worker = store.join("bench", batch as i32, "bench")?.id;
        Ok(Worker { store, search, worker, batch, held: Vec::new() })
    }

    /// Commits what it holds, each with so many items that are left, and leases as many again; how many
    /// counted.
    fn turn(&mut self, pieces: usize) -> Result<i64, StoreError> {
        let said = |lease: Lease| {
            let left = (0..pieces).map(|number| left(&lease, number)).collect();
            let (place, part) = (place(&lease.body), Some(vec![b'x'; PART]));
            let outcome = Outcome { place, part, executions: 2048, left, ..Outcome::default() };
            (lease, Said::Done(outcome))
        };
        let said: Vec<_> = self.held.drain(..).map(said).collect();
        let exchanged = self.store.exchange(&Exchange {
            worker: self.worker,
            said: &said,
            wanted: self.batch as i64,
            searches: std::slice::from_ref(&self.search),
            held: &[],
            seconds: 60.0,
            // As workers do, of which there are many.
            wants_load: false,
        })?;
        self.held = exchanged.taken;
        Ok(exchanged.heard.iter().filter(|heard| **heard == Heard::Counted).count() as i64)
    }
}

/// An item that another leaves: one of those that the whole is cut into, or the same again.
fn left(lease: &Lease, number: usize) -> Left {
    let place = match &place(&lease.body)[..] {
        [] => vec![0, (number / 256) as u8, number as u8],
        place => place.to_vec(),
    };
    let body = [&place[..], &[b'x'; BODY]].concat();
    Left { place, share: 0.0, body }
}

/// The place of an item, which is what its body begins with, but for the whole.
fn place(body: &[u8]) -> Vec<u8> {
    if body.ends_with(b"x") { body[..3].to_vec() } else { Vec::new() }
}
