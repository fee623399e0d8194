//! Uses of atomics, and what they leave.

use super::Use;

/// Uses of the methods of some types; a use is a function of an atomic that holds the value.
macro_rules! atomic_uses {
    ($list:ident: $methods:tt $($module:ident $type:ident $(<$of:ty>)? = $value:expr;)*) => {
        $(mod $module {
            pub mod by_std {
                type A = std::sync::atomic::$type $(<$of>)?;
                atomic_uses!(@uses $type, $value, $methods);
            }
            pub mod by_mazurka {
                type A = mazurka::sync::atomic::$type $(<$of>)?;
                atomic_uses!(@uses $type, $value, $methods);
            }
        })*

        const $list: &[(&[Use], &[Use])] = &[$(($module::by_std::USES, $module::by_mazurka::USES)),*];
    };
    (@uses $type:ident, $value:expr, [$($method:ident: $use:expr;)*]) => {
        #[allow(unused_imports)]
        use {super::super::at, std::sync::atomic::Ordering::*};

        pub const USES: &[crate::std_api::Use] = &[$((
            concat!("std::sync::atomic::", stringify!($type), "::", stringify!($method)),
            stringify!($use),
            || {
                let atomic = A::new($value);
                let given = $use(&atomic);
                format!("{given:?} {atomic:?}")
            },
        )),*];
    };
}

/// By the standard library and by ours.
pub fn all() -> impl Iterator<Item = (&'static [Use], &'static [Use])> {
    [NUMBERS, BOOLEANS, POINTERS].into_iter().flatten().copied()
}

atomic_uses! {
    NUMBERS:
    [
        as_ptr: |a: &A| unsafe { *a.as_ptr() };
        compare_and_swap: |a: &A| (a.compare_and_swap(5, 6, SeqCst), a.compare_and_swap(5, 7, AcqRel));
        compare_exchange: |a: &A| a.compare_exchange(5, 6, SeqCst, Relaxed);
        compare_exchange_weak: |a: &A| a.compare_exchange_weak(4, 6, SeqCst, Relaxed);
        fetch_add: |a: &A| a.fetch_add(1, Relaxed);
        fetch_and: |a: &A| a.fetch_and(4, Relaxed);
        fetch_max: |a: &A| a.fetch_max(9, Relaxed);
        fetch_min: |a: &A| a.fetch_min(2, Relaxed);
        fetch_nand: |a: &A| a.fetch_nand(4, Relaxed);
        fetch_or: |a: &A| a.fetch_or(2, Relaxed);
        fetch_sub: |a: &A| a.fetch_sub(1, Relaxed);
        fetch_update: |a: &A| a.fetch_update(SeqCst, Relaxed, |value| value.checked_mul(2));
        fetch_xor: |a: &A| a.fetch_xor(1, Relaxed);
        from_ptr: |_: &A| {
            let mut memory = 5;
            unsafe { A::from_ptr(&raw mut memory) }.store(6, SeqCst);
            memory
        };
        get_mut: |_: &A| *A::new(3).get_mut();
        into_inner: |_: &A| A::new(3).into_inner();
        load: |a: &A| a.load(Acquire);
        new: |_: &A| A::new(3);
        store: |a: &A| a.store(3, Release);
        swap: |a: &A| a.swap(3, AcqRel);
        try_update: |a: &A| a.try_update(SeqCst, Relaxed, |value| value.checked_sub(1));
        update: |a: &A| a.update(SeqCst, Relaxed, |value| value / 2);
    ]
    unsigned_8 AtomicU8 = 5;
    unsigned_16 AtomicU16 = 5;
    unsigned_32 AtomicU32 = 5;
    unsigned_64 AtomicU64 = 5;
    unsigned AtomicUsize = 5;
    signed_8 AtomicI8 = 5;
    signed_16 AtomicI16 = 5;
    signed_32 AtomicI32 = 5;
    signed_64 AtomicI64 = 5;
    signed AtomicIsize = 5;
}

atomic_uses! {
    BOOLEANS:
    [
        as_ptr: |a: &A| unsafe { *a.as_ptr() };
        compare_and_swap: |a: &A| a.compare_and_swap(true, false, Release);
        compare_exchange: |a: &A| a.compare_exchange(true, false, SeqCst, Relaxed);
        compare_exchange_weak: |a: &A| a.compare_exchange_weak(false, true, SeqCst, Relaxed);
        fetch_and: |a: &A| a.fetch_and(false, Relaxed);
        fetch_nand: |a: &A| a.fetch_nand(true, Relaxed);
        fetch_not: |a: &A| a.fetch_not(Relaxed);
        fetch_or: |a: &A| a.fetch_or(false, Relaxed);
        fetch_update: |a: &A| a.fetch_update(SeqCst, Relaxed, |value| (!value).then_some(true));
        fetch_xor: |a: &A| a.fetch_xor(true, Relaxed);
        from_ptr: |_: &A| {
            let mut memory = true;
            unsafe { A::from_ptr(&raw mut memory) }.store(false, SeqCst);
            memory
        };
        get_mut: |_: &A| *A::new(false).get_mut();
        into_inner: |_: &A| A::new(false).into_inner();
        load: |a: &A| a.load(Acquire);
        new: |_: &A| A::new(false);
        store: |a: &A| a.store(false, Release);
        swap: |a: &A| a.swap(false, AcqRel);
        try_update: |a: &A| a.try_update(SeqCst, Relaxed, |value| value.then_some(false));
        update: |a: &A| a.update(SeqCst, Relaxed, |value| !value);
    ]
    boolean AtomicBool = true;
}

/// A pointer of which only the address matters.
const fn at(address: usize) -> *mut u32 {
    std::ptr::without_provenance_mut(address)
}

atomic_uses! {
    POINTERS:
    [
        as_ptr: |a: &A| unsafe { *a.as_ptr() };
        compare_and_swap: |a: &A| a.compare_and_swap(at(64), at(8), SeqCst);
        compare_exchange: |a: &A| {
            a.compare_exchange(at(64), at(8), SeqCst, Relaxed)
        };
        compare_exchange_weak: |a: &A| {
            a.compare_exchange_weak(at(8), at(8), SeqCst, Relaxed)
        };
        fetch_and: |a: &A| a.fetch_and(0, Relaxed);
        fetch_byte_add: |a: &A| a.fetch_byte_add(4, Relaxed);
        fetch_byte_sub: |a: &A| a.fetch_byte_sub(4, Relaxed);
        fetch_or: |a: &A| a.fetch_or(4, Relaxed);
        fetch_ptr_add: |a: &A| a.fetch_ptr_add(4, Relaxed);
        fetch_ptr_sub: |a: &A| a.fetch_ptr_sub(4, Relaxed);
        fetch_update: |a: &A| a.fetch_update(SeqCst, Relaxed, |pointer| Some(pointer.wrapping_add(1)));
        fetch_xor: |a: &A| a.fetch_xor(64, Relaxed);
        from_ptr: |_: &A| {
            let mut memory = at(64);
            unsafe { A::from_ptr(&raw mut memory) }.store(at(8), SeqCst);
            memory
        };
        get_mut: |_: &A| *A::new(at(8)).get_mut();
        into_inner: |_: &A| A::new(at(8)).into_inner();
        load: |a: &A| a.load(Acquire);
        new: |_: &A| A::new(at(8));
        store: |a: &A| a.store(at(8), Release);
        swap: |a: &A| a.swap(at(8), AcqRel);
        try_update: |a: &A| a.try_update(SeqCst, Relaxed, |_| None);
        update: |a: &A| a.update(SeqCst, Relaxed, |pointer| pointer.wrapping_add(1));
    ]
    pointer AtomicPtr<u32> = at(64);
}
