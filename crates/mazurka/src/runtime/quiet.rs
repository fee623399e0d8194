//! Whether who seems to spin leaves memory as it is.
//!
//! A loop that only reads may count where nobody is told: in a `Box`, in an atomic of the standard library,
//! in a variable of another thread's stack. Such a loop does not wait, whatever its own stack and registers
//! say. So, once a process has come to one place twice without having changed anything that is announced,
//! memory is copied before each of its steps and compared when it comes to its next operation. Who has
//! changed a word has written, and is taken for no loop that waits; if it comes back to where it was
//! nevertheless, [rounds](super::rounds) tell.
//!
//! Invariants: only the steps between two visits of a suspect are looked at, so that a search without loops
//! pays nothing, and one with spin locks little. What is found depends on the process's own step alone:
//! nobody else runs between the copy and the comparison.
//!
//! For that the memory of processes has to be known: it is in [arenas](super::arena), or, where leaks are
//! looked for, in the region of addresses that are never used twice. So the search begins again when the
//! first loop is met. Where memory can't be known, who seems to spin makes the search not exhaustive.
#![allow(unsafe_code)]

use std::ops::Range;

use mazurka_program::ProcessId;

use super::Runtime;

/// How what processes do to memory is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Memory {
    /// No loop that only reads has been met.
    #[default]
    NotAsked,
    /// It is compared when somebody may spin.
    Compared,
    /// It can't be compared.
    Unknown,
}

impl Runtime {
    /// Whether the memory that a process changes in its next step is looked at: it may be spinning.
    #[inline(always)]
    pub(super) fn is_suspect(&self, process: ProcessId) -> bool {
        self.search.memory == Memory::Compared
            && !self.execution.leaving
            && self.process(process).spin_state.has_state()
    }

    /// A process that may be spinning takes a step. What this leaves on a stack is to be wiped out.
    #[cold]
    pub(super) fn copy_memory(&mut self, process: ProcessId) {
        self.search.loops.iter_mut().for_each(|loops| loops.arenas.take_changes(|_| ()));
        let mut shadow = std::mem::take(&mut self.execution.shadow);
        // SAFETY: all of it is memory of processes that are alive, of arenas or of the region.
        unsafe { shadow.refresh(process, self.no_stack_of(process), self.memory(process)) };
        self.execution.shadow = shadow;
    }

    /// A process that may be spinning has come to its next operation. As above.
    #[cold]
    pub(super) fn compare_memory(&mut self) {
        let me = self.running();
        if !self.execution.shadow.is_fresh(me) || self.has_changed_memory(me) {
            let process = self.process_mut(me);
            process.spin_state.clear();
            process.sight.wrote = true;
        }
    }

    fn has_changed_memory(&mut self, me: ProcessId) -> bool {
        let mut blocks: Vec<(usize, i64)> = Vec::new();
        if let Some(loops) = &mut self.search.loops {
            loops.arenas.take_changes(|(block, old, new)| {
                match blocks.iter_mut().find(|known| known.0 == block) {
                    Some(known) => known.1 += new as i64 - old as i64,
                    None => blocks.push((block, new as i64 - old as i64)),
                }
            });
        }
        let mut changed = blocks.iter().any(|block| block.1 != 0);
        let mut shadow = std::mem::take(&mut self.execution.shadow);
        // SAFETY: all of it is memory of processes that are alive, of arenas, of statics or of the region.
        unsafe {
            for copy in self.execution.statics.copied() {
                shadow.add_copy(copy.memory.start, copy.origin);
            }
            shadow.compare(me, self.no_stack_of(me), self.memory(me), |_, old, new| {
                changed |= old != 0 || !self.is_location_of_object(new as u64);
            });
        }
        self.execution.shadow = shadow;
        changed
    }

    /// Of the stack of who spins nothing is compared here: that is done where it is recognised.
    fn no_stack_of(&self, process: ProcessId) -> Range<usize> {
        let bottom = self.process(process).bottom();
        bottom..bottom
    }

    /// The running process was found to spin. That is taken for true only where its memory was compared.
    pub(super) fn spins_here(&mut self) {
        if self.follows_loops() || self.execution.leaving {
            return;
        }
        let is_elsewhere = self
            .search
            .loops
            .as_ref()
            .is_some_and(|loops| loops.arenas.is_exceeded() || loops.arenas.ranges().next().is_none());
        match self.search.memory {
            Memory::NotAsked => self.discover_spins(),
            Memory::Compared if is_elsewhere => self.discover_no_rounds(),
            Memory::Compared => {}
            Memory::Unknown => self.discover_unseen(),
        }
    }
}
