//! A search on several cores, with the same result for any number of them.
//!
//! The search is cut into items in a way that depends on nothing but the search: an item is explored for so many
//! executions, and what is left of it is cut into items again, as its algorithm says ([`Sharing`]). Items
//! have places, and places have an order, that in which one worker would come to them; what they found is put
//! together in that order. An item that ends the search (a failure, an error) makes void what comes after it,
//! and nothing before it, so that is what the search of one worker would have said. Workers take the first
//! item that is left: so there are never many more items than one worker would have.
//!
//! What an item shows that concerns others is taken up in that order too. Items may follow from it, which come after
//! all that was left of the item; or the search begins again from the start.
//!
//! What is found out of the program in an item ([`Program::part`]) ends the search just so, at the place of that
//! item: it is taken up if nothing before it ended the search, and voids everything then. So each beginning knows
//! what it would know if there were one worker.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Scope};
use std::time::{Duration, Instant};

use mazurka_program::Program;

use crate::furthest::Furthest;
use crate::ledger::{NoLedger, NothingNew};
use crate::sharing::{Cut, Next, Sharing, WithSharing, explore_part};
use crate::wake_up::WakeUpSharing;
use crate::{
    Algorithm, Beginning, Counts, DoneItem, Ending, FoundOut, ItemPlace, Ledger, Monitor, NotExhaustive,
    OpenItem, Options, Stopped, Summary,
};

/// How often who watches is told.
pub(crate) const PAUSE: Duration = Duration::from_millis(50);

/// What is said of a search of which something was kept that this program can't have said.
const NOT_ITS_WORDS: &str = "what was kept of the search is not of this program";

/// What is said of a program that does not find out again what it had found out.
pub(crate) const NOT_AGAIN: &str = "what had been found out about the program was not found out again: the program \
                                    did not do again what it had done";

/// The stack of a worker: searches and monitors go deep where executions are long.
const STACK: usize = 8 << 20;

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
    /// Told now and then how many executions there were, and which share of the search is behind us, which never goes
    /// back; to break ends the search.
    pub watch: &'a mut dyn FnMut(&Counts, f64) -> ControlFlow<()>,
}

/// Runs a program with several workers under an algorithm that can be shared ([`Algorithm::can_be_shared`]). None if it
/// can't.
pub fn explore_jobs<P: Program + Send + Sync, M: Monitor<P::Run> + Send>(
    program: &P,
    algorithm: Algorithm,
    options: &Options,
    jobs: Jobs<'_, M>,
) -> Option<Summary> {
    algorithm.with_sharing(Explore { program, options, jobs })
}

/// Runs a program with several workers under `wake-up`, in a search that is kept: it goes on from what was done before.
pub fn explore_jobs_from<P: Program + Send + Sync, M: Monitor<P::Run> + Send>(
    program: &P,
    options: &Options,
    jobs: Jobs<'_, M>,
    beginning: Beginning<M>,
    ledger: &mut dyn Ledger<M>,
) -> Summary {
    explore_from::<WakeUpSharing, P, M>(program, options, jobs, beginning, ledger)
}

/// A search that is to be shared, however that is done.
struct Explore<'a, 'j, P, M> {
    program: &'a P,
    options: &'a Options,
    jobs: Jobs<'j, M>,
}

impl<P: Program + Send + Sync, M: Monitor<P::Run> + Send> WithSharing for Explore<'_, '_, P, M> {
    type Output = Summary;

    fn with<S: Sharing>(self) -> Summary {
        let Explore { program, options, jobs } = self;
        let beginning = Beginning::by(S::whole(options));
        let mut summary = explore_from::<S, P, M>(program, options, jobs, beginning, &mut NoLedger);
        if S::ALGORITHM.misses().is_some() {
            summary.not_exhaustive.get_or_insert(NotExhaustive::ByDesign(S::ALGORITHM));
        }
        summary
    }
}

fn explore_from<S: Sharing, P: Program + Send + Sync, M: Monitor<P::Run> + Send>(
    program: &P,
    options: &Options,
    jobs: Jobs<'_, M>,
    mut beginning: Beginning<M, S::Part>,
    ledger: &mut dyn Ledger<M, S::Part>,
) -> Summary {
    let (started, limit) = (Instant::now(), options.limits.time);
    let Jobs { workers, monitor, collect, begin_again, watch } = jobs;
    let mut furthest = Furthest::default();
    let watch = &mut |counts: &Counts, share| watch(counts, furthest.at(share));
    let new_search = || Search {
        program,
        options,
        monitor,
        started,
        is_over: AtomicBool::new(false),
        is_void: AtomicBool::new(false),
    };
    for known in std::mem::take(&mut beginning.found_out) {
        if let Err(summary) = new_search().find_out::<S>(known, watch) {
            return *summary;
        }
    }
    loop {
        let search = new_search();
        let Found { mut summary, found_in, again } =
            search.run::<S>(workers, beginning, &mut *collect, &mut *ledger, watch);
        let next = match search.has_to_begin_again() {
            true => Some(S::whole(options)),
            false => again,
        };
        let Some(next) = next else { return summary };
        if let Some(most) = limit.filter(|most| started.elapsed() >= *most) {
            summary.not_exhaustive = Some(NotExhaustive::Time(most));
            return summary;
        }
        if let Err(why) = ledger.begin_again(found_in.as_ref()) {
            summary.not_exhaustive = Some(NotExhaustive::NotKept(why));
            return summary;
        }
        begin_again();
        beginning = Beginning::by(next);
    }
}

/// What the workers share.
struct Pool<'a, S: Sharing, P, M> {
    program: &'a P,
    /// The items that are left to do, each with its share of the search.
    left: BTreeMap<ItemPlace, (S::Part, f64)>,
    /// Those that are being explored, and how to say that nothing is wanted of one any more.
    running: BTreeMap<ItemPlace, Arc<AtomicBool>>,
    /// What was found in items before which some are not done.
    done: BTreeMap<ItemPlace, Done<S, P, M>>,
    /// The place of the first item that ended the search.
    end: Option<ItemPlace>,
    /// By what the search begins again.
    again: Option<S::Part>,
    total: Summary,
    /// The item in which something was found out.
    found_in: Option<OpenItem<S::Part>>,
    /// The share of the search that is behind us.
    behind: f64,
    sharing: S,
    collect: &'a mut (dyn FnMut(M) + Send),
    ledger: &'a mut dyn Ledger<M, S::Part>,
}

/// An item that was explored, and whether it ended the search.
struct Done<S: Sharing, P, M> {
    item: DoneItem<M>,
    is_over: bool,
    /// What was found out of the program, and learned.
    part: Option<P>,
    /// What it was that was explored, if something was found out.
    found_in: Option<S::Part>,
    /// What concerns others; none of an item that was done before.
    found: Option<S::Found>,
    /// How many items it has left behind.
    left: usize,
    /// The share of the search that is kept for items that follow from what was found.
    kept: f64,
}

/// An item that a worker has taken.
struct Taken<Part> {
    place: ItemPlace,
    item: Part,
    share: f64,
    is_void: Arc<AtomicBool>,
}

/// For how many executions an item is explored.
pub(crate) fn most_of(place: &[u32], options: &Options) -> u64 {
    match options.limits.executions {
        // How many there were is known of the whole only: one item.
        Some(_) => u64::MAX,
        None if place.is_empty() => options.items.first,
        None => options.items.later,
    }
}

/// What is left of the item of a place, as items of their own, each with as much of its share as the part that
/// was explored, which is told too.
pub(crate) fn left_of<Part>(place: &[u32], share: f64, rest: Vec<Part>) -> (f64, Vec<OpenItem<Part>>) {
    let share = share / (1 + rest.len()) as f64;
    (share, items_below(place, 0, share, rest))
}

/// Items that are left of the one of a place, from a number on, each with this share of the search.
fn items_below<Part>(place: &[u32], from: usize, share: f64, parts: Vec<Part>) -> Vec<OpenItem<Part>> {
    let open = |(number, item)| OpenItem { place: [place, &[(from + number) as u32]].concat(), item, share };
    parts.into_iter().enumerate().map(open).collect()
}

/// What was found in one beginning of a search, the item in which something was found out of the program, and by what
/// the search begins again.
struct Found<Part> {
    summary: Summary,
    found_in: Option<OpenItem<Part>>,
    again: Option<Part>,
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

impl<P: Program + Send + Sync, M: Monitor<P::Run> + Send> Search<'_, P, M> {
    /// Finds out again what was found out before, with what had been learned by then. If that can't be done, the
    /// summary says why.
    fn find_out<S: Sharing>(
        &self,
        known: FoundOut<S::Part>,
        watch: &mut dyn FnMut(&Counts, f64) -> ControlFlow<()>,
    ) -> Result<(), Box<Summary>> {
        let FoundOut { learned, item } = known;
        let is_known = learned.iter().all(|learned| self.program.know(learned));
        let beginning = Beginning { found_out: Vec::new(), open: vec![item], done: Vec::new() };
        // That is no part of what is done from now on.
        let watch = &mut |counts: &Counts, _| watch(counts, 0.0);
        let mut summary = self.run::<S>(1, beginning, &mut |_| {}, &mut NothingNew, watch).summary;
        match is_known && self.has_to_begin_again() {
            true => Ok(()),
            false => {
                summary.counts = Counts::default();
                summary.not_exhaustive.get_or_insert_with(|| NotExhaustive::NotKept(NOT_AGAIN.to_owned()));
                Err(Box::new(summary))
            }
        }
    }

    /// One beginning of the search.
    fn run<S: Sharing>(
        &self,
        workers: usize,
        beginning: Beginning<M, S::Part>,
        collect: &mut (dyn FnMut(M) + Send),
        ledger: &mut dyn Ledger<M, S::Part>,
        watch: &mut dyn FnMut(&Counts, f64) -> ControlFlow<()>,
    ) -> Found<S::Part> {
        let pool = Mutex::new(Pool::<S, P, M>::new(self.program, beginning, collect, ledger));
        let changed = Condvar::new();
        thread::scope(|scope| {
            for worker in 0..workers.max(1) {
                if !self.begin_worker(scope, &pool, &changed) && worker == 0 {
                    let why = "there is no thread for the search".to_owned();
                    lock(&pool).refuse(NotExhaustive::Program(why));
                }
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
        let Pool { total: mut summary, found_in, mut again, .. } =
            pool.into_inner().unwrap_or_else(PoisonError::into_inner);
        if self.is_over.load(Relaxed) {
            summary.not_exhaustive.get_or_insert(NotExhaustive::Stopped);
            again = None;
        }
        Found { summary, found_in, again }
    }

    /// Begins a worker, with the name of the thread that waits for it. False if there is no thread for it.
    fn begin_worker<'s, S: Sharing>(
        &'s self,
        scope: &'s Scope<'s, '_>,
        pool: &'s Mutex<Pool<'_, S, P, M>>,
        changed: &'s Condvar,
    ) -> bool {
        let mut builder = thread::Builder::new().stack_size(STACK);
        if let Some(name) = thread::current().name() {
            builder = builder.name(name.to_owned());
        }
        builder.spawn_scoped(scope, move || self.work(scope, pool, changed)).is_ok()
    }

    /// What a worker does: items, until none is left.
    fn work<'s, S: Sharing>(
        &'s self,
        scope: &'s Scope<'s, '_>,
        pool: &'s Mutex<Pool<'_, S, P, M>>,
        changed: &'s Condvar,
    ) {
        let mut state = lock(pool);
        while !state.is_over() {
            if !self.program.can_start_here() {
                // Another goes on in its place.
                if !self.begin_worker(scope, pool, changed) && state.running.is_empty() {
                    let why = "there is no other thread for the search".to_owned();
                    state.refuse(NotExhaustive::Program(why));
                }
                break;
            }
            let Some(taken) = state.take() else {
                state = changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            drop(state);
            let (explored, monitor, part) = self.explore::<S>(&taken);
            state = lock(pool);
            if self.has_to_begin_again() {
                state.give_up(&taken.place);
            } else {
                state.finish(taken, explored, monitor, part);
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

    fn explore<S: Sharing>(&self, taken: &Taken<S::Part>) -> (Cut<S::Part, S::Found>, M, Option<P>) {
        let mut options = *self.options;
        let limit = options.limits.time;
        options.limits.time = limit.map(|most| most.saturating_sub(self.started.elapsed()));
        let most = most_of(&taken.place, &options);
        let (is_over, is_void) = (&self.is_over, &*taken.is_void);
        let mut monitor = Watched { monitor: (self.monitor)(), is_over, is_void };
        let part = self.program.part();
        let program = part.as_ref().unwrap_or(self.program);
        let mut explored = explore_part::<S, P>(program, taken.item.clone(), most, &options, &mut monitor);
        if let (Some(NotExhaustive::Time(left)), Some(most)) = (&mut explored.summary.not_exhaustive, limit) {
            *left = most;
        }
        if part.as_ref().is_some_and(Program::begin_again) {
            (explored.is_over, explored.rest) = (true, Vec::new());
        }
        (explored, monitor.monitor, part)
    }
}

impl<'a, S: Sharing, P: Program, M> Pool<'a, S, P, M> {
    fn new(
        program: &'a P,
        Beginning { found_out: _, open, done }: Beginning<M, S::Part>,
        collect: &'a mut (dyn FnMut(M) + Send),
        ledger: &'a mut dyn Ledger<M, S::Part>,
    ) -> Pool<'a, S, P, M> {
        let behind = done.iter().map(|item| item.share).sum();
        let done = done.into_iter().map(Done::before);
        let mut pool = Pool {
            program,
            left: open.into_iter().map(|open| (open.place, (open.item, open.share))).collect(),
            running: BTreeMap::new(),
            behind,
            done: done.map(|done| (done.item.place.clone(), done)).collect(),
            end: None,
            again: None,
            total: Summary { counts: Counts::default(), not_exhaustive: None, broken: None, note: None },
            found_in: None,
            sharing: S::default(),
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
    fn take(&mut self) -> Option<Taken<S::Part>> {
        let (place, (item, share)) = self.left.pop_first()?;
        let is_void = Arc::default();
        self.running.insert(place.clone(), Arc::clone(&is_void));
        Some(Taken { place, item, share, is_void })
    }

    /// Nobody can go on.
    fn refuse(&mut self, why: NotExhaustive) {
        self.left.clear();
        self.total.not_exhaustive = Some(why);
    }

    /// An item has been explored, and nothing is wanted of it, nor of any other.
    fn give_up(&mut self, key: &ItemPlace) {
        self.running.remove(key);
        self.left.clear();
    }

    /// An item has been explored.
    fn finish(
        &mut self,
        taken: Taken<S::Part>,
        explored: Cut<S::Part, S::Found>,
        monitor: M,
        part: Option<P>,
    ) {
        let Taken { place: key, share, item: explored_item, .. } = taken;
        self.running.remove(&key);
        if self.end.as_ref().is_some_and(|end| *end < key) {
            return;
        }
        let Cut { summary, mut is_over, rest, found } = explored;
        let found_in = part.as_ref().filter(|part| part.begin_again()).map(|_| explored_item);
        let learned = part.as_ref().map(Program::learned).filter(|learned| !learned.is_empty());
        let learned = learned.into_iter().collect();
        let (share, mut rest) = left_of(&key, share, rest);
        let kept = if S::FINDS_MORE { share / 2.0 } else { 0.0 };
        let share = share - kept;
        let mut item = DoneItem { place: key.clone(), share, summary, monitor, learned };
        if !is_over && let Err(why) = self.ledger.commit(&item, &rest) {
            item.summary.not_exhaustive = Some(NotExhaustive::NotKept(why));
            is_over = true;
            rest.clear();
        }
        if is_over {
            self.end_at(key.clone());
        }
        self.behind += share;
        let left = rest.len();
        self.leave(rest);
        self.done.insert(key, Done { item, is_over, part, found_in, found: Some(found), left, kept });
        self.put_together();
    }

    /// Items are left to do.
    fn leave(&mut self, items: Vec<OpenItem<S::Part>>) {
        self.left.extend(items.into_iter().map(|open| (open.place, (open.item, open.share))));
    }

    /// Nothing is wanted of what comes after the item of a place.
    fn end_at(&mut self, key: ItemPlace) {
        self.left.retain(|other, _| *other < key);
        self.done.retain(|other, _| *other < key);
        let void = self.running.iter().filter(|(other, _)| **other > key);
        void.for_each(|(_, is_void)| is_void.store(true, Relaxed));
        self.end = Some(key);
    }

    /// Takes up what was found in items before which all is done.
    fn put_together(&mut self) {
        while let Some((key, done)) = self.first_done() {
            let Done { item, is_over, part, found_in, found, left, kept } = done;
            match found.filter(|_| !is_over).map(|found| self.sharing.put_in(found)) {
                Some(Next::With(parts)) => self.leave_more(&key, left, kept, parts),
                Some(Next::Again(part)) => {
                    self.end_at(key);
                    self.left.clear();
                    self.again = Some(part);
                    return;
                }
                None => {}
            }
            if is_over {
                // What ends a search says more than what was missed on the way.
                self.total.not_exhaustive = None;
            }
            self.total.add(item.summary);
            (self.collect)(item.monitor);
            let DoneItem { place, share, learned, .. } = item;
            match part {
                Some(part) => self.program.take_up(part),
                None if learned.iter().all(|learned| self.program.know(learned)) => {}
                None => self.total.not_exhaustive = Some(NotExhaustive::NotKept(NOT_ITS_WORDS.to_owned())),
            }
            self.found_in = found_in.map(|item| OpenItem { place, item, share }).or(self.found_in.take());
        }
    }

    /// The next item in the order of the search, if it is done.
    fn first_done(&mut self) -> Option<(ItemPlace, Done<S, P, M>)> {
        let first_left = self.left.keys().next().into_iter().chain(self.running.keys().next()).min();
        let first = self.done.first_entry()?;
        first_left.is_none_or(|left| first.key() < left).then(|| first.remove_entry())
    }

    /// Items follow from what was found in the one of a place, which left so many behind.
    fn leave_more(&mut self, key: &[u32], left: usize, kept: f64, parts: Vec<S::Part>) {
        if parts.is_empty() {
            self.behind += kept;
        } else {
            let share = kept / parts.len() as f64;
            self.leave(items_below(key, left, share, parts));
        }
    }
}

impl<S: Sharing, P, M> Done<S, P, M> {
    /// An item that was done before.
    fn before(item: DoneItem<M>) -> Done<S, P, M> {
        Done { item, is_over: false, part: None, found_in: None, found: None, left: 0, kept: 0.0 }
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
        sum.wakeup_nodes = sum.wakeup_nodes.max(new.wakeup_nodes);
        sum.memory = sum.memory.max(new.memory);
        self.not_exhaustive = self.not_exhaustive.take().or(later.not_exhaustive);
        self.broken = self.broken.take().or(later.broken);
        self.note = self.note.or(later.note);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A monitor of an item, which ends when the search does, or when nothing is wanted of the item.
pub(crate) struct Watched<'a, M> {
    pub monitor: M,
    pub is_over: &'a AtomicBool,
    pub is_void: &'a AtomicBool,
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
        match self.is_over.load(Relaxed) || self.is_void.load(Relaxed) {
            true => ControlFlow::Break(()),
            false => self.monitor.progress(counts, share),
        }
    }
}
