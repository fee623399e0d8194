//! Data races, and loops that wait for others, compared with brute force.

use crate::runtime_support::{Row, check_all};
use mazurka_native::runtime::Races;
use mazurka_program::FailureKind::*;

#[test]
fn races() {
    check_all(RACES, Races::Report);
}

#[test]
fn loops() {
    check_all(LOOPS, Races::Sc);
}

const RACES: &[Row] = &[
    (
        "two plain writes",
        2,
        0,
        &[DataRace, DataRace],
        r#"
        static int x;
        static void *f(void *a) { x = (int)(intptr_t)a; return 0; }
        int main(void) { SPAWN(s, f); SPAWN(t, f); JOIN(s); JOIN(t); return x; }"#,
    ),
    (
        "guarded by a mutex",
        2,
        0,
        &[],
        r#"
        static pthread_mutex_t m; static int x;
        THREAD(f) { pthread_mutex_lock(&m); x++; pthread_mutex_unlock(&m); DONE; }
        int main(void) { x = 1; SPAWN(s, f); SPAWN(t, f); JOIN(s); JOIN(t); assert(x == 3); return 0; }"#,
    ),
    (
        "one forgets the mutex",
        2,
        0,
        &[DataRace, DataRace],
        r#"
        static pthread_mutex_t m; static int x;
        THREAD(f) { pthread_mutex_lock(&m); x = 1; pthread_mutex_unlock(&m); DONE; }
        THREAD(g) { x = 2; DONE; }
        int main(void) { SPAWN(s, f); SPAWN(t, g); JOIN(s); JOIN(t); return 0; }"#,
    ),
    (
        "a message by release and acquire",
        2,
        0,
        &[],
        r#"
        static int x; static atomic_int ready;
        THREAD(f) { x = 1; atomic_store_explicit(&ready, 1, memory_order_release); DONE; }
        int main(void) { SPAWN(s, f); if (atomic_load_explicit(&ready, memory_order_acquire)) assert(x == 1);
            JOIN(s); return 0; }"#,
    ),
    (
        "a message by relaxed accesses",
        2,
        0,
        &[DataRace],
        r#"
        static int x; static atomic_int ready;
        THREAD(f) { x = 1; atomic_store_explicit(&ready, 1, memory_order_relaxed); DONE; }
        int main(void) { SPAWN(s, f); if (atomic_load_explicit(&ready, memory_order_relaxed)) assert(x == 1);
            JOIN(s); return 0; }"#,
    ),
    (
        "a message by fences",
        2,
        0,
        &[],
        r#"
        static int x; static atomic_int ready;
        THREAD(f) { x = 1; atomic_thread_fence(memory_order_release);
            atomic_store_explicit(&ready, 1, memory_order_relaxed); DONE; }
        int main(void) { SPAWN(s, f); if (atomic_load_explicit(&ready, memory_order_relaxed)) {
            atomic_thread_fence(memory_order_acquire); assert(x == 1); } JOIN(s); return 0; }"#,
    ),
    (
        "by signal and by join",
        2,
        0,
        &[],
        r#"
        static pthread_mutex_t m; static pthread_cond_t c; static int ready, x;
        THREAD(f) { x = 1; pthread_mutex_lock(&m); ready = 1; pthread_cond_signal(&c); pthread_mutex_unlock(&m);
            DONE; }
        int main(void) { SPAWN(s, f); pthread_mutex_lock(&m); while (!ready) pthread_cond_wait(&c, &m);
            pthread_mutex_unlock(&m); assert(x == 1); JOIN(s); x = 2; return 0; }"#,
    ),
    (
        "by a barrier",
        2,
        0,
        &[],
        r#"
        static pthread_barrier_t b; static int x[2];
        static void *f(void *a) { int i = (int)(intptr_t)a; x[i] = 1; pthread_barrier_wait(&b);
            assert(x[1 - i]); return 0; }
        int main(void) { pthread_t s, t; pthread_barrier_init(&b, 0, 2); pthread_create(&s, 0, f, (void *)0);
            pthread_create(&t, 0, f, (void *)1); JOIN(s); JOIN(t); return 0; }"#,
    ),
    (
        "atomic accesses of two sizes",
        6,
        0,
        &[],
        r#"
        static union { _Atomic uint32_t v; _Atomic uint16_t h[2]; } l;
        THREAD(f) { atomic_fetch_add(&l.v, 1); atomic_fetch_add(&l.h[0], 1); DONE; }
        int main(void) { SPAWN(s, f); SPAWN(t, f); JOIN(s); JOIN(t); assert(l.v == 4); return 0; }"#,
    ),
    (
        "an atomic access of a whole and a plain one of a part",
        3,
        0,
        &[DataRace, DataRace, DataRace, DataRace],
        r#"
        static union { _Atomic uint32_t v; uint16_t h[2]; } l;
        THREAD(f) { atomic_fetch_add(&l.v, 1); DONE; }
        THREAD(g) { l.h[0] = 1; l.h[1] = 1; DONE; }
        int main(void) { SPAWN(s, f); SPAWN(t, g); JOIN(s); JOIN(t); return 0; }"#,
    ),
    (
        "a comparison of two sizes that fails beside a plain read",
        1,
        0,
        &[],
        r#"
        static union { _Atomic uint32_t v; uint16_t h[2]; } l;
        THREAD(f) { uint32_t e = 7; atomic_compare_exchange_strong(&l.v, &e, 9); DONE; }
        THREAD(g) { assert(l.h[0] == 1); assert(l.h[1] == 0); DONE; }
        int main(void) { l.v = 1; SPAWN(s, f); SPAWN(t, g); JOIN(s); JOIN(t); return 0; }"#,
    ),
];

const LOOPS: &[Row] = &[
    (
        "a loop that waits",
        3,
        0,
        &[],
        r#"
        static atomic_int flag;
        THREAD(f) { while (!flag) {} DONE; }
        int main(void) { SPAWN(s, f); flag = 1; JOIN(s); return 0; }"#,
    ),
    (
        "a loop that waits in vain",
        3,
        1,
        &[Livelock],
        r#"
        static atomic_int flag;
        THREAD(f) { while (!flag) sched_yield(); DONE; }
        int main(void) { SPAWN(s, f); flag = 0; JOIN(s); return 0; }"#,
    ),
    (
        "a loop that waits for what is set in an atomic section",
        3,
        0,
        &[],
        r#"
        void __VERIFIER_atomic_begin(void); void __VERIFIER_atomic_end(void);
        static atomic_int flag;
        THREAD(f) { while (!flag) {} DONE; }
        int main(void) { SPAWN(s, f); __VERIFIER_atomic_begin(); flag = 1; __VERIFIER_atomic_end(); JOIN(s); return 0; }"#,
    ),
    (
        "in a function",
        3,
        0,
        &[],
        r#"
        static volatile int flag;
        static int is_set(int unused) { int copy[3]; copy[1] = flag; return copy[1]; }
        THREAD(f) { while (!is_set(1)) {} DONE; }
        int main(void) { SPAWN(s, f); flag = 1; JOIN(s); return 0; }"#,
    ),
    (
        "test and set",
        6,
        0,
        &[],
        r#"
        static atomic_flag lock = ATOMIC_FLAG_INIT; static int x;
        THREAD(f) { while (atomic_flag_test_and_set(&lock)) {} x++; atomic_flag_clear(&lock); DONE; }
        int main(void) { SPAWN(s, f); SPAWN(t, f); JOIN(s); JOIN(t); assert(x == 2); return 0; }"#,
    ),
    (
        "compare and exchange",
        6,
        0,
        &[],
        r#"
        static atomic_int lock; static int x;
        THREAD(f) { int e = 0; while (!atomic_compare_exchange_strong(&lock, &e, 1)) e = 0; x++; lock = 0; DONE; }
        int main(void) { SPAWN(s, f); SPAWN(t, f); JOIN(s); JOIN(t); assert(x == 2); return 0; }"#,
    ),
    (
        "Peterson",
        64,
        0,
        &[],
        r#"
        static atomic_int flag[2], turn; static int x;
        static void *f(void *a) { int i = (int)(intptr_t)a; flag[i] = 1; turn = 1 - i;
            while (flag[1 - i] && turn == 1 - i) {} x++; flag[i] = 0; return 0; }
        int main(void) { pthread_t s, t; pthread_create(&s, 0, f, (void *)0); pthread_create(&t, 0, f, (void *)1);
            JOIN(s); JOIN(t); assert(x == 2); return 0; }"#,
    ),
    (
        "a loop that counts",
        4,
        0,
        &[],
        r#"
        static atomic_int flag;
        THREAD(f) { for (int k = 0; k < 3 && !flag; k++) {} DONE; }
        int main(void) { SPAWN(s, f); flag = 1; JOIN(s); return 0; }"#,
    ),
    (
        "beside what another thread alone has on the same stack",
        3,
        0,
        &[],
        r#"
        struct shared { atomic_int flag; int others; };
        static atomic_int steps;
        static void *f(void *a) { struct shared *s = a;
            for (int k = 1; k < 4; k++) { s->others = k; steps = k; } s->flag = 1; return 0; }
        int main(void) { struct shared s = { 0, 0 }; pthread_t t; pthread_create(&t, 0, f, &s);
            while (!s.flag) {} JOIN(t); return steps - 3; }"#,
    ),
];
