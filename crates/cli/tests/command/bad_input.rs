//! Whatever is wrong with what users give is told, with exit status 2.

use std::fs::File;

use crate::programs::*;
use crate::{Place, check};

#[test]
fn files_that_are_no_programs() {
    for (text, parts) in [
        ("process p { x = ; }", &["error: ", "program.maz:1:17"][..]),
        ("process p { x = 1; }", &["error: ", "program.maz:1:13"]),
        ("var x; process p { x = yy; } process q { x = zz; }", &["program.maz:1:24", "program.maz:1:46"]),
        ("process p { unlock(m); }", &["program.maz:1:20"]),
        ("var x; var x; process p { skip; }", &["program.maz:1:12"]),
        ("/* never closed", &["program.maz:1:"]),
    ] {
        check("no-program", text, &[]).refused(parts);
    }
}

#[test]
fn an_empty_file_is_refused() {
    for text in ["", "\n", "// nothing but this", "var x; var y;"] {
        check("empty", text, &[]).refused(&["error: ", "declares no process"]);
    }
}

#[test]
fn deep_nesting_is_refused_without_a_crash() {
    let parentheses = format!("var x; process p {{ x = {}1{}; }}", "(".repeat(100_000), ")".repeat(100_000));
    let blocks =
        format!("var x; process p {{ {} x = 1; {} }}", "if x {".repeat(100_000), "}".repeat(100_000));
    let minus = format!("var x; process p {{ x = {}1; }}", "-".repeat(100_000));
    for text in [parentheses, blocks, minus] {
        check("deep", &text, &[]).refused(&["error: "]);
    }
}

#[test]
fn files_that_cant_be_read() {
    let place = Place::new("unreadable", "program.maz", b"var x;\n// \xc3\xa9\xe9\n");
    place
        .run(&["check", "program.maz"])
        .refused(&["program.maz:2:5: this is not text in UTF-8 (the byte 0xe9); save it as UTF-8"]);
    std::fs::write(place.directory.join("wide.maz"), b"\xff\xfev\0a\0r\0").unwrap();
    place.run(&["check", "wide.maz"]).refused(&["wide.maz: this is text in UTF-16; save it as UTF-8"]);
    place.run(&["check", "missing.maz"]).refused(&["error: missing.maz: there is no such file\n"]);
    place.run(&["check", "."]).refused(&["error: .: this is a directory, not a file\n"]);
    std::fs::create_dir_all(place.directory.join("directory.maz")).unwrap();
    place.run(&["check", "directory.maz"]).refused(&["directory.maz: this is a directory, not a file"]);
    let large = place.directory.join("large.maz");
    File::create(&large).unwrap().set_len(100 << 20).unwrap();
    place
        .run(&["check", "large.maz"])
        .refused(&["large.maz: the file is too large: a program has at most 16 MiB"]);
    std::fs::remove_file(large).unwrap();
}

#[test]
fn kinds_of_files_that_are_not_supported() {
    let place = Place::new("kinds", "program.maz", ATOMIC);
    for command in ["check", "compare", "print"] {
        place.run(&[command, "queue.rs"]).refused(&[
            "error: queue.rs: Rust is checked by its own tests, not by this command: in a test use the library mazurka in place \
             of std, write #[mazurka::test] above it, and run cargo test; docs/rust.md shows how\n",
        ]);
    }
    place
        .run(&["check", "queue.beam"])
        .refused(&["queue.beam: .beam files are not supported yet; programs are .maz, .abs, .c, "]);
    for file in ["program", "program.txt", "maz", ".maz"] {
        place.run(&["check", file]).refused(&["not a file of a known kind; programs are .maz, .abs, .c, "]);
    }
    place.run(&["check", "program.maz", "program.maz"]).refused(&["a .maz program is one file"]);
}

#[test]
fn options_that_mean_nothing() {
    for (options, part) in [
        (&["--algorithm", "fast"][..], "fast is not an algorithm; there are naive, source, optimal, "),
        (&["--algorithm", "optimal+context"], "has no sound form"),
        (&["--as-published"], "optimal has no form as published; source+context (versions 1 to 3), "),
        (&["--algorithm", "source+context", "--as-published=4"], "has no version 4; it has 1 to 3"),
        (&["--algorithm", "optimal+context", "--as-published=2"], "has no version 2; it has one"),
        (&["--algorithm", "source+context", "--as-published=x"], "invalid value 'x' for '--as-published"),
        (
            &["--timeout", "0"],
            "expected a number of seconds, such as 10 or 0.5; without --timeout there is no limit",
        ),
        (&["--timeout", "-1"], "expected a number of seconds"),
        (&["--timeout", "soon"], "expected a number of seconds"),
        (&["--max-memory", "5X"], "expected a number of bytes"),
        (&["--max-executions", "0"], "0 is not in 1.."),
        (&["--max-depth", "0"], "0 is not in 1.."),
        (&["--max-depth", "-1"], "invalid value '-1' for '--max-depth <N>'"),
        (&["--seed", "-1"], "invalid value '-1' for '--seed <N>'"),
        (&["--nonsense"], "unexpected argument '--nonsense'"),
        (&["--param", "n"], "expected NAME=VALUE"),
        (&["--param", "nn=1"], "program.maz: --param nn=1: the program has no such parameter"),
        (&["--param", "n=1", "--", "--param", "n=2"], "--param n is given twice"),
        (
            &["--param", "n=2..7"],
            "--param has several values, which make 6 programs; check is for one of them, compare for all",
        ),
        (&["--", "--param", "n=2,3"], "check is for one of them, compare for all"),
        (
            &["--color", "sometimes"],
            "invalid value 'sometimes' for '--color <WHEN>'\n  [possible values: auto, always, never]",
        ),
        (
            &["--quiet", "--traces"],
            "--quiet tells no story, so it can't have --traces; leave one of them out\n",
        ),
        (&["--quiet", "--final-states"], "so it can't have --final-states"),
        (&["--quiet", "--full-trace"], "so it can't have --full-trace"),
        (&["--", "--param", "n"], "expected NAME=VALUE"),
        (&["--", "--param", "=3"], "expected NAME=VALUE"),
        (&["--", "--param", "n="], "expected NAME=VALUE"),
        (&["--", "--param", "n=x"], "x is not a whole number"),
        (&["--", "--param", "n=99999999999999999999"], "is not a whole number of 64 bits"),
        (&["--", "--param", "n=1", "--param", "n=2"], "--param n is given twice"),
        (
            &["--", "--param", "nn=1"],
            "program.maz: --param nn=1: the program has no such parameter; it has one: n = 2\n",
        ),
        (
            &["--", "--param", "m=1", "--param", "n=2", "--param", "k=0"],
            "--param m=1 --param k=0: the program has no such",
        ),
        (
            &["--", "nonsense"],
            "unexpected argument 'nonsense' found\n\nUsage: mazurka check FILE.maz -- [--param NAME=VALUE] [--dead-variables]",
        ),
    ] {
        check("options", LOST, options).refused(&["error: ", part]);
    }
    check("options-none", DEADLOCK, &["--", "--param", "n=1"]).refused(&[
        "the program has no such parameter; it has none; `param n = 3;` at the top of it declares one",
    ]);
    check("options-some", "param a = 1, b;", &["--", "--param", "n=1"]).refused(&["program.maz:1:12"]);
    check("options-some", "param a = 1; param b = -a * 2; process p { skip; }", &["--", "--param", "n=1"])
        .refused(&["no such parameter; it has: a = 1, b = -a * 2\n"]);
    let place = Place::new("options-compare", "program.maz", LOST);
    place
        .run(&["compare", "program.maz", "--algorithms", "optimal,fast"])
        .refused(&["fast is not an algorithm"]);
    for (options, part) in [
        (&["--csv", "--json"][..], "the argument '--csv' cannot be used with '--json'"),
        (&["--csv", "--latex"], "cannot be used with"),
        (&["--param", "n=3..2"], "--param n=3..2: there is nothing from 3 to 2; the smaller end comes first"),
        (&["--param", "n=1..5000"], "--param n=1..5000: there are more than 1000 programs to compare"),
        (&["--param", "n=2..x"], "2..x is not a whole number of 64 bits"),
        (&["--param", "m=2..3"], "--param m=2: the program has no such parameter; it has one: n = 2"),
    ] {
        let outcome = place.run(&[&["compare", "program.maz"], options].concat());
        assert_eq!(outcome.status, 2, "{}", outcome.stdout);
        assert!(outcome.stderr.contains(part), "no {part:?} in\n{}", outcome.stderr);
    }
    place.run(&[]).refused(&["Usage: mazurka <COMMAND>"]);
    place.run(&["check"]).refused(&["required arguments were not provided"]);
    place.run(&["frobnicate"]).refused(&["unrecognized subcommand"]);
}

#[test]
fn schedules_that_are_none_or_do_not_fit() {
    for (program, schedule, part) in [
        (LOST, "", "--replay: not a schedule: expected \"v1:\""),
        (LOST, "v2:0", "not a schedule: expected \"v1:\" (the version of the schedule) at character 1"),
        (LOST, "v1:0,", "expected the number of a process at character 6"),
        (LOST, "v1:0*9999999999", "the schedule has 9999999999 steps, but an execution has at most 100000"),
        (LOST, "v1:0*100000000,x", "--max-depth 100000001 allows it"),
        (LOST, "v1:0*99999999999999999999", "expected how many steps"),
        (LOST, "v1:9", "step 1: there is no process 9 at this point"),
        (LOST, "v1:0.0", "step 1: there is no process 0.0 at this point"),
        (LOST, "v1:2", "step 1: main (2) can't go on: it waits at join(worker[i]) for the end of worker[0]"),
        (LOST, "v1:0*20", "worker[0] (0) can't go on: it has finished; a schedule fits only the program"),
        (LOST, "v1:0#1", "step 1: the step of worker[0] (0) has one outcome"),
        (CHOICE, "v1:0#3", "step 1: the step of p (0) has 3 outcomes, counted from 0; there is no #3"),
        (DEADLOCK, "v1:0,1,0", "step 3: a (0) can't go on: it waits at lock(right) for "),
        (LOST, "@missing", "missing: there is no such file"),
    ] {
        check("schedules", program, &["--replay", schedule]).refused(&["error: ", part]);
    }
}
