//! Executions that begin where a snapshot was made are those that begin at the start: the same classes,
//! failures and output.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use crate::runtime_support::{Scratch, build, compilers};
use mazurka_explore::{Algorithm, Counts, Ending, Monitor, Options as Search, Order, explore};
use mazurka_native::driver::Built;
use mazurka_native::runtime::{NativeRun, Options, Races, load};
use mazurka_program::Run;
use mazurka_trace::Trace;
use mazurka_trace::equivalence::{Key, mazurkiewicz};

/// Each class with how it ended, what failed, and what was printed.
#[derive(Default, Debug, PartialEq, Eq)]
struct Executions(BTreeMap<Key, (String, Vec<String>, Vec<u8>)>);

impl Monitor<NativeRun> for Executions {
    fn execution(&mut self, ending: Ending, trace: &Trace, run: &NativeRun, _: &Counts) -> ControlFlow<()> {
        let failures = run.failures().iter().map(|failure| format!("{failure:?}")).collect();
        let told = (format!("{ending:?}"), failures, run.output().to_vec());
        self.0.insert(mazurkiewicz(trace, run.names()), told);
        ControlFlow::Continue(())
    }

    fn begin_again(&mut self) {
        self.0.clear();
    }
}

/// The executions of a program under each algorithm, and how many there were. Each is repeated from the start
/// to see whether it does the same.
fn executions(built: &Built, races: Races, snapshots: bool) -> Vec<(Counts, Executions)> {
    let program = load(built, Options { races, snapshots, self_check: 1, ..Options::default() }).unwrap();
    let searches = [
        (Algorithm::Source, Order::Natural),
        (Algorithm::Optimal, Order::Natural),
        (Algorithm::Optimal, Order::Shuffled(4)),
    ];
    let search = |(algorithm, order)| {
        let mut met = Executions::default();
        let options = Search { order, keep_going: true, ..Search::default() };
        let summary = explore(&program, algorithm, &options, &mut met);
        assert_eq!(summary.broken, None, "{algorithm} {order:?}");
        (summary.counts, met)
    };
    searches.into_iter().map(search).collect()
}

#[test]
fn snapshots_change_nothing() {
    for (name, least, text) in PROGRAMS {
        for compiler in compilers() {
            let scratch = Scratch::new();
            let built = build(&scratch, text, &["-pthread"], compiler);
            for races in [Races::Sc, Races::Report] {
                let with = executions(&built, races, true);
                assert!(with == executions(&built, races, false), "{name} {compiler} {races:?}");
                let (counts, met) = &with[1];
                assert!(met.0.len() >= *least, "{name} {compiler} {races:?}: {counts:?}");
            }
        }
    }
}

/// Name, at least so many classes, text.
const PROGRAMS: &[(&str, usize, &str)] = &[
    ("heap", 20, HEAP),
    ("what threads have to themselves", 6, OWN),
    ("conditions", 4, CONDITIONS),
    ("a long way", 50, LONG),
    ("a loop", 3, LOOP),
    ("exceptions", 4, EXCEPTIONS),
    ("what begins again", 20, AGAIN),
];

const HEAP: &str = r#"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct node { struct node *next; char text[24]; };
static struct node *head;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *push(void *name) {
    for (int k = 0; k < 3; k++) {
        struct node *node = malloc(sizeof *node);
        snprintf(node->text, sizeof node->text, "%s%d", (char *)name, k);
        pthread_mutex_lock(&lock);
        node->next = head;
        head = node;
        pthread_mutex_unlock(&lock);
        char *other = calloc(1, 100 + k);
        strcpy(other, node->text);
        free(other);
    }
    return 0;
}
int main(void) {
    pthread_t one, two;
    pthread_create(&one, 0, push, "a");
    pthread_create(&two, 0, push, "b");
    pthread_join(one, 0);
    pthread_join(two, 0);
    while (head) { struct node *next = head->next; printf("%s ", head->text); free(head); head = next; }
    return 0;
}"#;

const OWN: &str = r#"
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
static __thread int mine = 3;
static pthread_key_t key;
static atomic_int shared;
static void gone(void *value) { atomic_fetch_add(&shared, (int)(intptr_t)value); }
static void *work(void *unused) {
    pthread_setspecific(key, (void *)(intptr_t)(mine * 10));
    for (int k = 0; k < 2; k++) { mine += atomic_fetch_add(&shared, 1); errno = mine; }
    printf("%d %d;", mine, errno);
    pthread_setspecific(key, (void *)((intptr_t)pthread_getspecific(key) + errno));
    return unused;
}
int main(void) {
    pthread_t one, two;
    pthread_key_create(&key, gone);
    pthread_create(&one, 0, work, 0);
    pthread_create(&two, 0, work, 0);
    pthread_join(one, 0);
    pthread_join(two, 0);
    printf("%d", shared);
    return 0;
}"#;

const CONDITIONS: &str = r#"
#include <pthread.h>
#include <stdio.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn = PTHREAD_COND_INITIALIZER;
static int whose, rounds;
static void *play(void *mine) {
    for (int k = 0; k < 2; k++) {
        pthread_mutex_lock(&lock);
        while (whose != *(int *)mine) pthread_cond_wait(&turn, &lock);
        printf("%d", whose);
        whose = 1 - whose;
        rounds++;
        pthread_cond_broadcast(&turn);
        pthread_mutex_unlock(&lock);
    }
    return 0;
}
int main(void) {
    pthread_t one, two;
    int zero = 0, another = 1;
    pthread_create(&one, 0, play, &zero);
    pthread_create(&two, 0, play, &another);
    pthread_join(one, 0);
    pthread_join(two, 0);
    printf("/%d", rounds);
    return 0;
}"#;

/// Much is private, and the end is what matters.
const LONG: &str = r#"
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static atomic_int x, y, z;
static void *work(void *unused) {
    for (int k = 0; k < 30; k++) atomic_fetch_add(&x, 1);
    y = y + 1;
    z = z + y;
    return unused;
}
static void *other(void *unused) {
    for (int k = 0; k < 8; k++) atomic_fetch_add(&y, 2);
    z = z + 1;
    return unused;
}
int main(void) {
    pthread_t one, two;
    pthread_create(&one, 0, work, 0);
    pthread_create(&two, 0, other, 0);
    pthread_join(one, 0);
    pthread_join(two, 0);
    assert(y != 17 || z != 1);
    return 0;
}"#;

const LOOP: &str = r#"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
static atomic_int locked, ready;
static int counter;
static void *work(void *unused) {
    while (!ready) {}
    while (atomic_exchange(&locked, 1)) {}
    printf("%d", counter++);
    locked = 0;
    return unused;
}
int main(void) {
    pthread_t one, two;
    pthread_create(&one, 0, work, 0);
    pthread_create(&two, 0, work, 0);
    ready = 1;
    pthread_join(one, 0);
    pthread_join(two, 0);
    return 0;
}"#;

const EXCEPTIONS: &str = r#"// C++
#include <mutex>
#include <string>
#include <thread>
#include <vector>
#include <cstdio>
static std::mutex lock;
static std::vector<std::string> seen;
static int thrown;
static void work(const char *name) {
    for (int k = 1; k < 2; k++) {
        try {
            { std::lock_guard<std::mutex> guard(lock); seen.push_back(name); }
            if (k) throw std::string(name) + "!";
        } catch (const std::string &text) {
            std::lock_guard<std::mutex> guard(lock);
            seen.push_back(text);
            thrown++;
        }
    }
}
int main() {
    std::thread one(work, "first"), two(work, "second");
    one.join();
    two.join();
    for (auto &text : seen) printf("%s ", text.c_str());
    return 0;
}"#;

/// Locks and flags where others have been, in memory that is freed; handlers and words that are waited for.
const AGAIN: &str = r#"
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
struct gate { pthread_mutex_t lock; pthread_once_t once; atomic_int word; int users; };
static void first(void) { printf("first "); }
static void one(void) { printf("one "); }
static void two(void) { printf("two "); }
static void *pass(void *it) {
    struct gate *gate = it;
    pthread_once(&gate->once, first);
    pthread_mutex_lock(&gate->lock);
    int last = --gate->users == 0;
    pthread_mutex_unlock(&gate->lock);
    atexit(last ? one : two);
    gate->word = 1;
    syscall(SYS_futex, &gate->word, FUTEX_WAKE_PRIVATE, 1);
    return 0;
}
static void round_of(struct gate *gate) {
    *gate = (struct gate){PTHREAD_MUTEX_INITIALIZER, PTHREAD_ONCE_INIT, 0, 2};
    pthread_t other;
    pthread_create(&other, 0, pass, gate);
    pass(gate);
    while (!gate->word) syscall(SYS_futex, &gate->word, FUTEX_WAIT_PRIVATE, 0, 0);
    pthread_join(other, 0);
}
int main(void) {
    struct gate here, *there = malloc(sizeof *there);
    round_of(&here);
    round_of(there);
    free(there);
    return 0;
}"#;
