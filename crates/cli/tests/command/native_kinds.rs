//! Each kind of failure of C and C++ programs is found in every run, with the same report.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::collections::BTreeMap;
use std::process::{Command, Stdio};

use mazurka_native::driver::{Request, build};
use mazurka_native::isolation::fix_addresses;
use mazurka_native::runtime::stub_assembly;
use serde_json::Value;

use crate::Place;

/// A program, the kind of failure that it has, and a part of its message.
struct Row {
    name: &'static str,
    kind: &'static str,
    message: &'static str,
    text: &'static str,
}

const ROWS: [Row; 15] = [
    Row {
        name: "assertion",
        kind: "assertion",
        message: "x != 2",
        text: "#include <assert.h>
#include <stdatomic.h>
atomic_int x;
void work(void) { int seen = x; x = seen + 1; }
void last(void) { assert(x != 2); }",
    },
    Row {
        name: "abort",
        kind: "panic",
        message: "calls abort",
        text: "#include <stdatomic.h>
#include <stdlib.h>
atomic_int x;
void work(void) { if (x++ == 1) abort(); }
void last(void) {}",
    },
    Row {
        name: "deadlock",
        kind: "deadlock",
        message: "pthread_mutex_lock(b)",
        text: "#include <stdatomic.h>
pthread_mutex_t a, b;
atomic_int turn;
void work(void) {
  int mine = turn++;
  pthread_mutex_lock(mine ? &a : &b);
  pthread_mutex_lock(mine ? &b : &a);
  pthread_mutex_unlock(&a);
  pthread_mutex_unlock(&b);
}
void last(void) {}",
    },
    Row {
        name: "data-race",
        kind: "data-race",
        message: "cells[1].count: run writes it",
        text: "struct { long used; int count; } cells[2];
void work(void) { cells[1].count++; }
void last(void) {}",
    },
    Row {
        name: "use-after-free",
        kind: "memory",
        message: "which was freed at program",
        text: "#include <stdatomic.h>
#include <stdlib.h>
_Atomic(int *) shared;
void work(void) {
  int *old = atomic_exchange(&shared, 0);
  if (!old) { shared = malloc(4); return; }
  free(old);
  *old = 1;
}
void last(void) {}",
    },
    Row {
        name: "double-free",
        kind: "memory",
        message: "already",
        text: "#include <stdlib.h>
pthread_mutex_t mutex;
void *block;
void work(void) {
  pthread_mutex_lock(&mutex);
  if (!block) block = malloc(12);
  free(block);
  pthread_mutex_unlock(&mutex);
}
void last(void) {}",
    },
    Row {
        name: "out-of-bounds",
        kind: "memory",
        message: "4 byte(s) past the end of a block of 8 bytes",
        text: "#include <stdatomic.h>
#include <stdlib.h>
atomic_int turn;
void work(void) { int *row = malloc(8); row[turn++ * 2] = 1; free(row); }
void last(void) {}",
    },
    Row {
        name: "unlock-by-another",
        kind: "invalid-sync",
        message: "unlocks a mutex that it has not locked",
        text: "pthread_mutex_t mutex;
void work(void) { if (!pthread_mutex_trylock(&mutex)) return; pthread_mutex_unlock(&mutex); }
void last(void) {}",
    },
    Row {
        name: "segfault",
        kind: "memory",
        message: "",
        text: "#include <stdatomic.h>
_Atomic(int *) shared;
int value;
void work(void) { int *old = atomic_exchange(&shared, 0); if (shared == 0 && old == 0) *old = 1; shared = &value; }
void last(void) {}",
    },
    Row {
        name: "division-by-zero",
        kind: "arithmetic",
        message: "",
        text: "#include <stdatomic.h>
atomic_int x = 1;
int result;
void work(void) { int seen = x--; if (seen == 0) result = 5 / seen; }
void last(void) {}",
    },
    Row {
        name: "stack-overflow",
        kind: "stack-overflow",
        message: "",
        text: "#include <stdatomic.h>
atomic_int x;
int deep(int n) { volatile char room[512]; room[0] = (char)n; return deep(n + 1) + room[0]; }
void work(void) { if (x++) deep(0); }
void last(void) {}",
    },
    Row {
        name: "livelock",
        kind: "livelock",
        message: "",
        text: "#include <stdatomic.h>
atomic_int go, x;
void work(void) { if (x++) while (!go) {} }
void last(void) {}",
    },
    Row {
        name: "exception",
        kind: "exception",
        message: "ends with an exception",
        text: "#include <atomic>
#include <stdexcept>
std::atomic<int> x;
void work() { if (x++ == 1) throw std::runtime_error(\"second\"); }
void last() {}",
    },
    Row {
        name: "destroyed",
        kind: "invalid-sync",
        message: "destroyed",
        text: "pthread_mutex_t mutex;
void work(void) { if (!pthread_mutex_trylock(&mutex)) pthread_mutex_unlock(&mutex); pthread_mutex_destroy(&mutex); }
void last(void) {}",
    },
    Row {
        name: "endless-loop",
        kind: "hang",
        message: "",
        text: "void work(void) {}
void last(void) { for (volatile int i = 0;; i++) {} }",
    },
];

const BEGIN: &str = "#include <pthread.h>\n";
const END: &str = "
static void *run(void *unused) { work(); return unused; }
int main(void) {
  pthread_t threads[2];
  for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, run, 0);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
  last();
  return 0;
}
";

/// Reports of so many runs of a program that was compiled once, without the times, each with how often it was
/// given.
fn reports(row: &Row, runs: usize) -> BTreeMap<String, usize> {
    let file = if row.kind == "exception" { "program.cpp" } else { "program.c" };
    let place =
        Place::new(&format!("native-kind-{}-{runs}", row.name), file, format!("{BEGIN}{}{END}", row.text));
    let request = Request { sources: vec![place.directory.join(file)], ..Request::default() };
    let built = build(&request, &stub_assembly()).unwrap_or_else(|error| panic!("{}: {error}", row.name));
    fix_addresses();
    let mut reports = BTreeMap::new();
    for _ in 0..runs {
        let output = Command::new(env!("CARGO_BIN_EXE_mazurka"))
            .arg("native-worker")
            .arg(&built.object)
            .args([
                &std::process::id().to_string(),
                "100",
                "0",
                "check",
                file,
                "--json",
                "--",
                "--patience=0.1",
            ])
            .current_dir(&place.directory)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        let mut report: Value = serde_json::from_str(&text)
            .unwrap_or_else(|_| panic!("{}: {text}{}", row.name, String::from_utf8_lossy(&output.stderr)));
        report.as_object_mut().unwrap().remove("seconds");
        *reports.entry(report.to_string()).or_default() += 1;
    }
    reports
}

fn check_all(runs: impl Fn(&Row) -> usize) {
    let mut wrong = Vec::new();
    for row in &ROWS {
        let runs = runs(row);
        let reports = reports(row, runs);
        let is_right = |text: &String| {
            let report: Value = serde_json::from_str(text).unwrap();
            let failure = &report["failures"][0];
            let message = failure["message"].as_str().unwrap_or_default();
            failure["kind"].as_str() == Some(row.kind) && message.contains(row.message)
        };
        println!("{}: {runs} runs, {} reports", row.name, reports.len());
        if reports.len() != 1 || !reports.keys().all(is_right) {
            wrong.push(format!("{}: {reports:#?}", row.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_kind_is_found_with_the_same_report() {
    check_all(|row| if row.kind == "hang" { 2 } else { 8 });
}

/// `cargo test -p mazurka-cli --test command -- --ignored every_kind` takes minutes.
#[test]
#[ignore = "takes minutes"]
fn every_kind_is_found_with_the_same_report_200_times() {
    check_all(|_| 200);
}
