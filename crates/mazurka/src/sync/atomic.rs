//! Atomic types, as in [`std::sync::atomic`].
//!
//! Within a check executions are sequentially consistent, whatever orderings are named: what is read is what
//! was written last. Orderings count for the order by which data races on a
//! [`cell::UnsafeCell`](crate::cell::UnsafeCell) are judged. The verdict says so once if one weaker than
//! `SeqCst` was named.

mod access;
mod exposed;

use std::cell::Cell;
use std::fmt;
use std::panic::Location as Caller;
use std::sync::atomic as real;

pub use std::sync::atomic::Ordering;

pub(crate) use access::let_exchanges_fail;
use access::{Effect, Method, Orders, access, may_fail, note_ordering};

use crate::runtime::identity::Object;
use crate::runtime::spin::{Registers, wipe_leftovers};
use crate::runtime::with_runtime;
use crate::step::CallSite;

/// An atomic memory fence. Within a check it counts for the order by which data races are judged, and is no
/// step.
#[inline]
#[track_caller]
pub fn fence(order: Ordering) {
    if order == Ordering::Relaxed {
        no_such_ordering(order, "fence");
    }
    let place = Caller::caller();
    let modelled = with_runtime(|runtime| {
        note_ordering(runtime, order, place);
        runtime.fence(order);
    });
    if modelled.is_none() {
        real::fence(order);
    }
}

/// A fence for the compiler only.
#[inline]
pub fn compiler_fence(order: Ordering) {
    real::compiler_fence(order);
}

/// As [`crate::hint::spin_loop`].
#[deprecated(note = "replaced by `hint::spin_loop`")]
pub fn spin_loop_hint() {
    crate::hint::spin_loop();
}

macro_rules! initial {
    ($($name:ident: $type:ident = $value:expr;)*) => {$(
        /// As the constant of its name in [`std::sync::atomic`].
        #[deprecated(note = "the `new` function is preferred")]
        #[allow(clippy::declare_interior_mutable_const)]
        pub const $name: $type = $type::new($value);
    )*};
}
initial! {
    ATOMIC_BOOL_INIT: AtomicBool = false;
    ATOMIC_ISIZE_INIT: AtomicIsize = 0;
    ATOMIC_USIZE_INIT: AtomicUsize = 0;
}

/// Panics as the standard library does, but with the place of the caller.
#[cold]
#[inline(never)]
#[track_caller]
fn no_such_ordering(order: Ordering, what: &str) -> ! {
    let order = match order {
        Ordering::Relaxed => "a relaxed",
        Ordering::Release => "a release",
        Ordering::Acquire => "an acquire",
        _ => "an acquire-release",
    };
    panic!("there is no such thing as {order} {what}");
}

/// A value of an atomic type.
trait Value: Copy {
    fn bits(self) -> u64;
    fn of(bits: u64) -> Self;
    /// The value as a person would write it.
    fn show(self) -> String;
}

/// Read-modify-writes by their names: what they make of the value and of their operand. They give the value
/// before.
macro_rules! updates {
    ($value:ty; $($(#[$doc:meta])* $method:ident($operand:ty) = $new:expr;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        #[track_caller]
        pub fn $method(&self, operand: $operand, order: Ordering) -> $value {
            let new: fn($value, $operand) -> $value = $new;
            let new = |bits| new(<$value>::of(bits), operand).bits();
            let method = const { &Self::method(stringify!($method)) };
            match self.access(Effect::Update(&new), method, Orders::one(order), Caller::caller()) {
                Some(before) => before,
                None => self.outside().$method(operand, order),
            }
        }
    )*};
}

/// An atomic type, with what all of them have in common.
macro_rules! atomic {
    ($name:ident $(<$t:ident>)?, $value:ty, $default:expr) => {
        /// As the type of its name in [`std::sync::atomic`].
        // In this order: a stand-in begins with its object.
        #[repr(C)]
        pub struct $name$(<$t>)? {
            object: Object,
            real: real::$name$(<$t>)?,
        }

        impl$(<$t>)? $name$(<$t>)? {
            /// A new atomic.
            #[inline]
            #[must_use]
            #[track_caller]
            pub const fn new(value: $value) -> Self {
                Self { object: Object::new(), real: real::$name::new(value) }
            }

            #[inline(always)]
            fn access(
                &self,
                effect: Effect<'_>,
                method: &'static Method,
                orders: Orders,
                place: CallSite,
            ) -> Option<$value> {
                let mut registers = Registers::unset();
                registers.take();
                let first = match self.object.is_exposed() {
                    true => self.take_over(),
                    false => self.real.load(Ordering::Relaxed).bits(),
                };
                let found = access(&registers, &self.object, first, &effect, method, orders, place);
                wipe_leftovers();
                if self.object.is_exposed() {
                    self.show();
                }
                found.map(Value::of)
            }

            /// Where the value is outside of a check, and within one if there are pointers to it.
            fn memory(&self) -> &real::$name$(<$t>)? {
                if !self.object.stands_in() {
                    return &self.real;
                }
                let target = std::ptr::with_exposed_provenance_mut(self.object.address());
                #[allow(unsafe_code)]
                // SAFETY: who made it by `from_ptr` vouches for it.
                unsafe {
                    real::$name::from_ptr(target)
                }
            }

            /// Takes over what was written through a pointer; gives what the memory holds.
            #[cold]
            #[inline(never)]
            fn take_over(&self) -> u64 {
                let held = self.memory().load(Ordering::Relaxed).bits();
                exposed::take_over(&self.object, held);
                held
            }

            /// Puts the value where pointers lead to.
            #[cold]
            #[inline(never)]
            fn show(&self) {
                if let Some(bits) = exposed::value_of(&self.object) {
                    self.memory().store(Value::of(bits), Ordering::Relaxed);
                }
            }

            /// A pointer to the memory of the value. Within a check, what is read through it is no step, and
            /// who writes through it must be alone with it; it can't be that of a static there.
            #[track_caller]
            pub fn as_ptr(&self) -> *mut $value {
                exposed::expose(&self.object, Caller::caller());
                self.show();
                self.memory().as_ptr()
            }

            /// Memory as an atomic. Within a check, what else is read of it is no step, and who writes it
            /// otherwise must be alone with it; it can't be that of a static there.
            ///
            /// # Safety
            /// As of the standard library's.
            #[allow(unsafe_code)]
            #[track_caller]
            pub unsafe fn from_ptr<'a>(memory: *mut $value) -> &'a Self {
                let new = |object| Self { object, real: real::$name::new($default) };
                // SAFETY: the type begins with its object.
                unsafe { exposed::stand_in(memory.cast(), Caller::caller(), new) }
            }

            /// What is known of a method of this type.
            const fn method(name: &'static str) -> Method {
                Method { kind: stringify!($name), name, show: |bits| <$value>::of(bits).show() }
            }

            /// The value.
            #[inline(always)]
            #[track_caller]
            pub fn load(&self, order: Ordering) -> $value {
                if matches!(order, Ordering::Release | Ordering::AcqRel) {
                    no_such_ordering(order, "load");
                }
                let method = const { &Self::method("load") };
                match self.access(Effect::Load, method, Orders::one(order), Caller::caller()) {
                    Some(value) => value,
                    None => self.outside().load(order),
                }
            }

            /// Sets the value.
            #[inline(always)]
            #[track_caller]
            pub fn store(&self, value: $value, order: Ordering) {
                if matches!(order, Ordering::Acquire | Ordering::AcqRel) {
                    no_such_ordering(order, "store");
                }
                let (effect, method) = (Effect::Store(value.bits()), const { &Self::method("store") });
                if self.access(effect, method, Orders::one(order), Caller::caller()).is_none() {
                    self.outside().store(value, order);
                }
            }

            /// Sets the value if it is `current`; gives the one before, as an error if it was another.
            #[inline(always)]
            #[track_caller]
            pub fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                if matches!(failure, Ordering::Release | Ordering::AcqRel) {
                    no_such_ordering(failure, "failure ordering");
                }
                let effect = Effect::Exchange(current.bits(), new.bits());
                let orders = Orders { success, failure };
                let method = const { &Self::method("compare_exchange") };
                match self.access(effect, method, orders, Caller::caller()) {
                    Some(before) if before.bits() == current.bits() => Ok(before),
                    Some(before) => Err(before),
                    None => self.outside().compare_exchange(current, new, success, failure),
                }
            }

            /// Sets the value if it is `current`; gives the one before.
            #[deprecated(note = "replaced by `compare_exchange`")]
            #[inline]
            #[track_caller]
            pub fn compare_and_swap(&self, current: $value, new: $value, order: Ordering) -> $value {
                let failure = match order {
                    Ordering::Release => Ordering::Relaxed,
                    Ordering::AcqRel => Ordering::Acquire,
                    order => order,
                };
                self.compare_exchange(current, new, order, failure).unwrap_or_else(|found| found)
            }

            /// As [`compare_exchange`](Self::compare_exchange); within a check it fails though the value is
            /// `current` only if the check was [told so](crate::Checker::spurious_failures), each thread at
            /// most once in an execution.
            #[inline]
            #[track_caller]
            pub fn compare_exchange_weak(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                if may_fail() {
                    return self.exchange_or_fail(current, new, Orders { success, failure }, Caller::caller());
                }
                self.compare_exchange(current, new, success, failure)
            }

            /// A weak exchange that may fail of itself.
            #[cold]
            fn exchange_or_fail(
                &self,
                current: $value,
                new: $value,
                orders: Orders,
                place: CallSite,
            ) -> Result<$value, $value> {
                if matches!(orders.failure, Ordering::Release | Ordering::AcqRel) {
                    no_such_ordering(orders.failure, "failure ordering");
                }
                let failed = Cell::new(false);
                let effect = Effect::WeakExchange(current.bits(), new.bits(), &failed);
                let method = const { &Self::method("compare_exchange_weak") };
                let found = self.access(effect, method, orders, place);
                let before = found.unwrap_or(current);
                if before.bits() == current.bits() && !failed.get() { Ok(before) } else { Err(before) }
            }

            /// Sets the value to what a function makes of it; gives the one before, as an error if the
            /// function gave `None`.
            #[track_caller]
            pub fn fetch_update(
                &self,
                set_order: Ordering,
                fetch_order: Ordering,
                mut f: impl FnMut($value) -> Option<$value>,
            ) -> Result<$value, $value> {
                let mut before = self.load(fetch_order);
                while let Some(next) = f(before) {
                    match self.compare_exchange_weak(before, next, set_order, fetch_order) {
                        done @ Ok(_) => return done,
                        Err(found) => before = found,
                    }
                }
                Err(before)
            }

            /// As [`fetch_update`](Self::fetch_update).
            #[track_caller]
            pub fn try_update(
                &self,
                set_order: Ordering,
                fetch_order: Ordering,
                f: impl FnMut($value) -> Option<$value>,
            ) -> Result<$value, $value> {
                self.fetch_update(set_order, fetch_order, f)
            }

            /// Sets the value to what a function makes of it; gives the one before.
            #[track_caller]
            pub fn update(
                &self,
                set_order: Ordering,
                fetch_order: Ordering,
                mut f: impl FnMut($value) -> $value,
            ) -> $value {
                let mut before = self.load(fetch_order);
                loop {
                    match self.compare_exchange_weak(before, f(before), set_order, fetch_order) {
                        Ok(_) => return before,
                        Err(found) => before = found,
                    }
                }
            }

            /// The value, for its only owner.
            #[inline]
            pub fn get_mut(&mut self) -> &mut $value {
                self.settle();
                self.object.forget();
                self.real.get_mut()
            }

            /// The value, for its last owner.
            #[inline]
            #[must_use]
            pub fn into_inner(mut self) -> $value {
                self.settle();
                self.real.into_inner()
            }

            /// Brings what the check knows back to where it lives.
            fn settle(&mut self) {
                if self.object.is_exposed() {
                    return;
                }
                let bits = with_runtime(|runtime| {
                    self.object.location(runtime.execution.stamp).map(|location| runtime.value(location))
                });
                if let Some(bits) = bits.flatten() {
                    *self.real.get_mut() = Value::of(bits);
                }
            }

            updates! {
                $value;
                /// Sets the value and gives the one before.
                swap($value) = |_, new| new;
            }

            #[inline]
            #[track_caller]
            fn outside(&self) -> &real::$name$(<$t>)? {
                self.object.use_outside();
                self.memory()
            }
        }

        impl$(<$t>)? From<$value> for $name$(<$t>)? {
            #[track_caller]
            fn from(value: $value) -> Self {
                Self::new(value)
            }
        }

        impl$(<$t>)? Default for $name$(<$t>)? {
            #[track_caller]
            fn default() -> Self {
                Self::new($default)
            }
        }

        impl$(<$t>)? fmt::Debug for $name$(<$t>)? {
            #[track_caller]
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.load(Ordering::SeqCst), f)
            }
        }
    };
}

macro_rules! integers {
    ($($name:ident: $value:ident;)*) => {$(
        atomic!($name, $value, 0);

        impl Value for $value {
            #[inline]
            fn bits(self) -> u64 {
                self as u64
            }

            #[inline]
            fn of(bits: u64) -> $value {
                bits as $value
            }

            fn show(self) -> String {
                self.to_string()
            }
        }

        impl $name {
            updates! {
                $value;
                /// Adds, wrapping around; gives the value before.
                fetch_add($value) = $value::wrapping_add;
                /// Subtracts, wrapping around; gives the value before.
                fetch_sub($value) = $value::wrapping_sub;
                /// Bitwise "and"; gives the value before.
                fetch_and($value) = |a, b| a & b;
                /// Bitwise "nand"; gives the value before.
                fetch_nand($value) = |a, b| !(a & b);
                /// Bitwise "or"; gives the value before.
                fetch_or($value) = |a, b| a | b;
                /// Bitwise "xor"; gives the value before.
                fetch_xor($value) = |a, b| a ^ b;
                /// Takes the greater; gives the value before.
                fetch_max($value) = $value::max;
                /// Takes the lesser; gives the value before.
                fetch_min($value) = $value::min;
            }
        }
    )*};
}

integers! {
    AtomicU8: u8;
    AtomicU16: u16;
    AtomicU32: u32;
    AtomicU64: u64;
    AtomicUsize: usize;
    AtomicI8: i8;
    AtomicI16: i16;
    AtomicI32: i32;
    AtomicI64: i64;
    AtomicIsize: isize;
}

atomic!(AtomicBool, bool, false);

impl Value for bool {
    #[inline]
    fn bits(self) -> u64 {
        self as u64
    }

    #[inline]
    fn of(bits: u64) -> bool {
        bits != 0
    }

    fn show(self) -> String {
        self.to_string()
    }
}

impl AtomicBool {
    updates! {
        bool;
        /// Logical "and"; gives the value before.
        fetch_and(bool) = |a, b| a & b;
        /// Logical "nand"; gives the value before.
        fetch_nand(bool) = |a, b| !(a & b);
        /// Logical "or"; gives the value before.
        fetch_or(bool) = |a, b| a | b;
        /// Logical "xor"; gives the value before.
        fetch_xor(bool) = |a, b| a ^ b;
    }

    /// Logical "not"; gives the value before.
    #[inline]
    #[track_caller]
    pub fn fetch_not(&self, order: Ordering) -> bool {
        self.fetch_xor(true, order)
    }
}

atomic!(AtomicPtr<T>, *mut T, std::ptr::null_mut());

impl<T> Value for *mut T {
    #[inline]
    fn bits(self) -> u64 {
        self.expose_provenance() as u64
    }

    #[inline(always)]
    fn of(bits: u64) -> *mut T {
        std::ptr::with_exposed_provenance_mut(bits as usize)
    }

    fn show(self) -> String {
        if self.is_null() { "null".to_owned() } else { format!("{self:p}") }
    }
}

impl<T> AtomicPtr<T> {
    updates! {
        *mut T;
        /// Adds so many `T`s to the address; gives the pointer before.
        fetch_ptr_add(usize) = |pointer, count| pointer.wrapping_add(count);
        /// Subtracts so many `T`s from the address; gives the pointer before.
        fetch_ptr_sub(usize) = |pointer, count| pointer.wrapping_sub(count);
        /// Adds so many bytes to the address; gives the pointer before.
        fetch_byte_add(usize) = |pointer, count| pointer.wrapping_byte_add(count);
        /// Subtracts so many bytes from the address; gives the pointer before.
        fetch_byte_sub(usize) = |pointer, count| pointer.wrapping_byte_sub(count);
        /// Bitwise "or" with the address; gives the pointer before.
        fetch_or(usize) = |pointer, bits| pointer.map_addr(|address| address | bits);
        /// Bitwise "and" with the address; gives the pointer before.
        fetch_and(usize) = |pointer, bits| pointer.map_addr(|address| address & bits);
        /// Bitwise "xor" with the address; gives the pointer before.
        fetch_xor(usize) = |pointer, bits| pointer.map_addr(|address| address ^ bits);
    }
}

impl<T> fmt::Pointer for AtomicPtr<T> {
    #[track_caller]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Pointer::fmt(&self.load(Ordering::SeqCst), f)
    }
}
