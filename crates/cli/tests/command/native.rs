//! Programs in C and C++, as users check them.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::process::{Command, Stdio};

use serde_json::Value;

use crate::native_leftovers::{LONG, worker_of};
use crate::{Outcome, Place};

const LOST: &str = "#include <assert.h>
#include <pthread.h>
#include <stdio.h>
int count;
static void *add(void *unused) { int seen = count; count = seen + 1; return 0; }
int main(void) {
  pthread_t threads[2];
  for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, add, 0);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
  printf(\"%d\\n\", count);
  assert(count == 2);
  return 0;
}
";

fn check(test: &str, text: &str, more: &[&str]) -> Outcome {
    Place::new(test, "program.c", text).run(&[&["check", "program.c"], more].concat())
}

#[test]
fn a_race_is_a_failure_unless_it_is_not_to_be() {
    let outcome = check("native-race", LOST, &[]);
    assert_eq!(outcome.status, 1, "{}", outcome.stderr);
    assert!(outcome.stdout.starts_with("failure: data-race in program.c (optimal)"), "{}", outcome.stdout);
    assert!(outcome.stdout.contains("count"), "{}", outcome.stdout);
    let outcome = check("native-lost", LOST, &["--", "--races=sc"]);
    assert_eq!(outcome.status, 1, "{}", outcome.stderr);
    assert!(outcome.stdout.starts_with("failure: assertion in program.c (optimal)"), "{}", outcome.stdout);
    assert!(outcome.stdout.contains("at program.c:11:"), "{}", outcome.stdout);
    assert!(outcome.stdout.contains("the program printed: 1"), "{}", outcome.stdout);
}

#[test]
fn a_schedule_that_is_printed_can_be_replayed() {
    let place = Place::new("native-replay", "program.c", LOST);
    let outcome = place.run(&["check", "program.c", "--json", "--", "--races=sc"]);
    let report: Value = serde_json::from_str(&outcome.stdout).unwrap();
    let schedule = report["failures"][0]["schedule"].as_str().unwrap();
    let again = place.run(&["check", "program.c", "--replay", schedule, "--", "--races=sc"]);
    assert_eq!(again.status, 1, "{}", again.stderr);
    assert!(again.stdout.contains("assertion failed: count == 2"), "{}", again.stdout);
    let misfit = place.run(&["check", "program.c", "--replay", "v1:7", "--", "--races=sc"]);
    assert_eq!(misfit.status, 2, "{}", misfit.stdout);
}

#[test]
fn a_correct_program_passes_under_each_algorithm() {
    let text = LOST
        .replace("int seen = count; count = seen + 1;", "__atomic_fetch_add(&count, 1, __ATOMIC_SEQ_CST);");
    for algorithm in ["naive", "source", "optimal"] {
        let outcome = check("native-pass", &text, &["--algorithm", algorithm]);
        assert_eq!(outcome.status, 0, "{algorithm}: {}{}", outcome.stdout, outcome.stderr);
    }
    let place = Place::new("native-compare", "program.c", &text);
    let outcome = place.run(&["compare", "program.c", "--", "-DUNUSED=1"]);
    assert_eq!(outcome.status, 0, "{}{}", outcome.stdout, outcome.stderr);
    assert!(outcome.stdout.contains("optimal"), "{}", outcome.stdout);
}

#[test]
fn what_can_not_be_checked_is_said_in_a_sentence() {
    for (name, text, more, what) in [
        ("compiler", "int main(void) { return y; }", &[][..], "program.c:1:25"),
        ("fork", "#include <unistd.h>\nint main(void) { return fork(); }", &[], "program.c:2:"),
        ("main", "int f(void) { return 0; }", &[], "the program has no function `main`"),
        ("cc", LOST, &["--", "--cc=/nowhere/cc"], "--cc names `/nowhere/cc`, which can't be run"),
        ("races", LOST, &["--", "--races=perhaps"], "expected report or sc"),
        ("output", LOST, &["--", "-o", "x"], "`-o` can't be used here"),
    ] {
        let outcome = check(&format!("native-refused-{name}"), text, more);
        assert_eq!(outcome.status, 2, "{name}: {}", outcome.stdout);
        assert!(outcome.stderr.contains(what), "{name}: {}", outcome.stderr);
        assert_eq!(outcome.stdout, "", "{name}");
    }
    let place = Place::new("native-mixed", "program.c", LOST);
    std::fs::write(place.directory.join("other.maz"), "process p {}").unwrap();
    assert_eq!(place.run(&["check", "program.c", "other.maz"]).status, 2);
    assert_eq!(place.run(&["check", "missing.c"]).status, 2);
}

#[test]
fn several_files_are_one_program() {
    let place = Place::new(
        "native-files",
        "program.cpp",
        "extern \"C\" int value(void); int main() { return value() != N; }",
    );
    std::fs::write(place.directory.join("value.c"), "int value(void) { return N; }").unwrap();
    let outcome = place.run(&["check", "program.cpp", "value.c", "--", "-DN=5"]);
    assert_eq!(outcome.status, 0, "{}{}", outcome.stdout, outcome.stderr);
}

/// A worker that is ended takes no verdict with it.
#[test]
fn a_worker_that_dies_is_no_pass() {
    let place = Place::new("native-killed", "program.c", LONG);
    let command =
        place.command(&["check", "program.c"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let command = command.unwrap();
    let worker = worker_of(command.id());
    assert!(Command::new("kill").args(["-9", &worker.to_string()]).status().unwrap().success());
    let output = command.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{stderr}");
    assert!(
        stderr.contains("was killed from outside, by signal 9 (SIGKILL): there is no verdict"),
        "{stderr}"
    );
}

#[test]
fn a_worker_without_its_object_says_so() {
    let place = Place::new("native-worker", "program.c", LOST);
    let outcome = place.run(&["native-worker", "/nowhere/program.so", "1", "80", "0", "check", "program.c"]);
    assert_eq!(outcome.status, 2, "{}{}", outcome.stdout, outcome.stderr);
}
