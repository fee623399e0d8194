//! The run of a program: the scheduler's side of the world.
//!
//! To go back is to begin again: the program is started anew and the steps of the script are taken once more, each
//! checked against what it was before. That is put off until the next step, and what is asked of the present state in the
//! meantime is answered from notes. Several runs may share one world, as they share the object in memory: the one that is asked
//! to take a step makes the world its own, and the others begin again when it is their turn.
#![allow(unsafe_code)]

use std::cell::UnsafeCell;
use std::rc::Rc;

use mazurka_program::{
    Failure, FailureKind, Footprints, Guard, GuardId, Label, Names, ProcessId, ProcessSet, Program, Receives,
    Run, Stop,
};

use super::script::Taken;
use super::spin::GUARDS;
use super::thread::{Pending, Status};
use super::world::{MAIN, World};
use crate::runtime::Native;
use crate::runtime::system::{limits, signals};

/// So many steps of an execution are looked at when something has been found out, to find out more at once.
const LOOK_AHEAD: u32 = 20_000;

/// A program that has been started.
pub struct NativeRun {
    world: Rc<UnsafeCell<World>>,
    id: u64,
    foresee: bool,
    /// The steps taken.
    script: Vec<Taken>,
    /// Whether the world is not where the script ends.
    behind: bool,
    /// Whether steps are told to people.
    told: bool,
    /// Who is enabled after each prefix of the script.
    enabled_at: Vec<ProcessSet>,
    /// `(depth, thread, n)`: after so many steps the thread's next one has `n > 1` outcomes.
    choices: Vec<(u32, u32, u32)>,
}

#[allow(clippy::mut_from_ref)]
#[inline]
pub(crate) fn open(world: &Rc<UnsafeCell<World>>) -> &mut World {
    // SAFETY: nobody else has a reference to the world: it is used within calls of this crate only, and no two of them
    // are nested, but for calls of the program, which use it as the rules of `world` say. No reference outlives the
    // call that asks for it, but for what runs give to their callers, which these do not keep across steps.
    unsafe { &mut *world.get() }
}

impl Program for Native {
    type Run = NativeRun;

    fn start(&self, footprints: Footprints) -> NativeRun {
        signals::install();
        let world = open(&self.world);
        world.runs += 1;
        let mut run = NativeRun {
            world: self.world.clone(),
            id: world.runs,
            foresee: footprints == Footprints::Static,
            script: Vec::new(),
            behind: true,
            told: false,
            enabled_at: Vec::new(),
            choices: Vec::new(),
        };
        if run.catch_up().is_err() {
            // So that a step is asked for, which says what is wrong.
            run.behind = false;
            run.world().enabled.insert(ProcessId(MAIN));
        }
        run.note_state();
        run
    }

    fn begin_again(&self) -> bool {
        let world = open(&self.world);
        // Labels will be others.
        world.snapshots.clear();
        let news = std::mem::take(&mut world.partition.news);
        match news {
            true => world.stops.clear(),
            false => limits::lift(),
        }
        news
    }
}

impl NativeRun {
    #[allow(clippy::mut_from_ref)]
    #[inline]
    pub(crate) fn world(&self) -> &mut World {
        open(&self.world)
    }

    /// The world, brought to where the script ends if another run has used it since.
    #[allow(clippy::mut_from_ref)]
    fn mine(&self) -> &mut World {
        let world = self.world();
        if world.owner != self.id {
            (world.owner, world.foresee, world.fatal) = (self.id, self.foresee, None);
            world.snapshots.clear();
            world.enter();
            world.story = None;
            world.script = self.script.clone();
            // What stops it then is told by the next step, which is taken from the start.
            if world.replay().is_ok() && world.enabled.is_empty() {
                world.conclude();
            }
            world.stops.remember(&self.script, None);
            world.script.clear();
        }
        world
    }

    /// From now on steps are told, and so are those before, for what they wrote.
    pub(crate) fn tell_from_now_on(&mut self) {
        if !std::mem::replace(&mut self.told, true) {
            self.behind = true;
        }
    }

    /// What the program has printed in this execution.
    pub fn output(&self) -> &[u8] {
        &self.mine().output
    }

    /// Brings the world to where the script ends, and makes it this run's.
    #[inline]
    pub(crate) fn catch_up(&mut self) -> Result<(), Stop> {
        let world = self.world();
        if world.owner != self.id || self.behind {
            return self.rerun();
        }
        match &world.fatal {
            None => Ok(()),
            Some(stop) => Err(stop.clone()),
        }
    }

    fn rerun(&mut self) -> Result<(), Stop> {
        self.behind = false;
        let world = open(&self.world);
        if world.owner != self.id {
            (world.owner, world.foresee) = (self.id, self.foresee);
            world.fatal = None;
            world.snapshots.clear();
        }
        world.enter();
        if let Some(stop) = &world.fatal {
            return Err(stop.clone());
        }
        world.story = self.told.then(Default::default);
        world.script = std::mem::take(&mut self.script);
        let result = world.replay();
        self.script = std::mem::take(&mut world.script);
        world.stops.remember(&self.script, None);
        result
    }

    /// Notes who is enabled now, for when it is asked later.
    #[inline]
    fn note_state(&mut self) {
        let depth = self.script.len();
        if self.enabled_at.len() <= depth {
            self.enabled_at.push(ProcessSet::new());
        }
        let world = open(&self.world);
        self.enabled_at[depth].copy_from(&world.enabled);
        if world.branching > 0 {
            self.note_choices();
        }
    }

    #[cold]
    fn note_choices(&mut self) {
        let world = open(&self.world);
        for process in world.enabled.iter() {
            let Pending::Operation { operation, .. } = world.thread(process.0).pending else { continue };
            // SAFETY: the thread is parked at the operation.
            let n = unsafe { (*operation).alternatives(world, process.0) };
            if n > 1 {
                self.choices.push((self.script.len() as u32, process.0, n));
            }
        }
    }

    /// Takes a step. The label is left in the world.
    // Inlined, as `World::resume` is.
    #[inline(always)]
    pub(crate) fn take(&mut self, process: ProcessId, choice: u32) -> Result<(), Stop> {
        self.catch_up()?;
        let world = self.world();
        world.expect_stop(&self.script, process.0, choice);
        let taken = world.take(process.0, choice);
        world.stops.remember(&self.script, Some((process.0, choice)));
        world.trouble()?;
        self.script.push(taken);
        self.note_state();
        if limits::reached().is_some() {
            self.end_at_limit()?;
        }
        if self.enabled_at[self.script.len()].is_empty() {
            if !self.told && self.world().is_due() && self.world().can_be_checked() {
                self.check_itself()?;
            }
            self.world().conclude();
        }
        Ok(())
    }

    /// The search may not take more. What went wrong in this execution so far did go wrong, and is told: it ends here.
    #[cold]
    fn end_at_limit(&mut self) -> Result<(), Stop> {
        let world = open(&self.world);
        let Some(limit) = limits::reached() else { return Ok(()) };
        if world.failures.is_empty() {
            return Err(world.fatal.get_or_insert(limit.stop()).clone());
        }
        world.over = true;
        world.enabled.clear();
        self.enabled_at[self.script.len()].clear();
        Ok(())
    }

    /// Looks whether the labels of the execution tell everything, and comes back to its end.
    #[cold]
    fn check_itself(&mut self) -> Result<(), Stop> {
        let world = open(&self.world);
        let label = std::mem::take(&mut world.label);
        let checked = world.check_itself(&self.script);
        world.stops.forget_new();
        // Who is stopped at a limit does not repeat itself.
        let checked = limits::reached().map_or(checked, |limit| Err(limit.stop()));
        if let Err(stop) = checked
            && (world.can_be_checked() || limits::reached().is_some())
        {
            return Err(world.fatal.get_or_insert(stop).clone());
        }
        self.rerun()?;
        open(&self.world).label = label;
        Ok(())
    }
}

impl Run for NativeRun {
    fn names(&self) -> &Names {
        &self.world().names
    }

    fn depth(&self) -> usize {
        self.script.len()
    }

    #[inline]
    fn enabled(&self) -> &ProcessSet {
        &self.enabled_at[self.script.len()]
    }

    #[inline]
    fn alternatives(&self, process: ProcessId) -> u32 {
        let depth = self.script.len() as u32;
        let noted = self.choices.iter().rev().take_while(|choice| choice.0 == depth);
        noted.into_iter().find(|choice| choice.1 == process.0).map_or(1, |choice| choice.2)
    }

    fn waiting(&self, with: &mut dyn FnMut(ProcessId, Option<Guard>)) {
        let world = self.mine();
        for at in 0..world.created.len() {
            let thread = world.created[at];
            let state = world.thread(thread);
            if state.status != Status::Parked || world.enabled.contains(ProcessId(thread)) {
                continue;
            }
            let Pending::Operation { wait, .. } = state.pending else { continue };
            with(ProcessId(thread), world.guard(wait));
        }
    }

    #[inline]
    fn step(&mut self, process: ProcessId, choice: u32, label: &mut Label) -> Result<(), Stop> {
        label.clear();
        self.take(process, choice)?;
        let taken = &self.world().label;
        // Nearly every step touches one thing, and has nothing else to tell: to exchange the lists would take longer.
        label.accesses.extend_from_slice(&taken.accesses);
        (label.guard, label.varies) = (taken.guard, taken.varies);
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
            let world = open(&self.world);
            if world.owner == self.id {
                world.snapshots.forget_behind(depth);
            }
            while self.choices.last().is_some_and(|choice| choice.0 as usize > depth) {
                self.choices.pop();
            }
        }
    }

    fn guard_holds_at(&self, guard: GuardId, depth: usize) -> bool {
        let world = self.mine();
        if guard.0 >= GUARDS {
            return world.spin_is_over_at(guard, depth as u32);
        }
        let guard = world.guards.get(guard);
        guard.is_none_or(|(object, until)| until.holds(world.objects.at_depth(object, depth as u32)))
    }

    fn receives(&self) -> Option<&dyn Receives> {
        Some(self)
    }

    fn failures(&self) -> &[Failure] {
        &self.mine().failures
    }

    fn assumed(&self) -> bool {
        self.mine().assumed
    }

    fn ended_early(&self) -> bool {
        self.mine().over
    }
}

impl Receives for NativeRun {
    fn would_take(&self, _receive: usize, _send: usize) -> bool {
        // There are no messages.
        true
    }
}

impl World {
    /// Begins an execution and takes the steps of the script. A thread takes its own, in a row, without being asked.
    fn replay(&mut self) -> Result<(), Stop> {
        if self.story.is_some() {
            return self.replay_told();
        }
        let end = self.script.len() as u32;
        self.expect_stops();
        self.begin_where_saved();
        while self.take_again_up_to(self.next_stop(end)) {
            self.save_if_worth();
            if self.depth == end {
                break;
            }
        }
        self.label.clear();
        self.look_around();
        self.trouble()
    }

    /// Takes the steps of the script up to a depth. Says whether nothing is wrong.
    fn take_again_up_to(&mut self, depth: u32) -> bool {
        self.scripted = depth;
        while let Some(thread) = self.starting.pop() {
            self.go_on_again(thread);
        }
        while self.depth < self.scripted {
            self.take_again();
            if self.partition.news || self.fatal.is_some() || limits::reached().is_some() {
                break;
            }
        }
        self.scripted = 0;
        if let Some(limit) = limits::reached() {
            self.fail(limit.stop());
        }
        !self.partition.news && self.fatal.is_none()
    }

    /// The same step by step, for people.
    #[cold]
    fn replay_told(&mut self) -> Result<(), Stop> {
        self.expect_stops();
        self.start_again()?;
        for at in 0..self.script.len() {
            let before = self.script[at];
            if !self.enabled.contains(ProcessId(before.thread))
                || self.take(before.thread, before.choice) != before
            {
                self.not_repeated(at, before.thread);
            }
            self.trouble()?;
        }
        Ok(())
    }

    /// Begins an execution, and lets the first thread run to its first operation.
    pub(crate) fn start_again(&mut self) -> Result<(), Stop> {
        self.scripted = 0;
        self.begin_execution();
        while let Some(thread) = self.starting.pop() {
            self.resume(thread);
        }
        if self.changed {
            self.refresh();
        }
        self.trouble()
    }

    /// Whether the present execution should come to the same in any order that respects its labels. Not if somebody was stopped in a
    /// loop, wherever that was, nor if memory was gone: when a frame is left, or a thread ends, is in no label.
    fn can_be_checked(&self) -> bool {
        !self.stops.any_here()
            && limits::reached().is_none()
            && self.failures.iter().all(|failure| failure.kind != FailureKind::Memory)
    }

    /// Nobody can take a step.
    #[inline]
    fn conclude(&mut self) {
        if self.spins.any && !self.over && !self.assumed {
            self.report_livelock();
        }
        if self.blocks.live > 0 {
            self.look_for_leaks();
        }
    }

    /// Whether the execution can't go on, or the search has to begin again.
    #[inline]
    pub(crate) fn trouble(&mut self) -> Result<(), Stop> {
        if self.partition.news && self.fatal.is_none() {
            self.look_ahead();
        }
        match &self.fatal {
            None => Ok(()),
            Some(stop) => Err(stop.clone()),
        }
    }

    /// Something was found out that changes labels. The execution is run to its end, as it comes, to find out more: the
    /// search begins again anyhow.
    #[cold]
    fn look_ahead(&mut self) {
        (self.scripted, self.stops.ahead) = (0, true);
        let mut last = self.running;
        for _ in 0..LOOK_AHEAD {
            let after = self.enabled.iter().find(|process| process.0 > last);
            let Some(next) = after.or_else(|| self.enabled.iter().next()) else { break };
            last = next.0;
            self.take(last, 0);
            if self.fatal.is_some() || limits::reached().is_some() {
                break;
            }
        }
        self.stops.ahead = false;
        self.fatal = Some(Stop::BeginAgain);
    }
}
