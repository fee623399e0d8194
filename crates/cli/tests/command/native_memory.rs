//! Memory that is not the program's to access: a failure with its schedule and trace. And memory that is.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use serde_json::Value;

use crate::Place;

const BEGIN: &str = "#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
";

const END: &str = "
static void *run(void *unused) { work(); return unused; }
int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, run, 0);
  pthread_join(thread, 0);
  return 0;
}
";

/// The report on a program, as JSON.
fn report(name: &str, text: &str, more: &[&str]) -> Value {
    let file = if text.contains("#include <array>") { "program.cpp" } else { "program.c" };
    let place = Place::new(&format!("native-memory-{name}"), file, format!("{BEGIN}{text}"));
    let outcome = place.run(&[&["check", file, "--json"], more].concat());
    let told = format!("{name}: {}{}", outcome.stdout, outcome.stderr);
    serde_json::from_str(&outcome.stdout).unwrap_or_else(|_| panic!("{told}"))
}

/// Checks that each program has a failure of kind `memory` with that message, a schedule, and a trace that leads to the line.
#[track_caller]
fn all_fail(rows: &[(&str, &str, &str)], more: &[&str]) {
    let mut wrong = Vec::new();
    for (name, message, text) in rows {
        let report = report(name, text, more);
        let failure = &report["failures"][0];
        let told = failure["message"].as_str().unwrap_or_default();
        let is_right = failure["kind"] == "memory"
            && told.contains(message)
            && failure["schedule"].as_str().is_some_and(|schedule| schedule.starts_with("v1:0"))
            && failure["location"].as_str().is_some_and(|location| location.starts_with("program.c"));
        if !is_right {
            wrong.push(format!("{name}: {report:#}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Checks that nothing is wrong with programs.
#[track_caller]
fn all_pass(rows: &[(&str, &str)], more: &[&str]) {
    let reports = rows.iter().map(|(name, text)| (name, report(name, text, more)));
    let wrong: Vec<String> = reports
        .filter(|(_, report)| report["verdict"] != "pass")
        .map(|(name, report)| format!("{name}: {report:#}"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A program with a thread that works.
fn with_thread<'a>(rows: &[(&'a str, &'a str, &str)]) -> Vec<(&'a str, &'a str, String)> {
    rows.iter().map(|&(name, message, text)| (name, message, format!("{text}{END}"))).collect()
}

fn borrowed<'a>(rows: &'a [(&'a str, &'a str, String)]) -> Vec<(&'a str, &'a str, &'a str)> {
    rows.iter().map(|(name, message, text)| (*name, *message, text.as_str())).collect()
}

#[test]
fn writes_of_foreign_memory() {
    let rows = with_thread(&[
        (
            "plain",
            "run writes to 0x700000000000, where it has no memory",
            "int *p = (int *)0x700000000000; void work(void) { *p = 1; }",
        ),
        (
            "atomic-store",
            "writes to 0x700000000000",
            "atomic_int *p = (atomic_int *)0x700000000000; void work(void) { atomic_store(p, 1); }",
        ),
        (
            "atomic-add",
            "writes to 0x700000000000",
            "atomic_int *p = (atomic_int *)0x700000000000; void work(void) { atomic_fetch_add(p, 1); }",
        ),
        (
            "atomic-exchange",
            "writes to 0x700000000000",
            "atomic_int *p = (atomic_int *)0x700000000000;
             void work(void) { int none = 0; atomic_compare_exchange_strong(p, &none, 1); }",
        ),
        ("memset", "writes to", "void work(void) { memset(strerror(1), 0, 4); }"),
        ("memcpy", "writes to", "int x; void work(void) { memcpy(getenv(\"PATH\"), &x, 4); }"),
        ("function", "writes work, which can't be written", "void work(void) { *(char *)&work = 0; }"),
        (
            "constant",
            "writes table, which can't be written",
            "const int table[2] = {1, 2}; void work(void) { *(int *)table = 0; }",
        ),
        ("literal", "which can't be written", "void work(void) { char *text = \"text\"; text[0] = 0; }"),
        ("mutex", "writes to", "void work(void) { pthread_mutex_lock((pthread_mutex_t *)strerror(1)); }"),
        (
            "all-behind",
            "writes 1099511627776 bytes from count on, where there are at most",
            "int count; size_t many = (size_t)1 << 40; void work(void) { memset(&count, 0, many); }",
        ),
        (
            "around",
            "reads 18446744073709551615 bytes from count on",
            "int count; size_t many = (size_t)-1; void work(void) { char text[8]; memcpy(text, &count, many); }",
        ),
    ]);
    all_fail(&borrowed(&rows), &[]);
}

#[test]
fn memory_that_may_be_written() {
    all_pass(
        &[(
            "arguments",
            "#include <assert.h>
             int main(int argc, char **argv) {
               assert(argc == 2 && !argv[2] && !strcmp(argv[1], \"word\"));
               argv[1][0] = 'W';
               strtok(argv[1], \"r\");
               argv[0] = argv[1];
               assert(!strcmp(argv[0], \"Wo\"));
               return 0;
             }",
        )],
        &["--", "--arg=word"],
    );
}
