//! `reads-from`: the laws on random programs and mutants, that each of its rules is missed, and programs that it lost
//! classes of once, in very many orders.

use std::time::Duration;

use mazurka_explore::{Algorithm, NoMonitor, Options, Order, explore};
use mazurka_laws::maz::MazPrograms;
use mazurka_laws::repairs::broken_builds;
use mazurka_laws::{Build, Campaign, Checked, OneAlgorithm, check_one, corpus};
use mazurka_litmus::{Source, compile, parse, print};
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
        ("reads_from_later_write", "later-writes"),
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

fn orders(most: u64) -> impl Iterator<Item = Order> {
    (0..most).map(|seed| if seed == 0 { Order::Natural } else { Order::Shuffled(seed) })
}

/// A program of the corpus, its classes, and what takes out the repair that finds them all.
type Lost = (&'static str, u64, fn(&mut Options));

#[test]
fn no_class_is_lost_in_a_thousand_orders() {
    let programs: [Lost; 2] = [
        ("reads_from_overwritten", 2, |options| options.rules.reads_from.overwrite_aside = false),
        ("reads_from_later_write", 3, |options| options.rules.reads_from.later_writes = false),
    ];
    for (name, classes, take_out) in programs {
        let seeds = corpus::seeds();
        let seed = seeds.iter().find(|seed| seed.name == name).expect("it is in the corpus");
        let program = compile(&seed.ast, &Source::default(), &[]).expect("it compiles");
        for order in orders(1_000) {
            let options = Options { order, ..Options::default() };
            let summary = explore(&program, Algorithm::ReadsFrom, &options, &mut NoMonitor);
            assert_eq!(summary.not_exhaustive, None, "{name} {order:?}");
            assert_eq!(summary.counts.complete, classes, "{name} {order:?}");
        }
        // It is the repair that finds them.
        let without = orders(1_000).filter(|&order| {
            let mut options = Options { order, ..Options::default() };
            take_out(&mut options);
            explore(&program, Algorithm::ReadsFrom, &options, &mut NoMonitor).counts.complete < classes
        });
        assert_ne!(without.count(), 0, "{name} without the repair");
        let budget = Budget { executions: 100_000, steps: 30 };
        let truth = truth(&program, budget).expect("brute force can do it");
        assert_eq!(truth.reads_from.len() as u64, classes, "{name} by brute force");
    }
}

/// Some writes let a process go on and others hold it back; where nobody writes any more, it is known whether it must.
#[test]
fn nobody_is_left_waiting_who_must_go_on() {
    let programs = [
        ("var x; process P { x = 2; x = 1; } process Q { await x != 2; }", 2),
        ("var x; process P { x = 2; x = 1; } process Q { await x != 2; } process R { await x != 2; }", 4),
        ("var x, y; process P { x = 2; await y == 1; x = 1; } process Q { y = 1; await x != 2; }", 2),
    ];
    for (text, classes) in programs {
        let source = Source { name: "waits.maz".into(), text: text.into() };
        let program = compile(&parse(&source).expect("it parses"), &source, &[]).expect("it compiles");
        for order in orders(100) {
            let options = Options { order, ..Options::default() };
            let counts = explore(&program, Algorithm::ReadsFrom, &options, &mut NoMonitor).counts;
            assert_eq!((counts.complete, counts.blocked), (classes, 0), "{text} {order:?}");
        }
        let budget = Budget { executions: 100_000, steps: 30 };
        let truth = truth(&program, budget).expect("a small program");
        assert_eq!(truth.reads_from.len() as u64, classes, "{text} by brute force");
    }
}
