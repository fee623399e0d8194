//! All tables of counts, by `wake-up`: one, two and four workers have the same report, and it has the counts. Small
//! rows here; of all rows
//!
//!     cargo test --release -p mazurka-cli --test command -- --ignored --nocapture tables

use std::fs::{read_to_string, write};
use std::ops::Range;

use mazurka_bench::papers::PaperProgram;
use mazurka_bench::{abs_programs, papers};

use crate::Place;
use crate::same::same_for_any_number;

/// Searches of fewer executions are not shared, and larger ones are too long for each day.
const SMALL: Range<u64> = 257..800;
const ALL: Range<u64> = 0..u64::MAX;

fn in_bench(name: &str) -> String {
    format!("{}/../../bench/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// The cells of the rows of a table.
fn rows(table: &str) -> Vec<Vec<String>> {
    let text = read_to_string(in_bench(table)).unwrap();
    text.lines().skip(1).map(|line| line.split('\t').map(str::to_owned).collect()).collect()
}

/// Complains unless any number of workers has one report, with so many executions, none blocked, and no failure but
/// such as the program has in all orders.
fn has(place: &Place, search: &[&str], front_end: &[&str], executions: u64) {
    let search = [search, &["--algorithm", "wake-up", "--keep-going"]].concat();
    let report = same_for_any_number(place, &search, front_end);
    let counts = (report["executions"].as_u64(), report["blocked"].as_u64(), report["exhaustive"].as_bool());
    assert_eq!(counts, (Some(executions), Some(0), Some(true)), "{search:?} {front_end:?}");
}

/// Says how many rows were compared: of a long run nothing else is seen.
fn told(table: &str, rows: usize, least: usize) {
    println!("{table}: {rows} rows by 1, 2 and 4 workers, one report each");
    assert!(rows >= least, "{table}: only {rows} rows");
}

fn litmus(some: &Range<u64>, least: usize) {
    let place = Place::new(&format!("tables-litmus-{}", some.start), "unused.maz", "");
    let mut compared = 0;
    for row in rows("litmus/expected.tsv") {
        let executions = row[2].replace(',', "").parse().unwrap();
        if some.contains(&executions) {
            let file = in_bench(&format!("litmus/{}.maz", row[0]));
            let params = row[1].split_whitespace().flat_map(|param| ["--param", param]);
            has(&place, &[file.as_str()].into_iter().chain(params).collect::<Vec<_>>(), &[], executions);
            compared += 1;
        }
    }
    told("bench/litmus/expected.tsv", compared, least);
}

fn abs(some: &Range<u64>, least: usize) {
    let place = Place::new(&format!("tables-abs-{}", some.start), "unused.abs", "");
    let mut compared = 0;
    for row in rows("abs/expected.tsv") {
        let executions = row[3].parse().unwrap();
        if some.contains(&executions) {
            let sizes: Vec<u32> = row[1].split_whitespace().map(|size| size.parse().unwrap()).collect();
            write(place.directory.join("program.abs"), abs_programs::program(&row[0], &sizes).unwrap())
                .unwrap();
            has(&place, &["program.abs"], &["--dependence", &row[2]], executions);
            compared += 1;
        }
    }
    told("bench/abs/expected.tsv", compared, least);
}

fn c(some: &Range<u64>, least: usize) {
    let place = Place::new(&format!("tables-c-{}", some.start), "unused.c", "");
    let mut compared = 0;
    for row in rows("c/expected.tsv").iter().filter(|row| row[2] == "optimal") {
        let executions = row[3].parse().unwrap();
        if some.contains(&executions) {
            let file = in_bench(&format!("c/{}.c", row[0]));
            has(&place, &[&file], &row[1].split(' ').collect::<Vec<_>>(), executions);
            compared += 1;
        }
    }
    told("bench/c/expected.tsv", compared, least);
}

/// Programs of the papers: what they print is not always the number of traces, so `optimal` is asked for that.
fn of_papers(which: impl Fn(&PaperProgram) -> bool, least: usize) {
    let place = Place::new(&format!("tables-papers-{least}"), "unused.maz", "");
    let programs: Vec<PaperProgram> = papers::programs().unwrap().into_iter().filter(which).collect();
    for PaperProgram { file, text, params, .. } in &programs {
        write(place.directory.join(file), text).unwrap();
        let params = params.iter().flat_map(|param| ["--param", param]);
        let search: Vec<&str> = [file.as_str()].into_iter().chain(params).collect();
        let how = ["--algorithm", "optimal", "--keep-going", "--json"];
        let outcome = place.run(&[&["check"], &search[..], &how].concat());
        let optimal: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
        has(&place, &search, &[], optimal["executions"].as_u64().unwrap());
    }
    told("bench/papers/published.tsv", programs.len(), least);
}

#[test]
fn small_rows_of_all_tables_have_one_report() {
    litmus(&SMALL, 12);
    abs(&(257..300), 1);
    of_papers(|program| ["lock(4)", "selective(6)", "Pi(6)"].contains(&program.name.as_str()), 3);
    if cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        c(&(257..400), 3);
    }
}

#[test]
#[ignore = "takes minutes"]
fn all_rows_of_the_tables_of_litmus_programs_have_one_report() {
    litmus(&ALL, 128);
}

#[test]
#[ignore = "takes minutes"]
fn all_rows_of_the_tables_of_abs_programs_have_one_report() {
    abs(&ALL, 38);
}

#[test]
#[ignore = "takes minutes"]
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn all_rows_of_the_tables_of_c_programs_have_one_report() {
    c(&ALL, 60);
}

#[test]
#[ignore = "takes minutes"]
fn all_programs_of_the_tables_of_papers_have_one_report() {
    of_papers(|_| true, 60);
}
