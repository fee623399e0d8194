//! What is said about wrong programs, word for word. The files beside this one have, for each, a title, the
//! program and the answer. Run with `MAZURKA_BLESS=1` to write the answers anew, and read what has changed.

use std::fmt::Write;
use std::path::Path;

use mazurka_abs::language::{Dialect, Options};

use super::try_compile;

/// The cases of a file: title, program, answer.
fn cases(text: &str) -> Vec<(&str, &str, &str)> {
    let parts = text.split("=== ").filter(|part| !part.is_empty());
    parts
        .map(|part| {
            let (title, rest) = part.split_once('\n').expect("a title ends with its line");
            let (program, answer) = match rest.strip_prefix("---\n") {
                Some(answer) => ("", answer),
                None => rest.split_once("\n---\n").expect("`---` stands between program and answer"),
            };
            (title, program, answer.trim_end())
        })
        .collect()
}

fn check(name: &str) -> usize {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/language").join(name);
    let text = std::fs::read_to_string(&path).unwrap();
    let mut blessed = String::new();
    let mut changed = Vec::new();
    let cases = cases(&text);
    for (title, program, expected) in &cases {
        let dialect = title.contains("dialect is set").then_some(Dialect::Current);
        let options = Options { dialect, ..Options::default() };
        let answer = match try_compile(program, &options) {
            Ok(_) => panic!("{name}: {title}: accepted"),
            Err(answer) => answer,
        };
        let answer = answer.lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
        let separator = if program.is_empty() { "" } else { "\n" };
        write!(blessed, "=== {title}\n{program}{separator}---\n{}\n\n", answer.trim_end()).unwrap();
        if answer.trim_end() != *expected {
            changed.push(format!("{title}:\n{answer}"));
        }
    }
    if std::env::var_os("MAZURKA_BLESS").is_some() {
        std::fs::write(&path, blessed).unwrap();
    } else {
        assert!(changed.is_empty(), "{name}: other answers than expected:\n{}", changed.join("\n"));
    }
    cases.len()
}

#[test]
fn syntax() {
    assert!(check("syntax.txt") >= 35);
}

#[test]
fn scope() {
    assert!(check("scope.txt") >= 35);
}

#[test]
fn types() {
    assert!(check("types.txt") >= 40);
}

#[test]
fn modules() {
    assert!(check("modules.txt") >= 9);
}

#[test]
fn refusals() {
    assert!(check("refusals.txt") >= 14);
}
