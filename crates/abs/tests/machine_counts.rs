//! The benchmark programs: how many executions `optimal` needs, with static and with dynamic dependence.

use crate::machine_support::{bench, check, classes, program, program_with, search};
use mazurka_abs::{Dependence, Settings};
use mazurka_explore::{Algorithm, Order};

fn with(dependence: Dependence) -> Settings {
    Settings { dependence, ..Settings::default() }
}

/// Program, parameter, classes with static dependence, classes with dynamic dependence.
const TABLE: &[(&str, &str, u64, u64)] = &[
    ("fib", "5", 128, 128),
    ("fact", "", 8, 8),
    ("reg", "4", 384, 384),
    ("dbp", "5", 243, 32),
    ("bb", "3", 20, 20),
    ("pi", "5", 120, 120),
    ("psort", "4", 288, 216),
    ("msort", "9", 256, 256),
    ("qsort", "10", 512, 512),
    ("cav18", "", 6, 4),
    ("running", "", 6, 6),
    ("fr", "3", 24, 24),
    ("fra", "4", 120, 120),
    ("lw", "", 6, 6),
    ("lam", "", 86, 26),
    ("mapred", "", 94, 57),
];

#[test]
fn the_table() {
    let mut wrong = Vec::new();
    for &(name, n, fixed, dynamic) in TABLE {
        let parameters: &[(&str, &str)] = if n.is_empty() { &[] } else { &[("n", n)] };
        let text = bench(name);
        for (dependence, expected) in [(Dependence::Static, fixed), (Dependence::Default, dynamic)] {
            let found = classes(&text, parameters, with(dependence));
            if found != expected {
                wrong.push(format!("{name}({n}) {dependence:?}: {found}, not {expected}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_database_has_one_deadlock() {
    let db1 = program(&bench("db1"));
    let (summary, _) = search(&db1, Algorithm::Naive, Order::Natural);
    assert_eq!((summary.counts.complete, summary.counts.deadlocks), (6, 2));
    let (summary, _) = search(&db1, Algorithm::Optimal, Order::Natural);
    assert_eq!((summary.counts.complete, summary.counts.deadlocks), (3, 1));
    check(&db1);
}

#[test]
fn a_packet_overtakes_an_installation() {
    let sdn = program(&bench("sdn"));
    let truth = check(&sdn);
    assert_eq!(truth.mazurkiewicz.len(), 5);
    assert_eq!(truth.failures.len(), 1);
}

#[test]
fn source_agrees_on_small_sizes() {
    for (name, n) in [
        ("fib", "3"),
        ("reg", "2"),
        ("dbp", "1"),
        ("bb", "2"),
        ("pi", "3"),
        ("psort", "3"),
        ("msort", "3"),
        ("fr", "2"),
        ("fra", "2"),
        ("cav18", ""),
        ("lw", ""),
        ("fact", ""),
        ("running", ""),
    ] {
        let parameters: &[(&str, &str)] = if n.is_empty() { &[] } else { &[("n", n)] };
        for dependence in [Dependence::Default, Dependence::Static] {
            check(&program_with(&bench(name), parameters, with(dependence)));
        }
    }
}
