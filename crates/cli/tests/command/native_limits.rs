//! Limits hold whatever a compiled program does, and who was ended is told as what it was.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::process::{Command, Stdio};

use crate::{Outcome, Place};

/// Checks a program. Says how many seconds of CPU time that took, since others use the machine too.
fn timed(test: &str, text: &str, more: &[&str]) -> (Outcome, f64) {
    let place = Place::new(&format!("native-limits-{test}"), "program.c", text);
    let output = Command::new("sh")
        .args(["-c", "\"$0\" \"$@\"; status=$?; times; exit $status", env!("CARGO_BIN_EXE_mazurka")])
        .args(["check", "program.c"])
        .args(more)
        .current_dir(&place.directory)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    // The last line is of the children of the shell: of the user's code, and of the system for it.
    let (stdout, times) = stdout.trim_end().rsplit_once('\n').unwrap();
    let outcome = Outcome {
        status: output.status.code().unwrap_or(-1),
        stdout: stdout.to_owned(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    };
    (outcome, times.split(' ').map(seconds).sum())
}

/// As `times` writes it: `1m2.50s`.
fn seconds(text: &str) -> f64 {
    let (minutes, rest) = text.trim_end_matches('s').split_once('m').unwrap();
    minutes.parse::<f64>().unwrap() * 60.0 + rest.replace(',', ".").parse::<f64>().unwrap()
}

const ENDLESS: [(&str, &str); 4] = [
    ("alone", "int main(void) { for (;;) {} }"),
    ("without-an-access", "static void work(void) { for (;;) {} }"),
    ("with-accesses", "static void work(void) { for (volatile unsigned i = 0;; i++) {} }"),
    (
        "of-long-steps",
        "#include <stdatomic.h>
        atomic_int steps;
        static void work(void) { for (;;) { steps++; for (volatile int i = 0; i < 20000000; i++) {} } }",
    ),
];

/// A program whose thread works while `main` waits, unless it has a `main`.
fn program(text: &str) -> String {
    if text.contains("main") {
        return text.to_owned();
    }
    format!(
        "#include <pthread.h>
        {text}
        static void *run(void *unused) {{ work(); return unused; }}
        int main(void) {{ pthread_t t; pthread_create(&t, 0, run, 0); pthread_create(&t, 0, run, 0); pthread_join(t, 0); }}"
    )
}

#[test]
fn a_time_limit_ends_a_step_that_does_not_end() {
    for (name, text) in ENDLESS {
        let (outcome, time) = timed(name, &program(text), &["--timeout", "0.5"]);
        outcome.expect(3, &["not exhaustive", "the time limit of 0.5 s was reached"]);
        assert!(time < 4.0, "{name}: {time} s");
    }
}

/// What went wrong before the time was up is told, although its execution does not come to an end.
#[test]
fn a_failure_before_a_time_limit_is_told() {
    let text = program(
        "#include <stdatomic.h>
        int count; atomic_int late;
        static void work(void) { count++; if (late++) for (;;) {} }",
    );
    let (outcome, time) = timed("told", &text, &["--timeout", "2", "--", "--patience=3"]);
    outcome.expect(1, &["failure: data-race", "replay: mazurka check"]);
    assert!(time < 9.0, "{time} s");
}

/// To tell a hang takes no second look at it: the report, with schedule and trace, comes as soon as it was
/// found.
#[test]
fn a_hang_costs_its_patience_once() {
    let text = program(
        "#include <stdatomic.h>
        atomic_int late;
        static void work(void) { if (late++) for (;;) {} }",
    );
    let (outcome, time) = timed("patience", &text, &["--", "--patience=2"]);
    let parts =
        ["failure: hang", "has run for 2 s without coming to an operation", "was at program.c:", "late"];
    outcome.expect(1, &parts);
    assert!(time < 4.0, "{time} s");
}

/// What the program takes counts, and not only what the search keeps.
#[test]
fn a_memory_limit_counts_the_memory_of_the_program() {
    let text = program(
        "#include <stdlib.h>
        #include <string.h>
        static void work(void) { for (int i = 0; i < N; i++) memset(malloc(1 << 20), 1, 1 << 20); }",
    );
    let (outcome, _) = timed("memory", &text, &["--max-memory", "64M", "--", "-DN=200"]);
    outcome.expect(3, &["not exhaustive", "the memory limit of 64M was reached; --max-memory raises it"]);
    let (outcome, _) = timed("enough", &text, &["--max-memory", "1G", "--", "-DN=5"]);
    outcome.expect(0, &["pass"]);
}
