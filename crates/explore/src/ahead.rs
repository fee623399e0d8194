//! A search by `wake-up` of a program that can't be run on several threads at once: one process searches, and
//! others explore [items](crate::Item) ahead of it.
//!
//! The search is the one of a single worker, item by item in their order, in this process. What others found in
//! an item is taken up when the search has come to that item, and only if this process would have come to the
//! same: a [`Crew`] says whether that is so. If not, or if whoever explored it died, or if the item ends the
//! search, then it is explored here. So the result is that of one worker, whatever the others do; they can only
//! make it come sooner.
//!
//! What this process knows of the program, and how it came to know it, is a matter of what it explored and took up, in
//! which order. A search that is kept ([`Ledger`]) keeps that too, so that another process can do the same again. There
//! all items but the first are explored by others: to take up again what somebody learned costs nothing, and to explore
//! an item again costs what it cost.

mod step;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use mazurka_program::{Program, Run};
use mazurka_trace::Trace;

use self::step::Step;
use crate::furthest::Furthest;
use crate::item::explore_item;
use crate::jobs::{NOT_AGAIN, PAUSE, left_of};
use crate::{
    Beginning, Counts, DoneItem, Ending, Explored, FoundOut, Item, ItemPlace, ItemSizes, Jobs, Ledger,
    Monitor, NotExhaustive, OpenItem, Options, Stopped, Summary,
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

    /// The search has come to an item that somebody has explored. If it would have come to the same here, with
    /// all that is known of the program by now, then what was learned on the way is known here too.
    fn take_up(&mut self, place: &ItemPlace) -> TakenUp;

    /// Comes to know what another process took up that knew then what is known here now. Says whether that is so.
    fn know(&mut self, learned: &[u8]) -> bool;

    /// Nothing is wanted of an item, whoever is at it.
    fn give_up(&mut self, place: &ItemPlace);

    /// Whether something was found out here for which the search has to be begun again.
    fn has_news(&self) -> bool;
}

/// Whether what somebody found in an item is what the search would have found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TakenUp {
    /// It is, and nothing was learned in it.
    Known,
    /// It is, and this was learned in it.
    Learned(Vec<u8>),
    /// It can't be told: the item has to be explored here.
    Refused,
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
/// before the items that are left. If there is a ledger, it is told of what is done.
pub fn explore_ahead<P: Program, M: Monitor<P::Run>>(
    program: &P,
    options: &Options,
    jobs: Jobs<'_, M>,
    mut beginning: Beginning<M>,
    crew: &mut dyn Crew<M>,
    ledger: Option<&mut dyn Ledger<M>>,
) -> Summary {
    let started = Instant::now();
    let (waiting, begun, found_in) = (BTreeMap::new(), 0, None);
    let Jobs { workers, monitor, collect, begin_again, watch } = jobs;
    let mut furthest = Furthest::default();
    let watch = &mut |counts: &Counts, share| watch(counts, furthest.at(share));
    // As short-lived as all else.
    let jobs = Jobs { workers, monitor, collect: &mut *collect, begin_again: &mut *begin_again, watch };
    let ledger = ledger.map(|ledger| ledger as &mut dyn Ledger<M>);
    let mut search = Search { program, options, jobs, crew, ledger, started, waiting, begun, found_in };
    for known in std::mem::take(&mut beginning.found_out) {
        if let Err(summary) = search.find_out(known) {
            program.begin_again();
            return *summary;
        }
    }
    loop {
        let (mut summary, goes_on) = match search.recall(beginning.done) {
            Ok(total) => {
                let summary = search.run(total, beginning.open);
                (summary, search.crew.has_news())
            }
            Err(summary) => (*summary, false),
        };
        // That says to the program that the search is over, if it does not go on.
        program.begin_again();
        if !goes_on {
            return summary;
        }
        if let Some(most) = options.limits.time.filter(|most| search.started.elapsed() >= *most) {
            summary.not_exhaustive = Some(NotExhaustive::Time(most));
            return summary;
        }
        if let Err(why) = search.keep_beginning() {
            summary.not_exhaustive = Some(NotExhaustive::NotKept(why));
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
    /// Who keeps what is done, if somebody does.
    ledger: Option<&'a mut dyn Ledger<M>>,
    started: Instant,
    /// The items that the search has not come to. The first one is next.
    waiting: BTreeMap<ItemPlace, Waiting<M>>,
    /// How many of them somebody is at.
    begun: usize,
    /// The item in which there was news.
    found_in: Option<OpenItem>,
}

/// What the search has found so far.
struct Total {
    summary: Summary,
    /// The share of the search that is behind us.
    behind: f64,
}

impl Total {
    fn new() -> Total {
        let summary = Summary { counts: Counts::default(), not_exhaustive: None, broken: None, note: None };
        Total { summary, behind: 0.0 }
    }

    /// The search ends here, which is the first thing to say of it.
    fn end(&mut self, why: NotExhaustive) -> ControlFlow<()> {
        self.summary.not_exhaustive = Some(why);
        ControlFlow::Break(())
    }
}

impl<P: Program, M: Monitor<P::Run>> Search<'_, '_, P, M> {
    /// Finds out again what was found out before. If that can't be done, the summary says why.
    fn find_out(&mut self, FoundOut { learned, item }: FoundOut) -> Result<(), Box<Summary>> {
        let mut total = Total::new();
        if let ControlFlow::Break(why) = self.know(&learned, &total) {
            let _ = total.end(why);
            return Err(Box::new(total.summary));
        }
        let most = most_of(self.options, &item.place);
        let Explored { summary, .. } = self.explore_again(item.item, most, &total);
        if self.crew.has_news() {
            self.program.begin_again();
            return Ok(());
        }
        let _ = total.end(summary.not_exhaustive.unwrap_or_else(not_again));
        Err(Box::new(total.summary))
    }

    /// What was found before, of which this process comes to know what was learned. If it can't, the summary says why.
    fn recall(&mut self, done: Vec<DoneItem<M>>) -> Result<Total, Box<Summary>> {
        let mut total = Total::new();
        for DoneItem { share, summary, monitor, learned, .. } in done {
            total.behind += share;
            total.summary.add(summary);
            (self.jobs.collect)(monitor);
            if let ControlFlow::Break(why) = self.know(&learned, &total) {
                let _ = total.end(why);
                return Err(Box::new(total.summary));
            }
        }
        // To do again what was done is no part of what there is time for: else who is ended again and again gets no
        // further.
        self.started = Instant::now();
        Ok(total)
    }

    /// Comes to know what another process learned, by the steps by which it did. Breaks if that can't be done.
    fn know(&mut self, learned: &[Vec<u8>], total: &Total) -> ControlFlow<NotExhaustive> {
        for step in learned {
            if (self.jobs.watch)(&total.summary.counts, total.behind).is_break() {
                return ControlFlow::Break(NotExhaustive::Stopped);
            }
            match Step::decoded(step) {
                Some(Step::TakenUp(learned)) if self.crew.know(&learned) => {}
                Some(Step::Explored { item, most }) => {
                    let Explored { summary, is_over, .. } = self.explore_again(item, most, total);
                    if is_over || self.crew.has_news() {
                        return ControlFlow::Break(summary.not_exhaustive.unwrap_or_else(not_again));
                    }
                }
                _ => return ControlFlow::Break(not_again()),
            }
        }
        ControlFlow::Continue(())
    }

    /// The search begins again, because of news.
    fn keep_beginning(&mut self) -> Result<(), String> {
        let found_in = self.found_in.take();
        self.ledger.as_mut().map_or(Ok(()), |ledger| ledger.begin_again(found_in.as_ref()))
    }

    /// One beginning of the search, behind what was found before. If there is news in the end, what was found is void.
    fn run(&mut self, mut total: Total, open: Vec<OpenItem>) -> Summary {
        self.leave(open);
        while let Some((place, next)) = self.waiting.pop_first() {
            let Waiting { item, share, state } = next;
            let goes_on = match state {
                State::Found(found) => self.come_to(OpenItem { place, item, share }, found, &mut total),
                State::Left if self.is_for_us(&place) => {
                    self.explore_here(OpenItem { place, item, share }, &mut total)
                }
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

    /// Takes up what somebody found in an item, or explores it here.
    fn come_to(
        &mut self,
        item: OpenItem,
        found: Option<Box<(Explored, M)>>,
        total: &mut Total,
    ) -> ControlFlow<()> {
        let taken_up = match found {
            None => None,
            Some(found) => match self.crew.take_up(&item.place) {
                TakenUp::Refused => None,
                TakenUp::Known => Some((found, Vec::new())),
                TakenUp::Learned(learned) => Some((found, vec![Step::TakenUp(learned).encoded()])),
            },
        };
        let Some((found, learned)) = taken_up else {
            self.forget_within(&item.place);
            return self.explore_here(item, total);
        };
        let (Explored { summary, rest, .. }, monitor) = *found;
        let OpenItem { place, share, .. } = item;
        let (share, left) = left_of(&place, share, rest.parts(SIZES.parts));
        self.count(DoneItem { place, share, summary, monitor, learned }, &left, total)
    }

    /// An item is done, and leaves these behind.
    fn count(&mut self, done: DoneItem<M>, left: &[OpenItem], total: &mut Total) -> ControlFlow<()> {
        let kept = self.ledger.as_mut().map_or(Ok(()), |ledger| ledger.commit(&done, left));
        total.behind += done.share;
        total.summary.add(done.summary);
        (self.jobs.collect)(done.monitor);
        kept.map_or_else(|why| total.end(NotExhaustive::NotKept(why)), ControlFlow::Continue)
    }

    /// Adds items.
    fn leave(&mut self, items: Vec<OpenItem>) {
        let waiting = |OpenItem { place, item, share }| (place, Waiting { item, share, state: State::Left });
        self.waiting.extend(items.into_iter().map(waiting));
    }

    /// Whether this process is to explore the next item itself: there is nobody else, or nothing else to do. Of a
    /// search that is kept the others explore all but the first, by which most becomes known that is.
    fn is_for_us(&self, place: &ItemPlace) -> bool {
        match self.ledger {
            Some(_) => place.is_empty() || self.jobs.workers == 0,
            None => self.jobs.workers < 2 || self.waiting.is_empty(),
        }
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
                self.leave(left_of(&place, share, rest.parts(SIZES.parts)).1);
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
    fn explore_here(&mut self, open: OpenItem, total: &mut Total) -> ControlFlow<()> {
        let most = most_of(self.options, &open.place);
        let (explored, monitor) = self.explore(open.item.clone(), most, open.share, total);
        let Explored { summary, is_over, rest } = explored;
        if self.crew.has_news() {
            self.found_in = Some(open);
            return ControlFlow::Break(());
        }
        let OpenItem { place, item, share } = open;
        let (share, left) = left_of(&place, share, rest.parts(SIZES.parts));
        if is_over {
            // What ends a search says more than what was missed on the way.
            total.summary.not_exhaustive = None;
            total.behind += share;
            total.summary.add(summary);
            (self.jobs.collect)(monitor);
            return ControlFlow::Break(());
        }
        let learned = vec![Step::Explored { item, most }.encoded()];
        let goes_on = self.count(DoneItem { place, share, summary, monitor, learned }, &left, total);
        self.leave(left);
        goes_on
    }

    /// Explores an item in this process, beside what is counted already.
    fn explore(&mut self, item: Item, most: u64, share: f64, total: &Total) -> (Explored, M) {
        let (program, mut options, limit) = (self.program, *self.options, self.options.limits.time);
        options.limits.time = limit.map(|most| most.saturating_sub(self.started.elapsed()));
        let mut monitor = self.here(total, Some(share));
        let mut explored = explore_item(program, item, most, &options, &mut monitor);
        let monitor = monitor.monitor;
        if let (Some(NotExhaustive::Time(left)), Some(most)) = (&mut explored.summary.not_exhaustive, limit) {
            *left = most;
        }
        (explored, monitor)
    }

    /// Explores an item whose executions are counted already.
    fn explore_again(&mut self, item: Item, most: u64, total: &Total) -> Explored {
        let (program, mut options) = (self.program, *self.options);
        options.limits.time = None;
        explore_item(program, item, most, &options, &mut self.here(total, None))
    }

    fn here(&mut self, Total { summary, behind }: &Total, share: Option<f64>) -> Here<'_, M> {
        let (watch, counts) = (&mut *self.jobs.watch, summary.counts);
        Here { monitor: (self.jobs.monitor)(), watch, counts, behind: *behind, share }
    }
}

/// What is said of a program that does other things in another process.
fn not_again() -> NotExhaustive {
    NotExhaustive::NotKept(NOT_AGAIN.to_owned())
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
    /// The item's own; none if it is counted already.
    share: Option<f64>,
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
        if self.share.is_some() {
            sum.add(Summary { counts: *counts, not_exhaustive: None, broken: None, note: None });
        }
        (self.watch)(&sum.counts, self.behind + share * self.share.unwrap_or(0.0))?;
        self.monitor.progress(counts, share)
    }
}
