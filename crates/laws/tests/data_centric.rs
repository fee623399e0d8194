//! `data-centric`: the laws on random programs and mutants, the counts of the paper's programs, and what it refuses.

use std::time::Duration;

use mazurka_explore::{Algorithm, NoMonitor, NotExhaustive, Options, Order, Reduction, Summary, explore};
use mazurka_laws::maz::MazPrograms;
use mazurka_laws::repairs::broken_builds;
use mazurka_laws::{Build, Campaign, Checked, OneAlgorithm, check, corpus};
use mazurka_litmus::{Source, compile, parse, print};

const ONLY: OneAlgorithm =
    OneAlgorithm { algorithm: Algorithm::DataCentric, dead_variables: false, orders: 4 };

fn searched(text: &str, parameters: &[(String, i64)], order: Order) -> Summary {
    let source = Source { name: "program.maz".into(), text: text.into() };
    let program = compile(&parse(&source).expect("it parses"), &source, parameters).expect("it compiles");
    explore(&program, Algorithm::DataCentric, &Options { order, ..Options::default() }, &mut NoMonitor)
}

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

/// The programs that were made for the repairs miss them.
#[test]
fn its_repairs_are_missed() {
    let seeds = corpus::seeds();
    for (name, repair) in [
        ("cx14", "tags"),
        ("cx15", "pending"),
        ("abba", "guarded-mutations"),
        ("data_centric_cas", "varying"),
        ("cx14", "saturation"),
        ("data_centric_cycle", "reduction"),
    ] {
        let program = &seeds.iter().find(|seed| seed.name == name).expect("it is in the corpus").ast;
        let broken = broken_builds().into_iter().find(|broken| broken.repair == repair).expect("a repair");
        let breaks = |build| (0..30).any(|draw| matches!(check(program, build, draw), Checked::Breaks(_)));
        assert!(breaks(broken.build), "{name} does not miss {repair}");
        assert!(!breaks(Build::default()), "{name} breaks a law");
    }
}

/// Three processes that write one variable miss it that order is transitive: 2SAT takes an order then that has a cycle.
#[test]
fn transitivity_is_missed() {
    let text = "var x; process P0 { x = 0; let a = x; } process P1 { x = 0; x = 0; } process P2 { x = 0; let b = x; }";
    let source = Source { name: "program.maz".into(), text: text.into() };
    let program = compile(&parse(&source).expect("it parses"), &source, &[]).expect("it compiles");
    let breaks = |transitivity| {
        let mut options = Options { reduction: Reduction::Star, ..Options::default() };
        options.rules.data_centric.transitivity = transitivity;
        let breaks = |order| {
            let summary =
                explore(&program, Algorithm::DataCentric, &Options { order, ..options }, &mut NoMonitor);
            summary.not_exhaustive.is_some()
        };
        (0..300).filter(|&seed| breaks(Order::Shuffled(seed))).count()
    };
    assert_ne!(breaks(false), 0, "nobody misses it");
    assert_eq!(breaks(true), 0);
}

/// How many executions of a program of the benchmarks are completed.
fn completed(name: &str, n: i64, order: Order) -> u64 {
    let path = format!("{}/../../bench/litmus/{name}.maz", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("it is in the checkout");
    let summary = searched(&text, &[("n".to_owned(), n)], order);
    assert_eq!(summary.not_exhaustive, None, "{name}({n})");
    summary.counts.complete
}

/// Complete executions of the paper's programs: the number of their reads-from classes.
#[test]
fn the_papers_programs() {
    let choose = |n: u64| (1..=n).fold(1, |c, k| c * (n + k) / k);
    for (name, n, expected) in (1..=6)
        .map(|n| ("opt_lock", n, 12 * n as u64 - 5))
        .chain((1..=5).map(|n| ("pthread_demo", n, choose(n as u64))))
        .chain([("fib_bench", 2, 140), ("fib_bench", 3, 1_698), ("opt_lock", 50, 595)])
        .chain((2..=7).map(|n| ("lastzero", n, (n as u64 + 3) << n >> 2)))
    {
        for order in [Order::Natural, Order::Shuffled(7)] {
            assert_eq!(completed(name, n, order), expected, "{name}({n})");
        }
    }
    for (name, n, expected) in [("fib_bench", 4, 19_605), ("opt_lock", 100, 1_195)] {
        assert_eq!(completed(name, n, Order::Natural), expected, "{name}({n})");
    }
}

#[test]
#[ignore = "takes a minute"]
fn the_papers_largest_programs() {
    for (name, n, expected) in [
        ("opt_lock", 200, 2_395),
        ("pthread_demo", 8, 12_870),
        ("lastzero", 10, 3_328),
        ("fib_bench", 5, 218_243),
    ] {
        assert_eq!(completed(name, n, Order::Natural), expected, "{name}({n})");
    }
}

/// Where processes form cycles, both of the paper's reductions meet every class, and neither completes more than
/// there are traces; where they do not, there is nothing to be reduced. Complete executions by locks and by the star,
/// and the numbers of reads-from classes and of traces.
#[test]
fn cycles_are_reduced_in_both_ways() {
    for (text, [locks, star, classes, traces]) in [
        ("var x; process p[i in 0..3] { x = i; let r = x; }", [36, 24, 16, 36]),
        (
            "var x, y; process p { x = 1; y = 1; } process q { let r = x; x = 2; }
             process s { let r = y; x = 3; y = 3; let t = x; }",
            [35, 24, 15, 53],
        ),
        ("var x; process p { x = 1; let r = x; } process q { x = 2; let r = x; }", [3, 3, 3, 4]),
    ] {
        let source = Source { name: "program.maz".into(), text: text.into() };
        let program = compile(&parse(&source).expect("it parses"), &source, &[]).expect("it compiles");
        let count = |algorithm, reduction, order| {
            let options = Options { reduction, order, ..Options::default() };
            let summary = explore(&program, algorithm, &options, &mut NoMonitor);
            assert_eq!(summary.not_exhaustive, None, "{text} under {algorithm}, {reduction:?}");
            summary.counts.complete
        };
        for order in [Order::Natural, Order::Shuffled(3), Order::Shuffled(4)] {
            let found = [
                count(Algorithm::DataCentric, Reduction::Locks, order),
                count(Algorithm::DataCentric, Reduction::Star, order),
                count(Algorithm::ReadsFrom, Reduction::default(), order),
                count(Algorithm::Optimal, Reduction::default(), order),
            ];
            assert_eq!(found, [locks, star, classes, traces], "{text}, {order:?}");
        }
    }
}

/// What is not covered is refused, and says why.
#[test]
fn what_is_not_covered() {
    for (text, words) in [
        ("var x; process p { await x == 1; } process q { x = 1; }", "an await"),
        ("var x; process p { while x == 0 { } } process q { x = 1; }", "a loop that spins"),
        ("var s = 1; process p { await s > 0; } process q { s -= 1; s += 1; }", "an await"),
        ("process p { send(q, 1); } process q { receive 1; }", "messages"),
        (
            "var x, y; process p { if x == 0 || y == 1 { skip; } } process q { x = 1; y = 1; }",
            "several locations",
        ),
        (
            "lock m; condvar c; process p[i in 0..2] { lock(m); wait(c, m); unlock(m); }
             process q { lock(m); notify_one(c); unlock(m); }",
            "several outcomes",
        ),
    ] {
        match searched(text, &[], Order::Natural).not_exhaustive {
            Some(NotExhaustive::Unsupported(why)) => assert!(why.contains(words), "{text}: {why}"),
            other => panic!("{text}: {other:?}"),
        }
    }
}
