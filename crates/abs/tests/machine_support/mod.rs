//! What the machine's tests share.

// Each test binary uses some of it.
#![allow(dead_code)]

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use mazurka_abs::language::{Options as Reading, Source, compile};
use mazurka_abs::{Abs, AbsRun, Settings};
use mazurka_explore::{Algorithm, Counts, Ending, Monitor, Options, Order, Summary, explore};
use mazurka_oracle::{Budget, Deadlock, Failed, Truth, deadlock, truth};
use mazurka_program::{Run, State};
use mazurka_trace::Trace;
use mazurka_trace::equivalence::{Key, mazurkiewicz};

/// A program from its text, with other values for variables of the main block.
pub fn program_with(text: &str, parameters: &[(&str, &str)], settings: Settings) -> Abs {
    let source = Source { name: "test.abs".to_owned(), text: text.to_owned() };
    let parameters =
        parameters.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let reading = Reading { parameters, ..Reading::default() };
    let model = compile(&[source], &reading).unwrap_or_else(|errors| panic!("{errors:#?}\n{text}"));
    Abs::new(model, settings)
}

pub fn program(text: &str) -> Abs {
    program_with(text, &[], Settings::default())
}

/// A program of `bench/abs`.
pub fn bench(name: &str) -> String {
    let path = format!("{}/../../bench/abs/{name}.abs", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// What a search met.
#[derive(Default)]
pub struct Seen {
    pub classes: Vec<Key>,
    pub states: BTreeSet<State>,
    pub failures: BTreeSet<Failed>,
    pub deadlocks: BTreeSet<Deadlock>,
}

impl Monitor<AbsRun> for Seen {
    fn execution(&mut self, ending: Ending, trace: &Trace, run: &AbsRun, _: &Counts) -> ControlFlow<()> {
        self.failures.extend(run.failures().iter().map(|failure| (failure.kind, failure.message.clone())));
        if matches!(ending, Ending::Complete { .. }) {
            self.classes.push(mazurkiewicz(trace, run.names()));
            self.states.extend(run.states().map(|states| states.state()));
            self.deadlocks.extend(deadlock(run));
        }
        ControlFlow::Continue(())
    }

    fn begin_again(&mut self) {
        *self = Seen::default();
    }
}

/// Explores, and says what was met.
pub fn search(program: &Abs, algorithm: Algorithm, order: Order) -> (Summary, Seen) {
    let mut seen = Seen::default();
    let options = Options { order, ..Options::default() };
    let summary = explore(program, algorithm, &options, &mut seen);
    assert_eq!(summary.not_exhaustive, None, "{algorithm}");
    assert_eq!(summary.broken, None);
    (summary, seen)
}

/// Checks every algorithm against brute force, and gives what brute force found.
pub fn check(program: &Abs) -> Truth {
    check_within(program, Budget { executions: 100_000, steps: 60 }).expect("too much for brute force")
}

/// The same; none if it is too much for brute force.
pub fn check_within(program: &Abs, budget: Budget) -> Option<Truth> {
    let truth = truth(program, budget).ok()?;
    assert!(truth.inconsistent.is_empty(), "executions of one class end in different states");
    for order in [Order::Natural, Order::Shuffled(1), Order::Shuffled(2), Order::Shuffled(3)] {
        for algorithm in [Algorithm::Naive, Algorithm::Source, Algorithm::Optimal] {
            let (summary, seen) = search(program, algorithm, order);
            let what = format!("{algorithm} {order:?}");
            assert_eq!(seen.states, truth.states, "{what}: final states");
            assert_eq!(seen.failures, truth.failures, "{what}: failures");
            assert_eq!(seen.deadlocks, truth.deadlocks, "{what}: deadlocks");
            let classes: BTreeSet<Key> = seen.classes.iter().cloned().collect();
            match algorithm {
                Algorithm::Naive => assert_eq!(summary.counts.complete, truth.interleavings),
                Algorithm::Source => assert_eq!(classes.len(), seen.classes.len(), "{what}: none twice"),
                Algorithm::Optimal => {
                    assert_eq!(classes.len(), seen.classes.len(), "{what}: none twice");
                    assert_eq!(classes, truth.mazurkiewicz.keys().cloned().collect(), "{what}: classes");
                    assert_eq!(summary.counts.blocked, 0, "{what}");
                }
                // Others have laws of their own.
                _ => {}
            }
        }
    }
    Some(truth)
}

/// How many classes `optimal` finds.
pub fn classes(text: &str, parameters: &[(&str, &str)], settings: Settings) -> u64 {
    let program = program_with(text, parameters, settings);
    let (summary, seen) = search(&program, Algorithm::Optimal, Order::Natural);
    let different: BTreeSet<&Key> = seen.classes.iter().collect();
    assert_eq!(different.len(), seen.classes.len(), "none twice");
    summary.counts.complete
}
