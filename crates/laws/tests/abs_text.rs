//! Texts of ABS, right ones and wrong ones.

use mazurka_laws::abs_text::{AbsTexts, REFUSED, corpus};
use mazurka_laws::{Campaign, FuzzTarget};

/// How many texts, unless `MAZURKA_TEXTS` says so.
const TEXTS: u64 = 20_000;

#[test]
fn whatever_a_text_says_it_is_accepted_or_refused() {
    let texts = std::env::var("MAZURKA_TEXTS").ok().and_then(|count| count.parse().ok()).unwrap_or(TEXTS);
    let seed = std::env::var("MAZURKA_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let target = AbsTexts::of(corpus());
    let outcome = Campaign { seed, first: 0, programs: texts, time: None, threads: 1 }.run(&target);
    println!("{}", target.summary(&outcome));
    if let Some(found) = &outcome.found {
        panic!("text {} of seed {seed}: {}\n{}", found.index, found.broken, found.program.0);
    }
    let (accepted, refused) = (outcome.held, outcome.unfit.get(REFUSED).copied().unwrap_or(0));
    assert_eq!(accepted + refused, texts);
    assert!(accepted > texts / 20, "too few of them are programs: {accepted}");
    assert!(refused > texts / 2, "too few of them are wrong: {refused}");
}
