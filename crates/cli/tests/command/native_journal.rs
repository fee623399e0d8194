//! Searches of C and C++ that are kept: whatever kills them, who goes on has compiled the program again, comes to know
//! what was known of it, and ends with the same report.

use std::fs;
use std::process::Stdio;
use std::thread::sleep;
use std::time::Duration;

use mazurka_journal::Journal;

use crate::Place;
use crate::journal::{Case, Random, Victim, report};
use crate::native_jobs::copies_of;
use crate::native_leftovers::send;

/// Threads that count: three in 34,650 orders, if nothing else is said.
pub const COUNTERS: &str = "#include <pthread.h>\n#include <stdatomic.h>
#ifndef T
#define T 3
#define N 4
#endif
atomic_int x;
static void *work(void *p) { for (long i = 0; i < N; i++) atomic_fetch_add(&x, 1); return p; }
int main(void) {
  pthread_t t[T];
  for (long i = 0; i < T; i++) pthread_create(&t[i], 0, work, 0);
  for (int i = 0; i < T; i++) pthread_join(t[i], 0);
  return 0;
}";

/// The same in 184,756 orders, which take a while anywhere.
pub const LONGER: Case =
    Case { name: "longer", file: "p.c", text: COUNTERS, options: &["--", "-DT=2", "-DN=10"] };

/// In few executions only threads touch bytes, create threads, lose memory and make locks on the heap.
const RARE: &str = include_str!("native_jobs/rare.c");

/// An object of C++, and a failure in one of the last executions.
const OBJECTS: &str = "#include <atomic>\n#include <thread>\n#include <vector>\n#include <cassert>
std::atomic<int> x, y;
int main() {
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; i++)
    threads.emplace_back([i] { for (int k = 0; k < 3; k++) { x++; if (i == 2 && k == 0) y = x.load(); } });
  for (auto &thread : threads) thread.join();
  assert(y != 1);
}";

/// As [`crate::journal::CASES`].
pub static COMPILED: [Case; 6] = [
    Case { name: "counters", file: "p.c", text: COUNTERS, options: &[] },
    Case { name: "rare", file: "p.c", text: RARE, options: &["--", "-DK=3", "--races=sc"] },
    Case {
        name: "deadlock",
        file: "p.c",
        text: RARE,
        options: &["--", "-DK=3", "-DDEADLOCK=9", "--races=sc"],
    },
    Case {
        name: "failures",
        file: "p.c",
        text: RARE,
        options: &["--keep-going", "--", "-DK=1", "-DFAIL=4", "--races=sc"],
    },
    Case { name: "race", file: "p.c", text: RARE, options: &["--keep-going", "--", "-DK=3", "-DRACE=5"] },
    Case { name: "objects", file: "p.cpp", text: OBJECTS, options: &[] },
];

fn case(name: &str) -> &'static Case {
    COMPILED.iter().find(|case| case.name == name).unwrap()
}

#[test]
fn a_search_that_is_killed_goes_on() {
    let mut random = Random(2);
    for case in &COMPILED {
        Victim::new("native-killed", case).dies(2, &mut random);
    }
}

/// However long the machine takes, a search is killed that has done something and not all.
#[test]
fn a_search_that_is_killed_midway_goes_on() {
    for (name, jobs, checkpoint) in
        [("counters", "1", "3000"), ("rare", "2", "8000000"), ("failures", "1", "3000")]
    {
        let victim = Victim::new("native-midway", case(name));
        victim.dies_midway(jobs, checkpoint);
        assert_eq!(victim.last(), victim.expected, "{name}");
    }
}

/// The process in which the program runs writes the journal: it may die alone.
#[test]
fn a_search_whose_worker_is_killed_goes_on() {
    let victim = Victim::new("native-worker", &LONGER);
    let mut was_midway = false;
    for _ in 0..100 {
        let _ = fs::remove_file(&victim.journal);
        let mut command = victim.place.command(&victim.arguments(&["--jobs", "2"]));
        let mut run = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        while !victim.is_midway() && run.try_wait().unwrap().is_none() {
            sleep(Duration::from_millis(1));
        }
        copies_of(run.id()).into_iter().for_each(|worker| send("-KILL", worker));
        // Unless it had ended by then there is no verdict.
        was_midway = run.wait().unwrap().code() == Some(2);
        if was_midway {
            break;
        }
    }
    assert!(was_midway);
    assert_eq!(victim.last(), victim.expected);
}

/// However little time there is at once, a search comes to its end: what is learned again is no part of that.
#[test]
fn a_search_that_is_often_out_of_time_goes_on() {
    let victim = Victim::new("native-time", &LONGER);
    let _ = fs::remove_file(&victim.journal);
    let mut runs = 0;
    loop {
        let outcome = victim.place.run(&victim.arguments(&["--timeout", "0.5", "--jobs", "1"]));
        let (status, object) = report(&outcome);
        if status != 3 {
            assert_eq!((status, object), victim.expected);
            break;
        }
        assert_eq!(object["reason"], "the time limit of 0.5 s was reached");
        runs += 1;
        assert!(runs < 100, "it gets no further");
    }
    assert_eq!(victim.last(), victim.expected);
}

/// A search that had begun again goes on behind that, by doing again what was done to find that out.
#[test]
fn what_was_found_out_is_kept() {
    let victim = Victim::new("native-found-out", case("rare"));
    let _ = fs::remove_file(&victim.journal);
    assert_eq!(victim.last(), victim.expected);
    let whole = fs::read(&victim.journal).unwrap();
    let mut generations = 0;
    for tenths in [9, 7, 5, 3] {
        fs::write(&victim.journal, &whole[..whole.len() * tenths / 10]).unwrap();
        let (journal, recovered) = Journal::open(&victim.journal).unwrap();
        generations = generations.max(recovered.generation);
        assert!(!journal.open_items().is_empty());
        drop(journal);
        assert_eq!(victim.last(), victim.expected, "{tenths}");
    }
    assert!(generations > 1, "it begins again more than once");
}

/// The program is known by what it is compiled to, with all that it includes.
#[test]
fn what_differs_is_refused() {
    let place = Place::new("native-journal-differs", "p.c", format!("#include \"n.h\"\n{COUNTERS}"));
    let _ = fs::remove_file(place.directory.join("journal"));
    let header = place.directory.join("n.h");
    fs::write(&header, "int n = 1;\n").unwrap();
    let check = ["check", "p.c", "--algorithm", "wake-up", "--journal", "journal", "--timeout", "0.05"];
    place.run(&check).expect(3, &["the time limit of 0.05 s was reached"]);
    place.run(&check).refused(&["there is such a file", "mazurka resume journal goes on with it"]);
    fs::write(&header, "int n = 2;\n").unwrap();
    place
        .run(&["resume", "journal"])
        .refused(&["the program is compiled to something else", "begin it again"]);
    fs::remove_file(&header).unwrap();
    place.run(&["resume", "journal"]).refused(&["n.h"]);
    fs::write(&header, "int n = 1;\n").unwrap();
    place.run(&["resume", "journal", "--jobs", "2"]).expect(0, &["pass", "34650 complete"]);
}
