//! Under `reads-from` the benchmark programs have exactly the counts of `bench/litmus/expected_reads_from.tsv`, and
//! never more executions than under `optimal`. In all of `bench`, 23 of 53 families of programs have fewer: 12 of 23 in
//! the language, 6 of 12 in C, 5 of 18 of active objects.

use std::collections::{BTreeMap, BTreeSet};

use mazurka_abs::{Abs, Settings};
use mazurka_bench::abs_programs;
use mazurka_explore::{Algorithm, Counts, NoMonitor, Options, Order, explore};
use mazurka_program::Program;

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

/// Large ones, each in the natural order.
#[test]
#[ignore = "takes a minute"]
fn large_programs_have_their_counts_too() {
    for (name, n, expected) in [("fib_bench", 5, 218_243), ("pthread_demo", 8, 12_870), ("sigma", 7, 5_040)] {
        let summary = explore(
            &program(name, &format!("n={n}")),
            Algorithm::ReadsFrom,
            &Options::default(),
            &mut NoMonitor,
        );
        assert_eq!(summary.not_exhaustive, None, "{name}({n})");
        assert_eq!((summary.counts.complete, summary.counts.blocked), (expected, 0), "{name}({n})");
    }
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
    let (mut families, mut fewer) = (BTreeSet::new(), BTreeSet::new());
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

/// How many executions of all kinds, by family, arguments and algorithm: those of the programs in C, of which a test of
/// their own says that they have them.
fn counts_in_c() -> BTreeMap<(&'static str, &'static str), BTreeMap<&'static str, u64>> {
    let mut counts: BTreeMap<_, BTreeMap<_, _>> = BTreeMap::new();
    for line in include_str!("../c/expected.tsv").lines().skip(1) {
        let cells: Vec<&str> = line.split('\t').collect();
        let all = cells[3..6].iter().map(|cell| cell.parse::<u64>().unwrap_or(0)).sum();
        counts.entry((cells[0], cells[1])).or_default().insert(cells[2], all);
    }
    counts
}

#[test]
fn half_of_the_programs_in_c_have_fewer_executions_and_none_has_more() {
    let (mut families, mut fewer) = (BTreeSet::new(), BTreeSet::new());
    for ((name, arguments), counts) in counts_in_c() {
        let (Some(&optimal), Some(&classes)) = (counts.get("optimal"), counts.get("reads-from")) else {
            continue;
        };
        families.insert(name);
        assert!(classes <= optimal, "{name} {arguments}: {classes}, not {optimal}");
        if classes < optimal {
            fewer.insert(name);
        }
    }
    assert_eq!(fewer, ["floating_read", "lamport", "lastwrite", "opt_lock", "parker", "sigma"].into());
    assert_eq!(families.len(), 12);
}

fn all<P: Program>(program: &P, algorithm: Algorithm) -> Counts {
    let options = Options { keep_going: true, ..Options::default() };
    let summary = explore(program, algorithm, &options, &mut NoMonitor);
    assert_eq!(summary.not_exhaustive, None, "{algorithm}");
    summary.counts
}

/// Where segments overwrite fields that nobody reads in between, active objects have fewer classes than traces. In one
/// program somebody is found not to wait for ever only when an execution was run: there is one more than under
/// `optimal`.
#[test]
fn some_active_objects_have_fewer_executions() {
    const SIZES: [(&str, &[u32]); 18] = [
        ("bb", &[3]),
        ("cav18", &[]),
        ("db1", &[]),
        ("dbp", &[4]),
        ("fact", &[5, 2]),
        ("fib", &[4]),
        ("fr", &[3]),
        ("fra", &[4]),
        ("lam", &[]),
        ("lw", &[3]),
        ("mapred", &[]),
        ("msort", &[6]),
        ("pi", &[4]),
        ("psort", &[3]),
        ("qsort", &[6]),
        ("reg", &[3]),
        ("running", &[]),
        ("sdn", &[]),
    ];
    let (mut fewer, mut more) = (Vec::new(), Vec::new());
    for (name, sizes) in SIZES {
        let text = abs_programs::program(name, sizes).expect("a program");
        let source = mazurka_abs::Source { name: format!("{name}.abs"), text };
        let model = mazurka_abs::compile(&[source], &mazurka_abs::Options::default()).expect("it compiles");
        let program = Abs::new(model, Settings::default());
        let [optimal, classes] =
            [Algorithm::Optimal, Algorithm::ReadsFrom].map(|algorithm| all(&program, algorithm));
        assert!(classes.complete <= optimal.complete, "{name}: {classes:?}");
        if classes.executions() < optimal.executions() {
            fewer.push(name);
        }
        if classes.executions() > optimal.executions() {
            more.push((name, classes.executions() - optimal.executions()));
        }
    }
    assert_eq!(fewer, ["fr", "fra", "lam", "lw", "running"]);
    assert_eq!(more, [("db1", 1)]);
}
