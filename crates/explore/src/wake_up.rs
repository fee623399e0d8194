//! `wake-up`: each Mazurkiewicz trace exactly once, by a reverse search over traces. Nothing is planned ahead
//! and nothing that was explored is remembered: **what is left to do is a list of schedules**.
//!
//! Events have a fixed [rank]. `lin(T)`, the representative of a trace, always takes the least event that is
//! minimal in the rest of `T`; `Default` always takes the least enabled event. Along `lin(T)` events fall
//! asleep that are enabled and smaller than what is taken, and wake when something is taken that they depend
//! on ([sleepers]). Let `g` be the last event that wakes somebody, `y` what comes before it, and `Z` who
//! sleeps when it is taken. After `g` nobody sleeps, so `T = y.g.Default`, and `T` is stored as the schedule
//! `y.g`. The one trace without sleepers is the root of a tree; any other has one parent, found from the
//! trace alone:
//!
//! * the *canonical sleeper* `f`: the least `x` of `Z` of another process that does not write `g`'s guard,
//!   and after which `g` still meets every other sleeper; if there is none, the least other outcome of `g`'s
//!   step that sleeps; if there is none, the least of `Z`;
//! * the *parent*: `y.f.g.Default` if `f` is of another process and the step of `g` is possible at `y.f`,
//!   with the least outcome if `g` has one that is not there; else `y.f.Default`.
//!
//! A parent finds its children from itself alone: a child differs from it by a race that is reversed, a guard
//! that is passed in time, or an outcome ([`WakeUpSearch::collect`]). Of each such candidate it is tested
//! whether the execution is its parent ([accept]), by the definition; so no trace comes twice whatever
//! candidates there are. Why they are enough is in docs/soundness.md.

mod accept;
pub(crate) mod estimate;
mod glance;
mod known;
mod rank;
mod sleepers;
mod stack;

use std::ops::ControlFlow;

use mazurka_program::{self as program, ProcessId, Schedule};

use crate::frame::Search;
use crate::sharing::{Cut, Next, Sharing};
use crate::walk::Walk;
use crate::{Algorithm, Ending, Explored, Item, NotExhaustive, Options, Summary};

use accept::{Candidate, Child, Cuts, Examiner};
use rank::Ranks;
use sleepers::Sleepers;
use stack::{Schedules, Step};

crate::rules::switches! {
    /// The switches of the algorithm's parts.
    Repairs {
        /// A guarded step that a writer of its guard disables is tried at every later cut too; taken out,
        /// only before the first event that comes after the writer.
        guard_cuts,
        /// A step that varies is tried at later cuts than before its event too.
        varying_cuts,
        /// Where the ranks of a step's outcomes lie apart, outcomes that its event has not are tried before
        /// it too.
        early_outcomes,
        /// If the waker's outcome is not there behind the canonical sleeper, the parent has the least one
        /// that is; taken out, it goes on as if the step were not possible.
        least_outcome,
        /// The canonical sleeper hides no other sleeper from the waker; taken out, it is the least.
        hides_nobody,
        /// A step that varies is run in its new place; taken out, it keeps its label.
        run_varying,
        /// Writers of the waker's guard are canonical sleepers only if there is no other.
        guard_writers_last,
        /// Other outcomes of a step are tried.
        outcomes,
        /// Before the rest of an execution is compared with what the least events lead to, it is asked
        /// whether who waits, or varies, could go on; taken out, only events of the execution are looked at.
        others_go_on,
        /// That the last waker must be in a candidate is used only if a sleeper that it woke would come first
        /// in every order; taken out, always.
        waker_stays,
        /// Children of one event and cut have an order; taken out, they are explored as they were found.
        order_of_children,
    }
}

/// After so many executions it is noted how much memory is kept: never by the clock, for the report says how
/// much it was, and has to say the same always.
const BETWEEN_NOTES: u64 = 64;

pub(crate) fn search(walk: Walk<'_>) -> Summary {
    search_item(walk, Item::whole(), u64::MAX).summary
}

/// Runs the schedules of an item, and what they lead to, until there were so many executions. What is left
/// then is an item again.
pub(crate) fn search_item(walk: Walk<'_>, item: Item, most: u64) -> Explored {
    let mut search = begin(walk, item, most);
    // A search that ends early has noted why.
    let is_over = search.run().is_break() | search.note_memory().is_break();
    let rest = if is_over { Item::default() } else { search.rest() };
    Explored { summary: search.walk.summary(), is_over, rest }
}

/// Parts are [items](Item): lists of schedules.
#[derive(Default)]
pub(crate) struct WakeUpSharing;

impl Sharing for WakeUpSharing {
    const ALGORITHM: Algorithm = Algorithm::WakeUp;
    type Part = Item;
    type Found = ();

    fn whole(_: &Options) -> Item {
        Item::whole()
    }

    fn explore(walk: Walk<'_>, part: Item, most: u64) -> Cut<Item, ()> {
        let parts = walk.options.items.parts;
        let Explored { summary, is_over, rest } = search_item(walk, part, most);
        Cut { summary, is_over, rest: rest.parts(parts), found: () }
    }

    fn put_in(&mut self, (): ()) -> Next<Item> {
        Next::With(Vec::new())
    }
}

fn begin(walk: Walk<'_>, item: Item, most: u64) -> WakeUpSearch<'_> {
    WakeUpSearch {
        ranks: Ranks::new(walk.options.order),
        walk,
        given: item.schedules,
        most,
        todo: Schedules::default(),
        sleepers: Sleepers::default(),
        schedule: Vec::new(),
        unresolved: Vec::new(),
        behind: 0.0,
        enabled: Vec::new(),
        candidates: Vec::new(),
        children: Vec::new(),
        examiner: Examiner::default(),
    }
}

struct WakeUpSearch<'a> {
    walk: Walk<'a>,
    ranks: Ranks,
    /// The schedules that the search was given, the next one last.
    given: Vec<Schedule>,
    /// The search goes on until there were so many executions.
    most: u64,
    /// The schedules that it found, which come before those.
    todo: Schedules,
    sleepers: Sleepers,
    /// The schedule that the present execution began with.
    schedule: Vec<Step>,
    /// What is left of a schedule that was given, the next step last: a process is known by its name only
    /// once it was created.
    unresolved: Vec<program::Step>,
    /// The share of the search that is behind us.
    behind: f64,
    enabled: Vec<ProcessId>,
    candidates: Vec<Candidate>,
    children: Vec<Child>,
    examiner: Examiner,
}

impl<'a> Search<'a> for WakeUpSearch<'a> {
    fn walk(&mut self) -> &mut Walk<'a> {
        &mut self.walk
    }

    fn run(&mut self) -> ControlFlow<()> {
        let share = 1.0 / self.given.len().max(1) as f64;
        while self.walk.counts.executions() < self.most {
            let Some(share) = self.todo.pop(&mut self.schedule).or_else(|| self.begin_given(share)) else {
                break;
            };
            self.visit()?;
            self.push_children(share);
            if self.walk.counts.executions().is_multiple_of(BETWEEN_NOTES) {
                self.note_memory()?;
            }
        }
        ControlFlow::Continue(())
    }

    fn memory(&mut self) -> usize {
        self.todo.memory() + self.sleepers.memory() + self.examiner.memory()
    }
}

impl WakeUpSearch<'_> {
    /// Makes a schedule that was given the next one; its share.
    fn begin_given(&mut self, share: f64) -> Option<f64> {
        let schedule = self.given.pop()?;
        self.schedule.clear();
        self.unresolved = schedule.steps;
        self.unresolved.reverse();
        Some(share)
    }

    /// Runs the execution that the schedule leads to, and finds its children.
    fn visit(&mut self) -> ControlFlow<()> {
        let ending = self.execute()?;
        self.ranks.meet(self.walk.run.names());
        let unknown = self.sleepers.find_wakers(&self.walk.trace, &self.walk.order);
        (self.examiner.settled, self.examiner.waker) = (self.schedule.len(), None);
        if unknown.is_none() {
            self.examiner.find_waker(&self.walk, &self.ranks, &self.sleepers);
        }
        // Who waits, and for what, can be asked only as long as the run stands at the end.
        self.collect();
        if !self.candidates.is_empty() {
            self.examiner.begin(&self.walk, &self.ranks, ending);
        }
        if let Some(node) = unknown {
            self.find_sleepers(node)?;
            self.examiner.find_waker(&self.walk, &self.ranks, &self.sleepers);
        }
        self.check_last_waker(ending)?;
        self.find_children()?;
        self.put_in_order();
        ControlFlow::Continue(())
    }

    /// Puts the children in the order that the trace gives them: in which they were found depends on what the search
    /// has met before. The one that has most in common with this execution comes last.
    fn put_in_order(&mut self) {
        let (ranks, whole) = (&self.ranks, self.walk.options.rules.wake_up.order_of_children);
        self.children.sort_unstable_by_key(|&Child { i, cut, g: (process, choice) }| {
            (i, cut, if whole { (ranks.place(process), choice) } else { (0, 0) })
        });
    }

    /// Finds the processes of a schedule that was given, as far as they have been met.
    fn resolve(&mut self) {
        while let Some(step) = self.unresolved.last()
            && let Some(process) = self.walk.run.names().find(&step.process)
        {
            self.schedule.push((process, step.choice));
            self.unresolved.pop();
        }
    }

    /// What is left to do.
    fn rest(&mut self) -> Item {
        let names = self.walk.run.names();
        let mut found = Vec::new();
        while self.todo.pop(&mut self.schedule).is_some() {
            let step = |&(process, choice): &Step| program::Step { process: names.path(process), choice };
            found.push(Schedule { steps: self.schedule.iter().map(step).collect() });
        }
        let mut schedules = std::mem::take(&mut self.given);
        schedules.extend(found.into_iter().rev());
        Item { schedules }
    }

    /// Goes back to what the schedule shares with the present execution, takes the rest of it, and then
    /// always the least enabled event.
    fn execute(&mut self) -> ControlFlow<(), Ending> {
        self.resolve();
        let trace = &self.walk.trace;
        let present = |k: usize| (trace.process(k), trace.choice(k));
        let shared = (0..trace.len().min(self.schedule.len())).find(|&k| present(k) != self.schedule[k]);
        let shared = shared.unwrap_or(trace.len().min(self.schedule.len()));
        self.walk.back_to(shared);
        self.sleepers.back_to(shared);
        let mut at = shared;
        while let Some(&step) = self.schedule.get(at) {
            self.put_to_sleep(step)?;
            self.take(step)?;
            self.resolve();
            at += 1;
        }
        if !self.unresolved.is_empty() {
            let reason = "a schedule names a process that there is not: it is another program's".to_owned();
            return self.walk.stop(NotExhaustive::Program(reason)).map_continue(|()| Ending::Cut);
        }
        loop {
            if let Some(ending) = self.walk.ending_here() {
                self.walk.end(ending)?;
                return ControlFlow::Continue(ending);
            }
            let least = self.least_enabled();
            self.take(least)?;
        }
    }

    fn take(&mut self, (process, choice): Step) -> ControlFlow<()> {
        self.walk.step(process, choice)?;
        if self.walk.progress_due {
            self.walk.report_share(self.behind)?;
            let bytes = self.memory();
            self.walk.look_at_memory(bytes)?;
        }
        ControlFlow::Continue(())
    }

    fn least_enabled(&mut self) -> Step {
        let Walk { run, trace, .. } = &self.walk;
        self.ranks.meet(run.names());
        let least = self.walk.enabled().iter().map(|process| {
            let index = trace.positions(process).len() as u32;
            let (rank, choice) = self.ranks.least(process, index, || run.alternatives(process));
            (rank, process, choice)
        });
        least.min().map_or((ProcessId(0), 0), |(_, process, choice)| (process, choice))
    }

    fn put_to_sleep(&mut self, step: Step) -> ControlFlow<()> {
        self.ranks.meet(self.walk.run.names());
        self.enabled.clear();
        self.enabled.extend(self.walk.enabled().iter());
        let Walk { run, trace, .. } = &mut self.walk;
        match self.sleepers.fall_asleep(&mut **run, &self.enabled, trace, &self.ranks, step) {
            Ok(()) => ControlFlow::Continue(()),
            Err(stop) => {
                self.walk.note(stop);
                ControlFlow::Break(())
            }
        }
    }

    /// Finds out who slept along the execution, by the run: first at this node.
    fn find_sleepers(&mut self, node: usize) -> ControlFlow<()> {
        let mut unknown = Some(node);
        while let Some(node) = unknown {
            let run = self.walk.run_at(node);
            if let Err(stop) = run.and_then(|run| self.sleepers.run_at(node, run)) {
                self.walk.note(stop);
                return ControlFlow::Break(());
            }
            unknown = self.sleepers.find_wakers(&self.walk.trace, &self.walk.order);
        }
        ControlFlow::Continue(())
    }

    /// The last to wake somebody must be the last step of the schedule: if it is not, labels are not what they
    /// should be.
    fn check_last_waker(&mut self, ending: Ending) -> ControlFlow<()> {
        let expected = self.schedule.len().checked_sub(1);
        if self.sleepers.last_waker() != expected && ending != Ending::Cut && self.walk.is_sound() {
            let error = "wake-up came to an execution that another schedule leads to";
            return self.walk.stop(NotExhaustive::Internal(error));
        }
        ControlFlow::Continue(())
    }

    /// Keeps the candidates whose parent this execution is: first what can be told from the execution, then,
    /// the last positions first, what the run has to be asked for.
    fn find_children(&mut self) -> ControlFlow<()> {
        self.children.clear();
        if self.candidates.is_empty() {
            return ControlFlow::Continue(());
        }
        self.candidates.sort_unstable_by_key(|candidate| (std::cmp::Reverse(candidate.i), candidate.process));
        for by_run in [!self.walk.is_on_trace(), true] {
            let mut undecided = Vec::new();
            for group in self.candidates.chunk_by(|a, b| a.i == b.i) {
                let WakeUpSearch { walk, ranks, sleepers, examiner, children, .. } = self;
                if by_run && let Err(stop) = walk.run_at(group[0].i) {
                    walk.note(stop);
                    return ControlFlow::Break(());
                }
                let mut examination = examiner.examination(walk, ranks, sleepers, by_run);
                if let Err(stop) = examination.examine(group, children, &mut undecided) {
                    self.walk.note(stop);
                    return ControlFlow::Break(());
                }
                self.walk.worked(1);
                if self.walk.look_is_due() {
                    self.walk.look_between()?;
                }
            }
            if by_run || undecided.is_empty() {
                break;
            }
            self.candidates = undecided;
        }
        ControlFlow::Continue(())
    }

    /// The candidates: of each pair of an event and a process, where the process's step may come instead of
    /// the event. Those that can be seen to be none are left out.
    fn collect(&mut self) {
        let Walk { run, trace, order, options, .. } = &self.walk;
        let (ranks, waker) = (&self.ranks, self.examiner.waker);
        let candidates = &mut self.candidates;
        candidates.clear();
        let mut add = |mut candidate: Candidate| {
            if !glance::is_hopeless(trace, order, ranks, waker, &mut candidate) {
                candidates.push(candidate);
            }
        };
        let rules = &options.rules.wake_up;
        let special = || trace.special().iter().map(|&k| k as usize);
        // Others have no cut behind the last waker.
        let settled = waker.unwrap_or(0);
        let old = special().take_while(|&j| j < settled).flat_map(|j| order.races(j));
        for race in old.chain(order.races_from(settled)) {
            let (i, j) = (race.first as usize, race.second as usize);
            let process = trace.process(j);
            if glance::leaves_out(trace, order, waker, i, process) {
                continue;
            }
            let disables = trace
                .guard(j)
                .is_some_and(|guard| trace.writes(i, guard.location) && !run.guard_holds_at(guard.id, i + 1));
            let from = trace.before(j).map_or(i, |before| before.max(i));
            let cuts = match () {
                () if disables && rules.guard_cuts => Cuts::From(from),
                () if !race.immediate => continue,
                () if trace.varies(j) && rules.early_outcomes && ranks.separates_outcomes() => {
                    Cuts::From(from)
                }
                () if trace.varies(j) && rules.varying_cuts => Cuts::From(j),
                () => Cuts::At(j),
            };
            let second = Some(j).filter(|&j| !(disables && trace.varies(j)));
            add(Candidate { i, process, second, cuts });
        }
        self.walk.each_waiting_race(|i, process| {
            let from = trace.previous(process).map_or(i, |before| before.max(i));
            add(Candidate { i, process, second: None, cuts: Cuts::From(from) });
        });
        for i in special().filter(|&i| trace.alternatives(i) > 1 && rules.outcomes) {
            add(Candidate { i, process: trace.process(i), second: Some(i), cuts: Cuts::From(i) });
        }
    }

    /// The schedule that leads to a child of the present execution: the steps that it has in common with this
    /// one's schedule, and the others.
    fn schedule_of(&self, child: &Child) -> (&[Step], impl Iterator<Item = Step> + '_) {
        let (i, cut, trace) = (child.i, child.cut, &self.walk.trace);
        let same = i.min(self.schedule.len());
        let rest = self.walk.order.unordered(i, i + 1).take_while(move |&k| k < cut);
        let rest = (same..i).chain(rest).map(|k| (trace.process(k), trace.choice(k)));
        (&self.schedule[..same], rest.chain([child.g]))
    }

    fn push_children(&mut self, share: f64) {
        let share = share / (self.children.len() + 1) as f64;
        self.behind += share;
        let mut todo = std::mem::take(&mut self.todo);
        for child in &self.children {
            let (same, rest) = self.schedule_of(child);
            todo.push(same, rest, share);
        }
        self.todo = todo;
    }
}
