//! What several threads have changed together, over any of their steps: from their logs, and from the states
//! in which they came to their operations.
//!
//! Steps that are asked about are all that happened before one and not before an earlier one, or all from a
//! depth on. Others may have come between in the schedule; nothing behind them depends on these, so they wrote
//! nothing that such a step wrote or read. So of each byte the first of the steps to write it found what was
//! there before all of them, and what the last one left is there after them, whatever lies there now.

use mazurka_program::ProcessId;
use mazurka_threads::waiters::Waiter;

use super::rounds::{Arrival, mixed};
use super::runtime::Runtime;
use super::script::TakenStep;
use super::written::{Way, What};

/// What a part of an effect is about, for others to compare.
const OBJECT: i64 = 0;
const MEMORY: i64 = 1;
const WAITER: i64 = 2;
const STATE: i64 = 3;
const END: i64 = 4;
const READER: i64 = 5;
const CLOCK: i64 = 6;
const TIME: i64 = 7;

/// A thread with some of the steps: where it was before the first of them, and where after the last.
struct Participant<'a> {
    process: ProcessId,
    before: &'a Arrival,
    after: &'a Arrival,
}

impl Participant<'_> {
    /// Tells where the thread is, if it is elsewhere than it was. False if that is not known.
    fn tell(&self, effect: &mut Vec<i64>) -> bool {
        let process = i64::from(self.process.0);
        match (self.before.state, self.after.state) {
            (_, None) => return false,
            (_, Some(result)) if self.after.is_end => effect.extend([END, process, result[0].cast_signed()]),
            (before, Some(after)) if before != Some(after) => {
                effect.extend([STATE, process]);
                effect.extend(after.map(u64::cast_signed));
            }
            _ => {}
        }
        true
    }
}

impl Runtime {
    /// What steps of a script have changed, taken together; see [`mazurka_program::Rounds::net_effect`].
    pub(crate) fn net_effect(&self, script: &[TakenStep], steps: &[u32], effect: &mut Vec<i64>) -> bool {
        if !self.search.rounds {
            return false;
        }
        let (mut way, mut participants) = (Way::default(), Vec::<Participant<'_>>::new());
        for &position in steps.iter().rev() {
            let Some(process) = script.get(position as usize).map(|step| step.process) else { return false };
            let detector = &self.thread(process).buffers.rounds;
            let Some((before, after, log)) = detector.step(position) else { return false };
            way.go_back(log);
            match participants.iter_mut().find(|one| one.process == process) {
                Some(participant) => participant.before = before,
                None => participants.push(Participant { process, before, after }),
            }
        }
        participants.sort_unstable_by_key(|participant| participant.process);
        if way.lasts || !participants.iter().all(|participant| participant.tell(effect)) {
            return false;
        }
        self.tell_changes(&way, &participants, effect);
        true
    }

    /// Tells what is another now than it was, but for what nobody looks at any more.
    fn tell_changes(&self, way: &Way, participants: &[Participant<'_>], effect: &mut Vec<i64>) {
        let changed = way.seen.iter().filter(|(_, seen)| !seen.is_restored());
        let mut parts: Vec<[i64; 4]> = changed
            .filter_map(|(&what, seen)| match what {
                What::Memory(address) if self.is_dead(address, participants) => None,
                What::Memory(address) => {
                    let (now, bytes) = seen.changed_bytes();
                    Some([MEMORY, address as i64, i64::from(bytes), now.cast_signed()])
                }
                What::Object(location) => Some([OBJECT, i64::from(location), 0, seen.new.cast_signed()]),
                What::Reader(lock, process) => {
                    Some([READER, i64::from(lock), i64::from(process), seen.new.cast_signed()])
                }
                What::Waiter(process) => Some([WAITER, i64::from(process), 0, seen.new.cast_signed()]),
                what if what.is_time() && way.slept => None,
                What::Clock(process) => Some([CLOCK, i64::from(process), 0, seen.new.cast_signed()]),
                What::Time(reads, location, process) => {
                    let who = i64::from(process) << 1 | i64::from(reads);
                    Some([TIME, i64::from(location), who, seen.new.cast_signed()])
                }
                What::Synchronised(_) | What::Held | What::Lasting | What::Slept => None,
            })
            .collect();
        parts.sort_unstable();
        effect.extend(parts.iter().flatten());
    }

    /// Whether an address is on a stack, below all that lives there.
    fn is_dead(&self, address: usize, participants: &[Participant<'_>]) -> bool {
        let Some(owner) = self.search.slots.owner(address) else { return false };
        let slot = self.search.slots.slot(owner);
        let mut known = participants.iter().filter(|participant| participant.process == owner);
        known.any(|participant| match participant.after.is_end {
            true => (slot.stack_limit..slot.heap).contains(&address),
            false => (slot.stack_limit..participant.after.stack_pointer).contains(&address),
        })
    }

    /// Who waits to be woken, before a step; nothing if nobody wants to know.
    #[inline]
    pub(crate) fn waiters_before(&self) -> Vec<(ProcessId, u64)> {
        if self.search.rounds { self.waiting_to_be_woken() } else { Vec::new() }
    }

    fn waiting_to_be_woken(&self) -> Vec<(ProcessId, u64)> {
        let number = |waiter: &Waiter| {
            let lock = waiter.lock.map_or(0, |lock| u64::from(lock.0) + 1);
            (waiter.process, mixed(&[u64::from(waiter.queue.0), lock]))
        };
        self.execution.waiters.all().map(number).collect()
    }

    /// Notes in the log of the running thread what its step has changed of those who wait to be woken.
    #[inline]
    pub(crate) fn log_waiters(&mut self, before: Vec<(ProcessId, u64)>) {
        if self.search.rounds {
            self.log_changed_waiters(&before);
        }
    }

    #[cold]
    fn log_changed_waiters(&mut self, before: &[(ProcessId, u64)]) {
        let after = self.waiting_to_be_woken();
        let detector = &mut self.me().buffers.rounds;
        for &(process, at) in before.iter().filter(|waiter| !after.contains(waiter)) {
            detector.note_waiter(process.0, at, 0);
        }
        for &(process, at) in after.iter().filter(|waiter| !before.contains(waiter)) {
            detector.note_waiter(process.0, 0, at);
        }
    }
}
