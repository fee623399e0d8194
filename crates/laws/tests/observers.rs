//! `optimal+observers` on programs that it lost classes of once, in very many orders.

use mazurka_explore::{
    Algorithm, Counts, Ending, Limits, Monitor, NoMonitor, NotExhaustive, Options, Order, explore,
};
use mazurka_laws::corpus;
use mazurka_litmus::{Source, compile, parse};
use mazurka_oracle::{Budget, truth};
use mazurka_program::Run;
use mazurka_trace::Trace;
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// What has failed.
#[derive(Default)]
struct Failures(BTreeSet<String>);

impl<R: Run> Monitor<R> for Failures {
    fn execution(&mut self, _: Ending, _: &Trace, run: &R, _: &Counts) -> ControlFlow<()> {
        self.0.extend(run.failures().iter().map(|failure| failure.message.clone()));
        ControlFlow::Continue(())
    }

    fn begin_again(&mut self) {
        self.0.clear();
    }
}

#[test]
fn nothing_is_lost_in_a_thousand_orders() {
    for (name, classes, failures) in
        [("cx17", None, 1), ("cx18", Some(30), 0), ("observers_reader", Some(23), 0)]
    {
        let seeds = corpus::seeds();
        let seed = seeds.iter().find(|seed| seed.name == name).expect("it is in the corpus");
        let program = compile(&seed.ast, &Source::default(), &[]).expect("it compiles");
        let mut counts = BTreeSet::new();
        for order in (0..1_000).map(|seed| if seed == 0 { Order::Natural } else { Order::Shuffled(seed) }) {
            let options = Options { order, ..Options::default() };
            let mut failed = Failures::default();
            let summary = explore(&program, Algorithm::OptimalObservers, &options, &mut failed);
            assert_eq!(summary.not_exhaustive, None, "{name} {order:?}");
            assert_eq!(summary.counts.blocked, 0, "{name} {order:?}");
            assert_eq!(failed.0.len(), failures, "{name} {order:?}");
            counts.insert(summary.counts.complete);
        }
        assert_eq!(counts.len(), 1, "{name} has as many classes in all orders: {counts:?}");
        if let Some(classes) = classes {
            assert_eq!(counts.into_iter().next(), Some(classes), "{name}");
            let budget = Budget { executions: 100_000, steps: 30 };
            let truth = truth(&program, budget).expect("brute force can do it");
            assert_eq!(truth.observers.len() as u64, classes, "{name} by brute force");
        }
    }
}

/// What is proved is for steps with one outcome, and for outcomes that touch nothing.
#[test]
fn the_verdict_says_where_there_is_no_proof() {
    for (name, reason) in
        [("choose", None), ("notify_two_waiters", Some(NotExhaustive::NotProved)), ("cx18", None)]
    {
        let seeds = corpus::seeds();
        let seed = seeds.iter().find(|seed| seed.name == name).expect("it is in the corpus");
        let program = compile(&seed.ast, &Source::default(), &[]).expect("it compiles");
        let summary = explore(&program, Algorithm::OptimalObservers, &Options::default(), &mut NoMonitor);
        assert_eq!(summary.not_exhaustive, reason, "{name}");
    }
}

/// That an execution was cut says more than that there is no proof, whichever comes first.
#[test]
fn a_search_that_was_cut_says_so() {
    let text = "var x, y; lock l; condvar c;\
        process a { lock(l); wait(c, l); } process b { lock(l); wait(c, l); }\
        process n { notify_one(c); } process s { y = 1; } process w { while y == 0 { x += 1; } }";
    let source = Source { name: "cut.maz".to_owned(), text: text.to_owned() };
    let ast = parse(&source).expect("it is a program");
    let program = compile(&ast, &source, &[]).expect("it compiles");
    for seed in 0..20 {
        let limits = Limits { depth: 30, executions: Some(300), ..Limits::default() };
        let options =
            Options { order: Order::Shuffled(seed), limits, keep_going: true, ..Options::default() };
        let summary = explore(&program, Algorithm::OptimalObservers, &options, &mut NoMonitor);
        let cut =
            matches!(summary.not_exhaustive, Some(NotExhaustive::Depth(_) | NotExhaustive::Executions(_)));
        assert!(cut, "{seed}: {:?}", summary.not_exhaustive);
    }
}
