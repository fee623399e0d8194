//! Whole reports, one of each kind, as they are in `tests/golden`.
//!
//! Run with `MAZURKA_BLESS=1` to write them anew.

use std::path::Path;

use crate::Place;
use crate::programs::*;

#[test]
fn reports_are_as_they_were() {
    let reports = [
        ("pass", ATOMIC, &["check"][..]),
        ("assertion", LOST, &["check"]),
        ("deadlock", DEADLOCK, &["check"]),
        ("never-sent", NEVER_SENT, &["check"]),
        ("keep-going", TWO_FAILURES, &["check", "--keep-going"]),
        ("hang", HANG, &["check"]),
        ("invalid-sync", UNLOCK_OF_ANOTHER, &["check"]),
        ("arithmetic", DIVISION, &["check"]),
        ("choice", CHOICE, &["check"]),
        ("spawned", SPAWNED, &["check"]),
        ("long", LONG, &["check"]),
        ("not-exhaustive", ENDLESS, &["check", "--max-depth", "100"]),
        ("assumed", ALL_ASSUMED, &["check"]),
        ("replay", LOST, &["check", "--replay", "v1:0,1"]),
        ("misfit", LOST, &["check", "--replay", "v1:2"]),
        ("bad-program", "var x;\nprocess p { x = yy; }\nprocess q { unlock(x); }\n", &["check"]),
        ("bad-parameter", LOST, &["check", "--", "--param", "m=3"]),
        ("compare", LOST, &["compare"]),
        ("compare-range", LOST, &["compare", "--algorithms", "source,optimal", "--param", "n=1..3"]),
        ("compare-quiet", LOST, &["compare", "--quiet"]),
        ("quiet", LOST, &["check", "--quiet"]),
        ("quiet-deadlock", DEADLOCK, &["check", "--quiet"]),
        ("quiet-keep-going", TWO_FAILURES, &["check", "--quiet", "--keep-going"]),
        ("quiet-not-exhaustive", ENDLESS, &["check", "--quiet", "--max-depth", "100"]),
        ("quiet-pass", ATOMIC, &["check", "--quiet"]),
        ("colour", LOST, &["check", "--color", "always"]),
        ("final-states", STORE_BUFFERING, &["check", "--final-states"]),
        ("final-states-deadlock", DEADLOCK, &["check", "--keep-going", "--final-states"]),
        ("final-states-parts", PARTS, &["check", "--keep-going", "--final-states"]),
        ("traces", STORE_BUFFERING, &["check", "--traces"]),
        ("random", LOST, &["check", "--algorithm", "random", "--seed", "7"]),
        ("abs-deadlock", ABS_DATABASE, &["check"]),
        (
            "abs-all-executions",
            ABS_DATABASE,
            &["check", "--algorithm", "naive", "--keep-going", "--", "--final-states"],
        ),
        ("abs-assertion", ABS_ACCOUNT, &["check"]),
        ("abs-exception", ABS_UNCAUGHT, &["check"]),
        ("abs-traces", ABS_PASS, &["check", "--", "--traces"]),
        ("abs-bad-program", ABS_WRONG, &["check"]),
        ("abs-bad-parameter", ABS_PASS, &["check", "--", "--param", "m=1"]),
        ("abs-compare", ABS_PASS, &["compare", "--algorithms", "naive,source,optimal"]),
    ];
    let differing: Vec<&str> = reports
        .into_iter()
        .filter(|(name, program, arguments)| !same(name, program, arguments))
        .map(|report| report.0)
        .collect();
    assert!(
        differing.is_empty(),
        "differ from tests/golden (MAZURKA_BLESS=1 writes them anew): {differing:?}"
    );
}

fn same(name: &str, program: &str, arguments: &[&str]) -> bool {
    let kind = if name.starts_with("abs-") { "abs" } else { "maz" };
    let file = format!("{name}.{kind}");
    let place = Place::new("golden", &file, program);
    let (command, options) = arguments.split_first().unwrap();
    let outcome = place.run(&[&[*command, &file], options].concat());
    let now = format!("{}{}exit status {}\n", without_times(&outcome.stdout), outcome.stderr, outcome.status);
    is_as_kept(&format!("{name}.txt"), &now)
}

/// Whether a text is that of a file of `tests/golden`.
pub fn is_as_kept(file: &str, now: &str) -> bool {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(file);
    if std::env::var_os("MAZURKA_BLESS").is_some() {
        std::fs::write(&path, now).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    if kept != now {
        eprintln!("--- {}\n{kept}\n--- now\n{now}", path.display());
    }
    kept == now
}

/// The text with each `0.123 s` as `0.000 s`, and without rates: they depend on the machine.
pub fn without_times(text: &str) -> String {
    let mut kept = String::new();
    for line in text.lines().filter(|line| !line.contains(" a second, as here on one core: ")) {
        let line =
            line.find(" complete/s)").and_then(|end| line[..end].rfind(" (")).map_or(line, |at| &line[..at]);
        match line.strip_suffix(" s") {
            Some(rest) if rest.ends_with(|c: char| c.is_ascii_digit()) => {
                let number = rest.rfind(|c: char| !c.is_ascii_digit() && c != '.').map_or(0, |at| at + 1);
                kept += &format!("{}0.000 s\n", &rest[..number]);
            }
            _ => kept += &format!("{line}\n"),
        }
    }
    kept
}
