//! Accesses of memory that the compiler announces: `__tsan_read4` and its kin.
//!
//! Each is called before the access is made. If others can notice it, the thread stops here, and makes the
//! access when its step is taken.
#![allow(unsafe_code)]

use mazurka_program::{Access, AccessKind, Location};
use mazurka_threads::races::Order;

use super::layout::peek;
use super::shadow::{REDZONE, is_invisible, is_location};
use super::{bounds, heap};
use crate::runtime::system::limits;
use crate::runtime::system::stubs::{Passing, Stub, stubs};
use crate::runtime::threads::arrive;
use crate::runtime::threads::operation::{CurrentStep, InRound, Operation};
use crate::runtime::threads::rounds::mixed;
use crate::runtime::threads::runtime::{Execution, Runtime, Search, StepState, current};
use crate::runtime::threads::spin::spin_place;

/// A thread is about to access `N` bytes.
#[inline(always)]
fn access<const N: usize>(address: usize, place: usize, kind: AccessKind) {
    let runtime = current();
    if runtime.is_null() {
        return;
    }
    // SAFETY: a thread of the program runs here, so that nobody else uses it.
    unsafe { announce::<N>(runtime, address, place, kind, (Order::Plain, 0)) }
}

/// The same, with how it synchronises, and what an atomic one was given to write.
///
/// # Safety
/// A thread of the program must run here.
#[inline(always)]
pub(crate) unsafe fn announce<const N: usize>(
    runtime: *mut Runtime,
    address: usize,
    place: usize,
    kind: AccessKind,
    (order, given): (Order, u64),
) {
    // SAFETY: by the contract nobody else uses the runtime. The shadow has as many words as it says.
    unsafe {
        let Some((word, rest)) = (*runtime).search.shadow.word(address) else {
            announce_any(address, N, place, kind, (order, given));
            return;
        };
        let first = *word;
        if rest < N || first == REDZONE || *word.add(N - 1) == REDZONE {
            announce_any(address, N, place, kind, (order, given));
            return;
        }
        if !(*runtime).execution.concurrent {
        } else if is_invisible(first, (*runtime).running().0, !kind.is_read())
            && std::slice::from_raw_parts(word, N).iter().all(|&other| other == first)
        {
            if (*runtime).search.attention && (*runtime).attend((address, N), place, kind, order) {
                announce_any(address, N, place, kind, (order, given));
                return;
            }
            if !kind.is_read() && !(*runtime).is_own_stack(address) {
                (*runtime).me().buffers.detector.clear();
            }
        } else if is_location(first) && (*runtime).search.partition.is(first, address, N) {
            arrive::operate_access(runtime, Access::one(Location(first), kind), place, (order, given));
            if (*runtime).search.rounds {
                (*runtime).has_arrived((address, N), kind, order);
            }
            match kind {
                AccessKind::Read if N <= 8 => {
                    let value = peek(address, N);
                    (*runtime).note_read(spin_place(place, Location(first), given), Location(first), value);
                }
                // Who announces an atomic one tells whether it changes anything.
                AccessKind::Update if order != Order::Plain => {}
                _ => (*runtime).me().buffers.detector.clear(),
            }
        } else {
            announce_any(address, N, place, kind, (order, given));
            return;
        }
        // Now, when the access is about to be made: somebody may have freed it in the meantime.
        if !heap::is_fine(runtime, address, N) {
            bounds::check(&mut *runtime, address, N, place, kind);
        }
    }
}

/// The same for any number of bytes. Gives whether others can notice it.
#[cold]
#[inline(never)]
pub(crate) fn announce_any(
    address: usize,
    size: usize,
    place: usize,
    kind: AccessKind,
    how: (Order, u64),
) -> bool {
    announce_range((address, size), place, kind, how, None)
}

/// The same, for an operation that may be a comparison.
pub(crate) fn announce_range(
    (address, size): (usize, usize),
    place: usize,
    kind: AccessKind,
    (order, given): (Order, u64),
    comparison: Option<Comparison>,
) -> bool {
    let mut ranges = MultiAccess { accesses: AccessSlice::default(), order, given, comparison };
    // SAFETY: a thread of the program runs here. The reference ends before the thread is suspended.
    let many = {
        let runtime = unsafe { &mut *current() };
        if limits::reached().is_some() {
            arrive::stop_at_limit(runtime);
        }
        bounds::check_extent(runtime, address, size, place, kind);
        let many = runtime.notice(address, size, kind, &mut ranges.accesses);
        let watched =
            many == 0 && size <= 16 && runtime.execution.concurrent && runtime.search.private_loop.is_watched;
        match watched && runtime.look_for_private_loop((address, size), place, (kind, order)) {
            true => runtime.notice(address, size, kind, &mut ranges.accesses),
            false => many,
        }
    };
    match (many, ranges.accesses.first) {
        (1, Some(access)) if comparison.is_none() => {
            // SAFETY: as above.
            unsafe { arrive::operate_access(current(), access, place, (order, given)) }
        }
        (0, _) => {}
        _ => arrive::operate(&mut ranges, place),
    }
    // SAFETY: as above. What is invisible ends a spin loop only if it is a write elsewhere than to the own
    // stack.
    unsafe {
        if (*current()).search.rounds && (*current()).execution.concurrent {
            (*current()).has_arrived((address, size), kind, order);
            if many > 0 {
                // Guards know nothing of it, even if it only reads.
                (*current()).me().buffers.rounds.note_operation();
            }
        }
        if many > 0 || !kind.is_read() && !(*current()).is_own_stack(address) {
            (*current()).me().buffers.detector.clear();
        }
    }
    // SAFETY: as above. Somebody may have freed it in the meantime.
    bounds::check(unsafe { &mut *current() }, address, size, place, kind);
    many > 0
}

/// The accesses of a step, as a part of the program's list: a frame that is suspended owns nothing.
#[derive(Clone, Copy, Default)]
pub(crate) struct AccessSlice {
    start: usize,
    len: usize,
    first: Option<Access>,
}

/// A compare-and-exchange of bytes that are not one location.
#[derive(Clone, Copy)]
pub(crate) struct Comparison {
    pub(crate) address: usize,
    pub(crate) size: usize,
    pub(crate) expected: u128,
    /// How it synchronises if it fails.
    pub(crate) failure: Order,
}

impl Comparison {
    fn fails(&self) -> bool {
        let low = self.size.min(8);
        // SAFETY: some of the bytes are locations, and all are announced: they are memory of the program.
        let (low, high) = unsafe { (peek(self.address, low), peek(self.address + low, self.size - low)) };
        u128::from(low) | u128::from(high) << 64 != self.expected
    }
}

/// An access of several locations at once. All of it is atomic, or none.
struct MultiAccess {
    accesses: AccessSlice,
    order: Order,
    /// What an atomic one was given to write.
    given: u64,
    comparison: Option<Comparison>,
}

impl Operation for MultiAccess {
    fn order(&self) -> Order {
        self.comparison.filter(Comparison::fails).map_or(self.order, |comparison| comparison.failure)
    }

    fn only_reads(&self) -> bool {
        self.comparison.is_some_and(|comparison| comparison.fails())
    }

    fn perform(&mut self, step: &mut CurrentStep<'_>) {
        let foresee = step.runtime.search.static_footprints;
        let fails = self.only_reads() && !foresee;
        let Runtime { execution, step: StepState { label, .. }, .. } = &mut *step.runtime;
        let AccessSlice { start, len, first } = self.accesses;
        match (len, first) {
            // One is not kept in the list.
            (1, Some(access)) => label.accesses.push(access),
            _ => label.accesses.extend_from_slice(&execution.touched[start..start + len]),
        }
        if fails {
            label.accesses.iter_mut().for_each(|access| access.kind = AccessKind::Read);
        }
        label.varies |= self.comparison.is_some() && !foresee;
    }

    fn in_round(&self) -> InRound {
        match self.accesses.first {
            // The program makes a plain one itself: what it writes, and where, it has kept.
            Some(first) => InRound::AtAccess(mixed(&[u64::from(first.first.0), self.given])),
            None => InRound::Within,
        }
    }

    fn describe(&self, _runtime: &Runtime) -> String {
        String::new()
    }
}

impl Runtime {
    /// The running thread makes an access that nobody else can notice, and somebody wants to know. Says
    /// whether others can notice it now.
    #[cold]
    #[inline(never)]
    fn attend(
        &mut self,
        (address, size): (usize, usize),
        place: usize,
        kind: AccessKind,
        order: Order,
    ) -> bool {
        let exposed = self.search.expose && self.expose(address, size, kind)
            || self.search.private_loop.is_watched
                && self.look_for_private_loop((address, size), place, (kind, order));
        if self.search.rounds && !exposed {
            match kind.is_read() {
                true => self.me().buffers.rounds.note_announced(0, 0),
                false => self.log_write(address, size, order),
            }
        }
        self.search.attention =
            self.search.rounds || self.search.expose || self.search.private_loop.is_watched;
        exposed
    }

    /// The running thread, of which loops are looked at, makes an access now.
    #[cold]
    #[inline(never)]
    fn has_arrived(&mut self, (address, size): (usize, usize), kind: AccessKind, order: Order) {
        match kind.is_read() {
            true => self.me().buffers.rounds.note_announced(0, 0),
            false => self.log_write(address, size, order),
        }
        self.wipe_if_looked_at();
    }

    /// Makes a variable that a thread goes on reading a location. Says whether it is one now.
    #[cold]
    fn expose(&mut self, address: usize, size: usize, kind: AccessKind) -> bool {
        let running = self.running();
        let Search { partition, shadow, .. } = &mut self.search;
        let exposed = kind.is_read() && partition.expose(shadow.words(address, size), address, running.0);
        self.search.expose = !exposed;
        exposed
    }

    /// Whether an address is on the stack of the running thread.
    #[inline]
    pub(crate) fn is_own_stack(&mut self, address: usize) -> bool {
        let slot = self.me().slot;
        (slot.stack_limit..slot.stack_base).contains(&address)
    }

    /// Notes an access of the running thread; gives how many locations others can notice.
    fn notice(&mut self, address: usize, size: usize, kind: AccessKind, touched: &mut AccessSlice) -> usize {
        if !self.execution.concurrent {
            return 0;
        }
        if !kind.is_read() {
            self.notice_foreign_stack(address, size);
        }
        let Search { partition, shadow, .. } = &mut self.search;
        let Execution { schedule, touched: list, .. } = &mut self.execution;
        let start = list.len();
        partition.access(shadow, (address, size), (schedule.running.0, kind), list);
        let len = list.len() - start;
        *touched = AccessSlice { start, len, first: list.get(start).copied() };
        if len < 2 {
            list.truncate(start);
        }
        len
    }
}

extern "C-unwind" fn read<const N: usize>(address: usize, place: usize) {
    access::<N>(address, place, AccessKind::Read);
}

extern "C-unwind" fn write<const N: usize>(address: usize, place: usize) {
    access::<N>(address, place, AccessKind::Write);
}

extern "C-unwind" fn update<const N: usize>(address: usize, place: usize) {
    access::<N>(address, place, AccessKind::Update);
}

extern "C-unwind" fn read_range(address: usize, size: usize, place: usize) {
    range(address, size, place, AccessKind::Read);
}

extern "C-unwind" fn write_range(address: usize, size: usize, place: usize) {
    range(address, size, place, AccessKind::Write);
}

/// A thread is about to access so many bytes.
pub(crate) fn range(address: usize, size: usize, place: usize, kind: AccessKind) {
    if size > 0 && !current().is_null() {
        announce_any(address, size, place, kind, (Order::Plain, 0));
    }
}

/// The type of an object is written by its constructors and destructors.
extern "C-unwind" fn vptr_update(address: usize, _value: usize, place: usize) {
    access::<8>(address, place, AccessKind::Write);
}

extern "C-unwind" fn nothing() -> usize {
    0
}

/// Makes entries for accesses of several sizes, which are part of the names.
macro_rules! sized_stubs {
    ($passing:expr; $($prefix:literal => $function:ident: $($size:literal)*;)*) => {
        stubs! { $passing; $($(concat!("__tsan_", $prefix, $size) => $function::<$size>,)*)* }
    };
}

/// What programs call. The order decides where in the code a stub lies, and how that is aligned has been seen
/// to cost writes a tenth of their speed: measure what another one does.
pub(crate) fn interposed(list: &mut Vec<Stub>) {
    list.extend(sized_stubs! { Passing::Read;
        "read" => read: 1 2 4 8 16; "unaligned_read" => read: 2 4 8 16;
        "volatile_read" => read: 1 2 4 8 16; "unaligned_volatile_read" => read: 2 4 8 16;
    });
    list.extend(stubs! { Passing::Read; "__tsan_vptr_read" => read::<8> });
    list.extend(sized_stubs! { Passing::Access1;
        "write" => write: 1 2 4 8 16; "unaligned_write" => write: 2 4 8 16;
        "read_write" => update: 1 2 4 8 16; "unaligned_read_write" => update: 2 4 8 16;
        "volatile_write" => write: 1 2 4 8 16; "unaligned_volatile_write" => write: 2 4 8 16;
    });
    list.extend(stubs! { Passing::Access2;
        "__tsan_read_range" => read_range, "__tsan_write_range" => write_range,
        "__tsan_vptr_update" => vptr_update,
    });
    list.extend(stubs! { Passing::Plain;
        "__tsan_init" => nothing, "__tsan_func_entry" => nothing, "__tsan_func_exit" => nothing,
        "__tsan_ignore_thread_begin" => nothing, "__tsan_ignore_thread_end" => nothing,
    });
}
