//! When steps commute, by trying both orders: constraints as exact as they can be, for small programs.
//!
//! [`Exact`] is a program that knows of its steps what no solver could know better. Searches that rely on
//! constraints are measured with it, for what they lose with exact ones they may lose with weaker ones, and what
//! weaker ones forbid these allow.
//!
//! A block is a process with all that it knows. Two blocks commute in a state if both orders of their steps lead
//! to the same state up to renaming, with the same failures, for each pair of outcomes, and none of them enables
//! or disables the other.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use mazurka_program::{
    Commutes, Constraints, Failure, Footprints, Guard, GuardId, Label, Names, PortableNames, ProcessId,
    ProcessSet, Program, Receives, Renaming, Rounds, Run, State, States, Stop, Values,
};

/// At most so many states are looked at; what needs more does not commute.
const MOST_STATES: usize = 5_000;

/// A program whose runs have exact constraints, if they have states.
#[derive(Clone, Debug)]
pub struct Exact<P> {
    program: P,
}

/// The blocks that a run has met, and the pairs that don't always commute. They are the run's own: numbers of
/// processes mean something else in another one, and processes may know such numbers.
#[derive(Debug, Default)]
struct Blocks {
    numbers: BTreeMap<(ProcessId, Vec<i64>), u32>,
    processes: Vec<ProcessId>,
    /// None if there are too many states to look at.
    at_odds: Option<BTreeSet<(u32, u32)>>,
}

impl<P: Program> Exact<P> {
    /// The program with exact constraints.
    pub fn new(program: P) -> Exact<P> {
        Exact { program }
    }
}

impl<P: Program> Program for Exact<P> {
    type Run = ExactRun<P::Run>;

    fn start(&self, footprints: Footprints) -> ExactRun<P::Run> {
        let mut run = ExactRun { run: self.program.start(footprints), blocks: RefCell::default() };
        let at_odds = run.at_odds();
        run.blocks.borrow_mut().at_odds = at_odds;
        run
    }

    fn begin_again(&self) -> bool {
        self.program.begin_again()
    }
}

/// A run of an [`Exact`] program.
#[derive(Debug)]
pub struct ExactRun<R> {
    run: R,
    blocks: RefCell<Blocks>,
}

/// Where a sequence of steps leads.
#[derive(PartialEq)]
struct Reached {
    state: Option<State>,
    failures: Vec<Failure>,
    assumed: bool,
}

impl<R: Run> ExactRun<R> {
    /// The pairs of blocks that don't commute in some state that can be reached from the present one.
    fn at_odds(&mut self) -> Option<BTreeSet<(u32, u32)>> {
        let (mut pairs, mut seen) = (BTreeSet::new(), BTreeSet::new());
        let all = self.all_states(None, &mut seen, &mut |run| {
            let pending = run.pending_processes();
            for (at, &p) in pending.iter().enumerate() {
                for &q in &pending[at + 1..] {
                    if let (Some(first), Some(second)) = (run.block_of(p), run.block_of(q))
                        && !run.commute_here(p, q)
                    {
                        pairs.insert((first.min(second), first.max(second)));
                    }
                }
            }
            true
        });
        all.then_some(pairs)
    }

    fn block_of(&mut self, process: ProcessId) -> Option<u32> {
        let mut knows = Vec::new();
        let states = self.run.states().and_then(|states| states.named())?;
        if !self.run.enabled().contains(process) && !self.pending_processes().contains(&process) {
            return None;
        }
        states.effect(process, &[], &mut knows).then(|| {
            let Blocks { numbers, processes, .. } = &mut *self.blocks.borrow_mut();
            *numbers.entry((process, knows)).or_insert_with(|| {
                processes.push(process);
                processes.len() as u32 - 1
            })
        })
    }

    /// Whose block it is.
    fn process_of(&self, block: u32) -> Option<ProcessId> {
        self.blocks.borrow().processes.get(block as usize).copied()
    }

    /// Who is enabled or waits.
    fn pending_processes(&self) -> Vec<ProcessId> {
        let mut pending: Vec<ProcessId> = self.run.enabled().iter().collect();
        self.run.waiting(&mut |process, _| pending.push(process));
        pending
    }

    fn reached(&self) -> Reached {
        let mut failures = self.run.failures().to_vec();
        failures.sort_by_key(|failure| format!("{failure:?}"));
        failures.dedup();
        let state = self.run.states().map(|states| states.state());
        Reached { state, failures, assumed: self.run.assumed() }
    }

    /// Takes steps, and says where they lead; none if one can't be taken. The run is where it was afterwards.
    fn behind(&mut self, steps: &[(ProcessId, u32)]) -> Option<Reached> {
        let (depth, mut label) = (self.run.depth(), Label::default());
        let taken = steps.iter().all(|&(process, choice)| {
            self.run.enabled().contains(process)
                && choice < self.run.alternatives(process)
                && self.run.step(process, choice, &mut label).is_ok()
        });
        let reached = taken.then(|| self.reached());
        self.run.rewind(depth);
        reached
    }

    /// Whether a process is enabled behind the step of another one, whatever its outcome.
    fn is_enabled_behind(&mut self, first: ProcessId, second: ProcessId) -> bool {
        let (depth, mut label) = (self.run.depth(), Label::default());
        (0..self.run.alternatives(first)).any(|choice| {
            let enabled =
                self.run.step(first, choice, &mut label).is_err() || self.run.enabled().contains(second);
            self.run.rewind(depth);
            enabled
        })
    }

    /// Whether the pending steps of two processes commute in the present state.
    fn commute_here(&mut self, p: ProcessId, q: ProcessId) -> bool {
        let enabled = |process| self.run.enabled().contains(process);
        match (enabled(p), enabled(q)) {
            (true, true) => {}
            (true, false) => return !self.is_enabled_behind(p, q),
            (false, true) => return !self.is_enabled_behind(q, p),
            (false, false) => return true,
        }
        let (of_p, of_q) = (self.run.alternatives(p), self.run.alternatives(q));
        let pairs = (0..of_p).flat_map(|i| (0..of_q).map(move |j| (i, j)));
        let mut pairs = pairs.map(|(i, j)| ((p, i), (q, j)));
        let same_outcomes =
            self.outcomes_behind(p, q) == [of_q].into() && self.outcomes_behind(q, p) == [of_p].into();
        same_outcomes
            && pairs.all(|(first, second)| {
                let there = self.behind(&[first, second]);
                there.is_some() && there == self.behind(&[second, first])
            })
    }

    /// How many outcomes a process has behind each outcome of another one.
    fn outcomes_behind(&mut self, first: ProcessId, second: ProcessId) -> BTreeSet<u32> {
        let (depth, mut label) = (self.run.depth(), Label::default());
        let mut outcomes = BTreeSet::new();
        for choice in 0..self.run.alternatives(first) {
            let taken = self.run.step(first, choice, &mut label).is_ok();
            let goes_on = taken && self.run.enabled().contains(second);
            outcomes.insert(if goes_on { self.run.alternatives(second) } else { 0 });
            self.run.rewind(depth);
        }
        outcomes
    }

    /// Calls `with` in the present state and in all that can be reached from it without a process, until that
    /// says no. Says whether it was called in all of them and never did.
    fn all_states(
        &mut self,
        without: Option<ProcessId>,
        seen: &mut BTreeSet<Vec<i64>>,
        with: &mut dyn FnMut(&mut ExactRun<R>) -> bool,
    ) -> bool {
        let mut state = Vec::new();
        let Some(states) = self.run.states().and_then(|states| states.named()) else { return false };
        states.named_state(&mut state);
        if !seen.insert(state) {
            return true;
        }
        if seen.len() > MOST_STATES || !with(self) {
            return false;
        }
        let (depth, mut label) = (self.run.depth(), Label::default());
        let others: Vec<ProcessId> = self.run.enabled().iter().filter(|&p| Some(p) != without).collect();
        others.into_iter().all(|process| {
            (0..self.run.alternatives(process)).all(|choice| {
                let held = self.run.step(process, choice, &mut label).is_ok()
                    && self.all_states(without, seen, with);
                self.run.rewind(depth);
                held
            })
        })
    }
}

impl<R: Run> Constraints for ExactRun<R> {
    fn block(&mut self, process: ProcessId) -> Option<u32> {
        self.block_of(process)
    }

    fn commute(&mut self, first: u32, second: u32) -> Commutes {
        let (Some(p), Some(q)) = (self.process_of(first), self.process_of(second)) else {
            return Commutes::Unknown;
        };
        let pair = (first.min(second), first.max(second));
        let always = self.blocks.borrow().at_odds.as_ref().is_some_and(|pairs| !pairs.contains(&pair));
        let pending =
            |run: &mut ExactRun<R>| run.block_of(p) == Some(first) && run.block_of(q) == Some(second);
        match p != q && always {
            true => Commutes::Always,
            false if p != q && pending(self) && self.commute_here(p, q) => Commutes::Here,
            false => Commutes::Unknown,
        }
    }

    fn commute_uniformly(&mut self, first: u32, second: u32, without: ProcessId) -> bool {
        let Some(q) = self.process_of(second) else { return false };
        if q == without || self.block_of(without) != Some(first) {
            return false;
        }
        self.all_states(Some(without), &mut BTreeSet::new(), &mut |run| {
            run.block_of(q) != Some(second) || run.commute_here(without, q)
        })
    }
}

/// All the rest is the run's own.
impl<R: Run> Run for ExactRun<R> {
    fn names(&self) -> &Names {
        self.run.names()
    }

    fn depth(&self) -> usize {
        self.run.depth()
    }

    fn enabled(&self) -> &ProcessSet {
        self.run.enabled()
    }

    fn alternatives(&self, process: ProcessId) -> u32 {
        self.run.alternatives(process)
    }

    fn waiting(&self, with: &mut dyn FnMut(ProcessId, Option<Guard>)) {
        self.run.waiting(with);
    }

    fn step(&mut self, process: ProcessId, choice: u32, label: &mut Label) -> Result<(), Stop> {
        self.run.step(process, choice, label)
    }

    fn effort(&self) -> u64 {
        self.run.effort()
    }

    fn memory(&self) -> usize {
        self.run.memory()
    }

    fn rewind(&mut self, depth: usize) {
        self.run.rewind(depth);
    }

    fn guard_holds_at(&self, guard: GuardId, depth: usize) -> bool {
        self.run.guard_holds_at(guard, depth)
    }

    fn failures(&self) -> &[Failure] {
        self.run.failures()
    }

    fn assumed(&self) -> bool {
        self.run.assumed()
    }

    fn ended_early(&self) -> bool {
        self.run.ended_early()
    }

    fn keeps_time(&self) -> bool {
        self.run.keeps_time()
    }

    fn goes_round(&self, process: ProcessId) -> bool {
        self.run.goes_round(process)
    }

    fn pending(&mut self, process: ProcessId, choice: u32, label: &mut Label) -> Result<(), Stop> {
        self.run.pending(process, choice, label)
    }

    fn states(&self) -> Option<&dyn States> {
        self.run.states()
    }

    fn renaming(&mut self) -> Option<&mut dyn Renaming> {
        self.run.renaming()
    }

    fn portable_names(&mut self) -> Option<&mut dyn PortableNames> {
        self.run.portable_names()
    }

    fn receives(&self) -> Option<&dyn Receives> {
        self.run.receives()
    }

    fn rounds(&self) -> Option<&dyn Rounds> {
        self.run.rounds()
    }

    fn values(&self) -> Option<&dyn Values> {
        self.run.values()
    }

    fn constraints(&mut self) -> Option<&mut dyn Constraints> {
        let can_tell = self.run.states().is_some_and(|states| states.named().is_some());
        can_tell.then_some(self as &mut dyn Constraints)
    }
}
