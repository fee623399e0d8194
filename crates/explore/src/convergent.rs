//! `convergent`: every final state once, by merging equal states. Ours: what papers 001 (ISSTA'19) and 004
//! (CAV'17) aim at.
//!
//! Those papers cut an execution of DPOR where a state comes again that was explored elsewhere. But races are
//! found in the executions themselves: those that would have been met only behind the cut are never reversed,
//! and behaviours are lost (corpus/cx01.maz with 3 steps; corpus/cx10.maz, cx11.maz and cx12.maz for 001).
//! Repair: no races and no clocks. States are the nodes of an acyclic graph, and each node knows the records
//! of all steps below it, merged or not. The set of processes to explore from a node grows until it is
//! persistent with respect to those records; sleep sets avoid repeated steps. docs/soundness.md has the
//! proof, and the laws compare it with brute force on programs and mutants of those that broke others.
//!
//! States are merged where they are equal up to renaming, and what is known of the one is renamed
//! ([`renaming`]); of front ends that can't rename, where they are equal with their names
//! ([`NamedStates`](mazurka_program::NamedStates)). Final states are counted up to renaming
//! ([`States`](mazurka_program::States)).
//!
//! Where the state space has cycles the search begins again without reduction ([`cyclic`]); loops are not cut
//! where they close a round, as in other algorithms.
//!
//! Invariants, looked at in debug builds, where the search ends if one does not hold: who sleeps is enabled,
//! and its step does what its record says; states that are merged have the same processes enabled; a state
//! that is being explored is not explored within itself; there are as many complete and assumed executions as
//! final states.

pub(crate) mod constraints;
mod cyclic;
pub(crate) mod guess;
mod intern;
pub(crate) mod records;
mod renaming;
mod store;

use std::collections::HashSet;
use std::ops::ControlFlow;

use mazurka_program::{Location, ProcessId, ProcessSet, Renamed, Thing};

use crate::frame::Search;
use crate::livelock::some_go_round;
use crate::walk::Walk;
use crate::{Ending, NotExhaustive, Order, Summary};
use constraints::Partners;
use guess::{Guesses, Here};
pub(crate) use intern::pack;
use records::{Record, RecordId, RecordSet, Records, Sets, members};
pub(crate) use renaming::comparable_state;
use renaming::{Renamer, StateNames, ThingsId, named_state};
use store::{Below, StateId, Store};

/// How many steps are run ahead of the search.
const SCOUTED: usize = 10_000;

crate::rules::switches! {
    /// The switches of the repairs.
    Repairs {
        /// `convergent` merges a state only with one in which nobody slept that is awake; taken out, with
        /// any.
        merge_asleep,
        /// `convergent` compares the step that led to a merged state with what is below it; taken out, it
        /// does not.
        merged_conflicts,
        /// `convergent` explores a sleeping process if something below would wake it; taken out, it never
        /// does.
        wake_needed,
        /// `convergent` explores those who can create or enable a process that is needed; taken out, it
        /// forgets them.
        need_enablers,
        /// `convergent+constraints` takes steps to commute if they do so in all states that can be reached;
        /// taken out, if they do so in the present one.
        uniformly,
        /// `convergent+constraints` lets a process come before the step that it waited for, if others that
        /// commute with that step may enable it; taken out, it does not.
        enabled_by_others,
        /// `convergent+constraints` needs the partners of who created what it needs; taken out, it does not.
        need_partners,
        /// `convergent+constraints` puts to sleep by what steps touch; taken out, a step that commutes with a
        /// sleeper's does not wake it.
        wake_by_footprints,
    }
}

pub(crate) fn search(walk: Walk<'_>) -> Summary {
    search_with(walk, false)
}

/// `convergent+constraints`: see [`constraints`].
pub(crate) fn search_with_constraints(walk: Walk<'_>) -> Summary {
    search_with(walk, true)
}

fn search_with(mut walk: Walk<'_>, constrained: bool) -> Summary {
    walk.ignore_rounds();
    let search = ConvergentSearch {
        walk,
        constrained,
        partners: Partners::default(),
        records: Records::default(),
        sets: Sets::default(),
        renamer: Renamer::default(),
        present: Renamed::default(),
        store: Store::default(),
        finals: HashSet::new(),
        finals_memory: 0,
        nodes: Vec::new(),
        bytes: Vec::new(),
        guesses: Guesses::default(),
        is_cyclic: false,
    };
    search.summary()
}

/// A process that sleeps, with what its step would do, all its outcomes together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sleeper {
    process: ProcessId,
    step: RecordId,
}

/// A node of the stack: a state that is being explored.
struct Node {
    state: StateId,
    /// The state's own names, if states are renamed.
    names: Option<StateNames>,
    enabled: ProcessSet,
    /// Who waits, with the location of the guard if it has one.
    waiting: Vec<(ProcessId, Option<Location>)>,
    /// `Z`: who sleeps.
    asleep: Vec<Sleeper>,
    /// `T`: the persistent set, in the order in which it is explored.
    persistent: Vec<ProcessId>,
    /// Those of `T` that have been explored, each with its step.
    explored: Vec<Sleeper>,
    /// The outcomes of the step that is being explored: how many, how many have been begun, and what these
    /// did.
    alternatives: u32,
    tried: u32,
    /// The outcome that was begun with.
    choice: u32,
    outcomes: Option<RecordId>,
    /// What the outcome did that is being explored.
    step: Option<RecordId>,
    /// `R`: the records of what lies below, as they are seen from here.
    records: RecordSet,
    /// Whether one speaks of something that it should not.
    is_odd: bool,
}

impl Node {
    fn sleeper(&self, process: ProcessId) -> Option<RecordId> {
        self.asleep.iter().find(|sleeper| sleeper.process == process).map(|sleeper| sleeper.step)
    }

    fn waits(&self, process: ProcessId) -> bool {
        self.waiting.iter().any(|(waiting, _)| *waiting == process)
    }

    /// The process that is being explored.
    fn process(&self) -> ProcessId {
        self.persistent[self.explored.len()]
    }
}

struct ConvergentSearch<'a> {
    walk: Walk<'a>,
    /// Whether constraints are asked.
    constrained: bool,
    /// Whose steps commute but for names.
    partners: Partners,
    records: Records,
    /// The sets of records that are kept.
    sets: Sets,
    renamer: Renamer,
    /// The present state.
    present: Renamed,
    store: Store,
    /// The states at the ends of executions, up to renaming.
    finals: HashSet<Box<[u8]>>,
    finals_memory: usize,
    nodes: Vec<Node>,
    bytes: Vec<u8>,
    guesses: Guesses,
    /// Whether an execution has come back to a state that it was in.
    is_cyclic: bool,
}

impl<'a> Search<'a> for ConvergentSearch<'a> {
    fn walk(&mut self) -> &mut Walk<'a> {
        &mut self.walk
    }

    fn run(&mut self) -> ControlFlow<()> {
        self.scout()?;
        let mut explored = self.explore_reduced();
        if self.is_cyclic {
            self.walk.begin_again();
            self.store = Store::default();
            self.finals.clear();
            explored = self.explore_all();
        }
        explored?;
        self.assert(self.counts_agree(), "a final state was counted twice")
    }

    fn memory(&mut self) -> usize {
        let records = self.records.memory() + self.sets.memory() + self.renamer.memory();
        let states = self.store.memory() + records + self.finals_memory;
        self.walk.counts.state_memory = states as u64;
        states + self.nodes.capacity() * size_of::<Node>()
    }
}

impl ConvergentSearch<'_> {
    /// Runs the program once, to guess what processes do. It is no part of the search.
    fn scout(&mut self) -> ControlFlow<()> {
        while !self.walk.too_deep()
            && self.walk.trace.len() < SCOUTED
            && let Some(process) = self.walk.pick(|_| true)
        {
            let block = self.block(process);
            self.walk.try_step(process, 0)?;
            let record = self.records.number(Record::of(process, block, self.walk.label()));
            self.guesses.learn(&self.walk.trace, record);
        }
        self.walk.back_to(0);
        ControlFlow::Continue(())
    }

    /// Explores what has to be explored. Breaks where the state space has a cycle.
    fn explore_reduced(&mut self) -> ControlFlow<()> {
        self.enter(Vec::new())?;
        while !self.nodes.is_empty() {
            self.walk.back_to(self.nodes.len() - 1);
            if !self.advance()? {
                self.leave()?;
            }
        }
        ControlFlow::Continue(())
    }

    /// Takes the next outcome of the process at hand, or goes on to the next process of `T`. Says whether
    /// there was any.
    fn advance(&mut self) -> ControlFlow<(), bool> {
        let level = self.nodes.len() - 1;
        let node = &mut self.nodes[level];
        if let Some(step) = node.outcomes
            && node.tried == node.alternatives
        {
            let process = node.process();
            let as_known = node.sleeper(process).is_none_or(|known| known == step);
            node.explored.push(Sleeper { process, step });
            node.outcomes = None;
            self.assert(as_known, "a sleeping process did something else than it had done")?;
        }
        let node = &mut self.nodes[level];
        if node.explored.len() == node.persistent.len() {
            return ControlFlow::Continue(false);
        }
        let process = node.process();
        if node.outcomes.is_none() {
            (node.alternatives, node.tried) = (self.walk.run.alternatives(process), 0);
            node.choice = self.walk.choice_at(0, node.alternatives);
        }
        let choice = (node.choice + node.tried) % node.alternatives;
        node.tried += 1;
        self.take(process, choice)?;
        ControlFlow::Continue(true)
    }

    /// Takes a step, and enters the node behind it.
    fn take(&mut self, process: ProcessId, choice: u32) -> ControlFlow<()> {
        let block = self.block(process);
        let commuting = self.commuting_sleepers(process);
        self.walk.step(process, choice)?;
        let step = self.records.number(Record::of(process, block, self.walk.label()));
        self.guesses.learn(&self.walk.trace, step);
        let node = self.nodes.last_mut().expect("the node that the step leaves");
        node.outcomes = Some(match node.outcomes {
            None => step,
            Some(others) => self.records.joined(others, step),
        });
        node.step = Some(step);
        let asleep = self.asleep_behind(process, step, &commuting);
        if self.walk.progress_due {
            let branches = self.nodes.iter().map(|node| (node.explored.len(), node.persistent.len()));
            self.walk.report_progress(branches)?;
        }
        self.enter(asleep)
    }

    /// `Z'`: of those that sleep or have been explored, those that the step does not wake.
    fn asleep_behind(&self, process: ProcessId, step: RecordId, commuting: &ProcessSet) -> Vec<Sleeper> {
        let node = self.nodes.last().expect("the node that the step leaves");
        let mut asleep = Vec::new();
        for &sleeper in node.explored.iter().chain(&node.asleep) {
            let known = asleep.iter().any(|other: &Sleeper| other.process == sleeper.process);
            let wakes = self.walk.options.rules.shared.wake
                && self.records.dependent(sleeper.step, step)
                && !commuting.contains(sleeper.process);
            if sleeper.process != process && !known && !wakes {
                asleep.push(sleeper);
            }
        }
        asleep.sort_unstable_by_key(|sleeper| sleeper.process);
        asleep
    }

    /// Enters the present state: merges it with one that is known, ends the execution, or begins to explore
    /// it.
    fn enter(&mut self, asleep: Vec<Sleeper>) -> ControlFlow<()> {
        let state = self.number_state()?;
        let names = self.renames().then(|| StateNames::new(&mut self.present));
        #[cfg(debug_assertions)]
        {
            let enabled = self.walk.enabled().iter();
            let enabled = enabled.filter_map(|process| own_name(names.as_ref(), process)).collect();
            let agrees = self.store.agrees(state, &enabled);
            self.assert(agrees, "equal states have other processes enabled")?;
        }
        let can_step = asleep.iter().all(|sleeper| self.walk.enabled().contains(sleeper.process));
        self.assert(can_step, "a process sleeps that can't take a step")?;
        if let Some(records) = self.known_below(state, names.as_ref(), &asleep) {
            self.walk.counts.merges += 1;
            self.walk.end(Ending::Blocked)?;
            let merged_conflicts = self.walk.options.rules.convergent.merged_conflicts;
            self.close_edge(if merged_conflicts { records.words() } else { &[] }, names.as_ref());
            return ControlFlow::Continue(());
        }
        if self.store.is_open(state) {
            self.is_cyclic = true;
            return ControlFlow::Break(());
        }
        if self.store.len().is_multiple_of(256) {
            self.note_memory()?;
        }
        if self.walk.too_deep() && !self.walk.enabled().is_empty() {
            self.walk.end(Ending::Cut)?;
            self.close_edge(&[], names.as_ref());
            return ControlFlow::Continue(());
        }
        self.open(state, names, asleep)
    }

    /// The number of the present state.
    fn number_state(&mut self) -> ControlFlow<(), StateId> {
        let told = match self.constrained {
            true => named_state(&*self.walk.run, &mut self.present.list),
            false => comparable_state(&mut *self.walk.run, &mut self.present),
        };
        if !told {
            self.walk.stop(NotExhaustive::Internal("the front end has no states with names"))?;
        }
        self.present.list.push(i64::from(self.walk.run.assumed()));
        pack(&self.present.list, &mut self.bytes);
        let state = self.store.number(&self.bytes);
        self.walk.counts.states = self.store.len() as u64;
        ControlFlow::Continue(state)
    }

    /// The records of all that is below a state, in the present names, if it was explored and nobody slept
    /// who is awake now.
    fn known_below(
        &mut self,
        state: StateId,
        names: Option<&StateNames>,
        asleep: &[Sleeper],
    ) -> Option<RecordSet> {
        let any = !self.walk.options.rules.convergent.merge_asleep;
        let asleep: ProcessSet =
            asleep.iter().filter_map(|sleeper| own_name(names, sleeper.process)).collect();
        let below = self.store.finished(state, |process| any || asleep.contains(process))?;
        let members = self.sets.members(below.records);
        Some(match (names, self.walk.run.renaming()) {
            (Some(names), Some(run)) => {
                self.renamer.read(run, (below.things, names), &mut self.records, members)
            }
            _ => {
                let mut set = RecordSet::default();
                members.for_each(|record| set.insert(record));
                set
            }
        })
    }

    /// Begins to explore a state.
    fn open(&mut self, state: StateId, names: Option<StateNames>, asleep: Vec<Sleeper>) -> ControlFlow<()> {
        let mut waiting = Vec::new();
        self.walk
            .run
            .waiting(&mut |process, guard| waiting.push((process, guard.map(|guard| guard.location))));
        let mut node = Node {
            state,
            names,
            enabled: self.walk.enabled().clone(),
            waiting,
            asleep,
            persistent: Vec::new(),
            explored: Vec::new(),
            alternatives: 0,
            tried: 0,
            choice: 0,
            outcomes: None,
            step: None,
            records: RecordSet::default(),
            is_odd: false,
        };
        match self.first(&node) {
            Some(process) => node.persistent.push(process),
            None => self.end_at(&mut node)?,
        }
        self.store.open(state);
        self.nodes.push(node);
        ControlFlow::Continue(())
    }

    /// Nobody is awake: the execution ends here. What is pending is recorded, for it may conflict with what
    /// was done above.
    fn end_at(&mut self, node: &mut Node) -> ControlFlow<()> {
        for at in 0..node.asleep.len() {
            let step = node.asleep[at].step;
            self.record(node, step, None);
        }
        if self.walk.options.rules.shared.waiting_races {
            for &(process, guard) in &node.waiting {
                if let Some(guard) = guard {
                    let block = self.block(process);
                    node.records.insert(self.records.number(Record::waiting(process, block, guard)));
                }
            }
        }
        // A livelock is told where its state is met; it is no final state.
        let is_livelock = some_go_round(&*self.walk.run) && !self.walk.run.assumed();
        let goes_round = node.enabled.is_empty() && is_livelock;
        let ending = match goes_round || node.enabled.is_empty() && self.is_new_final() {
            true => self.walk.maximal_ending(),
            false => Ending::Blocked,
        };
        self.walk.end(ending)
    }

    /// Whether nothing that is equal to this final state up to renaming was met.
    fn is_new_final(&mut self) -> bool {
        let Some(state) = self.walk.run.states().map(|states| states.state()) else { return true };
        let numbers = &mut self.present.list;
        numbers.clear();
        numbers.extend([i64::from(self.walk.run.assumed()), state.shared.len() as i64]);
        numbers.extend(state.shared.iter().chain(&state.local));
        pack(numbers, &mut self.bytes);
        let new = !self.finals.contains(self.bytes.as_slice());
        if new {
            self.finals_memory += self.bytes.len() + size_of::<Box<[u8]>>() + 8;
            self.finals.insert(self.bytes.as_slice().into());
        }
        new
    }

    /// The state of the last node has been explored.
    fn leave(&mut self) -> ControlFlow<()> {
        let node = self.nodes.pop().expect("a node to leave");
        let names = node.names.as_ref();
        let below = node.records.words();
        let records = self.sets.keep(members(below));
        let things = names.map_or(ThingsId::default(), |names| self.renamer.keep(names));
        let asleep = node.asleep.iter().map(|sleeper| own_name(names, sleeper.process));
        match asleep.collect::<Option<_>>() {
            Some(asleep) if !node.is_odd => {
                self.store.finish(node.state, asleep, Below { records, things });
            }
            _ => self.store.close(node.state),
        }
        self.close_edge(below, names.filter(|_| !node.is_odd));
        // What is known of a state may take longer to write down than many steps.
        self.walk.worked(below.len());
        if self.walk.look_is_due() { self.walk.look_between() } else { ControlFlow::Continue(()) }
    }

    /// What lies behind the last step of the last node is known: `T` grows by those whose steps there
    /// conflict with it. `names` are those of the state behind the step, if what is below speaks of nothing
    /// else.
    fn close_edge(&mut self, below: &[u64], names: Option<&StateNames>) {
        let Some(level) = self.nodes.len().checked_sub(1) else { return };
        let Some(step) = self.nodes[level].step else { return };
        let mut asked = ProcessSet::new();
        for process in self.conflicts(level, step, below) {
            self.need(level, process, below, &mut asked);
        }
        let Some(mut node) = self.nodes.pop() else { return };
        let made = names.zip(node.names.as_ref()).map(|(behind, here)| behind.beyond(here));
        if node.names.is_none() || made.as_ref().is_some_and(Vec::is_empty) {
            node.records.add_all(below);
        } else {
            members(below).for_each(|record| self.record(&mut node, record, made.as_deref()));
        }
        self.record(&mut node, step, None);
        self.nodes.push(node);
    }

    /// Adds a record to those of a node, as it is seen from there. If only some things that it may speak of are
    /// not there, these are `made`.
    fn record(&mut self, node: &mut Node, record: RecordId, made: Option<&[Thing]>) {
        let (Some(names), Some(run)) = (&node.names, self.walk.run.renaming()) else {
            return node.records.insert(record);
        };
        if made.is_some_and(|made| !self.renamer.speaks_of(run, &self.records, record, made)) {
            return node.records.insert(record);
        }
        let waits = |process| node.waiting.iter().any(|(waiting, _)| *waiting == process);
        let lives = |process| node.enabled.contains(process) || waits(process);
        let seen = self.renamer.seen(run, (names, lives), &mut self.records, record);
        node.is_odd |= seen.is_none();
        node.records.insert(seen.unwrap_or(record));
    }

    /// Whether a process waits at a node for a guard that the step writes. Then its next step can't come
    /// before the step, for whatever else writes the guard conflicts with the step too.
    fn waits_for(&self, level: usize, process: ProcessId, step: RecordId) -> bool {
        let waiting = &self.nodes[level].waiting;
        let guard = waiting.iter().find(|(waiting, _)| *waiting == process).and_then(|(_, guard)| *guard);
        guard.is_some_and(|guard| self.records.get(step).writes(guard))
    }

    /// `need(q, R)`: a step of `q` may come before those of `T`. If `q` is enabled, `T` must have it; else
    /// some process that can create or enable it.
    fn need(&mut self, level: usize, process: ProcessId, below: &[u64], asked: &mut ProcessSet) {
        let mut rest = vec![process];
        while let Some(q) = rest.pop() {
            if asked.contains(q) || self.nodes[level].persistent.contains(&q) {
                continue;
            }
            asked.insert(q);
            if !self.nodes[level].enabled.contains(q) {
                if self.walk.options.rules.convergent.need_enablers {
                    self.enablers(level, q, below, &mut rest);
                }
            } else if !self.sleeps_on(level, q, below) {
                self.nodes[level].persistent.push(q);
            }
        }
    }

    /// Whether a process sleeps at a node and nothing below, but for what `T` does, would wake it.
    fn sleeps_on(&mut self, level: usize, q: ProcessId, below: &[u64]) -> bool {
        let Some(step) = self.nodes[level].sleeper(q) else { return false };
        let wakers = self.records.dependents(below, step);
        let node = &self.nodes[level];
        !self.walk.options.rules.convergent.wake_needed
            || wakers.into_iter().all(|record| {
                let process = self.records.get(record).process;
                // Who creates a process may differ where steps commute but for names.
                let born = !self.constrained || node.enabled.contains(process) || node.waits(process);
                born && (process == q || node.persistent.contains(&process))
            })
    }

    /// The processes whose steps below create a process, or write what it waits for at a node.
    fn enablers(&self, level: usize, q: ProcessId, below: &[u64], found: &mut Vec<ProcessId>) {
        let node = &self.nodes[level];
        let need_partners = self.walk.options.rules.convergent.need_partners;
        let partners = need_partners.then_some(&self.partners);
        // What the step of the edge itself creates, its partners may have created.
        let edge = node.step.filter(|_| self.constrained);
        Enabling { records: &self.records, partners, waiting: &node.waiting, edge }.of(q, below, found);
    }

    /// The first process of `T`: one that is awake.
    fn first(&mut self, node: &Node) -> Option<ProcessId> {
        let awake = node.enabled.iter().filter(|&process| node.sleeper(process).is_none());
        let mut awake: ProcessSet = awake.collect();
        if self.walk.options.order == Order::Natural {
            let here = Here { trace: &self.walk.trace, enabled: &node.enabled, waiting: &node.waiting };
            awake = self.guesses.best(&awake, here, &mut self.records);
        }
        self.walk.pick(|process| awake.contains(process))
    }

    /// In debug builds, ends the search if an invariant does not hold: builds that are broken on purpose get
    /// here.
    fn assert(&mut self, holds: bool, what: &'static str) -> ControlFlow<()> {
        if cfg!(debug_assertions) && !holds {
            return self.walk.stop(NotExhaustive::Internal(what));
        }
        ControlFlow::Continue(())
    }

    fn counts_agree(&self) -> bool {
        self.walk.counts.complete + self.walk.counts.assumed == self.finals.len() as u64
    }
}

/// Who waits at a node, with the location of the guard if it has one; and the edge whose conflicts are looked at.
pub(crate) struct Enabling<'a> {
    pub records: &'a Records,
    pub partners: Option<&'a Partners>,
    pub waiting: &'a [(ProcessId, Option<Location>)],
    pub edge: Option<RecordId>,
}

impl Enabling<'_> {
    /// The processes whose steps below create a process, or write what it waits for.
    pub fn of(&self, q: ProcessId, below: &[u64], found: &mut Vec<ProcessId>) {
        let waiting = self.waiting.iter().find(|(process, _)| *process == q);
        let mut awaited: Vec<Location> = waiting.and_then(|(_, guard)| *guard).into_iter().collect();
        let of_q = members(below).map(|record| self.records.get(record));
        let of_q = of_q.filter(|record| record.process == q && !record.of_descendant);
        of_q.for_each(|record| awaited.extend_from_slice(&record.waited_for));
        // A process that waits for we don't know what may be enabled by anybody.
        let anybody = waiting.is_some() && awaited.is_empty();
        for record in members(below).chain(self.edge).map(|record| self.records.get(record)) {
            let enables = anybody
                || record.spawned.contains(&q)
                || awaited.iter().any(|&location| record.writes(location));
            if record.process != q && enables {
                found.push(record.process);
                found.extend_from_slice(self.partners.map_or(&[], |partners| partners.of(record.process)));
            }
        }
    }
}

/// A process as the store knows it: by its number in a state, or by its name.
fn own_name(names: Option<&StateNames>, process: ProcessId) -> Option<ProcessId> {
    names.map_or(Some(process), |names| names.number(process))
}
