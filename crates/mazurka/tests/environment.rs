//! The environment variables: each test runs this program again, with one test and an environment of its own.

use std::process::{Command, Output};

use mazurka::sync::Arc;
use mazurka::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use mazurka::{Checker, thread};

/// Runs one of the tests that are for this only, and gives whether it passed and what it printed.
fn run(test: &str, environment: &[(&str, &str)]) -> (bool, String) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([
        "--exact",
        &format!("environment::{test}"),
        "--ignored",
        "--nocapture",
        "--test-threads=1",
    ]);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("MAZURKA_") {
            command.env_remove(name);
        }
    }
    command.env("RUST_BACKTRACE", "0").envs(environment.iter().copied());
    let Output { status, stdout, stderr } = command.output().unwrap();
    let text = format!("{}{}", String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(text.contains("running 1 test"), "{text}");
    (status.success(), text)
}

fn add(threads: usize) {
    let x = Arc::new(AtomicUsize::new(0));
    let adders: Vec<_> = (0..threads)
        .map(|_| {
            let x = x.clone();
            thread::spawn(move || x.fetch_add(1, SeqCst))
        })
        .collect();
    for adder in adders {
        adder.join().unwrap();
    }
    assert_eq!(x.load(SeqCst), threads);
}

#[test]
#[ignore = "run by others"]
fn passing() {
    Checker::new().regressions(false).check(|| add(3));
}

/// Fails if something happens of itself, or if what is forgotten is.
#[test]
#[ignore = "run by others"]
fn sensitive() {
    Checker::new().regressions(false).check(|| {
        let x = Arc::new(AtomicUsize::new(0));
        assert!(x.compare_exchange_weak(0, 1, SeqCst, SeqCst).is_ok(), "an exchange failed");
        std::mem::forget(x.clone());
        let (mut polls, main) = (0, thread::current());
        thread::spawn(move || main.unpark());
        thread::park();
        mazurka::future::block_on(std::future::poll_fn(|context| {
            polls += 1;
            let waker = context.waker().clone();
            assert!(polls < 3, "polled too often");
            if polls == 1 {
                thread::spawn(move || waker.wake());
            }
            if polls == 2 { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
        }));
    });
}

#[test]
fn what_happens_of_itself_and_leaks_can_be_turned_on() {
    assert!(run("sensitive", &[]).0);
    assert!(run("sensitive", &[("MAZURKA_LEAKS", "0"), ("MAZURKA_SPURIOUS_FAILURES", "0")]).0);
    let (passed, text) = run("sensitive", &[("MAZURKA_SPURIOUS_FAILURES", "1")]);
    assert!(!passed && text.contains("an exchange failed"), "{text}");
    let (passed, text) = run("sensitive", &[("MAZURKA_LEAKS", "1")]);
    assert!(!passed && text.contains("is never dropped"), "{text}");
    let told = |name| run("sensitive", &[(name, "1"), ("MAZURKA_LOG", "verdict")]).1;
    let executions =
        |text: &str| text.lines().find(|line| line.starts_with("executions:")).map(str::to_owned);
    let plain = executions(&run("sensitive", &[("MAZURKA_LOG", "verdict")]).1).unwrap();
    for name in ["MAZURKA_SPURIOUS_WAKEUPS", "MAZURKA_SPURIOUS_POLLS"] {
        let counted = |text: &str| text.split(" complete").next().map(str::to_owned);
        assert_ne!(executions(&told(name)).as_deref().and_then(counted), counted(&plain), "{name}");
    }
}

#[test]
#[ignore = "run by others"]
fn failing() {
    Checker::new().regressions(false).check(|| {
        let x = Arc::new(AtomicUsize::new(0));
        let other = x.clone();
        let writer = thread::spawn(move || other.store(1, SeqCst));
        assert_eq!(x.load(SeqCst), 0, "the writer was first");
        writer.join().unwrap();
    });
}

#[test]
#[ignore = "run by others"]
fn hanging() {
    Checker::new().regressions(false).check(|| {
        loop {
            std::thread::park();
        }
    });
}

#[test]
#[ignore = "run by others"]
fn saving() {
    let file = std::env::var("FILE_OF_THIS_TEST").unwrap();
    Checker::new().regressions(file.as_str()).check(|| assert_eq!(AtomicUsize::new(0).load(SeqCst), 1));
}

#[test]
fn nothing_is_printed_of_a_pass() {
    let (passed, text) = run("passing", &[]);
    assert!(passed && !text.contains("pass:") && !text.contains("mazurka"), "{text}");
}

#[test]
fn the_log_tells_the_verdict() {
    let (passed, text) = run("passing", &[("MAZURKA_LOG", "verdict")]);
    assert!(
        passed
            && text.contains(
                "pass: no execution of environment::passing fails (optimal; sequential consistency)\n"
            ),
        "{text}"
    );
    assert!(text.contains("\nexecutions: 6 complete, 0 blocked, 0 assumed; "), "{text}");
}

#[test]
fn the_algorithm_and_the_limits_can_be_set() {
    let (passed, text) = run("passing", &[("MAZURKA_LOG", "1"), ("MAZURKA_ALGORITHM", "naive")]);
    assert!(passed && text.contains("(naive; "), "{text}");
    let (passed, text) = run("passing", &[("MAZURKA_MAX_EXECUTIONS", "2")]);
    assert!(!passed && text.contains("but the limit of 2 executions was reached"), "{text}");
    let (passed, text) =
        run("passing", &[("MAZURKA_LOG", "1"), ("MAZURKA_SEED", "7"), ("MAZURKA_MAX_SECONDS", "60")]);
    assert!(passed && text.contains("executions: 6 complete"), "{text}");
}

#[test]
fn a_printed_schedule_is_run_again() {
    let (passed, text) = run("failing", &[]);
    assert!(!passed, "{text}");
    let line = text.lines().find(|line| line.starts_with("replay: ")).unwrap();
    assert!(line.ends_with("' cargo test environment::failing -- --exact"), "{line}");
    let schedule = line.split('\'').nth(1).unwrap();
    let (passed, text) = run("failing", &[("MAZURKA_REPLAY", schedule)]);
    assert!(!passed && text.contains("failure: assertion in environment::failing (replay; "), "{text}");
    assert!(text.contains("executions: 1 complete"), "{text}");
    let file = std::env::temp_dir().join(format!("mazurka-{}-schedule", std::process::id()));
    std::fs::write(&file, format!("{schedule}\n")).unwrap();
    let (passed, text) = run("failing", &[("MAZURKA_REPLAY", &format!("@{}", file.display()))]);
    std::fs::remove_file(&file).unwrap();
    assert!(!passed && text.contains("failure: assertion in environment::failing (replay; "), "{text}");
}

#[test]
fn a_hang_can_be_waited_for() {
    let (passed, text) = run("hanging", &[("MAZURKA_HANG_SECONDS", "0.2")]);
    assert!(!passed && text.contains("failure: hang in environment::hanging"), "{text}");
}

#[test]
fn regressions_can_be_turned_off() {
    let file = std::env::temp_dir().join(format!("mazurka-{}-off.txt", std::process::id()));
    let own = ("FILE_OF_THIS_TEST", file.to_str().unwrap());
    for how in ["off", "read"] {
        let (passed, text) = run("saving", &[own, ("MAZURKA_REGRESSIONS", how)]);
        assert!(!passed && !text.contains("saved:") && !file.exists(), "{text}");
    }
    let (passed, text) = run("saving", &[own]);
    assert!(!passed && text.contains("saved:") && file.exists(), "{text}");
    for (how, method) in [("off", "optimal"), ("read", "replay"), ("on", "replay")] {
        let (_, text) = run("saving", &[own, ("MAZURKA_REGRESSIONS", how)]);
        assert!(text.contains(&format!("failure: assertion in environment::saving ({method}; ")), "{text}");
    }
    std::fs::write(&file, "environment::saving v1:0,x # torn\n").unwrap();
    let (_, text) = run("saving", &[own]);
    let warning = format!(
        "mazurka: warning: {}:1: not a schedule: expected the number of a process at character 6; the line is ignored\n",
        file.display()
    );
    assert!(text.contains(&warning), "{text}");
    std::fs::remove_file(&file).unwrap();
}

#[test]
fn a_bad_value_is_an_error_that_names_its_variable() {
    for (name, value) in [
        ("MAZURKA_SEED", "x"),
        ("MAZURKA_MAX_EXECUTIONS", "0"),
        ("MAZURKA_MAX_SECONDS", "soon"),
        ("MAZURKA_ALGORITHM", "fast"),
        ("MAZURKA_REPLAY", "0,1"),
        ("MAZURKA_REGRESSIONS", "yes"),
        ("MAZURKA_LOG", "loud"),
        ("MAZURKA_HANG_SECONDS", "-1"),
        ("MAZURKA_FULL_TRACE", "x"),
    ] {
        let (passed, text) = run("passing", &[(name, value)]);
        assert!(!passed && text.contains(&format!("nothing was run: {name}={value}: ")), "{text}");
    }
}
