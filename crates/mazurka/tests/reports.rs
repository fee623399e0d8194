//! What reports say: each program of `golden/programs.rs` against the report beside it.
//!
//! `MAZURKA_BLESS=1 cargo test -p mazurka --test main reports` writes them anew: read the difference.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::{Duration, Instant};

use mazurka::{Checker, Report, thread};

#[path = "golden/programs.rs"]
mod programs;

fn checker(name: &str) -> Checker {
    Checker::new().name(name)
}

/// The report with times left out, which are others each time.
fn timeless(report: &Report) -> String {
    let text = report.text();
    let Some((before, after)) = text.split_once(" steps; ").or_else(|| text.split_once(" step; ")) else {
        return text;
    };
    let rest = after.split_once('\n').map_or("", |(_, rest)| rest);
    format!("{before} steps; TIME\n{rest}")
}

fn golden(name: &str, report: &Report) {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/{name}.txt"));
    let text = timeless(report);
    if std::env::var_os("MAZURKA_BLESS").is_some() {
        std::fs::write(&file, &text).unwrap();
    }
    let expected = std::fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(text, expected, "{}:\n{text}", file.display());
}

macro_rules! golden {
    ($($name:ident)*) => {$(
        #[test]
        fn $name() {
            golden(stringify!($name), &checker(stringify!($name)).run(programs::$name));
        }
    )*};
}

golden! {
    lost_update opposite_transfers assertion_in_a_child unwrap_of_a_join poisoned_lock left_behind philosophers relaxed
    check_in_a_check two_of_a_name many_steps lost_wake_up spinning two_senders
}

#[test]
fn two_failures() {
    let report = checker("two_failures").keep_going(true).run(programs::two_failures);
    golden("two_failures", &report);
    assert!(report.is_exhaustive() && !report.is_pass());
    let places: Vec<_> = report.failures().map(|failure| (failure.kind(), failure.thread())).collect();
    assert_eq!(places, [("assertion", Some("main")), ("assertion", Some("first"))]);
}

#[test]
fn a_search_that_is_cut_is_no_pass() {
    let report = checker("cut").max_executions(1).run(programs::opposite_transfers);
    golden("cut", &report);
    assert!(!report.is_pass() && !report.is_exhaustive() && report.failures().len() == 0);
}

#[test]
fn the_schedule_of_a_report_gives_it_again() {
    let report = checker("lost_update").run(programs::lost_update);
    let schedule = report.failures().next().unwrap().schedule().unwrap();
    let again = checker("replay").replay(&schedule).run(programs::lost_update);
    golden("replay", &again);
    let other = checker("misfit").replay("v1:0*2,0.7").run(programs::lost_update);
    golden("misfit", &other);
    let bad = checker("bad").replay("v7:0").run(programs::lost_update);
    assert_eq!(
        bad.reason().unwrap(),
        "nothing was run: Checker::replay: not a schedule: expected \"v1:\" (the version of the schedule) at character 1"
    );
    let passing = checker("passing").replay("v1:0*2,0.0*2,0.1*2,0*3").run(programs::lost_update);
    assert_eq!(passing.reason(), Some("only one schedule was run, to its end"));
    assert!(!passing.is_pass());
}

#[test]
fn a_wait_that_the_check_does_not_know_of_is_a_hang() {
    let begin = Instant::now();
    let report = checker("lock_of_std").hang_timeout(Duration::from_millis(200)).run(programs::lock_of_std);
    golden("lock_of_std", &report);
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
    // The thread that is stuck is left behind; others are not affected.
    assert!(Checker::new().run(|| {}).is_pass());
}

#[test]
fn an_endless_loop_is_a_hang() {
    let enough = Arc::new(AtomicBool::new(false));
    let seen = enough.clone();
    let report = checker("endless").hang_timeout(Duration::from_millis(200)).run(move || {
        let seen = seen.clone();
        let looper = thread::spawn(move || {
            while !seen.load(SeqCst) {
                std::hint::spin_loop();
            }
        });
        looper.join().unwrap();
    });
    golden("endless", &report);
    let failure = report.failures().next().unwrap();
    assert_eq!((failure.kind(), failure.thread()), ("hang", Some("looper")));
    // Its thread sees this, and ends.
    enough.store(true, SeqCst);
}

#[test]
fn a_hang_before_the_first_operation_is_told() {
    let enough = Arc::new(AtomicBool::new(false));
    let seen = enough.clone();
    let report = checker("early").hang_timeout(Duration::from_millis(100)).run(move || {
        while !seen.load(SeqCst) {
            std::hint::spin_loop();
        }
    });
    let message = report.failures().next().unwrap().message().to_owned();
    assert!(message.starts_with("thread `main` has not come to an operation since it began: "), "{message}");
    enough.store(true, SeqCst);
}

#[test]
fn a_long_computation_is_no_hang() {
    let report = Checker::new().hang_timeout(Duration::MAX).run(|| {
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_millis(20) {}
    });
    assert!(report.is_pass(), "{report}");
}

#[test]
fn a_stack_for_which_there_is_no_room() {
    let report = checker("large").stack_size(usize::MAX).run(|| ());
    let reason = report.reason().expect("it is no pass");
    assert!(reason.starts_with("no memory for the stack of thread 1"), "{reason}");
}

#[test]
fn a_wait_while_unwinding_is_told_with_the_panic() {
    struct Joined(Option<mazurka::thread::JoinHandle<()>>);
    impl Drop for Joined {
        fn drop(&mut self) {
            let _ = self.0.take().map(|thread| thread.join());
        }
    }
    let report = checker("unwinding").run(|| {
        let _joined = Joined(Some(mazurka::thread::spawn(mazurka::thread::park)));
        panic!("the first words");
    });
    let reason = report.reason().expect("it is no pass");
    assert!(
        reason.contains("which panicked at crates") || reason.contains("which panicked at tests"),
        "{reason}"
    );
    assert!(reason.contains("(the first words), would have to wait at"), "{reason}");
}

#[test]
fn a_check_panics_with_its_report() {
    let panicked = std::panic::catch_unwind(|| {
        checker("lost").regressions(false).check(programs::lost_update);
    });
    let message = panicked.unwrap_err().downcast::<String>().unwrap();
    assert!(
        message.starts_with("failure: assertion in lost (optimal; sequential consistency)\n"),
        "{message}"
    );
    assert!(
        message.contains(
            "\nreplay: MAZURKA_REPLAY='v1:0*2,0.0,0.1*2,0.0,0*3' cargo test reports::a_check_panics_with_its_report -- --exact\n"
        ),
        "{message}"
    );
}

#[test]
fn every_algorithm_finds_the_failure() {
    for algorithm in [mazurka::Algorithm::Naive, mazurka::Algorithm::Source, mazurka::Algorithm::Optimal] {
        let report = checker("lost").algorithm(algorithm).run(programs::lost_update);
        assert_eq!(report.failures().next().unwrap().kind(), "assertion", "{report}");
    }
    for seed in 0..20 {
        let report = checker("lost").seed(seed).keep_going(true).run(programs::lost_update);
        assert_eq!((report.executions(), report.blocked(), report.failures().len()), (4, 0, 1), "{report}");
    }
}

#[test]
fn the_parts_of_a_report_can_be_had_apart() {
    let report = checker("bank").keep_going(true).run(programs::opposite_transfers);
    assert_eq!((report.executions(), report.deadlocks(), report.assumed()), (3, 1, 0));
    assert_eq!(report.events(), 12 + 1 + 10, "{report}");
    let failure = report.failures().next().unwrap();
    assert_eq!((failure.kind(), failure.thread(), failure.place()), ("deadlock", None, None));
    assert_eq!(failure.schedule().as_deref(), Some("v1:0*2,0.0,0.1"));
    assert!(report.verdict().starts_with("failure: deadlock in bank"));
    assert!(report.seconds() < 10.0);
    assert_eq!(format!("{report:?}"), report.text());
}

mod attribute {
    use mazurka::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    use mazurka::sync::{Arc, Mutex};
    use mazurka::thread;

    #[mazurka::test]
    fn a_test() {
        let x = Arc::new(Mutex::new(0));
        let other = x.clone();
        let adder = thread::spawn(move || *other.lock().unwrap() += 1);
        *x.lock().unwrap() += 1;
        adder.join().unwrap();
        assert_eq!(*x.lock().unwrap(), 2);
    }

    #[mazurka::test]
    fn a_result() -> Result<(), std::num::ParseIntError> {
        let x: usize = "7".parse()?;
        assert_eq!(AtomicUsize::new(x).load(SeqCst), 7);
        Ok(())
    }

    #[mazurka::test]
    #[should_panic(expected = "panic: the test gave an error: ParseIntError { kind: InvalidDigit }")]
    fn an_error() -> Result<(), std::num::ParseIntError> {
        "x".parse::<u32>().map(drop)
    }

    #[mazurka::test(max_executions = 2, keep_going, seed = 1 + 1, algorithm = "naive", name = "limited")]
    #[should_panic(
        expected = "not exhaustive: no failure so far in limited (naive; sequential consistency), but the limit of 2"
    )]
    fn options() {
        super::programs::two_deposits();
    }

    /// A comment is an attribute too.
    #[mazurka::test]
    #[ignore = "to see that it is"]
    pub(crate) fn ignored() {
        panic!("this is not run");
    }

    #[mazurka::test(hang_timeout = std::time::Duration::from_secs(1), regressions = false, verbose = true)]
    fn r#match() {}

    #[mazurka::test]
    async fn asynchronous() {
        assert_eq!(std::future::ready(1).await, 1);
    }

    #[mazurka::test]
    #[should_panic(expected = "the test gave an error: \"late\"")]
    async fn an_asynchronous_error() -> Result<(), &'static str> {
        std::future::ready(Err("late")).await
    }

    #[mazurka::test]
    #[should_panic(expected = "a check can't be run within a check")]
    fn a_check_in_a_check() {
        mazurka::Checker::new().check(|| {});
    }
}

/// What a closure does is not told as a state, nor are its messages by what would be received: nothing is
/// run, and it is no pass.
#[test]
fn algorithms_that_closures_cannot_have_are_refused_by_name() {
    for algorithm in ["optimal+observers", "source+context", "convergent"] {
        let named = algorithm.parse().expect("an algorithm");
        let report = checker("refused").algorithm(named).run(|| panic!("nothing is run"));
        assert!(!report.is_pass() && !report.is_exhaustive(), "{algorithm}");
        assert_eq!((report.executions(), report.failures().len()), (0, 0), "{algorithm}");
        let reason = report.reason().expect("a reason");
        assert!(reason.starts_with(algorithm) && reason.ends_with("; use optimal"), "{reason}");
    }
}
