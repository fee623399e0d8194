//! The table of docs/equivalences.md is true.

use mazurka_explore::{Algorithm, NoMonitor, Options, explore};

use crate::observers::program;

const PAGE: &str = include_str!("../../docs/equivalences.md");

/// The columns, from left to right: which algorithm, and whether memory at the end counts.
const COLUMNS: [(Algorithm, bool); 5] = [
    (Algorithm::Optimal, false),
    (Algorithm::OptimalObservers, false),
    (Algorithm::ReadsFrom, false),
    (Algorithm::ReadsFrom, true),
    (Algorithm::Convergent, false),
];

#[test]
fn the_numbers_of_classes_are_those_of_the_page() {
    let rows = PAGE.lines().skip_while(|line| !line.starts_with("| program |")).skip(2);
    let mut checked = 0;
    for row in rows.take_while(|line| line.starts_with('|')) {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let (name, size) = cells[0].split_once('(').expect("a size");
        let program = program(name, &format!("n={}", size.trim_end_matches(')')));
        for ((algorithm, observe_memory), cell) in COLUMNS.into_iter().zip(&cells[1..]) {
            let options = Options { observe_memory, ..Options::default() };
            let summary = explore(&program, algorithm, &options, &mut NoMonitor);
            assert_eq!(summary.not_exhaustive, None, "{row} {algorithm}");
            let told: u64 = cell.replace(',', "").parse().expect("a number");
            assert_eq!(summary.counts.complete, told, "{row} {algorithm} {observe_memory}");
        }
        checked += 1;
    }
    assert!(checked >= 10, "{checked} rows");
}
