//! Under `optimal+observers` the benchmark programs have exactly the counts of
//! `bench/litmus/expected_observers.tsv`.

use std::path::PathBuf;

use mazurka_explore::{Algorithm, NoMonitor, Options, Order, explore};
use mazurka_litmus::{Litmus, Source, compile, parse};

pub fn directory() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/litmus"))
}

pub fn program(name: &str, params: &str) -> Litmus {
    let param = |pair: &str| {
        let (name, value) = pair.split_once('=').expect("name=value");
        (name.to_owned(), value.parse().expect("a number"))
    };
    let params: Vec<(String, i64)> = params.split_whitespace().map(param).collect();
    let name = format!("{name}.maz");
    let text = std::fs::read_to_string(directory().join(&name)).expect("the program is in the checkout");
    let source = Source { name, text };
    compile(&parse(&source).expect("it parses"), &source, &params).expect("it compiles")
}

/// Larger programs are run in one order only.
const MANY: u64 = 1_000;

#[test]
fn each_class_modulo_observers_is_completed_once_and_nothing_is_blocked() {
    let table = std::fs::read_to_string(directory().join("expected_observers.tsv")).expect("a table");
    let mut lines = table.lines();
    assert_eq!(lines.next(), Some("program\tparams\tobservers\tassumed\tsource_of_figure"));
    let mut checked = 0;
    for line in lines {
        let [name, params, observers, assumed, _] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("five columns: {line}");
        };
        let expected: (u64, u64) = (observers.parse().expect("a number"), assumed.parse().expect("a number"));
        let program = program(name, params);
        let orders: &[u64] = if expected.0 + expected.1 > MANY { &[0] } else { &[0, 1, 2, 3] };
        for &seed in orders {
            let order = if seed == 0 { Order::Natural } else { Order::Shuffled(seed) };
            let options = Options { order, ..Options::default() };
            let summary = explore(&program, Algorithm::OptimalObservers, &options, &mut NoMonitor);
            assert_eq!(summary.not_exhaustive, None, "{name} {params} {order:?}");
            let counts = summary.counts;
            assert_eq!((counts.complete, counts.assumed), expected, "{name} {params} {order:?}");
            assert_eq!(counts.blocked, 0, "{name} {params} {order:?}");
            checked += 1;
        }
    }
    assert!(checked > 150, "only {checked} searches");
}
