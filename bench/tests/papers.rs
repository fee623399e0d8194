//! The papers' numbers that come out here, of the algorithms as published.

use mazurka_bench::papers::{Row, Searches, rows};
use mazurka_explore::{Algorithm, Published};

fn row(paper: &str, program: &str, size: &str, algorithm: &str) -> Row {
    let all = rows().expect("the table is well-formed");
    let is = |row: &Row| {
        (row.paper.as_str(), row.program.as_str(), row.size.as_str(), row.algorithm.as_str())
            == (paper, program, size, algorithm)
    };
    all.into_iter().find(is).unwrap_or_else(|| panic!("no row {paper} {program}({size}) {algorithm}"))
}

#[test]
fn issta19_executions_and_states() {
    let mut searches = Searches::default();
    for (program, size, algorithm, form) in [
        ("FR-a", "4", "DPOR_cs", Published::Context),
        ("LW", "3", "DPOR_cs", Published::Context),
        ("LW", "5", "DPOR_cs", Published::Context),
        ("QS", "8", "DPOR_cs", Published::Context),
        ("LW", "3", "ODPOR_cs^ob", Published::OptimalContextObservers),
        ("LW", "5", "ODPOR_cs^ob", Published::OptimalContextObservers),
    ] {
        let row = row("ISSTA'19", program, size, algorithm);
        let found =
            searches.run(&row, Algorithm::Published(form)).expect("a program of ours").expect("it runs");
        // The paper's states are those in which something is enabled, from the one after the main block on.
        let counts = found.counts;
        let ours = (counts.complete.to_string(), (counts.events - counts.complete).to_string());
        assert_eq!(ours, (row.executions, row.states), "{program}({size}) under {form}");
    }
}

#[test]
fn executions_where_states_differ() {
    let mut searches = Searches::default();
    for (paper, program, size, algorithm, form) in [
        ("CAV'17", "BB", "3", "CDPOR", Published::Context),
        ("CAV'17", "Fib", "5", "CDPOR3", Published::ContextGuided),
        ("CAV'17", "MSort", "9", "CDPOR3", Published::ContextGuided),
        ("ISSTA'19", "FR-a", "6", "DPOR_cs", Published::Context),
        ("ISSTA'19", "FR-a", "4", "ODPOR_cs^ob", Published::OptimalContextObservers),
        ("ISSTA'19", "Fib", "4", "ODPOR_cs^ob", Published::OptimalContextObservers),
        ("ISSTA'19", "MS", "7", "ODPOR_cs^ob", Published::OptimalContextObservers),
        ("ISSTA'19", "QS", "8", "ODPOR_cs^ob", Published::OptimalContextObservers),
    ] {
        let row = row(paper, program, size, algorithm);
        let found =
            searches.run(&row, Algorithm::Published(form)).expect("a program of ours").expect("it runs");
        assert_eq!(found.counts.complete.to_string(), row.executions, "{program}({size}) under {form}");
    }
}

/// parker was rebuilt from a description of the bug that it is about: complete and assumed executions together are what
/// the paper has of Source-DPOR, and what it has of its own algorithm is below the number of classes.
#[test]
fn popl18_parker() {
    let mut searches = Searches::default();
    for (size, classes) in [("8", 2_971), ("10", 5_527), ("12", 9_227)] {
        for algorithm in [Algorithm::Source, Algorithm::Optimal, Algorithm::DataCentric, Algorithm::ReadsFrom]
        {
            let traces = matches!(algorithm, Algorithm::Source | Algorithm::Optimal);
            let row = row("POPL'18", "parker", size, if traces { "S-DPOR" } else { "DC-DPOR" });
            let counts = searches.run(&row, algorithm).expect("a program of ours").expect("it runs").counts;
            let (found, published) =
                (counts.complete + counts.assumed, row.executions.parse().expect("a number"));
            assert_eq!(found, if traces { published } else { classes }, "parker({size}) under {algorithm}");
            assert!(found >= published, "parker({size}) under {algorithm}");
        }
    }
}
