//! The laws hold on the corpus and on random programs, and a build with any repair taken out is caught.

use std::time::Duration;

use mazurka_laws::fuzz::{Campaign, Outcome, run};
use mazurka_laws::repairs::broken_builds;
use mazurka_laws::{Checked, Subject, check, corpus};
use mazurka_litmus::ast::Ast;
use mazurka_litmus::print;

fn campaign(seed: u64, programs: u64, subject: Subject) -> Campaign {
    let time = Some(Duration::from_secs(240));
    Campaign { seed, first: 0, programs, time, threads: 2, subject, corpus: corpus::seeds(), only: None }
}

fn assert_held(outcome: &Outcome, at_least: u64) {
    if let Some(found) = &outcome.found {
        panic!("program {}: {}\n{}", found.index, found.broken, print(&found.shrunk));
    }
    assert!(outcome.held >= at_least, "only {} programs were checked", outcome.held);
}

#[test]
fn the_corpus_obeys() {
    for seed in corpus::seeds() {
        for draw in 0..20 {
            if let Checked::Breaks(broken) = check(&seed.ast, Subject::default(), draw) {
                panic!("{}: {broken}", seed.name);
            }
        }
    }
}

#[test]
fn the_corpus_begins_with_the_counterexamples() {
    let names: Vec<String> = corpus::seeds().into_iter().map(|seed| seed.name).collect();
    for k in 1..=18 {
        assert!(names.contains(&format!("cx{k:02}")), "CX{k} is missing");
    }
}

#[test]
fn random_programs_and_mutants_obey() {
    assert_held(&run(&campaign(20_261_115, 4_000, Subject::default())), 2_500);
}

/// Each witness is in the corpus: found once by `mazurka-fuzz --without`, and kept.
#[test]
fn each_repair_is_missed_if_taken_out() {
    let seeds = corpus::seeds();
    for build in broken_builds() {
        let breaks =
            |ast: &Ast| (0..40).any(|draw| matches!(check(ast, build.subject, draw), Checked::Breaks(_)));
        let noticed = seeds.iter().any(|seed| breaks(&seed.ast));
        assert!(noticed, "{} taken out ({}): no program of the corpus notices", build.repair, build.instead);
    }
}

/// Counterexamples to what others do: lost in some order by a build that does it, in none by ours.
#[test]
fn counterexamples_are_lost_without_their_repairs_and_found_with_them() {
    let seeds = corpus::seeds();
    for (name, repair) in [
        ("cx04", "static-footprints"),
        ("cx05", "initials"),
        ("cx06", "every-guard-writer"),
        ("cx13", "unequal-writes"),
        ("observers_await", "awaited-writes"),
    ] {
        let program = &seeds.iter().find(|seed| seed.name == name).expect("it is in the corpus").ast;
        let build = broken_builds().into_iter().find(|build| build.repair == repair).expect("a repair");
        let lost = |subject| (0..400).any(|draw| matches!(check(program, subject, draw), Checked::Breaks(_)));
        assert!(lost(build.subject), "{name} is found without {repair}");
        assert!(!lost(Subject::default()), "{name} is lost");
    }
}
