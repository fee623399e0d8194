//! Programs acted out in Rust do what they do: the corpus, programs that the library did wrong once, random
//! ones.

use std::time::Duration;

use mazurka_laws::closures::{Closures, check, prepare};
use mazurka_laws::corpus::{self, Seed};
use mazurka_laws::{Campaign, Checked};
use mazurka_litmus::print;

/// Checks a program in so many shapes and orders; gives in how many of them it could be compared.
fn holds(seed: &Seed, draws: u64) -> u64 {
    let compared = |draw: &u64| match check(&seed.ast, *draw) {
        Checked::Holds(_) | Checked::HoldsAs(..) | Checked::Agrees(_) => true,
        Checked::Unfit(_) | Checked::TooLarge => false,
        Checked::Breaks(broken) => panic!("{} ({draw}): {broken}\n{}", seed.name, print(&seed.ast)),
    };
    (0..draws).filter(compared).count() as u64
}

#[test]
fn the_corpus_does_in_rust_what_it_does() {
    let mut compared = 0;
    for seed in corpus::seeds() {
        for draw in 0..3 {
            let prepared = Seed { name: seed.name.clone(), ast: prepare(&seed.ast, draw) };
            compared += holds(&prepared, 2);
        }
    }
    assert!(compared > 300, "only {compared} of 450 were compared");
}

/// Found by `mazurka-fuzz --closures` while the library was written, and kept.
#[test]
fn what_was_wrong_once_is_right() {
    let seeds = corpus::seeds_in("rust");
    assert!(!seeds.is_empty());
    for seed in seeds {
        assert_eq!(holds(&seed, 20), 20, "{}", seed.name);
    }
}

#[test]
fn random_programs_and_mutants_do_in_rust_what_they_do() {
    let campaign = Campaign {
        seed: 20_261_116,
        first: 0,
        programs: 400,
        time: Some(Duration::from_secs(240)),
        threads: 2,
    };
    let outcome = campaign.run(&Closures { corpus: corpus::seeds() });
    if let Some(found) = &outcome.found {
        let (shrunk, broken) = found.smallest();
        panic!("program {}: {broken}\n{}", found.index, print(shrunk));
    }
    let compared = outcome.held + outcome.agreed;
    assert!(compared >= 300, "only {compared} programs were compared: {outcome:?}");
}
