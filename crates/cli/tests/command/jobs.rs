//! `--jobs`: a search that workers share has the report of one worker, and one that can't be shared says so.

use crate::programs::*;
use crate::same::same_for_any_number;
use crate::{Place, check};

/// Three processes that each increment twice; of what is left two values are wrong, and met late.
const RARE: &str = "\
param n = 3;
var x = 0;
process worker[i in 0..n] {
    let r = x;
    x = r + 1;
    let s = x;
    x = s + 1;
}
process main {
    for i in 0..n { join(worker[i]); }
    assert x != 2, \"most of it was lost\";
    assert x != 3, \"half of it was lost\";
}
";

#[test]
fn the_report_is_that_of_one_worker() {
    let place = Place::new("jobs", "rare.maz", RARE);
    for algorithm in ["reads-from", "naive", "random", "wake-up"] {
        for seed in [&[][..], &["--seed", "3"]] {
            // Three have millions of interleavings.
            let size = if algorithm == "naive" { "n=2" } else { "n=3" };
            let how = [&["rare.maz", "--algorithm", algorithm, "--param", size], seed].concat();
            let first = same_for_any_number(&place, &how, &[]);
            assert_eq!(first["failures"].as_array().map(Vec::len), Some(1), "{how:?}");
            let all = same_for_any_number(&place, &[&how[..], &["--keep-going"]].concat(), &[]);
            assert_eq!(all["failures"].as_array().map(Vec::len), Some(2), "{how:?}");
            assert_eq!(all["exhaustive"], algorithm != "random", "{how:?}");
            assert!(all["executions"].as_u64() > Some(256), "it is shared: {all}");
        }
    }
}

/// What makes a search begin again, or be given to `optimal`, does so for any number of workers.
#[test]
fn what_turns_out_late_is_the_same_for_all() {
    let place = Place::new("jobs-examples", "unused.maz", ATOMIC);
    for example in ["peterson", "readers_writer", "ticket_lock", "bounded_buffer_if", "dining"] {
        let file = format!("{}/../../examples/{example}.maz", env!("CARGO_MANIFEST_DIR"));
        same_for_any_number(&place, &[&file, "--algorithm", "reads-from", "--keep-going"], &[]);
        same_for_any_number(&place, &[&file, "--algorithm", "reads-from", "--observe-memory"], &[]);
    }
    let place = Place::new("jobs-messages", "parts.maz", PARTS);
    let how = ["parts.maz", "--algorithm", "reads-from", "--keep-going"];
    same_for_any_number(&place, &how, &[]);
    let outcome = place.run(&[&["check", "--jobs", "2"], &how[..]].concat());
    assert!(outcome.stdout.contains("sends messages, so optimal"), "{}", outcome.stdout);
}

#[test]
fn abs_is_shared_too() {
    for (at, program) in [ABS_DATABASE, ABS_ACCOUNT].into_iter().enumerate() {
        let place = Place::new(&format!("jobs-abs{at}"), "program.abs", program);
        for algorithm in ["reads-from", "naive", "random", "wake-up"] {
            let how = ["program.abs", "--algorithm", algorithm, "--keep-going", "--max-depth", "500"];
            let report = same_for_any_number(&place, &how, &[]);
            assert!(report["memory"].as_u64() > Some(0), "{report}");
        }
    }
}

#[test]
fn one_core_is_said_where_more_were_asked_for() {
    let said = |name: &str, how: &[&str], says: Option<&str>| {
        let outcome = check(&format!("jobs-one-{name}"), ATOMIC, how);
        let note = outcome.stdout.lines().find(|line| line.contains("one core"));
        assert_eq!(note, says, "{how:?}: {}", outcome.stdout);
    };
    let alone = "note: one core was used, and not 3: a search by optimal can't be shared here, but one by wake-up can";
    said("optimal", &["--jobs", "3"], Some(alone));
    said("asked-for", &["--jobs", "1"], None);
    said("default", &[], None);
    said("shared", &["--jobs", "3", "--algorithm", "reads-from"], None);
    let limited = "note: one core was used, and not 2: --max-executions counts the executions of one";
    said("limited", &["--jobs", "2", "--algorithm", "wake-up", "--max-executions", "3"], Some(limited));
    said("walks", &["--jobs", "2", "--algorithm", "random", "--max-executions", "3"], None);
    let told = "note: one core was used, and not 2: --traces tells of one execution after the other";
    said("told", &["--jobs", "2", "--algorithm", "naive", "--traces"], Some(told));
    said("replayed", &["--jobs", "2", "--replay", "v1:0"], None);
}
