//! ABS programs obey the laws.

use std::time::Duration;

use mazurka_abs::Settings;
use mazurka_laws::abs::{Campaign, Checked, check, corpus, run};

#[test]
fn random_programs_and_mutants_obey_the_laws() {
    let campaign = Campaign {
        seed: 20_261_116,
        first: 0,
        programs: 600,
        time: Some(Duration::from_secs(240)),
        threads: 2,
        corpus: corpus(),
        only: None,
    };
    let outcome = run(&campaign);
    if let Some(found) = &outcome.found {
        panic!("program {}, {:?}: {}\n{}", found.index, found.settings, found.broken, found.text);
    }
    assert!(outcome.held >= 400, "only {} programs were small enough: {outcome:?}", outcome.held);
    assert!(outcome.mutants >= 100, "only {} mutants", outcome.mutants);
}

#[test]
fn a_program_that_is_none_is_told_from_one_that_obeys() {
    assert_eq!(check("module M; {", Settings::default(), None, 1), Checked::Wrong);
    assert_eq!(check("module M; { skip; }", Settings::default(), None, 1), Checked::Holds(1));
}
