//! Declared constraints that can't be told from the text: both orders are run where both methods are next.

use std::collections::BTreeSet;

use crate::machine_support::{program, search};
use mazurka_explore::{Algorithm, Order};
use mazurka_program::FailureKind;

/// What is found wrong of what is declared of a method, of which two tasks are called.
fn wrong(method: &str, calls: &str) -> BTreeSet<String> {
    let text = format!(
        "module M;
         import * from ABS.StdLib;
         interface I {{ Int act(Int v); }}
         class C implements I {{
           List<Int> notes = Nil;
           {method}
         }}
         class D(Int first) implements I {{
           Int act(Int v) {{ return first; }}
         }}
         {{ I a = new C(); {calls} }}"
    );
    let program = program(&text);
    let found = [Algorithm::Optimal, Algorithm::Naive, Algorithm::WakeUp].map(|algorithm| {
        let (_, seen) = search(&program, algorithm, Order::Natural);
        let failures = seen.failures.into_iter().map(|(kind, message)| {
            assert_eq!(kind, FailureKind::Constraint, "{message}");
            message
        });
        failures.collect::<BTreeSet<String>>()
    });
    assert!(found.iter().all(|messages| messages.is_empty() == found[0].is_empty()), "{found:#?}");
    found[0].clone()
}

const TWO: &str = "a!act(1); a!act(2);";

#[test]
fn what_the_orders_leave_in_fields_is_compared() {
    let notes =
        |declared: &str| format!("[{declared}] Int act(Int v) {{ notes = Cons(v, notes); return 0; }}");
    let found = wrong(&notes("Commutes: act"), TWO);
    let says = "`[Commutes: act] C.act` is wrong here: where notes = list[], act ";
    assert!(found.iter().any(|message| message.starts_with(says)), "{found:#?}");
    assert!(found.iter().any(|message| message.contains(" leaves notes = list[2,1], ")), "{found:#?}");
    // Neither of them differs where both add the same.
    assert_eq!(wrong(&notes("Commutes: act"), "a!act(1); a!act(1);"), BTreeSet::new());
    // There is one of them.
    assert_eq!(wrong(&notes("Commutes: act"), "a!act(1);"), BTreeSet::new());
}

#[test]
fn a_condition_is_asked_of_the_state_in_which_both_are_next() {
    let notes = |when: &str| {
        format!("[Commutes: act, When: {when}] Int act(Int v) {{ notes = Cons(v, notes); return 0; }}")
    };
    assert!(!wrong(&notes("length(notes) == 0"), TWO).is_empty());
    assert_eq!(wrong(&notes("length(notes) > 0"), TWO), BTreeSet::new());
    assert!(!wrong(&notes("length(notes) > 0"), "a!act(1); a!act(2); a!act(3);").is_empty());
    let cases = "case notes { Nil => True; Cons(x, _) => x > 5; }";
    assert!(!wrong(&notes(cases), TWO).is_empty());
}

#[test]
fn what_tasks_give_and_whom_they_create_is_compared_but_for_names() {
    let counts = "[Commutes: act] Int act(Int v) { notes = Cons(1, notes); return length(notes); }";
    let found = wrong(counts, TWO);
    assert!(found.iter().all(|message| message.ends_with("give, or call, something else")), "{found:#?}");
    assert!(!found.is_empty());
    let creates = "[Commutes: act] Int act(Int v) {
        notes = Cons(1, notes);
        I other = new D(7); other!act(7);
        return 0;
    }";
    assert_eq!(wrong(creates, TWO), BTreeSet::new());
    let tells = creates.replace("new D(7)", "new D(length(notes) + v)");
    assert!(!wrong(&tells, TWO).is_empty());
}
