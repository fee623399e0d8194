//! Searches of Rust tests on many machines: the report is that of one machine. The tests that are searched are of
//! this program, and it is run again for them.

use std::process::{Command, Stdio};
use std::time::Instant;

use crate::fleet::{Crew, Trouble, Waiting, in_trouble, status, until};
use crate::journal::Random;
use crate::postgres::Server;
use crate::victims::{MARK, VICTIMS};
use crate::{Outcome, Place, build_anew};

/// This program, and a test of it, as the command is told.
fn words(name: &str) -> [String; 2] {
    [std::env::current_exe().unwrap().to_str().unwrap().to_owned(), format!("victims::{name}")]
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
        assert!(shared.stderr.contains(&format!("victims::{name}")), "{}", shared.stderr);
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
        ("no_such_test", &[][..], "has no test victims::no_such_test"),
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
            "it is of the Rust test command::victims::passes, which is run by workers that are told its program",
        ),
        (&["--", other, &test], "is not that of this worker"),
        (&["--", &binary, &other_test], "and this worker has the test command::victims::fails"),
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
