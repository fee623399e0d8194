//! The laws hold on the corpus and on random programs, and a build with any repair taken out is caught.

use std::time::Duration;

use mazurka_explore::Rules;
use mazurka_laws::fuzz::{Campaign, Outcome, run};
use mazurka_laws::{Checked, Subject, check, corpus};
use mazurka_litmus::{LabelRules, print};

fn campaign(seed: u64, programs: u64, subject: Subject) -> Campaign {
    let time = Some(Duration::from_secs(240));
    Campaign { seed, first: 0, programs, time, threads: 2, subject, corpus: corpus::seeds() }
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
    for k in 1..=16 {
        assert!(names.contains(&format!("cx{k:02}")), "CX{k} is missing");
    }
}

#[test]
fn random_programs_and_mutants_obey() {
    assert_held(&run(&campaign(20_261_115, 4_000, Subject::default())), 2_500);
}

/// A build with one repair taken out, and for how many programs it may stay unnoticed.
fn broken_builds() -> Vec<(&'static str, Subject, u64)> {
    let rules = |change: fn(&mut Rules)| {
        let mut subject = Subject::default();
        change(&mut subject.rules);
        subject
    };
    let labels = |change: fn(&mut LabelRules)| {
        let mut subject = Subject::default();
        change(&mut subject.labels);
        subject
    };
    vec![
        ("weak initials in source", rules(|r| r.initials = false), 20_000),
        ("dynamic footprints in source", rules(|r| r.static_footprints = false), 20_000),
        ("immediate predecessors of guarded steps only", rules(|r| r.every_guard_writer = false), 20_000),
        ("no races of waiting processes", rules(|r| r.waiting_races = false), 20_000),
        ("races whatever the guard", rules(|r| r.guard_must_hold = false), 20_000),
        ("old labels for reversed steps", rules(|r| r.rerun_varying = false), 20_000),
        ("no test of sleep sets before insertion", rules(|r| r.sleep_test = false), 20_000),
        ("initials in the wakeup tree", rules(|r| r.weak_initials = false), 20_000),
        ("sleepers never wake", rules(|r| r.wake = false), 20_000),
        ("each variable of a guard on its own", labels(|l| l.guard_is_one_location = false), 20_000),
        ("labels of source not static", labels(|l| l.static_footprints = false), 20_000),
        ("a failed try_lock is a read", labels(|l| l.try_lock_always_writes = false), 20_000),
    ]
}

#[test]
fn each_repair_is_missed_if_taken_out() {
    for (what, subject, programs) in broken_builds() {
        let outcome = run(&campaign(7, programs, subject));
        assert!(outcome.found.is_some(), "{what}: not noticed in {} programs", outcome.held);
    }
}
