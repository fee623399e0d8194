//! Counts of executions that are known: from theory, from other checkers, from brute force.

use crate::runtime_support::{Scratch, program, search};
use mazurka_native::runtime::Races;

const LASTWRITE: &str = r"
#include <pthread.h>
#include <stdint.h>
static volatile int last;
static void *set(void *value) { last = (int)(intptr_t)value; return 0; }
int main(void) {
    pthread_t writers[N];
    for (int k = 0; k < N; k++) pthread_create(&writers[k], 0, set, (void *)(intptr_t)(k + 1));
    for (int k = 0; k < N; k++) pthread_join(writers[k], 0);
    return last;
}";

const FIBONACCI: &str = r"
#include <pthread.h>
static volatile int a = 1, b = 1;
static void *first(void *u) { for (int k = 0; k < N; k++) a += b; return u; }
static void *second(void *u) { for (int k = 0; k < N; k++) b += a; return u; }
int main(void) {
    pthread_t one, two;
    pthread_create(&one, 0, first, 0);
    pthread_create(&two, 0, second, 0);
#ifdef JOINED
    pthread_join(one, 0);
    pthread_join(two, 0);
#endif
    int x = a, y = b;
    (void)x, (void)y;
    return 0;
}";

const COUNTER: &str = r"
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int counter;
static void *count(void *u) {
    for (int k = 0; k < TIMES; k++) {
        pthread_mutex_lock(&lock);
        counter++;
        pthread_mutex_unlock(&lock);
    }
    return u;
}
int main(void) {
    pthread_t t[N];
    for (int k = 0; k < N; k++) pthread_create(&t[k], 0, count, 0);
    for (int k = 0; k < N; k++) pthread_join(t[k], 0);
    return counter != N * TIMES;
}";

/// Program, flags, executions.
const COUNTS: &[(&str, &[&str], u64)] = &[
    (LASTWRITE, &["-DN=3"], 6),
    (LASTWRITE, &["-DN=7"], 5040),
    (FIBONACCI, &["-DN=1"], 11),
    (FIBONACCI, &["-DN=4"], 19605),
    (FIBONACCI, &["-DN=5"], 218_243),
    (FIBONACCI, &["-DN=5", "-DJOINED"], 8953),
    (COUNTER, &["-DN=3", "-DTIMES=1"], 6),
    (COUNTER, &["-DN=5", "-DTIMES=1"], 120),
    (COUNTER, &["-DN=3", "-DTIMES=3"], 1680),
];

#[test]
fn known_counts() {
    for &(text, flags, expected) in COUNTS {
        let scratch = Scratch::new();
        let program = program(&scratch, text, flags, Races::Sc);
        for algorithm in ["source", "optimal"] {
            let start = std::time::Instant::now();
            let summary = search(&program, algorithm);
            assert_eq!(summary.broken, None, "{flags:?} {algorithm}");
            assert_eq!(summary.not_exhaustive, None, "{flags:?} {algorithm}");
            let counts = summary.counts;
            println!("{flags:?} {algorithm} {} {:?}", counts.complete, start.elapsed());
            assert_eq!((counts.complete, counts.deadlocks), (expected, 0), "{flags:?} {algorithm}");
        }
    }
}
