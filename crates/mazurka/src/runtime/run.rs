//! The run of a Rust closure: the scheduler's side of the world.
//!
//! To go back is to begin again: the closure is started anew and the steps of the script are taken once more, each
//! checked against what it was before. That is put off until the next step, and what is asked of the present state in
//! the meantime is answered from notes.

use std::sync::Arc;

use mazurka_program::{
    AccessKind, Failure, FailureKind, Footprints, Guard, GuardId, Label, Names, ProcessId, ProcessSet,
    Program, Run, State, Stop,
};
use std::panic::Location as Caller;

use super::cells::Until;
use super::discoveries::Discoveries;
use super::operation::Wait;
use super::overflow;
use super::process::{self, Resume, Status};
use super::script::Taken;
use super::{Panicked, WORLD, World, place_of};
use crate::checker::Settings;
use crate::checker::pulse::Pulse;

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
}

impl Program for Closure {
    type Run = ClosureRun;

    fn start(&self, footprints: Footprints) -> ClosureRun {
        let mut world = Box::new(World::new(self.settings.stack_size));
        world.foresee = footprints == Footprints::Static;
        world.spurious_wakeups = self.settings.spurious_wakeups;
        world.show_to(&self.settings.heartbeat);
        world.follow(&self.discoveries);
        let mut run = ClosureRun {
            world,
            body: self.body.clone(),
            heartbeat: self.settings.heartbeat.clone(),
            holds: Vec::new(),
            behind: false,
            enabled_at: Vec::new(),
            choices: Vec::new(),
        };
        if run.begin(0).is_err() {
            // So that a step is asked for, which says what is wrong.
            run.world.enabled.insert(MAIN);
        }
        run.note_state();
        run
    }

    fn begin_again(&self) -> bool {
        self.discoveries.begin_again()
    }
}

/// A closure that has been started.
pub struct ClosureRun {
    pub(crate) world: Box<World>,
    body: Arc<dyn Fn() + Send + Sync>,
    heartbeat: Arc<Pulse>,
    /// `(turn, process)`: in that turn (0 for the start, then the steps from 1 on) the process goes on to a panic that
    /// unwinds over operations, so it is held back and the unwinding is a step of its own.
    holds: Vec<(u32, ProcessId)>,
    /// Whether the world is not where the script ends.
    behind: bool,
    /// Who is enabled after each prefix of the script.
    enabled_at: Vec<ProcessSet>,
    /// `(depth, process, n)`: after so many steps the process's next one has `n > 1` outcomes.
    choices: Vec<(u32, ProcessId, u32)>,
}

impl Run for ClosureRun {
    fn names(&self) -> &Names {
        &self.world.names
    }

    fn depth(&self) -> usize {
        self.world.script.len()
    }

    #[inline]
    fn enabled(&self) -> &ProcessSet {
        &self.enabled_at[self.world.script.len()]
    }

    fn alternatives(&self, process: ProcessId) -> u32 {
        let depth = self.world.script.len() as u32;
        let noted = self.choices.iter().rev().take_while(|choice| choice.0 == depth);
        noted.into_iter().find(|choice| choice.1 == process).map_or(1, |choice| choice.2)
    }

    fn waiting(&self, with: &mut dyn FnMut(ProcessId, Option<Guard>)) {
        for &process in &self.world.created {
            let state = self.world.process(process);
            if state.status != Status::Parked || self.world.enabled.contains(process) {
                continue;
            }
            let Some(pending) = state.pending else { continue };
            with(process, guard_of(pending.wait, pending.guard));
        }
    }

    fn step(&mut self, process: ProcessId, choice: u32, label: &mut Label) -> Result<(), Stop> {
        self.heartbeat.step(self.world.script.len(), process, choice);
        let taken = self.catch_up().and_then(|()| self.take(process, choice));
        let Ok(taken) = taken else { return Err(self.stopped()) };
        std::mem::swap(label, &mut self.world.label);
        self.world.script.push(taken);
        self.note_state();
        Ok(())
    }

    fn rewind(&mut self, depth: usize) {
        if depth < self.world.script.len() {
            self.world.script.truncate(depth);
            self.behind = true;
            while self.holds.last().is_some_and(|hold| hold.0 as usize > depth) {
                self.holds.pop();
            }
            while self.choices.last().is_some_and(|choice| choice.0 as usize > depth) {
                self.choices.pop();
            }
        }
    }

    fn guard_holds_at(&self, guard: GuardId, depth: usize) -> bool {
        let guard = self.world.guards[guard.0 as usize];
        match guard.until {
            Until::Differs(spin) => self.world.differs_at(spin, depth as u32),
            until => until.holds(self.world.cells.at_depth(guard.location, depth as u32)),
        }
    }

    fn would_take(&self, _receive: usize, _send: usize) -> bool {
        // Asked for classes modulo observers only, which no algorithm for Rust uses.
        true
    }

    fn failures(&self) -> &[Failure] {
        &self.world.failures
    }

    fn assumed(&self) -> bool {
        self.world.assumed
    }

    fn state(&self) -> Option<State> {
        None
    }
}

pub(super) fn guard_of(wait: Wait, id: GuardId) -> Option<Guard> {
    match wait {
        Wait::Guard { location, .. } => Some(Guard { location, id }),
        _ => None,
    }
}

impl ClosureRun {
    /// Starts the closure; so many steps of the script are to be taken without asking.
    fn begin(&mut self, scripted: u32) -> Result<(), Halt> {
        let told = self.world.story.is_some();
        self.world.end_execution();
        self.world.story = told.then(Default::default);
        self.trouble()?;
        let body = self.body.clone();
        let held = self.holds.len();
        self.world.begin_execution(Box::new(move || crate::thread::run_main(&*body)));
        self.world.scripted = scripted;
        self.world.label.clear();
        match self.start_processes(0) {
            // The initial segment unwinds over operations: it is held back, so begin once more.
            Err(Halt::Again) if self.holds.len() > held => self.begin(0)?,
            result => result?,
        }
        self.settle();
        Ok(())
    }

    /// Takes the steps of the script again. A process takes its own, in a row, without being asked in between.
    fn rerun(&mut self) -> Result<(), Halt> {
        let told = self.holds.is_empty() && self.world.story.is_none();
        self.begin(if told { self.world.script.len() as u32 } else { 0 })?;
        while (self.world.depth as usize) < self.world.script.len() {
            if self.repeat()? {
                continue;
            }
            self.settle();
            let position = self.world.depth as usize;
            let before = self.world.script[position];
            if !self.world.enabled.contains(before.process) {
                return Err(self.not_repeated(position, (before.place, None)));
            }
            let taken = self.take(before.process, before.choice)?;
            if let Some(difference) = before.difference(&taken, position) {
                return Err(self.not_repeated(difference.0, difference.1));
            }
        }
        self.settle();
        self.world.scripted = 0;
        Ok(())
    }

    /// Takes the next step of the script the short way, and those that follow it in a row; false if that can't be.
    #[inline]
    fn repeat(&mut self) -> Result<bool, Halt> {
        let world = &mut *self.world;
        let turn = world.depth;
        let process = world.script[turn as usize].process;
        let pending = world.process(process).pending;
        let Some(pending) = pending.filter(|pending| pending.plain && pending.wait == Wait::Nothing) else {
            return Ok(false);
        };
        world.running = process;
        // SAFETY: the process is parked at it, and nobody else refers to it.
        #[allow(unsafe_code)]
        let operation = unsafe { pending.operation_mut() };
        if !operation.repeat(world, pending.place, pending.top) {
            return Ok(false);
        }
        world.leave(process, pending);
        world.enabled.remove(process);
        world.process_mut(process).pending = None;
        self.go_on(process, turn + 1)?;
        self.start_processes(turn + 1)?;
        Ok(true)
    }

    /// Brings the world to where the script ends.
    #[inline]
    fn catch_up(&mut self) -> Result<(), Halt> {
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
        self.world.fatal.clone().unwrap_or_else(unknown)
    }

    /// Takes a step in the world. The label is left there.
    #[inline(always)]
    fn take(&mut self, process: ProcessId, choice: u32) -> Result<Taken, Halt> {
        let (place, digest) = self.perform(process, choice);
        let turn = self.world.depth;
        let result = match self.world.process(process).status {
            Status::Parked => self.go_on(process, turn),
            _ => self.unwind(process),
        };
        match result.and_then(|()| self.start_processes(turn)) {
            Ok(()) => {}
            Err(Halt::Fatal) => return Err(Halt::Fatal),
            Err(Halt::Again) => return self.again(process, choice),
        }
        self.settle();
        // In a row of scripted steps the later ones have been looked at.
        let next = match self.world.depth == turn {
            true => self.world.process(process).pending.map(|pending| pending.place),
            false => self.world.script[turn as usize - 1].next,
        };
        let first = self.world.first_of_child();
        Ok(Taken { process, choice, place, next, first, digest })
    }

    /// Does the operation that a process is at. Gives its place and what tells its label from others.
    #[inline(always)]
    fn perform(&mut self, process: ProcessId, choice: u32) -> (Option<&'static Caller<'static>>, u64) {
        let world = &mut *self.world;
        world.enabled.remove(process);
        world.running = process;
        match world.process_mut(process).pending.take() {
            Some(pending) => {
                world.leave(process, pending);
                // SAFETY: the process is parked at it, and nobody else refers to it.
                #[allow(unsafe_code)]
                let operation = unsafe { pending.operation_mut() };
                let digest = world.perform(operation, choice, pending.place, pending.arrival());
                (Some(pending.place), digest)
            }
            None => (None, world.begin_unwinding()),
        }
    }

    /// Lets a process run on to its next operation, unless it is known to go on to a panic that unwinds over operations.
    #[inline(always)]
    fn go_on(&mut self, process: ProcessId, turn: u32) -> Result<(), Halt> {
        if !self.holds.is_empty() && self.holds.contains(&(turn, process)) {
            self.world.process_mut(process).status = Status::Held;
            self.world.enabled.insert(process);
            return Ok(());
        }
        self.world.unwound = 0;
        self.world.resume(process, Resume::Go);
        self.trouble()?;
        if self.world.unwound > 0 {
            self.holds.push((turn, process));
            return Err(Halt::Again);
        }
        Ok(())
    }

    /// Takes the step in which a process unwinds.
    fn unwind(&mut self, process: ProcessId) -> Result<(), Halt> {
        self.world.resume(process, Resume::Go);
        self.world.label.varies = true;
        self.trouble()
    }

    #[inline(always)]
    fn trouble(&self) -> Result<(), Halt> {
        if self.world.fatal.is_some() { Err(Halt::Fatal) } else { Ok(()) }
    }

    /// Finds out who can take a step now.
    #[inline(always)]
    fn settle(&mut self) {
        if self.world.changed {
            self.world.refresh();
        }
        if self.world.enabled.is_empty() {
            self.world.conclude();
        }
    }

    /// Starts the processes that were created in this turn, and those that these create.
    #[inline(always)]
    fn start_processes(&mut self, turn: u32) -> Result<(), Halt> {
        if self.world.starting.is_empty() { Ok(()) } else { self.start_each(turn) }
    }

    fn start_each(&mut self, turn: u32) -> Result<(), Halt> {
        while let Some(process) = self.world.starting.pop() {
            if let Err(error) = self.world.embark(process) {
                let message =
                    format!("no memory for the stack of thread {}: {error}", self.world.created.len());
                self.world.fail(Stop::Bound(message));
                return Err(Halt::Fatal);
            }
            self.go_on(process, turn)?;
        }
        Ok(())
    }

    /// Takes the step once more, from the beginning of the execution, with what is known now.
    #[cold]
    fn again(&mut self, process: ProcessId, choice: u32) -> Result<Taken, Halt> {
        self.rerun()?;
        self.take(process, choice)
    }

    /// Notes who is enabled now, for when it is asked later.
    fn note_state(&mut self) {
        let depth = self.world.script.len();
        if self.enabled_at.len() <= depth {
            self.enabled_at.push(ProcessSet::new());
        }
        self.enabled_at[depth].copy_from(&self.world.enabled);
        if self.world.branching > 0 {
            self.note_choices();
        }
    }

    #[cold]
    fn note_choices(&mut self) {
        for process in self.world.enabled.iter() {
            let Some(pending) = self.world.process(process).pending else { continue };
            let n = pending.operation().alternatives(&self.world);
            if n > 1 {
                self.choices.push((self.world.script.len() as u32, process, n));
            }
        }
    }

    #[cold]
    fn not_repeated(&mut self, position: usize, places: (Option<&Caller<'_>>, Option<&Caller<'_>>)) -> Halt {
        let process = self.world.script[position.min(self.world.script.len() - 1)].process;
        self.world.report_difference(position, process, places);
        Halt::Fatal
    }
}

impl Drop for ClosureRun {
    fn drop(&mut self) {
        if let Some(place) = self.world.weak_ordering {
            self.heartbeat.weak_ordering(place);
        }
        self.world.end_execution();
    }
}

/// Why a step was not taken.
#[derive(Clone, Copy)]
enum Halt {
    /// The execution can't go on: [`World::fatal`] says why.
    Fatal,
    /// It must be taken again, from the start of the execution, with what is known now.
    Again,
}

impl World {
    /// Begins an execution: process 0 will run the body.
    pub(crate) fn begin_execution(&mut self, body: process::Body) {
        self.stamp = super::identity::new_stamp();
        self.cells.begin(self.stamp);
        self.depth = 0;
        self.guards.clear();
        self.spins.clear();
        self.failures.clear();
        self.assumed = false;
        self.last_panic = None;
        self.panics.clear();
        self.acquired.clear();
        self.poisoned.clear();
        self.shown.met.clear();
        self.waiters.clear();
        self.statics.clear();
        self.arcs.clear();
        self.races.clear();
        self.operations = 0;
        let main = self.names.child(None, 0);
        debug_assert_eq!(main, MAIN);
        self.add(main, body);
        self.process_mut(main).name = Some("main".to_owned());
        self.announce(main);
        self.starting.push(main);
    }

    /// Gives a process a stack.
    pub(super) fn embark(&mut self, process: ProcessId) -> std::io::Result<()> {
        self.processes[process.0 as usize].embark(&mut self.stacks)
    }

    /// Runs a process until it suspends itself or ends.
    #[inline]
    pub(super) fn resume(&mut self, process: ProcessId, with: Resume) {
        let state = self.process_mut(process);
        let (events, limit) = (state.events, state.stack.0);
        let Some(mut routine) = state.take_routine() else { return };
        state.status = Status::Running;
        self.running = process;
        self.log.set_process(process, events);
        let world: *mut World = self;
        let before = WORLD.with(|cell| cell.replace(world));
        self.shown.pulse.turn(process);
        let ended = process::resume(&mut routine, limit, with);
        self.shown.pulse.turn_is_over();
        WORLD.with(|cell| cell.set(before));
        self.processes[process.0 as usize].put_back(routine, ended, &mut self.stacks);
        if ended {
            if overflow::take_overflow() {
                self.report_overflow(process);
            }
            self.finish(process);
        }
    }

    #[cold]
    fn report_overflow(&mut self, process: ProcessId) {
        let message = format!(
            "{} overflowed its stack of {} KiB; Checker::stack_size makes stacks larger",
            self.name_of(process),
            self.stacks.size() / 1024
        );
        let (kind, place) = (FailureKind::StackOverflow, None);
        self.fail(Stop::Failure(Failure { kind, message, place, process: Some(process) }));
    }

    /// A process has come to its end.
    fn finish(&mut self, process: ProcessId) {
        self.process_mut(process).status = Status::Finished;
        if self.ending {
            return;
        }
        let end = self.end_of(process);
        self.label.touch(end, AccessKind::Write);
        if self.races.enabled {
            let events = self.process(process).events;
            self.races.end(process, events, end);
        }
        let depth = self.depth;
        self.cells.set(end, 1, depth);
        self.changed = true;
    }

    /// No process can take a step: what went wrong without anybody having been told is a failure.
    pub(super) fn conclude(&mut self) {
        self.report_livelock();
        let mut panics = std::mem::take(&mut self.panics);
        if panics.iter().any(|panic| !panic.told) {
            // Who unwraps the result of a join panics because of another panic: that one is the cause.
            let words = ["`Err` value: Any", "`Err` value: PoisonError", "a scoped thread panicked"];
            let passed_on = |panic: &Panicked| words.iter().any(|words| panic.message.contains(words));
            let cause = panics.iter().any(|panic| !panic.told && passed_on(panic));
            panics.retain(|panic| cause || !panic.told);
            panics.sort_by_key(passed_on);
            self.failures.extend(panics.drain(..).map(failure_of));
        }
    }
}

impl World {
    /// Who spins when nobody can take a step spins forever.
    fn report_livelock(&mut self) {
        for &process in &self.created {
            let Some(pending) = self.process(process).pending.filter(|pending| pending.spins) else {
                continue;
            };
            let message = format!(
                "{} spins at {} forever: nobody is left to change what it reads",
                self.name_of(process),
                pending.operation().describe(self)
            );
            let (kind, place) = (FailureKind::Livelock, Some(place_of(pending.place)));
            self.failures.push(Failure { kind, message, place, process: Some(process) });
            return;
        }
    }
}

fn failure_of(panic: Panicked) -> Failure {
    let kind = match panic.message.starts_with("assertion") {
        true => FailureKind::Assertion,
        false => FailureKind::Panic,
    };
    Failure { kind, message: panic.message, place: panic.place, process: Some(panic.process) }
}
