//! `convergent` and `source+context`, which compare states: what they promise beyond the laws.

use std::collections::{BTreeSet, HashSet};
use std::ops::ControlFlow;

use mazurka_explore::{
    Algorithm, Counts, Ending, Limits, Monitor, NoMonitor, NotExhaustive, Options, Order, Summary, explore,
};
use mazurka_laws::corpus;
use mazurka_litmus::{Litmus, LitmusRun, Source, compile, parse};
use mazurka_oracle::{Budget, Failed, truth};
use mazurka_program::{Footprints, Label, Program, Run, State};
use mazurka_trace::Trace;

#[derive(Default)]
struct Seen {
    states: BTreeSet<State>,
    failures: BTreeSet<Failed>,
}

impl Monitor<LitmusRun> for Seen {
    fn execution(&mut self, ending: Ending, _: &Trace, run: &LitmusRun, _: &Counts) -> ControlFlow<()> {
        self.failures.extend(run.failures().iter().map(|failure| (failure.kind, failure.message.clone())));
        if matches!(ending, Ending::Complete { .. }) {
            self.states.extend(run.states().map(|states| states.state()));
        }
        ControlFlow::Continue(())
    }
}

fn program(text: &str) -> Litmus {
    let source = Source { name: "test.maz".into(), text: text.into() };
    compile(&parse(&source).expect("it parses"), &source, &[]).expect("it compiles")
}

fn search(program: &Litmus, algorithm: Algorithm, order: Order) -> (Summary, Seen) {
    let mut seen = Seen::default();
    let summary = explore(program, algorithm, &Options { order, ..Options::default() }, &mut seen);
    (summary, seen)
}

/// How many states can be reached, those that differ in names counted apart.
fn reachable(program: &Litmus) -> u64 {
    fn visit(run: &mut LitmusRun, known: &mut HashSet<Vec<i64>>) {
        let mut state = Vec::new();
        mazurka_program::NamedStates::named_state(&*run, &mut state);
        if !known.insert(state) {
            return;
        }
        let (depth, enabled) = (run.depth(), run.enabled().clone());
        for process in enabled.iter() {
            for choice in 0..run.alternatives(process) {
                run.step(process, choice, &mut Label::default()).expect("a step that can be taken");
                visit(run, known);
                run.rewind(depth);
            }
        }
    }
    let mut known = HashSet::new();
    visit(&mut program.start(Footprints::Dynamic), &mut known);
    known.len() as u64
}

/// The programs that the published forms lose something of: nothing is lost, in 200 orders each.
#[test]
fn counterexamples_are_found_in_every_order() {
    // CX17 has millions of interleavings; it is about observers, and tests/observers.rs has it.
    let small = |name: &str| name.starts_with("cx") && name != "cx17";
    for seed in corpus::seeds().into_iter().filter(|seed| small(&seed.name)) {
        let program = compile(&seed.ast, &Source::default(), &[]).expect("it compiles");
        let truth = truth(&program, Budget { executions: 100_000, steps: 100 }).expect("a small program");
        let most = reachable(&program);
        for order in (0..200).map(|k| if k == 0 { Order::Natural } else { Order::Shuffled(k) }) {
            for algorithm in [Algorithm::Convergent, Algorithm::SourceContext] {
                let (summary, seen) = search(&program, algorithm, order);
                let what = format!("{} under {algorithm} {order:?}", seed.name);
                assert_eq!(summary.not_exhaustive, None, "{what}");
                assert_eq!(seen.states, truth.states, "{what}");
                assert_eq!(seen.failures, truth.failures, "{what}");
                if algorithm == Algorithm::Convergent {
                    assert_eq!(summary.counts.complete, truth.states.len() as u64, "{what}");
                    assert!(summary.counts.states <= most, "{what}: {} of {most}", summary.counts.states);
                }
            }
        }
    }
}

/// Complete executions of each: (program, convergent, source+context).
#[test]
fn known_numbers() {
    for (text, states, context) in [
        // The example of paper 004: 3 of 6 sequences there.
        ("var x; process p { x = 5; } process q { x = 5; } process r { let a = x; }", 2, 2..=3),
        // 16 of 120: after a cut, the races behind it are still reversed.
        ("var x; process p[i in 0..5] { x += 1; }", 1, 16..=16),
        ("var x; process p { x = 1; } process q { x = 2; }", 2, 2..=2),
        ("lock a, b; process p { lock(a); lock(b); } process q { lock(b); lock(a); }", 3, 3..=3),
        ("process p { let a = choose(3); } process q { let b = choose(2); }", 6, 6..=6),
        // A failure is no part of the state, and is found all the same.
        ("var x; process p { x = 1; } process q { assert x == 0; }", 1, 1..=2),
    ] {
        let program = program(text);
        let failures =
            truth(&program, Budget { executions: 1_000, steps: 20 }).expect("it is small").failures;
        for order in [Order::Natural, Order::Shuffled(1), Order::Shuffled(2), Order::Shuffled(3)] {
            let (summary, seen) = search(&program, Algorithm::Convergent, order);
            assert_eq!((summary.counts.complete, summary.not_exhaustive), (states, None), "{text}");
            assert_eq!(seen.failures, failures, "{text}");
            let (summary, seen) = search(&program, Algorithm::SourceContext, order);
            assert!(context.contains(&summary.counts.complete), "{text}: {}", summary.counts.complete);
            assert_eq!((seen.states.len() as u64, summary.not_exhaustive), (states, None), "{text}");
            assert_eq!(seen.failures, failures, "{text}");
        }
    }
}

/// Final states, with dead variables and without: what nobody will read is no part of them, what somebody may
/// is.
#[test]
fn dead_variables_are_forgotten() {
    for (text, whole, living) in [
        ("var x; process p { x = 1; } process q { x = 2; }", 2, 1),
        // The reader's own variable is dead when it has ended.
        ("var x; process p { x = 1; } process q { let r = x; }", 2, 1),
        // It is not while it may still be sent.
        ("var x; process p { x = 1; } process q { let r = x; send(w, (r)); } process w { }", 2, 2),
        // A process that waits for ever may read what it waits for, and what comes after.
        ("var x, y; process p { x = 1; } process q { x = 2; } process r { await y == 1; let a = x; }", 2, 2),
        ("var x, y; process p { x = 1; } process q { x = 2; } process r { await y == 1; }", 2, 1),
        // What is spawned reads.
        (
            "var x, y; task t() { let a = x; }
          process p { x = 1; } process q { x = 2; } process r { await y == 1; spawn t(); }",
            2,
            2,
        ),
        // Read-modify-writes read.
        ("var x, y; process p { x = 1; } process q { x = 2; } process r { await y == 1; x += 1; }", 2, 2),
        ("var x, y; process p { x = 1; } process q { x = 2; } process r { await y == 1; x = 1; }", 2, 1),
        ("lock a, b; process p { lock(a); lock(b); } process q { lock(b); lock(a); }", 3, 3),
    ] {
        let (program, budget) = (program(text), Budget { executions: 10_000, steps: 40 });
        for (program, expected) in [(program.clone(), whole), (program.without_dead_variables(), living)] {
            let truth = truth(&program, budget).expect("it is small");
            assert_eq!(truth.states.len() as u64, expected, "{text}");
            for order in [Order::Natural, Order::Shuffled(1), Order::Shuffled(2)] {
                let (summary, seen) = search(&program, Algorithm::Convergent, order);
                assert_eq!((summary.counts.complete, summary.not_exhaustive), (expected, None), "{text}");
                assert_eq!(
                    (seen.states, seen.failures),
                    (truth.states.clone(), truth.failures.clone()),
                    "{text}"
                );
            }
        }
    }
}

/// A loop through the same states ends, is told as a livelock, and keeps nobody from running.
#[test]
fn cycles_end() {
    let program = program("var x; process p { while true { x = 1 - x; } } process q { assert x == 2; }");
    for order in [Order::Natural, Order::Shuffled(1), Order::Shuffled(2)] {
        let (summary, seen) = search(&program, Algorithm::Convergent, order);
        assert_eq!(summary.not_exhaustive, None);
        // x is 0 or 1 and q has had its turn or not; of the states in which it has, one is entered first.
        assert_eq!((summary.counts.states, summary.counts.complete, summary.counts.stopped), (4, 0, 1));
        assert!(!seen.failures.is_empty(), "q had its turn");
    }
}

#[test]
fn memory_is_counted_and_limited() {
    let program = program("var x; process p[i in 0..4] { x = i; let r = x; x = r + i; }");
    let whole = explore(&program, Algorithm::Convergent, &Options::default(), &mut NoMonitor);
    assert_eq!(whole.not_exhaustive, None);
    assert!(
        whole.counts.states > 256 && whole.counts.merges > 0 && whole.counts.merges <= whole.counts.blocked
    );
    assert!(
        whole.counts.state_memory > 10 * whole.counts.states
            && whole.counts.memory >= whole.counts.state_memory
    );
    let limits = Limits { memory: Some(2_000), ..Limits::default() };
    let options = Options { limits, ..Options::default() };
    let cut = explore(&program, Algorithm::Convergent, &options, &mut NoMonitor);
    assert_eq!(cut.not_exhaustive, Some(NotExhaustive::Memory(2_000)));
}

#[test]
fn what_has_no_sound_form_is_refused_by_name() {
    for name in ["optimal+context", "optimal+context+observers"] {
        let refusal = name.parse::<Algorithm>().expect_err("it is refused").to_string();
        assert!(
            refusal.starts_with(name) && refusal.contains("CX10") && refusal.contains("convergent"),
            "{refusal}"
        );
    }
}
