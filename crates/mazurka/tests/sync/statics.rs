//! Statics begin anew in each execution.

use mazurka::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use mazurka::sync::{Barrier, Condvar, LazyLock, Mutex, Once, OnceLock, RwLock};
use mazurka::thread;

use super::support::{expect, passes};

/// Runs a function on two threads.
fn twice<T: Send + 'static>(body: fn() -> T) -> [T; 2] {
    [(); 2].map(|()| thread::spawn(body)).map(|handle| handle.join().unwrap())
}

#[test]
fn once() {
    static ONCE: Once = Once::new();
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    passes(2, || {
        assert!(!ONCE.is_completed());
        twice(|| {
            ONCE.call_once(|| {
                CALLS.fetch_add(1, SeqCst);
            })
        });
        assert_eq!((ONCE.is_completed(), CALLS.load(SeqCst)), (true, 1));
    });
}

#[test]
fn a_poisoned_once() {
    static ONCE: Once = Once::new();
    expect(2, [(false, true), (true, false)], || {
        let caught = || thread::spawn(|| ONCE.call_once(|| panic!("on purpose")));
        let first = caught();
        let forced = thread::spawn(|| {
            let mut poisoned = false;
            ONCE.call_once_force(|state| poisoned = state.is_poisoned());
            poisoned
        });
        (first.join().is_err(), !forced.join().unwrap())
    });
}

#[test]
fn once_lock() {
    static VALUE: OnceLock<Vec<usize>> = OnceLock::new();
    // Main looks before, during and after the other thread's making; in the first case, either may make it
    // then.
    expect(4, [(None, 0), (None, 1), (Some(0), 0)], || {
        assert_eq!(VALUE.get(), None);
        let handle = thread::spawn(|| VALUE.get_or_init(|| vec![0])[0]);
        let seen = VALUE.get().map(|value| value[0]);
        let mine: &'static Vec<usize> = VALUE.get_or_init(|| vec![1]);
        assert_eq!(mine[0], handle.join().unwrap());
        assert_eq!(VALUE.set(vec![7]), Err(vec![7]));
        (seen, mine[0])
    });
}

#[test]
fn lazy_lock() {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    static VALUE: LazyLock<Mutex<Vec<usize>>> =
        LazyLock::new(|| Mutex::new(vec![CALLS.fetch_add(1, SeqCst)]));
    // Who makes the value; who takes the lock first.
    expect(4, [[0, 1, 2], [0, 2, 1]], || {
        let one = thread::spawn(|| VALUE.lock().unwrap().push(1));
        let two = thread::spawn(|| VALUE.lock().unwrap().push(2));
        one.join().unwrap();
        two.join().unwrap();
        let value = VALUE.lock().unwrap();
        [value[0], value[1], value[2]]
    });
}

#[test]
fn a_lazy_lock_with_a_function_that_owns_something() {
    static VALUE: LazyLock<String, fn() -> String> = LazyLock::new(|| {
        let mut owned = String::new();
        owned.push('a');
        owned
    });
    passes(2, || {
        let seen = twice(|| VALUE.len());
        assert_eq!((seen, VALUE.as_str()), ([1, 1], "a"));
    });
}

#[test]
fn destructors_use_statics_while_an_execution_is_abandoned() {
    static VALUE: OnceLock<String> = OnceLock::new();
    static LAZY: LazyLock<String> = LazyLock::new(|| "lazy".to_owned());
    struct Uses;
    impl Drop for Uses {
        fn drop(&mut self) {
            assert_eq!(VALUE.get().map(String::len), Some(5));
            assert_eq!(LAZY.len(), 4);
        }
    }
    let report = mazurka::Checker::new().run(|| {
        VALUE.set("value".to_owned()).unwrap();
        assert_eq!(LAZY.len(), 4);
        let lock = mazurka::sync::Arc::new(Mutex::new(()));
        for _ in 0..2 {
            let lock = lock.clone();
            thread::spawn(move || {
                let _uses = Uses;
                std::mem::forget(lock.lock());
            });
        }
    });
    assert!(report.text().contains("deadlock"), "{}", report.text());
}

#[test]
fn rw_lock_and_its_poison() {
    static LOCK: RwLock<usize> = RwLock::new(5);
    expect(3, [(5, false), (6, false), (6, true)], || {
        let handle = thread::spawn(|| {
            *LOCK.write().unwrap_or_else(|poisoned| poisoned.into_inner()) += 1;
            let _guard = LOCK.write();
            panic!("on purpose");
        });
        let first = LOCK.read().map_or_else(|poisoned| (**poisoned.get_ref(), true), |value| (*value, false));
        let _ = handle.join();
        assert!(LOCK.is_poisoned());
        first
    });
}

#[test]
fn condvar_and_barrier() {
    static LOCK: Mutex<bool> = Mutex::new(false);
    static CONDVAR: Condvar = Condvar::new();
    static BARRIER: Barrier = Barrier::new(2);
    passes(4, || {
        let handle = thread::spawn(|| {
            drop(CONDVAR.wait_while(LOCK.lock().unwrap(), |set| !*set).unwrap());
            BARRIER.wait().is_leader()
        });
        *LOCK.lock().unwrap() = true;
        CONDVAR.notify_one();
        let mine = BARRIER.wait().is_leader();
        assert_ne!(mine, handle.join().unwrap());
    });
}

#[test]
fn what_is_made_within_a_static_is_new_each_time() {
    static LOCK: Mutex<Option<OnceLock<usize>>> = Mutex::new(None);
    fn renew(value: usize) {
        let mut guard = LOCK.lock().unwrap();
        let inner = guard.insert(OnceLock::new());
        assert_eq!((inner.set(value), inner.get()), (Ok(()), Some(&value)));
    }
    expect(2, [1, 2], || {
        let handle = thread::spawn(|| renew(1));
        renew(2);
        handle.join().unwrap();
        *LOCK.lock().unwrap().as_ref().unwrap().get().unwrap()
    });
}

#[test]
fn a_static_is_used_by_checks_and_outside_of_them_at_once() {
    static ONCE: Once = Once::new();
    static VALUE: OnceLock<usize> = OnceLock::new();
    static LAZY: LazyLock<usize> = LazyLock::new(|| 3);
    let check = || {
        passes(2, || {
            assert!(!ONCE.is_completed() && VALUE.get().is_none() && LazyLock::get(&LAZY).is_none());
            let handle = thread::spawn(|| VALUE.set(1));
            let mine = VALUE.set(2);
            ONCE.call_once(|| {});
            assert_ne!(mine.is_ok(), handle.join().unwrap().is_ok());
            assert_eq!(*LAZY, 3);
        });
    };
    ONCE.call_once(|| {});
    VALUE.set(9).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(check);
        }
    });
    assert_eq!((VALUE.get(), *LAZY, ONCE.is_completed()), (Some(&9), 3, true));
}
