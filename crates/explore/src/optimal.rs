//! `optimal`: Optimal-DPOR, Algorithm 2 of "Source Sets" (Abdulla, Aronis, Jonsson, Sagonas, JACM 2017); with
//! the names of Algorithm 1 of "Optimal DPOR with Observers" (TACAS 2018), of which it is the case without
//! observers.
//!
//! Each Mazurkiewicz trace is explored once and no execution is cut: sequences that reverse a race are
//! planned in wakeup trees, and only if no sleeping process makes them redundant. That a node is reached at
//! which all enabled processes sleep is an error of ours, and ends the search. Where we differ from the
//! published algorithm, and why:
//! * labels say what a step really touched. The reversed step may touch something else in its new place, so a
//!   step that [varies](mazurka_program::Label::varies) is run there to learn it;
//! * steps that wait race as guarded steps: with every writer of their guard, whether the step was taken or
//!   its process waits at the end;
//! * a step may have several outcomes. An event is a process with an outcome; where the search is free it
//!   plans all outcomes, where a sequence leads it takes the outcome of the sequence, and only the outcomes
//!   taken sleep;
//! * of the races whose later event is in the prefix that this execution shares with the one before, only
//!   those are handled again to which the new events add something: `notdep(e, E)` has grown.

use std::ops::ControlFlow;

use mazurka_program::{Access, ProcessId};
use mazurka_trace::dependence::dependent;
use mazurka_trace::{Race, Trace};

use crate::frame::{Search, WakeupSearch, WakeupStack};
use crate::sleep::SleepSets;
use crate::wakeup::{Children, ExploredOutcome, NONE, Planned};
use crate::walk::Walk;
use crate::{NotExhaustive, Options, Rules, Summary};

crate::rules::switches! {
    /// The switches of the repairs.
    Repairs {
        /// `optimal` runs a step that varies to learn its label in a new place; taken out, it keeps the old
        /// label.
        rerun_varying,
        /// `optimal` leaves out a sequence of which a sleeping process is a weak initial.
        sleep_test,
        /// `optimal` follows weak initials down the wakeup tree; taken out, only initials.
        weak_initials,
        /// A sequence that is used up within a wakeup tree is covered only under the outcomes that are
        /// planned below it; taken out, under all.
        other_outcomes,
        /// `optimal` handles the races of a common prefix again with what is new after it.
        old_races,
    }
}

pub(crate) fn search(walk: Walk<'_>) -> Summary {
    let plans = Plans::default();
    let (races, known, notdep) = Default::default();
    OptimalSearch { walk, plans, free: None, shared: 0, races, known, notdep }.summary()
}

/// A race to be reversed: `e`, and `e'` or, if its process waits at the end, that process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reversal {
    pub e: usize,
    pub process: ProcessId,
    pub second: Option<usize>,
}

struct OptimalSearch<'a> {
    walk: Walk<'a>,
    plans: Plans,
    /// The step to take from the last node, where no sequence leads and the step has one outcome.
    free: Option<ProcessId>,
    /// How many events the present execution shares with the last one whose races were handled.
    shared: usize,
    races: Vec<Reversal>,
    known: Vec<u32>,
    notdep: Vec<usize>,
}

/// What is left to explore from the nodes of the stack, and what sleeps there.
#[derive(Default)]
struct Plans {
    sleep: SleepSets,
    stack: WakeupStack,
}

impl<'a> Search<'a> for OptimalSearch<'a> {
    #[inline]
    fn walk(&mut self) -> &mut Walk<'a> {
        &mut self.walk
    }

    fn run(&mut self) -> ControlFlow<()> {
        self.plans.sleep.push_root();
        self.visit(NONE)?;
        while let Some(depth) = self.plans.stack.len().checked_sub(1) {
            if let Some(process) = self.free.take() {
                self.take(process, 0, NONE)?;
            } else if let Some(branch) = self.plans.stack.take_first() {
                self.back_to(depth);
                self.take(branch.process, branch.choice, branch.children)?;
            } else {
                self.plans.stack.pop();
            }
        }
        ControlFlow::Continue(())
    }

    fn memory(&mut self) -> usize {
        self.walk.counts.wakeup_nodes = self.plans.stack.trees.peak;
        self.plans.sleep.memory() + self.plans.stack.memory()
    }
}

impl<'a> WakeupSearch<'a> for OptimalSearch<'a> {
    #[inline]
    fn stack(&mut self) -> &mut WakeupStack {
        &mut self.plans.stack
    }

    /// Lines 17-18: no sequence leads, so any process will do, with every outcome of its step that does not
    /// sleep.
    fn plan_freely(&mut self) -> ControlFlow<()> {
        let level = self.plans.stack.len() - 1;
        let sleep = &self.plans.sleep;
        let Some(process) = self.walk.pick(|p| !sleep.sleeps_altogether(level, p)) else {
            return self.walk.nothing_new("optimal reached a node where all processes sleep");
        };
        let Plans { sleep, stack } = &mut self.plans;
        if self.walk.run.alternatives(process) == 1 && !sleep.sleeps(level, process, 0) {
            stack.trees.leaf_in_passing();
            self.free = Some(process);
        } else {
            stack.plan_outcomes(&self.walk, process, |choice| sleep.sleeps(level, process, choice));
        }
        ControlFlow::Continue(())
    }

    /// Lines 4-12: plans the reversal of each race of a maximal execution.
    fn handle_races(&mut self) -> ControlFlow<()> {
        let mut races = std::mem::take(&mut self.races);
        let mut notdep = std::mem::take(&mut self.notdep);
        races.clear();
        collect_with(&self.walk, self.shared, &mut self.known, &mut races);
        // The last ones first: a run that leaves the trace for one knows the trace only up to there.
        races.sort_by_key(|race| std::cmp::Reverse(race.e));
        let mut e = usize::MAX;
        for &race in &races {
            if race.e != e {
                e = race.e;
                notdep.clear();
                notdep.extend(self.walk.order.unordered(e, e + 1));
            }
            self.reverse(race, &notdep)?;
            if self.walk.planned(self.walk.trace.len() - e) {
                self.walk.look_between()?;
                self.note_memory()?;
            }
        }
        (self.races, self.notdep) = (races, notdep);
        self.shared = self.walk.trace.len();
        ControlFlow::Continue(())
    }
}

impl OptimalSearch<'_> {
    /// Goes back to a node from which there is something left to explore. What was explored goes to sleep
    /// (line 24).
    fn back_to(&mut self, depth: usize) {
        let trace = &self.walk.trace;
        if trace.len() == depth {
            return self.walk.back_to(depth);
        }
        self.plans.stack.explored(depth);
        self.plans.sleep.back_to(depth);
        let (process, choice) = (trace.process(depth), trace.choice(depth));
        let accesses = trace.accesses(depth).iter().copied();
        self.plans.sleep.add(process, choice, trace.alternatives(depth), accesses);
        // Under another outcome of a step that others depend on, what was planned for the old one says
        // nothing.
        let outcome = |k: usize| trace.alternatives(k) > 1 && !trace.accesses(k).is_empty();
        if (depth..self.shared).any(outcome) {
            self.shared = 0;
        }
        self.shared = self.shared.min(depth);
        self.walk.back_to(depth);
    }

    /// Line 22: takes a step and explores the node behind it.
    fn take(&mut self, process: ProcessId, choice: u32, subtree: Children) -> ControlFlow<()> {
        self.walk.step(process, choice)?;
        self.plans.stack.label_outcomes(&self.walk);
        self.plans.sleep.push(process, &self.walk.label().accesses, self.walk.options.rules.shared.wake);
        if self.walk.progress_due {
            self.plans.stack.report_progress(&mut self.walk)?;
            self.note_memory()?;
        }
        self.visit(subtree)
    }

    /// Lines 5-12 for one race: `v = notdep(e, E).e'`, inserted before `e` unless it is redundant.
    fn reverse(&mut self, race: Reversal, notdep: &[usize]) -> ControlFlow<()> {
        let Options { rules, .. } = self.walk.options;
        if let Some(second) = race.second
            && !(self.walk.trace.varies(second) && rules.optimal.rerun_varying)
        {
            let trace = &self.walk.trace;
            debug_assert!(trace.alternatives(second) == 1 || trace.varies(second));
            self.plans.insert(race.e, Sequence { trace, notdep, last: step_of(trace, second) }, rules);
            return ControlFlow::Continue(());
        }
        // To run a step elsewhere is dear; whatever it touches there, what comes before it may be redundant.
        if rules.optimal.sleep_test && is_redundant(&self.walk.trace, notdep, &self.plans.sleep, race.e) {
            return ControlFlow::Continue(());
        }
        let Some((touched, alternatives)) = self.probe(race, notdep) else {
            return match self.walk.has_stopped() {
                true => ControlFlow::Break(()),
                false if self.walk.is_sound() && race.second.is_some() => {
                    self.walk.stop(NotExhaustive::Internal("a race was reversed that can't be"))
                }
                // Who waits for a guard may wait for something else too, which comes only after `e`: that is
                // no race.
                false => ControlFlow::Continue(()),
            };
        };
        let last = Planned { process: race.process, choice: 0, alternatives, accesses: &touched, at: 0 };
        self.plans.insert(race.e, Sequence { trace: &self.walk.trace, notdep, last }, rules);
        ControlFlow::Continue(())
    }

    /// What `e'` touches if it comes after `notdep(e, E)`, and how many outcomes it has there; none if it
    /// can't.
    fn probe(&mut self, race: Reversal, notdep: &[usize]) -> Option<(Vec<Access>, u32)> {
        let trace = &self.walk.trace;
        let steps: Vec<_> = notdep.iter().map(|&k| (trace.process(k), trace.choice(k))).collect();
        let probed = self.walk.probe(race.e, steps.into_iter().chain([(race.process, 0)]));
        probed.map(|(label, outcomes)| (label.accesses.clone(), outcomes))
    }
}

impl Plans {
    /// Lines 11-12: inserts `v`, with each outcome that its last step has, into `wut(E')` unless it is
    /// redundant.
    fn insert(&mut self, e: usize, mut v: Sequence<'_>, rules: &Rules) {
        for choice in 0..v.last.alternatives {
            v.last.choice = choice;
            if rules.optimal.sleep_test && v.is_redundant(&self.sleep, e) {
                continue;
            }
            let (wut, trees) = self.stack.tree(e);
            *wut = match *wut {
                NONE => trees.chain((0..=v.notdep.len()).map(|at| v.step(at))),
                wut => {
                    let asleep = several_outcomes(&self.sleep, e);
                    trees.insert_steps(wut, v.notdep.len() + 1, |at| v.step(at), asleep, rules)
                }
            };
        }
    }
}

/// The races of the present execution that are to be reversed: `shared` events were there when races were
/// handled last.
pub(crate) fn collect_races(walk: &Walk<'_>, shared: usize, races: &mut Vec<Reversal>) {
    collect_with(walk, shared, &mut Vec::new(), races);
}

fn collect_with(walk: &Walk<'_>, shared: usize, known: &mut Vec<u32>, races: &mut Vec<Reversal>) {
    let (trace, order) = (&walk.trace, &walk.order);
    let rules = &walk.options.rules;
    let handle = |race: &Race| {
        let (e, second) = (race.first as usize, race.second as usize);
        let process = trace.process(second);
        (race.immediate || rules.shared.every_guard_writer).then_some(Reversal {
            e,
            process,
            second: Some(second),
        })
    };
    if rules.optimal.old_races {
        order.least_clock(shared, known);
        let from = first_race_to_handle(trace, shared, known);
        let old = order.races_from(from).iter().take_while(|race| (race.second as usize) < shared);
        // Some new event does not happen after the race's earlier one.
        let due = |race: &&Race| {
            let e = race.first as usize;
            trace.index(e) > known[trace.process(e).index()]
        };
        races.extend(old.filter(due).filter_map(handle));
    }
    races.extend(order.races_from(shared).iter().filter_map(handle));
    walk.each_waiting_race(|e, process| races.push(Reversal { e, process, second: None }));
}

/// The first event that may be the later one of a race that has to be handled again: of each process the new
/// events all know so many events, and the race's earlier one is not among them.
fn first_race_to_handle(trace: &Trace, shared: usize, known: &[u32]) -> usize {
    let unknown = known
        .iter()
        .enumerate()
        .filter_map(|(process, &known)| trace.positions(ProcessId(process as u32)).get(known as usize));
    unknown.min().map_or(shared, |&position| shared.min(position as usize + 1))
}

/// The event at a position of an execution, as part of a sequence.
fn step_of(trace: &Trace, k: usize) -> Planned<'_> {
    Planned {
        process: trace.process(k),
        choice: trace.choice(k),
        alternatives: trace.alternatives(k),
        accesses: trace.accesses(k),
        at: 0,
    }
}

/// Those that sleep at a level of steps with several outcomes.
fn several_outcomes(sleep: &SleepSets, level: usize) -> Vec<ExploredOutcome> {
    let several = sleep.level(level).iter().filter(|sleeper| sleeper.alternatives > 1);
    several
        .map(|s| ExploredOutcome {
            process: s.process,
            choice: s.choice,
            accesses: sleep.accesses_of(s).to_vec(),
        })
        .collect()
}

/// `v = notdep(e, E).e'`, a sequence that reverses a race.
#[derive(Clone, Copy)]
struct Sequence<'a> {
    trace: &'a Trace,
    notdep: &'a [usize],
    last: Planned<'a>,
}

impl<'a> Sequence<'a> {
    /// The step at a place.
    #[inline]
    fn step(self, at: usize) -> Planned<'a> {
        self.notdep.get(at).map_or(self.last, |&k| step_of(self.trace, k))
    }

    /// `sleep(E') ∩ WI(v) ≠ ∅` (line 11): some sleeping event could be taken first, so all that begins with
    /// `v` has been explored. A sleeping outcome that `v` does not have makes `v` redundant only if all
    /// outcomes sleep.
    fn is_redundant(self, sleep: &SleepSets, level: usize) -> bool {
        let Sequence { trace, notdep, last } = self;
        sleep.level(level).iter().any(|sleeper| {
            if let Some(at) = first_of(trace, notdep, sleeper.process) {
                return is_initial(trace, notdep, at, sleeper.choice);
            }
            if last.process == sleeper.process {
                return last.choice == sleeper.choice && !overtaken(trace, notdep, last.accesses);
            }
            let accesses = sleep.accesses_of(sleeper);
            (sleeper.alternatives == 1 || sleep.sleeps_altogether(level, sleeper.process))
                && !overtaken(trace, notdep, accesses)
                && !dependent(last.accesses, accesses)
        })
    }
}

/// Whether a sequence that begins with `notdep(e, E)` is redundant, whatever comes then: some sleeping event
/// is an initial of that.
fn is_redundant(trace: &Trace, notdep: &[usize], sleep: &SleepSets, level: usize) -> bool {
    sleep.level(level).iter().any(|sleeper| {
        let first = first_of(trace, notdep, sleeper.process);
        first.is_some_and(|at| is_initial(trace, notdep, at, sleeper.choice))
    })
}

/// The place of a process's first event in a list of positions.
#[inline]
fn first_of(trace: &Trace, notdep: &[usize], process: ProcessId) -> Option<usize> {
    notdep.iter().position(|&k| trace.process(k) == process)
}

/// Whether the event at a place of a list, the first of its process, has this outcome and depends on none
/// before it.
#[inline]
fn is_initial(trace: &Trace, notdep: &[usize], at: usize, choice: u32) -> bool {
    let k = notdep[at];
    trace.choice(k) == choice && !overtaken(trace, &notdep[..at], trace.accesses(k))
}

/// Whether a step with these accesses depends on some event.
#[inline]
fn overtaken(trace: &Trace, before: &[usize], accesses: &[Access]) -> bool {
    before.iter().any(|&k| dependent(trace.accesses(k), accesses))
}
