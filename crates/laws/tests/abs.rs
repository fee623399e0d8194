//! ABS programs obey the laws.

use std::time::Duration;

use mazurka_abs::Settings;
use mazurka_explore::Algorithm;
use mazurka_laws::abs::{AbsPrograms, check, corpus};
use mazurka_laws::campaign::FuzzProgram;
use mazurka_laws::{Campaign, Checked};

#[test]
fn random_programs_and_mutants_obey_the_laws() {
    let campaign = Campaign {
        seed: 20_261_116,
        first: 0,
        programs: 600,
        time: Some(Duration::from_secs(240)),
        threads: 2,
    };
    let outcome = campaign.run(&AbsPrograms { corpus: corpus(), only: None });
    if let Some(found) = &outcome.found {
        let (program, broken) = found.smallest();
        panic!("program {}: {broken}\n{}", found.index, program.text());
    }
    assert!(outcome.held >= 400, "only {} programs were small enough: {outcome:?}", outcome.held);
    assert!(outcome.mutants >= 100, "only {} mutants", outcome.mutants);
}

#[test]
fn a_program_that_is_none_is_told_from_one_that_obeys() {
    assert_eq!(check("module M; {", Settings::default(), None, 1), Checked::Unfit("not a program"));
    assert_eq!(check("module M; { skip; }", Settings::default(), None, 1), Checked::Holds(1));
}

/// Who wrote one of the fields last does not decide whether an await of two of them holds.
#[test]
fn an_await_of_two_fields_reads_both() {
    let text = include_str!("../../../corpus/abs/await_two_fields.abs");
    for algorithm in Algorithm::ALL {
        let checked = check(text, Settings::default(), Some(algorithm), 1);
        assert!(matches!(checked, Checked::Holds(_)), "{algorithm}: {checked:?}");
    }
}
