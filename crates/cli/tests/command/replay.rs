//! The schedule that is printed for a failure gives that failure again.

use serde_json::Value;

use crate::programs::*;
use crate::{Place, check};

#[test]
fn every_printed_schedule_gives_its_failure_again() {
    for (at, (program, _)) in FAILING.into_iter().enumerate() {
        for algorithm in ["naive", "source", "optimal"] {
            let place = Place::new(&format!("replay-{at}"), "program.maz", program);
            let found =
                place.run(&["check", "program.maz", "--json", "--keep-going", "--algorithm", algorithm]);
            let found: Value = serde_json::from_str(&found.stdout).unwrap();
            for failure in found["failures"].as_array().unwrap() {
                let schedule = failure["schedule"].as_str().unwrap();
                let again = place.run(&["check", "program.maz", "--json", "--replay", schedule]);
                again.expect(1, &[]);
                let again: Value = serde_json::from_str(&again.stdout).unwrap();
                // A replay is one execution, and does not count.
                let mut failure = failure.clone();
                failure["executions"] = Value::Null;
                assert!(again["failures"].as_array().unwrap().contains(&failure), "{failure}\n{again}");
            }
        }
    }
}

/// The line is made to be pasted: it is run by a shell, with the directory of the command in front of the
/// path.
#[cfg(unix)]
#[test]
fn the_printed_command_works_when_pasted() {
    let place = Place::new("pasted", "a program.maz", LOST);
    let found = place.run(&["check", "a program.maz", "--", "--param", "n=3"]);
    let line = found.stdout.lines().find_map(|line| line.strip_prefix("replay: ")).unwrap();
    let directory = std::path::Path::new(env!("CARGO_BIN_EXE_mazurka")).parent().unwrap();
    let line = format!("PATH={}:$PATH; {line}", directory.display());
    let output =
        std::process::Command::new("sh").args(["-c", &line]).current_dir(&place.directory).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.starts_with("failure: assertion in a program.maz (replay)\n"), "{text}");
    let story = |text: &str| text[text.find("\nassertion failed: ").unwrap()..].to_owned();
    assert_eq!(story(&text), story(&found.stdout));
}

#[test]
fn a_replay_without_a_failure_is_not_a_pass() {
    check("replay-end", LOST, &["--replay", "v1:0*3,1*3,2*3"]).expect(
        3,
        &["not exhaustive: no failure so far in program.maz (replay), but only one schedule was run, to its end\n", "reads x=1 from step 2"],
    );
    check("replay-early", LOST, &["--replay", "v1:0"])
        .expect(3, &["but only one schedule was run, and worker[0], worker[1] could still go on\n"]);
    check("replay-nothing", LOST, &["--replay", "v1:"]).expect(3, &["no step was taken"]);
    check("replay-assumed", ALL_ASSUMED, &["--replay", "v1:0"]).expect(3, &["ended in a false assumption"]);
}

/// A typing error must not fill the memory; who wants a long schedule may have it, as the printed command
/// does.
#[test]
fn a_schedule_has_as_many_steps_as_executions_may_have() {
    let too_long = check("replay-long", ENDLESS, &["--replay", "v1:0*11", "--max-depth", "10"]);
    too_long.refused(&[
        "--replay: the schedule has 11 steps, but an execution has at most 10; --max-depth 11 allows it",
    ]);
    check("replay-long", ENDLESS, &["--replay", "v1:0*11"]).expect(3, &["11 events"]);
    let deep = "var x; process p { for i in 0..100000 { x = i; } assert x == 0; }";
    let found = check("replay-deep", deep, &["--max-depth", "200000"]);
    found.expect(1, &["--replay 'v1:0*100001' --max-depth 100001\n"]);
    check("replay-deep", deep, &["--replay", "v1:0*100001", "--max-depth", "100001"])
        .expect(1, &["assertion"]);
}

#[test]
fn a_schedule_may_be_in_a_file() {
    let place = Place::new("replay-file", "program.maz", LOST);
    std::fs::write(place.directory.join("schedule"), "v1:0*3,1*3,2*3\n").unwrap();
    place.run(&["check", "program.maz", "--replay", "@schedule"]).expect(3, &["to its end"]);
}
