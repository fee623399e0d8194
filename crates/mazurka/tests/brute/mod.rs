//! Small programs, checked against every interleaving of their steps.
//!
//! A program is a closure whose result is what came of it. Of each it is asserted, by brute force: how many
//! classes of executions there are and what comes of them; that executions of one class end alike, so labels
//! tell all that matters; and that `optimal` runs each class once, in whatever order it goes about it, and
//! blocks nothing.
#![allow(dead_code)]

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use mazurka::Checker;
use mazurka_explore::{Algorithm, Counts, Ending, Limits, Monitor, NotExhaustive, Options, Order, explore};
use mazurka_oracle::{Budget, truth};
use mazurka_program::Run;
use mazurka_trace::Trace;
use mazurka_trace::equivalence::{self, Key};

/// More interleavings than this are not tried.
const BUDGET: Budget = Budget { executions: 300_000, steps: 200 };

/// What a search met: each class with what came of its executions, and how often it was met.
#[derive(Default)]
struct Met {
    classes: BTreeMap<Key, (BTreeSet<String>, u64)>,
    outcomes: BTreeSet<String>,
    assumed: BTreeSet<Key>,
    assumptions: usize,
    result: Arc<Mutex<Option<String>>>,
}

impl<R: Run> Monitor<R> for Met {
    fn execution(&mut self, ending: Ending, trace: &Trace, run: &R, _: &Counts) -> ControlFlow<()> {
        let key = equivalence::mazurkiewicz(trace, run.names());
        let outcome = match ending {
            Ending::Complete { .. } if !run.failures().is_empty() => "failure".to_owned(),
            Ending::Complete { deadlock: true } => "deadlock".to_owned(),
            Ending::Complete { deadlock: false } => {
                self.result.lock().unwrap().clone().expect("an execution without a result")
            }
            Ending::Assumed => {
                self.assumed.insert(key);
                self.assumptions += 1;
                return ControlFlow::Continue(());
            }
            // `source` may cut executions; of `optimal` it is asserted that it does not.
            Ending::Blocked | Ending::Stopped { .. } => return ControlFlow::Continue(()),
            Ending::Cut => panic!("an execution is longer than any should be"),
        };
        let class = self.classes.entry(key).or_default();
        class.0.insert(outcome.clone());
        class.1 += 1;
        self.outcomes.insert(outcome);
        ControlFlow::Continue(())
    }
}

/// The program as the engine takes it, and where its result will be.
fn closure<P>(program: P) -> (Arc<Mutex<Option<String>>>, impl Fn() + Send + Sync + 'static)
where
    P: Fn() -> String + Send + Sync + 'static,
{
    let result = Arc::new(Mutex::new(None));
    let place = result.clone();
    let body = move || {
        *place.lock().unwrap() = None;
        let outcome = program();
        *place.lock().unwrap() = Some(outcome);
    };
    (result, body)
}

fn met<P>(program: P, algorithm: Algorithm, order: Order) -> Met
where
    P: Fn() -> String + Send + Sync + 'static,
{
    met_within(program, algorithm, order, None).expect("there is no limit")
}

/// None if there are more executions than that.
fn met_within<P>(program: P, algorithm: Algorithm, order: Order, limit: Option<u64>) -> Option<Met>
where
    P: Fn() -> String + Send + Sync + 'static,
{
    // On a thread of its own, as checks are.
    std::thread::spawn(move || {
        let (result, body) = closure(program);
        let mut met = Met { result, ..Met::default() };
        let checker = Checker::new();
        let program = mazurka::engine::program(&checker, body);
        let limits = Limits { executions: limit, ..Limits::default() };
        let summary =
            explore(&program, algorithm, &Options { order, limits, ..Options::default() }, &mut met);
        match summary.not_exhaustive {
            Some(NotExhaustive::Executions(_)) => return None,
            // Some things are nothing for `source`.
            Some(NotExhaustive::Unsupported(why)) if algorithm == Algorithm::Source => {
                assert!(why.ends_with("is not supported by source; use optimal"), "{why}");
                return None;
            }
            _ => {}
        }
        assert_eq!((summary.not_exhaustive, summary.broken), (None, None), "{algorithm} {order:?}");
        assert_eq!(summary.counts.blocked * u64::from(algorithm == Algorithm::Optimal), 0);
        Some(met)
    })
    .join()
    .unwrap()
}

fn orders() -> impl Iterator<Item = Order> {
    std::iter::once(Order::Natural).chain((1..=6).map(Order::Shuffled))
}

/// Asserts how many classes a program has and all that can come of it.
#[track_caller]
pub fn verify<P>(program: P, classes: usize, outcomes: &[&str])
where
    P: Fn() -> String + Clone + Send + Sync + 'static,
{
    let outcomes: BTreeSet<String> = outcomes.iter().map(|&outcome| outcome.to_owned()).collect();
    let naive = met(program.clone(), Algorithm::Naive, Order::Natural);
    assert_eq!(naive.outcomes, outcomes);
    assert_eq!(naive.classes.len(), classes, "{outcomes:?}");
    compare(program, naive);
}

/// Compares the algorithms with brute force, whatever comes of a program. False if it is too large.
#[track_caller]
pub fn agree<P>(program: P, limit: u64) -> bool
where
    P: Fn() -> String + Clone + Send + Sync + 'static,
{
    match met_within(program.clone(), Algorithm::Naive, Order::Natural, Some(limit)) {
        Some(naive) => compare(program, naive),
        None => return false,
    }
    true
}

fn compare<P>(program: P, naive: Met)
where
    P: Fn() -> String + Clone + Send + Sync + 'static,
{
    for (ends, _) in naive.classes.values() {
        assert_eq!(ends.len(), 1, "executions of one class end differently: {ends:?}");
    }
    compare_with_oracle(program.clone(), &naive);
    for order in orders() {
        let optimal = met(program.clone(), Algorithm::Optimal, order);
        assert!(optimal.classes.values().all(|class| class.1 == 1), "a class was met twice in {order:?}");
        assert!(optimal.classes.keys().eq(naive.classes.keys()), "other classes in {order:?}");
        assert_eq!(optimal.assumptions, optimal.assumed.len(), "an assumed class was met twice in {order:?}");
        assert_eq!((optimal.outcomes, optimal.assumed), (naive.outcomes.clone(), naive.assumed.clone()));
    }
    if let Some(source) = met_within(program, Algorithm::Source, Order::Natural, None) {
        assert_eq!(source.outcomes, naive.outcomes, "by source");
    }
}

fn compare_with_oracle<P>(program: P, naive: &Met)
where
    P: Fn() -> String + Clone + Send + Sync + 'static,
{
    let oracle = std::thread::spawn(move || {
        let checker = Checker::new();
        let program = mazurka::engine::program(&checker, closure(program).1);
        truth(&program, BUDGET).expect("a program that is small enough")
    });
    let oracle = oracle.join().unwrap();
    assert!(oracle.mazurkiewicz.keys().eq(naive.classes.keys()));
    assert!(oracle.inconsistent.is_empty());
    assert_eq!(oracle.assumed, naive.assumed);
    assert_eq!(!oracle.deadlocks.is_empty(), naive.outcomes.contains("deadlock"));
    assert_eq!(!oracle.failures.is_empty(), naive.outcomes.contains("failure"));
}

/// For programs too large for brute force: the number of classes, met once each in every order.
#[track_caller]
pub fn count<P>(program: P, classes: usize)
where
    P: Fn() + Clone + Send + Sync + 'static,
{
    for order in orders() {
        let program = program.clone();
        let run = move || {
            program();
            String::new()
        };
        let optimal = met(run, Algorithm::Optimal, order);
        assert_eq!(optimal.classes.len(), classes, "{order:?}");
        assert!(optimal.classes.values().all(|class| class.1 == 1), "a class was met twice in {order:?}");
    }
}
