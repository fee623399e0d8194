//! Searches that know when steps commute, with exact constraints: what they find, and how much they run.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::Path;

use mazurka_explore::{Algorithm, Counts, Ending, Monitor, Options, Order, Published, Rules, explore};
use mazurka_litmus::{Litmus, Source, compile, parse};
use mazurka_oracle::{Budget, Exact, truth};
use mazurka_program::{Run, State};
use mazurka_trace::Trace;

const PUBLISHED: Algorithm = Algorithm::Published(Published::Constraints);
const SOUND: [Algorithm; 2] = [Algorithm::SourceConstraints, Algorithm::ConvergentConstraints];

fn load(file: &str, parameters: &[(&str, i64)]) -> Litmus {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file);
    let text = std::fs::read_to_string(&path).expect("a readable file");
    let source = Source { name: file.to_owned(), text };
    let parameters: Vec<(String, i64)> = parameters.iter().map(|&(name, n)| (name.to_owned(), n)).collect();
    compile(&parse(&source).expect("a program"), &source, &parameters).expect("a program")
}

/// A program of `bench/abs`, perhaps with another `n`.
fn abs_program(name: &str, n: Option<u32>) -> mazurka_abs::Abs {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../bench/abs/{name}.abs"));
    let text = std::fs::read_to_string(path).expect("a readable file");
    let source = mazurka_abs::Source { name: format!("{name}.abs"), text };
    let parameters = n.map(|n| ("n".to_owned(), n.to_string())).into_iter().collect();
    let options = mazurka_abs::Options { parameters, ..mazurka_abs::Options::default() };
    let model = mazurka_abs::compile(&[source], &options).expect("a program");
    mazurka_abs::Abs::new(model, mazurka_abs::Settings::default())
}

#[derive(Default)]
struct Finals(BTreeSet<State>);

impl<R: Run> Monitor<R> for Finals {
    fn execution(&mut self, ending: Ending, _: &Trace, run: &R, _: &Counts) -> ControlFlow<()> {
        if matches!(ending, Ending::Complete { .. }) {
            self.0.extend(run.states().map(|states| states.state()));
        }
        ControlFlow::Continue(())
    }
}

fn run(program: &Litmus, algorithm: Algorithm, order: Order, rules: Rules) -> (Counts, BTreeSet<State>) {
    let mut finals = Finals::default();
    let options = Options { order, rules, ..Options::default() };
    let summary = explore(&Exact::new(program.clone()), algorithm, &options, &mut finals);
    (summary.counts, finals.0)
}

fn orders() -> impl Iterator<Item = Order> {
    std::iter::once(Order::Natural).chain((0..60).map(|k| Order::Shuffled(2 * k + 1)))
}

/// In how many orders final states are missed.
fn losing_orders(file: &str, algorithm: Algorithm, rules: Rules) -> usize {
    let program = load(file, &[]);
    let all = truth(&program, Budget { executions: 10_000, steps: 40 }).expect("a small program").states;
    orders().filter(|&order| run(&program, algorithm, order, rules).1 != all).count()
}

/// Example 5 of CAV'18 begins in `z = x = -2`, example 4 in `z = -1`, where there are two final states.
#[test]
fn the_examples_of_the_paper() {
    let file = "examples/papers/cav18_fig1.maz";
    let (example_5, example_4) = (load(file, &[]), load(file, &[("z0", -1)]));
    for algorithm in [PUBLISHED, SOUND[0], SOUND[1]] {
        let (counts, _) = run(&example_5, algorithm, Order::Natural, Rules::default());
        assert_eq!((counts.complete, counts.blocked, counts.events), (1, 0, 3), "{algorithm}");
        let (_, finals) = run(&example_4, algorithm, Order::Natural, Rules::default());
        assert_eq!(finals.len(), 2, "{algorithm}");
    }
}

#[test]
fn what_commutes_is_run_in_one_order() {
    for n in [4, 9] {
        let program = load("bench/litmus/increments.maz", &[("n", n)]);
        for algorithm in SOUND {
            let (counts, _) = run(&program, algorithm, Order::Natural, Rules::default());
            let steps = (counts.complete, counts.blocked, counts.events);
            assert_eq!(steps, (1, 0, n as u64), "{n} increments under {algorithm}");
        }
    }
}

#[test]
fn the_sound_forms_lose_nothing_and_the_published_one_does() {
    for file in ["cx07", "cx08", "cx09", "cx16", "cx19", "pcond_here", "pcond_sleep"] {
        let file = format!("corpus/{file}.maz");
        for algorithm in SOUND {
            assert_eq!(losing_orders(&file, algorithm, Rules::default()), 0, "{file} under {algorithm}");
        }
    }
    assert!(losing_orders("corpus/cx19.maz", PUBLISHED, Rules::default()) > 0);
}

#[test]
fn each_repair_is_needed() {
    let broken = |change: fn(&mut Rules)| {
        let mut rules = Rules::default();
        change(&mut rules);
        rules
    };
    let source = |file, change| (file, Algorithm::SourceConstraints, broken(change));
    for (file, algorithm, rules) in [
        source("cx19", |r| r.source_constraints.carry_records = false),
        source("cx19", |r| r.source_constraints.need_for_sleepers = false),
        source("pcond_here", |r| r.source_constraints.uniformly = false),
        source("await_or", |r| r.source_constraints.enabled_by_others = false),
        source("abba", |r| r.source_constraints.commute_asleep = false),
        ("pcond_here", Algorithm::ConvergentConstraints, broken(|r| r.convergent.uniformly = false)),
        (
            "pcond_sleep",
            Algorithm::ConvergentConstraints,
            broken(|r| r.convergent.wake_by_footprints = false),
        ),
    ] {
        let losing = losing_orders(&format!("corpus/{file}.maz"), algorithm, rules);
        assert!(losing > 0, "{file} under {algorithm}");
    }
}

/// Whoever adds second starts what looks at the sum: who adds first must not always be the same.
#[test]
fn partners_need_each_other() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/abs/partners.abs");
    let text = std::fs::read_to_string(path).expect("a readable file");
    let source = mazurka_abs::Source { name: "partners.abs".to_owned(), text };
    let model = mazurka_abs::compile(&[source], &mazurka_abs::Options::default()).expect("a program");
    let program = mazurka_abs::Abs::new(model, mazurka_abs::Settings::default());
    let found = |algorithm, rules| {
        let mut finals = Finals::default();
        explore(&program, algorithm, &Options { rules, ..Options::default() }, &mut finals);
        finals.0.len()
    };
    let all = found(Algorithm::Optimal, Rules::default());
    assert_eq!(all, 3);
    for algorithm in SOUND {
        assert_eq!(found(algorithm, Rules::default()), all, "{algorithm}");
    }
    assert_eq!(found(PUBLISHED, Rules::default()), 2);
    let mut rules = Rules::default();
    rules.convergent.need_partners = false;
    assert_eq!(found(Algorithm::ConvergentConstraints, rules), 2);
    let mut rules = Rules::default();
    rules.source_constraints.need_partners = false;
    assert_eq!(found(Algorithm::SourceConstraints, rules), 2);
}

/// A task is not among the others if it waits for one of the two: while a store and a take are pending, the producer
/// and the consumer can write nothing, and the two commute unless the buffer is empty.
#[test]
fn a_buffer_takes_two_to_the_n_executions_as_published() {
    for (n, executions) in [(2, 4), (3, 8), (4, 16)] {
        let program = abs_program("bb", Some(n));
        let counts = explore(&program, PUBLISHED, &Options::default(), &mut Finals::default()).counts;
        assert_eq!(counts.complete, executions, "n = {n}");
    }
}

/// One execution, and as many steps as there are events.
#[test]
fn programs_of_the_paper_take_one_execution() {
    for name in ["fib", "qsort", "msort", "pi", "psort"] {
        let program = abs_program(name, None);
        for algorithm in [PUBLISHED, SOUND[0], SOUND[1]] {
            let counts = explore(&program, algorithm, &Options::default(), &mut Finals::default()).counts;
            assert_eq!((counts.complete, counts.blocked), (1, 0), "{name}, {algorithm}");
            assert_eq!(counts.events, counts.longest as u64, "{name}, {algorithm}");
        }
    }
}

/// Without stored states, each of n choices is made in both ways.
#[test]
fn what_does_not_commute_takes_two_to_the_n() {
    for (name, n) in [("dbp", 5), ("dbp", 7), ("bb", 3), ("bb", 5)] {
        let program = abs_program(name, Some(n as u32));
        let mut finals = Finals::default();
        let counts = explore(&program, SOUND[0], &Options::default(), &mut finals).counts;
        assert_eq!((counts.complete, finals.0.len()), (1 << n, n + 1), "{name}({n})");
    }
}

/// No trace is completed twice, so there are no more complete executions than by `source`.
#[test]
fn never_more_executions_than_source() {
    for file in ["cx07", "cx08", "cx11", "cx16", "cx18", "cx19", "await_or", "convergent_wake"] {
        let program = load(&format!("corpus/{file}.maz"), &[]);
        let (source, _) = run(&program, Algorithm::Source, Order::Natural, Rules::default());
        for order in orders() {
            let (counts, _) = run(&program, SOUND[0], order, Rules::default());
            assert!(counts.complete <= source.complete, "{file}: {} executions", counts.complete);
        }
    }
}
