//! A search by `wake-up` on several cores, with the same result for any number of them.
//!
//! The search is cut into [items](crate::Item) in a way that depends on nothing but the search: an item is
//! explored for so many executions, and what is left of it is split into its schedules, each an item. Items
//! have places, and places have an order, that in which one worker would come to them; what they found is put
//! together in that order. An item that ends the search (a failure, an error) makes void what comes after it,
//! and nothing before it, so that is what the search of one worker would have said. Workers take the first
//! item that is left: so there are never many more items than one worker would have.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mazurka_program::Program;

use crate::item::explore_item;
use crate::ledger::NoLedger;
use crate::{
    Beginning, Counts, DoneItem, Ending, Explored, Item, ItemPlace, Ledger, Monitor, NotExhaustive, OpenItem,
    Options, Stopped, Summary,
};

/// The first item is explored for so many executions: where there are no more, there is nothing to share.
const FIRST: u64 = 256;

/// Any other for so many.
const LATER: u64 = 2048;

/// How often who watches is told.
const PAUSE: Duration = Duration::from_millis(50);

/// How a search is shared, and who is told of it.
pub struct Jobs<'a, M> {
    /// How many workers there are; at least one.
    pub workers: usize,
    /// A monitor for an item. It is asked of the worker's thread.
    pub monitor: &'a (dyn Fn() -> M + Sync),
    /// Takes up what the monitors of items have seen, one after the other, in the order of the search.
    pub collect: &'a mut (dyn FnMut(M) + Send),
    /// The search begins again: what was taken up is void.
    pub begin_again: &'a mut dyn FnMut(),
    /// Told now and then how many executions there were; to break ends the search.
    pub watch: &'a mut dyn FnMut(&Counts, f64) -> ControlFlow<()>,
}

/// What the workers share.
struct Pool<'a, M> {
    /// The items that are left to do, each with its share of the search.
    left: BTreeMap<ItemPlace, (Item, f64)>,
    running: BTreeSet<ItemPlace>,
    /// What was found in items before which some are not done.
    done: BTreeMap<ItemPlace, Done<M>>,
    /// The place of the first item that ended the search.
    end: Option<ItemPlace>,
    total: Summary,
    /// The share of the search that is behind us.
    behind: f64,
    collect: &'a mut (dyn FnMut(M) + Send),
    ledger: &'a mut dyn Ledger<M>,
}

/// An item that was explored, and whether it ended the search.
struct Done<M> {
    item: DoneItem<M>,
    is_over: bool,
}

/// Runs a program under `wake-up` with several workers.
pub fn explore_jobs<P: Program + Sync, M: Monitor<P::Run> + Send>(
    program: &P,
    options: &Options,
    jobs: Jobs<'_, M>,
) -> Summary {
    explore_jobs_from(program, options, jobs, Beginning::whole(), &mut NoLedger)
}

/// The same, of a search that is kept: it goes on from what was done before.
pub fn explore_jobs_from<P: Program + Sync, M: Monitor<P::Run> + Send>(
    program: &P,
    options: &Options,
    jobs: Jobs<'_, M>,
    mut beginning: Beginning<M>,
    ledger: &mut dyn Ledger<M>,
) -> Summary {
    let (started, limit) = (Instant::now(), options.limits.time);
    let Jobs { workers, monitor, collect, begin_again, watch } = jobs;
    loop {
        let (is_over, is_void) = (AtomicBool::new(false), AtomicBool::new(false));
        let search = Search { program, options, monitor, started, is_over, is_void };
        let mut summary = search.run(workers, beginning, &mut *collect, &mut *ledger, watch);
        if !search.has_to_begin_again() {
            return summary;
        }
        if let Some(most) = limit.filter(|most| started.elapsed() >= *most) {
            summary.not_exhaustive = Some(NotExhaustive::Time(most));
            return summary;
        }
        if let Err(why) = ledger.begin_again() {
            summary.not_exhaustive = Some(NotExhaustive::NotKept(why));
            return summary;
        }
        begin_again();
        beginning = Beginning::whole();
    }
}

struct Search<'a, P, M> {
    program: &'a P,
    options: &'a Options,
    monitor: &'a (dyn Fn() -> M + Sync),
    started: Instant,
    /// Set when nothing more is wanted.
    is_over: AtomicBool,
    /// Set when the search has to be begun again.
    is_void: AtomicBool,
}

impl<P: Program + Sync, M: Monitor<P::Run> + Send> Search<'_, P, M> {
    fn run(
        &self,
        workers: usize,
        beginning: Beginning<M>,
        collect: &mut (dyn FnMut(M) + Send),
        ledger: &mut dyn Ledger<M>,
        watch: &mut dyn FnMut(&Counts, f64) -> ControlFlow<()>,
    ) -> Summary {
        let pool = Mutex::new(Pool::new(beginning, collect, ledger));
        let changed = Condvar::new();
        std::thread::scope(|scope| {
            for _ in 0..workers.max(1) {
                scope.spawn(|| self.work(&pool, &changed));
            }
            let mut state = lock(&pool);
            while !state.is_over() {
                state = changed.wait_timeout(state, PAUSE).unwrap_or_else(PoisonError::into_inner).0;
                let (counts, behind) = (state.total.counts, state.behind);
                drop(state);
                if watch(&counts, behind).is_break() {
                    self.is_over.store(true, Relaxed);
                }
                state = lock(&pool);
            }
        });
        let mut total = pool.into_inner().unwrap_or_else(PoisonError::into_inner).total;
        if self.is_over.load(Relaxed) {
            total.not_exhaustive.get_or_insert(NotExhaustive::Stopped);
        }
        total
    }

    /// What a worker does: items, until none is left.
    fn work(&self, pool: &Mutex<Pool<'_, M>>, changed: &Condvar) {
        let mut state = lock(pool);
        while !state.is_over() {
            let Some((key, item, share)) = state.take() else {
                state = changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            drop(state);
            let most = match self.options.limits.executions {
                // How many there were is known of the whole only: one item.
                Some(_) => u64::MAX,
                None if key.is_empty() => FIRST,
                None => LATER,
            };
            let (explored, monitor) = self.explore(item, most);
            state = lock(pool);
            if self.has_to_begin_again() {
                state.give_up(&key);
            } else {
                state.finish(key, share, explored, monitor);
            }
            if self.is_over.load(Relaxed) {
                state.left.clear();
            }
            changed.notify_all();
        }
        changed.notify_all();
    }

    /// Whether something was found out of the program since the search began, whose results are void then.
    fn has_to_begin_again(&self) -> bool {
        if self.program.begin_again() {
            self.is_void.store(true, Relaxed);
        }
        self.is_void.load(Relaxed)
    }

    fn explore(&self, item: Item, most: u64) -> (Explored, M) {
        let mut options = *self.options;
        let limit = options.limits.time;
        options.limits.time = limit.map(|most| most.saturating_sub(self.started.elapsed()));
        let mut monitor = Watched { monitor: (self.monitor)(), is_over: &self.is_over };
        let mut explored = explore_item(self.program, item, most, &options, &mut monitor);
        if let (Some(NotExhaustive::Time(left)), Some(most)) = (&mut explored.summary.not_exhaustive, limit) {
            *left = most;
        }
        (explored, monitor.monitor)
    }
}

impl<'a, M> Pool<'a, M> {
    fn new(
        Beginning { open, done }: Beginning<M>,
        collect: &'a mut (dyn FnMut(M) + Send),
        ledger: &'a mut dyn Ledger<M>,
    ) -> Pool<'a, M> {
        let mut pool = Pool {
            left: open.into_iter().map(|open| (open.place, (open.item, open.share))).collect(),
            running: BTreeSet::new(),
            behind: done.iter().map(|item| item.share).sum(),
            done: done.into_iter().map(|item| (item.place.clone(), Done { item, is_over: false })).collect(),
            end: None,
            total: Summary { counts: Counts::default(), not_exhaustive: None, broken: None, note: None },
            collect,
            ledger,
        };
        pool.put_together();
        pool
    }

    /// Whether nothing is left to do.
    fn is_over(&self) -> bool {
        self.left.is_empty() && self.running.is_empty()
    }

    /// The first item that is left.
    fn take(&mut self) -> Option<(ItemPlace, Item, f64)> {
        let (key, (item, share)) = self.left.pop_first()?;
        self.running.insert(key.clone());
        Some((key, item, share))
    }

    /// An item has been explored, and nothing is wanted of it, nor of any other.
    fn give_up(&mut self, key: &ItemPlace) {
        self.running.remove(key);
        self.left.clear();
    }

    /// An item has been explored.
    fn finish(&mut self, key: ItemPlace, share: f64, explored: Explored, monitor: M) {
        self.running.remove(&key);
        if self.end.as_ref().is_some_and(|end| *end < key) {
            return;
        }
        let Explored { summary, mut is_over, rest } = explored;
        let share = share / (1 + rest.schedules.len()) as f64;
        let open = |(number, item)| OpenItem { place: [&key[..], &[number as u32]].concat(), item, share };
        let mut rest: Vec<OpenItem> = rest.split().enumerate().map(open).collect();
        let mut item = DoneItem { place: key.clone(), share, summary, monitor };
        if !is_over && let Err(why) = self.ledger.commit(&item, &rest) {
            item.summary.not_exhaustive = Some(NotExhaustive::NotKept(why));
            is_over = true;
            rest.clear();
        }
        if is_over {
            self.left.retain(|other, _| *other < key);
            self.done.retain(|other, _| *other < key);
            self.end = Some(key.clone());
        }
        self.behind += share;
        self.left.extend(rest.into_iter().map(|open| (open.place, (open.item, open.share))));
        self.done.insert(key, Done { item, is_over });
        self.put_together();
    }

    /// Takes up what was found in items before which all is done.
    fn put_together(&mut self) {
        let first_left = self.left.keys().next().into_iter().chain(self.running.first()).min().cloned();
        while let Some(entry) = self.done.first_entry()
            && first_left.as_ref().is_none_or(|left| entry.key() < left)
        {
            let Done { item, is_over } = entry.remove();
            if is_over {
                // What ends a search says more than what was missed on the way.
                self.total.not_exhaustive = None;
            }
            self.total.add(item.summary);
            (self.collect)(item.monitor);
        }
    }
}

impl Summary {
    /// Adds what was found in a part of the search that comes after this one. Of reasons why not everything
    /// was looked at the first counts.
    pub fn add(&mut self, later: Summary) {
        let (sum, new) = (&mut self.counts, later.counts);
        sum.complete += new.complete;
        sum.blocked += new.blocked;
        sum.assumed += new.assumed;
        sum.stopped += new.stopped;
        sum.cut += new.cut;
        sum.deadlocks += new.deadlocks;
        sum.events += new.events;
        sum.longest = sum.longest.max(new.longest);
        sum.memory = sum.memory.max(new.memory);
        self.not_exhaustive = self.not_exhaustive.take().or(later.not_exhaustive);
        self.broken = self.broken.take().or(later.broken);
        self.note = self.note.or(later.note);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A monitor of an item, which ends when the search does.
struct Watched<'a, M> {
    monitor: M,
    is_over: &'a AtomicBool,
}

impl<R: mazurka_program::Run, M: Monitor<R>> Monitor<R> for Watched<'_, M> {
    fn execution(
        &mut self,
        ending: Ending,
        trace: &mazurka_trace::Trace,
        run: &R,
        counts: &Counts,
    ) -> ControlFlow<()> {
        self.monitor.execution(ending, trace, run, counts)
    }

    fn stopped(&mut self, stopped: &[Stopped]) {
        self.monitor.stopped(stopped);
    }

    fn begin_again(&mut self) {
        self.monitor.begin_again();
    }

    fn progress(&mut self, counts: &Counts, share: f64) -> ControlFlow<()> {
        if self.is_over.load(Relaxed) { ControlFlow::Break(()) } else { self.monitor.progress(counts, share) }
    }
}
