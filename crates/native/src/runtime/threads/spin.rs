//! Spin loops: who reads the same over and over waits for it to change.
//!
//! A thread that comes to an access in the very state in which it was there before, having changed nothing since, will do
//! the same again as long as what it read stays the same. So it waits, as at a guard, until some of it changes. The state
//! of a thread is its stack, its registers and its error number; they are compared byte by byte, so that a loop with a
//! counter is none. Every write of memory that is not on its own stack counts as a change, whether others can notice
//! it or not. Some bytes of the stack others may change: those that are locations, and those that another thread alone has written,
//! through a pointer that it was given. They are not compared, since nothing orders such a write with what the loop reads.
//!
//! Frames have words in them that nobody has written since they were entered: they hold what earlier, deeper calls left. What
//! the runtime leaves there is another when a step is repeated than when it is scheduled, so the stubs wipe it out.
//!
//! A guard reads one location, and is asked about the past. So the cells that loops wait for are watched: what they hold is noted
//! at each write. A loop that reads several locations waits for all of them at once; these count as one, which whoever
//! writes one of them writes too. Both change what is noted or the labels: the search begins again when it is found out.
#![allow(unsafe_code)]

use std::ptr;

use mazurka_program::{Access, AccessKind, GuardId, Location};

use super::operation::{Operation, Step, Wait};
use super::thread::Order;
use super::world::World;
use crate::runtime::memory::layout::peek;
use crate::runtime::memory::shadow::is_changed_by_others;
use crate::runtime::system::stubs::USUAL_WORDS;

/// No iteration of a loop that is recognised reads more than this.
const MAX_READS: usize = 32;
/// No stack that is compared is larger.
const MAX_FRAME: usize = 16 * 1024;
/// How many words of the stack the stub wipes after a step that did not take the usual path.
const MUCH: u32 = 384;
/// Guards of loops have numbers from here on.
pub(crate) const GUARDS: u32 = 1 << 31;

/// What the stub leaves besides the address of its caller.
#[repr(C)]
struct Left {
    caller: usize,
    registers: [usize; 6],
    stack_pointer: usize,
    /// How many words it is to wipe.
    wipe: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Read {
    location: Location,
    value: u64,
    place: usize,
}

/// What a thread has read since it changed something.
pub(crate) struct Quiet {
    reads: Vec<Read>,
    /// Where the state was taken; 0 if there is none.
    place: usize,
    /// How many reads came before.
    since: usize,
    registers: [usize; 6],
    stack_pointer: usize,
    errno: i32,
    stack: Vec<u8>,
}

impl Default for Quiet {
    fn default() -> Quiet {
        // With room for all, so that to add to it leaves the same on the stack in every execution.
        let (reads, stack) = (Vec::with_capacity(MAX_READS), Vec::new());
        Quiet { reads, place: 0, since: 0, registers: [0; 6], stack_pointer: 0, errno: 0, stack }
    }
}

impl Quiet {
    /// Becomes as another is.
    pub(crate) fn copy_from(&mut self, other: &Quiet) {
        let Quiet { reads, place, since, registers, stack_pointer, errno, stack } = other;
        self.reads.clone_from(reads);
        self.place = *place;
        // The rest tells the state at that place.
        if *place != 0 {
            (self.since, self.registers, self.stack_pointer) = (*since, *registers, *stack_pointer);
            self.errno = *errno;
            self.stack.clone_from(stack);
        }
    }

    #[inline]
    pub(crate) fn clear(&mut self) {
        self.reads.clear();
        self.place = 0;
    }

    #[inline]
    fn suspects(&self, place: usize) -> bool {
        self.reads.iter().any(|read| read.place == place)
    }
}

/// What a loop has read.
#[derive(Clone)]
pub(crate) struct Spin {
    /// The location that stands for all of it.
    location: Location,
    reads: Vec<(Location, u64)>,
}

/// What is known of the cells that loops wait for.
#[derive(Default)]
pub(crate) struct Spins {
    /// Of this execution, in the order in which they were met.
    list: Vec<Spin>,
    /// By location: whether some loop waits for it.
    watched: Vec<bool>,
    /// Whether any is.
    pub(crate) any: bool,
    /// By location: `(execution, what it held after how many steps)`.
    histories: Vec<(u64, Vec<(u32, u64)>)>,
    stamp: u64,
    /// Written by the running thread, and not looked at since.
    written: Vec<(Location, u32)>,
    /// Locations that count as one: disjoint sets, each with the location that stands for it.
    groups: Vec<(Location, Vec<Location>)>,
}

/// What was known of an execution's loops when it was saved.
#[derive(Default)]
pub(crate) struct SavedSpins {
    list: Vec<Spin>,
    histories: Vec<(usize, Vec<(u32, u64)>)>,
}

impl Spins {
    /// Saves what is known of this execution, between two steps.
    pub(crate) fn save(&self, saved: &mut SavedSpins) {
        debug_assert!(self.written.is_empty(), "a step is over when all that it wrote has been looked at");
        saved.list.clone_from(&self.list);
        saved.histories.clear();
        let mine = self.histories.iter().enumerate().filter(|(_, (when, _))| *when == self.stamp);
        saved.histories.extend(mine.map(|(at, (_, history))| (at, history.clone())));
    }

    /// A new execution, which is where another was when it was saved.
    pub(crate) fn put_back(&mut self, saved: &SavedSpins) {
        self.begin();
        self.list.clone_from(&saved.list);
        for (at, history) in &saved.histories {
            let (when, now) = &mut self.histories[*at];
            *when = self.stamp;
            now.clone_from(history);
        }
    }

    pub(crate) fn begin(&mut self) {
        self.list.clear();
        self.written.clear();
        self.stamp += 1;
    }

    fn is_watched(&self, location: Location) -> bool {
        self.watched.get(location.0 as usize).is_some_and(|&watched| watched)
    }

    /// Adds a location; says whether it is new.
    fn watch(&mut self, location: Location) -> bool {
        let at = location.0 as usize;
        if self.watched.len() <= at {
            self.watched.resize(at + 1, false);
        }
        self.any = true;
        !std::mem::replace(&mut self.watched[at], true)
    }

    fn history(&mut self, location: Location) -> &mut Vec<(u32, u64)> {
        let (at, stamp) = (location.0 as usize, self.stamp);
        if self.histories.len() <= at {
            self.histories.resize_with(at + 1, Default::default);
        }
        let (when, history) = &mut self.histories[at];
        if *when != stamp {
            *when = stamp;
            history.clear();
        }
        history
    }

    /// The location that stands for several, if they count as one.
    fn group(&self, reads: &[(Location, u64)]) -> Option<Location> {
        let all = |members: &[Location]| reads.iter().all(|read| members.contains(&read.0));
        self.groups.iter().find(|group| all(&group.1)).map(|group| group.0)
    }

    /// Has several count as one, together with those that some of them count as one with.
    fn merge(&mut self, reads: &[(Location, u64)], stands_for_all: Location) {
        let mut merged: Vec<Location> = reads.iter().map(|read| read.0).collect();
        self.groups.retain(|(_, members)| {
            let apart = !members.iter().any(|member| merged.contains(member));
            if !apart {
                merged.extend(members.iter().copied());
            }
            apart
        });
        merged.sort_unstable();
        merged.dedup();
        self.groups.push((stands_for_all, merged));
    }
}

/// An access in a loop: it waits until something that the loop read is another.
pub(crate) struct Await {
    pub(crate) access: Access,
    pub(crate) order: Order,
    pub(crate) spin: u32,
}

impl Operation for Await {
    fn wait(&self, _world: &World) -> Wait {
        Wait::Spin { spin: self.spin }
    }

    fn order(&self) -> Order {
        self.order
    }

    fn perform(&mut self, step: &mut Step<'_>) {
        step.world.label.accesses.push(self.access);
        step.leave_loop(self.spin, self.access.first);
    }

    fn describe(&self, world: &World) -> String {
        let verb = if self.access.kind.is_read() { "read" } else { "update" };
        let cell = world.partition.memory(self.access.first);
        let name = cell.map_or_else(String::new, |cell| world.memory_name(cell.address, cell.size));
        format!("{verb} {name}")
    }

    fn waits_for(&self, world: &World) -> (String, Vec<mazurka_program::ProcessId>) {
        (world.spin_text(self.spin), Vec::new())
    }
}

impl Step<'_> {
    /// A loop goes on: it read what stands for all that it waited for.
    pub(crate) fn leave_loop(&mut self, spin: u32, own: Location) {
        let location = self.world.spins.list[spin as usize].location;
        if location != own {
            self.touch(location, AccessKind::Read);
        }
    }
}

impl World {
    fn left(&self) -> *mut Left {
        self.image.caller.cast()
    }

    /// The running thread has read a cell, or changed it to what it was.
    #[inline]
    pub(crate) fn quiet_read(&mut self, place: usize, location: Location, value: u64) {
        let quiet = &mut self.me().quiet;
        if quiet.reads.len() >= MAX_READS {
            quiet.clear();
        }
        quiet.reads.push(Read { location, value, place });
        let usual = quiet.place == 0 && !self.watch.enabled && !self.spins.any;
        let words = if usual { USUAL_WORDS } else { MUCH };
        // SAFETY: the words are the stub's.
        unsafe { (*self.left()).wipe = words };
    }

    /// What a thread waits for that comes to an access, if it is in the state in which it was there before.
    #[inline]
    pub(crate) fn spins_at(&mut self, place: usize) -> Option<u32> {
        if self.me().quiet.suspects(place) { self.find_spin(place) } else { None }
    }

    #[cold]
    #[inline(never)]
    fn find_spin(&mut self, place: usize) -> Option<u32> {
        let before = self.me().quiet.place;
        if before != 0 && before != place {
            // A loop with several accesses is recognised at one of them.
            return None;
        }
        if before == 0 || !self.is_same_state() {
            self.take_state(place);
            return None;
        }
        let quiet = &self.me().quiet;
        let mut reads: Vec<(Location, u64)> =
            quiet.reads[quiet.since..].iter().map(|read| (read.location, read.value)).collect();
        reads.sort_unstable();
        reads.dedup();
        if reads.is_empty() || reads.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            // Something changed on the way: another iteration will show.
            self.take_state(place);
            return None;
        }
        self.wait_for(reads)
    }

    /// The part of the stack that is the program's, for the running thread.
    fn frame(&mut self) -> Option<(usize, usize)> {
        // SAFETY: the words are the stub's.
        let from = unsafe { (*self.left()).stack_pointer };
        let to = self.me().yielder() as usize;
        (from < to && to - from <= MAX_FRAME && from >= self.me().slot.stack_limit).then_some((from, to))
    }

    fn take_state(&mut self, place: usize) {
        let Some((from, to)) = self.frame() else { return };
        // SAFETY: the words are the stub's, and so far the stack is the running thread's.
        let (registers, stack, errno) = unsafe {
            let stack = std::slice::from_raw_parts(ptr::with_exposed_provenance::<u8>(from), to - from);
            ((*self.left()).registers, stack, *self.errno)
        };
        let quiet = &mut self.me().quiet;
        (quiet.place, quiet.since) = (place, quiet.reads.len());
        (quiet.registers, quiet.stack_pointer, quiet.errno) = (registers, from, errno);
        quiet.stack.clear();
        quiet.stack.extend_from_slice(stack);
    }

    fn is_same_state(&mut self) -> bool {
        let Some((from, to)) = self.frame() else { return false };
        // SAFETY: as above.
        let (registers, stack, errno) = unsafe {
            let stack = std::slice::from_raw_parts(ptr::with_exposed_provenance::<u8>(from), to - from);
            ((*self.left()).registers, stack, *self.errno)
        };
        let World { threads, shadow, running, .. } = self;
        let quiet = &threads[*running as usize].quiet;
        let same = quiet.registers == registers
            && (quiet.stack_pointer, quiet.errno, quiet.stack.len()) == (from, errno, stack.len());
        let words = shadow.words(from, stack.len());
        let kept = |at: usize| stack[at] == quiet.stack[at] || is_changed_by_others(words[at], *running);
        same && (0..stack.len()).all(kept)
    }

    /// The running thread waits until something that it read is another.
    fn wait_for(&mut self, reads: Vec<(Location, u64)>) -> Option<u32> {
        let mut news = false;
        for read in &reads {
            news |= self.spins.watch(read.0);
        }
        let location = match reads[..] {
            [(location, _)] => location,
            _ => self.spins.group(&reads).unwrap_or_else(|| {
                news = true;
                let stands_for_all = self.partition.other();
                self.spins.merge(&reads, stands_for_all);
                stands_for_all
            }),
        };
        self.partition.news |= news;
        self.spins.list.push(Spin { location, reads });
        Some(self.spins.list.len() as u32 - 1)
    }

    /// The guard of a loop.
    pub(crate) fn spin_guard(&self, spin: u32) -> mazurka_program::Guard {
        mazurka_program::Guard {
            location: self.spins.list[spin as usize].location,
            id: GuardId(GUARDS | spin),
        }
    }

    fn value_of(&self, location: Location) -> u64 {
        // SAFETY: a cell is memory of the program.
        self.partition.memory(location).map_or(0, |cell| unsafe { peek(cell.address, cell.size) })
    }

    /// Whether something that a loop read is another now.
    pub(crate) fn spin_is_over(&self, spin: u32) -> bool {
        self.spins.list[spin as usize].reads.iter().any(|&(location, value)| self.value_of(location) != value)
    }

    /// The same after so many steps.
    pub(crate) fn spin_is_over_at(&self, guard: GuardId, depth: u32) -> bool {
        let Some(spin) = self.spins.list.get((guard.0 & !GUARDS) as usize) else { return true };
        spin.reads.iter().any(|&(location, value)| {
            let history = self.spins.histories.get(location.0 as usize);
            let history = history.filter(|history| history.0 == self.spins.stamp).map(|history| &history.1);
            let then = history.and_then(|history| {
                let after = history.partition_point(|&(since, _)| since <= depth);
                after.checked_sub(1).map(|at| history[at].1)
            });
            then.unwrap_or_else(|| self.value_of(location)) != value
        })
    }

    /// A step is about to write cells, which loops may wait for: what they hold now was so from the start, if nobody has
    /// written them, and what they hold then is looked at when the thread has gone on.
    #[cold]
    pub(crate) fn note_writes(&mut self, accesses: &[Access], depth: u32) {
        for access in accesses.iter().filter(|access| !access.kind.is_read()) {
            for location in access.locations().filter(|&at| self.spins.is_watched(at)).collect::<Vec<_>>() {
                let value = self.value_of(location);
                let history = self.spins.history(location);
                if history.is_empty() {
                    history.push((0, value));
                }
                self.spins.written.push((location, depth));
                self.changed = true;
            }
        }
    }

    /// The running thread has made the accesses of its last step.
    #[inline]
    pub(crate) fn look_at_written(&mut self) {
        while let Some((location, depth)) = self.spins.written.pop() {
            let value = self.value_of(location);
            self.spins.history(location).push((depth, value));
        }
    }

    /// Who writes a location of a group writes the group.
    #[cold]
    pub(crate) fn touch_groups(&mut self) {
        for at in 0..self.spins.groups.len() {
            let (stands_for_all, members) = &self.spins.groups[at];
            let writes = |access: &Access| {
                !access.kind.is_read() && access.locations().any(|location| members.contains(&location))
            };
            if self.label.accesses.iter().any(writes) {
                let stands_for_all = *stands_for_all;
                self.label.touch(stands_for_all, AccessKind::Write);
            }
        }
    }

    fn spin_text(&self, spin: u32) -> String {
        let names: Vec<String> = self.spins.list[spin as usize]
            .reads
            .iter()
            .filter_map(|read| self.partition.memory(read.0))
            .map(|cell| self.memory_name(cell.address, cell.size))
            .collect();
        format!("a change of {}, in a loop", names.join(" or "))
    }

    /// Who spins when nobody can take a step spins forever.
    #[cold]
    pub(crate) fn report_livelock(&mut self) {
        for at in 0..self.created.len() {
            let thread = self.created[at];
            let super::thread::Pending::Operation { wait: Wait::Spin { spin }, place, .. } =
                self.thread(thread).pending
            else {
                continue;
            };
            let (name, what) = (self.name_of(thread), self.spin_text(spin));
            self.running = thread;
            let message = format!("{name} waits forever for {what}: nobody is left to make it");
            self.report(mazurka_program::FailureKind::Livelock, message, place);
            return;
        }
    }
}
