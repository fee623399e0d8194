//! The public API of the standard library beside ours.
//!
//! `items.txt` has every stable item and method of `std::sync`, `sync::atomic`, `sync::mpsc`, `thread`, `cell`
//! and `task`, and of `std::time::Instant`, as the documentation of Rust 1.95 lists them. Each is used by an
//! expression, which is compiled for both and gives the same value by the standard library, by ours, and by
//! ours within a check; or is the very type of the standard library's; or is absent, and docs/rust.md says so.
//! [`traits`] has the traits that the types implement.
#![allow(unsafe_code, deprecated, clippy::all)]

use std::collections::BTreeSet;

use mazurka::Checker;

/// What there is, by its name in the standard library.
fn items() -> BTreeSet<&'static str> {
    include_str!("items.txt").lines().collect()
}

/// What ours does not have, and why.
const ABSENT: &[(&str, &str)] =
    &[("std::cell::UnsafeCell::from_mut", "a value has no room for what a check knows of a cell")];

/// A use of an item: its name, the expression, and what it gives.
type Use = (&'static str, &'static str, fn() -> String);

/// Uses of items, for the standard library and for ours.
macro_rules! used_by_both {
    ($($name:literal: $use:expr;)*) => {
        pub mod by_std {
            #[allow(unused_imports)]
            use std::{cell, sync, task, thread, thread_local, time};
            used_by_both!(@all $($name: $use;)*);
        }
        pub mod by_mazurka {
            #[allow(unused_imports)]
            use mazurka::{cell, sync, task, thread, thread_local, time};
            used_by_both!(@all $($name: $use;)*);
        }
    };
    (@all $($name:literal: $use:expr;)*) => {
        #[allow(unused_imports)]
        use crate::std_api::words::*;
        #[allow(unused_imports)]
        use sync::atomic::Ordering::*;
        #[allow(unused_imports)]
        use task::Wake as _;

        pub const USES: &[super::Use] =
            &[$(($name, stringify!($use), || format!("{:?}", $use))),*];
    };
}

mod atomics;
mod traits;
mod uses;

/// What uses are written with.
mod words {
    pub use std::panic::{AssertUnwindSafe, catch_unwind};
    pub use std::time::Duration;

    /// A time that is over at once.
    pub const SOON: Duration = Duration::from_millis(1);

    pub fn panics<R>(f: impl FnOnce() -> R) -> bool {
        catch_unwind(AssertUnwindSafe(f)).is_err()
    }
}

fn all_uses() -> Vec<(Use, Use)> {
    let pairs = |std: &[Use], ours: &[Use]| -> Vec<(Use, Use)> {
        std.iter().copied().zip(ours.iter().copied()).collect()
    };
    let mut all = pairs(uses::by_std::USES, uses::by_mazurka::USES);
    all.extend(atomics::all().flat_map(|(std, ours)| pairs(std, ours)));
    all
}

macro_rules! same_types {
    ($($type:ident $(:: $part:ident)* $(<$($parameter:tt),*>)?;)*) => {
        /// The types that are those of the standard library.
        const SAME: &[&str] = &[$(concat!("std::", stringify!($type) $(, "::", stringify!($part))*)),*];

        #[test]
        fn types_of_the_standard_library_are_the_same() {
            fn same<T: ?Sized>(_: fn(&T), _: fn(&T)) {}
            $(same(
                |_: &std::$type $(::$part)* $(<$($parameter),*>)?| (),
                |_: &mazurka::$type $(::$part)* $(<$($parameter),*>)?| (),
            );)*
        }
    };
}

same_types! {
    cell::BorrowError;
    cell::BorrowMutError;
    cell::Cell<u8>;
    cell::LazyCell<u8>;
    cell::OnceCell<u8>;
    cell::Ref<'static, u8>;
    cell::RefCell<u8>;
    cell::RefMut<'static, u8>;
    sync::LockResult<u8>;
    sync::PoisonError<u8>;
    sync::TryLockError<u8>;
    sync::TryLockResult<u8>;
    sync::atomic::Ordering;
    sync::mpsc::RecvError;
    sync::mpsc::RecvTimeoutError;
    sync::mpsc::SendError<u8>;
    sync::mpsc::TryRecvError;
    sync::mpsc::TrySendError<u8>;
    task::Context<'static>;
    task::Poll<u8>;
    task::RawWaker;
    task::RawWakerVTable;
    task::Waker;
    thread::AccessError;
    thread::Result<u8>;
}

/// A trait is the same if who implements the one implements the other.
#[test]
fn wake_is_the_same() {
    fn of_std<T: std::task::Wake>() {}
    #[allow(dead_code)]
    fn of_ours<T: mazurka::task::Wake>() {
        of_std::<T>();
    }
}

/// Whether one item is part of another.
fn is_within(item: &str, of: &str) -> bool {
    item.strip_prefix(of).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

#[test]
fn every_item_is_used_or_the_same_or_absent() {
    let uses: BTreeSet<&str> = all_uses().iter().map(|(std, _)| std.0).collect();
    let items = items();
    let is_same = |item: &str| SAME.iter().chain(&["std::task::Wake"]).any(|same| is_within(item, same));
    let is_absent = |item: &str| ABSENT.iter().any(|absent| absent.0 == item);
    // Who uses a method uses its type.
    let is_used = |item: &str| uses.iter().any(|used| is_within(used, item));
    let left: Vec<_> =
        items.iter().filter(|item| !is_used(item) && !is_same(item) && !is_absent(item)).collect();
    assert!(left.is_empty(), "these are neither used nor absent: {left:#?}");
    let unknown: Vec<_> = uses.iter().filter(|used| !items.contains(**used)).collect();
    assert!(unknown.is_empty(), "there are no such items: {unknown:#?}");
    let both: Vec<_> =
        ABSENT.iter().filter(|absent| !items.contains(absent.0) || is_used(absent.0)).collect();
    assert!(both.is_empty(), "these are not absent: {both:#?}");
}

#[test]
fn a_use_has_the_name_of_its_item() {
    for ((name, text, _), _) in all_uses() {
        let last = name.rsplit("::").next().expect("a name has a last part");
        assert!(text.contains(last), "{name}: {text}");
    }
}

/// What a use gives within a check.
fn within_a_check(by_ours: fn() -> String) -> Result<String, String> {
    let place = std::sync::Arc::new(std::sync::Mutex::new(String::new()));
    let result = place.clone();
    let report = Checker::new().max_executions(200).run(move || {
        let text = by_ours();
        *result.lock().unwrap() = text;
    });
    match report.failures().next() {
        Some(_) => Err(report.text()),
        None => Ok(place.lock().unwrap().clone()),
    }
}

#[test]
fn both_give_the_same() {
    let mut differences = Vec::new();
    for ((name, _, by_std), (_, _, by_ours)) in all_uses() {
        let (expected, outside, within) = (by_std(), by_ours(), within_a_check(by_ours));
        if outside != expected || within.as_ref() != Ok(&expected) {
            differences.push(format!("{name}: {expected} by std, {outside} outside, {within:?} within"));
        }
    }
    assert!(differences.is_empty(), "{differences:#?}");
}

/// The reference says what is left.
#[test]
fn what_is_absent_is_documented() {
    let docs = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/rust.md")).unwrap();
    for (item, why) in ABSENT {
        let name = item.trim_start_matches("std::");
        assert!(docs.contains(&format!("`{name}`: {why}")), "docs/rust.md has to say: `{name}`: {why}");
    }
}
