//! How fast executions are, in CPU time: `cargo test --release -p mazurka-native --test main runtime_speed --
//! --ignored --nocapture`.

use crate::runtime_support::{Scratch, build, cpu_time, program, search};
use mazurka_explore::{Algorithm, Limits, NoMonitor, explore};
use mazurka_native::runtime::{Options, Races, load};
use mazurka_program::{Footprints, Label, ProcessId, Program, Run};

const FIBONACCI: &str = r"
#include <pthread.h>
static volatile int a = 1, b = 1;
static void *first(void *u) { for (int k = 0; k < 5; k++) a += b; return u; }
static void *second(void *u) { for (int k = 0; k < 5; k++) b += a; return u; }
int main(void) {
    pthread_t one, two;
    pthread_create(&one, 0, first, 0);
    pthread_create(&two, 0, second, 0);
    int x = a, y = b;
    (void)x, (void)y;
    return 0;
}";

/// Much is done before the threads start, and there is a lot of memory.
const LARGE: &str = r"
#include <pthread.h>
#include <stdint.h>
static int table[1 << 18];
static volatile int last;
static void *set(void *value) { last = (int)(intptr_t)value + table[0]; return 0; }
int main(void) {
    pthread_t writers[6];
    for (int k = 0; k < 1000; k++) table[k] = k;
    for (int k = 0; k < 6; k++) pthread_create(&writers[k], 0, set, (void *)(intptr_t)(k + 1));
    for (int k = 0; k < 6; k++) pthread_join(writers[k], 0);
    return last;
}";

/// Executions a second, with snapshots and without, in turn; the best of three.
fn measure(name: &str, text: &str, algorithm: &str, expected: u64) {
    let scratch = Scratch::new();
    let built = build(&scratch, text, &[], "gcc");
    let rate = |snapshots: bool| {
        let options = Options { races: Races::Sc, snapshots, ..Options::default() };
        let program = load(&built, options).unwrap();
        let before = cpu_time();
        let summary = search(&program, algorithm);
        assert_eq!(summary.counts.complete, expected);
        expected as f64 / (cpu_time() - before).as_secs_f64()
    };
    let rates: Vec<(f64, f64)> = (0..3).map(|_| (rate(true), rate(false))).collect();
    let with = rates.iter().fold(0.0, |best: f64, rate| best.max(rate.0));
    let without = rates.iter().fold(0.0, |best: f64, rate| best.max(rate.1));
    println!(
        "{name} {algorithm}: {with:.0} executions/s, {without:.0} without snapshots: {:.2} times",
        with / without
    );
}

#[test]
#[ignore = "a measurement"]
fn fibonacci_source() {
    measure("fib_bench(5)", FIBONACCI, "source", 218_243);
}

#[test]
#[ignore = "a measurement"]
fn fibonacci_optimal() {
    measure("fib_bench(5)", FIBONACCI, "optimal", 218_243);
}

#[test]
#[ignore = "a measurement"]
fn large() {
    measure("1,000 accesses and 1 MB", LARGE, "source", 720);
    measure("1,000 accesses and 1 MB", LARGE, "optimal", 720);
}

/// What the runtime alone takes, without an algorithm: an execution whose last six steps are new.
#[test]
#[ignore = "a measurement"]
fn replay() {
    let scratch = Scratch::new();
    let program = program(&scratch, FIBONACCI, &[], Races::Sc);
    search(&program, "optimal");
    let mut run = program.start(Footprints::Static);
    let mut label = Label::default();
    let mut schedule = Vec::new();
    let mut seed = 12345u64;
    while !run.enabled().is_empty() {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let enabled: Vec<ProcessId> = run.enabled().iter().collect();
        let process = enabled[(seed >> 33) as usize % enabled.len()];
        schedule.push(process);
        run.step(process, 0, &mut label).unwrap();
        label.clear();
    }
    let (from, times) = (schedule.len() - 6, 200_000);
    let before = cpu_time();
    for _ in 0..times {
        run.rewind(from);
        for &process in &schedule[from..] {
            label.clear();
            run.step(process, 0, &mut label).unwrap();
        }
    }
    let nanoseconds = (cpu_time() - before).as_nanos() as f64 / f64::from(times);
    println!("{} steps, 6 of them new: {nanoseconds:.0} ns", schedule.len());
}

/// Threads that race with each other: `N` increments each.
const RACING: &str = r"
#include <pthread.h>
static int x;
static void *count(void *u) { for (int k = 0; k < N; k++) x++; return u; }
int main(void) {
    pthread_t threads[T];
    for (int k = 0; k < T; k++) pthread_create(&threads[k], 0, count, 0);
    for (int k = 0; k < T; k++) pthread_join(threads[k], 0);
    return 0;
}";

/// Threads with `N` locks, each of which all of them take.
const APART: &str = r"
#include <pthread.h>
static pthread_mutex_t locks[N];
static void *take(void *u) {
    for (int k = 0; k < N; k++) pthread_mutex_lock(&locks[k]), pthread_mutex_unlock(&locks[k]);
    return u;
}
int main(void) {
    pthread_t threads[T];
    for (int k = 0; k < T; k++) pthread_create(&threads[k], 0, take, 0);
    for (int k = 0; k < T; k++) pthread_join(threads[k], 0);
    return 0;
}";

/// The CPU time of the first so many executions, the best of three; and how long the longest is.
fn first_executions(text: &str, flags: &[&str], races: Races, executions: u64) -> (f64, usize) {
    let scratch = Scratch::new();
    let built = build(&scratch, text, flags, "gcc");
    let limits = Limits { executions: Some(executions), ..Limits::default() };
    let options = mazurka_explore::Options { limits, keep_going: true, ..Default::default() };
    let measured = (0..3).map(|_| {
        let program = load(&built, Options { races, self_check: 0, ..Options::default() }).unwrap();
        let before = cpu_time();
        let summary = explore(&program, Algorithm::Optimal, &options, &mut NoMonitor);
        assert_eq!(summary.counts.complete, executions, "{:?}", summary.not_exhaustive);
        ((cpu_time() - before).as_secs_f64(), summary.counts.longest)
    });
    measured.min_by(|a, b| a.0.total_cmp(&b.0)).unwrap()
}

/// What it costs to tell races, beside the same executions in which they are none: in a long execution with
/// many of them, and in many short ones.
#[test]
#[ignore = "a measurement"]
fn races_that_are_told() {
    for (flags, executions, longest, most) in
        [(["-DT=10", "-DN=100"], 1, 2_020, 20.0), (["-DT=13", "-DN=1"], 20_000, 52, 20.0)]
    {
        let (told, events) = first_executions(RACING, &flags, Races::Report, executions);
        let (untold, _) = first_executions(RACING, &flags, Races::Sc, executions);
        let ratio = told / untold;
        println!(
            "{flags:?}, {executions} executions: {told:.4} s, {untold:.4} s without races: {ratio:.1} times"
        );
        assert_eq!(events, longest);
        assert!(ratio < most, "{ratio}");
    }
}

/// What an event costs in an execution of 2,020 events beside one of 220, its races planned.
#[test]
#[ignore = "a measurement"]
fn long_executions() {
    let event = |locks: &str| {
        let (time, events) = first_executions(APART, &["-DT=10", locks], Races::Sc, 2);
        time / events as f64
    };
    let (short, long) = (event("-DN=10"), event("-DN=100"));
    println!(
        "an event costs {:.0} ns of 220, {:.0} ns of 2,020: {:.1} times",
        short * 1e9,
        long * 1e9,
        long / short
    );
    // A race is planned by what does not come after it, which grows with the execution.
    assert!(long < 20.0 * short, "{long} {short}");
}
