//! How the command talks: colours, and quietly.

use crate::json::check_object;
use crate::programs::*;
use crate::{Outcome, Place, check};

/// Whether anything is painted.
fn painted(outcome: &Outcome) -> bool {
    outcome.stdout.contains('\x1b') || outcome.stderr.contains('\x1b')
}

#[test]
fn colours_are_used_where_they_are_wanted() {
    let place = Place::new("colours", "program.maz", LOST);
    std::fs::write(place.directory.join("wrong.maz"), "process p { x = 1; }").unwrap();
    for (arguments, expected) in [
        (&["check", "program.maz"][..], false),
        (&["check", "program.maz", "--color", "auto"], false),
        (&["check", "program.maz", "--color=never"], false),
        (&["check", "program.maz", "--color", "always"], true),
        (&["check", "program.maz", "--colour", "always"], true),
        (&["check", "program.maz", "--color", "always", "--quiet"], true),
        (&["check", "program.maz", "--color", "always", "--json"], false),
        (&["check", "wrong.maz", "--color", "always"], true),
        (&["check", "wrong.maz", "--color", "never"], false),
        (&["compare", "program.maz", "--color", "always"], true),
        (&["compare", "program.maz"], false),
    ] {
        let outcome = place.run(arguments);
        assert_eq!(painted(&outcome), expected, "{arguments:?}:\n{}{}", outcome.stdout, outcome.stderr);
    }
}

/// What is said on the command line counts more than the environment.
#[test]
fn an_option_overrules_the_environment() {
    let place = Place::new("no-color", "program.maz", LOST);
    for (name, value) in [("NO_COLOR", "1"), ("TERM", "dumb")] {
        for (when, expected) in [("always", true), ("auto", false)] {
            let mut command = place.command(&["check", "program.maz", "--color", when]);
            let output = command.env(name, value).output().unwrap();
            assert_eq!(output.stdout.contains(&0x1b), expected, "{name}={value} --color {when}");
        }
    }
}

#[test]
fn a_terminal_has_colours_unless_no_color_is_set() {
    let place = Place::new("terminal", "program.maz", LOST);
    let on_terminal = |prefix: &str, options: &str| {
        let run = format!("{prefix} {} check program.maz {options}", env!("CARGO_BIN_EXE_mazurka"));
        // `script` gives its command a terminal.
        let mut command = std::process::Command::new("script");
        command.args(["-qec", &run, "/dev/null"]).current_dir(&place.directory).env("TERM", "xterm");
        let output = command.stdin(std::process::Stdio::null()).output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(text.contains("an increment was lost"), "{text}");
        Some(text.contains("\x1b[1;31m"))
    };
    for (prefix, options, expected) in [
        ("", "", true),
        ("NO_COLOR=1", "", false),
        ("", "--color never", false),
        ("NO_COLOR=1", "--color always", true),
    ] {
        let Some(painted) = on_terminal(prefix, options) else { return };
        assert_eq!(painted, expected, "{prefix} {options}");
    }
}

#[test]
fn a_quiet_pass_says_nothing() {
    for options in [&["--quiet"][..], &["-q"], &["--quiet", "--keep-going"]] {
        let outcome = check("quiet-pass", ATOMIC, options);
        assert_eq!((outcome.status, outcome.stdout.as_str(), outcome.stderr.as_str()), (0, "", ""));
    }
    let place = Place::new("quiet-compare", "program.maz", ATOMIC);
    let outcome = place.run(&["compare", "program.maz", "--quiet"]);
    assert_eq!((outcome.status, outcome.stdout.as_str(), outcome.stderr.as_str()), (0, "", ""));
}

#[test]
fn what_is_no_pass_is_said_quietly_too() {
    let outcome = check("quiet-failure", LOST, &["--quiet"]);
    assert_eq!(
        (outcome.status, outcome.stdout.as_str()),
        (
            1,
            "failure: assertion in program.maz (optimal)\n\
             assertion failed: x == n (x = 1, n = 2): an increment was lost\n  at program.maz:12:5, in main\n\
             replay: mazurka check program.maz --replay 'v1:0,1*3,0*2,2*3'\n"
        )
    );
    let outcome = check("quiet-cut", HUGE, &["--quiet", "--max-executions", "5"]);
    assert_eq!(
        (outcome.status, outcome.stdout.as_str()),
        (
            3,
            "not exhaustive: no failure so far in program.maz (optimal), but the limit of 5 executions was reached\n"
        )
    );
    let outcome = check("quiet-replay", LOST, &["--quiet", "--replay", "v1:0,1"]);
    assert_eq!((outcome.status, outcome.stdout.lines().count()), (3, 1), "{}", outcome.stdout);
    check("quiet-error", "process p { x = ; }", &["--quiet"]).refused(&["program.maz:1:17"]);
}

#[test]
fn a_quiet_comparison_says_what_is_no_pass() {
    let place = Place::new("quiet-compare-cut", "program.maz", HUGE);
    let outcome = place.run(&[
        "compare",
        "program.maz",
        "--algorithms",
        "source,optimal",
        "--quiet",
        "--max-executions",
        "5",
    ]);
    assert_eq!(
        (outcome.status, outcome.stdout.as_str()),
        (
            3,
            "not exhaustive: no failure so far in program.maz\n\
             \x20 source is not exhaustive: the limit of 5 executions was reached\n\
             \x20 optimal is not exhaustive: the limit of 5 executions was reached\n"
        )
    );
}

/// What machines read is all there.
#[test]
fn json_is_no_less_for_being_quiet() {
    let outcome = check("quiet-json", ATOMIC, &["--quiet", "--json", "--traces"]);
    outcome.expect(0, &[]);
    assert_eq!(check_object(&outcome)["traces"]["executions"].as_array().unwrap().len(), 6);
    let place = Place::new("quiet-csv", "program.maz", ATOMIC);
    let lines = |option: &str| {
        let outcome = place.run(&["compare", "program.maz", "--quiet", "--algorithms", "optimal", option]);
        outcome.expect(0, &[]);
        outcome.stdout.lines().count()
    };
    assert_eq!(lines("--csv"), 2);
    assert!(lines("--latex") > 5);
}

#[test]
fn a_picture_that_was_not_written_is_told_all_the_same() {
    let place = Place::new("quiet-picture", "program.maz", LOST);
    let outcome = place.run(&["check", "program.maz", "--quiet", "--svg", "/dev/full"]);
    assert_eq!(outcome.status, 1);
    assert!(outcome.stderr.starts_with("warning: /dev/full was not written: "), "{}", outcome.stderr);
    let outcome = place.run(&["check", "program.maz", "--quiet", "--svg", "a.svg"]);
    outcome.expect(1, &["replay: "]);
    assert!(std::fs::read_to_string(place.directory.join("a.svg")).unwrap().starts_with("<svg"));
}

/// Options of a front end that ask for a story are known only when it has read them.
#[test]
fn stories_of_a_front_end_are_refused_where_it_is_to_be_quiet() {
    let place = Place::new("quiet-abs", "program.abs", ABS_PASS);
    place
        .run(&["check", "program.abs", "--quiet", "--", "--traces"])
        .refused(&["--quiet tells no story, so it can't have --traces; leave one of them out\n"]);
    let outcome = place.run(&["check", "program.abs", "--quiet"]);
    assert_eq!((outcome.status, outcome.stdout.as_str()), (0, ""));
}

/// The worker that runs C programs is told what the command was.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[test]
fn c_programs_are_talked_of_in_the_same_way() {
    let text = "#include <assert.h>\n#include <pthread.h>\n#include <stdatomic.h>\natomic_int x;
static void *add(void *unused) { x = x + 1; return 0; }
int main(void) {
  pthread_t thread;
  int unused_variable;
  pthread_create(&thread, 0, add, 0);
  add(0);
  pthread_join(thread, 0);
  assert(x == EXPECTED || !STRICT);
  return 0;
}
";
    let place = Place::new("quiet-c", "program.c", text);
    let warned = ["-Wunused-variable", "-DEXPECTED=2", "-DSTRICT=0"];
    let outcome = place.run(&[&["check", "program.c", "--quiet", "--"][..], &warned].concat());
    assert_eq!((outcome.status, outcome.stdout.as_str(), outcome.stderr.as_str()), (0, "", ""));
    let failing = ["-DEXPECTED=2", "-DSTRICT=1"];
    let outcome =
        place.run(&[&["check", "program.c", "--color", "always", "-q", "--"][..], &failing].concat());
    outcome.expect(
        1,
        &["\x1b[1;31mfailure:\x1b[0m assertion in program.c (optimal)\n", "\x1b[1mreplay:\x1b[0m "],
    );
    assert_eq!(outcome.stdout.lines().count(), 4, "{}", outcome.stdout);
}
