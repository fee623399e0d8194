//! Programs of active objects.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::json::check_object;
use crate::programs::*;
use crate::{Outcome, Place};

fn check(test: &str, text: &str, more: &[&str]) -> Outcome {
    Place::new(test, "program.abs", text).run(&[&["check", "program.abs"], more].concat())
}

fn examples() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/abs");
    let files = std::fs::read_dir(directory).unwrap().map(|file| file.unwrap().path());
    let mut files: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|e| e == "abs")).collect();
    files.sort();
    files
}

/// Every shipped program says in a line `// expect: ...` what is to be expected of it, and that is what is
/// found.
#[test]
fn examples_do_what_they_say() {
    assert!(examples().len() >= 7);
    for path in examples() {
        let text = std::fs::read_to_string(&path).unwrap();
        let expected = text.lines().find_map(|line| line.strip_prefix("// expect: ")).unwrap();
        for options in [
            &["--algorithm", "naive"][..],
            &["--algorithm", "source"],
            &["--algorithm", "optimal"],
            &["--algorithm", "optimal", "--", "--dependence", "static"],
        ] {
            let outcome = check("abs-examples", &text, &[&["--json", "--keep-going"], options].concat());
            let value = check_object(&outcome);
            let failures = value["failures"].as_array().unwrap();
            match expected.strip_prefix("failure ") {
                None => assert_eq!((expected, outcome.status), ("pass", 0), "{} {options:?}", path.display()),
                Some(kind) => {
                    assert!(
                        failures.iter().any(|failure| failure["kind"] == kind),
                        "{}: {value}",
                        path.display()
                    );
                    assert_eq!(outcome.status, 1);
                }
            }
        }
    }
}

/// The tutorial's count: six executions without reduction, of which two are deadlocks.
#[test]
fn the_database_without_reduction() {
    let all = ["--algorithm", "naive", "--keep-going", "--json", "--", "--final-states", "--traces"];
    let value = check_object(&check("abs-database", ABS_DATABASE, &all));
    assert_eq!((&value["executions"], &value["deadlocks"]), (&6.into(), &2.into()));
    assert_eq!(value["failures"].as_array().unwrap().len(), 1);
    let states = &value["final_states"];
    assert_eq!((&states["count"], &states["more"]), (&3.into(), &false.into()));
    let deadlock =
        &states["states"].as_array().unwrap().iter().find(|state| state["deadlock"] == true).unwrap();
    assert_eq!(deadlock["executions"], 2);
    assert_eq!(deadlock["terms"][0], "object(DBImp_1,'DBImp',[field(content,SomeData),field(client,null)])");
    let traces = value["traces"]["executions"].as_array().unwrap();
    assert_eq!((traces.len(), &value["traces"]["left_out"]), (6, &0.into()));
    assert_eq!(traces.iter().filter(|trace| trace["deadlock"] == true).count(), 2);
    assert!(traces.iter().all(|trace| trace["trace"][0]["name"] == "main"));
}

#[test]
fn printed_schedules_give_the_failure_again() {
    for (text, kind) in [(ABS_DATABASE, "deadlock"), (ABS_ACCOUNT, "assertion"), (ABS_UNCAUGHT, "arithmetic")]
    {
        let found = check_object(&check("abs-replay", text, &["--json"]));
        assert_eq!(found["failures"][0]["kind"], kind);
        let schedule = found["failures"][0]["schedule"].as_str().unwrap();
        let again = check("abs-replay", text, &["--json", "--replay", schedule, "--", "--final-states"]);
        let again = check_object(&again);
        assert_eq!(again["failures"][0]["message"], found["failures"][0]["message"]);
        assert_eq!(again["final_states"]["count"], u64::from(again["executions"] == 1));
    }
}

#[test]
fn options_change_what_is_run() {
    let complete = |options: &[&str]| -> Value {
        let all = [&["--json", "--keep-going", "--"], options].concat();
        check_object(&check("abs-options", CAV18, &all))["executions"].clone()
    };
    assert_eq!(complete(&[]), 4);
    assert_eq!(complete(&["--dependence", "dynamic"]), 4);
    assert_eq!(complete(&["--dependence", "static"]), 6);
    assert_eq!(complete(&["--tasks", "fifo"]), 1);
    assert_eq!(complete(&["--tasks", "lifo"]), 1);
    check(
        "abs-param",
        ABS_PASS,
        &["--", "--param", "n=1 + 2", "--await", "continue", "--objects", "circular"],
    )
    .expect(0, &["pass:"]);
    check("abs-param", ABS_PASS, &["--", "--param", "n=True"]).refused(&["error: ", "--param n:1:1"]);
    // Forgiven, the object that threw goes on.
    check("abs-uncaught", ABS_UNCAUGHT, &["--", "--uncaught", "forgive"]).expect(1, &["failure: arithmetic"]);
}

const CAV18: &str = include_str!("../../../../bench/abs/cav18.abs");

#[test]
fn dialects() {
    let old = "module M; interface I { Unit m(); } class C implements I { Unit m() { skip; } }
               { I o = new cog C(); Fut<Unit> f = o!m(); f.get; }";
    check("abs-legacy", old, &[]).expect(0, &["pass:"]);
    check("abs-legacy", old, &["--", "--dialect", "legacy"]).expect(0, &["pass:"]);
    check("abs-legacy", old, &["--", "--dialect", "current"]).refused(&["error: ", "program.abs:2:"]);
}

#[test]
fn several_files_are_one_program() {
    let place = Place::new(
        "abs-files",
        "a.abs",
        "module A; export *; interface I { Unit m(); } class C implements I { Unit m() { assert False; } }",
    );
    let main = "module B; import * from A; { I o = new C(); Fut<Unit> f = o!m(); f.get; }";
    std::fs::write(place.directory.join("b.abs"), main).unwrap();
    let both = place.run(&["check", "a.abs", "b.abs"]);
    both.expect(
        1,
        &["failure: assertion in a.abs, b.abs (optimal)", "replay: mazurka check a.abs b.abs --replay 'v1:"],
    );
    place.run(&["compare", "a.abs", "b.abs"]).expect(
        1,
        &[
            "a.abs, b.abs\n",
            "† data-centric is refused: data-centric does not cover ABS, whose steps read many fields",
        ],
    );
    place
        .run(&["compare", "a.abs", "b.abs", "--algorithms", "data-centric"])
        .refused(&["does not cover ABS"]);
    place.run(&["check", "b.abs"]).refused(&["error: ", "b.abs:1:"]);
    place.run(&["check", "a.abs"]).refused(&["error: ", "main block"]);
    std::fs::write(place.directory.join("c.maz"), ATOMIC).unwrap();
    place.run(&["check", "a.abs", "c.maz"]).refused(&["the files of one program are of one kind"]);
}

#[test]
fn what_is_not_supported_or_wrong_is_refused() {
    for (options, part) in [
        (&["--", "--param", "n"][..], "expected NAME=VALUE"),
        (&["--", "--param", "n=1", "--param", "n=2"], "--param n is given twice"),
        (&["--", "--param", "m=1"], "error: "),
        (&["--", "--dependence", "exact"], "expected static or dynamic"),
        (&["--", "--tasks", "random"], "expected any or fifo or lifo"),
        (&["--", "--nonsense"], "Usage: mazurka check FILE.abs"),
        (&["--", "--svg", "no/such/place.svg"], "no/such/place.svg: the diagram can't be written"),
        (&["--algorithm", "source", "--", "--dependence", "dynamic"], "source needs to know before a step"),
        (&["--replay", "v1:0,7"], "there is no process 7 at this point"),
    ] {
        check("abs-refused", ABS_PASS, options).refused(&["error: ", part]);
    }
    let place = Place::new("abs-refused-too", "program.abs", ABS_PASS);
    place.run(&["print", "program.abs"]).refused(&["program.abs: print is not supported for .abs files"]);
    place
        .run(&["compare", "program.abs", "--", "--final-states"])
        .refused(&["--final-states is for mazurka check, not for compare"]);
    let timed = "module M; class C { Unit m() { await duration(1, 1); } } { skip; }";
    check("abs-timed", timed, &[]).refused(&["error: ", "program.abs:1:", "not supported"]);
    let wrong = check_object(&check("abs-json", ABS_WRONG, &["--json"]));
    assert_eq!(wrong["error"]["kind"], "input");
    assert!(wrong["error"]["location"].as_str().unwrap().starts_with("program.abs:4:"), "{wrong}");
    assert!(wrong["error"]["diagnostics"].as_array().unwrap().len() > 1, "{wrong}");
}

#[test]
fn a_diagram_is_drawn() {
    let drawn = |text: &str, more: &[&str], says: &str, has: &str| {
        let place = Place::new("abs-svg", "program.abs", text);
        let outcome = place.run(&[&["check", "program.abs"], more, &["--", "--svg", "a.svg"]].concat());
        assert!(outcome.stdout.contains(&format!("note: a.svg shows {says}\n")), "{}", outcome.stdout);
        let svg = std::fs::read_to_string(place.directory.join("a.svg")).unwrap();
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n") && svg.contains(has), "{svg}");
    };
    drawn(ABS_DATABASE, &[], "the failure", ">waiting for ever:<");
    drawn(ABS_ACCOUNT, &[], "the failure", ">throws AssertionFailException<");
    drawn(ABS_PASS, &[], "the first execution", ">CellImp_1<");
    drawn(ABS_PASS, &["--replay", "v1:0"], "the schedule", ">1 segment of 1 object<");
}

#[test]
fn many_executions_are_told_up_to_a_limit() {
    let text = include_str!("../../../../bench/abs/pi.abs");
    check("abs-traces", text, &["--", "--traces"]).expect(
        0,
        &[
            "execution 1 of 120: v1:",
            "execution 100 of 120: ",
            "only the first 100 of 120 complete executions are told\n",
        ],
    );
}
