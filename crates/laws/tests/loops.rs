//! Programs that may run for ever: the laws on a corpus of loops and on random programs, and exact counts.

use std::time::Duration;

use mazurka_explore::{Algorithm, NoMonitor, Options, Order, explore};
use mazurka_laws::corpus::{self, Seed};
use mazurka_laws::loops::{LoopLaws, Loops, every_poll_a_step};
use mazurka_laws::{Build, Campaign, Checked};
use mazurka_litmus::{LabelRules, Litmus, Source, compile, parse, print};
use mazurka_oracle::{Livelock, Reachable, TooMuch, reachable};

fn program(name: &str) -> Litmus {
    let seeds = corpus::seeds_in("loops");
    let seed =
        seeds.iter().find(|seed| seed.name == name).unwrap_or_else(|| panic!("no {name} in the corpus"));
    compiled(seed)
}

fn compiled(seed: &Seed) -> Litmus {
    compile(&seed.ast, &Source::default(), &[]).unwrap_or_else(|errors| panic!("{}: {errors:?}", seed.name))
}

#[test]
fn the_corpus_of_loops_obeys() {
    for seed in corpus::seeds_in("loops") {
        for draw in 0..10 {
            match LoopLaws::default().check(&seed.ast, draw) {
                Checked::Holds(_) => {}
                other => panic!("{} ({draw}): {other:?}", seed.name),
            }
        }
    }
}

/// What can go wrong in a program.
fn kinds(truth: &Reachable) -> Vec<&'static str> {
    let mut kinds: Vec<&str> = truth.failures.iter().map(|(kind, _)| kind.name()).collect();
    kinds.extend((!truth.deadlocks.is_empty()).then_some("deadlock"));
    kinds.extend((truth.livelock == Livelock::Yes).then_some("livelock"));
    kinds
}

#[test]
fn loops_do_what_they_say() {
    for seed in corpus::seeds_in("loops") {
        let path = corpus::directory().join("loops").join(format!("{}.maz", seed.name));
        let text = std::fs::read_to_string(path).expect("a readable file");
        let expected = text.lines().find_map(|line| line.strip_prefix("// expect: "));
        let truth = reachable(&every_poll_a_step(&compiled(&seed)), 10_000).expect("it has few states");
        assert!(truth.cyclic, "{}: all its executions end", seed.name);
        match expected.map(|expected| expected.strip_prefix("failure ").map(str::trim)) {
            Some(None) => assert!(expected == Some("pass") && kinds(&truth).is_empty(), "{}", seed.name),
            Some(Some(kind)) => assert!(kinds(&truth).contains(&kind), "{}: {:?}", seed.name, kinds(&truth)),
            None => panic!("{}: no line `// expect: ...`", seed.name),
        }
    }
}

#[test]
fn random_programs_with_loops_and_mutants_obey() {
    let time = Some(Duration::from_secs(240));
    let campaign = Campaign { seed: 20_261_117, first: 0, programs: 2_500, time, threads: 2 };
    let outcome = campaign.run(&Loops::of(corpus::seeds_in("loops"), LoopLaws::default()));
    if let Some(found) = &outcome.found {
        panic!("program {}: {}\n{}", found.index, found.broken, print(found.smallest().0));
    }
    assert!(outcome.held >= 1_000, "only {} programs were checked: {outcome:?}", outcome.held);
}

/// How many states can be reached, and the ends among them.
#[test]
fn states_are_counted() {
    for (name, states, ends, livelock) in [
        // p stands at one of 3 places, at the last of which q may have ended.
        ("ignoring", 4, 1, Livelock::No),
        // x is 0 or 1, and the two stand where that lets them stand.
        ("ping_pong", 4, 0, Livelock::Yes),
    ] {
        let truth = reachable(&every_poll_a_step(&program(name)), 10_000).expect("it has few states");
        assert_eq!((truth.states, truth.ends.len(), truth.livelock), (states, ends, livelock), "{name}");
        assert_eq!(reachable(&every_poll_a_step(&program(name)), states - 1), Err(TooMuch::States), "{name}");
    }
    // So many ends a simpler rule loses some of.
    for (name, ends) in [("came_between", 16), ("not_restored", 4), ("waits_for_a_count", 4)] {
        let truth = reachable(&program(name), 10_000).expect("it has few states");
        assert_eq!((truth.ends.len(), truth.livelock), (ends, Livelock::No), "{name}");
    }
}

/// Complete and stopped executions of `optimal`, if every poll is a step and if who polls waits meanwhile.
#[test]
fn known_numbers() {
    for (name, complete, stopped, stopped_waiting) in [
        // Whoever takes the lock first: the others try in vain meanwhile, both, one of them (2 ways), or
        // none; then the second one takes it (2 ways), and the third tries in vain or not.
        ("spin_lock", 6, 15, 0),
        // The writer comes before both, between them (2 ways), or after both (2 ways).
        ("two_poll_one_mutex", 2, 4, 4),
        ("two_try_lock_pollers", 2, 10, 4),
        ("try_lock_result_left", 40, 124, 74),
        ("cached_value", 2, 2, 2),
    ] {
        let waiting = program(name);
        for (program, stopped) in [(every_poll_a_step(&waiting), stopped), (waiting, stopped_waiting)] {
            for order in [Order::Natural, Order::Shuffled(1), Order::Shuffled(2), Order::Shuffled(3)] {
                let options = Options { order, ..Options::default() };
                let summary = explore(&program, Algorithm::Optimal, &options, &mut NoMonitor);
                assert_eq!((summary.not_exhaustive, summary.broken), (None, None), "{name} {order:?}");
                let counts = summary.counts;
                assert_eq!(
                    (counts.complete, counts.stopped, counts.blocked),
                    (complete, stopped, 0),
                    "{name} {order:?}"
                );
            }
        }
    }
}

/// That rounds end where the fewest locks are held no verdict depends on: it only lets a process that has a lock
/// go on until it gives that back.
#[test]
fn rounds_may_end_with_locks() {
    let labels = LabelRules { few_locks: false, ..LabelRules::default() };
    let build = Build { labels, ..Build::default() };
    let text = "lock m; var x;
process w { lock(m); x = 1; unlock(m); }
process p { let r = 0; lock(m); while r != 1 { unlock(m); lock(m); r = x; } unlock(m); }
";
    let source = Source { name: "locks.maz".to_owned(), text: text.to_owned() };
    let ast = parse(&source).expect("it is right");
    let program = compile(&ast, &source, &[]).expect("it is right");
    let events = |program: &Litmus| {
        let summary = explore(program, Algorithm::Optimal, &Options::default(), &mut NoMonitor);
        assert_eq!((summary.not_exhaustive, summary.broken), (None, None));
        (summary.counts.complete, summary.counts.events)
    };
    let (complete, steps) = events(&program);
    let (complete_without, steps_without) = events(&program.clone().with_rules(labels));
    assert_eq!(complete, complete_without);
    assert!(steps_without < steps, "{steps_without}, with it {steps}");
    let laws = LoopLaws { build, ..LoopLaws::default() };
    for seed in corpus::seeds_in("loops") {
        let checked = laws.check(&seed.ast, 1);
        assert!(matches!(checked, Checked::Holds(_)), "{}: {checked:?}", seed.name);
    }
}
