//! Loops that wait and write: they end, with the same executions in every order, with and without snapshots;
//! and nothing is taken for a round that is none.

use std::ops::ControlFlow;
use std::rc::Rc;
use std::time::{Duration, Instant};

use crate::runtime_support::{Scratch, build, compilers};
use mazurka_explore::{
    Algorithm, Counts, Ending, Limits, Monitor, NotExhaustive, Options as Search, Order, explore,
};
use mazurka_native::driver::Built;
use mazurka_native::runtime::{NativeRun, Options, load};
use mazurka_native::symbols::Symbols;
use mazurka_program::{FailureKind, Run};
use mazurka_trace::Trace;

/// What a search met.
#[derive(Default, Debug, PartialEq, Eq)]
pub(crate) struct Met {
    pub(crate) complete: u64,
    pub(crate) stopped: u64,
    pub(crate) livelocks: u64,
    pub(crate) failures: Vec<(FailureKind, String)>,
}

impl Monitor<NativeRun> for Met {
    fn execution(&mut self, ending: Ending, _: &Trace, run: &NativeRun, _: &Counts) -> ControlFlow<()> {
        match ending {
            Ending::Complete { .. } => self.complete += 1,
            Ending::Stopped { livelock } => {
                self.stopped += 1;
                self.livelocks += u64::from(livelock);
            }
            Ending::Blocked => {}
            ending => panic!("{ending:?}"),
        }
        for failure in run.failures() {
            let failure = (failure.kind, failure.message.clone());
            if !self.failures.contains(&failure) {
                self.failures.push(failure);
            }
        }
        ControlFlow::Continue(())
    }

    fn begin_again(&mut self) {
        *self = Met::default();
    }
}

const ORDERS: [Order; 4] = [Order::Natural, Order::Shuffled(1), Order::Shuffled(7), Order::Shuffled(23)];

/// What `optimal` meets, which must be the same in every order, with snapshots and without; and why it did
/// not look at everything.
pub(crate) fn met(built: &Built, name: &str, limits: Limits) -> (Met, Option<NotExhaustive>) {
    let mut first: Option<(Met, Option<NotExhaustive>)> = None;
    for snapshots in [true, false] {
        // A search leaves traces in what is known of memory: each begins anew.
        for order in ORDERS {
            let symbols = Some(Rc::new(Symbols::new(&built.object)));
            let options = Options { snapshots, self_check: 1, symbols, ..Options::default() };
            let program = load(built, options).unwrap();
            let (mut met, start) = (Met::default(), Instant::now());
            let options = Search { order, limits, keep_going: true, ..Search::default() };
            let summary = explore(&program, Algorithm::Optimal, &options, &mut met);
            let what = format!("{name}, {order:?}, snapshots: {snapshots}");
            assert!(start.elapsed() < Duration::from_secs(5), "{what}: {:?}", start.elapsed());
            assert_eq!(summary.broken, None, "{what}");
            assert_eq!(summary.counts.blocked, 0, "{what}");
            met.failures.sort_by(|a, b| a.1.cmp(&b.1));
            let found = (met, summary.not_exhaustive);
            match &first {
                Some(first) => assert_eq!(*first, found, "{what}"),
                None => first = Some(found),
            }
        }
    }
    first.unwrap()
}

pub(crate) fn c(text: &str) -> String {
    format!(
        "#include <assert.h>\n#include <pthread.h>\n#include <sched.h>\n#include <semaphore.h>\n\
         #include <stdatomic.h>\n#include <stdlib.h>\n#include <time.h>\n{text}"
    )
}

/// A program with `threads` threads that do `body`, and what `main` does besides.
pub(crate) fn pollers(declarations: &str, body: &str, main: &str, threads: usize) -> String {
    c(&format!(
        "{declarations}\nvoid *poller(void *argument) {{ {body} return 0; }}\nint main(void) {{\n\
         pthread_t threads[{threads}];\n\
         for (int i = 0; i < {threads}; i++) pthread_create(&threads[i], 0, poller, 0);\n{main}\n\
         for (int i = 0; i < {threads}; i++) pthread_join(threads[i], 0);\nreturn 0; }}\n"
    ))
}

pub(crate) const MUTEX: &str = "pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; int flag;";
pub(crate) const POLL: &str =
    "for (;;) { pthread_mutex_lock(&m); int f = flag; pthread_mutex_unlock(&m); if (f) break; }";
pub(crate) const SET: &str = "pthread_mutex_lock(&m); flag = 1; pthread_mutex_unlock(&m);";

/// Its name, its text, and how many executions are complete and how many are stopped.
type WaitingLoop = (&'static str, String, [(u64, u64); 2]);

/// Each with how many executions are complete and how many are stopped, as gcc compiles it and as clang does:
/// what is left in dead words of a frame is part of a thread's state.
fn waiting_loops() -> Vec<WaitingLoop> {
    let try_lock = |between: &str| {
        format!("while (pthread_mutex_trylock(&m)) {{ {between} }} flag++; pthread_mutex_unlock(&m);")
    };
    let add = "pthread_mutex_lock(&m); flag++; pthread_mutex_unlock(&m);";
    let rwlock = "pthread_rwlock_t m = PTHREAD_RWLOCK_INITIALIZER; int flag;";
    let read =
        "for (;;) { pthread_rwlock_rdlock(&m); int f = flag; pthread_rwlock_unlock(&m); if (f) break; }";
    let write = "pthread_rwlock_wrlock(&m); flag = 1; pthread_rwlock_unlock(&m);";
    vec![
        ("poll a mutex", pollers(MUTEX, POLL, SET, 1), [(1, 1); 2]),
        ("two poll a mutex", pollers(MUTEX, POLL, SET, 2), [(2, 4); 2]),
        ("three poll a mutex", pollers(MUTEX, POLL, SET, 3), [(6, 18); 2]),
        ("try_lock", pollers(MUTEX, &try_lock(""), add, 1), [(2, 1); 2]),
        ("try_lock and yield", pollers(MUTEX, &try_lock("sched_yield();"), add, 1), [(2, 1); 2]),
        ("two try_lock", pollers(MUTEX, &try_lock(""), add, 2), [(6, 9); 2]),
        ("three try_lock", pollers(MUTEX, &try_lock("sched_yield();"), add, 3), [(24, 79); 2]),
        ("poll a rwlock", pollers(rwlock, read, write, 1), [(1, 1); 2]),
        (
            "poll a semaphore",
            pollers("sem_t s;", "while (sem_trywait(&s)) ;", "sem_post(&s);", 1)
                .replace("pthread_t threads", "sem_init(&s, 0, 0); pthread_t threads"),
            [(2, 1); 2],
        ),
        (
            "toggle a token",
            pollers(
                "atomic_int token, done;",
                "while (!done) { token = 1; token = 0; }",
                "int seen = token; done = 1; assert(seen < 2);",
                1,
            ),
            // Its stores are blind ones: where races are judged the second round counts.
            [(6, 4); 2],
        ),
        (
            "keep a copy",
            pollers("atomic_int x; int cache;", "while (cache != 2) cache = x;", "x = 1; x = 2;", 1),
            [(2, 2); 2],
        ),
        (
            "wait with a timeout",
            pollers(
                "pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; pthread_cond_t c = PTHREAD_COND_INITIALIZER; int flag;",
                "struct timespec t = {1, 0}; pthread_mutex_lock(&m);
                 while (!flag) pthread_cond_timedwait(&c, &m, &t);
                 pthread_mutex_unlock(&m);",
                "pthread_mutex_lock(&m); flag = 1; pthread_cond_signal(&c); pthread_mutex_unlock(&m);",
                1,
            ),
            [(3, 1); 2],
        ),
        ("handed over", c(HANDED_OVER), [(9, 0); 2]),
        ("MCS lock", c(MCS), [(26, 0); 2]),
        ("CLH lock", c(CLH), [(6, 0); 2]),
        ("ticket lock", c(TICKET), [(162, 0), (144, 0)]),
        ("ring", c(RING), [(10, 12), (5, 8)]),
        ("sequence lock", c(SEQUENCE_LOCK), [(90, 0), (60, 0)]),
    ]
}

#[test]
fn loops_that_wait_end() {
    let scratch = Scratch::new();
    for (name, text, expected) in waiting_loops() {
        for (compiler, expected) in compilers().into_iter().zip(expected) {
            let built = build(&scratch, &text, &["-pthread"], compiler);
            let (met, not_exhaustive) = met(&built, name, Limits::default());
            assert_eq!(not_exhaustive, None, "{name} {compiler}");
            assert_eq!((met.failures, met.livelocks), (Vec::new(), 0), "{name} {compiler}");
            assert_eq!((met.complete, met.stopped), expected, "{name} {compiler}");
        }
    }
}

/// `source` comes to the same verdicts.
#[test]
fn source_comes_to_an_end_too() {
    let scratch = Scratch::new();
    for (name, text, _) in waiting_loops() {
        let program = load(&build(&scratch, &text, &["-pthread"], "gcc"), Options::default()).unwrap();
        let mut met = Met::default();
        let summary = explore(&program, Algorithm::Source, &Search::default(), &mut met);
        let refused = matches!(summary.not_exhaustive, Some(NotExhaustive::Unsupported(_)));
        assert_eq!(refused, name == "wait with a timeout", "{name}: source has no condition variables");
        assert_eq!(summary.broken, None, "{name}");
        assert!(refused || summary.not_exhaustive.is_none(), "{name}: {:?}", summary.not_exhaustive);
        assert_eq!((met.failures, met.livelocks), (Vec::new(), 0), "{name}");
    }
}

/// Optimised code keeps more in registers.
#[test]
fn optimised_loops_end_as_well() {
    let scratch = Scratch::new();
    for (name, text, _) in waiting_loops() {
        for compiler in compilers() {
            let built = build(&scratch, &text, &["-pthread", "-O2"], compiler);
            let (met, not_exhaustive) = met(&built, name, Limits::default());
            assert_eq!(not_exhaustive, None, "{name} {compiler}");
            assert_eq!((met.failures, met.livelocks), (Vec::new(), 0), "{name} {compiler}");
            assert!(met.complete > 0, "{name} {compiler}");
        }
    }
}

const LOOK: &str =
    "long now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec; }";

/// A clock matters from when it is asked on, and then what it shows is a part of where a thread is.
#[test]
fn loops_end_where_a_clock_is_asked_elsewhere() {
    let scratch = Scratch::new();
    let declarations = format!("{MUTEX} {LOOK}");
    let then = |done: &str| POLL.replace("if (f) break;", &format!("if (f) {{ {done} break; }}"));
    let asked_before = format!("assert(now() > 0); {SET}");
    let slept = POLL.replace("if (f) break;", "if (f) break; struct timespec t = {1, 0}; nanosleep(&t, 0);");
    let mut found = Vec::new();
    let programs = [
        ("nowhere", POLL.replace("if (f) break;", "if (f == 7) now(); if (f) break;"), SET),
        ("behind the loop", then("assert(now() > 0);"), SET),
        ("before the loop", POLL.to_owned(), &asked_before),
        ("before a loop that sleeps", slept, &asked_before),
    ];
    for (name, body, main) in programs {
        for compiler in compilers() {
            let built = build(&scratch, &pollers(&declarations, &body, main, 1), &["-pthread"], compiler);
            let (met, not_exhaustive) = met(&built, name, Limits::default());
            assert_eq!(not_exhaustive, None, "{name} {compiler}");
            assert_eq!((met.failures, met.livelocks), (Vec::new(), 0), "{name} {compiler}");
            found.push((name, compiler, met.complete, met.stopped));
        }
    }
    // Who asks needs two rounds to see that it is not later when it has been where it was.
    let expected = [("nowhere", 1, 1), ("behind the loop", 2, 1), ("before the loop", 2, 1)];
    let expected = [&expected[..], &[("before a loop that sleeps", 2, 1)]].concat();
    let expected = expected.into_iter().flat_map(|(name, complete, stopped)| {
        compilers().into_iter().map(move |compiler| (name, compiler, complete, stopped))
    });
    assert_eq!(found, expected.collect::<Vec<_>>());
}

/// In a round in which its clock was put forward a thread has not come back to where it was: it comes to know
/// there that three seconds have passed.
#[test]
fn who_learns_how_late_it_is_has_gone_no_round() {
    let scratch = Scratch::new();
    let text = c(&format!(
        "{LOOK}
        pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; atomic_int x, flag;
        void *late(void *a) {{ struct timespec t = {{3, 0}}; nanosleep(&t, 0); x = 0; return 0; }}
        void *sets(void *a) {{ flag = 1; return 0; }}
        int main(void) {{
            pthread_t a, b; long before = now();
            pthread_create(&a, 0, late, 0); pthread_create(&b, 0, sets, 0);
            for (;;) {{
                pthread_mutex_lock(&m); pthread_mutex_unlock(&m);
                if (flag) break;
                int seen = x; (void)seen;
            }}
            assert(now() - before < 2);
            pthread_join(a, 0); pthread_join(b, 0); return 0;
        }}"
    ));
    for compiler in compilers() {
        let (met, not_exhaustive) =
            met(&build(&scratch, &text, &["-pthread"], compiler), "late", Limits::default());
        assert_eq!(not_exhaustive, None, "{compiler}");
        let kinds: Vec<FailureKind> = met.failures.iter().map(|failure| failure.0).collect();
        assert_eq!(kinds, [FailureKind::Assertion], "{compiler}");
    }
}

/// A loop that asks a clock in every round is in another state each time, and is cut.
#[test]
fn a_loop_that_asks_a_clock_in_every_round_is_cut() {
    let scratch = Scratch::new();
    let body = POLL.replace("if (f) break;", "if (f) break; now();");
    for compiler in compilers() {
        let text = pollers(&format!("{MUTEX} {LOOK}"), &body, SET, 1);
        let limits = Limits { unroll: 20, ..Limits::default() };
        let (met, not_exhaustive) = met(&build(&scratch, &text, &["-pthread"], compiler), "asks", limits);
        assert!(
            matches!(not_exhaustive, Some(NotExhaustive::Unrolled(20, _))),
            "{compiler} {not_exhaustive:?}"
        );
        assert_eq!((met.failures, met.livelocks), (Vec::new(), 0), "{compiler}");
    }
}

/// Who waits for what was said before it listened waits for ever.
#[test]
fn lost_wake_ups_are_livelocks() {
    let scratch = Scratch::new();
    let declarations = format!("{MUTEX} int listens;");
    let body = format!("pthread_mutex_lock(&m); listens = 1; pthread_mutex_unlock(&m); {POLL}");
    let main = "pthread_mutex_lock(&m); if (listens) flag = 1; pthread_mutex_unlock(&m);";
    for compiler in compilers() {
        let built = build(&scratch, &pollers(&declarations, &body, main, 1), &["-pthread"], compiler);
        let (met, not_exhaustive) = met(&built, "lost wake-up", Limits::default());
        assert_eq!((not_exhaustive, met.livelocks, met.failures), (None, 1, Vec::new()), "{compiler}");
    }
}

/// What changes in every round is a counter, wherever it is: nothing is a round that is none, so what goes
/// wrong in a late one is found.
#[test]
fn hidden_counters_are_no_rounds() {
    let scratch = Scratch::new();
    let count = |counter: &str| {
        POLL.replace("if (f) break;", &format!("if (++{counter} == 40) assert(0); if (f) break;"))
    };
    let counters = [
        ("a global", format!("{MUTEX} int counter;"), count("counter")),
        ("an array", format!("{MUTEX} char counters[64];"), count("counters[f + 33]")),
        ("thread-local", format!("{MUTEX} _Thread_local int counter;"), count("counter")),
        ("a static of a function", MUTEX.to_owned(), format!("static int counter; {}", count("counter"))),
        ("a local", MUTEX.to_owned(), format!("int counter = 0; {}", count("counter"))),
        ("on the heap", MUTEX.to_owned(), format!("int *counter = calloc(1, 4); {}", count("*counter"))),
        (
            "a copy",
            format!("{MUTEX} struct {{ int n, m, o; }} counter, copy;"),
            POLL.replace(
                "if (f) break;",
                "copy = counter; copy.n++; counter = copy; if (counter.n == 40) assert(0); if (f) break;",
            ),
        ),
        (
            "a list",
            format!("{MUTEX} struct node {{ struct node *next; }} *list; int length(struct node *n) {{ return n ? 1 + length(n->next) : 0; }}"),
            POLL.replace(
                "if (f) break;",
                "struct node *n = malloc(sizeof *n); n->next = list; list = n; if (length(list) == 40) assert(0); \
                 if (f) break;",
            ),
        ),
        (
            "in a new block each time",
            MUTEX.to_owned(),
            format!(
                "int *counter = calloc(1, 4); {}",
                POLL.replace(
                    "if (f) break;",
                    "int n = *counter + 1; free(counter); counter = malloc(4); *counter = n;
                     if (n == 40) assert(0); if (f) break;",
                )
            ),
        ),
        (
            "a semaphore",
            format!("{MUTEX} sem_t s;"),
            POLL.replace(
                "if (f) break;",
                "sem_post(&s); int n; sem_getvalue(&s, &n); if (n == 40) assert(0); if (f) break;",
            ),
        ),
    ];
    for (name, declarations, body) in counters {
        let text = pollers(&declarations, &body, SET, 1).replace(
            "pthread_t threads",
            if name == "a semaphore" { "sem_init(&s, 0, 0); pthread_t threads" } else { "pthread_t threads" },
        );
        for compiler in compilers() {
            for order in ORDERS {
                let built = build(&scratch, &text, &["-pthread"], compiler);
                let program = load(&built, Options::default()).unwrap();
                let (mut met, options) = (Met::default(), Search { order, ..Search::default() });
                let summary = explore(&program, Algorithm::Optimal, &options, &mut met);
                assert_eq!(summary.broken, None, "{name} {compiler} {order:?}");
                let kinds: Vec<FailureKind> = met.failures.iter().map(|failure| failure.0).collect();
                assert!(
                    kinds.contains(&FailureKind::Assertion),
                    "{name} {compiler} {order:?}: {met:?} {:?}",
                    summary.not_exhaustive
                );
            }
        }
    }
}

/// Memory that was freed is not there again where somebody still has a pointer to it: who uses that is found.
#[test]
fn what_was_freed_in_an_earlier_round_is_not_used() {
    let scratch = Scratch::new();
    let round = "int *p = malloc(4); *p = f; if (old && ++n == 20) *old = 1; old = p; free(p); if (f) break;";
    for (name, declarations, before) in [
        ("in a variable", String::new(), "int *old = 0, n = 0;"),
        ("in a global", "int *old, n;".to_owned(), ""),
        (
            "in a block",
            "struct keeps { int *old; int n; };".to_owned(),
            "struct keeps *k = calloc(1, sizeof *k);",
        ),
    ] {
        let round = if name == "in a block" {
            round.replace("old", "k->old").replace("++n", "++k->n")
        } else {
            round.to_owned()
        };
        let body = format!("{before} {}", POLL.replace("if (f) break;", &round));
        let text = pollers(&format!("{MUTEX} {declarations}"), &body, SET, 1);
        for compiler in compilers() {
            let program = load(&build(&scratch, &text, &["-pthread"], compiler), Options::default()).unwrap();
            let mut met = Met::default();
            explore(&program, Algorithm::Optimal, &Search::default(), &mut met);
            let kinds: Vec<FailureKind> = met.failures.iter().map(|failure| failure.0).collect();
            assert!(kinds.contains(&FailureKind::Memory), "{name} {compiler}: {met:?}");
        }
    }
}

/// A counter that grows is cut, and the verdict says which, where, and that not everything was looked at.
#[test]
fn growing_counters_are_cut() {
    let scratch = Scratch::new();
    let count = |counter: &str| POLL.replace("if (f) break;", &format!("{counter}++; if (f) break;"));
    let counters = [
        ("tries", format!("{MUTEX} unsigned tries;"), count("tries")),
        ("looks of poller", MUTEX.to_owned(), format!("unsigned looks = 0; {}", count("looks"))),
    ];
    for (counter, declarations, body) in counters {
        for compiler in compilers() {
            let built = build(&scratch, &pollers(&declarations, &body, SET, 1), &["-pthread"], compiler);
            let limits = Limits { unroll: 50, ..Limits::default() };
            let (met, not_exhaustive) = met(&built, counter, limits);
            let reason = not_exhaustive.expect("it is cut").to_string();
            assert!(reason.contains("program.c:9:"), "{reason}");
            assert!(reason.contains(" of poller"), "{reason}");
            assert!(reason.contains(&format!("in which {counter} changes")), "{reason}");
            assert!(reason.contains("was cut after 50 rounds"), "{reason}");
            assert_eq!((met.failures, met.livelocks), (Vec::new(), 0), "{compiler}");
        }
    }
}

const HANDED_OVER: &str = "
atomic_int *_Atomic p;
void *th(void *a) { atomic_int n = 1; p = &n; while (n) ; return 0; }
int main(void) {
    pthread_t t; pthread_create(&t, 0, th, 0);
    while (!p) ;
    *p = 0;
    pthread_join(t, 0); return 0;
}";

const MCS: &str = "
struct node { _Atomic(struct node *) next; atomic_int locked; };
_Atomic(struct node *) tail; int count;
void lock(struct node *me) {
    me->next = NULL; me->locked = 1;
    struct node *before = atomic_exchange(&tail, me);
    if (before) { before->next = me; while (me->locked) ; }
}
void unlock(struct node *me) {
    if (!me->next) {
        struct node *expected = me;
        if (atomic_compare_exchange_strong(&tail, &expected, NULL)) return;
        while (!me->next) ;
    }
    struct node *next = me->next; next->locked = 0;
}
void *user(void *a) { struct node me; lock(&me); count++; unlock(&me); return 0; }
int main(void) {
    pthread_t t[2]; for (int i = 0; i < 2; i++) pthread_create(&t[i], 0, user, 0);
    for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
    assert(count == 2); return 0;
}";

const CLH: &str = "
struct node { atomic_int locked; };
struct node first, nodes[2]; _Atomic(struct node *) tail = &first; int count;
void *user(void *a) {
    struct node *me = a; me->locked = 1;
    struct node *before = atomic_exchange(&tail, me);
    while (before->locked) ;
    count++; me->locked = 0; return 0;
}
int main(void) {
    pthread_t t[2]; for (int i = 0; i < 2; i++) pthread_create(&t[i], 0, user, &nodes[i]);
    for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
    assert(count == 2); return 0;
}";

const TICKET: &str = "
atomic_int next, serving; int count;
void *user(void *a) {
    int mine = atomic_fetch_add(&next, 1);
    while (serving != mine) ;
    count++; serving++; return 0;
}
int main(void) {
    pthread_t t[3]; for (int i = 0; i < 3; i++) pthread_create(&t[i], 0, user, 0);
    for (int i = 0; i < 3; i++) pthread_join(t[i], 0);
    assert(count == 3); return 0;
}";

const RING: &str = "
enum { SIZE = 2, ITEMS = 3 };
struct { atomic_uint head, tail; unsigned cached_head, cached_tail; int slots[SIZE]; } q;
void *producer(void *a) {
    for (int i = 0; i < ITEMS; i++) {
        unsigned t = q.tail;
        while (t - q.cached_head == SIZE) q.cached_head = q.head;
        q.slots[t % SIZE] = i; q.tail = t + 1;
    }
    return 0;
}
int main(void) {
    pthread_t t; pthread_create(&t, 0, producer, 0);
    for (int i = 0; i < ITEMS; i++) {
        unsigned h = q.head;
        while (h == q.cached_tail) q.cached_tail = q.tail;
        assert(q.slots[h % SIZE] == i); q.head = h + 1;
    }
    pthread_join(t, 0); return 0;
}";

const SEQUENCE_LOCK: &str = "
atomic_uint sequence; atomic_int a, b;
void *writer(void *x) { sequence++; a = 1; b = 1; sequence++; return 0; }
int main(void) {
    pthread_t t; pthread_create(&t, 0, writer, 0);
    unsigned s; int first, second;
    do { s = sequence; first = a; second = b; } while ((s & 1) || s != sequence);
    assert(first == second);
    pthread_join(t, 0); return 0;
}";
