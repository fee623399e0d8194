//! A small program for each function that programs call, compared with brute force.

use crate::runtime_support::{Row, Scratch, agreed, build, check_all, compilers};
use mazurka_native::runtime::{Options, Races, load};
use mazurka_program::FailureKind::{self, *};

#[test]
fn programs() {
    check_all(ROWS, Races::Sc);
}

const ROWS: &[Row] = &[
    (
        "two locks in two orders",
        3,
        1,
        &[],
        r#"
        static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
        THREAD(one) { pthread_mutex_lock(&a); pthread_mutex_lock(&b); pthread_mutex_unlock(&b);
            pthread_mutex_unlock(&a); DONE; }
        THREAD(two) { pthread_mutex_lock(&b); pthread_mutex_lock(&a); pthread_mutex_unlock(&a);
            pthread_mutex_unlock(&b); DONE; }
        int main(void) { SPAWN(s, one); SPAWN(t, two); JOIN(s); JOIN(t); return 0; }"#,
    ),
    (
        "lock twice",
        1,
        1,
        &[],
        r#"
        static pthread_mutex_t m;
        int main(void) { pthread_mutex_lock(&m); pthread_mutex_lock(&m); return 0; }"#,
    ),
    (
        "recursive mutex",
        2,
        0,
        &[],
        r#"
        static pthread_mutex_t m = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
        THREAD(f) { pthread_mutex_lock(&m); pthread_mutex_lock(&m); pthread_mutex_unlock(&m);
            pthread_mutex_unlock(&m); DONE; }
        int main(void) { SPAWN(s, f); SPAWN(t, f); JOIN(s); JOIN(t); return 0; }"#,
    ),
    (
        "checked mutex",
        1,
        0,
        &[],
        r#"
        int main(void) { pthread_mutexattr_t a; pthread_mutex_t m; pthread_mutexattr_init(&a);
            pthread_mutexattr_settype(&a, PTHREAD_MUTEX_ERRORCHECK); pthread_mutex_init(&m, &a);
            assert(pthread_mutex_unlock(&m) == EPERM); pthread_mutex_lock(&m);
            assert(pthread_mutex_lock(&m) == EDEADLK); pthread_mutex_unlock(&m); pthread_mutex_destroy(&m);
            return 0; }"#,
    ),
    (
        "try to lock",
        3,
        0,
        &[],
        r#"
        static pthread_mutex_t m; static int taken;
        THREAD(f) { if (!pthread_mutex_trylock(&m)) { taken++; pthread_mutex_unlock(&m); } DONE; }
        int main(void) { SPAWN(s, f); pthread_mutex_lock(&m); pthread_mutex_unlock(&m); JOIN(s); return 0; }"#,
    ),
    (
        "unlock by another",
        1,
        0,
        &[InvalidSync],
        r#"
        static pthread_mutex_t m;
        THREAD(f) { pthread_mutex_unlock(&m); DONE; }
        int main(void) { pthread_mutex_lock(&m); SPAWN(s, f); JOIN(s); return 0; }"#,
    ),
    (
        "destroy while locked",
        1,
        0,
        &[InvalidSync],
        r#"
        static pthread_mutex_t m;
        int main(void) { pthread_mutex_lock(&m); pthread_mutex_destroy(&m); return 0; }"#,
    ),
    (
        "a signal that is lost",
        2,
        1,
        &[],
        r#"
        static pthread_mutex_t m; static pthread_cond_t c;
        THREAD(f) { pthread_mutex_lock(&m); pthread_cond_wait(&c, &m); pthread_mutex_unlock(&m); DONE; }
        int main(void) { SPAWN(s, f); pthread_mutex_lock(&m); pthread_cond_signal(&c); pthread_mutex_unlock(&m);
            JOIN(s); return 0; }"#,
    ),
    (
        "a wait in a loop",
        2,
        0,
        &[],
        r#"
        static pthread_mutex_t m; static pthread_cond_t c; static int ready;
        THREAD(f) { pthread_mutex_lock(&m); while (!ready) pthread_cond_wait(&c, &m); pthread_mutex_unlock(&m);
            DONE; }
        int main(void) { SPAWN(s, f); pthread_mutex_lock(&m); ready = 1; pthread_cond_broadcast(&c);
            pthread_mutex_unlock(&m); JOIN(s); return 0; }"#,
    ),
    (
        "a wait that times out",
        4,
        0,
        &[],
        r#"
        static pthread_mutex_t m; static pthread_cond_t c;
        THREAD(f) { struct timespec t = {0, 0}; pthread_mutex_lock(&m); pthread_cond_timedwait(&c, &m, &t);
            pthread_mutex_unlock(&m); DONE; }
        int main(void) { SPAWN(s, f); pthread_mutex_lock(&m); pthread_cond_signal(&c); pthread_mutex_unlock(&m);
            JOIN(s); return 0; }"#,
    ),
    (
        "semaphore",
        2,
        0,
        &[],
        r#"
        static sem_t s; static int x;
        THREAD(f) { sem_wait(&s); x++; sem_post(&s); DONE; }
        int main(void) { sem_init(&s, 0, 1); SPAWN(a, f); SPAWN(b, f); JOIN(a); JOIN(b); int v;
            sem_getvalue(&s, &v); assert(v == 1 && x == 2); assert(!sem_trywait(&s));
            assert(sem_trywait(&s) == -1 && errno == EAGAIN); sem_destroy(&s); return 0; }"#,
    ),
    (
        "readers and a writer",
        2,
        0,
        &[],
        r#"
        static pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER; static int x;
        THREAD(r) { pthread_rwlock_rdlock(&l); (void)x; pthread_rwlock_unlock(&l); DONE; }
        THREAD(w) { pthread_rwlock_wrlock(&l); x++; pthread_rwlock_unlock(&l); DONE; }
        int main(void) { SPAWN(a, r); SPAWN(b, w); JOIN(a); JOIN(b);
            assert(!pthread_rwlock_tryrdlock(&l)); assert(pthread_rwlock_trywrlock(&l) == EBUSY);
            pthread_rwlock_unlock(&l); return 0; }"#,
    ),
    (
        "barrier",
        2,
        0,
        &[],
        r#"
        static pthread_barrier_t b; static int x[2];
        static void *f(void *a) { int i = (int)(intptr_t)a; x[i] = 1; pthread_barrier_wait(&b);
            assert(x[1 - i]); return 0; }
        int main(void) { pthread_t s, t; pthread_barrier_init(&b, 0, 2); pthread_create(&s, 0, f, (void *)0);
            pthread_create(&t, 0, f, (void *)1); JOIN(s); JOIN(t); pthread_barrier_destroy(&b); return 0; }"#,
    ),
    (
        "once",
        2,
        0,
        &[],
        r#"
        static pthread_once_t o = PTHREAD_ONCE_INIT; static int x;
        static void set(void) { x++; }
        THREAD(f) { pthread_once(&o, set); DONE; }
        int main(void) { SPAWN(a, f); SPAWN(b, f); JOIN(a); JOIN(b); assert(x == 1); return 0; }"#,
    ),
    (
        "keys",
        1,
        0,
        &[],
        r#"
        static pthread_key_t k; static atomic_int freed;
        static void drop(void *p) { free(p); freed++; }
        THREAD(f) { assert(!pthread_getspecific(k)); pthread_setspecific(k, malloc(4)); DONE; }
        int main(void) { pthread_key_create(&k, drop); SPAWN(a, f); JOIN(a); assert(freed == 1);
            assert(!pthread_getspecific(k)); pthread_key_delete(k); return 0; }"#,
    ),
    (
        "thread-local variables",
        1,
        0,
        &[],
        r#"
        static _Thread_local int mine = 5;
        THREAD(f) { assert(mine == 5); mine = 7; assert(mine == 7); DONE; }
        int main(void) { mine = 6; SPAWN(a, f); SPAWN(b, f); JOIN(a); JOIN(b); assert(mine == 6); return 0; }"#,
    ),
    (
        "the result of a thread",
        1,
        0,
        &[],
        r#"
        static void *f(void *a) { pthread_exit((char *)a + 1); }
        int main(void) { pthread_t t; void *r; pthread_create(&t, 0, f, (void *)4); pthread_join(t, &r);
            assert(r == (void *)5); assert(pthread_equal(pthread_self(), pthread_self())); return 0; }"#,
    ),
    (
        "threads of the standard",
        2,
        0,
        &[],
        r#"
        static mtx_t m; static int x;
        static int f(void *a) { mtx_lock(&m); x++; mtx_unlock(&m); return 3; }
        int main(void) { thrd_t s, t; int r; mtx_init(&m, mtx_plain); thrd_create(&s, f, 0); thrd_create(&t, f, 0);
            thrd_join(s, &r); assert(r == 3); thrd_join(t, 0); assert(x == 2); mtx_destroy(&m); return 0; }"#,
    ),
    (
        "an assertion that fails in one order",
        2,
        0,
        &[Assertion],
        r#"
        static atomic_int x;
        THREAD(f) { x = 1; DONE; }
        int main(void) { SPAWN(s, f); assert(x == 0); JOIN(s); return 0; }"#,
    ),
    (
        "compare and exchange",
        6,
        0,
        &[],
        r#"
        static atomic_int x;
        THREAD(f) { int e = 0; atomic_compare_exchange_strong(&x, &e, 1); DONE; }
        int main(void) { SPAWN(a, f); SPAWN(b, f); int e = 1; atomic_compare_exchange_strong(&x, &e, 2);
            JOIN(a); JOIN(b); return 0; }"#,
    ),
    (
        "main returns while another waits",
        2,
        1,
        &[],
        r#"
        static pthread_mutex_t m; 
        THREAD(f) { pthread_mutex_lock(&m); DONE; }
        int main(void) { SPAWN(a, f); pthread_mutex_lock(&m); return 0; }"#,
    ),
    (
        "exit",
        2,
        0,
        &[ExitStatus],
        r#"
        static atomic_int x; static void bye(void) { x = 2; }
        THREAD(f) { x = 1; DONE; }
        int main(void) { atexit(bye); SPAWN(a, f); exit(3); }"#,
    ),
    (
        "use after free",
        2,
        0,
        &[Memory],
        r#"
        static int *p;
        THREAD(f) { *p = 1; DONE; }
        int main(void) { p = malloc(sizeof *p); SPAWN(a, f); free(p); JOIN(a); return 0; }"#,
    ),
    (
        "double free",
        1,
        0,
        &[Memory],
        r#"
        int main(void) { char *p = malloc(3); free(p); free(p); return 0; }"#,
    ),
    (
        "past the end",
        1,
        0,
        &[Memory],
        r#"
        int main(void) { char *p = malloc(3); p[3] = 1; return 0; }"#,
    ),
    (
        "a null pointer",
        1,
        0,
        &[Memory],
        r#"
        THREAD(f) { *(volatile int *)unused = 1; DONE; }
        int main(void) { SPAWN(a, f); JOIN(a); return 0; }"#,
    ),
    (
        "division by zero",
        1,
        0,
        &[Arithmetic],
        r#"
        int main(void) { volatile int z = 0; return 10 / z; }"#,
    ),
    (
        "endless recursion",
        1,
        0,
        &[StackOverflow],
        r#"
        static int f(volatile int *p) { volatile int q = *p + 1; return f(&q) + q; }
        int main(void) { volatile int z = 0; return f(&z); }"#,
    ),
    (
        "abort",
        1,
        0,
        &[Panic],
        r#"
        int main(void) { abort(); }"#,
    ),
    (
        "copies",
        2,
        0,
        &[],
        r#"
        static struct { int a[4]; } x, y;
        THREAD(f) { memset(&x, 1, sizeof x); DONE; }
        int main(void) { SPAWN(a, f); memcpy(&y, &x, sizeof x); JOIN(a); return 0; }"#,
    ),
    (
        "choices",
        6,
        0,
        &[],
        r#"
        unsigned mazurka_choose(unsigned); _Bool __VERIFIER_nondet_bool(void);
        int main(void) { unsigned c = mazurka_choose(3); assert(c < 3); if (__VERIFIER_nondet_bool()) puts("yes");
            return 0; }"#,
    ),
    (
        "an assumption",
        1,
        0,
        &[],
        r#"
        void __VERIFIER_assume(int); _Bool __VERIFIER_nondet_bool(void);
        int main(void) { __VERIFIER_assume(__VERIFIER_nondet_bool()); return 0; }"#,
    ),
    (
        "atomic sections",
        2,
        0,
        &[],
        r#"
        void __VERIFIER_atomic_begin(void); void __VERIFIER_atomic_end(void); static int x;
        THREAD(f) { __VERIFIER_atomic_begin(); x++; __VERIFIER_atomic_end(); DONE; }
        int main(void) { SPAWN(a, f); SPAWN(b, f); JOIN(a); JOIN(b); assert(x == 2); return 0; }"#,
    ),
    (
        "a variable on another's stack",
        2,
        0,
        &[],
        r#"
        static void *f(void *a) { *(atomic_int *)a = 1; return 0; }
        int main(void) { atomic_int x = 0; pthread_t t; pthread_create(&t, 0, f, &x); int seen = x; (void)seen;
            JOIN(t); assert(x == 1); return 0; }"#,
    ),
    (
        "parts of a word",
        3,
        0,
        &[],
        r#"
        static union { _Atomic uint32_t whole; _Atomic uint16_t half[2]; } u;
        THREAD(f) { u.half[0] = 1; u.half[1] = 1; DONE; }
        int main(void) { SPAWN(a, f); uint32_t v = u.whole; assert(v != 0x20002); JOIN(a); return 0; }"#,
    ),
];

/// Name, executions, deadlocks, failures and text of programs whose waits may end of themselves, one of each
/// thread.
const OF_THEMSELVES: [(&str, usize, usize, &[FailureKind], &str); 4] = [
    ("if", 4, 0, &[Assertion], "if (!ready) pthread_cond_wait(&c, &m); assert(ready);"),
    ("while", 4, 0, &[], "while (!ready) pthread_cond_wait(&c, &m); assert(ready);"),
    (
        // 1 where nobody waits, 1 with the signal, 6 after a timeout (of which 5 wait again), 4 after a
        // wake-up of itself.
        "with a timeout",
        12,
        0,
        &[],
        "struct timespec until = {0}; for (int k = 0; k < 2 && !ready; k++) pthread_cond_timedwait(&c, &m, &until);",
    ),
    ("twice", 4, 1, &[], "pthread_cond_wait(&c, &m); pthread_cond_wait(&c, &m);"),
];

#[test]
fn waits_that_end_of_themselves() {
    for compiler in compilers() {
        for (name, executions, deadlocks, failures, wait) in OF_THEMSELVES {
            let text = format!(
                "#include <assert.h>
                #include <pthread.h>
                static pthread_mutex_t m; static pthread_cond_t c; static int ready;
                static void *f(void *a) {{
                    pthread_mutex_lock(&m); ready = 1; pthread_cond_signal(&c); pthread_mutex_unlock(&m); return a;
                }}
                int main(void) {{
                    pthread_t t; pthread_create(&t, 0, f, 0);
                    pthread_mutex_lock(&m); {wait} pthread_mutex_unlock(&m); pthread_join(t, 0); return 0;
                }}"
            );
            let scratch = Scratch::new();
            let built = build(&scratch, &text, &["-pthread"], compiler);
            let options = Options { spurious_wakeups: true, self_check: 1, ..Options::default() };
            let met = agreed(&load(&built, options).unwrap(), name);
            let kinds: Vec<FailureKind> = met.failures.iter().map(|failure| failure.0).collect();
            let found = (met.classes.len(), met.deadlocks.len(), &kinds[..]);
            assert_eq!(found, (executions, deadlocks, failures), "{compiler} {name}: {:?}", met.failures);
        }
    }
}
