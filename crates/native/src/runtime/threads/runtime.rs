//! Everything that the threads of a program share, and they themselves, by how long it lives.
//!
//! The runtime is reached through a thread-local pointer, and by raw pointers: scheduler and thread take
//! turns, so that only one of them looks at it at a time. No reference to it is alive across a switch.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::ptr;

use mazurka_program::{Access, Failure, FailureKind, Label, Location, Names, Place, ProcessId, Stop};
use mazurka_threads::execution_state;
use mazurka_threads::guards::Guards;
use mazurka_threads::lifetime::{ExecutionState, Sparse};
use mazurka_threads::race_log::RaceLog;
use mazurka_threads::races;
use mazurka_threads::replay::mix;
use mazurka_threads::schedule::{Findings, Schedule};
use mazurka_threads::values::Values;
use mazurka_threads::waiters::Waiters;

use super::objects::{ObjectState, Objects};
use super::private_loop::PrivateLoop;
use super::races::{MetRaces, Site};
use super::script::Replay;
use super::snapshot::Snapshots;
use super::spin::WatchedCells;
use super::stops::Stops;
use super::thread::{Body, Thread, Threads};
use crate::runtime::memory::heap::Heap;
use crate::runtime::memory::image::Image;
use crate::runtime::memory::layout::{MAX_THREADS, Shadow, Slots};
use crate::runtime::memory::leaks::Leaks;
use crate::runtime::memory::shadow::Partition;
use crate::runtime::report::explain::StepExplanation;
use crate::runtime::sync::several::LockGroups;
use crate::runtime::system::exit::{Arguments, Handler};
use crate::runtime::system::registry::Registry;
use crate::runtime::system::time::Accessed;
use crate::runtime::{Options, Races};

/// The thread that runs `main`.
pub(crate) const MAIN: ProcessId = ProcessId(0);

thread_local! {
    /// The runtime whose threads ran last on this thread of the operating system.
    static RUNTIME: Cell<*mut Runtime> = const { Cell::new(ptr::null_mut()) };
}

/// The runtime of the modelled thread that runs here; null if none does.
#[inline(always)]
pub(crate) fn current() -> *mut Runtime {
    RUNTIME.with(Cell::get)
}

/// What runs a program.
pub(crate) struct Runtime {
    pub(crate) search: Search,
    pub(crate) execution: Execution,
    pub(crate) replay: Replay,
    pub(crate) step: StepState,
}

/// What is known for all executions: what the program is, what was found out about it, and what became of the
/// search.
pub(crate) struct Search {
    pub(crate) options: Options,
    pub(crate) partition: Partition,
    pub(crate) shadow: Shadow,
    pub(crate) slots: Slots,
    pub(crate) names: Names,
    pub(crate) objects: Objects,
    pub(crate) guards: Guards,
    pub(crate) watched: WatchedCells,
    pub(crate) registry: Registry,
    pub(crate) lock_groups: LockGroups,
    pub(crate) snapshots: Snapshots,
    pub(crate) leaks: Leaks,
    pub(crate) stops: Stops,
    pub(crate) met_races: MetRaces,
    /// Whether some atomic access was met that does not acquire all it reads and release all it
    /// writes.
    pub(crate) has_weak_order: bool,
    /// Constructors and destructors of the program.
    pub(crate) init: Vec<usize>,
    pub(crate) fini: Vec<usize>,
    /// What `main` is given.
    pub(crate) arguments: Arguments,
    /// Where the C library has the error number of this thread of the operating system.
    pub(crate) errno: *mut i32,
    /// Whether labels name all that a step might touch.
    pub(crate) static_footprints: bool,
    /// Whether some execution has asked what time it is: until then no clock matters.
    pub(crate) has_clock: bool,
    /// The functions that are one step each.
    pub(crate) atomic_functions: Vec<usize>,
    /// What was given values of some of many, if something was.
    pub(crate) sampled: Option<&'static str>,
    /// Whether some execution has waited at a condition variable.
    pub(crate) has_waits: bool,
    /// How many executions have come to their end.
    pub(crate) completed: u64,
    /// The run whose execution this is, and how many runs there were.
    pub(crate) owner: u64,
    pub(crate) runs: u64,
    /// How often a thread has been resumed: so that who runs for too long is noticed.
    pub(crate) turns: u64,
    /// Whether the next variable that is read and that nobody has written is to be a location.
    pub(crate) expose: bool,
    /// Whether it is looked at whether threads come back to where they were.
    pub(crate) rounds: bool,
    /// The longest execution that was looked at for loops, and how many were long enough for it.
    pub(crate) looked: (usize, u64),
    /// What is known of a thread that comes to nothing.
    pub(crate) private_loop: PrivateLoop,
    /// Whether somebody wants to know of accesses that others can't notice.
    pub(crate) attention: bool,
    /// The thread that was stopped in an endless loop last, and where it was.
    pub(crate) stuck: Option<(String, Place)>,
    /// Who was left in a loop that waits when the program had ended, and where, if anybody was.
    pub(crate) left_spinning: Option<String>,
    /// Set when the execution can't go on.
    pub(crate) fatal: Option<Stop>,
    /// What the program does that is not supported, if some execution has come to it.
    pub(crate) refused: Option<String>,
}

execution_state! {
    /// What an execution has. Some of it knows besides what all executions have in common, and says of itself
    /// what begins anew.
    pub(crate) struct Execution, saved as SavedExecution {
        pub(crate) schedule: Schedule,
        pub(crate) findings: Findings,
        pub(crate) threads: Threads,
        pub(crate) heap: Heap,
        /// The program in memory. Its variables are those of the execution.
        pub(crate) image: Image,
        pub(crate) values: Values,
        /// By location.
        pub(crate) objects: Sparse<ObjectState>,
        /// Who reads which locks, as often as it does.
        pub(crate) readers: Vec<(Location, ProcessId)>,
        pub(crate) waiters: Waiters,
        pub(crate) races: races::Races<Site>,
        /// What races were judged by, to compare parts of the execution.
        pub(crate) race_log: RaceLog,
        /// By location.
        pub(crate) times: Sparse<Accessed>,
        /// The races that it has told, by their numbers.
        pub(crate) races_told: Sparse<()>,
        /// A digest of what the names of its threads depend on: who was created, to do what.
        pub(crate) names: u64,
        pub(crate) output: Vec<u8>,
        /// What is to be called at the end.
        pub(crate) at_exit: Vec<Handler>,
        /// The destructors of keys; none if a key was deleted.
        pub(crate) keys: Vec<Option<usize>>,
        /// What steps touch that touch several locations: frames that are suspended own nothing.
        pub(crate) touched: Vec<Access>,
        /// Whether a thread but the first has been created: what the first does before that is before
        /// everything.
        pub(crate) concurrent: bool,
        /// Whether the program has ended, or a thread has failed: who waits then waits for nothing amiss.
        pub(crate) over: bool,
    }
}

/// What a step needs while it is taken.
#[derive(Default)]
pub(crate) struct StepState {
    pub(crate) label: Label,
    /// Watched cells that the running thread writes, and in which step: what they hold then is not noted yet.
    pub(crate) written: Vec<(Location, u32)>,
    /// What people are told, if they are.
    pub(crate) explanation: Option<StepExplanation>,
}

impl StepState {
    /// An execution begins, or goes on elsewhere.
    pub(crate) fn begin(&mut self) {
        self.label.clear();
        self.written.clear();
    }
}

impl Runtime {
    pub(crate) fn new(image: Image, options: Options) -> Result<Runtime, String> {
        let slots =
            Slots::new(options.stack_size).map_err(|error| format!("no room for threads: {error}"))?;
        let shadow = Shadow::new(&slots, image.variables.start, image.variables.len())
            .map_err(|error| format!("no room for what is known of memory: {error}"))?;
        let mut partition = Partition::default();
        let registry = Registry::new(&mut partition);
        let mut races = races::Races::default();
        races.enabled = options.races == Races::Report;
        let execution = Execution {
            schedule: Schedule::default(),
            findings: Findings::default(),
            threads: Threads::default(),
            heap: Heap::new(&slots).map_err(|error| format!("no room for the heap: {error}"))?,
            image,
            values: Values::default(),
            objects: Sparse::default(),
            readers: Vec::new(),
            waiters: Waiters::default(),
            races,
            race_log: RaceLog::default(),
            times: Sparse::default(),
            races_told: Sparse::default(),
            names: 0,
            output: Vec::new(),
            at_exit: Vec::new(),
            keys: Vec::new(),
            touched: Vec::new(),
            concurrent: false,
            over: false,
        };
        let search = Search {
            partition,
            shadow,
            slots,
            names: Names::new(),
            objects: Objects::default(),
            guards: Guards::default(),
            watched: WatchedCells::default(),
            registry,
            lock_groups: LockGroups::default(),
            snapshots: Snapshots::default(),
            leaks: Leaks::default(),
            stops: Stops::default(),
            met_races: MetRaces::default(),
            has_weak_order: false,
            init: Vec::new(),
            fini: Vec::new(),
            arguments: Arguments::new(&options.arguments, options.stack_size)?,
            errno: ptr::null_mut(),
            static_footprints: false,
            has_clock: false,
            atomic_functions: Vec::new(),
            sampled: None,
            has_waits: false,
            completed: 0,
            owner: 0,
            runs: 0,
            turns: 0,
            expose: false,
            rounds: false,
            looked: (0, 0),
            private_loop: PrivateLoop::default(),
            attention: false,
            stuck: None,
            left_spinning: None,
            fatal: None,
            refused: None,
            options,
        };
        Ok(Runtime { search, execution, replay: Replay::default(), step: StepState::default() })
    }

    /// The thread that runs.
    #[inline]
    pub(crate) fn running(&self) -> ProcessId {
        self.execution.schedule.running
    }

    #[inline]
    pub(crate) fn thread(&self, process: ProcessId) -> &Thread {
        &self.execution.threads[process]
    }

    #[inline]
    pub(crate) fn thread_mut(&mut self, process: ProcessId) -> &mut Thread {
        &mut self.execution.threads[process]
    }

    #[inline]
    pub(crate) fn me(&mut self) -> &mut Thread {
        let running = self.running();
        &mut self.execution.threads[running]
    }

    /// Begins an execution: everything is as it was before the first, and `main` is about to start.
    pub(crate) fn begin_execution(&mut self) {
        self.execution.begin();
        self.step.begin();
        self.add(None, 0, Body::Main);
    }

    /// Creates a thread, which is started before the present step ends. None if there are too many.
    pub(crate) fn add(&mut self, parent: Option<ProcessId>, ordinal: u32, body: Body) -> Option<ProcessId> {
        let process = self.search.names.child(parent, ordinal);
        if process.index() >= MAX_THREADS {
            self.fail(Stop::Bound(format!("the program has more than {MAX_THREADS} threads")));
            return None;
        }
        let Runtime { search, execution: Execution { threads, schedule, names, .. }, .. } = self;
        while threads.list.len() <= process.index() {
            let slot = match search.slots.open(ProcessId(threads.list.len() as u32)) {
                Ok(slot) => slot,
                Err(error) => {
                    self.fail(Stop::Bound(format!("no memory for a thread: {error}")));
                    return None;
                }
            };
            let locations = std::array::from_fn(|_| search.partition.other());
            threads.list.push(Thread::new(slot, locations));
        }
        let reserved = if process == MAIN { search.arguments.size } else { 0 };
        threads[process].start(body, reserved);
        *names = mix(mix(*names, process.0.into()), body.function() as u64);
        schedule.created.push(process);
        schedule.starting.push(process);
        Some(process)
    }

    /// Ends the execution, and with it the search.
    pub(crate) fn fail(&mut self, stop: Stop) {
        self.search.fatal.get_or_insert(stop);
    }

    /// The program does what is not supported, which ends the search.
    pub(crate) fn refuse(&mut self, message: String) {
        self.search.refused.get_or_insert_with(|| message.clone());
        self.fail(Stop::Unsupported(message));
    }

    /// Notes that something is wrong with the program.
    pub(crate) fn report(&mut self, kind: FailureKind, message: String, place: usize) {
        let process = self.running();
        let place = self.place_of(process, place).or_else(|| self.place(place));
        self.execution.findings.report(Failure { kind, message, place, process: Some(process) });
    }

    /// Makes this the runtime whose threads run on this thread of the operating system.
    #[inline]
    pub(crate) fn enter(&mut self) {
        let runtime: *mut Runtime = self;
        RUNTIME.with(|cell| cell.set(runtime));
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        let runtime: *mut Runtime = self;
        let _ = RUNTIME.try_with(|cell| {
            if cell.get() == runtime {
                cell.set(ptr::null_mut())
            }
        });
    }
}
