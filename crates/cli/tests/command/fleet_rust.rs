//! Searches of Rust tests on many machines: the report is that of one machine. The tests that are searched are of
//! this program, and it is run again for them.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use mazurka::sync::atomic::Ordering::{Relaxed, SeqCst};
use mazurka::sync::atomic::{AtomicBool, AtomicUsize};
use mazurka::sync::{Arc, Mutex};
use mazurka::{Algorithm, Checker, Report, thread};

use crate::fleet::{Crew, Trouble, Waiting, in_trouble, status, until};
use crate::journal::Random;
use crate::postgres::Server;
use crate::{Outcome, Place, build_anew};

/// What is before and behind a report in what a test prints.
const MARK: &str = "\n=====\n";

/// Prints a report without times.
fn tell(report: &Report) {
    let timeless = |line: &str| match line.strip_prefix("executions: ") {
        Some(_) => line.rsplit_once("; ").unwrap().0.to_owned(),
        None => line.to_owned(),
    };
    let text: Vec<String> = report.text().lines().map(timeless).collect();
    println!("{MARK}{}{MARK}", text.join("\n"));
}

/// A check in small parts, so that there is much to share.
fn small_parts() -> Checker {
    Checker::new().parts(16, 100)
}

/// Threads that each do something to a counter so often; what it is at the end.
fn counted(threads: usize, times: usize, add: fn(&AtomicUsize)) -> usize {
    let counter = Arc::new(AtomicUsize::new(0));
    let threads: Vec<_> = (0..threads)
        .map(|_| {
            let counter = counter.clone();
            thread::spawn(move || (0..times).for_each(|_| add(&counter)))
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    counter.load(SeqCst)
}

fn add(counter: &AtomicUsize) {
    counter.fetch_add(1, SeqCst);
}

fn add_in_two_steps(counter: &AtomicUsize) {
    counter.store(counter.load(SeqCst) + 1, SeqCst);
}

macro_rules! victims {
    ($($(#[$meaning:meta])* $name:ident: $checker:expr, $closure:expr;)*) => {
        $($(#[$meaning])* #[test] #[ignore = "run by others"] fn $name() { tell(&$checker.run($closure)); })*

        const VICTIMS: &[&str] = &[$(stringify!($name)),*];
    };
}

victims! {
    /// 184,756 executions, and no failure.
    passes: small_parts(), || assert_eq!(counted(2, 10, add), 20);
    fails: small_parts().keep_going(true), || {
        let found = counted(3, 2, add_in_two_steps);
        assert_ne!(found, 2, "most of it was lost");
        assert_eq!(found, 6, "some of it was lost");
    };
    /// Ends at a failure that comes late.
    fails_late: small_parts(), || {
        let counter = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
        let threads = [0, 1].map(|k| {
            let counter = counter.clone();
            thread::spawn(move || {
                for round in 0..7 {
                    counter.0.fetch_add(1, SeqCst);
                    if k == 1 && round == 0 {
                        counter.1.store(counter.0.load(SeqCst), SeqCst);
                    }
                }
            })
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_ne!(counter.1.load(SeqCst), 1, "the last came first");
    };
    deadlocks: small_parts().keep_going(true), || {
        let (a, b) = (Arc::new(Mutex::new(())), Arc::new(Mutex::new(())));
        let (c, d) = (a.clone(), b.clone());
        let child = thread::spawn(move || drop((c.lock(), d.lock())));
        counted(2, 5, add);
        drop((b.lock(), a.lock()));
        child.join().unwrap();
    };
    /// That counts and ends of threads matter is found out late, one after the other.
    finds_out: small_parts(), || {
        let owner = Arc::new(0);
        let counter = Arc::new(AtomicUsize::new(0));
        let threads = [0, 1, 2].map(|_| {
            let (counter, other) = (counter.clone(), owner.clone());
            thread::spawn(move || {
                add_in_two_steps(&counter);
                drop(other);
                add_in_two_steps(&counter);
            })
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        if counter.load(SeqCst) == 2 {
            let child = thread::spawn(|| ());
            assert!(Arc::strong_count(&owner) == 1 || child.is_finished());
            child.join().unwrap();
        }
    };
    /// Loops that are cut.
    cut: small_parts().keep_going(true).max_unroll(2), || {
        let shared = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
        let loops = shared.clone();
        thread::spawn(move || while loops.0.load(SeqCst) < 100 { loops.1.fetch_add(1, SeqCst); });
        let adders = [0, 1].map(|_| {
            let shared = shared.clone();
            thread::spawn(move || (0..2).for_each(|_| _ = shared.0.fetch_add(1, SeqCst)))
        });
        adders.into_iter().for_each(|adder| adder.join().unwrap());
    };
    /// What the report tells is met once, early or late.
    tells: small_parts().keep_going(true), || {
        let found = counted(3, 2, add_in_two_steps);
        let other = AtomicUsize::new(0);
        match found {
            2 => other.store(1, Relaxed),
            3 => drop(std::hint::black_box(mazurka::time::Instant::now())),
            _ => {}
        }
    };
    /// A thread does not come back, late.
    hangs: small_parts().hang_timeout(Duration::from_millis(500)), || {
        let last = Arc::new(AtomicBool::new(false));
        let other = last.clone();
        let late = thread::spawn(move || other.store(true, SeqCst));
        let was_late = counted(2, 4, add) == 8 && last.load(SeqCst);
        late.join().unwrap();
        if was_late {
            loop { std::hint::spin_loop(); }
        }
    };
}

#[test]
#[ignore = "run by others"]
fn comes_to_no_check() {}

#[test]
#[ignore = "run by others"]
fn asks_for_another_algorithm() {
    tell(&Checker::new().algorithm(Algorithm::Source).run(|| assert_eq!(counted(2, 2, add), 4)));
}

#[test]
#[ignore = "run by others"]
fn has_two_checks() {
    tell(&small_parts().run(|| assert_eq!(counted(2, 3, add), 6)));
    tell(&small_parts().run(|| assert_eq!(counted(2, 4, add), 8)));
}

/// What it does depends on how often it was run.
#[test]
#[ignore = "run by others"]
fn does_not_repeat_itself() {
    static RUNS: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    tell(&small_parts().run(|| {
        let times = 2 + usize::from(RUNS.fetch_add(1, SeqCst) % 37 == 36);
        assert_eq!(counted(3, times, add), 3 * times);
    }));
}

/// More executions than any test has time for.
#[test]
#[ignore = "run by others"]
fn is_huge() {
    tell(&Checker::new().run(|| assert_eq!(counted(4, 20, add), 80)));
}

/// This program, and a test of it, as the command is told.
fn words(name: &str) -> [String; 2] {
    [std::env::current_exe().unwrap().to_str().unwrap().to_owned(), format!("fleet_rust::{name}")]
}

/// The reports that were printed.
fn reports(stdout: &str) -> Vec<String> {
    stdout.split(MARK).skip(1).step_by(2).map(str::to_owned).collect()
}

/// What a test says that one process searches.
fn alone(name: &str) -> (Vec<String>, bool) {
    let [binary, test] = words(name);
    let mut command = Command::new(binary);
    command.args([&*test, "--exact", "--include-ignored", "--nocapture"]).env("MAZURKA_JOBS", "2");
    let output = command.stderr(Stdio::null()).output().unwrap();
    (reports(&String::from_utf8(output.stdout).unwrap()), output.status.success())
}

fn place(test: &str) -> Place {
    Place::new(&format!("fleet-rust-{test}"), "p.maz", "")
}

/// The arguments of a check of a test by others.
fn on(url: &str, name: &str, more: &[&str]) -> Vec<String> {
    let mut arguments: Vec<String> =
        ["check", "--on", url].iter().chain(more).map(|word| (*word).to_owned()).collect();
    arguments.push("--".to_owned());
    arguments.extend(words(name));
    arguments
}

fn strs(words: &[String]) -> Vec<&str> {
    words.iter().map(|word| &**word).collect()
}

fn crew<'a>(place: &'a Place, url: &str, name: &str, workers: usize) -> Crew<'a> {
    let [binary, test] = words(name);
    Crew::at(place, url, workers, &["--", &binary, &test])
}

#[track_caller]
fn agrees(shared: &Outcome, name: &str) {
    let (expected, passes) = alone(name);
    assert_eq!(expected.len(), 1, "{name}");
    assert_eq!(
        (reports(&shared.stdout), shared.status == 0),
        (expected, passes),
        "{name}: {}",
        shared.stderr
    );
}

#[test]
fn the_report_is_that_of_one_machine() {
    let Some(server) = Server::start(false) else { return };
    let (url, place) = (server.url(), place("same"));
    for name in VICTIMS {
        let crew = crew(&place, &url, name, 2);
        let shared = place.run(&strs(&on(&url, name, &[])));
        drop(crew);
        agrees(&shared, name);
        // The verdict is said whatever the test does with it.
        assert!(shared.stderr.contains(&format!("fleet_rust::{name}")), "{}", shared.stderr);
    }
    let generations = server.say("select sum(generation) from mazurka.search");
    assert!(generations.parse::<u64>().unwrap() > 0, "nothing was found out late");
    assert_eq!(server.say("select count(*) from mazurka.search where not reported"), "0");
}

#[test]
fn a_worker_is_killed_midway() {
    let Some(mut server) = Server::start(false) else { return };
    let (url, place, mut random) = (server.url(), place("killed"), Random(11));
    for (name, kills, crashes) in [("passes", 2, false), ("fails_late", 1, true)] {
        let (crew, check) = (crew(&place, &url, name, 2), Waiting::new(&place, &strs(&on(&url, name, &[]))));
        let trouble = Trouble { workers: 2, kills, crashes };
        let shared = in_trouble(&mut server, crew, check, &trouble, &mut random);
        agrees(&shared, name);
    }
    // Nobody but the process that waits.
    agrees(&place.run(&strs(&on(&url, "fails", &["--jobs", "2"]))), "fails");
}

#[test]
#[ignore = "long: MAZURKA_FLEETS says how many searches are disturbed"]
fn rust_tests_survive_many_kills() {
    let count: usize = std::env::var("MAZURKA_FLEETS").map_or(10, |count| count.parse().unwrap());
    let Some(mut server) = Server::start(false) else { return };
    let (url, place, seed) = (server.url(), place("many"), std::process::id().into());
    let (mut random, mut killed, started) = (Random(seed), 0, Instant::now());
    for number in 0..count {
        let (name, workers) = (VICTIMS[number % VICTIMS.len()], 1 + random.below(6) as usize);
        let (kills, crashes) = (1 + random.below(workers as u64) as usize, number % 5 == 4);
        let crew = crew(&place, &url, name, workers);
        let check = Waiting::new(&place, &strs(&on(&url, name, &[])));
        let trouble = Trouble { workers, kills, crashes };
        agrees(&in_trouble(&mut server, crew, check, &trouble, &mut random), name);
        killed += kills;
    }
    let seconds = started.elapsed().as_secs();
    println!("seed {seed}: {count} searches of Rust tests, {killed} workers killed, {seconds} s; all exact");
}

#[test]
fn what_can_not_be_shared_is_refused() {
    let Some(server) = Server::start(false) else { return };
    let (url, place) = (server.url(), place("refused"));
    for (name, more, why) in [
        ("no_such_test", &[][..], "has no test fleet_rust::no_such_test"),
        ("comes_to_no_check", &[], "came to no check (exit status: 0): there is nothing to share"),
        ("asks_for_another_algorithm", &[], "shared by wake-up only, not by source, which the test asks for"),
        ("passes", &["--json"], "a Rust test has no --json"),
        ("passes", &["--seed", "3"], "a Rust test has no --seed"),
    ] {
        let Outcome { status, stderr, .. } = place.run(&strs(&on(&url, name, more)));
        assert_eq!(status, 2, "{name}: {stderr}");
        assert!(stderr.contains(why), "{name}: {stderr}");
    }
    place.run(&["check", "--on", &url]).refused(&["a Rust test is named by two words behind --"]);
    place.run(&["check", "--on", &url, "--", "no-such-file", "x"]).refused(&["there is no such program"]);
}

#[test]
fn workers_run_what_they_were_told_to_run() {
    let Some(server) = Server::start(false) else { return };
    let (url, place) = (server.url(), place("told"));
    let check = Waiting::new(&place, &strs(&on(&url, "passes", &[])));
    until(|| status(&place, &url)["searches"].as_array().unwrap().len() == 1);
    place.run(&["resume", &url]).refused(&["it is of a Rust test: mazurka check --on URL -- BINARY TEST"]);
    let [binary, test] = words("passes");
    let other = place.directory.join("command-0123456789abcdef");
    build_anew(binary.as_ref(), &other);
    let [_, other_test] = words("fails");
    let other = other.to_str().unwrap();
    for (at, why) in [
        (
            &[][..],
            "it is of the Rust test command::fleet_rust::passes, which is run by workers that are told its program",
        ),
        (&["--", other, &test], "is not that of this worker"),
        (&["--", &binary, &other_test], "and this worker has the test command::fleet_rust::fails"),
        (&["--", &binary, "nothing"], "has no test nothing"),
        (&["--accept", "00000000", "--", &binary, &test], "which is not among those of --accept"),
    ] {
        let arguments = [&["worker", "--join", &url, "--jobs", "1", "--idle", "1"], at].concat();
        let Outcome { status, stderr, .. } = place.run(&arguments);
        assert_eq!(status, 2, "{stderr}");
        assert!(stderr.contains(why), "{stderr}");
    }
    assert_eq!(status(&place, &url)["searches"][0]["executions"], 0);
    std::fs::remove_file(other).unwrap();
    let crew = crew(&place, &url, "passes", 1);
    agrees(&check.end(), "passes");
    drop(crew);
}

#[test]
fn only_the_first_check_of_a_test_is_shared() {
    let Some(server) = Server::start(false) else { return };
    let (url, place) = (server.url(), place("two"));
    let shared = place.run(&strs(&on(&url, "has_two_checks", &["--jobs", "1"])));
    assert_eq!((reports(&shared.stdout).len(), shared.status), (2, 0), "{}", shared.stderr);
    assert!(
        shared.stdout.contains("executions: 20 complete")
            && shared.stdout.contains("executions: 70 complete")
    );
    assert!(shared.stderr.contains("others do the first one only, and this one is searched here"));
    assert_eq!(server.say("select count(*) from mazurka.search"), "1");
}

#[test]
fn what_does_not_repeat_itself_is_no_pass() {
    let Some(server) = Server::start(false) else { return };
    let (url, place) = (server.url(), place("differs"));
    let shared = place.run(&strs(&on(&url, "does_not_repeat_itself", &["--jobs", "2"])));
    let report = &reports(&shared.stdout)[0];
    assert!(report.starts_with("failure: ") && report.contains("nondeterminism"), "{report}");
}

#[test]
fn a_search_may_be_waited_for_so_long() {
    let Some(server) = Server::start(false) else { return };
    let (url, place) = (server.url(), place("time"));
    let shared = place.run(&strs(&on(&url, "is_huge", &["--jobs", "1", "--timeout", "1.5"])));
    let report = &reports(&shared.stdout)[0];
    assert!(report.contains("not exhaustive") && report.contains("the time limit of 1.5 s"), "{report}");
    // Who asks again takes it up.
    assert_eq!(status(&place, &url)["searches"][0]["state"], "paused");
}
