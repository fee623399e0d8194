//! `Arc`s as raw pointers, as wakers, and as `Arc`s of other types: their counts are those of plain handles.
#![allow(unsafe_code)]

use std::any::Any;
use std::borrow::Cow;
use std::ffi::{CStr, OsStr};
use std::mem::MaybeUninit;
use std::path::{Path, PathBuf};
use std::task::{Wake, Waker};

use crate::brute::verify;
use mazurka::sync::atomic::{AtomicU32, Ordering::SeqCst};
use mazurka::sync::{Arc, Weak};
use mazurka::{Checker, thread};

/// A pointer that is sent to another thread.
#[derive(Clone, Copy)]
struct Sent<T: ?Sized>(*const T);

// SAFETY: what it points to is shared by an `Arc`.
unsafe impl<T: ?Sized + Send + Sync> Send for Sent<T> {}

impl<T: ?Sized> Sent<T> {
    fn get(self) -> *const T {
        self.0
    }
}

#[test]
fn a_pointer_that_another_thread_drops() {
    let by_pointer = || {
        let own = Arc::new(5);
        let pointer = Sent(Arc::into_raw(own.clone()));
        // SAFETY: it is the handle that was made a pointer.
        let dropping = thread::spawn(move || drop(unsafe { Arc::from_raw(pointer.get()) }));
        let count = Arc::strong_count(&own);
        dropping.join().unwrap();
        format!("{count} {}", Arc::strong_count(&own))
    };
    verify(by_pointer, 2, &["1 1", "2 1"]);
    let by_count = || {
        let own = Arc::new(5);
        let pointer = Sent(Arc::into_raw(own.clone()));
        // SAFETY: as above.
        let dropping = thread::spawn(move || unsafe { Arc::decrement_strong_count(pointer.get()) });
        let count = Arc::strong_count(&own);
        dropping.join().unwrap();
        format!("{count} {}", Arc::strong_count(&own))
    };
    verify(by_count, 2, &["1 1", "2 1"]);
}

#[test]
fn counts_that_are_incremented_through_a_pointer() {
    let program = || {
        let own = Arc::new(5);
        let pointer = Sent(Arc::as_ptr(&own));
        let counting = thread::spawn(move || {
            // SAFETY: `own` lives until the thread has ended.
            unsafe {
                Arc::increment_strong_count(pointer.get());
                Arc::decrement_strong_count(pointer.get());
            }
        });
        let count = Arc::strong_count(&own);
        counting.join().unwrap();
        assert_eq!(Arc::try_unwrap(own), Ok(5));
        count.to_string()
    };
    verify(program, 3, &["1", "2"]);
}

/// Two threads make handles of two pointers to one value: either has either, and the counts are right.
#[test]
fn who_takes_which_pointer_makes_no_difference() {
    let program = || {
        let own = Arc::new(5);
        let pointers = [(); 2].map(|()| Sent(Arc::into_raw(own.clone())));
        let threads = pointers.map(|pointer| {
            thread::spawn(move || {
                // SAFETY: it is one of the handles that were made pointers.
                let arc = unsafe { Arc::from_raw(pointer.get()) };
                Arc::into_inner(arc).is_some()
            })
        });
        drop(own);
        let last: usize = threads.into_iter().map(|thread| usize::from(thread.join().unwrap())).sum();
        last.to_string()
    };
    let outcomes = outcomes(program);
    assert_eq!(outcomes, ["0", "1"], "one of the two is the last, or neither");
    assert!(crate::brute::agree(program, 20_000));
}

/// All that comes of a program, in order.
fn outcomes(program: impl Fn() -> String + Send + Sync + 'static) -> Vec<String> {
    let met = std::sync::Arc::new(std::sync::Mutex::new(std::collections::BTreeSet::new()));
    let place = met.clone();
    let report = Checker::new().run(move || {
        let outcome = program();
        place.lock().unwrap().insert(outcome);
    });
    assert!(report.is_pass(), "{report}");
    let met = met.lock().unwrap();
    met.iter().cloned().collect()
}

#[test]
fn a_weak_pointer_is_upgraded_or_not() {
    let program = || {
        let own = Arc::new(5);
        let pointer = Sent(Weak::into_raw(Arc::downgrade(&own)));
        let dropping = thread::spawn(move || drop(own));
        // SAFETY: it is the handle that was made a pointer.
        let weak = unsafe { Weak::from_raw(pointer.get()) };
        let upgraded = weak.upgrade().is_some();
        dropping.join().unwrap();
        format!("{upgraded} {}", weak.weak_count())
    };
    verify(program, 3, &["false 0", "true 0"]);
}

#[test]
fn a_weak_pointer_to_nothing() {
    let pointer = Weak::<u32>::new().into_raw();
    // SAFETY: it is the handle that was made a pointer.
    let weak = unsafe { Weak::from_raw(pointer) };
    assert!(weak.upgrade().is_none());
}

/// The handle is counted as one of its value's type, and others of it are known.
#[test]
fn counts_of_what_is_downcast() {
    let program = || {
        let any = Arc::from_std(std::sync::Arc::new(5_u32) as std::sync::Arc<dyn Any + Send + Sync>);
        let other = any.clone();
        let dropping = thread::spawn(move || drop(other));
        let number: Arc<u32> = any.downcast().unwrap();
        let count = Arc::strong_count(&number);
        dropping.join().unwrap();
        format!("{} {count} {}", *number, Arc::strong_count(&number))
    };
    verify(program, 2, &["5 1 1", "5 2 1"]);
    let any = Arc::from_std(std::sync::Arc::new(5_u32) as std::sync::Arc<dyn Any + Send + Sync>);
    assert!(any.downcast::<String>().is_err());
}

#[test]
fn a_pointer_to_one_type_becomes_a_handle_of_another() {
    #[repr(transparent)]
    struct Wrapped(u32);
    let program = || {
        let own = Arc::new(5_u32);
        let other = own.clone();
        // SAFETY: the two types are laid out alike.
        let wrapped = unsafe { Arc::from_raw(Arc::into_raw(other).cast::<Wrapped>()) };
        let dropping = thread::spawn(move || drop(own));
        let count = Arc::strong_count(&wrapped);
        dropping.join().unwrap();
        format!("{} {count}", wrapped.0)
    };
    verify(program, 2, &["5 1", "5 2"]);
}

/// An `Arc` of the standard library's that is followed only now, beside others of its value.
#[test]
fn handles_that_come_from_the_standard_library_one_by_one() {
    let program = || {
        let std = std::sync::Arc::new(5_u32);
        let (one, two) = (Arc::from_std(std.clone()), Arc::from_std(std));
        let dropping = thread::spawn(move || drop(two));
        let count = Arc::strong_count(&one);
        dropping.join().unwrap();
        count.to_string()
    };
    verify(program, 2, &["1", "2"]);
}

#[test]
fn a_value_that_comes_later() {
    let program = || {
        let mut arc = Arc::<u32>::new_uninit();
        Arc::get_mut(&mut arc).unwrap().write(5);
        // SAFETY: it was written.
        let arc = unsafe { arc.assume_init() };
        let other = arc.clone();
        let dropping = thread::spawn(move || drop(other));
        let count = Arc::strong_count(&arc);
        dropping.join().unwrap();
        format!("{arc} {count}")
    };
    verify(program, 2, &["5 1", "5 2"]);
    let mut slice = Arc::<[u32]>::new_uninit_slice(2);
    Arc::get_mut(&mut slice).unwrap().copy_from_slice(&[MaybeUninit::new(1), MaybeUninit::new(2)]);
    // SAFETY: both were written; zeros are numbers.
    unsafe {
        assert_eq!(*slice.assume_init(), [1, 2]);
        assert_eq!(*Arc::<[u32]>::new_zeroed_slice(1).assume_init(), [0]);
        assert_eq!(*Arc::<u32>::new_zeroed().assume_init(), 0);
    }
}

/// Counts how often it was woken.
struct Counts(AtomicU32);

impl Wake for Counts {
    fn wake(self: std::sync::Arc<Counts>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &std::sync::Arc<Counts>) {
        self.0.fetch_add(1, SeqCst);
    }
}

#[test]
fn wakers_are_handles() {
    let program = || {
        let counts = Arc::new(Counts(AtomicU32::new(0)));
        let waker = Waker::from(counts.clone());
        let other = waker.clone();
        assert!(waker.will_wake(&other));
        let waking = thread::spawn(move || other.wake());
        waker.wake_by_ref();
        let before = Arc::strong_count(&counts);
        waking.join().unwrap();
        drop(waker);
        format!("{before} {} {}", Arc::strong_count(&counts), counts.0.load(SeqCst))
    };
    assert_eq!(outcomes(program), ["2 1 2", "3 1 2"]);
    assert!(crate::brute::agree(program, 20_000));
}

#[test]
fn wakers_outside_of_a_check() {
    let counts = Arc::new(Counts(AtomicU32::new(0)));
    let waker = Waker::from(counts.clone());
    let other = waker.clone();
    other.wake();
    waker.wake_by_ref();
    assert_eq!((Arc::strong_count(&counts), counts.0.load(SeqCst)), (2, 2));
    drop(waker);
    assert_eq!(Arc::strong_count(&counts), 1);
}

#[test]
fn arcs_are_made_of_what_those_of_the_standard_library_are() {
    let text: Arc<str> = Arc::from(Cow::Borrowed("text"));
    assert_eq!((&*text, &*Arc::<str>::from(Cow::Owned("text".to_owned()))), ("text", "text"));
    let path: Arc<Path> = PathBuf::from("a/b").into();
    assert_eq!((&*path, &*Arc::<Path>::from(Path::new("a/b"))), (Path::new("a/b"), Path::new("a/b")));
    assert_eq!(&*Arc::<OsStr>::from(OsStr::new("a")), "a");
    assert_eq!(&*Arc::<CStr>::from(c"a"), c"a");
    assert_eq!(*Arc::<[u32]>::from(&[1, 2][..]), *Arc::<[u32]>::from([1, 2]));
    assert_eq!(*Arc::<[u8]>::from(text), *b"text");
    let array: Result<Arc<[u8; 2]>, _> = Arc::<[u8]>::from([1, 2]).try_into();
    assert_eq!(array, Ok(Arc::new([1, 2])));
    let slice: Result<Arc<[u8; 3]>, _> = Arc::<[u8]>::from([1, 2]).try_into();
    assert_eq!(slice, Err(Arc::from([1, 2])));
    assert_eq!((&*Arc::<str>::default(), Arc::<[u8]>::default().len()), ("", 0));
}
