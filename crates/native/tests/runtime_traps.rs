//! Programs that do not come to an end, that do not repeat themselves, that touch memory unannounced; and
//! C++.

use std::time::Duration;

use crate::runtime_support::{Met, Scratch, agreed, build, build_by_hand, compilers};
use mazurka_explore::{Algorithm, NoMonitor, NotExhaustive, Options as Search, explore};
use mazurka_native::runtime::{MainExits, Native, Options, Races, load};
use mazurka_program::{Explain, FailureKind, Footprints, Program, Run};

fn program(scratch: &Scratch, text: &str, options: Options) -> Native {
    load(&build(scratch, text, &["-pthread"], "gcc"), options).unwrap()
}

fn sequential() -> Options {
    Options { races: Races::Sc, self_check: 1, ..Options::default() }
}

#[test]
fn an_endless_loop() {
    let text = "int main(void) { for (volatile int k = 0;; k++) {} }";
    let scratch = Scratch::new();
    let program = program(&scratch, text, Options { patience: Duration::from_millis(500), ..sequential() });
    let mut met = Met::default();
    explore(&program, Algorithm::Optimal, &Search::default(), &mut met);
    let kinds: Vec<FailureKind> = met.failures.iter().map(|failure| failure.0).collect();
    assert_eq!(kinds, [FailureKind::Hang]);
}

/// Who spins on what nobody has written so far is seen to spin long before it counts as stuck.
#[test]
fn a_loop_on_a_variable_that_nobody_has_written() {
    let text = |writes: &str| {
        format!(
            "#include <pthread.h>
             static int ready;
             static void *f(void *u) {{ {writes} return u; }}
             int main(void) {{ pthread_t t; pthread_create(&t, 0, f, 0); while (!ready) {{}}
                 pthread_join(t, 0); return 0; }}"
        )
    };
    for (writes, kinds) in [("ready = 1;", &[][..]), ("", &[FailureKind::Livelock][..])] {
        let scratch = Scratch::new();
        let patience = Duration::from_secs(60);
        let program = program(&scratch, &text(writes), Options { patience, ..sequential() });
        let mut met = Met::default();
        explore(&program, Algorithm::Optimal, &Search::default(), &mut met);
        let found: Vec<FailureKind> = met.failures.iter().map(|failure| failure.0).collect();
        assert_eq!(found, kinds, "{writes}");
    }
}

#[test]
fn memory_that_is_touched_unannounced() {
    let text = r"
        #include <pthread.h>
        static int x;
        __attribute__((no_sanitize_thread)) static void add(void) { x = x * 2 + 1; }
        __attribute__((no_sanitize_thread)) static void twice(void) { x = x * 2; }
        static int a, b;
        static void *f(void *u) { a = b; add(); return u; }
        static void *g(void *u) { b = a; twice(); return u; }
        int main(void) { pthread_t s, t; pthread_create(&s, 0, f, 0); pthread_create(&t, 0, g, 0);
            pthread_join(s, 0); pthread_join(t, 0); return 0; }";
    let scratch = Scratch::new();
    let program = load(&build_by_hand(&scratch, text), sequential()).unwrap();
    let summary = explore(&program, Algorithm::Optimal, &Search::default(), &mut NoMonitor);
    match summary.not_exhaustive {
        Some(NotExhaustive::Program(reason)) => assert!(reason.contains("announced"), "{reason}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_deadlock_after_main() {
    let text = r"
        #include <pthread.h>
        static pthread_mutex_t m;
        static void *f(void *u) { pthread_mutex_lock(&m); return u; }
        int main(void) { pthread_t s; pthread_mutex_lock(&m); pthread_create(&s, 0, f, 0); return 0; }";
    for (main_exits, deadlocks) in [(MainExits::Process, 0), (MainExits::Thread, 1)] {
        let scratch = Scratch::new();
        let program = program(&scratch, text, Options { main_exits, ..sequential() });
        let met = agreed(&program, "after main");
        assert_eq!((met.classes.len(), met.deadlocks.len()), (1, deadlocks));
    }
}

#[test]
fn steps_are_told() {
    let text = r#"
        #include <pthread.h>
        #include <stdio.h>
        static int shared;
        static void *f(void *u) { shared = 7; printf("wrote %d\n", shared); return u; }
        int main(void) { pthread_t s; pthread_create(&s, 0, f, 0); shared = 3; pthread_join(s, 0); return shared; }"#;
    let scratch = Scratch::new();
    let built = build(&scratch, text, &["-pthread"], "gcc");
    let symbols = std::rc::Rc::new(mazurka_native::symbols::Symbols::new(&built.object));
    let program = load(&built, Options { symbols: Some(symbols), ..sequential() }).unwrap();
    explore(&program, Algorithm::Optimal, &Search::default(), &mut NoMonitor);
    let mut run = program.start(Footprints::Dynamic);
    let mut told = Vec::new();
    loop {
        let first = run.enabled().iter().next();
        let Some(process) = first else { break };
        let step = run.step_explained(process, 0).unwrap();
        let line = step.place.map_or(0, |place| place.line);
        let values = |list: &[mazurka_program::Observed]| {
            list.iter().map(|seen| format!(" {}={}", seen.name, seen.value)).collect::<String>()
        };
        told.push(format!(
            "{} {line}: {}{}{}",
            run.process_name(process),
            step.operation,
            values(&step.reads),
            values(&step.writes)
        ));
    }
    assert_eq!(
        told,
        [
            "main 6: pthread_create(f)",
            "main 6: write shared shared=3",
            "f 5: write shared shared=7",
            "f 5: read shared shared=7",
            "main 6: pthread_join(f)",
            "main 6: read shared shared=7",
        ]
    );
    assert_eq!(run.output(), b"wrote 7\n");
}

const CPP: &str = r#"// C++
#include <atomic>
#include <cassert>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>
static std::mutex m;
static std::condition_variable c;
static bool ready;
static int &once() { static int value = 5; return value; }
struct Base { virtual ~Base() {} virtual int get() { return 1; } };
struct Derived : Base { int get() override { return 2; } };
int main() {
    std::unique_ptr<Base> object(new Derived);
    std::thread t([&] {
        assert(object->get() == 2);
        std::lock_guard<std::mutex> guard(m);
        ready = true;
        try { throw std::runtime_error("no"); } catch (const std::exception &e) { once() += 1; }
        c.notify_one();
    });
    {
        std::unique_lock<std::mutex> lock(m);
        c.wait(lock, [] { return ready; });
        try { throw 5; } catch (int value) { assert(value == 5); }
    }
    t.join();
    assert(once() == 6);
}"#;

#[test]
fn cpp() {
    for compiler in compilers() {
        let scratch = Scratch::new();
        let built = build(&scratch, CPP, &["-pthread"], compiler);
        let program = load(&built, Options { self_check: 1, ..Options::default() }).unwrap();
        let met = agreed(&program, compiler);
        assert!(met.failures.is_empty(), "{:?}", met.failures);
        assert_eq!((met.classes.len(), met.deadlocks.len()), (2, 0));
    }
}
