//! Texts of ABS, right ones and wrong ones.

use std::time::Instant;

use mazurka_laws::abs_text::{Campaign, corpus, run};

/// How many texts, unless `MAZURKA_TEXTS` says so.
const TEXTS: u64 = 20_000;

#[test]
fn whatever_a_text_says_it_is_accepted_or_refused() {
    let texts = std::env::var("MAZURKA_TEXTS").ok().and_then(|count| count.parse().ok()).unwrap_or(TEXTS);
    let seed = std::env::var("MAZURKA_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let start = Instant::now();
    let outcome = run(&Campaign { seed, first: 0, texts, corpus: corpus() });
    println!("{} accepted, {} refused, {} errors", outcome.accepted, outcome.refused, outcome.errors);
    println!("{:?} in all, at most {:?} a text", start.elapsed(), outcome.slowest);
    if let Some((index, text, wrong)) = outcome.found {
        panic!("text {index} of seed {seed}: {wrong}\n{text}");
    }
    assert_eq!(outcome.accepted + outcome.refused, texts);
    assert!(outcome.accepted > texts / 20, "too few of them are programs: {}", outcome.accepted);
    assert!(outcome.refused > texts / 2, "too few of them are wrong: {}", outcome.refused);
}
