//! A search by `wake-up` of a program that can't be run on several threads at once: one process searches, and
//! others explore [items](crate::Item) ahead of it.
//!
//! The search is the one of a single worker, item by item in their order, in this process. What others found in
//! an item is taken up when the search has come to that item, and only if this process would have come to the
//! same: a [`Crew`] says whether that is so. If not, or if whoever explored it died, or if the item ends the
//! search, then it is explored here. So the result is that of one worker, whatever the others do; they can only
//! make it come sooner.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use mazurka_program::{Program, Run};
use mazurka_trace::Trace;

use crate::item::explore_item;
use crate::jobs::PAUSE;
use crate::{
    Beginning, Counts, DoneItem, Ending, Explored, Item, ItemPlace, ItemSizes, Jobs, Monitor, NotExhaustive,
    OpenItem, Options, Stopped, Summary,
};

/// How the search is cut, but for the first item.
const SIZES: ItemSizes = ItemSizes::OF_PROCESSES;

/// Who explores items ahead of the search.
pub trait Crew<M> {
    /// Has somebody begin with an item, and explore it until there were so many executions. Says whether
    /// somebody does.
    fn begin(&mut self, place: &ItemPlace, item: &Item, most: u64) -> bool;

    /// Waits until somebody is done, no longer than so long. Gives who is.
    fn wait(&mut self, most: Duration) -> Vec<Ahead<M>>;

    /// The search has come to an item that somebody has explored. Says whether it would have come to the same
    /// here, with all that is known of the program by now; then what was learned on the way is known here too.
    fn take_up(&mut self, place: &ItemPlace) -> bool;

    /// Nothing is wanted of an item, whoever is at it.
    fn give_up(&mut self, place: &ItemPlace);

    /// Whether something was found out here for which the search has to be begun again.
    fn has_news(&self) -> bool;
}

/// An item that somebody is done with.
pub struct Ahead<M> {
    /// Where in the search.
    pub place: ItemPlace,
    /// What came of it, and what its monitor has seen; none if it has to be explored here.
    pub found: Option<(Explored, M)>,
}

/// An item that the search has not come to.
struct Waiting<M> {
    item: Item,
    share: f64,
    state: State<M>,
}

enum State<M> {
    Left,
    Begun,
    /// As [`Ahead::found`].
    Found(Option<Box<(Explored, M)>>),
}

/// Runs a program under `wake-up`, with others who explore items ahead, from what was done before: all that comes
/// before the items that are left.
pub fn explore_ahead<P: Program, M: Monitor<P::Run>>(
    program: &P,
    options: &Options,
    jobs: Jobs<'_, M>,
    mut beginning: Beginning<M>,
    crew: &mut dyn Crew<M>,
) -> Summary {
    let (started, limit) = (Instant::now(), options.limits.time);
    let mut search = Search { program, options, jobs, crew, started, waiting: BTreeMap::new(), begun: 0 };
    loop {
        let mut summary = search.run(beginning);
        if !search.crew.has_news() {
            // That says to the program that the search is over.
            program.begin_again();
            return summary;
        }
        program.begin_again();
        if let Some(most) = limit.filter(|most| started.elapsed() >= *most) {
            summary.not_exhaustive = Some(NotExhaustive::Time(most));
            return summary;
        }
        (search.jobs.begin_again)();
        beginning = Beginning::whole();
    }
}

struct Search<'a, 'j, P, M> {
    program: &'a P,
    options: &'a Options,
    jobs: Jobs<'j, M>,
    crew: &'a mut dyn Crew<M>,
    started: Instant,
    /// The items that the search has not come to. The first one is next.
    waiting: BTreeMap<ItemPlace, Waiting<M>>,
    /// How many of them somebody is at.
    begun: usize,
}

/// What the search has found so far.
struct Total {
    summary: Summary,
    /// The share of the search that is behind us.
    behind: f64,
}

impl<P: Program, M: Monitor<P::Run>> Search<'_, '_, P, M> {
    /// One beginning of the search. If there is news in the end, what was found is void. What was found out before, the
    /// program knows already.
    fn run(&mut self, Beginning { found_out: _, open, done }: Beginning<M>) -> Summary {
        let summary = Summary { counts: Counts::default(), not_exhaustive: None, broken: None, note: None };
        let mut total = Total { summary, behind: 0.0 };
        for DoneItem { share, summary, monitor, .. } in done {
            total.behind += share;
            total.summary.add(summary);
            (self.jobs.collect)(monitor);
        }
        open.into_iter().for_each(|OpenItem { place, item, share }| self.leave(place, item, share));
        while let Some((place, next)) = self.waiting.pop_first() {
            let Waiting { item, share, state } = next;
            let goes_on = match state {
                State::Found(Some(found)) if self.crew.take_up(&place) => {
                    let (explored, monitor) = *found;
                    total.behind += own_share(share, &explored.rest);
                    total.summary.add(explored.summary);
                    (self.jobs.collect)(monitor);
                    ControlFlow::Continue(())
                }
                State::Found(_) => {
                    self.forget_within(&place);
                    self.explore_here(place, item, share, &mut total)
                }
                State::Left if self.is_alone() => self.explore_here(place, item, share, &mut total),
                state => {
                    self.waiting.insert(place, Waiting { item, share, state });
                    self.begin_some();
                    self.wait(&mut total)
                }
            };
            if goes_on.is_break() {
                break;
            }
        }
        self.forget_within(&ItemPlace::new());
        total.summary
    }

    /// Adds an item.
    fn leave(&mut self, place: ItemPlace, item: Item, share: f64) {
        self.waiting.insert(place, Waiting { item, share, state: State::Left });
    }

    /// Adds what is left of an item.
    fn leave_rest(&mut self, place: &ItemPlace, share: f64, rest: &Item) {
        let parts = rest.parts(SIZES.parts);
        let share = share / (1 + parts.len()) as f64;
        for (number, item) in parts.into_iter().enumerate() {
            self.leave([&place[..], &[number as u32]].concat(), item, share);
        }
    }

    /// Whether the next item is for this process: there is nobody else, or nothing else to do.
    fn is_alone(&self) -> bool {
        self.jobs.workers < 2 || self.waiting.is_empty()
    }

    /// Has the others begin with the first items that are left. Behind one that may end the search there is
    /// most likely nothing to do.
    fn begin_some(&mut self) {
        let ends = |waiting: &Waiting<M>| match &waiting.state {
            State::Found(found) => found.is_none(),
            _ => false,
        };
        for (place, waiting) in &mut self.waiting {
            if self.begun >= self.jobs.workers || ends(waiting) {
                return;
            }
            if matches!(waiting.state, State::Left) {
                if !self.crew.begin(place, &waiting.item, most_of(self.options, place)) {
                    // The search goes on without others.
                    self.jobs.workers = self.begun;
                    return;
                }
                waiting.state = State::Begun;
                self.begun += 1;
            }
        }
    }

    /// Waits for the others, as long as nobody wants an end.
    fn wait(&mut self, total: &mut Total) -> ControlFlow<()> {
        if let Some(most) = self.options.limits.time.filter(|most| self.started.elapsed() >= *most) {
            total.summary.not_exhaustive = Some(NotExhaustive::Time(most));
            return ControlFlow::Break(());
        }
        for Ahead { place, found } in self.crew.wait(PAUSE) {
            let Some(waiting) = self.waiting.get_mut(&place) else { continue };
            self.begun -= 1;
            let share = waiting.share;
            let rest = found.as_ref().map(|(explored, _)| explored.rest.clone());
            // What ends the search is explored here.
            waiting.state = State::Found(found.filter(|(explored, _)| !explored.is_over).map(Box::new));
            if let (State::Found(Some(_)), Some(rest)) = (&waiting.state, rest) {
                self.leave_rest(&place, share, &rest);
            }
        }
        let goes_on = (self.jobs.watch)(&total.summary.counts, total.behind);
        if goes_on.is_break() {
            total.summary.not_exhaustive.get_or_insert(NotExhaustive::Stopped);
        }
        goes_on
    }

    /// Forgets what is left of an item, and of what it left.
    fn forget_within(&mut self, place: &ItemPlace) {
        let within = |other: &ItemPlace| other.starts_with(place);
        while let Some((first, _)) = self.waiting.range(place.clone()..).next().filter(|(it, _)| within(it)) {
            let first = first.clone();
            if let Some(Waiting { state: State::Begun, .. }) = self.waiting.remove(&first) {
                self.begun -= 1;
            }
            self.crew.give_up(&first);
        }
    }

    /// Explores an item in this process. Breaks if the search is over, or has to be begun again.
    fn explore_here(
        &mut self,
        place: ItemPlace,
        item: Item,
        share: f64,
        total: &mut Total,
    ) -> ControlFlow<()> {
        let limit = self.options.limits.time;
        let mut options = *self.options;
        options.limits.time = limit.map(|most| most.saturating_sub(self.started.elapsed()));
        let most = most_of(self.options, &place);
        let (watch, counts, behind) = (&mut *self.jobs.watch, total.summary.counts, total.behind);
        let mut monitor = Here { monitor: (self.jobs.monitor)(), watch, counts, behind, share };
        let explored = explore_item(self.program, item, most, &options, &mut monitor);
        let monitor = monitor.monitor;
        let Explored { mut summary, is_over, rest } = explored;
        if self.crew.has_news() {
            return ControlFlow::Break(());
        }
        if let (Some(NotExhaustive::Time(left)), Some(most)) = (&mut summary.not_exhaustive, limit) {
            *left = most;
        }
        if is_over {
            // What ends a search says more than what was missed on the way.
            total.summary.not_exhaustive = None;
        }
        total.behind += own_share(share, &rest);
        total.summary.add(summary);
        (self.jobs.collect)(monitor);
        self.leave_rest(&place, share, &rest);
        if is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// The share of the search that is behind us with an item of which this is left.
fn own_share(share: f64, rest: &Item) -> f64 {
    share / (1 + rest.schedules.len().min(SIZES.parts)) as f64
}

/// For how many executions an item is explored.
fn most_of(options: &Options, place: &ItemPlace) -> u64 {
    match options.limits.executions {
        // How many there were is known of the whole only: one item.
        Some(_) => u64::MAX,
        None if place.is_empty() => options.items.first,
        None => SIZES.later,
    }
}

/// A monitor of an item that is explored here: who watches is told of the whole search.
struct Here<'a, M> {
    monitor: M,
    watch: &'a mut dyn FnMut(&Counts, f64) -> ControlFlow<()>,
    /// What was counted before, and the share of the search that is behind us.
    counts: Counts,
    behind: f64,
    share: f64,
}

impl<R: Run, M: Monitor<R>> Monitor<R> for Here<'_, M> {
    fn execution(&mut self, ending: Ending, trace: &Trace, run: &R, counts: &Counts) -> ControlFlow<()> {
        self.monitor.execution(ending, trace, run, counts)
    }

    fn stopped(&mut self, stopped: &[Stopped]) {
        self.monitor.stopped(stopped);
    }

    fn begin_again(&mut self) {
        self.monitor.begin_again();
    }

    fn progress(&mut self, counts: &Counts, share: f64) -> ControlFlow<()> {
        let mut sum = Summary { counts: self.counts, not_exhaustive: None, broken: None, note: None };
        sum.add(Summary { counts: *counts, not_exhaustive: None, broken: None, note: None });
        (self.watch)(&sum.counts, self.behind + share * self.share)?;
        self.monitor.progress(counts, share)
    }
}
