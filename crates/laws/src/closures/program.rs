//! A plan as a program of the engine: a closure, and a run of it that also tells what its threads logged.

use std::cell::RefCell;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use mazurka::Checker;
use mazurka::mailbox::mailbox;
use mazurka::thread;
use mazurka_program::{
    Failure, FailureKind, Footprints, Guard, GuardId, Label, Names, ProcessId, ProcessSet, Program, Rounds,
    Run, State, States, Stop,
};

use super::interpreter::{ThreadContext, ThreadStart, run_thread};
use super::log::{Log, child};
use super::objects::{RootThread, SharedObjects, Storage, fits_statics};
use super::plan::{Plan, Unfit};
use super::rust_ops::OwnedObjects;
use crate::random::Random;

/// What the closure's own thread is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MainThread {
    /// It is the last root.
    Root,
    /// It makes the roots and comes to its end.
    Leaves,
    /// It makes the roots and joins them.
    Joins,
    /// It makes the roots and looks whether they have come to their ends, which no process of the language
    /// does.
    Looks,
    /// It makes the roots in a scope.
    Scope,
}

/// How a closure brings its threads about; the classes must not depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// What the closure's own thread does when it has made the others.
    pub main: MainThread,
    pub storage: Storage,
    /// What fails panics.
    pub panics: bool,
    /// The bound of a channel.
    pub bound: Option<usize>,
}

impl Shape {
    pub fn random(plan: &Plan, random: &mut Random) -> Shape {
        let last_is_joined = plan.roots.last().is_some_and(|root| root.joined_by.is_some());
        let any_is_joined = plan.roots.iter().any(|root| root.joined_by.is_some());
        let main = match random.below(12) {
            0 => MainThread::Leaves,
            1 => MainThread::Joins,
            2 => MainThread::Looks,
            3 if !any_is_joined => MainThread::Scope,
            _ if last_is_joined => MainThread::Leaves,
            _ => MainThread::Root,
        };
        let storage = [Storage::Rows, Storage::Rows, Storage::Boxes, Storage::Statics][random.below(4)];
        let storage =
            if storage == Storage::Statics && !fits_statics(plan) { Storage::Rows } else { storage };
        let bound = [None, None, Some(0), Some(1)][random.below(4)];
        Shape { main, storage, panics: random.one_in(5), bound }
    }

    /// The name that a thread of the closure has as a process of the program. None for a thread that only
    /// makes others.
    pub fn process(self, plan: &Plan, path: &[u32]) -> Option<Vec<u32>> {
        let last = plan.roots.len() as u32 - 1;
        match path {
            [0] if self.main == MainThread::Root => Some(vec![last]),
            [0] => None,
            [0, child, rest @ ..] if self.main == MainThread::Root && *child >= last => {
                Some([&[last, child - last], rest].concat())
            }
            [_, rest @ ..] => Some(rest.to_vec()),
            [] => None,
        }
    }
}

/// A plan to be acted out in some shape.
pub(super) struct ClosureProgram {
    plan: Arc<Plan>,
    shape: Shape,
    closure: Box<dyn Closure>,
    errors: Arc<Mutex<RunErrors>>,
    /// Whether threads note what their operations gave.
    notes_results: bool,
}

/// A closure of the library, whatever its type.
trait Closure {
    fn start(&self, footprints: Footprints) -> Box<dyn Run>;
    fn begin_again(&self) -> bool;
}

impl<P: Program<Run: 'static>> Closure for P {
    fn start(&self, footprints: Footprints) -> Box<dyn Run> {
        Box::new(Program::start(self, footprints))
    }

    fn begin_again(&self) -> bool {
        Program::begin_again(self)
    }
}

thread_local! {
    /// The log of the run that is at work on this thread.
    static LOG: RefCell<Option<Arc<Log>>> = const { RefCell::new(None) };
}

/// What kept runs from being compared.
#[derive(Clone, Debug, Default)]
pub(super) struct RunErrors {
    /// Why a run could not go on.
    pub stop: Option<Stop>,
    pub unfit: Option<Unfit>,
    pub wrong: Option<String>,
}

impl ClosureProgram {
    pub fn new(plan: Plan, shape: Shape) -> ClosureProgram {
        static CHECKER: LazyLock<Checker> = LazyLock::new(Checker::new);
        let plan = Arc::new(plan);
        let acted = plan.clone();
        let body = move || {
            let log = LOG.with_borrow(Clone::clone);
            log.iter().for_each(|log| main_thread(&acted, log, shape));
        };
        let closure = Box::new(mazurka::engine::program(&CHECKER, body));
        ClosureProgram { plan, shape, closure, errors: Arc::default(), notes_results: true }
    }

    /// The same for programs with loops, whose threads must be able to come back to where they were.
    pub fn with_loops(plan: Plan, shape: Shape) -> ClosureProgram {
        ClosureProgram { notes_results: false, ..ClosureProgram::new(plan, shape) }
    }

    /// What the library says of the closure, by a search that so many threads share, but for the time. It is cut into
    /// many parts. The closure has a log of its own in each execution: those of several run at the same time.
    pub fn shared_report(&self, jobs: usize) -> String {
        let (plan, shape) = (self.plan.clone(), self.shape);
        let panics = shape.panics || plan.needs.panics;
        let body = move || {
            let log = Arc::new(Log::new(plan.vars.len(), panics, true));
            main_thread(&plan, &log, shape);
        };
        let checker = Checker::new().keep_going(true).max_depth(200).parts(1, 3).jobs(jobs);
        let report = checker.name("closure").run(body).text();
        let timeless = |line: &str| match line.starts_with("executions: ") {
            true => line.rsplit_once("; ").map_or(String::new(), |parts| parts.0.to_owned()),
            false => line.to_owned(),
        };
        report.lines().map(timeless).collect::<Vec<_>>().join("\n")
    }

    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// A run was refused, which was to be expected.
    pub fn forget_stop(&self) {
        self.errors.lock().unwrap_or_else(PoisonError::into_inner).stop = None;
    }

    /// What has gone wrong in runs so far.
    pub fn errors(&self) -> RunErrors {
        self.errors.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// What the closure does.
fn main_thread(plan: &Arc<Plan>, log: &Arc<Log>, shape: Shape) {
    log.begin(&plan.vars);
    let (addresses, mut mailboxes): (Vec<_>, Vec<_>) = match plan.mailboxes {
        true => {
            plan.roots.iter().map(|_| mailbox()).map(|(address, mailbox)| (address, Some(mailbox))).unzip()
        }
        false => (Vec::new(), plan.roots.iter().map(|_| None).collect()),
    };
    let objects = Arc::new(SharedObjects::new(plan, shape.storage, addresses, log.clone()));
    let (panics, counts) = (shape.panics, log.has_results());
    let context = ThreadContext { plan: plan.clone(), log: log.clone(), objects, panics, counts };
    let mut owned = OwnedObjects::new(plan.needs, &context.objects.rust, shape.bound);
    let mut receiver = owned.receiver.take();
    let mut starts =
        plan.roots.iter().zip(&mut mailboxes).enumerate().map(|(k, (root, mailbox))| ThreadStart {
            body: root.body,
            args: [root.index.unwrap_or(0), 0],
            id: child(0, k),
            mailbox: mailbox.take(),
            owned: owned.share(receiver.take()),
        });
    if shape.main == MainThread::Scope {
        return thread::scope(|scope| {
            for (k, start) in starts.enumerate() {
                let of_root = context.clone();
                let handle = scope.spawn(move || run_thread(&of_root, start));
                context.objects.root(k).thread = Some(handle.thread().clone());
            }
        });
    }
    let threads = plan.roots.len() - usize::from(shape.main == MainThread::Root);
    for k in 0..threads {
        let (of_root, Some(start)) = (context.clone(), starts.next()) else { return };
        let handle = thread::spawn(move || run_thread(&of_root, start));
        let thread = Some(handle.thread().clone());
        *context.objects.root(k) = RootThread { handle: Some(handle), thread };
    }
    let last = starts.next();
    drop(owned);
    if let Some(start) = last {
        run_thread(&context, start);
    }
    let mine = |k: &usize| plan.roots[*k].joined_by.is_none();
    let handle = |k: usize| context.objects.root(k).handle.take();
    if shape.main == MainThread::Looks {
        let look = |k| handle(k).is_some_and(|handle| handle.is_finished());
        let finished: Vec<bool> = (0..threads).filter(mine).map(look).collect();
        let main = log.enter(child(0, MAIN));
        finished.into_iter().for_each(|finished| log.note(main, i64::from(finished)));
    }
    if shape.main == MainThread::Joins {
        for handle in (0..threads).filter(mine).filter_map(handle) {
            if handle.join().is_err() && !shape.panics && !plan.needs.panics {
                log.wrong(|| "a thread panicked".to_owned());
            }
        }
    }
}

/// What the closure's own thread is noted as, where it is no root.
const MAIN: usize = 1_000;

impl Program for ClosureProgram {
    type Run = ClosureRun;

    fn start(&self, footprints: Footprints) -> ClosureRun {
        let panics = self.shape.panics || self.plan.needs.panics;
        let log = Arc::new(Log::new(self.plan.vars.len(), panics, self.notes_results));
        LOG.set(Some(log.clone()));
        let inner = self.closure.start(footprints);
        let mut run = ClosureRun { inner, log, failures: Vec::new(), errors: self.errors.clone() };
        run.note();
        run
    }

    fn begin_again(&self) -> bool {
        let again = self.closure.begin_again();
        if again {
            self.forget_stop();
        }
        again
    }
}

/// A run of the closure.
pub(super) struct ClosureRun {
    inner: Box<dyn Run>,
    log: Arc<Log>,
    failures: Vec<Failure>,
    errors: Arc<Mutex<RunErrors>>,
}

impl ClosureRun {
    fn note(&mut self) {
        self.failures.clear();
        self.failures.extend(self.inner.failures().iter().cloned().map(|failure| match failure.kind {
            // Names of objects that are made by one line depend on who touches one first.
            FailureKind::Livelock => Failure { message: String::new(), ..failure },
            _ => failure,
        }));
        self.log.failures(&mut self.failures);
        let (unfit, wrong) = self.log.errors();
        if unfit.is_some() || wrong.is_some() {
            let mut errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
            errors.unfit = errors.unfit.or(unfit);
            errors.wrong = errors.wrong.take().or(wrong);
        }
    }
}

impl Run for ClosureRun {
    fn names(&self) -> &Names {
        self.inner.names()
    }

    fn depth(&self) -> usize {
        self.inner.depth()
    }

    fn enabled(&self) -> &ProcessSet {
        self.inner.enabled()
    }

    fn alternatives(&self, process: ProcessId) -> u32 {
        self.inner.alternatives(process)
    }

    fn waiting(&self, with: &mut dyn FnMut(ProcessId, Option<Guard>)) {
        self.inner.waiting(with);
    }

    fn step(&mut self, process: ProcessId, choice: u32, label: &mut Label) -> Result<(), Stop> {
        // The execution may have to be begun again for it.
        LOG.set(Some(self.log.clone()));
        let result = self.inner.step(process, choice, label);
        self.note();
        if let Err(stop) = &result {
            let mut errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
            errors.stop.get_or_insert_with(|| stop.clone());
        }
        result
    }

    fn rewind(&mut self, depth: usize) {
        self.inner.rewind(depth);
    }

    fn guard_holds_at(&self, guard: GuardId, depth: usize) -> bool {
        self.inner.guard_holds_at(guard, depth)
    }

    fn failures(&self) -> &[Failure] {
        &self.failures
    }

    fn assumed(&self) -> bool {
        self.inner.assumed()
    }

    fn states(&self) -> Option<&dyn States> {
        Some(self)
    }

    fn rounds(&self) -> Option<&dyn Rounds> {
        self.inner.rounds()
    }
}

impl States for ClosureRun {
    fn state(&self) -> State {
        self.log.state()
    }
}
