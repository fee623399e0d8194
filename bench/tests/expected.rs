//! The benchmark programs have exactly the counts of `bench/litmus/expected.tsv`.

use std::ops::ControlFlow;
use std::path::PathBuf;

use mazurka_explore::{Algorithm, Counts, Jobs, NoMonitor, Options, Order, explore, explore_jobs};
use mazurka_litmus::{Litmus, Source, compile, parse};

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

fn program(row: &Row) -> Litmus {
    let name = format!("{}.maz", row.program);
    let text = std::fs::read_to_string(directory().join(&name)).expect("the program is in the checkout");
    let source = Source { name, text };
    compile(&parse(&source).expect("it parses"), &source, &row.params).expect("it compiles")
}

fn count(row: &Row, algorithm: Algorithm, order: Order) -> Counts {
    let program = program(row);
    let summary = explore(&program, algorithm, &Options { order, ..Options::default() }, &mut NoMonitor);
    assert_eq!(summary.not_exhaustive, None, "{} {:?}", row.program, row.params);
    summary.counts
}

/// Larger programs are run in one order only.
const MANY: u64 = 5_000;

#[test]
fn each_trace_is_completed_once_and_nothing_is_blocked() {
    for row in rows() {
        let orders: &[u64] = if row.mazurkiewicz > MANY { &[0] } else { &[0, 1, 2] };
        for &seed in orders {
            let order = if seed == 0 { Order::Natural } else { Order::Shuffled(seed) };
            for algorithm in [Algorithm::Optimal, Algorithm::WakeUp] {
                let counts = count(&row, algorithm, order);
                let case = format!("{} {:?} {algorithm} {order:?}", row.program, row.params);
                assert_eq!((counts.complete, counts.blocked), (row.mazurkiewicz, 0), "{case}");
            }
        }
    }
}

/// A search by `wake-up` says the same whatever the number of workers.
#[test]
fn workers_find_what_one_finds() {
    for row in rows().iter().filter(|row| row.mazurkiewicz <= MANY) {
        let program = program(row);
        let summaries = [1, 2, 4].map(|workers| {
            let jobs = Jobs {
                workers,
                monitor: &|| NoMonitor,
                collect: &mut |_| {},
                begin_again: &mut || {},
                watch: &mut |_, _| ControlFlow::Continue(()),
            };
            explore_jobs(&program, &Options::default(), jobs)
        });
        let case = format!("{} {:?}", row.program, row.params);
        assert_eq!(summaries[0].counts.complete, row.mazurkiewicz, "{case}");
        assert_eq!((&summaries[0].not_exhaustive, summaries[0].counts.blocked), (&None, 0), "{case}");
        assert!(summaries.iter().all(|summary| *summary == summaries[0]), "{case}: {summaries:?}");
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
