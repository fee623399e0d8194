//! Everything that the threads of a program share, and they themselves.
//!
//! The world is reached through a thread-local pointer, and by raw pointers: scheduler and thread take turns, so that
//! only one of them looks at it at a time. No reference to it is alive across a switch.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::ptr;

use mazurka_program::{
    AccessKind, Failure, FailureKind, Label, Location, Names, ProcessId, ProcessSet, Stop,
};

use super::objects::{ObjectId, Objects};
use super::operation::{Guards, Operation, Step, Wait};
use super::races::Watch;
use super::script::Taken;
use super::snapshot::Snapshots;
use super::spin::Spins;
use super::stops::Stops;
use super::thread::{self, Body, Pending, Status, Thread};
use crate::runtime::memory::heap::Blocks;
use crate::runtime::memory::image::Image;
use crate::runtime::memory::layout::{Granules, MAX_THREADS, SLOT, Shadow, Slots};
use crate::runtime::memory::leaks::Leaks;
use crate::runtime::memory::shadow::Partition;
use crate::runtime::report::explain::Story;
use crate::runtime::sync::condition::Waiter;
use crate::runtime::system::exit::{Arguments, Handler};
use crate::runtime::system::registry::Registry;
use crate::runtime::system::signals;
use crate::runtime::{Options, Races};

/// The thread that runs `main`.
pub(crate) const MAIN: u32 = 0;

thread_local! {
    /// The world whose threads ran last on this thread of the operating system.
    static WORLD: Cell<*mut World> = const { Cell::new(ptr::null_mut()) };
}

/// The world of the modelled thread that runs here; null if none does.
#[inline(always)]
pub(crate) fn current() -> *mut World {
    WORLD.with(Cell::get)
}

pub(crate) struct World {
    /// The thread that runs now.
    pub(crate) running: u32,
    /// Whether no thread but the first has been created: what it does then is before everything.
    pub(crate) alone: bool,
    /// How many steps have been taken.
    pub(crate) depth: u32,
    /// So many steps of the script are taken again: a thread takes its own without being asked.
    pub(crate) scripted: u32,
    pub(crate) script: Vec<Taken>,
    pub(crate) partition: Partition,
    pub(crate) shadow: Shadow,
    pub(crate) slots: Slots,
    pub(crate) image: Image,
    pub(crate) threads: Vec<Thread>,
    /// The threads of this execution, in the order of their creation.
    pub(crate) created: Vec<u32>,
    /// Those that are to be started before the step ends.
    pub(crate) starting: Vec<u32>,
    pub(crate) enabled: ProcessSet,
    /// The threads that are at an operation which can wait.
    guarded: Vec<u32>,
    pub(crate) objects: Objects,
    pub(crate) guards: Guards,
    pub(crate) spins: Spins,
    pub(crate) watch: Watch,
    /// `(lock, thread)`: who reads which locks, as often as it does.
    pub(crate) readers: Vec<(ObjectId, u32)>,
    pub(crate) output: Vec<u8>,
    /// The threads that wait to be woken, in the order in which they came.
    pub(crate) waiters: Vec<Waiter>,
    /// Whether some execution has waited at a condition variable.
    pub(crate) has_waits: bool,
    pub(crate) names: Names,
    pub(crate) snapshots: Snapshots,
    /// The label of the step that is being taken.
    pub(crate) label: Label,
    /// Whether the step changed something that others may wait for.
    pub(crate) changed: bool,
    pub(crate) failures: Vec<Failure>,
    pub(crate) assumed: bool,
    /// Whether the program has ended, or a thread has failed: who waits then waits for nothing amiss.
    pub(crate) over: bool,
    /// The thread that was stopped in an endless loop last, and where it was.
    pub(crate) stuck: Option<(String, mazurka_program::Place)>,
    pub(crate) stops: Stops,
    /// Set when the execution can't go on.
    pub(crate) fatal: Option<Stop>,
    /// What the program does that is not supported, if some execution has come to it.
    pub(crate) refused: Option<String>,
    pub(crate) story: Option<Story>,
    /// How many threads are at an operation that may have several outcomes.
    pub(crate) branching: u32,
    /// Whether labels name all that a step might touch.
    pub(crate) foresee: bool,
    pub(crate) options: Options,
    /// Constructors and destructors of the program.
    pub(crate) init: Vec<usize>,
    pub(crate) fini: Vec<usize>,
    /// What is to be called at the end.
    pub(crate) at_exit: Vec<Handler>,
    pub(crate) registry: Registry,
    /// The destructors of keys; none if a key was deleted.
    pub(crate) keys: Vec<Option<usize>>,
    /// What `main` is given.
    pub(crate) arguments: Arguments,
    /// Where the C library has the error number of this thread of the operating system.
    pub(crate) errno: *mut i32,
    /// The run whose execution this is.
    pub(crate) owner: u64,
    pub(crate) runs: u64,
    pub(crate) touched: Vec<mazurka_program::Access>,
    pub(crate) blocks: Blocks,
    pub(crate) leaks: Leaks,
    pub(crate) granules: Granules,
    /// Where the slots are, and where the heap begins in each.
    pub(crate) heap_start: usize,
    pub(crate) heap_len: usize,
    pub(crate) heap_offset: usize,
    /// How often a thread has been resumed: so that who runs for too long is noticed.
    pub(crate) turns: u64,
    /// Whether the next variable that is read and that nobody has written is to be a location.
    pub(crate) expose: bool,
    /// How many executions have come to their end.
    pub(crate) completed: u64,
}

impl World {
    pub(crate) fn new(image: Image, options: Options) -> Result<World, String> {
        let slots =
            Slots::new(options.stack_size).map_err(|error| format!("no room for threads: {error}"))?;
        let shadow = Shadow::new(&slots, image.variables.start, image.variables.len())
            .map_err(|error| format!("no room for what is known of memory: {error}"))?;
        let mut partition = Partition::default();
        let registry = Registry::new(&mut partition);
        let (heap_start, heap_offset) = (slots.start(), slots.slot(0).heap - slots.start());
        Ok(World {
            running: MAIN,
            alone: true,
            depth: 0,
            scripted: 0,
            script: Vec::new(),
            partition,
            shadow,
            slots,
            image,
            threads: Vec::new(),
            created: Vec::new(),
            starting: Vec::new(),
            enabled: ProcessSet::new(),
            guarded: Vec::new(),
            objects: Objects::default(),
            guards: Guards::default(),
            spins: Spins::default(),
            watch: Watch::new(options.races == Races::Report),
            readers: Vec::new(),
            output: Vec::new(),
            waiters: Vec::new(),
            has_waits: false,
            names: Names::new(),
            snapshots: Snapshots::default(),
            label: Label::default(),
            changed: false,
            failures: Vec::new(),
            assumed: false,
            over: false,
            stuck: None,
            stops: Stops::default(),
            fatal: None,
            refused: None,
            story: None,
            branching: 0,
            foresee: false,
            init: Vec::new(),
            fini: Vec::new(),
            at_exit: Vec::new(),
            registry,
            keys: Vec::new(),
            arguments: Arguments::new(&options.arguments, options.stack_size)?,
            errno: ptr::null_mut(),
            owner: 0,
            runs: 0,
            touched: Vec::new(),
            blocks: Blocks::default(),
            leaks: Leaks::default(),
            granules: Granules::new().map_err(|error| format!("no room for the heap: {error}"))?,
            heap_start,
            heap_len: MAX_THREADS * SLOT,
            heap_offset,
            turns: 0,
            expose: false,
            completed: 0,
            options,
        })
    }

    #[inline]
    pub(crate) fn thread(&self, thread: u32) -> &Thread {
        &self.threads[thread as usize]
    }

    #[inline]
    pub(crate) fn thread_mut(&mut self, thread: u32) -> &mut Thread {
        &mut self.threads[thread as usize]
    }

    #[inline]
    pub(crate) fn me(&mut self) -> &mut Thread {
        &mut self.threads[self.running as usize]
    }

    /// Begins an execution: everything is as it was before the first, and `main` is about to start.
    pub(crate) fn begin_execution(&mut self) {
        for at in 0..self.created.len() {
            let thread = self.created[at] as usize;
            self.threads[thread].reset();
            self.clear_heap(thread);
        }
        self.created.clear();
        self.starting.clear();
        self.touched.clear();
        self.at_exit.clear();
        self.keys.clear();
        self.waiters.clear();
        self.readers.clear();
        self.output.clear();
        self.image.restore();
        self.objects.begin();
        self.spins.begin();
        if self.watch.enabled {
            self.watch.begin();
        }
        self.enabled.clear();
        self.guarded.clear();
        self.failures.clear();
        self.label.clear();
        (self.depth, self.branching) = (0, 0);
        (self.assumed, self.over, self.alone, self.changed) = (false, false, true, false);
        self.add(None, 0, Body::Main);
    }

    /// Creates a thread, which is started before the present step ends. None if there are too many.
    pub(crate) fn add(&mut self, parent: Option<u32>, ordinal: u32, body: Body) -> Option<u32> {
        let id = self.names.child(parent.map(ProcessId), ordinal).0;
        if id as usize >= MAX_THREADS {
            self.fail(Stop::Bound(format!("the program has more than {MAX_THREADS} threads")));
            return None;
        }
        while self.threads.len() <= id as usize {
            let slot = match self.slots.open(self.threads.len()) {
                Ok(slot) => slot,
                Err(error) => {
                    self.fail(Stop::Bound(format!("no memory for a thread: {error}")));
                    return None;
                }
            };
            let locations = std::array::from_fn(|_| self.partition.other());
            self.threads.push(Thread::new(slot, locations));
        }
        let reserved = if id == MAIN { self.arguments.size } else { 0 };
        self.thread_mut(id).begin(body, reserved);
        self.created.push(id);
        self.starting.push(id);
        Some(id)
    }

    /// Ends the execution, and with it the search.
    pub(crate) fn fail(&mut self, stop: Stop) {
        self.fatal.get_or_insert(stop);
    }

    /// The program does what is not supported, which ends the search.
    pub(crate) fn refuse(&mut self, message: String) {
        self.refused.get_or_insert_with(|| message.clone());
        self.fail(Stop::Unsupported(message));
    }

    /// Notes that something is wrong with the program.
    pub(crate) fn report(&mut self, kind: FailureKind, message: String, place: usize) {
        let place = self.place_of(self.running, place).or_else(|| self.place(place));
        let process = Some(ProcessId(self.running));
        let failure = Failure { kind, message, place, process };
        if !self.failures.contains(&failure) {
            self.failures.push(failure);
        }
    }

    /// Runs a thread until it suspends itself or ends.
    // Inlined, since the processor mispredicts every return behind a switch of stacks.
    #[inline(always)]
    pub(crate) fn resume(&mut self, thread: u32) {
        self.switch_to(thread);
        if self.threads[thread as usize].status == Status::Parked {
            self.arrived(thread);
        }
    }

    /// The same, without a note of what the thread has come to.
    #[inline(always)]
    pub(crate) fn switch_to(&mut self, thread: u32) {
        let state = &mut self.threads[thread as usize];
        state.status = Status::Running;
        let (routine, errno, registers) = (state.routine(), state.errno, state.registers);
        self.put_registers_back(registers);
        self.running = thread;
        self.turns += 1;
        let world: *mut World = self;
        // SAFETY: the thread is parked, or was just created. The world is not used here while the thread runs but through the
        // pointer, which the thread uses too; the error number is that of this thread of the operating system.
        let ended = unsafe {
            *(*world).errno = errno;
            let ended = thread::resume(routine);
            (&mut (*world).threads)[thread as usize].errno = *(*world).errno;
            ended
        };
        if self.spins.any {
            self.look_at_written();
        }
        if ended || self.threads[thread as usize].status == Status::Finished {
            self.ended(thread);
        }
    }

    /// Makes this the world whose threads run on this thread of the operating system.
    #[inline]
    pub(crate) fn enter(&mut self) {
        let world: *mut World = self;
        WORLD.with(|cell| cell.set(world));
    }

    /// Finds out anew where the threads are.
    pub(crate) fn look_around(&mut self) {
        self.enabled.clear();
        self.guarded.clear();
        self.branching = 0;
        for at in 0..self.created.len() {
            let thread = self.created[at];
            if self.threads[thread as usize].status == Status::Parked {
                self.arrived(thread);
            }
        }
        self.refresh();
    }

    /// Takes the step of the script that is next, of a thread that is parked. Only the world is changed: nothing is noted of
    /// labels and of who can take a step.
    pub(crate) fn take_again(&mut self) {
        let position = self.depth as usize;
        let before = self.script[position];
        let thread = before.thread;
        let state = &mut self.threads[thread as usize];
        match state.pending {
            Pending::Access { access, mark, order, place } if mark == before.mark => {
                state.pending = Pending::Nothing;
                state.events += 1;
                self.depth += 1;
                if self.spins.any {
                    self.note_writes(&[access], self.depth);
                }
                if self.watch.enabled {
                    self.running = thread;
                    self.watch_access(access, order, place);
                }
            }
            Pending::Operation { operation, wait, place } => {
                state.pending = Pending::Nothing;
                self.running = thread;
                // SAFETY: the thread is parked at the operation, and nobody else refers to it.
                let operation = unsafe { &mut *operation };
                let ready = self.is_ready(operation, wait, thread);
                if !ready || self.perform(operation, wait, before.choice, place) != before.mark {
                    return self.not_repeated(position, thread);
                }
            }
            _ => return self.not_repeated(position, thread),
        }
        self.go_on_again(thread);
        while let Some(child) = self.starting.pop() {
            self.go_on_again(child);
        }
    }

    /// Lets a thread run on in a script: over those of its steps that come next, to the operation that it came to before.
    #[inline]
    pub(crate) fn go_on_again(&mut self, thread: u32) {
        self.switch_to(thread);
        let taken = self.depth as usize;
        let Some(last) = taken.checked_sub(1).map(|last| self.script[last]) else { return };
        if last.thread == thread && last.next != self.next_mark(thread) {
            self.not_repeated(taken, thread);
        }
    }

    /// Whether a step can be taken now.
    #[inline]
    pub(crate) fn is_ready(&self, operation: &dyn Operation, wait: Wait, thread: u32) -> bool {
        match wait {
            Wait::Nothing => true,
            Wait::Guard { object, until } => until.holds(self.objects.value(object)),
            Wait::Spin { spin } => self.spin_is_over(spin),
            Wait::Own => operation.ready(self, thread),
        }
    }

    /// A thread has come to an operation.
    #[inline]
    fn arrived(&mut self, thread: u32) {
        match self.threads[thread as usize].pending {
            Pending::Operation { operation, wait, .. } => {
                // SAFETY: the thread is parked at the operation.
                let operation = unsafe { &*operation };
                self.branching += u32::from(operation.branches());
                if wait == Wait::Nothing {
                    self.enabled.insert(ProcessId(thread));
                } else {
                    self.guarded.push(thread);
                    self.changed = true;
                }
            }
            _ => self.enabled.insert(ProcessId(thread)),
        }
    }

    /// A coroutine has returned: its thread is at its end, or was thrown out of it by a signal.
    fn ended(&mut self, thread: u32) {
        if let Some(fault) = signals::take_fault() {
            self.threads[thread as usize].status = Status::Stopped;
            self.report_fault(thread, fault);
            return;
        }
        self.threads[thread as usize].status = Status::Finished;
        let end = self.threads[thread as usize].end;
        // Nobody else writes it, and nobody reads it before: so the last write of a thread is as blind as any other.
        self.label.touch(end, AccessKind::Once);
        if self.watch.enabled {
            self.watch.end(thread, end);
        }
        self.changed = true;
    }

    /// Evaluates again who can take a step.
    pub(crate) fn refresh(&mut self) {
        self.changed = false;
        for at in 0..self.guarded.len() {
            let thread = self.guarded[at];
            let ready = match self.threads[thread as usize].pending {
                // SAFETY: the thread is parked at the operation, and nobody else refers to it.
                Pending::Operation { operation, wait, .. } => {
                    self.is_ready(unsafe { &*operation }, wait, thread)
                }
                _ => false,
            };
            match ready {
                true => self.enabled.insert(ProcessId(thread)),
                false => self.enabled.remove(ProcessId(thread)),
            }
        }
    }

    /// Takes the step of a thread: does what it is at, and lets it run on. The label is left in the world.
    #[inline]
    pub(crate) fn take(&mut self, thread: u32, choice: u32) -> Taken {
        if self.story.is_some() {
            return self.take_told(thread, choice);
        }
        let mark = self.act(thread, choice);
        self.run_on(thread);
        Taken { thread, choice, mark, next: self.next_mark(thread) }
    }

    /// Does what a thread is at. Gives what tells it from others.
    #[inline]
    fn act(&mut self, thread: u32, choice: u32) -> u64 {
        self.running = thread;
        self.label.clear();
        self.enabled.remove(ProcessId(thread));
        // Its parts are read one by one, as they were written: the processor waits where they are read together.
        match self.threads[thread as usize].pending {
            Pending::Nothing => 0,
            Pending::Access { access, mark, order, place } => {
                self.threads[thread as usize].pending = Pending::Nothing;
                self.label.accesses.push(access);
                self.count_step(thread);
                if self.spins.any {
                    self.note_writes(&[access], self.depth);
                    self.touch_groups();
                }
                if self.watch.enabled {
                    self.watch_access(access, order, place);
                }
                mark
            }
            Pending::Operation { operation, wait, place } => {
                self.threads[thread as usize].pending = Pending::Nothing;
                if wait != Wait::Nothing {
                    self.guarded.retain(|&other| other != thread);
                }
                // SAFETY: the thread is parked at the operation, and nobody else refers to it.
                let operation = unsafe { &mut *operation };
                self.branching -= u32::from(operation.branches());
                self.perform(operation, wait, choice, place)
            }
        }
    }

    /// Lets a thread run on to its next operation, and those that it has created to their first.
    #[inline]
    fn run_on(&mut self, thread: u32) {
        self.resume(thread);
        while let Some(child) = self.starting.pop() {
            self.resume(child);
        }
        if self.changed {
            self.refresh();
        }
    }

    /// Takes a step, and tells it to people.
    #[cold]
    fn take_told(&mut self, thread: u32, choice: u32) -> Taken {
        let pending = self.threads[thread as usize].pending;
        let mark = self.act(thread, choice);
        let operation = match pending {
            // SAFETY: the thread is parked at the operation still.
            Pending::Operation { operation, .. } => Some(unsafe { (*operation).describe(self) }),
            _ => None,
        };
        self.tell_before(operation.filter(|operation| !operation.is_empty()));
        let accesses = self.label.accesses.clone();
        self.run_on(thread);
        self.tell_after(&accesses);
        Taken { thread, choice, mark, next: self.next_mark(thread) }
    }

    /// Does an operation of the running thread, as a step. Gives what tells it from others.
    pub(crate) fn perform(
        &mut self,
        operation: &mut dyn Operation,
        wait: Wait,
        choice: u32,
        place: usize,
    ) -> u64 {
        let thread = self.running;
        self.label.clear();
        self.label.guard = self.guard(wait);
        operation.perform(&mut Step { world: self, thread, choice, place });
        self.count_step(thread);
        if self.spins.any {
            let accesses = std::mem::take(&mut self.label.accesses);
            self.note_writes(&accesses, self.depth);
            self.label.accesses = accesses;
            self.touch_groups();
        }
        if self.watch.enabled {
            let label = std::mem::take(&mut self.label);
            self.watch_operation(&label, operation, place);
            self.label = label;
        }
        super::script::digest(&self.label, place)
    }

    #[inline]
    fn count_step(&mut self, thread: u32) {
        self.depth += 1;
        self.threads[thread as usize].events += 1;
    }

    /// What tells the operation that a thread is at from others.
    #[inline]
    pub(crate) fn next_mark(&self, thread: u32) -> u64 {
        match self.threads[thread as usize].pending {
            Pending::Nothing => 0,
            Pending::Access { mark, .. } => mark,
            Pending::Operation { place, .. } => place as u64,
        }
    }

    /// The location that stands for the end of a thread.
    pub(crate) fn end_of(&self, thread: u32) -> Location {
        self.thread(thread).end
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let world: *mut World = self;
        let _ = WORLD.try_with(|cell| {
            if cell.get() == world {
                cell.set(ptr::null_mut())
            }
        });
    }
}
