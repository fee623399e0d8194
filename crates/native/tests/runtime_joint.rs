//! Loops of several threads that come back to where they were only together: they end, with the same executions
//! in every order, with snapshots and without; and livelocks are found where there are some.

use mazurka_explore::{Algorithm, Limits, Options as Search, Order, Rules, explore};
use mazurka_native::runtime::{Options, load};
use mazurka_program::FailureKind;

use crate::runtime_rounds::{MUTEX, Met, POLL, c, met, pollers};
use crate::runtime_support::{Scratch, build, compilers};

/// A lock for readers and writers: who takes it adds to it, looks, and takes back what it added.
fn reader_writer(readers: usize) -> String {
    let threads = readers + 1;
    c(&format!(
        "enum {{ WRITER = 1000 }}; atomic_int lock; int data;
void *reader(void *argument) {{
    for (;;) {{ int before = atomic_fetch_add(&lock, 1); if (before < WRITER) break; atomic_fetch_sub(&lock, 1); }}
    assert(data != 1); atomic_fetch_sub(&lock, 1); return 0;
}}
void *writer(void *argument) {{
    int free = 0; while (!atomic_compare_exchange_strong(&lock, &free, WRITER)) free = 0;
    data = 1; data = 2; atomic_fetch_sub(&lock, WRITER); return 0;
}}
int main(void) {{
    pthread_t t[{threads}]; pthread_create(&t[0], 0, writer, 0);
    for (int i = 1; i < {threads}; i++) pthread_create(&t[i], 0, reader, 0);
    for (int i = 0; i < {threads}; i++) pthread_join(t[i], 0);
    return 0;
}}"
    ))
}

/// Threads that add to a counter, look whether it is theirs alone, and take back what they added.
fn adders(threads: usize) -> String {
    let body =
        "while (atomic_fetch_add(&count, 1)) atomic_fetch_sub(&count, 1); atomic_fetch_sub(&count, 1);";
    pollers("atomic_int count;", body, "", threads)
}

/// A barrier that is spun at, twice.
const BARRIER: &str = "
atomic_int come, turn;
void pass(void) {
    int mine = turn;
    if (atomic_fetch_add(&come, 1) == 1) { come = 0; turn = !mine; }
    else while (turn == mine) ;
}
void *other(void *argument) { pass(); pass(); return 0; }
int main(void) { pthread_t t; pthread_create(&t, 0, other, 0); pass(); pass(); pthread_join(t, 0); return 0; }";

/// Philosophers who take one fork, try for the other, and give back what they have.
fn philosophers(give_up: &str) -> String {
    c(&format!(
        "pthread_mutex_t forks[2] = {{PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER}};
void *eat(void *argument) {{
    long me = (long)argument;
    for (;;) {{
        pthread_mutex_lock(&forks[me]);
        if ({give_up} pthread_mutex_trylock(&forks[1 - me]) == 0) break;
        pthread_mutex_unlock(&forks[me]);
    }}
    pthread_mutex_unlock(&forks[0]); pthread_mutex_unlock(&forks[1]); return 0;
}}
int main(void) {{
    pthread_t t[2]; for (long i = 0; i < 2; i++) pthread_create(&t[i], 0, eat, (void *)i);
    for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
    return 0;
}}"
    ))
}

fn timed(set: &str) -> String {
    pollers(
        "pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; pthread_cond_t c = PTHREAD_COND_INITIALIZER; int flag;",
        "struct timespec t = {1, 0}; pthread_mutex_lock(&m);
         while (!flag) pthread_cond_timedwait(&c, &m, &t);
         pthread_mutex_unlock(&m);",
        set,
        2,
    )
}

#[test]
fn loops_that_come_back_together_end() {
    let scratch = Scratch::new();
    let set = "pthread_mutex_lock(&m); flag = 1; pthread_cond_broadcast(&c); pthread_mutex_unlock(&m);";
    // Of each how many executions are complete and how many are stopped, as gcc compiles it and as clang does.
    for (name, text, expected) in [
        ("a reader and a writer", reader_writer(1), [Some((4, 2)); 2]),
        // What gcc leaves in words that are not used any more makes more states: 6066 and 1530.
        ("two readers and a writer", reader_writer(2), [None, Some((160, 72))]),
        ("two add and take back", adders(2), [Some((4, 2)); 2]),
        ("three add and take back", adders(3), [Some((228, 264)); 2]),
        ("a barrier", c(BARRIER), [Some((36, 0)); 2]),
        ("philosophers", philosophers(""), [Some((4, 11)), Some((20, 59))]),
        ("two timed waits", timed(set), [Some((82, 116)); 2]),
    ] {
        for (compiler, expected) in compilers().into_iter().zip(expected) {
            let Some(expected) = expected else { continue };
            let built = build(&scratch, &text, &["-pthread"], compiler);
            let (met, not_exhaustive) = met(&built, name, Limits::default());
            assert_eq!(not_exhaustive, None, "{name} {compiler}");
            assert_eq!((met.failures, met.livelocks), (Vec::new(), 0), "{name} {compiler}");
            assert_eq!((met.complete, met.stopped), expected, "{name} {compiler}");
        }
    }
}

/// Nobody is left who could let them out, and that is found out.
#[test]
fn those_who_go_round_together_for_ever_are_livelocks() {
    let scratch = Scratch::new();
    for (name, text) in [
        ("two lost pollers", pollers(MUTEX, POLL, "", 2)),
        ("three lost pollers", pollers(MUTEX, POLL, "", 3)),
        ("two timed waits", timed("")),
        ("philosophers who give up", philosophers("0 &&")),
        (
            "two add and never leave",
            pollers(
                "atomic_int count;",
                "for (;;) { atomic_fetch_add(&count, 1); atomic_fetch_sub(&count, 1); }",
                "",
                2,
            ),
        ),
    ] {
        for compiler in compilers() {
            let built = build(&scratch, &text, &["-pthread"], compiler);
            let (met, not_exhaustive) = met(&built, name, Limits::default());
            assert_eq!((not_exhaustive, &met.failures), (None, &Vec::new()), "{name} {compiler}");
            assert!(met.complete == 0 && met.livelocks == met.stopped && met.stopped > 0, "{name}: {met:?}");
        }
    }
}

/// What a search meets that has some of its rules taken out, in one order.
fn met_without(scratch: &Scratch, text: &str, order: Order, rules: Rules) -> (Met, bool) {
    let program = load(&build(scratch, text, &["-pthread"], "clang-19"), Options::default()).unwrap();
    let limits = Limits { unroll: 60, executions: Some(2_000), ..Limits::default() };
    let options = Search { order, rules, limits, keep_going: true, ..Search::default() };
    let mut met = Met::default();
    let summary = explore(&program, Algorithm::Optimal, &options, &mut met);
    (met, summary.not_exhaustive.is_none())
}

fn fails(met: &Met, kind: FailureKind) -> bool {
    met.failures.iter().any(|failure| failure.0 == kind)
}

/// A thread that comes back to where it was forty times, and each time the counter is another.
const COUNTED: &str = "
atomic_int count;
void *up(void *argument) { while (atomic_fetch_add(&count, 1) != 40) ; assert(0); return 0; }
int main(void) {
    pthread_t t; pthread_create(&t, 0, up, 0);
    atomic_fetch_add(&count, 0);
    pthread_join(t, 0); return 0;
}";

/// A writer releases what it wrote in its first round only to a reader that lets it go on then: the race is with
/// what it writes in the second round.
const RACE_IN_THE_SECOND_ROUND: &str = "
int cell; atomic_int flag, stop, y;
void *writer(void *argument) {
    while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
        cell = 1;
        atomic_store_explicit(&flag, 1, memory_order_release);
        atomic_store_explicit(&flag, 0, memory_order_relaxed);
    }
    atomic_store_explicit(&y, 1, memory_order_relaxed); return 0;
}
int main(void) {
    pthread_t t; pthread_create(&t, 0, writer, 0);
    while (!atomic_load_explicit(&flag, memory_order_acquire)) ;
    atomic_store_explicit(&stop, 1, memory_order_relaxed);
    while (!atomic_load_explicit(&y, memory_order_relaxed)) ;
    int seen = cell; assert(seen == 1); return 0;
}";

/// Two pass a turn to and fro, together a round; who is asked in the first of them knows nothing of the second,
/// with whose write its read races.
const RACE_IN_THE_SECOND_JOINT_ROUND: &str = "
int cell = 1; atomic_int turn, flag, stop;
int look(atomic_int *x) { return atomic_load_explicit(x, memory_order_relaxed); }
void set(atomic_int *x, int value) { atomic_store_explicit(x, value, memory_order_relaxed); }
void *writer(void *argument) {
    while (!look(&stop))
        if (look(&turn) == 0 && !look(&stop)) {
            cell = 1;
            atomic_store_explicit(&flag, 1, memory_order_release); set(&flag, 0); set(&turn, 1);
        }
    return 0;
}
void *passes_back(void *argument) {
    while (!look(&stop)) if (look(&turn) == 1) set(&turn, 0);
    return 0;
}
int main(void) {
    pthread_t t[2]; pthread_create(&t[0], 0, writer, 0); pthread_create(&t[1], 0, passes_back, 0);
    if (atomic_load_explicit(&flag, memory_order_acquire) == 1) { int seen = cell; assert(seen == 1); }
    set(&stop, 1);
    for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
    return 0;
}";

#[test]
fn what_shows_only_after_further_rounds_is_found() {
    let scratch = Scratch::new();
    for order in [Order::Natural, Order::Shuffled(1), Order::Shuffled(7)] {
        let (met, _) = met_without(&scratch, &c(COUNTED), order, Rules::default());
        assert!(fails(&met, FailureKind::Assertion), "{order:?}: {met:?}");
        for text in [RACE_IN_THE_SECOND_ROUND, RACE_IN_THE_SECOND_JOINT_ROUND] {
            let (met, _) = met_without(&scratch, &c(text), order, Rules::default());
            assert!(fails(&met, FailureKind::DataRace), "{order:?}: {met:?}");
        }
    }
}

/// Each part of the rule is needed.
#[test]
fn parts_of_the_rule_that_are_taken_out_are_missed() {
    let scratch = Scratch::new();
    let without = |change: fn(&mut Rules)| {
        let mut rules = Rules::default();
        change(&mut rules);
        rules
    };
    let no_joint = without(|rules| rules.rounds.joint = false);
    let (met, is_all) = met_without(&scratch, &philosophers(""), Order::Natural, no_joint);
    assert!(!is_all, "only together do they come back: {met:?}");
    let any_effect = without(|rules| rules.rounds.net_effect = false);
    let (met, _) = met_without(&scratch, &c(COUNTED), Order::Natural, any_effect);
    assert!(!fails(&met, FailureKind::Assertion), "what changed was not looked at: {met:?}");
    let first_counts = without(|rules| rules.rounds.second = false);
    let (met, _) = met_without(&scratch, &c(RACE_IN_THE_SECOND_ROUND), Order::Natural, first_counts);
    assert!(!fails(&met, FailureKind::DataRace), "the second round is not there: {met:?}");
}
