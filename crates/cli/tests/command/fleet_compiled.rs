//! Searches of C and C++ on many machines: the report is that of one machine, whatever becomes of workers and of
//! the processes in which they run the program, and whatever is found out of it late.

use std::process::Stdio;
use std::time::Duration;

use mazurka_fleet::Store;
use mazurka_journal::Header;

use crate::Place;
use crate::fleet::{Crew, Subject, Trouble, Waiting, disturbed, status, told, until};
use crate::journal::{Case, Random, report};
use crate::native_jobs::copies_of;
use crate::native_journal::{COMPILED, COUNTERS, LONGER};
use crate::native_leftovers::send;
use crate::postgres::Server;

fn case(name: &str) -> &'static Case {
    COMPILED.iter().find(|case| case.name == name).unwrap()
}

#[test]
fn the_report_is_that_of_one_machine() {
    let Some(server) = Server::start(false) else { return };
    let url = server.url();
    let mut generations = 0;
    for (number, case) in COMPILED.iter().enumerate() {
        let subject = Subject::new("compiled", case);
        let crew = Crew::new(&subject.place, &url, if number % 2 == 0 { 3 } else { 1 });
        let shared = subject.place.run(&subject.on(&["--json", "--on", &url]));
        drop(crew);
        assert_eq!(report(&shared), subject.expected, "{}", case.name);
        generations += server.say("select max(generation) from mazurka.search").parse::<u64>().unwrap();
    }
    assert!(generations > 0, "nothing was found out late");
    // Of each program there is one object, and the same one has no second.
    assert_eq!(server.say("select count(*) from mazurka.blob"), COMPILED.len().to_string());
}

#[test]
fn workers_and_their_processes_are_killed() {
    let Some(mut server) = Server::start(false) else { return };
    let mut random = Random(7);
    for (name, workers, kills, crashes) in
        [("rare", 3, 2, false), ("counters", 2, 2, true), ("failures", 1, 1, false)]
    {
        let subject = Subject::new("compiled-killed", case(name));
        disturbed(&mut server, &subject, &Trouble { workers, kills, crashes }, &mut random);
    }
    // A process that runs the program for a worker dies, and the worker goes on with another.
    let url = server.url();
    let subject = Subject::new("compiled-killed", &LONGER);
    let crew = Crew::new(&subject.place, &url, 2);
    let check = Waiting::new(&subject.place, &subject.on(&["--json", "--on", &url]));
    let mut killed = 0;
    until(|| {
        let started = copies_of(crew.workers[killed % 2].id());
        started.iter().for_each(|process| send("-KILL", *process));
        killed += started.len();
        std::thread::sleep(Duration::from_millis(100));
        killed >= 2
    });
    assert_eq!(report(&check.end()), subject.expected);
}

#[test]
fn what_is_printed_is_the_same() {
    let Some(server) = Server::start(false) else { return };
    let url = server.url();
    for name in ["deadlock", "objects"] {
        let subject = Subject::new("compiled-told", case(name));
        let local = subject.place.run(&subject.check);
        // The process that waits works too; nobody else is there.
        let alone = subject.place.run(&subject.on(&["--on", &url, "--jobs", "2"]));
        assert_eq!((told(&alone), alone.status), (told(&local), local.status));
        assert_eq!((alone.status, &*alone.stderr), (1, ""));
    }
}

#[test]
fn a_search_is_taken_up_by_its_number() {
    let Some(server) = Server::start(false) else { return };
    let url = server.url();
    let subject = Subject::new("compiled-resumed", case("rare"));
    let crew = Crew::new(&subject.place, &url, 2);
    let waiting = Waiting::new(&subject.place, &subject.on(&["--json", "--on", &url]));
    until(|| status(&subject.place, &url)["searches"][0]["executions"].as_u64().unwrap_or(0) > 0);
    drop(waiting);
    // The source is not needed any more, nor a compiler.
    std::fs::remove_file(subject.place.directory.join("p.c")).unwrap();
    let mut resume = subject.place.command(&["resume", &url, "--json"]);
    let resumed = Waiting(Some(
        resume.env("CC", "/nowhere/cc").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap(),
    ));
    assert_eq!(report(&resumed.end()), subject.expected);
    drop(crew);
}

#[test]
fn machine_code_is_run_where_that_is_asked_for() {
    let Some(server) = Server::start(false) else { return };
    let url = server.url();
    let place = Place::new("fleet-compiled-refused", "p.c", COUNTERS);
    let check = ["check", "p.c", "--algorithm", "wake-up", "--on", &url];
    let waiting = Waiting::new(&place, &check);
    until(|| status(&place, &url)["searches"][0]["id"] == 1);
    let hash = status(&place, &url)["searches"][0]["hash"].as_str().unwrap().to_owned();
    let idle = ["worker", "--join", &url, "--idle", "0.5"];
    let refused = |arguments: &[&str], why: &str| {
        let outcome = place.run(&[&idle[..], arguments].concat());
        assert_eq!(outcome.status, 2);
        assert!(outcome.stderr.contains(why), "{}", outcome.stderr);
    };
    refused(
        &[],
        &format!(
            "search 1: it is machine code, which is run only where that is asked for: --accept {}",
            &hash[..12]
        ),
    );
    refused(&["--accept", "0123456789abcdef"], "which is not among those of --accept");
    // Somebody puts other code there.
    let kept = server.say("select hash from mazurka.blob");
    server.say("update mazurka.blob set bytes = 'else'");
    refused(&["--accept", &hash[..8]], "its program is not in the database, or is something else by now");
    // And says that it is of another machine: with its own hash, for that of what was said before would not do.
    let mut store = Store::connect(&url.parse().unwrap(), Duration::from_secs(1)).unwrap();
    let header = store.search(1).unwrap().unwrap().header;
    assert!(store.cancel(1).unwrap());
    waiting.end().refused(&["search 1 was cancelled"]);
    server.say("delete from mazurka.blob");
    let waiting = Waiting::new(&place, &check);
    until(|| status(&place, &url)["searches"][0]["id"] == 2);
    assert_eq!(server.say("select hash from mazurka.blob"), kept);
    for (field, was, becomes, why) in [
        (
            "libraries",
            "libc.so.6 ",
            "libc.so.6 f",
            "it was begun with another libc.so.6 than there is here (libc.so.6 f",
        ),
        ("layout", "", "1", "its program is at other addresses here than where it was begun"),
    ] {
        let mut other = Header::new();
        for name in header_fields(&header) {
            let value = Header::decoded(&header).unwrap().get(&name).unwrap().to_owned();
            let value = if name == field { value.replacen(was, becomes, 1) } else { value };
            other = other.with(name, value);
        }
        let header = other.encoded();
        let (search, _) = store.begin(&mazurka_fleet::hash(&header), &header, "other", b"[]").unwrap();
        refused(&["--accept", &mazurka_fleet::hash(&header)], why);
        assert!(store.cancel(search).unwrap());
    }
    let accepted = place.run(&[&idle[..], &["--accept", &hash[..8], "--jobs", "2"]].concat());
    assert_eq!(accepted.status, 0, "{}", accepted.stderr);
    waiting.end().expect(0, &["pass", "34650 complete"]);
}

/// The names of what a header has.
fn header_fields(header: &[u8]) -> Vec<String> {
    let differences = Header::decoded(header).unwrap().differences(&Header::new());
    differences.into_iter().map(|difference| difference.name).collect()
}
