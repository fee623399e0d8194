//! What is one step, or none, compared with brute force: several mutexes at once, inline assembly, functions
//! that are atomic, wide atomics, and the clock.

use crate::runtime_support::{Row, check_all};
use mazurka_native::runtime::Races;

#[test]
fn steps() {
    check_all(ROWS, Races::Sc);
}

const ROWS: &[Row] = &[
    (
        "two mutexes at once, in two orders",
        2,
        0,
        &[],
        r#"
        static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
        int mazurka_lock_all(void **, unsigned long);
        THREAD(one) { void *all[] = {&a, &b}; mazurka_lock_all(all, 2); pthread_mutex_unlock(&b);
            pthread_mutex_unlock(&a); DONE; }
        THREAD(two) { void *all[] = {&b, &a}; mazurka_lock_all(all, 2); pthread_mutex_unlock(&a);
            pthread_mutex_unlock(&b); DONE; }
        int main(void) { SPAWN(s, one); SPAWN(t, two); JOIN(s); JOIN(t); return 0; }"#,
    ),
    (
        "two mutexes at once, beside each of them",
        5,
        0,
        &[],
        r#"
        static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
        int mazurka_lock_all(void **, unsigned long);
        THREAD(both) { void *all[] = {&a, &b}; mazurka_lock_all(all, 2); pthread_mutex_unlock(&b);
            pthread_mutex_unlock(&a); DONE; }
        THREAD(one) { pthread_mutex_lock(&a); pthread_mutex_unlock(&a); pthread_mutex_lock(&b);
            pthread_mutex_unlock(&b); DONE; }
        int main(void) { SPAWN(s, both); SPAWN(t, one); JOIN(s); JOIN(t); return 0; }"#,
    ),
    (
        "two mutexes at once, of which one is held for ever",
        2,
        2,
        &[],
        r#"
        static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
        int mazurka_lock_all(void **, unsigned long);
        THREAD(both) { void *all[] = {&a, &b}; mazurka_lock_all(all, 2); DONE; }
        THREAD(one) { pthread_mutex_lock(&b); DONE; }
        int main(void) { SPAWN(s, both); SPAWN(t, one); JOIN(s); JOIN(t); return 0; }"#,
    ),
    (
        "an exchange in assembly",
        2,
        0,
        &[],
        r#"
        static int x;
        THREAD(swap) { int v = 1; __asm__ volatile("xchgl %0, %1" : "+r"(v), "+m"(x)); DONE; }
        int main(void) { SPAWN(s, swap); SPAWN(t, swap); JOIN(s); JOIN(t); return 0; }"#,
    ),
    (
        "a lock in assembly",
        6,
        0,
        &[],
        r#"
        static int x, y;
        static int swap(int v) { __asm__ volatile("xchgl %0, %1" : "+r"(v), "+m"(x)); return v; }
        THREAD(work) { while (swap(1)) __asm__ volatile("pause"); y++; swap(0); DONE; }
        int main(void) { SPAWN(s, work); work(0); JOIN(s); assert(y == 2); return 0; }"#,
    ),
    (
        "the same lock as compilers have it",
        6,
        0,
        &[],
        r#"
        static int x, y;
        static int swap(int v) { return __atomic_exchange_n(&x, v, 5); }
        THREAD(work) { while (swap(1)) ; y++; swap(0); DONE; }
        int main(void) { SPAWN(s, work); work(0); JOIN(s); assert(y == 2); return 0; }"#,
    ),
    (
        "a function that is one step",
        2,
        0,
        &[],
        r#"
        static int x, y;
        void __VERIFIER_atomic_both(void) { x++; y++; }
        THREAD(work) { __VERIFIER_atomic_both(); DONE; }
        int main(void) { SPAWN(s, work); SPAWN(t, work); JOIN(s); JOIN(t); return 0; }"#,
    ),
    (
        "an atomic addition of 16 bytes",
        2,
        0,
        &[],
        r#"
        static unsigned __int128 x;
        THREAD(add) { __atomic_fetch_add(&x, (unsigned __int128)1 << 70, 5); DONE; }
        int main(void) { SPAWN(s, add); SPAWN(t, add); JOIN(s); JOIN(t);
            assert(x == (unsigned __int128)2 << 70); return 0; }"#,
    ),
    (
        "a failed compare-and-exchange of 16 bytes only reads",
        1,
        0,
        &[],
        r#"
        static unsigned __int128 x;
        THREAD(compare) { unsigned __int128 e = 5; __atomic_compare_exchange_n(&x, &e, 7, 0, 5, 5); DONE; }
        int main(void) { SPAWN(s, compare); SPAWN(t, compare); JOIN(s); JOIN(t); return 0; }"#,
    ),
    (
        "to look at the clock is no step",
        1,
        0,
        &[],
        r#"
        static long now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_nsec; }
        THREAD(look) { assert(now() < now()); DONE; }
        int main(void) { SPAWN(s, look); SPAWN(t, look); assert(now() < now()); JOIN(s); JOIN(t); return 0; }"#,
    ),
    (
        "times tell the order of writes",
        2,
        0,
        &[],
        r#"
        static atomic_int x;
        static long before[2], after[2];
        static long now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t);
            return t.tv_sec * 1000000000 + t.tv_nsec; }
        static void store(int i) { before[i] = now(); x = i; after[i] = now(); }
        THREAD(zero) { store(0); DONE; }
        int main(void) { SPAWN(s, zero); store(1); JOIN(s);
            assert(x ? before[0] < after[1] : before[1] < after[0]); return 0; }"#,
    ),
];
