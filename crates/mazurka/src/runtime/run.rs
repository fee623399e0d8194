//! The run of a Rust closure: the scheduler's side of the runtime.
//!
//! To go back is to begin again: the closure is started anew and the steps of the script are taken once more,
//! each checked against what it was before. That is put off until the next step, and what is asked of the
//! present state in the meantime is answered from notes.

use std::mem::take;
use std::sync::Arc;
use std::time::Duration;

use mazurka_explore::NotExhaustive;
use mazurka_program::{
    Failure, Footprints, Guard, GuardId, Label, Names, PortableNames, ProcessId, ProcessSet, Program, Rounds,
    Run, Stop,
};
use mazurka_threads::replay::Prefixes;
use std::panic::Location as Caller;

use super::Runtime;
use super::discoveries::Discoveries;
use super::heap::Watch;
use super::learned::Learned;
use super::process::{Resume, Status};
use super::recycled::Recycled;
use super::script::TakenStep;
use crate::checker::Settings;
use crate::checker::heartbeat::Heartbeat;

/// The process that runs the closure.
pub(crate) const MAIN: ProcessId = ProcessId(0);

/// A closure to be checked.
pub struct Closure {
    body: Arc<dyn Fn() + Send + Sync>,
    settings: Settings,
    discoveries: Arc<Discoveries>,
}

impl Closure {
    pub(crate) fn new(body: Arc<dyn Fn() + Send + Sync>, settings: Settings) -> Closure {
        Closure { body, settings, discoveries: Arc::default() }
    }

    /// The same, with what is known of it, under other settings.
    pub(crate) fn again(&self, settings: Settings) -> Closure {
        Closure { body: self.body.clone(), settings, discoveries: self.discoveries.clone() }
    }

    /// The same, as if nothing had been found out about it.
    pub(crate) fn unknown(&self) -> Closure {
        Closure::new(self.body.clone(), self.settings.clone())
    }

    /// Why a search of it that came to its end has not shown everything.
    pub(crate) fn doubt(&self) -> Option<&'static str> {
        self.discoveries.doubt()
    }

    /// Whether what was done with it has to be done again, on another thread of the operating system.
    pub(crate) fn begin_elsewhere(&self) -> bool {
        self.discoveries.begin_elsewhere()
    }

    /// Whether a search of it is not to be shared.
    pub(crate) fn is_alone(&self) -> bool {
        self.discoveries.is_alone()
    }
}

impl Program for Closure {
    type Run = ClosureRun;

    fn start(&self, footprints: Footprints) -> ClosureRun {
        let mut recycled = Recycled::get();
        // Where leaks are looked for, all memory of the runtime must be known: it is no root.
        let watch = self.settings.leaks.then(|| {
            *recycled = Recycled::default();
            Watch::begin()
        });
        let mut runtime =
            Box::new(Runtime::new(self.settings.stack_size, &self.settings.heartbeat, &mut recycled));
        runtime.search.foresee = footprints == Footprints::Static;
        runtime.search.spurious = self.settings.spurious;
        watch.into_iter().for_each(|watch| runtime.execution.living.watch(watch));
        if runtime.search.spurious.failures {
            crate::sync::atomic::let_exchanges_fail();
        }
        runtime.follow(&self.discoveries);
        let mut run = ClosureRun {
            runtime,
            body: self.body.clone(),
            heartbeat: self.settings.heartbeat.clone(),
            max_time: self.settings.max_time,
            holds: Vec::new(),
            behind: false,
            prefixes: take(&mut recycled.prefixes),
            found: Vec::new(),
            refuted: Vec::new(),
        };
        if run.begin(0).is_err() {
            // So that a step is asked for, which says what is wrong.
            run.runtime.execution.schedule.enabled.insert(MAIN);
        }
        run.note_state();
        run
    }

    fn begin_again(&self) -> bool {
        self.discoveries.is_part_with_news() || self.discoveries.begin_again()
    }

    fn part(&self) -> Option<Closure> {
        let (discoveries, heartbeat) = (Arc::new(self.discoveries.part()), self.settings.heartbeat.part());
        let settings = Settings { heartbeat, ..self.settings.clone() };
        Some(Closure { body: self.body.clone(), settings, discoveries })
    }

    fn take_up(&self, part: Closure) {
        self.discoveries.take_up(&part.discoveries);
        self.settings.heartbeat.take_up(&part.settings.heartbeat);
    }

    fn learned(&self) -> Vec<u8> {
        Learned { met: self.settings.heartbeat.met(), unseen: self.doubt().is_some() }.encoded()
    }

    fn know(&self, learned: &[u8]) -> bool {
        let Some(Learned { met, unseen }) = Learned::decoded(learned) else { return false };
        self.settings.heartbeat.know(met);
        if unseen {
            self.discoveries.know_unseen();
        }
        true
    }

    fn can_start_here(&self) -> bool {
        super::is_thread_fit()
    }
}

/// A closure that has been started.
pub struct ClosureRun {
    pub(crate) runtime: Box<Runtime>,
    body: Arc<dyn Fn() + Send + Sync>,
    heartbeat: Arc<Heartbeat>,
    max_time: Option<Duration>,
    /// `(turn, process)`: in that turn (0 for the start, then the steps from 1 on) the process goes on to a
    /// panic that unwinds over operations, so it is held back and the unwinding is a step of its own.
    holds: Vec<(u32, ProcessId)>,
    /// Whether the runtime is not where the script ends.
    behind: bool,
    /// What the search asks about prefixes of the script.
    prefixes: Prefixes,
    /// After each prefix: how many failures there were, and whether an assumption was false. A search looks
    /// beyond the end of an execution and comes back, and what it found there is no part of the execution.
    found: Vec<(usize, bool)>,
    /// `(turn, index, failure)`: claims that were found wrong before a step of the script, where each is among the
    /// failures. They are not tried again when the step is taken again.
    refuted: Vec<(u32, usize, Failure)>,
}

impl Run for ClosureRun {
    fn names(&self) -> &Names {
        &self.runtime.search.names
    }

    fn depth(&self) -> usize {
        self.runtime.search.script.len()
    }

    #[inline]
    fn enabled(&self) -> &ProcessSet {
        self.prefixes.enabled(self.runtime.search.script.len())
    }

    fn alternatives(&self, process: ProcessId) -> u32 {
        self.prefixes.outcomes(self.runtime.search.script.len(), process)
    }

    fn waiting(&self, with: &mut dyn FnMut(ProcessId, Option<Guard>)) {
        for &process in &self.runtime.execution.schedule.created {
            let state = self.runtime.process(process);
            if state.status != Status::Parked || self.runtime.execution.schedule.enabled.contains(process) {
                continue;
            }
            let Some(pending) = state.pending else { continue };
            with(process, pending.guard);
        }
    }

    #[inline(always)]
    fn step(&mut self, process: ProcessId, choice: u32, label: &mut Label) -> Result<(), Stop> {
        label.clear();
        let refuted = match self.runtime.search.claims.is_empty() {
            true => Vec::new(),
            false => self.refuted_by(process).map_err(|_| self.stopped())?,
        };
        self.advance(process, choice).map_err(|_| self.stopped())?;
        std::mem::swap(label, &mut self.runtime.step.label);
        label.returns = self.runtime.returns(process);
        refuted.into_iter().for_each(|failure| self.note_refuted(failure));
        Ok(())
    }

    fn pending(&mut self, process: ProcessId, choice: u32, label: &mut Label) -> Result<(), Stop> {
        label.clear();
        let depth = self.depth();
        // Nothing is tried before a step that is not there to stay.
        self.advance(process, choice).map_err(|_| self.stopped())?;
        std::mem::swap(label, &mut self.runtime.step.label);
        label.returns = self.runtime.returns(process);
        self.rewind(depth);
        Ok(())
    }

    fn rewind(&mut self, depth: usize) {
        if depth < self.runtime.search.script.len() {
            self.runtime.search.script.truncate(depth);
            self.behind = true;
            while self.holds.last().is_some_and(|hold| hold.0 as usize > depth) {
                self.holds.pop();
            }
            self.prefixes.rewind(depth);
            while self.refuted.last().is_some_and(|refuted| refuted.0 as usize > depth) {
                self.refuted.pop();
            }
            let (failures, assumed) = self.found[depth];
            let findings = &mut self.runtime.execution.findings;
            findings.failures.truncate(failures);
            findings.assumed = assumed;
        }
    }

    fn guard_holds_at(&self, guard: GuardId, depth: usize) -> bool {
        let Runtime { search, execution, .. } = &*self.runtime;
        search.guards.holds(guard, |location| execution.values.at_depth(location, depth as u32))
    }

    fn rounds(&self) -> Option<&dyn Rounds> {
        Some(self)
    }

    fn portable_names(&mut self) -> Option<&mut dyn PortableNames> {
        Some(self)
    }

    fn failures(&self) -> &[Failure] {
        &self.runtime.execution.findings.failures
    }

    fn assumed(&self) -> bool {
        self.runtime.execution.findings.assumed
    }

    fn keeps_time(&self) -> bool {
        self.runtime.keeps_clocks()
    }
}

impl ClosureRun {
    /// Starts the closure; so many steps of the script are to be taken without asking.
    fn begin(&mut self, scripted: u32) -> Result<(), Halt> {
        let told = self.runtime.step.story.is_some();
        self.runtime.end_execution();
        self.runtime.step.story = told.then(Default::default);
        self.trouble()?;
        let body = self.body.clone();
        let held = self.holds.len();
        self.runtime.begin_execution(Box::new(move || crate::thread::run_main(&*body)));
        self.runtime.search.scripted = scripted;
        self.runtime.step.label.clear();
        match self.start_processes(0) {
            // The initial segment unwinds over operations: it is held back, so begin once more.
            Err(Halt::Again) if self.holds.len() > held => self.begin(0)?,
            result => result?,
        }
        self.settle();
        Ok(())
    }

    /// Takes the steps of the script again. A process takes its own, in a row, without being asked in
    /// between.
    fn rerun(&mut self) -> Result<(), Halt> {
        let told = self.holds.is_empty() && self.runtime.step.story.is_none();
        self.begin(if told { self.runtime.search.script.len() as u32 } else { 0 })?;
        while (self.runtime.execution.schedule.depth as usize) < self.runtime.search.script.len() {
            if self.heartbeat.is_time_up() {
                self.time_is_up();
            }
            if self.repeat()? {
                continue;
            }
            self.settle();
            let position = self.runtime.execution.schedule.depth as usize;
            let before = self.runtime.search.script[position];
            if !self.runtime.execution.schedule.enabled.contains(before.process) {
                return Err(self.not_repeated(position, (before.place, None)));
            }
            self.take(before.process, before.choice)?;
        }
        self.settle();
        self.runtime.search.scripted = 0;
        if !self.refuted.is_empty() {
            self.note_refuted_again();
        }
        self.check_enabled()
    }

    /// Takes a step that the script does not have. Its label is left in the runtime.
    #[inline(always)]
    pub(super) fn advance(&mut self, process: ProcessId, choice: u32) -> Result<(), Halt> {
        self.heartbeat.step(self.runtime.search.script.len(), process, choice);
        if self.heartbeat.is_time_up() {
            self.time_is_up();
        }
        self.catch_up()?;
        self.take(process, choice)?;
        self.note_state();
        Ok(())
    }

    /// A claim was found wrong before the step that was taken last.
    #[cold]
    fn note_refuted(&mut self, failure: Failure) {
        let failures = &mut self.runtime.execution.findings.failures;
        if failures.contains(&failure) {
            return;
        }
        let (turn, index) = (self.runtime.search.script.len() as u32, failures.len());
        failures.push(failure.clone());
        self.refuted.push((turn, index, failure));
        self.found.last_mut().into_iter().for_each(|found| found.0 = index + 1);
    }

    /// The script has been taken again: what was found wrong on the way is among the failures again.
    #[cold]
    fn note_refuted_again(&mut self) {
        let failures = &mut self.runtime.execution.findings.failures;
        for (_, index, failure) in &self.refuted {
            let later: Vec<Failure> = failures.iter().skip(*index).cloned().collect();
            failures.truncate(*index);
            [vec![failure.clone()], later].concat().into_iter().for_each(|failure| failures.push(failure));
        }
    }

    /// Takes the next step of the script the short way, and those that follow it in a row; false if that
    /// can't be.
    #[inline]
    fn repeat(&mut self) -> Result<bool, Halt> {
        self.trouble()?;
        let runtime = &mut *self.runtime;
        if runtime.search.scripted == 0 {
            return Ok(false);
        }
        let turn = runtime.execution.schedule.depth;
        let process = runtime.search.script[turn as usize].process;
        if !runtime.follow_parked(process) {
            return self.trouble().map(|()| false);
        }
        self.go_on(process, turn + 1)?;
        self.start_processes(turn + 1)?;
        Ok(true)
    }

    /// A search has had its time. What is told of an execution is told to its end, and one in which something
    /// went wrong is not cut here: the search will hear of it.
    #[cold]
    fn time_is_up(&mut self) {
        if self.runtime.step.story.is_some()
            || !self.behind && !self.runtime.execution.findings.failures.is_empty()
        {
            return;
        }
        if let Some(most) = self.max_time {
            self.runtime.fail(Stop::Bound(NotExhaustive::Time(most).to_string()));
        }
    }

    /// Executions that are not finished are unwound, and never run to their end before.
    pub(crate) fn never_runs_out(&mut self) {
        self.runtime.search.runs_out = false;
    }

    /// Brings the runtime to where the script ends.
    #[inline]
    pub(super) fn catch_up(&mut self) -> Result<(), Halt> {
        self.trouble()?;
        if self.behind {
            self.behind = false;
            self.rerun()?;
        }
        Ok(())
    }

    /// As [`ClosureRun::catch_up`], for who is not in a step.
    pub(super) fn catch_up_if_behind(&mut self) -> Result<(), Stop> {
        self.catch_up().map_err(|_| self.stopped())
    }

    /// Why the execution can't go on.
    #[cold]
    fn stopped(&self) -> Stop {
        let unknown = || Stop::Bound("the closure does not repeat its panic".to_owned());
        self.runtime.search.fatal.clone().unwrap_or_else(unknown)
    }

    /// Takes a step in the runtime: one that is new, or the next one of the script. The label is left there.
    ///
    /// A function of its own, which is not called by others that only pass on what it gives: see
    /// [`Runtime::resume_here`].
    #[inline(never)]
    fn take(&mut self, process: ProcessId, choice: u32) -> Result<(), Halt> {
        let (place, digest) = self.perform(process, choice);
        let turn = self.runtime.execution.schedule.depth;
        let result = match self.runtime.process(process).status {
            Status::Parked => self.go_on(process, turn),
            _ => self.unwind(process),
        };
        match result.and_then(|()| self.start_processes(turn)) {
            Ok(()) => {}
            Err(Halt::Fatal) => return Err(Halt::Fatal),
            Err(Halt::Again) => return self.again(process, choice, turn),
        }
        self.settle();
        // In a row of scripted steps the later ones have been looked at.
        let next = match self.runtime.execution.schedule.depth == turn {
            true => self.runtime.process(process).pending.as_ref().map(|pending| pending.place),
            false => self.runtime.search.script[turn as usize - 1].next,
        };
        let first = self.runtime.first_of_child();
        let within = take(&mut self.runtime.step.within);
        let taken = TakenStep { process, choice, place, next, first, digest, within };
        match self.runtime.search.script.get(turn as usize - 1) {
            None => self.runtime.search.script.push(taken),
            Some(before) => {
                if let Some((position, places)) = before.difference(&taken, turn as usize - 1) {
                    return Err(self.not_repeated(position, places));
                }
            }
        }
        Ok(())
    }

    /// Does the operation that a process is at. Gives its place and what tells its label from others.
    #[inline(always)]
    fn perform(&mut self, process: ProcessId, choice: u32) -> (Option<&'static Caller<'static>>, u64) {
        let runtime = &mut *self.runtime;
        runtime.execution.schedule.enabled.remove(process);
        runtime.execution.schedule.running = process;
        match runtime.process_mut(process).pending.take() {
            Some(pending) => {
                runtime.leave(process, pending);
                runtime.execution.living.last_step = Some(pending.place);
                // SAFETY: the process is parked at it, and nobody else refers to it.
                #[allow(unsafe_code)]
                let operation = unsafe { pending.operation_mut() };
                let digest = runtime.perform(operation, choice, pending.place, pending.arrival());
                (Some(pending.place), digest)
            }
            None => (None, runtime.begin_unwinding()),
        }
    }

    /// Lets a process run on to its next operation, unless it is known to go on to a panic that unwinds over
    /// operations.
    #[inline(always)]
    fn go_on(&mut self, process: ProcessId, turn: u32) -> Result<(), Halt> {
        if !self.holds.is_empty() && self.holds.contains(&(turn, process)) {
            self.runtime.process_mut(process).status = Status::Held;
            self.runtime.execution.schedule.enabled.insert(process);
            return Ok(());
        }
        self.runtime.step.unwound = 0;
        self.runtime.resume_here(process, Resume::Go);
        self.trouble()?;
        if self.runtime.step.unwound > 0 {
            self.holds.push((turn, process));
            return Err(Halt::Again);
        }
        Ok(())
    }

    /// Takes the step in which a process unwinds.
    fn unwind(&mut self, process: ProcessId) -> Result<(), Halt> {
        self.runtime.resume(process, Resume::Go);
        self.runtime.step.label.varies = true;
        self.trouble()
    }

    #[inline(always)]
    fn trouble(&self) -> Result<(), Halt> {
        if self.runtime.search.fatal.is_some() { Err(Halt::Fatal) } else { Ok(()) }
    }

    /// Finds out who can take a step now.
    #[inline(always)]
    fn settle(&mut self) {
        if self.runtime.execution.schedule.changed {
            self.runtime.refresh();
        }
        if self.runtime.execution.schedule.enabled.is_empty() {
            self.runtime.conclude();
        }
    }

    /// Starts the processes that were created in this turn, and those that these create.
    #[inline(always)]
    fn start_processes(&mut self, turn: u32) -> Result<(), Halt> {
        if self.runtime.execution.schedule.starting.is_empty() { Ok(()) } else { self.start_each(turn) }
    }

    fn start_each(&mut self, turn: u32) -> Result<(), Halt> {
        while let Some(process) = self.runtime.execution.schedule.starting.pop() {
            if let Err(error) = self.runtime.embark(process) {
                let message = format!(
                    "no memory for the stack of thread {}: {error}",
                    self.runtime.execution.schedule.created.len()
                );
                self.runtime.fail(Stop::Bound(message));
                return Err(Halt::Fatal);
            }
            self.go_on(process, turn)?;
        }
        Ok(())
    }

    /// Takes the step once more, from the beginning of the execution, with what is known now. It is the one
    /// after which so many steps will have been taken.
    #[cold]
    fn again(&mut self, process: ProcessId, choice: u32, turn: u32) -> Result<(), Halt> {
        self.runtime.step.within = 0;
        let known = self.runtime.search.script.len();
        if turn as usize <= known {
            // It was one of the script: that is taken again as a whole.
            return self.rerun();
        }
        self.rerun()?;
        self.take(process, choice)
    }

    /// Whether those are enabled who were when the script had been taken before, for steps with as many
    /// outcomes.
    #[inline]
    fn check_enabled(&mut self) -> Result<(), Halt> {
        let position = self.runtime.search.script.len();
        let enabled = &self.runtime.execution.schedule.enabled;
        if self.prefixes.known(position).is_some_and(|before| before != enabled) {
            return Err(self.not_enabled_as_before(position));
        }
        let branches = self.prefixes.is_branching(position) || self.runtime.execution.schedule.is_branching();
        if branches { self.check_choices(position) } else { Ok(()) }
    }

    #[cold]
    fn check_choices(&mut self, position: usize) -> Result<(), Halt> {
        let differing = self.runtime.execution.schedule.enabled.iter().find_map(|process| {
            let pending = self.runtime.process(process).pending?;
            let outcomes = pending.operation().alternatives(&self.runtime);
            (outcomes != self.alternatives(process)).then_some((process, Some(pending.place)))
        });
        let Some((process, place)) = differing else { return Ok(()) };
        self.runtime.report_difference(position, process, (place, place));
        Err(Halt::Fatal)
    }

    #[cold]
    fn not_enabled_as_before(&mut self, position: usize) -> Halt {
        let (before, runtime) = (self.prefixes.enabled(position), &*self.runtime);
        let differs = |process: &ProcessId| {
            before.contains(*process) != runtime.execution.schedule.enabled.contains(*process)
        };
        let all = before.iter().chain(runtime.execution.schedule.enabled.iter()).find(differs);
        let process = all.unwrap_or(MAIN);
        let last = runtime.search.script.iter().rfind(|taken| taken.process == process);
        let now = runtime.process(process).pending.map(|pending| pending.place);
        let places = (last.and_then(|taken| taken.next), now);
        self.runtime.report_difference(position, process, places);
        Halt::Fatal
    }

    /// Notes who is enabled now, for when it is asked later.
    #[inline]
    fn note_state(&mut self) {
        let findings = &self.runtime.execution.findings;
        self.found.truncate(self.runtime.search.script.len());
        self.found.push((findings.failures.len(), findings.assumed));
        self.prefixes.note(self.runtime.search.script.len(), &self.runtime.execution.schedule.enabled);
        if self.runtime.execution.schedule.is_branching() {
            self.note_outcomes();
        }
    }

    #[cold]
    fn note_outcomes(&mut self) {
        let depth = self.runtime.search.script.len();
        for process in self.runtime.execution.schedule.enabled.iter() {
            let Some(pending) = self.runtime.process(process).pending else { continue };
            let outcomes = pending.operation().alternatives(&self.runtime);
            self.prefixes.note_outcomes(depth, process, outcomes);
        }
    }

    #[cold]
    fn not_repeated(&mut self, position: usize, places: (Option<&Caller<'_>>, Option<&Caller<'_>>)) -> Halt {
        let process = self.runtime.search.script[position.min(self.runtime.search.script.len() - 1)].process;
        self.runtime.report_difference(position, process, places);
        Halt::Fatal
    }
}

impl Drop for ClosureRun {
    fn drop(&mut self) {
        if let Some(place) = self.runtime.search.weak_ordering {
            self.heartbeat.weak_ordering(place);
        }
        for &(place, tried) in &self.runtime.search.claims {
            self.heartbeat.claim(place, tried);
        }
        self.runtime.end_execution();
        Recycled::keep(&mut self.runtime, &mut self.prefixes);
    }
}

/// Why a step was not taken.
#[derive(Clone, Copy)]
pub(super) enum Halt {
    /// The execution can't go on: [`Runtime::fatal`] says why.
    Fatal,
    /// It must be taken again, from the start of the execution, with what is known now.
    Again,
}
