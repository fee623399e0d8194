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
    let place = Place::new("unreadable", "program.maz", b"var x\xff;");
    place.run(&["check", "program.maz"]).refused(&["program.maz: this is not text in UTF-8: the byte at 5 "]);
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
    for kind in ["rs", "c", "abs", "beam"] {
        let file = format!("queue.{kind}");
        place
            .run(&["check", &file])
            .refused(&[&format!(".{kind} files are not supported yet; programs are .maz files")]);
    }
    for file in ["program", "program.txt", "maz", ".maz"] {
        place.run(&["check", file]).refused(&["not a file of a known kind; programs are .maz files"]);
    }
    place.run(&["check", "program.maz", "program.maz"]).refused(&["a .maz program is one file"]);
}

#[test]
fn options_that_mean_nothing() {
    for (options, part) in [
        (&["--algorithm", "fast"][..], "fast is not an algorithm; there are naive, source and optimal"),
        (&["--algorithm", "convergent"], "convergent is not supported yet"),
        (&["--algorithm", "optimal+context"], "has no sound form"),
        (&["--as-published"], "none of naive, source, optimal has an as-published form"),
        (&["--timeout", "-1"], "expected a number of seconds"),
        (&["--timeout", "soon"], "expected a number of seconds"),
        (&["--max-memory", "5X"], "expected a number of bytes"),
        (&["--max-executions", "0"], "0 is not in 1.."),
        (&["--max-depth", "0"], "0 is not in 1.."),
        (&["--nonsense"], "unexpected argument '--nonsense'"),
        (&["--param", "n=1"], "use '-- --param'"),
        (&["--", "--param", "n"], "expected NAME=VALUE"),
        (&["--", "--param", "n=x"], "x is not a whole number"),
        (&["--", "--param", "n=99999999999999999999"], "is not a whole number of 64 bits"),
        (&["--", "--param", "n=1", "--param", "n=2"], "--param n is given twice"),
        (&["--", "--param", "nn=1"], "nn"),
        (&["--", "nonsense"], "unexpected argument 'nonsense'"),
    ] {
        check("options", LOST, options).refused(&["error: ", part]);
    }
    let place = Place::new("options-compare", "program.maz", LOST);
    place
        .run(&["compare", "program.maz", "--algorithms", "optimal,fast"])
        .refused(&["fast is not an algorithm"]);
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
        (LOST, "v1:0*9999999999", "expected how many steps"),
        (LOST, "v1:9", "step 1: there is no process 9 at this point"),
        (LOST, "v1:0.0", "step 1: there is no process 0.0 at this point"),
        (LOST, "v1:2", "step 1: main (2) can't go on: it waits at join(worker[i]) for the end of worker[0]"),
        (LOST, "v1:0*20", "worker[0] (0) can't go on: it has finished"),
        (LOST, "v1:0#1", "step 1: the step of worker[0] (0) has one outcome"),
        (CHOICE, "v1:0#3", "step 1: the step of p (0) has 3 outcomes, counted from 0; there is no #3"),
        (DEADLOCK, "v1:0,1,0", "step 3: a (0) can't go on: it waits at lock(right) for "),
        (LOST, "@missing", "missing: there is no such file"),
    ] {
        check("schedules", program, &["--replay", schedule]).refused(&["error: ", part]);
    }
}
