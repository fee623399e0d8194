//! C programs with loops that wait and write, as the command tells of them.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use crate::Place;

/// A loop that polls and writes, and an assertion behind it on how often it had to.
const POLLS: &str = "#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
static atomic_int n, busy;
static void *counts(void *unused) { n++; n++; return unused; }
static bool has_come(int next) { busy = 1; bool come = n >= next; busy = 0; return come; }
int main(void) {
  pthread_t thread;
  bool failed[3] = {0};
  int next = 1;
  pthread_create(&thread, 0, counts, 0);
  while (next <= 2) if (has_come(next)) next++; else failed[next] = true;
  pthread_join(thread, 0);
  assert(!(failed[1] == FIRST && failed[2] == SECOND));
}
";

/// What is met beyond the end of a stopped execution, when it is found out whether it is a livelock, is no part
/// of that execution.
#[test]
fn what_fails_behind_a_loop_fails_in_an_execution_of_its_own() {
    let place = Place::new("behind-a-loop", "polls.c", POLLS);
    for (first, second) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        let defined = [format!("-DFIRST={first}"), format!("-DSECOND={second}")];
        let outcome = place.run(&["check", "polls.c", "--", &defined[0], &defined[1]]);
        outcome.expect(1, &["failure: assertion in polls.c"]);
    }
}

/// Names of one letter are the program's.
#[test]
fn what_the_program_defines_does_not_matter_to_the_prelude() {
    let place = Place::new("letters", "letters.cpp", "#include <mutex>\n#include <thread>\nint main() {}\n");
    let letters = ["-DA=1", "-DB=1", "-DC=1", "-DD=1", "-DE=1", "-DF=1", "-DM=1", "-DL=1"];
    place.run(&[&["check", "letters.cpp", "--"], &letters[..]].concat()).expect(0, &["pass:"]);
}

/// Two who poll for ever what nobody sets, and how.
fn polled_for_ever(poll: &str) -> String {
    format!(
        "#include <pthread.h>
#include <stdatomic.h>
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
int flag;
atomic_int x, y;
static void *polls(void *unused) {{
  {poll}
  return unused;
}}
int main(void) {{
  pthread_t thread;
  pthread_create(&thread, 0, polls, &x);
  polls(&y);
  pthread_join(thread, 0);
}}
"
    )
}

/// All are named who go round and round, with their loops and what would have to change.
#[test]
fn a_livelock_names_all_who_go_round() {
    let locks = "for (;;) { pthread_mutex_lock(&m); int f = flag; pthread_mutex_unlock(&m); if (f) break; }";
    let place = Place::new("livelock-locks", "polls.c", polled_for_ever(locks));
    let parts = [
        "livelock: main goes round and round at polls.c:7",
        ", polls goes round and round at polls.c:7",
        "; nobody is left to change what they read, but they themselves",
    ];
    place.run(&["check", "polls.c"]).expect(1, &parts);
    let spins = "while (*(atomic_int *)unused == 0) ;";
    let place = Place::new("livelock-spins", "polls.c", polled_for_ever(spins));
    let parts = [
        "livelock: main waits forever for a change of y, in a loop, polls for a change of x, in a loop at polls.c:7",
        ": nobody is left to make it",
    ];
    place.run(&["check", "polls.c"]).expect(1, &parts);
    let text = "lock m; var x;
process p[i in 0..2] {
    let r = 0;
    while r != 1 { lock(m); r = x; unlock(m); }
}
";
    let place = Place::new("livelock-maz", "polls.maz", text);
    let parts = [
        "livelock: p[0] goes round and round at polls.maz:4:",
        ", p[1] goes round and round at polls.maz:4:",
        ", reading x and m",
        "; nobody is left to change what they read, but they themselves",
    ];
    place.run(&["check", "polls.maz"]).expect(1, &parts);
}
