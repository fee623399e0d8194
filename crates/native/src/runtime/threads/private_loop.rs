//! Threads that spin on memory which nobody else has touched so far.
//!
//! Such a thread comes to no operation, since others can't notice what it does. When it has run for some time
//! it is watched: its accesses are noted, and if it comes back to a read in the state in which it was there,
//! with all that it wrote since as it was, then it will go round for ever unless somebody changes what it
//! reads. So what it read on the way, and did not write itself, becomes locations, and the search begins
//! again: then others can change it, and the loop is seen for what it is. What can't be told from a loop is
//! left alone: a thread that computes has a new state each time.
#![allow(unsafe_code)]

use mazurka_program::AccessKind;
use mazurka_threads::races::Order;

use super::rounds::Digest;
use super::runtime::{Runtime, Search};
use crate::runtime::memory::layout::peek;

/// The most bytes that an access has by which a thread may wait for another.
const WORD: usize = 16;

/// After so many accesses a new state is taken, then after twice as many, and so on.
const FIRST: u32 = 64;
/// So many accesses are looked at.
const MOST: u32 = 1 << 16;

/// What is known of a thread that is watched.
#[derive(Default)]
pub(crate) struct PrivateLoop {
    /// Whether the thread that runs is to be watched. Set by a handler.
    pub(crate) is_watched: bool,
    /// When it began: turns and steps.
    began: (u64, u32),
    /// Where a state was taken, and the state.
    state: Option<(usize, Digest)>,
    /// How many accesses have been looked at, and how many will be when another state is taken.
    looked: u32,
    until: u32,
    reads: Vec<(usize, usize)>,
    /// What was written, with what was there.
    writes: Vec<(usize, usize, u64)>,
}

impl PrivateLoop {
    fn begin(&mut self, now: (u64, u32)) {
        (self.began, self.state) = (now, None);
        (self.looked, self.until) = (0, FIRST);
    }

    /// Whether all that was written since the state was taken is as it was. Nobody else has run.
    fn is_restored(&self) -> bool {
        // SAFETY: the thread has written it.
        self.writes.iter().all(|&(address, size, old)| unsafe { peek(address, size) } == old)
    }

    fn note(&mut self, address: usize, size: usize, kind: AccessKind) {
        if kind != AccessKind::Write && !self.reads.contains(&(address, size)) {
            self.reads.push((address, size));
        }
        if !kind.is_read() {
            for at in (0..size).step_by(8) {
                let (from, len) = (address + at, (size - at).min(8));
                if !self.writes.iter().any(|written| (written.0, written.1) == (from, len)) {
                    // SAFETY: the thread is about to write it.
                    self.writes.push((from, len, unsafe { peek(from, len) }));
                }
            }
        }
    }
}

impl Runtime {
    /// The thread that runs, and is watched, makes an access that others can't notice. Says whether they can
    /// now, since it is in a loop.
    pub(crate) fn look_for_private_loop(
        &mut self,
        (address, size): (usize, usize),
        place: usize,
        (kind, order): (AccessKind, Order),
    ) -> bool {
        let now = (self.search.turns, self.execution.schedule.depth);
        let known = &mut self.search.private_loop;
        if known.began != now {
            // It came to something after all, or it is another's turn.
            known.begin(now);
        }
        known.looked += 1;
        if known.looked > MOST {
            known.is_watched = false;
            known.begin((0, 0));
            return false;
        }
        // Where registers are noted.
        if kind.is_read() || order != Order::Plain {
            if self.has_gone_round(place) {
                return self.expose_loop();
            }
            self.take_private_state(place);
        }
        self.search.private_loop.note(address, size, kind);
        false
    }

    fn has_gone_round(&mut self, place: usize) -> bool {
        let known = &self.search.private_loop;
        let Some(before) = known.state.filter(|state| state.0 == place) else { return false };
        known.is_restored() && self.private_state(place).is_some_and(|state| state == before.1)
    }

    fn private_state(&mut self, place: usize) -> Option<Digest> {
        let frame = self.frame()?;
        Some(self.local_state(place, [0; 2], frame))
    }

    /// Takes the state, if there is none or it is long ago.
    fn take_private_state(&mut self, place: usize) {
        let known = &self.search.private_loop;
        if known.state.is_some() && known.looked < known.until {
            return;
        }
        let state = self.private_state(place).map(|state| (place, state));
        let known = &mut self.search.private_loop;
        (known.state, known.until) = (state, known.until.max(known.looked) * 2);
        known.reads.clear();
        known.writes.clear();
    }

    /// Makes what the thread touched on its round locations: that which is not on its own stack, if there is
    /// any, and which it did not write itself, if there is any of that. One would do, for the thread to come to
    /// something: what others write besides they make locations themselves, and the fewer there are that
    /// nobody else touches the less it matters who spun first. Says whether something became one.
    fn expose_loop(&mut self) -> bool {
        let slot = self.me().slot;
        let is_on_stack = |read: &(usize, usize)| (slot.stack_limit..slot.stack_base).contains(&read.0);
        let Search { private_loop, partition, shadow, .. } = &mut self.search;
        let PrivateLoop { reads, writes, .. } = private_loop;
        let is_written = |&(address, size): &(usize, usize)| {
            writes.iter().any(|written| written.0 < address + size && address < written.0 + written.1)
        };
        let mut exposed = false;
        for (on_stack, written) in [(false, false), (false, true), (true, false), (true, true)] {
            let is_one =
                |read: &&(usize, usize)| (is_on_stack(read), is_written(read)) == (on_stack, written);
            // Nobody waits by filling a buffer.
            let words = writes.iter().map(|written| (written.0, written.1)).filter(|&(_, size)| size <= WORD);
            let touched = reads.iter().copied().chain(words);
            for (address, size) in touched.filter(|touched| is_one(&touched)) {
                exposed |= partition.expose_all(shadow.words(address, size), address);
            }
            if exposed {
                break;
            }
        }
        private_loop.is_watched = false;
        private_loop.begin((0, 0));
        exposed
    }
}
