//! Runs of compiled programs.
//!
//! The run keeps one state, the present one, and what it takes to undo each step since the start
//! ([`process::Mark`], [`memory::Memory`]): going back costs as much as what is undone. Who is enabled is
//! kept up to date by each step.
//!
//! Invariants between steps:
//! * a live process stands at a line that is a step, and every line before it that is none has been run;
//! * `enabled` holds the live processes whose [`Wait`] does not hold them back, and those that overran;
//! * `guarded` holds the live processes with a block other than `Free`;
//! * names and locations, once given, stay given when the run goes back.

mod commute;
mod declared;
mod eval;
mod explain;
mod failure;
mod footprint;
mod guard;
mod local;
mod mailbox;
mod memory;
mod poll;
mod portable;
mod process;
mod rounds;
mod state;
mod step;
mod sync;

use std::sync::Arc;

use mazurka_constraints::SearchSolver;
use mazurka_program::{Constraints, PortableNames, Receives, Rounds, Run, States, Stop, Values};
use mazurka_program::{Failure, Footprints, Guard, GuardId, Label, Location, Names, ProcessId, ProcessSet};

use crate::code::{Image, Instr};
use crate::constraints::{Judged, Knowledge};
use crate::dead::MayRead;
use crate::litmus::LabelRules;
use footprint::Scratch;
use memory::Memory;
use process::{CapturedGuard, Mark, Proc, Status, Undo, Wait};

/// A `.maz` program that has been started.
#[derive(Clone, Debug)]
pub struct LitmusRun {
    image: Arc<Image>,
    machine: Machine,
    /// When steps commute, once somebody asks.
    knowledge: Option<Knowledge>,
    /// Who finds out more of that.
    solver: SearchSolver,
    /// What is known of declared constraints.
    judged: Option<Arc<Judged>>,
}

#[derive(Clone, Debug, Default)]
struct Machine {
    rules: LabelRules,
    /// What may be read from where on, if states are told without dead variables.
    may_read: Option<Arc<MayRead>>,
    /// Whether labels are static footprints.
    foresee: bool,
    /// Whether receives and wake-ups have guards in the sense of labels: so it is for static footprints.
    /// Unlike `foresee` it stays as it is while a step is explained.
    static_guards: bool,
    names: Names,
    memory: Memory,
    procs: Vec<Proc>,
    enabled: ProcessSet,
    guarded: ProcessSet,
    marks: Vec<Mark>,
    /// The locals of the process of each mark, before its step.
    saved: Vec<i64>,
    /// Every change of `enabled`, in order.
    flips: Vec<u32>,
    undo: Vec<Undo>,
    guards: Vec<CapturedGuard>,
    guard_locals: Vec<i64>,
    /// The parts of all messages sent.
    payload: Vec<i64>,
    failures: Vec<Failure>,
    assumed: u32,
    /// The number of locations given so far.
    locations: u32,
    /// A process that ran too long in the step being taken.
    overran: Option<u32>,
    /// How many lines that are no steps were run.
    lines_run: u64,
    /// Whether something other than memory changed that a process may wait for.
    signal: bool,
    /// See [`eval::LabelRecorder`].
    seen: Vec<u32>,
    scratch: Scratch,
}

impl LitmusRun {
    pub(crate) fn new(
        image: Arc<Image>,
        footprints: Footprints,
        rules: LabelRules,
        may_read: Option<Arc<MayRead>>,
        judged: Option<Arc<Judged>>,
        solver: SearchSolver,
    ) -> LitmusRun {
        let foresee = footprints == Footprints::Static && rules.static_footprints;
        let mut machine = Machine {
            rules,
            may_read,
            foresee,
            static_guards: foresee,
            memory: Memory::new(&image.initial),
            locations: image.fixed_locations,
            signal: true,
            seen: vec![0; image.fixed_locations as usize],
            ..Machine::default()
        };
        machine.start(&image);
        if let Some(judged) = &judged {
            machine.tell_refuted(&image, judged);
        }
        LitmusRun { image, machine, knowledge: None, solver, judged }
    }

    /// The name of a process for people: `main`, `writer[2]`, and `task 0.1` for a spawned one.
    pub fn process_name(&self, process: ProcessId) -> String {
        self.machine.process_name(&self.image, process.0)
    }
}

impl Machine {
    /// Creates the processes of the start and lets each run to its first step.
    fn start(&mut self, image: &Image) {
        for (k, &decl) in image.roots.iter().enumerate() {
            let family = &image.families[decl as usize];
            let process = self.names.child(None, k as u32);
            let arg = family.from + (k as u32 - family.first) as i64;
            let args = if family.family { vec![arg] } else { Vec::new() };
            self.create(image, process.0, crate::code::NONE, family.body, &args);
        }
        // The ones created first may wait for what the later ones are: look again when all are there.
        for k in 0..image.roots.len() as u32 {
            self.advance(image, k);
        }
        self.settle(image);
        // A process that overran says so when it is stepped.
        self.overran = None;
    }

    /// The number of the step being taken.
    fn now(&self) -> u32 {
        self.marks.len() as u32 - 1
    }

    /// A location that has not been given yet.
    fn new_location(&mut self) -> u32 {
        self.locations += 1;
        self.locations - 1
    }

    #[inline]
    fn set_enabled(&mut self, p: u32, enabled: bool) {
        let process = ProcessId(p);
        if self.enabled.contains(process) == enabled {
            return;
        }
        if enabled {
            self.enabled.insert(process);
        } else {
            self.enabled.remove(process);
        }
        self.flips.push(p);
    }

    /// Remembers everything that the step of a process may change.
    fn mark(&mut self, p: u32) {
        let proc = &self.procs[p as usize];
        self.marks.push(Mark {
            process: p,
            core: proc.core,
            notified: proc.notified,
            locals: self.saved.len() as u32,
            written: self.memory.written() as u32,
            flips: self.flips.len() as u32,
            undo: self.undo.len() as u32,
            guards: self.guards.len() as u32,
            guard_locals: self.guard_locals.len() as u32,
            payload: self.payload.len() as u32,
            failures: self.failures.len() as u32,
            assumed: self.assumed,
        });
        self.saved.extend_from_slice(&proc.locals);
    }

    /// The locals that the process of a step had before it.
    fn saved_locals(&self, step: usize) -> &[i64] {
        let end = self.marks.get(step + 1).map_or(self.saved.len(), |next| next.locals as usize);
        &self.saved[self.marks[step].locals as usize..end]
    }

    /// Undoes the last step.
    fn undo_step(&mut self) {
        let Some(mark) = self.marks.pop() else { return };
        self.memory.undo(mark.written as usize);
        while self.flips.len() > mark.flips as usize {
            let process = ProcessId(self.flips.pop().unwrap_or_default());
            if self.enabled.contains(process) {
                self.enabled.remove(process);
            } else {
                self.enabled.insert(process);
            }
        }
        while self.undo.len() > mark.undo as usize {
            match self.undo.pop() {
                Some(Undo::Created(p)) => {
                    self.procs[p as usize].core.status = Status::Absent;
                    self.guarded.remove(ProcessId(p));
                }
                Some(Undo::Notified(p)) => self.procs[p as usize].notified = false,
                Some(Undo::Sent(p)) => {
                    self.procs[p as usize].inbox.pop();
                }
                Some(Undo::Taken(p, at)) => {
                    self.procs[p as usize].inbox[at as usize].taken_at = crate::code::NONE;
                }
                None => {}
            }
        }
        self.guards.truncate(mark.guards as usize);
        self.guard_locals.truncate(mark.guard_locals as usize);
        self.payload.truncate(mark.payload as usize);
        self.failures.truncate(mark.failures as usize);
        self.assumed = mark.assumed;
        let proc = &mut self.procs[mark.process as usize];
        if mark.core.wait != Wait::Free {
            self.guarded.insert(ProcessId(mark.process));
        } else if proc.core.wait != Wait::Free {
            self.guarded.remove(ProcessId(mark.process));
        }
        proc.core = mark.core;
        proc.notified = mark.notified;
        proc.locals.copy_from_slice(&self.saved[mark.locals as usize..]);
        self.saved.truncate(mark.locals as usize);
    }

    fn alternatives(&self, image: &Image, p: u32) -> u32 {
        let Some(proc) = self.procs.get(p as usize) else { return 1 };
        match image.lines[proc.core.pc as usize].instr {
            Instr::Choose { count, .. } => self.choices(image, p, count).unwrap_or(1),
            Instr::NotifyOne(condvar) => match self.condvar_cell(image, p, condvar) {
                Ok(cell) => self.waiters(cell).count().max(1) as u32,
                Err(_) => 1,
            },
            _ => 1,
        }
    }

    fn label_guard(&self, p: u32) -> Option<Guard> {
        let id = self.procs[p as usize].core.guard;
        let captured = self.guards.get(id as usize)?;
        Some(Guard { location: Location(captured.location), id: GuardId(id) })
    }
}

impl Run for LitmusRun {
    fn names(&self) -> &Names {
        &self.machine.names
    }

    fn depth(&self) -> usize {
        self.machine.marks.len()
    }

    fn memory(&self) -> usize {
        let machine = &self.machine;
        machine.marks.capacity() * size_of::<Mark>()
            + machine.undo.capacity() * size_of::<Undo>()
            + machine.guards.capacity() * size_of::<CapturedGuard>()
            + machine.flips.capacity() * size_of::<u32>()
            + (machine.saved.capacity() + machine.guard_locals.capacity() + machine.payload.capacity())
                * size_of::<i64>()
    }

    fn effort(&self) -> u64 {
        // A line costs a fraction of what a step costs.
        self.machine.lines_run >> 3
    }

    fn enabled(&self) -> &ProcessSet {
        &self.machine.enabled
    }

    fn alternatives(&self, process: ProcessId) -> u32 {
        self.machine.alternatives(&self.image, process.0)
    }

    fn waiting(&self, with: &mut dyn FnMut(ProcessId, Option<Guard>)) {
        for process in self.machine.guarded.iter() {
            if !self.machine.enabled.contains(process) {
                with(process, self.machine.label_guard(process.0));
            }
        }
    }

    fn step(&mut self, process: ProcessId, choice: u32, label: &mut Label) -> Result<(), Stop> {
        let refuted = self.refuted_by(process.0);
        self.machine.step(&self.image, process.0, choice, label)?;
        self.machine.failures.extend(refuted);
        Ok(())
    }

    fn rewind(&mut self, depth: usize) {
        while self.machine.marks.len() > depth {
            self.machine.undo_step();
        }
    }

    fn guard_holds_at(&self, guard: GuardId, depth: usize) -> bool {
        self.machine.guard_holds_at(&self.image, guard.0, depth as u32)
    }

    fn failures(&self) -> &[Failure] {
        &self.machine.failures
    }

    fn assumed(&self) -> bool {
        self.machine.assumed > 0
    }

    fn states(&self) -> Option<&dyn States> {
        Some(self)
    }

    fn goes_round(&self, process: ProcessId) -> bool {
        matches!(self.machine.procs[process.index()].core.wait, Wait::Change(_))
    }

    fn receives(&self) -> Option<&dyn Receives> {
        Some(self)
    }

    fn portable_names(&mut self) -> Option<&mut dyn PortableNames> {
        Some(self)
    }

    fn rounds(&self) -> Option<&dyn Rounds> {
        Some(self)
    }

    fn values(&self) -> Option<&dyn Values> {
        Some(self)
    }

    fn constraints(&mut self) -> Option<&mut dyn Constraints> {
        Some(self)
    }
}

impl Values for LitmusRun {
    fn value_at(&self, location: Location, depth: usize) -> Option<i64> {
        let has_value = location.0 < self.image.var_cells;
        has_value.then(|| self.machine.memory.at(location.0, depth as u32).0)
    }
}
