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
    let (file, begin) = match text.contains("#include <array>") {
        true => ("program.cpp", ""),
        false => ("program.c", BEGIN),
    };
    let place = Place::new(&format!("native-memory-{name}"), file, format!("{begin}{text}"));
    let outcome = place.run(&[&["check", file, "--json"], more].concat());
    let told = format!("{name}: {}{}", outcome.stdout, outcome.stderr);
    serde_json::from_str(&outcome.stdout).unwrap_or_else(|_| panic!("{told}"))
}

/// Checks that each program has a failure of kind `memory` with that message, a schedule, and a trace that
/// leads to the line.
#[track_caller]
fn all_fail(rows: &[(&str, &str, &str)], more: &[&str]) {
    let mut wrong = Vec::new();
    for (name, message, text) in rows {
        let report = report(name, text, more);
        let failure = &report["failures"][0];
        let told = failure["message"].as_str().unwrap_or_default();
        let is_right = failure["kind"] == "memory"
            && told.contains(message)
            && failure["schedule"].as_str().is_some_and(|schedule| schedule.starts_with("v1:"))
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

/// Those of the compilers that are there, and how they are asked for.
fn compilers() -> impl Iterator<Item = &'static str> {
    let is_there = |compiler: &&str| {
        let name = compiler.trim_start_matches("--cc=");
        std::process::Command::new(name).arg("--version").output().is_ok()
    };
    ["--cc=clang-19", "--cc=gcc"].into_iter().filter(is_there)
}

#[test]
fn indices_outside_of_arrays() {
    let rows = with_thread(&[
        (
            "index-global",
            "run uses the index 4 of an array `int",
            "int row[4], after[4]; int at = 4; void work(void) { row[at] = after[0]; }",
        ),
        (
            "index-local",
            "uses the index -1 of an array",
            "int at = -1; int work(void) { int row[4] = {0}, after[4] = {0}; return row[at] + after[0]; }",
        ),
        (
            "index-member",
            "uses the index 3 of an array",
            "struct { int row[3]; int after; } s; unsigned char at = 3; void work(void) { s.row[at] = 1; }",
        ),
        (
            "index-row",
            "uses the index 4 of an array",
            "int table[2][4]; int at = 4; void work(void) { table[0][at] = 1; }",
        ),
    ]);
    for compiler in compilers() {
        all_fail(&borrowed(&rows), &["--", compiler]);
        all_fail(
            &[(
                "index-cxx",
                "main uses the index 5 of an array",
                "#include <array>\nstd::array<int, 4> row; int at = 5; int main() { row[at] = 1; }",
            )],
            &["--", compiler],
        );
    }
}

#[test]
fn accesses_between_variables() {
    let rows = with_thread(&[
        (
            "past-the-end",
            "run writes 4 byte(s) past the end of row",
            "int row[4] = {1}, after[4] = {1};
             static void set(int *to, int n) { for (int i = 0; i <= n; i++) to[i] = after[0]; }
             void work(void) { set(row, 4); }",
        ),
        (
            "before",
            "run reads 4 byte(s) before row",
            "int first[4], row[4];
             static int get(int *from, int at) { return from[at]; }
             int work(void) { return get(first, 0) + get(row, -1); }",
        ),
        (
            "string",
            "run writes 1 byte(s) past the end of work::text",
            "void work(void) { static char text[8]; strcpy(text, \"12345678\"); }",
        ),
        (
            "over-the-end",
            "run writes 4 byte(s) past the end of count",
            "int count; void work(void) { *(long *)&count = 1; }",
        ),
        (
            "atomic-past-the-end",
            "run writes 4 byte(s) past the end of row",
            "atomic_int row[2]; static void set(atomic_int *to) { atomic_fetch_add(to + 2, 1); }
             void work(void) { set(row); }",
        ),
    ]);
    for compiler in compilers() {
        all_fail(&borrowed(&rows), &["--", compiler]);
    }
}

#[test]
fn stacks_that_are_left() {
    let rows = [
        (
            "own-frame",
            "main writes a variable of a function of main that has returned",
            "static int *leave(void) { int local = 3; int *volatile it = &local; return it; }
             int main(void) { int *it = leave(); *it = 4; return 0; }",
        ),
        (
            "frame-of-another",
            "run writes a variable of a function of main that has returned",
            "static void *run(void *it) { *(int *)it = 1; return 0; }
             static pthread_t start(void) { int local = 0; pthread_t t; pthread_create(&t, 0, run, &local); return t; }
             int main(void) { pthread_t t = start(); pthread_join(t, 0); return 0; }",
        ),
        (
            "ended-thread",
            "main reads a variable on the stack of run, which has ended",
            "static void *run(void *unused) { int local = 5; int *volatile it = &local; return it; }
             int main(void) { pthread_t t; void *it; pthread_create(&t, 0, run, 0); pthread_join(t, &it); return *(int *)it; }",
        ),
        (
            "thread-local",
            "main reads a thread-local variable of run, which has ended",
            "static _Thread_local int local;
             static void *run(void *unused) { local = 1; return &local; }
             int main(void) { pthread_t t; void *it; pthread_create(&t, 0, run, 0); pthread_join(t, &it); return *(int *)it; }",
        ),
    ];
    for compiler in compilers() {
        all_fail(&rows, &["--", compiler]);
    }
}

#[test]
fn accesses_that_are_right() {
    let rows = [
        (
            "addresses-past-the-end",
            "int row[4], table[2][4];
             int main(void) {
               int local[3], *end = &local[3];
               for (int *it = local; it < end; it++) *it = 1;
               for (int *it = row; it != &row[4]; it++) *it = 1;
               for (int *it = &table[0][0]; it != &table[1][4]; it++) *it = 1;
               return 0;
             }",
        ),
        (
            "arrays-at-the-end-of-blocks",
            "struct one { int n; int rest[1]; };
             struct none { int n; int rest[]; };
             int main(void) {
               struct one *a = malloc(sizeof *a + 12);
               struct none *b = malloc(sizeof *b + 16);
               for (int i = 0; i < 4; i++) a->rest[i] = b->rest[i] = i;
               free(a);
               free(b);
               return 0;
             }",
        ),
        (
            "frames-that-are-there",
            "struct job { int n; int out[8]; };
             static void *run(void *it) {
               struct job *job = it;
               int some[job->n];
               for (int i = 0; i < job->n; i++) some[i] = i;
               memcpy(job->out, some, sizeof some);
               return job->out;
             }
             static int sum(int n, int *up) { int here = n; if (n) *up += sum(n - 1, &here); return here + *up; }
             int main(void) {
               struct job job = {4, {0}};
               pthread_t t;
               void *out;
               pthread_create(&t, 0, run, &job);
               pthread_join(t, &out);
               int none = 0;
               return ((int *)out)[3] != 3 || !sum(5, &none);
             }",
        ),
        (
            "sizes",
            "struct __attribute__((packed)) { unsigned x : 20, y : 4; } bits;
             struct __attribute__((packed)) { char c; long double d; } wide;
             struct { int n; int rest[]; } longer = {8, {1, 2, 3, 4, 5, 6, 7, 8}};
             struct three { char c[3]; } one, two;
             int *literal = (int[]){1, 2, 3};
             _Atomic char flag;
             int main(void) {
               bits.x = 7;
               bits.y = 3;
               wide.d += 1;
               one = two;
               flag++;
               int sum = 0;
               for (int i = 0; i < longer.n; i++) sum += longer.rest[i];
               return sum + (literal[2] = 1) != 37;
             }",
        ),
        (
            "after-the-end-of-main",
            "static void *run(void *it) { *(int *)it += 1; return 0; }
             int main(void) { int x = 0; pthread_t t; pthread_create(&t, 0, run, &x); return 0; }",
        ),
        (
            "containers",
            "#include <array>
             #include <iostream>
             #include <map>
             #include <memory>
             #include <sstream>
             #include <thread>
             struct Thing { virtual ~Thing() {} static inline int n = 3; std::string s{\"x\"}; };
             static std::map<int, std::string> names{{1, \"a\"}};
             static std::array<int, 4> row;
             static int &once() { static int value = Thing::n; return value; }
             int main() {
               auto it = std::make_shared<Thing>();
               std::thread t([it] { row[3] = once(); });
               t.join();
               std::ostringstream text;
               text << names[1] << row[3] << it->s;
               std::cout << text.str() << std::endl;
               return row.end() - row.begin() != 4;
             }",
        ),
    ];
    for compiler in compilers() {
        all_pass(&rows, &["--", compiler]);
        // All but the last, which takes long to compile.
        all_pass(&rows[..rows.len() - 1], &["--", compiler, "-O2"]);
    }
}
