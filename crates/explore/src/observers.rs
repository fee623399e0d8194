//! `optimal+observers`: Algorithm 1 of "Optimal Dynamic Partial Order Reduction with Observers" (Aronis,
//! Jonsson, Lång, Sagonas, TACAS 2018).
//!
//! Two blind writes of one variable, or two messages to one mailbox, are ordered by happens-before only if
//! some later event, an *observer*, could tell their order: a read of the later write, a receive that would
//! have taken either message. Each class of executions modulo that order is completed once, and nothing is
//! cut. Final memory is not preserved, nor the order of messages that nobody takes; what processes know is.
//! The paper's algorithm stands, for the programs that it is about, but care is needed, and programs do more
//! than it allows for:
//! * a prefix has fewer edges than its execution. A sequence that reverses an observed race therefore ends
//!   with an observer (line 8), which takes the new message there: it is run in its place to learn its label;
//! * sleep sets don't work, since a sleeping event may have been overtaken by something that is observed only
//!   later. The test of redundancy looks at all `done` sets, over the whole sequence ([`done`], definition
//!   3), with the observers that this sequence has and no others ([`sequence`]);
//! * writes of unequal, overlapping sets of locations race unconditionally, as the paper demands (CX13); so
//!   does a step that sends more than one message, or sends and writes, since no single receive could tell
//!   when it was;
//! * the paper assumes that no step disables another process. With guards it does: `await x == 1` waits for
//!   ever if `x = 2` came last, and nobody has read `x`. So writes of a location that some guard waits for
//!   race unconditionally (`corpus/observers_await.maz` loses its deadlock otherwise). Which locations these
//!   are is found out on the way: the first execution knows those that it met, and if another one turns up
//!   later, the search begins again, which happens at most once for each location. Given that, guarded steps
//!   race as in `optimal`, and the proof in docs/soundness.md holds;
//! * the paper's events touch the same wherever they come, and a step that varies does not. In its new place
//!   it may read more than before and so observe writes that nobody had observed; so it is planned with each
//!   order of these that it can find ([`views`]: `corpus/cx17.maz` is lost in 11 of 400 orders otherwise),
//!   and so is a step that had to wait;
//! * a step with several outcomes that others can notice is explored with all of them, but what is proved is
//!   for steps with one, and for outcomes that touch nothing (`choose`): the verdict says so;
//! * steps that vary, steps with several outcomes and old races are handled as in
//!   [`optimal`](crate::optimal). Old races are left out only while no step is dependent if observed: else a
//!   new suffix may order what is in the prefix.
//!
//! The proof is in docs/soundness.md. It is not that of the paper, which rests on a property (6e) that writes
//! do not have. And there is brute force, which computes the classes pair by pair from labels.

mod done;
mod order;
mod sequence;
mod views;

use std::ops::ControlFlow;
use std::time::Instant;

use mazurka_program::{Access, AccessKind, Location, ProcessId, Run};
use mazurka_trace::dependence;
use smallvec::{SmallVec, smallvec};

use crate::frame::{Search, WakeupSearch, WakeupStack};
use crate::optimal::{Reversal, collect_races};
use crate::wakeup::{Children, NONE, Planned};
use crate::walk::{Aside, Walk};
use crate::{NotExhaustive, Summary};
use done::{DoneSets, step_at};
use order::{ObservedOrder, Unobserved};
use sequence::{Conflicts, Mail, Observed, kind_at};
use views::Views;

crate::rules::switches! {
    /// The switches of the repairs.
    Repairs {
        /// The sequence that reverses an observed race ends with an observer; taken out, with the race's
        /// later event.
        carry_observer,
        /// A sequence is planned with each view that its last event can have of writes which nobody
        /// observed; taken out, with one.
        views,
        /// An explored event that others follow without observers is kept in mind; taken out, it is woken
        /// by them.
        keep_unobserved,
        /// Writes of overlapping, unequal sets of locations race unconditionally; taken out, if observed
        /// (CX13).
        unequal_writes,
        /// Writes that a guard waits for race unconditionally; taken out, if observed.
        awaited_writes,
        /// Two messages to a mailbox race if a receive would take either; taken out, if a receive took one
        /// of them.
        selective,
    }
}

pub(crate) fn search(walk: Walk<'_>) -> Summary {
    let search = ObserversSearch {
        conflicts: Conflicts::new(walk.options.rules),
        walk,
        done: DoneSets::default(),
        stack: WakeupStack::default(),
        unobserved: Unobserved::default(),
        order: ObservedOrder::default(),
        shared: 0,
        races_handled: false,
        begin_again: false,
        races: Vec::new(),
        touched: Vec::new(),
    };
    search.summary()
}

/// How many pairs of accesses are compared between looks at the clock while the order of an execution is
/// computed.
const ORDERED_BETWEEN_LOOKS: usize = 1 << 16;

struct ObserversSearch<'a> {
    walk: Walk<'a>,
    conflicts: Conflicts,
    done: DoneSets,
    stack: WakeupStack,
    unobserved: Unobserved,
    order: ObservedOrder,
    /// How many events the present execution shares with the last one whose races were handled.
    shared: usize,
    /// Whether races have been handled: then a new location that a guard waits for comes too late.
    races_handled: bool,
    begin_again: bool,
    races: Vec<Reversal>,
    touched: Vec<Access>,
}

impl<'a> Search<'a> for ObserversSearch<'a> {
    #[inline]
    fn walk(&mut self) -> &mut Walk<'a> {
        &mut self.walk
    }

    fn run(&mut self) -> ControlFlow<()> {
        loop {
            let ended = self.explore();
            if !self.begin_again {
                return ended;
            }
            self.reset();
        }
    }

    fn memory(&mut self) -> usize {
        self.walk.counts.wakeup_nodes = self.stack.trees.peak;
        self.done.memory() + self.stack.memory() + self.order.memory()
    }
}

impl<'a> WakeupSearch<'a> for ObserversSearch<'a> {
    #[inline]
    fn stack(&mut self) -> &mut WakeupStack {
        &mut self.stack
    }

    /// Notes what those wait for who wait at the end.
    fn at_the_end(&mut self) -> ControlFlow<()> {
        let mut new = false;
        if self.walk.enabled().is_empty() {
            self.walk.run.waiting(&mut |_, guard| {
                new |= guard.is_some_and(|guard| self.conflicts.note_awaited(guard.location));
            });
        }
        self.found_awaited(new)
    }

    /// Lines 17-18: no sequence leads, so any process will do, with every outcome of its step that is not
    /// done.
    fn plan_freely(&mut self) -> ControlFlow<()> {
        let (level, rules) = (self.stack.len() - 1, self.walk.options.rules);
        let (trace, _, aside) = self.walk.aside();
        let mail =
            MailProbe { aside, from: level, v: &[], there: true, selective: rules.observers.selective };
        let settled = self.done.settle(trace, &mut Observed { conflicts: &self.conflicts, mail });
        let done = &self.done;
        let picked = self.walk.pick(|p| !done.all_explored(level, p));
        let Some(process) = picked.filter(|_| settled || !self.walk.is_sound()) else {
            return self.walk.nothing_new("optimal+observers reached a node from which everything is done");
        };
        let done = &self.done;
        self.stack.plan_outcomes(&self.walk, process, |choice| done.is_explored(level, process, choice));
        ControlFlow::Continue(())
    }

    /// Lines 4-12: plans the reversal of each race of a maximal execution.
    fn handle_races(&mut self) -> ControlFlow<()> {
        self.races_handled = true;
        let mut races = std::mem::take(&mut self.races);
        races.clear();
        let conditional = self.unobserved.any();
        if conditional {
            let Walk { trace, options, .. } = &self.walk;
            let run = &*self.walk.run;
            let (mut work, deadline) = (0, self.walk.deadline());
            self.order.begin(trace, &self.conflicts);
            for at in 0..trace.len() {
                work += self.order.enter(trace, run, &self.conflicts, options.rules, at, &mut races);
                if work > ORDERED_BETWEEN_LOOKS {
                    work = 0;
                    if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                        return self
                            .walk
                            .stop(NotExhaustive::Time(self.walk.options.limits.time.unwrap_or_default()));
                    }
                }
            }
            self.order.waiting(trace, run, options.rules, &mut races);
        } else {
            collect_races(&self.walk, self.shared, &mut races);
        }
        // The last ones first: a run that leaves the trace for one knows the trace only up to there.
        races.sort_by_key(|race| std::cmp::Reverse(race.e));
        for &race in &races {
            self.reverse(race, conditional)?;
        }
        self.races = races;
        // What observers there are in an execution decides what its sequences are: they say nothing about the
        // next one.
        self.shared = if conditional { 0 } else { self.walk.trace.len() };
        ControlFlow::Continue(())
    }
}

impl ObserversSearch<'_> {
    fn explore(&mut self) -> ControlFlow<()> {
        self.done.reset();
        self.visit(NONE)?;
        while let Some(depth) = self.stack.len().checked_sub(1) {
            self.back_to(depth);
            if let Some(branch) = self.stack.take_first() {
                self.take(branch.process, branch.choice, branch.children)?;
            } else {
                self.stack.pop();
                self.done.pop();
                self.add_to_done();
            }
        }
        ControlFlow::Continue(())
    }

    /// Makes everything as it was at the start, but for what is known of guards.
    fn reset(&mut self) {
        self.begin_again = false;
        self.races_handled = false;
        self.shared = 0;
        self.unobserved.truncate(&self.walk.trace, 0);
        self.stack.clear();
        self.walk.begin_again();
    }

    fn back_to(&mut self, depth: usize) {
        let trace = &self.walk.trace;
        // Under another outcome of a step that others depend on, what was planned for the old one says
        // nothing.
        let outcome = |k: usize| trace.alternatives(k) > 1 && !trace.accesses(k).is_empty();
        if self.shared > depth && (depth..trace.len()).any(outcome) {
            self.shared = 0;
        }
        self.shared = self.shared.min(depth);
        self.unobserved.truncate(trace, depth);
        self.walk.back_to(depth);
    }

    /// A guard that nobody knew of makes writes dependent that were not: what was planned without that is
    /// worth nothing.
    fn found_awaited(&mut self, new: bool) -> ControlFlow<()> {
        self.begin_again = new && self.races_handled;
        if self.begin_again { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Line 22: takes a step and explores the node behind it.
    fn take(&mut self, process: ProcessId, choice: u32, subtree: Children) -> ControlFlow<()> {
        self.walk.step(process, choice)?;
        // Which loops close rounds depends on the order of all writes.
        if self.walk.stops_at_rounds && self.conflicts.awaited.insert_everything() {
            self.begin_again = true;
            return ControlFlow::Break(());
        }
        self.stack.label_outcomes(&self.walk);
        let last = self.walk.trace.len() - 1;
        if self.walk.trace.alternatives(last) > 1 && !self.walk.trace.accesses(last).is_empty() {
            self.walk.miss(NotExhaustive::NotProved);
        }
        let trace = &self.walk.trace;
        let new = trace.guard(last).is_some_and(|guard| self.conflicts.note_awaited(guard.location));
        self.done.push(trace, &self.conflicts, self.walk.options.rules);
        self.unobserved.push(trace, &self.conflicts);
        self.found_awaited(new)?;
        if self.walk.progress_due {
            self.stack.report_progress(&mut self.walk)?;
            self.note_memory()?;
        }
        self.visit(subtree)
    }

    /// Line 24: the event that led to the node just left has been explored.
    fn add_to_done(&mut self) {
        let trace = &self.walk.trace;
        if let (Some(level), Some(last)) = (self.stack.len().checked_sub(1), trace.len().checked_sub(1)) {
            self.stack.explored(level);
            let (process, choice) = (trace.process(last), trace.choice(last));
            self.done.add(process, choice, trace.alternatives(last), trace.accesses(last));
        }
    }

    /// Lines 5-12 for one race.
    fn reverse(&mut self, race: Reversal, conditional: bool) -> ControlFlow<()> {
        if conditional {
            return self.sequences(race).into_iter().try_for_each(|v| self.plan_views(race, v, true));
        }
        let notdep = self.walk.order.unordered(race.e, race.e + 1).collect();
        let v = Sequence { events: notdep, last: race.second, process: race.process, observed: false };
        self.plan_views(race, v, false)
    }

    /// Plans a sequence, with each view that its last event can have of writes which nobody else observes.
    fn plan_views(&mut self, race: Reversal, v: Sequence, conditional: bool) -> ControlFlow<()> {
        let (mut next, mut left) = (Some((v, None)), Vec::new());
        let mut touched = std::mem::take(&mut self.touched);
        while let Some((v, views)) = next.take().or_else(|| left.pop()) {
            let outcomes = self.label_last(race, &v, &mut touched);
            if outcomes.is_none() && self.walk.has_stopped() {
                return ControlFlow::Break(());
            }
            // Who waits for a guard may wait for something else too, which comes only after `e`: that is no
            // race.
            if outcomes.is_none() && self.walk.is_sound() && race.second.is_some() {
                return self.walk.stop(NotExhaustive::Internal("a race was reversed that can't be"));
            }
            let choice = match conditional && self.walk.options.rules.observers.views {
                true => self.choice(race, &v, views, &touched),
                false => None,
            };
            match choice {
                Some(views) => left.extend(views.into_iter().map(|views| (v.ordered(&views), Some(views)))),
                None => (0..outcomes.unwrap_or(0))
                    .for_each(|choice| self.plan(race, &v, choice, outcomes.unwrap_or(1), &touched)),
            }
            // To test a sequence takes longer the longer it is, and nearly as its square.
            self.walk.worked(v.events.len());
            if self.walk.look_is_due() {
                self.walk.look_between()?;
                self.note_memory()?;
            }
        }
        self.touched = touched;
        ControlFlow::Continue(())
    }

    /// If the last event of `v` reads a location that it did not read in the execution, and several writes
    /// can be the last one of it: the sequence with each of them. The same of a message that it takes after
    /// it had to wait, and of those that can be the first. `views` has those that were chosen so far.
    fn choice(
        &mut self,
        race: Reversal,
        v: &Sequence,
        views: Option<Views>,
        touched: &[Access],
    ) -> Option<Vec<Views>> {
        let known = race.second.filter(|&second| !self.waited_for(race.e, second)).and(v.last);
        let fresh = self.read_for_the_first_time(v, known, touched);
        let messages = if known.is_none() { self.rivals(v, touched) } else { Vec::new() };
        if fresh.is_empty() && messages.len() < 2 {
            return None;
        }
        let views = views.unwrap_or_else(|| self.views(race.e, v, known));
        let trace = &self.walk.trace;
        let of_writer = fresh.into_iter().find_map(|location| {
            let writers = views.last_writers(trace, location);
            let chosen = |writer| views.with_last(trace, location, writer);
            (writers.len() > 1).then(|| writers.into_iter().map(chosen).collect())
        });
        if of_writer.is_some() || messages.len() < 2 {
            return of_writer;
        }
        let messages = self.would_be_taken(race.e, v, messages);
        let first = views.first_of(&messages);
        let chosen = |&message: &usize| views.with_first(message, &messages);
        (first.len() > 1).then(|| first.iter().map(chosen).collect())
    }

    /// The variables that the last event of `v` reads and did not read as the event that is known, if there
    /// are several writes.
    fn read_for_the_first_time(
        &self,
        v: &Sequence,
        known: Option<usize>,
        touched: &[Access],
    ) -> Vec<Location> {
        let trace = &self.walk.trace;
        let written_twice = |&location: &Location| {
            let kinds = v.events.iter().filter_map(|&k| kind_at(trace.accesses(k), location));
            // Who looks at a mailbox in vain sees which messages are there, in whatever order.
            kinds.filter(|&kind| !kind.is_read() && kind != AccessKind::Send).nth(1).is_some()
        };
        let reads =
            touched.iter().filter(|access| is_read(access.kind)).flat_map(|access| access.locations());
        let unknown = |location: &Location| {
            let before = known.and_then(|last| kind_at(trace.accesses(last), *location));
            !before.is_some_and(is_read)
        };
        reads.filter(unknown).filter(written_twice).collect()
    }

    /// If the last event of `v` takes a message that was sent in `v`: the events of `v` that send one to that
    /// mailbox which nobody in `v` takes.
    fn rivals(&self, v: &Sequence, touched: &[Access]) -> Vec<usize> {
        let trace = &self.walk.trace;
        let message = |k: usize| dependence::message(trace.accesses(k));
        let takes = |accesses: &[Access], m: Location| kind_at(accesses, m) == Some(AccessKind::Update);
        let Some(&sent) = v.events.iter().find(|&&k| message(k).is_some_and(|m| takes(touched, m))) else {
            return Vec::new();
        };
        let mailbox = |k: usize| trace.accesses(k).iter().find(|access| is_send(access)).copied();
        let untaken = |&k: &usize| {
            mailbox(k) == mailbox(sent)
                && message(k).is_some_and(|m| !v.events.iter().any(|&other| takes(trace.accesses(other), m)))
        };
        v.events.iter().copied().filter(untaken).collect()
    }

    /// Those of the messages sent in `v` that its last event would take, were they the only ones.
    fn would_be_taken(&mut self, from: usize, v: &Sequence, messages: Vec<usize>) -> Vec<usize> {
        let trace = &self.walk.trace;
        let steps: Vec<_> = v.events.iter().map(|&k| (trace.process(k), trace.choice(k))).collect();
        let receive = from + v.events.len();
        let taken = self.walk.probe(from, steps.into_iter().chain([(v.process, 0)])).is_some();
        let place = |message: usize| v.events.iter().position(|&k| k == message);
        let selective = self.walk.options.rules.observers.selective && taken;
        let would = |&message: &usize| {
            let send = place(message).map(|place| from + place);
            !selective || send.is_some_and(|send| would_take(&*self.walk.run, receive, send))
        };
        messages.into_iter().filter(would).collect()
    }

    /// The orders of `v` that are the same to all who take part in it, and in what the last event read in the
    /// execution.
    fn views(&mut self, from: usize, v: &Sequence, known: Option<usize>) -> Views {
        let selective = self.walk.options.rules.observers.selective;
        let (trace, _, aside) = self.walk.aside();
        let steps: Vec<Planned<'_>> =
            v.events.iter().enumerate().map(|(i, &k)| step_at(trace, k, from + i)).collect();
        let mail = MailProbe { aside, from, v: &steps, there: false, selective };
        let mut order = Observed { conflicts: &self.conflicts, mail };
        let mut views = Views::new(trace, &v.events, &steps, &mut order);
        let read = known.map_or(&[][..], |last| trace.accesses(last)).iter();
        for location in read.filter(|access| is_read(access.kind)).flat_map(|access| access.locations()) {
            views.keep_last(trace, location);
        }
        views
    }

    /// Whether a step may have had to wait because of an earlier one: then it need not have come where that
    /// one was.
    fn waited_for(&self, e: usize, second: usize) -> bool {
        let trace = &self.walk.trace;
        trace.guard(second).is_some_and(|guard| trace.writes(e, guard.location))
    }

    /// The sequences `v` that reverse a race modulo observers, each without its last event: `notdep(e, E)`
    /// and, if it is observed, `e'.e.(notobs(e, e', E) \ e')` (lines 7-10). The last event is an observer,
    /// else `e'`. One observer will do (line 7), but for those that vary: with what else they read behind `e`
    /// they may be another one's rivals.
    fn sequences(&self, race: Reversal) -> SmallVec<[Sequence; 1]> {
        let trace = &self.walk.trace;
        let e = race.e;
        let after = |first: usize, k: usize| self.order.happens_before(trace, first, k);
        let mut events: SmallVec<[usize; 32]> = (e + 1..trace.len()).filter(|&k| !after(e, k)).collect();
        let observers = match race.second {
            Some(second) if self.walk.options.rules.observers.carry_observer => {
                self.order.observers(trace, &self.conflicts, e, second)
            }
            _ => Vec::new(),
        };
        let Some(second) = race.second.filter(|_| !observers.is_empty()) else {
            let (last, process) = (race.second, race.process);
            return smallvec![Sequence { events, last, process, observed: false }];
        };
        events.extend([second, e]);
        let notobs = |k: usize| k != second && after(e, k) && !observers.iter().any(|&o| after(o, k));
        events.extend((e + 1..trace.len()).filter(|&k| notobs(k)));
        let first = |&o: &usize| !observers.iter().any(|&other| other < o && after(other, o));
        let all = observers.iter().any(|&o| trace.varies(o));
        let chosen = observers.iter().copied().filter(first).take(if all { usize::MAX } else { 1 });
        let ends_with = |observer: usize| Sequence {
            events: events.clone(),
            last: Some(observer),
            process: trace.process(observer),
            observed: true,
        };
        chosen.map(ends_with).collect()
    }

    /// What the last event of `v` touches there, and how many outcomes it has; none if it can't be taken.
    fn label_last(&mut self, race: Reversal, v: &Sequence, touched: &mut Vec<Access>) -> Option<u32> {
        touched.clear();
        let trace = &self.walk.trace;
        let rules = self.walk.options.rules;
        // Who takes another message than before touches another location.
        let takes = v.observed && trace.accesses(race.e).iter().any(is_send);
        match v.last {
            Some(last) if !(takes || trace.varies(last) && rules.optimal.rerun_varying) => {
                touched.extend_from_slice(trace.accesses(last));
                Some(trace.alternatives(last))
            }
            _ => {
                let steps: Vec<_> = v.events.iter().map(|&k| (trace.process(k), trace.choice(k))).collect();
                let probed = self.walk.probe(race.e, steps.into_iter().chain([(v.process, 0)]));
                probed.map(|(label, outcomes)| {
                    touched.extend_from_slice(&label.accesses);
                    outcomes
                })
            }
        }
    }

    /// Lines 11-12: inserts `v` into `wut(E')` unless it is redundant.
    fn plan(&mut self, race: Reversal, v: &Sequence, choice: u32, alternatives: u32, touched: &[Access]) {
        let (e, rules) = (race.e, self.walk.options.rules);
        let (trace, _, aside) = self.walk.aside();
        let mut steps: SmallVec<[Planned<'_>; 24]> =
            v.events.iter().enumerate().map(|(i, &k)| step_at(trace, k, e + i)).collect();
        let at = (e + steps.len()) as u32;
        steps.push(Planned { process: v.process, choice, alternatives, accesses: touched, at });
        let mail =
            MailProbe { aside, from: e, v: &steps, there: false, selective: rules.observers.selective };
        let mut order = Observed { conflicts: &self.conflicts, mail };
        if !rules.optimal.sleep_test || !self.done.redundant(e, trace, &steps, &mut order) {
            let (wut, trees) = self.stack.tree(e);
            *wut = trees.insert(*wut, &steps, &self.done.outcomes(e), rules, &mut order);
        }
    }
}

/// A sequence that reverses a race: the positions of its events in the execution that it comes from, and its
/// last event, which has none if it is the step of a process that waits.
struct Sequence {
    events: SmallVec<[usize; 32]>,
    last: Option<usize>,
    process: ProcessId,
    observed: bool,
}

impl Sequence {
    /// The same events in an order that has chosen writes last.
    fn ordered(&self, views: &Views) -> Sequence {
        Sequence { events: views.sequence().collect(), ..*self }
    }
}

/// Whether a receive would take a message; a run that can't tell is refused before it is searched.
fn would_take(run: &dyn Run, receive: usize, send: usize) -> bool {
    run.receives().is_none_or(|receives| receives.would_take(receive, send))
}

/// Whether an access of a kind finds out what was written.
fn is_read(kind: AccessKind) -> bool {
    matches!(kind, AccessKind::Read | AccessKind::Update)
}

fn is_send(access: &Access) -> bool {
    access.kind == AccessKind::Send
}

/// Asks the run which messages receives would take, after bringing it to the end of a sequence.
struct MailProbe<'a> {
    aside: Aside<'a>,
    from: usize,
    v: &'a [Planned<'a>],
    there: bool,
    selective: bool,
}

impl MailProbe<'_> {
    fn go_there(&mut self) {
        if !std::mem::replace(&mut self.there, true) {
            let steps = self.v.iter().map(|step| (step.process, step.choice));
            let taken = self.aside.leave(self.from, steps);
            debug_assert!(taken || self.v.is_empty() || !self.selective, "a sequence can be taken");
        }
    }
}

impl Mail for MailProbe<'_> {
    fn would_take(&mut self, receive: u32, send: u32) -> bool {
        if !self.selective {
            return true;
        }
        self.go_there();
        would_take(self.aside.run, receive as usize, send as usize)
    }

    fn would_take_after(&mut self, receive: u32, beside: &[(ProcessId, u32)], step: Planned<'_>) -> bool {
        if !self.selective {
            return true;
        }
        self.go_there();
        let depth = self.aside.run.depth();
        let steps = beside.iter().copied().chain([(step.process, step.choice)]);
        // Who can't take the step is no weak initial.
        let taken = self.aside.take(steps);
        let takes = !taken || would_take(self.aside.run, receive as usize, self.aside.run.depth() - 1);
        self.aside.run.rewind(depth);
        takes
    }
}
