//! Which object is which, in every interleaving alike.
//!
//! Labels outlive executions, so a lock must have the same location in all of them, though it lives at
//! another address in each. Objects have `const` constructors, which can't register anything; and the first
//! touch says nothing, since another thread may come first in another interleaving. So an object is named by
//! where it was when it was touched first, in words that depend on nothing but what its creator did: the
//! allocation by its process, the step of that process and its place among the allocations of that size in
//! the step; or the distance from the top of a process's stack; or, for a static, its address. Where one
//! object follows another at the same place, its generation tells them apart: whoever touches the later one
//! has seen the end of the earlier one, so all agree on the number.

use std::ops::Range;
use std::panic::Location as Caller;
use std::sync::atomic::{AtomicU64, Ordering};

use mazurka_program::{Location, ProcessId};
use rustc_hash::FxHashMap;

use super::strangers;

/// So many bits of an object's word are its location.
const LOCATION_BITS: u32 = 24;
const LOCATION_MASK: u64 = (1 << LOCATION_BITS) - 1;

/// No check can name more objects than this.
pub(crate) const MAX_LOCATIONS: u32 = LOCATION_MASK as u32;

/// In an object's word: pointers lead to its memory that are none of ours.
const EXPOSED: u64 = 1 << 63;
/// In an object's word: it stands for memory elsewhere, see [`StandIn`]. Then it is exposed as well.
const STANDS_IN: u64 = 1 << 62;
/// What an object's word says whoever uses it.
const FLAGS: u64 = EXPOSED | STANDS_IN;

/// The word of an object that was used outside of any check, but for its flags.
const OUTSIDE: u64 = !FLAGS;

/// So many numbers of executions are taken at once.
const STAMPS: u64 = 64;

/// Numbers of executions, unlike those of any other execution in this process. Never 0.
pub(crate) fn new_stamps() -> Range<u64> {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let first = NEXT.fetch_add(STAMPS, Ordering::Relaxed);
    first..first + STAMPS
}

/// The part of each modelled object by which checks know it.
pub(crate) struct Object {
    /// Flags; and 0 at first, else who uses the object: the stamp of an execution with a location, or
    /// [`OUTSIDE`].
    word: AtomicU64,
    created: &'static Caller<'static>,
}

/// Something that begins with its object, and stands for memory at another address.
#[repr(C)]
pub(crate) struct StandIn<A> {
    pub(crate) target: usize,
    pub(crate) atomic: A,
}

impl Object {
    #[track_caller]
    pub(crate) const fn new() -> Object {
        Object { word: AtomicU64::new(0), created: Caller::caller() }
    }

    /// That of a [`StandIn`].
    pub(crate) const fn standing_in(created: &'static Caller<'static>) -> Object {
        Object { word: AtomicU64::new(FLAGS), created }
    }

    /// The address of the memory that the object is about.
    pub(crate) fn address(&self) -> usize {
        let own = std::ptr::from_ref(self) as usize;
        if self.word.load(Ordering::Relaxed) & STANDS_IN == 0 {
            return own;
        }
        let target = std::ptr::with_exposed_provenance::<usize>(own - size_of::<usize>());
        #[allow(unsafe_code)]
        // SAFETY: what stands in for other memory is in a `StandIn`, whose pointer was exposed, and which has the
        // address of that memory before what begins with the object. Both are aligned to words.
        unsafe {
            *target
        }
    }

    /// Whether it stands for memory at another address.
    #[inline]
    pub(crate) fn stands_in(&self) -> bool {
        self.word.load(Ordering::Relaxed) & STANDS_IN != 0
    }

    /// Whether pointers lead to its memory that are none of ours.
    #[inline(always)]
    pub(crate) fn is_exposed(&self) -> bool {
        self.word.load(Ordering::Relaxed) & EXPOSED != 0
    }

    pub(crate) fn set_exposed(&self) {
        self.word.fetch_or(EXPOSED, Ordering::Relaxed);
    }

    /// Makes the next touch the first: who was alone with the memory changed what it holds.
    pub(crate) fn begin_anew(&self) {
        self.word.fetch_and(FLAGS, Ordering::Relaxed);
    }

    /// Where in the source it was made.
    pub(crate) fn created(&self) -> &'static Caller<'static> {
        self.created
    }

    /// The location in an execution, if it has one there.
    #[inline(always)]
    pub(crate) fn location(&self, stamp: u64) -> Option<Location> {
        let word = self.word.load(Ordering::Relaxed) & !FLAGS;
        (word >> LOCATION_BITS == stamp).then_some(Location((word & LOCATION_MASK) as u32))
    }

    pub(crate) fn set_location(&self, stamp: u64, location: Location) {
        let flags = self.word.load(Ordering::Relaxed) & FLAGS;
        self.word.store(flags | stamp << LOCATION_BITS | u64::from(location.0), Ordering::Relaxed);
    }

    /// Makes the next touch the first: its owner, who is alone with it, changed what it holds.
    pub(crate) fn forget(&mut self) {
        let word = self.word.get_mut();
        if *word & !FLAGS != OUTSIDE {
            *word &= FLAGS;
        }
    }

    /// Whether it was used outside of any check.
    #[inline]
    pub(crate) fn is_outside(&self) -> bool {
        self.word.load(Ordering::Relaxed) & !FLAGS == OUTSIDE
    }

    /// Notes a use outside of any check.
    ///
    /// # Panics
    /// If a check uses the object: its state is in that check, and a thread outside can't take part in it.
    /// Statics are another matter: a check has copies of its own.
    #[inline]
    #[track_caller]
    pub(crate) fn use_outside(&self) {
        if !self.is_outside() {
            self.first_use_outside();
        }
    }

    #[cold]
    #[track_caller]
    fn first_use_outside(&self) {
        // Several threads outside may come first at once: those who come second find that it is outside.
        let claim = self.word.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |word| {
            [0, OUTSIDE].contains(&(word & !FLAGS)).then_some(word | OUTSIDE)
        });
        let Err(word) = claim else { return };
        // A panic on the way of another panic would end the process.
        if image::is_static(std::ptr::from_ref(self) as usize) || std::thread::panicking() {
            return;
        }
        let stamp = (word & !FLAGS) >> LOCATION_BITS;
        strangers::intrude(stamp, "object", self.created, Caller::caller());
    }
}

/// Whether a word is that of an object with a location, in an execution with so many.
pub(super) fn is_location(word: u64, stamp: u64, count: u32) -> bool {
    word >> LOCATION_BITS == stamp && word & LOCATION_MASK < u64::from(count)
}

/// What an object is named by, but for its generation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Base {
    /// In the `ordinal`th allocation of `size` bytes that a process made after its `step`th step, `offset`
    /// bytes from its start.
    Heap { process: ProcessId, step: u32, size: usize, ordinal: u32, offset: usize },
    /// So many bytes below the top of a process's stack.
    Stack { process: ProcessId, offset: usize },
    /// At this address, for as long as the operating system's process lives.
    Static { address: usize },
    /// In the copy that an execution has of a static: where it would be in the static itself.
    Copied { address: usize },
    /// What a process has by its nature: its `ordinal`th thing of a kind.
    Own { process: ProcessId, kind: OwnKind, ordinal: u32 },
}

impl Base {
    /// The process that it is about, if it is about one.
    pub(super) fn process(self) -> Option<ProcessId> {
        match self {
            Base::Heap { process, .. } | Base::Stack { process, .. } | Base::Own { process, .. } => {
                Some(process)
            }
            Base::Static { .. } | Base::Copied { .. } => None,
        }
    }
}

/// The kinds of things that belong to processes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum OwnKind {
    /// Its end.
    End,
    /// The permission to go on that `park` waits for.
    Token,
    /// That it is woken from a condition variable.
    Wake,
    /// A message that it sends.
    Message,
    /// A handle that it makes: of a channel, of an `Arc`.
    Handle,
    /// What stands for several locations that a spin loop reads.
    Group,
}

/// How many of them there are.
pub(super) const OWN_KINDS: usize = OwnKind::ALL.len();

impl OwnKind {
    /// All of them, in the order of their numbers.
    pub(super) const ALL: [OwnKind; 6] =
        [OwnKind::End, OwnKind::Token, OwnKind::Wake, OwnKind::Message, OwnKind::Handle, OwnKind::Group];
}

/// The names met so far. They stay from execution to execution.
#[derive(Default)]
pub(crate) struct NameTable {
    slots: FxHashMap<Base, u32>,
    places: Vec<Slot>,
    /// How many locations there are.
    pub(crate) count: u32,
}

struct Slot {
    stamp: u64,
    next: u32,
    /// Most places have one object an execution.
    first: Location,
    /// The others.
    further: Vec<Location>,
}

impl NameTable {
    /// The location of the next object at a place, in an execution.
    pub(crate) fn next_at(&mut self, base: Base, stamp: u64) -> Location {
        let slot = self.slot(base);
        let place = &mut self.places[slot];
        if place.stamp != stamp {
            place.stamp = stamp;
            place.next = 0;
        }
        place.next += 1;
        self.generation(slot, place_index(self.places[slot].next))
    }

    /// The location of the only object at a place, and whether it is new to this execution.
    pub(crate) fn only_at(&mut self, base: Base, stamp: u64) -> (Location, bool) {
        let slot = self.slot(base);
        let place = &mut self.places[slot];
        let first = place.stamp != stamp;
        place.stamp = stamp;
        (self.generation(slot, 0), first)
    }

    /// What a location is named by, and which of the objects there it is. Slow.
    pub(super) fn name_of(&self, location: Location) -> Option<(Base, usize)> {
        self.slots.iter().find_map(|(&base, &slot)| {
            let Slot { first, further, .. } = &self.places[slot as usize];
            let generation = match *first == location {
                true => Some(0),
                false => further.iter().position(|&at| at == location).map(|at| at + 1),
            };
            generation.map(|generation| (base, generation))
        })
    }

    /// All locations, with what they are named by.
    pub(super) fn all(&self) -> impl Iterator<Item = (Base, Location)> {
        self.slots.iter().flat_map(|(&base, &slot)| {
            let Slot { first, further, .. } = &self.places[slot as usize];
            std::iter::once(*first).chain(further.iter().copied()).map(move |location| (base, location))
        })
    }

    /// The location of that name.
    pub(super) fn named(&mut self, base: Base, generation: usize) -> Location {
        let slot = self.slot(base);
        self.generation(slot, generation)
    }

    fn slot(&mut self, base: Base) -> usize {
        let next = self.places.len() as u32;
        let slot = *self.slots.entry(base).or_insert(next);
        if slot == next {
            let first = self.new_location();
            self.places.push(Slot { stamp: 0, next: 0, first, further: Vec::new() });
        }
        slot as usize
    }

    #[inline]
    fn generation(&mut self, slot: usize, generation: usize) -> Location {
        let Some(later) = generation.checked_sub(1) else { return self.places[slot].first };
        while self.places[slot].further.len() <= later {
            let location = self.new_location();
            self.places[slot].further.push(location);
        }
        self.places[slot].further[later]
    }

    fn new_location(&mut self) -> Location {
        self.count += 1;
        Location(self.count - 1)
    }

    /// Forgets all names: another check begins.
    pub(super) fn clear(&mut self) {
        self.slots.clear();
        self.places.clear();
        self.count = 0;
    }
}

fn place_index(next: u32) -> usize {
    next as usize - 1
}

/// The parts of the address space that hold statics.
pub(crate) mod image {
    use std::ops::Range;
    use std::sync::RwLock;

    static RANGES: RwLock<Vec<Range<usize>>> = RwLock::new(Vec::new());

    /// Whether an address that is neither on a modelled stack nor in memory allocated in the check is that of
    /// a static.
    ///
    /// Where the operating system can't be asked, it is taken for one.
    pub(crate) fn is_static(address: usize) -> bool {
        let known = |ranges: &[Range<usize>]| ranges.iter().any(|range| range.contains(&address));
        if known(&RANGES.read().unwrap_or_else(|e| e.into_inner())) {
            return true;
        }
        // Maybe a library was loaded since.
        let Ok(maps) = std::fs::read_to_string("/proc/self/maps") else { return true };
        let ranges = parse(&maps);
        let answer = known(&ranges);
        *RANGES.write().unwrap_or_else(|e| e.into_inner()) = ranges;
        answer
    }

    /// The mappings of files, each with the anonymous one that follows it at once: zeroed statics.
    fn parse(maps: &str) -> Vec<Range<usize>> {
        let mut ranges: Vec<Range<usize>> = Vec::new();
        for line in maps.lines() {
            let mut fields = line.split_whitespace();
            let (Some(range), path) = (fields.next(), fields.nth(4)) else { continue };
            let Some((start, end)) = range.split_once('-') else { continue };
            let (Ok(start), Ok(end)) = (usize::from_str_radix(start, 16), usize::from_str_radix(end, 16))
            else {
                continue;
            };
            let follows = ranges.last().is_some_and(|last| last.end == start);
            if path.is_some_and(|path| path.starts_with('/')) || (path.is_none() && follows) {
                ranges.push(start..end);
            }
        }
        ranges
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        static ONE: u64 = 1;
        static mut ZERO: [u8; 100_000] = [0; 100_000];

        #[test]
        fn statics_are_told_from_the_rest() {
            let local = 0_u8;
            let heap = Box::new(0_u8);
            if cfg!(target_os = "linux") {
                assert!(!is_static(&raw const local as usize));
                assert!(!is_static(&raw const *heap as usize));
            }
            assert!(is_static(&raw const ONE as usize));
            assert!(is_static(&raw const ZERO as usize));
            assert!(is_static(&raw const ZERO as usize + 99_999));
        }

        #[test]
        fn maps_are_read() {
            let maps = "00400000-00401000 r-xp 00000000 08:01 1 /bin/a\n\
                        00401000-00403000 rw-p 00000000 00:00 0 \n\
                        00403000-00405000 rw-p 00000000 00:00 0 [heap]\n\
                        00500000-00503000 rw-p 00000000 00:00 0 \n";
            assert_eq!(parse(maps), [0x400000..0x401000, 0x401000..0x403000]);
        }
    }
}
