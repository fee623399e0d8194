//! Under `reads-from` the benchmark programs have exactly the counts of `bench/litmus/expected_reads_from.tsv`, and
//! never more executions than under `optimal`.

use mazurka_explore::{Algorithm, NoMonitor, Options, Order, explore};

use crate::observers::{directory, program};

/// Larger programs are run in one order only.
const MANY: u64 = 1_000;

#[test]
fn each_reads_from_class_is_completed_once_and_nothing_is_blocked() {
    let table = std::fs::read_to_string(directory().join("expected_reads_from.tsv")).expect("a table");
    let mut lines = table.lines();
    assert_eq!(lines.next(), Some("program\tparams\treads_from\tsource_of_figure"));
    let mut checked = 0;
    for line in lines {
        let [name, params, expected, _] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("four columns: {line}");
        };
        let expected: u64 = expected.parse().expect("a number");
        let program = program(name, params);
        let orders: &[u64] = if expected > MANY { &[0] } else { &[0, 1, 2, 3] };
        for &seed in orders {
            let order = if seed == 0 { Order::Natural } else { Order::Shuffled(seed) };
            let options = Options { order, ..Options::default() };
            let summary = explore(&program, Algorithm::ReadsFrom, &options, &mut NoMonitor);
            assert_eq!(summary.not_exhaustive, None, "{name} {params} {order:?}");
            let counts = summary.counts;
            assert_eq!((counts.complete, counts.blocked), (expected, 0), "{name} {params} {order:?}");
            assert_eq!(summary.note, None, "{name} {params} {order:?}");
            checked += 1;
        }
    }
    assert!(checked > 150, "only {checked} searches");
}

/// The families of programs that have fewer classes than traces: half of them. In the others some read tells every two
/// orders of steps that depend on each other apart, so that a class is a trace.
const FEWER: [&str; 12] = [
    "floating_read",
    "floating_read_assert",
    "lamport",
    "lastwrite",
    "lock",
    "opt_lock",
    "parker",
    "read_then_write",
    "selective",
    "sigma",
    "two_variables",
    "two_writers",
];

#[test]
fn there_are_never_more_executions_than_under_optimal() {
    let table = std::fs::read_to_string(directory().join("expected.tsv")).expect("a table");
    let (mut families, mut fewer) = (std::collections::BTreeSet::new(), std::collections::BTreeSet::new());
    for line in table.lines().skip(1) {
        let columns: Vec<&str> = line.split('\t').collect();
        let (name, params, optimal) = (columns[0], columns[1], columns[2].parse().expect("a number"));
        families.insert(name);
        if optimal > MANY {
            continue;
        }
        let summary =
            explore(&program(name, params), Algorithm::ReadsFrom, &Options::default(), &mut NoMonitor);
        assert_eq!(summary.not_exhaustive, None, "{name} {params}");
        let counts = summary.counts;
        assert!(counts.complete + counts.blocked <= optimal, "{name} {params}: {counts:?}");
        if counts.complete < optimal {
            fewer.insert(name);
        }
    }
    assert_eq!(fewer, FEWER.into());
    assert!(2 * fewer.len() >= families.len(), "{} of {}", fewer.len(), families.len());
}
