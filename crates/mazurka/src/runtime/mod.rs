//! What runs modelled programs: processes as coroutines on one thread of the operating system, and the
//! runtime they share.
//!
//! A process runs until it comes to an [operation](operation::Operation), leaves word of it and suspends
//! itself. The scheduler ([`run`]) takes the step when the search says so, and resumes the process, which
//! runs on to its next operation. The runtime is reached through a thread-local pointer, and by raw pointers:
//! scheduler and process take turns, so that only one of them looks at it at a time. No reference to it is
//! alive across a switch.
#![allow(unsafe_code)]

pub(crate) mod allocator;
pub(crate) mod arcs;
mod arena;
mod arrive;
mod block;
mod claims;
mod clock;
pub(crate) mod confined;
pub(crate) mod discoveries;
mod ending;
mod execution;
pub(crate) mod exit;
mod explain;
pub(crate) mod heap;
pub(crate) mod identity;
pub(crate) mod leaks;
mod learned;
pub(crate) mod operation;
mod overflow;
mod panics;
mod portable;
pub(crate) mod primitives;
mod process;
mod quiet;
pub(crate) mod races;
mod reach;
mod recycled;
mod region;
mod rounds;
pub(crate) mod run;
mod script;
mod shadow;
pub(crate) mod spin;
mod stacks;
pub(crate) mod statics;
pub(crate) mod strangers;

use std::cell::Cell;
use std::mem::take;
use std::panic::Location as Caller;
use std::ptr::{self, NonNull};

use mazurka_program::{Failure, FailureKind, Guard, Label, Location, Names, Place, ProcessId, Stop};

use crate::checker::Spurious;
use crate::checker::heartbeat::Heartbeat;
use allocator::Log;
use arcs::Arcs;
use clock::Clocks;
use discoveries::Discoveries;
use explain::StepText;
use identity::{Base, MAX_LOCATIONS, NameTable, Object, OwnKind, image};
use leaks::Living;
use mazurka_threads::execution_state;
use mazurka_threads::guards::Guards;
use mazurka_threads::race_log::RaceLog;
use mazurka_threads::races::Races;
use mazurka_threads::rounds::{Last, RoundNotes};
use mazurka_threads::schedule::{Findings, Schedule};
use mazurka_threads::spin::Groups;
use mazurka_threads::values::Values;
use mazurka_threads::waiters::Waiters;
use operation::{Operation, StepAccount, Wait};
pub(crate) use process::Body;
use process::{Panicked, Process, Status};
use recycled::Recycled;
use script::TakenStep;
use spin::Extent;
pub(crate) use spin::Whole;
use stacks::Stacks;
use statics::Statics;

pub(crate) use arrive::{
    Arrival, end_of_thread, is_end_of_execution, note_panic, operate, stop_here, stop_without,
};
pub(crate) use explain::process_name;
pub(crate) use panics::{install_hook, message_of};

thread_local! {
    /// The runtime of the check that runs on this thread, while one of its processes runs. Null otherwise.
    static RUNTIME: Cell<*mut Runtime> = const { Cell::new(ptr::null_mut()) };
}

thread_local! {
    /// Whether a check has left something undone on this thread: a coroutine that was given up, a panic that
    /// goes on for ever.
    static UNFIT: Cell<bool> = const { Cell::new(false) };
}

/// Whether another check can run on this thread.
pub(crate) fn is_thread_fit() -> bool {
    !UNFIT.get() && !std::thread::panicking()
}

/// The log of allocations, while a modelled process runs on this thread.
#[inline]
fn log() -> Option<*mut Log> {
    // While a thread ends its variables are gone, and so is its check.
    let Ok(runtime) = RUNTIME.try_with(Cell::get) else { return None };
    if runtime as usize == 0 {
        return None;
    }
    // SAFETY: the runtime is alive while a process of it runs; no reference is made.
    unsafe { Some(&raw mut (*runtime).execution.log) }
}

/// The runtime, for an operation of a modelled process. None outside of a check.
#[inline]
pub(crate) fn current() -> Option<NonNull<Runtime>> {
    NonNull::new(RUNTIME.with(Cell::get))
}

/// Whether a modelled process runs here.
#[inline]
pub(crate) fn in_check() -> bool {
    current().is_some()
}

/// What a handler of signals may look at: who watches the check, and whether its execution is being
/// abandoned.
///
/// # Safety
/// The runtime must be that of a check whose process runs on this thread.
#[cfg_attr(not(all(target_os = "linux", target_arch = "x86_64")), allow(dead_code))]
unsafe fn shown_to_handler(runtime: NonNull<Runtime>) -> (*const Heartbeat, bool) {
    let runtime = runtime.as_ptr();
    // SAFETY: the runtime is alive. The process that was interrupted may have a reference to it, but is not
    // resumed while these are looked at, and neither of them is changed while a process runs.
    unsafe { (std::sync::Arc::as_ptr(&(*runtime).search.heartbeat), (*runtime).execution.ending) }
}

/// Does something with the runtime, for a modelled process. The function must not suspend the process.
///
/// None outside of a check.
#[inline]
pub(crate) fn with_runtime<T>(f: impl FnOnce(&mut Runtime) -> T) -> Option<T> {
    let runtime = RUNTIME.with(Cell::get);
    // Calls of nothing that need not be called: this is done at every operation, and not always optimised.
    if runtime as usize == 0 {
        return None;
    }
    // SAFETY: the pointer is to the runtime of this thread, whose scheduler waits for the running process;
    // the process is here, and `f` neither suspends it nor calls foreign code, so that this is the only
    // reference.
    let runtime = unsafe { &mut *runtime };
    // What the runtime allocates for itself is no allocation of the process.
    let before = runtime.execution.log.pause(true);
    let result = f(runtime);
    runtime.execution.log.pause(before);
    Some(result)
}

/// Runs a function of the user's that is called within a step: for it there is no check.
pub(crate) fn outside_runtime<T>(f: impl FnOnce() -> T) -> T {
    struct Restore(*mut Runtime);
    impl Drop for Restore {
        fn drop(&mut self) {
            RUNTIME.with(|cell| cell.set(self.0));
        }
    }
    let _restore = Restore(RUNTIME.with(|cell| cell.replace(ptr::null_mut())));
    f()
}

/// What is known of a location for people.
#[derive(Clone, Copy)]
pub(crate) struct Described {
    pub(crate) kind: &'static str,
    pub(crate) created: &'static Caller<'static>,
}

/// What runs a check: what is known for the whole search, what the present execution has, and what the step
/// that is being taken needs; and the records of processes, whose memory stays from execution to execution.
pub(crate) struct Runtime {
    pub(crate) search: Search,
    pub(crate) execution: Execution,
    pub(crate) step: StepState,
    pub(crate) processes: Vec<Process>,
}

/// What is known for the whole search.
pub(crate) struct Search {
    /// The numbers of the next executions.
    stamps: std::ops::Range<u64>,
    pub(crate) names: Names,
    table: NameTable,
    described: Vec<Option<Described>>,
    stacks: Stacks,
    guards: Guards,
    /// Locations that count as one for those who spin on them.
    groups: Groups,
    /// What it takes to look for rounds, if they are looked for.
    loops: Option<rounds::Loops>,
    /// How what processes do to memory is known, if they seem to spin.
    memory: quiet::Memory,
    /// Whether nothing was found out that makes more of a step than what it does to its location: no groups, no
    /// cells that are watched, no rounds.
    is_simple: bool,
    /// Memory for the state of a process that may spin.
    spare_words: Vec<usize>,
    /// Whether processes spin in deep frames.
    is_deep: bool,
    /// Whether rounds can't be looked for, whatever loops are found.
    without_rounds: bool,
    /// The steps taken, or, while they are taken again, to be taken.
    script: Vec<TakenStep>,
    /// So many steps of the script are taken again: a process takes its own without being asked.
    scripted: u32,
    /// Set when the execution can't go on.
    fatal: Option<Stop>,
    /// A process is stuck within a panic: this thread can't run modelled code any more.
    spoiled: bool,
    /// The first use of an ordering weaker than `SeqCst`.
    pub(crate) weak_ordering: Option<&'static Caller<'static>>,
    /// Whether labels name all that a step might touch.
    pub(crate) foresee: bool,
    /// Whether processes that wait at the end of an execution are left where they are, with all that they
    /// hold.
    leaves_stacks: bool,
    /// Whether executions that are not finished are run to their end before what still waits is unwound.
    runs_out: bool,
    /// How many coroutines were given up.
    abandoned: u32,
    /// Whether the end of a thread is a step.
    pub(crate) ends_are_steps: bool,
    /// Who watches the check.
    heartbeat: std::sync::Arc<Heartbeat>,
    /// Of the processes that were announced there: where each was created.
    announced: Vec<Option<&'static Caller<'static>>>,
    pub(crate) discoveries: std::sync::Arc<Discoveries>,
    /// What may happen of itself.
    pub(crate) spurious: Spurious,
    /// Where something is claimed of atomic blocks, and whether it was tried.
    claims: Vec<(&'static Caller<'static>, bool)>,
    /// While both orders of two blocks are run: after so many steps they come.
    trying: Option<u32>,
}

execution_state! {
    /// What an execution has: all of it begins anew in the next one.
    #[derive(Default)]
    pub(crate) struct Execution {
        /// The number of this execution.
        pub(crate) stamp: u64,
        pub(crate) schedule: Schedule,
        pub(crate) values: Values,
        pub(crate) findings: Findings,
        pub(crate) waiters: Waiters,
        races: Races<&'static Caller<'static>>,
        clocks: Clocks,
        /// What its steps changed, if rounds are looked for, and the memory that this is told by.
        rounds: RoundNotes<rounds::Stand>,
        shadow: shadow::Shadow,
        race_log: RaceLog,
        /// What its processes have allocated.
        log: Log,
        statics: Statics,
        /// What is known of the `Arc`s whose handles are followed.
        pub(crate) arcs: Arcs,
        pub(crate) living: Living,
        /// The panics that ended processes, in order.
        pub(crate) panics: Vec<Panicked>,
        /// The last panic, as the hook saw it.
        last_panic: Option<Panicked>,
        /// Where locks were taken, for people.
        pub(crate) acquired: Vec<(Location, ProcessId, &'static Caller<'static>)>,
        poisoned: Vec<Location>,
        /// The locations that it has met, in that order.
        met: Vec<Location>,
        /// How many operations processes have come to, and accesses of cells that are watched.
        pub(crate) operations: u64,
        /// Where the atomic block is that the running process is in.
        within: Option<&'static Caller<'static>>,
        /// What came of the blocks that are tried.
        tried: Vec<claims::Tried>,
        /// Whether it is no longer of interest: it is run to its end, or abandoned.
        leaving: bool,
        /// Whether it is being abandoned: its processes unwind.
        ending: bool,
    }
}

/// What the step that is being taken needs.
#[derive(Default)]
pub(crate) struct StepState {
    pub(crate) label: Label,
    /// Whether it has left everything as it was.
    pub(crate) silent: bool,
    /// How many operations the running process did while it unwound, since it was resumed.
    unwound: u32,
    pub(crate) story: Option<StepAccount>,
    /// What tells what was done in its atomic block from what else could have been.
    within: u64,
    /// What is told of the step that was taken last.
    told: StepText,
}

impl Runtime {
    /// A runtime that shows itself to who watches, made of what an earlier one left.
    fn new(stack_size: usize, heartbeat: &std::sync::Arc<Heartbeat>, recycled: &mut Recycled) -> Runtime {
        let stacks = recycled.stacks.take().filter(|stacks| stacks.size() == stack_size);
        let search = Search {
            stamps: 0..0,
            names: Names::new(),
            table: take(&mut recycled.table),
            described: take(&mut recycled.described),
            stacks: stacks.unwrap_or_else(|| Stacks::new(stack_size)),
            guards: take(&mut recycled.guards),
            groups: Groups::default(),
            loops: None,
            memory: quiet::Memory::default(),
            is_simple: true,
            spare_words: Vec::new(),
            is_deep: false,
            without_rounds: false,
            script: take(&mut recycled.script),
            scripted: 0,
            fatal: None,
            spoiled: false,
            weak_ordering: None,
            foresee: false,
            leaves_stacks: false,
            runs_out: true,
            abandoned: 0,
            ends_are_steps: false,
            heartbeat: heartbeat.clone(),
            announced: Vec::new(),
            discoveries: std::sync::Arc::default(),
            spurious: Spurious::default(),
            claims: Vec::new(),
            trying: None,
        };
        let (execution, step) = (take(&mut recycled.execution), take(&mut recycled.step));
        Runtime { search, execution, step, processes: take(&mut recycled.processes) }
    }

    /// The process that runs now.
    #[inline(always)]
    pub(crate) fn running(&self) -> ProcessId {
        self.execution.schedule.running
    }

    /// What a location holds.
    #[inline(always)]
    pub(crate) fn value(&self, location: Location) -> u64 {
        self.execution.values.get(location)
    }

    #[inline(always)]
    pub(crate) fn process(&self, process: ProcessId) -> &Process {
        &self.processes[process.0 as usize]
    }

    #[inline(always)]
    pub(crate) fn process_mut(&mut self, process: ProcessId) -> &mut Process {
        &mut self.processes[process.0 as usize]
    }

    /// The location of an object, part of a whole that others may change, which holds `first` if it is new to
    /// the execution.
    #[inline]
    pub(crate) fn locate(
        &mut self,
        object: &Object,
        whole: impl FnOnce() -> Whole,
        kind: &'static str,
        first: impl FnOnce() -> u64,
    ) -> Location {
        match object.location(self.execution.stamp) {
            Some(location) => location,
            None => self.locate_first(object, whole(), kind, first),
        }
    }

    /// A function of its own, so that nothing of it is in the frame of the caller, which may be compared:
    /// that an object is not known there says nothing but that another check uses the same static.
    #[cold]
    #[inline(never)]
    fn locate_first(
        &mut self,
        object: &Object,
        whole: Whole,
        kind: &'static str,
        first: impl FnOnce() -> u64,
    ) -> Location {
        let (location, new) = self.claim(object, kind);
        self.share(whole.around(Extent::of(object), location));
        if new {
            self.execution.values.init(location, first());
        }
        location
    }

    /// Names an object that has no location yet; tells whether it is new to the execution.
    #[cold]
    fn claim(&mut self, object: &Object, kind: &'static str) -> (Location, bool) {
        let (location, new) = match self.base_of(object.address()) {
            Some(base @ Base::Static { .. }) => {
                let (location, new) = self.search.table.only_at(base, self.execution.stamp);
                self.execution.statics.note(location);
                (location, new)
            }
            Some(_) if object.is_outside() => return (self.foreign(object, kind), false),
            Some(base) => (self.search.table.next_at(base, self.execution.stamp), true),
            None => return (self.foreign(object, kind), false),
        };
        if location.0 >= MAX_LOCATIONS {
            self.fail(Stop::Bound(format!("the check has more than {MAX_LOCATIONS} objects")));
        }
        // A static that others use too, in another execution, loses its location now and then: it was met before.
        if new {
            self.describe(location, Described { kind, created: object.created() });
        }
        object.set_location(self.execution.stamp, location);
        (location, new)
    }

    /// What an address is named by; none if it belongs to nothing that the check knows.
    pub(crate) fn base_of(&self, address: usize) -> Option<Base> {
        if let Some(address) = self.execution.statics.origin(address) {
            return Some(Base::Copied { address });
        }
        if let Some(base) = self.execution.log.name(address) {
            return Some(base);
        }
        let on_stack = |p: &&ProcessId| {
            let (limit, base) = self.process(**p).stack;
            self.process(**p).has_stack() && (limit..base).contains(&address)
        };
        if let Some(&process) = self.execution.schedule.created.iter().rev().find(on_stack) {
            return Some(Base::Stack { process, offset: self.process(process).stack.1 - address });
        }
        image::is_static(address).then_some(Base::Static { address })
    }

    /// An object that can't take part: the execution can't go on.
    fn foreign(&mut self, object: &Object, kind: &'static str) -> Location {
        let hint = if cfg!(feature = "allocator") {
            "make it within the closure that is checked, so that it is a new one in each execution"
        } else {
            "make it within the closure that is checked; for objects on the heap, the feature `allocator` must be on \
             or mazurka::Allocator be the global allocator"
        };
        let made = object.created();
        let message = match object.is_outside() && self.base_of(object.address()).is_some() {
            true => format!(
                "the {kind} made at {made} was used by a thread that is none of this check, and can't take part in it any \
                 more. Threads that share it have to be those of mazurka::thread, not of std::thread; and what was used \
                 before the check can't be brought into it: {hint}"
            ),
            false => format!("the {kind} made at {made} is not known to this check; {hint}"),
        };
        self.fail(Stop::Broken(Failure {
            kind: FailureKind::InvalidSync,
            message,
            place: Some(place_of(object.created())),
            process: None,
        }));
        self.search.table.only_at(Base::Static { address: 0 }, self.execution.stamp).0
    }

    /// The location of something that a process has by its nature.
    pub(crate) fn own(&mut self, process: ProcessId, kind: OwnKind, ordinal: u32) -> Location {
        self.search.table.only_at(Base::Own { process, kind, ordinal }, self.execution.stamp).0
    }

    /// The location of the next thing of a kind that a process makes.
    pub(crate) fn make(&mut self, process: ProcessId, kind: OwnKind) -> Location {
        let state = self.process_mut(process);
        let made = &mut state.made[kind as usize];
        let ordinal = *made;
        *made += 1;
        if let Some(&known) = state.own[kind as usize].get(ordinal as usize) {
            return known;
        }
        let location = self.own(process, kind, ordinal);
        self.process_mut(process).own[kind as usize].push(location);
        location
    }

    /// The location of the end of a process: 1 when it has ended.
    pub(crate) fn end_of(&mut self, process: ProcessId) -> Location {
        if let Some(location) = self.process(process).end {
            return location;
        }
        let location = self.own(process, OwnKind::End, 0);
        self.process_mut(process).end = Some(location);
        location
    }

    /// The running process takes no further step: an assumption of its was false.
    pub(crate) fn stop_running(&mut self) {
        let me = self.execution.schedule.running;
        self.process_mut(me).status = Status::Stopped;
        self.execution.findings.assumed = true;
        if self.looks_for_rounds() {
            self.note_last(self.running(), Last::Stopped);
        }
    }

    pub(crate) fn describe(&mut self, location: Location, what: Described) {
        let index = location.0 as usize;
        if index >= self.search.described.len() {
            self.search.described.resize(index + 1, None);
        }
        self.search.described[index] = Some(what);
        self.execution.met.push(location);
    }

    /// Ends the execution, and with it the search.
    #[inline(always)]
    pub(crate) fn fail(&mut self, stop: Stop) {
        self.search.fatal.get_or_insert(stop);
    }

    /// Evaluates again who can take a step.
    fn refresh(&mut self) {
        let guarded = self.execution.schedule.to_be_asked();
        for process in guarded.iter() {
            let pending = self.process(process).pending.as_ref();
            let ready =
                pending.is_some_and(|pending| self.is_ready(pending.operation(), pending.wait, process));
            self.execution.schedule.set_enabled(process, ready);
        }
        self.execution.schedule.asked(guarded);
    }

    /// Whether an operation that a process has come to can be done now, given what it waits for.
    #[inline(always)]
    fn is_ready(&self, operation: &dyn Operation, wait: Wait, process: ProcessId) -> bool {
        match wait {
            Wait::Nothing => true,
            Wait::Guard { location, until } => until.holds(self.value(location)),
            Wait::Change(guard) => self.has_changed(guard),
            Wait::Own => operation.ready(self, process),
        }
    }

    /// Whether something that a spin loop read is another now.
    #[cold]
    fn has_changed(&self, guard: Guard) -> bool {
        self.search.guards.holds(guard.id, |location| self.value(location))
    }

    /// Creates a process, which is started before the present step ends.
    pub(crate) fn create(
        &mut self,
        body: Body,
        (name, stack_size): (Option<std::sync::Arc<str>>, Option<usize>),
        place: &'static Caller<'static>,
    ) -> ProcessId {
        let parent = self.execution.schedule.running;
        let ordinal = self.process(parent).spawned;
        self.process_mut(parent).spawned += 1;
        let child = self.search.names.child(Some(parent), ordinal);
        self.add(child, body);
        self.process_mut(child).name = name;
        self.process_mut(child).stack_size = stack_size.unwrap_or(0);
        self.process_mut(child).born = self.execution.schedule.depth;
        self.process_mut(child).created = Some(place);
        self.announce(child);
        self.execution.schedule.starting.push(child);
        self.step.label.spawned.push(child);
        child
    }

    fn add(&mut self, process: ProcessId, body: Body) {
        while self.processes.len() <= process.0 as usize {
            self.processes.push(Process::default());
        }
        self.process_mut(process).begin(body);
        self.execution.schedule.created.push(process);
    }
}

/// A place in the source as reports have it.
pub(crate) fn place_of(caller: &Caller<'_>) -> Place {
    Place { file: caller.file().to_owned(), line: caller.line(), column: caller.column() }
}
