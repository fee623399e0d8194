//! Reports of C and C++ programs speak of the program: of its own lines, members and steps, not of those of
//! libraries.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use crate::{Outcome, Place};

fn check(test: &str, file: &str, text: &str, more: &[&str]) -> Outcome {
    Place::new(test, file, text).run(&[&["check", file], more].concat())
}

/// Each part is in the report, whatever is between; none of the others is.
#[track_caller]
fn tells(outcome: &Outcome, parts: &[&str], not: &[&str]) {
    let Outcome { stdout, stderr, .. } = outcome;
    for part in parts {
        assert!(stdout.contains(part), "no {part:?} in\n{stdout}{stderr}");
    }
    for part in not {
        assert!(!stdout.contains(part), "{part:?} in\n{stdout}{stderr}");
    }
}

/// A thread that does something, and `main`, which creates it.
fn with_thread(before: &str, body: &str) -> String {
    format!(
        "#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
{before}
void *work(void *unused) {{
  {body}
  return 0;
}}
int main(void) {{
  pthread_t thread;
  pthread_create(&thread, 0, work, 0);
  pthread_join(thread, 0);
  return 0;
}}
"
    )
}

#[test]
fn a_failure_within_the_library_is_at_the_line_that_called_it() {
    for (before, body, message) in [
        ("char *text;", "return (void *)strlen(text);", "memory: work uses a null pointer"),
        ("char *text;", "text = strdup((char *)8);", "memory: work accesses 0x8"),
        ("int *from;", "int to; memcpy(&to, from, 4);", "memory: work uses a null pointer"),
        ("atomic_int *counter;", "(*counter)++;", "memory: work uses a null pointer"),
        ("_Atomic long *counter;", "return (void *)*counter;", "memory: work uses a null pointer"),
    ] {
        for compiler in ["clang-19", "gcc"] {
            let cc = format!("--cc={compiler}");
            let outcome = check("native-own-line", "program.c", &with_thread(before, body), &["--", &cc]);
            tells(&outcome, &[message, "  at program.c:7:", "fails in line 7"], &["library.c"]);
        }
    }
}

#[test]
fn a_race_within_the_library_is_at_the_lines_that_called_it() {
    let text = "#include <pthread.h>
#include <string.h>
char text[8];
void *measure(void *unused) {
  return (void *)strlen(text);
}
void *change(void *unused) {
  strcpy(text, \"abc\");
  return 0;
}
int main(void) {
  pthread_t one, two;
  pthread_create(&one, 0, measure, 0);
  pthread_create(&two, 0, change, 0);
  pthread_join(one, 0);
  pthread_join(two, 0);
  return 0;
}
";
    let outcome = check("native-library-race", "program.c", text, &[]);
    let race = "data-race: text[0]: measure reads it at program.c:5, change writes it at program.c:8, and";
    tells(&outcome, &[race, "  at program.c:8:"], &["library.c"]);
}

#[test]
fn members_have_names_wherever_they_are() {
    let text = "#include <pthread.h>
#include <stdlib.h>
struct task { void *argument; struct task *next; };
struct row { int used; long cells[]; };
struct pool {
  long room[16];
  struct { int left, right; } pair;
  union { int whole; char parts[4]; } words[2];
  unsigned low : 3, high : 5;
};
struct row *row;
static void *allocate(size_t size) {
  void *memory = malloc(size);
  if (!memory) abort();
  return memory;
}
struct task *last;
void *work(void *argument) {
  struct pool *pool = argument;
  pool->pair.right = 1;
  pool->words[1].whole = 2;
  pool->high = 3;
  row->cells[2] = 4;
  last->next = 0;
  return 0;
}
int main(void) {
  struct pool pool = {0};
  row = malloc(sizeof *row + 4 * sizeof(long));
  struct task *task = allocate(sizeof(struct task));
  last = task;
  pthread_t one, two;
  pthread_create(&one, 0, work, &pool);
  pthread_create(&two, 0, work, &pool);
  pthread_join(one, 0);
  pthread_join(two, 0);
  return 1;
}
";
    for compiler in ["clang-19", "gcc"] {
        let cc = format!("--cc={compiler}");
        let outcome = check("native-parts", "program.c", text, &["--", "--races=sc", &cc]);
        let parts = [
            "write pool.pair.right of main",
            "write pool.words[1].whole of main",
            "write pool.low/high of main",
            "write row.cells[2] (allocated at program.c:29)",
            "write task.next (allocated at program.c:13)",
        ];
        tells(&outcome, &parts, &["byte ", "pool+"]);
    }
}

const CLOSURES: &str = "#include <condition_variable>
#include <map>
#include <memory>
#include <thread>
#include <vector>
struct Job { int number = 0; int left = 2; };
struct Pool { std::vector<int> list; std::condition_variable changed; int done = 0; };
int main() {
  Pool pool;
  pool.list.reserve(4);
  auto own = std::make_unique<Job>();
  auto job = std::make_shared<Job>();
  std::thread one([&pool, &own, job] { pool.done++; own->left = 1; job->left--; });
  std::thread two([&pool, &own, job] { pool.done++; own->left = 2; job->left--; });
  one.join();
  two.join();
  return pool.done;
}
";

#[test]
fn the_insides_of_threads_are_left_out() {
    for compiler in ["clang-19", "gcc"] {
        let cc = format!("--cc={compiler}");
        let arguments = ["--", "--races=sc", "-std=c++17", &cc];
        let outcome = check("native-closures", "program.cpp", CLOSURES, &arguments);
        let parts = [
            "read pool.done of main",
            "Job.left",
            "steps within libraries left out; --full-trace shows them",
        ];
        tells(&outcome, &parts, &["_State", "pool+"]);
        let all = [&["--full-trace"][..], &arguments].concat();
        let outcome = check("native-closures", "program.cpp", CLOSURES, &all);
        tells(&outcome, &["std::thread::_State_impl"], &["within libraries"]);
    }
}

#[test]
fn long_paths_are_told_once() {
    let place = Place::new("native-paths", "start.c", "int main(void) { return 0; }\n");
    let deep = place.directory.join("a_directory_with_a_name/another_one_that_is_no_shorter");
    std::fs::create_dir_all(&deep).unwrap();
    let (header, program) = (deep.join("counter.h"), deep.join("program.c"));
    std::fs::write(&header, "extern int n;\nstatic inline void count(void) {\n  n++;\n}\n").unwrap();
    let text = "#include <pthread.h>
#include \"counter.h\"
int n;
void *work(void *unused) { count(); n = 2; return 0; }
int main(void) {
  pthread_t one, two;
  pthread_create(&one, 0, work, 0);
  pthread_create(&two, 0, work, 0);
  pthread_join(one, 0);
  pthread_join(two, 0);
  return 0;
}
";
    std::fs::write(&program, text).unwrap();
    let outcome = place.run(&["check", &program.display().to_string()]);
    tells(&outcome, &["data-race: n: work writes it at", "counter.h:3", "program.c:8"], &[]);
    let table: Vec<&str> =
        outcome.stdout.lines().filter(|line| line.contains("no_shorter/counter.h")).collect();
    assert!(table.len() <= 2, "in the head and below the table: {}", outcome.stdout);
    assert!(table.iter().any(|line| line.contains("counter.h is ")), "{}", outcome.stdout);
}

#[test]
fn who_is_left_in_a_loop_is_told() {
    let text = "#include <pthread.h>
#include <stdatomic.h>
atomic_int go, n;
void *work(void *unused) {
  n++;
  while (!go);
  return 0;
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, work, 0);
  n++;
  return 0;
}
";
    let note = "work still waits in a loop at program.c:6 when main has ended: -- --main-exits=thread tells";
    let outcome = check("native-left", "program.c", text, &[]);
    assert_eq!(outcome.status, 0, "{}{}", outcome.stdout, outcome.stderr);
    tells(&outcome, &[note], &[]);
    let outcome = check("native-left", "program.c", text, &["--", "--main-exits=thread"]);
    assert_eq!(outcome.status, 1, "{}{}", outcome.stdout, outcome.stderr);
    tells(&outcome, &["livelock: work waits forever"], &["--main-exits=thread tells"]);
}

#[test]
fn a_call_in_the_last_place_is_at_its_own_line() {
    let text = "#include <pthread.h>
pthread_mutex_t mutex;
__attribute__((noinline)) int enter(void) {
  return pthread_mutex_lock(&mutex);
}
void *work(void *unused) {
  enter();
  enter();
  return 0;
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, work, 0);
  pthread_join(thread, 0);
  return 0;
}
";
    for compiler in ["clang-19", "gcc"] {
        let cc = format!("--cc={compiler}");
        let outcome = check("native-tail", "program.c", text, &["--", "-O2", &cc]);
        assert_eq!(outcome.status, 1, "{}{}", outcome.stdout, outcome.stderr);
        let taken = outcome.stdout.lines().filter(|line| line.contains("pthread_mutex_lock(mutex)"));
        let lines: Vec<&str> = taken.filter_map(|line| line.split_whitespace().nth(1)).collect();
        assert!(lines.contains(&"4") && !lines.contains(&"7"), "{}", outcome.stdout);
    }
}
