//! Atomic accesses, as the compiler calls them: `__tsan_atomic32_load` and its kin.
#![allow(unsafe_code)]

use mazurka_program::{Access, AccessKind, FailureKind, Guard, Location};
use mazurka_threads::race_log::Did;
use mazurka_threads::races::Order;
use mazurka_threads::sync::StepEffects as _;

use crate::runtime::memory::access::{Comparison, announce, announce_range};
use crate::runtime::memory::layout::{PAGE, peek};
use crate::runtime::memory::{bounds, heap};
use crate::runtime::system::stubs::{Passing, Stub, stubs};
use crate::runtime::system::user::{self, caller};
use crate::runtime::threads::arrive;
use crate::runtime::threads::operation::{CurrentStep, InRound, Operation, Wait};
use crate::runtime::threads::rounds::mixed;
use crate::runtime::threads::runtime::{Runtime, current};
use crate::runtime::threads::spin::spin_place;

/// What the number of a memory order says.
pub(crate) fn order(number: i32) -> Order {
    match number & 0xFF {
        0 => Order::Relaxed,
        1 | 2 => Order::Acquire,
        3 => Order::Release,
        _ => Order::Both,
    }
}

/// Ends the running thread if it is about to use a null pointer, which is told here rather than by a fault in
/// our own code.
#[inline]
fn check_null(address: usize, place: usize) {
    if address < PAGE {
        fail_null(address, place);
    }
}

#[cold]
fn fail_null(address: usize, place: usize) -> ! {
    // SAFETY: a thread of the program runs here.
    let name = unsafe { (*current()).name_of((*current()).running()) };
    let message = match address {
        0 => format!("{name} uses a null pointer, or a wild one"),
        _ => format!("{name} accesses {address:#x}, where there is no memory for it"),
    };
    arrive::fail_here(FailureKind::Memory, message, place)
}

macro_rules! atomics {
    ($module:ident, $type:ty, $size:literal) => {
        mod $module {
            use super::*;

            /// The thread is about to access the bytes, and was given this to write.
            #[inline]
            fn before(address: *mut $type, kind: AccessKind, order: Order, given: $type) -> usize {
                let place = caller();
                check_null(address.expose_provenance(), place);
                let how = (order, given as u64);
                // SAFETY: a thread of the program runs here.
                unsafe { announce::<$size>(current(), address.expose_provenance(), place, kind, how) }
                place
            }

            pub(super) extern "C-unwind" fn load(address: *mut $type, order: i32) -> $type {
                before(address, AccessKind::Read, super::order(order), 0);
                // SAFETY: the program passes a valid pointer; a wild one faults, and the thread is thrown
                // out. No other thread runs, so that a plain access is atomic.
                unsafe { address.read_unaligned() }
            }

            pub(super) extern "C-unwind" fn store(address: *mut $type, value: $type, order: i32) {
                before(address, AccessKind::Write, super::order(order), value);
                // SAFETY: as above.
                unsafe { address.write_unaligned(value) };
            }

            #[inline]
            fn modify(
                address: *mut $type,
                order: i32,
                given: $type,
                f: impl FnOnce($type) -> $type,
            ) -> $type {
                let place = before(address, AccessKind::Update, super::order(order), given);
                // SAFETY: as above.
                unsafe {
                    let value = address.read_unaligned();
                    let new = f(value);
                    address.write_unaligned(new);
                    let address = address.expose_provenance();
                    (*current()).note_change(
                        address,
                        $size,
                        value as u64,
                        value != new,
                        (place, given as u64),
                    );
                    value
                }
            }

            pub(super) extern "C-unwind" fn exchange(address: *mut $type, new: $type, order: i32) -> $type {
                modify(address, order, new, |_| new)
            }

            pub(super) extern "C-unwind" fn add(address: *mut $type, by: $type, order: i32) -> $type {
                modify(address, order, by, |value| value.wrapping_add(by))
            }

            pub(super) extern "C-unwind" fn sub(address: *mut $type, by: $type, order: i32) -> $type {
                modify(address, order, by, |value| value.wrapping_sub(by))
            }

            pub(super) extern "C-unwind" fn and(address: *mut $type, by: $type, order: i32) -> $type {
                modify(address, order, by, |value| value & by)
            }

            pub(super) extern "C-unwind" fn or(address: *mut $type, by: $type, order: i32) -> $type {
                modify(address, order, by, |value| value | by)
            }

            pub(super) extern "C-unwind" fn xor(address: *mut $type, by: $type, order: i32) -> $type {
                modify(address, order, by, |value| value ^ by)
            }

            pub(super) extern "C-unwind" fn nand(address: *mut $type, by: $type, order: i32) -> $type {
                modify(address, order, by, |value| !(value & by))
            }

            /// As clang calls it: gives what was there.
            pub(super) extern "C-unwind" fn compare_exchange(
                address: *mut $type,
                expected: $type,
                new: $type,
                success: i32,
                failure: i32,
            ) -> $type {
                let orders = (super::order(success), super::order(failure));
                let values = (expected as u64, new as u64);
                compare(address.expose_provenance(), $size, values, orders, caller());
                // SAFETY: as above.
                unsafe {
                    let value = address.read_unaligned();
                    if value == expected {
                        address.write_unaligned(new);
                    }
                    value
                }
            }

            /// As gcc calls it: tells whether it was as expected, and writes what was there.
            pub(super) extern "C-unwind" fn compare_exchange_at(
                address: *mut $type,
                expected: *mut $type,
                new: $type,
                success: i32,
                failure: i32,
            ) -> i32 {
                let place = caller();
                // SAFETY: as above.
                let wanted = unsafe {
                    let at = expected.expose_provenance();
                    let given = mixed(&[address.expose_provenance() as u64, new as u64]);
                    announce::<$size>(current(), at, place, AccessKind::Read, (Order::Plain, given));
                    expected.read_unaligned()
                };
                let orders = (super::order(success), super::order(failure));
                let values = (wanted as u64, new as u64);
                compare(address.expose_provenance(), $size, values, orders, place);
                // SAFETY: as above.
                let value = unsafe { address.read_unaligned() };
                if value == wanted {
                    // SAFETY: as above.
                    unsafe { address.write_unaligned(new) };
                    return 1;
                }
                user::store(expected, value, place);
                0
            }
        }
    };
}

atomics!(bits8, u8, 1);
atomics!(bits16, u16, 2);
atomics!(bits32, u32, 4);
atomics!(bits64, u64, 8);

/// A thread is about to compare and exchange.
fn compare(address: usize, size: usize, (expected, new): (u64, u64), orders: (Order, Order), place: usize) {
    check_null(address, place);
    let given = mixed(&[expected, new]);
    // SAFETY: a thread of the program runs here; the reference ends before it is suspended.
    let Some(location) = (unsafe { (*current()).only_location(address, size) }) else {
        let comparison = Comparison { address, size, expected: expected.into(), failure: orders.1 };
        announce_range((address, size), place, AccessKind::Update, (orders.0, given), Some(comparison));
        return;
    };
    // SAFETY: as above.
    unsafe {
        let guard = (*current()).loop_at(spin_place(place, location, given));
        let mut operation =
            Compare { location, address, size, expected, given, orders, succeeds: false, guard };
        arrive::operate_in_loop(&mut operation, place);
        if guard.is_some() {
            (*current()).me().buffers.detector.clear();
        }
        // Somebody may have freed it before.
        if !heap::is_fine(current(), address, size) {
            bounds::check(&mut *current(), address, size, place, AccessKind::Update);
        }
        let value = peek(address, size);
        if value == expected && (*current()).search.rounds {
            (*current()).log_write(address, size, orders.0);
        }
        (*current()).note_change(address, size, value, value == expected, (place, given));
    }
}

impl Runtime {
    /// The running thread has read a location, and maybe changed it.
    pub(crate) fn note_change(
        &mut self,
        address: usize,
        size: usize,
        value: u64,
        changed: bool,
        (place, given): (usize, u64),
    ) {
        match self.only_location(address, size).filter(|_| !changed) {
            Some(location) => self.note_read(spin_place(place, location, given), location, value),
            None => self.me().buffers.detector.clear(),
        }
    }

    /// The location that so many bytes are, if they are one.
    pub(crate) fn only_location(&mut self, address: usize, size: usize) -> Option<Location> {
        let word = self.search.shadow.words(address, 1).first().copied()?;
        (self.execution.concurrent && self.search.partition.is(word, address, size)).then_some(Location(word))
    }
}

/// A compare-and-exchange of one location: it reads, and writes if it finds what it expects.
struct Compare {
    location: Location,
    address: usize,
    size: usize,
    expected: u64,
    /// What tells it from others that were given other values.
    given: u64,
    orders: (Order, Order),
    succeeds: bool,
    /// Of the spin loop that it is in.
    guard: Option<Guard>,
}

impl Operation for Compare {
    fn wait(&self) -> Wait {
        self.guard.map_or(Wait::Nothing, Wait::Change)
    }

    fn order(&self) -> Order {
        if self.succeeds { self.orders.0 } else { self.orders.1 }
    }

    fn only_reads(&self) -> bool {
        !self.succeeds
    }

    fn in_round(&self) -> InRound {
        InRound::At(self.given ^ u64::from(self.location.0).rotate_left(48))
    }

    fn perform(&mut self, step: &mut CurrentStep<'_>) {
        // SAFETY: the bytes are those of a location, so that they are memory of the program.
        self.succeeds = unsafe { peek(self.address, self.size) } == self.expected;
        let kind = match self.succeeds || step.runtime.search.static_footprints {
            true => AccessKind::Update,
            false => AccessKind::Read,
        };
        step.runtime.step.label.accesses.push(Access::one(self.location, kind));
        if let Some(guard) = self.guard {
            step.leave_loop(guard, self.location);
        }
        if !step.runtime.search.static_footprints {
            step.varies();
        }
    }

    fn describe(&self, runtime: &Runtime) -> String {
        format!("compare-exchange of {}", runtime.memory_name(self.address, self.size))
    }
}

extern "C-unwind" fn fence(number: i32) {
    // SAFETY: a thread of the program runs here.
    let runtime = unsafe { &mut *current() };
    if runtime.execution.races.enabled {
        let running = runtime.running();
        runtime.execution.races.fence(running, order(number));
        runtime.note_race(running, Did::Fence(order(number)));
    }
}

/// A fence between a thread and a handler of its own signals.
extern "C-unwind" fn signal_fence(_number: i32) {}

/// What programs call.
pub(crate) fn interposed(list: &mut Vec<Stub>) {
    macro_rules! of {
        ($module:ident, $prefix:literal) => {
            of!($module, $prefix; "load" => load, "store" => store, "exchange" => exchange,
                "fetch_add" => add, "fetch_sub" => sub, "fetch_and" => and, "fetch_or" => or,
                "fetch_xor" => xor, "fetch_nand" => nand, "compare_exchange_strong" => compare_exchange_at,
                "compare_exchange_weak" => compare_exchange_at, "compare_exchange_val" => compare_exchange);
        };
        ($module:ident, $prefix:literal; $($name:literal => $function:ident),*) => {
            list.extend(stubs! { Passing::Atomic;
                $(concat!($prefix, "_", $name) => $module::$function),*
            });
        };
    }
    of!(bits8, "__tsan_atomic8");
    of!(bits16, "__tsan_atomic16");
    of!(bits32, "__tsan_atomic32");
    of!(bits64, "__tsan_atomic64");
    list.extend(stubs! { Passing::Plain;
        "__tsan_atomic_thread_fence" => fence, "__tsan_atomic_signal_fence" => signal_fence,
    });
}
