//! `convergent` and `source+context` on ABS: the numbers of final states, and agreement with brute force.

use std::collections::BTreeSet;

use crate::machine_support::{bench, program_with, search};
use mazurka_abs::Settings;
use mazurka_explore::{Algorithm, Order};
use mazurka_oracle::{Budget, Deadlock, truth};
use mazurka_program::State;

const ORDERS: [Order; 3] = [Order::Natural, Order::Shuffled(1), Order::Shuffled(2)];

/// Final states of the benchmarks, and so complete executions of `convergent`, in every order.
#[test]
fn each_final_state_once() {
    for (name, n, states) in [
        ("fib", Some("5"), 1),
        ("msort", None, 1),
        ("qsort", Some("7"), 1),
        ("pi", None, 1),
        ("psort", None, 1),
        ("reg", None, 1),
        ("fact", None, 2),
        ("bb", Some("3"), 4),
        ("bb", Some("11"), 12),
        ("dbp", None, 6),
        ("fr", None, 12),
        ("fra", None, 4),
        ("lw", None, 3),
        ("db1", None, 3),
        ("running", None, 2),
    ] {
        let parameters: Vec<(&str, &str)> = n.iter().map(|n| ("n", *n)).collect();
        let program = program_with(&bench(name), &parameters, Settings::default());
        for order in ORDERS {
            let (summary, seen) = search(&program, Algorithm::Convergent, order);
            let found = (summary.counts.complete, seen.states.len());
            assert_eq!(found, (states, states as usize), "{name} {n:?} {order:?}");
        }
    }
}

fn states(deadlocks: &BTreeSet<Deadlock>) -> BTreeSet<Option<State>> {
    deadlocks.iter().map(|(_, state)| state.clone()).collect()
}

/// Final states, failures and deadlocks are those that brute force finds, or `optimal` where that is too
/// much.
#[test]
fn nothing_is_lost() {
    for (name, n) in [
        ("fib", Some("3")),
        ("pi", Some("3")),
        ("psort", Some("3")),
        ("fact", None),
        ("bb", Some("2")),
        ("dbp", Some("2")),
        ("fr", Some("3")),
        ("fra", Some("3")),
        ("lw", None),
        ("db1", None),
        ("running", None),
        ("cav18", None),
        ("sdn", None),
    ] {
        let parameters: Vec<(&str, &str)> = n.iter().map(|n| ("n", *n)).collect();
        let program = program_with(&bench(name), &parameters, Settings::default());
        let optimal = search(&program, Algorithm::Optimal, Order::Natural).1;
        if let Ok(truth) = truth(&program, Budget { executions: 5_000, steps: 80 }) {
            assert_eq!((&optimal.states, &optimal.failures), (&truth.states, &truth.failures), "{name}");
        }
        for order in ORDERS {
            for algorithm in [Algorithm::Convergent, Algorithm::SourceContext] {
                let (summary, seen) = search(&program, algorithm, order);
                let what = format!("{name} under {algorithm} {order:?}");
                assert_eq!(seen.states, optimal.states, "{what}");
                assert_eq!(seen.failures, optimal.failures, "{what}");
                assert_eq!(states(&seen.deadlocks), states(&optimal.deadlocks), "{what}");
                assert!(summary.counts.complete >= optimal.states.len() as u64, "{what}");
            }
        }
    }
}
