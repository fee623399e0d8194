//! Rounds: where a process has come back to where it was, having written on the way.
//!
//! What counts as one, and why, is in [`mazurka_threads::rounds`]. Here is how the changes of a step are
//! found. Values of locations are noted as they are written. What a process does to plain memory nobody
//! announces: a counter in a `Box`, what a lock guards. So memory is compared with a [copy](super::shadow):
//! all blocks that processes have allocated, which lie in [arenas](super::arena), what executions have of
//! statics, and the stacks of all processes, each from its stack pointer on. That the process which runs here
//! has changed a word is all that is told; what others do meanwhile is not seen.
//!
//! A step that changes more than that is in no round: it created a thread, woke somebody at a condition
//! variable, left a message in a channel ([`Operation::is_told`](super::operation::Operation::is_told)). That
//! an object was given its location is no change: who touches it first depends on the order of steps that do
//! not depend on each other.
//!
//! Not seen is what outlives executions: statics of the standard library's types, memory from outside of the
//! check. A closure whose executions depend on that does not repeat itself anyway.
//!
//! All of that costs more than the steps do. So it is begun when a loop shows up: a process that comes to one
//! place with the same stack and the same registers, having written something since, and nothing that is in no
//! round. Then the search begins again, and all processes are followed from their first operation on.
#![allow(unsafe_code)]

use std::collections::BTreeMap;
use std::ops::{ControlFlow, Range};
use std::panic::Location as Caller;

use mazurka_program::{Label, Location, Place, ProcessId, Round, Rounds};
use mazurka_threads::race_log::Did;
use mazurka_threads::replay::digest;
use mazurka_threads::rounds::{Changed, Last, Standing};

use super::arena::Arenas;
use super::identity::is_location;
use super::operation::Operation;
use super::process::Process;
use super::run::ClosureRun;
use super::spin::{Registers, Site, leaves_more};
use super::{Runtime, place_of};

/// From so many steps on it is looked whether a process goes in a loop.
const FIRST_LOOK: u32 = 8;

/// So much of a stack is clean when its process begins. Who uses more has uninitialised words in its frames
/// that are left of earlier executions.
pub(super) const CLEAN_STACK: usize = 1 << 16;

/// Who comes to one place so many times in one state goes in a loop, though it has written nothing.
const MANY_TIMES: u32 = 4;

/// If processes have more memory than this, no rounds are looked for.
const MOST_MEMORY: usize = 1 << 20;

/// What a search has that looks for rounds, or at the memory of those who [may spin](super::quiet).
pub(super) struct Loops {
    pub(super) arenas: Box<Arenas>,
    /// Whether rounds are looked for.
    follows: bool,
}

impl Loops {
    /// None if there is no memory for it.
    pub(super) fn new(follows: bool) -> Option<Loops> {
        Some(Loops { arenas: Arenas::new()?, follows })
    }
}

/// Where a process stands.
#[derive(Clone, PartialEq)]
pub(crate) struct Stand {
    place: Site,
    registers: [usize; 7],
    /// The end of its stack, and where it begins.
    limit: usize,
    bottom: usize,
}

impl Standing for Stand {
    fn is_dead(&self, address: usize) -> bool {
        (self.limit..self.registers[6]).contains(&address)
    }

    fn is_own(&self, address: usize) -> bool {
        (self.limit..self.bottom).contains(&address)
    }

    fn tell(&self, into: &mut Vec<i64>) {
        into.push(std::ptr::from_ref(self.place.0).addr() as i64);
        into.extend(self.registers.iter().map(|&register| register as i64));
    }
}

/// Where a process was, which is noted now and then. In which state it was there is in [`Process::seen`].
#[derive(Clone, Copy, Default)]
pub(crate) struct Sight {
    place: Option<Site>,
    top: usize,
    /// Whether the process has written something since.
    pub(super) wrote: bool,
    /// How many times it was there in that state since.
    times: u32,
    /// Whether it has done something since it was there in that state that is in no round.
    did_more: bool,
    /// Whether the process has come there again with its last step.
    pub(super) again: bool,
}

impl Process {
    /// Whether it was noted where the process was.
    #[inline(always)]
    pub(super) fn is_sighted(&self) -> bool {
        self.sight.place.is_some()
    }

    /// Whether it is to be looked whether the process goes in a loop, as it comes to a place.
    #[inline]
    pub(super) fn may_loop(&self, place: &'static Caller<'static>) -> bool {
        self.events >= FIRST_LOOK && (self.sight.place == Some(Site(place)) || self.events.is_power_of_two())
    }
}

impl Runtime {
    /// The running process comes to a place, and maybe not for the first time.
    #[cold]
    pub(super) fn look_for_loop(&mut self, place: &'static Caller<'static>, registers: &Registers) {
        let me = self.running();
        let Process { sight, followed, events, .. } = self.process(me);
        let is_same_place = sight.place == Some(Site(place)) && sight.top == registers.top();
        let (is_taken, followed) = (events.is_power_of_two(), *followed);
        if !is_same_place && !is_taken {
            return;
        }
        // The state is needed until it is known that there are loops, and no longer: it costs as much as a step.
        if !followed && self.is_too_deep(registers.top()) {
            return self.discover_depth();
        }
        let process = self.process_mut(me);
        let bottom = process.bottom();
        let is_same_state = is_same_place && (followed || process.seen.is_here(registers, bottom));
        let sight = &mut process.sight;
        // Several operations of a loop may be at one place: one in another state is as good as one elsewhere.
        if is_taken && !is_same_state {
            if followed || process.seen.take(registers, bottom) {
                let (place, top, again) = (Some(Site(place)), registers.top(), is_same_place);
                *sight = Sight { place, top, again, ..Sight::default() };
            }
            return;
        }
        sight.again = true;
        if is_same_state {
            // A loop with a step that is in no round is never stopped: to look for rounds would only cost.
            sight.times += u32::from(!std::mem::take(&mut sight.did_more));
        }
        // Who only reads waits for something as soon as he is recognised.
        let loops = sight.times > 0 && (sight.wrote || sight.times >= MANY_TIMES);
        if loops && !followed {
            self.discover_loops();
        }
    }

    /// The memory of the execution, but for the stack of the process that runs.
    pub(super) fn memory(&self, running: ProcessId) -> impl Iterator<Item = Range<usize>> {
        let arenas = self.search.loops.iter().flat_map(|loops| loops.arenas.ranges());
        let blocks = self.execution.log.blocks_of_region();
        let copies = self.execution.statics.copied().map(|copy| copy.memory);
        let others = self.execution.schedule.created.iter().filter(move |&&process| process != running);
        let stacks = others.filter_map(|&process| {
            let state = self.process(process);
            let pending = state.pending.filter(|_| state.has_stack())?;
            Some(pending.top..state.bottom())
        });
        arenas.chain(blocks).chain(copies).chain(stacks)
    }

    /// A process takes a step from where its stack pointer is this.
    #[cold]
    pub(super) fn note_step(&mut self, process: ProcessId, top: usize) {
        self.execution.rounds.step(process);
        let Some(loops) = &mut self.search.loops else { return };
        loops.arenas.set_current(process);
        if !self.process(process).followed || self.execution.shadow.is_fresh(process) {
            return;
        }
        self.search.loops.iter_mut().for_each(|loops| loops.arenas.take_changes(|_| ()));
        let mut shadow = std::mem::take(&mut self.execution.shadow);
        let own = top..self.process(process).bottom();
        // SAFETY: all of it is memory of processes that are alive, or of arenas.
        unsafe { shadow.refresh(process, own, self.memory(process)) };
        self.execution.shadow = shadow;
    }

    /// Whether all that the step which is being taken, by an operation, has changed can be told, so that it may be
    /// in a round.
    fn is_told(&self, operation: &dyn Operation) -> bool {
        let Label { spawned, accesses, .. } = &self.step.label;
        spawned.is_empty() && (operation.is_told() || accesses.iter().all(|access| access.kind.is_read()))
    }

    /// A process that may come back to a place takes a step, by an operation.
    #[inline(never)]
    pub(super) fn note_on_the_way(&mut self, process: ProcessId, operation: &dyn Operation) {
        if !self.is_told(operation) {
            self.process_mut(process).sight.did_more = true;
        }
    }

    /// The step was taken by an operation.
    #[cold]
    pub(super) fn note_done(&mut self, operation: &dyn Operation) {
        leaves_more();
        if !self.is_told(operation) {
            self.execution.rounds.did_more();
        }
        self.execution.rounds.tell(digest(0, &self.step.label));
        let waiters = self.execution.waiters.all();
        self.execution.rounds.wait(waiters.map(|waiter| (waiter.process, waiter.queue)));
    }

    /// A process takes no further step: it has come to its end, or is stopped where it is.
    #[cold]
    pub(super) fn note_last(&mut self, process: ProcessId, why: Last) {
        if self.process(process).followed && self.execution.shadow.is_fresh(process) {
            let here = 0_usize;
            let top = match why {
                Last::Ended => self.process(process).bottom(),
                // What is above is its stack, or ours on it.
                Last::Stopped => (&raw const here).addr(),
            };
            self.note_changes(process, top);
            self.execution.rounds.end(process, why);
        }
    }

    /// The running process has come to an operation.
    #[cold]
    pub(super) fn note_arrival(&mut self, place: &'static Caller<'static>, registers: &Registers) {
        leaves_more();
        let me = self.running();
        let Some(loops) = &self.search.loops else { return };
        let state = self.process(me);
        let (limit, bottom, held) = (state.stack.0, state.bottom(), state.held);
        let stand = Stand { place: Site(place), registers: *registers.words(), limit, bottom };
        if state.bottom().saturating_sub(registers.top()) > CLEAN_STACK / 2 {
            return;
        }
        if state.followed && self.execution.shadow.is_fresh(me) {
            self.note_changes(me, registers.top());
        } else {
            // Of an allocator that does not record nothing is known.
            if loops.arenas.ranges().next().is_none() {
                return self.discover_no_rounds();
            }
            self.process_mut(me).followed = true;
        }
        self.execution.rounds.arrive(me, stand, held);
    }

    /// Notes what the running process has changed in its step, up to where its stack pointer is this.
    fn note_changes(&mut self, me: ProcessId, top: usize) {
        let mut shadow = std::mem::take(&mut self.execution.shadow);
        let mut rounds = std::mem::take(&mut self.execution.rounds);
        if let Some(loops) = &mut self.search.loops {
            loops.arenas.take_changes(|(block, old, new)| rounds.change(Changed::Block(block), old, new));
        }
        let own = top..self.process(me).bottom();
        // SAFETY: all of it is memory of processes that are alive, or of arenas, or of statics.
        unsafe {
            for copy in self.execution.statics.copied() {
                shadow.add_copy(copy.memory.start, copy.origin);
            }
            shadow.compare(me, own, self.memory(me), |at, old, new| {
                if old != 0 || !self.is_location_of_object(new as u64) {
                    rounds.change(Changed::Word(at), old as u64, new as u64);
                }
            });
        }
        (self.execution.shadow, self.execution.rounds) = (shadow, rounds);
        let is_exceeded = self.search.loops.as_ref().is_some_and(|loops| loops.arenas.is_exceeded());
        if is_exceeded || self.memory(me).map(|part| part.len()).sum::<usize>() > MOST_MEMORY {
            self.discover_no_rounds();
        }
    }

    /// What changes in a loop of a process: by name, or how many words where.
    fn told_of_changes(&self, process: ProcessId, changed: &[Changed]) -> String {
        let (mut names, mut words) = (Vec::new(), BTreeMap::<String, usize>::new());
        for &what in changed {
            match what {
                Changed::Value(location) => names.push(format!("`{}`", self.name_of_location(location))),
                Changed::Word(address) => *words.entry(self.whereabouts(process, address)).or_default() += 1,
                Changed::Block(_) => names.push("what is allocated".to_owned()),
                Changed::Wait(waiter) => names.push(format!("what {} waits for", self.name_of(waiter))),
                Changed::Clock(_) | Changed::Time(..) | Changed::Slept => names.push("the time".to_owned()),
            }
        }
        names.dedup();
        let are_many = names.len() + words.values().sum::<usize>() > 1;
        names.extend(words.into_iter().map(|(place, count)| match count {
            1 => format!("a word {place}"),
            _ => format!("{count} words {place}"),
        }));
        match names.is_empty() {
            true => String::new(),
            false => {
                let verb = if are_many { "change" } else { "changes" };
                format!(", in which {} {verb},", names.join(" and "))
            }
        }
    }

    /// Where a word of memory is, in a sentence about a process.
    fn whereabouts(&self, process: ProcessId, address: usize) -> String {
        let is_on_stack = |&owner: &ProcessId| {
            let state = self.process(owner);
            state.has_stack() && (state.stack.0..state.bottom()).contains(&address)
        };
        let mut created = self.execution.schedule.created.iter().copied();
        let is_static = || self.execution.statics.copied().any(|copy| copy.memory.contains(&address));
        match created.find(is_on_stack) {
            Some(owner) if owner == process => "of its stack".to_owned(),
            Some(owner) => format!("of the stack of {}", self.name_of(owner)),
            None if is_static() => "of a static".to_owned(),
            None => "on the heap".to_owned(),
        }
    }

    pub(super) fn is_location_of_object(&self, word: u64) -> bool {
        is_location(word, self.execution.stamp, self.search.table.count)
    }

    /// A location was written, in the step that is being taken.
    #[cold]
    pub(super) fn note_value(&mut self, location: Location, old: u64, new: u64) {
        self.execution.rounds.change(Changed::Value(location), old, new);
    }

    /// A process does something that races are judged by.
    #[inline]
    pub(super) fn note_race(&mut self, process: ProcessId, did: Did) {
        if self.looks_for_rounds() {
            let steps = self.execution.rounds.len();
            self.execution.race_log.note(steps, process, did);
        }
    }

    /// Whether rounds are looked for.
    #[inline(always)]
    pub(super) fn looks_for_rounds(&self) -> bool {
        self.follows_loops() && !self.execution.leaving
    }

    /// Whether the search is one that looks for rounds.
    #[inline(always)]
    pub(super) fn follows_loops(&self) -> bool {
        // Asked some ten times a step, so nothing is called.
        match &self.search.loops {
            Some(loops) => loops.follows,
            None => false,
        }
    }

    /// Whether a process may have gone a round with the step that it took last, or goes in a loop.
    #[inline]
    pub(super) fn returns(&mut self, process: ProcessId) -> bool {
        let state = self.process_mut(process);
        let again = std::mem::take(&mut state.sight.again);
        // Who waits for what it reads to change goes no further anyway.
        let spins = state.pending.as_ref().is_some_and(|pending| pending.spins);
        !spins && (again || (self.looks_for_rounds() && self.execution.rounds.returns()))
    }
}

impl Rounds for ClosureRun {
    fn rounds(&self, process: ProcessId, own: &[u32], with: &mut dyn FnMut(Round) -> ControlFlow<()>) {
        if self.runtime.looks_for_rounds() {
            self.runtime.execution.rounds.rounds(process, own, self.runtime.watches_cells(), with);
        }
    }

    fn net_effect(&self, steps: &[u32], effect: &mut Vec<i64>) -> bool {
        self.runtime.looks_for_rounds() && self.runtime.execution.rounds.net_effect(steps, effect)
    }

    fn races_alike(&self, earlier: &[u32], later: &[u32]) -> bool {
        let log = &self.runtime.execution.race_log;
        !self.runtime.watches_cells() || log.knowledge_after(earlier) == log.knowledge_after(later)
    }

    fn place(&self, process: ProcessId) -> Option<Place> {
        self.runtime.process(process).pending.map(|pending| place_of(pending.place))
    }

    fn location_name(&self, location: Location) -> Option<String> {
        Some(self.runtime.name_of_location(location))
    }

    fn arrivals(&self, process: ProcessId, own: &[u32]) -> usize {
        let Some(pending) = self.runtime.process(process).pending else { return 0 };
        let script = &self.runtime.search.script;
        let is_here =
            |&&step: &&u32| script[step as usize].next.is_some_and(|next| std::ptr::eq(next, pending.place));
        own.iter().filter(is_here).count()
    }

    fn describe(&self, process: ProcessId, own: &[u32]) -> String {
        let runtime = &*self.runtime;
        let at = runtime
            .process(process)
            .pending
            .map_or(String::new(), |pending| format!(" at {}", pending.place));
        let what = runtime.told_of_changes(process, &runtime.execution.rounds.changed_since(process, own));
        format!("the loop of {}{at}{what}", runtime.name_of(process))
    }
}
