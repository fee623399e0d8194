//! The benchmark programs have exactly the counts of `bench/litmus/expected.tsv`.

use std::ops::ControlFlow;
use std::path::PathBuf;

use mazurka_explore::{
    Algorithm, Counts, ItemSizes, Jobs, Limits, NoMonitor, Options, Order, Summary, explore, explore_jobs,
};
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

/// What searches say that so many workers share, which is the same for any number.
#[track_caller]
fn shared(row: &Row, algorithm: Algorithm, options: &Options) -> Summary {
    let program = program(row);
    let [summary, others @ ..] = [1, 2, 4].map(|workers| {
        let jobs = Jobs {
            workers,
            monitor: &|| NoMonitor,
            collect: &mut |_| {},
            begin_again: &mut || {},
            watch: &mut |_, _| ControlFlow::Continue(()),
        };
        explore_jobs(&program, algorithm, options, jobs).expect("it can be shared")
    });
    assert!(
        others.iter().all(|other| *other == summary),
        "{} {:?} {algorithm}: {summary:?}, {others:?}",
        row.program,
        row.params
    );
    summary
}

/// A search that workers share says the same whatever their number.
#[test]
fn workers_find_what_one_finds() {
    for row in rows().iter().filter(|row| row.mazurkiewicz <= MANY) {
        let summary = shared(row, Algorithm::WakeUp, &Options::default());
        let case = format!("{} {:?}", row.program, row.params);
        assert_eq!(summary.counts.complete, row.mazurkiewicz, "{case}");
        assert_eq!((&summary.not_exhaustive, summary.counts.blocked), (&None, 0), "{case}");
    }
}

/// By `reads-from` too, which has as many classes as if it were not cut into parts, in any order.
#[test]
fn workers_find_the_classes_that_one_finds() {
    for row in rows().iter().filter(|row| row.mazurkiewicz <= 1_500) {
        let classes = count(row, Algorithm::ReadsFrom, Order::Natural).complete;
        let sizes = [ItemSizes { first: 3, later: 50, parts: usize::MAX }, ItemSizes::default()];
        for (order, items) in [Order::Natural, Order::Shuffled(1)].into_iter().zip(sizes) {
            let summary = shared(row, Algorithm::ReadsFrom, &Options { order, items, ..Options::default() });
            let case = format!("{} {:?} {order:?}", row.program, row.params);
            assert_eq!((summary.counts.complete, summary.not_exhaustive), (classes, None), "{case}");
        }
    }
}

/// So do `naive` and `random`, whose counts are those of the search that is not cut.
#[test]
fn workers_walk_as_one_walks() {
    let items = ItemSizes { first: 5, later: 50, parts: usize::MAX };
    for row in rows().iter().filter(|row| row.mazurkiewicz <= 50) {
        let limits = Limits { executions: Some(2_000), ..Limits::default() };
        let options = Options { items, limits, ..Options::default() };
        let whole = explore(&program(row), Algorithm::Random, &options, &mut NoMonitor);
        let found = shared(row, Algorithm::Random, &options);
        let case = format!("{} {:?}", row.program, row.params);
        assert_eq!(
            (found.counts.complete, found.counts.events),
            (whole.counts.complete, whole.counts.events),
            "{case}"
        );
        let whole = explore(&program(row), Algorithm::Naive, &options, &mut NoMonitor);
        if whole.not_exhaustive.is_none() {
            let found = shared(row, Algorithm::Naive, &Options { items, ..Options::default() });
            assert_eq!(
                (found.counts.complete, found.counts.events),
                (whole.counts.complete, whole.counts.events),
                "{case}"
            );
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
