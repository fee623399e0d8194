//! Clocks within a check: what they show follows from what happened before, so equivalent executions show the
//! same; they never go back, and who looks until it is late is late soon.

use crate::brute::{agree, verify};
use mazurka::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use mazurka::sync::mpsc::{RecvTimeoutError, channel};
use mazurka::sync::{Arc, Condvar, Mutex};
use mazurka::time::{Duration, Instant};
use mazurka::{Checker, thread};

const SECOND: Duration = Duration::from_secs(1);

/// 1 ms to the deadline of 101 ms; then looks at 2 ms, 12 ms, 112 ms: it is done before the first, second or
/// third read, or later.
#[test]
fn a_loop_that_polls_until_a_deadline_ends() {
    let program = || {
        let done = Arc::new(AtomicBool::new(false));
        let worker = thread::spawn({
            let done = done.clone();
            move || done.store(true, SeqCst)
        });
        let deadline = Instant::now() + Duration::from_millis(100);
        let outcome = loop {
            if done.load(SeqCst) {
                break "done";
            }
            if Instant::now() >= deadline {
                break "late";
            }
        };
        worker.join().unwrap();
        outcome.to_owned()
    };
    verify(program, 4, &["done", "late"]);
}

/// With nothing but the clock, and for however long.
#[test]
fn a_loop_around_a_clock_ends() {
    let report = Checker::new().run(|| {
        let start = Instant::now();
        let mut looks = 0;
        while start.elapsed() < Duration::from_secs(3600) {
            looks += 1;
        }
        assert_eq!(looks, 9, "six that grow to 1,000 s, then 1,000 s each");
    });
    assert!(report.is_pass(), "{report}");
    assert!(report.text().contains("clock.rs") && report.text().contains("one of the times"), "{report}");
}

#[test]
fn time_does_not_go_back_from_thread_to_thread() {
    let report = Checker::new().run(|| {
        let shared = Arc::new((AtomicU32::new(0), AtomicU32::new(0)));
        let other = shared.clone();
        let child = thread::spawn(move || {
            let mut early = Instant::now();
            for _ in 0..3 {
                early = Instant::now();
            }
            let seen = other.1.load(SeqCst);
            other.0.store(1, SeqCst);
            (early, seen, Instant::now())
        });
        let start = Instant::now();
        let seen = shared.0.load(SeqCst);
        shared.1.store(1, SeqCst);
        let end = Instant::now();
        let (early, seen_there, late) = child.join().unwrap();
        assert!(seen == 0 || early < end, "what was written there was read here");
        assert!(seen == 1 || start < late, "what was read here was written there later");
        assert!(seen_there == 0 || start < late, "what was written here was read there");
        assert!(seen_there == 1 || early < end, "what was read there was written here later");
        assert!(late < Instant::now(), "the thread has ended");
    });
    assert!(report.is_pass(), "{report}");
}

/// Through a step that touches two things, the time of the one comes to who looks at the other.
#[test]
fn equivalent_executions_show_the_same_times() {
    let program = || {
        let shared = Arc::new((Mutex::new(0), AtomicU32::new(0)));
        let threads = [1, 2].map(|number| {
            let shared = shared.clone();
            thread::spawn(move || {
                let first = Instant::now();
                *shared.0.lock().unwrap() += number;
                thread::sleep(SECOND * number);
                let seen = shared.1.load(SeqCst);
                shared.1.store(seen + number, SeqCst);
                (first, Instant::now())
            })
        });
        let look = (shared.1.load(SeqCst), Instant::now());
        let times = threads.map(|thread| thread.join().unwrap());
        format!("{look:?} {times:?} {:?}", Instant::now())
    };
    assert!(agree(program, 50_000));
    let channels = || {
        let (to, from) = channel();
        let threads = [1, 2].map(|number| {
            let to = to.clone();
            thread::spawn(move || {
                thread::sleep(SECOND * number);
                to.send(Instant::now()).unwrap();
            })
        });
        drop(to);
        let sent: Vec<_> = from.iter().map(|sent| (sent, Instant::now())).collect();
        assert!(sent.iter().all(|(sent, received)| sent < received));
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        // Counts are nothing for `source`, to which all that is done to a channel is dependent: there, clocks
        // show other times.
        format!("{sent:?} {}", Arc::strong_count(&Arc::new(())))
    };
    assert!(agree(channels, 50_000));
}

#[test]
fn to_look_at_a_clock_is_no_step() {
    let program = || {
        let threads = [0; 4].map(|_| thread::spawn(|| Instant::now().elapsed()));
        let times = threads.map(|thread| thread.join().unwrap());
        assert_eq!(times, [Duration::from_millis(1); 4]);
        String::new()
    };
    verify(program, 1, &[""]);
}

#[test]
fn sleeps_and_waits_in_vain_take_their_time() {
    let report = Checker::new().run(|| {
        let start = Instant::now();
        thread::sleep(SECOND);
        assert!(start.elapsed() >= SECOND);
        let (to, from) = channel::<()>();
        let start = Instant::now();
        assert_eq!(from.recv_timeout(SECOND), Err(RecvTimeoutError::Timeout));
        assert!(start.elapsed() >= SECOND);
        let deadline = Instant::now() + SECOND;
        assert_eq!(from.recv_deadline(deadline), Err(RecvTimeoutError::Timeout));
        assert!(Instant::now() > deadline);
        drop(to);
        let before = Instant::now();
        assert_eq!(from.recv_deadline(before + SECOND), Err(RecvTimeoutError::Disconnected));
        assert!(before.elapsed() < SECOND);
        let start = Instant::now();
        thread::park_timeout(SECOND);
        assert!(start.elapsed() >= SECOND);
        let (lock, condvar) = (Mutex::new(()), Condvar::new());
        let start = Instant::now();
        let (_guard, waited) = condvar.wait_timeout(lock.lock().unwrap(), SECOND).unwrap();
        assert!(waited.timed_out() && start.elapsed() >= SECOND);
    });
    assert!(report.is_pass(), "{report}");
}

/// A message comes in time or late: that is a branch, however little time has passed.
#[test]
fn a_receive_until_a_deadline() {
    let program = || {
        let (to, from) = channel();
        let sending = thread::spawn(move || to.send(1));
        let deadline = Instant::now() + SECOND;
        let received = from.recv_deadline(deadline);
        let late = Instant::now() >= deadline;
        assert_eq!(late, received.is_err());
        drop(from);
        format!("{received:?} {}", sending.join().unwrap().is_ok())
    };
    let outcomes = ["Err(Timeout) false", "Err(Timeout) true", "Ok(1) true"];
    verify(program, 3, &outcomes);
}

/// Who sleeps in a loop waits, whether somebody looks at a clock or not.
#[test]
fn a_loop_that_sleeps_is_one_that_waits() {
    let report = Checker::new().run(|| {
        let done = Arc::new(AtomicBool::new(false));
        let worker = thread::spawn({
            let done = done.clone();
            move || done.store(true, SeqCst)
        });
        let start = Instant::now();
        while !done.load(SeqCst) {
            thread::sleep(SECOND);
        }
        worker.join().unwrap();
        assert!(start < Instant::now());
    });
    assert!(report.is_pass(), "{report}");
}

#[test]
fn clocks_outside_of_a_check() {
    let start = Instant::now();
    thread::sleep(Duration::from_millis(2));
    assert!(start.elapsed() >= Duration::from_millis(2) && start.elapsed() < Duration::from_secs(3600));
    let earlier = start - SECOND * 1000;
    assert_eq!((start - earlier, earlier.checked_duration_since(start)), (SECOND * 1000, None));
    let (_to, from) = channel::<()>();
    assert_eq!(from.recv_deadline(earlier), Err(RecvTimeoutError::Timeout));
}
