//! Each verdict, with its exit status and the lines that matter.

use std::io::Read;
use std::process::Stdio;

use crate::programs::*;
use crate::{Outcome, Place, check};

#[test]
fn a_program_without_failures_passes() {
    for algorithm in ["naive", "source", "optimal"] {
        check("pass", ATOMIC, &["--algorithm", algorithm])
            .expect(0, &[&format!("pass: no execution of program.maz fails ({algorithm})\n"), " complete, "]);
    }
    check("pass", ATOMIC, &[]).expect(0, &["executions: 6 complete, 0 blocked, 0 assumed;"]);
    check("pass", ATOMIC, &["--seed", "7"]).expect(0, &["executions: 6 complete, 0 blocked, 0 assumed;"]);
}

#[test]
fn parameters_are_given_after_two_dashes() {
    check("parameters", LOST, &["--", "--param", "n=1"]).expect(0, &["pass:"]);
    let line = "replay: mazurka check program.maz --replay 'v1:";
    let failing = check("parameters", LOST, &["--", "--param", "n=3"]);
    failing.expect(1, &[line, "' -- --param n=3\n", "worker[2]"]);
}

#[test]
fn every_kind_of_failure_is_found_by_every_algorithm() {
    for (at, (program, kind)) in FAILING.into_iter().enumerate() {
        for algorithm in ["naive", "source", "optimal"] {
            check(&format!("failing{at}"), program, &["--algorithm", algorithm]).expect(
                1,
                &[
                    &format!("failure: {kind} in program.maz ({algorithm})\n"),
                    &format!("\n\n{kind}"),
                    "\nreplay: mazurka check program.maz --replay 'v1:",
                ],
            );
        }
    }
}

#[test]
fn a_lost_increment_is_told_with_where_values_came_from() {
    check("lost", LOST, &[]).expect(
        1,
        &[
            "\nassertion failed: x == n (x = 1, n = 2): an increment was lost\n  at program.maz:12:5, in main\n",
            "worker[0]",
            "reads x=0 (initial)",
            "writes x=1",
            "\n> ",
            "(--keep-going looks for others)",
        ],
    );
}

#[test]
fn a_deadlock_is_told_with_its_cycle() {
    check("deadlock", DEADLOCK, &[]).expect(
        1,
        &[
            "deadlock: a waits at lock(right), b waits at lock(left)\n",
            "\nwaiting:\n  a  line 5   lock(right)  for lock right, held by b since line 11\n",
            "cycle: a -> b -> a\n",
        ],
    );
    check("never-sent", NEVER_SENT, &[]).expect(
        1,
        &["deadlock: receiver waits at receive 2\n", "\nwaiting:\n  receiver  line 4  receive 2  for "],
    );
}

#[test]
fn keep_going_collects_distinct_failures() {
    check("keep-going", TWO_FAILURES, &["--keep-going"]).expect(
        1,
        &[
            "failure: 2 different failures in program.maz (optimal)\n",
            "[1 of 2] assertion failed: r == ",
            "[2 of 2] assertion failed: r == ",
        ],
    );
}

#[test]
fn failures_that_differ_in_values_only_are_counted() {
    check("counted", LOST, &["--keep-going", "--", "--param", "n=4"]).expect(
        1,
        &[
            "failure: assertion in program.maz (optimal)\nexecutions: 576 complete",
            "  at program.maz:12:5, in main\n  seen in 552 executions, in some with other values; this is the first\n",
        ],
    );
}

#[test]
fn false_assumptions_are_counted_apart() {
    check("assumed", ALL_ASSUMED, &[])
        .expect(0, &["pass:", "0 complete, 0 blocked, 1 assumed", "note: an assumption was false in every"]);
}

#[test]
fn a_search_that_is_cut_is_not_a_pass() {
    let bounded = [
        (
            ENDLESS,
            &[][..],
            ", but the loop of p at program.maz:2:26, in which x changes, was cut after 1000 rounds; bound it or raise",
        ),
        (ENDLESS, &["--max-depth", "10"], ", but an execution was cut after 10 steps"),
        (ENDLESS, &["--max-depth", "10", "--keep-going"], ", but an execution was cut after 10 steps"),
        (HUGE, &["--timeout", "0.2"], ", but the time limit of 0.2 s was reached"),
        (HUGE, &["--max-executions", "1"], ", but the limit of 1 execution was reached"),
        (HUGE, &["--max-executions", "5"], ", but the limit of 5 executions was reached"),
        (HUGE, &["--max-memory", "1K"], ", but the memory limit of 1K was reached; --max-memory raises it\n"),
        (HUGE, &["--max-memory", "1001"], ", but the memory limit of 1001 bytes was reached"),
        (BOMB, &["--max-memory", "1M"], ", but the memory limit of 1M was reached"),
    ];
    for (program, options, line) in bounded {
        check("bounded", program, options)
            .expect(3, &["not exhaustive: no failure so far in program.maz (optimal)", line]);
    }
}

#[test]
fn a_failure_is_one_even_where_the_search_was_cut() {
    let both = "var x; process p { assert x == 1; while true { x += 2; } }";
    check("failure-and-cut", both, &["--keep-going", "--max-depth", "20"])
        .expect(1, &["failure: assertion", "an execution was cut after 20 steps"]);
}

#[test]
fn the_middle_of_a_long_execution_is_left_out() {
    check("long", LONG, &[]).expect(1, &["steps left out; --full-trace shows them\n"]);
    let full = check("long", LONG, &["--full-trace"]);
    full.expect(1, &[]);
    assert!(!full.stdout.contains("left out"), "{}", full.stdout);
}

#[test]
fn print_prints_a_program_that_prints_the_same() {
    let place = Place::new("print", "program.maz", LOST);
    let printed = place.run(&["print", "program.maz"]);
    printed.expect(0, &["process worker[i in 0..n] {\n    let r = x;\n"]);
    let again = Place::new("print-again", "program.maz", &printed.stdout).run(&["print", "program.maz"]);
    assert_eq!(again.stdout, printed.stdout);
}

#[test]
fn compare_prints_a_row_for_each_algorithm() {
    let place = Place::new("compare", "program.maz", ATOMIC);
    let compared = place.run(&["compare", "program.maz"]);
    compared.expect(
        0,
        &[
            "algorithm     complete  blocked  assumed  deadlocks",
            "\nnaive ",
            "\nsource ",
            "\noptimal ",
            "\ndata-centric ",
            "\nreads-from ",
            "time limit of 10 s",
        ],
    );
    let some = place.run(&["compare", "program.maz", "--algorithms", "optimal,source", "--timeout", "5"]);
    some.expect(0, &[]);
    assert!(!some.stdout.contains("naive"), "{}", some.stdout);
    let place = Place::new(
        "compare-refused",
        "program.maz",
        "var x; process p { await x == 1; } process q { x = 1; }",
    );
    place.run(&["compare", "program.maz"]).expect(
        0,
        &[
            "data-centric†         -        -",
            "† data-centric is refused: data-centric does not cover a step that waits",
        ],
    );
    let place = Place::new("compare-failing", "program.maz", LOST);
    place
        .run(&["compare", "program.maz", "--", "--param", "n=3"])
        .expect(1, &["an increment was lost (at program.maz:12:"]);
    let place = Place::new("compare-huge", "program.maz", HUGE);
    let traces = ["compare", "program.maz", "--algorithms", "naive,source,optimal", "--timeout", "0.1"];
    let cut = place.run(&traces);
    cut.expect(3, &["optimal† ", "† optimal is not exhaustive: the time limit of 0.1 s was reached"]);
}

#[test]
fn help_and_version_are_no_errors() {
    let place = Place::new("help", "program.maz", "");
    place.run(&["--help"]).expect(0, &["Usage: mazurka <COMMAND>"]);
    place.run(&["check", "--help"]).expect(
        0,
        &[
            "--replay <SCHEDULE>",
            "Exit status: 0 ",
            "  naive                   every interleaving\n",
            "  optimal                 each Mazurkiewicz trace exactly once (the default)\n",
            "Options for .c, .cc, .cpp, .cxx files, after --:\n      --races <RULE>              What accesses are that race",
            "  random                  random walks, for what is too large to be searched; never exhaustive\n",
        ],
    );
    place.run(&["--version"]).expect(0, &["mazurka 0."]);
}

/// A reader that has seen enough closes the pipe: no panic, and the status is still the verdict's.
#[test]
fn a_closed_pipe_is_no_error() {
    let place = Place::new("pipe", "program.maz", LONG);
    let mut child = place
        .command(&["check", "program.maz", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!((child.wait().unwrap().code(), stderr.as_str()), (Some(1), ""));
}

/// A report that can't be written must not look like a verdict.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let place = Place::new("full", "program.maz", ATOMIC);
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = place.command(&["check", "program.maz"]).stdout(full).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.starts_with("error: the report can't be written: "), "{stderr}");
}

/// Ctrl-C ends the search, not the command: what is known by then is reported.
#[cfg(target_os = "linux")]
#[test]
fn an_interrupted_search_reports_what_it_has() {
    let failing = HUGE.to_owned() + "process q { assert x == 0; }";
    for (name, program, arguments, status, part) in [
        (
            "interrupt-check",
            HUGE,
            &["check"][..],
            3,
            "not exhaustive: no failure so far in program.maz (optimal), but the search was interrupted\n",
        ),
        ("interrupt-json", HUGE, &["check", "--json"], 3, "\"reason\":\"the search was interrupted\""),
        ("interrupt-failing", &failing, &["check", "--keep-going"], 1, "\nthe search was interrupted\n"),
        (
            "interrupt-compare",
            HUGE,
            &["compare"],
            3,
            "\nnot run, because of the interruption: source, optimal, data-centric, reads-from\n",
        ),
    ] {
        let place = Place::new(name, "program.maz", program);
        let (command, options) = arguments.split_first().unwrap();
        let arguments = [&[*command, "program.maz"], options].concat();
        let Some(outcome) = interrupted(&place, &arguments) else { continue };
        outcome.expect(status, &[part]);
    }
}

/// What the command does that somebody interrupts after a while. None if whoever runs the tests wants Ctrl-C
/// to be ignored, for then it is.
#[cfg(target_os = "linux")]
pub fn interrupted(place: &Place, arguments: &[&str]) -> Option<Outcome> {
    let mut command = place.command(arguments);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    if !listens(child.id()) {
        child.kill().and_then(|()| child.wait()).unwrap();
        return None;
    }
    std::thread::sleep(std::time::Duration::from_millis(200));
    kill(child.id(), "INT");
    let output = child.wait_with_output().unwrap();
    Some(Outcome {
        status: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    })
}

#[cfg(target_os = "linux")]
fn kill(process: u32, signal: &str) {
    let status = std::process::Command::new("sh").arg("-c").arg(format!("kill -{signal} {process}")).status();
    assert!(status.unwrap().success());
}

/// Waits until a process has a handler for SIGINT. Gives false if it ignores it instead.
#[cfg(target_os = "linux")]
fn listens(process: u32) -> bool {
    const SIGINT: u64 = 1 << 1;
    let has = |status: &str, field: &str| {
        let mask = status.lines().find_map(|line| line.strip_prefix(field)).unwrap().trim();
        u64::from_str_radix(mask, 16).unwrap() & SIGINT != 0
    };
    loop {
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
        if has(&status, "SigCgt:") || has(&status, "SigIgn:") {
            return has(&status, "SigCgt:");
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

/// As published is never a pass: nothing failed, but that is all that is said. What fails, fails.
#[test]
fn algorithms_as_published() {
    let safe = "var x; process p { x = 5; } process q { x = 5; } process r { let a = x; }";
    for (algorithm, option, paper) in [
        ("source+context", "--as-published", "CAV'17, CDPOR1"),
        ("source+context", "--as-published=2", "CAV'17, CDPOR2"),
        ("source+context", "--as-published=3", "CAV'17, CDPOR3"),
        ("optimal+context", "--as-published", "ISSTA'19, ODPOR_cs:"),
        ("optimal+context+observers", "--as-published", "ISSTA'19, ODPOR_cs^ob:"),
    ] {
        let outcome = check("published", safe, &["--algorithm", algorithm, option]);
        assert_eq!(outcome.status, 3, "{}", outcome.stdout);
        let told = format!("{algorithm} as published");
        for part in ["not exhaustive: no failure so far", &told, paper, "can miss behaviours"] {
            assert!(outcome.stdout.contains(part), "{part}:\n{}", outcome.stdout);
        }
        let failing = "var x; process p { x = 1; } process q { assert x == 0; }";
        let outcome = check("published-failing", failing, &["--algorithm", algorithm, option, "--json"]);
        let value: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
        assert_eq!((outcome.status, &value["as_published"]), (1, &true.into()), "{value}");
        assert_eq!(
            (&value["algorithm"], &value["exhaustive"]),
            (&algorithm.into(), &false.into()),
            "{value}"
        );
    }
    let place = Place::new("published-compare", "program.maz", safe);
    let outcome = place.run(&[
        "compare",
        "program.maz",
        "--algorithms",
        "source+context,optimal+context",
        "--as-published",
    ]);
    assert_eq!(outcome.status, 0, "the sound one looked at everything:\n{}", outcome.stdout);
    assert_eq!(outcome.stdout.matches("can miss behaviours").count(), 4, "{}", outcome.stdout);
}
