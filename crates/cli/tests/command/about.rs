//! What the command tells of itself: its algorithms, completions for shells, and its man page.

use std::process::{Command, Stdio};

use mazurka_explore::Algorithm;

use crate::Place;
use crate::golden::is_as_kept;
use crate::json::object;

const ALGORITHMS: &str = include_str!("../../../../docs/schema/algorithms.schema.json");

fn place(test: &str) -> Place {
    Place::new(test, "unused", "")
}

/// All lines are kept, since people read all of them.
#[test]
fn algorithms_are_listed() {
    let outcome = place("algorithms").run(&["algorithms"]);
    outcome.expect(0, &["optimal (the default)\n  explores    each Mazurkiewicz trace exactly once\n"]);
    assert!(is_as_kept("algorithms.txt", &outcome.stdout));
}

#[test]
fn algorithms_are_listed_for_machines() {
    let outcome = place("algorithms-json").run(&["algorithms", "--json"]);
    outcome.expect(0, &[]);
    let value = object(ALGORITHMS, &outcome);
    let listed = value["algorithms"].as_array().unwrap();
    let names: Vec<&str> = listed.iter().map(|algorithm| algorithm["name"].as_str().unwrap()).collect();
    assert_eq!(names, Algorithm::ALL.map(Algorithm::name));
    for (told, algorithm) in listed.iter().zip(Algorithm::ALL) {
        assert_eq!(told["explores"], algorithm.summary());
        assert_eq!(told["needs"].as_array().unwrap().len(), algorithm.needs().len(), "{told}");
        assert_eq!(told["default"], algorithm == Algorithm::Optimal);
        assert_eq!(told["exhaustive"], algorithm != Algorithm::Random);
        assert!(!told["guarantees"].as_array().unwrap().is_empty());
    }
    assert_eq!(value["as_published"].as_array().unwrap().len(), 8);
}

/// Runs a shell, if there is one of that name, and gives what it printed.
fn shell(place: &Place, name: &str, arguments: &[&str]) -> Option<String> {
    let mut command = Command::new(name);
    let command = command.args(arguments).current_dir(&place.directory).stdin(Stdio::null());
    let output = command.output().ok()?;
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap())
}

#[test]
fn shells_can_read_their_completions() {
    for name in ["bash", "zsh", "fish"] {
        let place = place(&format!("completions-{name}"));
        let script = place.run(&["completions", name]);
        script.expect(0, &["mazurka", "algorithms", "completions", "keep-going", "optimal+observers"]);
        std::fs::write(place.directory.join("script"), &script.stdout).unwrap();
        shell(&place, name, &["-n", "script"]);
    }
    place("completions-none").run(&["completions", "csh"]).refused(&["[possible values: bash, zsh, fish]"]);
}

#[test]
fn bash_completes_commands_options_and_names_of_algorithms() {
    let place = place("completed");
    let script = place.run(&["completions", "bash"]).stdout;
    std::fs::write(place.directory.join("script"), script).unwrap();
    for (words, expected) in [
        ("mazurka comp", "compare\ncompletions\n"),
        ("mazurka check --algorithm op", "optimal\noptimal+observers\n"),
        ("mazurka check --color ''", "auto\nalways\nnever\n"),
        ("mazurka compare --l", "--latex\n"),
        ("mazurka completions z", "zsh\n"),
    ] {
        let run = format!(
            "source ./script; COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             _mazurka mazurka \"${{COMP_WORDS[COMP_CWORD]}}\" \"${{COMP_WORDS[COMP_CWORD - 1]}}\"; \
             printf '%s\\n' \"${{COMPREPLY[@]}}\""
        );
        let Some(completed) = shell(&place, "bash", &["--norc", "-c", &run]) else { return };
        assert_eq!(completed, expected, "{words}");
    }
}

/// The page has every option of every command, with a heading for each command and each kind of file.
#[test]
fn the_man_page_has_all_options() {
    let page = place("man").run(&["man"]);
    page.expect(
        0,
        &[
            ".TH mazurka 1",
            ".SH \"MAZURKA CHECK\"",
            ".SH \"MAZURKA ALGORITHMS\"",
            ".SH \"OPTIONS FOR .maz FILES, AFTER --\"",
            ".SH \"EXIT STATUS\"",
            ".SH ENVIRONMENT",
            "NO_COLOR",
        ],
    );
    let documented = include_str!("../../../../docs/command.md");
    for row in documented.lines().filter_map(|line| line.strip_prefix("| `--")) {
        let name = row.split([' ', '`']).next().unwrap();
        assert!(page.stdout.contains(&format!("\\-\\-{}", name.replace('-', "\\-"))), "{name}");
    }
}
