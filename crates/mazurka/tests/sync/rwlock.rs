use mazurka::sync::{Arc, RwLock, RwLockWriteGuard, TryLockError};
use mazurka::thread;

use super::support::{expect, fails, passes};

/// Runs so many readers and writers of a counter, each in its thread; gives what the readers saw, in order.
fn readers_and_writers(readers: usize, writers: usize) -> Vec<usize> {
    let lock = Arc::new(RwLock::new(0));
    let read = |lock: Arc<RwLock<usize>>| move || *lock.read().unwrap();
    let write = |lock: Arc<RwLock<usize>>| move || *lock.write().unwrap() += 1;
    let readers: Vec<_> = (0..readers).map(|_| thread::spawn(read(lock.clone()))).collect();
    let writers: Vec<_> = (0..writers).map(|_| thread::spawn(write(lock.clone()))).collect();
    let count = writers.len();
    writers.into_iter().for_each(|handle| handle.join().unwrap());
    let seen = readers.into_iter().map(|handle| handle.join().unwrap()).collect();
    assert_eq!(*lock.read().unwrap(), count);
    seen
}

#[test]
fn writers_exclude_all_and_readers_exclude_writers() {
    expect(2, [vec![]], || readers_and_writers(0, 2));
    expect(2, [vec![0], vec![1]], || readers_and_writers(1, 1));
    // Orders of readers count though nothing depends on them: two locks and two unlocks can be mixed in 6
    // ways.
    expect(6, [vec![0, 0]], || readers_and_writers(2, 0));
    // In 2 of these 6 the writer has 3 places, in 4 it has 2.
    let seen = [vec![0, 0], vec![0, 1], vec![1, 0], vec![1, 1]];
    expect(2 * 3 + 4 * 2, seen, || readers_and_writers(2, 1));
    expect(6, [vec![0], vec![1], vec![2]], || readers_and_writers(1, 2));
}

#[test]
fn readers_are_there_at_the_same_time() {
    passes(1, || {
        let lock = RwLock::new(5);
        let (a, b) = (lock.read().unwrap(), lock.read().unwrap());
        assert_eq!(*a + *b, 10);
        assert!(matches!(lock.try_write(), Err(TryLockError::WouldBlock)));
        assert!(lock.try_read().is_ok());
        drop((a, b));
        *lock.write().unwrap() = 6;
        assert_eq!(lock.into_inner().unwrap(), 6);
    });
}

#[test]
fn an_attempt_fails_while_another_holds_the_lock() {
    expect(3, [None, Some(0), Some(1)], || {
        let lock = Arc::new(RwLock::new(0));
        let other = lock.clone();
        let handle = thread::spawn(move || *other.write().unwrap() += 1);
        let seen = lock.try_read().ok().map(|value| *value);
        handle.join().unwrap();
        seen
    });
    expect(3, [false, true], || {
        let lock = Arc::new(RwLock::new(0));
        let other = lock.clone();
        let handle = thread::spawn(move || *other.read().unwrap());
        let written = lock.try_write().map(|mut value| *value = 1).is_ok();
        handle.join().unwrap();
        written
    });
}

#[test]
fn nobody_writes_between_a_writer_and_the_reader_that_it_becomes() {
    expect(2, [(1, 10), (1, 11)], || {
        let lock = Arc::new(RwLock::new(0));
        let other = lock.clone();
        let handle = thread::spawn(move || {
            let mut value = other.write().unwrap();
            *value = if *value == 0 { 1 } else { 11 };
            drop(value);
        });
        let mut value = lock.write().unwrap();
        let first = *value;
        *value = 10;
        let value = RwLockWriteGuard::downgrade(value);
        let seen = *value;
        assert_eq!(seen, 10);
        drop(value);
        handle.join().unwrap();
        let last = *lock.read().unwrap();
        (first.max(1), last.max(seen))
    });
    // Others read meanwhile.
    passes(1, || {
        let lock = RwLock::new(0);
        let value = RwLockWriteGuard::downgrade(lock.write().unwrap());
        assert!(lock.try_read().is_ok() && lock.try_write().is_err());
        drop(value);
        assert!(lock.try_write().is_ok());
    });
}

#[test]
fn a_reader_that_wants_to_write_waits_for_itself() {
    fails(&["deadlock", "held by main since"], || {
        let lock = RwLock::new(0);
        let _reader = lock.read().unwrap();
        let _writer = lock.write().unwrap();
    });
}

#[test]
fn the_report_names_all_readers() {
    let report = fails(&["deadlock", "held by first since", "and held by second since"], || {
        let lock = Arc::new(RwLock::new(0));
        for name in ["first", "second"] {
            let lock = lock.clone();
            let body = move || {
                drop(lock.read());
                std::mem::forget(lock.read());
            };
            thread::Builder::new().name(name.to_owned()).spawn(body).unwrap().join().unwrap();
        }
        let _writer = lock.write().unwrap();
    });
    assert_eq!(report.text().matches("held by first").count(), 1, "{}", report.text());
}

#[test]
fn a_panic_of_a_writer_poisons() {
    passes(1, || {
        let lock = Arc::new(RwLock::new(0));
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
            let mut value = lock.write().unwrap();
            *value = 1;
            panic!("on purpose");
        });
        assert!(lock.is_poisoned());
        assert_eq!(*lock.read().unwrap_err().into_inner(), 1);
        assert!(matches!(lock.try_read(), Err(TryLockError::Poisoned(_))));
        assert!(matches!(lock.try_write(), Err(TryLockError::Poisoned(_))));
        lock.clear_poison();
        assert_eq!(*lock.write().unwrap(), 1);
    });
    expect(2, [false, true], || {
        let lock = Arc::new(RwLock::new(()));
        let other = lock.clone();
        let handle = thread::spawn(move || {
            let _writer = other.write();
            panic!("on purpose");
        });
        let poisoned = lock.read().is_err();
        let _ = handle.join();
        poisoned
    });
}

#[test]
fn it_holds_what_has_no_size() {
    passes(2, || {
        let lock: std::sync::Arc<RwLock<[i32]>> = std::sync::Arc::new(RwLock::new([1, 2, 3]));
        let other = lock.clone();
        let handle = thread::spawn(move || other.write().unwrap()[0] = 7);
        lock.write().unwrap()[1] = 8;
        handle.join().unwrap();
        assert_eq!(*lock.read().unwrap(), [7, 8, 3]);
    });
}
