//! C programs that bring functions of the library along, call what can't be had, or ask for the time.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use crate::{Outcome, Place};

/// The compilers that are here, as options.
pub fn compilers() -> Vec<String> {
    let here = |name: &&str| std::process::Command::new(name).arg("--version").output().is_ok();
    ["clang-19", "gcc"].into_iter().filter(here).map(|name| format!("--cc={name}")).collect()
}

/// Checks a program with each compiler that is here, and with these options after `--`.
fn check_with_all(test: &str, text: &str, options: &[&str], mut judge: impl FnMut(&Outcome)) {
    let name = if text.contains("std::") { "program.cpp" } else { "program.c" };
    let place = Place::new(&format!("native-own-{test}"), name, text);
    for compiler in compilers() {
        judge(&place.run(&[&["check", name, "--", &compiler], options].concat()));
    }
}

const OWN: &str = "#include <pthread.h>
#include <stdio.h>
extern void abort(void);
void reach_error() {}
int usleep(unsigned us) { return 7; }
void perror(const char *text) {}
void *memcpy(void *to, const void *from, unsigned long size) {
  for (char *t = to; size--; t++) *t = *(const char *)from + 1, from = (const char *)from + 1;
  return to;
}
int printf(const char *format, ...) { return 42; }
static void __VERIFIER_assert(int condition) { if (!condition) { reach_error(); abort(); } }
int x;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static void *add(void *unused) { pthread_mutex_lock(&m); x++; pthread_mutex_unlock(&m); return 0; }
int main(void) {
  pthread_t t;
  char to[2];
  memcpy(to, \"ab\", 2);
  perror(\"none\");
  __VERIFIER_assert(to[0] == 'b' && usleep(3) == 7 && printf(\"none\") == 42);
  pthread_create(&t, 0, add, 0);
  pthread_mutex_lock(&m);
  int seen = x;
  pthread_mutex_unlock(&m);
#ifdef BUG
  __VERIFIER_assert(seen == 0);
#endif
  pthread_join(t, 0);
  return 0;
}
";

#[test]
fn what_the_program_defines_is_used() {
    check_with_all("used", OWN, &[], |outcome| {
        outcome.expect(0, &["executions: 2 complete"]);
        assert!(!outcome.stdout.contains("printed"), "{}", outcome.stdout);
    });
}

#[test]
fn to_reach_an_error_is_a_failure_whatever_it_does() {
    check_with_all("error", OWN, &["-DBUG"], |outcome| {
        outcome.expect(1, &["assertion: the program reaches an error\n  at program.c:12:"]);
    });
}

/// As in the tasks of SV-COMP: a lock of two functions that are one step each, and an assumption that ends the
/// program.
const TASK: &str = "extern void abort(void);
extern void __assert_fail(const char *, const char *, unsigned, const char *) __attribute__((noreturn));
void reach_error(void) { __assert_fail(\"0\", \"task.c\", 3, \"reach_error\"); }
#include <pthread.h>
extern int __VERIFIER_nondet_int(void);
extern unsigned short __VERIFIER_nondet_ushort(void);
void assume_abort_if_not(int condition) { if (!condition) { abort(); } }
int taken, inside, given;
void __VERIFIER_atomic_acquire(void) { assume_abort_if_not(taken == 0); taken = 1; }
void __VERIFIER_atomic_release(void) { taken = 0; }
static void *work(void *unused) {
  __VERIFIER_atomic_acquire();
  inside++;
  if (inside != 1) reach_error();
  inside--;
  __VERIFIER_atomic_release();
  return 0;
}
int main(void) {
  pthread_t t[2];
#ifdef GIVEN
  given = __VERIFIER_nondet_int();
  if (given == 3 || __VERIFIER_nondet_ushort() == 65535) reach_error();
#endif
  for (int i = 0; i < 2; i++) pthread_create(&t[i], 0, work, 0);
  for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
  return 0;
}
";

#[test]
fn tasks_of_sv_comp() {
    check_with_all("task", TASK, &["--races=sc"], |outcome| {
        outcome.expect(0, &["executions: 2 complete, 0 blocked, 2 assumed"]);
    });
    check_with_all("task", TASK, &["--races=sc", "-DGIVEN"], |outcome| {
        outcome.refused(&["__VERIFIER_nondet_int at program.c:22", "-- --nondet=0,1,-1"]);
    });
    check_with_all("task", TASK, &["--races=sc", "-DGIVEN", "--nondet=0..2"], |outcome| {
        let reason = "of the values of __VERIFIER_nondet_int only those were tried that --nondet names";
        outcome.expect(3, &[reason, "executions: 18 complete"]);
    });
    for values in ["--nondet=0..3", "--nondet=-1"] {
        check_with_all("task", TASK, &["--races=sc", "-DGIVEN", values], |outcome| {
            outcome.expect(1, &["the program reaches an error"]);
        });
    }
}

/// What is called in some executions only, or in none.
const CALLS: &str = "#include <err.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
pid_t gettid(void);
void AnnotateHappensBefore(const char *, int, const void *);
int elsewhere(int);
int x;
static void *work(void *file) {
  if (file) close(open(file, O_RDONLY));
  return 0;
}
int main(int count, char **arguments) {
  pthread_t t;
  int a, b;
  char word[20];
  signal(SIGPIPE, SIG_IGN);
  alarm(10);
  if (sysconf(_SC_NPROCESSORS_ONLN) != 2 || getpid() <= 0 || isatty(1)) return 1;
  if (syscall(SYS_gettid) != gettid() || getpagesize() != 4096) return 2;
  AnnotateHappensBefore(__FILE__, __LINE__, &x);
  if (sscanf(\"12 0x1f hello\", \"%d %i %19s\", &a, &b, word) != 3 || a != 12 || b != 31) errx(3, \"bad: %d\", a);
  pthread_create(&t, 0, work, arguments[1]);
  pthread_join(t, 0);
  if (count > 2) return fork() + elsewhere(2);
  return 0;
}
";

#[test]
fn what_can_not_be_had_is_refused_where_it_is_called() {
    check_with_all("calls", CALLS, &[], |outcome| {
        outcome.expect(0, &["executions: 1 complete"]);
    });
    check_with_all("calls", CALLS, &["--arg=/etc/passwd"], |outcome| {
        let remedy = "or give a stub: a function `open` in a file of the program, which is used in its place";
        outcome.refused(&["program.c:14: the program calls `open`, which is not supported: files", remedy]);
    });
    let stubs = "int open(const char *path, int flags, ...) { return path[0]; } int close(int file) { return 0; }\n\
                 int fork(void) { return -1; } int elsewhere(int x) { return x / 2; }";
    let place = Place::new("native-own-stubs", "program.c", CALLS);
    std::fs::write(place.directory.join("stubs.c"), stubs).unwrap();
    for compiler in compilers() {
        let options = ["check", "program.c", "stubs.c", "--", "--arg=/etc/passwd", "--arg=x", &compiler];
        place.run(&options).expect(0, &["executions: 1 complete"]);
    }
}

/// Each look at the clock is later than all looks before it, whoever took them; and who has slept or has waited
/// in vain is so much later.
const CLOCK: &str = "#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
long last;
static long now(int clock) { struct timespec t; clock_gettime(clock, &t); return t.tv_sec * 1000000000 + t.tv_nsec; }
static void *look(void *pause) {
  for (int i = 0; i < 2; i++) {
    pthread_mutex_lock(&m);
    long seen = now(CLOCK_MONOTONIC);
    assert(last < seen);
    last = seen;
    pthread_mutex_unlock(&m);
    long before = now(CLOCK_REALTIME);
    usleep((long)pause);
    assert(now(CLOCK_REALTIME) >= before + (long)pause * 1000);
  }
  return 0;
}
int main(void) {
  pthread_t t[2];
  struct timespec until;
  struct timeval end;
  for (long i = 0; i < 2; i++) pthread_create(&t[i], 0, look, (void *)(i * 5000));
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += 1;
  if (pthread_mutex_timedlock(&m, &until)) assert(now(CLOCK_REALTIME) >= until.tv_sec * 1000000000 + until.tv_nsec);
  else pthread_mutex_unlock(&m);
  for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
  gettimeofday(&end, 0);
  assert(end.tv_sec >= last / 1000000000 && time(0) >= end.tv_sec && difftime(time(0), 0) > 0);
  return 0;
}
";

#[test]
fn the_clock_never_goes_back() {
    let place = Place::new("native-own-clock", "program.c", CLOCK);
    for algorithm in ["naive", "source", "optimal", "optimal+observers"] {
        for compiler in compilers() {
            let outcome = place.run(&[
                "check",
                "program.c",
                "--algorithm",
                algorithm,
                "--",
                "--self-check=1",
                &compiler,
            ]);
            let executions = if algorithm == "naive" { "complete" } else { "executions: 54 complete" };
            outcome.expect(0, &["pass", executions]);
        }
    }
}

/// Loops that look at the clock until it is late enough come to their ends, and those that wait for something
/// besides see both.
const POLLS: &str = "#include <atomic>
#include <cassert>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <random>
#include <thread>
using Clock = std::chrono::steady_clock;
std::atomic<bool> done{false};
std::atomic<int> late{0};
int main() {
  std::random_device device;
  std::mt19937 generator(device());
  std::thread poller([] {
    auto deadline = Clock::now() + std::chrono::seconds(2);
    while (!done.load() && Clock::now() < deadline) {}
    late = Clock::now() >= deadline;
  });
  auto before = Clock::now();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  assert(Clock::now() - before >= std::chrono::milliseconds(100));
  done = true;
  std::this_thread::sleep_until(Clock::now() + std::chrono::hours(1));
  poller.join();
#ifdef LATE
  assert(!late);
#endif
#ifdef IN_TIME
  assert(late);
#endif
}
";

#[test]
fn a_loop_that_looks_at_the_clock_ends() {
    check_with_all("polls", POLLS, &["--self-check=1"], |outcome| {
        outcome.expect(0, &["pass"]);
    });
    for bug in ["-DLATE", "-DIN_TIME"] {
        check_with_all("polls", POLLS, &[bug], |outcome| {
            outcome.expect(1, &["assertion failed: "]);
        });
    }
}

const CLEANUP: &str = "#include <assert.h>
#include <pthread.h>
int order, ran[3];
static void note(void *which) { ran[(long)which] = ++order; }
static void leave(int leaves) {
  pthread_cleanup_push(note, (void *)2);
  if (leaves) pthread_exit((void *)5);
  pthread_cleanup_pop(0);
}
static void *work(void *leaves) {
  pthread_cleanup_push(note, (void *)0);
  pthread_cleanup_push(note, (void *)1);
  leave(leaves != 0);
  pthread_cleanup_pop(1);
  pthread_cleanup_pop(0);
  return (void *)6;
}
int main(void) {
  pthread_t t;
  void *result;
  pthread_create(&t, 0, work, 0);
  pthread_join(t, &result);
  assert(result == (void *)6 && ran[0] == 0 && ran[1] == 1 && ran[2] == 0);
  pthread_create(&t, 0, work, &t);
  pthread_join(t, &result);
  assert(result == (void *)5 && ran[2] == 2 && ran[1] == 3 && ran[0] == 4);
  return 0;
}
";

#[test]
fn what_is_to_be_cleaned_up_is_when_a_thread_ends_itself() {
    check_with_all("cleanup", CLEANUP, &[], |outcome| {
        outcome.expect(0, &["executions: 1 complete"]);
    });
}

/// Of the library's functions that read text, tell dates and look for bytes.
const TEXTS: &str = "#define _GNU_SOURCE
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
int main(void) {
  int a = 0, n = 0;
  short s;
  long long l;
  unsigned char c;
  double d;
  float f;
  char word[8], rest[16];
  assert(sscanf(\" -42,077:ff\", \"%d,%hi:%x\", &a, &s, (unsigned *)&n) == 3 && a == -42 && s == 63 && n == 255);
  assert(sscanf(\"12345678901 7\", \"%lld %hhu%n\", &l, &c, &n) == 2 && l == 12345678901 && c == 7 && n == 13);
  assert(sscanf(\"1.5e2x\", \"%lf%c\", &d, word) == 2 && d == 150 && word[0] == 'x');
  assert(sscanf(\".25 key=value\", \"%f %7[a-z]=%[^=]\", &f, word, rest) == 3 && f == .25f);
  assert(!strcmp(word, \"key\") && !strcmp(rest, \"value\"));
  assert(sscanf(\"100%\", \"%2d%*d%%\", &a) == 1 && a == 10);
  assert(sscanf(\"\", \"%d\", &a) == -1 && sscanf(\"x\", \"%d\", &a) == 0 && sscanf(\"ab\", \"a%dc\", &a) == 0);
  assert(memmem(\"abcabd\", 6, \"abd\", 3) && !memmem(\"abc\", 3, \"abd\", 3));
  time_t t = 951782400;
  struct tm *m = gmtime(&t);
  assert(m->tm_year == 100 && m->tm_mon == 1 && m->tm_mday == 29 && m->tm_wday == 2 && m->tm_yday == 59);
  assert(timegm(m) == t && strftime(rest, sizeof rest, \"%F\", m) == 10 && !strcmp(rest, \"2000-02-29\"));
  assert(strftime(rest, sizeof rest, \"%F %R\", m) == 0);
  assert(strftime(rest, sizeof rest, \"%a %d %b %y\", m) == 13 && !strcmp(rest, \"Tue 29 Feb 00\"));
  t = -1;
  assert(gmtime(&t)->tm_year == 69 && gmtime(&t)->tm_sec == 59 && gmtime(&t)->tm_wday == 3);
  assert(!strcmp(ctime(&t), \"Wed Dec 31 23:59:59 1969\\n\"));
  return 0;
}
";

#[test]
fn texts_and_dates_are_what_they_should_be() {
    check_with_all("texts", TEXTS, &[], |outcome| {
        outcome.expect(0, &["executions: 1 complete"]);
    });
}
