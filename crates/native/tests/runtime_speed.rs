//! How fast executions are, in CPU time: `cargo test --release -p mazurka-native --test main runtime_speed --
//! --ignored --nocapture`.

use crate::runtime_support::{Scratch, build, cpu_time, program, search};
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
