//! Leaks: memory that nothing points to at the end of an execution in which nothing went wrong.
//!
//! As leak checkers do, every word that could be a pointer counts as one: of variables, of thread-local ones,
//! of the stacks of threads that have not ended or that call `exit`, and of blocks that are reached. So what
//! a program keeps in a global is no leak, whether it frees it or not. Only pages of variables that the
//! program has written are looked at: others hold no pointer to the heap.
#![allow(unsafe_code)]

use mazurka_program::{Place, ProcessId};
use mazurka_threads::replay::mix;

use super::heap::Block;
use super::layout::peek;
use crate::runtime::report::frames::Trail;
use crate::runtime::threads::runtime::{Execution, MAIN, Runtime};
use crate::runtime::threads::thread::Status;

/// Memory that was allocated at one place and leaked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leak {
    /// Where it was allocated.
    pub place: Option<Place>,
    /// In how many blocks; of the first execution in which it was found.
    pub blocks: u64,
    /// How many bytes, together.
    pub bytes: u64,
}

/// What has leaked, by where it was allocated.
#[derive(Default)]
pub(crate) struct Leaks {
    found: Vec<(usize, Trail, Leak)>,
    /// Blocks that were allocated and not freed: thread and number.
    live: Vec<(ProcessId, u32)>,
    reached: Vec<bool>,
    /// Reached, and not looked at.
    waiting: Vec<usize>,
}

impl Leaks {
    /// What was found, in the order of places.
    pub(crate) fn list(&self) -> Vec<Leak> {
        let mut list: Vec<Leak> = self.found.iter().map(|(.., leak)| leak.clone()).collect();
        let key =
            |leak: &Leak| leak.place.as_ref().map(|place| (place.file.clone(), place.line, place.column));
        list.sort_by_key(|leak| (key(leak), leak.bytes));
        list
    }
}

impl Leaks {
    /// Where what was found was allocated, as digests.
    pub(crate) fn digests(&self) -> impl Iterator<Item = u64> {
        let digest = |(place, trail, _): &(usize, Trail, Leak)| {
            trail.iter().fold(*place as u64, |digest, &word| mix(digest, word.into()))
        };
        self.found.iter().map(digest)
    }
}

impl Runtime {
    /// Whether the execution has come to its end as it should.
    fn ended_well(&self) -> bool {
        let Execution { findings, schedule, threads, over, .. } = &self.execution;
        let ended = |&process: &ProcessId| threads[process].state.status == Status::Finished;
        findings.failures.is_empty() && !findings.assumed && (*over || schedule.created.iter().all(ended))
    }

    /// Looks for leaks at the end of an execution. Costs nothing where everything was freed.
    #[cold]
    pub(crate) fn look_for_leaks(&mut self) {
        if !self.ended_well() {
            return;
        }
        let mut leaks = std::mem::take(&mut self.search.leaks);
        leaks.live.clear();
        for &thread in &self.execution.schedule.created {
            let blocks = self.execution.heap.blocks.of_thread(thread);
            let live = blocks.iter().enumerate().filter(|(_, block)| block.freed.is_none());
            leaks.live.extend(live.map(|(at, _)| (thread, at as u32)));
        }
        leaks.live.sort_unstable();
        leaks.reached.clear();
        leaks.reached.resize(leaks.live.len(), false);
        self.reach_from_roots(&mut leaks);
        while let Some(at) = leaks.waiting.pop() {
            let block = self.live(&leaks, at);
            self.reach(&mut leaks, block.address, block.address + block.size);
        }
        self.collect(&mut leaks);
        self.search.leaks = leaks;
    }

    fn live(&self, leaks: &Leaks, at: usize) -> Block {
        let (thread, number) = leaks.live[at];
        self.execution.heap.blocks.of_thread(thread)[number as usize]
    }

    fn reach_from_roots(&self, leaks: &mut Leaks) {
        for range in self.execution.image.written() {
            self.reach(leaks, range.start, range.end);
        }
        for &process in &self.execution.schedule.created {
            let thread = self.thread(process);
            self.reach_word(leaks, thread.state.result);
            let ended = thread.state.status == Status::Finished;
            if !ended || process == MAIN {
                let locals = thread.locals();
                self.reach(leaks, locals.start, locals.end);
                thread.buffers.specific.iter().for_each(|&word| self.reach_word(leaks, word));
            }
            // Who ends the program from within a call leaves its frames as they are.
            if !ended || thread.state.exits {
                // With the registers that were saved when it was suspended.
                let stack = thread.stack_in_use();
                self.reach(leaks, stack.start, stack.end);
            }
        }
    }

    /// Follows the words of a range of memory.
    fn reach(&self, leaks: &mut Leaks, from: usize, to: usize) {
        let mut at = from.next_multiple_of(8);
        while at + 8 <= to {
            // SAFETY: callers give ranges of variables, of blocks, and of memory in slots that are open.
            let word = unsafe { peek(at, 8) } as usize;
            if self.search.slots.contains(word) {
                self.reach_word(leaks, word);
            }
            at += 8;
        }
    }

    /// What a word points to, if it points to a block, or right behind one, is reached.
    fn reach_word(&self, leaks: &mut Leaks, word: usize) {
        let Some(thread) = self.search.slots.owner(word) else { return };
        let Some(number) = self.execution.heap.blocks.before(thread, word) else { return };
        let block = &self.execution.heap.blocks.of_thread(thread)[number];
        if block.freed.is_some() || word > block.address + block.size {
            return;
        }
        if let Ok(at) = leaks.live.binary_search(&(thread, number as u32))
            && !std::mem::replace(&mut leaks.reached[at], true)
        {
            leaks.waiting.push(at);
        }
    }

    /// Notes what was not reached, at places that are new.
    fn collect(&self, leaks: &mut Leaks) {
        let known = leaks.found.len();
        for at in 0..leaks.live.len() {
            if leaks.reached[at] {
                continue;
            }
            let block = self.live(leaks, at);
            let same =
                |(place, trail, _): &(usize, Trail, Leak)| *place == block.place && *trail == block.trail;
            match leaks.found.iter().position(same) {
                Some(old) if old < known => {}
                Some(new) => {
                    let leak = &mut leaks.found[new].2;
                    leak.blocks += 1;
                    leak.bytes += block.size as u64;
                }
                None => {
                    let place = self.place(self.own_place(block.place, &block.trail));
                    let leak = Leak { place, blocks: 1, bytes: block.size as u64 };
                    leaks.found.push((block.place, block.trail, leak));
                }
            }
        }
    }
}
