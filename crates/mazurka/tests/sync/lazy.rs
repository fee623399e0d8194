use mazurka::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use mazurka::sync::{Arc, LazyLock, OnceLock};
use mazurka::thread;

use super::support::{expect, fails, passes};

#[test]
fn who_sets_first_wins() {
    expect(2, [(1, Err(2), Ok(())), (2, Ok(()), Err(1))], || {
        let lock = Arc::new(OnceLock::new());
        let other = lock.clone();
        let handle = thread::spawn(move || other.set(1));
        let mine = lock.set(2);
        let theirs = handle.join().unwrap();
        (*lock.get().unwrap(), mine, theirs)
    });
}

#[test]
fn a_value_is_there_or_not() {
    expect(2, [None, Some(1)], || {
        let lock = Arc::new(OnceLock::new());
        let other = lock.clone();
        let handle = thread::spawn(move || other.set(1).unwrap());
        let seen = lock.get().copied();
        handle.join().unwrap();
        seen
    });
    passes(1, || {
        let lock = Arc::new(OnceLock::new());
        let other = lock.clone();
        let handle = thread::spawn(move || *other.wait());
        lock.set(1).unwrap();
        assert_eq!(handle.join().unwrap(), 1);
    });
}

#[test]
fn one_function_makes_the_value_and_the_others_wait() {
    expect(3, [0, 1, 2], || {
        let lock = Arc::new(OnceLock::new());
        let calls = Arc::new(AtomicUsize::new(0));
        let handles = [0, 1, 2].map(|me| {
            let (lock, calls) = (lock.clone(), calls.clone());
            thread::spawn(move || {
                *lock.get_or_init(|| {
                    calls.fetch_add(1, SeqCst);
                    me
                })
            })
        });
        let seen = handles.map(|handle| handle.join().unwrap());
        assert!(seen.iter().all(|&value| value == seen[0]));
        assert_eq!(calls.load(SeqCst), 1);
        seen[0]
    });
    // To set a value waits for a function that is about to make one.
    expect(2, [(Err(2), 1), (Ok(()), 2)], || {
        let lock = Arc::new(OnceLock::new());
        let other = lock.clone();
        let handle = thread::spawn(move || *other.get_or_init(|| 1));
        let set = lock.set(2);
        (set, handle.join().unwrap())
    });
}

#[test]
fn a_panic_leaves_no_value_and_no_poison() {
    expect(2, [(2, false), (2, true)], || {
        let lock = Arc::new(OnceLock::new());
        let other = lock.clone();
        let handle = thread::spawn(move || *other.get_or_init(|| panic!("on purpose")));
        let value = *lock.get_or_init(|| 2);
        (value, handle.join().is_err())
    });
}

#[test]
fn its_owner_takes_the_value_out() {
    passes(1, || {
        let mut lock = OnceLock::from(String::from("a"));
        assert_eq!(lock.get().unwrap(), "a");
        lock.get_mut().unwrap().push('b');
        assert_eq!(lock.clone(), lock);
        assert_eq!(format!("{lock:?} {:?}", OnceLock::<u8>::new()), "OnceLock(\"ab\") OnceLock(<uninit>)");
        assert_eq!(lock.take().as_deref(), Some("ab"));
        assert_eq!((lock.get().is_some(), lock.take()), (false, None));
        assert_eq!(lock.get_or_init(|| "c".to_owned()), "c");
        assert_eq!(lock.set("d".to_owned()), Err("d".to_owned()));
        assert_eq!(lock.into_inner().as_deref(), Some("c"));
    });
}

#[test]
fn values_and_functions_are_dropped() {
    passes(1, || {
        let counted = std::sync::Arc::new(());
        let count = || std::sync::Arc::strong_count(&counted);
        let lock = OnceLock::new();
        lock.set(counted.clone()).unwrap();
        assert!(lock.set(counted.clone()).is_err());
        assert_eq!(count(), 2);
        drop(lock);
        assert_eq!(count(), 1);
        let clone = counted.clone();
        drop(LazyLock::new(move || clone.clone()));
        assert_eq!(count(), 1);
        let clone = counted.clone();
        let lazy = LazyLock::new(move || clone.clone());
        assert_eq!((count(), std::sync::Arc::strong_count(&lazy), count()), (2, 2, 2));
        drop(lazy);
        assert_eq!(count(), 1);
    });
}

#[test]
fn a_value_within_its_own_making_is_waited_for_in_vain() {
    fails(&["deadlock", "which main initialises"], || {
        let lock = OnceLock::new();
        lock.get_or_init(|| *lock.get_or_init(|| 1));
    });
}

#[test]
fn a_lazy_value_is_made_by_who_needs_it_first() {
    // Main looks before, during and after the other thread's making; in the first case, either may make it
    // then.
    expect(4, [(true, false), (false, false), (false, true)], || {
        let calls = Arc::new(AtomicUsize::new(0));
        let made = calls.clone();
        let lazy = Arc::new(LazyLock::new(move || (made.fetch_add(1, SeqCst), thread::current().id())));
        let other = lazy.clone();
        let handle = thread::spawn(move || other.1 == thread::current().id());
        let before = LazyLock::get(&*lazy).is_some();
        let mine = lazy.1 == thread::current().id();
        let theirs = handle.join().unwrap();
        assert_eq!((calls.load(SeqCst), mine), (1, !theirs));
        (before, mine)
    });
}

#[test]
fn a_lazy_value_can_be_changed_by_its_owner() {
    passes(1, || {
        let mut lazy = LazyLock::new(|| 1);
        assert_eq!(LazyLock::get_mut(&mut lazy), None);
        assert_eq!(format!("{lazy:?}"), "LazyLock(<uninit>)");
        *LazyLock::force_mut(&mut lazy) += 1;
        *lazy += 1;
        assert_eq!((*lazy, LazyLock::get(&lazy)), (3, Some(&3)));
        assert_eq!(*LazyLock::<u8>::default(), 0);
    });
}

#[test]
fn a_panic_poisons_a_lazy_value() {
    passes(1, || {
        let lazy: Arc<LazyLock<i32>> = Arc::new(LazyLock::new(|| panic!("on purpose")));
        for _ in 0..2 {
            let lazy = lazy.clone();
            assert!(thread::spawn(move || **lazy).join().is_err());
        }
        assert_eq!(LazyLock::get(&lazy), None);
    });
    fails(&["LazyLock instance has previously been poisoned"], || {
        let lazy: Arc<LazyLock<i32>> = Arc::new(LazyLock::new(|| panic!("on purpose")));
        let other = lazy.clone();
        let _ = thread::spawn(move || **other).join();
        LazyLock::force(&lazy);
    });
}
