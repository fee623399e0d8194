//! Outside of a check all is as in the standard library.

use std::time::Duration;

use mazurka::sync::{
    Arc, Barrier, Condvar, LazyLock, Mutex, Once, OnceLock, RwLock, RwLockWriteGuard, TryLockError,
};
use mazurka::thread;

const MOMENT: Duration = Duration::from_millis(5);

#[test]
fn condvar() {
    let shared = Arc::new((Mutex::new(0), Condvar::default()));
    let other = shared.clone();
    let handle = thread::spawn(move || {
        for _ in 0..3 {
            *other.0.lock().unwrap() += 1;
            other.1.notify_all();
        }
    });
    let guard = shared.1.wait_while(shared.0.lock().unwrap(), |value| *value < 3).unwrap();
    assert_eq!(*guard, 3);
    let (guard, result) = shared.1.wait_timeout_while(guard, MOMENT, |value| *value == 3).unwrap();
    assert!(result.timed_out());
    let (guard, result) = shared.1.wait_timeout_while(guard, MOMENT, |value| *value == 4).unwrap();
    assert!(!result.timed_out());
    drop(guard);
    shared.1.notify_one();
    handle.join().unwrap();
    let other = shared.clone();
    let handle = thread::spawn(move || {
        let _guard = other.0.lock();
        panic!("on purpose");
    });
    assert!(handle.join().is_err());
    let (_, result) =
        shared.1.wait_timeout(shared.0.lock().unwrap_err().into_inner(), MOMENT).unwrap_err().into_inner();
    assert!(result.timed_out());
    assert_eq!(format!("{:?}", shared.1), "Condvar { .. }");
}

#[test]
fn rw_lock() {
    let lock = Arc::new(RwLock::from(1));
    {
        let (a, b) = (lock.read().unwrap(), lock.try_read().unwrap());
        assert_eq!(*a + *b, 2);
        assert!(matches!(lock.try_write(), Err(TryLockError::WouldBlock)));
    }
    let mut guard = lock.write().unwrap();
    *guard += 1;
    assert!(matches!(lock.try_read(), Err(TryLockError::WouldBlock)));
    assert_eq!(format!("{lock:?}"), format!("{:?}", locked()));
    let guard = RwLockWriteGuard::downgrade(guard);
    assert_eq!(*lock.try_read().unwrap(), 2);
    drop(guard);
    assert_eq!(format!("{lock:?}"), format!("{:?}", std::sync::RwLock::new(2)));
    let panics = |body: fn(&RwLock<i32>)| {
        let lock = lock.clone();
        assert!(thread::spawn(move || body(&lock)).join().is_err());
    };
    panics(|lock| {
        let _reader = lock.read();
        panic!("on purpose");
    });
    assert!(!lock.is_poisoned());
    panics(|lock| {
        let _writer = lock.write();
        panic!("on purpose");
    });
    assert!(lock.is_poisoned() && lock.read().is_err() && lock.try_write().is_err());
    lock.clear_poison();
    let mut lock = Arc::into_inner(lock).unwrap();
    *lock.get_mut().unwrap() += 1;
    assert_eq!(lock.into_inner().unwrap(), 3);
}

/// What a locked lock of the standard library looks like.
fn locked() -> impl std::fmt::Debug {
    let lock: &'static std::sync::RwLock<i32> = Box::leak(Box::new(std::sync::RwLock::new(2)));
    std::mem::forget(lock.write());
    lock
}

#[test]
fn once() {
    let once = Arc::new(Once::new());
    let other = once.clone();
    assert!(thread::spawn(move || other.call_once(|| panic!("on purpose"))).join().is_err());
    assert!(!once.is_completed());
    let other = once.clone();
    assert!(thread::spawn(move || other.wait()).join().is_err());
    once.call_once_force(|state| assert!(state.is_poisoned()));
    once.call_once(|| unreachable!());
    once.wait();
    once.wait_force();
    assert!(once.is_completed());
    assert_eq!(format!("{once:?}"), "Once { .. }");
}

#[test]
fn once_lock() {
    let lock = Arc::new(OnceLock::new());
    assert_eq!(lock.get(), None);
    let other = lock.clone();
    let handle = thread::spawn(move || *other.wait());
    assert_eq!((lock.set(1), lock.set(2)), (Ok(()), Err(2)));
    assert_eq!((handle.join().unwrap(), *lock.get_or_init(|| unreachable!())), (1, 1));
    let mut lock = Arc::into_inner(lock).unwrap();
    assert_eq!((lock.clone(), format!("{lock:?}")), (OnceLock::from(1), "OnceLock(1)".to_owned()));
    *lock.get_mut().unwrap() = 5;
    assert_eq!((lock.take(), lock.take(), lock.into_inner()), (Some(5), None, None));
}

#[test]
fn lazy_lock() {
    let counted = Arc::new(());
    let function = || {
        let counted = counted.clone();
        move || counted
    };
    drop(LazyLock::new(function()));
    assert_eq!(Arc::strong_count(&counted), 1);
    let mut lazy = LazyLock::new(function());
    assert_eq!(LazyLock::get(&lazy), None);
    assert_eq!(Arc::strong_count(&lazy), 2);
    assert_eq!(Arc::strong_count(LazyLock::force_mut(&mut lazy)), 2);
    drop(lazy);
    assert_eq!(Arc::strong_count(&counted), 1);
    let poisoned: LazyLock<u8> = LazyLock::new(|| panic!("on purpose"));
    for _ in 0..2 {
        assert!(std::panic::catch_unwind(|| *poisoned).is_err());
    }
}

#[test]
fn barrier() {
    let barrier = Arc::new(Barrier::new(4));
    let handles = [(); 4].map(|()| {
        let barrier = barrier.clone();
        thread::spawn(move || (0..3).filter(|_| barrier.wait().is_leader()).count())
    });
    assert_eq!(handles.into_iter().map(|handle| handle.join().unwrap()).sum::<usize>(), 3);
    assert_eq!(format!("{:?}", Barrier::new(1).wait()), "BarrierWaitResult { is_leader: true }");
}

/// Who uses an object first outside of any check may be several threads at once.
#[test]
fn the_first_use_may_be_by_several_at_once() {
    use mazurka::sync::atomic::{AtomicU32, Ordering};
    for _ in 0..2_000 {
        let (atomic, start) = (Arc::new(AtomicU32::new(0)), Arc::new(std::sync::atomic::AtomicU32::new(0)));
        let handles = [(); 2].map(|()| {
            let (atomic, start) = (atomic.clone(), start.clone());
            thread::spawn(move || {
                start.fetch_add(1, Ordering::SeqCst);
                while start.load(Ordering::SeqCst) < 2 {
                    std::hint::spin_loop();
                }
                atomic.fetch_add(1, Ordering::SeqCst);
            })
        });
        handles.into_iter().for_each(|handle| handle.join().unwrap());
        assert_eq!(atomic.load(Ordering::SeqCst), 2);
    }
}

#[test]
fn bounds_are_those_of_the_standard_library() {
    fn both<T: Send + Sync>() {}
    fn safe<T: std::panic::UnwindSafe + std::panic::RefUnwindSafe>() {}
    fn sync<T: Sync>() {}
    both::<(Condvar, RwLock<u8>, Once, OnceLock<u8>, LazyLock<u8>, Barrier)>();
    safe::<(Condvar, RwLock<std::cell::Cell<u8>>, Once, OnceLock<u8>, LazyLock<u8>, Barrier)>();
    sync::<(mazurka::sync::RwLockReadGuard<'_, u8>, RwLockWriteGuard<'_, u8>)>();
    both::<LazyLock<u8, Box<dyn FnOnce() -> u8 + Send>>>();
}
