//! C programs with loops do what the same programs do in the language.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use mazurka_explore::Rules;
use mazurka_laws::native::Compiler;
use mazurka_laws::native_loops::CLoops;
use mazurka_laws::{Campaign, corpus};

fn programs(rules: Rules) -> CLoops {
    CLoops::of(corpus::seeds_in("loops"), Compiler::default(), 1, rules)
}

#[test]
fn random_loops_do_in_c_what_they_do_in_the_language() {
    let campaign = Campaign { seed: 11, first: 0, programs: 24, time: None, threads: 1 };
    let outcome = campaign.run(&programs(Rules::default()));
    let found = outcome.found.as_ref().map(|found| found.broken.law.clone());
    assert_eq!(found, None);
    assert!(outcome.held >= 12, "{} held", outcome.held);
}
