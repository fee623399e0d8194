//! A plan as a program of the engine: a closure, and a run of it that also tells what its threads noted.

use std::cell::RefCell;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use mazurka::Checker;
use mazurka::mailbox::mailbox;
use mazurka::thread;
use mazurka_program::{
    Failure, FailureKind, Footprints, Guard, GuardId, Label, Names, ProcessId, ProcessSet, Program, Run,
    State, States, Stop,
};

use super::act::{Part, Stage, act};
use super::only::Own;
use super::plan::{Plan, Unfit};
use super::props::{Props, Storage, fits_statics};
use super::side::{Side, child};
use crate::random::Random;

/// What the closure's own thread is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Main {
    /// It is the last root.
    Root,
    /// It makes the roots and comes to its end.
    Leaves,
    /// It makes the roots and joins them.
    Joins,
    /// It makes the roots and looks whether they have come to their ends, which no process of the language does.
    Looks,
    /// It makes the roots in a scope.
    Scope,
}

/// How a closure brings its threads about; the classes must not depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// What the closure's own thread does when it has made the others.
    pub main: Main,
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
            0 => Main::Leaves,
            1 => Main::Joins,
            2 => Main::Looks,
            3 if !any_is_joined => Main::Scope,
            _ if last_is_joined => Main::Leaves,
            _ => Main::Root,
        };
        let storage = [Storage::Rows, Storage::Rows, Storage::Boxes, Storage::Statics][random.below(4)];
        let storage =
            if storage == Storage::Statics && !fits_statics(plan) { Storage::Rows } else { storage };
        let bound = [None, None, Some(0), Some(1)][random.below(4)];
        Shape { main, storage, panics: random.one_in(5), bound }
    }

    /// The name that a thread of the closure has as a process of the program. None for a thread that only makes others.
    pub fn process(self, plan: &Plan, path: &[u32]) -> Option<Vec<u32>> {
        let last = plan.roots.len() as u32 - 1;
        match path {
            [0] if self.main == Main::Root => Some(vec![last]),
            [0] => None,
            [0, child, rest @ ..] if self.main == Main::Root && *child >= last => {
                Some([&[last, child - last], rest].concat())
            }
            [_, rest @ ..] => Some(rest.to_vec()),
            [] => None,
        }
    }
}

/// A plan to be acted out in some shape.
pub(super) struct Show {
    plan: Arc<Plan>,
    shape: Shape,
    closure: Box<dyn Closure>,
    trouble: Arc<Mutex<Trouble>>,
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
    /// The notes of the run that is at work on this thread.
    static NOTES: RefCell<Option<Arc<Side>>> = const { RefCell::new(None) };
}

/// What no run should have.
#[derive(Clone, Debug, Default)]
pub(super) struct Trouble {
    /// Why a run could not go on.
    pub stop: Option<Stop>,
    pub unfit: Option<Unfit>,
    pub wrong: Option<String>,
}

impl Show {
    pub fn new(plan: Plan, shape: Shape) -> Show {
        static CHECKER: LazyLock<Checker> = LazyLock::new(Checker::new);
        let plan = Arc::new(plan);
        let acted = plan.clone();
        let body = move || {
            let side = NOTES.with_borrow(Clone::clone);
            side.iter().for_each(|side| open(&acted, side, shape));
        };
        let closure = Box::new(mazurka::engine::program(&CHECKER, body));
        Show { plan, shape, closure, trouble: Arc::default() }
    }

    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// A run was refused, which was to be expected.
    pub fn forget_stop(&self) {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).stop = None;
    }

    /// What has gone wrong in runs so far.
    pub fn trouble(&self) -> Trouble {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// What the closure does.
fn open(plan: &Arc<Plan>, side: &Arc<Side>, shape: Shape) {
    side.begin(&plan.vars);
    let (addresses, mut mailboxes): (Vec<_>, Vec<_>) = match plan.mailboxes {
        true => {
            plan.roots.iter().map(|_| mailbox()).map(|(address, mailbox)| (address, Some(mailbox))).unzip()
        }
        false => (Vec::new(), plan.roots.iter().map(|_| None).collect()),
    };
    let props = Arc::new(Props::new(plan, shape.storage, addresses, side.clone()));
    let stage = Stage { plan: plan.clone(), side: side.clone(), props, panics: shape.panics };
    let mut own = Own::new(plan.needs, &stage.props.only, shape.bound);
    let mut receiver = own.take_receiver();
    let mut parts = plan.roots.iter().zip(&mut mailboxes).enumerate().map(|(k, (root, mailbox))| Part {
        body: root.body,
        args: [root.index.unwrap_or(0), 0],
        id: child(0, k),
        mailbox: mailbox.take(),
        own: own.share().with_receiver(receiver.take()),
    });
    if shape.main == Main::Scope {
        return thread::scope(|scope| {
            for (k, part) in parts.enumerate() {
                let stage_of_root = stage.clone();
                let handle = scope.spawn(move || act(&stage_of_root, part));
                stage.props.put_thread(k, handle.thread().clone());
            }
        });
    }
    let threads = plan.roots.len() - usize::from(shape.main == Main::Root);
    for k in 0..threads {
        let (stage_of_root, Some(part)) = (stage.clone(), parts.next()) else { return };
        let handle = thread::spawn(move || act(&stage_of_root, part));
        stage.props.put_thread(k, handle.thread().clone());
        stage.props.put_root(k, handle);
    }
    let last = parts.next();
    drop(own);
    if let Some(part) = last {
        act(&stage, part);
    }
    let mine = |k: &usize| plan.roots[*k].joined_by.is_none();
    if shape.main == Main::Looks {
        let look = |k| stage.props.take_root(k).is_some_and(|handle| handle.is_finished());
        let finished: Vec<bool> = (0..threads).filter(mine).map(look).collect();
        let main = side.enter(child(0, MAIN));
        finished.into_iter().for_each(|finished| side.note(main, i64::from(finished)));
    }
    if shape.main == Main::Joins {
        for handle in (0..threads).filter(mine).filter_map(|k| stage.props.take_root(k)) {
            if handle.join().is_err() && !shape.panics && !plan.needs.panics {
                side.wrong(|| "a thread panicked".to_owned());
            }
        }
    }
}

/// What the closure's own thread is noted as, where it is no root.
const MAIN: usize = 1_000;

impl Program for Show {
    type Run = ShowRun;

    fn start(&self, footprints: Footprints) -> ShowRun {
        let panics = self.shape.panics || self.plan.needs.panics;
        let side = Arc::new(Side::new(self.plan.vars.len(), panics));
        NOTES.set(Some(side.clone()));
        let inner = self.closure.start(footprints);
        let mut run = ShowRun { inner, side, failures: Vec::new(), trouble: self.trouble.clone() };
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
pub(super) struct ShowRun {
    inner: Box<dyn Run>,
    side: Arc<Side>,
    failures: Vec<Failure>,
    trouble: Arc<Mutex<Trouble>>,
}

impl ShowRun {
    fn note(&mut self) {
        self.failures.clear();
        self.failures.extend(self.inner.failures().iter().cloned().map(|failure| match failure.kind {
            // Names of objects that are made by one line depend on who touches one first.
            FailureKind::Livelock => Failure { message: String::new(), ..failure },
            _ => failure,
        }));
        self.side.failures(&mut self.failures);
        let (unfit, wrong) = (self.side.is_unfit(), self.side.is_wrong());
        if unfit.is_some() || wrong.is_some() {
            let mut trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
            trouble.unfit = trouble.unfit.or(unfit);
            trouble.wrong = trouble.wrong.take().or(wrong);
        }
    }
}

impl Run for ShowRun {
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
        NOTES.set(Some(self.side.clone()));
        let result = self.inner.step(process, choice, label);
        self.note();
        if let Err(stop) = &result {
            let mut trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
            trouble.stop.get_or_insert_with(|| stop.clone());
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
}

impl States for ShowRun {
    fn state(&self) -> State {
        self.side.state()
    }
}
