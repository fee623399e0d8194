//! The clerk of a worker: the one that talks to the database, for all its threads.
//!
//! What threads have to say, and the items that they want next, go into one transaction with what others of
//! them say in the meantime: the slower the database is, the more. Leases are put off by the clerk, so a
//! thread that is long at an item keeps it, and one whose worker is gone loses it.

use std::collections::HashMap;
use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use mazurka_fleet::{Address, Beat, Exchange, Heard, Lease, Load, Said, SearchId, Store, Worker, jittered};

use super::explorer::{Free, Task, explore};
use super::job::{Accept, Job};
use super::test_program::TestProgram;
use super::wrong;
use crate::args::WorkerArgs;
use crate::error::{CommandError, EXIT};
use crate::{interrupt, output};

/// How often somebody who has nothing to do looks whether there is something, at first and at last.
const FIRST_LOOK: Duration = Duration::from_millis(10);
const LAST_LOOK: Duration = Duration::from_millis(500);
/// With many threads, all together ask no more than so often a second.
const LOOKS_A_SECOND: f64 = 100.0;
/// How often searches are looked for that were not there before.
const NEW_SEARCHES: Duration = Duration::from_millis(500);
/// How much there is to do is asked again after so long for each thread that there is: to count that takes
/// the longer the more there are.
const NEW_LOAD: Duration = Duration::from_millis(4);
/// A worker says that it is there after so long, and with many threads less often, for each of which it is
/// this.
const FIRST_BEAT: Duration = Duration::from_secs(5);
const BEAT_FOR_EACH: Duration = Duration::from_millis(10);
const LAST_BEAT: Duration = Duration::from_secs(15);
/// What all workers together should commit a second, at most: what a small server takes with ease.
const ITEMS_A_SECOND: f64 = 200.0;
/// An item is explored for so long, if that is not too often.
const ITEM: Duration = Duration::from_secs(1);
/// As long as fewer items wait for each thread, what is left of one becomes two.
const WAITING_FOR_EACH: i64 = 4;
/// And as long as not even one waits for each, so many.
const PIECES: usize = 4;

/// What a worker is told.
pub struct Crew {
    pub threads: usize,
    pub accept: Accept,
    pub lease: Duration,
    pub idle: Option<Duration>,
    /// Whether it says what it does.
    pub talks: bool,
}

/// `mazurka worker`: works until it is interrupted, or was idle for long enough.
pub fn work(arguments: &WorkerArgs) -> Result<u8, CommandError> {
    let mut accept = Accept::of(&arguments.accept)?;
    if !arguments.program.is_empty() {
        let test = TestProgram::of(&arguments.program).map_err(CommandError::input)?;
        accept = accept.only(Arc::new(test));
    }
    let crew = Crew {
        threads: arguments.jobs.unwrap_or_else(|| available_parallelism().map_or(1, NonZero::get)),
        accept,
        lease: arguments.lease,
        idle: arguments.idle,
        talks: true,
    };
    let _interruptible = interrupt::listen();
    let work = run(&super::address(&arguments.join)?, &crew, &|| interrupt::asked().is_break())?;
    let Work { items, fenced, executions, refused } = &work;
    output::stdout(&format!("{items} items, {executions} executions; {fenced} items came too late\n"))?;
    match refused.first().filter(|_| *items == 0) {
        Some(_) => Ok(EXIT),
        None => Ok(0),
    }
}

/// What a worker did.
#[derive(Debug, Default)]
pub struct Work {
    items: i64,
    fenced: i64,
    executions: i64,
    /// What it refused.
    refused: Vec<String>,
}

/// Works until it is to close.
pub fn run(address: &Address, crew: &Crew, is_to_close: &dyn Fn() -> bool) -> Result<Work, CommandError> {
    let mut store = super::connect(address)?;
    let threads = crew.threads;
    let worker = store.join(&host(), threads as i32, env!("CARGO_PKG_VERSION")).map_err(wrong)?;
    if crew.talks {
        output::stderr(&format!("worker {} with {threads} threads has joined {address}\n", worker.id));
    }
    let halts: Vec<Arc<AtomicBool>> = (0..threads).map(|_| Arc::default()).collect();
    let (free, asks) = channel();
    std::thread::scope(|scope| {
        let mut tasks = Vec::new();
        for (thread, halt) in halts.iter().enumerate() {
            let (task, given) = channel();
            tasks.push(task);
            let free = free.clone();
            scope.spawn(move || explore(thread, &given, &free, halt));
        }
        let mut clerk = Clerk::new(&mut store, crew, &worker, tasks, &halts);
        let result = clerk.serve(&asks, is_to_close);
        // Nobody waits for an item any more, and those that have one need not end it.
        halts.iter().for_each(|halt| halt.store(true, Relaxed));
        let work = std::mem::take(&mut clerk.work);
        drop(clerk);
        result.map(|()| work)
    })
    .inspect(|_| {
        // The row goes away by itself if this fails.
        let _ = store.leave(worker.id);
    })
    .map_err(wrong)
}

struct Clerk<'a> {
    store: &'a mut Store,
    crew: &'a Crew,
    worker: &'a Worker,
    tasks: Vec<Sender<Task>>,
    halts: &'a [Arc<AtomicBool>],
    /// The threads that have nothing to do.
    free: Vec<usize>,
    /// What the others have.
    held: HashMap<usize, (i64, i64)>,
    /// What was judged of searches.
    judged: HashMap<SearchId, (String, Option<Arc<Job>>)>,
    found_out: HashMap<(SearchId, i32), Arc<Vec<Vec<u8>>>>,
    /// Those that can be worked at, the one whose turn it is first.
    searches: Vec<(SearchId, String)>,
    looked: Option<Instant>,
    load: Load,
    /// When that was asked.
    asked: Option<Instant>,
    work: Work,
}

impl<'a> Clerk<'a> {
    fn new(
        store: &'a mut Store,
        crew: &'a Crew,
        worker: &'a Worker,
        tasks: Vec<Sender<Task>>,
        halts: &'a [Arc<AtomicBool>],
    ) -> Clerk<'a> {
        Clerk {
            store,
            crew,
            worker,
            tasks,
            halts,
            free: Vec::new(),
            held: HashMap::new(),
            judged: HashMap::new(),
            found_out: HashMap::new(),
            searches: Vec::new(),
            looked: None,
            load: Load::default(),
            asked: None,
            work: Work::default(),
        }
    }

    /// Gives threads items and takes what came of them, until it is to close and all is said.
    fn serve(
        &mut self,
        asks: &Receiver<Free>,
        is_to_close: &dyn Fn() -> bool,
    ) -> Result<(), mazurka_fleet::StoreError> {
        let (mut beat, mut look, mut pause) = (Instant::now(), Instant::now(), FIRST_LOOK);
        let mut idle_since = Instant::now();
        loop {
            let next = if self.free.is_empty() { beat } else { beat.min(look) };
            let said = self.gather(asks, next.saturating_duration_since(Instant::now()));
            let is_idle =
                self.crew.idle.is_some_and(|idle| self.held.is_empty() && idle_since.elapsed() >= idle);
            let closes = is_to_close() || is_idle;
            if closes {
                self.halts.iter().for_each(|halt| halt.store(true, Relaxed));
            }
            let now = Instant::now();
            if !said.is_empty() || (now >= look && !self.free.is_empty()) {
                let taken = self.exchange(said, closes)?;
                pause = if taken { FIRST_LOOK } else { (2 * pause).min(self.longest_look()) };
                look = Instant::now() + jittered(pause);
            }
            if closes && self.held.is_empty() {
                return Ok(());
            }
            if !self.held.is_empty() {
                idle_since = Instant::now();
            }
            if Instant::now() >= beat {
                self.beat()?;
                let pause = FIRST_BEAT.max(self.load.threads as u32 * BEAT_FOR_EACH);
                beat = Instant::now() + pause.min(LAST_BEAT).min(self.crew.lease / 4);
            }
        }
    }

    /// Waits for a thread to say something, not longer than this, and takes what others say by then.
    fn gather(&mut self, asks: &Receiver<Free>, most: Duration) -> Vec<(Lease, Said)> {
        // Somebody may ask for an end meanwhile.
        let most = most.min(Duration::from_millis(100));
        let first = asks.recv_timeout(most).ok();
        let mut all = Vec::new();
        for Free { thread, said } in first.into_iter().chain(asks.try_iter()) {
            self.held.remove(&thread);
            self.free.push(thread);
            all.extend(said);
        }
        all
    }

    /// Tells what was said, and gives free threads what they get; whether they got anything.
    fn exchange(
        &mut self,
        said: Vec<(Lease, Said)>,
        closes: bool,
    ) -> Result<bool, mazurka_fleet::StoreError> {
        if !closes {
            self.look_for_searches()?;
        }
        let held: Vec<i64> = self.held.values().map(|(item, _)| *item).collect();
        let exchanged = self.store.exchange(&Exchange {
            worker: self.worker.id,
            said: &said,
            wanted: if closes { 0 } else { self.free.len() as i64 },
            searches: &self.searches,
            held: &held,
            seconds: self.crew.lease.as_secs_f64(),
            wants_load: self.asked.is_none_or(|asked| asked.elapsed() >= self.load.threads as u32 * NEW_LOAD),
        })?;
        if let Some(load) = exchanged.load {
            (self.load, self.asked) = (load, Some(Instant::now()));
        }
        for ((_, said), heard) in said.iter().zip(&exchanged.heard) {
            match (said, heard) {
                (Said::Done(outcome), Heard::Counted) => {
                    self.work.items += 1;
                    self.work.executions += outcome.executions;
                }
                (Said::Done(_), Heard::Fenced) => self.work.fenced += 1,
                _ => {}
            }
        }
        // The next search has the first turn then.
        if !self.searches.is_empty() {
            self.searches.rotate_left(1);
        }
        let taken = !exchanged.taken.is_empty();
        exchanged.taken.into_iter().try_for_each(|lease| self.give(lease))?;
        Ok(taken)
    }

    /// Gives a free thread an item.
    fn give(&mut self, lease: Lease) -> Result<(), mazurka_fleet::StoreError> {
        let key = (lease.search, lease.generation);
        let found_out = match self.found_out.get(&key) {
            Some(known) => known.clone(),
            None => Arc::new(self.store.found_out(lease.search, lease.generation)?),
        };
        self.found_out.insert(key, found_out.clone());
        let job = self.judged.get(&lease.search).and_then(|(_, job)| job.clone());
        let job = job.expect("only what was accepted is taken");
        let thread = self.free.pop().expect("no more is taken than there are threads");
        self.held.insert(thread, (lease.item, lease.number));
        self.halts[thread].store(false, Relaxed);
        let (budget, pieces) = (self.budget(), self.pieces());
        // A thread is gone only when it panicked where no panic is caught: the lease will run out.
        let _ = self.tasks[thread].send(Task { lease, job, found_out, budget, pieces });
        Ok(())
    }

    /// How long an item is explored: a moment as long as others wait for work, and so long that the database
    /// has not too many to take.
    fn budget(&self) -> Duration {
        let longest = ITEM.max(Duration::from_secs_f64(self.load.threads as f64 / ITEMS_A_SECOND));
        let Load { ready, held, threads } = self.load;
        if ready < threads - held { longest / 20 } else { longest }
    }

    fn pieces(&self) -> usize {
        let Load { ready, threads, .. } = self.load;
        match ready {
            ready if ready < threads => PIECES,
            ready if ready < WAITING_FOR_EACH * threads => 2,
            _ => 1,
        }
    }

    fn longest_look(&self) -> Duration {
        LAST_LOOK.max(Duration::from_secs_f64(self.load.threads as f64 / LOOKS_A_SECOND))
    }

    /// Judges searches that are new, and forgets those that are over.
    fn look_for_searches(&mut self) -> Result<(), mazurka_fleet::StoreError> {
        if self.looked.is_some_and(|looked| looked.elapsed() < NEW_SEARCHES) && !self.searches.is_empty() {
            return Ok(());
        }
        self.looked = Some(Instant::now());
        let running = self.store.running()?;
        for (search, hash) in &running {
            if self.judged.get(search).is_none_or(|(known, _)| known != hash)
                && let Some(what) = self.store.search(*search)?
            {
                let store = &mut *self.store;
                let judged = Job::of(&what, &self.crew.accept, &mut |hash| store.blob(hash));
                if let Err(why) = &judged {
                    self.refuse(*search, why);
                }
                self.judged.insert(*search, (what.hash, judged.ok().map(Arc::new)));
            }
        }
        let known = |search: &SearchId| running.iter().any(|(other, _)| other == search);
        self.judged.retain(|search, _| known(search));
        self.found_out.retain(|(search, _), _| known(search));
        let judged = &self.judged;
        let able = |search: &(SearchId, String)| {
            judged.get(&search.0).is_some_and(|(hash, job)| *hash == search.1 && job.is_some())
        };
        self.searches.retain(able);
        for search in running {
            if able(&search) && !self.searches.contains(&search) {
                self.searches.push(search);
            }
        }
        Ok(())
    }

    fn refuse(&mut self, search: SearchId, why: &str) {
        let told = format!("refuses search {search}: {why}");
        if self.crew.talks {
            output::stderr(&format!("worker {} {told}\n", self.worker.id));
        }
        self.work.refused.push(told);
    }

    /// Says that the worker is still there; threads whose items are not theirs any more stop.
    fn beat(&mut self) -> Result<(), mazurka_fleet::StoreError> {
        let held: Vec<(i64, i64)> = self.held.values().copied().collect();
        let still = self.store.beat(&Beat {
            worker: self.worker,
            held: &held,
            items: self.work.items,
            executions: self.work.executions,
            note: self.work.refused.last().map_or("", |told| told),
            seconds: self.crew.lease.as_secs_f64(),
        })?;
        for (thread, (item, _)) in &self.held {
            if !still.contains(item) {
                self.halts[*thread].store(true, Relaxed);
            }
        }
        Ok(())
    }
}

/// The name of this machine, as far as it tells.
fn host() -> String {
    let named = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let named = named.or_else(|| std::env::var("HOSTNAME").ok()).unwrap_or_default();
    match named.trim() {
        "" => "unknown".to_owned(),
        name => name.to_owned(),
    }
}
