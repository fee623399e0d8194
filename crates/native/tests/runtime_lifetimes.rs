//! Locks, threads and handlers that begin, end and begin again: what is done to them too late or twice is
//! found in whatever order the others go on, and what is put where another has been is a new one.

use crate::runtime_support::{Row, Scratch, agreed, build, check_all, compilers};
use mazurka_native::runtime::{Options, Races, load};
use mazurka_program::FailureKind;

#[test]
fn programs() {
    check_all(ROWS, Races::Sc);
}

const ROWS: &[Row] = &[
    (
        "a mutex that is locked before it is initialised, or after",
        2,
        0,
        &[FailureKind::InvalidSync],
        r"static pthread_mutex_t *m;
        THREAD(lock) { pthread_mutex_lock(m); pthread_mutex_unlock(m); DONE; }
        int main(void) { m = malloc(sizeof *m); SPAWN(t, lock); pthread_mutex_init(m, 0); JOIN(t); }",
    ),
    (
        "a lock that is initialised before, while or after somebody reads",
        3,
        0,
        &[FailureKind::InvalidSync],
        r"static pthread_rwlock_t l;
        THREAD(read_it) { pthread_rwlock_rdlock(&l); pthread_rwlock_unlock(&l); DONE; }
        int main(void) { SPAWN(t, read_it); pthread_rwlock_init(&l, 0); JOIN(t); }",
    ),
    (
        "a semaphore that is waited for before it is initialised, or after",
        2,
        0,
        &[FailureKind::InvalidSync],
        r"static sem_t s;
        THREAD(take) { sem_wait(&s); DONE; }
        int main(void) { SPAWN(t, take); sem_init(&s, 0, 1); JOIN(t); }",
    ),
    (
        "a barrier that is initialised while somebody waits",
        2,
        1,
        &[FailureKind::InvalidSync],
        r"static pthread_barrier_t b;
        THREAD(come) { pthread_barrier_wait(&b); DONE; }
        int main(void) { pthread_barrier_init(&b, 0, 2); SPAWN(t, come); pthread_barrier_init(&b, 0, 2); JOIN(t); }",
    ),
    // Initialised without a call, on a stack that is used again.
    (
        "a condition variable that was destroyed, and another one there",
        4,
        0,
        &[],
        r"struct gate { pthread_mutex_t m; pthread_cond_t c; int open; };
        static void *open_it(void *it) {
            struct gate *g = it;
            pthread_mutex_lock(&g->m); g->open = 1; pthread_cond_signal(&g->c); pthread_mutex_unlock(&g->m);
            return 0;
        }
        static void pass(void) {
            struct gate g = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};
            pthread_t t;
            pthread_create(&t, 0, open_it, &g);
            pthread_mutex_lock(&g.m); while (!g.open) pthread_cond_wait(&g.c, &g.m); pthread_mutex_unlock(&g.m);
            JOIN(t);
            pthread_mutex_destroy(&g.m); pthread_cond_destroy(&g.c);
        }
        int main(void) { pass(); pass(); }",
    ),
    (
        "once, and once again where another flag was",
        4,
        0,
        &[],
        r"static int times; static void count(void) { times++; }
        static void *once(void *flag) { pthread_once(flag, count); return 0; }
        static void both(void) {
            pthread_once_t flag = PTHREAD_ONCE_INIT;
            pthread_t t;
            pthread_create(&t, 0, once, &flag);
            once(&flag);
            JOIN(t);
        }
        int main(void) { both(); assert(times == 1); both(); assert(times == 2); }",
    ),
    (
        "a mutex that is left locked, and another one there",
        1,
        0,
        &[],
        r"static void *lock(void *m) { pthread_mutex_lock(m); return 0; }
        static void once(void) { pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; pthread_t t; pthread_create(&t, 0, lock, &m); JOIN(t); }
        int main(void) { once(); once(); }",
    ),
    (
        "a mutex in memory that is freed",
        3,
        0,
        &[FailureKind::Memory],
        r"static void *lock(void *m) { pthread_mutex_lock(m); pthread_mutex_unlock(m); return 0; }
        int main(void) {
            pthread_mutex_t *m = malloc(sizeof *m);
            pthread_mutex_init(m, 0);
            pthread_t t;
            pthread_create(&t, 0, lock, m);
            free(m);
            JOIN(t);
        }",
    ),
    (
        "a mutex in memory that is freed before anybody has used it",
        2,
        0,
        &[FailureKind::Memory],
        r"static void *lock(void *m) { pthread_mutex_trylock(m); return 0; }
        THREAD(nothing) { DONE; }
        int main(void) {
            SPAWN(s, nothing);
            pthread_mutex_t *m = calloc(1, sizeof *m);
            pthread_t t;
            pthread_create(&t, 0, lock, m);
            free(m);
            JOIN(t); JOIN(s);
        }",
    ),
    (
        "the last who counts down frees the mutex",
        2,
        0,
        &[],
        r"struct counted { pthread_mutex_t m; int left; };
        static void *drop(void *it) {
            struct counted *c = it;
            pthread_mutex_lock(&c->m); int left = --c->left; pthread_mutex_unlock(&c->m);
            if (left == 0) free(c);
            return 0;
        }
        int main(void) {
            struct counted *c = malloc(sizeof *c);
            pthread_mutex_init(&c->m, 0); c->left = 2;
            pthread_t t;
            pthread_create(&t, 0, drop, c);
            drop(c);
            JOIN(t);
        }",
    ),
    (
        "a semaphore that is destroyed before the last post",
        3,
        0,
        &[FailureKind::InvalidSync],
        r"static sem_t s;
        THREAD(post) { sem_post(&s); sem_post(&s); DONE; }
        int main(void) { sem_init(&s, 0, 0); SPAWN(t, post); sem_wait(&s); sem_destroy(&s); JOIN(t); }",
    ),
    (
        "a semaphore that is destroyed while somebody waits",
        2,
        0,
        &[FailureKind::InvalidSync],
        r"static sem_t s;
        THREAD(wait) { sem_wait(&s); DONE; }
        int main(void) { sem_init(&s, 0, 1); SPAWN(t, wait); sem_destroy(&s); JOIN(t); }",
    ),
    (
        "two join one thread",
        2,
        0,
        &[FailureKind::InvalidSync],
        r"static pthread_t t;
        THREAD(nothing) { DONE; }
        THREAD(join) { JOIN(t); DONE; }
        int main(void) { pthread_create(&t, 0, nothing, 0); SPAWN(u, join); JOIN(t); JOIN(u); }",
    ),
    (
        "one joins a thread, another one detaches it",
        2,
        0,
        &[FailureKind::InvalidSync],
        r"static pthread_t t;
        THREAD(nothing) { DONE; }
        THREAD(detach) { pthread_detach(t); DONE; }
        int main(void) { pthread_create(&t, 0, nothing, 0); SPAWN(u, detach); JOIN(t); JOIN(u); }",
    ),
    (
        "handlers are called in the reverse order of their registration",
        2,
        0,
        &[FailureKind::Assertion],
        r"static int last;
        static void one(void) { last = 1; }
        static void two(void) { last = 2; }
        static void look(void) { assert(last == 1); }
        THREAD(first) { atexit(one); DONE; }
        THREAD(second) { atexit(two); DONE; }
        int main(void) { atexit(look); SPAWN(a, first); SPAWN(b, second); JOIN(a); JOIN(b); }",
    ),
    (
        "a handler that is registered when the program ends, or too late",
        2,
        0,
        &[FailureKind::Assertion],
        r"static void never(void) { assert(0); }
        THREAD(late) { atexit(never); DONE; }
        int main(void) { SPAWN(t, late); return 0; }",
    ),
    (
        "keys of two threads",
        2,
        0,
        &[],
        r"static void *own(void *key) {
            pthread_key_create(key, 0);
            pthread_setspecific(*(pthread_key_t *)key, key);
            assert(pthread_getspecific(*(pthread_key_t *)key) == key);
            return 0;
        }
        static pthread_key_t one, two;
        int main(void) { pthread_t t; pthread_create(&t, 0, own, &one); own(&two); JOIN(t); assert(one != two); }",
    ),
    (
        "a word of memory that two wait for, and one is woken",
        14,
        2,
        &[],
        r"
        #include <sys/syscall.h>
        #include <linux/futex.h>
        static atomic_int word;
        THREAD(wait) { syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, 0); DONE; }
        int main(void) { SPAWN(s, wait); SPAWN(t, wait); word = 1; syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1); JOIN(s); JOIN(t); }",
    ),
    (
        "compare and exchange in memory that is freed",
        3,
        0,
        &[FailureKind::Memory],
        r"static void *exchange(void *at) { int old = 0; atomic_compare_exchange_strong((atomic_int *)at, &old, 1); return 0; }
        int main(void) {
            atomic_int *at = malloc(sizeof *at);
            atomic_init(at, 0);
            pthread_t t;
            pthread_create(&t, 0, exchange, at);
            atomic_fetch_add(at, 2);
            free(at);
            JOIN(t);
        }",
    ),
    ("there is no mutex", 1, 0, &[FailureKind::Memory], r"int main(void) { pthread_mutex_lock(0); }"),
];

/// Objects of C++ begin and end without calls of the C library, some of them.
#[test]
fn objects_of_cxx() {
    let gate = r"// C++
        #include <condition_variable>
        #include <mutex>
        #include <thread>
        static void pass() {
            std::mutex m; std::condition_variable c; bool open = false;
            std::thread t([&] { std::lock_guard<std::mutex> guard(m); open = true; c.notify_one(); });
            { std::unique_lock<std::mutex> lock(m); c.wait(lock, [&] { return open; }); }
            t.join();
        }
        int main() { pass(); pass(); }";
    let statics = r"// C++
        #include <thread>
        static int order[2], at;
        struct Noted { int number; ~Noted() { order[at++] = number; } };
        static void one() { static Noted noted{1}; }
        static void two() { static Noted noted{2}; }
        int main() { std::thread t(one); two(); t.join(); }";
    for compiler in compilers() {
        for (name, text, executions) in [("gate", gate, 4), ("statics", statics, 2)] {
            let scratch = Scratch::new();
            let built = build(&scratch, text, &["-pthread"], compiler);
            let options = Options { races: Races::Sc, self_check: 1, ..Options::default() };
            let met = agreed(&load(&built, options).unwrap(), name);
            assert_eq!(
                (met.classes.len(), met.failures.len()),
                (executions, 0),
                "{compiler} {name}: {met:?}"
            );
        }
    }
}
