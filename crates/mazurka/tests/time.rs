//! Limits of time hold, whatever a program does; and what hangs is waited for once.

use std::time::{Duration, Instant};

use mazurka::sync::Arc;
use mazurka::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use mazurka::sync::mpsc::channel;
use mazurka::{Checker, Report, thread};

/// Runs a check for a second and says how long it took.
fn for_a_second(program: impl Fn() + Send + Sync + 'static) -> (Report, Duration) {
    let begin = Instant::now();
    let report = Checker::new().max_time(Duration::from_secs(1)).run(program);
    (report, begin.elapsed())
}

#[track_caller]
fn assert_ends_in_time(program: impl Fn() + Send + Sync + 'static) {
    let (report, took) = for_a_second(program);
    assert_eq!(report.reason(), Some("the time limit of 1 s was reached"), "{report}");
    assert!(took < Duration::from_secs(2), "{took:?}: {report}");
}

/// A receive is more than a read, so nobody waits; but who comes back to where he was goes no further.
#[test]
fn loops_that_poll_end_of_themselves() {
    let report = Checker::new().max_time(Duration::from_secs(10)).run(|| {
        let (to, from) = channel();
        let threads = [0, 1].map(|number| {
            let to = to.clone();
            thread::spawn(move || to.send(number).unwrap())
        });
        for _ in threads {
            while from.try_recv().is_err() {}
        }
    });
    assert!(report.is_pass(), "{report}");
    assert_eq!((report.executions(), report.stopped()), (2, 4));
}

/// Each execution is repeated many times, and takes its time.
#[test]
fn slow_programs_end_in_time() {
    assert_ends_in_time(|| {
        let shared = Arc::new(AtomicUsize::new(0));
        let threads = [0, 1].map(|_| {
            let shared = shared.clone();
            thread::spawn(move || {
                for _ in 0..100 {
                    std::thread::sleep(Duration::from_millis(2));
                    shared.fetch_add(1, SeqCst);
                }
            })
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

static HANGS: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);

#[test]
fn a_hang_is_waited_for_once_and_told_with_its_schedule() {
    let report = Checker::new().hang_timeout(Duration::from_millis(300)).run(|| {
        let shared = Arc::new(AtomicUsize::new(0));
        let other = shared.clone();
        let thread = thread::spawn(move || other.store(1, SeqCst));
        if shared.load(SeqCst) == 1 {
            HANGS.fetch_add(1, SeqCst);
            loop {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        thread.join().unwrap();
    });
    let failure = report.failures().next().expect("a failure");
    assert_eq!((failure.kind(), failure.schedule().as_deref()), ("hang", Some("v1:0,0.0,0")), "{report}");
    assert!(report.text().contains("does not come to another operation"), "{report}");
    assert_eq!(HANGS.load(SeqCst), 1);
}

/// A failure that was found is told, however little time is left.
#[test]
fn a_failure_is_told_when_its_time_is_up() {
    let report = Checker::new().max_time(Duration::from_millis(50)).keep_going(true).run(|| {
        let shared = Arc::new(AtomicUsize::new(0));
        let threads = [0, 1].map(|_| {
            let shared = shared.clone();
            thread::spawn(move || {
                for _ in 0..20 {
                    std::thread::sleep(Duration::from_millis(1));
                    shared.fetch_add(1, SeqCst);
                }
                panic!("in every execution");
            })
        });
        assert!(threads.into_iter().all(|thread| thread.join().is_err()));
        panic!("told");
    });
    let failure = report.failures().next().expect("a failure");
    assert_eq!((failure.kind(), failure.message()), ("panic", "told"), "{report}");
    assert!(failure.schedule().is_some() && report.text().contains("fetch_add"), "{report}");
}

static ROUNDS: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);

/// Executions in which it is only tried what a step would do are brought to an end: who spins there lets the
/// others run.
#[test]
fn nobody_spins_where_nobody_looks() {
    let report = Checker::new().run(|| {
        let lock = Arc::new(AtomicBool::new(false));
        let threads = [0; 3].map(|_| {
            let lock = lock.clone();
            thread::spawn(move || {
                while lock.compare_exchange(false, true, SeqCst, SeqCst).is_err() {
                    ROUNDS.fetch_add(1, SeqCst);
                }
                lock.store(false, SeqCst);
            })
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
    assert!(report.is_pass(), "{report}");
    let rounds = ROUNDS.load(SeqCst) as u64;
    assert!(rounds < 100 * report.executions(), "{rounds} rounds of {report}");
}
