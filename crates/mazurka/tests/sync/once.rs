use mazurka::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use mazurka::sync::{Arc, Once};
use mazurka::thread;

use super::support::{expect, fails, passes};

#[test]
fn one_of_three_calls() {
    // Those who find it complete only read: only who is first counts.
    expect(3, [0, 1, 2], || {
        let once = Arc::new(Once::new());
        let calls = Arc::new(AtomicUsize::new(0));
        let handles = [0, 1, 2].map(|me| {
            let (once, calls) = (once.clone(), calls.clone());
            thread::spawn(move || {
                once.call_once(|| {
                    calls.fetch_add(10 + me, SeqCst);
                });
                assert!(calls.load(SeqCst) >= 10);
            })
        });
        for handle in handles {
            handle.join().unwrap();
        }
        calls.load(SeqCst) - 10
    });
}

#[test]
fn it_is_not_completed_while_it_runs() {
    // Before, during and after.
    expect(3, [false, true], || {
        let once = Arc::new(Once::new());
        let other = once.clone();
        let handle = thread::spawn(move || other.call_once(|| {}));
        let completed = once.is_completed();
        handle.join().unwrap();
        assert!(once.is_completed());
        completed
    });
}

#[test]
fn who_waits_sees_what_was_done() {
    passes(1, || {
        let once = Arc::new(Once::new());
        let value = Arc::new(AtomicUsize::new(0));
        let (other, seen) = (once.clone(), value.clone());
        let handle = thread::spawn(move || {
            other.wait();
            seen.load(SeqCst)
        });
        once.call_once(|| value.store(1, SeqCst));
        assert_eq!(handle.join().unwrap(), 1);
    });
    fails(&["deadlock", "somebody to initialise"], || Once::new().wait());
}

fn panicking(once: &Arc<Once>) -> thread::JoinHandle<()> {
    let once = once.clone();
    thread::spawn(move || once.call_once(|| panic!("on purpose")))
}

#[test]
fn a_panic_poisons() {
    passes(1, || {
        let once = Arc::new(Once::new());
        assert!(panicking(&once).join().is_err());
        assert!(!once.is_completed());
        let (call, wait) = (once.clone(), once.clone());
        assert!(thread::spawn(move || call.call_once(|| unreachable!())).join().is_err());
        assert!(thread::spawn(move || wait.wait()).join().is_err());
        let mut poisoned = false;
        once.call_once_force(|state| poisoned = state.is_poisoned());
        assert!(poisoned && once.is_completed());
        once.call_once_force(|_| unreachable!());
        once.call_once(|| unreachable!());
        once.wait();
    });
    fails(&["Once instance has previously been poisoned"], || {
        let once = Arc::new(Once::new());
        let _ = panicking(&once).join();
        once.call_once(|| {});
    });
}

#[test]
fn who_waits_by_force_waits_for_a_call_that_does_not_panic() {
    // The forced call comes before the one that panics, which then is not called, or after it.
    passes(2, || {
        let once = Arc::new(Once::new());
        let (forced, waits) = (once.clone(), once.clone());
        let panicking = panicking(&once);
        let forced = thread::spawn(move || forced.call_once_force(|_| {}));
        let waits = thread::spawn(move || waits.wait_force());
        let _ = panicking.join();
        forced.join().unwrap();
        waits.join().unwrap();
    });
}

#[test]
fn a_wait_ends_at_a_panic_unless_another_call_follows_at_once() {
    // The forced call is first; or it follows the panic, and the wait ends before it or after it.
    expect(3, [false, true], || {
        let once = Arc::new(Once::new());
        let (forced, waits) = (once.clone(), once.clone());
        let panicking = panicking(&once);
        let forced = thread::spawn(move || forced.call_once_force(|_| {}));
        let waits = thread::spawn(move || waits.wait());
        let _ = panicking.join();
        forced.join().unwrap();
        waits.join().is_err()
    });
}

#[test]
fn a_call_within_the_call_waits_for_itself() {
    fails(&["deadlock", "which main initialises"], || {
        let once = Once::new();
        once.call_once(|| once.call_once(|| {}));
    });
}

#[test]
fn a_loop_around_the_question_is_a_spin_loop() {
    let report = mazurka::Checker::new().run(|| {
        let once = Arc::new(Once::new());
        let other = once.clone();
        thread::spawn(move || other.call_once(|| {}));
        while !once.is_completed() {}
    });
    assert!(report.is_pass(), "{}", report.text());
}
