//! The programs of `bench/abs` have exactly the counts of `bench/abs/expected.tsv`, and are of the sizes that
//! are asked for.

use mazurka_abs::{Options, Source, compile};
use mazurka_bench::abs_programs::program;
use mazurka_bench::abs_table::{expected, run};
use mazurka_explore::{Algorithm, Order};

/// Larger rows are run in one order only.
const MANY: u64 = 1_500;

#[test]
fn each_trace_is_completed_once_and_nothing_is_blocked() {
    let rows = expected().expect("the table is of its form");
    assert!(rows.len() > 30, "{}", rows.len());
    for row in &rows {
        let orders = if row.executions <= MANY { 2 } else { 1 };
        for order in [Order::Natural, Order::Shuffled(1)].into_iter().take(orders) {
            for algorithm in [Algorithm::Optimal, Algorithm::WakeUp] {
                let found = run(row, algorithm, order).unwrap_or_else(|why| panic!("{row:?}: {why}"));
                assert!(row.is(&found), "{row:?} {algorithm} {order:?}: {found:?}");
            }
        }
    }
}

#[test]
fn source_completes_the_same_traces() {
    use mazurka_abs::Dependence;
    let rows = expected().expect("the table is of its form");
    let small = |row: &&_| -> bool {
        let row: &mazurka_bench::abs_table::Expected = row;
        row.executions <= 400 && row.dependence == Dependence::Static
    };
    for row in rows.iter().filter(small) {
        let found =
            run(row, Algorithm::Source, Order::Natural).unwrap_or_else(|why| panic!("{row:?}: {why}"));
        assert_eq!(
            (found.counts.complete, found.final_states),
            (row.executions, row.final_states),
            "{row:?}: {found:?}"
        );
    }
}

fn compiles(text: String) -> bool {
    compile(&[Source { name: "program.abs".to_owned(), text }], &Options::default()).is_ok()
}

#[test]
fn programs_are_of_the_size_asked_for_or_an_error() {
    for (name, sizes) in [
        ("msort", &[40][..]),
        ("psort", &[9]),
        ("qsort", &[3]),
        ("lw", &[1]),
        ("lw", &[7]),
        ("bb", &[4]),
        ("fact", &[7, 3]),
        ("db1", &[]),
    ] {
        let text = program(name, sizes).unwrap_or_else(|why| panic!("{why}"));
        assert!(compiles(text), "{name} {sizes:?}");
    }
    let sort = program("msort", &[17]).unwrap();
    assert!(sort.contains(", 15, 14, 13, 12, 16])") && sort.contains("\n  Int n = 17;"), "{sort}");
    let write = program("lw", &[4]).unwrap();
    assert!(
        write.contains("Fut<Unit> f4 = this!write(4);\n    await f1? & f2? & f3? & f4?;\n    assert"),
        "{write}"
    );
    for (name, sizes, part) in [
        ("msort", &[0][..], "msort can't be of size 0"),
        ("msort", &[10_001], "msort can't be of size 10001: sizes are from 1 to 10000"),
        ("msort", &[], "msort has one size"),
        ("msort", &[1, 2], "msort has one size"),
        ("fact", &[5], "fact has two sizes"),
        ("db1", &[1], "db1 has no size"),
        ("bubblesort", &[1], "there is no program bubblesort; there are bb, cav18"),
    ] {
        let wrong = program(name, sizes).expect_err("no such size");
        assert!(wrong.contains(part), "{wrong}");
    }
}

/// The counts of `lw(n)` are n!, which shows that all writers are there.
#[test]
fn last_writes_are_as_many_as_the_writers() {
    use mazurka_abs::Dependence;
    for (n, executions) in [(1, 1), (2, 2), (4, 24), (5, 120)] {
        let row = mazurka_bench::abs_table::Expected {
            program: "lw".to_owned(),
            sizes: vec![n],
            dependence: Dependence::Dynamic,
            executions,
            final_states: n as usize,
        };
        let found = run(&row, Algorithm::Optimal, Order::Natural).expect("it runs");
        assert!(row.is(&found), "{n}: {found:?}");
    }
}
