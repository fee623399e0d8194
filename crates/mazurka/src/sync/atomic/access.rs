//! The one operation behind all methods of all atomic types, in terms of bits.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

use mazurka_program::{AccessKind, Location};
use mazurka_threads::races::Atomic;
use mazurka_threads::waiters::Spuriously;

use crate::runtime::identity::Object;
use crate::runtime::operation::{CurrentStep, Operation};
use crate::runtime::spin::Registers;
use crate::runtime::{Arrival, Runtime, Whole, with_runtime};
use crate::step::CallSite;

/// Notes the first use of an ordering weaker than `SeqCst`.
pub(super) fn note_ordering(runtime: &mut Runtime, order: Ordering, place: CallSite) {
    if order != Ordering::SeqCst && runtime.search.weak_ordering.is_none() {
        runtime.search.weak_ordering = Some(place);
    }
}

/// What an operation makes of the value it finds; none if it leaves it.
pub(super) enum Effect<'a> {
    Load,
    Store(u64),
    /// A read-modify-write.
    Update(&'a dyn Fn(u64) -> u64),
    /// A compare-exchange: the expected value and the new one.
    Exchange(u64, u64),
    /// The same, which may fail of itself: says so there.
    WeakExchange(u64, u64, &'a Cell<bool>),
}

/// Whether there ever was a check in which exchanges fail of themselves: to ask who checks takes longer.
static ANY_FAILS: AtomicBool = AtomicBool::new(false);

/// Weak exchanges fail of themselves in some check from now on.
pub(crate) fn let_exchanges_fail() {
    ANY_FAILS.store(true, Ordering::Relaxed);
}

/// Whether the next weak exchange of this thread may fail of itself. It does so at most once in an execution.
#[inline]
pub(super) fn may_fail() -> bool {
    ANY_FAILS.load(Ordering::Relaxed) && may_fail_here()
}

#[cold]
#[inline(never)]
fn may_fail_here() -> bool {
    let may = with_runtime(|runtime| {
        runtime.search.spurious.failures
            && !runtime.execution.waiters.has(Spuriously::Fails, runtime.running())
    });
    // A thread that unwinds can't have several outcomes.
    may == Some(true) && !std::thread::panicking()
}

/// The orderings that an operation names.
#[derive(Clone, Copy)]
pub(super) struct Orders {
    /// Of a compare-exchange, if it succeeds.
    pub(super) success: Ordering,
    /// Of a compare-exchange that fails. Of all others, the same.
    pub(super) failure: Ordering,
}

impl Orders {
    #[inline(always)]
    pub(super) const fn one(order: Ordering) -> Orders {
        Orders { success: order, failure: order }
    }

    /// Whether one is weaker than `SeqCst`.
    #[inline(always)]
    fn is_weak(self) -> bool {
        self.success != Ordering::SeqCst || self.failure != Ordering::SeqCst
    }
}

/// An operation on an atomic, in terms of its bits.
struct Access<'a> {
    location: Location,
    effect: &'a Effect<'a>,
    method: &'static Method,
    orders: Orders,
    /// The value before.
    found: u64,
}

impl Operation for Access<'_> {
    /// Who tries again after an exchange that failed of itself does not wait for anything.
    fn is_plain(&self) -> bool {
        !self.branches()
    }

    fn is_told(&self) -> bool {
        true
    }

    fn is_about_values(&self) -> bool {
        true
    }

    fn branches(&self) -> bool {
        matches!(self.effect, Effect::WeakExchange(..))
    }

    fn alternatives(&self, runtime: &Runtime) -> u32 {
        match *self.effect {
            Effect::WeakExchange(expected, ..) if runtime.value(self.location) == expected => 2,
            _ => 1,
        }
    }

    fn repeat(&mut self, runtime: &mut Runtime, place: CallSite, top: usize) -> bool {
        let found = repeat(runtime, self.location, self.effect, place, top);
        self.found = found.unwrap_or(self.found);
        found.is_some()
    }

    #[inline]
    fn perform(&mut self, step: &mut CurrentStep<'_>) {
        let at = self.location;
        match *self.effect {
            Effect::Load => {
                self.found = step.read(at, AccessKind::Read);
                step.atomic(at, Atomic::Read, self.orders.success);
            }
            Effect::Store(value) => {
                step.touch(at, AccessKind::Write);
                step.write(at, value);
                step.atomic(at, Atomic::Write, self.orders.success);
            }
            Effect::Update(new) => {
                self.found = step.read(at, AccessKind::Update);
                step.write(at, new(self.found));
                step.atomic(at, Atomic::Update, self.orders.success);
            }
            Effect::Exchange(expected, value) | Effect::WeakExchange(expected, value, _) => {
                let mut equal = step.peek(at) == expected;
                if let Effect::WeakExchange(_, _, failed) = self.effect
                    && equal
                    && step.choice == 1
                {
                    failed.set(true);
                    equal = false;
                    step.runtime.execution.waiters.note(Spuriously::Fails, step.process);
                    step.does_more();
                    step.note(|| "fails of itself".to_owned());
                }
                // With static footprints a failed exchange counts as a successful one.
                let kind =
                    if equal || step.runtime.search.foresee { AccessKind::Update } else { AccessKind::Read };
                self.found = step.read(at, kind);
                if equal {
                    step.write(at, value);
                    step.atomic(at, Atomic::Update, self.orders.success);
                } else {
                    step.atomic(at, Atomic::Read, self.orders.failure);
                }
                if !step.runtime.search.foresee {
                    step.varies();
                }
            }
        }
    }

    fn describe(&self, runtime: &Runtime) -> String {
        let show = self.method.show;
        let arguments = match *self.effect {
            Effect::Store(value) => show(value),
            Effect::Exchange(expected, value) | Effect::WeakExchange(expected, value, _) => {
                format!("{}, {}", show(expected), show(value))
            }
            _ => String::new(),
        };
        format!("{}.{}({arguments})", runtime.name_of_location(self.location), self.method.name)
    }

    fn show(&self, value: u64) -> String {
        (self.method.show)(value)
    }
}

/// A method of an atomic type.
pub(super) struct Method {
    /// The type.
    pub(super) kind: &'static str,
    pub(super) name: &'static str,
    pub(super) show: fn(u64) -> String,
}

/// Does an operation on the atomic of an object, which held `first` before the check; gives the value before.
/// None outside of a check.
///
/// A function of its own, so that the frame of the caller, which may be compared, has nothing in it that
/// depends on what happens here. The registers are those of the caller.
#[inline(never)]
pub(super) fn access(
    registers: &Registers,
    object: &Object,
    first: u64,
    effect: &Effect<'_>,
    method: &'static Method,
    orders: Orders,
    place: CallSite,
) -> Option<u64> {
    let mut access = Access { location: Location(0), effect, method, orders, found: 0 };
    let arrival = with_runtime(|runtime| {
        if orders.is_weak() {
            note_ordering(runtime, Ordering::Relaxed, place);
        }
        access.location = runtime.locate(object, || Whole::of(object), method.kind, || first);
        match repeat(runtime, access.location, effect, place, registers.top()) {
            Some(found) => {
                access.found = found;
                Arrival::Done
            }
            // SAFETY: the operation stays where it is while this function does not return.
            #[allow(unsafe_code)]
            None => unsafe { runtime.come_to(&mut access, place, registers) },
        }
    })?;
    arrival.wait();
    Some(access.found)
}

/// Does the operation at once, if that is what the execution has to do again; gives the value before. It does
/// what [`Access::perform`] does, and no more.
#[inline(always)]
fn repeat(
    runtime: &mut Runtime,
    location: Location,
    effect: &Effect<'_>,
    place: CallSite,
    top: usize,
) -> Option<u64> {
    if !runtime.may_repeat(place) {
        return None;
    }
    let found = runtime.value(location);
    let (kind, new) = match *effect {
        Effect::Load => (AccessKind::Read, None),
        Effect::Store(value) => (AccessKind::Write, Some(value)),
        Effect::Update(new) => (AccessKind::Update, Some(new(found))),
        Effect::Exchange(expected, value) if found == expected => (AccessKind::Update, Some(value)),
        Effect::Exchange(..) if runtime.search.foresee => (AccessKind::Update, None),
        Effect::Exchange(..) => (AccessKind::Read, None),
        // Which of its outcomes it has the script knows, which is not asked here.
        Effect::WeakExchange(..) => return None,
    };
    if !runtime.expects(location, kind) {
        return None;
    }
    if runtime.keeps_clocks() {
        runtime.set_clock_alone(runtime.running(), location, kind);
    }
    let silent = new.is_none_or(|value| runtime.rewrite(location, value)) && kind != AccessKind::Write;
    runtime.repeated(place, top, silent.then_some(location));
    Some(found)
}
