//! C programs do what the same programs do in the language, and obey the laws.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use mazurka_laws::native::{CPrograms, Compiler};
use mazurka_laws::{Campaign, Checked, FuzzTarget, corpus};
use mazurka_litmus::{Source, parse};

fn programs() -> CPrograms {
    CPrograms { corpus: corpus::seeds(), compiler: Compiler::default() }
}

#[test]
fn random_programs_do_in_c_what_they_do_in_the_language() {
    let campaign = Campaign { seed: 12, first: 0, programs: 40, time: None, threads: 1 };
    let outcome = campaign.run(&programs());
    let found = outcome.found.as_ref().map(|found| found.broken.law.clone());
    assert_eq!(found, None);
    assert!(outcome.held >= 25, "{} held", outcome.held);
}

/// Two attempts that fail read one lock: they are independent, in C and in what it is compared with.
#[test]
fn attempts_that_fail_are_reads() {
    let text = "lock m; process p { lock(m); } process q[i in 0..2] { let v = try_lock(m); }";
    let source = Source { name: "attempts.maz".into(), text: text.into() };
    let program = parse(&source).expect("it parses");
    assert!(
        matches!(programs().check(&program, 1), Checked::Holds(3)),
        "{:?}",
        programs().check(&program, 1)
    );
}
