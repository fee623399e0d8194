//! Builds small programs for the tests of the runtime, with gcc or clang, without the driver.
#![allow(dead_code)]

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::panic::catch_unwind;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use mazurka_explore::{
    Algorithm, Counts, Ending, Monitor, NoMonitor, NotExhaustive, Options as Search, Order, Summary, explore,
};
use mazurka_native::driver::{self, Built, Request};
use mazurka_native::runtime::{Native, NativeRun, Options, Races, load, stub_assembly};
use mazurka_oracle::{Budget, Truth};
use mazurka_program::{FailureKind, Run};
use mazurka_trace::Trace;
use mazurka_trace::equivalence::{Key, mazurkiewicz};

static BUILT: AtomicU32 = AtomicU32::new(0);

/// A directory that is removed at the end.
pub struct Scratch(pub PathBuf);

impl Scratch {
    pub fn new() -> Scratch {
        let number = BUILT.fetch_add(1, Ordering::Relaxed);
        let name = format!("mazurka-runtime-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Scratch(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Compiles C, or C++ if the first line says so, and links it with the stub.
pub fn build(scratch: &Scratch, text: &str, flags: &[&str], compiler: &str) -> Built {
    let name = if text.starts_with("// C++") { "program.cc" } else { "program.c" };
    let source = scratch.0.join(name);
    std::fs::write(&source, text).unwrap();
    let flags = flags.iter().map(|&flag| flag.to_owned()).collect();
    let request =
        Request { sources: vec![source], flags, compiler: Some(compiler.to_owned()), ..Request::default() };
    driver::build(&request, &stub_assembly()).unwrap_or_else(|error| panic!("{error}"))
}

/// Compiles C as it is, with holes that the driver would refuse, and links it with the stub.
pub fn build_by_hand(scratch: &Scratch, text: &str) -> Built {
    let at = |name: &str| scratch.0.join(name);
    std::fs::write(at("program.c"), text).unwrap();
    std::fs::write(at("stub.s"), stub_assembly()).unwrap();
    let gcc = |arguments: &[&str], files: &[&str], to: &str| {
        let mut command = Command::new("gcc");
        command.args(arguments).args(files.iter().map(|file| at(file))).arg("-o").arg(at(to));
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    gcc(&["-c", "-O0", "-fPIC", "-fsanitize=thread"], &["program.c"], "program.o");
    gcc(&["-c"], &["stub.s"], "stub.o");
    let link = ["-shared", "-nostartfiles", "-Wl,-z,now", "-Wl,-Bsymbolic"];
    gcc(&link, &["stub.o", "program.o"], "program.so");
    Built::open(&at("program.so")).unwrap()
}

/// The compilers that are there: gcc must be.
pub fn compilers() -> Vec<&'static str> {
    let is_there = |name: &&str| Command::new(name).arg("--version").output().is_ok();
    std::iter::once("gcc").chain(["clang-19"].into_iter().filter(is_there)).collect()
}

/// A program that is ready to be checked.
pub fn program(scratch: &Scratch, text: &str, flags: &[&str], races: Races) -> Native {
    let built = build(scratch, text, flags, "gcc");
    load(&built, Options { races, ..Options::default() }).unwrap()
}

/// What a search finds.
pub fn search(program: &Native, algorithm: &str) -> Summary {
    explore(program, algorithm.parse::<Algorithm>().unwrap(), &Search::default(), &mut NoMonitor)
}

/// The CPU time that this thread has used.
#[allow(unsafe_code)]
pub fn cpu_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the place is valid.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// What a search met.
#[derive(Default, Debug, PartialEq, Eq)]
pub struct Met {
    /// Each with how often it was completed.
    pub classes: BTreeMap<Key, u32>,
    pub assumed: BTreeSet<Key>,
    pub failures: BTreeSet<(FailureKind, String)>,
    pub deadlocks: BTreeSet<Vec<Vec<u32>>>,
}

impl Monitor<NativeRun> for Met {
    fn execution(&mut self, ending: Ending, trace: &Trace, run: &NativeRun, _: &Counts) -> ControlFlow<()> {
        self.failures.extend(run.failures().iter().map(|failure| (failure.kind, failure.message.clone())));
        match ending {
            Ending::Complete { deadlock } => {
                *self.classes.entry(mazurkiewicz(trace, run.names())).or_default() += 1;
                if deadlock {
                    self.deadlocks.extend(mazurka_oracle::deadlock(run).map(|deadlock| deadlock.0));
                }
            }
            Ending::Assumed => {
                self.assumed.insert(mazurkiewicz(trace, run.names()));
            }
            Ending::Blocked | Ending::Stopped { .. } | Ending::Cut => {}
        }
        ControlFlow::Continue(())
    }

    fn begin_again(&mut self) {
        *self = Met::default();
    }
}

/// What `optimal` meets, after it was compared with brute force and with `source`, where that takes the
/// program; and `optimal+observers` likewise.
pub fn agreed(program: &Native, name: &str) -> Met {
    let budget = Budget { executions: 200_000, steps: 500 };
    let truth = mazurka_oracle::truth(program, budget).unwrap_or_else(|error| panic!("{name}: {error:?}"));
    let mut result = Met::default();
    for (algorithm, order) in [
        (Algorithm::Source, Order::Natural),
        (Algorithm::Source, Order::Shuffled(3)),
        (Algorithm::Optimal, Order::Shuffled(7)),
        (Algorithm::Optimal, Order::Natural),
    ] {
        let mut met = Met::default();
        let options = Search { order, ..Search::default() };
        let summary = explore(program, algorithm, &options, &mut met);
        assert_eq!(summary.broken, None, "{name} {algorithm}");
        if let Some(NotExhaustive::Unsupported(reason)) = &summary.not_exhaustive
            && algorithm == Algorithm::Source
        {
            assert!(reason.contains("not supported by source"), "{name}: {reason}");
            continue;
        }
        assert_eq!(summary.not_exhaustive, None, "{name} {algorithm}");
        assert_eq!(met.failures, truth.failures, "{name} {algorithm}");
        let deadlocks: BTreeSet<_> = truth.deadlocks.iter().map(|deadlock| deadlock.0.clone()).collect();
        assert_eq!(met.deadlocks, deadlocks, "{name} {algorithm}");
        if algorithm == Algorithm::Optimal {
            assert!(met.classes.keys().eq(truth.mazurkiewicz.keys()), "{name}: classes");
            assert!(met.classes.values().all(|&times| times == 1), "{name}: each once");
            assert_eq!(met.assumed, truth.assumed, "{name}");
            assert_eq!(summary.counts.blocked, 0, "{name}");
        }
        result = met;
    }
    for order in [Order::Natural, Order::Shuffled(5)] {
        agreed_modulo_observers(program, name, order, &truth);
    }
    result
}

/// `optimal+observers` meets each class modulo observers once, and all that can go wrong.
fn agreed_modulo_observers(program: &Native, name: &str, order: Order, truth: &Truth) {
    let mut met = Met::default();
    let options = Search { order, ..Search::default() };
    let summary = explore(program, Algorithm::OptimalObservers, &options, &mut met);
    let what = format!("{name} optimal+observers {order:?}");
    assert_eq!(summary.broken, None, "{what}");
    // What is not proved has to hold all the same.
    let reason = summary.not_exhaustive.filter(|reason| *reason != NotExhaustive::NotProved);
    assert_eq!(reason, None, "{what}");
    let counts = (summary.counts.complete, summary.counts.assumed, summary.counts.blocked);
    let expected = (truth.observers.len() as u64, truth.observers_assumed.len() as u64, 0);
    assert_eq!(counts, expected, "{what}");
    assert_eq!(unordered(&met.failures), unordered(&truth.failures), "{what}");
    let deadlocks: BTreeSet<_> = truth.deadlocks.iter().map(|deadlock| deadlock.0.clone()).collect();
    assert_eq!(met.deadlocks, deadlocks, "{what}");
}

/// The parts of a message, in no order if it tells a data race.
fn parts(kind: FailureKind, message: &str) -> Vec<&str> {
    if kind != FailureKind::DataRace {
        return vec![message];
    }
    let mut parts: Vec<&str> = message.splitn(2, ": ").flat_map(|part| part.split(", ")).collect();
    parts.sort_unstable();
    parts
}

/// Failures, with the two accesses of a data race in no order: nobody need have observed which of two writes
/// came first.
fn unordered(failures: &BTreeSet<(FailureKind, String)>) -> BTreeSet<(FailureKind, Vec<&str>)> {
    failures.iter().map(|(kind, message)| (*kind, parts(*kind, message))).collect()
}

/// Name, executions, deadlocks (by who waits), failures, text.
pub type Row = (&'static str, usize, usize, &'static [FailureKind], &'static str);

const BEGIN: &str = r"
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <unistd.h>
#define SPAWN(t, f) pthread_t t; pthread_create(&t, 0, f, 0)
#define JOIN(t) pthread_join(t, 0)
#define THREAD(name) static void *name(void *unused)
#define DONE return unused
";

/// What is wrong with a program, if anything is.
fn check(compiler: &str, races: Races, row: &Row) -> Option<String> {
    let &(name, executions, deadlocks, failures, text) = row;
    let scratch = Scratch::new();
    let built = build(&scratch, &format!("{BEGIN}{text}"), &["-pthread"], compiler);
    let program = load(&built, Options { races, self_check: 1, ..Options::default() }).unwrap();
    let met = agreed(&program, name);
    let kinds: Vec<FailureKind> = met.failures.iter().map(|failure| failure.0).collect();
    let found = (met.classes.len(), met.deadlocks.len(), &kinds[..]);
    let told = || format!("{compiler} {name}: {found:?}, {:?}", met.failures);
    (found != (executions, deadlocks, failures)).then(told)
}

/// Compares programs with brute force and with what is expected of them, with each compiler.
pub fn check_all(rows: &[Row], races: Races) {
    let mut wrong = Vec::new();
    for compiler in compilers() {
        for row in rows {
            println!("{compiler} {}", row.0);
            match catch_unwind(|| check(compiler, races, row)) {
                Ok(result) => wrong.extend(result),
                Err(_) => wrong.push(format!("{compiler} {}: see above", row.0)),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
