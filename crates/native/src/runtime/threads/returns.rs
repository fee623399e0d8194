//! Threads that come back to where they were: what the state of a compiled thread is, and when it is looked
//! at.
//!
//! The state of a thread is what decides what it does next, but for memory that others can see or that is in
//! its log: registers, the error number, the part of the stack that is the program's, and what the call that
//! it is at was given. A call that comes to several operations, or that keeps more than is told, is not
//! compared, but counted.
//!
//! Of the stack those bytes are left out that others may change: locations, and what another thread alone has
//! written. When another thread is first seen to write a stack, the search begins again, so that always the
//! same bytes are left out. What the runtime leaves below the stack pointer is wiped by the stubs.
//!
//! To look costs time, and most programs have no such loops. So nothing is looked at until an execution is
//! long and somebody has come to one place again and again; then the search begins again.
#![allow(unsafe_code)]

use std::ops::ControlFlow;

use mazurka_program::{Access, AccessKind, Location, Place, ProcessId, Round, Rounds, Run as _};
use mazurka_threads::races::Order;
use mazurka_threads::waiters::Spuriously;

use super::objects::Object;
use super::operation::InRound;
use super::rounds::{Digest, Digester, RoundDetector};
use super::run::NativeRun;
use super::runtime::Runtime;
use super::script::TakenStep;
use super::spin::Frame;
use super::thread::Status;
use crate::runtime::memory::shadow::{is_changed_by_others, is_location, private};
use crate::runtime::system::stubs::{ACCESS, FUNCTION};

/// Executions that are shorter are not looked at for loops.
const SHORT: usize = 32;
/// Of those that are no longer than others one in so many is looked at.
const SOME: u64 = 64;
/// A thread that comes to one place so often may be in a loop.
const OFTEN: usize = 12;
/// No more changes of a round are told.
const TOLD: usize = 3;

/// Whether somebody did one thing again and again.
fn has_loop(script: &[TakenStep]) -> bool {
    let mut marks: Vec<(ProcessId, u64)> = script.iter().map(|step| (step.process, step.mark)).collect();
    marks.sort_unstable();
    marks.chunk_by(|a, b| a == b).any(|same| same.len() >= OFTEN)
}

impl NativeRun {
    /// Whether loops are to be looked at from now on, after these steps; the search begins again then.
    #[inline]
    pub(crate) fn finds_loops(&self) -> bool {
        let steps = self.steps().len();
        steps >= SHORT && steps.is_power_of_two() && !self.runtime().search.rounds && self.looks_for_loops()
    }

    /// Looks at the longest executions, and at some of the others.
    #[cold]
    fn looks_for_loops(&self) -> bool {
        let (longest, many) = &mut self.runtime().search.looked;
        let steps = self.steps().len();
        *many += 1;
        let looks = steps > *longest || many.is_multiple_of(SOME);
        *longest = steps.max(*longest);
        looks && has_loop(self.steps())
    }
}

impl NativeRun {
    /// Whether a thread that has just taken a step has come to where it was before.
    #[inline]
    pub(crate) fn has_returned(&self, process: ProcessId) -> bool {
        let runtime = self.runtime();
        runtime.search.rounds && {
            let thread = runtime.thread(process);
            thread.state.status == Status::Parked && thread.buffers.rounds.returns()
        }
    }
}

impl Runtime {
    /// From now on loops are looked at.
    #[cold]
    pub(crate) fn look_at_loops(&mut self) {
        self.search.rounds = true;
        self.search.attention = true;
        self.search.partition.news = true;
        self.note_in_stubs();
    }

    /// The running thread comes to an access of one location; what was given besides its address.
    #[cold]
    #[inline(never)]
    pub(crate) fn arrive_at_access(&mut self, place: usize, access: Access, given: u64, order: Order) {
        let call = self.take_call();
        let cell = self.search.partition.memory(access.first);
        let detector = &mut self.me().buffers.rounds;
        if let Some(cell) = cell.filter(|_| order == Order::Plain && access.kind == AccessKind::Read) {
            // SAFETY: what the thread announced is memory of the program.
            unsafe { detector.note_plain_read(cell.address, cell.size) };
        }
        detector.settle();
        let given = (call == ACCESS).then_some([u64::from(access.first.0), given]);
        self.arrive_at(place, call, given);
    }

    /// The running thread comes to an operation.
    #[cold]
    #[inline(never)]
    pub(crate) fn arrive_at_operation(&mut self, in_round: InRound, place: usize) {
        let call = self.take_call();
        let depth = self.execution.schedule.depth;
        let detector = &mut self.me().buffers.rounds;
        detector.settle();
        if !matches!(in_round, InRound::Spins(_)) {
            detector.note_operation();
        }
        if let InRound::After(what) = in_round
            && call == 0
        {
            return detector.arrive_after(what, depth);
        }
        let given = match in_round {
            InRound::At(given) if call == FUNCTION || call == ACCESS => Some([0, given]),
            InRound::AtAccess(given) | InRound::Spins(given) if call == ACCESS => Some([0, given]),
            _ => None,
        };
        self.arrive_at(place, call, given);
        self.note_in_round(in_round);
    }

    /// What an operation does may be more than can be undone.
    pub(crate) fn note_in_round(&mut self, in_round: InRound) {
        if in_round == InRound::Never {
            self.me().buffers.rounds.note_lasting();
        }
    }

    fn arrive_at(&mut self, place: usize, call: u32, given: Option<[u64; 2]>) {
        let depth = self.execution.schedule.depth;
        if call == 0 {
            return self.me().buffers.rounds.arrive_within(depth);
        }
        let frame = self.frame();
        let state = frame.and_then(|frame| Some(self.local_state(place, given?, frame)));
        let stack_pointer = frame.map_or(0, |frame| frame.stack_pointer);
        let mut at = Digester::new();
        at.add(place as u64);
        at.add(stack_pointer as u64);
        self.me().buffers.rounds.arrive(at.finish()[0], state, stack_pointer, depth);
    }

    /// A digest of the state of the running thread, at a place, in a call that was given this.
    pub(crate) fn local_state(&mut self, place: usize, given: [u64; 2], frame: Frame) -> Digest {
        let running = self.running();
        let mut digest = Digester::new();
        let state = &self.thread(running).state;
        let counts = u64::from(state.spawned) << 1 | u64::from(state.exits);
        for word in [place as u64, frame.stack_pointer as u64, given[0], given[1], counts] {
            digest.add(word);
        }
        for word in [state.locals.1 as u64, frame.errno as u64] {
            digest.add(word);
        }
        let buffers = &self.thread(running).buffers;
        digest.add(buffers.at_exit.len() as u64);
        buffers.specific.iter().for_each(|&value| digest.add(value as u64));
        digest.add(u64::from(self.execution.waiters.has(Spuriously::WakesUp, running)));
        frame.registers.iter().for_each(|&register| digest.add(register as u64));
        let known = self.search.shadow.words(frame.stack_pointer, frame.stack.len());
        let mine = private(running.0, true);
        for (bytes, known) in frame.stack.chunks_exact(8).zip(known.chunks_exact(8)) {
            let mut word = [0; 8];
            word.copy_from_slice(bytes);
            if known.iter().any(|&known| known != 0 && known != mine) {
                let others = |at: &usize| is_changed_by_others(known[*at], running.0);
                (0..8).filter(others).for_each(|at| word[at] = 0);
            }
            digest.add(u64::from_le_bytes(word));
        }
        digest.finish()
    }

    /// The running thread is about to write memory, whether others can notice it or not. Its own stack is
    /// compared instead, but for what is a location there.
    #[cold]
    #[inline(never)]
    pub(crate) fn log_write(&mut self, address: usize, size: usize, order: Order) {
        let own_stack = self.is_own_stack(address);
        let Runtime { search, execution, .. } = self;
        let detector = &mut execution.threads[execution.schedule.running].buffers.rounds;
        // SAFETY: the program is about to write it, so it is memory of the program; if it is not, the access
        // was found to be wrong before, or faults here instead of there.
        unsafe {
            if !own_stack {
                detector.note_write(address, size);
            } else {
                let words = search.shadow.words(address, size).iter().enumerate();
                let locations = words.filter(|(_, word)| is_location(**word));
                locations.for_each(|(at, _)| detector.note_write(address + at, 1));
            }
        }
        let size = if order == Order::Plain { size } else { 0 };
        detector.note_announced(address, size);
        self.wipe_more();
    }

    /// The running thread has done what can't be undone by writing values.
    pub(crate) fn log_lasting(&mut self) {
        self.log_lasting_of(self.running());
    }

    /// The same of any thread.
    pub(crate) fn log_lasting_of(&mut self, process: ProcessId) {
        if self.search.rounds {
            self.execution.threads[process].buffers.rounds.note_lasting();
        }
    }

    /// The running thread writes the stack of another: which bytes are compared there changes, if it is the
    /// first to do so.
    pub(crate) fn notice_foreign_stack(&mut self, address: usize, size: usize) {
        let Some(owner) = self.search.slots.owner(address).filter(|&owner| owner != self.running()) else {
            return;
        };
        let slot = self.search.slots.slot(owner);
        let mine = private(self.running().0, true);
        let is_new = |word: &u32| !is_location(*word) && *word != mine;
        if (slot.stack_limit..slot.stack_base).contains(&address)
            && self.search.shadow.words(address, size).iter().any(is_new)
        {
            self.search.partition.news = true;
        }
    }

    /// What has changed in the stack of a thread, from what it was before.
    fn changed_variables(&self, process: ProcessId, before: &[u8]) -> Vec<String> {
        let now = self.stack_of(process);
        let start = self.frame_of(process).unwrap_or_default();
        let changed = now.iter().zip(before).enumerate().filter(|(_, (now, before))| now != before);
        changed.filter_map(|(at, _)| self.declared_name(start + at, 1)).collect()
    }

    /// The stack of a thread that is parked, as far as it is the program's.
    fn stack_of(&self, process: ProcessId) -> Vec<u8> {
        let end = self.thread(process).slot.stack_base;
        let start = self.frame_of(process).filter(|&start| start < end).unwrap_or(end);
        crate::runtime::memory::layout::bytes(start, end)
    }
}

impl Rounds for NativeRun {
    fn rounds(&self, process: ProcessId, own: &[u32], with: &mut dyn FnMut(Round) -> ControlFlow<()>) {
        let since = |depth: u32| own.len() - own.partition_point(|&position| position < depth);
        let runtime = self.mine();
        let (thread, judges_races) = (runtime.thread(process), runtime.execution.races.enabled);
        let (detector, is_weak) = (&thread.buffers.rounds, runtime.search.has_weak_order);
        detector.rounds(thread.slot.stack_limit, since, &mut |round, blind| {
            // The order by which races are judged may be another than it was: the second such round is as good
            // as the first.
            if round.restored && judges_races && (is_weak || blind) {
                let counts = self.is_second(detector, own, round.steps);
                return with(Round { alone: 2 * round.steps, counts, ..round });
            }
            with(round)
        });
    }

    fn net_effect(&self, steps: &[u32], effect: &mut Vec<i64>) -> bool {
        steps.is_empty() || self.mine().net_effect(self.steps(), steps, effect)
    }

    fn races_alike(&self, earlier: &[u32], later: &[u32]) -> bool {
        let execution = &self.mine().execution;
        let known = |steps| execution.race_log.knowledge_after(steps);
        !execution.races.enabled || known(earlier) == known(later)
    }

    fn arrivals(&self, process: ProcessId, _own: &[u32]) -> usize {
        self.mine().thread(process).buffers.rounds.times()
    }

    fn place(&self, process: ProcessId) -> Option<Place> {
        self.mine().pending_place(process)
    }

    fn location_name(&self, location: Location) -> Option<String> {
        let runtime = self.mine();
        let cell = runtime.search.partition.memory(location);
        let cell = cell.map(|cell| runtime.memory_name(cell.address, cell.size));
        let object = || runtime.search.objects.find(location);
        let object = || object().map(|(address, class)| Object { location, address, class });
        cell.or_else(|| object().map(|object| runtime.object_name(object)))
    }

    fn describe(&self, process: ProcessId, _own: &[u32]) -> String {
        let runtime = self.mine();
        let detector = &runtime.thread(process).buffers.rounds;
        let before = detector.depth_before();
        let (memory, objects) = before.map_or_else(Default::default, |depth| detector.changed_since(depth));
        let mut changed: Vec<String> =
            memory.iter().map(|&(address, size)| runtime.memory_name(address, size)).collect();
        let objects = objects.into_iter().map(Location);
        let objects = objects.filter_map(|location| runtime.search.objects.find(location));
        changed.extend(objects.map(|(address, _)| runtime.memory_name(address, 1)));
        let stack = before.and_then(|depth| self.stack_at(depth, process));
        let runtime = self.mine();
        changed.extend(stack.into_iter().flat_map(|stack| runtime.changed_variables(process, &stack)));
        changed.dedup();
        changed.truncate(TOLD);
        let what = match &changed[..] {
            [] => String::new(),
            [one] => format!(", in which {one} changes,"),
            [several @ .., last] => format!(", in which {} and {last} change,", several.join(", ")),
        };
        let at = runtime.pending_place(process).map(|place| format!(" at {place}"));
        format!("the loop{} of {}{what}", at.unwrap_or_default(), runtime.name_of(process))
    }
}

impl NativeRun {
    /// Whether the last steps of a thread, so many, did what as many before them did, and led to the same
    /// states.
    fn is_second(&self, detector: &RoundDetector, own: &[u32], steps: usize) -> bool {
        let Some(start) = own.len().checked_sub(2 * steps) else { return false };
        let (earlier, later) = own[start..].split_at(steps);
        earlier.iter().zip(later).all(|(&earlier, &later)| {
            let did =
                |position: u32| self.steps().get(position as usize).map(|step| (step.mark, step.choice));
            let came_to = |position: u32| detector.step(position).map(|(_, after, _)| after.state);
            did(earlier) == did(later) && came_to(earlier) == came_to(later)
        })
    }

    /// The stack of a thread as it was after so many steps. The runtime is where it was afterwards.
    fn stack_at(&self, depth: u32, process: ProcessId) -> Option<Vec<u8>> {
        let runtime = self.mine();
        let mut go_to = |depth: usize| {
            // Those on the way may lie behind.
            runtime.search.snapshots.clear();
            runtime.take_script_again(&self.steps()[..depth.min(self.depth())])
        };
        let stack = go_to(depth as usize).then(|| self.runtime().stack_of(process));
        go_to(self.depth()).then_some(stack).flatten()
    }
}
