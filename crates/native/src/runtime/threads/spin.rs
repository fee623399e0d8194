//! Spin loops: who reads the same over and over waits for it to change. What loops have in common is in
//! [`mazurka_threads::spin`]; here is what the state of a compiled thread is.
//!
//! The state of a thread is its stack, its registers and its error number; they are compared byte by byte, so
//! that a loop with a counter is none. Every write of memory that is not on its own stack counts as a change,
//! whether others can notice it or not. Some bytes of the stack others may change: those that are locations,
//! and those that another thread alone has written, through a pointer that it was given. They are not
//! compared, since nothing orders such a write with what the loop reads.
//!
//! Frames have words in them that nobody has written since they were entered: they hold what earlier, deeper
//! calls left. What the runtime leaves there is another when a step is repeated than when it is scheduled, so
//! the stubs wipe it out.
//!
//! A guard is asked about the past. So the cells that loops wait for are watched: what they hold is noted at
//! each write. To watch a cell changes what is noted, and to have several count as one changes labels: the
//! search begins again when either is found out.
#![allow(unsafe_code)]

use std::ptr;

use mazurka_program::{Access, AccessKind, FailureKind, Guard, GuardId, Location, ProcessId};
use mazurka_threads::guards::Reads;
use mazurka_threads::races::Order;
use mazurka_threads::spin::{Groups, Visit};

use super::operation::{CurrentStep, InRound, Operation, Wait};
use super::rounds::mixed;
use super::runtime::Runtime;
use super::thread::Pending;
use crate::runtime::memory::layout::{PAGE, peek};
use crate::runtime::memory::shadow::{Partition, is_changed_by_others};
use crate::runtime::system::stubs::{ACCESS, FUNCTION, USUAL_WORDS};

/// No stack that is compared is larger.
const MAX_FRAME: usize = 16 * 1024;
/// How many words of the stack the stub wipes after a step that did not take the usual path.
const MANY_WORDS: u32 = 384;
/// The same where all of the stack is compared in all loops.
const MOST_WORDS: u32 = 1024;

/// What the stub leaves besides the address of its caller.
#[repr(C)]
struct StubRecord {
    caller: usize,
    registers: [usize; 6],
    stack_pointer: usize,
    /// How many words it is to wipe.
    wipe: u32,
    /// Whether all stubs are to note registers, and wipe.
    rounds: u32,
    /// What was called; 0 if the call has come to an operation since.
    call: u32,
}

/// What the running thread has to itself where it calls a stub.
#[derive(Clone, Copy)]
pub(crate) struct Frame {
    pub(crate) registers: [usize; 6],
    pub(crate) stack_pointer: usize,
    pub(crate) errno: i32,
    /// The part of the stack that is the program's.
    pub(crate) stack: &'static [u8],
}

/// The state of a thread that has called a stub.
#[derive(Default)]
pub(crate) struct MachineState {
    registers: [usize; 6],
    stack_pointer: usize,
    errno: i32,
    stack: Vec<u8>,
}

impl Clone for MachineState {
    fn clone(&self) -> MachineState {
        MachineState { stack: self.stack.clone(), ..*self }
    }

    fn clone_from(&mut self, other: &MachineState) {
        let mut stack = std::mem::take(&mut self.stack);
        stack.clone_from(&other.stack);
        *self = MachineState { stack, ..*other };
    }
}

/// What is known of the cells that loops wait for.
#[derive(Default)]
pub(crate) struct WatchedCells {
    /// By location: whether some loop waits for it.
    watched: Vec<bool>,
    /// Whether any does.
    pub(crate) any: bool,
    pub(crate) groups: Groups,
}

impl WatchedCells {
    fn contains(&self, location: Location) -> bool {
        self.watched.get(location.0 as usize).is_some_and(|&watched| watched)
    }

    /// Adds a location; says whether it is new.
    fn add(&mut self, location: Location) -> bool {
        let at = location.0 as usize;
        if self.watched.len() <= at {
            self.watched.resize(at + 1, false);
        }
        self.any = true;
        !std::mem::replace(&mut self.watched[at], true)
    }

    /// The location that stands for what a loop read, and whether that is news.
    fn watch(&mut self, reads: &Reads, partition: &mut Partition) -> (Location, bool) {
        let is_new = reads.iter().fold(false, |is_new, read| self.add(read.0) | is_new);
        match reads[..] {
            [(location, _)] => (location, is_new),
            _ => match self.groups.of(reads) {
                Some(stands_for_all) => (stands_for_all, is_new),
                None => {
                    let stands_for_all = partition.other();
                    self.groups.merge(stands_for_all, reads);
                    (stands_for_all, true)
                }
            },
        }
    }
}

/// An access in a loop: it waits until something that the loop read is another.
pub(crate) struct SpinningAccess {
    pub(crate) access: Access,
    pub(crate) order: Order,
    /// What it was given to write.
    pub(crate) given: u64,
    pub(crate) guard: Guard,
}

impl Operation for SpinningAccess {
    fn wait(&self) -> Wait {
        Wait::Change(self.guard)
    }

    fn order(&self) -> Order {
        self.order
    }

    fn perform(&mut self, step: &mut CurrentStep<'_>) {
        step.runtime.step.label.accesses.push(self.access);
        step.leave_loop(self.guard, self.access.first);
    }

    fn in_round(&self) -> InRound {
        InRound::Spins(mixed(&[u64::from(self.access.first.0), self.given]))
    }

    fn describe(&self, runtime: &Runtime) -> String {
        let verb = if self.access.kind.is_read() { "read" } else { "update" };
        let cell = runtime.search.partition.memory(self.access.first);
        let name = cell.map_or_else(String::new, |cell| runtime.memory_name(cell.address, cell.size));
        format!("{verb} {name}")
    }

    fn waits_for(&self, runtime: &Runtime) -> (String, Vec<ProcessId>) {
        (runtime.awaited_change(self.guard.id), Vec::new())
    }
}

impl CurrentStep<'_> {
    /// A loop goes on: it read what stands for all that it waited for.
    pub(crate) fn leave_loop(&mut self, guard: Guard, own: Location) {
        if guard.location != own {
            self.runtime.step.label.touch(guard.location, AccessKind::Read);
        }
    }
}

/// Where a thread is that comes to an access: the code and what it was given there, which the program need
/// not keep in what is compared.
#[inline]
pub(crate) fn spin_place(place: usize, location: Location, given: u64) -> usize {
    place ^ ((u64::from(location.0) << 40) as usize) ^ given.wrapping_mul(0x9E37_79B9_7F4A_7C15) as usize
}

/// What a cell of memory holds now; 0 for a location that is none.
pub(crate) fn value_now(partition: &Partition, location: Location) -> u64 {
    // SAFETY: a cell is memory of the program.
    partition.memory(location).map_or(0, |cell| unsafe { peek(cell.address, cell.size) })
}

impl Runtime {
    fn stub_record(&self) -> *mut StubRecord {
        self.execution.image.caller.cast()
    }

    /// The running thread has read a cell, or changed it to what it was.
    #[inline]
    pub(crate) fn note_read(&mut self, place: usize, location: Location, value: u64) {
        let detector = &mut self.me().buffers.detector;
        detector.note(place, location, value);
        let usual = !detector.has_state() && !self.execution.races.enabled && !self.search.watched.any;
        let words = if usual { USUAL_WORDS } else { MANY_WORDS };
        // SAFETY: the words are the stub's.
        unsafe { (*self.stub_record()).wipe = (*self.stub_record()).wipe.max(words) };
    }

    /// What a thread waits for that comes to an access, if it is in the state in which it was there before.
    #[inline]
    pub(crate) fn loop_at(&mut self, place: usize) -> Option<Guard> {
        if self.me().buffers.detector.suspects(place) { self.find_loop(place) } else { None }
    }

    #[cold]
    #[inline(never)]
    fn find_loop(&mut self, place: usize) -> Option<Guard> {
        match self.me().buffers.detector.visit(place) {
            Visit::Elsewhere => return None,
            Visit::Again if self.is_same_state() => {
                if let Some(reads) = self.me().buffers.detector.iteration() {
                    return Some(self.wait_for_change(reads));
                }
            }
            _ => {}
        }
        self.take_state(place);
        None
    }

    /// What the running thread has to itself, if it can be compared.
    pub(crate) fn frame(&mut self) -> Option<Frame> {
        // SAFETY: the words are the stub's.
        let (registers, stack_pointer) =
            unsafe { ((*self.stub_record()).registers, (*self.stub_record()).stack_pointer) };
        let (end, limit) = (self.me().state.outermost, self.me().slot.stack_limit);
        let size = end.checked_sub(stack_pointer).filter(|&size| size <= MAX_FRAME)?;
        // SAFETY: so far the stack is the running thread's: callers use it while it runs. The error number is
        // that of this thread of the operating system.
        let (stack, errno) = unsafe {
            let start = ptr::with_exposed_provenance::<u8>(stack_pointer);
            (std::slice::from_raw_parts(start, size), *self.search.errno)
        };
        (stack_pointer >= limit).then_some(Frame { registers, stack_pointer, errno, stack })
    }

    /// Another thread goes on, in a call that has come to an operation: what was asked of the stub that was
    /// called last was asked for another.
    pub(crate) fn forget_call(&mut self) {
        // SAFETY: the words are the stub's.
        unsafe { ((*self.stub_record()).call, (*self.stub_record()).wipe) = (0, 0) };
    }

    /// The running thread has called a function that tells all that it was given, as an access does.
    pub(crate) fn note_told(&mut self) {
        // SAFETY: the words are the stub's.
        let call = unsafe { &mut (*self.stub_record()).call };
        *call = if *call == FUNCTION { ACCESS } else { *call };
    }

    /// The running thread has come to an instruction, of which all is told that it was given, or not.
    pub(crate) fn note_instruction(&mut self, tells_all: bool) {
        // SAFETY: the words are the stub's.
        unsafe { (*self.stub_record()).call = if tells_all { ACCESS } else { FUNCTION } };
    }

    /// What the running thread has called, unless it has come to an operation there before.
    pub(crate) fn take_call(&mut self) -> u32 {
        // SAFETY: the words are the stub's.
        unsafe { std::mem::take(&mut (*self.stub_record()).call) }
    }

    /// Tells the stubs that loops are looked at.
    pub(crate) fn note_in_stubs(&mut self) {
        // SAFETY: the words are the stub's.
        unsafe { (*self.stub_record()).rounds = u32::from(self.search.rounds) };
    }

    /// The stub that was called is to wipe what the usual path leaves, at least.
    pub(crate) fn wipe_more(&mut self) {
        // SAFETY: the words are the stub's.
        unsafe { (*self.stub_record()).wipe = (*self.stub_record()).wipe.max(USUAL_WORDS) };
    }

    /// Where loops are looked at, the stub that was called is to wipe what any path leaves.
    #[inline]
    pub(crate) fn wipe_if_looked_at(&mut self) {
        if self.search.rounds {
            let room =
                self.registers().0.saturating_sub(self.me().slot.stack_limit + PAGE) / size_of::<usize>();
            // SAFETY: the words are the stub's.
            unsafe { (*self.stub_record()).wipe = MOST_WORDS.min(room as u32) };
        }
    }

    fn take_state(&mut self, place: usize) {
        let Some(Frame { registers, stack_pointer, errno, stack }) = self.frame() else { return };
        self.me().buffers.detector.take_state(place, |state| {
            (state.registers, state.stack_pointer, state.errno) = (registers, stack_pointer, errno);
            state.stack.clear();
            state.stack.extend_from_slice(stack);
        });
    }

    fn is_same_state(&mut self) -> bool {
        let Some(Frame { registers, stack_pointer, errno, stack }) = self.frame() else { return false };
        let running = self.running();
        let words = self.search.shadow.words(stack_pointer, stack.len());
        let before = self.execution.threads[running].buffers.detector.state();
        let same = before.registers == registers
            && (before.stack_pointer, before.errno, before.stack.len())
                == (stack_pointer, errno, stack.len());
        let kept = |at: usize| stack[at] == before.stack[at] || is_changed_by_others(words[at], running.0);
        same && (0..stack.len()).all(kept)
    }

    /// The running thread waits until something that it read is another.
    fn wait_for_change(&mut self, reads: Reads) -> Guard {
        let search = &mut self.search;
        let (location, is_new) = search.watched.watch(&reads, &mut search.partition);
        search.partition.news |= is_new;
        search.guards.change(location, reads)
    }

    /// Whether a guard held after so many steps. A cell that nobody has written holds what it held.
    pub(crate) fn guard_holds_at(&self, guard: GuardId, depth: u32) -> bool {
        let (values, partition) = (&self.execution.values, &self.search.partition);
        self.search.guards.holds(guard, |location| match values.is_known(location) {
            true => values.at_depth(location, depth),
            false => value_now(partition, location),
        })
    }

    /// A step is about to write cells, which loops may wait for: what they hold now was so from the start, if
    /// nobody has written them, and what they hold then is looked at when the thread has gone on.
    #[cold]
    pub(crate) fn note_writes(&mut self, accesses: &[Access]) {
        let Runtime { search, execution, step, .. } = self;
        for access in accesses.iter().filter(|access| !access.kind.is_read()) {
            for location in access.locations().filter(|&at| search.watched.contains(at)) {
                if !execution.values.is_known(location) {
                    execution.values.init(location, value_now(&search.partition, location));
                }
                step.written.push((location, execution.schedule.depth));
                execution.schedule.changed = true;
            }
        }
    }

    /// Who writes a location of a group writes the group.
    #[inline]
    pub(crate) fn touch_groups(&mut self) {
        if !self.search.watched.groups.is_empty() {
            self.search.watched.groups.touch(&mut self.step.label);
        }
    }

    /// The running thread has made the accesses of its last step.
    #[inline]
    pub(crate) fn look_at_written(&mut self) {
        while let Some((location, depth)) = self.step.written.pop() {
            let value = value_now(&self.search.partition, location);
            self.execution.values.set(location, value, depth);
        }
    }

    /// What a loop waits for, for people.
    fn awaited_change(&self, guard: GuardId) -> String {
        let cells = self.search.guards.reads(guard).iter();
        let cells = cells.filter_map(|read| self.search.partition.memory(read.0));
        let names: Vec<String> = cells.map(|cell| self.memory_name(cell.address, cell.size)).collect();
        format!("a change of {}, in a loop", names.join(" or "))
    }

    /// Those who spin when nobody can take a step spin forever.
    #[cold]
    pub(crate) fn report_livelock(&mut self) {
        let created = self.execution.schedule.created.iter().copied();
        let mut spinning: Vec<_> = created
            .filter_map(|process| match self.thread(process).state.pending {
                Pending::Operation { wait: Wait::Change(guard), place, .. } => Some((process, guard, place)),
                _ => None,
            })
            .collect();
        spinning.sort_by(|a, b| self.search.names.compare(a.0, b.0));
        let Some(&(process, guard, place)) = spinning.first() else { return };
        let first = format!("{} waits forever for {}", self.name_of(process), self.awaited_change(guard.id));
        let others = spinning[1..].iter().map(|&(process, guard, place)| {
            let at = self.place_of(process, place).map(|place| format!(" at {place}"));
            let (name, what) = (self.name_of(process), self.awaited_change(guard.id));
            format!(", {name} for {what}{}", at.unwrap_or_default())
        });
        let message = format!("{first}{}: nobody is left to make it", others.collect::<String>());
        self.execution.schedule.running = process;
        self.report(FailureKind::Livelock, message, place);
    }
}
