//! Spin loops: who reads the same over and over waits for it to change.
//!
//! A process that comes to an operation in the very state in which it was there before, having changed
//! nothing since, will do the same again as long as what it read stays the same. So it waits, as at a guard,
//! until some of it changes. The state of a process is its stack and its registers; they are compared byte by
//! byte, so that a loop with a counter is none. A loop may count elsewhere, on the heap or on another's
//! stack: whether it does is seen by [comparing memory](super::quiet).
//!
//! Objects that are on the stack of a process are shared with others, who change them: that they are named,
//! and what a lock guards. Whether a loop is recognised must not depend on that, since nothing orders it with
//! what the loop reads. So those bytes are not compared, unless the process holds the lock.
//!
//! Frames have words in them that nobody has written since they were entered: they hold what earlier, deeper
//! calls left. What the runtime leaves there is another when a step is repeated than when it is scheduled. It
//! leaves that below the stack pointer of the operation, so it matters only where an operation of a loop is
//! deeper than another one: after that other one it is wiped out.
//!
//! A loop that reads several locations waits for all of them at once. A guard reads one location, so these
//! count as one, which whoever writes one of them writes too. That changes labels: the search begins again
//! when it is found out.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::mem::MaybeUninit;
use std::panic::Location as Caller;

use mazurka_program::{Location, ProcessId};
use mazurka_threads::guards::Reads;
use mazurka_threads::spin::{LoopDetector, Visit};
use mazurka_threads::values::Until;

use super::Runtime;
use super::operation::Wait;

/// No stack that is compared is larger.
const MAX_FRAME: usize = 16 * 1024;

/// So much of a stack is clean when its process begins: frames have words in them that nobody has written
/// since they were entered, and what an earlier execution left there must not decide what is recognised. More
/// would take as long as the rest of a small execution.
pub(super) const CLEAN_STACK: usize = 4096;

/// Where an operation is. Two are the same only if they are the same in memory, which is asked at every
/// operation.
#[derive(Clone, Copy)]
pub(super) struct Site(pub(super) &'static Caller<'static>);

impl PartialEq for Site {
    #[inline]
    fn eq(&self, other: &Site) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

/// What a process has read since it changed something.
#[derive(Default)]
pub(crate) struct SpinState {
    detector: LoopDetector<Site, Frame>,
    /// The lowest stack pointer at any of the reads.
    deepest: usize,
}

impl SpinState {
    #[inline]
    pub(super) fn clear(&mut self) {
        self.detector.clear();
    }

    /// Whether the process has come to one place twice, having changed nothing.
    #[inline]
    pub(super) fn has_state(&self) -> bool {
        self.detector.has_state()
    }

    /// Notes a read at an operation with this stack pointer.
    #[inline]
    fn note(&mut self, place: &'static Caller<'static>, location: Location, value: u64, top: usize) {
        let deepest = if self.detector.is_clear() { top } else { self.deepest };
        self.detector.note(Site(place), location, value);
        self.deepest = deepest.min(top);
        if deepest < top && LEFT.get() == Left::Nothing {
            LEFT.set(Left::Something);
        }
    }
}

/// The state of a process: its registers and its stack.
#[derive(Default)]
pub(crate) struct Frame {
    saved: [usize; 6],
    /// Where the stack ends; the words are from there on.
    top: usize,
    words: Vec<usize>,
}

/// A range of addresses.
#[derive(Clone, Copy)]
pub(crate) struct Extent {
    start: usize,
    end: usize,
}

impl Extent {
    /// Where a value is.
    #[inline]
    pub(crate) fn of<T: ?Sized>(value: &T) -> Extent {
        let start = std::ptr::from_ref(value).cast::<u8>() as usize;
        Extent { start, end: start + size_of_val(value) }
    }

    /// Whether a word has a byte in it.
    fn meets(self, word: usize) -> bool {
        self.start < word + size_of::<usize>() && word < self.end
    }
}

/// Something on the stack of a process that others may change.
#[derive(Clone, Copy)]
pub(crate) struct Shared {
    /// What the runtime knows of it.
    pub(super) object: Extent,
    /// That, and what users keep in it.
    pub(super) whole: Extent,
    pub(super) location: Location,
    /// Whether a process has it to itself, given what its location holds.
    pub(super) is_owned: fn(u64, ProcessId) -> bool,
}

/// What others may change, and when not.
#[derive(Clone, Copy)]
pub(crate) struct Whole {
    extent: Extent,
    is_owned: fn(u64, ProcessId) -> bool,
}

impl Whole {
    /// Something that nobody ever has to himself.
    #[inline]
    pub(crate) fn of<T: ?Sized>(value: &T) -> Whole {
        Whole { extent: Extent::of(value), is_owned: |_, _| false }
    }

    /// Something that a process can have to itself.
    #[inline]
    pub(crate) fn lock<T: ?Sized>(value: &T, is_owned: fn(u64, ProcessId) -> bool) -> Whole {
        Whole { extent: Extent::of(value), is_owned }
    }

    pub(super) fn around(self, object: Extent, location: Location) -> Shared {
        Shared { object, whole: self.extent, location, is_owned: self.is_owned }
    }
}

impl Frame {
    /// The state of the process that runs here, with these registers, on the stack that begins there, in memory
    /// that is used again. None where it is not known.
    fn new(registers: &Registers, base: usize, words: Vec<usize>) -> Option<Frame> {
        let mut frame = Frame { words, ..Frame::default() };
        frame.take(registers, base).then_some(frame)
    }

    /// Whether the process that runs here, with these registers, on the stack that begins there, is in this state.
    /// What is found first that differs ends it, and most often that is a register.
    pub(super) fn is_here(&self, registers: &Registers, base: usize) -> bool {
        let [saved @ .., top] = registers.words();
        *saved == self.saved
            && *top == self.top
            && words_of_stack(*top, base) == Some(self.words.len())
            // SAFETY: from the stack pointer to the base all is memory of this stack.
            && unsafe { same_words(*top, &self.words) }
    }

    /// Becomes the state of the process that runs here, as above. False where that is not known.
    pub(super) fn take(&mut self, registers: &Registers, base: usize) -> bool {
        let [saved @ .., top] = *registers.words();
        let Some(count) = words_of_stack(top, base) else { return false };
        (self.saved, self.top) = (saved, top);
        // SAFETY: from the stack pointer to the base all is memory of this stack.
        unsafe { copy_words(top, count, &mut self.words) };
        true
    }

    /// Whether it is the same as another one, but for words at addresses that are excused.
    ///
    /// Much at a time is compared as memory: word by word, through iterators, it would take most of the time
    /// of a check that is not optimised.
    fn is_same(&self, other: &Frame, excused: impl Fn(usize) -> bool) -> bool {
        if self.saved != other.saved || self.top != other.top || self.words.len() != other.words.len() {
            return false;
        }
        let parts = self.words.chunks(PART).zip(other.words.chunks(PART)).enumerate();
        let mut differing = parts.filter(|(_, (one, other))| one != other);
        differing.all(|(part, (one, other))| {
            let mut words = one.iter().zip(other).enumerate().filter(|(_, (one, other))| one != other);
            words.all(|(at, _)| excused(self.top + (part * PART + at) * size_of::<usize>()))
        })
    }
}

/// How many words a stack has from an address on; none if they are too many.
fn words_of_stack(top: usize, base: usize) -> Option<usize> {
    match top > 0 && top <= base && base - top <= MAX_FRAME {
        true => Some((base - top) / size_of::<usize>()),
        false => None,
    }
}

/// Whether there are these words at an address, by instructions of the machine: as a loop it would take much of the
/// time of a check that is not optimised. What of the memory was never written the compiler does not see.
///
/// # Safety
/// There must be so many words at the address.
#[cfg(all(target_arch = "x86_64", unix))]
unsafe fn same_words(address: usize, words: &[usize]) -> bool {
    let mut left = words.len();
    if left > 0 {
        // SAFETY: so many words are read as there are on either side, and nothing is written.
        unsafe {
            std::arch::asm!(
                "2:",
                "mov {word}, [{at}]",
                "cmp {word}, [{at} + {further}]",
                "jne 3f",
                "add {at}, 8",
                "dec {left}",
                "jnz 2b",
                "3:",
                at = inout(reg) address => _,
                further = in(reg) words.as_ptr().addr().wrapping_sub(address),
                left = inout(reg) left,
                word = out(reg) _,
                options(nostack, readonly),
            );
        }
    }
    left == 0
}

/// Where registers are not known, there is no stack either.
#[cfg(not(all(target_arch = "x86_64", unix)))]
unsafe fn same_words(_: usize, _: &[usize]) -> bool {
    false
}

/// So many words are compared at once.
const PART: usize = 64;

/// Puts so many words of memory into a list, instead of what it has.
///
/// # Safety
/// The memory must be there.
#[cfg(all(target_arch = "x86_64", unix))]
pub(super) unsafe fn copy_words(address: usize, count: usize, words: &mut Vec<usize>) {
    words.clear();
    words.reserve(count);
    // SAFETY: the caller vouches for what is read, and what is written has that capacity. Some of the words
    // are padding that was never written; the compiler, who would be free to assume anything about these,
    // does not see where they come from.
    unsafe {
        std::arch::asm!(
            "rep movsq",
            inout("rsi") address => _,
            inout("rdi") words.as_mut_ptr() => _,
            inout("rcx") count => _,
            options(nostack, preserves_flags),
        );
        words.set_len(count);
    }
}

/// Where registers are not known, nor are stacks.
#[cfg(not(all(target_arch = "x86_64", unix)))]
pub(super) unsafe fn copy_words(_: usize, _: usize, words: &mut Vec<usize>) {
    words.clear();
}

/// The registers that a call preserves, and the stack pointer (0 where it is not known) last.
///
/// Made where it stays, since to copy what was written a moment ago would cost as much as the rest of an
/// operation.
#[repr(transparent)]
pub(crate) struct Registers(MaybeUninit<[usize; 7]>);

impl Registers {
    /// Not taken yet: to be followed by [`Registers::take`].
    #[inline(always)]
    pub(crate) const fn unset() -> Registers {
        match cfg!(all(target_arch = "x86_64", unix)) {
            true => Registers(MaybeUninit::uninit()),
            false => Registers(MaybeUninit::zeroed()),
        }
    }

    /// Takes those of the caller, before anything else is done, so that nothing of ours is among what is
    /// compared.
    #[inline(always)]
    pub(crate) fn take(&mut self) {
        // SAFETY: seven words are written to where the pointer says. It is in a register that calls do not
        // preserve, so not in one of those that are taken.
        #[cfg(all(target_arch = "x86_64", unix))]
        unsafe {
            std::arch::asm!(
                "mov [rdi], rbx",
                "mov [rdi + 8], rbp",
                "mov [rdi + 16], r12",
                "mov [rdi + 24], r13",
                "mov [rdi + 32], r14",
                "mov [rdi + 40], r15",
                "mov [rdi + 48], rsp",
                in("rdi") self,
                options(nostack, preserves_flags),
            );
        }
    }

    /// The stack pointer.
    #[inline]
    pub(crate) fn top(&self) -> usize {
        self.words()[6]
    }

    /// All of them.
    #[inline]
    pub(super) fn words(&self) -> &[usize; 7] {
        // SAFETY: `take` follows `unset`, and has written all of them where they were not zeroed.
        unsafe { self.0.assume_init_ref() }
    }
}

/// How far below the stack pointer of an operation the runtime leaves something, or more; and where rounds
/// are looked for.
const LEFTOVERS: usize = 2048;
const LEFTOVERS_OF_ROUNDS: usize = 8192;

/// What an operation left that is to be wiped out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Left {
    Nothing,
    Something,
    /// By what looks for rounds.
    More,
}

thread_local! {
    /// What an operation that was done on this thread left.
    static LEFT: Cell<Left> = const { Cell::new(Left::Nothing) };
}

/// What the present operation leaves is wiped out, since rounds are looked for.
pub(super) fn leaves_more() {
    LEFT.set(Left::More);
}

/// Wipes out what was left below the stack pointer of the caller, where nothing lives.
#[inline(always)]
pub(super) fn leave_nothing() {
    // SAFETY: as in `wipe_leftovers`.
    #[cfg(all(target_arch = "x86_64", unix))]
    unsafe {
        wipe::<LEFTOVERS>();
    }
}

/// As [`leave_nothing`], after memory was compared.
#[inline(always)]
pub(super) fn leave_nothing_of_comparing() {
    // SAFETY: as in `wipe_leftovers`.
    #[cfg(all(target_arch = "x86_64", unix))]
    unsafe {
        wipe::<LEFTOVERS_OF_ROUNDS>();
    }
}

/// Wipes out what the runtime has left below the stack pointer of the caller, where nothing lives, if an
/// operation of the loop in which the running process may be is deeper.
#[inline(always)]
pub(crate) fn wipe_leftovers() {
    // SAFETY: the function writes below the stack pointer only, as any call might. A stack that has no room
    // for it overflows, as it would at the next operation.
    #[cfg(all(target_arch = "x86_64", unix))]
    match left() {
        Left::Nothing => {}
        Left::Something => unsafe { wipe::<LEFTOVERS>() },
        Left::More => unsafe { wipe::<LEFTOVERS_OF_ROUNDS>() },
    }
}

#[inline(never)]
fn left() -> Left {
    match LEFT.get() {
        Left::Nothing => Left::Nothing,
        _ => LEFT.replace(Left::Nothing),
    }
}

#[cfg(all(target_arch = "x86_64", unix))]
#[unsafe(naked)]
unsafe extern "sysv64" fn wipe<const SIZE: usize>() {
    std::arch::naked_asm!(
        "xor eax, eax",
        "lea rdi, [rsp - {size}]",
        "mov ecx, {size} / 8",
        "rep stosq",
        "ret",
        size = const SIZE,
    )
}

impl Runtime {
    /// Whether the running process may be spinning at an operation.
    #[inline(always)]
    pub(super) fn suspects(&self, place: &'static Caller<'static>) -> bool {
        self.process(self.running()).spin_state.detector.suspects(Site(place))
    }

    /// A step of a process read a location and did not change anything that guards can see; or, with none, it
    /// did.
    #[inline]
    pub(super) fn note_for_spin(
        &mut self,
        process: ProcessId,
        place: &'static Caller<'static>,
        top: usize,
        quiet: Option<Location>,
    ) {
        let state = &mut self.processes[process.0 as usize].spin_state;
        match quiet {
            Some(location) if !state.detector.is_full() => {
                state.note(place, location, self.execution.values.get(location), top);
            }
            _ => {
                state.clear();
                self.processes[process.0 as usize].sight.wrote = true;
            }
        }
    }

    /// What the running process waits for, if it is in the state in which it was at this place before.
    #[cold]
    pub(super) fn spin(&mut self, place: &'static Caller<'static>, registers: &Registers) -> Option<Wait> {
        let words = std::mem::take(&mut self.search.spare_words);
        let mut frame = Frame::new(registers, self.process(self.running()).bottom(), words)?;
        let wait = self.spin_in(place, &mut frame);
        self.search.spare_words = frame.words;
        wait
    }

    /// The same, given its state, which is exchanged for another that is of no use.
    fn spin_in(&mut self, place: &'static Caller<'static>, frame: &mut Frame) -> Option<Wait> {
        let me = self.running().index();
        if self.is_too_deep(frame.top) {
            self.discover_depth();
            return None;
        }
        let detector = &self.processes[me].spin_state.detector;
        let iteration = match detector.visit(Site(place)) {
            Visit::Elsewhere => return None,
            Visit::Again if self.same_state(detector.state(), frame) && self.same_memory() => {
                detector.iteration()
            }
            Visit::Again | Visit::First => None,
        };
        let Some(reads) = iteration else {
            let detector = &mut self.processes[me].spin_state.detector;
            detector.take_state(Site(place), |state| std::mem::swap(state, frame));
            return None;
        };
        self.spins_here();
        match reads[..] {
            [(location, value)] => Some(Wait::Guard { location, until: Until::IsNot(value) }),
            _ => self.spin_on_several(reads),
        }
    }

    /// Whether the stack of the running process, from its stack pointer on, is larger than what was clean of it.
    pub(super) fn is_too_deep(&self, top: usize) -> bool {
        let is_deep = self.search.is_deep || self.follows_loops() || self.execution.leaving;
        !is_deep && self.process(self.running()).stack.1.saturating_sub(top) > CLEAN_STACK
    }

    /// Whether the running process has left memory as it was since its state was taken, where that is known.
    fn same_memory(&self) -> bool {
        let me = self.running();
        let steps = self.process(me).spin_state.detector.reads_since();
        !self.looks_for_rounds() || self.execution.rounds.leaves_memory(me, steps)
    }

    /// Whether two states of the running process are the same, but for what others may change.
    fn same_state(&self, before: &Frame, now: &Frame) -> bool {
        let shared = &self.process(self.execution.schedule.running).shared;
        let excused = |word: usize| {
            shared.iter().any(|shared| match self.execution.values.get(shared.location) {
                owned if (shared.is_owned)(owned, self.execution.schedule.running) => {
                    shared.object.meets(word)
                }
                _ => shared.whole.meets(word),
            })
        };
        before.is_same(now, excused)
    }

    /// Notes an object that others may change, if it is on the stack of a process.
    pub(super) fn share(&mut self, shared: Shared) {
        let address = shared.object.start;
        let owner = self.execution.schedule.created.iter().rev().copied().find(|&process| {
            let (limit, base) = self.process(process).stack;
            self.process(process).has_stack() && (limit..base).contains(&address)
        });
        if let Some(owner) = owner {
            self.process_mut(owner).shared.push(shared);
        }
    }

    /// Notes something of the library's own that others may change.
    pub(crate) fn share_whole<T>(&mut self, value: &T) {
        let extent = Extent::of(value);
        self.share(Shared { object: extent, whole: extent, location: Location(0), is_owned: |_, _| false });
    }

    fn spin_on_several(&mut self, reads: Reads) -> Option<Wait> {
        // Nobody asks for the labels of an execution that is being left.
        let unseen = self.execution.leaving.then(|| reads[0].0);
        let Some(location) = self.search.groups.of(&reads).or(unseen) else {
            let locations: Vec<Location> = reads.iter().map(|read| read.0).collect();
            self.discover_group(&locations);
            return None;
        };
        Some(Wait::Change(self.search.guards.change(location, reads)))
    }
}
