//! `optimal`: Optimal-DPOR, Algorithm 2 of "Source Sets" (Abdulla, Aronis, Jonsson, Sagonas, JACM 2017); with the names
//! of Algorithm 1 of "Optimal DPOR with Observers" (TACAS 2018), of which it is the case without observers.
//!
//! Each Mazurkiewicz trace is explored once and no execution is cut: sequences that reverse a race are planned in
//! wakeup trees, and only if no sleeping process makes them redundant. That a node is reached at which all enabled
//! processes sleep is an error of ours, and ends the search. Where we differ from the published algorithm, and why:
//! * labels say what a step really touched. The reversed step may touch something else in its new place, so a step
//!   that [varies](mazurka_program::Label::varies) is run there to learn it;
//! * steps that wait race as guarded steps: with every writer of their guard, whether the step was taken or its
//!   process waits at the end;
//! * a step may have several outcomes. An event is a process with an outcome; where the search is free it plans all
//!   outcomes, where a sequence leads it takes the outcome of the sequence, and only the outcomes taken sleep;
//! * of the races whose later event is in the prefix that this execution shares with the one before, only those are
//!   handled again to which the new events add something: `notdep(e, E)` has grown.

use std::ops::ControlFlow;

use mazurka_program::{Access, Footprints, ProcessId, Program, Run};
use mazurka_trace::Trace;
use mazurka_trace::dependence::dependent;

use smallvec::SmallVec;

use crate::sleep::SleepSets;
use crate::wakeup::{Children, Dependences, NONE, Outcome, Step, WakeupTrees};
use crate::walk::Walk;
use crate::{Ending, Monitor, NotExhaustive, Options, Rules, Summary};

pub(crate) fn explore<P: Program>(
    program: &P,
    options: &Options,
    monitor: &mut dyn Monitor<P::Run>,
) -> Summary {
    let mut search = Search {
        walk: Walk::new(program, Footprints::Dynamic, options, monitor),
        sleep: SleepSets::default(),
        trees: WakeupTrees::default(),
        nodes: Vec::new(),
        shared: 0,
        races: Vec::new(),
        touched: Vec::new(),
    };
    // The answer is in the summary: a search that ends early has noted why.
    let _ = search.run();
    let _ = search.note_memory();
    search.walk.counts.wakeup_nodes = search.trees.peak;
    search.walk.summary()
}

/// A node of the stack: what is left of `wut(E)`. The branch that is being explored has been taken out of it.
struct Node {
    wut: Children,
    done: usize,
}

/// A race to be reversed: `e`, and `e'` or, if its process waits at the end, that process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reversal {
    pub e: usize,
    pub process: ProcessId,
    pub second: Option<usize>,
}

struct Search<'a, R: Run> {
    walk: Walk<'a, R>,
    sleep: SleepSets,
    trees: WakeupTrees,
    nodes: Vec<Node>,
    /// How many events the present execution shares with the last one whose races were handled.
    shared: usize,
    races: Vec<Reversal>,
    touched: Vec<Access>,
}

impl<R: Run> Search<'_, R> {
    fn run(&mut self) -> ControlFlow<()> {
        self.sleep.push_root();
        self.visit(NONE)?;
        while let Some(depth) = self.nodes.len().checked_sub(1) {
            self.back_to(depth);
            let node = &mut self.nodes[depth];
            if node.wut != NONE {
                // Lines 19-22: the smallest branch, with its subtree.
                let taken = self.trees.take_first(node.wut);
                node.wut = taken.rest;
                self.take(taken.process, taken.choice, taken.children)?;
            } else {
                self.nodes.pop();
                self.sleep.pop();
                self.put_to_sleep();
            }
        }
        ControlFlow::Continue(())
    }

    fn back_to(&mut self, depth: usize) {
        let trace = &self.walk.trace;
        // Under another outcome of a step that others depend on, what was planned for the old one says nothing.
        let outcome = |k: usize| trace.alternatives(k) > 1 && !trace.accesses(k).is_empty();
        if self.shared > depth && (depth..trace.len()).any(outcome) {
            self.shared = 0;
        }
        self.shared = self.shared.min(depth);
        self.walk.back_to(depth);
    }

    /// Explores the node of the present state with the wakeup tree that leads on from it, if any.
    fn visit(&mut self, wut: Children) -> ControlFlow<()> {
        self.nodes.push(Node { wut, done: 0 });
        if self.walk.run.enabled().is_empty() {
            let ending = self.walk.maximal_ending();
            self.walk.end(ending)?;
            return self.handle_races();
        }
        if self.walk.too_deep() {
            self.walk.end(Ending::Cut)?;
            return self.handle_races();
        }
        if wut == NONE {
            return self.plan_freely();
        }
        ControlFlow::Continue(())
    }

    /// Lines 17-18: no sequence leads, so any process will do, with every outcome of its step that does not sleep.
    fn plan_freely(&mut self) -> ControlFlow<()> {
        let level = self.nodes.len() - 1;
        let sleep = &self.sleep;
        let Some(process) = self.walk.pick(|p| !sleep.sleeps_altogether(level, p)) else {
            // Beyond the limit of depth nothing is known, so what was planned may lead nowhere.
            if self.walk.counts.cut == 0 && self.sound() {
                let what = "optimal reached a node where all processes sleep";
                return self.walk.stop(NotExhaustive::Internal(what));
            }
            return self.walk.end(Ending::Blocked);
        };
        let alternatives = self.walk.run.alternatives(process);
        let mut wut = NONE;
        for k in (0..alternatives).rev() {
            let choice = self.walk.choice_at(k, alternatives);
            if !self.sleep.sleeps(level, process, choice) {
                wut = self.trees.leaf(Step { process, choice, alternatives, accesses: &[], at: 0 }, wut);
            }
        }
        self.nodes[level].wut = wut;
        ControlFlow::Continue(())
    }

    /// Line 22: takes a step and explores the node behind it.
    fn take(&mut self, process: ProcessId, choice: u32, subtree: Children) -> ControlFlow<()> {
        self.walk.step(process, choice)?;
        let last = self.walk.trace.len() - 1;
        let accesses = self.walk.trace.accesses(last);
        if self.walk.trace.alternatives(last) > 1 {
            self.trees.label_outcomes(self.nodes[last].wut, process, accesses);
        }
        self.sleep.push(process, accesses, self.walk.options.rules.wake);
        if self.walk.progress_due {
            let nodes: Vec<(usize, usize)> = self
                .nodes
                .iter()
                .map(|node| (node.done, node.done + 1 + self.trees.count(node.wut)))
                .collect();
            self.walk.report_progress(nodes.into_iter())?;
            self.note_memory()?;
        }
        self.visit(subtree)
    }

    fn note_memory(&mut self) -> ControlFlow<()> {
        let nodes = self.nodes.capacity() * size_of::<Node>();
        self.walk.note_memory(self.sleep.memory() + self.trees.memory() + nodes)
    }

    /// Line 24: the event that led to the node just left has been explored.
    fn put_to_sleep(&mut self) {
        let trace = &self.walk.trace;
        if let (Some(node), Some(last)) = (self.nodes.last_mut(), trace.len().checked_sub(1)) {
            node.done += 1;
            let (process, choice) = (trace.process(last), trace.choice(last));
            self.sleep.add(process, choice, trace.alternatives(last), trace.accesses(last));
        }
    }

    /// Lines 4-12: plans the reversal of each race of a maximal execution.
    fn handle_races(&mut self) -> ControlFlow<()> {
        self.collect_races();
        let mut races = std::mem::take(&mut self.races);
        // The last ones first: a run that leaves the trace for one knows the trace only up to there.
        races.sort_by_key(|race| std::cmp::Reverse(race.e));
        for &race in &races {
            self.reverse(race)?;
        }
        self.races = races;
        self.shared = self.walk.trace.len();
        ControlFlow::Continue(())
    }

    fn collect_races(&mut self) {
        self.races.clear();
        collect_races(&self.walk, self.shared, &mut self.races);
    }

    /// Lines 5-12 for one race: `v = notdep(e, E).e'`, inserted before `e` unless it is redundant.
    fn reverse(&mut self, race: Reversal) -> ControlFlow<()> {
        let trace = &self.walk.trace;
        let notdep: SmallVec<[usize; 32]> =
            (race.e + 1..trace.len()).filter(|&k| !trace.happens_before(race.e, k)).collect();
        let mut touched = std::mem::take(&mut self.touched);
        let outcomes = self.label_reversed(race, &notdep, &mut touched);
        if outcomes.is_none() && self.walk.has_stopped() {
            return ControlFlow::Break(());
        }
        if outcomes.is_none() && self.sound() {
            return self.walk.stop(NotExhaustive::Internal("a race was reversed that can't be"));
        }
        if let Some(outcomes) = outcomes {
            let trace = &self.walk.trace;
            let mut v: SmallVec<[Step<'_>; 24]> = notdep
                .iter()
                .map(|&k| Step {
                    process: trace.process(k),
                    choice: trace.choice(k),
                    alternatives: trace.alternatives(k),
                    accesses: trace.accesses(k),
                    at: 0,
                })
                .collect();
            for choice in 0..outcomes {
                let (process, alternatives) = (race.process, outcomes);
                v.push(Step { process, choice, alternatives, accesses: &touched, at: 0 });
                plan(
                    &mut self.trees,
                    &mut self.nodes[race.e],
                    &self.sleep,
                    race.e,
                    &v,
                    self.walk.options.rules,
                );
                v.pop();
            }
        }
        self.touched = touched;
        ControlFlow::Continue(())
    }

    /// Whether no repair was taken out on purpose.
    fn sound(&self) -> bool {
        self.walk.options.rules == Rules::default()
    }

    /// What `e'` touches if it comes after `notdep(e, E)`, and how many outcomes it has there; none if it can't.
    fn label_reversed(&mut self, race: Reversal, notdep: &[usize], touched: &mut Vec<Access>) -> Option<u32> {
        touched.clear();
        let trace = &self.walk.trace;
        match race.second {
            Some(second) if !(trace.varies(second) && self.walk.options.rules.rerun_varying) => {
                debug_assert!(trace.alternatives(second) == 1 || trace.varies(second));
                touched.extend_from_slice(trace.accesses(second));
                Some(trace.alternatives(second))
            }
            _ => {
                let steps: Vec<_> = notdep.iter().map(|&k| (trace.process(k), trace.choice(k))).collect();
                let probed = self.walk.probe(race.e, steps.into_iter().chain([(race.process, 0)]));
                probed.map(|(label, outcomes)| {
                    touched.extend_from_slice(&label.accesses);
                    outcomes
                })
            }
        }
    }
}

/// The races of the present execution that are to be reversed: `shared` events were there when races were handled last.
pub(crate) fn collect_races<R: Run>(walk: &Walk<'_, R>, shared: usize, races: &mut Vec<Reversal>) {
    let trace = &walk.trace;
    let rules = walk.options.rules;
    let from = if rules.old_races { first_race_to_handle(trace, shared) } else { shared };
    for second in from..trace.len() {
        let process = trace.process(second);
        for race in trace.races(second) {
            let e = race.first as usize;
            let due = second >= shared || (shared..trace.len()).any(|k| !trace.happens_before(e, k));
            if due && (race.immediate || rules.every_guard_writer) {
                races.push(Reversal { e, process, second: Some(second) });
            }
        }
    }
    if rules.waiting_races {
        let run = &walk.run;
        run.waiting(&mut |process, guard| {
            let Some(guard) = guard else { return };
            let holds = |id, depth| !rules.guard_must_hold || run.guard_holds_at(id, depth);
            trace.waiting_races(process, guard, holds, |e| {
                races.push(Reversal { e, process, second: None });
            });
        });
    }
}

/// The first event that may be the later one of a race that has to be handled: some new event does not happen
/// after the race's earlier one.
fn first_race_to_handle(trace: &Trace, shared: usize) -> usize {
    let mut first = shared;
    for process in (0..trace.width()).map(|i| ProcessId(i as u32)) {
        // Of this process, the new events know at least so many; a later one is unknown to one of them.
        let known = (shared..trace.len()).map(|k| trace.clock(k, process)).min().unwrap_or(0);
        if let Some(&unknown) = trace.positions(process).get(known as usize) {
            first = first.min(unknown as usize + 1);
        }
    }
    first
}

/// Lines 11-12: inserts `v` into `wut(E')` unless it is redundant.
fn plan(
    trees: &mut WakeupTrees,
    node: &mut Node,
    sleep: &SleepSets,
    level: usize,
    v: &[Step<'_>],
    rules: Rules,
) {
    if !rules.sleep_test || !redundant(sleep, level, v) {
        let several = sleep.level(level).iter().filter(|sleeper| sleeper.alternatives > 1);
        let asleep: Vec<Outcome> = several
            .map(|s| Outcome {
                process: s.process,
                choice: s.choice,
                accesses: sleep.accesses_of(s).to_vec(),
            })
            .collect();
        node.wut = trees.insert(node.wut, v, &asleep, rules, &mut Dependences);
    }
}

/// `sleep(E') ∩ WI(v) ≠ ∅` (line 11): some sleeping event could be taken first, so all that begins with `v` has been
/// explored. A sleeping outcome that `v` does not have makes `v` redundant only if all outcomes sleep.
fn redundant(sleep: &SleepSets, level: usize, v: &[Step<'_>]) -> bool {
    sleep.level(level).iter().any(|sleeper| {
        let accesses = sleep.accesses_of(sleeper);
        match v.iter().position(|step| step.process == sleeper.process) {
            Some(k) => {
                v[k].choice == sleeper.choice
                    && !v[..k].iter().any(|step| dependent(step.accesses, v[k].accesses))
            }
            None => {
                (sleeper.alternatives == 1 || sleep.sleeps_altogether(level, sleeper.process))
                    && !v.iter().any(|step| dependent(step.accesses, accesses))
            }
        }
    })
}
