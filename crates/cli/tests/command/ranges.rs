//! Parameters before `--`, ranges of them in `compare`, and comparisons as CSV and LaTeX.

use std::collections::BTreeMap;

use crate::json::{COMPARE, object};
use crate::programs::*;
use crate::{Place, check};

/// One variable and n writers: n! traces.
const WRITERS: &str = "\
param n = 2;
param k = 1;
var x;
process writer[i in 0..n] { for j in 0..k { x = i; } }
";

fn compare(test: &str, program: &str, options: &[&str]) -> crate::Outcome {
    let place = Place::new(test, "program.maz", program);
    place.run(&[&["compare", "program.maz", "--algorithms", "source,optimal"], options].concat())
}

#[test]
fn a_parameter_may_be_given_before_the_dashes() {
    check("before", LOST, &["--param", "n=1"]).expect(0, &["pass:"]);
    let failing = check("before", LOST, &["--param", "n=3"]);
    failing.expect(1, &["replay: mazurka check program.maz --replay 'v1:", "' -- --param n=3\n"]);
    let place = Place::new("before-abs", "program.abs", ABS_PASS);
    place.run(&["check", "program.abs", "--param", "n=5"]).expect(0, &["pass:"]);
    let place = Place::new("before-c", "program.c", "int main(void) { return 0; }");
    for command in ["check", "compare"] {
        place.run(&[command, "program.c", "--param", "n=5"]).refused(&[
            "error: --param is for .maz and .abs programs; C and C++ take macros instead, after --: -- -DNAME=VALUE\n",
        ]);
    }
}

/// The same range, wherever it stands; each value has its rows, with n! complete executions.
#[test]
fn each_value_of_a_range_is_compared() {
    for options in [
        &["--param", "n=1..4"][..],
        &["--param", "n=1..=4"],
        &["--param", "n=1,2,3,4"],
        &["--", "--param", "n=1..4"],
        &["--", "--param=n=1..4"],
    ] {
        let outcome = compare("range", WRITERS, options);
        outcome.expect(0, &["\nn  algorithm  complete  blocked  "]);
        let rows: Vec<Vec<&str>> = outcome
            .stdout
            .lines()
            .filter(|line| line.contains("source") || line.contains("optimal"))
            .map(|line| line.split_whitespace().take(4).collect())
            .collect();
        let expected: Vec<Vec<&str>> = [("1", "1"), ("2", "2"), ("3", "6"), ("4", "24")]
            .into_iter()
            .flat_map(|(n, traces)| ["source", "optimal"].map(|name| vec![n, name, traces, "0"]))
            .collect();
        assert_eq!(rows, expected, "{options:?}");
    }
}

#[test]
fn one_value_has_no_column_of_its_own() {
    let outcome = compare("one-value", WRITERS, &["--param", "n=3"]);
    outcome.expect(0, &["program.maz (n = 3)\n\nalgorithm  complete  blocked"]);
    let fixed = compare("one-fixed", WRITERS, &["--param", "n=1..2", "--", "--param", "k=1"]);
    fixed.expect(0, &["program.maz (k = 1)\n\nn  algorithm  complete"]);
}

#[test]
fn parameters_are_combined() {
    let outcome = compare("combined", WRITERS, &["--param", "n=1,2", "--param", "k=1..2"]);
    outcome.expect(0, &["\nn  k  algorithm  complete  "]);
    for row in ["1  1  source            1 ", "1  2  optimal           1 ", "2  2  optimal           6 "] {
        assert!(outcome.stdout.contains(&format!("\n{row}")), "no {row} in\n{}", outcome.stdout);
    }
}

#[test]
fn failures_and_limits_are_told_with_their_values() {
    let outcome = compare("range-failing", LOST, &["--param", "n=1..3"]);
    outcome.expect(
        1,
        &["\nfailure: assertion failed: x == n (x = 1, n = 2): an increment was lost (at program.maz:12:5) at n = 2, 3\n"],
    );
    let options = ["--param", "n=2..6", "--max-executions", "10"];
    let outcome = compare("range-cut", WRITERS, &options);
    outcome.expect(
        3,
        &[
            "\n2  source            2 ",
            "\n4  source†          10 ",
            "\n† source is not exhaustive at n = 4, 5, 6: the limit of 10 executions was reached\n",
            "\n† optimal is not exhaustive at n = 4, 5, 6: the limit of 10 executions was reached\n",
        ],
    );
    let quiet = compare("range-quiet", WRITERS, &[&options[..], &["--quiet"]].concat());
    quiet.expect(
        3,
        &["not exhaustive: no failure so far in program.maz\n  source is not exhaustive at n = 4, 5, 6: "],
    );
    let two = ["--param", "n=2..3", "--param", "k=2,3", "--max-executions", "10"];
    compare("range-two", WRITERS, &two)
        .expect(3, &["† optimal is not exhaustive at n = 2, k = 3; n = 3, k = 2; n = 3, k = 3: the limit"]);
}

/// A value for which there is no program is told before anything is run.
#[test]
fn a_program_that_is_none_ends_the_comparison_before_it_begins() {
    let place = Place::new("range-none", "program.maz", "param n = 1; var a[n]; process p { a[0] = 1; }");
    place.run(&["compare", "program.maz", "--param", "n=-1..2"]).refused(&["program.maz:1:"]);
}

#[test]
fn json_has_the_parameters_of_each_run() {
    let outcome = compare("range-json", LOST, &["--json", "--param", "n=1..3"]);
    let value = object(COMPARE, &outcome);
    assert_eq!((outcome.status, &value["verdict"]), (1, &"failure".into()));
    assert_eq!(value["options"], serde_json::json!(["--param", "n=1..3"]));
    let runs = value["runs"].as_array().unwrap();
    let told: Vec<(&str, usize)> = runs
        .iter()
        .map(|run| (run["parameters"]["n"].as_str().unwrap(), run["failures"].as_array().unwrap().len()))
        .collect();
    assert_eq!(told, [("1", 0), ("1", 0), ("2", 1), ("2", 1), ("3", 1), ("3", 1)]);
}

/// The lines of a CSV file as maps from the names of columns; no cell of these tests has a comma in it.
fn csv(text: &str) -> Vec<BTreeMap<&str, &str>> {
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let names = lines.next().unwrap();
    lines
        .map(|cells| {
            assert_eq!(cells.len(), names.len(), "{text}");
            names.iter().copied().zip(cells).collect()
        })
        .collect()
}

#[test]
fn csv_has_a_line_for_each_search() {
    let outcome = compare("csv", LOST, &["--csv", "--param", "n=1..2", "--max-executions", "3"]);
    outcome.expect(
        1,
        &["program,n,algorithm,version,exhaustive,executions,blocked,assumed,cut,events,deadlocks,longest,wakeup_nodes,\
           memory,states,merges,state_memory,seconds,failures,reason\n"],
    );
    let rows = csv(&outcome.stdout);
    let told: Vec<[&str; 7]> = rows
        .iter()
        .map(|row| {
            ["program", "n", "algorithm", "exhaustive", "executions", "failures", "reason"]
                .map(|name| row[name])
        })
        .collect();
    let limit = "the limit of 3 executions was reached";
    assert_eq!(
        told,
        [
            ["program.maz", "1", "source", "true", "1", "0", ""],
            ["program.maz", "1", "optimal", "true", "1", "0", ""],
            ["program.maz", "2", "source", "false", "3", "1", limit],
            ["program.maz", "2", "optimal", "false", "3", "1", limit],
        ]
    );
    assert!(rows.iter().all(|row| row["seconds"].parse::<f64>().is_ok()), "{}", outcome.stdout);
    let plain = compare("csv-plain", ATOMIC, &["--csv", "--as-published"]);
    plain.expect(0, &["program,algorithm,version,exhaustive,"]);
    let place = Place::new("csv-published", "program.maz", ATOMIC);
    let options = ["compare", "program.maz", "--algorithms", "source+context", "--as-published", "--csv"];
    let published = place.run(&options);
    let versions: Vec<String> =
        published.stdout.lines().skip(1).map(|line| line.split(',').nth(2).unwrap().to_owned()).collect();
    assert_eq!(versions, ["", "1", "2", "3"], "{}", published.stdout);
}

/// Every number with three digits after the point is a time.
fn without_times(text: &str) -> String {
    let cell = |cell: &str| {
        match cell.split_once('.') {
            Some((whole, part))
                if whole.parse::<u32>().is_ok() && part.len() == 3 && part.parse::<u32>().is_ok() =>
            {
                "T"
            }
            _ => cell,
        }
        .to_owned()
    };
    text.lines().map(|line| line.split(' ').map(cell).collect::<Vec<_>>().join(" ") + "\n").collect()
}

#[test]
fn latex_has_a_line_for_each_program() {
    let outcome = compare("latex", LOST, &["--latex", "--param", "n=1..3", "--max-executions", "10"]);
    assert_eq!(outcome.status, 1, "{}", outcome.stderr);
    assert_eq!(
        without_times(&outcome.stdout),
        r"% program.maz
\begin{tabular}{r rrr rrr}
\hline
 & \multicolumn{3}{c}{source} & \multicolumn{3}{c}{optimal} \\
n & complete & blocked & time (s) & complete & blocked & time (s) \\
\hline
1 & 1 & 0 & T & 1 & 0 & T \\
2 & 4 & 0 & T & 4 & 0 & T \\
3 & 10$^\dagger$ & 0 & T & 10$^\dagger$ & 0 & T \\
\hline
\end{tabular}

\noindent $^\dagger$ source is not exhaustive at n = 3: the limit of 10 executions was reached

\noindent $^\dagger$ optimal is not exhaustive at n = 3: the limit of 10 executions was reached
% failure: assertion failed: x == n (x = 1, n = 2): an increment was lost (at program.maz:12:5) at n = 2, 3
"
    );
}

#[test]
fn latex_of_one_program_names_it() {
    let place = Place::new("latex-one", "my_program.maz", ATOMIC);
    let outcome = place.run(&["compare", "my_program.maz", "--latex", "--algorithms", "optimal"]);
    outcome.expect(
        0,
        &[
            "\\begin{tabular}{l rrr}\n",
            "program & complete & blocked & time (s) \\\\\n",
            "\nmy\\_program.maz & 6 & 0 & ",
        ],
    );
    let outcome = compare("latex-fixed", WRITERS, &["--latex", "--param", "n=3"]);
    outcome.expect(0, &["% program.maz (n = 3)\n", "\nprogram.maz (n = 3) & 6 & 0 & "]);
}

/// What was not run is not a pass, though all that was run was.
#[cfg(target_os = "linux")]
#[test]
fn an_interrupted_range_is_no_pass() {
    let program = "param n = 1; var x; process p[i in 0..n] { for j in 0..n { x = i * 8 + j; } }";
    let place = Place::new("range-interrupted", "program.maz", program);
    let arguments = ["compare", "program.maz", "--algorithms", "optimal", "--param", "n=1,8,2,3", "--json"];
    let Some(outcome) = crate::outcomes::interrupted(&place, &arguments) else { return };
    let value = object(COMPARE, &outcome);
    assert_eq!((outcome.status, &value["verdict"]), (3, &"not exhaustive".into()));
    let not_run: Vec<&str> = value["not_run"]
        .as_array()
        .unwrap()
        .iter()
        .map(|not| not["parameters"]["n"].as_str().unwrap())
        .collect();
    assert_eq!(not_run, ["2", "3"]);
    let Some(outcome) = crate::outcomes::interrupted(&place, &arguments[..6]) else { return };
    outcome.expect(
        3,
        &[
            "† optimal is not exhaustive at n = 8: the search was interrupted\n",
            "\nnot run, because of the interruption: optimal at n = 2, 3\n",
        ],
    );
}
