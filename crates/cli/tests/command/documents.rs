//! What the documents show of the command is what it prints.

use std::path::Path;

use crate::golden::without_times;
use crate::programs::*;
use crate::{Outcome, Place};

/// The blocks of a page that begin with a call of the command: its arguments, and what it is said to print.
fn samples(page: &str) -> Vec<(Vec<&str>, &str)> {
    let blocks = page.split("```").skip(1).step_by(2);
    let block = |block| -> Option<(Vec<&str>, &str)> {
        let (_, call) = str::split_once(block, "$ mazurka ")?;
        let (arguments, printed) = call.split_once('\n')?;
        Some((arguments.split(' ').collect(), printed))
    };
    blocks.filter_map(block).collect()
}

/// Complains unless this was printed; a line of dots stands for any lines.
#[track_caller]
fn expect(arguments: &[&str], outcome: &Outcome, printed: &str) {
    let now = without_times(&outcome.stdout);
    let printed = without_times(printed);
    let mut rest = now.as_str();
    for (at, part) in printed.split("...\n").map(|part| part.trim_end_matches(' ')).enumerate() {
        let found = rest.find(part).filter(|&found| at > 0 || found == 0);
        let found = found.unwrap_or_else(|| panic!("{arguments:?} prints\n{now}\nwhich is not\n{printed}"));
        rest = &rest[found + part.len()..];
    }
    assert!(rest.is_empty() || printed.ends_with("...\n"), "{arguments:?} prints more:\n{rest}");
}

#[test]
fn the_page_of_the_command_shows_what_it_prints() {
    let place = Place::new("page", "lost.maz", LOST);
    let lastzero = include_str!("../../../../bench/litmus/lastzero.maz");
    for (name, text) in [("store_buffering.maz", STORE_BUFFERING), ("lastzero.maz", lastzero)] {
        std::fs::write(place.directory.join(name), text).unwrap();
    }
    let samples = samples(include_str!("../../../../docs/command.md"));
    // What is given to another program is not ours to show.
    let samples = samples.into_iter().filter(|(arguments, _)| !arguments.contains(&"|"));
    let mut seen = 0;
    for (arguments, printed) in samples {
        expect(&arguments, &place.run(&arguments), printed);
        seen += 1;
    }
    assert_eq!(seen, 5);
}

/// But for what depends on a compiler, or on how far a search comes in ten seconds.
#[test]
fn the_tour_shows_what_the_command_prints() {
    let mut place = Place::new("tour", "unused", "");
    place.directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut seen = 0;
    for (arguments, printed) in samples(include_str!("../../../../docs/tour.md")) {
        if arguments[0] == "check" && !arguments[1].ends_with(".c") {
            expect(&arguments, &place.run(&arguments), printed);
            seen += 1;
        }
    }
    assert_eq!(seen, 3);
}
