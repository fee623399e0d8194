//! What reports of C and C++ programs call things: by their names, and at the lines of the program itself.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use serde_json::Value;

use crate::{Outcome, Place};

fn check(test: &str, file: &str, text: &str, more: &[&str]) -> Outcome {
    Place::new(test, file, text).run(&[&["check", file], more].concat())
}

/// Each part is in the report, whatever is between.
#[track_caller]
fn tells(outcome: &Outcome, parts: &[&str]) {
    for part in parts {
        assert!(outcome.stdout.contains(part), "no {part:?} in\n{}{}", outcome.stdout, outcome.stderr);
    }
}

const NAMES: &str = "#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
struct node { int value; struct node *next; };
static struct node *head;
struct order { int *sum; int turn; };
static void *work(void *argument) {
  static int calls;
  struct order *order = argument;
  struct node *node = malloc(sizeof *node);
  node->value = order->turn;
  node->next = head;
  head = node;
  *order->sum += node->value;
  calls++;
  return 0;
}
static int both(void) {
  int sum = 0;
  struct order orders[2] = {{&sum, 1}, {&sum, 2}};
  pthread_t threads[2];
  for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, work, &orders[i]);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
  return sum;
}
int main(void) {
  int got = both();
  struct node *second = head->next;
  assert(!second || second->value > 0);
  assert(got == 3);
  return 0;
}
";

#[test]
fn locals_statics_and_blocks_have_names() {
    for compiler in compilers() {
        let cc = format!("--cc={compiler}");
        let outcome = check("native-names", "program.c", NAMES, &["--", "--races=sc", &cc]);
        assert_eq!(outcome.status, 1, "{}", outcome.stderr);
        tells(
            &outcome,
            &[
                "assertion failed: got == 3",
                "read sum of both in main",
                "sum of both in main=0 (initial)",
                "write node.value (allocated",
                "node.value (allocated at program.c:10)=1",
                "writes head=&node",
                "read work::calls",
                "pthread_create(work#2)",
            ],
        );
    }
}

/// Every compiler that is here: the best one, and gcc.
fn compilers() -> Vec<String> {
    let is_there = |name: &&str| {
        std::process::Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success())
    };
    ["clang", "clang-19", "gcc"].into_iter().filter(is_there).map(str::to_owned).collect()
}

#[test]
fn blocks_are_told_apart() {
    let text = "#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
struct cell { long a; long b; };
struct cell *cells[2];
void *raw;
static void *work(void *unused) { cells[1]->b = 5; ((char *)raw)[9] = 1; return 0; }
static struct cell *make(void) { return malloc(sizeof(struct cell)); }
int main(void) {
  for (int i = 0; i < 2; i++) cells[i] = make();
  raw = malloc(
      20);
  struct cell *row = calloc(3, sizeof(struct cell));
  pthread_t thread;
  pthread_create(&thread, 0, work, 0);
  cells[1]->b = 6;
  ((char *)raw)[9] = 2;
  assert(cells[1]->b == 5);
  free(row);
  row[2].a = 1;
  return 0;
}
";
    let outcome = check("native-blocks", "program.c", text, &["--keep-going", "--", "--races=sc"]);
    tells(&outcome, &["cell.b#2 (allocated", "byte 9 of 20 (allocated", "cells[1]->b == 5"]);
    tells(
        &outcome,
        &["a block of 48 bytes that was allocated at program.c:13, which was freed at program.c:19"],
    );
}

const MEMBERS: &str = "#include <memory>
#include <mutex>
#include <thread>
#include <vector>
struct Base { int depth = 0; };
struct Account : Base {
  int balance = 0;
  std::mutex mutex;
  void add(int amount) { balance += amount; }
};
static Account bank;
int main() {
  Account account;
  std::vector<int> list;
  list.reserve(4);
  auto *other = new Account;
  std::thread one([&] { account.add(1); bank.depth = 2; other->balance = 3; list.push_back(1); });
  std::thread two(&Account::add, &account, 2);
  bank.depth = 3;
  other->balance = 4;
  list.push_back(2);
  one.join();
  two.join();
  delete other;
  return 0;
}
";

#[test]
fn members_of_classes_have_names_and_lines_are_those_of_the_program() {
    let outcome = check("native-members", "program.cpp", MEMBERS, &["--keep-going"]);
    assert_eq!(outcome.status, 1, "{}", outcome.stderr);
    tells(
        &outcome,
        &[
            "data-race: account.balance of main: ",
            "data-race: bank.depth: lambda of main writes it at program.cpp:17, main writes it at program.cpp:19",
            "data-race: other.balance (allocated at program.cpp:16): ",
            "data-race: list of main: main writes it at program.cpp:21, lambda of main reads it at program.cpp:17",
            "pthread_create(Account::add)",
        ],
    );
    assert!(!outcome.stdout.contains("/usr/"), "{}", outcome.stdout);
}

#[test]
fn leaks_are_warnings() {
    let text = "#include <pthread.h>
#include <stdlib.h>
#include <string.h>
struct link { struct link *next; };
static struct link *kept;
static void *work(void *unused) {
  char *lost = malloc(24);
  lost[0] = 1;
  return malloc(8);
}
int main(void) {
  for (int i = 0; i < 3; i++) {
    struct link *link = malloc(sizeof *link);
    link->next = kept;
    kept = link;
  }
  pthread_t thread;
  void *result;
  pthread_create(&thread, 0, work, 0);
  pthread_join(thread, &result);
  free(result);
  char *copy = strdup(\"lost\");
  return copy[0] == 0;
}
";
    let outcome = check("native-leak", "program.c", text, &[]);
    assert_eq!(outcome.status, 0, "{}{}", outcome.stdout, outcome.stderr);
    let warnings: Vec<&str> = outcome.stdout.lines().filter(|line| line.starts_with("warning")).collect();
    assert_eq!(
        warnings,
        [
            "warning: memory leak: 24 bytes in 1 block, allocated at program.c:7:16, are never freed, and nothing points to \
             them",
            "warning: memory leak: 5 bytes in 1 block, allocated at program.c:22:16, are never freed, and nothing points to \
             them",
        ]
    );
    let outcome = check("native-leak", "program.c", text, &["--json"]);
    let report: Value = serde_json::from_str(&outcome.stdout).unwrap();
    let leaks = &report["leaks"];
    assert_eq!(
        (leaks[0]["location"].as_str(), leaks[0]["bytes"].as_u64()),
        (Some("program.c:7:16"), Some(24))
    );
    assert_eq!((leaks[1]["blocks"].as_u64(), leaks.as_array().map(Vec::len)), (Some(1), Some(2)));
    let freed = "#include <stdlib.h>\nint main(void) { free(malloc(7)); return 0; }";
    let outcome = check("native-no-leak", "program.c", freed, &["--json"]);
    assert!(!outcome.stdout.contains("leaks"), "{}", outcome.stdout);
}

/// Who calls `exit` has not left the functions that it is in.
#[test]
fn what_the_frames_of_who_exits_point_to_is_no_leak() {
    let text = "#include <pthread.h>
#include <stdlib.h>
static void *work(void *unused) { return 0; }
static void end(void) {
  int *inner = malloc(4);
  *inner = 0;
  exit(*inner);
}
int main(void) {
  pthread_t thread;
  int *outer = malloc(8);
  pthread_create(&thread, 0, work, 0);
  pthread_join(thread, 0);
  *outer = 3;
  if (*outer == 3) end();
  return *outer;
}
";
    let outcome = check("native-exit-leak", "program.c", text, &[]);
    outcome.expect(0, &["pass"]);
    assert!(!outcome.stdout.contains("leak"), "{}", outcome.stdout);
}

/// A node that is lost when two threads put theirs into a list at once, and is not otherwise.
#[test]
fn a_leak_of_some_executions_is_found() {
    let text = "#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
static _Atomic(char *) slot;
static void *put(void *unused) { if (!slot) slot = malloc(10); return 0; }
int main(void) {
  pthread_t threads[2];
  for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, put, 0);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
  return 0;
}
";
    for algorithm in ["optimal", "optimal+observers", "source"] {
        let outcome = check("native-some-leak", "program.c", text, &["--algorithm", algorithm]);
        assert_eq!(outcome.status, 0, "{}{}", outcome.stdout, outcome.stderr);
        tells(&outcome, &["warning: memory leak: 10 bytes in 1 block, allocated at program.c:5:"]);
    }
}

#[test]
fn what_an_algorithm_can_not_have_is_said_before_anything_runs() {
    let waits = "#include <pthread.h>
static pthread_mutex_t mutex;
static pthread_cond_t condition;
static int ready;
static void *work(void *unused) {
  pthread_mutex_lock(&mutex);
  ready = 1;
  pthread_cond_signal(&condition);
  pthread_mutex_unlock(&mutex);
  return 0;
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, work, 0);
  pthread_mutex_lock(&mutex);
  while (!ready) pthread_cond_wait(&condition, &mutex);
  pthread_mutex_unlock(&mutex);
  return 0;
}
";
    for (algorithm, status) in [
        ("naive", 0),
        ("source", 2),
        ("optimal", 0),
        ("optimal+observers", 0),
        ("source+context", 2),
        ("convergent", 2),
        ("source+constraints", 2),
        ("convergent+constraints", 2),
        ("data-centric", 0),
        ("reads-from", 0),
        ("optimal+context", 2),
    ] {
        let outcome = check("native-algorithms", "program.c", waits, &["--algorithm", algorithm]);
        assert_eq!(outcome.status, status, "{algorithm}: {}{}", outcome.stdout, outcome.stderr);
        if status == 2 {
            assert_eq!((outcome.stdout.as_str(), outcome.stderr.lines().count()), ("", 1), "{algorithm}");
        }
    }
    let published = ["--algorithm", "source+context", "--as-published"];
    let outcome = check("native-algorithms", "program.c", waits, &published);
    assert_eq!(outcome.status, 2, "{}{}", outcome.stdout, outcome.stderr);
}
