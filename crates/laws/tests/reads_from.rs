//! `reads-from`: the laws on random programs and mutants, that each of its rules is missed, and programs that it lost
//! classes of once, in very many orders.

use std::time::Duration;

use mazurka_explore::{Algorithm, NoMonitor, Options, Order, explore};
use mazurka_laws::maz::MazPrograms;
use mazurka_laws::repairs::broken_builds;
use mazurka_laws::{Build, Campaign, Checked, OneAlgorithm, check_one, corpus};
use mazurka_litmus::{Source, compile, print};
use mazurka_oracle::{Budget, truth};

const ONLY: OneAlgorithm = OneAlgorithm { algorithm: Algorithm::ReadsFrom, dead_variables: false, orders: 4 };

#[test]
fn random_programs_and_mutants_obey() {
    let time = Some(Duration::from_secs(60));
    let campaign = Campaign { seed: 20_261_118, first: 0, programs: 2_000, time, threads: 2 };
    let target = MazPrograms { corpus: corpus::seeds(), build: Build::default(), only: Some(ONLY) };
    let outcome = campaign.run(&target);
    if let Some(found) = &outcome.found {
        panic!("program {}: {}\n{}", found.index, found.broken, print(found.smallest().0));
    }
    assert!(outcome.held >= 800, "only {} programs were checked", outcome.held);
}

/// Programs of the corpus miss the rules.
#[test]
fn its_rules_are_missed() {
    let seeds = corpus::seeds();
    for (name, rule) in [
        ("swap_chain", "swap"),
        ("cx15", "acquire"),
        ("await_parent", "freeze"),
        ("await_parent", "hold-back"),
        ("reads_from_overwritten", "overwrite"),
        ("reads_from_overwritten", "overwrite-aside"),
        ("cas_race", "find-out"),
    ] {
        let program = &seeds.iter().find(|seed| seed.name == name).expect("it is in the corpus").ast;
        let broken = broken_builds().into_iter().find(|broken| broken.repair == rule).expect("a rule");
        let breaks =
            |build| (0..30).any(|draw| matches!(check_one(program, ONLY, build, draw), Checked::Breaks(_)));
        assert!(breaks(broken.build), "{name} does not miss {rule}");
        assert!(!breaks(Build::default()), "{name} breaks a law");
    }
}

/// The program on which a search from parent to parent went in a circle: as many classes as brute force finds, in every
/// order.
#[test]
fn a_process_that_awaits_has_all_its_classes() {
    let seeds = corpus::seeds();
    let seed = seeds.iter().find(|seed| seed.name == "await_parent").expect("it is in the corpus");
    let program = compile(&seed.ast, &Source::default(), &[]).expect("it compiles");
    let budget = Budget { executions: 100_000, steps: 40 };
    let truth = truth(&program, budget).expect("a small program");
    for seed in 0..20 {
        let order = if seed == 0 { Order::Natural } else { Order::Shuffled(seed) };
        let options = Options { order, ..Options::default() };
        let summary = explore(&program, Algorithm::ReadsFrom, &options, &mut NoMonitor);
        assert_eq!(summary.counts.complete, truth.reads_from.len() as u64, "{order:?}");
        assert_eq!(summary.not_exhaustive, None, "{order:?}");
    }
}

fn orders() -> impl Iterator<Item = Order> {
    (0..1_000).map(|seed| if seed == 0 { Order::Natural } else { Order::Shuffled(seed) })
}

#[test]
fn no_class_is_lost_in_a_thousand_orders() {
    for (name, classes) in [("reads_from_overwritten", 2)] {
        let seeds = corpus::seeds();
        let seed = seeds.iter().find(|seed| seed.name == name).expect("it is in the corpus");
        let program = compile(&seed.ast, &Source::default(), &[]).expect("it compiles");
        for order in orders() {
            let options = Options { order, ..Options::default() };
            let summary = explore(&program, Algorithm::ReadsFrom, &options, &mut NoMonitor);
            assert_eq!(summary.not_exhaustive, None, "{name} {order:?}");
            assert_eq!(summary.counts.complete, classes, "{name} {order:?}");
        }
        // It is the repair that finds them.
        let without = orders().filter(|&order| {
            let mut options = Options { order, ..Options::default() };
            options.rules.reads_from.overwrite_aside = false;
            explore(&program, Algorithm::ReadsFrom, &options, &mut NoMonitor).counts.complete < classes
        });
        assert_ne!(without.count(), 0, "{name} without the repair");
        let budget = Budget { executions: 100_000, steps: 30 };
        let truth = truth(&program, budget).expect("brute force can do it");
        assert_eq!(truth.reads_from.len() as u64, classes, "{name} by brute force");
    }
}
