//! C and C++ programs that use synchronisation wrongly, or rightly by a rule that others do not have.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use crate::{Outcome, Place};

fn check(test: &str, file: &str, text: &str, more: &[&str]) -> Outcome {
    Place::new(test, file, text).run(&[&["check", file], more].concat())
}

/// The status, and each part is in the report, whatever is between.
#[track_caller]
fn tells(outcome: &Outcome, status: i32, parts: &[&str]) {
    assert_eq!(outcome.status, status, "{}{}", outcome.stdout, outcome.stderr);
    for part in parts {
        assert!(outcome.stdout.contains(part), "no {part:?} in\n{}{}", outcome.stdout, outcome.stderr);
    }
}

const RELEASE_SEQUENCE: &str = "#include <pthread.h>
#include <stdatomic.h>
static int x;
static atomic_int y;
static void *release(void *unused) {
  x = 1;
  atomic_store_explicit(&y, 0, memory_order_release);
  atomic_store_explicit(&y, 1, memory_order_relaxed);
  return unused;
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, release, 0);
  if (atomic_load_explicit(&y, memory_order_acquire)) x = 2;
  pthread_join(thread, 0);
  return 0;
}
";

const RELEASE_SEQUENCE_CXX: &str = "#include <atomic>
#include <thread>
static int x;
static std::atomic<int> y;
int main() {
  std::thread thread([] {
    x = 1;
    y.store(0, std::memory_order_release);
    y.store(1, std::memory_order_relaxed);
  });
  if (y.load(std::memory_order_acquire)) x = 2;
  thread.join();
}
";

#[test]
fn release_sequences_are_those_of_the_standard() {
    let continues = "note: a relaxed store continues the release sequence of its own thread, as in ";
    for (standard, name) in [("-std=c11", "C11\n"), ("-std=gnu17", "C17\n"), ("-std=c2x", "C23\n")] {
        let outcome = check("release-sequence", "program.c", RELEASE_SEQUENCE, &["--", standard]);
        tells(&outcome, 0, &[continues, name]);
    }
    let of_cxx = |standard| check("release-sequence", "program.cc", RELEASE_SEQUENCE_CXX, &["--", standard]);
    tells(&of_cxx("-std=c++17"), 0, &[continues, "C++17\n"]);
    let ends = "note: a relaxed store ends the release sequence of its own thread, as in C++20\n";
    tells(&of_cxx("-std=c++20"), 1, &["data-race: x: ", ends]);
}

#[test]
fn where_files_are_of_different_standards_no_race_is_told_that_one_rules_out() {
    let place = Place::new("release-sequences", "program.cc", RELEASE_SEQUENCE_CXX);
    std::fs::write(place.directory.join("other.c"), "int other(void) { return 1; }\n").unwrap();
    // clang refuses to compile C for a standard of C++.
    let outcome = place.run(&["check", "program.cc", "other.c", "--", "--cc=gcc", "-std=c++20"]);
    tells(&outcome, 0, &["as in C17 and C++20, of which not all say so"]);
}

/// What is wrong, variables, what `main` does first, and what each of two threads does.
const WRONG: [(&str, &str, &str, &str); 11] = [
    (
        "pthread_mutex_lock: the mutex was never initialised",
        "static pthread_mutex_t *m;",
        "m = malloc(sizeof *m);",
        "pthread_mutex_lock(m); pthread_mutex_unlock(m);",
    ),
    (
        "pthread_rwlock_rdlock: the read-write lock was never initialised",
        "static pthread_rwlock_t *l;",
        "l = malloc(sizeof *l);",
        "pthread_rwlock_rdlock(l);",
    ),
    (
        "pthread_cond_signal: the condition variable was never initialised",
        "static pthread_cond_t *c;",
        "c = malloc(sizeof *c);",
        "pthread_cond_signal(c);",
    ),
    ("sem_wait: the semaphore was never initialised", "static sem_t s;", "", "sem_wait(&s);"),
    (
        "pthread_spin_lock: the spin lock was never initialised",
        "static pthread_spinlock_t s;",
        "",
        "pthread_spin_lock(&s); pthread_spin_unlock(&s);",
    ),
    (
        "a mutex is initialised while it is in use",
        "static pthread_mutex_t m;",
        "pthread_mutex_init(&m, 0); pthread_mutex_lock(&m);",
        "pthread_mutex_init(&m, 0);",
    ),
    (
        "a mutex is initialised while it is in use",
        "static pthread_mutex_t m;",
        "",
        "if (!pthread_mutex_trylock(&m)) { pthread_mutex_init(&m, 0); pthread_mutex_unlock(&m); }",
    ),
    (
        "a read-write lock is initialised while it is in use",
        "static pthread_rwlock_t l;",
        "pthread_rwlock_rdlock(&l);",
        "pthread_rwlock_init(&l, 0);",
    ),
    (
        "a spin lock is initialised while it is in use",
        "static pthread_spinlock_t s;",
        "pthread_spin_init(&s, 0); pthread_spin_lock(&s);",
        "pthread_spin_init(&s, 0);",
    ),
    (
        "a barrier is initialised while it is in use",
        "static pthread_barrier_t b; static atomic_int turn;",
        "pthread_barrier_init(&b, 0, 2);",
        "if (turn++) pthread_barrier_init(&b, 0, 2); else pthread_barrier_wait(&b);",
    ),
    (
        "a condition variable is initialised while it is in use",
        "static pthread_cond_t c; static pthread_mutex_t m; static atomic_int turn;",
        "",
        "if (turn++) pthread_cond_init(&c, 0); else { pthread_mutex_lock(&m); pthread_cond_wait(&c, &m); }",
    ),
];

fn with_two_threads(variables: &str, first: &str, work: &str) -> String {
    format!(
        "#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
{variables}
static void *work(void *unused) {{ {work} return unused; }}
int main(void) {{
  pthread_t threads[2];
  {first}
  for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, work, 0);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
  return 0;
}}
"
    )
}

#[test]
fn what_is_not_initialised_or_initialised_in_use_is_a_failure() {
    for (message, variables, first, work) in WRONG {
        let text = with_two_threads(variables, first, work);
        let outcome = check("wrong-sync", "program.c", &text, &["--keep-going"]);
        tells(
            &outcome,
            1,
            &[&format!("invalid-sync: {message}"), "replay: mazurka check program.c --replay"],
        );
    }
}

/// What looks alike, and is right.
const RIGHT: [(&str, &str, &str); 4] = [
    (
        "static pthread_mutex_t *m;",
        "m = calloc(1, sizeof *m);",
        "pthread_mutex_lock(m); pthread_mutex_unlock(m);",
    ),
    (
        "static pthread_mutex_t *m;",
        "m = malloc(sizeof *m); *m = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;",
        "pthread_mutex_lock(m); pthread_mutex_unlock(m);",
    ),
    (
        "static pthread_rwlock_t *l;",
        "l = malloc(sizeof *l); pthread_rwlock_init(l, 0);",
        "pthread_rwlock_wrlock(l); pthread_rwlock_unlock(l);",
    ),
    (
        "static void once(int left) { pthread_mutex_t m; pthread_mutex_init(&m, 0); pthread_mutex_lock(&m);
           if (left) once(left - 1); }",
        "",
        "once(1); once(1);",
    ),
];

#[test]
fn what_is_initialised_in_any_way_is_right() {
    for (variables, first, work) in RIGHT {
        let text = with_two_threads(variables, first, work);
        tells(&check("right-sync", "program.c", &text, &[]), 0, &["pass: "]);
    }
}

/// A program, what it ends with if that is wrong, and where.
const STATUSES: [(&str, &str); 4] = [
    (
        "int main(void) { start(); join(); return x == 2 ? 0 : 3; }",
        "exit-status: main returns 3\n  at program.c:13:",
    ),
    (
        "int main(void) { start(); join(); if (x != 2) exit(4); return 0; }",
        "exit-status: main ends the program with status 4\n  at program.c:13:",
    ),
    (
        "int main(void) { start(); join(); if (x != 2) _exit(5); return 0; }",
        "exit-status: main ends the program with status 5\n  at program.c:13:",
    ),
    ("int main(int n, char **v) { (void)v; return n + 255; }", ""),
];

const LOST_UPDATE: &str = "#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>
static atomic_int x;
static pthread_t threads[2];
static void *work(void *unused) { int seen = x; x = seen + 1; return unused; }
static void start(void) {
  for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, work, 0);
}
static void join(void) { for (int i = 0; i < 2; i++) pthread_join(threads[i], 0); }
void unused(void) { start(); join(); }
";

#[test]
fn a_status_that_is_not_zero_is_a_failure_unless_it_is_not_to_be() {
    for (main, told) in STATUSES {
        let text = format!("{LOST_UPDATE}{main}\n");
        let outcome = check("exit-status", "program.c", &text, &[]);
        match told {
            "" => tells(&outcome, 0, &["pass: "]),
            _ => tells(
                &outcome,
                1,
                &["failure: exit-status in program.c", told, "replay: mazurka check program.c"],
            ),
        }
        tells(&check("exit-status", "program.c", &text, &["--", "--exit-status=any"]), 0, &["pass: "]);
    }
    let outcome = check("exit-status", "program.c", LOST_UPDATE, &["--", "--exit-status=1"]);
    assert_eq!(outcome.status, 2);
    assert!(outcome.stderr.contains("expected zero or any"), "{}", outcome.stderr);
}

const WAIT_WITH_IF: &str = "#include <assert.h>
#include <pthread.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int ready;
static void *work(void *unused) {
  pthread_mutex_lock(&m);
  ready = 1;
  pthread_cond_signal(&c);
  pthread_mutex_unlock(&m);
  return unused;
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, work, 0);
  pthread_mutex_lock(&m);
  if (!ready) pthread_cond_wait(&c, &m);
  assert(ready);
  pthread_mutex_unlock(&m);
  pthread_join(thread, 0);
  return 0;
}
";

const WAIT_WITH_IF_CXX: &str = "#include <cassert>
#include <condition_variable>
#include <mutex>
#include <thread>
static std::mutex m;
static std::condition_variable c;
static bool ready;
int main() {
  std::thread thread([] { std::lock_guard<std::mutex> lock(m); ready = true; c.notify_one(); });
  {
    std::unique_lock<std::mutex> lock(m);
    if (!ready) c.wait(lock);
    assert(ready);
  }
  thread.join();
}
";

#[test]
fn a_wait_may_end_of_itself_if_it_is_asked_for() {
    let spared = "no wait at a condition variable ended of itself";
    for (file, text) in [("program.c", WAIT_WITH_IF), ("program.cc", WAIT_WITH_IF_CXX)] {
        let run = |text: &str, more: &[&str]| check("spurious-wakeups", file, text, more);
        tells(&run(text, &[]), 0, &["pass: ", "executions: 2 complete", spared]);
        let outcome = run(text, &["--", "--spurious-wakeups"]);
        tells(
            &outcome,
            1,
            &["failure: assertion in", "assertion failed: ready", "of itself", "-- --spurious-wakeups"],
        );
        assert!(!outcome.stdout.contains(spared), "{}", outcome.stdout);
        let with_loop = text.replace("if (!ready)", "while (!ready)");
        let outcome = run(&with_loop, &["--", "--spurious-wakeups"]);
        tells(&outcome, 0, &["pass: "]);
        assert!(!outcome.stdout.contains("executions: 2 complete"), "{}", outcome.stdout);
    }
    let nobody_waits = with_two_threads("", "", "");
    let outcome = check("spurious-wakeups", "program.c", &nobody_waits, &[]);
    assert!(!outcome.stdout.contains(spared), "{}", outcome.stdout);
}
