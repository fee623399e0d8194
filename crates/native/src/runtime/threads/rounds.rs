//! Rounds: what a thread has to remember of itself to know that it has come back to where it was.
//!
//! A thread *arrives* at an access or at an operation. Of each arrival is kept where it was, a digest of the
//! thread's state there, and how much the thread had written. Arrivals in the same state are linked, so that
//! all rounds that end at an arrival are found without looking at others.
//!
//! All that a thread writes is in its log, private memory included: what was there before, and what the
//! thread itself left there, which is looked at before anybody else runs. So it is known of any of its last
//! steps whether what they wrote is as they found it, by their own writes, whatever others have written
//! since. What can't be told by values (memory is allocated, somebody is woken) is in the log as that: no
//! round goes over it.
//!
//! Everything here depends on what the thread does and reads, and on nothing else: so it is the same in every
//! order of independent steps and however often steps are taken again.
#![allow(unsafe_code)]

use std::ops::ControlFlow;
use std::ptr;

use mazurka_program::Round;
use mazurka_threads::execution_state;

use super::written::{Way, What, Written, spread};

/// No log is longer: above that no rounds are found that begin before.
const MOST_WRITTEN: usize = 1 << 14;
/// No write that is larger is undone.
const LARGEST: usize = 4096;
/// So many of the last writes are looked at for one of the same memory.
const LAST_WRITES: usize = 8;
/// So many rounds back are told that are not restored; all of them where a thread is in one state for the 1st,
/// 2nd, 4th, 8th, ... time: to find out what others did in them takes as long as they are.
const LAST_ROUNDS: u32 = 8;
/// A round that only reads is another's affair ([`super::spin`]), unless it reads more than that keeps.
const ONLY_READS: usize = 32;

/// No arrival.
const NONE: u32 = u32::MAX;

/// A digest of a state; of 128 bits, so that equal ones are of equal states.
pub(crate) type Digest = [u64; 2];

/// Makes a digest of words.
#[derive(Clone, Copy)]
pub(crate) struct Digester(Digest);

impl Digester {
    pub(crate) fn new() -> Digester {
        Digester([0x243F_6A88_85A3_08D3, 0x1319_8A2E_0370_7344])
    }

    #[inline]
    pub(crate) fn add(&mut self, word: u64) {
        let [first, second] = &mut self.0;
        *first = (*first ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        *first ^= *first >> 32;
        *second = (second.rotate_left(23) ^ word).wrapping_mul(0xD6E8_FEB8_6659_FD93);
        *second ^= *second >> 29;
    }

    pub(crate) fn finish(self) -> Digest {
        self.0
    }
}

/// A number that tells lists of words from each other.
pub(crate) fn mixed(words: &[u64]) -> u64 {
    let mut digest = Digester::new();
    words.iter().for_each(|&word| digest.add(word));
    digest.finish()[0]
}

/// A thread has come to an access or to an operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    /// Where: the code, and how deep on the stack.
    place: u64,
    /// In which state; none if that is not known.
    pub(crate) state: Option<Digest>,
    /// What is below on its stack is dead; 0 if that is not known.
    pub(crate) stack_pointer: usize,
    /// Whether it has come to its end, and not to anything.
    pub(crate) is_end: bool,
    /// The arrivals before it in the tables of places and of states.
    next: [u32; 2],
    /// How many times it has been there.
    times: u32,
    /// The last arrival in the same state, and how many there are, with this one.
    same: u32,
    same_times: u32,
    /// How many steps the execution had by then.
    depth: u32,
    /// How much the thread had written, and how many operations it had done.
    written: u32,
    operations: u32,
}

execution_state! {
    /// The arrivals and the writes of a thread.
    #[derive(Default)]
    pub(crate) struct RoundDetector, saved as SavedRoundDetector {
        arrivals: Vec<Arrival>,
        /// The last arrival with each remainder: by place, and by state.
        by_place: Vec<u32>,
        by_state: Vec<u32>,
        log: Vec<Written>,
        /// How many entries of the log were forgotten.
        forgotten: u32,
        /// The entries before it tell what the thread has left there.
        settled: usize,
        operations: u32,
        /// Whether the thread is at its last arrival.
        is_there: bool,
        /// The plain write that was announced last, with its size, if nothing was since.
        announced: usize,
        announced_size: usize,
        /// What the thread's clock showed when it read, or wrote, a location last; in order.
        times: Vec<((u32, bool), i64)>,
    }
}

/// Reads a word of 8 bytes at a multiple of 8.
///
/// # Safety
/// Some byte of it must be readable.
unsafe fn word_at(address: usize) -> u64 {
    // SAFETY: by the contract of this function: it does not cross a page.
    unsafe { ptr::with_exposed_provenance::<u64>(address).read() }
}

impl RoundDetector {
    /// About how many bytes there are to save.
    pub(crate) fn size(&self) -> usize {
        size_of_val(&self.arrivals[..])
            + size_of_val(&self.log[..])
            + size_of_val(&self.times[..])
            + 8 * self.by_place.len()
    }

    fn end(&self) -> u32 {
        self.forgotten + self.log.len() as u32
    }

    fn push(&mut self, written: Written) {
        if self.log.len() == MOST_WRITTEN {
            self.forgotten += self.log.len() as u32;
            self.log.clear();
            self.settled = 0;
        }
        self.log.push(written);
    }

    /// The thread is about to write memory.
    ///
    /// # Safety
    /// The bytes must be readable.
    pub(crate) unsafe fn note_write(&mut self, address: usize, size: usize) {
        if size > LARGEST {
            return self.note_lasting();
        }
        let end = address + size;
        let mut word = address & !7;
        while word < end {
            let (from, to) = (address.max(word) - word, end.min(word + 8) - word);
            let bytes = ((1u16 << to) - (1u16 << from)) as u8;
            // SAFETY: by the contract of this function.
            unsafe { self.note_word(word, bytes) };
            word += 8;
        }
    }

    /// The thread is about to write some bytes of a word.
    ///
    /// # Safety
    /// The bytes must be readable.
    pub(crate) unsafe fn note_word(&mut self, address: usize, bytes: u8) {
        // SAFETY: by the contract of this function.
        let old = unsafe { word_at(address) };
        let what = What::Memory(address);
        let from = self.settled.max(self.log.len().saturating_sub(LAST_WRITES));
        if let Some(written) = self.log[from..].iter_mut().find(|written| written.what == what) {
            let more = bytes & !written.bytes;
            written.old = written.old & !spread(more) | old & spread(more);
            written.bytes |= more;
            return;
        }
        self.push(Written { what, bytes, old, new: old });
    }

    /// The thread sets what an object holds.
    pub(crate) fn note_object(&mut self, location: u32, old: u64, new: u64) {
        self.push(Written { what: What::Object(location), bytes: 0xFF, old, new });
    }

    /// How many times a thread reads a lock changes.
    pub(crate) fn note_reader(&mut self, lock: u32, process: u32, old: u64, new: u64) {
        self.push(Written { what: What::Reader(lock, process), bytes: 0xFF, old, new });
    }

    /// The thread changes what another one, or itself, waits at to be woken.
    pub(crate) fn note_waiter(&mut self, process: u32, old: u64, new: u64) {
        self.push(Written { what: What::Waiter(process), bytes: 0xFF, old, new });
    }

    /// The thread writes an atomic variable, blindly or not.
    pub(crate) fn note_synchronised(&mut self, location: u32, blind: bool) {
        let new = u64::from(blind);
        self.push(Written { what: What::Synchronised(location), bytes: 0, old: 0, new });
    }

    /// The thread's clock goes on.
    pub(crate) fn note_clock(&mut self, process: u32, old: i64, new: i64) {
        let (old, new) = (old.cast_unsigned(), new.cast_unsigned());
        self.push(Written { what: What::Clock(process), bytes: 0xFF, old, new });
    }

    /// The thread reads a location, or writes it, when its clock shows this. What others did there is no
    /// matter: who has been there at that time before leaves the time that is there already.
    pub(crate) fn note_time(&mut self, reads: bool, location: u32, process: u32, new: i64) {
        let at = self.times.binary_search_by_key(&(location, reads), |time| time.0).unwrap_or_else(|at| {
            self.times.insert(at, ((location, reads), i64::MIN));
            at
        });
        let old = std::mem::replace(&mut self.times[at].1, new);
        if old != new {
            let (old, new) = (old.cast_unsigned(), new.cast_unsigned());
            self.push(Written { what: What::Time(reads, location, process), bytes: 0xFF, old, new });
        }
    }

    /// The thread sleeps, or its wait has timed out.
    pub(crate) fn note_slept(&mut self) {
        self.push(Written { what: What::Slept, bytes: 0, old: 0, new: 0 });
    }

    /// The thread takes a lock, or gives one back.
    pub(crate) fn note_held(&mut self, change: i64) {
        self.push(Written { what: What::Held, bytes: 0, old: 0, new: change.cast_unsigned() });
    }

    /// The thread does what can't be undone by writing values.
    pub(crate) fn note_lasting(&mut self) {
        self.push(Written { what: What::Lasting, bytes: 0, old: 0, new: 0 });
    }

    /// The thread comes to an operation that is no plain access.
    pub(crate) fn note_operation(&mut self) {
        self.operations += 1;
    }

    /// The thread announces a plain write of so many bytes, or something else if there are none.
    pub(crate) fn note_announced(&mut self, address: usize, size: usize) {
        (self.announced, self.announced_size) = (address, size);
    }

    /// The thread comes to a plain read of other memory. Of an assignment of structures gcc announces the
    /// write first, then the read, and then makes both: the write may be still to come. Where it has changed
    /// nothing that can't be told from one that was made.
    ///
    /// # Safety
    /// What was announced must be readable.
    pub(crate) unsafe fn note_plain_read(&mut self, address: usize, size: usize) {
        if self.announced_size != size || self.announced == address {
            return;
        }
        let words = (self.announced & !7..self.announced + size).step_by(8);
        let unchanged = words.into_iter().all(|word| {
            let last = self.log[self.settled..].iter().rev();
            let written = last.into_iter().find(|written| written.what == What::Memory(word));
            // SAFETY: by the contract of this function.
            let now = unsafe { word_at(word) };
            written.is_none_or(|written| (written.old ^ now) & spread(written.bytes) == 0)
        });
        if unchanged {
            self.note_lasting();
        }
    }

    /// The thread has made its writes, and nobody else has run since: what is there now is what it left.
    pub(crate) fn settle(&mut self) {
        for written in &mut self.log[self.settled..] {
            if let What::Memory(address) = written.what {
                // SAFETY: the thread has written some of these bytes.
                written.new = unsafe { word_at(address) };
            }
        }
        self.settled = self.log.len();
        self.announced_size = 0;
    }

    /// An arrival that is linked with no other.
    fn arrival(&self, place: u64, depth: u32) -> Arrival {
        Arrival {
            place,
            state: None,
            stack_pointer: 0,
            is_end: false,
            next: [NONE; 2],
            times: 0,
            same: NONE,
            same_times: 1,
            depth,
            written: self.end(),
            operations: self.operations,
        }
    }

    /// The thread has come somewhere; in which state it is, if that is known, and what its stack pointer is.
    pub(crate) fn arrive(&mut self, place: u64, state: Option<Digest>, stack_pointer: usize, depth: u32) {
        let at = self.arrivals.len() as u32;
        let mut arrival = Arrival { state, stack_pointer, times: 1, ..self.arrival(place, depth) };
        self.make_room();
        if let Some(before) = self.find(&self.by_place, 0, place, |before| before.place == place) {
            arrival.times += self.arrivals[before as usize].times;
        }
        let link = |heads: &mut [u32], number: u64| {
            let remainder = number as usize & (heads.len() - 1);
            std::mem::replace(&mut heads[remainder], at)
        };
        if let Some(state) = state {
            if let Some(same) = self.find(&self.by_state, 1, state[0], |before| before.state == Some(state)) {
                arrival.same = same;
                arrival.same_times += self.arrivals[same as usize].same_times;
            }
            arrival.next[1] = link(&mut self.by_state, state[0]);
        }
        arrival.next[0] = link(&mut self.by_place, place);
        self.arrivals.push(arrival);
        self.is_there = true;
    }

    /// The thread has come to another operation of the call in which it arrived last.
    pub(crate) fn arrive_after(&mut self, what: u64, depth: u32) {
        let Some(Arrival { place, state, stack_pointer, .. }) = self.here().copied() else {
            return self.arrive_within(depth);
        };
        let mut at = Digester::new();
        at.add(place);
        at.add(what);
        let state = state.map(|state| {
            let mut after = Digester::new();
            [state[0], state[1], what].into_iter().for_each(|word| after.add(word));
            after.finish()
        });
        self.arrive(at.finish()[0], state, stack_pointer, depth);
    }

    /// The thread has come where rounds are not looked for.
    pub(crate) fn arrive_within(&mut self, depth: u32) {
        self.arrivals.push(self.arrival(0, depth));
        self.is_there = false;
    }

    /// The thread has come to its end, with a result.
    pub(crate) fn end_thread(&mut self, result: u64, depth: u32) {
        self.settle();
        self.arrivals.push(Arrival { is_end: true, state: Some([result, 0]), ..self.arrival(0, depth) });
        self.is_there = false;
    }

    /// Where the thread was before its step at a position, where it came to then, and what it wrote in it; none
    /// if that is not known any more.
    pub(crate) fn step(&self, position: u32) -> Option<(&Arrival, &Arrival, &[Written])> {
        let after = self.arrivals.partition_point(|arrival| arrival.depth <= position);
        let (before, after) = (self.arrivals.get(after.checked_sub(1)?)?, self.arrivals.get(after)?);
        let from = before.written.checked_sub(self.forgotten)? as usize;
        let log = &self.log[from..(after.written - self.forgotten) as usize];
        (after.depth == position + 1).then_some((before, after, log))
    }

    fn find(&self, heads: &[u32], table: usize, number: u64, is: impl Fn(&Arrival) -> bool) -> Option<u32> {
        let mut at = heads[number as usize & (heads.len() - 1)];
        while at != NONE && !is(&self.arrivals[at as usize]) {
            at = self.arrivals[at as usize].next[table];
        }
        (at != NONE).then_some(at)
    }

    /// Makes the tables as large as they have to be.
    fn make_room(&mut self) {
        if self.arrivals.len() < self.by_place.len() {
            return;
        }
        let len = (2 * self.by_place.len()).max(16);
        for heads in [&mut self.by_place, &mut self.by_state] {
            heads.clear();
            heads.resize(len, NONE);
        }
        for (at, arrival) in self.arrivals.iter_mut().enumerate() {
            let heads = [&mut self.by_place, &mut self.by_state];
            let place = (arrival.times > 0).then_some(arrival.place);
            for ((heads, number), next) in
                heads.into_iter().zip([place, arrival.state.map(|state| state[0])]).zip(&mut arrival.next)
            {
                if let Some(number) = number {
                    *next = std::mem::replace(&mut heads[number as usize & (len - 1)], at as u32);
                }
            }
        }
    }

    fn here(&self) -> Option<&Arrival> {
        self.arrivals.last().filter(|_| self.is_there)
    }

    /// Whether the thread has been where it is before.
    pub(crate) fn returns(&self) -> bool {
        self.here().is_some_and(|here| here.times > 1)
    }

    /// How many times the thread has been where it is, this time included.
    pub(crate) fn times(&self) -> usize {
        self.here().map_or(1, |here| here.times as usize)
    }

    /// After how many steps of the execution the thread was last where it is.
    pub(crate) fn depth_before(&self) -> Option<u32> {
        let here = self.here()?;
        let before = self.arrivals.split_last()?.1.iter().rev();
        before.into_iter().find(|before| before.place == here.place).map(|before| before.depth)
    }

    /// Calls `with` for each round that ends where the thread is, the shortest first, with whether an atomic
    /// variable was overwritten blindly in it. `steps` tells how many steps the thread has taken since the
    /// execution had so many; its stack ends at a limit.
    pub(crate) fn rounds(
        &self,
        stack_limit: usize,
        steps: impl Fn(u32) -> usize,
        with: &mut dyn FnMut(Round, bool) -> ControlFlow<()>,
    ) {
        let Some(here) = self.here() else { return };
        let (mut way, mut at, mut told) = (Way::default(), here.same, 0);
        let is_dead = |address| (stack_limit..here.stack_pointer).contains(&address);
        let most = if here.same_times.is_power_of_two() { u32::MAX } else { LAST_ROUNDS };
        while let Some(before) = self.arrivals.get(at as usize).filter(|one| one.written >= self.forgotten) {
            let from = (before.written - self.forgotten) as usize;
            way.go_back(&self.log[from..self.log.len() - way.entries]);
            if way.fewest_held < 0 {
                return;
            }
            let steps = steps(before.depth);
            let only_reads = before.written == here.written && before.operations == here.operations;
            if steps > 0 && !(only_reads && steps <= ONLY_READS) {
                let restored = way.is_restored(is_dead);
                told += u32::from(!restored);
                let round = Round { steps, restored, alone: steps, counts: true };
                if (restored || told <= most) && with(round, way.is_blind()).is_break() {
                    return;
                }
            }
            at = before.same;
        }
    }

    /// The words of memory, and the objects, that the thread has changed since the execution had so many
    /// steps.
    pub(crate) fn changed_since(&self, depth: u32) -> (Vec<(usize, usize)>, Vec<u32>) {
        let first = self.arrivals.iter().find(|arrival| arrival.depth >= depth);
        let from = first.map_or(0, |arrival| arrival.written.saturating_sub(self.forgotten) as usize);
        let mut way = Way::default();
        way.go_back(&self.log[from.min(self.log.len())..]);
        let (mut memory, mut objects) = (Vec::new(), Vec::new());
        for (what, seen) in way.seen.into_iter().filter(|(_, seen)| !seen.is_restored()) {
            let changed = seen.changed_bits();
            match what {
                What::Memory(address) => memory.push((address + changed.trailing_zeros() as usize / 8, 1)),
                What::Object(location) => objects.push(location),
                What::Reader(..) | What::Waiter(_) | What::Clock(_) | What::Time(..) => {}
                What::Synchronised(_) | What::Held | What::Lasting | What::Slept => {}
            }
        }
        memory.sort_unstable();
        objects.sort_unstable();
        (memory, objects)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rounds that end where a thread is, each with how many steps it has; depths count its own steps.
    fn rounds(detector: &RoundDetector, now: u32) -> Vec<(usize, bool)> {
        let mut found = Vec::new();
        detector.rounds(0, |depth| (now - depth) as usize, &mut |round, _| {
            found.push((round.steps, round.restored));
            ControlFlow::Continue(())
        });
        found
    }

    /// A write of a byte of some words.
    fn write(detector: &mut RoundDetector, words: &mut [u64; 2], at: usize, byte: u8) {
        let address = words.as_mut_ptr().expose_provenance() + at;
        // SAFETY: the byte is one of the words, which nobody else uses.
        unsafe {
            detector.note_write(address, 1);
            ptr::with_exposed_provenance_mut::<u8>(address).write(byte);
        }
    }

    #[test]
    fn a_round_is_restored_by_own_writes_alone() {
        let (mut detector, mut words) = (RoundDetector::default(), [0u64; 2]);
        detector.arrive(7, Some([1, 1]), 0, 0);
        assert!(!detector.returns() && rounds(&detector, 0).is_empty());
        write(&mut detector, &mut words, 3, 5);
        detector.settle();
        detector.arrive(7, Some([1, 1]), 0, 1);
        assert!(detector.returns());
        assert_eq!(rounds(&detector, 1), [(1, false)]);
        // Another writes it back: that does not count.
        words[0] = 0;
        write(&mut detector, &mut words, 12, 0);
        detector.settle();
        detector.arrive(7, Some([1, 1]), 0, 2);
        assert_eq!(rounds(&detector, 2), [(1, true), (2, false)]);
        words[0] = 9 << 24;
        write(&mut detector, &mut words, 3, 0);
        detector.settle();
        detector.arrive(7, Some([1, 1]), 0, 3);
        assert_eq!(
            rounds(&detector, 3),
            [(1, false), (2, false), (3, true)],
            "what the first found is there"
        );
        assert_eq!((detector.times(), detector.depth_before()), (4, Some(2)));
    }

    #[test]
    fn no_round_goes_over_what_lasts_nor_over_fewer_locks() {
        let mut detector = RoundDetector::default();
        detector.arrive(7, Some([1, 1]), 0, 0);
        detector.note_object(3, 0, 1);
        detector.note_held(1);
        detector.arrive(8, Some([2, 2]), 0, 1);
        detector.note_object(3, 1, 0);
        detector.note_held(-1);
        detector.arrive(7, Some([1, 1]), 0, 2);
        assert_eq!(rounds(&detector, 2), [(2, true)]);
        detector.note_held(1);
        detector.note_operation();
        detector.arrive(8, Some([2, 2]), 0, 3);
        assert!(rounds(&detector, 3).is_empty(), "it had no lock on the way");
        detector.note_held(-1);
        detector.note_lasting();
        detector.arrive(7, Some([1, 1]), 0, 4);
        assert_eq!(rounds(&detector, 4), [(2, false), (4, false)]);
        detector.arrive(7, None, 0, 5);
        assert!(detector.returns() && rounds(&detector, 5).is_empty(), "its state is not known");
        detector.arrive_within(6);
        assert!(!detector.returns());
    }

    #[test]
    fn what_is_saved_is_restored_and_many_arrivals_are_found() {
        use mazurka_threads::lifetime::ExecutionState as _;
        let (mut detector, mut saved) = (RoundDetector::default(), SavedRoundDetector::default());
        for at in 0..100 {
            detector.note_operation();
            detector.arrive(at % 50, Some([at % 50, 0]), 0, at as u32);
        }
        detector.save(&mut saved);
        assert_eq!((detector.times(), rounds(&detector, 99)), (2, vec![(50, true)]));
        detector.begin();
        assert!(!detector.returns());
        detector.restore(&saved);
        assert_eq!((detector.times(), rounds(&detector, 99)), (2, vec![(50, true)]));
    }
}
