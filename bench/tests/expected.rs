//! The benchmark programs have exactly the counts of `bench/litmus/expected.tsv`.

use std::path::PathBuf;

use mazurka_explore::{Algorithm, Counts, NoMonitor, Options, Order, explore};
use mazurka_litmus::{Source, compile, parse};

struct Row {
    program: String,
    params: Vec<(String, i64)>,
    mazurkiewicz: u64,
}

fn directory() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/litmus"))
}

fn rows() -> Vec<Row> {
    let text =
        std::fs::read_to_string(directory().join("expected.tsv")).expect("the table is in the checkout");
    let mut lines = text.lines();
    assert!(lines.next().is_some_and(|header| header.starts_with("program\tparams\tmazurkiewicz")));
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('\t').collect();
        let param = |pair: &str| {
            let (name, value) = pair.split_once('=').expect("name=value");
            (name.to_owned(), value.parse().expect("a number"))
        };
        Row {
            program: cells[0].to_owned(),
            params: cells[1].split_whitespace().map(param).collect(),
            mazurkiewicz: cells[2].replace(',', "").parse().expect("a number"),
        }
    };
    lines.map(row).collect()
}

fn count(row: &Row, algorithm: Algorithm, order: Order) -> Counts {
    let name = format!("{}.maz", row.program);
    let text = std::fs::read_to_string(directory().join(&name)).expect("the program is in the checkout");
    let source = Source { name, text };
    let program = compile(&parse(&source).expect("it parses"), &source, &row.params).expect("it compiles");
    let summary = explore(&program, algorithm, &Options { order, ..Options::default() }, &mut NoMonitor);
    assert_eq!(summary.not_exhaustive, None, "{} {:?}", row.program, row.params);
    summary.counts
}

/// Larger programs are run in one order only.
const MANY: u64 = 5_000;

#[test]
fn optimal_completes_each_trace_once_and_blocks_nothing() {
    for row in rows() {
        let orders: &[u64] = if row.mazurkiewicz > MANY { &[0] } else { &[0, 1, 2] };
        for &seed in orders {
            let order = if seed == 0 { Order::Natural } else { Order::Shuffled(seed) };
            let counts = count(&row, Algorithm::Optimal, order);
            assert_eq!(counts.complete, row.mazurkiewicz, "{} {:?} {order:?}", row.program, row.params);
            assert_eq!(counts.blocked, 0, "{} {:?} {order:?}", row.program, row.params);
        }
    }
}

/// Programs with mailboxes: statically a receive depends on every send to its mailbox, so `source` has finer
/// classes.
const MAILBOXES: [&str; 3] = ["lock", "selective", "not_selective"];

#[test]
fn source_completes_the_same_traces() {
    for row in rows().iter().filter(|row| row.mazurkiewicz <= 50_000) {
        let counts = count(row, Algorithm::Source, Order::Natural);
        if MAILBOXES.contains(&row.program.as_str()) {
            assert!(counts.complete >= row.mazurkiewicz, "{} {:?}", row.program, row.params);
        } else {
            assert_eq!(counts.complete, row.mazurkiewicz, "{} {:?}", row.program, row.params);
        }
    }
}
