//! C and C++ with several workers: the report of one, whatever becomes of the others.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::native_leftovers::{LONG, eventually, send, worker_of};
use crate::same::{self, without_times};
use crate::{Outcome, Place};

const RARE: &str = include_str!("native_jobs/rare.c");

fn file(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name).to_str().unwrap().to_owned()
}

fn run(place: &Place, file: &str, jobs: usize, how: &[&str], options: &[&str]) -> Outcome {
    let jobs = jobs.to_string();
    let search = ["check", file, "--algorithm", "wake-up", "--jobs", &jobs];
    place.run(&[&search, how, &["--"], options].concat())
}

fn same_for_any_number(place: &Place, file: &str, how: &[&str], options: &[&str]) -> Value {
    same::same_for_any_number(place, &[&[file, "--algorithm", "wake-up"], how].concat(), options)
}

/// Late discoveries, and failures that few executions have: the least in the order of the search is told.
#[test]
fn the_report_is_that_of_one_worker() {
    let place = Place::new("native-jobs", "rare.c", RARE);
    let keep_going = &["--keep-going"][..];
    for (how, options, executions, kinds) in [
        (&[][..], &["-DK=3"][..], 24740, &[][..]),
        (&[], &["-DK=7"], 19066, &[]),
        (&[], &["-DK=5", "-DSPIN=6"], 4679, &["livelock"]),
        (&[], &["-DK=3", "-DDEADLOCK=9"], 1930, &["deadlock"]),
        (&[], &["-DK=1", "-DCRASH=6"], 2276, &["memory"]),
        (&[], &["-DK=0", "-DFAIL=4"], 361, &["assertion"]),
        (keep_going, &["-DK=1", "-DFAIL=4"], 23237, &["assertion"]),
    ] {
        let report = same_for_any_number(&place, "rare.c", how, &[options, &["--races=sc"]].concat());
        assert_eq!(report["executions"], executions, "{options:?}");
        let found: Vec<&str> = report["failures"]
            .as_array()
            .unwrap()
            .iter()
            .map(|failure| failure["kind"].as_str().unwrap())
            .collect();
        assert_eq!(found, kinds, "{options:?}");
    }
    let report = same_for_any_number(&place, "rare.c", keep_going, &["-DK=3", "-DRACE=5"]);
    assert_eq!((&report["executions"], &report["failures"][0]["kind"]), (&26348.into(), &"data-race".into()));
}

#[test]
fn the_examples_have_one_report() {
    let place = Place::new("native-jobs-examples", "unused.c", "");
    for example in [
        "bounded_queue_if.c",
        "dining.cpp",
        "double_checked_plain.cpp",
        "seqlock.cpp",
        "treiber_aba.c",
        "treiber_tagged.c",
    ] {
        same_for_any_number(&place, &file(&format!("examples/c/{example}")), &[], &[]);
    }
}

/// Of C, copies explore items of `wake-up` alone.
#[test]
fn one_core_is_said_where_copies_can_not_help() {
    let place = Place::new("native-jobs-alone", "unused.c", "");
    let file = file("bench/c/lastwrite.c");
    for algorithm in ["naive", "random", "reads-from"] {
        let search = ["check", &file, "--algorithm", algorithm, "--jobs", "2", "--max-executions", "9"];
        let outcome = place.run(&[&search[..], &["--", "-DN=2", "--races=sc"]].concat());
        let note = format!("one core was used, and not 2: a search by {algorithm} can't be shared here");
        assert!(outcome.stdout.contains(&note), "{}{}", outcome.stdout, outcome.stderr);
    }
}

/// The copies that a worker has made, or the processes that it has started.
pub fn copies_of(worker: u32) -> Vec<u32> {
    let parent = format!(" {worker} ");
    let processes = std::fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let id: u32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
        let status = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        let (_, rest) = status.rsplit_once(')')?;
        // The state, and who made it.
        rest.get(2..)?.starts_with(&parent).then_some(id)
    });
    processes.collect()
}

/// What a copy that was killed was to explore is explored all the same.
#[test]
fn a_copy_that_is_killed_changes_nothing() {
    let place = Place::new("native-jobs-killed", "unused.c", "");
    let (file, options) = (file("bench/c/lastzero.c"), ["-DN=14", "--races=sc"]);
    let expected = run(&place, &file, 1, &[], &options);
    let arguments = ["check", &file, "--algorithm", "wake-up", "--jobs", "3", "--", "-DN=14", "--races=sc"];
    let mut command = place.command(&arguments);
    let command = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let worker = worker_of(command.id());
    let mut killed = 0;
    let begin = Instant::now();
    while Path::new(&format!("/proc/{worker}/exe")).exists() && killed < 3 {
        assert!(begin.elapsed() < Duration::from_secs(60), "no copy was made");
        if let Some(copy) = copies_of(worker).last() {
            // It may be gone by now.
            let _ = std::process::Command::new("kill").args(["-KILL", &copy.to_string()]).output();
            killed += 1;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    let output = command.wait_with_output().unwrap();
    assert!(killed > 0, "there was none to kill");
    assert_eq!(output.status.code(), Some(expected.status), "{output:?}");
    let report = String::from_utf8(output.stdout).unwrap();
    assert_eq!(without_times(&report), without_times(&expected.stdout));
}

/// Copies end with the worker, and the worker with the command.
#[test]
fn no_copy_outlives_the_command() {
    let place = Place::new("native-jobs-leftovers", "program.c", LONG);
    for to_worker in [true, false] {
        let mut command = place.command(&["check", "program.c", "--algorithm", "wake-up", "--jobs", "3"]);
        let mut command = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let worker = worker_of(command.id());
        eventually("no copy is made", || copies_of(worker).len() > 1);
        let copies = copies_of(worker);
        send("-KILL", if to_worker { worker } else { command.id() });
        let status = command.wait().unwrap();
        assert_eq!(status.code(), to_worker.then_some(2));
        for process in copies.into_iter().chain([worker]) {
            let is_gone = || !Path::new(&format!("/proc/{process}/exe")).exists();
            eventually("a copy does not end", || is_gone() || is_dead(process));
        }
    }
}

/// Whether a process is at its end, and nobody has asked how it ended.
fn is_dead(process: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    status.rsplit_once(')').is_none_or(|(_, rest)| rest.starts_with(" Z"))
}

#[test]
fn limits_end_a_search_with_copies() {
    let place = Place::new("native-jobs-limits", "program.c", LONG);
    let limit = "the time limit of 1 s was reached";
    let begin = Instant::now();
    run(&place, "program.c", 3, &["--timeout", "1"], &[]).expect(3, &[limit]);
    assert!(begin.elapsed() < Duration::from_secs(20));
    let most = "the limit of 700 executions was reached";
    run(&place, "program.c", 3, &["--max-executions", "700"], &[]).expect(3, &["700 complete", most]);
}
