//! A program, and its runs: the state with what it takes to go back.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard};

use mazurka_constraints::{SearchSolver, Solver, Standing};
use mazurka_program::{
    Failure, FailureKind, Footprints, Guard, GuardId, Label, Location, Names, ProcessId, ProcessSet, Program,
    Receives, Rounds, Run, States, Stop,
};

use crate::constraints::{MethodPairs, judged};
use crate::model::Model;
use crate::value::Reference;

use super::code::{Image, NONE, SharedImage};
use super::commute::Blocks;
use super::compile::{compile, compile_condition};
use super::declared::OpenClaim;
use super::entity::{Cog, Object, Task, Wait};
use super::eval::Vm;
use super::guard::CapturedGuard;
use super::record::SegmentRecord;
use super::settings::{AwaitTrue, Dependence, Settings};
use super::store::Store;
use super::touch::Touches;

/// The location that all steps touch if who may run depends on everybody.
pub(super) const SCHEDULER: u32 = 0;
/// What stands for all futures where a segment may ask for one that can't be told beforehand.
pub(super) const ANY_FUTURE: u32 = 1;
/// The lock of the main block's cog.
pub(super) const MAIN_LOCK: u32 = 2;
/// All that is in the main block's cog.
pub(super) const MAIN_DATA: u32 = 3;
const FIXED_LOCATIONS: u32 = 4;

/// An ABS program that can be run.
pub struct Abs {
    image: SharedImage,
    pairs: MethodPairs,
    settings: Settings,
    found: Arc<Mutex<Discoveries>>,
    /// The constraints that are declared, and wrong.
    wrong: Arc<[Failure]>,
    /// Those that can't be told from the text.
    open: Arc<[OpenClaim]>,
    /// Whether this is for a part of a search: what is found out there stays to be told.
    is_part: bool,
}

/// What was found out about a program.
#[derive(Clone, Debug, Default)]
pub(super) struct Discoveries {
    /// The methods that throw what they do not catch.
    pub throwing: BTreeSet<u32>,
    /// Whether the names of objects or futures were seen to matter: they were put in order, or turned into
    /// text.
    pub names_matter: bool,
    /// Whether there is something new, since this was asked last.
    pub again: bool,
}

impl Abs {
    /// Compiles a checked program.
    pub fn new(model: Model, settings: Settings) -> Abs {
        let mut image = compile(&model);
        let (wrong, open) = claims(&model, &mut image);
        Abs {
            image: Arc::new(image),
            wrong: wrong.into(),
            open: open.into(),
            pairs: MethodPairs::new(Arc::new(model)),
            settings,
            found: Arc::default(),
            is_part: false,
        }
    }
}

impl Abs {
    /// The same program, whose searches ask this solver when steps commute.
    #[must_use]
    pub fn with_solver(mut self, solver: Solver) -> Abs {
        self.pairs.solver = SearchSolver::new(solver);
        self
    }

    /// Looks for the constraints of all methods before a search asks for them, which keeps what is found.
    pub fn find_constraints(&self) {
        for class in &self.image.classes {
            for &(_, first) in &class.methods {
                for &(_, second) in &class.methods {
                    self.pairs.pair(first, second);
                }
            }
        }
    }

    /// What went wrong with the solver that searches asked, in one sentence: they went on without it.
    pub fn solver_complaint(&self) -> Option<String> {
        self.pairs.solver.complaint()
    }

    /// Of the declared constraints that are neither proved nor refuted, in the order of the source: whether both orders
    /// are run where both methods are next in an object. They are not where tasks can be blocked between two segments,
    /// where a cog can have several objects, or under an order.
    pub fn tries_declared(&self) -> Vec<bool> {
        let (image, settings) = (&self.image, &self.settings);
        let any =
            !settings.is_scheduled() && !image.facts.has_local && settings.await_holds == AwaitTrue::Release;
        let can_block = |claim: &OpenClaim| {
            let body = image.methods[claim.methods[0] as usize].body;
            image.facts.classes[image.bodies[body as usize].class as usize].has_lock
        };
        self.open.iter().map(|claim| any && !can_block(claim)).collect()
    }
}

/// The failures of constraints that are declared, and wrong; and those of which nothing is known.
fn claims(model: &Model, image: &mut Image) -> (Vec<Failure>, Vec<OpenClaim>) {
    let (mut wrong, mut open) = (Vec::new(), Vec::new());
    for (row, (method, commutes)) in judged(model) {
        let place = image.place(commutes.span);
        match row.standing {
            Standing::Proved => {}
            Standing::Refuted(how) => {
                let message = format!("`{}` is wrong {how}", row.text);
                wrong.push(Failure { kind: FailureKind::Constraint, message, place, process: None });
            }
            Standing::Open(_) => {
                let condition = commutes.condition.as_ref();
                let condition = condition.map(|expr| compile_condition(image, expr, commutes.slots));
                let methods = [method.0, commutes.with.0];
                open.push(OpenClaim { methods, condition, text: row.text, place });
            }
        }
    }
    (wrong, open)
}

impl Program for Abs {
    type Run = AbsRun;

    fn start(&self, footprints: Footprints) -> AbsRun {
        AbsRun::new(self, footprints)
    }

    fn begin_again(&self) -> bool {
        let again = |mut found: MutexGuard<'_, Discoveries>| match self.is_part {
            true => found.again,
            false => std::mem::take(&mut found.again),
        };
        self.found.lock().is_ok_and(again)
    }

    fn part(&self) -> Option<Abs> {
        let known = self.found.lock().map(|found| Discoveries { again: false, ..found.clone() });
        let known = known.unwrap_or_default();
        let (image, pairs) = (self.image.clone(), self.pairs.clone());
        let (wrong, open) = (self.wrong.clone(), self.open.clone());
        let found = Arc::new(Mutex::new(known));
        Some(Abs { image, pairs, settings: self.settings, found, wrong, open, is_part: true })
    }

    fn take_up(&self, part: Abs) {
        // It began when all was known that is known now: what is found out ends a search as soon as it is taken up.
        if let (Ok(mut found), Ok(of_part)) = (self.found.lock(), part.found.lock())
            && of_part.again
        {
            *found = of_part.clone();
        }
    }
}

/// How long the logs were before a step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    tasks: u32,
    objects: u32,
    cogs: u32,
    flips: u32,
    guards: u32,
    failures: u32,
    cogs_made: u32,
    last_cog: u32,
    clock: u64,
}

/// An ABS program that has been started.
pub struct AbsRun {
    pub(super) image: SharedImage,
    pub(super) machine: Machine,
    /// When methods commute.
    pub(super) pairs: MethodPairs,
    pub(super) blocks: Blocks,
    /// The declared constraints that are tried.
    open: Arc<[OpenClaim]>,
}

/// The state of a run.
///
/// Invariants between steps: a task that is not done stands where [`Wait`] says; `enabled` holds those that
/// can go on, `unfinished` all that are not done. Numbers of objects and processes, and locations, once
/// given, stay given when the run goes back.
#[derive(Default)]
pub(super) struct Machine {
    pub settings: Settings,
    /// Whether labels are static footprints.
    pub foresees: bool,
    /// Whether labels that vary are refused.
    pub refuses: bool,
    pub scheduled: bool,
    pub found: Arc<Mutex<Discoveries>>,
    /// The methods known to throw when the run began.
    pub throwing: BTreeSet<u32>,
    /// Whether states are told with their names only.
    pub keeps_names: bool,
    /// Whether states were asked for up to renaming.
    pub renames: bool,
    /// Whether a guard told names apart by more than equality.
    pub guard_told_names: Cell<bool>,
    pub names: Names,
    pub tasks: Store<Option<Rc<Task>>>,
    pub objects: Store<Option<Rc<Object>>>,
    pub cogs: Store<Cog>,
    pub futures: Vec<Rc<Reference>>,
    pub future_locations: Vec<u32>,
    pub references: Vec<Rc<Reference>>,
    /// The first location of each object.
    pub bases: Vec<u32>,
    /// By creator and ordinal: objects by class.
    pub known_objects: Vec<Vec<Vec<(u32, u32)>>>,
    pub locations: u32,
    pub enabled: ProcessSet,
    pub unfinished: ProcessSet,
    /// Every change of the two sets, in order: twice the process, plus 1 for `unfinished`.
    flips: Vec<u32>,
    pub guards: Vec<CapturedGuard>,
    pub failures: Vec<Failure>,
    pub marks: Vec<Mark>,
    /// Under an order: who was enabled after each number of steps.
    pub history: Vec<ProcessSet>,
    /// The cogs in the order of their creation.
    pub cogs_made: Vec<u32>,
    /// The cog that ran last.
    pub last_cog: u32,
    /// Counts those who join queues.
    pub clock: u64,
    /// Whether the present step resolved a future.
    pub resolved: bool,
    pub touches: Touches,
    pub vm: Vm,
    /// How long the logs were when bytes were counted last, and the most that there were.
    pub measured: (usize, usize),
    /// How many operations segments and guards took so far.
    pub operations: Cell<u64>,
    /// What the present step does, if somebody wants to know.
    pub record: Option<Box<SegmentRecord>>,
}

impl Machine {
    /// Bytes of the lists of the machine itself.
    pub fn own_memory(&self) -> usize {
        self.flips.capacity() * size_of::<u32>()
            + self.guards.capacity() * size_of::<CapturedGuard>()
            + self.marks.capacity() * size_of::<Mark>()
    }

    /// Notes what a segment or a guard took of the operations that it may take.
    pub fn note_operations(&self, left: u64) {
        self.operations.set(self.operations.get() + self.settings.max_segment_steps.saturating_sub(left));
    }
}

impl AbsRun {
    fn new(program: &Abs, footprints: Footprints) -> AbsRun {
        let Abs { image, pairs, settings, found, wrong, open, .. } = program;
        let (image, settings, found) = (image.clone(), *settings, found.clone());
        let asked = footprints == Footprints::Static;
        let known = || found.lock().map(|found| (found.throwing.clone(), found.names_matter));
        let (throwing, names_matter) = known().unwrap_or_default();
        let mut machine = Machine {
            settings,
            foresees: match settings.dependence {
                Dependence::Default => asked,
                Dependence::Static => true,
                Dependence::Dynamic => false,
            },
            refuses: asked && settings.dependence == Dependence::Dynamic,
            scheduled: settings.is_scheduled(),
            found,
            throwing,
            // Under an order, who may run goes by numbers.
            keeps_names: names_matter || settings.is_scheduled(),
            locations: FIXED_LOCATIONS,
            cogs_made: vec![0],
            failures: wrong.to_vec(),
            vm: Vm::new(settings.max_segment_steps, settings.max_depth),
            ..Machine::default()
        };
        machine.start(&image);
        AbsRun { image, machine, pairs: pairs.clone(), blocks: Blocks::default(), open: open.clone() }
    }
}

impl Machine {
    /// Creates the task of the main block.
    fn start(&mut self, image: &Image) {
        let main = self.names.child(None, 0).0;
        self.meet_process(main);
        self.cogs.put(0, Cog::default());
        let task = Task::new(NONE, None, 0, self.frame(image, image.main, None, Vec::new()), 0);
        let task = self.arrive(image, main, task);
        self.tasks.put(main, Some(task));
        self.enabled.insert(ProcessId(main));
        self.unfinished.insert(ProcessId(main));
        if self.scheduled {
            self.history.push(self.enabled.clone());
        }
    }

    /// The number of the step being taken.
    #[inline]
    pub fn now(&self) -> u32 {
        self.marks.len() as u32 - 1
    }

    pub fn set_enabled(&mut self, p: u32, enabled: bool) {
        if self.enabled.contains(ProcessId(p)) != enabled {
            self.flip(p * 2);
        }
    }

    pub fn set_unfinished(&mut self, p: u32, unfinished: bool) {
        if self.unfinished.contains(ProcessId(p)) != unfinished {
            self.flip(p * 2 + 1);
        }
    }

    fn flip(&mut self, flip: u32) {
        self.toggle(flip);
        self.flips.push(flip);
    }

    fn toggle(&mut self, flip: u32) {
        let (set, process) = match flip % 2 {
            0 => (&mut self.enabled, ProcessId(flip / 2)),
            _ => (&mut self.unfinished, ProcessId(flip / 2)),
        };
        if set.contains(process) {
            set.remove(process);
        } else {
            set.insert(process);
        }
    }

    /// Remembers where the logs are, before a step.
    pub fn mark(&mut self) {
        self.marks.push(Mark {
            tasks: self.tasks.logged(),
            objects: self.objects.logged(),
            cogs: self.cogs.logged(),
            flips: self.flips.len() as u32,
            guards: self.guards.len() as u32,
            failures: self.failures.len() as u32,
            cogs_made: self.cogs_made.len() as u32,
            last_cog: self.last_cog,
            clock: self.clock,
        });
    }

    /// Undoes the last step.
    pub fn undo_step(&mut self) {
        let Some(mark) = self.marks.pop() else { return };
        self.tasks.undo(mark.tasks);
        self.objects.undo(mark.objects);
        self.cogs.undo(mark.cogs);
        while self.flips.len() > mark.flips as usize {
            let flip = self.flips.pop().unwrap_or_default();
            self.toggle(flip);
        }
        self.guards.truncate(mark.guards as usize);
        self.failures.truncate(mark.failures as usize);
        self.cogs_made.truncate(mark.cogs_made as usize);
        (self.last_cog, self.clock) = (mark.last_cog, mark.clock);
        self.history.truncate(self.marks.len() + 1);
    }

    /// A task that exists.
    #[inline]
    pub fn task(&self, p: u32) -> Option<&Rc<Task>> {
        self.tasks.get(p).as_ref()
    }
}

impl Run for AbsRun {
    fn names(&self) -> &Names {
        &self.machine.names
    }

    fn depth(&self) -> usize {
        self.machine.marks.len()
    }

    fn memory(&self) -> usize {
        self.machine.memory()
    }

    fn effort(&self) -> u64 {
        // An operation costs a fraction of what a segment costs.
        self.machine.operations.get() >> 3
    }

    fn enabled(&self) -> &ProcessSet {
        &self.machine.enabled
    }

    fn alternatives(&self, process: ProcessId) -> u32 {
        match self.machine.task(process.0).map(|task| &task.wait) {
            Some(Wait::Choosing(count)) => *count,
            _ => 1,
        }
    }

    fn waiting(&self, with: &mut dyn FnMut(ProcessId, Option<Guard>)) {
        for process in self.machine.unfinished.iter() {
            if !self.machine.enabled.contains(process) {
                with(process, self.machine.task(process.0).and_then(|task| self.machine.label_guard(task)));
            }
        }
    }

    fn step(&mut self, process: ProcessId, choice: u32, label: &mut Label) -> Result<(), Stop> {
        if self.open.is_empty() {
            return self.machine.step(&self.image, process.0, choice, label);
        }
        let refuted = self.machine.refuted_by(&self.image, process.0, &self.open);
        self.machine.step(&self.image, process.0, choice, label)?;
        let failures = &mut self.machine.failures;
        refuted.into_iter().for_each(|failure| match failures.contains(&failure) {
            true => {}
            false => failures.push(failure),
        });
        Ok(())
    }

    fn pending(&mut self, process: ProcessId, choice: u32, label: &mut Label) -> Result<(), Stop> {
        // Nothing is tried before a step that is not there to stay.
        let depth = self.depth();
        self.machine.step(&self.image, process.0, choice, label)?;
        self.rewind(depth);
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

    /// Labels must be of what was touched: a field that a method might have overwritten hides nothing.
    fn receives(&self) -> Option<&dyn Receives> {
        if self.machine.foresees { None } else { Some(self) }
    }

    fn failures(&self) -> &[Failure] {
        &self.machine.failures
    }

    fn assumed(&self) -> bool {
        false
    }

    fn states(&self) -> Option<&dyn States> {
        Some(self)
    }

    fn rounds(&self) -> Option<&dyn Rounds> {
        Some(self)
    }

    fn portable_names(&mut self) -> Option<&mut dyn mazurka_program::PortableNames> {
        Some(self)
    }

    /// Once this was asked, a step that makes names matter stops the run, as for [`Run::renaming`].
    fn constraints(&mut self) -> Option<&mut dyn mazurka_program::Constraints> {
        self.machine.renames = !self.machine.keeps_names;
        Some(self)
    }

    fn renaming(&mut self) -> Option<&mut dyn mazurka_program::Renaming> {
        self.machine.renames = !self.machine.keeps_names;
        if self.machine.renames { Some(self) } else { None }
    }
}

impl Receives for AbsRun {
    fn would_take(&self, _: usize, _: usize) -> bool {
        // No step sends to a mailbox: calls keep no order.
        false
    }
}

impl Machine {
    /// The guard that a task waits at, if others can undo it.
    pub fn label_guard(&self, task: &Task) -> Option<Guard> {
        let captured = self.guards.get(task.guard as usize)?;
        Some(Guard { location: Location(captured.location), id: GuardId(task.guard) })
    }
}
