//! The run of a program: the scheduler's side of the runtime.
//!
//! To go back is to begin again: the program is started anew and the steps of the script are taken once more,
//! each checked against what it was before. That is put off until the next step, and what is asked of the
//! present state in the meantime is answered from notes. Several runs may share one runtime, as they share
//! the object in memory: the one that is asked to take a step makes the runtime its own, and the others begin
//! again when it is their turn.
#![allow(unsafe_code)]

use std::cell::UnsafeCell;
use std::ffi::CStr;
use std::rc::Rc;

use mazurka_program::{
    AccessKind, Failure, FailureKind, Footprints, Guard, GuardId, Label, Names, PortableNames, ProcessId,
    ProcessSet, Program, Receives, Rounds, Run, Stop,
};
use mazurka_threads::replay::Prefixes;

use super::runtime::{Execution, MAIN, Runtime};
use super::script::TakenStep;
use super::thread::{Pending, Status};
use crate::runtime::Native;
use crate::runtime::system::{limits, signals};

/// So many steps of an execution are looked at when something has been found out, to find out more at once.
const LOOK_AHEAD: u32 = 20_000;

/// A program that has been started.
pub struct NativeRun {
    runtime: Rc<UnsafeCell<Runtime>>,
    id: u64,
    static_footprints: bool,
    /// The steps taken.
    script: Vec<TakenStep>,
    /// Whether the runtime is not where the script ends.
    behind: bool,
    /// Whether steps are told to people.
    explained: bool,
    /// Who is enabled after each prefix of the script, and with how many outcomes.
    prefixes: Prefixes,
}

#[allow(clippy::mut_from_ref)]
#[inline]
pub(crate) fn open(runtime: &Rc<UnsafeCell<Runtime>>) -> &mut Runtime {
    // SAFETY: nobody else has a reference to the runtime: it is used within calls of this crate only, and no
    // two of them are nested, but for calls of the program, which use it as the rules of `runtime` say. No
    // reference outlives the call that asks for it, but for what runs give to their callers, which these do
    // not keep across steps.
    unsafe { &mut *runtime.get() }
}

impl Program for Native {
    type Run = NativeRun;

    fn start(&self, footprints: Footprints) -> NativeRun {
        signals::install();
        let runtime = open(&self.runtime);
        runtime.search.runs += 1;
        // What is looked at in some executions only is so by their number within a run: then it does not
        // depend on which parts of the search were explored before, and where.
        (runtime.search.completed, runtime.search.looked) = (0, (0, 0));
        let mut run = NativeRun {
            runtime: self.runtime.clone(),
            id: runtime.search.runs,
            static_footprints: footprints == Footprints::Static,
            script: Vec::new(),
            behind: true,
            explained: false,
            prefixes: Prefixes::default(),
        };
        if run.catch_up().is_err() {
            // So that a step is asked for, which says what is wrong.
            run.behind = false;
            run.runtime().execution.schedule.enabled.insert(MAIN);
        }
        run.note_state();
        run
    }

    fn begin_again(&self) -> bool {
        let search = &mut open(&self.runtime).search;
        // Labels will be others.
        search.snapshots.clear();
        let news = std::mem::take(&mut search.partition.news);
        match news {
            true => search.stops.clear(),
            false => limits::lift(),
        }
        news
    }
}

impl NativeRun {
    #[allow(clippy::mut_from_ref)]
    #[inline]
    pub(crate) fn runtime(&self) -> &mut Runtime {
        open(&self.runtime)
    }

    /// The runtime, brought to where the script ends if another run has used it since.
    #[allow(clippy::mut_from_ref)]
    pub(crate) fn mine(&self) -> &mut Runtime {
        let runtime = self.runtime();
        if self.own() {
            runtime.enter();
            runtime.step.explanation = None;
            // What stops it then is told by the next step, which is taken from the start.
            if runtime.take_script_again(&self.script) && runtime.execution.schedule.enabled.is_empty() {
                runtime.conclude();
            }
            runtime.search.stops.remember(&self.script, None);
        }
        runtime
    }

    /// The steps taken.
    pub(crate) fn steps(&self) -> &[TakenStep] {
        &self.script
    }

    /// Makes the runtime this run's. Says whether it was another's.
    fn own(&self) -> bool {
        let search = &mut self.runtime().search;
        let was_anothers = search.owner != self.id;
        if was_anothers {
            (search.owner, search.static_footprints) = (self.id, self.static_footprints);
            search.fatal = None;
            search.snapshots.clear();
        }
        was_anothers
    }

    /// From now on steps are told, and so are those before, for what they wrote.
    pub(crate) fn explain_from_now_on(&mut self) {
        if !std::mem::replace(&mut self.explained, true) {
            self.behind = true;
        }
    }

    /// What the program has printed in this execution.
    pub fn output(&self) -> &[u8] {
        &self.mine().execution.output
    }

    /// The words that a global variable of the program holds now, so many of them; none if there is none of
    /// that name.
    pub fn words_of(&self, variable: &CStr, count: usize) -> Option<Vec<i64>> {
        let address = self.mine().execution.image.symbol(variable)?;
        let words = crate::runtime::memory::layout::bytes(address, address + 8 * count);
        Some(words.as_chunks().0.iter().map(|word| i64::from_le_bytes(*word)).collect())
    }

    /// Brings the runtime to where the script ends, and makes it this run's.
    #[inline]
    pub(crate) fn catch_up(&mut self) -> Result<(), Stop> {
        let search = &self.runtime().search;
        if search.owner != self.id || self.behind {
            return self.rerun();
        }
        match &search.fatal {
            None => Ok(()),
            Some(stop) => Err(stop.clone()),
        }
    }

    fn rerun(&mut self) -> Result<(), Stop> {
        self.behind = false;
        self.own();
        let runtime = open(&self.runtime);
        runtime.enter();
        if let Some(stop) = &runtime.search.fatal {
            return Err(stop.clone());
        }
        runtime.step.explanation = self.explained.then(Default::default);
        runtime.replay.script = std::mem::take(&mut self.script);
        let result = runtime.replay_script();
        self.script = std::mem::take(&mut runtime.replay.script);
        runtime.search.stops.remember(&self.script, None);
        result
    }

    /// Notes who is enabled now, for when it is asked later.
    #[inline]
    fn note_state(&mut self) {
        let schedule = &open(&self.runtime).execution.schedule;
        self.prefixes.note(self.script.len(), &schedule.enabled);
        if schedule.is_branching() {
            self.note_outcomes();
        }
    }

    #[cold]
    fn note_outcomes(&mut self) {
        let runtime = open(&self.runtime);
        for process in runtime.execution.schedule.enabled.iter() {
            let Pending::Operation { operation, .. } = runtime.thread(process).state.pending else {
                continue;
            };
            // SAFETY: the thread is parked at the operation.
            let outcomes = unsafe { (*operation).outcomes(runtime, process) };
            self.prefixes.note_outcomes(self.script.len(), process, outcomes);
        }
    }

    /// Takes a step. The label is left in the runtime.
    // Inlined, as `Runtime::resume` is.
    #[inline(always)]
    pub(crate) fn take(&mut self, process: ProcessId, choice: u32) -> Result<(), Stop> {
        self.catch_up()?;
        let runtime = self.runtime();
        runtime.search.stops.expect_after(&self.script, process, choice);
        let taken = runtime.take(process, choice);
        runtime.search.stops.remember(&self.script, Some((process, choice)));
        runtime.check_stop()?;
        self.script.push(taken);
        self.note_state();
        if self.finds_loops() {
            self.runtime().look_at_loops();
            self.runtime().check_stop()?;
        }
        if limits::reached().is_some() {
            self.end_at_limit()?;
        }
        if self.enabled().is_empty() {
            if !self.explained && self.runtime().is_due() && self.runtime().can_be_checked() {
                self.check_itself()?;
            }
            self.runtime().conclude();
        }
        Ok(())
    }

    /// The search may not take more. What went wrong in this execution so far did go wrong, and is told: it
    /// ends here.
    #[cold]
    fn end_at_limit(&mut self) -> Result<(), Stop> {
        let Runtime { search, execution, .. } = open(&self.runtime);
        let Some(limit) = limits::reached() else { return Ok(()) };
        if execution.findings.failures.is_empty() {
            return Err(search.fatal.get_or_insert(limit.stop()).clone());
        }
        execution.over = true;
        execution.schedule.enabled.clear();
        self.prefixes.note(self.script.len(), &execution.schedule.enabled);
        Ok(())
    }

    /// Looks whether the labels of the execution tell everything, and comes back to its end.
    #[cold]
    fn check_itself(&mut self) -> Result<(), Stop> {
        let runtime = open(&self.runtime);
        let label = std::mem::take(&mut runtime.step.label);
        let checked = runtime.check_itself(&self.script);
        runtime.search.stops.forget_new();
        // Who is stopped at a limit does not repeat itself.
        let checked = limits::reached().map_or(checked, |limit| Err(limit.stop()));
        if let Err(stop) = checked
            && (runtime.can_be_checked() || limits::reached().is_some())
        {
            return Err(runtime.search.fatal.get_or_insert(stop).clone());
        }
        self.rerun()?;
        open(&self.runtime).step.label = label;
        Ok(())
    }
}

impl Run for NativeRun {
    fn names(&self) -> &Names {
        &self.runtime().search.names
    }

    fn depth(&self) -> usize {
        self.script.len()
    }

    #[inline]
    fn enabled(&self) -> &ProcessSet {
        self.prefixes.enabled(self.script.len())
    }

    #[inline]
    fn alternatives(&self, process: ProcessId) -> u32 {
        self.prefixes.outcomes(self.script.len(), process)
    }

    fn waiting(&self, with: &mut dyn FnMut(ProcessId, Option<Guard>)) {
        let runtime = self.mine();
        for at in 0..runtime.execution.schedule.created.len() {
            let process = runtime.execution.schedule.created[at];
            let state = &runtime.thread(process).state;
            if state.status != Status::Parked || runtime.execution.schedule.enabled.contains(process) {
                continue;
            }
            let Pending::Operation { wait, .. } = state.pending else { continue };
            with(process, runtime.guard(wait));
        }
    }

    #[inline]
    fn step(&mut self, process: ProcessId, choice: u32, label: &mut Label) -> Result<(), Stop> {
        label.clear();
        self.take(process, choice)?;
        let taken = &self.runtime().step.label;
        // Nearly every step touches one thing, and has nothing else to tell: to exchange the lists would take
        // longer.
        label.accesses.extend_from_slice(&taken.accesses);
        if self.runtime().search.has_clock {
            // Clocks tell the order of writes that nobody reads.
            let writes = label.accesses.iter_mut().filter(|access| access.kind == AccessKind::Write);
            writes.for_each(|access| access.kind = AccessKind::Update);
        }
        (label.guard, label.varies) = (taken.guard, taken.varies);
        label.returns = self.has_returned(process);
        if !(taken.waited_for.is_empty() && taken.spawned.is_empty()) {
            label.waited_for.extend_from_slice(&taken.waited_for);
            label.spawned.extend_from_slice(&taken.spawned);
        }
        Ok(())
    }

    fn rewind(&mut self, depth: usize) {
        if depth < self.script.len() {
            self.script.truncate(depth);
            self.behind = true;
            let search = &mut open(&self.runtime).search;
            if search.owner == self.id {
                search.snapshots.forget_behind(depth);
            }
            self.prefixes.rewind(depth);
        }
    }

    fn guard_holds_at(&self, guard: GuardId, depth: usize) -> bool {
        self.mine().guard_holds_at(guard, depth as u32)
    }

    fn portable_names(&mut self) -> Option<&mut dyn PortableNames> {
        Some(self)
    }

    fn receives(&self) -> Option<&dyn Receives> {
        Some(self)
    }

    fn rounds(&self) -> Option<&dyn Rounds> {
        Some(self)
    }

    fn failures(&self) -> &[Failure] {
        &self.mine().execution.findings.failures
    }

    fn assumed(&self) -> bool {
        self.mine().execution.findings.assumed
    }

    fn ended_early(&self) -> bool {
        self.mine().execution.over
    }

    fn keeps_time(&self) -> bool {
        self.mine().search.has_clock
    }
}

impl Receives for NativeRun {
    fn would_take(&self, _receive: usize, _send: usize) -> bool {
        // There are no messages.
        true
    }
}

impl Runtime {
    /// Takes steps from the start, or from a snapshot on the way. Says whether they could be taken.
    pub(crate) fn take_script_again(&mut self, script: &[TakenStep]) -> bool {
        self.replay.script.clear();
        self.replay.script.extend_from_slice(script);
        let taken = self.replay_script().is_ok();
        self.replay.script.clear();
        taken
    }

    /// Begins an execution and takes the steps of the script. A thread takes its own, in a row, without being
    /// asked.
    fn replay_script(&mut self) -> Result<(), Stop> {
        if self.step.explanation.is_some() {
            return self.replay_explained();
        }
        let end = self.replay.script.len() as u32;
        self.search.stops.expect_along(&self.replay.script);
        self.begin_where_saved();
        while self.take_again_up_to(self.next_stop(end)) {
            self.save_if_worth();
            if self.execution.schedule.depth == end {
                break;
            }
        }
        self.step.label.clear();
        self.look_around();
        self.check_stop()
    }

    /// Takes the steps of the script up to a depth. Says whether nothing is wrong.
    fn take_again_up_to(&mut self, depth: u32) -> bool {
        self.replay.until = depth;
        self.start_again_created();
        while self.execution.schedule.depth < self.replay.until {
            self.take_again();
            let search = &self.search;
            if search.partition.news || search.fatal.is_some() || limits::reached().is_some() {
                break;
            }
        }
        self.replay.until = 0;
        if let Some(limit) = limits::reached() {
            self.fail(limit.stop());
        }
        !self.search.partition.news && self.search.fatal.is_none()
    }

    /// The same step by step, for people.
    #[cold]
    fn replay_explained(&mut self) -> Result<(), Stop> {
        self.search.stops.expect_along(&self.replay.script);
        self.start_again()?;
        for at in 0..self.replay.script.len() {
            let before = self.replay.script[at];
            let enabled = self.execution.schedule.enabled.contains(before.process);
            if !enabled || self.take(before.process, before.choice) != before {
                self.not_repeated(at, before.process);
            }
            self.check_stop()?;
        }
        Ok(())
    }

    /// Begins an execution, and lets the first thread run to its first operation.
    pub(crate) fn start_again(&mut self) -> Result<(), Stop> {
        self.replay.until = 0;
        self.begin_execution();
        self.start_created();
        self.check_stop()
    }

    /// Whether the present execution should come to the same in any order that respects its labels. Not if
    /// somebody was stopped in a loop, wherever that was, nor if memory was gone: when a frame is left, or a
    /// thread ends, is in no label.
    fn can_be_checked(&self) -> bool {
        !self.search.stops.any_here()
            && limits::reached().is_none()
            && self.execution.findings.failures.iter().all(|failure| failure.kind != FailureKind::Memory)
    }

    /// Nobody can take a step.
    #[inline]
    fn conclude(&mut self) {
        let Execution { over, findings, heap, .. } = &self.execution;
        let has_blocks = heap.blocks.live > 0;
        if self.search.watched.any && !findings.assumed {
            match over {
                false => self.report_livelock(),
                true if findings.failures.is_empty() && self.search.left_spinning.is_none() => {
                    self.note_left_spinning();
                }
                true => {}
            }
        }
        if has_blocks {
            self.look_for_leaks();
        }
    }

    /// Whether the execution can't go on, or the search has to begin again.
    #[inline]
    pub(crate) fn check_stop(&mut self) -> Result<(), Stop> {
        if self.search.partition.news && self.search.fatal.is_none() {
            self.look_ahead();
        }
        match &self.search.fatal {
            None => Ok(()),
            Some(stop) => Err(stop.clone()),
        }
    }

    /// Something was found out that changes labels. The execution is run to its end, as it comes, to find out
    /// more: the search begins again anyhow.
    #[cold]
    fn look_ahead(&mut self) {
        (self.replay.until, self.search.stops.ahead) = (0, true);
        let mut last = self.running();
        for _ in 0..LOOK_AHEAD {
            let enabled = &self.execution.schedule.enabled;
            let after = enabled.iter().find(|&process| process > last);
            let Some(next) = after.or_else(|| enabled.iter().next()) else { break };
            last = next;
            self.take(last, 0);
            if self.search.fatal.is_some() || limits::reached().is_some() {
                break;
            }
        }
        self.search.stops.ahead = false;
        self.search.fatal = Some(Stop::BeginAgain);
    }
}
