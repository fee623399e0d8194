//! What a check shows of itself while it runs, to the thread that waits for it.
//!
//! The check writes, with a few plain stores a step; who waits reads, now and then. Nothing here is exact
//! while the check goes on; it is once the check is stuck, and that is what it is for.
#![allow(unsafe_code)]

use std::collections::BTreeMap;
use std::panic::Location as Caller;
use std::ptr;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use crate::step::CallSite;
use mazurka_explore::Counts;
use mazurka_program::{Names, ProcessId, Schedule, Step};

/// The steps of an execution are kept in parts: so many in the first, and twice as many in each that follows.
const FIRST_PART: usize = 256;
const PARTS: usize = 7;

/// Which part a step is in, and where.
fn part_of(depth: usize) -> (usize, usize) {
    let part = (depth / FIRST_PART + 1).ilog2() as usize;
    (part, depth - FIRST_PART * ((1 << part) - 1))
}

/// A modelled thread, as far as it matters to people.
#[derive(Clone, Default)]
pub(crate) struct ThreadEntry {
    pub(crate) path: Vec<u32>,
    pub(crate) name: Option<String>,
    pub(crate) created: Option<CallSite>,
}

/// What a check shows of itself.
#[derive(Default)]
pub(crate) struct Heartbeat {
    /// The number of turns that modelled threads have had, above the lower half; in the lower half who has
    /// the present one, plus 1, or 0 if nobody has.
    turn: AtomicU64,
    /// Where the operation is that was done last.
    place: AtomicPtr<Caller<'static>>,
    /// The first part of the steps of the execution: process above, outcome below. Few executions have more.
    first_steps: FirstSteps,
    /// The other parts; the first of these is not used.
    script: [OnceLock<Box<[AtomicU64]>>; PARTS],
    depth: AtomicUsize,
    members: Mutex<Vec<ThreadEntry>>,
    weak_ordering: AtomicPtr<Caller<'static>>,
    clock: AtomicPtr<Caller<'static>>,
    /// What of these another process has met, in parts of the check; and all claims.
    known: Mutex<Met>,
    counts: Mutex<Counts>,
    given_up: AtomicBool,
    time_is_up: AtomicBool,
    /// The signal that ended the thread of the check; 0 if none has.
    signal: AtomicI32,
    /// The address that the signal is about.
    address: AtomicUsize,
    heap_is_free: AtomicBool,
    /// What the check is called.
    program: OnceLock<String>,
    /// The parts of the check that are being explored beside each other, each on a thread of its own.
    parts: Mutex<Vec<Weak<Heartbeat>>>,
    /// The part that was taken up last.
    last_part: Mutex<Option<Arc<Heartbeat>>>,
}

/// A place in the source, in this process or in another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Spot {
    pub(crate) file: String,
    pub(crate) line: u32,
}

/// What a check has met that its report tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Met {
    /// Where an ordering weaker than `SeqCst` was used.
    pub(crate) weak_ordering: Option<Spot>,
    /// Where a clock was looked at.
    pub(crate) clock: Option<Spot>,
    /// Where something is claimed of atomic blocks, and whether it was ever tried.
    pub(crate) claims: BTreeMap<Spot, bool>,
}

impl Spot {
    fn of(place: &Caller<'_>) -> Spot {
        Spot { file: place.file().to_owned(), line: place.line() }
    }
}

/// What is known of claims by two parts of a check.
fn add_claims(claims: &mut BTreeMap<Spot, bool>, others: BTreeMap<Spot, bool>) {
    for (spot, tried) in others {
        *claims.entry(spot).or_default() |= tried;
    }
}

/// What ended the thread of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Crash {
    pub(crate) signal: i32,
    pub(crate) address: usize,
}

/// The first part of the steps of an execution.
struct FirstSteps([AtomicU64; FIRST_PART]);

impl Default for FirstSteps {
    fn default() -> FirstSteps {
        FirstSteps([const { AtomicU64::new(0) }; FIRST_PART])
    }
}

impl Heartbeat {
    /// Where a step is to be kept; none if there are too many.
    #[inline]
    fn slot(&self, depth: usize) -> Option<&AtomicU64> {
        match self.first_steps.0.get(depth) {
            None => self.further_slot(depth),
            first => first,
        }
    }

    #[cold]
    fn further_slot(&self, depth: usize) -> Option<&AtomicU64> {
        let (part, at) = part_of(depth);
        let steps = self.script.get(part)?;
        let steps = steps.get_or_init(|| (0..FIRST_PART << part).map(|_| AtomicU64::new(0)).collect());
        steps.get(at)
    }

    /// What is kept of a step, if there is a place for it already.
    fn kept(&self, depth: usize) -> Option<u64> {
        let (part, at) = part_of(depth);
        let slot = self.first_steps.0.get(depth).or_else(|| self.script.get(part)?.get()?.get(at));
        slot.map(|slot| slot.load(Relaxed))
    }
}

/// What a check writes.
impl Heartbeat {
    /// A modelled thread runs from now on.
    #[inline]
    pub(crate) fn turn(&self, process: ProcessId) {
        let turns = self.turn.load(Relaxed) >> 32;
        self.turn.store((turns + 1) << 32 | (u64::from(process.0) + 1), Relaxed);
    }

    /// No modelled thread runs from now on.
    #[inline]
    pub(crate) fn turn_is_over(&self) {
        self.turn.store(self.turn.load(Relaxed) & !u64::from(u32::MAX), Relaxed);
    }

    /// A modelled thread that runs does an operation again, without having been asked, and runs on.
    #[inline]
    pub(crate) fn repeated(&self, process: ProcessId, place: CallSite) {
        self.turn(process);
        self.operation(place);
    }

    /// An operation is done.
    #[inline]
    pub(crate) fn operation(&self, place: CallSite) {
        self.place.store(ptr::from_ref(place).cast_mut(), Relaxed);
    }

    /// A step is about to be taken, after `depth` others.
    #[inline]
    pub(crate) fn step(&self, depth: usize, process: ProcessId, choice: u32) {
        if let Some(slot) = self.slot(depth) {
            slot.store(u64::from(process.0) << 32 | u64::from(choice), Relaxed);
        }
        self.depth.store(depth + 1, Relaxed);
    }

    /// A thread is created, which has this name.
    pub(crate) fn member(
        &self,
        names: &Names,
        process: ProcessId,
        name: Option<&str>,
        created: Option<CallSite>,
    ) {
        let mut members = lock(&self.members);
        if members.len() <= process.index() {
            members.resize(process.index() + 1, ThreadEntry::default());
        }
        let member = &mut members[process.index()];
        let same = !member.path.is_empty() && member.name.as_deref() == name && member.created == created;
        if !same {
            *member = ThreadEntry { path: names.path(process), name: name.map(str::to_owned), created };
        }
    }

    /// An ordering weaker than `SeqCst` was used there.
    pub(crate) fn weak_ordering(&self, place: CallSite) {
        self.weak_ordering.store(ptr::from_ref(place).cast_mut(), Relaxed);
    }

    /// A clock was looked at there.
    pub(crate) fn time(&self, place: CallSite) {
        self.clock.store(ptr::from_ref(place).cast_mut(), Relaxed);
    }

    /// Something is claimed there, which was tried or not.
    pub(crate) fn claim(&self, place: CallSite, tried: bool) {
        add_claims(&mut lock(&self.known).claims, BTreeMap::from([(Spot::of(place), tried)]));
    }

    /// How far the search is. Gives whether nobody waits for it any more.
    pub(crate) fn progress(&self, counts: &Counts) -> bool {
        *lock(&self.counts) = *counts;
        self.given_up.load(Relaxed)
    }
}

/// What is said of a check whose thread was ended by a signal, without a lock that is waited for, or memory.
impl Heartbeat {
    /// The thread of the check is ended by a signal.
    #[cfg_attr(not(all(target_os = "linux", target_arch = "x86_64")), allow(dead_code))]
    pub(crate) fn crash(&self, signal: i32, address: usize) {
        self.address.store(address, Relaxed);
        self.signal.store(signal, Release);
    }

    /// The thread of the check has not left the heap locked.
    #[cfg_attr(not(all(target_os = "linux", target_arch = "x86_64")), allow(dead_code))]
    pub(crate) fn heap_is_free(&self) {
        self.heap_is_free.store(true, Relaxed);
    }

    /// What has to be known, for the case that there is no memory for a report.
    pub(crate) fn last_words(&self, write: &mut dyn FnMut(&[u8])) {
        write(b"\nmazurka: ");
        write(self.program.get().map_or("a check", String::as_str).as_bytes());
        write(b": signal ");
        write_number(self.signal.load(Relaxed) as u32, write);
        write(
            b" ended a modelled thread, and the C library has its heap locked since: no test can go on, so this \
              is the end of all of them. The schedule so far:\nMAZURKA_REPLAY='v1:",
        );
        let members = self.members.try_lock();
        let paths = members.as_deref().map_or(&[][..], Vec::as_slice);
        let steps = (0..self.depth.load(Relaxed)).map_while(|depth| self.kept(depth)).enumerate();
        for (depth, word) in steps {
            let path = paths.get((word >> 32) as usize).map_or(&[][..], |member| &member.path[..]);
            if depth > 0 {
                write(b",");
            }
            for (at, &ordinal) in path.iter().enumerate() {
                if at > 0 {
                    write(b".");
                }
                write_number(ordinal, write);
            }
            if word as u32 > 0 {
                write(b"#");
                write_number(word as u32, write);
            }
        }
        write(b"'\n");
    }
}

/// Writes a number without memory.
fn write_number(mut number: u32, write: &mut dyn FnMut(&[u8])) {
    let mut digits = [0; 10];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return write(&digits[at..]);
        }
    }
}

/// What a check is told.
impl Heartbeat {
    /// What it is called.
    pub(crate) fn set_program(&self, program: &str) {
        self.program.get_or_init(|| program.to_owned());
    }

    /// Whether a search has had the time that it may take. The search looks at the clock too, but only when
    /// it has taken so many steps that are new; those that are repeated may take longer than all of them.
    #[inline]
    pub(crate) fn is_time_up(&self) -> bool {
        self.time_is_up.load(Relaxed)
    }

    /// Says whether it has had its time. What comes after a search may take its own.
    pub(crate) fn set_time_is_up(&self, up: bool) {
        self.time_is_up.store(up, Relaxed);
        self.parts().iter().for_each(|part| part.time_is_up.store(up, Relaxed));
    }
}

/// The parts of a check that are explored beside each other.
impl Heartbeat {
    /// That of a part, which begins.
    pub(crate) fn part(&self) -> Arc<Heartbeat> {
        let part = Arc::new(Heartbeat::default());
        self.program.get().into_iter().for_each(|program| part.set_program(program));
        let mut parts = lock(&self.parts);
        parts.retain(|part| part.strong_count() > 0);
        parts.push(Arc::downgrade(&part));
        // Who sets it does so before he looks for parts.
        drop(parts);
        part.time_is_up.store(self.is_time_up(), Relaxed);
        part
    }

    /// Those of the parts that there are.
    pub(crate) fn parts(&self) -> Vec<Arc<Heartbeat>> {
        lock(&self.parts).iter().filter_map(Weak::upgrade).collect()
    }

    /// A part is over, and counts. Of what is told to people the first place counts.
    pub(crate) fn take_up(&self, part: &Arc<Heartbeat>) {
        let claims = lock(&part.known).claims.clone();
        let mut known = lock(&self.known);
        add_claims(&mut known.claims, claims);
        let pairs = [
            (&self.weak_ordering, &part.weak_ordering, &known.weak_ordering),
            (&self.clock, &part.clock, &known.clock),
        ];
        for (own, of_part, known) in pairs {
            if own.load(Relaxed).is_null() && known.is_none() {
                own.store(of_part.load(Relaxed), Relaxed);
            }
        }
        drop(known);
        *lock(&self.last_part) = Some(part.clone());
    }

    /// A part is over that another process explored, which met this.
    pub(crate) fn know(&self, met: Met) {
        let mut known = lock(&self.known);
        if self.weak_ordering.load(Relaxed).is_null() {
            known.weak_ordering = known.weak_ordering.take().or(met.weak_ordering);
        }
        if self.clock.load(Relaxed).is_null() {
            known.clock = known.clock.take().or(met.clock);
        }
        add_claims(&mut known.claims, met.claims);
    }

    /// That of the part that was taken up last, if there was one: it knows the steps that were taken last.
    pub(crate) fn last_part(&self) -> Option<Arc<Heartbeat>> {
        lock(&self.last_part).clone()
    }
}

/// What who waits for the check reads.
impl Heartbeat {
    /// A number that changes whenever a modelled thread gets or ends a turn; and whose turn it is.
    pub(crate) fn now(&self) -> (u64, Option<ProcessId>) {
        let turn = self.turn.load(Relaxed);
        (turn, (turn as u32).checked_sub(1).map(ProcessId))
    }

    /// What ended the thread of the check, if something did.
    pub(crate) fn crashed(&self) -> Option<Crash> {
        let signal = self.signal.load(Acquire);
        (signal != 0).then(|| Crash { signal, address: self.address.load(Relaxed) })
    }

    /// Whether it is known that a crash has not left the heap locked.
    pub(crate) fn is_heap_free(&self) -> bool {
        self.heap_is_free.load(Relaxed)
    }

    /// Where the operation is that was done last.
    pub(crate) fn place(&self) -> Option<CallSite> {
        // SAFETY: null, or made of a reference that lives as long as the program.
        unsafe { self.place.load(Relaxed).as_ref() }
    }

    /// What was met that the report tells.
    pub(crate) fn met(&self) -> Met {
        let own = |place: &AtomicPtr<Caller<'static>>| {
            // SAFETY: as above.
            let place = unsafe { place.load(Relaxed).as_ref() };
            place.map(Spot::of)
        };
        let known = lock(&self.known).clone();
        Met {
            weak_ordering: own(&self.weak_ordering).or(known.weak_ordering),
            clock: own(&self.clock).or(known.clock),
            claims: known.claims,
        }
    }

    pub(crate) fn counts(&self) -> Counts {
        *lock(&self.counts)
    }

    /// A thread that was created.
    pub(crate) fn member_of(&self, process: ProcessId) -> ThreadEntry {
        lock(&self.members).get(process.index()).cloned().unwrap_or_default()
    }

    /// All threads that were ever created.
    pub(crate) fn members(&self) -> Vec<ThreadEntry> {
        lock(&self.members).clone()
    }

    /// The steps taken, the present one included, of which nobody knows yet what becomes. None if they are
    /// too many.
    pub(crate) fn schedule(&self) -> Option<Schedule> {
        let step = |depth: usize| {
            let word = self.kept(depth)?;
            Some(Step { process: self.member_of(ProcessId((word >> 32) as u32)).path, choice: word as u32 })
        };
        let steps = (0..self.depth.load(Relaxed)).map(step).collect::<Option<_>>()?;
        Some(Schedule { steps })
    }

    /// Nobody waits for the check any more: it ends as soon as it comes to know.
    pub(crate) fn give_up(&self) {
        self.given_up.store(true, Relaxed);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No more steps of an execution than this are kept.
    const MAX_STEPS: usize = FIRST_PART * ((1 << PARTS) - 1);

    #[test]
    fn a_stuck_check_is_told_apart_from_one_that_computes() {
        let heartbeat = Heartbeat::default();
        let before = heartbeat.now();
        assert_eq!(before.1, None);
        heartbeat.turn(ProcessId(0));
        let during = heartbeat.now();
        assert_eq!(during.1, Some(ProcessId(0)));
        heartbeat.turn_is_over();
        let after = heartbeat.now();
        assert_eq!(after.1, None);
        assert!(before.0 != during.0 && during.0 != after.0 && before.0 != after.0);
    }

    #[test]
    fn every_step_has_a_place_of_its_own() {
        let places: std::collections::BTreeSet<_> = (0..MAX_STEPS).map(part_of).collect();
        assert_eq!(places.len(), MAX_STEPS);
        assert!(places.iter().all(|&(part, at)| part < PARTS && at < FIRST_PART << part));
        assert_eq!(part_of(MAX_STEPS).0, PARTS);
    }

    #[test]
    fn the_schedule_is_known_by_the_paths_of_threads() {
        let (heartbeat, mut names) = (Heartbeat::default(), Names::new());
        let main = names.child(None, 0);
        let child = names.child(Some(main), 0);
        heartbeat.member(&names, main, None, None);
        heartbeat.member(&names, child, Some("worker"), None);
        heartbeat.step(0, main, 0);
        heartbeat.step(1, child, 2);
        assert_eq!(heartbeat.schedule().unwrap().to_string(), "v1:0,0.0#2");
        let mut words = Vec::new();
        heartbeat.last_words(&mut |bytes| words.extend_from_slice(bytes));
        assert!(String::from_utf8(words).unwrap().ends_with("MAZURKA_REPLAY='v1:0,0.0#2'\n"));
        heartbeat.step(0, child, 0);
        assert_eq!(heartbeat.schedule().unwrap().to_string(), "v1:0.0");
        heartbeat.step(MAX_STEPS, main, 0);
        assert_eq!(heartbeat.schedule(), None);
        assert_eq!(heartbeat.member_of(child).name.as_deref(), Some("worker"));
    }
}
