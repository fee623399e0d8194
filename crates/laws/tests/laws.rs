//! The laws hold on the corpus and on random programs, and a build with any repair taken out is caught.

use std::time::Duration;

use mazurka_laws::loops::LoopLaws;
use mazurka_laws::maz::MazPrograms;
use mazurka_laws::repairs::broken_builds;
use mazurka_laws::{Build, Campaign, Checked, check, corpus};
use mazurka_litmus::ast::Ast;
use mazurka_litmus::print;

#[test]
fn the_corpus_obeys() {
    for seed in corpus::seeds() {
        for draw in 0..20 {
            if let Checked::Breaks(broken) = check(&seed.ast, Build::default(), draw) {
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
    let time = Some(Duration::from_secs(240));
    let campaign = Campaign { seed: 20_261_115, first: 0, programs: 4_000, time, threads: 2 };
    let target = MazPrograms { corpus: corpus::seeds(), build: Build::default(), only: None };
    let outcome = campaign.run(&target);
    if let Some(found) = &outcome.found {
        panic!("program {}: {}\n{}", found.index, found.broken, print(found.smallest().0));
    }
    assert!(outcome.held >= 2_500, "only {} programs were checked", outcome.held);
}

/// Each witness is in the corpus: found once by `mazurka-fuzz --without`, and kept.
#[test]
fn each_repair_is_missed_if_taken_out() {
    let (seeds, loops) = (corpus::seeds(), corpus::seeds_in("loops"));
    for broken in broken_builds() {
        let about_loops =
            LoopLaws { build: broken.build, only: Some(broken.algorithm), ..LoopLaws::default() };
        let checked = |ast: &Ast, draw| match broken.is_about_loops() {
            true => about_loops.check(ast, draw),
            false => check(ast, broken.build, draw),
        };
        let breaks = |ast: &Ast, draw| matches!(checked(ast, draw), Checked::Breaks(_));
        let seeds = if broken.is_about_loops() { &loops } else { &seeds };
        // Most witnesses show in one of the first draws, and most programs are no witness: so draw by draw.
        let noticed = (0..40).any(|draw| seeds.iter().any(|seed| breaks(&seed.ast, draw)));
        assert!(
            noticed,
            "{} taken out ({}): no program of the corpus notices",
            broken.repair, broken.instead
        );
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
        let broken = broken_builds().into_iter().find(|broken| broken.repair == repair).expect("a repair");
        let lost = |build| (0..400).any(|draw| matches!(check(program, build, draw), Checked::Breaks(_)));
        assert!(lost(broken.build), "{name} is found without {repair}");
        assert!(!lost(Build::default()), "{name} is lost");
    }
}
