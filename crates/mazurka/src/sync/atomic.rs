//! Atomic types, as in [`std::sync::atomic`].
//!
//! Within a check executions are sequentially consistent, whatever orderings are named: what is read is what was written
//! last. Orderings count for the order by which data races on a [`cell::UnsafeCell`](crate::cell::UnsafeCell) are judged. The
//! verdict says so once if one weaker than `SeqCst` was named.

mod access;

use std::cell::Cell;
use std::fmt;
use std::panic::Location as Caller;
use std::sync::atomic as real;

pub use std::sync::atomic::Ordering;

pub(crate) use access::let_exchanges_fail;
use access::{Effect, Method, Orders, access, may_fail, note_ordering};

use crate::runtime::identity::Object;
use crate::runtime::spin::{Registers, wipe_leftovers};
use crate::runtime::with_world;

/// An atomic memory fence. Within a check it counts for the order by which data races are judged, and is no step.
#[inline]
#[track_caller]
pub fn fence(order: Ordering) {
    if order == Ordering::Relaxed {
        no_such_ordering(order, "fence");
    }
    let place = Caller::caller();
    let modelled = with_world(|world| {
        note_ordering(world, order, place);
        world.fence(order);
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

/// What the atomic types have in common.
macro_rules! common {
    ($name:ident $(<$t:ident>)?, $value:ty) => {
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
                place: &'static Caller<'static>,
            ) -> Option<$value> {
                let mut registers = Registers::unset();
                registers.take();
                let first = Self::bits(self.real.load(Ordering::Relaxed));
                let found = access(&registers, &self.object, first, &effect, method, orders, place);
                wipe_leftovers();
                found.map(Self::value)
            }

            /// What is known of a method of this type.
            const fn method(name: &'static str) -> Method {
                Method { kind: stringify!($name), name, show: |bits| Self::show(Self::value(bits)) }
            }

            /// The value.
            #[inline(always)]
            #[track_caller]
            pub fn load(&self, order: Ordering) -> $value {
                if matches!(order, Ordering::Release | Ordering::AcqRel) {
                    no_such_ordering(order, "load");
                }
                match self.access(Effect::Load, const { &Self::method("load") }, Orders::one(order), Caller::caller()) {
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
                if self.access(Effect::Store(Self::bits(value)), const { &Self::method("store") }, Orders::one(order), Caller::caller()).is_none() {
                    self.outside().store(value, order);
                }
            }

            /// Sets the value and gives the one before.
            #[inline(always)]
            #[track_caller]
            pub fn swap(&self, value: $value, order: Ordering) -> $value {
                let bits = Self::bits(value);
                match self.access(Effect::Update(&|_| bits), const { &Self::method("swap") }, Orders::one(order), Caller::caller()) {
                    Some(before) => before,
                    None => self.outside().swap(value, order),
                }
            }

            /// Sets the value if it is `current`; gives the one before, as an error if it was another.
            ///
            /// # Errors
            /// If the value was not `current`.
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
                let effect = Effect::Exchange(Self::bits(current), Self::bits(new));
                let orders = Orders { success, failure };
                match self.access(effect, const { &Self::method("compare_exchange") }, orders, Caller::caller()) {
                    Some(before) if Self::bits(before) == Self::bits(current) => Ok(before),
                    Some(before) => Err(before),
                    None => self.outside().compare_exchange(current, new, success, failure),
                }
            }

            /// As [`compare_exchange`](Self::compare_exchange); within a check it fails though the value is `current` only if
            /// the check was [told so](crate::Checker::spurious_failures), each thread at most once in an execution.
            ///
            /// # Errors
            /// If the value was not `current`.
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
                place: &'static Caller<'static>,
            ) -> Result<$value, $value> {
                if matches!(orders.failure, Ordering::Release | Ordering::AcqRel) {
                    no_such_ordering(orders.failure, "failure ordering");
                }
                let failed = Cell::new(false);
                let effect = Effect::WeakExchange(Self::bits(current), Self::bits(new), &failed);
                let found = self.access(effect, const { &Self::method("compare_exchange_weak") }, orders, place);
                let before = found.unwrap_or(current);
                if Self::bits(before) == Self::bits(current) && !failed.get() { Ok(before) } else { Err(before) }
            }

            /// Sets the value to what a function makes of it, unless that is `None`; gives the one before.
            ///
            /// # Errors
            /// If the function gave `None`.
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
            ///
            /// # Errors
            /// If the function gave `None`.
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
                let bits = with_world(|world| {
                    self.object.location(world.execution.stamp).map(|location| world.execution.values.get(location))
                });
                if let Some(bits) = bits.flatten() {
                    *self.real.get_mut() = Self::value(bits);
                }
            }

            #[inline]
            #[track_caller]
            fn outside(&self) -> &real::$name$(<$t>)? {
                self.object.use_outside();
                &self.real
            }
        }

        impl$(<$t>)? From<$value> for $name$(<$t>)? {
            #[track_caller]
            fn from(value: $value) -> Self {
                Self::new(value)
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

/// Read-modify-writes by their names.
macro_rules! updates {
    ($value:ty; $($(#[$doc:meta])* $method:ident($operand:ident) = $new:expr;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        #[track_caller]
        pub fn $method(&self, $operand: $value, order: Ordering) -> $value {
            let new = |bits| Self::bits($new(Self::value(bits), $operand));
            match self.access(Effect::Update(&new), const { &Self::method(stringify!($method)) }, Orders::one(order), Caller::caller()) {
                Some(before) => before,
                None => self.outside().$method($operand, order),
            }
        }
    )*};
}

macro_rules! integers {
    ($($name:ident: $value:ident;)*) => {$(
        /// As the type of its name in [`std::sync::atomic`].
        pub struct $name {
            object: Object,
            real: real::$name,
        }

        common!($name, $value);

        impl $name {
            #[inline]
            const fn bits(value: $value) -> u64 {
                value as u64
            }

            #[inline]
            const fn value(bits: u64) -> $value {
                bits as $value
            }

            fn show(value: $value) -> String {
                value.to_string()
            }

            updates! {
                $value;
                /// Adds, wrapping around; gives the value before.
                fetch_add(operand) = $value::wrapping_add;
                /// Subtracts, wrapping around; gives the value before.
                fetch_sub(operand) = $value::wrapping_sub;
                /// Takes the bits that both have; gives the value before.
                fetch_and(operand) = |a: $value, b: $value| a & b;
                /// Takes the bits that not both have; gives the value before.
                fetch_nand(operand) = |a: $value, b: $value| !(a & b);
                /// Takes the bits that either has; gives the value before.
                fetch_or(operand) = |a: $value, b: $value| a | b;
                /// Takes the bits that one of the two has; gives the value before.
                fetch_xor(operand) = |a: $value, b: $value| a ^ b;
                /// Takes the greater; gives the value before.
                fetch_max(operand) = |a: $value, b: $value| a.max(b);
                /// Takes the lesser; gives the value before.
                fetch_min(operand) = |a: $value, b: $value| a.min(b);
            }
        }

        impl Default for $name {
            #[track_caller]
            fn default() -> Self {
                Self::new(0)
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

/// As [`std::sync::atomic::AtomicBool`].
pub struct AtomicBool {
    object: Object,
    real: real::AtomicBool,
}

common!(AtomicBool, bool);

impl AtomicBool {
    #[inline]
    const fn bits(value: bool) -> u64 {
        value as u64
    }

    #[inline]
    const fn value(bits: u64) -> bool {
        bits != 0
    }

    fn show(value: bool) -> String {
        value.to_string()
    }

    updates! {
        bool;
        /// Logical "and"; gives the value before.
        fetch_and(operand) = |a: bool, b: bool| a & b;
        /// Logical "nand"; gives the value before.
        fetch_nand(operand) = |a: bool, b: bool| !(a & b);
        /// Logical "or"; gives the value before.
        fetch_or(operand) = |a: bool, b: bool| a | b;
        /// Logical "xor"; gives the value before.
        fetch_xor(operand) = |a: bool, b: bool| a ^ b;
    }

    /// Logical "not"; gives the value before.
    #[inline]
    #[track_caller]
    pub fn fetch_not(&self, order: Ordering) -> bool {
        self.fetch_xor(true, order)
    }
}

impl Default for AtomicBool {
    #[track_caller]
    fn default() -> Self {
        Self::new(false)
    }
}

/// As [`std::sync::atomic::AtomicPtr`].
pub struct AtomicPtr<T> {
    object: Object,
    real: real::AtomicPtr<T>,
}

common!(AtomicPtr<T>, *mut T);

impl<T> AtomicPtr<T> {
    #[inline]
    fn bits(value: *mut T) -> u64 {
        value.expose_provenance() as u64
    }

    #[inline(always)]
    fn value(bits: u64) -> *mut T {
        std::ptr::with_exposed_provenance_mut(bits as usize)
    }

    fn show(value: *mut T) -> String {
        if value.is_null() { "null".to_owned() } else { format!("{value:p}") }
    }

    #[track_caller]
    fn fetch_bytes(
        &self,
        method: &'static Method,
        order: Ordering,
        new: impl Fn(*mut T) -> *mut T,
        outside: impl FnOnce(&real::AtomicPtr<T>) -> *mut T,
    ) -> *mut T {
        let update = |bits| Self::bits(new(Self::value(bits)));
        match self.access(Effect::Update(&update), method, Orders::one(order), Caller::caller()) {
            Some(before) => before,
            None => outside(self.outside()),
        }
    }

    /// Adds so many `T`s to the address; gives the pointer before.
    #[track_caller]
    pub fn fetch_ptr_add(&self, count: usize, order: Ordering) -> *mut T {
        let new = |pointer: *mut T| pointer.wrapping_add(count);
        self.fetch_bytes(const { &Self::method("fetch_ptr_add") }, order, new, |real| {
            real.fetch_ptr_add(count, order)
        })
    }

    /// Subtracts so many `T`s from the address; gives the pointer before.
    #[track_caller]
    pub fn fetch_ptr_sub(&self, count: usize, order: Ordering) -> *mut T {
        let new = |pointer: *mut T| pointer.wrapping_sub(count);
        self.fetch_bytes(const { &Self::method("fetch_ptr_sub") }, order, new, |real| {
            real.fetch_ptr_sub(count, order)
        })
    }

    /// Adds so many bytes to the address; gives the pointer before.
    #[track_caller]
    pub fn fetch_byte_add(&self, count: usize, order: Ordering) -> *mut T {
        let new = |pointer: *mut T| pointer.wrapping_byte_add(count);
        self.fetch_bytes(const { &Self::method("fetch_byte_add") }, order, new, |real| {
            real.fetch_byte_add(count, order)
        })
    }

    /// Subtracts so many bytes from the address; gives the pointer before.
    #[track_caller]
    pub fn fetch_byte_sub(&self, count: usize, order: Ordering) -> *mut T {
        let new = |pointer: *mut T| pointer.wrapping_byte_sub(count);
        self.fetch_bytes(const { &Self::method("fetch_byte_sub") }, order, new, |real| {
            real.fetch_byte_sub(count, order)
        })
    }

    /// Takes the bits that either the address or the operand has; gives the pointer before.
    #[track_caller]
    pub fn fetch_or(&self, bits: usize, order: Ordering) -> *mut T {
        let new = |pointer: *mut T| pointer.map_addr(|address| address | bits);
        self.fetch_bytes(const { &Self::method("fetch_or") }, order, new, |real| real.fetch_or(bits, order))
    }

    /// Takes the bits that both the address and the operand have; gives the pointer before.
    #[track_caller]
    pub fn fetch_and(&self, bits: usize, order: Ordering) -> *mut T {
        let new = |pointer: *mut T| pointer.map_addr(|address| address & bits);
        self.fetch_bytes(const { &Self::method("fetch_and") }, order, new, |real| real.fetch_and(bits, order))
    }

    /// Takes the bits that one of the address and the operand has; gives the pointer before.
    #[track_caller]
    pub fn fetch_xor(&self, bits: usize, order: Ordering) -> *mut T {
        let new = |pointer: *mut T| pointer.map_addr(|address| address ^ bits);
        self.fetch_bytes(const { &Self::method("fetch_xor") }, order, new, |real| real.fetch_xor(bits, order))
    }
}

impl<T> Default for AtomicPtr<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new(std::ptr::null_mut())
    }
}

impl<T> fmt::Pointer for AtomicPtr<T> {
    #[track_caller]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Pointer::fmt(&self.load(Ordering::SeqCst), f)
    }
}
